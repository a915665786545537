"""The progress bar of a run: how many rows are in which state, and how long the rest takes."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Self

from payerkit.bulk.progress import Progress, estimate_duration
from payerkit.bulk.row_states import RowStates
from payerkit.bulk.table import Step, Table
from payerkit.client.pace import Pace

_MEMORY = 60.0
"""Seconds in which the weight of a call that was made falls to a third, when the pace is measured."""

_INERTIA = 15.0
"""Seconds in which the time that is shown comes two thirds closer to a new estimate."""

_TRUST = 10.0
"""Seconds of calls at the promised rate that count as measured before the first call."""

_FEWEST_CALLS = 5
"""Calls after which the pace is known, if no rate limits it."""


class TimeLeft:
    """The seconds that a run still takes, from the calls that it has left and the pace at which they are made.

    It counts down with the clock, and follows a new estimate slowly. A known wait, such as `Retry-After`, is added as
    it is, and does not count against the pace.

    calls: the number to be made. rate: calls per second, at most; None for no limit.
    """

    def __init__(self, calls: float, rate: float | None, clock: Callable[[], float]) -> None:
        self._calls, self._clock, self._lock = calls, clock, threading.Lock()
        self._looked_at, self._calls_then = clock(), calls
        self._seconds, self._made = (_TRUST, _TRUST * rate) if rate else (0.0, 0.0)
        self._is_known = bool(rate)
        self._shown: float | None = None

    def count_made(self, calls: float) -> None:
        """Count calls that were made, or are not needed; a negative number for further calls. From any thread."""
        with self._lock:
            self._calls -= calls

    def look(self, *, paused: float = 0.0, due_in: float = 0.0) -> float | None:
        """Return the seconds that are left, or None while the pace is unknown.

        paused: seconds until a call may leave again. due_in: seconds until unknown outcomes can be looked
        up; other calls are made meanwhile.
        """
        now, calls = self._clock(), self._calls
        passed, self._looked_at = now - self._looked_at, now
        if not paused:
            self._measure(passed, self._calls_then - calls)
        self._calls_then = calls
        if not self._is_known:
            return None
        estimate = max(0.0, calls) * self._seconds / self._made
        if self._shown is None:
            self._shown = estimate
        elif not paused:
            self._shown = max(0.0, self._shown - passed)
            self._shown += (estimate - self._shown) * -math.expm1(-passed / _INERTIA)
        return max(paused + self._shown, due_in)

    def _measure(self, passed: float, made: float) -> None:
        """Take in the calls that were made since the last look; older ones count less."""
        weight = math.exp(-passed / _MEMORY)
        self._seconds = self._seconds * weight + passed
        self._made = self._made * weight + max(0.0, made)
        self._is_known = self._is_known or (self._made >= _FEWEST_CALLS and self._seconds > 0)


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
