"""The progress bar of a run, and the numbers and durations that it shows."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, Self

from payerkit.wording import count_of, in_words

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
