"""The command line: `payerkit lab | sandbox | onboard | inspect | demo`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from payerkit import __version__
from payerkit.errors import InvalidInput, PayerkitError
from payerkit.wire import is_loopback

_SETTINGS = (
    "seed",
    "public_url",
    "decide_after",
    "kyc_required",
    "rate_limit",
    "fee_percent",
    "fee_address",
    "faults",
)
"""Options of `payerkit sandbox` that are settings of the service."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed with a message, 2 wrong arguments.

    `inspect` has codes of its own: 0 ok, 3 look, 4 stop, 5 not readable; `onboard` ends with 3 if rows are not done.
    """
    given = _parser().parse_args(arguments)
    try:
        return int(given.run(given) or 0)
    except ModuleNotFoundError as error:
        print(f"payerkit {given.command} needs {error.name}: pip install 'payerkit[lab]'.", file=sys.stderr)
        return 1
    except (PayerkitError, ImportError, OSError) as error:
        print(f"payerkit {given.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="payerkit", description="Onboard payers and bank accounts; see payments.")
    parser.add_argument("--version", action="version", version=f"payerkit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_lab(commands.add_parser("lab", help="open the notebooks in JupyterLab, on a working copy"))
    _add_sandbox(commands.add_parser("sandbox", help="run the service for several people or notebooks"))
    _add_onboard(commands.add_parser("onboard", help="send a table of payers and bank details; again, to go on"))
    _add_inspect(commands.add_parser("inspect", help="say what the transactions of a saved payment do"))
    demo = commands.add_parser("demo", help="walk the whole journey in this terminal")
    demo.set_defaults(run=_demo)
    return parser


def _add_lab(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--port", type=int, help="port of JupyterLab; left out, the first free one from 8888")
    parser.add_argument("--folder", type=Path, help="where the notebooks are worked on (./payerkit-notebooks)")
    parser.set_defaults(run=_lab)


def _add_sandbox(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=int, default=8765, help="port to listen on (%(default)s); 0 for any free one")
    add("--host", default="127.0.0.1", help="address to listen on (%(default)s); others want a proxy with TLS")
    add("--db", help="SQLite file or SQLAlchemy address that keeps the data; a password belongs into PGPASSWORD")
    add("--public-url", help="address at which browsers reach the pages, where it differs")
    add("--seed", help="make ids the same each time; for notebooks and tests only")
    add("--decide-after", type=float, default=0.0, metavar="SECONDS", help="delay of decisions (%(default)s)")
    add("--kyc-required", action="store_true", help="take bank details only after an approved identity check")
    add("--rate-limit", type=int, default=0, metavar="N", help="calls a minute; 0 for any number")
    add("--fee-percent", default="0", metavar="P", help="fee on top of payments (%(default)s)")
    add("--fee-address", metavar="0x...", help="who gets the fee")
    add("--faults", default="", metavar="PLAN", help='what calls meet, to rehearse it: "latency=0.02, reset_after=5%%"')
    add("--new-key", action="store_true", help="print a key for PAYERKIT_SANDBOX_KEY, and do nothing else")
    parser.set_defaults(run=_sandbox)


def _add_onboard(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", type=Path, nargs="?", help="a CSV, Excel or Parquet file; the service is PAYERKIT_BASE_URL")
    add("--dry-run", action="store_true", help="say what would be sent and what stands in the way; send nothing")
    add("--template", action="store_true", help="print a CSV file with all columns and an example row")
    add("--column", action="append", default=[], metavar="THEIRS=OURS", help="what a column is; THEIRS= leaves it out")
    add("--workers", type=int, default=32, metavar="N", help="calls at a time (%(default)s)")
    add("--rate", type=float, metavar="N", help="calls a second, at most")
    add("--journal", type=Path, help="what keeps a run from repeating itself (FILE.journal)")
    add("--report", type=Path, help="where to write what became of each row (FILE-report.csv)")
    parser.set_defaults(run=_onboard)


def _onboard(given: argparse.Namespace) -> int:
    from payerkit.cli import onboard as command  # noqa: PLC0415 - each command loads what it needs

    if given.template:
        print(command.template(), end="")
        return 0
    if given.file is None:
        raise InvalidInput("give a file with payers; payerkit onboard --template prints one to fill in.")
    rows = command.read(given.file, given.column)
    if given.dry_run:
        plan = command.plan(rows)
        print(plan)
        return 0 if plan.counts["to_send"] == plan.counts["rows"] else 3
    journal = given.journal or given.file.with_name(f"{given.file.name}.journal")
    report, code = command.send(rows, journal=journal, workers=given.workers, rate=given.rate)
    place = given.report or given.file.with_name(f"{given.file.stem}-report.csv")
    report.save(place)
    print(report, f"What became of each row: {place}", sep="\n")
    return code


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", type=Path, help="what Payment.save() wrote, or an answer of POST /v1/pay as JSON")
    add("--payee", metavar="0x...", help="the wallet that is to be paid")
    add("--amount", help="in the invoice currency")
    add("--invoice-currency", metavar="ID", help="currency id of the invoice, such as USD")
    add("--currency", metavar="ID", help="currency id of the token that pays, such as fUSDC-sepolia")
    add("--network", help="where it is to be sent, if no order tells")
    add("--rate", help="price of one unit of the payment currency in the invoice currency")
    parser.set_defaults(run=_inspect)


def _inspect(given: argparse.Namespace) -> int:
    from payerkit.html import visible  # noqa: PLC0415
    from payerkit.models.files import read_payment  # noqa: PLC0415
    from payerkit.onchain.frames import decode_transactions  # noqa: PLC0415
    from payerkit.onchain.review import check_payment  # noqa: PLC0415

    asked = {
        "payee": given.payee,
        "amount": given.amount,
        "invoice_currency": given.invoice_currency,
        "payment_currency": given.currency,
    }
    order = asked if any(asked.values()) else None
    try:
        payment = read_payment(given.file, order=order, network=given.network)
        found = check_payment(payment, rate=given.rate)
    except PayerkitError as error:
        print(f"payerkit inspect: {error}", file=sys.stderr)
        return 5
    for row in decode_transactions(payment).to_dict("records"):
        told = {name: visible(str(value)) for name, value in row.items() if str(value) not in {"None", "<NA>", ""}}
        print("\n".join(f"{name:<14} {value}" for name, value in told.items()), end="\n\n")
    print(found)
    return {"ok": 0, "look": 3, "stop": 4}[found.verdict]


def _lab(given: argparse.Namespace) -> None:
    from payerkit.cli import lab  # noqa: PLC0415 - each command loads what it needs

    folder = given.folder or Path(lab.FOLDER)
    made = lab.copy_notebooks(lab.shipped_notebooks(), folder)
    for notebook in made:
        print(f"{notebook} is yours to work on.")
    lab.sign(made)
    lab.start_lab(folder, port=given.port, open_browser=not given.no_browser)


def _sandbox(given: argparse.Namespace) -> None:
    from payerkit.connection import API_KEY, make_settings, open_service  # noqa: PLC0415

    if given.new_key:
        from payerkit.service.encryption import new_encryption_key  # noqa: PLC0415

        print(new_encryption_key())
        return
    settings = make_settings(**{name: getattr(given, name) for name in _SETTINGS})
    service = open_service(settings, db=given.db, host=given.host, port=given.port, environment=os.environ)
    key = f"the one in {API_KEY}" if os.environ.get(API_KEY) else service.api_key_location or service.api_key
    lines = [
        f"Sandbox at   {service.url}   (try the calls: {service.url}/docs)",
        f"API key      {key}",
        f"Data         {'kept in the database' if given.db else 'goes with this process; --db keeps it'}",
        f'In Python    connect("{service.url}", api_key=...)',
        "End it with Ctrl+C.",
    ]
    if not is_loopback(given.host):
        lines[3] = "In Python    connect(...) with the https address of your proxy"
        print("Plain http for everybody who reaches this address: put a proxy with TLS in front.", file=sys.stderr)
    # A plain end by a signal would leave the throw-away data behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    service.run(lambda: print("\n".join(lines), flush=True))


def _demo(_: argparse.Namespace) -> None:
    from payerkit.cli import demo  # noqa: PLC0415

    demo.run()
