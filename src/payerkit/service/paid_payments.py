"""What was paid: the list of payments, and the state of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import ColumnElement, Row, func, select, update

from payerkit.onchain.currencies import Currency, find_currency
from payerkit.service.bills import Bill, find_bill, listed_id
from payerkit.service.clock import format_time
from payerkit.service.errors import Problem
from payerkit.service.money import Rates, format_units, in_usd, whole_units
from payerkit.service.payout_states import Transition, payout_transitions
from payerkit.service.settings import Settings
from payerkit.service.store import Store
from payerkit.service.stored_rows import PaidRow, RequestRow
from payerkit.service.wallet import read_rates

_PAID = PaidRow.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentFilter:
    """Which payments are listed: those that have all that is given."""

    tx_hash: str | None = None
    wallet: str | None = None
    payment_reference: str | None = None
    request_id: str | None = None
    reference: str | None = None
    payment_type: str | None = None
    invoice_currency: str | None = None
    payment_currency: str | None = None
    from_date: str | None = None
    to_date: str | None = None

    def condition(self, store: Store) -> ColumnElement[bool]:
        """Return the condition of the rows. Raises Problem for a time that is none."""
        found = PaidRow.world_id == store.world_id
        same: list[tuple[Any, str | None]] = [
            (PaidRow.transaction_hash, self.tx_hash and self.tx_hash.lower()),
            (PaidRow.key, self.wallet and store.lookup_key(f"wallet {self.wallet.lower()}")),
            (PaidRow.payment_reference, self.payment_reference and self.payment_reference.lower()),
            (PaidRow.request_id, self.request_id),
            (func.lower(PaidRow.invoice_currency), self.invoice_currency and self.invoice_currency.lower()),
            (func.lower(PaidRow.payment_currency), self.payment_currency and listed_id(self.payment_currency).lower()),
        ]
        for column, wanted in same:
            if wanted is not None:
                found &= column == wanted
        if self.reference is not None:
            key = store.lookup_key(f"reference {self.reference}")
            found &= PaidRow.request_id.in_(select(RequestRow.request_id).where(RequestRow.key == key))
        if self.payment_type not in {None, "direct"}:  # the only type that the sandbox has
            found &= PaidRow.id < 0
        if self.from_date is not None:
            found &= PaidRow.paid_at >= _read_time(self.from_date, "fromDate")
        if self.to_date is not None:
            found &= PaidRow.paid_at <= _read_time(self.to_date, "toDate")
        return found


def _read_time(text: str, field: str) -> float:
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.timestamp()
    except (ValueError, OverflowError):
        pass
    raise Problem.of_field(field, "must be a time with its zone, such as 2026-01-01T00:00:00Z", "time")


def list_paid(store: Store, wanted: PaymentFilter, limit: int, offset: int) -> dict[str, Any]:
    """Return a page of payments and what it is a part of."""
    condition = wanted.condition(store)
    with store.database.read() as connection:
        total = connection.scalar(select(func.count(PaidRow.id)).where(condition)) or 0
        query = select(_PAID).where(condition).order_by(PaidRow.id).limit(limit).offset(offset)
        rows = connection.execute(query).all()
    bills = {request_id: find_bill(store, request_id) for request_id in {row.request_id for row in rows}}
    paid = {request_id: is_paid(store, request_id) for request_id in bills}
    return {
        "payments": [_payment(store, row, bills[row.request_id], has_been_paid=paid[row.request_id]) for row in rows],
        "pagination": {"total": total, "limit": limit, "offset": offset, "hasMore": offset + len(rows) < total},
    }


def paid_rows(store: Store, request_id: str) -> list[Row[Any]]:
    """Return the rows of a request's payments, in their order."""
    there = (PaidRow.request_id == request_id) & (PaidRow.world_id == store.world_id)
    with store.database.read() as connection:
        return list(connection.execute(select(_PAID).where(there).order_by(PaidRow.id)).all())


def is_paid(store: Store, request_id: str) -> bool:
    """Return True if a request is paid in full."""
    records = [paid_record(store, row) for row in paid_rows(store, request_id)]
    return bool(records) and sum(int(each["amount"]) for each in records) >= int(records[0]["requested"])


def paid_record(store: Store, row: Row[Any]) -> dict[str, Any]:
    """Return what is sealed in a payment's row."""
    return dict(store.database.cipher.unseal(f"paid {row.paid_id}", row.sealed))


