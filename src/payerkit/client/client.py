"""The client: where the service is, with which key, how often a call is tried, and until when."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Never, Self, TypedDict, TypeVar, Unpack, get_args
from urllib.parse import urlsplit

from payerkit import html
from payerkit.client.call import ApiVersion, Attempt, BrokenOffError, Call, CallEnd, Header, HttpResponse
from payerkit.client.pace import DEFAULT_RATE, Pace, Rate, Retries, SharedTurn, Timeout
from payerkit.client.transport import MAX_RESPONSE, Transport
from payerkit.errors import InvalidInput, PayerkitError, RateLimited, UnknownOutcome, kind_of
from payerkit.wire import ApiKey, check_id, is_loopback

if TYPE_CHECKING:
    import requests

T = TypeVar("T")

PREVIOUS_API_KEY = "PAYERKIT_PREVIOUS_API_KEY"
"""The environment variable with the key before, which opens journals of earlier runs; it is never sent."""

_SANDBOX = "x-payerkit-sandbox"

Environment = Literal["sandbox", "staging", "live"]

_STAGING_HOSTS = frozenset({"api.stage.request.network"})
"""Hosts of the operator's staging environment, from its documentation."""

log = logging.getLogger("payerkit")


class ClientOptions(TypedDict, total=False):
    """Internal options, used by tests.

    sleep: how a call waits. clock: by which time. max_response: bytes of a response that are read. transport: what
    sends requests.
    """

    sleep: Callable[[float], None]
    clock: Callable[[], float]
    max_response: int
    transport: Transport


