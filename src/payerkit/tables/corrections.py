"""The corrections file: the sender's own rows that need something, with what is wrong, to correct and to read again."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from payerkit.checks.inputs import is_blank, unwrap_secret
from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.masking import mask
from payerkit.tables.columns import field_of
from payerkit.tables.damage import file_finding
from payerkit.tables.mapping import name_columns
from payerkit.tables.own_file import DamageMark, FileToken, RowToken, escaped, own_file, text_digest
from payerkit.tables.sheet import column_letters
from payerkit.tables.source_table import Origin, findings_in, origin_of
from payerkit.tables.spreadsheets import new_file_for_owner, require_new_file

KINDS = (".xlsx", ".csv")

_HIDDEN = "hidden_row"
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that a workbook cannot have. They are written as the replacement character, which is a finding."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What is wrong with a row. place: of the row in the table. column: of the table, "" for the row as a whole.

    kind: "error", "warning", or the state of the row in words.
    """

    place: int
    column: str
    kind: str
    message: str
    hint: str = ""
    code: str = ""


_Found = TypeVar("_Found", RowProblem, Finding)

_Placed = tuple[int | None, RowProblem]
"""A problem with the number of its column, None for the row as a whole."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the file."""

    label: Hashable
    cells: Sequence[str]
    problems: Sequence[_Placed]
    token: str
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class _Content:
    """What is written. headers: of all columns: the sender's, then `problems`, `original row` and the tokens."""

    headers: Sequence[str]
    rows: Sequence[_Row]
    origin: Origin

    def describe(self, row: _Row) -> list[str]:
        """Return the problems of a row as texts, such as "error ZIP: Required."."""
        names = [f" {self.headers[column] if column is not None else each.column}" for column, each in row.problems]
        return [
            f"{each.kind}{name.rstrip()}: {each.message} {each.hint}".rstrip()
            for name, (_, each) in zip(names, row.problems, strict=True)
        ]


class _Column(NamedTuple):
    """A column of the sender's file, or one that only the table has. texts: of the chosen rows."""

    header: str
    field: str | None
    texts: list[str]


def write_corrections(path: Path, rows: pd.DataFrame, problems: Iterable[RowProblem], *, chosen: Sequence[int]) -> None:
    """Write some rows of a table, with what is wrong with them, to a new file that its owner alone may read.

    chosen: the places of the rows. Raises InvalidInput if the file exists or cannot be of this kind.
    """
    require_new_file(path, KINDS)
    is_csv = path.suffix.lower() == ".csv"
    content = _make_content(rows, problems, list(chosen), is_csv=is_csv)
    if is_csv:
        _write_csv(path, content)
    else:
        _write_workbook(path, content)


def _make_content(rows: pd.DataFrame, problems: Iterable[RowProblem], chosen: list[int], *, is_csv: bool) -> _Content:
    """Return what is written of some rows."""
    origin = _own_origin(rows)
    columns = _sender_columns(rows, origin, chosen)
    headers, fields = [each.header for each in columns], [each.field for each in columns]
    numbers = {name: number for number, name in enumerate(fields) if name is not None}
    wrong: dict[int, list[_Placed]] = {}
    for problem in problems:
        wrong.setdefault(problem.place, []).append((numbers.get(problem.column), problem))
    damage = _damage(rows, fields, chosen, wrong)
    made = []
    for number, (place, label) in enumerate(zip(chosen, rows.index.take(chosen).tolist(), strict=True)):
        damaged = [(name, found) for name, found in damage.get(place, ()) if name in numbers]
        cells = [each.texts[number] for each in columns]
        made.append(_make_row(label, cells, fields, wrong.get(place, []), damaged, is_csv=is_csv))
    ours = [name if name not in headers else f"{name} (payerkit)" for name in ("problems", "original row")]
    token = FileToken(headers, fields, ours, origin.settings, _last_label(rows, origin), is_escaped=is_csv)
    return _Content([*headers, *ours, token.write()], made, origin)