def read_request_state(store: Store, request_id: str) -> dict[str, Any]:
    """Return what is known of a request or a payment. Raises Problem (404) if there is none with this id."""
    bill, rows = find_bill(store, request_id), paid_rows(store, request_id)
    done = is_paid(store, request_id)
    payments = [_payment(store, row, bill, has_been_paid=done) for row in rows]
    units = sum(int(paid_record(store, row)["amount"]) for row in rows)
    amount, invoice = bill.order["amount"], currency_of(bill.order["invoiceCurrency"])
    return {
        "requestId": request_id,
        "paymentReference": bill.payment_reference,
        "reference": bill.reference,
        "hasBeenPaid": done,
        "status": "paid" if done else "partially_paid" if rows else "pending",
        "isListening": not done,
        "isCryptoToFiatAvailable": bill.is_payout,
        "txHash": rows[0].transaction_hash if rows else None,
        "requestAmount": amount,
        "paidAmount": format_units(units, currency_of(bill.order["paymentCurrency"])),
        "amountInUsd": in_usd(Fraction(Decimal(amount)), invoice, read_rates(store)),
        "conversionRate": None,
        "payments": payments,
        "fees": [fee for payment in payments for fee in payment["fees"]],
        "customerInfo": bill.customer,
    }


def _payment(store: Store, row: Row[Any], bill: Bill, *, has_been_paid: bool) -> dict[str, Any]:
    """Return a payment as listed."""
    record, currency = paid_record(store, row), currency_of(row.payment_currency)
    return {
        "id": row.paid_id,
        "amount": format_units(int(record["amount"]), currency),
        "sourceNetwork": currency.network,
        "destinationNetwork": currency.network,
        "sourceTxHash": row.transaction_hash,
        "destinationTxHash": None,
        "timestamp": format_time(row.paid_at),
        "type": "direct",
        "currency": row.invoice_currency,
        "paymentCurrency": row.payment_currency,
        "fees": list_fees(record, currency, read_rates(store)),
        "request": {
            "requestId": row.request_id,
            "paymentReference": row.payment_reference,
            "hasBeenPaid": has_been_paid,
            "customerInfo": bill.customer,
            "reference": bill.reference,
        },
    }


def currency_of(currency_id: str) -> Currency:
    """Return the currency of a stored order or payment."""
    currency = find_currency(currency_id)
    if currency is None:  # the token list is part of the program, and does not lose an entry
        raise Problem(500, "A payment is in a currency that the sandbox does not know")
    return currency


def list_fees(record: Mapping[str, Any], currency: Currency, rates: Rates) -> list[dict[str, str]]:
    """Return the fees of a payment as listed: none, or the protocol fee."""
    if not int(record["fee"]):
        return []
    fee = {
        "type": "protocol",
        "stage": "sending",
        "provider": "request-network",
        "amount": format_units(int(record["fee"]), currency),
        "amountInUSD": in_usd(whole_units(record["fee"], currency), currency, rates),
        "currency": currency.id,
        "receiverAddress": record["feeAddress"],
        "network": currency.network,
    }
    return [fee]


def payout_history(row: Row[Any], settings: Settings) -> list[Transition]:
    """Return the states of a payment's payout, the later ones still to come; none if it pays a wallet."""
    if row.outcome is None:
        return []
    return payout_transitions(row.paid_at, row.outcome, settings.payout_delay, row.decided, row.decided_at)


def decide_payouts(store: Store, request_id: str, state: str, reason: str | None, settings: Settings) -> None:
    """Set the state of a request's payouts for good. Raises Problem (404) if nothing is paid out for it yet."""
    now = store.now()
    rows = [row for row in paid_rows(store, request_id) if row.outcome is not None]
    if not rows:
        raise Problem(404, f"Request {request_id} has no payout; pay it first")
    cipher = store.database.cipher
    sealed = {row.id: cipher.seal(f"paid {row.paid_id}", paid_record(store, row) | {"reason": reason}) for row in rows}
    with store.database.write() as connection:
        # Read again, and nobody changes them meanwhile: what was fired of them decides what is fired next.
        query = select(_PAID).where(PaidRow.id.in_(list(sealed))).with_for_update()
        for row in connection.execute(query).all():
            changes = {"decided": state, "decided_at": now, "fired": _fired_before(row, now, settings)}
            there = PaidRow.id == row.id
            connection.execute(update(PaidRow).where(there), changes | {"sealed": sealed[row.id], "settled": False})


def _fired_before(row: Row[Any], now: float, settings: Settings) -> int:
    """Return how many events of a payment are done with when its state is set by hand.

    The state that was set before is no step of the payout any more, and what would have come after it never does.
    """
    steps = [step for step in payout_transitions(row.paid_at, row.outcome, settings.payout_delay) if step.time <= now]
    count = 1 + sum(events_of_state(step.state) for step in steps)
    return min(row.fired, count) if row.decided is None else count


def events_of_state(state: str) -> int:
    """Return how many events tell of a state: of a payout that failed, there is one about the refund, too."""
    return 2 if state == "failed" else 1
