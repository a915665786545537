"""The progress bar of a run: how many rows are in which state, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

from payerkit.bulk.progress import Progress, estimate_duration
from payerkit.bulk.row_states import RowStates
from payerkit.bulk.table import Step, Table
from payerkit.bulk.time_left import TimeLeft
from payerkit.client.pace import Pace


class RunDisplay:
    """The progress bar of a run over a table; does nothing if it is not shown.

    It counts rows, as the report does, and ends with the numbers of the report. Threads note what happens; one draws.

    where: shown before the bar. pace: the client's, whose pauses are part of the time that is left. clock: that of the
    run.
    """

    def __init__(self, table: Table, *, shown: bool, where: str, pace: Pace, clock: Callable[[], float]) -> None:
        self.shown = shown
        self._bar, self._total = Progress(len(table), shown=shown, where=where), len(table)
        self._pace, self._clock = pace, clock
        self._due = 0.0
        if shown:
            self._rows, self._left = RowStates(table), TimeLeft(0, None, clock)

    def begin(self, payers: int, accounts: int, calls: int, rate: float | None) -> None:
        """Announce how long the run takes. calls: to be made for payers and accounts. rate: calls a second, at most."""
        if not self.shown:
            return
        if calls and rate is not None:
            self._bar.announce(estimate_duration(payers, accounts, calls, rate))
        self._left = TimeLeft(calls, rate, self._clock)

    def note(self, step: Step, row: int, state: str) -> None:
        """Note the state of the task of a row."""
        if self.shown:
            self._rows.record(step, row, state)

    def count_made(self, calls: int) -> None:
        """Count calls that were made, or are not needed; a negative number for further calls."""
        if self.shown:
            self._left.count_made(calls)

    def wait_until(self, due: float) -> None:
        """Note the time, on the run's clock, at which it can look up an unknown outcome; it does not end earlier."""
        self._due = max(self._due, due)

    def show(self) -> None:
        """Draw the bar."""
        if self.shown:
            due_in = max(0.0, self._due - self._clock())
            left = self._left.look(paused=self._pace.pause_left(), due_in=due_in)
            self._bar.show(self._rows.counts, self._rows.settled, left)

    def describe(self, text: str) -> None:
        """Show what the run does now."""
        self._bar.describe(text)

    def announce(self, text: str) -> None:
        """Show a line above the bar."""
        self._bar.announce(text)

    def end(self, counts: Mapping[str, int], *, is_whole: bool) -> None:
        """Draw the bar with the numbers of the report. is_whole: the run was not stopped early."""
        if self.shown:
            self._bar.describe("")
            self._bar.show(counts, self._total if is_whole else self._rows.settled, now=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.__exit__(*error)
