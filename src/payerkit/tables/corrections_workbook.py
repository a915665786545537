"""The corrections file as an Excel workbook: coloured cells with comments that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from payerkit.errors import InvalidInput
from payerkit.masking import mask
from payerkit.tables.sheet import column_letters
from payerkit.tables.spreadsheets import new_file_for_owner

if TYPE_CHECKING:
    from payerkit.tables.corrections import CorrectionRow, CorrectionSheet, RowProblem

_AUTHOR = "payerkit"

_AS_TEXT = "@"
"""Excel's number format of text: leading zeros stay, a date stays as it is typed, and nothing is computed."""

COLOURS = {"error": ("FBD5D0", "7A1610"), "warning": ("FFE7B3", "5A3200")}
"""Ground and text. Both are given, since a dark theme changes what is not."""

_MAX_ROWS = 1_000_000
_MAX_TEXT = 32_767
"""What a sheet and a cell of Excel can hold; a longer text would be cut."""

_WIDEST, _PROBLEMS_WIDTH, _NUMBERS_WIDTH = 40, 70, 14
"""Characters that a column is wide: at most; of problems; of row numbers."""


def write_corrections_workbook(path: Path, sheet: CorrectionSheet) -> None:
    """Write the rows to a new .xlsx file. Raises InvalidInput if a workbook cannot hold them."""
    try:
        from openpyxl import Workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or write a .csv file.") from None
    _require_room(sheet)
    book = Workbook(write_only=True)
    _write_rows(book.create_sheet(_title(sheet.origin.sheet)), sheet, _Styles())
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


def _title(name: str) -> str:
    """Return the name of the sheet of rows: the sender's, if Excel can have it."""
    clean = "".join(char for char in name if char not in "[]:*?/\\").strip("' ")[:31]
    return clean or "rows"


class _Styles:
    """Cells of text, each in one of a few styles."""

    def __init__(self) -> None:
        from openpyxl.styles import Alignment, Font, PatternFill  # noqa: PLC0415

        self._made: dict[str, Any] = {}
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


def _kind_of(problems: Sequence[tuple[int | None, RowProblem]]) -> str:
    """Return the colour of some problems: of the worst."""
    kinds = {problem.kind for _, problem in problems}
    return "" if not kinds else "warning" if kinds == {"warning"} else "error"


def _write_rows(sheet: Any, content: CorrectionSheet, styles: _Styles) -> None:
    widths = [_width(content, number) for number in range(len(content.headers) - 3)]
    for number, width in enumerate([*widths, _PROBLEMS_WIDTH, _NUMBERS_WIDTH, _NUMBERS_WIDTH]):
        sheet.column_dimensions[column_letters(number)].width = width
    sheet.column_dimensions[column_letters(len(content.headers) - 1)].hidden = True
    for number, row in enumerate(content.rows, start=2):
        if row.is_hidden:
            sheet.row_dimensions[number].hidden = True
    sheet.freeze_panes = "A2"
    sheet.append([styles.cell(sheet, header, is_bold=True) for header in content.headers])
    for row in content.rows:
        sheet.append(_row_cells(sheet, content, row, styles))


def _width(content: CorrectionSheet, number: int) -> float:
    """Return the width of a column, by its first texts."""
    texts = (content.headers[number], *(row.cells[number] for row in content.rows[:100]))
    return min(max(map(len, texts)), _WIDEST) + 3


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
