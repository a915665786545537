"""Read sheets of Excel workbooks (.xlsx, .xlsm): texts as their formats show them, and what is odd about cells.

openpyxl reads the cells row by row, which takes a third of the memory of a whole workbook. Hidden rows and merged cells
are known only of a whole one, so it is read once more if the file has any; so are the values of formulas.
"""

from __future__ import annotations

import datetime as dt
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, repeat, takewhile
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

from payerkit.errors import InvalidInput
from payerkit.tables.cell_texts import Text, date_text, number_text, shown_by
from payerkit.tables.file_kinds import SAVE_AS, kind_of_file, unreadable
from payerkit.tables.sheet import CellNote, NoteKind, Sheet, SheetCells, SheetInfo

_Read = TypeVar("_Read")

_BROKEN = (
    *(BadZipFile, zlib.error, EOFError, OSError, RuntimeError),  # of the package; RuntimeError: an encrypted part
    *(ParseError, ValueError, LookupError, TypeError, AttributeError),  # of its parts
)
_OTHER = {"text": "a text file", "old_workbook": "an .xls or .ods file"}

_LAYOUT = re.compile(rb'hidden="(?:1|true)"|mergeCell')
_FORMULAS = re.compile(rb"<(?:[a-z]+:)?f[ />]")
_CHUNK = 1 << 20

_COUNTED = 1000
"""How many rows are counted in a sheet that does not say its size: to read a row takes a millisecond."""


def list_sheets(path: Path) -> list[SheetInfo]:
    """Return the sheets of a workbook in order; only those that have cells, not charts.

    Raises InvalidInput for a file that is no workbook, is encrypted or broken, and ImportError without openpyxl.
    """
    return _guard(path, partial(_list_sheets, path))


def read_sheet(path: Path, name: str) -> Sheet:
    """Return a sheet of a workbook by its name.

    Raises InvalidInput as `list_sheets`, and if there is no sheet of this name.
    """
    return _guard(path, partial(_read_sheet, path, name))


def _guard(path: Path, read: Callable[[], _Read]) -> _Read:
    """Return what is read in a workbook; what is wrong with any of its parts is InvalidInput."""
    kind = kind_of_file(path)
    if kind != "workbook":
        raise InvalidInput(f"source: {path.name} is not an .xlsx file, but {_OTHER[kind]}.", advice=SAVE_AS)
    try:
        with warnings.catch_warnings(action="ignore"):  # about parts that are not read here
            return read()
    except InvalidInput:
        raise
    except _BROKEN as error:
        problem = unreadable("Excel", error)
    raise problem  # here, so that it does not hold its cause, which may quote cells


@contextmanager
def _open(path: Path, *, whole: bool = False, values: bool = False) -> Iterator[Any]:
    """Open a workbook. whole: all in memory. values: those of formulas, not the formulas."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or save the table as CSV.") from None
    with closing(load_workbook(path, read_only=not whole, data_only=values, keep_links=False)) as book:
        if not book.worksheets:
            raise InvalidInput("source: the workbook has no sheet with cells.", advice=SAVE_AS)
        yield book


def _list_sheets(path: Path) -> list[SheetInfo]:
    with _open(path) as book:
        return [SheetInfo(each.title, each.sheet_state != "visible", _count_rows(each)) for each in book.worksheets]


def _count_rows(sheet: Any) -> int:
    """Return the number of the last row by what the sheet says, 0 if no cell has a value; else count its first rows."""
    told = sheet.max_row or 0
    if told <= 1:  # some programs do not say it
        sheet.reset_dimensions()
    filled = (
        number for number, row in enumerate(sheet.iter_rows(values_only=True), start=1) if any(map(_is_filled, row))
    )
    if told > 1:
        return int(told) if next(filled, 0) else 0
    return max(takewhile(lambda number: number <= _COUNTED, filled), default=0)


def _is_filled(value: Any) -> bool:
    return value is not None


def _read_sheet(path: Path, name: str) -> Sheet:
    cells = SheetCells()
    layout = _read_layout(path, name) if _mentions(path, _LAYOUT) else _SheetLayout()
    with _open(path) as book, ExitStack() as stack:
        values = _rows(stack.enter_context(_open(path, values=True)), name) if _mentions(path, _FORMULAS) else ()
        pairs = zip(_rows(book, name), chain(values, repeat(())), strict=False)
        for number, (row, computed_row) in enumerate(pairs, start=1):
            texts, kinds = _read_row(row, computed_row)
            cells.notes += [CellNote(number, column, kind) for column, kind in kinds]
            cells.add(number, texts, is_hidden=number in layout.hidden_rows)
    return cells.sheet(name, layout.merged, layout.hidden_columns)


def _rows(book: Any, name: str) -> Iterator[Sequence[Any]]:
    """Return the rows of a sheet as they are in the file, from row 1; what it says of its size may be wrong."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name not in sheets:
        raise InvalidInput(f"sheet: there is no sheet {name!r}.", advice=f"Sheets: {', '.join(sheets)}.")
    sheets[name].reset_dimensions()
    return iter(sheets[name].iter_rows())


