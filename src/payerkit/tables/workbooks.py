"""Read the sheets of Excel workbooks (.xlsx, .xlsm): texts as people see them, and what is odd about a cell.

openpyxl reads cells row by row, which takes a third of the memory of a whole workbook. Hidden rows and merged cells are
known only of a whole one, and values of formulas in place of the formulas: for these it is read once more, if the file
has any.
"""

from __future__ import annotations

import io
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain, repeat
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

from payerkit.errors import InvalidInput
from payerkit.tables.sheet import CellText, Sheet, make_sheet, shown_by, value_text
from payerkit.tables.text_files import SAVE_AS

_BROKEN = (
    *(BadZipFile, zlib.error, EOFError, OSError, RuntimeError),  # of the package; RuntimeError: an encrypted part
    *(ParseError, ValueError, LookupError, TypeError, AttributeError),  # of its parts
)
_LAYOUT = re.compile(rb'hidden="(?:1|true)"|mergeCell|ht="0"')
_STRIKE = re.compile(rb"<(?:[a-z]+:)?strike\b")
_FORMULAS = re.compile(rb"<(?:[a-z]+:)?f[ />]")

_OTHER_ARCHIVES = {
    "content.xml": f"an OpenDocument file. {SAVE_AS}",
    "xl/workbook.bin": f"a binary workbook (.xlsb). {SAVE_AS}",
    "Index/Document.iwa": "a Numbers file. In Numbers, choose File > Export To > Excel (.xlsx) or CSV.",
}
"""Zip archives that are no Excel workbooks, by a part that they have: what they are, and what to do."""


def read_sheets(content: bytes, wanted: str | None = None) -> tuple[list[Sheet], list[str]]:
    """Return the visible sheets of a workbook that have cells, and the names of the hidden ones; no charts.

    wanted: the name of the only sheet to read, which may be hidden. Raises InvalidInput for a file that is broken or of
    another kind, and if there is no such sheet; ImportError without the library that reads it.
    """
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or save the table as CSV.") from None
    try:
        with warnings.catch_warnings(action="ignore"):  # about parts that are not read here
            return _read_workbook(openpyxl, content, wanted)
    except InvalidInput:
        raise
    except _BROKEN as error:  # its text may quote cells, so it is neither repeated nor kept as the cause
        problem = InvalidInput(f"source: not a readable Excel file ({type(error).__name__}).", advice=SAVE_AS)
    raise problem


def _read_workbook(openpyxl: Any, content: bytes, wanted: str | None) -> tuple[list[Sheet], list[str]]:
    with ExitStack() as stack:
        archive = stack.enter_context(ZipFile(io.BytesIO(content)))
        _check_kind(archive.namelist())
        has_layout = _mentions(archive, _LAYOUT)
        has_strike = _mentions(archive, _STRIKE, "xl/styles")

        def load(*, whole: bool, values: bool) -> Any:
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=not whole, data_only=values, keep_links=False)
            return stack.enter_context(closing(book))

        book = load(whole=False, values=False)
        names = [each.title for each in book.worksheets]
        hidden = [each.title for each in book.worksheets if each.sheet_state != "visible"]
        if wanted is not None and wanted not in names:
            raise InvalidInput(f"sheet: there is no sheet {wanted!r}.", advice=f"Sheets: {', '.join(names)}.")
        other = load(whole=has_layout, values=True) if has_layout or _mentions(archive, _FORMULAS) else None
        sheets = []
        for name in [wanted] if wanted is not None else [name for name in names if name not in hidden]:
            struck = _struck_rows(book[name]) if has_strike else set()
            sheets.append(_read_sheet(book[name], other[name] if other else None, struck, has_layout=has_layout))
        return [sheet for sheet in sheets if wanted is not None or len(sheet.cells)], hidden


def _check_kind(names: Sequence[str]) -> None:
    """Raise InvalidInput for a zip archive that is no Excel workbook."""
    kind = next((kind for part, kind in _OTHER_ARCHIVES.items() if part in names), "")
    if not kind and not any(name.startswith("xl/") for name in names):
        kind = "a zip archive. Unpack it, and read the table in it."
    if kind:
        raise InvalidInput(f"source: the file is {kind}")


def _struck_rows(sheet: Any) -> set[int]:
    """Return the numbers of the rows of which all cells with a value are struck out."""
    rows = (
        (number, [cell.font.strike for cell in row if cell.value is not None])
        for number, row in enumerate(_rows(sheet), start=1)
    )
    return {number for number, are_struck in rows if are_struck and all(are_struck)}


def _mentions(archive: ZipFile, pattern: re.Pattern[bytes], part: str = "xl/worksheets/") -> bool:
    """Return True if a part of a workbook may have something; it is much quicker to ask than to read it."""
    return any(pattern.search(archive.read(name)) for name in archive.namelist() if name.startswith(part))


def _read_sheet(sheet: Any, other: Any, struck: set[int], *, has_layout: bool) -> Sheet:
    """Return a sheet. other: the same with the values of formulas, None if the workbook has none."""
    hidden, merged = set[int](), []
    if has_layout:
        hidden = {number for number, row in other.row_dimensions.items() if row.hidden or row.height == 0}
        ranges = other.merged_cells.ranges
        merged = [(each.min_row, each.max_row, each.min_col - 1, each.max_col - 1) for each in ranges]
    computed = chain(_rows(other) if other is not None else (), repeat(()))
    cells = map(_read_row, _rows(sheet), computed)
    return make_sheet(sheet.title, enumerate(cells, start=1), hidden=hidden, struck=struck, merged=merged)


def _rows(sheet: Any) -> Iterable[Sequence[Any]]:
    """Return the rows of a sheet as they are in the file, from row 1; what it says of its size may be wrong."""
    if hasattr(sheet, "reset_dimensions"):
        sheet.reset_dimensions()
    rows: Iterable[Sequence[Any]] = sheet.iter_rows()
    return rows


def _read_row(row: Iterable[Any], computed: Sequence[Any]) -> Iterator[tuple[int, CellText]]:
    """Yield the numbers and texts of the cells that have a value. computed: the same cells with values of formulas."""
    for column, cell in enumerate(row):
        if cell.value is not None:
            yield column, _formula(cell, computed[column]) if cell.data_type == "f" else _value(cell)


def _formula(cell: Any, computed: Any) -> CellText:
    """Return the text of a formula's value. Zero counts as none: a formula that was not computed has it, too."""
    if computed.value is None and computed.data_type == "str":
        return "", None  # computed to an empty text
    if computed.value is None or (computed.value == 0 and not isinstance(computed.value, bool)):
        formula = getattr(cell.value, "text", cell.value)
        return (formula if isinstance(formula, str) else "=") or "=", "formula_without_value"
    return _value(computed)


def _value(cell: Any) -> CellText:
    if isinstance(cell.value, str) and cell.data_type != "e" and "_x" in cell.value:
        from openpyxl.utils.escape import unescape  # noqa: PLC0415 - an extra

        return str(unescape(cell.value)), None  # with the characters that XML cannot hold
    return value_text(cell.value, lambda: shown_by(cell.number_format))
