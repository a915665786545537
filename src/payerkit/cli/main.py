"""Runs a command. Its arguments are in two tables beside this module, its code in the module with its name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import Any

from payerkit import __version__
from payerkit._tsv import rows
from payerkit.errors import PayerkitError
from payerkit.wording import did_you_mean


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
            hint = did_you_mean(unknown[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}.{hint}")
        return options, unknown


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, from the tables beside this module."""
    parser = _Parser(prog="payerkit", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"payerkit {__version__}")
    commands = parser.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND", help="see below"
    )
    parsers, listed = {}, []
    for group, found in groupby(_named_rows("commands"), lambda row: row.pop("group")):
        listed += ["", f"{group}:"]
        for row in found:
            listed.append(f"  {row['name']:<9} {row.pop('help')}")
            parsers[row["name"]] = commands.add_parser(**row)
    parser.epilog = "\n".join([*listed[1:], "", _EXAMPLE])
    if not arguments:
        parser.exit(2, parser.format_help())
    if not arguments[0].startswith("-") and arguments[0] not in parsers:
        parser.error(f"there is no command {arguments[0]}.{did_you_mean(arguments[0], parsers)}")
    if arguments[:1] == ["sandbox"]:  # only then: its settings are part of an extra
        _add_sandbox(parsers["sandbox"])
    for (command, group), found in groupby(
        _named_rows("options"), lambda row: (row.pop("command"), row.pop("group", ""))
    ):
        to = parsers[command].add_argument_group(group) if group else parsers[command]
        for row in found:
            kind = _KINDS[row.pop("kind")]
            choices = {"choices": row.pop("choices").split()} if "choices" in row else {}
            to.add_argument(*row.pop("option").split(), **row, **choices, **kind)
    return parser


_DESCRIPTION = """\
Register payers, store their accounts and check payments on Request Network's payer API.
payerkit is not affiliated with Request Network."""

_EXAMPLE = """\
Example: 'payerkit onboard payers.csv --dry-run' shows what would be sent, and sends nothing.
'payerkit COMMAND --help' shows the options of a command. New here? Start with 'payerkit lab'."""


def _add_sandbox(parser: argparse.ArgumentParser) -> None:
    """Add the options of the sandbox's settings."""
    try:
        from payerkit.cli.sandbox import add_options  # noqa: PLC0415 - loaded for this command alone

        add_options(parser)
    except ModuleNotFoundError as error:
        parser.exit(1, f"payerkit sandbox: The sandbox needs {error.name}: pip install 'payerkit[sandbox]'.\n")


def _named_rows(table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as arguments by name, without empty cells."""
    yield from ({name: cell for name, cell in row.items() if cell} for row in rows(__package__, table))


def _count(text: str, *, other: str = "") -> int:
    """Return a number of rows. other: what else is expected, for the error."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number, 1 or more{other}")
    return int(text)


def _refusals(text: str) -> int | None:
    """Return a number of refusals; None for "none"."""
    return None if text == "none" else _count(text, other=", or none")


_KINDS: dict[str, dict[str, Any]] = {
    "text": {},
    "int": {"type": int},
    "number": {"type": float},
    "count": {"type": _count},
    "refusals": {"type": _refusals},
    "file": {"type": Path},
    "optional_file": {"type": Path, "nargs": "?"},
    "flag": {"action": "store_true"},
    "choice": {"type": lambda text: text.replace("_", "-")},
    "list": {"nargs": "*"},
    "repeated": {"action": "append", "default": []},
}
"""The arguments for argparse, by kind of option."""
