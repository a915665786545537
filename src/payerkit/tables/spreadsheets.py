"""Files for spreadsheets: rows without formulas, workbooks with what is wrong, and the template to fill in."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import IO

import pandas as pd

from payerkit import _tsv
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema, SchemaField
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.tables.header import HOLDER_IS_PAYER, account_columns, columns_by_field
from payerkit.tables.sheet import column_letters

FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""Characters at the beginning of a cell that a spreadsheet computes; in some languages, their wide forms, too."""

_BEHIND = f"([;\\t\\r\\n] *)([{re.escape(''.join(FORMULA))}])"
"""What separates cells, and a formula behind it: a program may split the file at another separator than ours."""


def inert(text: str) -> str:
    """Return a text so that no spreadsheet computes it: with ' in front of what may be a formula and is no number."""
    text = re.sub(_BEHIND, r"\1'\2", text)
    is_number = text[:1] in {"+", "-"} and text[1:].replace(".", "", 1).isdecimal()
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text


def write_rows(frame: pd.DataFrame, target: str | Path | IO[str]) -> None:
    """Write a frame as CSV, its index first, without formulas: in cells, labels and names of columns."""
    names = ["row" if name is None else str(name) for name in frame.index.names] + [str(name) for name in frame.columns]
    plain = frame.reset_index(allow_duplicates=True).set_axis(range(len(names)), axis=1)
    plain = plain.map(lambda cell: inert(cell) if isinstance(cell, str) else cell)
    plain.to_csv(target, header=list(map(inert, names)), index=False)


def open_for_owner(path: Path) -> IO[str]:
    """Open a file to write that its owner alone may read; an existing one is emptied."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    opened = os.fdopen(file, "w", encoding="utf-8", newline="")
    path.chmod(0o600)  # before anything is written: an older file keeps its mode
    return opened


def require_new_file(path: Path, kinds: Collection[str]) -> None:
    """Raise InvalidInput unless a path is that of a new file of one of these kinds, in a folder that exists."""
    if path.suffix.lower() not in kinds:
        raise InvalidInput(f"path: expected a {' or '.join(kinds)} file, got {path.name}.")
    if not path.parent.is_dir():
        raise InvalidInput(f"path: there is no folder {path.parent}. Make it first, or choose another.")
    if path.exists():
        raise InvalidInput(f"path: {path.name} exists already, and may be filled in. Choose another name.")


@contextmanager
def new_file_for_owner(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file to write that its owner alone may read; it is removed again if writing fails."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


# Excel workbooks

AS_TEXT = "@"
"""Excel's number format of text: leading zeros stay, a date stays as it is typed, and nothing is computed."""

COLOURS = {"error": ("FBD5D0", "7A1610"), "warning": ("FFE7B3", "5A3200")}
"""Ground and text. Both are given, since a dark theme changes what is not."""

_LAST_ROW = 1048576
"""The last row of an Excel sheet: drop-downs are for all rows."""

_WIDEST = 40
"""Characters that a column is wide at most."""

Cell = tuple[int, int]
"""Row and column of a cell, from 0."""