def _make_row(
    label: Hashable,
    cells: Sequence[str],
    fields: Sequence[str | None],
    problems: Sequence[_Placed],
    damaged: Sequence[tuple[str, Finding]],
    *,
    is_csv: bool,
) -> _Row:
    """Return a row of the file. damaged: what was found in its cells, each by its column in the table."""
    is_hidden = any(found.code == _HIDDEN for _, found in damaged)
    if is_csv:  # where no row is hidden, so that the row itself has to say it
        problems = [(at, _ask_to_show(each) if each.code == _HIDDEN else each) for at, each in problems]
        damaged = [(name, _ask_to_show(found) if found.code == _HIDDEN else found) for name, found in damaged]
    else:
        damaged = [(name, found) for name, found in damaged if found.code != _HIDDEN]
    texts = {name: text for name, text in zip(fields, cells, strict=True) if name is not None}
    marks = [
        DamageMark(name, "" if found.code == _HIDDEN else text_digest(texts[name]), found) for name, found in damaged
    ]
    wrong = {fields[at] for at, _ in problems if at is not None}
    wrong |= {name for name, found in damaged if found.code != _HIDDEN}
    sound = {name: text for name, text in texts.items() if name not in wrong}
    return _Row(label, cells, problems, RowToken.of(label, sound, marks).write(), is_hidden)


def _ask_to_show(found: _Found) -> _Found:
    """Return a finding or a problem of a hidden row, for a file in which no row is hidden."""
    return replace(found, hint="Delete the row; or clear its last cell, so that it is sent as a new row.")


def _last_label(rows: pd.DataFrame, origin: Origin) -> int | None:
    """Return the highest number that a row has, so that new rows get others; None if labels are no numbers."""
    labels = rows.index if origin.cells is None else origin.cells.index
    if not pd.api.types.is_integer_dtype(labels):
        return None
    own = own_file([each.header for each in origin.columns])
    return int(max([own.last or 0 if own else 0, *labels.tolist()]))


def _own_origin(rows: pd.DataFrame) -> Origin:
    """Return where the rows come from; an empty origin if their own cells are not known, as after numbering anew."""
    origin = origin_of(rows)
    has_cells = origin.cells is not None and rows.index.is_unique and rows.index.isin(origin.cells.index).all()
    return origin if has_cells and rows.index.name == "row" else Origin()


def _sender_columns(rows: pd.DataFrame, origin: Origin, chosen: list[int]) -> list[_Column]:
    """Return the columns of the sender's file, and behind them those that only the table has."""
    named = {str(name): column for column, name in name_columns(rows.columns).items()}
    found = []
    if origin.cells is not None:
        own, labels = own_file([each.header for each in origin.columns]), rows.index.take(chosen)
        cells = origin.cells.loc[labels]
        changes = {(change.label, change.column): change.after for change in origin.changes}
        for each in origin.columns:
            if own is not None and each.place in own.ours:  # of a corrections file that is saved again
                continue
            name = each.column if each.column in named else None
            texts = list(map(_text, cells[each.place].tolist()))
            if name is not None:
                current = map(_text, rows[named.pop(name)].iloc[chosen].tolist())
                read = (_text(changes[at]) if (at := (label, name)) in changes else None for label in labels)
                texts = [
                    text if now == (text if after is None else after) else now
                    for text, now, after in zip(texts, current, read, strict=True)
                ]
            # By its key: columns of one name could not be told apart once they are moved.
            found.append(_Column(_UNWRITABLE.sub("\ufffd", each.key), name, texts))
    for name, column in named.items():
        found.append(_Column(_UNWRITABLE.sub("\ufffd", str(column)), name, list(map(_text, rows[column].iloc[chosen]))))
    return found


def _damage(
    rows: pd.DataFrame, fields: Sequence[str | None], chosen: list[int], wrong: Mapping[int, Sequence[_Placed]]
) -> dict[int, list[tuple[str, Finding]]]:
    """Return what must still be found when the file is read again, by place: all of its cells are text then.

    That is what was found by reading, and cells of a DataFrame that are no text where text is needed.
    """
    found: dict[int, list[tuple[str, Finding]]] = {}
    for place, column, finding in findings_in(rows):
        found.setdefault(place, []).append((column, finding))
    named = {name: column for column, name in name_columns(rows.columns).items()}
    for place in chosen:
        for number, problem in wrong.get(place, ()):
            if number is not None and problem.kind == "error":
                name = str(fields[number])
                code = _damage_code(unwrap_secret(rows[named[name]].iloc[place]))
                if code:
                    found.setdefault(place, []).append((name, file_finding(code, field_of(name))))
    return {place: list(dict.fromkeys(each)) for place, each in found.items()}