class Client:
    """A connection to one service with one API key. Made by `connect()` or `sandbox()`; safe to share between threads.

    A call is retried only where its failure proves that this does no harm (`payerkit.client.pace`): a write that may
    have arrived is sent once. All tries of a call share one deadline, which the wait for its turn does not use up.

    Attributes:
        base_url: The address of the service, without a trailing slash.
        timeout: The time limits of a call.
        retries: How often a call is tried.
        api: Which paths the calls have: "v1", as specified, or "v2".
        header: The header in which the key is sent.
        pace: How many calls leave in a second: `pace.rate`. One for all calls of the client, those of runs included,
            and for other processes of the same user with the same address and key, such as notebooks.

    Raises:
        InvalidInput: For an address, a key, a session, limits or a version that cannot be used.

    Example:
        >>> client
        <Client of the sandbox at http://127.0.0.1:...>
    """

    base_url = ""

    def __init__(  # noqa: PLR0913 - what can be chosen, each by name
        self,
        base_url: str,
        api_key: str | ApiKey,
        *,
        timeout: Timeout | float | None = None,
        retries: Retries | None = None,
        session: requests.Session | None = None,
        rate: Rate = "default",
        header: Header = "x-api-key",
        api: ApiVersion = "v1",
        previous_key: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        self._key = api_key if isinstance(api_key, ApiKey) else _checked_key(api_key)
        self._previous_key = _checked_key(previous_key, PREVIOUS_API_KEY) if previous_key else None
        self.base_url, self._is_local = _checked_url(base_url)
        timeout = Timeout() if timeout is None else timeout
        self.timeout = timeout if isinstance(timeout, Timeout) else Timeout(total=timeout)
        if retries is not None and not isinstance(retries, Retries):
            raise InvalidInput(f"retries: expected Retries(attempts=...), got {kind_of(retries)}.")
        self.retries = retries or Retries()
        for name, value, choices in (("header", header, get_args(Header)), ("api", api, get_args(ApiVersion))):
            if value not in choices:
                raise InvalidInput(f"{name}: expected {' or '.join(map(repr, choices))}.")
        self.header, self.api = header, api
        self._sleep = options.get("sleep", time.sleep)
        default = None if self._is_local else DEFAULT_RATE
        shared = None if self._is_local or options else SharedTurn(self.base_url, self._key.reveal())
        clock = options.get("clock", time.monotonic)
        self.pace = Pace(default if rate == "default" else rate, clock=clock, shared=shared)
        self._keeps_pace = True
        self._is_closed = False
        most = options.get("max_response", MAX_RESPONSE)
        self._transport = options.get("transport") or Transport(
            self.base_url, is_local=self._is_local, session=session, max_response=most
        )

    def send(self, call: Call[T]) -> T:
        """Make a call and return its result. Raises the PayerkitError that says what happened."""
        if self._is_closed:
            raise InvalidInput("This client is closed. Make another one with connect() or sandbox().")
        if call.route.startswith("/v1/"):
            newer = "/v2/payouts" if call.route == "/v1/pay" else "/v2" + call.route.removeprefix("/v1")
            route, other = (newer, "v1") if self.api == "v2" else (call.route, "v2")
            call = replace(call, route=route, other_api=other)
        attempt = self._attempt(call)
        try:
            return self._send(attempt)
        except KeyboardInterrupt:
            failure: Any = KeyboardInterrupt()
        # Out here, without the interrupt that came: its frames hold the key and the body.
        if call.is_write and attempt.may_have_happened:
            end, elapsed = BrokenOffError("interrupted"), time.monotonic() - attempt.started
            failure = CallEnd(call, end, self._key, elapsed, self.header, is_interrupted=True).result()
        raise failure

    def _attempt(self, call: Call[T]) -> Attempt[T]:
        """Return the attempt to make a call, whose time begins now."""
        headers = {
            self.header: self._key.reveal(),
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": "payerkit",
        }
        content = None if call.body is None else call.body.content
        if content is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        deadline = time.monotonic() + self.timeout.total
        return Attempt(call, self.base_url + call.path, headers, content, self.timeout, deadline)

    def _send(self, attempt: Attempt[T]) -> T:
        """Try a call as often as the policy allows."""
        call = attempt.call
        seconds = self.timeout.total  # without the waits for a turn, which count against no deadline
        is_paced = self._keeps_pace and not call.route.startswith("/sandbox/")  # no limit counts a sandbox's controls
        tries, departed = 0, 0.0
        while True:
            tries += 1
            if is_paced:
                try:
                    departed = self.pace.wait_turn(self._sleep, longest=self.timeout.total)
                except RateLimited as paused:
                    paused.request = call.name
                    raise attempt.unknown or paused from None
            began = time.monotonic()
            attempt.deadline = began + seconds
            result = self._try(attempt).result()
            seconds -= time.monotonic() - began
            error = result if isinstance(result, PayerkitError) else None
            if is_paced:
                self.pace.record(error, departed)
            if not isinstance(result, PayerkitError):
                return result
            # A later try proves nothing about an earlier one: if that may have happened, it stays unknown.
            if isinstance(result, UnknownOutcome):
                attempt.unknown = result
            attempt.left = False
            pause = self.retries.wait_after(result, tries)
            seconds -= pause
            if seconds <= 0 or not self.retries.allow(result, tries, idempotent=call.idempotent):
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
        done = CallEnd(call, end, self._key, time.monotonic() - attempt.started, self.header)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s -> %s in %.0f ms", call.name, end.status or done.reason, 1000 * done.elapsed)
        return done

    @property
    def account_secret(self) -> bytes:
        """The secret that turns account numbers into keys, which can be compared and not be read."""
        return _account_secret(self._key)

    @property
    def previous_account_secret(self) -> bytes | None:
        """The `account_secret` of the key that this one replaced, or None."""
        return None if self._previous_key is None else _account_secret(self._previous_key)

    def __dir__(self) -> list[str]:
        """Return what a user needs, as Tab shows it; the rest is for other parts of payerkit."""
        shown = {"api", "base_url", "environment", "header", "pace", "retries", "sandbox", "timeout"}
        return sorted(shown | {"close", "reveal_key"})

    @property
    def environment(self) -> str:
        """Where the calls go, by the address: "sandbox" on this machine, "staging", or "live" for any other."""
        if self._is_local:
            return "sandbox"
        return "staging" if urlsplit(self.base_url).hostname in _STAGING_HOSTS else "live"

    def sleep(self, seconds: float) -> None:
        """Wait, between one look at the service and the next; with a sandbox's manual clock, turn that clock."""
        self._sleep(seconds)

    def reveal_key(self) -> str:
        """Return the API key."""
        return self._key.reveal()

    @property
    def sandbox(self) -> Any:
        """The controls of the embedded service, as `SandboxControls`; only a client from `sandbox()` has them."""
        advice = "Use sandbox() to practise; of a sandbox elsewhere, payerkit.client.SandboxControls(client) has them."
        raise AttributeError(f"sandbox: a client from connect() has no controls of a sandbox. {advice}")

    def without_retries(self) -> Client:
        """Return a client with the same connections and `pace`, which tries each call once, and at once.

        To keep the pace is left to the caller, as the retries are.
        """
        client = Client.__new__(Client)
        vars(client).update(vars(self), retries=Retries(attempts=1), _keeps_pace=False)
        return client

    def service_name(self) -> str:
        """Return what identifies the service: the id of a sandbox, the address of any other.

        Raises NotSent or ServiceError if a service on this machine does not respond.
        """
        if not self._is_local:  # sandboxes are on this machine
            return self.base_url
        call = Call(operation="service_name", method="GET", route="/", read=lambda _: None)
        done = self._try(self._attempt(call))
        if done.end.status is None and isinstance(failure := done.result(), PayerkitError):
            raise failure
        return done.end.headers.get(_SANDBOX, self.base_url)

    def request_members(self, request_id: str) -> dict[str, Any]:
        """Return what the service says about a request, as received and by the names on the wire.

        `GET /v2/request/{requestId}`, **beyond the specification**. Raises InvalidInput for an id that cannot be sent,
        and otherwise the PayerkitError that says what happened.
        """
        call = request_status_call(request_id, lambda response: response if isinstance(response, dict) else {})
        return self.send(call)

    def close(self) -> None:
        """Close the connections; calls with this client raise InvalidInput from now on."""
        self._is_closed = True
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self.base_url} ({self.environment}), key {self._key.fingerprint}>"

    def _picture_rows(self) -> list[tuple[str, str]]:
        """Return the names and values of its picture; the values are HTML."""
        rate = "no limit" if self.pace.rate is None else f"at most {self.pace.rate:g} calls a second"
        return [
            ("Address", html.code(self.base_url)),
            ("Key", f"{html.code(self._key.fingerprint)} (its fingerprint, not the key)"),
            ("Pace", rate),
            ("Time limit", f"{self.timeout.total:g} s a call, with its retries"),
            ("Tries", f"up to {self.retries.attempts}, where that cannot do harm"),
        ]

    def _repr_html_(self) -> str:
        caption = html.Html(f"Client {html.badge(self.environment)}")
        return html.picture(html.table(self._picture_rows(), caption=caption))

    def __reduce__(self) -> Never:
        raise TypeError("a client cannot be pickled: make one in each process, with connect()")


