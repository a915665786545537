"""What the columns, rows and cells of a table are called by its sender, and findings as text in these words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pandas as pd

from payerkit.bulk.rows import Problem, Step
from payerkit.findings import COLUMNS
from payerkit.frames import frame_of
from payerkit.html import visible
from payerkit.masking import mask
from payerkit.tables.normalise import reading_in_words
from payerkit.tables.source_table import Origin, origin_of
from payerkit.wording import Wording, in_file

_ALL, _FIRST = 5, 3
"""Up to so many rows all are named; of more rows the first."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of a table's columns, rows and cells in the file that it was read from; it holds no cell's content.

    columns: the table's column of each field, by step. labels: those of the rows. file: where the table comes from.
    letters: of each column that is in the file; empty if the rows do not have the file's numbers. readings: what
    normalise=True would write, by row and column, masked; "" for a cell that it would clear. normalise: how the reader
    says that.
    """

    columns: Mapping[Step, Mapping[str, str]]
    labels: pd.Index[Any]
    file: Origin = field(default_factory=Origin)
    letters: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[tuple[int, str], str] = field(default_factory=dict, repr=False)
    normalise: str = "normalise=True"

    @classmethod
    def of(
        cls, rows: Any, columns: Mapping[Step, Mapping[str, str]], labels: pd.Index[Any], found: Iterable[Problem]
    ) -> Self:
        """Return the names in a table with these findings."""
        origin = origin_of(rows)
        file = replace(origin, cells=None, findings=(), changes=(), readings={}, mapping=None)
        has_cells = bool(origin.file) and labels.name == "row" and labels.is_unique
        in_file = origin.by_name.items() if has_cells else ()
        letters = {name: each.letters for name, each in in_file if name in rows.columns}
        named = cls(columns, labels, file, letters)
        return replace(named, readings=named._find_readings(origin, found)) if letters and origin.readings else named

    def _find_readings(self, origin: Origin, found: Iterable[Problem]) -> dict[tuple[int, str], str]:
        """Return the readings of the cells that have an error or a warning, in words."""
        cells = {(each.row, each.column(self.columns)) for each in found if each.finding.severity != "info"}
        labels = self.labels.tolist()
        keys = ((cell, (labels[cell[0]], cell[1])) for cell in cells)
        return {cell: reading_in_words(cell[1], origin.readings[key]) for cell, key in keys if key in origin.readings}

    def cell(self, row: int, column: str) -> str:
        """Return the name of a cell in the file, such as B7, "" if it has none."""
        letters = self.letters.get(column, "")
        return f"{letters}{self.numbers([row])[0]}" if letters else ""

    def numbers(self, rows: Sequence[int]) -> list[Any]:
        """Return the numbers of rows in the file, else their labels; those of a corrections file differ from labels."""
        labels = self.labels.take(rows).tolist()
        return [self.file.rows.get(label, label) for label in labels] if self.letters and self.file.rows else labels

    def hint(self, problem: Problem) -> str:
        """Return what to do about a problem, and if that is so, that the table has no column for it."""
        finding, hint = problem.finding, problem.finding.hint
        if self.letters:
            hint = in_file(hint)
            if problem.step and finding.field and finding.field not in self.columns.get(problem.step, {}):
                hint = f"{'' if finding.code == 'required' else hint} There is no column for it.".lstrip()
        return hint

    def place(self, problem: Problem) -> tuple[str, str, str]:
        """Return the cell of a problem, "" if it has none, the sender's name of its column, and what to do."""
        column = problem.column(self.columns)
        hint = self.with_readings(self.hint(problem), column, [problem.row])
        return self.cell(problem.row, column), self.file.shown_header(column), hint

    def texts(self, found: Iterable[Problem]) -> list[str]:
        """Return the problems of each row as text, "" for none."""
        texts: list[list[str]] = [[] for _ in self.labels]
        for each in found:
            texts[each.row].append(self._text(each))
        return list(map("; ".join, texts))

    def _text(self, problem: Problem) -> str:
        """Return an error by its column, cell, message and hint, and anything else with severity and code, too."""
        finding, (cell, header, hint) = problem.finding, self.place(problem)
        start = f"{header} ({cell})" if cell else header
        words = f"{finding.message} {hint}".rstrip()
        text = f"{start}: {words}" if start else words
        return text if finding.severity == "error" else f"{finding.severity} {text} [{finding.code}]"

    def where(self, column: str, rows: Sequence[int]) -> str:
        """Return the cells of a column in some rows, else the labels of these rows: the first, and how many follow."""
        has_cells = column in self.letters
        if not has_cells and len(rows) == len(self.labels) > _ALL:
            return "all rows"
        shown = rows[: _ALL if len(rows) <= _ALL else _FIRST]
        numbers = self.numbers(shown)
        names = [f"{self.letters[column]}{number}" if has_cells else str(shown_id(number)) for number in numbers]
        more = f" and {len(rows) - len(shown):,} more" if len(rows) > len(shown) else ""
        noun = "" if has_cells else "row " if len(rows) == 1 else "rows "
        return f"{noun}{', '.join(names)}{more}"

    def with_readings(self, hint: str, column: str, rows: Sequence[int]) -> str:
        """Return what to do about the cells of a column in some rows, with what normalise=True would do about them."""
        found = [self.readings[row, column] for row in rows if (row, column) in self.readings] if self.readings else []
        if not found:
            return hint
        several = "them all" if len(found) == len(rows) else f"{len(found):,} of them"
        own = f"{self.normalise} would write {several} in the right form."
        if len(found) == len(rows) and len(set(found)) == 1:
            if found[0] and isinstance(hint, Wording) and hint.to_write == found[0]:
                return f"Write {found[0]}, as {self.normalise} would."
            own = f"{self.normalise} would {f'write {found[0]}' if found[0] else 'clear the cell'}."
        return f"{hint} {own}".lstrip()


def shown_id(value: Any) -> Any:
    """Return a client user id, or a row's label, which may be one, as it may be shown."""
    if value is None or value is pd.NA:
        return value
    return visible(str(mask("clientUserId", value)))


def findings_frame(found: Sequence[Problem], naming: Naming) -> pd.DataFrame:
    """Return one row per problem, with the label of its row, its cell, and the sender's name of its column."""
    rows = []
    for each, label in zip(found, naming.labels.take([each.row for each in found]), strict=True):
        cell, header, hint = naming.place(each)
        said = {name: getattr(each.finding, name) for name in COLUMNS}
        rows.append({"row": label, "cell": cell, "column": header, **said, "hint": hint, "step": each.step})
    texts = dict.fromkeys(("cell", "column", *COLUMNS, "step"), "string")
    return frame_of(rows, {"row": naming.labels.dtype, **texts})
