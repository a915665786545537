"""Read the sheets of Excel workbooks (.xlsx, .xlsm): texts as people see them, and what
is odd about a cell.

openpyxl reads cells row by row, never a whole workbook, whose merged and blank cells
may take any memory. Values of formulas in place of the formulas need a second reading,
if the file has any. Hidden rows and merged cells are read here.

What a file may cost has bounds, which are checked before and while it is read: a few
kilobytes can unpack to gigabytes, or name a cell in a row that no spreadsheet has.
"""

from __future__ import annotations

import io
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, repeat
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

from payerkit.errors import InvalidInput
from payerkit.tables.sheet import (
    MAX_CELLS,
    CellText,
    Merged,
    NoteKind,
    Sheet,
    make_sheet,
    too_many_cells,
    value_text,
)
from payerkit.tables.text_files import SAVE_AS

_BROKEN = (
    # Of the package; a RuntimeError is of an encrypted part.
    BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    # Of its parts.
    ParseError,
    expat.ExpatError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)

MAX_UNPACKED = 200_000_000
"""Bytes of all parts of a workbook. One with 20,000 rows of 50 cells has some 60
million.
"""

MAX_TAGS = 20_000_000
"""Beginnings and ends of XML elements in all parts. A cell has four."""

MAX_OTHER_TAGS = 1_000_000
"""The same, in parts that hold no cells and no texts of cells, such as styles."""

MAX_SHEETS = 255
MAX_ROW = 1_048_576
"""The last row of a sheet in Excel."""

_CHUNK = 1_000_000
_DOCTYPE = b"<!DOCTYPE"
_SHEET = re.compile(rb"<(?:\w+:)?sheet[\s/>]")
_LAYOUT = re.compile(rb'hidden="(?:1|true)"|mergeCell|ht="0"')
_STRIKE = re.compile(rb"<(?:[a-z]+:)?strike\b")
_EMPTY_FILL = re.compile(rb"<(\w+:)?fill\s*(?:/>|>\s*</(?:\w+:)?fill>)")
_FORMULAS = re.compile(rb"<(?:[a-z]+:)?f[ />]")

_OTHER_ARCHIVES = {
    "content.xml": f"an OpenDocument file. {SAVE_AS}",
    "xl/workbook.bin": f"a binary workbook (.xlsb). {SAVE_AS}",
    "Index/Document.iwa": (
        "a Numbers file. In Numbers, choose File > Export To > Excel (.xlsx) or CSV."
    ),
}
"""Zip archives that are no Excel workbooks, by a part that they have: what they are,
and what to do.
"""


def read_sheets(
    content: bytes, wanted: str | None = None
) -> tuple[list[Sheet], list[str]]:
    """Return the visible sheets of a workbook that have cells, and the names of the
    hidden ones; no charts.

    wanted: the name of the only sheet to read, which may be hidden. Raises InvalidInput
    for a file that is broken or of another kind, and if there is no such sheet;
    ImportError without the library that reads it.
    """
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(
            "Excel files need openpyxl: pip install openpyxl, or save the table as CSV."
        ) from None
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # about parts that are not read here
            return _read_workbook(openpyxl, content, wanted)
    except InvalidInput:
        raise
    except _BROKEN as error:
        # Its text may quote cells, so it is neither repeated nor kept as the cause.
        problem = InvalidInput(
            f"source: not a readable Excel file ({type(error).__name__}).",
            advice=SAVE_AS,
        )
    raise problem


