"""A call as an endpoint describes it, the attempt to make it, and its end: a result, or
the error that says why not.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic_core import PydanticSerializationError, to_json

from payerkit import errors
from payerkit.client.pace import Timeout
from payerkit.reasons import WAITING_CODES, Outcome
from payerkit.redaction import holds_email, redact
from payerkit.wire import ApiKey, our_name, parse_json

T = TypeVar("T")
E = TypeVar("E", bound=errors.PayerkitError)

ApiVersion = Literal["v1", "v2"]
"""Which paths the calls have: those of the specification, or the newer ones of the
operator's documentation.
"""

KeyHeader = Literal["x-api-key", "x-client-id"]
"""The header in which the key is sent. The published document asks for x-api-key in
calls about payers, and the Dashboard gives Client IDs, which are sent as x-client-id
(documents of 2026-08-21).
"""


class RequestBody:
    """A JSON request body with a redacted repr, which knows the values that no message
    may repeat.

    Raises InvalidInput for text that is not valid Unicode.
    """

    __slots__ = ("_private", "content")

    def __init__(
        self, fields: Mapping[str, Any], private: Callable[[], Iterable[str]] = tuple
    ) -> None:
        try:
            self.content = to_json(fields)
        except PydanticSerializationError:
            raise errors.InvalidInput(
                "A value cannot be written as JSON: it is not text, or has an unpaired"
                " surrogate (invalid Unicode). Nothing was sent."
            ) from None
        self._private = private

    @property
    def private(self) -> tuple[str, ...]:
        """The values that no message may repeat; collected only when there is a
        message.
        """
        return tuple(self._private())

    def __repr__(self) -> str:
        return f"<body of {len(self.content)} bytes>"

    def fingerprint(self, key: bytes) -> str:
        """Return twelve hex digits that tell bodies apart and, without the key, reveal
        nothing of them.
        """
        return hmac.new(key, self.content, hashlib.sha256).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One call: what is sent, how its response is read, and what its failures mean.

    operation: name of the public function. route: the path with `{clientUserId}` in it;
    `ids` fill it. read: makes the result from the parsed JSON, and raises ValueError
    for JSON that the API does not document. idempotent: a write that sets a constant,
    so that repeating it does no harm. if_unknown: how the user finds out whether a
    write happened. hints: advice by status, where the endpoint knows more than the
    error class. other_api: the version of the API in which this call has another path,
    such as "v2"; "" if no version has.
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
        if self.query:
            path += f"?{urlencode(self.query)}"
        return path

    @property
    def is_write(self) -> bool:
        """Return True if the call may change something."""
        return self.method != "GET"


@dataclass(slots=True)
class Attempt(Generic[T]):
    """A call under way: until when its present try may take, and whether it may have
    had an effect.

    started: the `time.monotonic()` at which it began. deadline: that at which the
    present try is given up. left: True once a byte of the present try may have left;
    False again if its end proves that it had no effect. unknown: the error of an
    earlier try that may have had an effect.
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

    @property
    def too_late(self) -> str:
        """The reason to give when the deadline is over."""
        if self.left:
            return "no complete response before the deadline"
        return "no connection in time"

    @property
    def may_have_happened(self) -> bool:
        """True if the call left in some try, and nothing proves that it had no
        effect.
        """
        return self.left or self.unknown is not None

    def seconds_left(self, limit: float = math.inf) -> float:
        """Return the seconds until the deadline, at most `limit`. Raises TimeoutError
        if none are left.
        """
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError(self.too_late)
        return min(seconds, limit)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response: its status, its headers by name in any case, its body, complete and
    unpacked.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