def write_workbook(
    path: Path,
    title: str,
    rows: Sequence[Sequence[str]],
    *,
    colours: Mapping[Cell, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
    choices: Mapping[int, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Write rows of text, which is never computed, to a new .xlsx file that its owner alone may read.

    title: of the sheet. colours: "error" or "warning" for single cells. notes: comments of the cells in the first row.
    choices: the only values of a column, by its number from 0.
    """
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or write a .csv file.") from None
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    for number, first in enumerate(zip(*rows[:100], strict=True)):
        column = sheet.column_dimensions[column_letters(number)]
        column.number_format = AS_TEXT  # for rows that a person adds, too
        column.width = min(max(map(len, first)), _WIDEST) + 3
    for number, values in choices.items():
        options = openpyxl.worksheet.datavalidation.DataValidation("list", formula1=f'"{",".join(values)}"')
        options.showErrorMessage = True
        options.add(f"{column_letters(number)}2:{column_letters(number)}{_LAST_ROW}")
        sheet.data_validations.append(options)
    looks = {
        kind: (openpyxl.styles.PatternFill("solid", fgColor=ground), openpyxl.styles.Font(color=text))
        for kind, (ground, text) in COLOURS.items()
    }
    for row, texts in enumerate(rows):
        cells = []
        for column, text in enumerate(texts):
            cell = openpyxl.cell.WriteOnlyCell(sheet, text)
            cell.data_type, cell.number_format = "s", AS_TEXT
            if kind := colours.get((row, column)):
                cell.fill, cell.font = looks[kind]
            cells.append(cell)
        for cell, note in zip(cells, notes if row == 0 else (), strict=False):
            cell.comment = openpyxl.comments.Comment(note, "payerkit", height=120, width=300)
        sheet.append(cells)
    with new_file_for_owner(path) as file:
        book.save(file)


# The template: the columns that some currencies and rails need, and an example for each


def _write_template(path: Path, columns: Sequence[str], records: Sequence[Mapping[str, str]]) -> None:
    """Write a table of payers with accounts to a new .xlsx file, with notes and drop-downs."""
    fields = {
        column: (schema, schema.fields[name])
        for schema in (PAYER, BANK_DETAILS)
        for name, column in columns_by_field(schema, columns).items()
    }
    rows = [columns, *([record.get(column, "") for column in columns] for record in records)]
    options = {number: fields[column][1].options for number, column in enumerate(columns)}
    choices = {number: values for number, values in options.items() if values}
    write_workbook(path, "payers and accounts", rows, notes=[_note(*fields[each]) for each in columns], choices=choices)


def _note(schema: Schema, field: SchemaField) -> str:
    owner = "Of the payer." if schema is PAYER else "Of the account and its holder, the payee."
    if schema is BANK_DETAILS and field.section == "Account holder":
        owner += f" Is the holder the payer? Add a column {HOLDER_IS_PAYER} with yes or no."
    needed = "Required." if field.required else "If needed."
    return f"{field.title}. {field.full_help} {needed} {owner}"


DEFAULT_ROUTES = ("usd-local", "eur-local", "gbp-local")

Record = dict[str, str]


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
        {name: text.format(number=place) for name, text in _example_payer().items()}
        for place, _ in enumerate(accounts, start=1)
    ]
    names = {name: account_columns(name)[0] for name in BANK_DETAILS.fields if any(name in each for each in accounts)}
    columns = [*_example_payer(), *names.values()]
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
            _write_template(path, columns, records)
    return text


def is_example(client_user_id: str, email: str | None) -> bool:
    """Return True for a row that still has the id and the e-mail address of a template, or the id alone."""
    return _looks_like_example("client_user_id", client_user_id) and (not email or _looks_like_example("email", email))


def _looks_like_example(name: str, text: str) -> bool:
    pattern = re.escape(_example_payer()[name]).replace(re.escape("{number:03}"), "[0-9]{3}")
    return re.fullmatch(pattern, text, re.IGNORECASE) is not None


@cache
def _example_payer() -> Record:
    """Return the payer of the example rows, who is another person than the account holder."""
    return next(_details(row) for row in _tsv.rows(__package__, "template") if row["route"] == "payer")


@cache
def _examples() -> Mapping[str, Record]:
    """Return the fields of the example accounts by route."""
    found = {}
    for row in _tsv.rows(__package__, "template"):
        currency, _, rails = row["route"].partition("-")
        given = row | _details(row) | {"currency": currency.upper(), "rails": rails}
        if rails:
            found[row["route"]] = {name: given[name] for name in BANK_DETAILS.fields if given.get(name)}
    return found


def _details(row: Record) -> Record:
    return dict(item.split(": ") for item in row["details"].split("; "))


def _known_route(route: str) -> str:
    if not isinstance(route, str):
        raise InvalidInput(f'routes: expected text, such as template("eur-local", "usd-wire"), got {kind_of(route)}.')
    name = route.strip().lower()
    if name in _examples():
        return name
    raise InvalidInput(f"routes: there is no template for {name!r}.", advice=f"Routes: {', '.join(_examples())}.")
