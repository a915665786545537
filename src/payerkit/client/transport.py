"""Send one HTTP request, and say what a failure proves: nothing was sent, or it may have arrived.

A `Transport` is what the client needs of HTTP. `RequestsTransport` is the default; `SessionTransport` sends through a
`requests.Session` of the user's. Neither parses, writes or keeps anything of HTTP itself: requests and urllib3 do.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLCertVerificationError, SSLContext
from typing import Any, Protocol

from requests import PreparedRequest, Request, Response, Session
from requests import exceptions as requests_errors
from requests.structures import CaseInsensitiveDict
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies, select_proxy
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util import create_urllib3_context
from urllib3.util.ssl_match_hostname import CertificateError

from payerkit.client.deadline_adapter import (
    Attempt,
    DeadlineAdapter,
    HttpRequest,
    ResponseTooLargeError,
    running,
    running_attempt,
)
from payerkit.errors import InvalidInput, kind_of
from payerkit.retry import is_non_negative

MAX_RESPONSE = 16 * 2**20
"""Bytes of a response body, unpacked; more is not read."""

_MAX_HEADERS = 2**18
"""Bytes of headers; beyond them, framing may take as many bytes as the body."""

_CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class Timeout:
    """Time limits of a call, in seconds.

    Args:
        connect: To connect to one address of the service; all its addresses, TLS and a proxy may take twice as long.
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
class HttpResponse:
    """A response: its status, its headers by name in any case, its body, complete and unpacked."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


class NotSentError(Exception):
    """The request never left this machine. The reason quotes nothing of it, and nothing that the service sent."""


class BrokenOffError(Exception):
    """The request may have arrived, and no complete response came. status, headers: of the response, if it began."""

    def __init__(self, reason: str, status: int | None, headers: Mapping[str, str]) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = headers


class Transport(Protocol):
    """Sends requests to one service. Safe to share between threads."""

    def send(self, request: HttpRequest, *, deadline: float) -> HttpResponse:
        """Return the complete response, whatever its status; redirects are not followed.

        Args:
            request: What to send, once. `request.leave()` must be called before its first byte leaves.
            deadline: The `time.monotonic()` at which the request is given up.

        Raises:
            NotSentError: If no byte left.
            BrokenOffError: If the request may have arrived and no complete response came in time.
        """

    def close(self) -> None:
        """Close the idle connections."""


class _BaseTransport(ABC):
    """What both transports share: reading within a bound and a deadline, and failures that hold no secret."""

    _sent_when_handed_over = False
    """Whether a request counts as sent before its bytes are seen to leave: the connections are not payerkit's."""

    def __init__(self, timeout: Timeout, max_response: int) -> None:
        self._timeout, self._max_response = timeout, max_response

    def send(self, request: HttpRequest, *, deadline: float) -> HttpResponse:
        """Return the complete response; see `Transport`."""
        attempt = Attempt(deadline, request, max_bytes=2 * self._max_response + _MAX_HEADERS)
        handled = sys.exception()
        response: Response | None = None
        try:
            with running(attempt):
                limits = attempt.seconds_left(self._timeout.connect), attempt.seconds_left(self._timeout.read)
                prepared = self._prepare(request)
                if self._sent_when_handed_over:
                    request.leave()
                response = self._send(prepared, limits)
                if response.status_code < 200:
                    raise ConnectionError(f"{response.status_code} and no final response")  # noqa: TRY301 - noted below
                content = self._read(response, attempt)
            return HttpResponse(response.status_code, response.headers, content)
        except Exception as error:  # noqa: BLE001 - once a byte has left, every failure means the same
            failure = self._failure(error, handled, attempt, response)
        finally:
            for received in [*attempt.responses, *([] if response is None else [response])]:
                with suppress(Exception):  # of an adapter of the user's; the failure is told in any case
                    received.close()  # no next call may read what is left of it
        raise failure  # out here, without the error of requests: that one holds the request, with the key

    @abstractmethod
    def _prepare(self, request: HttpRequest) -> PreparedRequest:
        """Return the request as requests sends it."""

    @abstractmethod
    def _send(self, prepared: PreparedRequest, limits: tuple[float, float]) -> Response:
        """Send the request, and return the response with its headers read and its body not. limits: connect, read."""

    def _read(self, response: Response, attempt: Attempt) -> bytes:
        content = bytearray()
        for chunk in response.iter_content(_CHUNK):
            if content:
                attempt.seconds_left()  # between two reads: a response that is complete is never given up
            content += chunk
            if len(content) > self._max_response:
                raise ResponseTooLargeError(f"more than {self._max_response} bytes")
        return bytes(content)

    def _failure(
        self, error: BaseException, handled: BaseException | None, attempt: Attempt, response: Response | None
    ) -> BaseException:
        causes = list(_causes(error, handled))
        root = causes[-1]
        if isinstance(root, KeyboardInterrupt):  # cleaning up after an interrupt failed
            return KeyboardInterrupt()
        # Only what this machine says: an error of HTTP quotes the service, which may repeat what it was sent.
        is_ours = isinstance(root, OSError | ResponseTooLargeError)
        is_ours = is_ours and not isinstance(root, requests_errors.RequestException)  # which is an OSError
        reason = type(root).__name__ + (f": {root}" if is_ours and str(root) else "")
        if self._sent_when_handed_over and not attempt.responses:
            attempt.request.sent &= not any(_is_before_sending(cause) for cause in causes)
        if not attempt.request.sent:
            return NotSentError(reason)
        return BrokenOffError(
            reason, None if response is None else response.status_code, {} if response is None else response.headers
        )


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


