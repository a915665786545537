"""The client: where the service is, with which key, and how often a call is tried."""

from __future__ import annotations

import hashlib
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Never, Self, TypedDict, TypeVar, Unpack
from urllib.parse import urlsplit

from payerkit.client.call import Call
from payerkit.client.exchange import Exchange
from payerkit.client.outcome import Judge
from payerkit.client.transport import MAX_ANSWER, Timeout, Transport
from payerkit.errors import (
    InvalidInput,
    NotSent,
    PayerkitError,
    RateLimited,
    ServiceError,
    UnknownOutcome,
    UnreadableAnswer,
)
from payerkit.masking import ApiKey
from payerkit.wire import is_loopback

T = TypeVar("T")

ATTEMPTS = 3


class Seams(TypedDict, total=False):
    """What tests and bulk runs set: how often a call is tried, how it waits, how many bytes of an answer are read."""

    attempts: int
    sleep: Callable[[float], None]
    max_answer: int


_MAX_BACKOFF = 8.0
_SANDBOX = "x-payerkit-sandbox"

log = logging.getLogger("payerkit")


class _Attempt(NamedTuple, Generic[T]):
    """One exchange of a call, and what it proves."""

    exchange: Exchange
    result: T | PayerkitError


class Client:
    """A connection pool to one service, with its key. Made by `connect()` or `sandbox()`; safe to share by threads.

    Retries follow what a failure proves: what never left, and what was refused for coming too fast, is sent
    again; so is what only reads, or sets a constant. Any other write is sent once.
    """

    base_url = ""

    def __init__(
        self,
        base_url: str,
        api_key: str | ApiKey,
        *,
        timeout: Timeout | float | None = None,
        pool_size: int = 10,
        **seams: Unpack[Seams],
    ) -> None:
        self._key = api_key if isinstance(api_key, ApiKey) else _checked_key(api_key)
        self.base_url, is_local = _checked_url(base_url)
        self.timeout = _timeout(timeout)
        self._attempts = seams.get("attempts", ATTEMPTS)
        self._sleep = seams.get("sleep", time.sleep)
        self._is_closed = False
        self._transport = Transport(
            self.base_url, local=is_local, pool_size=pool_size, max_answer=seams.get("max_answer", MAX_ANSWER)
        )

    def send(self, call: Call[T]) -> T:
        """Make a call and return what it reads from the answer. Raises a PayerkitError of the class that applies."""
        if self._is_closed:
            raise InvalidInput("This client is closed. Make another one with connect() or sandbox().")
        started = time.monotonic()
        until = started + self.timeout.total
        unknown: PayerkitError | None = None
        attempt = 0
        while True:
            attempt += 1
            tried = self._attempt(call, started, until)
            result = tried.result
            if not isinstance(result, PayerkitError):
                return result
            # Whatever a later attempt proves, it does not prove that the earlier one did not happen.
            unknown = result if isinstance(result, UnknownOutcome) else unknown
            is_last = tried.exchange.interrupted or attempt == self._attempts or not _may_repeat(call, result)
            wait = _wait(result, attempt)
            if is_last or time.monotonic() + wait >= until or not self._waited(wait, unknown):
                raise unknown or result

    def _attempt(self, call: Call[T], started: float, until: float) -> _Attempt[T]:
        exchange = Exchange(until=until, is_write=call.is_write)
        try:
            self._transport.perform(call, self._headers(call), exchange, self.timeout)
            elapsed = time.monotonic() - started
            log.debug("%s -> %s in %.0f ms", call.name, exchange.status or exchange.fault, 1000 * elapsed)
            return _Attempt(exchange, Judge(call, exchange, self._key, elapsed).result())
        except KeyboardInterrupt as error:
            if not (exchange.sent and call.is_write):
                raise KeyboardInterrupt from None
            exchange.fail(error)
        return _Attempt(exchange, Judge(call, exchange, self._key, time.monotonic() - started).result())

    def _waited(self, seconds: float, unknown: PayerkitError | None) -> bool:
        """Wait; return False if a person interrupts while an earlier attempt's outcome is unknown."""
        try:
            self._sleep(seconds)
        except KeyboardInterrupt:
            if unknown is None:
                raise
            return False
        return True

    def _headers(self, call: Call[Any]) -> dict[str, str]:
        headers = {
            "x-api-key": self._key.reveal(),
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": "payerkit",
        }
        return headers | ({"Content-Type": "application/json"} if call.body else {})

    @property
    def account_secret(self) -> bytes:
        """The secret with which account numbers are turned into keys that can be compared and not be read."""
        return hashlib.sha256(b"payerkit accounts" + self._key.reveal().encode()).digest()

    def reveal_key(self) -> str:
        """Return the API key."""
        return self._key.reveal()

    @property
    def sandbox(self) -> Any:
        """Controls of the embedded service, as `SandboxControls`; None on a live client."""
        return None

    def sibling(self, *, pool_size: int) -> Client:
        """Return a client of the same service with connections of its own, which tries each call once."""
        return Client(self.base_url, self._key, timeout=self.timeout, pool_size=pool_size, attempts=1)

    def service_name(self) -> str:
        """Return what tells this service from others: a sandbox says which one it is, others by address.

        Raises NotSent or ServiceError if a service on this machine does not answer.
        """
        name = self.base_url
        if is_loopback(urlsplit(self.base_url).hostname or ""):  # where sandboxes are
            call = Call(operation="service_name", method="GET", route="/", read=lambda _: None)
            now = time.monotonic()
            tried = self._attempt(call, now, now + self.timeout.total)
            if tried.exchange.status is None and isinstance(tried.result, PayerkitError):
                raise tried.result
            name = tried.exchange.headers.get(_SANDBOX, name)
        return name

    def close(self) -> None:
        """Close the connections; calls with this client are refused from now on."""
        self._is_closed = True
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self.base_url}, key {self._key.fingerprint}>"

    def __reduce__(self) -> Never:
        raise TypeError("a client is not pickled: make one of its own in each process, with connect()")


