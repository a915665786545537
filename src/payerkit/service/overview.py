"""What a world holds, for a person to look at: counts, and the newest rows without personal data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Select, func, select

from payerkit.service.clock import format_time
from payerkit.service.encryption import RecordCipher
from payerkit.service.states import TimedState
from payerkit.service.store import Store
from payerkit.service.stored_rows import (
    DetailRow,
    EventRow,
    HoldingRow,
    LedgerRow,
    PaidRow,
    PayerRow,
    PaymentRow,
    RateRow,
    RequestRow,
)

Kind = Literal["payers", "payment_details", "payments", "requests", "paid", "events", "ledger"]
"""What is listed: the names of the tables."""

PAGE_ROWS = 50
"""Rows that a page lists; links lead to the older ones."""

_HIDDEN = "••••"

_TABLES: tuple[Any, ...] = (
    *(PayerRow, DetailRow, PaymentRow, RequestRow, PaidRow, EventRow),
    *(LedgerRow, RateRow, HoldingRow),
)
_COUNTED = {rows.__tablename__: rows for rows in _TABLES}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Rows of one kind, the newest first. older_than: the number of the last one, if there are older ones."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    older_than: int | None


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a kind's rows come from, by the column that numbers them, and what a person sees of one."""

    query: Select[Any]
    number: Any
    columns: tuple[str, ...]
    show: Callable[[Any, RecordCipher, float], tuple[str, ...]]


def count_rows(store: Store) -> dict[str, int]:
    """Return how many rows each table has of a world."""
    with store.database.read() as connection:
        return {
            name: connection.scalar(select(func.count()).where(rows.world_id == store.world_id)) or 0
            for name, rows in _COUNTED.items()
        }


def list_newest(store: Store, kind: Kind, before: int | None = None) -> Excerpt:
    """Return rows of a world, or those before a number."""
    source = _SOURCES[kind]
    query = source.query.where(_COUNTED[kind].world_id == store.world_id)
    if before is not None:
        query = query.where(source.number < before)
    now = store.now()
    with store.database.read() as connection:
        found = connection.execute(query.order_by(source.number.desc()).limit(PAGE_ROWS + 1)).all()
    shown = found[:PAGE_ROWS]
    return Excerpt(
        (*source.columns, "Stored (UTC)"),
        [(*source.show(row, store.database.cipher, now), _moment(row.created_at)) for row in shown],
        shown[-1].number if len(found) > PAGE_ROWS else None,
    )


def _show_payer(row: Any, cipher: RecordCipher, now: float) -> tuple[str, ...]:
    body = cipher.unseal(f"payer {row.key}", row.sealed)
    kyc = TimedState(row.kyc, row.kyc_following, row.kyc_due).at(now)
    return _visible_id(body["clientUserId"]), body["beneficiaryType"], body["country"], kyc, row.agreement


def _show_detail(row: Any, cipher: RecordCipher, now: float) -> tuple[str, ...]:
    payer = cipher.unseal(f"payer {row.key}", row.payer_sealed)
    body = cipher.unseal(f"payment_detail {row.detail_id}", row.sealed)
    account = _visible_account(body.get("iban") or body.get("accountNumber") or "")
    state = TimedState(row.state, row.following, row.due).at(now)
    return row.detail_id, _visible_id(payer["clientUserId"]), body["bankName"], account, body["currency"], state


def _show_payment(row: Any, cipher: RecordCipher, _now: float) -> tuple[str, ...]:
    payee, *rest = json.loads(cipher.unseal(f"payment {row.request_id}", row.sealed)["order"])
    return row.request_id, *rest, payee


def _show_request(row: Any, cipher: RecordCipher, _now: float) -> tuple[str, ...]:
    body = cipher.unseal(f"request {row.request_id}", row.sealed)
    reference = _visible_id(body.get("reference", ""))
    return row.request_id, reference, body["amount"], body["invoiceCurrency"], body["paymentCurrency"]


def _show_paid(row: Any, _cipher: RecordCipher, _now: float) -> tuple[str, ...]:
    return row.request_id, row.payment_currency, row.transaction_hash, format_time(row.paid_at)


def _show_event(row: Any, cipher: RecordCipher, _now: float) -> tuple[str, ...]:
    event = cipher.unseal(f"event {row.delivery_id}", row.sealed)
    return row.delivery_id, event["event"], format_time(row.fired_at)


def _show_entry(row: Any, cipher: RecordCipher, _now: float) -> tuple[str, ...]:
    entry = cipher.unseal(f"ledger {row.entry}", row.sealed)
    return str(row.number), entry["what"], _visible_id(entry["clientUserId"]), entry["id"] or "", entry["fingerprint"]


_SOURCES: Mapping[Kind, _Source] = {
    "payers": _Source(
        select(PayerRow.__table__, PayerRow.id.label("number")),
        PayerRow.id,
        ("Client user id", "Type", "Country", "Identity check", "Agreement"),
        _show_payer,
    ),
    "payment_details": _Source(
        select(
            DetailRow.__table__, DetailRow.id.label("number"), PayerRow.key, PayerRow.sealed.label("payer_sealed")
        ).join(PayerRow, PayerRow.id == DetailRow.payer_id),
        DetailRow.id,
        ("Id", "Client user id", "Bank", "Account", "Currency", "State"),
        _show_detail,
    ),
    "payments": _Source(
        select(PaymentRow.__table__, PaymentRow.id.label("number")),
        PaymentRow.id,
        ("Request id", "Amount", "Invoice currency", "Payment currency", "Payee"),
        _show_payment,
    ),
    "requests": _Source(
        select(RequestRow.__table__, RequestRow.id.label("number")),
        RequestRow.id,
        ("Request id", "Reference", "Amount", "Invoice currency", "Payment currency"),
        _show_request,
    ),
    "paid": _Source(
        select(PaidRow.__table__, PaidRow.id.label("number")),
        PaidRow.id,
        ("Request id", "Payment currency", "Transaction", "Paid, by the sandbox's clock"),
        _show_paid,
    ),
    "events": _Source(
        select(EventRow.__table__),
        EventRow.number,
        ("Delivery", "Event", "Fired, by the sandbox's clock"),
        _show_event,
    ),
    "ledger": _Source(
        select(LedgerRow.__table__),
        LedgerRow.number,
        ("Number", "Write", "Client user id", "Payment detail", "Fingerprint"),
        _show_entry,
    ),
}


def _visible_id(client_user_id: str) -> str:
    """Return a client user id, unless it is an e-mail address, percent-encoded or not."""
    return _HIDDEN if re.search("@|%(25)*40", client_user_id) else client_user_id


def _visible_account(number: str) -> str:
    """Return the last four characters of an account number if it has eight or more."""
    return _HIDDEN + number[-4:] if len(number) >= 8 else _HIDDEN * bool(number)


def _moment(created: datetime | None) -> str:
    """Return a time of the database, which is UTC; nothing for what was stored before times were."""
    if created is None:
        return ""
    return (created.astimezone(UTC) if created.tzinfo else created).strftime("%Y-%m-%d %H:%M:%S")
