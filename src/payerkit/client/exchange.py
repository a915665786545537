"""One exchange with the service: what became of it, and the thread that ends those which outlive their deadline."""

from __future__ import annotations

import math
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from typing import Self

from payerkit.client.answer import AnswerTooLarge

_NAP = 30.0
"""Seconds the watchdog sleeps when nothing is due, so that one call after the other need not wake it."""


class Exchange:
    """One request and what became of it.

    sent: whether a byte of the request may have left. status, headers, content: the answer, as far as it came; headers
    by names in lower case. fault: why it is not whole, "" if it is; nothing in it comes from the service. interrupted:
    by a person.
    """

    def __init__(self, *, until: float, is_write: bool) -> None:
        self.until = until
        self.is_write = is_write
        self.sent = False
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.content = b""
        self.fault = ""
        self.interrupted = False
        self._expired = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._handled = sys.exception()

    def __enter__(self) -> Self:
        """Be ended at the deadline."""
        _watchdog.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Tell the deadline apart from other ends: a shut socket can look like a whole and empty answer."""
        _watchdog.discard(self)
        if self._expired and not self.interrupted:
            self.fail(TimeoutError("no whole answer before the deadline" if self.sent else "no connection in time"))

    def fail(self, error: BaseException) -> None:
        """Note why the exchange did not come to its end.

        The error itself is not kept: its frames hold the request, and its text may be what the service sent.
        """
        cause = _innermost(error, self._handled)
        self.interrupted = isinstance(cause, KeyboardInterrupt)
        says = f": {cause}" if isinstance(cause, OSError | AnswerTooLarge) and str(cause) else ""
        self.fault = "it was interrupted" if self.interrupted else type(cause).__name__ + says

    def hold(self, sock: socket.socket) -> None:
        """Note the socket that the exchange goes over."""
        with self._lock:
            self._socket = sock
        if self._expired:
            self.expire()

    def let_go(self) -> None:
        """Forget the socket: it belongs to another exchange now."""
        with self._lock:
            self._socket = None

    def expire(self) -> None:
        """End the exchange from outside: shutting the socket wakes whoever waits for it, closing would not."""
        self._expired = True
        with self._lock:
            if self._socket is None:
                return
            try:
                # The method of the plain socket: TLS would first say goodbye, in another thread's conversation.
                # Of TLS within TLS, the outer one.
                socket.socket.shutdown(getattr(self._socket, "socket", self._socket), socket.SHUT_RDWR)
            except OSError:
                return  # closed already


def _innermost(error: BaseException, handled: BaseException | None) -> BaseException:
    """Return the first cause. `handled`: what the caller is just handling; it comes before and is none of ours."""
    while (inner := error.__cause__ or error.__context__) not in (None, handled):
        error = inner
    return error


class _Watchdog:
    """One thread for all clients, which ends the exchanges that outlive their deadline."""

    def __init__(self) -> None:
        self.reset()
        if hasattr(os, "register_at_fork"):  # a forked process has the lock, in any state, and not the thread
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._changed = threading.Condition()
        self._watched: set[Exchange] = set()
        self._wakes = 0.0
        self._thread: threading.Thread | None = None

    def add(self, exchange: Exchange) -> None:
        self._watched.add(exchange)  # without the lock, which all calls would share
        if self._thread is not None and exchange.until >= self._wakes:
            return
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="payerkit-deadlines", daemon=True)
                self._thread.start()
            self._changed.notify()

    def discard(self, exchange: Exchange) -> None:
        self._watched.discard(exchange)

    def _run(self) -> None:
        with self._changed:
            while True:
                self._wakes = math.inf  # who comes from here on waits for the lock, and wakes this thread again
                now, watched = time.monotonic(), self._watched.copy()
                for exchange in watched:
                    if exchange.until <= now:
                        self._watched.discard(exchange)
                        exchange.expire()
                self._wakes = min((each.until for each in watched if each.until > now), default=now + _NAP)
                self._changed.wait(self._wakes - now)


_watchdog = _Watchdog()
