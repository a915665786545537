"""Cells of a workbook, collected row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import pandas as pd

from payerkit.tables.sheet import CellNote, Sheet


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