def _read_workbook(
    openpyxl: Any, content: bytes, wanted: str | None
) -> tuple[list[Sheet], list[str]]:
    with ExitStack() as stack:
        archive = stack.enter_context(ZipFile(io.BytesIO(content)))
        _check_kind(archive.namelist())
        _check_size(archive)
        if _mentions(archive, _EMPTY_FILL, "xl/styles"):
            return _read_workbook(openpyxl, _without_empty_fills(archive), wanted)
        has_layout = _mentions(archive, _LAYOUT)
        has_strike = _mentions(archive, _STRIKE, "xl/styles")

        def load(*, values: bool) -> Any:
            book = openpyxl.load_workbook(
                io.BytesIO(content),
                read_only=True,
                data_only=values,
                keep_links=False,
            )
            return stack.enter_context(closing(book))

        book = load(values=False)
        names = [each.title for each in book.worksheets]
        hidden = [
            each.title for each in book.worksheets if each.sheet_state != "visible"
        ]
        if wanted is not None and wanted not in names:
            raise InvalidInput(
                f"sheet: there is no sheet {wanted!r}.",
                advice=f"Sheets: {', '.join(names)}.",
            )
        other = load(values=True) if _mentions(archive, _FORMULAS) else None
        sheets = []
        chosen = [wanted] if wanted is not None else names
        for name in chosen:
            if wanted is None and name in hidden:
                continue
            layout = _SheetLayout()
            if has_strike:
                layout.odd_rows = dict.fromkeys(_struck_rows(book[name]), "struck_row")
            if has_layout:
                layout.read(book[name])
            computed = other[name] if other else None
            sheet = _read_sheet(book[name], computed, layout)
            if wanted is not None or len(sheet.cells):
                sheets.append(sheet)
        return sheets, hidden


def _without_empty_fills(archive: ZipFile) -> bytes:
    """Return a workbook with a pattern in each fill that has none, which openpyxl
    refuses to read.
    """
    content = io.BytesIO()
    with ZipFile(content, "w") as copy:
        for name in archive.namelist():
            part = archive.read(name)
            if name.startswith("xl/styles"):
                part = _EMPTY_FILL.sub(rb"<\1fill><\1patternFill/></\1fill>", part)
            copy.writestr(name, part)
    return content.getvalue()


def _check_kind(names: Sequence[str]) -> None:
    """Raise InvalidInput for a zip archive that is no Excel workbook."""
    kind = next((kind for part, kind in _OTHER_ARCHIVES.items() if part in names), "")
    if not kind and not any(name.startswith("xl/") for name in names):
        kind = "a zip archive. Unpack it, and read the table in it."
    if kind:
        raise InvalidInput(f"source: the file is {kind}")


def _check_size(archive: ZipFile) -> None:
    """Raise InvalidInput for a workbook with too much in it, counted as it unpacks:
    what an archive says of its own size may be wrong.
    """
    unpacked = tags = other_tags = sheets = 0
    for info in archive.infolist():
        holds_cells = info.filename.startswith(("xl/worksheets/", "xl/sharedStrings"))
        is_picture = info.filename.startswith("xl/media/")
        end = b""
        with archive.open(info) as part:
            for chunk in iter(partial(part.read, _CHUNK), b""):
                unpacked += len(chunk)
                tags += chunk.count(b"<")
                if not holds_cells:
                    other_tags += chunk.count(b"<")
                    sheets += len(_SHEET.findall(chunk))
                if unpacked > MAX_UNPACKED:
                    raise _too_much(f"{MAX_UNPACKED // 10**6} MB of content")
                if tags > MAX_TAGS or other_tags > MAX_OTHER_TAGS:
                    raise _too_much("cells, texts or formats that can be read")
                if sheets > MAX_SHEETS:
                    raise _too_much(f"{MAX_SHEETS} sheets")
                text = (end + chunk).replace(b"\0", b"")  # of UTF-16, too
                if _DOCTYPE in text and not is_picture:
                    raise InvalidInput(
                        "source: the workbook declares XML entities, which no"
                        " spreadsheet program writes.",
                        advice=SAVE_AS,
                    )
                end = chunk[-2 * len(_DOCTYPE) :]


def _too_much(what: str) -> InvalidInput:
    return InvalidInput(
        f"source: the workbook has more than {what}.",
        advice=(
            "Copy the table alone into a new workbook, or save it as CSV UTF-8; split"
            " a table that is as large."
        ),
    )


