"""How fast a run goes, what it tries again, and when it ends early: one for all its threads."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
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

_FORBIDDEN = 3
"""Calls that are forbidden before any is accepted; then it is the key, and the run ends."""


class RunStopped(Exception):  # noqa: N818 - no error: the run ends before a call has its moment
    """The run ends."""


class StopSignal:
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


class RateLimiter:
    """Gives each call its moment: at most `rate` a second, and none while the service asks to wait."""

    def __init__(self, rate: float | None, stop: StopSignal) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._stop = stop
        self._lock = threading.Lock()
        self._next = 0.0
        self._until = 0.0
        self._unreached = 0
        self._forbidden = 0
        self._accepted = False
        self.longest = 0.0
        """The longest that an answer took, in seconds."""

    def call(self, make: Callable[[], T]) -> T:
        """Make a call at its moment, and again while it provably changed nothing.

        Raises the PayerkitError of the last try; RunStopped when the run ends before a try.
        """
        for attempt in range(_TRIES):
            self._wait()
            started = time.monotonic()
            try:
                result = make()
            except PayerkitError as error:
                took = 0.0 if isinstance(error, UnknownOutcome) else time.monotonic() - started
                again = self._noted(error, took) and attempt + 1 < _TRIES
                if not again or not self._stop.wait(_backoff(error, attempt)):
                    raise
            else:
                self._reached(time.monotonic() - started, accepted=True)
                return result
        raise AssertionError  # the last try returns or raises

    def is_forbidden(self, error: PayerkitError) -> bool:
        """Tell whether the service forbids one call with a key that it accepts for others."""
        return isinstance(error, WrongKey) and error.status_code == HTTPStatus.FORBIDDEN and self._accepted

    def _wait(self) -> None:
        """Wait for the moment of a call; if all are asked to wait meanwhile, for another one."""
        with self._lock:
            at = self._moment()
        while not self._stop and (left := at - time.monotonic()) > 0:
            self._stop.wait(left)
            with self._lock:
                at = self._moment() if at < self._until else at
        if self._stop:
            raise RunStopped

    def _moment(self) -> float:
        """Return the next moment that nobody has, and take it; asked with the lock held."""
        at = max(time.monotonic(), self._next, self._until)
        self._next = at + self._gap
        return at

    def _reached(self, took: float, *, accepted: bool = False) -> None:
        if not self._unreached and took <= self.longest and self._accepted >= accepted:
            return  # nothing new, as nearly always, and the lock is everybody's
        with self._lock:
            self._unreached = 0
            self._accepted = self._accepted or accepted
            self.longest = max(self.longest, took)

    def _noted(self, error: PayerkitError, took: float) -> bool:
        """Note what an error says to all; return whether the call may be made again."""
        if isinstance(error, NotSent):
            self._count_unreached(error)
        else:
            self._reached(took)
        if isinstance(error, WrongKey):
            self._count_forbidden(error)
        elif error.retry_after is not None:
            self._hold(error, error.retry_after)
        return isinstance(error, NotSent | RateLimited | ServiceError | UnreadableAnswer)

    def _hold(self, error: PayerkitError, seconds: float) -> None:
        """Make all wait; end the run if that is too long."""
        if seconds > _LONGEST_WAIT:
            self._stop.because(f"{error.message} Call again then.")
            return
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def _count_forbidden(self, error: PayerkitError) -> None:
        """End the run if the key is not accepted: by one 401, or by some 403 before anything was accepted."""
        with self._lock:
            self._forbidden += 1
            is_keys = self._forbidden >= _FORBIDDEN and not self._accepted
            is_over = error.status_code != HTTPStatus.FORBIDDEN or is_keys
        if is_over:
            self._stop.because(f"{error.message} {error.advice}")

    def _count_unreached(self, error: PayerkitError) -> None:
        with self._lock:
            self._unreached += 1
            is_over = self._unreached >= _UNREACHABLE
        if is_over:
            self._stop.because(f"The service could not be reached {_UNREACHABLE} times in a row. {error.message}")


def _backoff(error: PayerkitError, attempt: int) -> float:
    """Return the seconds that a call waits alone; where the service named some, all wait for them."""
    if error.retry_after is not None:
        return 0.0
    return random.uniform(0, min(8.0, 0.25 * 2**attempt))  # noqa: S311 - spreads load, keeps no secret
