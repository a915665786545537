"""Send one HTTP request through a `requests.Session`, and say what a failure proves: not sent, or perhaps arrived.

The session is payerkit's or the user's. In payerkit's, an adapter and a connection keep the deadline of the call and
note when its first byte leaves. In a user's, that cannot be seen: there the class of an error proves it.
"""

from __future__ import annotations

import http.client
import logging
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from ssl import SSLCertVerificationError, SSLContext, SSLSocket
from typing import Any
from urllib.parse import urlsplit

from requests import PreparedRequest, Request, Response, Session
from requests import exceptions as requests_errors
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies, select_proxy
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util import create_urllib3_context
from urllib3.util.ssl_match_hostname import CertificateError

from payerkit.client.pace import is_non_negative
from payerkit.errors import InvalidInput, UnknownOutcome, kind_of

MAX_RESPONSE = 16 * 2**20
"""Bytes of a response body, unpacked; more is not read."""

MAX_CONNECTIONS = 32
"""Connections that are kept open between calls: as many as a run makes calls at the same time."""

MAX_IDLE = 15.0
"""Seconds after which an idle connection is not used for a write: the service may be about to close it."""

_MAX_HEADERS = 2**18
"""Bytes of headers; beyond them, framing may take as many bytes as the body."""

_CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class Timeout:
    """Time limits of a call, in seconds.

    Args:
        connect: To connect to one address of the service; all its addresses and TLS may take twice as long.
        read: Without a byte of the response.
        total: For the whole call, with its retries and the waits in between, but not the wait for its turn.

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
        if not all(is_non_negative(seconds) and seconds for seconds in (self.connect, self.read, self.total)):
            raise InvalidInput("timeout: give positive numbers of seconds, such as Timeout(total=60).")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it leaves."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response: its status, its headers by name in any case, its body, complete and unpacked."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


class BrokenOffError(Exception):
    """The request may have arrived, and no complete response came. status, headers: of the response, if it began."""

    def __init__(self, reason: str, status: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.headers = status, headers or {}


class NotSentError(BrokenOffError):
    """The request never left this machine. The reason quotes nothing of it, and nothing that the service sent."""


class ResponseTooLargeError(Exception):
    """The response has more bytes than are read."""


@dataclass(slots=True)
class Attempt:
    """A call under way: until when its present try may take, and whether it may have had an effect.

    timeout: the limits of the call. is_write: it may change something. started: the `time.monotonic()` at which it
    began. deadline: that at which the present try is given up. left: True once a byte of the present try may have left;
    False again if its end proves that it had no effect. unknown: the error of an earlier try that may have had an
    effect. response: that to the present try. responses: all that came in it, also if a hook failed then. received,
    max_bytes: bytes of the response so far, and how many are read at most, with headers and framing.
    """

    timeout: Timeout
    is_write: bool = False
    started: float = field(default_factory=time.monotonic)
    deadline: float = math.inf
    left: bool = False
    unknown: UnknownOutcome | None = None
    response: Response | None = None
    responses: list[Response] = field(default_factory=list)
    received: int = 0
    max_bytes: int = 0

    @property
    def too_late(self) -> str:
        """What the deadline ended."""
        return "no complete response before the deadline" if self.left else "no connection in time"

    @property
    def may_have_happened(self) -> bool:
        """True if the call left in some try, and nothing proves that it had no effect."""
        return self.left or self.unknown is not None

    def seconds_left(self, limit: float = math.inf) -> float:
        """Return the seconds until the deadline, at most `limit`. Raises TimeoutError if none are left."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError(self.too_late)
        return min(seconds, limit)


class _Running(threading.local):
    """The attempt that the running thread makes. urllib3 offers no way to hand it from the adapter to a connection."""

    attempt: Attempt | None = None


_running = _Running()

# urllib3 logs URLs, which hold ids, and headers that it cannot parse, which may repeat what was sent.
for _name in ("urllib3.connection", "urllib3.connectionpool"):
    logging.getLogger(_name).addFilter(lambda _: _running.attempt is None)


