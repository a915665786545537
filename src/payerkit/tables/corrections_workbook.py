"""The corrections file as an Excel workbook: coloured cells with comments, a sheet of findings, and a legend."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from payerkit.errors import InvalidInput
from payerkit.masking import mask
from payerkit.tables.own_file import FINDINGS_SHEET, LEGEND_SHEET
from payerkit.tables.sheet import column_letters
from payerkit.tables.spreadsheets import new_file_for_owner
from payerkit.wording import count_of

if TYPE_CHECKING:
    from payerkit.tables.corrections import CorrectionRow, CorrectionSheet, RowProblem
    from payerkit.tables.source_table import Origin

_AUTHOR = "payerkit"

_AS_TEXT = "@"
"""Excel's number format of text: leading zeros stay, a date stays as it is typed, and nothing is computed."""

COLOURS = {"error": ("FBD5D0", "7A1610"), "warning": ("FFE7B3", "5A3200")}
"""Ground and text. Both are given, since a dark theme changes what is not."""

_MAX_ROWS = 1_000_000
_MAX_TEXT = 32_767
"""What a sheet and a cell of Excel can hold; a longer text would be cut."""

_LARGEST_SOURCE = 5_000_000
"""Bytes of a workbook above which its look is not copied: that would take long."""

_WIDEST, _PROBLEMS_WIDTH, _NUMBERS_WIDTH = 40, 70, 14
"""Characters that a column is wide: at most, if the sender's file does not say; of problems; of row numbers."""


_LEGEND = {
    "This file has personal data and account numbers in full. Only its owner can read it here: keep it so, and do not "
    "send it by e-mail.": "",
    "Correct the coloured cells of the sheet “{title}”, save the file, and send it as you sent the table, with the "
    "same journal: what is done is not sent again. In a terminal, name the journal with --journal.": "",
    "An error: the row is not sent until it is corrected. The comment of the cell says what to do.": "error",
    "A warning: the service or a bank may reject this. It can be sent as it is.": "warning",
    "“{problems}” says the same in words. “{numbers}” is the row's number in the table that was sent. What is in these "
    "two columns is not sent.": "",
    "The last column is hidden. It says which row is which, and which cells were damaged: leave it as it is. Rows may "
    "be sorted, deleted and added.": "",
}
"""The lines of the legend, each with its colour."""

_HIDDEN_ROWS = "Hidden in the table that was sent, and here: {}. Show what is to be sent, and delete the rest."


@dataclass(frozen=True, slots=True)
class _Look:
    """How the sender's sheet looks. widths, headers: by position; of a header, its font, fill, border and alignment."""

    widths: Mapping[int, float] = field(default_factory=dict)
    headers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    theme: Any = None


def write_corrections_workbook(path: Path, sheet: CorrectionSheet) -> None:
    """Write the rows to a new .xlsx file. Raises InvalidInput if a workbook cannot hold them."""
    try:
        from openpyxl import Workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or write a .csv file.") from None
    _require_room(sheet)
    look = _look_of(sheet.origin)
    book = Workbook(write_only=True)
    if look.theme:
        book.loaded_theme = look.theme
    styles = _Styles()
    title = _title(sheet.origin.sheet)
    _write_rows(book.create_sheet(title), sheet, look, styles)
    _write_findings(book.create_sheet(FINDINGS_SHEET), sheet, title, styles)
    _write_legend(book.create_sheet(LEGEND_SHEET), sheet, title, styles)
    book.properties.creator = _AUTHOR
    with new_file_for_owner(path) as file:
        book.save(file)


def _require_room(sheet: CorrectionSheet) -> None:
    """Raise InvalidInput for more rows or longer texts than a workbook can hold."""
    if len(sheet.rows) > _MAX_ROWS:
        raise InvalidInput(f"path: an Excel sheet has room for {_MAX_ROWS:,} rows. Save a .csv file.")
    for row in sheet.rows:
        if any(len(text) > _MAX_TEXT for text in (*row.cells, row.token)):
            label = mask("clientUserId", row.label)
            raise InvalidInput(f"path: row {label} has a text that is too long for a cell of Excel. Save a .csv file.")