def check_client(client: object) -> None:
    """Raise InvalidInput for anything but a client."""
    if not isinstance(client, Client):
        raise InvalidInput(f"The first argument must be a client, from connect() or sandbox(); got {kind_of(client)}.")


def _account_secret(key: ApiKey) -> bytes:
    return hashlib.sha256(b"payerkit accounts" + key.reveal().encode()).digest()


def _checked_key(key: object, name: str = "api_key") -> ApiKey:
    if not isinstance(key, str) or not key:
        raise InvalidInput("api_key: give the key as text, or set PAYERKIT_API_KEY.")
    if key != key.strip() or not (key.isascii() and key.isprintable()):
        raise InvalidInput(
            f"{name}: the key has a blank, or a character that cannot be sent in a header; copy it again."
        )
    return ApiKey(key)


def _checked_url(base_url: object) -> tuple[str, bool]:
    """Return the address without a trailing slash, and whether it is this machine. Raises InvalidInput."""
    if not isinstance(base_url, str) or not (base_url.isascii() and base_url.isprintable()):
        raise InvalidInput("base_url: give the address as text, such as https://api.example.com.")
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise InvalidInput(f"base_url: {error}.") from None
    if parts.scheme not in {"http", "https"} or not host or " " in base_url:
        raise InvalidInput("base_url: give the whole address, such as https://api.example.com.")
    if parts.username is not None or "?" in base_url or "#" in base_url:
        raise InvalidInput("base_url: leave out user, password, ? and #; the key goes into api_key.")
    is_local = is_loopback(host)
    if parts.scheme == "http" and not is_local:
        raise InvalidInput("base_url: use https://; plain http would expose the key and all data on the way.")
    return base_url.rstrip("/"), is_local


UNKNOWN_REQUEST = "No request has this id with this key, or the service does not offer this call, which is beyond the "
UNKNOWN_REQUEST += "specification."
"""Advice about a request that is not found."""


def request_status_call(request_id: str, read: Callable[[Any], T]) -> Call[T]:
    """Return the call that asks for the state of a request. Raises InvalidInput for an id that cannot be sent."""
    return Call(
        operation="get_request",
        method="GET",
        route="/v2/request/{requestId}",
        ids={"requestId": check_id(request_id, "request_id")},
        read=read,
        hints=dict.fromkeys((404, 405), UNKNOWN_REQUEST),
    )