class _Socket(socket.socket):
    """A socket whose reads end at the deadline of the running attempt, however the bytes arrive."""

    def recv_into(self, *args: Any) -> int:
        attempt = _running.attempt
        if attempt is not None:
            self.settimeout(attempt.seconds_left(attempt.timeout.read))
        size = super().recv_into(*args)
        if attempt is not None:
            attempt.received += size
            if attempt.received > attempt.max_bytes:
                raise ResponseTooLargeError(f"more than {attempt.max_bytes} bytes, headers included")
        return size

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Read as urllib3 does from a proxy that speaks TLS."""
        buffer = bytearray(buflen)
        return bytes(buffer[: self.recv_into(buffer, buflen, flags)])


class _TLSSocket(_Socket, SSLSocket):
    """The same over TLS."""


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        """Read up to the headers of the final response.

        http.client takes an informational one (102, 103) for final: the next call would read the final response.
        """
        super().begin()
        while 100 <= self.status < 200 and self.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self.headers = self.msg = None  # type: ignore[assignment]  # as before the first one
            super().begin()


class _Connection(HTTPConnection):
    """urllib3's connection, opened within the deadline, and kept from writes when it was idle for long."""

    response_class = _Response
    _is_opening = False
    _last_used = 0.0

    def _new_conn(self) -> socket.socket:
        """Connect to one address after the other, each within the connect timeout, all within twice that.

        So a first address that swallows packets leaves time for the second. What is left of the time is for TLS, whose
        handshake ends at the timeout of the socket.
        """
        attempt = _running.attempt or Attempt(Timeout())
        end = time.monotonic() + attempt.seconds_left(2 * attempt.timeout.connect)
        try:
            addresses = socket.getaddrinfo(self._dns_host.strip("[]"), self.port, 0, socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        problem = OSError(f"{self.host} has no address")
        for family, kind, protocol, _, address in addresses:
            sock = _Socket(family, kind, protocol)
            try:
                sock.settimeout(max(0.001, min(attempt.timeout.connect, end - time.monotonic())))
                for option in self.socket_options or ():
                    sock.setsockopt(*option)
                sock.connect(address)
            except BaseException as error:
                sock.close()
                if not isinstance(error, OSError):
                    raise
                is_late = isinstance(error, TimeoutError)
                problem = TimeoutError(f"no connection to {self.host} in time") if is_late else error
            else:
                sock.settimeout(max(0.001, end - time.monotonic()))
                return sock
        raise NewConnectionError(self, "no connection") from problem

    def connect(self) -> None:
        """Open the connection; what opens a proxy's tunnel is not the request."""
        self._is_opening = True
        try:
            super().connect()
        finally:
            self._is_opening = False

    def send(self, data: Any) -> None:
        """Send bytes, and note before the first of a request that it is on its way."""
        if self.sock is None:
            self.connect()
        if _running.attempt is not None and not self._is_opening:
            _running.attempt.left = True
        self._last_used = time.monotonic()
        super().send(data)

    @property
    def is_connected(self) -> bool:
        """Return True if the pool may hand the connection out again.

        Not with bytes left that no request asked for: a poll of the socket, as urllib3 does it, misses those that TLS
        has decrypted. And not for a write when it was idle for long.
        """
        if not super().is_connected:
            return False
        tls: Any = getattr(self.sock, "sslobj", self.sock)  # of TLS within TLS, urllib3's object
        if hasattr(tls, "pending") and tls.pending():
            return False
        is_write = _running.attempt is not None and _running.attempt.is_write
        return not is_write or time.monotonic() - self._last_used <= MAX_IDLE


class _TLSConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


class _Adapter(HTTPAdapter):
    """requests' adapter over these connections.

    ssl_context: trusts the service's certificate. One for all connections, since reading certificates takes 20 ms.
    """

    def __init__(self, pool_size: int, ssl_context: SSLContext | None) -> None:
        self._ssl_context = ssl_context
        self._pool: Any = None
        super().__init__(pool_connections=1, pool_maxsize=pool_size)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Create the pool of direct connections."""
        super().init_poolmanager(*args, **options, ssl_context=self._ssl_context)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pool of connections through a proxy."""
        contexts = {"ssl_context": self._ssl_context, "proxy_ssl_context": self._ssl_context}
        manager = super().proxy_manager_for(proxy, **options, **contexts)
        manager.pool_classes_by_scheme = self.poolmanager.pool_classes_by_scheme
        return manager

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        """Return the pool of the address, which requests would look up for every request."""
        pool = self._pool = self._pool or super().get_connection_with_tls_context(*args, **options)
        return pool

    def close(self) -> None:
        """Close the idle connections, and every other one when its response is read."""
        super().close()
        self._pool = None

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave verification to the context: requests would read the certificates again for each connection."""


class Transport:
    """Sends requests to one service through a session. Safe to share between threads.

    A user's session keeps its adapters, authentication, certificates, proxies, hooks, parameters and cookies; what it
    does inside cannot be seen. So only the class of an error proves that nothing was sent, and anything else counts as
    sent; and the deadline is checked between two reads, not within one. Without one, payerkit makes its own: proxies
    and certificates come from the environment, which is read once; on this machine no proxy is used.

    Raises:
        InvalidInput: For anything but a session, and for one whose adapter repeats requests by itself. Without one, for
            a SOCKS proxy in the environment, and for certificates that are not there.
    """

    def __init__(
        self, base_url: str, *, is_local: bool, session: Session | None, pool_size: int, max_response: int
    ) -> None:
        if session is not None and not isinstance(session, Session):
            raise InvalidInput(f"session: expected a requests.Session, got {kind_of(session)}.")
        self._is_ours, self._is_local, self._max_response = session is None, is_local, max_response
        self._session = _own_session(base_url, pool_size, is_local=is_local) if session is None else session
        self._process = os.getpid()
        self._check_adapter(base_url)

    def _check_adapter(self, url: str) -> None:
        """Raise InvalidInput if the session would send a write again: urllib3 does not know what may be repeated."""
        try:
            retries = getattr(self._session.get_adapter(url), "max_retries", 0)
        except requests_errors.InvalidSchema:
            raise InvalidInput("session: it has no adapter for this address. Mount one: HTTPAdapter().") from None
        if getattr(retries, "total", retries) != 0:
            raise InvalidInput(
                "session: its adapter retries by itself, so a write could be sent twice. Mount "
                "HTTPAdapter(max_retries=0) for this address, and use connect(retries=...)."
            )

    def close(self) -> None:
        """Close the idle connections; a user's session stays open."""
        if self._is_ours:
            self._session.close()

    def send(self, request: HttpRequest, attempt: Attempt) -> HttpResponse:
        """Return the complete response, whatever its status; redirects are not followed.

        Args:
            request: What to send, once.
            attempt: The call under way, with a deadline. It is told when the first byte leaves.

        Raises:
            NotSentError: If no byte left.
            BrokenOffError: If the request may have arrived and no complete response came in time.
            InvalidInput: If an adapter that retries was mounted.
        """
        if not self._is_ours:
            self._check_adapter(request.url)
        if self._process != os.getpid():  # forked: two processes would read each other's responses
            self._session.close()  # its connections, in this process; it opens others
            self._process = os.getpid()
        attempt.response, attempt.responses, attempt.received = None, [], 0
        attempt.max_bytes = 2 * self._max_response + _MAX_HEADERS
        handled = sys.exception()
        outer, _running.attempt = _running.attempt, attempt  # a signal handler may call during a call
        try:
            return self._exchange(request, attempt)
        except Exception as error:  # noqa: BLE001 - once a byte has left, every failure means the same
            failure = self._failure(list(_causes(error, handled)), attempt)
        finally:
            _running.attempt = outer
            for response in attempt.responses:
                with suppress(Exception):  # of an adapter of the user's; the failure is told in any case
                    response.close()  # no next call may read what is left of it
        raise failure  # out here, without the error of requests: that one holds the request, with the key

    def _exchange(self, request: HttpRequest, attempt: Attempt) -> HttpResponse:
        """Send a request and read its response."""
        limits = attempt.seconds_left(attempt.timeout.connect), attempt.seconds_left(attempt.timeout.read)
        prepared = self._prepare(request)
        settings: dict[str, Any] = {"proxies": self._session.proxies}
        if not self._is_ours:
            settings = self._settings(request.url)
            attempt.left = True
        response = self._session.send(prepared, timeout=limits, stream=True, allow_redirects=False, **settings)
        attempt.response = response
        attempt.responses.append(response)
        if _HIDDEN in response.headers:
            response.headers["location"] = response.headers.pop(_HIDDEN)
        if response.status_code < 200:
            raise ConnectionError(f"{response.status_code} and no final response")
        chunks: Iterator[bytes] = response.iter_content(_CHUNK)
        if isinstance(response.raw, BaseHTTPResponse):  # as it arrives, which requests does not offer
            chunks = iter(partial(response.raw.read1, _CHUNK, decode_content=True), b"")
        content = bytearray()
        for chunk in chunks:
            if content:
                attempt.seconds_left()  # between two reads: a response that is complete is never given up
            content += chunk
            if len(content) > self._max_response:
                raise ResponseTooLargeError(f"more than {self._max_response} bytes")
        if not content and response.ok:
            attempt.seconds_left()  # what ended late and empty was probably cut off
        return HttpResponse(response.status_code, response.headers, bytes(content))

    def _settings(self, url: str) -> dict[str, Any]:
        """Return the proxies and certificates of a user's session."""
        session = self._session
        settings = dict(session.merge_environment_settings(url, {}, True, None, None))
        del settings["stream"]
        if session.verify is not True:  # requests would let the environment overrule it
            settings["verify"] = session.verify
        if self._is_local:  # no proxy of the environment sees what stays on this machine
            settings["proxies"] = dict(session.proxies)
        return settings

    def _prepare(self, request: HttpRequest) -> PreparedRequest:
        """Return the request as requests sends it."""
        session = self._session
        if self._is_ours:  # requests' own preparation takes longer than all else that a call does
            prepared = PreparedRequest()
            prepared.method, prepared.headers = request.method, CaseInsensitiveDict(request.headers)
            if request.body is not None:
                prepared.body, prepared.headers["Content-Length"] = request.body, str(len(request.body))
            prepared.hooks["response"] = [_hide_redirect]
        else:
            # Authentication comes last, since it may sign the address; until then none, and never one from .netrc.
            blank = Request(request.method, request.url, headers=dict(request.headers), data=request.body, auth=_keep)
            prepared = session.prepare_request(blank)
            # Around the hooks of the user: what fails in them fails after the response.
            prepared.hooks["response"] = [_note_response, *prepared.hooks["response"], _hide_redirect]
        # As encoded: requests' own preparation decodes "%2E%2E", and ".." would reach another route.
        prepared.url = request.url
        if session.params:
            address = PreparedRequest()
            address.prepare_url("http://localhost", session.params)
            query = urlsplit(address.url or "").query
            prepared.url += f"{'&' if '?' in request.url else '?'}{query}" if query else ""
        if session.auth is not None:
            prepared.prepare_auth(session.auth, prepared.url)
        return prepared

    def _failure(self, causes: list[BaseException], attempt: Attempt) -> BaseException:
        """Return what a failure proves. causes: the error and its causes, the first cause last."""
        root = causes[-1]
        if isinstance(root, KeyboardInterrupt):  # cleaning up after an interrupt failed
            return KeyboardInterrupt()
        if not self._is_ours and not attempt.responses and any(_is_before_sending(cause) for cause in causes):
            attempt.left = False
        # Only what this machine says: an error of HTTP quotes the service, which may repeat what it was sent.
        is_ours = isinstance(root, OSError | ResponseTooLargeError)
        is_ours = is_ours and not isinstance(root, requests_errors.RequestException)  # which is an OSError
        reason = type(root).__name__ + (f": {root}" if is_ours and str(root) else "")
        if time.monotonic() >= attempt.deadline and (attempt.left or isinstance(root, TimeoutError)):
            reason = f"TimeoutError: {attempt.too_late}"  # whatever it is that failed after that
        if not attempt.left:
            return NotSentError(reason)
        response = attempt.response
        if response is None:
            return BrokenOffError(reason)
        return BrokenOffError(reason, response.status_code, response.headers)


def _causes(error: BaseException, handled: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, the first cause last.

    handled: what the caller was already handling; Python chains it as well, and it is not a cause.
    """
    current: BaseException | None = error
    seen: list[BaseException] = []
    while current is not None and current is not handled and not any(current is other for other in seen):
        yield current
        seen.append(current)  # "raise error.__cause__" makes a circle
        current = current.__cause__ or current.__context__


def _own_session(base_url: str, pool_size: int, *, is_local: bool) -> Session:
    """Return a session whose connections keep the deadline of a call, and that sends no cookies."""
    session = Session()
    session.trust_env = False
    session.proxies = {} if is_local else get_environ_proxies(base_url)
    if (select_proxy(base_url, session.proxies) or "").lower().startswith("socks"):
        raise InvalidInput(
            "The environment names a SOCKS proxy. Give a session that uses it, connect(session=...), or set NO_PROXY "
            "for this address."
        )
    context = _ssl_context() if base_url.lower().startswith("https") else None
    adapter = _Adapter(pool_size, context)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _ssl_context() -> SSLContext:
    """Return a context that trusts the certificates that requests trusts, or those that the environment names."""
    names = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    name = next((name for name in names if os.environ.get(name)), "")
    file = os.environ.get(name) or DEFAULT_CA_BUNDLE_PATH
    if not Path(file).exists():
        raise InvalidInput(f"{name}: there are no certificates at {file}. Correct the environment variable.")
    context = create_urllib3_context()
    context.sslsocket_class = _TLSSocket
    try:
        context.load_verify_locations(**({"capath": file} if Path(file).is_dir() else {"cafile": file}))
    except OSError:
        raise InvalidInput(f"{name}: the file {file} cannot be read, or holds no certificates.") from None
    return context


_BEFORE_SENDING = (
    ConnectTimeoutError,
    NewConnectionError,  # NameResolutionError is one
    SSLCertVerificationError,
    CertificateError,
    requests_errors.InvalidProxyURL,
    requests_errors.InvalidSchema,  # of a SOCKS proxy without PySocks
)
"""Errors that requests and urllib3 raise before the first byte of a request leaves.

Not ProxyError: urllib3 also raises it for a response that breaks off behind a proxy.
"""


def _is_before_sending(error: BaseException) -> bool:
    """Return True if an error proves that no byte left: one of the classes above, or a refused tunnel."""
    is_refused_tunnel = type(error) is OSError and str(error).startswith("Tunnel connection failed")
    return isinstance(error, _BEFORE_SENDING) or is_refused_tunnel


def _keep(request: PreparedRequest) -> PreparedRequest:
    return request


def _note_response(response: Response, **_: Any) -> None:
    """Note that a response came, so that no error of a hook counts as one before sending."""
    if _running.attempt is not None:
        _running.attempt.responses.append(response)


_HIDDEN = "x-payerkit-location"


def _hide_redirect(response: Response, **_: Any) -> None:
    """Keep a session from preparing the next request of a redirect, for which it reads the body without a bound."""
    if "location" in response.headers:
        response.headers[_HIDDEN] = response.headers.pop("location")