def _look_of(origin: Origin) -> _Look:
    """Return the look of the sender's sheet; nothing if the file is no workbook, is large, or is gone."""
    path = origin.path
    if path is None or path.suffix.lower() not in {".xlsx", ".xlsm"}:
        return _Look()
    from openpyxl import load_workbook  # noqa: PLC0415 - an extra

    try:
        if path.stat().st_size > _LARGEST_SOURCE:
            return _Look()
        with warnings.catch_warnings():  # of what openpyxl leaves out, which is not needed here
            warnings.simplefilter("ignore")
            book = load_workbook(path)
        cells = book[origin.sheet]
    except (OSError, KeyError, ValueError, TypeError, BadZipFile):
        return _Look()  # the rows are there all the same
    headers = {
        position: {name: copy(getattr(cell, name)) for name in ("font", "fill", "border", "alignment")}
        for position in range(len(origin.headers))
        if (cell := cells.cell(origin.header_row, position + 1)).has_style
    }
    return _Look(_widths(cells), headers, book.loaded_theme)


def _widths(cells: Any) -> dict[int, float]:
    """Return the widths of columns, of which a workbook keeps one for several neighbours that are alike."""
    return {
        number - 1: dimension.width
        for dimension in cells.column_dimensions.values()
        if dimension.customWidth and dimension.min and dimension.max
        for number in range(dimension.min, min(dimension.max, cells.max_column) + 1)
    }


def _title(name: str) -> str:
    """Return the name of the sheet of rows: the sender's, if Excel can have it."""
    clean = "".join(char for char in name if char not in "[]:*?/\\").strip("' ")[:31]
    is_ours = clean.lower() in {FINDINGS_SHEET, LEGEND_SHEET}
    return "rows" if is_ours or not clean else clean


class _Styles:
    """Cells of text, each in one of a few styles."""

    def __init__(self) -> None:
        from openpyxl.styles import Alignment, Font, PatternFill  # noqa: PLC0415

        self._made: dict[str, Any] = {}
        self.link = Font(underline="single")
        self._bold = Font(bold=True)
        self._wrapped = Alignment(wrap_text=True, vertical="top")
        self._colours = {
            kind: (PatternFill("solid", fgColor=ground), Font(color=text)) for kind, (ground, text) in COLOURS.items()
        }

    def cell(self, sheet: Any, text: str, kind: str = "", *, is_bold: bool = False, is_wrapped: bool = False) -> Any:
        """Return a cell that holds a text, which is never computed. kind: "error", "warning" or ""."""
        from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415

        cell = WriteOnlyCell(sheet, text)
        cell.data_type = "s"
        key = f"{kind} {is_bold} {is_wrapped}"
        if key in self._made:
            cell._style = self._made[key]  # noqa: SLF001 - its parts are slow to set one by one
            return cell
        cell.number_format = _AS_TEXT
        if kind:
            cell.fill, cell.font = self._colours[kind]
        if is_bold:
            cell.font = self._bold
        if is_wrapped:
            cell.alignment = self._wrapped
        self._made[key] = cell._style  # noqa: SLF001
        return cell


def _restyle(cell: Any, **parts: Any) -> None:
    """Change parts of a cell's style, which it shares with others."""
    cell._style = copy(cell._style)  # noqa: SLF001
    for name, part in parts.items():
        setattr(cell, name, part)


def _kind_of(problems: Sequence[tuple[int | None, RowProblem]]) -> str:
    """Return the colour of some problems: of the worst."""
    kinds = {problem.kind for _, problem in problems}
    return "" if not kinds else "warning" if kinds == {"warning"} else "error"


def _write_rows(sheet: Any, content: CorrectionSheet, look: _Look, styles: _Styles) -> None:
    widths = [_width(content, look, number) for number in range(len(content.positions))]
    for number, width in enumerate([*widths, _PROBLEMS_WIDTH, _NUMBERS_WIDTH, _NUMBERS_WIDTH]):
        sheet.column_dimensions[column_letters(number)].width = width
    sheet.column_dimensions[column_letters(len(content.headers) - 1)].hidden = True
    for number, row in enumerate(content.rows, start=2):
        if row.is_hidden:
            sheet.row_dimensions[number].hidden = True
    sheet.freeze_panes = "A2"
    sheet.append([_header_cell(sheet, content, look, styles, number) for number in range(len(content.headers))])
    for row in content.rows:
        sheet.append(_row_cells(sheet, content, row, styles))


