"""Rows in their sender's words, and what a plan and a report of them have in common: reasons, and what to correct."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, get_args

import pandas as pd

from payerkit import html
from payerkit.errors import InvalidInput
from payerkit.findings import COLUMNS, Severity
from payerkit.frames import frame_of
from payerkit.masking import mask
from payerkit.onboarding.rows import Problem, Step, of_severity
from payerkit.reasons import Outcome
from payerkit.tables.corrections import RowProblem, write_corrections
from payerkit.tables.damage import BASIS
from payerkit.tables.normalise import Origin, findings_in, origin_of, reading_in_words
from payerkit.wording import Wording, count_of, in_file, in_words, visible

if TYPE_CHECKING:
    from payerkit.onboarding.row_browser import RowBrowser
    from payerkit.onboarding.tasks import Table

PAYER_NOT_SENT, HELD = Outcome("payer_not_sent"), Outcome("held")
"""Why rows are not sent that a plan and a report have in common."""

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
    def of(cls, rows: Any, columns: Mapping[Step, Mapping[str, str]], found: Iterable[Problem]) -> Self:
        """Return the names in a table with these findings."""
        labels = rows.index
        origin = origin_of(rows)
        file = replace(origin, cells=None, findings=(), changes=(), readings={}, mapping=None)
        has_cells = bool(origin.file) and labels.name == "row" and labels.is_unique
        in_file = origin.by_name.items() if has_cells else ()
        letters = {name: each.letters for name, each in in_file if name in rows.columns}
        told = found if letters and origin.readings else ()
        cells = {(each.row, each.column(columns)) for each in told if each.finding.severity != "info"}
        keys = ((cell, (labels[cell[0]], cell[1])) for cell in cells)
        readings = {
            cell: reading_in_words(cell[1], origin.readings[key]) for cell, key in keys if key in origin.readings
        }
        return cls(columns, labels, file, letters, readings)

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
        """Return the problems of each row as text, "" for none: errors in words, others with severity and code, too."""
        texts: list[list[str]] = [[] for _ in self.labels]
        for each in found:
            finding, (cell, header, hint) = each.finding, self.place(each)
            start = f"{header} ({cell})" if cell else header
            text = f"{start}: {finding.message} {hint}".removeprefix(": ").rstrip()
            texts[each.row].append(
                text if finding.severity == "error" else f"{finding.severity} {text} [{finding.code}]"
            )
        return list(map("; ".join, texts))

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


Which = Literal["problems", "all"]
"""Which rows are written to a corrections file: those that need something, or all."""


class Reason(NamedTuple):
    """A reason in words, with the rows that have it, in their order. kind: a state of rows, or a finding's severity.

    code: of a warning, by which rows are held back, "" for any other reason. column: of the table, "" for none.
    """

    kind: str
    message: str
    hint: str = ""
    code: str = ""
    column: str = ""
    rows: Sequence[int] = ()

    def hint_with_readings(self, naming: Naming) -> str:
        """Return what to do, with what normalise=True would do about the cells of the rows."""
        return naming.with_readings(self.hint, self.column, self.rows)

    def text(self, naming: Naming) -> str:
        """Return the reason in words, with what to do and its code."""
        code = self.code and f"[{self.code}]"
        return " ".join(filter(None, (self.message, self.hint_with_readings(naming), code)))


ReasonOfRow = tuple[Reason, int]
"""A reason without rows, and the number of a row that has it."""


class Overview:
    """Rows of a table with what was found in them. A plan and a report have a `frame` of these rows."""

    frame: pd.DataFrame
    _kinds: ClassVar[dict[str, html.Kind]]
    """The colour of each state, and of each severity that is shown; most urgent first."""

    def __init__(self, table: Table, found: Sequence[Problem], naming: Naming) -> None:
        self._table, self._found, self._naming = table, found, naming

    @property
    def findings(self) -> pd.DataFrame:
        """One row per finding; a report also has one for each row that was changed after it was stored."""
        rows = []
        for each, label in zip(self._found, self._naming.labels.take([each.row for each in self._found]), strict=True):
            cell, header, hint = self._naming.place(each)
            said = {name: getattr(each.finding, name) for name in COLUMNS}
            rows.append({"row": label, "cell": cell, "column": header, **said, "hint": hint, "step": each.step})
        texts = dict.fromkeys(("cell", "column", *COLUMNS, "step"), "string")
        return frame_of(rows, {"row": self._naming.labels.dtype, **texts})

    def _texts_of(self, *severities: Severity) -> list[str]:
        """Return the findings of some severities as text, those of each row."""
        return self._naming.texts(of_severity(self._found, *severities))

    def _rows_with(self, severity: Severity) -> set[int]:
        return {each.row for each in of_severity(self._found, severity)}

    def _browser(self, frame: pd.DataFrame, columns: Sequence[str], title: str) -> RowBrowser:
        from payerkit.onboarding.row_browser import RowBrowser  # noqa: PLC0415 - for notebooks alone

        return RowBrowser(frame, self._kinds, columns, title=title)

    # Reasons

    def _reasons_of_findings(self, found: Iterable[Problem], kind: str = "") -> Iterator[ReasonOfRow]:
        """Yield findings as reasons. kind: that of all; by default, it is the severity."""
        for each in found:
            problem = each._replace(finding=each.general or each.finding)
            finding, column = problem.finding, problem.column(self._naming.columns)
            message = f"{self._naming.file.shown_header(column)}: {finding.message}" if column else finding.message
            code = finding.code if finding.severity == "warning" else ""
            yield Reason(kind or finding.severity, message, self._naming.hint(problem), code, column), each.row

    @staticmethod
    def _reasons_of_states(found: Iterable[tuple[str, str]]) -> Iterator[ReasonOfRow]:
        """Yield the state of each row with its reason in words, "" for none."""
        return ((Reason(state, text), row) for row, (state, text) in enumerate(found) if text)

    def _grouped(self, found: Iterable[ReasonOfRow]) -> list[Reason]:
        """Return reasons with all their rows, the most frequent ones of each kind first; a row may have several."""
        rows: dict[Reason, set[int]] = {}
        for reason, row in found:
            rows.setdefault(reason, set()).add(row)
        ranks = {kind: rank for rank, kind in enumerate(self._kinds)}
        grouped = (reason._replace(rows=sorted(own)) for reason, own in rows.items())
        return sorted(grouped, key=lambda each: (ranks[each.kind], -len(each.rows)))

    def _line(self, reason: Reason, words: str) -> str:
        """Return a line of text about a reason."""
        where = self._naming.where(reason.column, reason.rows)
        return f"{count_of(len(reason.rows), 'row'):>10}  {words} ({where})"

    def _grid(
        self, reasons: Iterable[Reason], words: Callable[[Reason], str], head: tuple[str, str], caption: str
    ) -> str:
        """Return reasons as a picture, "" without any. head: of the columns of kinds and of words."""
        rows = []
        for each in reasons:
            chip = html.chip(self._kinds[each.kind], in_words(each.kind))
            where = self._naming.where(each.column, each.rows)
            rows.append((f"{len(each.rows):,}", chip, words(each), where))
        return html.grid(("rows", *head, "which"), rows, caption=caption) if rows else ""

    # The corrections file

    def _reason_of(self, row: int) -> tuple[str, str] | None:
        """Return the state of a row in words and the reason for it, or nothing, if its findings say it."""
        raise NotImplementedError

    def _save_corrections(self, path: str | Path, name: str, which: Which, needed: Iterable[int]) -> int:
        """Write the rows that need something, or all, to a corrections file; return how many they are.

        There is no file without any. name: of the argument that says which. Raises InvalidInput for another value.
        """
        if which not in get_args(Which):
            raise InvalidInput(f'{name}: expected "problems" or "all", got {which!r}.')
        chosen = [*(range(len(self.frame)) if which == "all" else needed)]
        if chosen:
            rows = self._table.planned
            reasons = ((row, found) for row in chosen if (found := self._reason_of(row)))
            why = [RowProblem(row, "", *found) for row, found in reasons]
            write_corrections(Path(path), rows, [*self._problems(rows, {*chosen}), *why], chosen=chosen)
        return len(chosen)

    def _problems(self, rows: pd.DataFrame, chosen: set[int]) -> list[RowProblem]:
        """Return the errors and warnings of some rows, errors first."""
        checked = [(each.row, each.column(self._naming.columns), each.finding) for each in self._found]
        found = [*findings_in(rows), *(each for each in checked if each[2].basis != BASIS)]
        problems = dict.fromkeys(
            RowProblem(row, column, each.severity, each.message, each.hint, each.code)
            for row, column, each in found
            if row in chosen and each.severity != "info"
        )
        return sorted(problems, key=lambda each: (each.place, each.kind != "error"))
