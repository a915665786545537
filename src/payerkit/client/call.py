"""A call, as an endpoint describes it to the client, and the body of its request."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, Self, TypeVar
from urllib.parse import quote, urlencode

from pydantic_core import PydanticSerializationError, to_json

from payerkit.errors import InvalidInput

T = TypeVar("T")

ApiVersion = Literal["v1", "v2"]
"""Which paths the calls about payers have: those of the specification, or the newer ones of the operator's
documentation."""


class Sendable(Protocol):
    """An object with fields to send, some of them private."""

    def to_dict(self, *, reveal: bool) -> dict[str, Any]:
        """Return the fields by their names on the wire."""

    def private_values(self) -> tuple[str, ...]:
        """Return the true values of the fields that are masked where they are shown."""


class RequestBody:
    """A JSON request body with a redacted repr, which knows the values that no message may repeat.

    Raises InvalidInput for text that is not valid Unicode.
    """

    __slots__ = ("_private", "content")

    def __init__(self, fields: Mapping[str, Any], private: Callable[[], Iterable[str]] = tuple) -> None:
        try:
            self.content = to_json(fields)
        except PydanticSerializationError:
            raise InvalidInput(
                "A value cannot be written as JSON: it is not text, or has an unpaired surrogate (invalid Unicode). "
                "Nothing was sent."
            ) from None
        self._private = private

    @classmethod
    def of(cls, sent: Sendable) -> Self:
        """Return the body that sends an object."""
        return cls(sent.to_dict(reveal=True), sent.private_values)

    @property
    def private(self) -> tuple[str, ...]:
        """The values that no message may repeat; collected only when there is a message."""
        return tuple(self._private())

    def __repr__(self) -> str:
        return f"<body of {len(self.content)} bytes>"

    def fingerprint(self, key: bytes) -> str:
        """Return twelve hex digits that tell bodies apart and, without the key, reveal nothing of them."""
        return hmac.new(key, self.content, hashlib.sha256).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One call: what is sent, how its response is read, and what its failures mean.

    operation: name of the public function. route: the path with `{clientUserId}` in it; `ids` fill it. read: makes the
    result from the parsed JSON, and raises ValueError for JSON that the API does not document. idempotent: a write
    that sets a constant, so that repeating it does no harm. if_unknown: how the user finds out whether a write
    happened. hints: advice by status, where the endpoint knows more than the error class. read_missing: makes the
    result from the message of a 404 that is not an error, or returns None.
    """

    operation: str
    method: str
    route: str
    read: Callable[[Any], T]
    ids: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: RequestBody | None = None
    client_user_id: str | None = None
    idempotent: bool = False
    if_unknown: str = ""
    hints: Mapping[int, str] = field(default_factory=dict)
    read_missing: Callable[[str], T | None] | None = None

    @property
    def name(self) -> str:
        """Method and route, without ids: safe to show and to log."""
        return f"{self.method} {self.route}"

    @property
    def path(self) -> str:
        """The path and the query, each id percent-encoded as a whole, slashes too."""
        path = self.route.format_map({name: quote(value, safe="") for name, value in self.ids.items()})
        return path + (f"?{urlencode(self.query)}" if self.query else "")

    def in_version(self, api: ApiVersion) -> Call[T]:
        """Return the call with its path in a version of the API; /v1/pay is the same in both."""
        if api == "v1" or not self.route.startswith("/v1/payer"):
            return self
        return replace(self, route="/v2" + self.route.removeprefix("/v1"))

    @property
    def is_control(self) -> bool:
        """Return True if the call controls a sandbox, which no limit counts."""
        return self.route.startswith("/sandbox/")

    @property
    def is_write(self) -> bool:
        """Return True if the call may change something."""
        return self.method != "GET"


class StoppedError(Exception):
    """The call was stopped before its request left."""


class Cancellation:
    """Stops the calls of another thread, and knows if a write may have left by then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._has_left = False

    @property
    def is_stopped(self) -> bool:
        """True once the calls were stopped."""
        return self._stopped.is_set()

    @property
    def has_left(self) -> bool:
        """True if a write may have left, and nothing proves that it had no effect."""
        return self._has_left

    def stop(self) -> bool:
        """Stop the calls: no write leaves from now on. Return False, and stop nothing, if one has left already."""
        with self._lock:
            if not self._has_left:
                self._stopped.set()
            return not self._has_left

    def check(self) -> None:
        """Raise StoppedError if the calls were stopped."""
        if self.is_stopped:
            raise StoppedError

    def depart(self) -> None:
        """Note that a write leaves now. Raises StoppedError if the calls were stopped before."""
        with self._lock:
            self.check()
            self._has_left = True

    def take_back(self) -> None:
        """Note that the write which left is proven to have had no effect."""
        with self._lock:
            self._has_left = False

    def sleep(self, seconds: float, sleep: Callable[[float], object]) -> bool:
        """Wait as `sleep` does, but not longer than until the calls are stopped; return whether they are."""
        if sleep is time.sleep:
            return self._stopped.wait(seconds)
        sleep(seconds)
        return self.is_stopped
