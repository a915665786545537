"""What one may type behind `payerkit`: a function for each command adds its
arguments.
"""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from payerkit import __version__
from payerkit.wording import did_you_mean, visible

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[ArgumentParser]  # noqa: SLF001 - what add_subparsers() returns has no public name

DESCRIPTION = """\
Register payers, store their accounts and check payments on Request Network's payer API.
payerkit is not affiliated with Request Network."""

COMMANDS = """\
To begin:
  lab       open the notebooks in JupyterLab
  docs      open the reference, offline
  sandbox   run a sandbox of the payer API

To send a table:
  onboard   send a table of payers and bank details, or resume a run

Before and after a payment:
  inspect   show and check the transactions of a saved payment
  trace     say where the money of one order is

Example: 'payerkit onboard payers.csv --dry-run' shows what would be sent, and
sends nothing. 'payerkit COMMAND --help' shows the options of a command.
New here? Start with 'payerkit lab'."""


class CommandParser(ArgumentParser):
    """Refuses unknown arguments of a command with the usage of this command; argparse
    shows that of all commands. What was typed, such as the name of a file, steers no
    terminal.
    """

    def error(self, message: str) -> NoReturn:
        """End the program with the usage and a message of one line."""
        super().error(visible(message))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the options, and no unknown arguments: they end the program."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = did_you_mean(unknown[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}.{hint}")
        return options, unknown


def parse(arguments: Sequence[str]) -> Namespace:
    """Return the command and its options. Wrong arguments end the program with 2, after
    a message.
    """
    parser = CommandParser(
        prog="payerkit",
        description=DESCRIPTION,
        epilog=COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"payerkit {__version__}"
    )
    commands = add_commands(parser)
    if not arguments:
        parser.exit(2, parser.format_help())
    first = arguments[0]
    if not first.startswith("-") and first not in commands:
        parser.error(f"there is no command {first}.{did_you_mean(first, commands)}")
    if first == "sandbox":  # only then: its settings are part of an extra
        _add_settings(commands["sandbox"])
    return parser.parse_args(arguments)