def check_client(client: object) -> None:
    """Raise InvalidInput for anything but a client."""
    if not isinstance(client, Client):
        raise InvalidInput(
            f"The first argument is a client, from connect() or sandbox(); got a {type(client).__name__}."
        )


def _may_repeat(call: Call[Any], error: PayerkitError) -> bool:
    if isinstance(error, UnknownOutcome):
        return call.repeatable
    return isinstance(error, NotSent | RateLimited | ServiceError | UnreadableAnswer)


def _wait(error: PayerkitError, attempt: int) -> float:
    """Return the seconds to wait: what the service named, else full jitter on a doubling bound."""
    if error.retry_after is not None:
        return error.retry_after
    return random.uniform(0, min(_MAX_BACKOFF, 0.25 * 2**attempt))  # noqa: S311 - spreads load, keeps no secret


def _timeout(given: Timeout | float | None) -> Timeout:
    if isinstance(given, Timeout):
        return given
    return Timeout() if given is None else Timeout(total=given)


def _checked_key(key: object) -> ApiKey:
    if not isinstance(key, str) or not key:
        raise InvalidInput("api_key: give the key as text, or set PAYERKIT_API_KEY.")
    if key != key.strip():
        raise InvalidInput("api_key: the key begins or ends with a blank or a line break; copy it again without.")
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput("api_key: the key holds a letter that cannot be sent; copy it again.")
    return ApiKey(key)


def _checked_url(base_url: object) -> tuple[str, bool]:
    """Return the address without a closing slash, and whether it is this machine. Raises InvalidInput."""
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
        raise InvalidInput("base_url: use https://; plain http would show the key and all data on the way.")
    return base_url.rstrip("/"), is_local
