"""One small file a kind of damage: a table with two valid payers, and one cell that is
not as it should be.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pandas as pd
from openpyxl.utils import get_column_letter

from cases import table_rows
from published import typed_row

Row = dict[str, Any]


def row(place: int, **changes: Any) -> Row:
    """Return a payer with a dollar account, who shares nothing with others."""
    own = {
        "client_user_id": f"0{place}",
        "account_number": f"0812736455{place}",
        "swift_bic": None,
    }
    return typed_row(place) | own | changes


COLUMNS = list(row(0))


def cell(field: str, number: int = 2) -> str:
    """Return the name of a field's cell in a row of the file."""
    return f"{get_column_letter(COLUMNS.index(field) + 1)}{number}"


def texts(*changes: Mapping[str, Any]) -> list[list[Any]]:
    """Return the header and a row for each of the changes, two at least."""
    rows = [
        row(place, **(changes[place] if place < len(changes) else {}))
        for place in range(max(2, len(changes)))
    ]
    return [COLUMNS, *(list(each.values()) for each in rows)]


def cells_of(frame: pd.DataFrame) -> dict[int, list[str | None]]:
    """Return the cells by row number, None for an empty cell."""
    rows = frame.astype(object).where(frame.notna(), None)
    return {
        int(label): list(row)
        for label, row in zip(rows.index, rows.to_numpy(), strict=True)
    }


def written(path: Path) -> list[list[str]]:
    """Return the cells of a corrections file as text."""
    if path.suffix == ".xlsx":
        sheet = openpyxl.load_workbook(path).worksheets[0]
        return [
            [str(cell or "") for cell in cells]
            for cells in sheet.iter_rows(values_only=True)
        ]
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def write_csv(
    path: Path,
    table: Sequence[Sequence[Any]],
    *,
    separator: str = ",",
    encoding: str = "utf-8",
) -> None:
    """Write a text file."""
    lines = io.StringIO()
    csv.writer(lines, delimiter=separator).writerows(table)
    path.write_bytes(lines.getvalue().encode(encoding))


class Case(NamedTuple):
    """A file. found: field, code and severity of what must be found in the first row,
    and nothing else but infos.
    """

    reason: str
    field: str
    code: str
    severity: str
    value: Any
    kind: str = "csv"
    others: Mapping[str, Any] = {}


def write(case: Case, folder: Path) -> Path:
    """Write the file of a case; return its path."""
    path = folder / f"messy.{case.kind}"
    table = texts({**case.others, case.field: case.value})
    if case.kind == "csv":
        write_csv(path, table)
    else:
        write_xlsx(path, table, case)
    return path


def write_xlsx(path: Path, table: Sequence[Sequence[Any]], case: Case) -> None:
    """Write a workbook; a function as value changes the sheet."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for each in table:
        sheet.append([None if callable(value) else value for value in each])
    if callable(case.value):
        case.value(sheet, cell(case.field) if case.field else "")
    book.save(path)


def error_value(sheet: Any, place: str) -> None:
    """Write what a spreadsheet shows for a look-up that found nothing."""
    sheet[place].value, sheet[place].data_type = "#N/A", "e"


def formula(sheet: Any, place: str) -> None:
    """Write a formula without the value that a spreadsheet program stores with it."""
    sheet[place].value = "=A1"


DAMAGED = [
    Case(
        "more than 15 digits",
        "account_number",
        "digits_lost",
        "error",
        981273645500000000,
        "xlsx",
    ),
    Case(
        "an id that became a date",
        "client_user_id",
        "became_date",
        "error",
        dt.date(2026, 3, 4),
        "xlsx",
    ),
    Case(
        "a street that became a date",
        "address_line1",
        "became_date",
        "error",
        dt.date(2026, 3, 4),
        "xlsx",
    ),
    Case(
        "a name that became a logical value",
        "last_name",
        "became_boolean",
        "error",
        True,
        "xlsx",
    ),
    Case("an error value", "city", "error_value", "error", error_value, "xlsx"),
    Case(
        "a formula that was not computed",
        "city",
        "formula_without_value",
        "error",
        formula,
        "xlsx",
    ),
    *(
        Case(each["why"], *(each[name] for name in Case._fields[1:5]))
        for each in table_rows("damaged_cells")
    ),
]
"""The first row is blocked, or warned, for this and nothing else."""
