"""requests' `HTTPAdapter` over connections that keep a deadline and note when the first byte of a request leaves."""

from __future__ import annotations

import http.client
import io
import logging
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from ssl import SSLContext
from types import SimpleNamespace
from typing import Any

from requests import Response
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError

MAX_IDLE = 15.0
"""Seconds after which an idle connection is not used for a write: the service may be about to close it."""


@dataclass(slots=True)
class HttpRequest:
    """One request as it leaves.

    sent: True once a byte of it may have left; the transport sets it. on_leave: called before the first
    byte leaves; none does if it raises.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    sent: bool = False
    on_leave: Callable[[], None] | None = field(default=None, repr=False)

    def leave(self) -> None:
        """Note that the first byte leaves now."""
        if not self.sent and self.on_leave is not None:
            self.on_leave()
        self.sent = True

    @property
    def is_write(self) -> bool:
        """Return True if the request may change something on the service."""
        return self.method != "GET"


@dataclass(slots=True)
class Attempt:
    """One HTTP attempt of a thread.

    deadline: the `time.monotonic()` at which it is given up. max_bytes: bytes that are read of its response, with
    headers and framing. received: bytes of the response so far. responses: those that a user's session received, to be
    closed.
    """

    deadline: float
    request: HttpRequest
    max_bytes: int
    responses: list[Response] = field(default_factory=list)
    received: int = 0

    def seconds_left(self, limit: float | None = None) -> float:
        """Return the seconds until the deadline, at most `limit`. Raises TimeoutError if none are left."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError(
                "no complete response before the deadline" if self.request.sent else "no connection in time"
            )
        return seconds if limit is None else min(seconds, limit)

    def count(self, size: int) -> None:
        """Count bytes of the response. Raises ResponseTooLargeError for more than are read."""
        self.received += size
        if self.received > self.max_bytes:
            raise ResponseTooLargeError(f"more than {self.max_bytes} bytes, headers included")


class ResponseTooLargeError(Exception):
    """The response has more bytes than are read."""


class _Current(threading.local):
    """The attempt that the running thread makes. urllib3 offers no way to hand it from the adapter to a connection."""

    attempt: Attempt | None = None


_current = _Current()


@contextmanager
def running(attempt: Attempt) -> Iterator[None]:
    """Let the connections that this thread uses keep the deadline of an attempt, and note in it that it was sent."""
    outer, _current.attempt = _current.attempt, attempt  # a signal handler may call during a call
    try:
        yield
    finally:
        _current.attempt = outer


def running_attempt() -> Attempt | None:
    """Return the attempt that this thread makes."""
    return _current.attempt


# urllib3 logs URLs, which hold ids, and headers that it cannot parse, which may repeat what was sent.
for _name in ("urllib3.connection", "urllib3.connectionpool"):
    logging.getLogger(_name).addFilter(lambda _: _current.attempt is None)


