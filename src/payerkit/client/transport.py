"""Send one HTTP request through a `requests.Session`, and say what a failure proves:
not sent, or perhaps arrived.

The session is payerkit's or the user's. In both, the class of an error proves that no
byte of the request left; anything else counts as sent.
"""

from __future__ import annotations

import logging
import os
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

from requests import PreparedRequest, Request, Response, Session
from requests import exceptions as requests_errors
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_environ_proxies, select_proxy
from urllib3 import BaseHTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util.ssl_match_hostname import CertificateError

from payerkit.client.call import Attempt, BrokenOffError, HttpResponse, NotSentError
from payerkit.errors import InvalidInput, kind_of

MAX_RESPONSE = 16 * 2**20
"""Bytes of a response body, unpacked; more is not read."""

MAX_CONNECTIONS = 32
"""Connections that are kept open between calls: as many as a run makes calls at the
same time.
"""

MAX_IDLE = 15.0
"""Seconds after which an idle connection is not used again: the service may be about to
close it, and a write on it would have an unknown outcome.
"""

_CHUNK = 2**16

_is_sending: ContextVar[bool] = ContextVar("payerkit_is_sending", default=False)

# urllib3 logs URLs, which hold ids, and headers that it cannot parse, which may repeat
# what was sent.
for _name in ("urllib3.connection", "urllib3.connectionpool"):
    logging.getLogger(_name).addFilter(lambda _: not _is_sending.get())


class ResponseTooLargeError(Exception):
    """The response has more bytes than are read."""


class _Connection(HTTPConnection):
    """urllib3's connection, with an error of its own while it is opened, and used again
    only if nothing speaks against it.
    """

    _last_used = 0.0

    def connect(self) -> None:
        """Open the connection, with TLS and the tunnel of a proxy: nothing of a request
        has left then.
        """
        try:
            super().connect()
        except ConnectTimeoutError:  # NewConnectionError is one
            raise
        except Exception as error:
            raise NewConnectionError(self, str(error)) from error

    def request(self, *args: Any, **options: Any) -> None:
        """Send a request, and note when."""
        self._last_used = time.monotonic()
        super().request(*args, **options)

    @property
    def is_connected(self) -> bool:
        """Return True if the pool may hand the connection out again.

        Not when it was idle for long, and not with bytes left that no request asked
        for: a poll of the socket, as urllib3 does it, misses those that TLS has
        decrypted.
        """
        # Of TLS within TLS, the object is urllib3's.
        tls: Any = getattr(self.sock, "sslobj", self.sock)
        if hasattr(tls, "pending") and tls.pending():
            return False
        return super().is_connected and time.monotonic() - self._last_used <= MAX_IDLE


class _TLSConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Adapter(HTTPAdapter):
    """requests' adapter over these connections."""

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        """Return the pool of the address, with connections of this module."""
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        pool.ConnectionCls = _Connection
        if pool.scheme == "https":
            pool.ConnectionCls = _TLSConnection
        return pool


