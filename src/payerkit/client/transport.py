"""Send one HTTP request through a `requests.Session`, and say what a failure proves: not sent, or perhaps arrived.

The session is payerkit's or the user's. In payerkit's, an adapter and a connection keep the deadline of the call and
note when its first byte leaves. In a user's, that cannot be seen: there the class of an error proves it.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from ssl import SSLCertVerificationError, SSLContext, SSLSocket
from typing import Any
from urllib.parse import urlsplit

from requests import PreparedRequest, Request, Response, Session
from requests import exceptions as requests_errors
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies, select_proxy
from urllib3 import BaseHTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util import create_urllib3_context
from urllib3.util.connection import create_connection
from urllib3.util.ssl_match_hostname import CertificateError

from payerkit.client.call import Attempt, BrokenOffError, HttpResponse, NotSentError
from payerkit.errors import InvalidInput, kind_of

MAX_RESPONSE = 16 * 2**20
"""Bytes of a response body, unpacked; more is not read."""

MAX_CONNECTIONS = 32
"""Connections that are kept open between calls: as many as a run makes calls at the same time."""

MAX_IDLE = 15.0
"""Seconds after which an idle connection is not used for a write: the service may be about to close it."""

_MAX_HEADERS = 2**18
"""Bytes of headers; beyond them, framing may take as many bytes as the body."""

_CHUNK = 2**16


class ResponseTooLargeError(Exception):
    """The response has more bytes than are read."""


_running: ContextVar[Attempt[Any]] = ContextVar("payerkit_attempt")
"""The attempt that is being made. urllib3 offers no way to hand it from the adapter to a connection."""

# urllib3 logs URLs, which hold ids, and headers that it cannot parse, which may repeat what was sent.
for _name in ("urllib3.connection", "urllib3.connectionpool"):
    logging.getLogger(_name).addFilter(lambda _: _running.get(None) is None)


class _Socket(socket.socket):
    """A socket whose reads end at the deadline of the running attempt, however the bytes arrive."""

    def recv_into(self, *args: Any) -> int:
        attempt = _running.get()
        self.settimeout(attempt.seconds_left(attempt.timeout.read))
        size = super().recv_into(*args)
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


class _Connection(HTTPConnection):
    """urllib3's connection, opened within the deadline, and kept from writes when it was idle for long."""

    _last_used = 0.0

    def _new_conn(self) -> socket.socket:
        """Connect to one address after the other, each within the connect timeout, all within twice that.

        So a first address that swallows packets leaves time for the second. What is left of the time is for TLS, whose
        handshake ends at the timeout of the socket.
        """
        attempt = _running.get()
        end = time.monotonic() + attempt.seconds_left(2 * attempt.timeout.connect)
        problem = OSError(f"{self.host} has no address")
        for *_, address in socket.getaddrinfo(self._dns_host.strip("[]"), self.port, 0, socket.SOCK_STREAM):
            limit = max(0.001, min(attempt.timeout.connect, end - time.monotonic()))
            try:
                opened = create_connection((str(address[0]), self.port), limit, socket_options=self.socket_options)
            except TimeoutError:
                problem = TimeoutError(f"no connection to {self.host} in time")
            except OSError as error:
                problem = error
            else:
                sock = _Socket(fileno=opened.detach())
                sock.settimeout(max(0.001, end - time.monotonic()))
                return sock
        raise problem

    def endheaders(self, *args: Any, **options: Any) -> None:
        """Send the head of a request, and note before its first byte that it is on its way."""
        if self.sock is None:
            self.connect()  # what opens the tunnel of a proxy is not the request
        _running.get().left = True
        self._last_used = time.monotonic()
        super().endheaders(*args, **options)

    @property
    def is_connected(self) -> bool:
        """Return True if the pool may hand the connection out again.

        Not with bytes left that no request asked for: a poll of the socket, as urllib3 does it, misses those that TLS
        has decrypted. And not for a write when it was idle for long.
        """
        tls: Any = getattr(self.sock, "sslobj", self.sock)  # of TLS within TLS, urllib3's object
        if not super().is_connected or (hasattr(tls, "pending") and tls.pending()):
            return False
        return not _running.get().call.is_write or time.monotonic() - self._last_used <= MAX_IDLE