def _width(content: CorrectionSheet, look: _Look, number: int) -> float:
    """Return the width of a column: as in the sender's file, else by its first texts."""
    position = content.positions[number]
    if position is not None and position in look.widths:
        return look.widths[position]
    texts = (content.headers[number], *(row.cells[number] for row in content.rows[:100]))
    return min(max(map(len, texts)), _WIDEST) + 3


def _header_cell(sheet: Any, content: CorrectionSheet, look: _Look, styles: _Styles, number: int) -> Any:
    """Return a cell of the header, in the sender's style."""
    cell = styles.cell(sheet, content.headers[number], is_bold=True)
    position = content.positions[number] if number < len(content.positions) else None
    if position is not None and position in look.headers:
        _restyle(cell, **look.headers[position])
    return cell


def _row_cells(sheet: Any, content: CorrectionSheet, row: CorrectionRow, styles: _Styles) -> list[Any]:
    """Return the cells of a row: coloured, with a comment, where something is wrong."""
    wrong: dict[int, list[tuple[int | None, RowProblem]]] = {}
    for column, problem in row.problems:
        if column is not None:
            wrong.setdefault(column, []).append((column, problem))
    cells: list[Any] = []
    for number, text in enumerate(row.cells):
        found = wrong.get(number, [])
        cell = styles.cell(sheet, text, _kind_of(found))
        if found:
            cell.comment = _comment("\n\n".join(_note(problem) for _, problem in found))
        cells.append(cell)
    texts = "\n".join(content.describe(*each) for each in row.problems)
    return [
        *cells,
        styles.cell(sheet, texts, _kind_of(row.problems), is_wrapped=True),
        styles.cell(sheet, str(row.label)),
        styles.cell(sheet, row.token),
    ]


def _note(problem: RowProblem) -> str:
    return "\n".join(filter(None, (f"{problem.kind}: {problem.message}", problem.hint)))


def _comment(text: str) -> Any:
    from openpyxl.comments import Comment  # noqa: PLC0415

    comment = Comment(text, _AUTHOR)
    comment.width, comment.height = 320, 40 + 18 * sum(1 + len(line) // 45 for line in text.splitlines())
    return comment


def _write_findings(sheet: Any, content: CorrectionSheet, title: str, styles: _Styles) -> None:
    """Write one row for each problem, with a link to its cell."""
    from openpyxl.worksheet.hyperlink import Hyperlink  # noqa: PLC0415

    columns = {
        "cell": 8,
        "original row": 12,
        "column": 24,
        "kind": 10,
        "what is wrong": 60,
        "what to do": 60,
        "code": 24,
    }
    for number, width in enumerate(columns.values()):
        sheet.column_dimensions[column_letters(number)].width = width
    sheet.freeze_panes = "A2"
    sheet.append([styles.cell(sheet, name, is_bold=True) for name in columns])
    place = title.replace("'", "''")
    for number, row in enumerate(content.rows, start=2):
        for column, problem in row.problems:
            target = f"{column_letters(column or 0)}{number}"
            first = styles.cell(sheet, target if column is not None else f"row {number}")
            _restyle(first, font=styles.link)
            first.hyperlink = Hyperlink(ref="", location=f"'{place}'!{target}", display=target)
            name, kind = content.name_of(column, problem), "warning" if problem.kind == "warning" else "error"
            texts = (str(row.label), name, problem.kind, problem.message, problem.hint, problem.code)
            rest = [styles.cell(sheet, text, is_wrapped=True) for text in texts]
            rest[2] = styles.cell(sheet, problem.kind, kind)
            sheet.append([first, *rest])


def _write_legend(sheet: Any, content: CorrectionSheet, title: str, styles: _Styles) -> None:
    sheet.column_dimensions["A"].width = 110
    source = f" of {content.origin.file}" if content.origin.file else ""
    sheet.append([styles.cell(sheet, f"{count_of(len(content.rows), 'row')}{source} to correct", is_bold=True)])
    problems, numbers, _ = content.headers[-3:]
    lines = [(text.format(title=title, problems=problems, numbers=numbers), kind) for text, kind in _LEGEND.items()]
    if hidden := sum(row.is_hidden for row in content.rows):
        lines.append((_HIDDEN_ROWS.format(count_of(hidden, "row")), ""))
    for line, kind in lines:
        sheet.append([styles.cell(sheet, line, kind, is_wrapped=True)])
