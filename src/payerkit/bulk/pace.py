"""How fast a run goes, what it tries again, and when it ends early: one for all its threads."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from payerkit.errors import (
    NotSent,
    PayerkitError,
    RateLimited,
    ServiceError,
    UnknownOutcome,
    UnreadableAnswer,
    WrongKey,
)

T = TypeVar("T")

_TRIES = 6
"""Times that a call which provably changed nothing is tried in one run."""

_LONGEST_WAIT = 3600.0
"""Seconds; if the service asks to wait longer, the run ends."""

_UNREACHABLE = 20
"""Calls in a row that never left this machine; then the run ends."""


class Ended(Exception):  # noqa: N818 - no error: the run ends before a call has its moment
    """The run ends."""


class Stop:
    """Whether a run ends before its rows do, and why; whoever comes first says it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self.reason = ""

    def __bool__(self) -> bool:
        return self._event.is_set()

    def because(self, reason: str) -> None:
        """End the run."""
        with self._lock:
            self.reason = self.reason or reason
            self._event.set()

    def wait(self, seconds: float) -> bool:
        """Wait; return False at once when the run ends."""
        return not self._event.wait(seconds)


class Pace:
    """Gives each call its moment: at most `rate` a second, and none while the service asks to wait."""

    def __init__(self, rate: float | None, stop: Stop) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._stop = stop
        self._lock = threading.Lock()
        self._next = 0.0
        self._until = 0.0
        self._unreached = 0
        self.longest = 0.0
        """The longest that an answer took, in seconds."""

    def call(self, make: Callable[[], T]) -> T:
        """Make a call at its moment, and again while it provably changed nothing.

        Raises the PayerkitError of the last try; Ended when the run ends before a try.
        """
        for attempt in range(_TRIES):
            self._wait()
            started = time.monotonic()
            try:
                result = make()
            except (NotSent, RateLimited, WrongKey, ServiceError, UnreadableAnswer) as error:
                if attempt + 1 == _TRIES or not self._hold_back(error, attempt):
                    raise
            except UnknownOutcome:
                self._reached(0.0)
                raise
            except PayerkitError:
                self._reached(time.monotonic() - started)
                raise
            else:
                self._reached(time.monotonic() - started)
                return result
        raise AssertionError  # the last try returns or raises

    def _wait(self) -> None:
        with self._lock:
            at = max(time.monotonic(), self._next)
            self._next = at + self._gap
        while not self._stop and (left := max(at, self._until) - time.monotonic()) > 0:
            self._stop.wait(left)
        if self._stop:
            raise Ended

    def _reached(self, took: float) -> None:
        with self._lock:
            self._unreached = 0
            self.longest = max(self.longest, took)

    def _hold_back(self, error: PayerkitError, attempt: int) -> bool:
        """Wait as an error asks for; return whether to try again. A wrong key, or no way out, ends the run."""
        if isinstance(error, WrongKey):
            self._stop.because(f"{error.message} {error.advice}")
            return False
        backoff = random.uniform(0, min(8.0, 0.25 * 2**attempt))  # noqa: S311 - spreads load, keeps no secret
        if isinstance(error, RateLimited):
            wait = backoff if error.retry_after is None else error.retry_after
            if wait > _LONGEST_WAIT:
                self._stop.because(f"{error.message} Call again then.")
                return False
            self._until = max(self._until, time.monotonic() + wait)
            return True
        if isinstance(error, NotSent):
            self._count_unreached(error)
        return self._stop.wait(backoff)

    def _count_unreached(self, error: PayerkitError) -> None:
        with self._lock:
            self._unreached += 1
            is_over = self._unreached >= _UNREACHABLE
        if is_over:
            self._stop.because(f"The service could not be reached {_UNREACHABLE} times in a row. {error.message}")
