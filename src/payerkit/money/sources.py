"""What each source says of an order: small records of requests, payments, refunds and
payouts. Each source keeps its word; `judgement.py` compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pandas as pd

from payerkit._tsv import grouped
from payerkit.explanations import explain_word
from payerkit.frames import read_truth
from payerkit.money.books import ExpectedOrder, ids_of
from payerkit.money.events import believed_events
from payerkit.wire import read_decimal


def payout_state(status: str | None) -> str | None:
    """Return the state of an order by the off-ramp status of its payout; None where the
    payments decide, and for an undocumented status.
    """
    explanation = explain_word(status, "payment")
    if explanation.status == "bounced":
        return "bounced"
    if explanation.is_passed:
        return "at_the_bank"
    if explanation.final:
        return "failed"
    if explanation.status == "initiated" or not explanation.basis:
        return None
    return "on_its_way"


_WORST_FIRST = ("bounced", "failed", None, "on_its_way", "at_the_bank")
"""States by payouts. An undocumented status may be anything but arrived."""


def claims_of(request: Mapping[str, Any]) -> set[str]:
    """Return what a source says of the payment of a request: "unpaid", "part", "paid",
    or "off" if nobody is to pay it. Its status and its truth value may disagree; that
    of a request that is paid in part is False.
    """
    claims = set()
    said = explain_word(request.get("status"), "request")
    if said.is_passed or said.status == "overpaid":
        claims.add("paid")
    elif said.final:
        claims.add("off")
    elif said.status == "partially_paid":
        claims.add("part")
    elif said.basis:
        claims.add("unpaid")
    is_paid = read_truth(request["has_been_paid"])
    if is_paid:
        claims.add("paid")
    if is_paid is False and not claims & {"part", "off"}:
        claims.add("unpaid")
    return claims


_COMPLETES = {"payment.confirmed": True, "payment.partial": False}
"""Events about a payment, and whether the whole request is paid with it."""


class PayoutEvent:
    """An event about a payment or its payout. has_time: whether it says when it
    happened, and not only when it came.

    completes: whether the request is paid in full by then; None if the event is not
    about that.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.kind: str = row["event"]
        self.completes = _COMPLETES.get(self.kind)
        self.time: pd.Timestamp | None = row["at"]
        self.has_time: bool = row["has_time"]
        self.status: str | None = row["sub_status"]
        if self.status is None and self.kind == "payment.failed":
            self.status = "failed"
        self.reason: str | None = row["reason"]
        self.tx_hash: str | None = row["tx_hash"]
        self.offramp_id: str | None = row["offramp_id"]
        self.is_verified = row["signature"] == "valid"
        self.state = payout_state(self.status)
        # How bad it is: 2 if the bank returned the money, 1 if the payout stopped
        # otherwise, else 0.
        self.setback = {"bounced": 2, "failed": 1}.get(self.state or "", 0)
        # What a header calls a test counts only if it is bad news: a header proves
        # nothing, and hides nothing.
        self.counts = (
            not row["is_test"] or self.setback > 0 or self.kind == "payment.refunded"
        )


_LATE = timedelta(minutes=1)
"""How late a delivery may be: retries follow after 1, 5 and 15 seconds (operator's
documentation), each within 5.
"""


def last_words(events: Sequence[PayoutEvent]) -> list[PayoutEvent]:
    """Return the last event about each payout, the worst first.

    A payout is known by the operator's id of it, else by its transaction. What names
    neither is about the only payout, or is a payout of its own: it may be any of them.
    """
    hashes = [(event.tx_hash or "").lower() for event in events]
    ids = {
        tx_hash: event.offramp_id
        for tx_hash, event in zip(hashes, events, strict=True)
        if tx_hash and event.offramp_id
    }
    keys = [
        event.offramp_id or ids.get(tx_hash, tx_hash)
        for tx_hash, event in zip(hashes, events, strict=True)
    ]
    known = set(keys) - {""}
    if len(known) == 1:
        by_payout = {"": tuple(events)}
    else:
        by_payout = grouped(zip(keys, events, strict=True))
    last = [_last(same) for same in by_payout.values()]
    return sorted(last, key=lambda event: _WORST_FIRST.index(event.state))


