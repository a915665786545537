"""How long a run still takes, as its progress bar shows it: without jumps, and with known waits."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

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
