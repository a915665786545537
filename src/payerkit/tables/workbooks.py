"""Read sheets of Excel (.xlsx, .xlsm) and older workbooks (.xls, .ods): texts as people see them, and what is odd.

openpyxl reads the cells of Excel workbooks row by row, which takes a third of the memory of a whole one. Hidden rows
and merged cells are known only of a whole one, and values of formulas in place of the formulas: for these it is read
once more, if the file has any. calamine reads the others. It gives no number formats and no hidden rows; each number
gets a note, since leading zeros that only its format shows are not seen.

What a file is, is known by its first bytes rather than by its name. One that cannot be read is refused with advice.
"""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from importlib import import_module
from itertools import chain, repeat, takewhile
from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

from payerkit.errors import InvalidInput
from payerkit.tables.sheet import CellText, Sheet, SheetInfo, make_sheet, shown_by, value_text

_BROKEN = (
    *(BadZipFile, zlib.error, EOFError, OSError, RuntimeError),  # of the package; RuntimeError: an encrypted part
    *(ParseError, ValueError, LookupError, TypeError, AttributeError),  # of its parts
)
_LIBRARIES = {
    "workbook": ("openpyxl", "Excel files need openpyxl: pip install openpyxl, or save the table as CSV."),
    "old_workbook": (
        "python_calamine",
        ".xls and .ods files need python-calamine: pip install python-calamine, or save the table as .xlsx or CSV.",
    ),
}

_LAYOUT = re.compile(rb'hidden="(?:1|true)"|mergeCell|ht="0"')
_STRIKE = re.compile(rb"<(?:[a-z]+:)?strike\b")
_FORMULAS = re.compile(rb"<(?:[a-z]+:)?f[ />]")
_CHUNK = 1 << 20

_COUNTED = 1000
"""How many rows are counted in a sheet that does not say its size: to read a row takes a millisecond."""

Sheets = tuple[list[SheetInfo], list[Sheet]]


def read_sheets(path: Path, wanted: str | None = None) -> Sheets:
    """Return what is known of the sheets of a workbook, in order, and those that are read; charts are left out.

    wanted: the name of the one to read; None for all visible ones with rows. Raises InvalidInput for a file that is
    encrypted or broken, and if there is no such sheet; ImportError without the library that reads it.
    """
    kind = kind_of_file(path)
    library, read = _import_library(kind), _read_workbook if kind == "workbook" else _read_old_workbook
    broken: Any = _BROKEN if kind == "workbook" else (library.CalamineError, OSError)
    try:
        with warnings.catch_warnings(action="ignore"):  # about parts that are not read here
            return read(library, path, wanted)
    except InvalidInput:
        raise
    except broken as error:
        is_locked = type(error).__name__ == "PasswordError"
        problem = encrypted() if is_locked else _unreadable("Excel" if kind == "workbook" else "spreadsheet", error)
    raise problem  # here, so that it does not hold its cause, which may quote cells


def _import_library(kind: str) -> Any:
    name, advice = _LIBRARIES[kind]
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(advice) from None


def _chosen(infos: Iterable[SheetInfo], wanted: str | None) -> list[str]:
    """Return the names of the sheets to read."""
    if wanted is None:
        return [info.name for info in infos if info.rows and not info.is_hidden]
    names = [info.name for info in infos]
    if wanted not in names:
        raise InvalidInput(f"sheet: there is no sheet {wanted!r}.", advice=f"Sheets: {', '.join(names)}.")
    return [wanted]


# Excel


def _read_workbook(openpyxl: Any, path: Path, wanted: str | None) -> Sheets:
    has_layout, has_formulas = (_mentions(path, pattern) for pattern in (_LAYOUT, _FORMULAS))
    has_strike = _mentions(path, _STRIKE, "xl/styles")
    with ExitStack() as stack:

        def load(*, whole: bool, values: bool) -> Any:
            file = stack.enter_context(path.open("rb"))  # the library refuses the path of a workbook named .csv
            book = openpyxl.load_workbook(file, read_only=not whole, data_only=values, keep_links=False)
            return stack.enter_context(closing(book))

        book = load(whole=False, values=False)
        if not book.worksheets:
            raise InvalidInput("source: the workbook has no sheet with cells.", advice=SAVE_AS)
        infos = [SheetInfo(each.title, each.sheet_state != "visible", _count_rows(each)) for each in book.worksheets]
        names = _chosen(infos, wanted)
        other = load(whole=has_layout, values=True) if has_layout or has_formulas else None
        sheets = []
        for name in names:
            struck = _struck_rows(book[name]) if has_strike else set()
            sheets.append(_read_sheet(book[name], other[name] if other else None, struck, has_layout=has_layout))
        return infos, sheets


def _struck_rows(sheet: Any) -> set[int]:
    """Return the numbers of the rows of which all cells with a value are struck out."""
    rows = (
        (number, [cell.font.strike for cell in row if cell.value is not None])
        for number, row in enumerate(_rows(sheet), start=1)
    )
    return {number for number, are_struck in rows if are_struck and all(are_struck)}


def _mentions(path: Path, pattern: re.Pattern[bytes], part: str = "xl/worksheets/") -> bool:
    """Return True if a part of a workbook may have something; it is much quicker to ask than to read it."""
    with ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith(part):
                with archive.open(name) as file:
                    rest = b""
                    while chunk := file.read(_CHUNK):
                        if pattern.search(rest + chunk):
                            return True
                        rest = chunk[-20:]
    return False


