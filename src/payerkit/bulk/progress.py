"""The progress bar of a run, and the numbers and durations that it shows."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

from payerkit.wording import count_of


class Progress:
    """A tqdm bar that counts how many tasks are in which state; nothing if it is not shown.

    where: shown before the bar, such as the environment that the calls go to. unit: what is counted.
    """

    def __init__(self, total: int, *, shown: bool, where: str = "", unit: str = "sent") -> None:
        self._where = where
        self._lock = threading.Lock()
        self._states: Counter[str] = Counter()
        self._bar: Any = None
        if shown:
            from tqdm.auto import tqdm  # noqa: PLC0415 - needed for the bar only

            self._bar = tqdm(total=total, unit=unit, dynamic_ncols=True, desc=where or None)

    def count(self, state: str) -> None:
        """Count one more task in a state; from any thread."""
        with self._lock:
            self._states[state] += 1

    def correct(self, before: Iterable[str], after: Iterable[str]) -> None:
        """Count tasks in other states than before, such as one that was unknown and is done; from any thread."""
        with self._lock:
            self._states.subtract(before)
            self._states.update(after)

    def refresh(self) -> None:
        """Draw the present counts; from one thread, since tqdm is not safe to share."""
        if self._bar is None:
            return
        with self._lock:
            states = self._states.copy()
        failed = states["refused"] + states["not_sent"]
        try:
            self._bar.update(states.total() - self._bar.n)
            rare = {state: states[state] for state in ("waiting", "duplicate") if states[state]}
            counts = {"done": states["done"], "failed": failed, "unknown": states["unknown"], **rare}
            self._bar.set_postfix(counts, refresh=False)
        except OSError:  # the terminal or the pipe is gone, which is no reason to end a run
            self._bar = None

    def describe(self, text: str) -> None:
        """Show what the run does now."""
        if self._bar is not None:
            self._bar.set_description(": ".join(filter(None, [self._where, text])))

    def announce(self, text: str) -> None:
        """Show a line above the bar."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.refresh()
        if self._bar is not None:
            self._bar.close()


def estimate_duration(payers: int, accounts: int, calls: int, rate: float) -> str:
    """Return a sentence that says how long a run takes, at a limited rate in calls per second.

    calls: more than there are tasks, since a run reads, too.
    """
    numbers = {"payer": payers, "account": accounts}
    tasks = " and ".join(count_of(number, noun) for noun, number in numbers.items() if number)
    return f"{tasks} at {rate:g} calls a second: about {_duration(calls / rate)} ({count_of(calls, 'call')})."


def _duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    unit, size = ("second", 1) if seconds < 90 else ("minute", 60) if seconds < 90 * 60 else ("hour", 3600)
    return count_of(max(1, round(seconds / size)), unit)
