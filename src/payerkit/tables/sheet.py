"""The cells of a file as they were read, and what is odd about single ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

NoteKind = Literal[
    "boolean", "date", "digits_lost", "error_value", "formula_without_value", "fraction", "hidden_row", "number", "time"
]
"""What a cell of a workbook is, if it is no text, or what a spreadsheet did to it.

digits_lost: a number of more than 15 digits, of which a spreadsheet keeps 15. error_value: #N/A, #REF! and the like.
formula_without_value: a formula that no program has computed yet. fraction: a number that is not whole. hidden_row: the
row is hidden, and the column is -1. number: a whole number in a file whose number formats cannot be read, so that
leading zeros may be lost. A formula whose value is 0 is without a value, too: it refers to an empty cell, or a program
wrote 0 for what it did not compute.
"""


@dataclass(frozen=True, slots=True)
class CellNote:
    """What a cell is, if it is no text. row: as in the file, from 1. column: from 0."""

    row: int
    column: int
    kind: NoteKind


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook, or a text file, as it was read: nothing is interpreted.

    Rows of a workbook without any text are left out; their numbers are missing in the index.

    cells: texts, None where blank; its index `row` has the numbers of the file's rows, from 1, and its columns are the
    numbers of the file's columns, from 0. A number is written as its format shows it, a date as 1985-12-31, an error
    value as #REF!, a formula without a value as the formula. notes: about cells that are no text. merged: cells that
    are merged across columns, each by row, first and last column. hidden_columns: numbers of columns. name: of the
    sheet, "" for a text file. encoding: of a text file, such as Windows-1252.
    """

    cells: pd.DataFrame
    notes: Sequence[CellNote] = ()
    merged: Sequence[tuple[int, int, int]] = ()
    hidden_columns: frozenset[int] = field(default_factory=frozenset)
    name: str = ""
    encoding: str = ""


_SHORT = 1000
"""So many cells of a column are searched one by one, as Python's objects always are: pandas takes time to begin."""


def cells_with(pattern: str, cells: pd.Series[Any]) -> pd.Series[Any]:
    """Return the cells of a column in which a pattern is found."""
    if len(cells) > _SHORT and cells.dtype != "object":
        return cells[cells.str.contains(pattern, na=False)]
    search, texts = re.compile(pattern).search, cells.tolist()
    found = {text for text in {cell for cell in texts if isinstance(cell, str)} if search(text)}
    return cells[[isinstance(cell, str) and cell in found for cell in texts]] if found else cells[:0]


def column_letters(column: int) -> str:
    """Return the letters of a column, from 0, as a spreadsheet shows them: A, B, ... Z, AA."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


@dataclass(frozen=True, slots=True)
class SheetInfo:
    """What is known of a sheet before it is read.

    rows: number of the last one, 0 if no cell has a value. Of a sheet that does not say its size, 1000 are counted.
    """

    name: str
    is_hidden: bool
    rows: int


@dataclass(slots=True)
class SheetCells:
    """The rows of a sheet that have any text."""

    notes: list[CellNote] = field(default_factory=list)
    last_row: int = 0
    _rows: list[list[str | None]] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)

    def add(self, number: int, texts: list[str | None], *, is_hidden: bool = False) -> None:
        """Add a row by its number in the file; one without texts only counts."""
        self.last_row = number
        if not texts:
            return
        if is_hidden:
            self.notes.append(CellNote(number, -1, "hidden_row"))
        self._numbers.append(number)
        self._rows.append(texts)

    def sheet(
        self, name: str, merged: Iterable[tuple[int, int, int, int]] = (), hidden_columns: Collection[int] = ()
    ) -> Sheet:
        """Return the sheet. merged: first and last row, first and last column."""
        cells = _frame(self._rows, self._numbers)
        return Sheet(
            cells=cells,
            notes=tuple(self.notes),
            merged=tuple(self._merged_across(merged)),
            hidden_columns=frozenset(hidden_columns).intersection(cells.columns),
            name=name,
        )

    def _merged_across(self, ranges: Iterable[tuple[int, int, int, int]]) -> list[tuple[int, int, int]]:
        return sorted(
            (row, first, last)
            for top, bottom, first, last in ranges
            if last > first
            for row in range(top, min(bottom, self.last_row) + 1)
        )


def _frame(rows: list[list[str | None]], numbers: list[int]) -> pd.DataFrame:
    width = max(map(len, rows), default=0)
    rows = [row if len(row) == width else [*row, *[None] * (width - len(row))] for row in rows]
    return pd.DataFrame(rows, index=pd.Index(numbers, dtype="int64", name="row"), dtype=str)
