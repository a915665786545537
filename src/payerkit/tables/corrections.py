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
from typing import Any

import pandas as pd

from payerkit.checks.inputs import is_blank, unwrap_secret
from payerkit.findings import Finding
from payerkit.tables.columns import field_of
from payerkit.tables.corrections_workbook import write_corrections_workbook
from payerkit.tables.file_findings import file_finding
from payerkit.tables.header_mapping import name_columns
from payerkit.tables.own_file import DamageMark, FileToken, RowToken, escaped, own_file, text_digest
from payerkit.tables.source_table import Origin, findings_in, origin_of
from payerkit.tables.spreadsheets import new_file_for_owner, require_new_file

KINDS = (".xlsx", ".csv")

_HIDDEN = "hidden_row"
_SHOW_AGAIN = "Delete the row; or clear its last cell, so that it is sent as a new row."

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


Placed = tuple[int | None, RowProblem]
"""A problem with the number of its column, None for the row as a whole."""


@dataclass(frozen=True, slots=True)
class CorrectionRow:
    """A row of the file."""

    label: Hashable
    cells: Sequence[str]
    problems: Sequence[Placed]
    token: str
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class CorrectionSheet:
    """What is written. headers: of all columns: the sender's, then `problems`, `original row` and the tokens."""

    headers: Sequence[str]
    rows: Sequence[CorrectionRow]
    origin: Origin

    def name_of(self, column: int | None, problem: RowProblem) -> str:
        """Return how a problem names its column: by the sender's name."""
        return (self.headers[column] if column is not None else "") or problem.column

    def describe(self, column: int | None, problem: RowProblem) -> str:
        """Return a problem as text, such as "error ZIP: Required."."""
        name = self.name_of(column, problem)
        return f"{problem.kind}{f' {name}' if name else ''}: {problem.message} {problem.hint}".rstrip()


@dataclass(frozen=True, slots=True)
class _Columns:
    """The sender's columns. cells: of the chosen rows, column by column."""

    headers: list[str]
    fields: list[str | None]
    cells: list[list[str]]


def write_corrections(path: Path, rows: pd.DataFrame, problems: Iterable[RowProblem], *, chosen: Sequence[int]) -> None:
    """Write some rows of a table, with what is wrong with them, to a new file that its owner alone may read.

    chosen: the places of the rows. Raises InvalidInput if the file exists or cannot be of this kind.
    """
    require_new_file(path, KINDS)
    is_csv = path.suffix.lower() == ".csv"
    sheet = _make_sheet(rows, problems, list(chosen), is_csv=is_csv)
    if is_csv:
        _write_csv(path, sheet)
    else:
        write_corrections_workbook(path, sheet)


def _make_sheet(
    rows: pd.DataFrame, problems: Iterable[RowProblem], chosen: list[int], *, is_csv: bool
) -> CorrectionSheet:
    """Return what is written of some rows."""
    origin = _own_origin(rows)
    own = _sender_columns(rows, origin, chosen)
    numbers = {name: number for number, name in enumerate(own.fields) if name is not None}
    wrong: dict[int, list[Placed]] = {}
    for problem in problems:
        wrong.setdefault(problem.place, []).append((numbers.get(problem.column), problem))
    damage = _damage(rows, own, chosen, wrong)
    labels = rows.index.take(chosen).tolist()
    made = []
    for number, (place, label) in enumerate(zip(chosen, labels, strict=True)):
        cells = [column[number] for column in own.cells]
        damaged = [(name, cells[numbers[name]], found) for name, found in damage.get(place, ()) if name in numbers]
        made.append(_make_row(_label(label), cells, wrong.get(place, []), damaged, is_csv=is_csv))
    ours = _unused(("problems", "original row"), own.headers)
    token = FileToken(own.headers, own.fields, ours, _settings(origin), _last_label(rows, origin), is_escaped=is_csv)
    return CorrectionSheet([*own.headers, *ours, token.write()], made, origin)


