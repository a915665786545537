"""What events say of payouts: which payments were confirmed, what the bank's side is, what was given back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Self

import pandas as pd

from payerkit.events.frame import believed_events
from payerkit.explanations import explain_word
from payerkit.payouts.payments import TIME
from payerkit.wire import read_decimal

_NEEDED = (
    *("event", "timestamp", "received_at", "request_id", "payment_reference", "sub_status", "amount", "currency"),
    *("payment_currency", "tx_hash", "reason", "is_test"),
)

_PAID = {"payment.confirmed": True, "payment.partial": False}
"""Events about a payment, and whether the whole request is paid with it."""

_LATE = timedelta(minutes=1)
"""How late a delivery may be: retries follow after 1, 5 and 15 seconds (operator's documentation), each within 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoutEvent:
    """An event about a payment or its payout. has_time: whether it says when it happened, and not only when it came.

    request: the id of its request, or else the reference on the blockchain. is_test: a header says so, which is not
    signed.
    """

    kind: str
    request: str | None
    is_test: bool
    time: pd.Timestamp | None
    has_time: bool
    status: str | None
    reason: str | None
    amount: Decimal | None
    currency: str | None
    payment_currency: str | None
    tx_hash: str | None

    @property
    def completes(self) -> bool | None:
        """Whether the request is paid in full by then; None if the event is not about that."""
        return _PAID.get(self.kind)

    @property
    def setback(self) -> int:
        """How bad its status is: 2 if the bank returned the money, 1 if the payout stopped otherwise, else 0."""
        found = explain_word(self.status, "payment")
        return 2 if self.status == "bounced" else int(found.final and not found.is_passed)

    @property
    def counts(self) -> bool:
        """False if its header calls it a test, unless it has bad news: a header proves nothing, and hides nothing."""
        return not self.is_test or self.setback > 0 or self.kind == "payment.refunded"


@dataclass(slots=True)
class PayoutNews:
    """The events about one request, in their order."""

    events: list[PayoutEvent] = field(default_factory=list)

    @property
    def payments(self) -> list[PayoutEvent]:
        """Those that say that a payment was seen."""
        return [event for event in self.events if event.completes is not None and event.counts]

    @property
    def refunds(self) -> list[PayoutEvent]:
        """Those that say that crypto was given back."""
        return [event for event in self.events if event.kind == "payment.refunded"]

    @property
    def latest(self) -> PayoutEvent | None:
        """The last one with an off-ramp status; one that was only delivered late does not count as the last."""
        found = [event for event in self.events if event.status and event.counts]
        for event in reversed(found):
            if not any(_is_before(event, other) for other in found):
                return event
        return None


def _is_before(event: PayoutEvent, other: PayoutEvent) -> bool:
    """Return True if an event is to be taken as older than another one, although it may have come after it.

    Of two whose order is not known, one that brought the money back is the last; else one whose status is final.
    """
    if event.time is None or other.time is None:
        return event.setback < other.setback
    gap = event.time - other.time
    if event.setback < other.setback:
        return gap <= (timedelta(0) if event.has_time and other.has_time else _LATE)
    return not event.has_time and not _is_final(event) and _is_final(other) and timedelta(0) <= gap <= _LATE


def _is_final(event: PayoutEvent) -> bool:
    return explain_word(event.status, "payment").final


class NewsIndex:
    """All events about payments and payouts, by the ids of their requests."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._by_id: dict[tuple[str, str], list[int]] = {}
        self._events: list[PayoutEvent] = []
        for row in rows:
            for name, value in ids_of(row):
                self._by_id.setdefault((name, value), []).append(len(self._events))
            self._events.append(_read_event(row))

    @classmethod
    def of(cls, events: Any) -> Self:
        """Return the believable events of a frame, nothing for None. Raises InvalidInput for anything else."""
        if events is None:
            return cls(())
        known = believed_events(events, _NEEDED, tests=True)[list(_NEEDED)]
        known = known[known["event"].astype("string").str.startswith("payment.").fillna(value=False)]
        said, came = (read_times(known[name]) for name in ("timestamp", "received_at"))
        known = known.assign(timestamp=said.fillna(came), has_time=said.notna())
        return cls(rows_of(known.sort_values("timestamp", kind="stable")))

    def of_request(self, ids: Sequence[tuple[str, str]]) -> PayoutNews:
        """Return the events about the request with one of these ids, each given with its name."""
        places = {place for each in ids for place in self._by_id.get(each, ())}
        return PayoutNews([self._events[place] for place in sorted(places)])


def _read_event(row: dict[str, Any]) -> PayoutEvent:
    status = row["sub_status"]
    if status is None and row["event"] == "payment.failed":
        status = "failed"
    return PayoutEvent(
        kind=row["event"],
        request=row["request_id"] or row["payment_reference"],
        is_test=str(row["is_test"]).lower() == "true",
        time=row["timestamp"],
        has_time=bool(row["has_time"]),
        status=status,
        reason=row["reason"],
        amount=read_decimal(row["amount"]),
        currency=row["currency"],
        payment_currency=row["payment_currency"],
        tx_hash=row["tx_hash"],
    )


def id_key(value: str) -> str:
    """Return an id or a reference without what tells nothing apart: the case of letters, and blanks around words."""
    return " ".join(value.split()).casefold()


def ids_of(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the ids that the service gave to a row's request, with their names, as `id_key` writes them."""
    return [(name, id_key(row[name])) for name in ("request_id", "payment_reference") if row[name]]


def read_times(column: Any) -> Any:
    """Return a column as times in UTC; the frame may come from a file, in which times are text."""
    times = pd.to_datetime(column.astype("string"), utc=True, errors="coerce", format="ISO8601")
    return times.astype(TIME)


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts, with None for missing cells."""
    cells = table.astype(object)
    return cells.where(cells.notna(), None).to_dict("records")  # type: ignore[return-value]  # its columns have names
