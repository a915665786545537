"""What a plan and a report have in common: what was found in rows, the reasons that they share, and what to correct."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import pandas as pd

from payerkit import html
from payerkit.bulk.naming import Naming, findings_frame
from payerkit.bulk.rows import Problem, of_severity
from payerkit.errors import InvalidInput, kind_of
from payerkit.tables.corrections import RowProblem, write_corrections
from payerkit.tables.damage import BASIS
from payerkit.tables.source_table import findings_in
from payerkit.wording import count_of, in_words

if TYPE_CHECKING:
    from payerkit.bulk.row_browser import RowBrowser

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

    def __init__(self, found: Sequence[Problem], naming: Naming) -> None:
        self._found, self._naming = found, naming

    @property
    def findings(self) -> pd.DataFrame:
        """One row per finding; a report also has one for each row that was changed after it was stored."""
        return findings_frame(self._found, self._naming)

    def _texts_of(self, *severities: Literal["error", "warning", "info"]) -> list[str]:
        """Return the findings of some severities as text, those of each row."""
        return self._naming.texts(of_severity(self._found, *severities))

    def _rows_with(self, severity: Literal["error", "warning", "info"]) -> set[int]:
        return {each.row for each in of_severity(self._found, severity)}

    def _browser(self, frame: pd.DataFrame, columns: Sequence[str], title: str) -> RowBrowser:
        from payerkit.bulk.row_browser import RowBrowser  # noqa: PLC0415 - for notebooks alone

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
        rows = [
            (
                f"{len(each.rows):,}",
                html.chip(self._kinds[each.kind], in_words(each.kind)),
                words(each),
                self._naming.where(each.column, each.rows),
            )
            for each in reasons
        ]
        return html.grid(("rows", *head, "which"), rows, caption=caption) if rows else ""

    # The corrections file

    def _save_rows(
        self,
        path: str | Path,
        rows: pd.DataFrame,
        chosen: Sequence[int],
        reason: Callable[[int], tuple[str, str] | None],
    ) -> int:
        """Write some rows to a corrections file; return how many they are. There is no file without any.

        reason: says of a row its state in words and the reason for it, or nothing, if its findings say it.
        """
        if chosen:
            said = [(place, found) for place in chosen if (found := reason(place))]
            why = [RowProblem(place, "", state, text) for place, (state, text) in said]
            write_corrections(Path(path), rows, [*self._problems(rows, set(chosen)), *why], chosen=chosen)
        return len(chosen)

    def _problems(self, rows: pd.DataFrame, chosen: set[int]) -> list[RowProblem]:
        """Return the errors and warnings of some rows, errors first."""
        in_file = list(findings_in(rows))
        columns = self._naming.columns
        checked = [(each.row, each.column(columns), each.finding) for each in self._found]
        problems = [
            RowProblem(place, column, each.severity, each.message, each.hint, each.code)
            for place, column, each in [*in_file, *(found for found in checked if found[2].basis != BASIS)]
            if place in chosen and each.severity != "info"
        ]
        return sorted(dict.fromkeys(problems), key=lambda each: (each.place, each.kind != "error"))


def reasons_of_states(found: Iterable[tuple[str, str]]) -> Iterator[ReasonOfRow]:
    """Yield the state of each row with its reason in words, "" for none."""
    return ((Reason(state, text), row) for row, (state, text) in enumerate(found) if text)


def require_which(name: str, which: object, rows: Any) -> None:
    """Raise InvalidInput for anything but "problems" and "all", and for a table whose cells are not here."""
    if which not in {"problems", "all"}:
        raise InvalidInput(f'{name}: expected "problems" or "all", got {which!r}.')
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected a DataFrame of pandas, got {kind_of(rows)}.")