class _SheetLayout:
    """The rows of a sheet that are hidden or struck out, and its merged cells."""

    def __init__(self) -> None:
        self.odd_rows: dict[int, NoteKind] = {}
        self.merged: list[Merged] = []
        self._row = 0

    def read(self, sheet: Any) -> None:
        """Read the layout of a sheet from its part of the workbook."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        with sheet._get_source() as part:  # noqa: SLF001 - openpyxl tells it of whole workbooks only
            parser.ParseFile(part)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        if kind == "row":
            self._row = int(attributes.get("r", self._row + 1))
            is_hidden = attributes.get("hidden") in {"1", "true"}
            if is_hidden or float(attributes.get("ht", 1)) == 0:
                self.odd_rows[self._row] = "hidden_row"
        elif kind == "mergeCell":
            from openpyxl.utils.cell import range_boundaries  # noqa: PLC0415 - an extra

            left, top, right, bottom = range_boundaries(attributes["ref"])
            self.merged.append((top, bottom, left - 1, right - 1))


def _struck_rows(sheet: Any) -> set[int]:
    """Return the numbers of the rows of which all cells with a value are struck out."""
    struck = set()
    for number, row in enumerate(_rows(sheet), start=1):
        are_struck = [cell.font.strike for cell in row if cell.value is not None]
        if are_struck and all(are_struck):
            struck.add(number)
    return struck


def _mentions(
    archive: ZipFile, pattern: re.Pattern[bytes], part: str = "xl/worksheets/"
) -> bool:
    """Return True if a part of a workbook may have something; it is much quicker to ask
    than to read it.
    """
    return any(
        pattern.search(archive.read(name))
        for name in archive.namelist()
        if name.startswith(part)
    )


def _read_sheet(sheet: Any, other: Any, layout: _SheetLayout) -> Sheet:
    """Return a sheet. other: the same with the values of formulas, None if the workbook
    has none.
    """
    computed: Iterable[Sequence[Any]] = repeat(())
    if other is not None:
        computed = chain(_rows(other), computed)
    pairs = zip(_rows(sheet), computed, strict=False)
    cells = (_read_row(row, values) for row, values in pairs)
    return make_sheet(
        sheet.title,
        enumerate(cells, start=1),
        odd_rows=layout.odd_rows,
        merged=layout.merged,
    )


def _rows(sheet: Any) -> Iterator[Sequence[Any]]:
    """Yield the rows of a sheet as they are in the file, from row 1; what it says of
    its size may be wrong.

    Blank rows and cells that the file leaves out are counted, too, as they are filled
    in.
    """
    sheet.reset_dimensions()
    cells = 0
    for number, row in enumerate(sheet.iter_rows(), start=1):
        if number > MAX_ROW:
            raise InvalidInput(
                "source: the workbook has a row below the last one of a spreadsheet"
                f" ({MAX_ROW:,}).",
                advice=SAVE_AS,
            )
        cells += len(row)
        if cells > MAX_CELLS:
            raise too_many_cells()
        yield row


def _read_row(
    row: Iterable[Any], computed: Sequence[Any]
) -> Iterator[tuple[int, CellText]]:
    """Yield the numbers and texts of the cells that have a value. computed: the same
    cells with values of formulas.
    """
    for column, cell in enumerate(row):
        if cell.data_type == "f" and cell.value is not None:
            yield column, _formula(cell, computed[column])
        elif cell.value is not None:
            yield column, _value(cell)


def _formula(cell: Any, computed: Any) -> CellText:
    """Return the text of a formula's value. Zero counts as none: a formula that was not
    computed has it, too.
    """
    if computed.value is None and computed.data_type == "str":
        return "", None  # computed to an empty text
    is_zero = computed.value == 0 and not isinstance(computed.value, bool)
    if computed.value is not None and not is_zero:
        return _value(computed)
    formula = getattr(cell.value, "text", cell.value)
    if not isinstance(formula, str) or not formula:
        formula = "="
    return formula, "formula_without_value"


def _value(cell: Any) -> CellText:
    if isinstance(cell.value, str) and cell.data_type != "e" and "_x" in cell.value:
        from openpyxl.utils.escape import unescape  # noqa: PLC0415 - an extra

        # With the characters that XML cannot hold.
        return str(unescape(cell.value)), None
    return value_text(cell)