def _last(events: Sequence[PayoutEvent]) -> PayoutEvent:
    """Return the last of the events about a payout.

    Deliveries may overtake each other. Of those that may be the last one, one that
    brought the money back is. Else one that brought it to the bank is, if another only
    came after it, and does not say when it happened.
    """
    latest = events[-1]
    last = latest
    for event in reversed(events):
        if not _may_be_after(event, latest):
            continue
        has_arrived = event.state == "at_the_bank" and event.time is not None
        is_late = latest.time is not None and not latest.has_time
        is_underway = last.state in {None, "on_its_way"}
        is_worse = event.setback > last.setback
        if is_worse or (has_arrived and is_late and is_underway):
            last = event
    return last


def _may_be_after(event: PayoutEvent, latest: PayoutEvent) -> bool:
    """Return True if an event may have happened after one that came after it."""
    if event.time is None or latest.time is None:
        return True
    if event.has_time and latest.has_time:
        return event.time >= latest.time
    return latest.time - event.time <= _LATE


class EventIndex:
    """The believable events about payments and payouts in a frame of `read_events`, by
    the ids of their requests. unbelieved: how many there are, if none is believed.

    Raises InvalidInput for anything but such a frame or None.
    """

    def __init__(self, events: Any) -> None:
        rows = believed_events(events)
        self.unbelieved = 0 if rows or events is None else len(events)
        self._by_id: dict[tuple[str, str], dict[int, PayoutEvent]] = {}
        for place, row in enumerate(rows):
            if str(row["event"]).startswith("payment."):
                event = PayoutEvent(row)
                for key in ids_of(row):
                    self._by_id.setdefault(key, {})[place] = event

    def of_request(self, ids: Iterable[tuple[str, str]]) -> list[PayoutEvent]:
        """Return the events about the request with one of these ids, each given with
        its name, in their order.
        """
        places: dict[int, PayoutEvent] = {}
        for key in ids:
            places |= self._by_id.get(key, {})
        return [places[place] for place in sorted(places)]


@dataclass(slots=True, kw_only=True)
class Movement:
    """A payment or a refund, by the list of payments or by an event.

    amounts: of one payment, as each source has it. tx_hashes: in lower case. time: None
    if nothing says when it happened. fees: by their columns.
    """

    amount: Decimal | None
    currency: str | None
    time: pd.Timestamp | None
    tx_hash: str | None
    tx_hashes: set[str]
    request_id: str | None = None
    is_crosschain: bool = False
    has_been_paid: bool | None = None
    event_amount: Decimal | None = None
    fees: dict[str, Decimal] = field(default_factory=dict)
    row: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Movement:
        """Return the payment in a row of `list_payments`."""
        hashes = [row["source_tx_hash"], row["destination_tx_hash"]]
        known = [tx_hash for tx_hash in hashes if tx_hash]
        fees = {
            name: read_decimal(cell)
            for name, cell in row.items()
            if name.startswith("fee") and name != "fees"
        }
        return cls(
            amount=read_decimal(row["amount"]),
            currency=row["payment_currency"],
            time=row["timestamp_utc"],
            tx_hash=known[0] if known else None,
            tx_hashes={tx_hash.lower() for tx_hash in known},
            request_id=row["request_id"],
            is_crosschain=row["type"] == "crosschain",
            has_been_paid=read_truth(row["has_been_paid"]),
            fees={name: fee for name, fee in fees.items() if fee is not None},
            row=row,
        )

    @classmethod
    def of_event(cls, event: PayoutEvent) -> Movement:
        """Return the payment or the refund that an event tells of. The amount of a
        refund is the one that is called so.
        """
        row = event.row
        amount = row["amount"]
        currency = row["payment_currency"]
        if event.kind == "payment.refunded":
            amount = row["refund_amount"] or amount
            currency = row["currency"]
        return cls(
            amount=read_decimal(amount),
            currency=currency,
            time=event.time if event.has_time else None,
            tx_hash=event.tx_hash,
            tx_hashes={event.tx_hash.lower()} if event.tx_hash else set(),
            request_id=row["request_id"],
            has_been_paid=event.completes,
        )

    def may_be(self, other: Movement) -> bool:
        """Return True if two movements may be one: of one amount, in one transaction or
        at about one time. A payment may be sent again with another hash, or be listed
        by its source and by its destination chain.
        """
        ids = {self.request_id, other.request_id} - {None}
        if len({str(name).lower() for name in ids}) > 1:
            return False
        if self.amount != other.amount:
            return False
        if self.tx_hashes & other.tx_hashes:
            return True
        if self.time is None or other.time is None:
            return True
        gap = abs(self.time - other.time)
        if self.is_crosschain or other.is_crosschain:
            return gap <= _CROSSING
        return gap <= _ABOUT