def add_commands(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """Add the commands to a parser; return the parser of each by its name."""
    commands = parser.add_subparsers(
        title="commands",
        dest="command",
        required=True,
        metavar="COMMAND",
        help="see below",
    )
    return {
        "lab": add_lab(commands),
        "docs": add_docs(commands),
        "sandbox": add_sandbox(commands),
        "onboard": add_onboard(commands),
        "inspect": add_inspect(commands),
        "trace": add_trace(commands),
    }


def add_lab(commands: Commands) -> ArgumentParser:
    """Add `payerkit lab`."""
    parser = commands.add_parser(
        "lab",
        description=(
            "Copy the notebooks to a folder of yours and open their index in"
            " JupyterLab. Your copies are never overwritten; --folder with another"
            " name gives new ones."
        ),
        epilog="Example: payerkit lab --folder my-notebooks.",
    )
    _add_notebook_options(parser)
    return parser


def add_docs(commands: Commands) -> ArgumentParser:
    """Add `payerkit docs`."""
    parser = commands.add_parser(
        "docs",
        description=(
            "Copy the notebooks to a folder of yours and open the cheat sheet in"
            " JupyterLab: the first page of the reference. It needs no network."
        ),
    )
    _add_notebook_options(parser)
    return parser


def add_sandbox(commands: Commands) -> ArgumentParser:
    """Add `payerkit sandbox`, without the options of its settings."""
    return commands.add_parser(
        "sandbox",
        description=(
            "Run a sandbox of the payer API until you press Ctrl+C. Several people"
            " or notebooks can share it."
        ),
        epilog=(
            "Example: payerkit sandbox --db practice.db --port 8765. Keys are taken"
            " from environment variables only. PAYERKIT_SANDBOX_API_KEY holds the"
            " API key, or several with the names of their worlds,"
            " alice:KEY,bob:KEY: each key opens a world with data of its own."
            " Without the variable, a new key is made, and kept in the database."
        ),
    )


def add_onboard(commands: Commands) -> ArgumentParser:
    """Add `payerkit onboard`."""
    parser = commands.add_parser(
        "onboard",
        description=(
            "Send the payers of a table, then their bank details, to the service at"
            " PAYERKIT_BASE_URL with the key in PAYERKIT_API_KEY (or the Client ID in"
            " PAYERKIT_CLIENT_ID), or to that of a profile. A journal file records the"
            " state of each payer and account. After a crash or Ctrl+C, or with a"
            " corrected or longer file, run the same command again: what is done is"
            " not sent again. The exit code is"
            " 0 if all rows are done (with --dry-run: would be sent; with --verify:"
            " are stored once), 3 if some are not, 1 if the run could not start or"
            " its report could not be written, and 130 after Ctrl+C."
        ),
        epilog=(
            "Example: 'payerkit onboard payers.csv --dry-run', then 'payerkit"
            " onboard payers.csv --limit 3', then the same without --limit."
        ),
    )
    file = parser.add_argument_group("The file")
    file.add_argument(
        "file",
        type=Path,
        nargs="?",
        help="Excel (.xlsx) or CSV file with one payer or account per row",
    )
    file.add_argument(
        "--sheet",
        metavar="NAME",
        help="the sheet of the workbook (default: its only one that is not hidden)",
    )
    file.add_argument(
        "--header-row",
        type=_count,
        metavar="N",
        help="the row with the names of the columns (default: detected)",
    )
    file.add_argument(
        "--encoding",
        metavar="NAME",
        help="of a text file, such as cp1250 (default: detected)",
    )
    file.add_argument(
        "--normalise",
        action="store_true",
        help=(
            "rewrite what can mean only one thing, such as Germany to DE; --dry-run"
            " lists every change"
        ),
    )
    file.add_argument(
        "--date-order",
        type=_hyphenated,
        choices=["day-first", "month-first"],
        help=(
            "how 03/04/1985 is read (default: in the one order that all dates of"
            " the file have, else not at all)"
        ),
    )
    file.add_argument(
        "--placeholders",
        type=_placeholders,
        default="error",
        metavar="WORDS",
        help=(
            "texts such as N/A and - that stand for nothing: keep sends them all, and"
            " words such as Null,None these alone (default: %(default)s, do not send"
            " the row)"
        ),
    )
    file.add_argument(
        "--holder-is-payer",
        action="store_true",
        help=(
            "the account holders are the payers: take their birth date, type and"
            " address from the payer's columns"
        ),
    )
    file.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="THEIRS=OURS",
        help=(
            "rename a column of the file, such as zip=postcode; THEIRS= ignores it;"
            " may be repeated"
        ),
    )
    file.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OURS=VALUE",
        help=(
            "the value of a field in all rows in which it is blank, such as"
            " currency=USD; may be repeated"
        ),
    )
    look = parser.add_argument_group("Look first, send nothing")
    look.add_argument(
        "--dry-run",
        action="store_true",
        help="check the file, show what would be sent, and send nothing",
    )
    look.add_argument(
        "--verify",
        action="store_true",
        help="show which accounts are there, twice or not at all, and send nothing",
    )
    look.add_argument(
        "--template",
        nargs="*",
        metavar="ROUTE",
        help=(
            "print a table to fill in, with the columns that these currencies and"
            " rails need and an example row for each, such as eur-local usd-swift"
            " (default: usd-local eur-local gbp-local), and exit"
        ),
    )
    look.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the template to this .csv or .xlsx file",
    )
    sent = parser.add_argument_group("What is sent")
    sent.add_argument(
        "--limit",
        type=_count,
        metavar="N",
        help=(
            "send only the first N rows, to try; the same command without it,"
            " later, sends the others"
        ),
    )
    sent.add_argument(
        "--accounts",
        type=_hyphenated,
        choices=["now", "when-compliant"],
        default="now",
        help=(
            "when-compliant: read the status of each payer first, and send the"
            " accounts of compliant payers only; the same command on another day"
            " sends the others (default: %(default)s)"
        ),
    )
    sent.add_argument(
        "--existing",
        choices=["skip", "send"],
        default="skip",
        help=(
            "what to do with an account that the payer's list has already, or may"
            " have: skip does not send it; send does, so that it may be stored"
            " twice (default: %(default)s)"
        ),
    )
    sent.add_argument(
        "--retry",
        action="append",
        default=[],
        choices=["refused", "unknown"],
        help=(
            "send again what is refused, or what is unknown and not found, in the"
            " journal; may be repeated"
        ),
    )
    sent.add_argument(
        "--hold",
        action="append",
        default=[],
        metavar="CODE",
        help=(
            "do not send rows with these warnings, such as --hold iban_checksum, or"
            " with any: --hold warnings; --dry-run shows the codes in brackets; may"
            " be repeated"
        ),
    )
    sent.add_argument(
        "--stop-after",
        type=_refusals,
        metavar="N",
        default=20,
        help=(
            "stop the run once this many rows were refused for the same reason;"
            " none: go on (default: %(default)s)"
        ),
    )
    service = parser.add_argument_group("The service")
    _add_profile(service)
    service.add_argument(
        "--rate",
        type=float,
        metavar="N",
        help=(
            "calls per second, at most (default: that of the profile, else 5, and"
            " no limit on this machine)"
        ),
    )
    service.add_argument(
        "--workers",
        type=int,
        metavar="N",
        default=32,
        help="concurrent requests (default: %(default)s)",
    )
    written = parser.add_argument_group("What is written")
    written.add_argument(
        "--journal",
        type=Path,
        help=(
            "journal of the run (default: beside the file, such as payers.csv.journal)"
        ),
    )
    written.add_argument(
        "--report",
        type=Path,
        help=(
            ".csv or .xlsx file for the result of each row (default: beside the file,"
            " such as payers-report.csv, or payers-plan.csv with --dry-run,"
            " payers-verify.csv with --verify)"
        ),
    )
    written.add_argument(
        "--links",
        type=Path,
        metavar="FILE",
        help=(
            "write a CSV file for a mail merge, with the id, the e-mail address and"
            " the links of each payer that is done: personal data"
        ),
    )
    return parser