def _damage_code(cell: Any) -> str:
    """Return the code of what a cell is that is no text, "" for text and for a blank one."""
    if isinstance(cell, str) or is_blank(cell):
        return ""
    if hasattr(cell, "isoformat"):
        return "became_date"
    return "became_boolean" if type(cell).__name__ in {"bool", "bool_"} else "became_number"


def _text(cell: Any) -> str:
    """Return a cell as it is written, "" for a blank one."""
    if type(cell) is str:
        return _UNWRITABLE.sub("\ufffd", cell)
    cell = unwrap_secret(cell)
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell == datetime.combine(cell, datetime.min.time(), cell.tzinfo):
        cell = cell.date()
    return _UNWRITABLE.sub("\ufffd", cell.isoformat() if isinstance(cell, date) else str(cell))


def _write_csv(path: Path, content: _Content) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=_separator(content.origin))
    writer.writerow(map(escaped, content.headers))
    for row in content.rows:
        found = " | ".join(content.describe(row))
        writer.writerow(map(escaped, [*row.cells, found, str(row.label), row.token]))
    with new_file_for_owner(path) as file:
        file.write(text.getvalue().encode("utf-8-sig"))  # with the mark by which Excel knows UTF-8


def _separator(origin: Origin) -> str:
    """Return the separator of the sender's text file, so that their program opens this one, too; else a comma."""
    separators = ",;\t|"
    if origin.path is not None and origin.path.suffix.lower() in {".csv", ".tsv", ".txt"}:
        with suppress(OSError), origin.path.open(encoding="latin-1") as file:
            return max(separators, key=file.readline().count)
    return separators[0]


# As an Excel workbook: coloured cells with comments that say what to do

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


def _write_workbook(path: Path, content: _Content) -> None:
    """Write the rows to a new .xlsx file. Raises InvalidInput if a workbook cannot hold them."""
    try:
        from openpyxl import Workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or write a .csv file.") from None
    _require_room(content)
    book = Workbook(write_only=True)
    _write_rows(book.create_sheet(_title(content.origin.sheet)), content, _Styles())
    book.properties.creator = _AUTHOR
    with new_file_for_owner(path) as file:
        book.save(file)


def _require_room(content: _Content) -> None:
    """Raise InvalidInput for more rows or longer texts than a workbook can hold."""
    if len(content.rows) > _MAX_ROWS:
        raise InvalidInput(f"path: an Excel sheet has room for {_MAX_ROWS:,} rows. Save a .csv file.")
    for row in content.rows:
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


def _kind_of(problems: Iterable[RowProblem]) -> str:
    """Return the colour of some problems: of the worst."""
    kinds = {problem.kind for problem in problems}
    return "" if not kinds else "warning" if kinds == {"warning"} else "error"


def _write_rows(sheet: Any, content: _Content, styles: _Styles) -> None:
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


def _width(content: _Content, number: int) -> float:
    """Return the width of a column, by its first texts."""
    texts = (content.headers[number], *(row.cells[number] for row in content.rows[:100]))
    return min(max(map(len, texts)), _WIDEST) + 3


def _row_cells(sheet: Any, content: _Content, row: _Row, styles: _Styles) -> list[Any]:
    """Return the cells of a row: coloured, with a comment, where something is wrong."""
    cells: list[Any] = []
    for number, text in enumerate(row.cells):
        found = [problem for column, problem in row.problems if column == number]
        cell = styles.cell(sheet, text, _kind_of(found))
        if found:
            cell.comment = _comment("\n\n".join(_note(problem) for problem in found))
        cells.append(cell)
    texts = "\n".join(content.describe(row))
    return [
        *cells,
        styles.cell(sheet, texts, _kind_of(problem for _, problem in row.problems), is_wrapped=True),
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
