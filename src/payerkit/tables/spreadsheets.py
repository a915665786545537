"""Files for spreadsheets: rows without formulas, workbooks with what is wrong, and the
template to fill in.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import IO

import pandas as pd

from payerkit import _tsv
from payerkit.disk import save_file, save_new_file
from payerkit.errors import InvalidInput, kind_of
from payerkit.models.base import RequestModel
from payerkit.models.fields import RequestField, fields_of
from payerkit.models.requests import BankDetails, Payer
from payerkit.tables.header import HOLDER_IS_PAYER, account_columns, columns_by_field
from payerkit.tables.sheet import column_letters
from payerkit.wording import visible_lines

FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""Characters at the beginning of a cell that a spreadsheet computes; in some languages,
their wide forms, too.
"""

_BEHIND = f"([;\\t\\r\\n] *)([{re.escape(''.join(FORMULA))}])"
"""What separates cells, and a formula behind it: a program may split the file at
another separator than ours.
"""


def inert(text: str) -> str:
    """Return a text so that no spreadsheet computes it: with ' in front of what may be
    a formula and is no number.
    """
    text = re.sub(_BEHIND, r"\1'\2", text)
    is_number = text[:1] in {"+", "-"} and text[1:].replace(".", "", 1).isdecimal()
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text


def write_rows(frame: pd.DataFrame, target: str | Path | IO[str]) -> None:
    """Write a frame as CSV, its index first, without formulas: in cells, labels and
    names of columns.
    """
    _plain(frame).to_csv(target, index=False)