class RequestsTransport(_BaseTransport):
    """Sends through requests' adapter, without a session: half of its cost, and no cookies, netrc or redirects.

    Proxies and certificates come from the environment, which is read once. base_url: the service; on this machine no
    proxy is used.

    Raises:
        InvalidInput: For a SOCKS proxy in the environment, and for certificates that are not there.
    """

    def __init__(
        self, base_url: str, *, is_local: bool, timeout: Timeout, pool_size: int, max_response: int = MAX_RESPONSE
    ) -> None:
        super().__init__(timeout, max_response)
        self._proxies = {} if is_local else get_environ_proxies(base_url)
        if (select_proxy(base_url, self._proxies) or "").lower().startswith("socks"):
            raise InvalidInput(
                "The environment names a SOCKS proxy. Give a session that uses it, connect(session=...), or set "
                "NO_PROXY for this address."
            )
        context = _ssl_context() if base_url.lower().startswith("https") else None
        self._adapter = DeadlineAdapter(pool_size=pool_size, ssl_context=context)

    def _prepare(self, request: HttpRequest) -> PreparedRequest:
        prepared = PreparedRequest()
        prepared.method, prepared.headers = request.method, CaseInsensitiveDict(request.headers)
        # As encoded: requests' own preparation decodes "%2E%2E", and ".." would reach another route.
        prepared.url = request.url
        if request.body is not None:
            prepared.body = request.body
            prepared.headers["Content-Length"] = str(len(request.body))
        return prepared

    def _send(self, prepared: PreparedRequest, limits: tuple[float, float]) -> Response:
        return self._adapter.send(prepared, stream=True, timeout=limits, proxies=self._proxies)

    def close(self) -> None:
        """Close the idle connections."""
        self._adapter.close()


def _ssl_context() -> SSLContext:
    """Return a context that trusts the certificates that requests trusts, or those that the environment names."""
    names = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    name = next((name for name in names if os.environ.get(name)), "")
    file = os.environ.get(name) or DEFAULT_CA_BUNDLE_PATH
    if not Path(file).exists():
        raise InvalidInput(f"{name}: there are no certificates at {file}. Correct the environment variable.")
    context = create_urllib3_context()
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


class SessionTransport(_BaseTransport):
    """Sends through a user's session: its adapters, authentication, certificates, proxies, hooks and cookies count.

    What a session does inside cannot be seen. So only the class of an error proves that nothing was sent, and anything
    else counts as sent; and the deadline is checked between two reads, not within one.

    Raises:
        InvalidInput: For anything but a session, and for one whose adapter repeats requests by itself.
    """

    _sent_when_handed_over = True

    def __init__(
        self, session: Session, base_url: str, *, is_local: bool, timeout: Timeout, max_response: int = MAX_RESPONSE
    ) -> None:
        super().__init__(timeout, max_response)
        if not isinstance(session, Session):
            raise InvalidInput(f"session: expected a requests.Session, got {kind_of(session)}.")
        self._session, self._is_local = session, is_local
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

    def send(self, request: HttpRequest, *, deadline: float) -> HttpResponse:
        """Return the complete response; see `Transport`. Raises InvalidInput if an adapter that retries was mounted."""
        self._check_adapter(request.url)
        if self._process != os.getpid():  # forked: two processes would read each other's responses
            self._session.close()  # its connections, in this process; it opens others
            self._process = os.getpid()
        return super().send(request, deadline=deadline)

    def _prepare(self, request: HttpRequest) -> PreparedRequest:
        prepared = self._session.prepare_request(
            # Authentication comes last, since it may sign the address; until then none, and never one from .netrc.
            Request(request.method, request.url, headers=dict(request.headers), data=request.body, auth=_unchanged)
        )
        prepared.url = request.url  # as encoded, see RequestsTransport
        if self._session.auth is not None:
            prepared.prepare_auth(self._session.auth, request.url)
        # Around the hooks of the user: what fails in them fails after the response.
        prepared.hooks["response"] = [_note_response, *prepared.hooks["response"], _hide_redirect]
        return prepared

    def _send(self, prepared: PreparedRequest, limits: tuple[float, float]) -> Response:
        session = self._session
        settings = session.merge_environment_settings(prepared.url, {}, True, None, None)
        if session.verify is not True:  # requests would let the environment overrule it
            settings["verify"] = session.verify
        if self._is_local:  # no proxy of the environment sees what stays on this machine
            settings["proxies"] = dict(session.proxies)
        response = session.send(prepared, timeout=limits, allow_redirects=False, **settings)
        if _HIDDEN in response.headers:
            response.headers["location"] = response.headers.pop(_HIDDEN)
        return response

    def close(self) -> None:
        """Leave the session open: it is the user's."""


def _unchanged(request: PreparedRequest) -> PreparedRequest:
    return request


def _note_response(response: Response, **_: Any) -> None:
    """Note that a response came, so that no error of a hook counts as one before sending."""
    if (attempt := running_attempt()) is not None:
        attempt.responses.append(response)


_HIDDEN = "x-payerkit-location"


def _hide_redirect(response: Response, **_: Any) -> None:
    """Keep a session from preparing the next request of a redirect, for which it reads the body without a bound."""
    if "location" in response.headers:
        response.headers[_HIDDEN] = response.headers.pop("location")
