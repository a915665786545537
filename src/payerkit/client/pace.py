"""When a call leaves, when it leaves again, and when it is given up: the pace of a
client, its retries and time limits.

The pace is one for all calls of a client, in all threads and runs. A call waits for its
turn before it is sent, and its outcome is recorded: a `Retry-After` pauses all calls;
so does a 429 without one, for longer each time.

A failed call is repeated only if its error proves that repeating is harmless:

    NotSent                 nothing happened: any call is repeated
    RateLimited, with       nothing happened: any call is repeated after that wait
      Retry-After
    RateLimited, without    nothing happened: repeated in a run alone, after a pause
    ServiceError,           a read failed: it is repeated
      UnreadableAnswer
    UnknownOutcome          a write may have happened: repeated only if it is
                            idempotent (it sets a constant)
    any other error         the same call would fail again: never repeated

`Client` follows `Retries()` for single calls. A run over many rows tries more often
(`payerkit.runs.limiter`), repeats payers, and looks for accounts whose outcome is
unknown (`payerkit.runs.sending`).
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from payerkit import errors
from payerkit.reasons import Outcome

BACKOFF = 0.25
MAX_BACKOFF = 8.0
"""Seconds of the longest wait before a first retry, doubled for each further one, and
its bound; `Retry-After` wins.
"""

DEFAULT_RATE = 5.0
"""Calls per second to any service but one on this machine. Source: the API's
documentation, default limit of client ids."""

FIRST_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds of the pauses after one to five 429 in a row that do not say how long to
wait.
"""

BLOCKED = 300.0
"""Seconds of the pauses after that. Source: the API's documentation, a sustained breach
blocks for five minutes.
"""

Rate = float | Literal["default"] | None
"""Calls per second, at most; None for no limit."""


def is_non_negative(value: object) -> bool:
    """Return True for a finite number, 0 or more."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < math.inf
    )


@dataclass(frozen=True, slots=True)
class Timeout:
    """Time limits of a call, in seconds.

    Args:
        connect: To connect to an address of the service.
        read: Without a byte of the response.
        total: For the whole call, with its retries and the waits in between, but not
            the wait for its turn. It is looked at between two pieces of a body.

    Raises:
        InvalidInput: Unless all are positive and finite.

    Example:
        >>> Timeout(total=20)
        Timeout(connect=5.0, read=30.0, total=20)
    """

    connect: float = 5.0
    read: float = 30.0
    total: float = 60.0

    def __post_init__(self) -> None:
        if not all(
            is_non_negative(seconds) and seconds
            for seconds in (self.connect, self.read, self.total)
        ):
            raise errors.InvalidInput(
                "timeout: give positive numbers of seconds, such as Timeout(total=60)."
            )


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is tried. The waits in between are random, up to `BACKOFF *
    2**n` seconds before retry n.

    Args:
        attempts: Tries of one call, the first included; 1 for no retries.

    Raises:
        InvalidInput: For anything but a whole number, 1 or more.

    Example:
        >>> Retries(attempts=5).attempts
        5
    """

    attempts: int = 3

    def __post_init__(self) -> None:
        if not (
            is_non_negative(self.attempts) and self.attempts == int(self.attempts) >= 1
        ):
            raise errors.InvalidInput(
                "retries: attempts must be a whole number, 1 or more, such as"
                " Retries(attempts=3)."
            )

    def allow(
        self, error: errors.PayerkitError, attempt: int, *, idempotent: bool = False
    ) -> bool:
        """Return True if a call may be tried again after its attempt number `attempt`
        (from 1) raised the error.
        """
        if attempt >= self.attempts:
            return False
        if isinstance(error, errors.UnknownOutcome):
            return idempotent
        if isinstance(error, errors.RateLimited):
            return error.retry_after is not None
        return isinstance(
            error, errors.NotSent | errors.ServiceError | errors.UnreadableAnswer
        )

    def wait_after(self, error: errors.PayerkitError, attempt: int) -> float:
        """Return the seconds to wait: what the service requested, else full jitter on a
        doubling bound.
        """
        if error.retry_after is not None:
            return error.retry_after
        return random.uniform(0, min(MAX_BACKOFF, BACKOFF * 2.0 ** min(attempt, 60)))  # noqa: S311 - spreads load, keeps no secret