_ABOUT = timedelta(minutes=10)
_CROSSING = timedelta(days=1)
"""How long after each other the two halves of a crosschain payment may come."""


def without_doubles(movements: Sequence[Movement]) -> list[Movement]:
    """Return movements without those that may be one that comes before them."""
    distinct: list[Movement] = []
    for movement in movements:
        if not any(movement.may_be(other) for other in distinct):
            distinct.append(movement)
    return distinct


@dataclass(slots=True, eq=False)
class Case:
    """An order, with what each source says of it.

    requests: those that it may mean, as lists and responses have them; None without a
    list. payments: those that are listed, and, after `read_events`, those that only
    events tell of. is_shared: another order has its reference. conflicts: payments and
    requests whose ids point to this order and to another one.
    """

    order: ExpectedOrder
    requests: list[dict[str, Any]] | None = None
    payments: list[Movement] = field(default_factory=list)
    is_shared: bool = False
    conflicts: list[str] = field(default_factory=list)
    events: list[PayoutEvent] = field(default_factory=list)
    refunds: list[Movement] = field(default_factory=list)
    words: list[PayoutEvent] = field(default_factory=list)
    has_unlisted: bool = False

    def read_events(self, index: EventIndex) -> None:
        """Read the payments, the refunds and the payouts of the order."""
        # A payment may tell ids that the order does not have.
        keys = ids_of(self.order.ids)
        for payment in self.payments:
            keys += ids_of(payment.row)
        events = index.of_request(keys)
        self.events = [event for event in events if not self._is_of_others(event)]
        self.refunds = [
            Movement.of_event(event)
            for event in self.events
            if event.kind == "payment.refunded"
        ]
        self._read_payments()
        self.words = last_words(
            [
                event
                for event in self.events
                if event.status and event.counts and not self._is_overtaken(event)
            ]
        )

    def _is_of_others(self, event: PayoutEvent) -> bool:
        """Return True if an event is older than the request."""
        times = [row.get("created_at_utc") for row in self.requests or ()]
        known = [time for time in times if time is not None]
        if event.time is None or not known or len(known) < len(times):
            return False
        return bool(event.time < min(known) - _LATE)

    def _read_payments(self) -> None:
        is_listed = bool(self.payments)
        for event in self.events:
            if event.completes is None or not event.counts:
                continue
            told = Movement.of_event(event)
            known = [each for each in self.payments if each.tx_hashes & told.tx_hashes]
            for payment in known:
                payment.event_amount = told.amount
            # A payment without a transaction, listed or reported, may be the same one:
            # counted twice, it would be wrong.
            may_be_listed = is_listed and (
                not told.tx_hashes
                or not all(payment.tx_hashes for payment in self.payments)
            )
            is_new = not known and not may_be_listed
            if is_new and (told.tx_hashes or not self.payments):
                self.payments.append(told)
            elif not known and told.amount is not None:
                amounts = {payment.amount for payment in self.payments}
                self.has_unlisted = self.has_unlisted or told.amount not in amounts
            if event.completes:
                for payment in known or self.payments:
                    payment.has_been_paid = True
        if self.is_said_paid is not None:
            for payment in self.payments:
                payment.has_been_paid = payment.has_been_paid or self.is_said_paid
        self.payments.sort(key=_time_of)

    def _is_overtaken(self, event: PayoutEvent) -> bool:
        """Return True if a payment failed, and only a later one was made."""
        times = [payment.time for payment in self.payments]
        if event.setback != 1 or event.time is None or not times or None in times:
            return False
        return all(time is not None and time > event.time for time in times)

    @property
    def claims(self) -> set[str]:
        """What lists and responses say of the payment of the only request."""
        if not self.has_one_request:
            return set()
        return set().union(*[claims_of(row) for row in self.requests or ()])

    @property
    def has_one_request(self) -> bool:
        """Whether there is one request; a list and a response may both have it."""
        ids = {str(row["request_id"]).lower() for row in self.requests or ()}
        return len(ids) == 1

    @property
    def is_said_paid(self) -> bool | None:
        """Whether the request is paid by the word of the service; None if it does not
        tell, or contradicts itself.
        """
        claims = self.claims - {"off"}
        if claims == {"paid"}:
            return True
        if not claims or "paid" in claims:
            return None
        return False

    @property
    def is_paid_at_all(self) -> bool:
        """Whether a payment is known, perhaps only by its refund."""
        return bool(self.payments or self.refunds)


def _time_of(payment: Movement) -> pd.Timestamp:
    return pd.Timestamp.max if payment.time is None else payment.time