class _TLSConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Adapter(HTTPAdapter):
    """requests' adapter over these connections.

    context: trusts the service's certificate. One for all connections, since reading certificates takes longer than
    importing payerkit.
    """

    def __init__(self, context: SSLContext | None) -> None:
        self._context = context
        self._pool: Any = None
        super().__init__(pool_connections=1, pool_maxsize=MAX_CONNECTIONS)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Create the pool of direct connections."""
        super().init_poolmanager(*args, **options, ssl_context=self._context)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pool of connections through a proxy."""
        return super().proxy_manager_for(proxy, **options, ssl_context=self._context, proxy_ssl_context=self._context)

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        """Return the pool of the address, with connections of this module; requests would look it up for every call."""
        if self._pool is None:
            pool: Any = super().get_connection_with_tls_context(*args, **options)
            pool.ConnectionCls = _Connection if pool.scheme == "http" else _TLSConnection
            self._pool = pool
        return self._pool

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

    def __init__(self, base_url: str, *, is_local: bool, session: Session | None, max_response: int) -> None:
        if session is not None and not isinstance(session, Session):
            raise InvalidInput(f"session: expected a requests.Session, got {kind_of(session)}.")
        self._is_ours, self._is_local, self._max_response = session is None, is_local, max_response
        self._session = _own_session(base_url, is_local=is_local) if session is None else session
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

    def send(self, attempt: Attempt[Any]) -> HttpResponse:
        """Return the complete response, whatever its status; redirects are not followed.

        Args:
            attempt: The call under way, which is sent once. It has a deadline, and notes that the first byte leaves.

        Raises:
            NotSentError: If no byte left.
            BrokenOffError: If the request may have arrived and no complete response came in time.
            InvalidInput: If an adapter that retries was mounted.
        """
        if not self._is_ours:
            self._check_adapter(attempt.url)
        if self._process != os.getpid():  # forked: two processes would read each other's responses
            self._session.close()  # its connections, in this process; it opens others
            self._process = os.getpid()
        attempt.received, attempt.max_bytes = 0, 2 * self._max_response + _MAX_HEADERS
        response: Response | None = None
        noted: list[Response] = []  # all that came, also if a hook of the user's failed then
        handled = sys.exception()
        running = _running.set(attempt)  # a signal handler may call during a call
        try:
            response = self._open(attempt, noted)
            return self._read(response, attempt)
        except Exception as error:  # noqa: BLE001 - once a byte has left, every failure means the same
            failure = self._failure(_causes(error, handled), attempt, response, is_noted=bool(noted))
        finally:
            _running.reset(running)
            for each in noted:
                with suppress(Exception):  # of an adapter of the user's; the failure is raised in any case
                    each.close()  # no next call may read what is left of it
        raise failure  # out here, without the error of requests: that one holds the request, with the key

    def _open(self, attempt: Attempt[Any], noted: list[Response]) -> Response:
        """Send a request and return its response, with the body unread."""
        limits = attempt.seconds_left(attempt.timeout.connect), attempt.seconds_left(attempt.timeout.read)
        prepared = self._prepare(attempt, noted)
        settings = {"proxies": self._session.proxies, "stream": True} if self._is_ours else self._settings(attempt.url)
        attempt.left = not self._is_ours  # in a user's session, nothing says when a byte leaves
        response = self._session.send(prepared, timeout=limits, allow_redirects=False, **settings)
        noted.append(response)
        if _HIDDEN in response.headers:
            response.headers["location"] = response.headers.pop(_HIDDEN)
        return response

    def _read(self, response: Response, attempt: Attempt[Any]) -> HttpResponse:
        """Return a response with its whole body."""
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
        if session.verify is not True:  # requests would let the environment overrule it
            settings["verify"] = session.verify
        if self._is_local:  # no proxy of the environment sees what stays on this machine
            settings["proxies"] = dict(session.proxies)
        return settings

    def _prepare(self, attempt: Attempt[Any], noted: list[Response]) -> PreparedRequest:
        """Return the request as requests sends it. noted: takes every response that comes."""
        session = self._session
        if self._is_ours:  # requests' own preparation takes longer than all else that a call does
            prepared = PreparedRequest()
            prepared.method, prepared.url, prepared.body = attempt.call.method, attempt.url, attempt.content
            prepared.headers = CaseInsensitiveDict(attempt.headers)
            return prepared
        # Authentication comes last, since it may sign the address; until then none, and never one from .netrc.
        request = Request(
            attempt.call.method, attempt.url, attempt.headers, data=attempt.content, auth=lambda each: each
        )
        prepared = session.prepare_request(request)
        # Around the hooks of the user: what fails in them fails after the response.
        hooks = prepared.hooks["response"]
        prepared.hooks["response"] = [lambda response, **_: noted.append(response), *hooks, _hide_redirect]
        # As encoded: requests' own preparation decodes "%2E%2E", and ".." would reach another route.
        query = urlsplit(prepared.url or "").query  # with the parameters of the session
        prepared.url = attempt.url.partition("?")[0] + (f"?{query}" if query else "")
        if session.auth is not None:
            prepared.prepare_auth(session.auth, prepared.url)
        return prepared

    def _failure(
        self, causes: list[BaseException], attempt: Attempt[Any], response: Response | None, *, is_noted: bool
    ) -> BaseException:
        """Return what a failure proves.

        causes: the error and its causes, the first cause last. response: whose body failed. is_noted: a response came.
        """
        root = causes[-1]
        if isinstance(root, KeyboardInterrupt):  # cleaning up after an interrupt failed
            return KeyboardInterrupt()
        if not self._is_ours and not is_noted and any(map(_is_before_sending, causes)):
            attempt.left = False
        # Only what this machine says: an error of HTTP quotes the service, which may repeat what it was sent.
        is_ours = isinstance(root, OSError | ResponseTooLargeError)
        is_ours = is_ours and not isinstance(root, requests_errors.RequestException)  # which is an OSError
        reason = type(root).__name__ + (f": {root}" if is_ours and str(root) else "")
        if time.monotonic() >= attempt.deadline and (attempt.left or isinstance(root, TimeoutError)):
            reason = f"TimeoutError: {attempt.too_late}"  # whatever it is that failed after that
        if not attempt.left:
            return NotSentError(reason)
        if response is None:
            return BrokenOffError(reason)
        return BrokenOffError(reason, response.status_code, response.headers)


