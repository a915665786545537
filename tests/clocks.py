"""Clocks on which waits take no time, for what a run does about the rate and
Retry-After.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from payerkit.client.pace import Pace
from payerkit.runs.limiter import RateLimiter, StopSignal


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Claim that what is done takes less than so many seconds."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


class HandClock:
    """A clock that only waits move: they end at once, and are noted."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        """Return the time in seconds."""
        return self.time

    def wait(self, seconds: float) -> bool:
        """Go forward; return False, since nothing stops a wait."""
        self.waits.append(seconds)
        self.time += seconds
        return False

    def options(self) -> dict[str, Any]:
        """Return the options that give a client this clock."""
        return {"sleep": self.wait, "clock": self.now}


class LeapingClock:
    """A clock for one worker: a wait ends at once, and the clock goes forward by it."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._stop = StopSignal()

    def now(self) -> float:
        """Return the time in seconds."""
        return time.monotonic() + self._ahead

    def wait(self, seconds: float) -> bool:
        """Go forward; return whether the run is stopped."""
        self._ahead += seconds
        return bool(self._stop)

    def limiter(self, rate: float | None = None, *, workers: int = 32) -> RateLimiter:
        """Return a limiter with this clock."""
        pace = Pace(rate, clock=self.now)
        limiter = RateLimiter(pace, self._stop, wait=self.wait)
        limiter.workers = workers
        return limiter


class SteppedClock:
    """A clock for calls in threads: once all that have not ended wait, it goes forward
    to the end of the first wait.
    """

    def __init__(self, calls: int) -> None:
        self._now = 0.0
        self._calls = calls
        self._ends: list[float] = []
        self._stepped = threading.Condition()

    def now(self) -> float:
        """Return the time in seconds."""
        return self._now

    def wait(self, seconds: float) -> bool:
        """Wait until the clock has gone forward so far; return False, since nothing
        stops a wait on this clock.
        """
        with self._stepped:
            if seconds > 0:
                end = (
                    self._now + seconds + 1e-9
                )  # no less than the caller computed, whatever floats do
                self._ends.append(end)
                self._step()
                while self._now < end:
                    assert self._stepped.wait(20)
        return False

    def end(self) -> None:
        """Count a call as ended."""
        with self._stepped:
            self._calls -= 1
            self._step()

    def _step(self) -> None:
        if self._ends and len(self._ends) == self._calls:
            self._now = min(self._ends)
            self._ends = [end for end in self._ends if end > self._now]
            self._stepped.notify_all()
