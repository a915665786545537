"""Read sheets of .xls and .ods workbooks with calamine, which gives no number formats and no hidden rows.

Each number gets a note, since leading zeros that only its format shows are not seen here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from payerkit.errors import InvalidInput
from payerkit.tables.cell_texts import Text, date_text, number_text
from payerkit.tables.file_kinds import encrypted, kind_of_file, unreadable
from payerkit.tables.sheet import CellNote, Sheet, SheetCells, SheetInfo

_Read = TypeVar("_Read")


def list_old_sheets(path: Path) -> list[SheetInfo]:
    """Return the sheets of an .xls or .ods file in order; only those that have cells.

    Raises InvalidInput for a file that is encrypted or broken, and ImportError without python-calamine.
    """
    return _open(path, _list_sheets)


def read_old_sheet(path: Path, name: str) -> Sheet:
    """Return a sheet of an .xls or .ods file by its name.

    Raises InvalidInput as `list_old_sheets`, and if there is no sheet of this name.
    """
    return _open(path, partial(_read_sheet, name=name))


def _open(path: Path, read: Callable[[Any], _Read]) -> _Read:
    kind_of_file(path)
    try:
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(
            ".xls and .ods files need python-calamine: pip install python-calamine, or save the table as .xlsx or CSV."
        ) from None
    try:
        with CalamineWorkbook.from_path(path) as book:
            return read(book)
    except PasswordError:
        problem = encrypted()
    except (CalamineError, OSError) as error:
        problem = unreadable("spreadsheet", error)
    raise problem  # here, so that it does not hold its cause, which may quote cells


def _list_sheets(book: Any) -> list[SheetInfo]:
    from python_calamine import SheetTypeEnum, SheetVisibleEnum  # noqa: PLC0415

    return [
        SheetInfo(each.name, each.visible != SheetVisibleEnum.Visible, _count_rows(book.get_sheet_by_name(each.name)))
        for each in book.sheets_metadata
        if each.typ == SheetTypeEnum.WorkSheet
    ]


def _read_sheet(book: Any, name: str) -> Sheet:
    if name not in book.sheet_names:
        raise InvalidInput(f"sheet: there is no sheet {name!r}.", advice=f"Sheets: {', '.join(book.sheet_names)}.")
    sheet = book.get_sheet_by_name(name)
    cells = SheetCells()
    first_row, first_column = sheet.start or (0, 0)
    for number, row in enumerate(sheet.to_python(), start=first_row + 1):
        _add_row(cells, number, first_column, row)
    ranges = sheet.merged_cell_ranges or []
    return cells.sheet(name, [(top + 1, bottom + 1, left, right) for (top, left), (bottom, right) in ranges])


def _count_rows(sheet: Any) -> int:
    return sheet.end[0] + 1 if any(cell != "" for row in sheet.iter_rows() for cell in row) else 0


def _add_row(cells: SheetCells, number: int, left: int, row: list[Any]) -> None:
    texts: list[str | None] = []
    for column, value in enumerate(row, start=left):
        text, kind = _read(value)
        if text:
            texts += [None] * (column - len(texts))
            texts.append(text)
            if kind:
                cells.notes.append(CellNote(number, column, kind))
    cells.add(number, texts)


def _read(value: Any) -> Text:
    if isinstance(value, str):
        return value, None
    if isinstance(value, bool):
        return str(value).upper(), "boolean"
    if isinstance(value, int | float):
        text, kind = number_text(repr(value))
        return text, kind or "number"
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        return date_text(value)
    return str(value), None
