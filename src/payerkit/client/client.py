"""The client: where the service is, with which key, how often a call is tried, and
until when.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Never,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
)
from urllib.parse import urlsplit

from payerkit import html
from payerkit.client.call import (
    ApiVersion,
    Attempt,
    BrokenOffError,
    Call,
    CallEnd,
    HttpResponse,
    KeyHeader,
)
from payerkit.client.hosts import KNOWN_HOSTS, likely_host
from payerkit.client.pace import DEFAULT_RATE, Pace, Rate, Retries, Timeout
from payerkit.client.transport import MAX_RESPONSE, Transport
from payerkit.errors import (
    InvalidInput,
    PayerkitError,
    RateLimited,
    UnknownOutcome,
    kind_of,
)
from payerkit.wire import ApiKey, check_id, is_loopback

if TYPE_CHECKING:
    import requests

T = TypeVar("T")

_SANDBOX = "x-payerkit-sandbox"

Environment = Literal["sandbox", "live"]
"""What a user may say that a service is whose host is not known."""

UNKNOWN_SERVICE = "unknown service"
"""The environment of a host that is not known and of which the user said nothing."""

log = logging.getLogger("payerkit")


class ClientOptions(TypedDict, total=False):
    """Internal options, used by tests.

    sleep: how a call waits. clock: by which time. max_response: bytes of a response
    that are read. transport: what sends requests.
    """

    sleep: Callable[[float], None]
    clock: Callable[[], float]
    max_response: int
    transport: Transport


class Client:
    """A connection to one service with one API key. Made by `connect()` or `sandbox()`;
    safe to share between threads.

    A call is retried only where its failure proves that this does no harm
    (`payerkit.client.pace`): a write that may have arrived is sent once. All tries of a
    call share one deadline, which the wait for its turn does not use up.

    Attributes:
        base_url: The address of the service, without a trailing slash.
        timeout: The time limits of a call.
        retries: How often a call is tried.
        api: Which paths the calls have: "v1", as specified, or "v2".
        header: The header in which the key is sent.
        environment: Where the calls go: "sandbox" on this machine, "live" or "staging"
            for the operator's hosts, what the user said of another host, or "unknown
            service", to which nothing is sent.
        pace: How many calls leave in a second: `pace.rate`. One for all calls of the
            client, those of runs included. Another process has a pace of its own: where
            several share a key, give each a part of its limit with `rate`.

    Raises:
        InvalidInput: For an address, a key, a session, limits or a version that cannot
            be used.

    Example:
        >>> client
        <Client of the sandbox at http://127.0.0.1:...>
    """

    base_url = ""

    def __init__(
        self,
        base_url: str,
        api_key: str | ApiKey,
        *,
        timeout: Timeout | float | None = None,
        retries: Retries | None = None,
        session: requests.Session | None = None,
        rate: Rate = "default",
        header: KeyHeader = "x-api-key",
        api: ApiVersion = "v1",
        environment: Environment | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        self._key = _checked_key(api_key)
        self.base_url, self._is_local = _checked_url(base_url)
        self.environment = _environment(
            self.base_url, environment, is_local=self._is_local
        )
        if timeout is None:
            timeout = Timeout()
        elif not isinstance(timeout, Timeout):
            timeout = Timeout(total=timeout)
        self.timeout = timeout
        if retries is not None and not isinstance(retries, Retries):
            raise InvalidInput(
                f"retries: expected Retries(attempts=...), got {kind_of(retries)}."
            )
        self.retries = retries or Retries()
        if header not in get_args(KeyHeader):
            raise InvalidInput("header: expected 'x-api-key' or 'x-client-id'.")
        self.header = header
        if api not in get_args(ApiVersion):
            raise InvalidInput("api: expected 'v1' or 'v2'.")
        self.api = api
        self._sleep = options.get("sleep", time.sleep)
        if rate == "default":
            rate = DEFAULT_RATE
            if self._is_local:
                rate = None
        self.pace = Pace(rate, clock=options.get("clock", time.monotonic))
        self._keeps_pace = True
        self._is_closed = False
        most = options.get("max_response", MAX_RESPONSE)
        self._transport = options.get("transport") or Transport(
            self.base_url, is_local=self._is_local, session=session, max_response=most
        )

    def send(self, call: Call[T]) -> T:
        """Make a call and return its result. Raises the PayerkitError that says what
        happened.
        """
        if self._is_closed:
            raise InvalidInput(
                "This client is closed. Make another one with connect() or sandbox()."
            )
        self.check_confirmed()
        attempt = self._attempt(self._in_version(call))
        try:
            return self._send(attempt)
        except KeyboardInterrupt:
            failure: Any = KeyboardInterrupt()
        # Out here, without the interrupt that came: its frames hold the key and the
        # body.
        if call.is_write and attempt.may_have_happened:
            end = BrokenOffError("interrupted")
            elapsed = time.monotonic() - attempt.started
            failure = CallEnd(
                attempt.call, end, self._key, elapsed, self.header, is_interrupted=True
            ).result()
        raise failure

    def _in_version(self, call: Call[T]) -> Call[T]:
        """Return a call with the path that it has in the version of the API."""
        if not call.route.startswith("/v1/"):
            return call
        if self.api == "v1":
            return replace(call, other_api="v2")
        route = f"/v2/{call.route.removeprefix('/v1/')}"
        if call.route == "/v1/pay":
            route = "/v2/payouts"
        return replace(call, route=route, other_api="v1")

    def _attempt(self, call: Call[T]) -> Attempt[T]:
        """Return the attempt to make a call, whose time begins now."""
        headers = {
            self.header: self._key.reveal(),
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": "payerkit",
        }
        content = None
        if call.body is not None:
            content = call.body.content
            headers["Content-Type"] = "application/json"
            headers["Content-Length"] = str(len(content))
        deadline = time.monotonic() + self.timeout.total
        return Attempt(
            call, self.base_url + call.path, headers, content, self.timeout, deadline
        )

    def _send(self, attempt: Attempt[T]) -> T:
        """Try a call as often as the policy allows."""
        call = attempt.call
        # The waits for a turn count against no deadline.
        seconds = self.timeout.total
        # No limit counts a sandbox's controls.
        is_paced = self._keeps_pace and not call.route.startswith("/sandbox/")
        tries = 0
        departed = 0.0
        while True:
            tries += 1
            if is_paced:
                try:
                    departed = self.pace.wait_turn(
                        self._sleep, longest=self.timeout.total
                    )
                except RateLimited as paused:
                    paused.request = call.name
                    raise attempt.unknown or paused from None
            began = time.monotonic()
            attempt.deadline = began + seconds
            result = self._try(attempt).result()
            seconds -= time.monotonic() - began
            if not isinstance(result, PayerkitError):
                if is_paced:
                    self.pace.record(None, departed)
                return result
            if is_paced:
                self.pace.record(result, departed)
            # A later try proves nothing about an earlier one: if that may have
            # happened, it stays unknown.
            if isinstance(result, UnknownOutcome):
                attempt.unknown = result
            attempt.left = False
            pause = self.retries.wait_after(result, tries)
            seconds -= pause
            if seconds <= 0 or not self.retries.allow(
                result, tries, idempotent=call.idempotent
            ):
                raise attempt.unknown or result
            # Where all calls are paused, this one waits for its turn.
            if result.retry_after is None or not is_paced:
                self._sleep(pause)

    def _try(self, attempt: Attempt[T]) -> CallEnd[T]:
        """Send a call once and return how it ended."""
        call = attempt.call
        end: HttpResponse | BrokenOffError
        try:
            end = self._transport.send(attempt)
        except BrokenOffError as error:
            end = error.with_traceback(None)  # its frames hold the request
        done = CallEnd(
            call, end, self._key, time.monotonic() - attempt.started, self.header
        )
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "%s -> %s in %.0f ms",
                call.name,
                end.status or done.reason,
                1000 * done.elapsed,
            )
        return done

    def __dir__(self) -> list[str]:
        """Return what a user needs, as Tab shows it; the rest is for other parts of
        payerkit.
        """
        shown = {
            "api",
            "base_url",
            "environment",
            "header",
            "pace",
            "retries",
            "sandbox",
            "timeout",
        }
        return sorted(shown | {"close", "reveal_key"})

    def check_confirmed(self) -> None:
        """Raise InvalidInput if the service is unknown and the user did not confirm
        it: it gets neither the key nor data.
        """
        if self.environment == UNKNOWN_SERVICE:
            raise InvalidInput(
                f"{self.base_url} is an unknown service, and nothing was sent. If you"
                " are sure that the address is right, connect with"
                ' environment="live"; for a sandbox of your team, with'
                ' environment="sandbox". Without a cell to change: set'
                " PAYERKIT_ENVIRONMENT beside PAYERKIT_BASE_URL, or environment in the"
                " profile."
            )

    def sleep(self, seconds: float) -> None:
        """Wait, between one look at the service and the next; with a sandbox's manual
        clock, turn that clock.
        """
        self._sleep(seconds)

    def reveal_key(self) -> str:
        """Return the API key."""
        return self._key.reveal()

    @property
    def sandbox(self) -> Any:
        """The controls of the embedded service, as `SandboxControls`; only a client
        from `sandbox()` has them.
        """
        advice = (
            "Use sandbox() to practise; of a sandbox elsewhere,"
            " payerkit.client.SandboxControls(client) has them."
        )
        raise AttributeError(
            f"sandbox: a client from connect() has no controls of a sandbox. {advice}"
        )

    def without_retries(self) -> Client:
        """Return a client with the same connections and `pace`, which tries each call
        once, and at once.

        To keep the pace is left to the caller, as the retries are.
        """
        client = Client.__new__(Client)
        vars(client).update(vars(self), retries=Retries(attempts=1), _keeps_pace=False)
        return client

    def service_name(self) -> str:
        """Return what identifies the service: the id of a sandbox, the address of any
        other.

        Raises NotSent or ServiceError if a service on this machine does not respond.
        """
        if not self._is_local:  # sandboxes are on this machine
            return self.base_url
        call = Call(
            operation="service_name", method="GET", route="/", read=lambda _: None
        )
        done = self._try(self._attempt(call))
        if done.end.status is None:
            failure = done.result()
            if isinstance(failure, PayerkitError):
                raise failure
        return done.end.headers.get(_SANDBOX, self.base_url)

    def request_members(self, request_id: str) -> dict[str, Any]:
        """Return what the service says about a request, as received and by the names on
        the wire.

        `GET /v2/request/{requestId}`, **beyond the specification**. Raises InvalidInput
        for an id that cannot be sent, and otherwise the PayerkitError that says what
        happened.
        """
        call = request_status_call(request_id, lambda response: response)
        members = self.send(call)
        if not isinstance(members, dict):
            return {}
        return members

    def close(self) -> None:
        """Close the connections; calls with this client raise InvalidInput from now
        on.
        """
        self._is_closed = True
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<Client of {self.base_url} ({self.environment}), key"
            f" {self._key.fingerprint}>"
        )

    def _picture_rows(self) -> list[tuple[str, str]]:
        """Return the names and values of its picture; the values are HTML."""
        rate = "no limit"
        if self.pace.rate is not None:
            rate = f"at most {self.pace.rate:g} calls a second"
        return [
            ("Address", html.code(self.base_url)),
            (
                "Key",
                f"{html.code(self._key.fingerprint)} (its fingerprint, not the key)",
            ),
            ("Pace", rate),
            ("Time limit", f"{self.timeout.total:g} s a call, with its retries"),
            ("Tries", f"up to {self.retries.attempts}, where that cannot do harm"),
        ]

    def _repr_html_(self) -> str:
        caption = html.Html(f"Client {html.badge(self.environment)}")
        return html.picture(html.table(self._picture_rows(), caption=caption))

    def __reduce__(self) -> Never:
        raise TypeError(
            "a client cannot be pickled: make one in each process, with connect()"
        )


def check_client(client: object, *others: object) -> None:
    """Raise InvalidInput for anything but a client. others: what was given behind
    it.
    """
    if isinstance(client, Client):
        return
    advice = ""
    if any(isinstance(other, Client) for other in others):
        advice = "The client stands behind it: write it first."
    raise InvalidInput(
        "The first argument must be a client, from connect() or sandbox(); got"
        f" {kind_of(client)}.",
        advice=advice,
    )


def _checked_key(key: object) -> ApiKey:
    if isinstance(key, ApiKey):
        return key
    if not isinstance(key, str) or not key:
        raise InvalidInput("api_key: give the key as text, or set PAYERKIT_API_KEY.")
    if key != key.strip() or not (key.isascii() and key.isprintable()):
        raise InvalidInput(
            "api_key: the key has a blank, or a character that cannot be sent in a"
            " header; copy it again."
        )
    return ApiKey(key)


def _checked_url(base_url: object) -> tuple[str, bool]:
    """Return the address without a trailing slash, and whether it is this machine.
    Raises InvalidInput.
    """
    if not isinstance(base_url, str) or not base_url.isprintable():
        raise InvalidInput(
            "base_url: give the address as text, such as https://api.example.com."
        )
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"base_url: {error}.") from None
    if parts.scheme not in {"http", "https"} or not host or " " in base_url:
        raise InvalidInput(
            "base_url: give the whole address, such as https://api.example.com."
        )
    if parts.username is not None or "?" in base_url or "#" in base_url:
        raise InvalidInput(
            "base_url: leave out user, password, ? and #; the key goes into api_key."
        )
    # xn-- begins a name in other letters, as it is sent.
    is_encoded = any(label.startswith("xn--") for label in host.split("."))
    if not base_url.isascii() or is_encoded:
        raise InvalidInput(
            "base_url: it has a character that is not ASCII, as it is typed or behind"
            " xn--, and may be another address than it looks. Type it again, in plain"
            " letters, digits and hyphens."
        )
    is_local = is_loopback(host)
    if not is_local:
        _check_host(host, port)
    if parts.scheme == "http" and not is_local:
        raise InvalidInput(
            "base_url: use https://; plain http would expose the key and all data on"
            " the way."
        )
    return base_url.rstrip("/"), is_local


def _check_host(host: str, port: int | None) -> None:
    """Raise InvalidInput for a host that looks like a known one and is another."""
    if host in KNOWN_HOSTS and port in {None, 443}:
        return
    likely = likely_host(host)
    if likely is not None:
        raise InvalidInput(
            f"base_url: not the address of the service, but like it; nothing was sent."
            f" Did you mean https://{likely}?"
        )


def _environment(base_url: str, said: object, *, is_local: bool) -> str:
    """Return the environment of a checked address. Raises InvalidInput if the user says
    another one.

    said: what the user says that it is, or None.
    """
    if said is not None and said not in get_args(Environment):
        raise InvalidInput('environment: expected "live" or "sandbox".')
    if is_local:
        known: str | None = "sandbox"
    else:
        known = KNOWN_HOSTS.get(urlsplit(base_url).hostname or "")
    if known is None:
        return str(said or UNKNOWN_SERVICE)
    if said not in {None, known}:
        raise InvalidInput(
            f'environment: {base_url} is "{known}"; leave environment= out.'
        )
    return known


UNKNOWN_REQUEST = (
    "No request has this id with this key, or the service does not offer this call,"
    " which is beyond the specification."
)
"""Advice about a request that is not found."""


def request_status_call(request_id: str, read: Callable[[Any], T]) -> Call[T]:
    """Return the call that asks for the state of a request. Raises InvalidInput for an
    id that cannot be sent.
    """
    return Call(
        operation="get_request",
        method="GET",
        route="/v2/request/{requestId}",
        ids={"requestId": check_id(request_id, "request_id")},
        read=read,
        hints=dict.fromkeys((404, 405), UNKNOWN_REQUEST),
    )