class DeadlineAdapter(HTTPAdapter):
    """requests' adapter to one address, over connections that keep the deadline of the running attempt.

    ssl_context: trusts the service's certificate. One for all connections, since reading certificates takes 20 ms.
    """

    def __init__(self, *, pool_size: int, ssl_context: SSLContext | None = None) -> None:
        self._ssl_context = ssl_context
        self._pool: Any = None
        super().__init__(pool_connections=1, pool_maxsize=pool_size)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Create the pool of direct connections."""
        super().init_poolmanager(*args, **options, ssl_context=self._ssl_context)
        _use_deadline_connections(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pool of connections through a proxy."""
        contexts = {"ssl_context": self._ssl_context, "proxy_ssl_context": self._ssl_context}
        manager = super().proxy_manager_for(proxy, **options, **contexts)
        _use_deadline_connections(manager)
        return manager

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        """Return the pool of the address, which requests would look up for every request."""
        if self._pool is None:
            self._pool = super().get_connection_with_tls_context(*args, **options)
        return self._pool

    def close(self) -> None:
        """Close the idle connections, and every other one when its response is read."""
        super().close()
        if self._pool is not None:
            self._pool.close()

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave verification to the context: requests would read the certificates again for each connection."""


class _DeadlineStream(io.RawIOBase):
    """The bytes of a socket. No read waits beyond the deadline of the running attempt, however the bytes arrive."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._raw, self._read_timeout = sock, sock.makefile("rb", buffering=0), sock.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        attempt = _current.attempt
        if attempt is not None:
            self._sock.settimeout(attempt.seconds_left(self._read_timeout))
        count: int | None = self._raw.readinto(buffer)
        if attempt is not None:
            attempt.count(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _DeadlineResponse(http.client.HTTPResponse):
    """http.client's response, read through a stream that keeps the deadline."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        # A response needs nothing of a socket but a stream to read from.
        stream: Any = SimpleNamespace(makefile=lambda *_: io.BufferedReader(_DeadlineStream(sock)))
        super().__init__(stream, *args, **options)

    def begin(self) -> None:
        """Read up to the headers of the final response.

        http.client takes an informational one (102, 103) for final: the next call would read the final response.
        """
        super().begin()
        while 100 <= self.status < 200 and self.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self.headers = self.msg = None  # type: ignore[assignment]  # as before the first one
            super().begin()


class _DeadlineConnection(HTTPConnection):
    """urllib3's connection, opened within the deadline, and kept from writes when it was idle for long."""

    response_class = _DeadlineResponse
    _is_opening = False
    _last_used = 0.0
    _process = 0

    def connect(self) -> None:
        """Open the connection in a helper thread, which is waited for until the deadline at most.

        A name look-up knows no timeout, and no timeout of urllib3 bounds look-up, all addresses, TLS and a proxy's
        response together. Each address gets the connect timeout; all of it gets twice that, so that a first address
        that swallows packets leaves time for the second. What is left alone ends by its own timeouts, and closes.
        """
        attempt, open_connection = _current.attempt, super().connect
        limit = 2 * self.timeout if isinstance(self.timeout, int | float) else None
        limit = limit if attempt is None else attempt.seconds_left(limit)
        finished: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        is_abandoned = threading.Event()
        self._is_opening, self._process = True, os.getpid()

        def open_and_report() -> None:
            problem: BaseException | None = None
            _current.attempt = attempt  # a proxy's response keeps the deadline, too
            try:
                open_connection()
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                problem = error
            finished.put(problem)
            if is_abandoned.is_set():
                self.close()

        threading.Thread(target=open_and_report, name="payerkit-connect", daemon=True).start()
        try:
            problem = finished.get(timeout=limit)
        except BaseException as error:
            is_abandoned.set()  # no time left, or an interrupt
            if not isinstance(error, queue.Empty):
                raise
            problem = ConnectTimeoutError(self, "no connection in time")
            problem.__cause__ = TimeoutError(f"no connection to {self.host} in time")
        finally:
            self._is_opening = False
        if problem is not None:
            raise problem

    def send(self, data: Any) -> None:
        """Send bytes, and note before the first of a request that it is on its way."""
        if self.sock is None:
            self.connect()
        if _current.attempt is not None and not self._is_opening:  # what opens a proxy's tunnel is not the request
            _current.attempt.request.leave()
        self._last_used = time.monotonic()
        super().send(data)

    @property
    def is_connected(self) -> bool:
        """Return True if the pool may hand the connection out again.

        Not to a forked process, where two would read each other's responses; not with bytes left that no request asked
        for; not for a write when it was idle for long.
        """
        if not super().is_connected or self._process != os.getpid() or _unread(self.sock):
            return False
        is_write = _current.attempt is not None and _current.attempt.request.is_write
        return not is_write or time.monotonic() - self._last_used <= MAX_IDLE


def _unread(sock: Any) -> int:
    """Return the number of bytes that TLS has decrypted and that are not read yet; a poll of the socket misses them."""
    tls = getattr(sock, "sslobj", sock)  # of TLS within TLS, urllib3's object
    return int(tls.pending()) if hasattr(tls, "pending") else 0


class _DeadlineTLSConnection(_DeadlineConnection, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _DeadlineConnection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _DeadlineTLSConnection


def _use_deadline_connections(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}