class Pace:
    """The pace of a client; safe to share between threads.

    Attributes:
        rate: Calls per second, at most; None for no limit.
        clock: The time in seconds; another one for tests.
        refusals: The 429 in a row that did not say how long to wait; those of one burst
            count once.
    """

    def __init__(
        self,
        rate: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate = rate
        if rate is not None:
            self.rate = checked_rate(rate)
        self.clock = clock
        self._lock = threading.Lock()
        self._free_at = self._paused_at = self._paused_until = -math.inf
        self.refusals = 0

    def pause_left(self) -> float:
        """Return the seconds until a call may leave again, 0 if calls are not
        paused.
        """
        return max(0.0, self._paused_until - self.clock())

    def wait_turn(
        self, wait: Callable[[float], object], *, longest: float = math.inf
    ) -> float:
        """Wait until a call may leave, and return that time, for `record`.

        wait: waits some seconds; if it returns True, the turn is given up. longest:
        seconds; raises RateLimited, instead of waiting, if calls are paused for longer.
        """
        now = self.clock()
        # Turns are not promised, so that those who give up leave no gap: each waits,
        # and looks again.
        while (left := self._take_turn(now, longest)) > 0:
            target = now + left
            if wait(left):
                break
            now = max(target, self.clock())  # a wait of tests does not turn the clock
        return now

    def _take_turn(self, now: float, longest: float) -> float:
        """Take the turn and return 0, or return the seconds until it is worth another
        look.
        """
        with self._lock:
            if self._paused_until - now > longest:
                raise _paused(self._paused_until - now)
            left = max(self._paused_until, self._free_at) - now
            if left > 0:
                return left
            self._free_at = now
            if self.rate is not None:
                self._free_at += 1 / self.rate
            return 0.0

    def record(self, error: errors.PayerkitError | None, departed: float) -> None:
        """Record how a call ended that left at a time, and pause all calls if the
        service is called too often.
        """
        if error is not None and error.retry_after is not None:
            with self._lock:
                self._pause(error.retry_after)
        elif isinstance(error, errors.RateLimited):
            self._count_refusal(departed)
        elif self.refusals and (error is None or isinstance(error, errors.Refused)):
            with self._lock:
                if departed > self._paused_at:
                    self.refusals = 0

    def _count_refusal(self, departed: float) -> None:
        with self._lock:
            if departed <= self._paused_at:  # of the burst for which the pause is
                return
            self.refusals += 1
            pause = BLOCKED
            if self.refusals <= len(FIRST_PAUSES):
                pause = FIRST_PAUSES[self.refusals - 1]
            self._pause(pause)

    def _pause(self, seconds: float) -> None:
        """Pause all calls; called with the lock held."""
        now = self.clock()
        self._paused_at = now
        self._paused_until = max(self._paused_until, now + seconds)


def _paused(seconds: float) -> errors.RateLimited:
    outcome = Outcome("paused", {"seconds": math.ceil(seconds)})
    advice = (
        "Nothing was sent. Call again after that time; connect(rate=...) sets a slower"
        " pace."
    )
    return errors.RateLimited(
        outcome.text, retry_after=seconds, advice=advice, outcome=outcome
    )


def checked_rate(rate: object) -> float:
    """Return calls per second. Raises InvalidInput for anything but a positive
    number.
    """
    if not isinstance(rate, int | float) or not is_non_negative(rate) or not rate:
        raise errors.InvalidInput(
            "rate: expected a positive number of calls per second, or None for no"
            " limit."
        )
    return rate
