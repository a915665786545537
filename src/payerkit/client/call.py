"""A call as an endpoint describes it, the attempt to make it, and its end: a result, or the error that says why not."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic_core import PydanticSerializationError, to_json
from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from payerkit import errors
from payerkit.client.pace import Timeout
from payerkit.masking import holds_email, redact
from payerkit.reasons import WAITING_CODES, Outcome
from payerkit.wire import ApiKey, our_name, parse_json
from payerkit.wording import Wording

T = TypeVar("T")
E = TypeVar("E", bound=errors.PayerkitError)

ApiVersion = Literal["v1", "v2"]
"""Which paths the calls have: those of the specification, or the newer ones of the operator's documentation."""

Header = Literal["x-api-key", "x-client-id"]
"""The header in which the key is sent. Calls about payers need x-api-key; a client id serves for requests."""


class RequestBody:
    """A JSON request body with a redacted repr, which knows the values that no message may repeat.

    Raises InvalidInput for text that is not valid Unicode.
    """

    __slots__ = ("_private", "content")

    def __init__(self, fields: Mapping[str, Any], private: Callable[[], Iterable[str]] = tuple) -> None:
        try:
            self.content = to_json(fields)
        except PydanticSerializationError:
            raise errors.InvalidInput(
                "A value cannot be written as JSON: it is not text, or has an unpaired surrogate (invalid Unicode). "
                "Nothing was sent."
            ) from None
        self._private = private

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
    happened. hints: advice by status, where the endpoint knows more than the error class. other_api: the version of the
    API in which this call has another path, such as "v2"; "" if no version has.
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

    other_api: str = ""

    @property
    def name(self) -> str:
        """Method and route, without ids: safe to show and to log."""
        return f"{self.method} {self.route}"

    @property
    def path(self) -> str:
        """The path and the query, each id percent-encoded as a whole, slashes too."""
        path = self.route
        for name, value in self.ids.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        return path + (f"?{urlencode(self.query)}" if self.query else "")

    @property
    def is_write(self) -> bool:
        """Return True if the call may change something."""
        return self.method != "GET"


