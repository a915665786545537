"""What is known of a payment since it was initiated: whether it is paid, and whether the bank has the money."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from payerkit import html
from payerkit.explanations import Explanation, explain_word, status_chip
from payerkit.forms.view import Banner, Kind
from payerkit.models import RequestStatus
from payerkit.wording import in_words

_AFTER_SIGNING = 'When a wallet has signed and sent the transactions, press "Check again".'
_NOT_SEEN = "The service has not seen it on the blockchain; after signing, that takes a few minutes."
_BANK_UNKNOWN = "Only events say whether the bank has the money, and none is known."


@dataclass(frozen=True, slots=True)
class PaymentProgress:
    """What the service says about a payment, asked at a time; nothing before it was asked.

    status: that of the request. bank: the state of the payout, from events; None if none is known. reason: why the
    payout stopped, in the words of an event. pays_account: whether it pays out to a bank account.
    """

    status: RequestStatus | None = None
    bank: Explanation | None = None
    reason: str = ""
    pays_account: bool = False
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def request_members(self, request_id: str) -> dict[str, Any]:  # noqa: ARG002 - as a client is asked
        """Return all that the service said when it was asked, by the names on the wire, for `check_payment`."""
        return {} if self.status is None else self.status.to_dict(reveal=True)

    @property
    def is_paid(self) -> bool:
        """True if the service has seen it paid on the blockchain."""
        return self.status is not None and self.status.has_been_paid is True

    @property
    def is_over(self) -> bool:
        """True if asking again changes nothing."""
        return self.bank.final if self.bank is not None else self.is_paid and not self.pays_account

    def in_words(self) -> str:
        """Return the state in a few words, such as "paid" or "fiat sent"; "" unless it is paid."""
        return "" if not self.is_paid else "paid" if self.bank is None else in_words(self.bank.status)

    def banner(self) -> Banner:
        """Return the banner about what the service says now."""
        if not self.is_paid:
            return Banner("info", "Not paid yet, as far as the service knows.")
        stopped = self.bank is not None and self.bank.final and not self.bank.is_passed
        kind: Kind = "error" if stopped else "success"
        return Banner.of(kind, "Paid. Do not sign these transactions again.", self.bank.meaning if self.bank else "")

    def rows(self) -> list[tuple[str, str]]:
        """Return the lines of a table: the payment, and the bank if it is paid out."""
        if self.status is None:
            return [("Payment", f"{html.chip('neutral', 'not asked yet')} {html.escape(_AFTER_SIGNING)}")]
        asked = f"Asked at {self.asked_at:%H:%M:%S} UTC."
        rows = [("Payment", f"{self._chip(self.status)} {html.escape(self._details(self.status))} {html.small(asked)}")]
        if self.is_paid and self.bank is not None:
            says = " ".join(filter(None, [self.reason, self.bank.next_step]))
            rows.append(("Bank", f"{status_chip(self.bank)} {html.escape(says)}"))
        elif self.is_paid and self.pays_account:
            rows.append(("Bank", f"{html.chip('neutral', 'not known')} {html.escape(_BANK_UNKNOWN)}"))
        return rows

    def picture(self) -> str:
        """Return the table as HTML."""
        return html.table(self.rows(), caption="After signing")

    def _chip(self, status: RequestStatus) -> html.Html:
        kinds: dict[bool | None, html.Kind] = {True: "success", False: "neutral", None: "warning"}
        return html.chip(kinds[status.has_been_paid], _WORDS[status.has_been_paid])

    def _details(self, status: RequestStatus) -> str:
        """Return what else the service says: whether a part of it is paid, and by which transaction."""
        is_part = bool(status.paid_amount) and not self.is_paid
        part = f"Paid in part: {status.paid_amount:f}." if is_part else ""
        by = f"By the transaction {status.tx_hash}." if status.tx_hash else ""
        return " ".join(filter(None, [part, by])) or ("" if self.is_paid else _NOT_SEEN)


_WORDS = {True: "paid", False: "not paid yet", None: "paid or not: the service does not say"}


def bank_state(events: Any, request_id: str) -> tuple[Explanation | None, str]:
    """Return the last state of a request's payout and its reason, as events say; None and "" without any.

    events: a table of `read_events`, what `read_events` takes, or a function that returns either.
    """
    from payerkit.events.read_events import read_events  # noqa: PLC0415 - loads pandas
    from payerkit.payouts.coverage import NewsIndex  # noqa: PLC0415 - likewise

    given = events() if callable(events) else events
    frame = given if hasattr(given, "columns") else read_events(given)
    latest = NewsIndex(frame).of_request([("request_id", request_id.lower())]).latest
    return (None, "") if latest is None else (explain_word(latest.status, "payment"), latest.reason or "")