def add_inspect(commands: Commands) -> ArgumentParser:
    """Add `payerkit inspect`."""
    parser = commands.add_parser(
        "inspect",
        description=(
            "Show whether to sign a saved payment: what its transactions do, what"
            " is not ok, and what could not be checked. They are compared with the"
            " order in the file; --payee, --amount, --invoice-currency and"
            " --currency each replace one member of it. Needs no key and no"
            " network. The exit code is 0 for the verdict ok, 3 for look, 4 for"
            " stop, and 5 if the file or an option is unusable."
        ),
        epilog="Example: payerkit inspect payment.json --policy policy.toml",
    )
    parser.add_argument(
        "file",
        type=Path,
        help="file that payment.save(path) wrote, or a saved response as JSON",
    )
    parser.add_argument(
        "--payee",
        metavar="0x...",
        help="wallet that should be paid",
    )
    parser.add_argument(
        "--amount",
        help="amount of the order, in the invoice currency",
    )
    parser.add_argument(
        "--invoice-currency",
        metavar="ID",
        help="invoice currency, such as USD",
    )
    parser.add_argument(
        "--payment-currency",
        "--currency",
        metavar="ID",
        help="currency that is paid, such as fUSDC-sepolia",
    )
    parser.add_argument(
        "--network",
        help=(
            "network of the transactions, such as matic; by default, that of the order"
        ),
    )
    parser.add_argument(
        "--rate",
        help=(
            "price of one unit of the currency that is paid, in the invoice"
            " currency, such as 2500"
        ),
    )
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="what you agreed to: a TOML file with fees, allowances, addresses, rates",
    )
    parser.add_argument(
        "--node",
        metavar="URL",
        help=(
            "node of the network, such as https://node.example.com, that executes"
            " the payment without sending it"
        ),
    )
    parser.add_argument(
        "--wallet",
        metavar="0x...",
        help="wallet that will sign, for --node",
    )
    parser.add_argument(
        "--html",
        type=Path,
        metavar="OUT",
        help="also write the same as an HTML file, for a signer without Python",
    )
    return parser


