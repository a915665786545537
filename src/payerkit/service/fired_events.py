"""The events that a live service sends by itself: what is due by the world's clock, fired once, and signed.

A change marks its row, or stands there with the time at which it is due. Events are made of that when somebody asks
for them, or sets a state by hand, so the calls of the API do no work for them. Several changes of one payer by calls of
the API before that are one event, which tells the last state.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import Any

from sqlalchemy import ColumnElement, Row, func, insert, or_, select, update

from payerkit.service.bills import find_bill
from payerkit.service.clock import format_time
from payerkit.service.money import format_units
from payerkit.service.paid_payments import (
    currency_of,
    events_of_state,
    list_fees,
    paid_record,
    paid_rows,
    payout_history,
)
from payerkit.service.payout_states import PAYOUT_FAILED
from payerkit.service.settings import Settings
from payerkit.service.states import TimedState, is_compliant
from payerkit.service.store import Store
from payerkit.service.stored_rows import DetailRow, EventRow, PaidRow, PayerRow, WorldRow
from payerkit.service.wallet import read_rates

_BATCH = 500
"""How many rows are fired in one transaction."""

_ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The digits of a ULID: Crockford's base 32."""

_FAILURES = {
    "bounced": "The bank returned the money.",
    "failed": "The payment was rejected.",
    "insufficient_funds": "The wallet does not hold enough.",
    "retry_required": "The payout has to be tried again.",
}
"""Reasons of the sandbox's own, where none was given by hand."""

_REJECTED = "The account did not pass its checks."


@dataclass(frozen=True, slots=True)
class _Event:
    """An event to fire: its name, its time by the world's clock, and the members of its body."""

    name: str
    time: float
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _DueRow:
    """A row with events that are due, and the changes that mark them as fired, unless it changed since it was read."""

    rows: Any
    unchanged: ColumnElement[bool]
    changes: Mapping[str, Any]
    events: list[_Event]


def fire_due(store: Store, settings: Settings) -> None:
    """Fire what is due by the clock of a world; what was fired is not fired again."""
    while batch := list(islice(_due(store, settings), _BATCH)):
        store.database.retry_conflicts(partial(_fire, store, batch))


def fire_checks(store: Store) -> None:
    """Fire the identity checks that are decided by now, so that what their payers do later is not told with them."""
    is_decided = (PayerRow.kyc_due <= store.now()) & PayerRow.kyc_following.is_not(None)
    while batch := list(_due_of_payers(store, is_decided)):
        store.database.retry_conflicts(partial(_fire, store, batch))


def _fire(store: Store, batch: Sequence[_DueRow]) -> None:
    """Store the events of some rows and mark them as fired. Raises IntegrityError if a delivery id is taken."""
    fired_before = store.ordinal(select(func.count(EventRow.number)).where(EventRow.world_id == store.world_id))
    ordinals = count() if fired_before is None else count(fired_before)
    sealed = [[_event_row(store, event, next(ordinals)) for event in each.events] for each in batch]
    with store.database.write() as connection:
        # One at a time in a world, so that no event gets a lower number than one that was read already.
        world = select(WorldRow.id).where(WorldRow.id == store.world_id)
        connection.execute(world.with_for_update(key_share=True))
        for each, rows in zip(batch, sealed, strict=True):
            changed = connection.execute(update(each.rows).where(each.unchanged), dict(each.changes)).rowcount
            if changed and rows:
                connection.execute(insert(EventRow), rows)


@contextmanager
def firing(store: Store, settings: Settings) -> Iterator[None]:
    """Fire what is due before a change that is made in the block, and what the change itself makes due."""
    fire_due(store, settings)
    yield
    fire_due(store, settings)


def list_events(store: Store, after: int, limit: int) -> list[dict[str, Any]]:
    """Return the events of a world after a number, each with the headers of its first delivery."""
    there = (EventRow.world_id == store.world_id) & (EventRow.number > after)
    with store.database.read() as connection:
        rows = connection.execute(select(EventRow.__table__).where(there).order_by(EventRow.number).limit(limit)).all()
    secret = events_secret(store).encode()
    return [_listed(row, store.database.cipher.unseal(f"event {row.delivery_id}", row.sealed), secret) for row in rows]


def events_secret(store: Store) -> str:
    """Return the secret that signs the events of a world; it is derived from the key of the database."""
    return store.database.cipher.lookup_key("secret of events", store.world_id)


