"""The progress bar of a run, and the numbers and durations that it shows."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from payerkit.bulk.rows import Flags
from payerkit.bulk.table import Step, Table
from payerkit.client.pace import Pace
from payerkit.wording import count_of, in_words

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


_OPEN, _HALF = "", "payer stored"
"""States that no report has: the row was not tried yet; or its payer is stored, and its account is to come."""

_STATES = (_OPEN, _HALF, "done", "refused", "unknown", "not_sent", "waiting", "duplicate")
_CODES: Mapping[str, int] = {state: code for code, state in enumerate(_STATES)}


class RowStates:
    """Counts the rows of a table by state, from the states of its tasks; threads may share it.

    One task settles several rows: a payer that is refused, all rows of the payer; an account, all rows that ask for it.
    A row that no run sends, such as one with an error, is not sent from the beginning. A later state of a
    task replaces the earlier one.
    """

    def __init__(self, table: Table) -> None:
        self._table, self._lock = table, threading.Lock()
        payers = table.payers[table.order]
        self._starts = np.searchsorted(payers, np.arange(payers.max(initial=-1) + 2)).astype(np.int32)
        sent = ~table.blocked & ~table.held & ~table.without_payer & (table.payers >= 0)
        self._has_account = sent & ("bank_details" in table.steps and table.rows_with("bank_details"))
        self._is_open = sent & (self._has_account | self._has_payer(sent))
        self._states = np.where(self._is_open, _CODES[_OPEN], _CODES["not_sent"]).astype(np.int8)
        self._numbers = np.bincount(self._states, minlength=len(_STATES))

    def _has_payer(self, sent: Flags) -> Flags:
        """Return an array: for each row, whether the table has its payer, too, and sends payers."""
        table = self._table
        describes = sent & ("payer" in table.steps and table.rows_to_send("payer"))
        return np.isin(table.payers, table.payers[describes])

    def record(self, step: Step, row: int, state: str) -> None:
        """Record the state of a task. row: one that sends it."""
        payer = self._table.payers[row]
        rows = self._table.order[self._starts[payer] : self._starts[payer + 1]]
        rows = rows[self._is_open[rows]]
        codes = np.full(len(rows), _CODES["unknown" if state == "sent" else state], np.int8)
        if step == "bank_details":
            account = self._table.account_row(row)
            chosen = [self._table.account_row(each) == account for each in rows.tolist()]
            rows, codes = rows[chosen], codes[chosen]
        elif state == "done":
            codes[self._has_account[rows]] = _CODES[_HALF]
        with self._lock:
            self._numbers -= np.bincount(self._states[rows], minlength=len(_STATES))
            self._numbers += np.bincount(codes, minlength=len(_STATES))
            self._states[rows] = codes

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows in each state that a report has, without the rows that were not tried yet."""
        numbers = self._numbers.tolist()
        return dict(zip(_STATES[2:], numbers[2:], strict=True))

    @property
    def settled(self) -> float:
        """How many rows are settled. Half a row: its payer is stored, and its account is to come; or it is unknown."""
        numbers = self._numbers.tolist()
        return float(sum(numbers[2:]) + (numbers[_CODES[_HALF]] - numbers[_CODES["unknown"]]) / 2)


_BAR = "{desc}{percentage:3.0f}%|{bar}| {elapsed}{postfix}"
"""Without the rate and end of tqdm, which knows no waits, and takes all items to need the same time."""

_PERIOD = 0.5
"""Seconds between two drawings, at least: in a notebook, each is a message to the browser."""


class Progress:
    """A tqdm bar that counts items by state; it does nothing unless it is shown.

    where: shown before the bar, such as the environment that the calls go to. unit: what is counted.
    """

    def __init__(self, total: int, *, shown: bool, where: str = "", unit: str = "row") -> None:
        self._total, self._where, self._unit = total, where, unit
        self._drawn_at = 0.0
        self._bar: Any = None
        if shown:
            from tqdm.auto import tqdm  # noqa: PLC0415 - needed for the bar only

            self._bar = tqdm(total=total, bar_format=_BAR, dynamic_ncols=True, desc=where or None)

    def show(
        self, counts: Mapping[str, int], settled: float | None = None, left: float | None = None, *, now: bool = False
    ) -> None:
        """Draw the present numbers, unless that was done a moment ago; from one thread, since tqdm is not to be shared.

        counts: items by state. settled: the position of the bar, by default the number of counted items. left: the
        seconds that are left. now: draw in any case.
        """
        if self._bar is None or (not now and time.monotonic() < self._drawn_at + _PERIOD):
            return
        counted = sum(counts.values())
        states = [f"{count:,} {in_words(state)}" for state, count in counts.items() if count]
        numbers = f"{counted:,} of {count_of(self._total, self._unit)}{': ' * bool(states)}{', '.join(states)}"
        text = numbers if left is None else f"{numbers}, about {duration(left)} left"
        try:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.n = counted if settled is None else settled
            self._bar.refresh()
        except OSError:  # the terminal or the pipe is gone, which is no reason to end a run
            self._bar = None
        self._drawn_at = time.monotonic()

    def describe(self, text: str) -> None:
        """Show the present activity."""
        if self._bar is not None:
            self._bar.set_description(": ".join(filter(None, [self._where, text])), refresh=False)

    def announce(self, text: str) -> None:
        """Show a line above the bar."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def estimate_duration(payers: int, accounts: int, calls: int, rate: float) -> str:
    """Return a sentence that says how long a run takes, at a limited rate in calls per second.

    calls: more than there are tasks, since a run reads, too.
    """
    numbers = {"payer": payers, "account": accounts}
    tasks = " and ".join(count_of(number, noun) for noun, number in numbers.items() if number)
    return f"{tasks} at {rate:g} calls a second: about {duration(calls / rate)} ({count_of(calls, 'call')})."


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    unit, size = ("second", 1) if seconds < 90 else ("minute", 60) if seconds < 90 * 60 else ("hour", 3600)
    return count_of(max(1, round(seconds / size)), unit)


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