class BrokenOffError(Exception):
    """The request may have arrived, and no complete response came. status, headers: of
    the response, if it began.
    """

    def __init__(
        self,
        reason: str,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = headers or {}


class NotSentError(BrokenOffError):
    """The request never left this machine. The reason quotes nothing of it, and nothing
    that the service sent.
    """


_MAX_ENTRIES = 50
"""Entries of an error list that are read: more than a body has fields."""

_CODE = re.compile(r"(?=.{3,64}\Z)[a-z][a-z0-9]*(_[a-z0-9]+)+")
"""A machine-readable code: one word in snake_case. A word without an underscore may be
part of a sentence.
"""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error body: its message, its code, the fields it names. is_from_api: False for
    a proxy's page, say.
    """

    message: str
    fields: tuple[errors.FieldProblem, ...]
    code: str = ""
    is_from_api: bool = True


def read_error_body(content: bytes, private: Iterable[str]) -> ErrorBody:
    """Return what an error body says, with private values redacted.

    Read are the published shapes: `message` as text, list of texts, list of objects or
    one object, and `errors` beside it. HTML, an empty body and a truncated one have no
    message.
    """
    try:
        body = parse_json(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return ErrorBody("", (), is_from_api=False)
    fields = []
    texts = []
    for entry in [*_entries(body.get("message")), *_entries(body.get("errors"))]:
        name, text, code = (redact(part, private) for part in _parts(entry))
        if name:
            fields.append(errors.FieldProblem(our_name(name), name, text, code))
        else:
            texts.append(text)
    if not fields and not any(texts):
        texts.append(redact(_text(body.get("error")), private))
    repeated = {problem.message for problem in fields}
    repeated.add(
        "; ".join(f"{problem.wire_name} {problem.message}" for problem in fields)
    )
    message = "; ".join(
        text for text in dict.fromkeys(texts) if text and text not in repeated
    )
    return ErrorBody(message, tuple(fields), _find_code(body, private))


def _entries(value: Any) -> list[Any]:
    """Return the entries of a member, which may be one alone."""
    if value is None:
        return []
    if isinstance(value, list):
        return value[:_MAX_ENTRIES]
    return [value]


def _parts(entry: Any) -> tuple[str, str, str]:
    """Return the name on the wire of the field that an entry is about, its message and
    its code, each "" if missing.
    """
    if not isinstance(entry, dict):
        return "", _text(entry), ""
    name = _text(entry.get("field"))
    source = entry.get("source")
    if not name and isinstance(source, dict):
        name = _text(source.get("pointer"))
    name = name.rpartition("/")[2]
    return name, _text(entry.get("message")), str(entry.get("code") or "")


def _text(value: Any) -> str:
    """Return a text, and "" for anything else."""
    if isinstance(value, str):
        return value
    return ""


def _find_code(body: dict[str, Any], private: Iterable[str]) -> str:
    """Return the first code in an error body that repeats no private value, or ""."""
    members = [body.get(name) for name in ("code", "errorCode", "error", "message")]
    members += [
        entry.get("code")
        for entry in _entries(body.get("errors"))
        if isinstance(entry, dict)
    ]
    for code in members:
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            continue
        if code in WAITING_CODES or not _repeats(code, private):
            return code
    return ""


def _repeats(code: str, private: Iterable[str]) -> bool:
    """Return True if a code contains a private value, as a part between underscores or
    in another form.
    """
    if redact(code, private) != code:
        return True
    parts = code.split("_")
    return any(value.casefold() in parts for value in private)


_REFUSALS: dict[int, tuple[type[errors.Refused], str]] = {
    401: (errors.WrongKey, "wrong_key"),
    403: (errors.WrongKey, "not_permitted"),
    404: (errors.NotFound, "not_found"),
    429: (errors.RateLimited, "too_many_requests"),
}

_CHECK_ADDRESS = (
    "Nothing was changed. The response is not the API's: check that base_url is its"
    " address."
)

_NO_ROUTE = (
    "Nothing was changed. The service has no such route, which says nothing about"
    ' the payer. Its paths may be those of connect(..., api="{}"); else check that'
    " base_url is its address."
)

_OTHER_HEADER: dict[KeyHeader, str] = {
    "x-api-key": (
        "It was sent as an API key (x-api-key): if it is a Client ID, give it to"
        " connect(client_id=...)."
    ),
    "x-client-id": (
        "It was sent as a Client ID (x-client-id): if it is an API key, give it to"
        " connect(api_key=...). A Client ID that is linked to an orchestrator needs the"
        " orchestrator's key, too."
    ),
}
"""What may be wrong besides the key: the operator's documents disagree on which of the
two a call needs.
"""

_PROVES_NOTHING = {408, 499}
"""Statuses of intermediaries that gave up waiting; the service may have done the
work.
"""


def _read_date(text: str) -> datetime | None:
    """Return the time in a header; None if it is not a date."""
    try:
        time = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    return time


@dataclass(frozen=True, slots=True)
class CallEnd(Generic[T]):
    """How one try of a call ended: with a response, or with a failure of the transport.

    elapsed: seconds since the call began. header: in which the key was sent.
    is_interrupted: the failure is a KeyboardInterrupt.
    """

    call: Call[T]
    end: HttpResponse | BrokenOffError
    key: ApiKey
    elapsed: float
    header: KeyHeader
    is_interrupted: bool = False

    @property
    def reason(self) -> str:
        """Why no complete response came, redacted: a user's adapter or a proxy may
        quote what was sent.
        """
        return self._redact(str(self.end))

    def result(self) -> T | errors.PayerkitError:
        """Return the result of the call, or the error that its end proves."""
        status = self.end.status
        if isinstance(self.end, NotSentError):
            return self._error(
                errors.NotSent, Outcome("never_left", {"why": self.reason})
            )
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
                problem = Outcome(
                    "unreadable_response",
                    {"status": status, "why": self._redact(str(error))},
                )
        else:
            problem = Outcome("broken_response", {"status": status, "why": self.reason})
        if self.call.is_write:
            return self._unknown(problem)
        return self._error(
            errors.UnreadableAnswer, Outcome("unreadable", {"cause": problem})
        )

    def _refusal(self, status: int) -> errors.PayerkitError:
        content = b""
        if isinstance(self.end, HttpResponse):
            content = self.end.content
        body = read_error_body(content, self._private())
        is_cut = isinstance(self.end, BrokenOffError)
        until = WAITING_CODES.get(body.code)
        kind, code = _REFUSALS.get(status, (errors.Refused, "refused"))
        if until and status == HTTPStatus.FORBIDDEN:
            # Such a code is about the payer, and the key is fine.
            kind = errors.Refused
            code = "refused"
        params = {
            "status": status,
            "words": body.message,
            "is_cut": is_cut,
            "seconds": self._retry_after(),
        }
        # The words of web frameworks about a route that they do not have.
        is_unrouted = status == HTTPStatus.NOT_FOUND and body.message.startswith(
            f"Cannot {self.call.method} /"
        )
        is_foreign = is_unrouted or not body.is_from_api
        waits = until is not None and kind is errors.Refused
        advice: str | None
        if waits:
            advice = f"Nothing was changed. Try again once {until}."
        elif kind is errors.WrongKey:
            advice = f"{errors.WrongKey.advice} {_OTHER_HEADER[self.header]}"
        elif is_foreign:
            advice = self._advice_about_address(kind, status, is_unrouted=is_unrouted)
        else:
            advice = self.call.hints.get(status)
        error = self._error(
            kind,
            Outcome(code, params),
            fields=body.fields,
            advice=advice,
            code=body.code,
            foreign=is_foreign,
        )
        error.retryable = error.retryable or is_cut or waits
        return error

    def _advice_about_address(
        self, kind: type[errors.Refused], status: int, *, is_unrouted: bool
    ) -> str | None:
        """Return the advice about a refusal that did not come from the API."""
        hint = self.call.hints.get(status)
        if status == HTTPStatus.NOT_FOUND and self.call.other_api:
            return _NO_ROUTE.format(self.call.other_api)
        if kind is errors.RateLimited or (is_unrouted and hint):
            return hint
        return _CHECK_ADDRESS

    def _redirect(self, status: int) -> errors.PayerkitError:
        try:
            host = urlsplit(self.end.headers.get("location", "")).hostname
        except ValueError:
            host = None
        host = self._redact(host or "another address")
        return self._error(
            errors.Refused,
            Outcome("redirected", {"status": status, "host": host}),
            advice="Give the final address to connect(base_url).",
            foreign=True,
        )

    def _failed(self, what: Outcome) -> errors.PayerkitError:
        if self.call.is_write:
            return self._unknown(what)
        return self._error(errors.ServiceError, Outcome("failed", {"cause": what}))

    def _unknown(self, what: Outcome) -> errors.UnknownOutcome:
        call = self.call
        kind = errors.UnknownOutcome
        if self.is_interrupted:
            kind = errors.InterruptedCall
        fingerprint = None
        if call.body is not None:
            fingerprint = call.body.fingerprint(self.key.reveal().encode())
        params = {
            "operation": call.operation,
            "fingerprint": fingerprint,
            "cause": what,
        }
        return self._error(
            kind,
            Outcome("lost", params),
            advice=call.if_unknown,
            operation=call.operation,
            client_user_id=call.client_user_id,
            fingerprint=fingerprint,
            elapsed=self.elapsed,
        )

    def _error(self, kind: type[E], outcome: Outcome, **facts: Any) -> E:
        outcome = Outcome(outcome.code, {"call": self.call.name, **outcome.params})
        facts |= {
            "status_code": self.end.status,
            "retry_after": self._retry_after(),
            "request": self.call.name,
        }
        return kind(
            outcome.text,
            outcome=outcome,
            **{name: fact for name, fact in facts.items() if fact is not None},
        )

    def _retry_after(self) -> float | None:
        """Return the seconds that the service requests to wait, given as a number or as
        a date. The date is one of the service's clock, which `Date` tells.
        """
        value = self.end.headers.get("retry-after", "").strip()
        if re.fullmatch("[0-9]{1,9}", value):
            return float(value)
        until = _read_date(value)
        if until is None:
            return None
        now = _read_date(self.end.headers.get("date", "")) or datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())

    def _redact(self, text: str) -> str:
        return redact(text, self._private())

    def _private(self) -> tuple[str, ...]:
        """Return the values that a service may repeat and a message may not."""
        private = [self.key.reveal()]
        if self.call.body is not None:
            private += self.call.body.private
        ids = [*self.call.ids.values(), self.call.client_user_id or ""]
        private += [value for value in ids if holds_email(value)]
        return tuple(private)