class Transport:
    """Sends requests to one service through a session. Safe to share between threads.

    A user's session keeps its adapters, authentication, certificates, proxies, hooks,
    parameters and cookies. Without one, payerkit makes its own: proxies and
    certificates come from the environment, which is read once; on this machine no proxy
    is used. The deadline of a call is checked between two pieces of a response.

    Raises:
        InvalidInput: For anything but a session, and for one whose adapter repeats
            requests by itself. Without one, for a SOCKS proxy in the environment, and
            for certificates that are not there.
    """

    def __init__(
        self,
        base_url: str,
        *,
        is_local: bool,
        session: Session | None,
        max_response: int,
    ) -> None:
        if session is not None and not isinstance(session, Session):
            raise InvalidInput(
                f"session: expected a requests.Session, got {kind_of(session)}."
            )
        self._is_ours = session is None
        self._is_local = is_local
        self._max_response = max_response
        self._session = session or _own_session(base_url, is_local=is_local)
        self._process = os.getpid()
        self._check_adapter(base_url)

    def _check_adapter(self, url: str) -> None:
        """Raise InvalidInput if the session would send a write again: urllib3 does not
        know what may be repeated.
        """
        try:
            retries = getattr(self._session.get_adapter(url), "max_retries", 0)
        except requests_errors.InvalidSchema:
            raise InvalidInput(
                "session: it has no adapter for this address. Mount one: HTTPAdapter()."
            ) from None
        if getattr(retries, "total", retries) != 0:
            raise InvalidInput(
                "session: its adapter retries by itself, so a write could be sent"
                " twice. Mount HTTPAdapter(max_retries=0) for this address, and use"
                " connect(retries=...)."
            )

    def close(self) -> None:
        """Close the idle connections; a user's session stays open."""
        if self._is_ours:
            self._session.close()

    def send(self, attempt: Attempt[Any]) -> HttpResponse:
        """Return the complete response, whatever its status; redirects are not
        followed.

        Args:
            attempt: The call under way, which is sent once, and has a deadline.

        Raises:
            NotSentError: If no byte left.
            BrokenOffError: If the request may have arrived and no complete response
                came in time.
            InvalidInput: If an adapter that retries was mounted.
        """
        self._check_adapter(attempt.url)
        if self._process != os.getpid():
            # Forked: two processes would read each other's responses on connections
            # that they share. The session opens others.
            self._session.close()
            self._process = os.getpid()
        # All that came, also if a hook of the user's failed then.
        responses: list[Response] = []
        response: Response | None = None
        handled = sys.exception()
        sending = _is_sending.set(True)
        try:
            response = self._open(attempt, responses)
            return self._read(response, attempt)
        except Exception as error:  # noqa: BLE001 - once a byte has left, every failure means the same
            failure = _failure(
                _causes(error, handled), attempt, response, is_noted=bool(responses)
            )
        finally:
            _is_sending.reset(sending)
            for each in responses:
                # No next call may read what is left of it. If an adapter of the user's
                # fails here, the failure of the call is raised in any case.
                with suppress(Exception):
                    each.close()
            # Its hooks hold the list, and it would hold the pool of a closed session.
            responses.clear()
        # Out here, without the error of requests: that one holds the request, with the
        # key.
        raise failure

    def _open(self, attempt: Attempt[Any], responses: list[Response]) -> Response:
        """Send a request and return its response, with the body unread. responses:
        takes every response that comes.
        """
        prepared = self._prepare(attempt)
        # Around the hooks of the user: what fails in them fails after the response.
        prepared.hooks["response"] = [
            lambda response, **_: responses.append(response),
            *prepared.hooks["response"],
            _hide_redirect,
        ]
        settings = self._settings(attempt.url)
        limits = (
            attempt.seconds_left(attempt.timeout.connect),
            attempt.seconds_left(attempt.timeout.read),
        )
        attempt.left = True
        response = self._session.send(
            prepared, timeout=limits, allow_redirects=False, **settings
        )
        if _HIDDEN in response.headers:
            response.headers["location"] = response.headers.pop(_HIDDEN)
        return response

    def _prepare(self, attempt: Attempt[Any]) -> PreparedRequest:
        """Return the request as it is sent."""
        method = attempt.call.method
        if self._is_ours:
            # requests' own preparation takes longer than all else that a call does.
            prepared = PreparedRequest()
            prepared.method = method
            prepared.url = attempt.url
            prepared.headers = CaseInsensitiveDict(attempt.headers)
            prepared.body = attempt.content
            return prepared
        request = Request(method, attempt.url, attempt.headers, data=attempt.content)
        # Never one from .netrc.
        request.auth = self._session.auth or (lambda prepared: prepared)
        return self._session.prepare_request(request)

    def _settings(self, url: str) -> dict[str, Any]:
        """Return the proxies and certificates of the session."""
        session = self._session
        if self._is_ours:
            return {"proxies": session.proxies, "stream": True}
        # Without it, requests would let the environment overrule the session.
        verify = session.verify
        if verify is True:
            verify = None
        settings = session.merge_environment_settings(url, {}, True, verify, None)
        if self._is_local:
            # No proxy of the environment sees what stays on this machine.
            settings["proxies"] = session.proxies
        return dict(settings)

    def _read(self, response: Response, attempt: Attempt[Any]) -> HttpResponse:
        """Return a response with its whole body."""
        if response.status_code < 200:
            raise ConnectionError(f"{response.status_code} and no final response")
        chunks: Iterator[bytes] = response.iter_content(_CHUNK)
        if isinstance(response.raw, BaseHTTPResponse):
            # As it arrives, which requests does not offer.
            chunks = iter(partial(response.raw.read1, _CHUNK, decode_content=True), b"")
        content = bytearray()
        for chunk in chunks:
            # A response that is complete is never given up.
            if content:
                attempt.seconds_left()
            content += chunk
            if len(content) > self._max_response:
                raise ResponseTooLargeError(f"more than {self._max_response} bytes")
        if not content and response.ok:
            attempt.seconds_left()  # What ended late and empty was probably cut off.
        return HttpResponse(response.status_code, response.headers, bytes(content))