def _listed(row: Row[Any], record: Mapping[str, Any], secret: bytes) -> dict[str, Any]:
    body = str(record["body"])
    return {
        "number": row.number,
        "event": record["event"],
        "firedAt": format_time(row.fired_at),
        "deliveryId": row.delivery_id,
        "signature": hmac.new(secret, body.encode(), hashlib.sha256).hexdigest(),
        "body": body,
    }


def _event_row(store: Store, event: _Event, ordinal: int) -> dict[str, Any]:
    """Return an event as a row. Its body is written once, since its bytes are signed.

    ordinal: tells equal events apart, if ids depend on a seed.
    """
    body = json.dumps({"event": event.name, **event.body}, ensure_ascii=False, separators=(",", ":"))
    delivery = _ulid(event.time, store.identifiers.token_bytes(10, "delivery", body, ordinal))
    sealed = store.database.cipher.seal(f"event {delivery}", {"event": event.name, "body": body})
    return {"world_id": store.world_id, "delivery_id": delivery, "fired_at": event.time, "sealed": sealed}


def _ulid(time: float, random: bytes) -> str:
    """Return a ULID: 48 bits of milliseconds, then 80 random bits."""
    number = (int(time * 1000) << 80) | int.from_bytes(random)
    return "".join(_ULID[number >> shift & 31] for shift in range(125, -1, -5))


def _due(store: Store, settings: Settings) -> Iterator[_DueRow]:
    """Yield what is due, at most a batch of payers and of accounts, then of payments."""
    now = store.now()
    is_decided = (PayerRow.kyc_due <= now) & PayerRow.kyc_following.is_not(None)
    yield from _due_of_payers(store, or_(is_decided, PayerRow.changed_at.is_not(None)))
    with store.database.read() as connection:
        due = (DetailRow.due <= now) & DetailRow.following.is_not(None)
        query = select(DetailRow.__table__, PayerRow.key.label("payer_key"), PayerRow.sealed.label("payer_sealed"))
        query = query.join(PayerRow, PayerRow.id == DetailRow.payer_id).where(DetailRow.world_id == store.world_id)
        details = connection.execute(query.where(or_(due, DetailRow.changed_at.is_not(None))).limit(_BATCH)).all()
    yield from (_of_detail(store, row, now) for row in details)
    yield from _due_of_paid(store, now, settings)


def _due_of_payers(store: Store, is_due: ColumnElement[bool]) -> Iterator[_DueRow]:
    """Yield what is due of at most a batch of payers."""
    now = store.now()
    query = select(PayerRow.__table__).where(PayerRow.world_id == store.world_id, is_due)
    with store.database.read() as connection:
        rows = connection.execute(query.limit(_BATCH)).all()
    yield from (_of_payer(store, row, now) for row in rows)


def _due_of_paid(store: Store, now: float, settings: Settings) -> Iterator[_DueRow]:
    """Yield what is due of payments: among those that are not settled, many may wait for their time."""
    last = 0
    while True:
        query = select(PaidRow.__table__).where(PaidRow.world_id == store.world_id, PaidRow.settled.is_(False))
        with store.database.read() as connection:
            rows = connection.execute(query.where(PaidRow.id > last).order_by(PaidRow.id).limit(_BATCH)).all()
        if not rows:
            return
        yield from (found for row in rows if (found := _of_paid(store, row, now, settings)) is not None)
        last = rows[-1].id


def _of_payer(store: Store, row: Row[Any], now: float) -> _DueRow:
    client_user_id = store.database.cipher.unseal(f"payer {row.key}", row.sealed)["clientUserId"]
    times = [] if row.changed_at is None else [row.changed_at]
    changes: dict[str, Any] = {"changed_at": None}
    if row.kyc_following is not None and row.kyc_due <= now:
        times.append(row.kyc_due)
        changes |= {"kyc": row.kyc_following, "kyc_following": None, "kyc_due": None}
    kyc_at = TimedState(row.kyc, row.kyc_following, row.kyc_due).at
    states = [(time, kyc_at(time)) for time in sorted(times)]
    events = [
        _Event(
            "compliance.updated",
            time,
            {
                "clientUserId": client_user_id,
                "kycStatus": kyc,
                "agreementStatus": row.agreement,
                "isCompliant": is_compliant(kyc, row.agreement),
                "timestamp": format_time(time),
                "rawPayload": {},
            },
        )
        for time, kyc in states
    ]
    same = [(PayerRow.changed_at, row.changed_at), (PayerRow.kyc_due, row.kyc_due), (PayerRow.kyc, row.kyc)]
    same.append((PayerRow.agreement, row.agreement))
    return _DueRow(PayerRow, _unchanged(PayerRow.id == row.id, same), changes, events)