def add_trace(commands: Commands) -> ArgumentParser:
    """Add `payerkit trace`."""
    parser = commands.add_parser(
        "trace",
        description=(
            "Say where the money of one order is, from the order to the bank: for"
            " each step what is known, since when, and who says so; then whose move"
            " it is, and what to do. This is beyond the specification. It asks the"
            " service at PAYERKIT_BASE_URL with the key in PAYERKIT_API_KEY (or the"
            " Client ID in PAYERKIT_CLIENT_ID), or that of a profile, and changes"
            " nothing. Only events say what the off-ramp and the bank do; their"
            " signatures are checked with the secret in PAYERKIT_EVENTS_SECRET. The"
            " exit code is 0 once the money has arrived, 3 before, and 1 if the"
            " service cannot be asked."
        ),
        epilog="Example: payerkit trace INV-2041 --events events.jsonl",
    )
    parser.add_argument(
        "reference",
        help="your reference of the request, or its request id",
    )
    parser.add_argument(
        "--events",
        type=Path,
        metavar="FILE",
        help="file of stored events, as payerkit.read_events() reads it",
    )
    parser.add_argument(
        "--payment",
        type=Path,
        metavar="FILE",
        help=(
            "file that payment.save(path) wrote, to say the verdict of its transactions"
        ),
    )
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="what you agreed to, for the verdict: a TOML file",
    )
    _add_profile(parser)
    return parser


def _add_settings(parser: ArgumentParser) -> None:
    """Add the options of the sandbox's settings, which are part of an extra."""
    try:
        from payerkit.cli.sandbox import add_options  # noqa: PLC0415 - loaded for this command alone

        add_options(parser)
    except ModuleNotFoundError as error:
        parser.exit(
            1,
            f"payerkit sandbox: The sandbox needs {error.name}: pip install"
            " 'payerkit[sandbox]'.\n",
        )


def _add_notebook_options(parser: ArgumentParser) -> None:
    """Add the options of the commands that open a notebook."""
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="print the address and do not open a browser",
    )
    parser.add_argument(
        "--port",
        type=int,
        help="port of JupyterLab (default: the first free port from 8888)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="folder for the notebooks (default: payerkit-notebooks)",
    )


def _add_profile(parser: argparse._ActionsContainer) -> None:
    """Add the option that names a service."""
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help=(
            "a service of ~/.config/payerkit/profiles.toml, with the key in"
            " PAYERKIT_API_KEY_NAME or PAYERKIT_CLIENT_ID_NAME (default: the service"
            " at PAYERKIT_BASE_URL; one that is not Request Network's and not on"
            " this machine gets nothing before PAYERKIT_ENVIRONMENT says live or"
            " sandbox)"
        ),
    )


def _count(text: str, *, other: str = "") -> int:
    """Return a number of rows. other: what else is expected, for the error."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"expected a whole number, 1 or more{other}")
    return int(text)


def _refusals(text: str) -> int | None:
    """Return a number of refusals; None for "none"."""
    if text == "none":
        return None
    return _count(text, other=", or none")


def _placeholders(text: str) -> str | frozenset[str]:
    """Return "error" or "keep", or the words that are values."""
    if text in {"error", "keep"}:
        return text
    return frozenset(word.strip() for word in text.split(","))


def _hyphenated(text: str) -> str:
    """Return a choice as it is listed; Python's spelling with _ is taken, too."""
    return text.replace("_", "-")
