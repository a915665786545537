"""Connections to one origin: opened within a limit, kept for the next call, and too idle ones kept from writes.

requests finds the way (proxies, certificates), and urllib3 goes it.
"""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from ssl import SSLContext
from typing import Any
from urllib.parse import urlsplit

from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import wait_for_read
from urllib3.util.connection import allowed_gai_family, create_connection
from urllib3.util.ssl_ import create_urllib3_context

from payerkit.client.exchange import Exchange
from payerkit.errors import InvalidInput
from payerkit.wire import is_loopback

MAX_IDLE = 15.0
"""Seconds after which a connection is not trusted with a write: the service may be about to close it."""


class Connections:
    """Connections to one origin, shared by threads. The environment (proxies, certificates) is read once, netrc never.

    local: whether the origin is this machine, to which no proxy leads. size: connections that are kept. Raises
    InvalidInput for a SOCKS proxy, over which nobody could tell whether a request has left.
    """

    def __init__(self, base_url: str, *, local: bool, size: int) -> None:
        self._base_url, self._size = base_url, size
        self._proxies = {} if local else get_environ_proxies(base_url)
        if any(proxy.lower().startswith("socks") for proxy in self._proxies.values()):
            raise InvalidInput("A SOCKS proxy of the environment cannot be used; set NO_PROXY for this address.")
        named = (os.environ.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
        self._certificates: str = next(filter(None, named), DEFAULT_CA_BUNDLE_PATH)
        self._pool: Any = None
        self._process, self._lock = os.getpid(), threading.Lock()
        self._idle: list[tuple[socket.socket, float]] = []
        weakref.finalize(self, _close, self._idle)  # for clients that nobody closes

    def take(self, exchange: Exchange, seconds: float) -> socket.socket:
        """Return a connection, held by the exchange: one that is kept, or a new one opened within some seconds."""
        if self._process != os.getpid():  # forked: what is kept belongs to the other process, and so may the lock
            self._process, self._lock = os.getpid(), threading.Lock()
            _close(self._idle)
        while self._idle:
            try:
                sock, since = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            is_late = exchange.is_write and time.monotonic() - since > MAX_IDLE
            if not is_late and not wait_for_read(sock, 0.0):  # what can be read now is its end, or nobody's answer
                exchange.hold(sock)
                return sock
            sock.close()
        return self._open(exchange, seconds)

    def keep(self, sock: socket.socket) -> None:
        """Keep a connection whose last answer was read to its end.

        Of TLS within TLS, it cannot be seen whether anything else came over it, so it is closed.
        """
        if len(self._idle) >= self._size or not isinstance(sock, socket.socket):
            sock.close()
            return
        self._idle.append((sock, time.monotonic()))
        if not self._size:  # closed meanwhile
            _close(self._idle)

    def close(self) -> None:
        """Close what is kept, and keep no more."""
        self._size = 0
        _close(self._idle)

    def _open(self, exchange: Exchange, seconds: float) -> socket.socket:
        with self._lock:
            pool = self._pool = self._pool or self._way()
        sock: socket.socket = pool.open(exchange, seconds)
        exchange.hold(sock)
        return sock

    def _way(self) -> Any:
        """Return urllib3's pool for the origin, directly or through a proxy, which opens all connections."""
        is_secure = urlsplit(self._base_url).scheme == "https"
        adapter = _Adapter(_context(self._certificates) if is_secure else None)
        request = PreparedRequest()
        request.url = f"{self._base_url}/"
        return adapter.get_connection_with_tls_context(request, verify=True, proxies=self._proxies)


def _close(idle: list[tuple[socket.socket, float]]) -> None:
    with suppress(IndexError):
        while True:
            idle.pop()[0].close()


class _Connection(HTTPConnection):
    """A connection that an exchange can end while it is being opened, and whose addresses share one limit of time."""

    exchange: Exchange
    _handle: socket.socket | None = None

    def _new_conn(self) -> socket.socket:
        seconds = self.timeout or 0.0
        until = time.monotonic() + seconds
        problem: OSError = TimeoutError("no connection in time")
        for address in _addresses(self._dns_host, self.port, seconds):
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                sock = create_connection(address, left, socket_options=self.socket_options)
            except OSError as error:
                problem = error
                continue
            # Another handle: TLS takes this one over, and the exchange must be able to end it all the same.
            self._handle = sock.dup()
            self.exchange.hold(self._handle)
            return sock
        raise problem

    def drop_handle(self) -> None:
        """Close what the exchange could end the opening by."""
        if self._handle is not None:
            self.exchange.let_go()
            self._handle.close()


class _TLSConnection(_Connection, HTTPSConnection):
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
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, name="payerkit-names", daemon=True).start()
    found: Any = TimeoutError(f"the name {host} was not resolved in time")
    with suppress(queue.Empty):
        found = answers.get(timeout=seconds)
    if isinstance(found, Exception):
        raise found
    return [(address[0], port) for *_, address in found]


class _Pool(HTTPConnectionPool):
    """Opens connections one by one; what becomes of them is not its business."""

    ConnectionCls = _Connection

    def open(self, exchange: Exchange, seconds: float) -> socket.socket:
        """Return an open connection's socket. Raises what stood in the way, with nothing of the request sent."""
        connection: Any = self._new_conn()
        connection.exchange, connection.timeout = exchange, seconds
        try:
            if self.proxy is None:
                connection.connect()
            else:
                self._prepare_proxy(connection)
        except BaseException:
            connection.close()
            raise
        finally:
            connection.drop_handle()
        sock: socket.socket = connection.sock
        return sock


class _TLSPool(HTTPSConnectionPool, _Pool):
    """The same over TLS."""

    ConnectionCls = _TLSConnection


class _Adapter(HTTPAdapter):
    """requests' adapter over these pools, which reads the certificates once for all connections."""

    def __init__(self, trusted: SSLContext | None) -> None:
        self._trusted = trusted
        super().__init__(pool_connections=1, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pool of direct connections."""
        super().init_poolmanager(*args, **(options | {"ssl_context": self._trusted}))
        _use_ours(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Make the pool of connections through a proxy."""
        trusted = {"ssl_context": self._trusted, "proxy_ssl_context": self._trusted}
        manager = super().proxy_manager_for(proxy, **(options | trusted))
        _use_ours(manager)
        return manager


def _use_ours(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}


def _context(certificates: str) -> SSLContext:
    """Return a context that trusts the certificates of a file or a folder; reading them takes 20 ms."""
    context = create_urllib3_context()
    if not Path(certificates).exists():
        raise FileNotFoundError(f"there are no certificates at {certificates}, see REQUESTS_CA_BUNDLE")
    if Path(certificates).is_dir():
        context.load_verify_locations(capath=certificates)
    else:
        context.load_verify_locations(certificates)
    return context