def save_rows(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame, its index first and without formulas, to a file that its owner
    alone may read, replacing an existing one: an Excel workbook if the name ends in
    .xlsx, and CSV otherwise.
    """
    if Path(path).suffix.lower() == ".xlsx":
        require_openpyxl()
        workbook = io.BytesIO()
        # A workbook can hold no control characters.
        plain = _plain(frame).map(
            lambda cell: visible_lines(cell) if isinstance(cell, str) else cell
        )
        plain.to_excel(workbook, index=False, freeze_panes=(1, 0))
        save_file(path, workbook.getvalue(), private=True)
        return
    text = io.StringIO(newline="")
    write_rows(frame, text)
    save_file(path, text.getvalue(), private=True)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its index as columns, and nothing that is computed."""
    labels = ["row" if name is None else str(name) for name in frame.index.names]
    names = [inert(name) for name in [*labels, *frame.columns.astype(str)]]
    plain = frame.reset_index(allow_duplicates=True).set_axis(range(len(names)), axis=1)
    # pandas puts no quotes around a carriage return alone, which ends a row for others.
    plain = plain.map(
        lambda cell: inert(cell).replace("\r", "\n") if isinstance(cell, str) else cell
    )
    return plain.set_axis(names, axis=1)


def require_new_file(path: Path, kinds: Collection[str]) -> None:
    """Raise InvalidInput unless a path is that of a new file of one of these kinds, in
    a folder that exists.
    """
    if path.suffix.lower() not in kinds:
        raise InvalidInput(
            f"path: expected a {' or '.join(kinds)} file, got {path.name}."
        )
    if not path.parent.is_dir():
        raise InvalidInput(
            f"path: there is no folder {path.parent}. Make it first, or choose another."
        )
    if path.exists():
        raise InvalidInput(
            f"path: {path.name} exists already, and may be filled in. Choose another"
            " name."
        )


# Excel workbooks

AS_TEXT = "@"
"""Excel's number format of text: leading zeros stay, a date stays as it is typed, and
nothing is computed.
"""

COLOURS = {"error": ("FBD5D0", "7A1610"), "warning": ("FFE7B3", "5A3200")}
"""Ground and text. Both are given, since a dark theme changes what is not."""

_WIDEST = 40
"""Characters that a column is wide at most."""

Cell = tuple[int, int]
"""Row and column of a cell, from 0."""


def require_openpyxl() -> None:
    """Raise ImportError unless workbooks can be written."""
    if find_spec("openpyxl") is None:
        raise ImportError(
            "Excel files need openpyxl: pip install openpyxl, or write a .csv file."
        )


def write_workbook(
    path: Path,
    title: str,
    rows: Sequence[Sequence[str]],
    *,
    colours: Mapping[Cell, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
) -> None:
    """Write rows of text, which is never computed, to a new .xlsx file that its owner
    alone may read.

    title: of the sheet. colours: "error" or "warning" for single cells. notes: comments
    of the cells in the first row.
    """
    require_openpyxl()
    import openpyxl  # noqa: PLC0415 - an extra

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    for number, first in enumerate(zip(*rows[:100], strict=True)):
        column = sheet.column_dimensions[column_letters(number)]
        column.number_format = AS_TEXT  # for rows that a person adds, too
        column.width = min(max(map(len, first)), _WIDEST) + 3
    for row, texts in enumerate(rows):
        cells = []
        for column, text in enumerate(texts):
            cell = openpyxl.cell.WriteOnlyCell(sheet, text)
            cell.data_type = "s"
            cell.number_format = AS_TEXT
            kind = colours.get((row, column))
            if kind:
                ground, colour = COLOURS[kind]
                cell.fill = openpyxl.styles.PatternFill("solid", fgColor=ground)
                cell.font = openpyxl.styles.Font(color=colour)
            if row == 0 and notes:
                cell.comment = openpyxl.comments.Comment(
                    notes[column], "payerkit", height=120, width=300
                )
            cells.append(cell)
        sheet.append(cells)
    content = io.BytesIO()
    book.save(content)
    save_new_file(path, content.getvalue())


# The template: the columns that some currencies and rails need, and an example for each


def _write_template(
    path: Path, columns: Sequence[str], records: Sequence[Mapping[str, str]]
) -> None:
    """Write a table of payers with accounts to a new .xlsx file, with a note at each
    column.
    """
    notes = {}
    for model in (Payer, BankDetails):
        for name, column in columns_by_field(model, columns).items():
            notes[column] = _note(model, fields_of(model)[name])
    rows = [[record.get(column, "") for column in columns] for record in records]
    write_workbook(
        path,
        "payers and accounts",
        [columns, *rows],
        notes=[notes[column] for column in columns],
    )


def _note(model: type[RequestModel], field: RequestField) -> str:
    owner = "Of the payer."
    if model is BankDetails:
        owner = "Of the account and its holder, the payee."
    if model is BankDetails and field.section == "Account holder":
        owner += (
            f" Is the holder the payer? Add a column {HOLDER_IS_PAYER} with yes or no."
        )
    needed = "Required." if field.required else "If needed."
    return f"{field.title}. {field.full_help} {needed} {owner}"


DEFAULT_ROUTES = ("usd-local", "eur-local", "gbp-local")

ExampleRow = dict[str, str]


def template(*routes: str, path: str | Path | None = None) -> str:
    """Return a table to fill in, with only the columns that some kinds of accounts
    need, and an example row for each.

    The account holder is the payee: birth date, type and address of the holder are in
    columns with `bank_` in front, and the payer is somebody else.

    Args:
        *routes: Currencies with their rails, such as "eur-local" or "usd-swift"; if
            none, "usd-local", "eur-local" and "gbp-local".
        path: Also write the table to this file, which must not exist: .csv, or .xlsx
            with notes, and cells that keep leading zeros.

    Returns:
        The table as CSV. `read_payers` reads it, and the file.

    Raises:
        InvalidInput: For an unknown route, and a file that exists or is of another
            kind.
        ImportError: If openpyxl, which .xlsx files need, is not installed.

    Example:
        >>> header, row = template("eur-local").splitlines()
        >>> header.split(",")[14:19]
        ['bank_name', 'account_name', 'bank_beneficiary_type', 'currency', 'rails']
        >>> row.split(",")[14:19]
        ['Example Bank', 'Example Handels GmbH', 'business', 'EUR', 'local']
    """
    chosen = list(
        dict.fromkeys(_known_route(route) for route in routes or DEFAULT_ROUTES)
    )
    accounts = [_examples()[route] for route in chosen]
    payers = [
        {name: text.format(number=place) for name, text in _example_payer().items()}
        for place, _ in enumerate(accounts, start=1)
    ]
    names = {
        name: account_columns(name)[0]
        for name in fields_of(BankDetails)
        if any(name in each for each in accounts)
    }
    columns = [*_example_payer(), *names.values()]
    records = [
        payer | {names[name]: value for name, value in account.items()}
        for payer, account in zip(payers, accounts, strict=True)
    ]
    text: str = pd.DataFrame(records, columns=columns).to_csv(
        index=False, lineterminator="\n"
    )
    if path is not None:
        path = Path(path)
        require_new_file(path, (".csv", ".xlsx"))
        if path.suffix.lower() == ".csv":
            # Encoded with the mark by which Excel knows UTF-8.
            save_new_file(path, text.encode("utf-8-sig"))
        else:
            _write_template(path, columns, records)
    return text


def is_example(client_user_id: str, email: str | None) -> bool:
    """Return True for a row that still has the id and the e-mail address of a template,
    or the id alone.
    """
    return _looks_like_example("client_user_id", client_user_id) and (
        not email or _looks_like_example("email", email)
    )


def _looks_like_example(name: str, text: str) -> bool:
    pattern = re.escape(_example_payer()[name]).replace(
        re.escape("{number:03}"), "[0-9]{3}"
    )
    return re.fullmatch(pattern, text, re.IGNORECASE) is not None


_INVENTED = {
    "client_user_id": "example-payer-{number:03}",
    "email": "payer.{number:03}@example.com",
    "first_name": "Example",
    "last_name": "Payer {number:03}",
    "phone": "+12125550{number:03}",
    "address_line1": "1 Example Street",
}
"""Of the payers in a template, what their examples do not have. number: of the row."""


@cache
def _example_payer() -> ExampleRow:
    """Return the payer of the example rows, who is another person than the account
    holder.
    """
    required = [field for field in fields_of(Payer).values() if field.required]
    return {field.name: field.example for field in required} | _INVENTED


@cache
def _examples() -> Mapping[str, ExampleRow]:
    """Return the fields of the example accounts by route."""
    found = {}
    for row in _tsv.rows(__package__, "template"):
        currency, _, rails = row["route"].partition("-")
        given = row | _details(row) | {"currency": currency.upper(), "rails": rails}
        if rails:
            found[row["route"]] = {
                name: given[name] for name in fields_of(BankDetails) if given.get(name)
            }
    return found


def _details(row: ExampleRow) -> ExampleRow:
    return dict(item.split(": ") for item in row["details"].split("; "))


def _known_route(route: str) -> str:
    if not isinstance(route, str):
        raise InvalidInput(
            'routes: expected text, such as template("eur-local", "usd-wire"), got'
            f" {kind_of(route)}."
        )
    name = route.strip().lower()
    if name in _examples():
        return name
    raise InvalidInput(
        f"routes: there is no template for {name!r}.",
        advice=f"Routes: {', '.join(_examples())}.",
    )
