"""The arguments of all commands; each command runs in the module of its name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from payerkit import __version__
from payerkit.errors import PayerkitError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: done. 1: failed, with a message on stderr. 2: wrong arguments. 130: interrupted with Ctrl+C.
    `onboard` returns 3 if rows are not done; `inspect` 3 for the verdict look, 4 for stop, 5 for an unreadable file.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not where a notebook or a test has replaced it
            stream.reconfigure(errors="backslashreplace")  # a name may have letters that the terminal does not have
    typed = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser(typed).parse_args(typed)
    options.arguments = typed
    try:
        # Imported here, so that a command loads only the libraries that it needs.
        code: int = import_module(f"payerkit.cli.{options.command}").run(options)
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        message = f"the package {error.name} is missing. Install it with: pip install 'payerkit[lab]'"
    except BrokenPipeError:  # as in "payerkit inspect FILE | head": whoever read the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left when it ends
        return 1
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except (PayerkitError, ImportError) as error:
        message = str(error)
    except KeyboardInterrupt:
        return 130
    else:
        return code
    print(f"payerkit {options.command}: {message}", file=sys.stderr)
    return 1


class _Parser(argparse.ArgumentParser):
    """Refuses unknown arguments of a command with the usage of this command; argparse shows that of all commands."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="payerkit",
        description="Onboard payers, store their bank details and check payments on Request Network's payer API. "
        "payerkit is not affiliated with Request Network.",
        epilog="'payerkit COMMAND --help' shows the options of a command. New here? Start with 'payerkit lab'.",
    )
    parser.add_argument("--version", action="version", version=f"payerkit {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    add = commands.add_parser
    _add_lab(add("lab", help="open the notebooks in JupyterLab", description=_LAB))
    sandbox = add("sandbox", help="run a sandbox of the payer API", description=_SANDBOX, epilog=_SANDBOX_VARIABLES)
    if arguments[:1] == ["sandbox"]:  # only then: its settings are part of an extra
        _add_sandbox(sandbox)
    _add_onboard(add("onboard", help="send a table of payers and bank details, or resume a run", description=_ONBOARD))
    _add_events(add("events", help="receive what the service reports by itself", description=_EVENTS))
    _add_inspect(add("inspect", help="show and check the transactions of a saved payment", description=_INSPECT))
    return parser


_LAB = """Copy the notebooks to a folder of yours and open JupyterLab there. Your copies are never overwritten: if a
notebook has a newer version, the command saves it beside yours as NAME-new.ipynb."""


def _add_lab(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-browser", action="store_true", help="print the address and do not open a browser")
    parser.add_argument("--port", type=int, help="port of JupyterLab (default: the first free port from 8888)")
    parser.add_argument("--folder", type=Path, help="folder for the notebooks (default: payerkit-notebooks)")


_SANDBOX = "Run a sandbox of the payer API until you press Ctrl+C. Several people or notebooks can share it."

_SANDBOX_VARIABLES = """Keys are taken from environment variables only. PAYERKIT_SANDBOX_API_KEY holds the API key, or
several with the names of their worlds, alice:KEY,bob:KEY: each key opens a world with data of its own. Without the
variable, a new key is made. PAYERKIT_SANDBOX_ENCRYPTION_KEY holds the key that encrypts the data; without it, a new one
is kept beside a SQLite file, and any other database is refused. The options up to --faults have variables, too, such as
PAYERKIT_SANDBOX_PORT; an option wins over its variable."""


def _add_sandbox(parser: argparse.ArgumentParser) -> None:
    """Add the options of the sandbox's settings."""
    try:
        from payerkit.cli.sandbox import add_options  # noqa: PLC0415 - loaded for this command alone

        add_options(parser)
    except ModuleNotFoundError as error:
        parser.exit(1, f"payerkit sandbox: The sandbox needs {error.name}: pip install 'payerkit[sandbox]'.\n")


_ONBOARD = """Send the payers of a table, then their bank details, to the service at PAYERKIT_BASE_URL with the key in
PAYERKIT_API_KEY, or to that of a profile. A journal file records the state of each payer and account. After a crash or
Ctrl+C, or with a corrected or longer file, run the same command again: what is done is not sent again. The exit code is
0 if all rows are done (with --dry-run: would be sent; with --verify: are stored once), 3 if some are not, 1 if the run
could not start or its report could not be written, and 130 after Ctrl+C."""


def _add_onboard(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_flag, add_file = partial(add, action="store_true"), partial(add, type=Path, metavar="FILE")
    add("file", type=Path, nargs="?", help="Excel, OpenDocument or CSV file with one payer or account per row")
    add_flag("--dry-run", help="check the file, show what would be sent, and send nothing")
    add_flag("--verify", help="show which accounts are there, twice or not at all, and send nothing")
    add("--sheet", metavar="NAME", help="the sheet of the workbook (default: its only one that is not hidden)")
    add_flag(
        "--normalise", help="rewrite what can mean only one thing, such as Germany to DE; --dry-run lists every change"
    )
    add(
        "--date-order",
        type=lambda text: text.replace("-", "_"),
        choices=("day_first", "month_first"),
        metavar="{day-first,month-first}",
        help="how 03/04/1985 is read (default: in the one order that all dates of the file have, else not at all)",
    )
    add(
        "--placeholders",
        choices=("error", "keep"),
        default="error",
        help="whether to send texts such as N/A and - that stand for nothing (default: %(default)s, do not send the "
        "row)",
    )
    add(
        "--limit",
        type=_count,
        metavar="N",
        help="send only the first N rows, to try; the same command without it, later, sends the others",
    )
    add(
        "--template",
        nargs="*",
        metavar="ROUTE",
        help="print a table to fill in, with the columns that these currencies and rails need and an example row for "
        "each, such as eur-local usd-swift (default: usd-local eur-local gbp-local), and exit",
    )
    add_file("-o", "--output", help="write the template to this .csv or .xlsx file")
    add_flag(
        "--holder-is-payer",
        help="the account holders are the payers: take their birth date, type and address from the payer's columns",
    )
    add(
        "--column",
        action="append",
        default=[],
        metavar="THEIRS=OURS",
        help="rename a column of the file, such as zip=postcode; THEIRS= ignores it; may be repeated",
    )
    add_file(
        "--mapping",
        help="which column of the file is which field, as JSON, kept beside the file: if FILE does not exist and some "
        "names are not certain, it is written for you to edit; after that, it is used",
    )
    add("--workers", type=int, default=32, metavar="N", help="concurrent requests (default: %(default)s)")
    add(
        "--rate",
        type=float,
        metavar="N",
        help="calls per second, at most (default: that of the profile, else 5, and no limit on this machine)",
    )
    add(
        "--profile",
        metavar="NAME",
        help="a service of ~/.config/payerkit/profiles.toml, with the key in PAYERKIT_API_KEY_NAME or the keyring",
    )
    add("--journal", type=Path, help="journal of the run (default: beside the file, such as payers.csv.journal)")
    add(
        "--accounts",
        choices=("now", "when-compliant"),
        default="now",
        help="when-compliant: read the status of each payer first, and send the accounts of compliant payers only; the "
        "same command on another day sends the others (default: %(default)s)",
    )
    add(
        "--existing",
        choices=("skip", "send"),
        default="skip",
        help="what to do with an account that the payer's list has already, or may have: skip does not send it; send "
        "does, so that it may be stored twice (default: %(default)s)",
    )
    add_more = partial(add, action="extend", default=[])
    add_more(
        "--retry",
        type=_states,
        metavar="STATE",
        help="try again what is refused or stays unknown in the journal: refused, unknown, or both with a comma; may "
        "be repeated",
    )
    add_more(
        "--hold",
        type=_words,
        metavar="CODE",
        help="do not send rows with these warnings, such as --hold iban_checksum, or with any: --hold warnings; "
        "--dry-run shows the codes in brackets; may be repeated",
    )
    add(
        "--stop-after",
        type=_refusals,
        default=20,
        metavar="N",
        help="stop the run once this many rows were refused for the same reason; none: go on (default: %(default)s)",
    )
    add_file(
        "--links",
        help="write a CSV file for a mail merge, with the id, the e-mail address and the links of each payer that is "
        "done: personal data",
    )
    add(
        "--report",
        type=Path,
        help="CSV file for the result of each row (default: beside the file, such as payers-report.csv, or "
        "payers-plan.csv with --dry-run, payers-verify.csv with --verify)",
    )


def _words(text: str) -> list[str]:
    """Return words that are separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _states(text: str) -> list[str]:
    """Return the states that are tried again."""
    states = _words(text)
    if not {"refused", "unknown"}.issuperset(states):
        raise argparse.ArgumentTypeError("expected refused, unknown, or both with a comma")
    return states


def _count(text: str, *, other: str = "") -> int:
    """Return a number of rows. other: what else is expected, for the error."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number, 1 or more{other}")
    return int(text)


def _refusals(text: str) -> int | None:
    """Return a number of refusals; None for "none"."""
    return None if text == "none" else _count(text, other=", or none")


_EVENTS = """Receive events (webhooks) on this machine until you press Ctrl+C; this is beyond the specification. Each
one is verified with the secret in PAYERKIT_EVENTS_SECRET, or one that you type, and appended to a file before the
service is told that it arrived. One with a wrong signature is refused with 401. The service reaches the port through a
tunnel or proxy of yours. payerkit.read_events(FILE) reads the file."""


def _add_events(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--listen", type=int, default=8766, metavar="PORT", help="port to listen on (default: 8766; 0: any free port)")
    add(
        "--to",
        type=Path,
        default=Path("events.jsonl"),
        metavar="FILE",
        help="file to append to (default: events.jsonl), one line of JSON per delivery, with its raw body",
    )


_INSPECT = """Show whether to sign a saved payment: what its transactions do, what is not ok, and what could not be
checked. They are compared with the order in the file; --payee, --amount, --invoice-currency and --currency each replace
one member of it. Needs no key and no network. The exit code is 0 for the verdict ok, 3 for look, 4 for stop, and 5 if
the file or an option is unusable."""


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", type=Path, help="file that payment.save(path) wrote, or a saved response as JSON")
    add("--payee", metavar="0x...", help="wallet that should be paid")
    add("--amount", help="amount of the order, in the invoice currency")
    add("--invoice-currency", metavar="ID", help="invoice currency, such as USD")
    add("--currency", dest="payment_currency", metavar="ID", help="currency that is paid, such as fUSDC-sepolia")
    add("--network", help="network of the transactions, such as matic; by default, that of the order")
    add("--rate", help="price of one unit of the currency that is paid, in the invoice currency, such as 2500")
    add(
        "--policy",
        type=Path,
        metavar="FILE",
        help="what you agreed to: a TOML file with fees, allowances, addresses, rates",
    )
    add("--html", type=Path, metavar="OUT", help="also write the same as an HTML file, for a signer without Python")