def _causes(error: BaseException | None, handled: BaseException | None) -> list[BaseException]:
    """Return an error and its causes, the first cause last.

    handled: what the caller was already handling; Python chains it as well, and it is not a cause.
    """
    causes: list[BaseException] = []
    while error is not None and error is not handled and error not in causes:  # "raise error.__cause__" makes a circle
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


def _own_session(base_url: str, *, is_local: bool) -> Session:
    """Return a session whose connections keep the deadline of a call, and that sends no cookies."""
    session = Session()
    session.trust_env = False
    session.get_redirect_target = lambda _: None  # type: ignore[assignment, method-assign]  # see `_hide_redirect`
    session.proxies = {} if is_local else get_environ_proxies(base_url)
    if (select_proxy(base_url, session.proxies) or "").lower().startswith("socks"):
        raise InvalidInput(
            "The environment names a SOCKS proxy. Give a session that uses it, connect(session=...), or set NO_PROXY "
            "for this address."
        )
    context = _ssl_context() if base_url.lower().startswith("https") else None
    session.mount(base_url, _Adapter(context))
    return session


def _ssl_context() -> SSLContext:
    """Return a context that trusts the certificates that requests trusts, or those that the environment names."""
    name = next(filter(os.environ.get, ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")), "")
    file = os.environ.get(name, DEFAULT_CA_BUNDLE_PATH)
    context = create_urllib3_context()
    context.sslsocket_class = _TLSSocket
    try:
        context.load_verify_locations(**{"capath" if Path(file).is_dir() else "cafile": file})
    except OSError:
        raise InvalidInput(f"{name}: no certificates can be read from {file}. Correct one of the two.") from None
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


_HIDDEN = "x-payerkit-location"


def _hide_redirect(response: Response, **_: Any) -> None:
    """Keep a user's session from preparing the next request of a redirect: it would read the body without a bound."""
    if "location" in response.headers:
        response.headers[_HIDDEN] = response.headers.pop("location")