def _count_rows(sheet: Any) -> int:
    """Return the number of the last row as the sheet declares it, or counted if it does not; 0 without any value."""
    declared = sheet.max_row or 0
    if declared <= 1:  # some programs do not say it
        sheet.reset_dimensions()
    rows = enumerate(sheet.iter_rows(values_only=True), start=1)
    filled = (number for number, row in rows if any(value is not None for value in row))
    if declared > 1:
        return int(declared) if next(filled, 0) else 0
    return max(takewhile(lambda number: number <= _COUNTED, filled), default=0)


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


# .xls and .ods


def _read_old_workbook(calamine: Any, path: Path, wanted: str | None) -> Sheets:
    with path.open("rb") as file, calamine.CalamineWorkbook.from_filelike(file) as book:
        visible, kind = calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet
        sheets = {each.name: book.get_sheet_by_name(each.name) for each in book.sheets_metadata if each.typ == kind}
        hidden = {each.name for each in book.sheets_metadata if each.visible != visible}
        infos = [SheetInfo(name, name in hidden, _count_old_rows(sheet)) for name, sheet in sheets.items()]
        return infos, [_read_old_sheet(name, sheets[name]) for name in _chosen(infos, wanted)]


def _count_old_rows(sheet: Any) -> int:
    return sheet.end[0] + 1 if any(cell != "" for row in sheet.iter_rows() for cell in row) else 0


def _read_old_sheet(name: str, sheet: Any) -> Sheet:
    first_row, first_column = sheet.start or (0, 0)
    rows = (
        (number, ((column, _old_value(value)) for column, value in enumerate(row, start=first_column)))
        for number, row in enumerate(sheet.to_python(), start=first_row + 1)
    )
    ranges = sheet.merged_cell_ranges or []
    merged = [(top + 1, bottom + 1, left, right) for (top, left), (bottom, right) in ranges]
    return make_sheet(name, rows, merged=merged)


def _old_value(value: Any) -> CellText:
    text, kind = value_text(value)
    return text, "number" if kind == "unformatted" else kind


# What a file is

FileKind = Literal["text", "workbook", "old_workbook"]
"""workbook: .xlsx and .xlsm. old_workbook: .xls and .ods, whose number formats cannot be read."""

_BY_SUFFIX: dict[str, FileKind] = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".xls": "old_workbook",
    ".ods": "old_workbook",
}
SAVE_AS = "Open it in a spreadsheet program, and save it as .xlsx or as CSV UTF-8."
_ADVICE = {
    ".numbers": "In Numbers, choose File > Export To > Excel (.xlsx) or CSV.",
    ".xlsb": SAVE_AS,
    ".zip": "Unpack it, and read the table in it.",
    ".gsheet": "A link, not a table. In Google Sheets, choose File > Download > Microsoft Excel (.xlsx).",
    ".parquet": "Read it with pandas, and pass the DataFrame: read_payers(pandas.read_parquet(...)).",
}
"""What to do with files that are tables, but cannot be read."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of a compound file (MS-CFB): an old workbook, or any encrypted one (MS-OFFCRYPTO)."""

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|table|head|meta|style|\?xml|\?mso)", re.IGNORECASE)


def kind_of_file(path: Path) -> FileKind:
    """Return what a file is. A workbook that is named .csv, or a text that is named .xls, is known by its content.

    Raises InvalidInput, with what to do, for an encrypted file and for one of any other kind.
    """
    suffix = path.suffix.lower()
    if suffix in _ADVICE:
        raise InvalidInput(f"source: {suffix} files cannot be read.", advice=_ADVICE[suffix])
    with path.open("rb") as file:
        start = file.read(1024)
    if suffix not in _BY_SUFFIX:
        names = ".csv, .tsv, .xlsx, .xls or .ods"
        raise InvalidInput(f"source: {path.name} is not a {names} file.", advice=SAVE_AS)
    if start.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    if start.startswith(_OLE):
        if _ENCRYPTED in path.read_bytes():
            raise encrypted()
        return "old_workbook"
    if _MARKUP.match(start):
        raise InvalidInput(f"source: {path.name} is a web page or XML, not a workbook.", advice=SAVE_AS)
    if b"\n" in start and b"\x00" not in start:
        return "text"  # also as .xls or .xlsx, as many web sites export tables
    return _BY_SUFFIX[suffix]


def _unreadable(kind: str, error: Exception) -> InvalidInput:
    """Return the error for a file that is broken. Only the class of the cause is named: its text may quote cells."""
    return InvalidInput(f"source: not a readable {kind} file ({type(error).__name__}).", advice=SAVE_AS)


def encrypted() -> InvalidInput:
    """Return the error for a workbook with a password."""
    return InvalidInput(
        "source: the workbook is encrypted with a password.",
        advice="Open it in its program, remove the password, and save a copy.",
    )


def _kind_of_zip(path: Path) -> FileKind:
    names: Collection[str] = ()
    with suppress(BadZipFile), ZipFile(path) as archive:
        names = archive.namelist()
    if not names:
        raise _unreadable("Excel", BadZipFile())
    if "Index/Document.iwa" in names:
        raise InvalidInput("source: Numbers files cannot be read.", advice=_ADVICE[".numbers"])
    if "xl/workbook.bin" in names:
        raise InvalidInput("source: .xlsb files cannot be read.", advice=SAVE_AS)
    if "content.xml" in names:
        return "old_workbook"
    if not any(name.startswith("xl/") for name in names):
        raise InvalidInput(f"source: {path.name} is a zip archive.", advice=_ADVICE[".zip"])
    return "workbook"
