"""The template: a table to fill in, with the columns that some currencies and rails need, and an example for each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit._tsv import rows
from payerkit.checks.places import countries
from payerkit.checks.requirements import requirements
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema, SchemaField
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.tables.header import HOLDER_IS_PAYER, account_columns, columns_by_field
from payerkit.tables.spreadsheets import AS_TEXT, import_openpyxl, require_new_file
from payerkit.wording import listed

_LAST_ROW = 1048576
"""The last row of an Excel sheet: drop-downs are for all rows."""


def write_workbook(path: Path, columns: Sequence[str], records: Sequence[Mapping[str, str]]) -> None:
    """Write a table of payers with accounts to a new .xlsx file."""
    openpyxl = import_openpyxl()
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "payers and accounts"
    lists = book.create_sheet("lists")
    lists.sheet_state = "hidden"
    fields = {
        column: (schema, schema.fields[name])
        for schema in (PAYER, BANK_DETAILS)
        for name, column in columns_by_field(schema, columns).items()
    }
    for number, column in enumerate(columns, start=1):
        schema, field = fields[column]
        texts = [column, *(record.get(column, "") for record in records)]
        for row, value in enumerate(texts, start=1):
            sheet.cell(row, number, value or None).number_format = AS_TEXT
        header = sheet.cell(1, number)
        header.font = openpyxl.styles.Font(bold=True)
        header.comment = openpyxl.comments.Comment(_note(schema, field), "payerkit", height=120, width=300)
        dimension = sheet.column_dimensions[header.column_letter]
        dimension.number_format = AS_TEXT  # for the rows below the examples
        dimension.width = max(map(len, texts)) + 3
        if values := field.options or _looked_up(field):
            choices = openpyxl.worksheet.datavalidation.DataValidation(
                "list", formula1=_source(lists, values), allow_blank=True, showErrorMessage=True
            )
            choices.errorStyle = "stop" if field.options else "warning"
            choices.errorTitle, choices.error = field.title, field.format.message or "Not in the list."
            sheet.add_data_validation(choices)
            choices.add(f"{header.column_letter}2:{header.column_letter}{_LAST_ROW}")
    sheet.freeze_panes = "B2"  # the header and the ids stay in view
    book.save(path)


def _note(schema: Schema, field: SchemaField) -> str:
    owner = "Of the payer." if schema is PAYER else "Of the account and its holder, the payee."
    if schema is BANK_DETAILS and field.section == "Beneficiary":
        owner += f" Is the holder the payer? Add a column {HOLDER_IS_PAYER} with yes or no."
    needed = "Required." if field.required else "If needed."
    return f"{field.title}. {field.full_help} {needed} {owner}"


def _source(lists: Any, values: Sequence[str]) -> str:
    """Return the cells with the values of a drop-down. lists: the sheet with them, one list in each column."""
    place = next((each for each in lists.iter_cols() if tuple(cell.value for cell in each if cell.value) == values), ())
    if not place:
        number = lists.max_column + bool(lists["A1"].value)
        place = tuple(lists.cell(row, number, value) for row, value in enumerate(values, start=1))
    column = place[0].column_letter
    return f"{lists.title}!${column}$1:${column}${len(values)}"


def _looked_up(field: SchemaField) -> tuple[str, ...]:
    """Return the values of a field that has a table of them, which need not be complete: countries and currencies."""
    if field.lookup == "countries":
        return tuple(sorted(countries()))
    return tuple(sorted({currency for currency, _ in requirements()})) if field.lookup == "fiat" else ()


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
    text: str = pd.DataFrame(records, columns=columns).to_csv(index=False, lineterminator="\n")
    if path is not None:
        path = Path(path)
        require_new_file(path, (".csv", ".xlsx"))
        if path.suffix.lower() == ".csv":
            path.write_text(text, "utf-8-sig", newline="")  # with the mark by which Excel knows UTF-8
        else:
            write_workbook(path, columns, records)
    return text


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
    hint = f" Did you mean {listed(likely, 'or')}?" if likely else ""
    raise InvalidInput(f"routes: unknown route {name!r}.{hint}", advice=f"Routes: {', '.join(_examples())}.")
