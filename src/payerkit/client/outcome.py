"""What an exchange proves: a result, or the error that tells a caller what happened and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from payerkit.client.call import Call
from payerkit.client.exchange import Exchange
from payerkit.client.wire import read_complaint, read_json
from payerkit.errors import (
    InterruptedCall,
    NotFound,
    NotSent,
    PayerkitError,
    RateLimited,
    Refused,
    ServiceError,
    UnknownOutcome,
    UnreadableAnswer,
    WrongKey,
)
from payerkit.masking import ApiKey, clean, holds_email

T = TypeVar("T")
E = TypeVar("E", bound=PayerkitError)

_REFUSALS: dict[int, tuple[type[Refused], str]] = {
    401: (WrongKey, "The service does not accept the API key"),
    403: (WrongKey, "The service does not allow this with the API key"),
    404: (NotFound, "The service does not find what the call is about"),
    429: (RateLimited, "The service asks to wait"),
}

_CHECK_ADDRESS = "Nothing was changed. This is no answer of the API: check that base_url is its address."

_PROVES_NOTHING = {408, 499}
"""Statuses that intermediaries give when they lost patience; the service may have done the work."""


@dataclass(frozen=True, slots=True)
class Judge(Generic[T]):
    """Reads one exchange of a call. `elapsed`: seconds since the call began."""

    call: Call[T]
    exchange: Exchange
    key: ApiKey
    elapsed: float

    def result(self) -> T | PayerkitError:
        """Return the call's result, or the error that the exchange proves."""
        exchange = self.exchange
        if exchange.status is None:
            return self._no_answer()
        if 200 <= exchange.status < 300:
            return self._success()
        if 300 <= exchange.status < 500 and exchange.status not in _PROVES_NOTHING:
            return self._refusal(exchange.status)
        return self._failing(f"the service answered {exchange.status}")

    def _no_answer(self) -> PayerkitError:
        if not self.exchange.sent:
            return self._error(NotSent, f"{self.call.name} could not be sent ({self.exchange.fault}).")
        return self._failing(f"no answer came ({self.exchange.fault})")

    def _success(self) -> T | PayerkitError:
        fault = self.exchange.fault and f"its answer broke off ({self.exchange.fault})"
        if not fault:
            try:
                return self.call.read(read_json(self.exchange.content))
            except ValueError as error:
                fault = f"its answer cannot be read ({self._clean(str(error))})"
        if self.call.is_write:
            return self._unknown(f"the service answered {self.exchange.status}, but {fault}")
        status = self.exchange.status
        return self._error(UnreadableAnswer, f"{self.call.name} was answered {status}, but {fault}.")

    def _refusal(self, status: int) -> PayerkitError:
        if status < 400:
            return self._redirect(status)
        kind, words = _REFUSALS.get(status, (Refused, "The service refused the call"))
        wait = self._retry_after()
        if kind is RateLimited and wait is not None:
            words = f"{words} {wait:g} seconds"
        complaint = read_complaint(self.exchange.content, self._private())
        says = f" It says: {complaint.message}" if complaint.message else ""
        is_foreign = not complaint.is_any and kind in {Refused, NotFound}
        advice = _CHECK_ADDRESS if is_foreign else self.call.hints.get(status)
        error = self._error(
            kind, f"{words} ({status} on {self.call.name}).{says}", fields=complaint.fields, advice=advice
        )
        error.foreign = not complaint.is_any
        return error

    def _redirect(self, status: int) -> PayerkitError:
        try:
            host = urlsplit(self.exchange.headers.get("location", "")).hostname or "another address"
        except ValueError:
            host = "another address"
        return self._error(
            Refused,
            f"The service answered {self.call.name} with a redirect ({status}) to {self._clean(host)}. It was not "
            "followed: the key and the body would have gone there too.",
            advice="Give the final address to connect(base_url).",
        )

    def _failing(self, what: str) -> PayerkitError:
        if self.call.is_write:
            return self._unknown(what)
        return self._error(ServiceError, f"{self.call.name} failed: {what}.")

    def _unknown(self, what: str) -> UnknownOutcome:
        call = self.call
        fingerprint = call.body.fingerprint(self.key.reveal().encode()) if call.body else None
        sent = f"{call.name} was sent" + (f" (body {fingerprint})" if fingerprint else "")
        return self._error(
            InterruptedCall if self.exchange.interrupted else UnknownOutcome,
            f"Nobody knows yet whether {call.operation} happened: {sent}, and {what}.",
            advice=call.settle,
            operation=call.operation,
            client_user_id=call.client_user_id,
            fingerprint=fingerprint,
            elapsed=self.elapsed,
        )

    def _error(self, kind: type[E], message: str, **facts: Any) -> E:
        status, wait, request = self.exchange.status, self._retry_after(), self.call.name
        return kind(message, status_code=status, retry_after=wait, request=request, **facts)

    def _retry_after(self) -> float | None:
        """Return the seconds that the service asks to wait, given as a number or as a date."""
        told = self.exchange.headers.get("retry-after")
        try:
            return None if told is None else float(Retry().parse_retry_after(told))
        except (InvalidHeader, OverflowError, ValueError):  # more digits than Python turns into a number
            return None

    def _clean(self, text: str) -> str:
        return clean(text, self._private())

    def _private(self) -> tuple[str, ...]:
        """Return what a service may repeat and a message may not."""
        sent = self.call.body.private if self.call.body else ()
        emails = filter(holds_email, [*self.call.ids.values(), self.call.client_user_id or ""])
        return (self.key.reveal(), *sent, *emails)
