"""Space out the calls of a run, retry them by the retry policy, stop the run early: shared by all its threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from payerkit.errors import NotSent, PayerkitError, UnknownOutcome, WrongKey
from payerkit.retry import LONGEST_WAIT, MAX_FORBIDDEN, MAX_UNREACHABLE, RUN_RETRIES

T = TypeVar("T")


class RunStopped(Exception):  # noqa: N818 - not an error: it ends a call whose turn never came
    """Raised where a call would be made after the run was stopped."""


class StopSignal:
    """Stops a run early, and keeps the first reason."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self.reason = ""

    def __bool__(self) -> bool:
        return self._event.is_set()

    def set(self, reason: str) -> None:
        """Stop the run."""
        with self._lock:  # the first reason counts: what fails after a stop often fails because of it
            self.reason = self.reason or reason
            self._event.set()

    def wait(self, seconds: float) -> bool:
        """Wait; return True, at once, if the run is stopped, as `threading.Event.wait` does."""
        return self._event.wait(seconds)


class RateLimiter:
    """Space calls out and pause all of them on Retry-After.

    rate: calls a second, at most; None for no limit. clock, wait: time, for tests that do not really wait; `wait`
    returns True if the run was stopped meanwhile.
    """

    def __init__(
        self,
        rate: float | None,
        stop: StopSignal,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self.stop = stop
        self._interval = 1 / rate if rate else 0.0
        self._clock = clock
        self._wait = wait or stop.wait
        self._lock = threading.Lock()
        self._next_slot = 0.0
        self._paused_until = 0.0
        self._unreachable = 0
        self._forbidden = 0
        self._accepted = False
        self.slowest = 0.0
        """Seconds that the slowest response took."""

    def call(self, make: Callable[[], T]) -> T:
        """Make a call when its turn comes, and again as often as the retry policy allows; return its result.

        Raises the PayerkitError of the last attempt, or RunStopped if the run is stopped before an attempt.
        """
        attempt = 0
        while True:
            attempt += 1
            self._wait_turn()
            started = self._clock()
            try:
                result = make()
            except PayerkitError as error:
                self._record_error(error, self._clock() - started)
                if not RUN_RETRIES.allow(error, attempt):
                    raise
                # After a Retry-After this call need not wait here: all calls, it too, wait for their turn.
                if self._wait(0.0 if error.retry_after is not None else RUN_RETRIES.wait_after(error, attempt)):
                    raise
            else:
                self._record_response(self._clock() - started, accepted=True)
                return result

    def is_forbidden(self, error: PayerkitError) -> bool:
        """Return True if the service forbids this one call, with a key that it accepts for others."""
        return isinstance(error, WrongKey) and error.status_code == HTTPStatus.FORBIDDEN and self._accepted

    def _wait_turn(self) -> None:
        """Wait for the slot of a call; if all calls are paused meanwhile, for a new slot after the pause."""
        with self._lock:
            slot = self._take_slot()
        while not self.stop and (left := slot - self._clock()) > 0:
            self._wait(left)
            with self._lock:
                slot = self._take_slot() if slot < self._paused_until else slot
        if self.stop:
            raise RunStopped

    def _take_slot(self) -> float:
        """Return the next free slot and take it; called with the lock held."""
        slot = max(self._clock(), self._next_slot, self._paused_until)
        self._next_slot = slot + self._interval
        return slot

    def _record_response(self, took: float, *, accepted: bool = False) -> None:
        # Read without the lock, which all threads share: nearly always there is nothing to change, and a thread that
        # sees an old value only takes the lock once more.
        if not self._unreachable and took <= self.slowest and self._accepted >= accepted:
            return
        with self._lock:
            self._unreachable = 0
            self._accepted = self._accepted or accepted
            self.slowest = max(self.slowest, took)

    def _record_error(self, error: PayerkitError, took: float) -> None:
        """Count an error, pause all calls if the service requests a wait, stop the run if going on is useless."""
        if isinstance(error, NotSent):
            self._count_unreachable(error)
        else:
            # The time until a connection broke or timed out says nothing about how slow responses are.
            self._record_response(0.0 if isinstance(error, UnknownOutcome) else took)
        if isinstance(error, WrongKey):
            self._count_wrong_key(error)
        elif error.retry_after is not None:
            self._pause(error, error.retry_after)

    def _pause(self, error: PayerkitError, seconds: float) -> None:
        """Pause all calls; stop the run if that is too long."""
        if seconds > LONGEST_WAIT:
            self.stop.set(f"{error.message} Call again after that time.")
            return
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _count_wrong_key(self, error: PayerkitError) -> None:
        """Stop the run if the key is wrong: at the first 401, or after some 403 before any call was accepted."""
        with self._lock:
            self._forbidden += 1
            is_key = self._forbidden >= MAX_FORBIDDEN and not self._accepted
        if is_key or error.status_code != HTTPStatus.FORBIDDEN:
            self.stop.set(f"{error.message} {error.advice}")

    def _count_unreachable(self, error: PayerkitError) -> None:
        with self._lock:
            self._unreachable += 1
            is_gone = self._unreachable >= MAX_UNREACHABLE
        if is_gone:
            self.stop.set(f"The service could not be reached {MAX_UNREACHABLE} times in a row. {error.message}")
