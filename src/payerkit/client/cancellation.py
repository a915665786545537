"""Stop a call from another thread, as long as no write of it has left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class StoppedError(Exception):
    """The call was stopped before its request left."""


class Cancellation:
    """Stops the calls of another thread, and knows if a write may have left by then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._has_left = False

    @property
    def is_stopped(self) -> bool:
        """True once the calls were stopped."""
        return self._stopped.is_set()

    @property
    def has_left(self) -> bool:
        """True if a write may have left, and nothing proves that it had no effect."""
        return self._has_left

    def stop(self) -> bool:
        """Stop the calls: no write leaves from now on. Return False, and stop nothing, if one has left already."""
        with self._lock:
            if not self._has_left:
                self._stopped.set()
            return not self._has_left

    def check(self) -> None:
        """Raise StoppedError if the calls were stopped."""
        if self.is_stopped:
            raise StoppedError

    def depart(self) -> None:
        """Note that a write leaves now. Raises StoppedError if the calls were stopped before."""
        with self._lock:
            self.check()
            self._has_left = True

    def take_back(self) -> None:
        """Note that the write which left is proven to have had no effect."""
        with self._lock:
            self._has_left = False

    def sleep(self, seconds: float, sleep: Callable[[float], object]) -> bool:
        """Wait as `sleep` does, but not longer than until the calls are stopped; return whether they are."""
        if sleep is time.sleep:
            return self._stopped.wait(seconds)
        sleep(seconds)
        return self.is_stopped
