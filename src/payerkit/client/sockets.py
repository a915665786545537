"""Connections that tell whether a request has left, keep a deadline, and do not idle into a write."""

from __future__ import annotations

import logging
import queue
import socket
import threading
import time
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.connection import allowed_gai_family, create_connection

from payerkit.client.exchange import Exchange, current
from payerkit.urls import is_loopback

MAX_IDLE = 15.0
"""Seconds after which a connection is not trusted with a write: the service may be about to close it."""


class _WatchedConnection(HTTPConnection):
    """A connection that reports to the exchange of its thread."""

    _opening = False
    _used = 0.0
    _served: Exchange | None = None

    def _new_conn(self) -> socket.socket:
        exchange = current()
        until = time.monotonic() + (self.timeout or 0.0)
        problem: OSError = TimeoutError("no connection in time")
        for address in _addresses(self._dns_host, self.port, self.timeout or 0.0):
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                sock = create_connection(address, left, socket_options=self.socket_options)
            except OSError as error:
                problem = error
                continue
            if exchange is not None:
                exchange.hold(sock)
            return sock
        raise problem

    def connect(self) -> None:
        self._opening = True
        try:
            super().connect()
        finally:
            self._opening = False

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        self._served = current()
        if self._served is not None and not self._opening:  # opening: a proxy is asked for a tunnel, nothing more
            self._served.hold(self.sock)
            self._served.sent = True
        self._used = time.monotonic()
        super().send(data)

    @property
    def is_connected(self) -> bool:
        """Whether the connection may be used again; asked when it is taken out of the pool, by its next user."""
        if self._served is not None:
            self._served.let_go()
        exchange = current()
        is_idle = time.monotonic() - self._used > MAX_IDLE
        return super().is_connected and not (is_idle and exchange is not None and exchange.is_write)


class _WatchedTLSConnection(_WatchedConnection, HTTPSConnection):
    """The same over TLS."""


def _addresses(host: str, port: int, seconds: float) -> list[tuple[str, int]]:
    """Return where a host may be reached; the system's own look-up knows no deadline, so a thread waits for it."""
    host = host.strip("[]")
    if is_loopback(host) and host != "localhost":
        return [(host, port)]
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, allowed_gai_family(), socket.SOCK_STREAM))
        except OSError as error:
            answers.put(error)

    threading.Thread(target=look_up, name="payerkit-names", daemon=True).start()
    try:
        found = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"the name {host} was not resolved in time") from None
    if isinstance(found, OSError):
        raise found
    return [(address[0], port) for *_, address in found]


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


def _is_not_ours(_: logging.LogRecord) -> bool:
    """Keep back what urllib3 logs during an exchange: paths hold ids, and a malformed header is logged whole."""
    return current() is None


for _name in ("urllib3.connection", "urllib3.connectionpool"):
    logging.getLogger(_name).addFilter(_is_not_ours)