def _failure(
    causes: list[BaseException],
    attempt: Attempt[Any],
    response: Response | None,
    *,
    is_noted: bool,
) -> BaseException:
    """Return what a failure proves.

    causes: the error and its causes, the first cause last. response: whose body failed.
    is_noted: a response came.
    """
    root = causes[-1]
    if isinstance(root, KeyboardInterrupt):  # cleaning up after an interrupt failed
        return KeyboardInterrupt()
    if not is_noted and any(_is_before_sending(error) for error in causes):
        attempt.left = False
    # Only what this machine says: an error of HTTP quotes the service, which may repeat
    # what it was sent. That of requests is an OSError, too.
    is_ours = isinstance(root, OSError | ResponseTooLargeError)
    reason = type(root).__name__
    if is_ours and not isinstance(root, requests_errors.RequestException) and str(root):
        reason += f": {root}"
    if time.monotonic() >= attempt.deadline:
        reason = f"TimeoutError: {attempt.too_late}"
    if not attempt.left:
        return NotSentError(reason)
    if response is None:
        return BrokenOffError(reason)
    return BrokenOffError(reason, response.status_code, response.headers)


def _causes(
    error: BaseException | None, handled: BaseException | None
) -> list[BaseException]:
    """Return an error and its causes, the first cause last.

    handled: what the caller was already handling; Python chains it as well, and it is
    not a cause.
    """
    causes: list[BaseException] = []
    # "raise error.__cause__" makes a circle.
    while error is not None and error is not handled and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


def _own_session(base_url: str, *, is_local: bool) -> Session:
    """Return a session with connections of this module, which sends no cookies."""
    session = Session()
    session.trust_env = False
    if not is_local:
        session.proxies = get_environ_proxies(base_url)
    if (select_proxy(base_url, session.proxies) or "").lower().startswith("socks"):
        raise InvalidInput(
            "The environment names a SOCKS proxy. Give a session that uses it,"
            " connect(session=...), or set NO_PROXY for this address."
        )
    if base_url.lower().startswith("https"):
        session.verify = _certificates()
    adapter = _Adapter(pool_connections=1, pool_maxsize=MAX_CONNECTIONS)
    session.mount(base_url, adapter)
    return session


def _certificates() -> str | bool:
    """Return the file or folder of certificates that the environment names; True for
    those that requests trusts.
    """
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        path = os.environ.get(name)
        if not path:
            continue
        try:
            if Path(path).is_dir():
                ssl.create_default_context(capath=path)
            else:
                ssl.create_default_context(cafile=path)
        except OSError:
            raise InvalidInput(
                f"{name}: no certificates can be read from {path}. Correct one of the"
                " two."
            ) from None
        return path
    return True


_BEFORE_SENDING = (
    ConnectTimeoutError,  # NewConnectionError and NameResolutionError are such
    ssl.SSLCertVerificationError,
    CertificateError,
    requests_errors.InvalidProxyURL,
    requests_errors.InvalidSchema,  # of a SOCKS proxy without PySocks
)
"""Errors that requests and urllib3 raise before the first byte of a request leaves.

Not ProxyError: urllib3 also raises it for a response that breaks off behind a proxy.
"""


def _is_before_sending(error: BaseException) -> bool:
    """Return True if an error proves that no byte left: one of the classes above, or a
    refused tunnel.
    """
    is_refused_tunnel = type(error) is OSError and str(error).startswith(
        "Tunnel connection failed"
    )
    return isinstance(error, _BEFORE_SENDING) or is_refused_tunnel


_HIDDEN = "x-payerkit-location"


def _hide_redirect(response: Response, **_: Any) -> None:
    """Keep a session from preparing the next request of a redirect: it would read the
    body without a bound.
    """
    if "location" in response.headers:
        response.headers[_HIDDEN] = response.headers.pop("location")
