"""Connections that tell whether a request has left, end at a deadline, and do not idle into a write."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from requests import RequestException
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

MAX_IDLE = 15.0
"""Seconds after which a connection is not trusted with a write: the service may be about to close it."""

_NAP = 30.0
"""Seconds the watchdog sleeps when nothing is due, so that one call after the other need not wake it."""


class Exchange:
    """One request and what became of it.

    sent: whether a byte of the request may have left. status, headers, content: the answer, as far as it came.
    fault: why it is not whole, "" if it is. cause: the innermost error, without frames. interrupted: by a person.
    """

    def __init__(self, *, until: float, is_write: bool) -> None:
        self.until = until
        self.is_write = is_write
        self.sent = False
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.content = b""
        self.fault = ""
        self.cause: BaseException | None = None
        self.interrupted = False
        self._expired = False
        self._socket: socket.socket | None = None
        self._handled = sys.exception()

    def fail(self, error: BaseException) -> None:
        """Note why the exchange did not come to its end."""
        self.interrupted = isinstance(error, KeyboardInterrupt)
        self.cause = _innermost(error, self._handled)
        self.fault = f"{type(self.cause).__name__}: {self.cause}"

    def hold(self, sock: socket.socket) -> None:
        """Note the socket that the exchange goes over."""
        self._socket = sock
        if self._expired:
            self.expire()

    def expire(self) -> None:
        """End the exchange from outside: shutting the socket wakes whoever waits for it, closing would not."""
        self._expired = True
        if self._socket is not None:
            try:
                # The method of the plain socket: TLS would first say goodbye, in another thread's conversation.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except (OSError, TypeError):
                return  # closed already, or TLS inside TLS, where the read timeout remains

    def settle(self) -> None:
        """Tell the deadline apart from other ends: a shut socket can look like a whole and empty answer."""
        if self._expired and not self.interrupted:
            self.fail(TimeoutError("no whole answer before the deadline"))


def _innermost(error: BaseException, handled: BaseException | None) -> BaseException:
    """Return the first cause without its frames: they hold the request's headers and body.

    `handled`: what the caller is just handling; it comes before the first cause and is none of ours.
    """
    while (inner := error.__cause__ or error.__context__) not in (None, handled):
        error = inner
    if isinstance(error, RequestException):
        error.request = error.response = None
    error.__context__ = None
    return error.with_traceback(None)


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
        with self._changed:
            self._watched.add(exchange)
            if self._thread is None:
                self._wakes = exchange.until
                self._thread = threading.Thread(target=self._run, name="payerkit-deadlines", daemon=True)
                self._thread.start()
            elif exchange.until < self._wakes:
                self._changed.notify()

    def discard(self, exchange: Exchange) -> None:
        with self._changed:
            self._watched.discard(exchange)

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for exchange in [late for late in self._watched if late.until <= now]:
                    self._watched.discard(exchange)
                    exchange.expire()
                self._wakes = min((each.until for each in self._watched), default=now + _NAP)
                self._changed.wait(self._wakes - now)


_watchdog = _Watchdog()
_here = threading.local()


@contextmanager
def watched(exchange: Exchange) -> Iterator[None]:
    """Make this thread's connections report to the exchange, and the watchdog end it at its deadline."""
    _here.exchange = exchange
    _watchdog.add(exchange)
    try:
        yield
    finally:
        _watchdog.discard(exchange)
        del _here.exchange
        exchange.settle()


class _WatchedConnection(HTTPConnection):
    """A connection that reports to the exchange of its thread."""

    _opening = False
    _used = 0.0

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        if (exchange := _current()) is not None:
            exchange.hold(sock)
        return sock

    def connect(self) -> None:
        self._opening = True
        try:
            super().connect()
        finally:
            self._opening = False

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        exchange = _current()
        if exchange is not None and not self._opening:  # opening: a proxy is asked for a tunnel, nothing more
            exchange.hold(self.sock)
            exchange.sent = True
        self._used = time.monotonic()
        super().send(data)

    @property
    def is_connected(self) -> bool:
        exchange = _current()
        is_idle = time.monotonic() - self._used > MAX_IDLE
        return super().is_connected and not (is_idle and exchange is not None and exchange.is_write)


class _WatchedTLSConnection(_WatchedConnection, HTTPSConnection):
    """The same over TLS."""


def _current() -> Exchange | None:
    return getattr(_here, "exchange", None)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _WatchedConnection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTLSConnection


class WatchedAdapter(HTTPAdapter):
    """requests' adapter over connections that report."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pool of direct connections."""
        super().init_poolmanager(*args, **options)
        _report(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Make the pool of connections through a proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        _report(manager)
        return manager


def _report(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}
