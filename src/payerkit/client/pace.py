"""The pace of a client: how many calls leave in a second, and until when none leaves.

One for all calls of a client, in all threads and runs. A call waits for its turn before it is sent, and its outcome
is recorded: a `Retry-After` pauses all calls; so does a 429 without one, for longer each time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Literal

from payerkit.errors import InvalidInput, PayerkitError, RateLimited, Refused
from payerkit.reasons import Outcome
from payerkit.retry import is_non_negative

DEFAULT_RATE = 5.0
"""Calls per second to any service but one on this machine. Source: the API's documentation, default limit of client
ids."""

FIRST_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds of the pauses after one to five 429 in a row that do not say how long to wait."""

BLOCKED = 300.0
"""Seconds of the pauses after that. Source: the API's documentation, a sustained breach blocks for five minutes."""

Rate = float | Literal["default"] | None
"""Calls per second, at most; None for no limit."""


class Lane:
    """Calls that leave one after the other, an interval apart; used by `Pace` alone.

    rate: calls per second, at most; None for no limit.
    """

    __slots__ = ("free_at", "interval", "waiting")

    def __init__(self, rate: float | None) -> None:
        self.interval = 1 / rate if rate else 0.0
        self.free_at = -math.inf
        self.waiting = 0


class Pace:
    """The pace of a client; safe to share between threads.

    Attributes:
        rate: Calls per second, at most; None for no limit.
        clock: The time in seconds; another one for tests.
    """

    def __init__(self, rate: float | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = None if rate is None else checked_rate(rate)
        self.clock = clock
        self._lane = Lane(rate)
        self._lock = threading.Lock()
        self._paused_at = self._paused_until = -math.inf
        self._refusals = 0

    def __repr__(self) -> str:
        return f"Pace({'no limit' if self.rate is None else f'{self.rate:g} calls a second'})"

    @property
    def refusals(self) -> int:
        """The 429 in a row that did not say how long to wait; those of one burst count once."""
        return self._refusals

    def pause_left(self) -> float:
        """Return the seconds until a call may leave again, 0 if calls are not paused."""
        return max(0.0, self._paused_until - self.clock())

    def skip(self, seconds: float) -> None:
        """Let a pause end so much earlier, as if the time had passed: after a sandbox's clock was turned by hand."""
        with self._lock:
            self._paused_until -= seconds

    def lane(self, rate: float | None) -> Lane:
        """Return a lane for the calls of a run, at a rate no higher than the client's. Raises InvalidInput."""
        if rate is None:
            return self._lane
        if self.rate is not None and checked_rate(rate) > self.rate:
            raise InvalidInput(
                f"rate: the client sends at most {self.rate:g} calls per second. Give no more, or change that with "
                "connect(rate=...)."
            )
        return Lane(checked_rate(rate))

    def wait_turn(
        self, wait: Callable[[float], object], *, lane: Lane | None = None, longest: float = math.inf
    ) -> float:
        """Wait until a call may leave, and return that time, for `record`.

        wait: waits some seconds; if it returns True, the turn is given up. lane: the run's. longest: seconds; raises
        RateLimited, instead of waiting, if calls are paused for longer.
        """
        lane = lane or self._lane
        now = self.clock()
        if not lane.interval and not self._lane.interval and now >= self._paused_until:
            return now  # without the lock, which all threads share
        with self._lock:
            ahead = lane.waiting
            lane.waiting += 1
        try:
            # Turns are not promised, so those who give up leave no gap: each waits for those ahead, and looks again.
            left = self._take_turn(now, lane, longest, ahead)
            while left > 0:
                target = now + left
                if wait(left):
                    break
                now = max(target, self.clock())  # a wait of tests does not turn the clock
                left = self._take_turn(now, lane, longest)
            return now
        finally:
            with self._lock:
                lane.waiting -= 1

    def _take_turn(self, now: float, lane: Lane, longest: float, ahead: int = 0) -> float:
        """Take the turn and return 0, or return the seconds until it is worth another look."""
        with self._lock:
            if self._paused_until - now > longest:
                raise _paused(self._paused_until - now)
            left = max(self._paused_until, self._lane.free_at, lane.free_at) - now + ahead * lane.interval
            if left <= 0:
                self._lane.free_at = now + self._lane.interval
                lane.free_at = now + lane.interval
            return left

    def record(self, error: PayerkitError | None, departed: float) -> None:
        """Record how a call ended that left at a time, and pause all calls if the service is called too often."""
        if error is not None and error.retry_after is not None:
            with self._lock:
                self._pause(error.retry_after)
        elif isinstance(error, RateLimited):
            self._count_refusal(departed)
        elif self._refusals and (error is None or isinstance(error, Refused)):
            with self._lock:
                self._refusals = 0 if departed > self._paused_at else self._refusals

    def _count_refusal(self, departed: float) -> None:
        with self._lock:
            if departed <= self._paused_at:  # of the burst for which the pause is
                return
            self._refusals += 1
            self._pause(FIRST_PAUSES[self._refusals - 1] if self._refusals <= len(FIRST_PAUSES) else BLOCKED)

    def _pause(self, seconds: float) -> None:
        """Pause all calls; called with the lock held."""
        now = self.clock()
        self._paused_at, self._paused_until = now, max(self._paused_until, now + seconds)


def _paused(seconds: float) -> RateLimited:
    outcome = Outcome("paused", {"seconds": math.ceil(seconds)})
    advice = "Nothing was sent. Call again after that time; connect(rate=...) sets a slower pace."
    error = RateLimited(outcome.text, retry_after=seconds, advice=advice)
    error.outcome = outcome
    return error


def checked_rate(rate: object) -> float:
    """Return calls per second. Raises InvalidInput for anything but a positive number."""
    if not isinstance(rate, int | float) or not is_non_negative(rate) or not rate:
        raise InvalidInput("rate: expected a positive number of calls per second, or None for no limit.")
    return rate