def _of_detail(store: Store, row: Row[Any], now: float) -> _DueRow:
    client_user_id = store.database.cipher.unseal(f"payer {row.payer_key}", row.payer_sealed)["clientUserId"]
    states = [(row.changed_at, row.state)] if row.changed_at is not None else []
    changes: dict[str, Any] = {"changed_at": None}
    if row.following is not None and row.due <= now:
        states.append((row.due, row.following))
        changes |= {"state": row.following, "following": None, "due": None}
    events = [
        _Event(
            "payment_detail.updated",
            time,
            {
                "paymentDetailsId": row.detail_id,
                "clientUserId": client_user_id,
                "status": state,
                "rejectionMessage": _REJECTED if state in {"failed", "rejected"} else None,
                "timestamp": format_time(time),
                "rawPayload": {},
            },
        )
        for time, state in states
    ]
    same = [(DetailRow.changed_at, row.changed_at), (DetailRow.due, row.due), (DetailRow.state, row.state)]
    return _DueRow(DetailRow, _unchanged(DetailRow.id == row.id, same), changes, events)


def _of_paid(store: Store, row: Row[Any], now: float, settings: Settings) -> _DueRow | None:
    """Return the events of a payment from the ones that were fired on; None if none is due."""
    times = [
        row.paid_at,
        *(step.time for step in payout_history(row, settings) for _ in range(events_of_state(step.state))),
    ]
    is_settled = max(times) <= now
    if not is_settled and not any(time <= now for time in times[row.fired :]):
        return None
    due = [event for event in list(_events_of_paid(store, row, settings))[row.fired :] if event.time <= now]
    changes = {"fired": row.fired + len(due), "settled": is_settled}
    same = [(PaidRow.fired, row.fired), (PaidRow.decided_at, row.decided_at), (PaidRow.decided, row.decided)]
    return _DueRow(PaidRow, _unchanged(PaidRow.id == row.id, same), changes, due)


def _events_of_paid(store: Store, row: Row[Any], settings: Settings) -> Iterator[_Event]:
    """Yield all events of a payment, those to come too: it is confirmed, then its payout takes its steps."""
    record, currency = paid_record(store, row), currency_of(row.payment_currency)
    ids = {"requestId": row.request_id, "requestID": row.request_id, "paymentReference": row.payment_reference}
    earlier = [each for each in paid_rows(store, row.request_id) if each.id <= row.id]
    total = sum(int(paid_record(store, each)["amount"]) for each in earlier)

    def decimal(units: int | str) -> str:
        return format_units(int(units), currency)

    yield _Event(
        "payment.confirmed" if total >= int(record["requested"]) else "payment.partial",
        row.paid_at,
        {
            **ids,
            "reference": find_bill(store, row.request_id).reference,
            "amount": decimal(record["amount"]),
            "totalAmountPaid": decimal(total),
            "expectedAmount": decimal(record["requested"]),
            "txHash": row.transaction_hash,
            "network": currency.network,
            "currency": row.invoice_currency,
            "paymentCurrency": row.payment_currency,
            "isCryptoToFiat": row.outcome is not None,
            "payerAddress": record["wallet"],
            "fees": list_fees(record, currency, read_rates(store)),
            "timestamp": format_time(row.paid_at),
        },
    )
    for step in payout_history(row, settings):
        of_step = {**ids, "subStatus": step.state, "timestamp": format_time(step.time)}
        if step.state in PAYOUT_FAILED:
            reason = record.get("reason") or _FAILURES[step.state]
            yield _Event("payment.failed", step.time, {**of_step, "failureReason": reason, "retryAfter": None})
        else:
            processing = {"offrampId": row.paid_id, "paymentProcessor": "sandbox", "rawPayload": {}}
            yield _Event("payment.processing", step.time, of_step | processing)
        if step.state == "failed":
            refund = {"refundedTo": record["wallet"], "refundAmount": decimal(record["amount"])}
            of_refund = {**ids, **refund, "currency": row.payment_currency, "timestamp": format_time(step.time)}
            yield _Event("payment.refunded", step.time, of_refund)


def _unchanged(this: ColumnElement[bool], same: list[tuple[Any, Any]]) -> ColumnElement[bool]:
    """Return the condition that a row still has these values."""
    for column, value in same:
        this &= column.is_(None) if value is None else column == value
    return this