@dataclass(slots=True)
class Attempt(Generic[T]):
    """A call under way: until when its present try may take, and whether it may have had an effect.

    started: the `time.monotonic()` at which it began. deadline: that at which the present try is given up. left: True
    once a byte of the present try may have left; False again if its end proves that it had no effect. unknown: the
    error of an earlier try that may have had an effect. received, max_bytes: bytes of the present response so far, and
    how many are read at most, with headers and framing.
    """

    call: Call[T]
    url: str
    headers: dict[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    timeout: Timeout
    deadline: float
    started: float = field(default_factory=time.monotonic)
    left: bool = False
    unknown: errors.UnknownOutcome | None = None
    received: int = 0
    max_bytes: int = 0

    @property
    def too_late(self) -> str:
        """The reason to give when the deadline is over."""
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


_MAX_ENTRIES = 50
"""Entries of an error list that are read: more than a body has fields."""

_CODE = re.compile(r"(?=.{3,64}\Z)[a-z][a-z0-9]*(_[a-z0-9]+)+")
"""A machine-readable code: one word in snake_case. A word without an underscore may be part of a sentence."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error body: its message, its code, the fields it names. is_from_api: False for a proxy's page, say."""

    message: str
    fields: tuple[errors.FieldProblem, ...]
    code: str = ""
    is_from_api: bool = True


def read_error_body(content: bytes, private: Iterable[str]) -> ErrorBody:
    """Return what an error body says, with private values redacted.

    Read are the published shapes: `message` as text, list of texts, list of objects or one object, and `errors` beside
    it. HTML, an empty body and a truncated one have no message.
    """
    try:
        body = parse_json(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return ErrorBody("", (), is_from_api=False)
    fields, texts = [], []
    for entry in [*_as_list(body.get("message")), *_as_list(body.get("errors"))]:
        name, text, code = (redact(part, private) for part in _parts(entry))
        if name:
            fields.append(errors.FieldProblem(our_name(name), name, text, code))
        else:
            texts.append(text)
    repeated = {problem.message for problem in fields}
    repeated.add("; ".join(f"{problem.wire_name} {problem.message}" for problem in fields))
    message = "; ".join(text for text in dict.fromkeys(texts) if text and text not in repeated)
    message = message or ("" if fields else redact(_parts(body.get("error"))[1], private))
    return ErrorBody(message, tuple(fields), _find_code(body, private))


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value[:_MAX_ENTRIES] if isinstance(value, list) else [value]


def _parts(entry: Any) -> tuple[str, str, str]:
    """Return the name on the wire of the field that an entry is about, its message and its code, each "" if missing."""
    if not isinstance(entry, dict):
        return "", entry if isinstance(entry, str) else "", ""
    source, text = entry.get("source"), entry.get("message")
    name = entry.get("field") or (source.get("pointer") if isinstance(source, dict) else None)
    name = name.rpartition("/")[2] if isinstance(name, str) else ""
    return name, text if isinstance(text, str) else "", str(entry.get("code") or "")


def _find_code(body: dict[str, Any], private: Iterable[str]) -> str:
    """Return the first code in an error body that repeats no private value, or ""."""
    places = [body.get(name) for name in ("code", "errorCode", "error", "message")]
    places += [entry.get("code") for entry in _as_list(body.get("errors")) if isinstance(entry, dict)]
    for code in places:
        if isinstance(code, str) and _CODE.fullmatch(code) and (code in WAITING_CODES or not _repeats(code, private)):
            return code
    return ""


def _repeats(code: str, private: Iterable[str]) -> bool:
    """Return True if a code contains a private value, as a part between underscores or in another form."""
    parts = code.split("_")
    return redact(code, private) != code or any(value.casefold() in parts for value in private)


_REFUSALS: dict[int, tuple[type[errors.Refused], str]] = {
    401: (errors.WrongKey, "wrong_key"),
    403: (errors.WrongKey, "not_permitted"),
    404: (errors.NotFound, "not_found"),
    429: (errors.RateLimited, "too_many_requests"),
}

_CHECK_ADDRESS = Wording("<Nothing was changed. |>The response is not the API's: check that base_url is its address.")

_NO_ROUTE = (
    "<Nothing was changed. |>The service has no such route, which says nothing about the payer. Its paths may be those "
    'of connect(..., api="{}"); else check that base_url is its address.'
)

_OTHER_HEADER: dict[Header, str] = {
    "x-api-key": 'A Client ID is sent by connect(..., header="x-client-id").',
    "x-client-id": 'A key that is no Client ID is sent by connect(..., header="x-api-key").',
}
"""What may be wrong besides the key: the operator's documents disagree on which of the two a call needs."""

_PROVES_NOTHING = {408, 499}
"""Statuses of intermediaries that gave up waiting; the service may have done the work."""


@dataclass(frozen=True, slots=True)
class CallEnd(Generic[T]):
    """How one try of a call ended: with a response, or with a failure of the transport.

    elapsed: seconds since the call began. header: in which the key was sent. is_interrupted: the failure is a
    KeyboardInterrupt.
    """

    call: Call[T]
    end: HttpResponse | BrokenOffError
    key: ApiKey
    elapsed: float
    header: Header
    is_interrupted: bool = False

    @property
    def reason(self) -> str:
        """Why no complete response came, redacted: a user's adapter or a proxy may quote what was sent."""
        return self._redact(str(self.end))

    def result(self) -> T | errors.PayerkitError:
        """Return the result of the call, or the error that its end proves."""
        status = self.end.status
        if isinstance(self.end, NotSentError):
            return self._error(errors.NotSent, Outcome("never_left", {"why": self.reason}))
        if self.is_interrupted:
            return self._unknown(Outcome("interrupted_call"))
        if status is None:
            return self._failed(Outcome("no_response", {"why": self.reason}))
        if 200 <= status < 300:
            return self._success(status)
        if 300 <= status < 400:
            return self._redirect(status)
        if 400 <= status < 500 and status not in _PROVES_NOTHING:
            return self._refusal(status)
        return self._failed(Outcome("responded", {"status": status}))

    def _success(self, status: int) -> T | errors.PayerkitError:
        if isinstance(self.end, HttpResponse):
            try:
                return self.call.read(parse_json(self.end.content))
            except ValueError as error:
                problem = Outcome("unreadable_response", {"status": status, "why": self._redact(str(error))})
        else:
            problem = Outcome("broken_response", {"status": status, "why": self.reason})
        if self.call.is_write:
            return self._unknown(problem)
        return self._error(errors.UnreadableAnswer, Outcome("unreadable", {"cause": problem}))

    def _refusal(self, status: int) -> errors.PayerkitError:
        content = self.end.content if isinstance(self.end, HttpResponse) else b""
        body = read_error_body(content, self._private())
        until = WAITING_CODES.get(body.code)
        # A 403 with such a code is about the payer, and the key is fine.
        known = {} if until and status == HTTPStatus.FORBIDDEN else _REFUSALS
        kind, code = known.get(status, (errors.Refused, "refused"))
        is_cut = isinstance(self.end, BrokenOffError)
        params = {"status": status, "words": body.message, "is_cut": is_cut, "seconds": self._retry_after()}
        # The words of web frameworks about a route that they do not have.
        is_unrouted = status == HTTPStatus.NOT_FOUND and body.message.startswith(f"Cannot {self.call.method} /")
        is_foreign = is_unrouted or not body.is_from_api
        advice = self.call.hints.get(status)
        if status == HTTPStatus.NOT_FOUND and is_foreign and self.call.other_api:
            advice = Wording(_NO_ROUTE.format(self.call.other_api))
        elif kind in {errors.Refused, errors.NotFound} and is_foreign and not (is_unrouted and advice):
            advice = _CHECK_ADDRESS
        elif status == HTTPStatus.UNAUTHORIZED:
            advice = f"{errors.WrongKey.advice} {_OTHER_HEADER[self.header]}"
        if until and kind is errors.Refused:
            advice = Wording(f"<Nothing was changed. Call|Send it> again once {until}.")
        error = self._error(
            kind,
            Outcome(code, params),
            fields=body.fields,
            advice=advice,
            code=body.code,
            foreign=is_foreign,
        )
        error.retryable = error.retryable or is_cut or (until is not None and kind is errors.Refused)
        return error

    def _redirect(self, status: int) -> errors.PayerkitError:
        try:
            host = urlsplit(self.end.headers.get("location", "")).hostname or "another address"
        except ValueError:
            host = "another address"
        outcome = Outcome("redirected", {"status": status, "host": self._redact(host)})
        return self._error(errors.Refused, outcome, advice="Give the final address to connect(base_url).", foreign=True)

    def _failed(self, what: Outcome) -> errors.PayerkitError:
        if self.call.is_write:
            return self._unknown(what)
        return self._error(errors.ServiceError, Outcome("failed", {"cause": what}))

    def _unknown(self, what: Outcome) -> errors.UnknownOutcome:
        call = self.call
        fingerprint = call.body.fingerprint(self.key.reveal().encode()) if call.body else None
        return self._error(
            errors.InterruptedCall if self.is_interrupted else errors.UnknownOutcome,
            Outcome("lost", {"operation": call.operation, "fingerprint": fingerprint, "cause": what}),
            advice=call.if_unknown,
            operation=call.operation,
            client_user_id=call.client_user_id,
            fingerprint=fingerprint,
            elapsed=self.elapsed,
        )

    def _error(self, kind: type[E], outcome: Outcome, **facts: Any) -> E:
        outcome = Outcome(outcome.code, {"call": self.call.name, **outcome.params})
        facts |= {"status_code": self.end.status, "retry_after": self._retry_after(), "request": self.call.name}
        return kind(outcome.text, outcome=outcome, **{name: fact for name, fact in facts.items() if fact is not None})

    def _retry_after(self) -> float | None:
        """Return the seconds that the service requests to wait, given as a number or as a date."""
        value = self.end.headers.get("retry-after")
        try:
            return None if value is None else float(Retry().parse_retry_after(value))
        except (InvalidHeader, OverflowError, ValueError):  # more digits than Python turns into a number
            return None

    def _redact(self, text: str) -> str:
        return redact(text, self._private())

    def _private(self) -> tuple[str, ...]:
        """Return the values that a service may repeat and a message may not."""
        sent = self.call.body.private if self.call.body else ()
        emails = filter(holds_email, [*self.call.ids.values(), self.call.client_user_id or ""])
        return (self.key.reveal(), *sent, *emails)
