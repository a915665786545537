"""The template: a table to fill in, with the columns that some currencies and rails need, and an example for each."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from payerkit._tsv import rows
from payerkit.checks.requirements import requirements
from payerkit.checks.schema import BANK_DETAILS
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.tables.columns import account_columns
from payerkit.tables.spreadsheets import require_new_file
from payerkit.tables.template_workbook import write_workbook

DEFAULT_ROUTES = ("usd-local", "eur-local", "gbp-local")

_PAYER = {
    "client_user_id": "example-payer-{number:03}",
    "email": "payer.{number:03}@example.com",
    "first_name": "Example",
    "last_name": "Payer {number:03}",
    "beneficiary_type": "individual",
    "date_of_birth": "1985-12-12",
    "nationality": "US",
    "phone": "+12125550{number:03}",
    "ssn": "123-45-6789",
    "address_line1": "1 Example Street",
    "city": "New York",
    "state": "NY",
    "postcode": "10001",
    "country": "US",
}
"""The payer of the example rows, who is another person than the account holder."""

Record = Mapping[str, str]

_IS_EXAMPLE_ID, _IS_EXAMPLE_EMAIL = (
    re.compile(re.escape(_PAYER[name]).replace(re.escape("{number:03}"), "[0-9]{3}"), re.IGNORECASE).fullmatch
    for name in ("client_user_id", "email")
)


@without_internal_frames
def template(*routes: str, path: str | Path | None = None) -> str:
    """Return a table to fill in, with only the columns that some kinds of accounts need, and an example row for each.

    The account holder is the payee: birth date, type and address of the holder are in columns with `bank_` in front,
    and the payer is somebody else.

    Args:
        *routes: Currencies with their rails, such as "eur-local" or "usd-swift"; if none, "usd-local", "eur-local" and
            "gbp-local".
        path: Also write the table to this file, which must not exist: .csv, or .xlsx with drop-downs, notes, and cells
            that keep leading zeros.

    Returns:
        The table as CSV. `read_payers` reads it, and the file.

    Raises:
        InvalidInput: For an unknown route, and a file that exists or is of another kind.
        ImportError: If openpyxl, which .xlsx files need, is not installed.

    Example:
        >>> header, row = template("eur-local").splitlines()
        >>> header.split(",")[14:19]
        ['bank_name', 'account_name', 'bank_beneficiary_type', 'currency', 'rails']
        >>> row.split(",")[14:19]
        ['Example Bank', 'Example Handels GmbH', 'business', 'EUR', 'local']
    """
    chosen = list(dict.fromkeys(_known_route(route) for route in routes or DEFAULT_ROUTES))
    accounts = [_examples()[route] for route in chosen]
    payers = [
        {name: value.format(number=number) for name, value in _PAYER.items()} for number in range(1, 1 + len(accounts))
    ]
    names = {name: account_columns(name)[0] for name in BANK_DETAILS.fields if any(name in each for each in accounts)}
    columns = [*_PAYER, *names.values()]
    records = [
        payer | {names[name]: value for name, value in account.items()}
        for payer, account in zip(payers, accounts, strict=True)
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    if path is not None:
        _write(Path(path), text.getvalue(), columns, records)
    return text.getvalue()


def is_example(client_user_id: str, email: str | None) -> bool:
    """Return True for a row that still has the id and the e-mail address of a template, or the id alone."""
    return bool(_IS_EXAMPLE_ID(client_user_id)) and (not email or bool(_IS_EXAMPLE_EMAIL(email)))


@cache
def _examples() -> Mapping[str, Record]:
    """Return the fields of the example accounts by route."""
    return {row["route"]: _account(row) for row in rows(__package__, "template")}


def _account(row: dict[str, str]) -> Record:
    currency, rails = row["route"].split("-")
    details = dict(item.split(": ") for item in row["details"].split("; "))
    given = row | details | {"currency": currency.upper(), "rails": rails}
    return {name: given[name] for name in BANK_DETAILS.fields if given.get(name)}


def _known_route(route: str) -> str:
    if not isinstance(route, str):
        raise InvalidInput(f'routes: expected text, such as template("eur-local", "usd-wire"), got {kind_of(route)}.')
    name = route.strip().lower()
    if name in _examples():
        return name
    unpublished = [f"{currency}-{rails}".lower() for currency, rails in requirements()]
    if name in unpublished:
        raise InvalidInput(f"routes: {name} has no template, since it is not published what {name} needs.")
    likely = [each for each in _examples() if name and each.startswith(name)]
    likely = likely or difflib.get_close_matches(name, _examples(), n=3)
    hint = f" Did you mean {', '.join(likely[:-1])}{' or ' if likely[1:] else ''}{likely[-1]}?" if likely else ""
    raise InvalidInput(f"routes: unknown route {name!r}.{hint}", advice=f"Routes: {', '.join(_examples())}.")


def _write(path: Path, text: str, columns: Sequence[str], records: Sequence[Record]) -> None:
    require_new_file(path, (".csv", ".xlsx"))
    if path.suffix.lower() == ".csv":
        path.write_text(text, "utf-8-sig", newline="")  # with the mark by which Excel knows UTF-8
    else:
        write_workbook(path, columns, records)