def _make_row(
    label: int | str,
    cells: Sequence[str],
    problems: Sequence[Placed],
    damaged: Iterable[tuple[str, str, Finding]],
    *,
    is_csv: bool,
) -> CorrectionRow:
    """Return a row of the file. damaged: cells, each by its column, its text, and what was found in it."""
    is_hidden, marks = False, []
    for column, text, found in damaged:
        is_hidden |= found.code == _HIDDEN
        if found.code != _HIDDEN:
            marks.append(DamageMark(column, text_digest(text), found))
        elif is_csv:  # where no row is hidden, so that the row itself has to say it
            marks.append(DamageMark(column, "", replace(found, hint=_SHOW_AGAIN)))
    if is_csv:
        problems = [
            (column, replace(problem, hint=_SHOW_AGAIN) if problem.code == _HIDDEN else problem)
            for column, problem in problems
        ]
    return CorrectionRow(label, cells, problems, RowToken(label, marks).write(), is_hidden)


def _last_label(rows: pd.DataFrame, origin: Origin) -> int | None:
    """Return the highest number that a row has, so that new rows get others; None if labels are no numbers."""
    labels = rows.index if origin.cells is None else origin.cells.index
    if not pd.api.types.is_integer_dtype(labels):
        return None
    own = own_file(origin.headers)
    before = own.last if own is not None else None
    return max(map(int, [before or 0, *labels.tolist()]))


def _own_origin(rows: pd.DataFrame) -> Origin:
    """Return where the rows come from; an empty origin if their own cells are not known, as after numbering anew."""
    origin = origin_of(rows)
    has_cells = origin.cells is not None and rows.index.is_unique and rows.index.isin(origin.cells.index).all()
    return origin if has_cells and rows.index.name == "row" else Origin()


def _sender_columns(rows: pd.DataFrame, origin: Origin, chosen: list[int]) -> _Columns:
    """Return the columns of the sender's file, and behind them those that only the table has."""
    named = {str(name): column for column, name in name_columns(rows.columns).items()}
    found = _Columns([], [], [])
    if origin.cells is not None:
        own, labels = own_file(origin.headers), rows.index.take(chosen)
        by_position = {position: name for name, position in origin.positions.items() if name in named}
        cells = origin.cells.loc[labels]
        changes = {(change.label, change.column): change.after for change in origin.changes}
        for position, header in enumerate(origin.headers):
            if own is not None and position in own.ours:  # of a corrections file that is saved again
                continue
            name = by_position.get(position)
            texts = list(map(_text, cells[position].tolist()))
            if name is not None:
                current = map(_text, rows[named.pop(name)].iloc[chosen].tolist())
                texts = [
                    text if now == _text(changes.get((label, name), text)) else now
                    for label, text, now in zip(labels, texts, current, strict=True)
                ]
            _add(found, header, name, texts)
    for name, column in named.items():
        _add(found, str(column), name, list(map(_text, rows[column].iloc[chosen].tolist())))
    return found


def _add(columns: _Columns, header: str, name: str | None, texts: list[str]) -> None:
    columns.headers.append(_UNWRITABLE.sub("\ufffd", header))
    columns.fields.append(name)
    columns.cells.append(texts)


def _damage(
    rows: pd.DataFrame, own: _Columns, chosen: list[int], wrong: Mapping[int, Sequence[Placed]]
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
                name = str(own.fields[number])
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
    cell = unwrap_secret(cell)
    if cell is None or is_blank(cell):
        return ""
    if isinstance(cell, datetime) and cell == datetime.combine(cell, datetime.min.time(), cell.tzinfo):
        cell = cell.date()
    return _UNWRITABLE.sub("\ufffd", cell.isoformat() if isinstance(cell, date) else str(cell))


def _label(label: Hashable) -> int | str:
    """Return a label as a token keeps it."""
    return label if isinstance(label, int | str) else str(label)


def _unused(names: Iterable[str], taken: Sequence[str]) -> list[str]:
    """Return names for columns of payerkit's that no column of the sender's has."""
    return [name if name not in taken else f"{name} (payerkit)" for name in names]


def _settings(origin: Origin) -> Mapping[str, Any]:
    """Return how the sender's file was read, as plain values."""
    return dict(origin.settings) if isinstance(origin.settings, dict) else {}


def _write_csv(path: Path, sheet: CorrectionSheet) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=_separator(sheet.origin))
    writer.writerow(map(escaped, sheet.headers))
    for row in sheet.rows:
        found = " | ".join(sheet.describe(*each) for each in row.problems)
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