def _mentions(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Return True if a sheet of a workbook may have something; it is much quicker to ask than to read it."""
    with ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/"):
                with archive.open(name) as file:
                    rest = b""
                    while chunk := file.read(_CHUNK):
                        if pattern.search(rest + chunk):
                            return True
                        rest = chunk[-20:]
    return False


@dataclass(frozen=True, slots=True)
class _SheetLayout:
    """What a sheet hides and merges. hidden_columns: numbers from 0. merged: rows from 1, columns from 0, inclusive."""

    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    merged: Sequence[tuple[int, int, int, int]] = ()


def _read_layout(path: Path, name: str) -> _SheetLayout:
    with _open(path, whole=True) as book:
        if name not in book.sheetnames:
            return _SheetLayout()
        sheet = book[name]
        columns = [each for each in sheet.column_dimensions.values() if each.hidden and each.min and each.max]
        return _SheetLayout(
            frozenset(number for number, row in sheet.row_dimensions.items() if row.hidden),
            frozenset(number - 1 for each in columns for number in range(each.min, each.max + 1)),
            [(each.min_row, each.max_row, each.min_col - 1, each.max_col - 1) for each in sheet.merged_cells.ranges],
        )


def _read_row(row: Iterable[Any], computed: Sequence[Any]) -> tuple[list[str | None], list[tuple[int, NoteKind]]]:
    """Return the texts of a row, up to its last text, and what the others are. computed: the same cells with values."""
    texts: list[str | None] = []
    kinds: list[tuple[int, NoteKind]] = []
    for column, cell in enumerate(row):
        if cell.value is None:
            continue
        text, kind = _formula(cell, computed[column]) if cell.data_type == "f" else _value(cell)
        if text:
            texts += [None] * (column - len(texts))
            texts.append(text)
            if kind:
                kinds.append((column, kind))
    return texts, kinds


def _formula(cell: Any, computed: Any) -> Text:
    """Return the text of a formula's value. Zero is none: it is what refers to an empty cell, or was not computed."""
    if computed.value is None and computed.data_type == "str":
        return "", None  # computed to an empty text
    if computed.value is None or (computed.value == 0 and not isinstance(computed.value, bool)):
        formula = getattr(cell.value, "text", cell.value)
        return (formula if isinstance(formula, str) else "=") or "=", "formula_without_value"
    return _value(computed)


def _value(cell: Any) -> Text:
    value = cell.value
    if isinstance(value, str):
        return (value, "error_value") if cell.data_type == "e" else (_unescape(value), None)
    if isinstance(value, bool):
        return str(value).upper(), "boolean"
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        return date_text(value)
    return number_text(repr(value), _shown_by(cell.number_format))


def _unescape(text: str) -> str:
    """Return a text with the characters that XML cannot hold."""
    from openpyxl.utils.escape import unescape  # noqa: PLC0415

    return str(unescape(text)) if "_x" in text else text


_shown_by = cache(shown_by)
