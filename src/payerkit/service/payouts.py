"""Requests that are paid out to bank accounts, the payments of these and other bills, and the steps of payouts.

A wallet makes a payment with its transactions; the reference in them finds the bill.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from fastapi import Query
from pydantic import Field
from sqlalchemy import Select, func, select
from typing_extensions import TypedDict

from payerkit._tsv import rows
from payerkit.onchain.addresses import with_checksum
from payerkit.onchain.currencies import find_currency
from payerkit.service import fields, pay
from payerkit.service.accounts import find_account, listed_account
from payerkit.service.clock import format_time
from payerkit.service.failures import HttpError
from payerkit.service.pay import format_units, in_usd, whole_units
from payerkit.service.payers import is_compliant, read_payer
from payerkit.service.tables import AccountRow, BillRow, PaymentRow
from payerkit.service.world import CHANGES, WorldRouter, WorldSession

UnderWay = Literal["initiated", "pending_internal_assessment", "ongoing_checks", "processing", "sending_fiat"]
PayoutState = Literal[UnderWay, "fiat_sent", "bounced", "failed", "insufficient_funds", "retry_required"]
"""The words of the operator's documentation, of its events, and of a public client."""

TEST_BANKS = {"Example Bank payout bounced": "bounced", "Example Bank payout failed": "failed"}
"""Test values: how payouts to an account at a bank with such a name end."""

_OUTCOMES = {name.lower(): outcome for name, outcome in TEST_BANKS.items()}

_FAILURES = {
    "bounced": "The bank returned the money.",
    "failed": "The payment was rejected.",
    "insufficient_funds": "The wallet does not hold enough.",
    "retry_required": "The payout has to be tried again.",
}
"""States in which the bank has no money, with reasons of the sandbox's own, where none was given by hand."""

_PAYOUT_CURRENCIES = {"USDC-mainnet", "USDC-matic", "USDC-arbitrum-one", "fUSDC-sepolia"}
"""What can be paid out to a bank (operator's documentation): USDC on four networks."""

QUOTE_SECONDS = 900
"""How long the amounts of a payment are promised; invented."""


class NewPayoutRequest(TypedDict):
    """A request that is paid out to a bank account: it names no payee."""

    amount: fields.AnyText
    invoiceCurrency: fields.NonEmptyText
    paymentCurrency: fields.NonEmptyText
    isCryptoToFiatAvailable: Literal[True]
    reference: NotRequired[Annotated[str, Field(min_length=1, max_length=255)]]


class PayoutStateRequest(TypedDict):
    """A state of a request's payouts, and the reason that its event gives."""

    status: PayoutState
    reason: NotRequired[fields.AnyText]


DEMO_WALLET = "0x" + "0de0" * 10
"""The address of the demo wallet, if a payment does not name another one; invented."""


class SignedTransaction(TypedDict):
    """A transaction as a wallet sends it; the value in wei."""

    to: fields.NonEmptyText
    data: str
    value: Annotated[str, Field(pattern="^[0-9]{1,78}$")]


class ExecutionRequest(TypedDict):
    """The transactions of a payment, and the account that it pays out to, if it does."""

    transactions: Annotated[list[SignedTransaction], Field(min_length=1, max_length=10)]
    wallet: NotRequired[fields.NonEmptyText]
    clientUserId: NotRequired[fields.Id]
    paymentDetailsId: NotRequired[fields.Id]


PaymentType = Literal["direct", "conversion", "crosschain", "recurring"]

router = WorldRouter()


@router.call("POST /v2/request", status=201)
def post_request(body: NewPayoutRequest, session: WorldSession) -> Mapping[str, Any]:
    """Store the request. The call for its transactions names the account that is paid."""
    order = pay.read_order(session, body)
    if order.currency.id not in _PAYOUT_CURRENCIES:
        listed = ", ".join(sorted(_PAYOUT_CURRENCIES))
        message = f"cannot be paid out to a bank; choose one of {listed}"
        raise HttpError.of_field("paymentCurrency", message, "currency_payout")
    stored = dict(body)
    bill = pay.add_bill(session, "payout ", pay.OPERATOR_ADDRESS, json.dumps(stored, sort_keys=True), stored)
    session.record("request", None, stored, bill.request_id)
    return {"requestId": bill.request_id, "paymentReference": bill.payment_reference}


Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=2**31)]


@router.call("GET /v2/request")
def get_requests(
    session: WorldSession,
    wallet: Annotated[fields.Id | None, Query(alias="walletAddress")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Mapping[str, Any]:
    """Return the requests of this key, unpaid ones too."""
    query = select(BillRow).where(BillRow.world_id == session.world.id)
    if wallet is not None:
        key = session.lookup_key(f"wallet {wallet.lower()}")
        query = query.where(BillRow.id.in_(select(PaymentRow.bill_id).where(PaymentRow.key == key)))
    found, pagination = _read_page(session, query.order_by(BillRow.id), limit, offset)
    return {"requests": [_listed_request(bill) for bill in found], "pagination": pagination}


def _read_page(
    session: WorldSession, query: Select[Any], limit: int, offset: int
) -> tuple[Sequence[Any], dict[str, int]]:
    """Return a page of a list, and which part of the whole it is."""
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    found = session.scalars(query.limit(limit).offset(offset)).all()
    return found, {"total": total, "limit": limit, "offset": offset}


def _listed_request(bill: BillRow) -> dict[str, Any]:
    return {
        "requestId": bill.request_id,
        "paymentReference": bill.payment_reference,
        **{name: bill.body[name] for name in ("amount", "invoiceCurrency", "paymentCurrency")},
        **_paid_members(bill),
        "reference": bill.body.get("reference"),
        "createdAt": format_time(bill.created_at),
        "payee": bill.body.get("payee"),
        "payer": bill.payments[0].body["wallet"] if bill.payments else None,
    }


def _paid_members(bill: BillRow) -> dict[str, Any]:
    """Return the members of a bill that follow from its payments."""
    return {
        "hasBeenPaid": bill.is_paid,
        "status": "paid" if bill.is_paid else "partially_paid" if bill.payments else "pending",
        "txHash": bill.payments[0].transaction_hash if bill.payments else None,
    }


@router.call("GET /v2/request/{requestId}/pay")
def get_transactions(
    request_id: fields.RequestPathId,
    session: WorldSession,
    client_user_id: Annotated[fields.Id, Query(alias="clientUserId")],
    payment_details_id: Annotated[fields.Id, Query(alias="paymentDetailsId")],
    wallet: fields.NonEmptyText | None = None,
) -> Mapping[str, Any]:
    """Return the transactions to sign, which pay the operator; the operator pays out to the account."""
    bill = pay.find_bill(session, (BillRow.request_id == request_id) & BillRow.is_payout)
    if bill is None:
        raise HttpError(404, f"Request {request_id} not found")
    if wallet is not None:
        pay.check_format(wallet, "wallet")
    account = find_payable_account(session, client_user_id, payment_details_id)
    order = pay.read_order(session, bill.body)
    _check_least(order, bill.body["amount"], account)
    if bill.payments and not bill.is_paid:  # what is paid already is not asked for again
        rest = bill.payments[0].body["requested"] - bill.paid
        order = replace(order, amount=rest, fee=int(rest * session.settings.fee_rate))
    transactions, metadata = pay.transactions_of(session, order, bill, has_wallet=wallet is not None)
    if wallet is not None:
        metadata["hasEnoughAllowance"] = not metadata["needsApproval"]
    if session.settings.clock == "wall":  # a manual clock stands in the past, and quotes are checked by a real one
        metadata["quoteExpiresAt"] = format_time(float(int(session.now)) + QUOTE_SECONDS)
    return {"transactions": transactions, "metadata": metadata}


@router.call("GET /v2/request/{requestId}")
def get_request(request_id: fields.RequestPathId, session: WorldSession) -> Mapping[str, Any]:
    """Return whether the request is paid, and its payments."""
    bill = pay.find_bill(session, BillRow.request_id == request_id)
    if bill is None:
        raise HttpError(404, f"Request {request_id} not found")
    order, payments = pay.read_order(session, bill.body), [_listed(each) for each in bill.payments]
    excess = max(0, bill.paid - bill.payments[0].body["requested"]) if payments else 0
    return {
        **_request_of(bill),
        **_paid_members(bill),
        "isListening": not bill.is_paid,
        "isCryptoToFiatAvailable": bill.is_payout,
        "requestAmount": bill.body["amount"],
        "paidAmount": format_units(bill.paid, order.currency),
        "receivedAmount": format_units(bill.paid, order.currency),
        "excessAmount": format_units(excess, order.currency),
        "payerAddress": bill.payments[0].body["wallet"] if payments else None,
        "amountInUsd": in_usd(Fraction(bill.body["amount"]), order.invoice, order.rates),
        "conversionRate": None,
        "payments": payments,
        "fees": [fee for payment in payments for fee in payment["fees"]],
    }


@router.call("GET /v2/payments")
def get_payments(  # noqa: PLR0913, PLR0917 - the published filters
    session: WorldSession,
    tx_hash: Annotated[fields.Id | None, Query(alias="txHash")] = None,
    wallet: Annotated[fields.Id | None, Query(alias="walletAddress")] = None,
    payment_reference: Annotated[fields.Id | None, Query(alias="paymentReference")] = None,
    request_id: Annotated[fields.Id | None, Query(alias="requestId")] = None,
    reference: Annotated[fields.Id | None, Query()] = None,
    payment_type: Annotated[PaymentType | None, Query(alias="type")] = None,
    invoice_currency: Annotated[fields.Id | None, Query(alias="invoiceCurrency")] = None,
    payment_currency: Annotated[fields.Id | None, Query(alias="paymentCurrency")] = None,
    from_date: Annotated[fields.Id | None, Query(alias="fromDate")] = None,
    to_date: Annotated[fields.Id | None, Query(alias="toDate")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Mapping[str, Any]:
    """Return the payments that have all that is asked for. A request that nobody has paid is not among them."""
    listed = find_currency(payment_currency or "")
    same: list[tuple[Any, str | None]] = [
        (PaymentRow.transaction_hash, tx_hash and tx_hash.lower()),
        (PaymentRow.key, wallet and session.lookup_key(f"wallet {wallet.lower()}")),
        (BillRow.payment_reference, payment_reference and payment_reference.lower()),
        (BillRow.request_id, request_id),
        (BillRow.key, reference and session.lookup_key(f"reference {reference}")),
        (func.lower(PaymentRow.invoice_currency), invoice_currency and invoice_currency.lower()),
        (PaymentRow.payment_currency, listed.id if listed else payment_currency),
    ]
    wanted = [column == value for column, value in same if value is not None]
    if not wanted and payment_type is None:
        raise HttpError(400, "Give at least one filter besides fromDate and toDate, such as reference")
    if payment_type not in {None, "direct"}:  # the only type that the sandbox has
        wanted.append(PaymentRow.id < 0)
    if from_date is not None:
        wanted.append(PaymentRow.paid_at >= _read_time(from_date, "fromDate"))
    if to_date is not None:
        wanted.append(PaymentRow.paid_at <= _read_time(to_date, "toDate"))
    query = select(PaymentRow).join(PaymentRow.bill).where(PaymentRow.world_id == session.world.id, *wanted)
    found, pagination = _read_page(session, query.order_by(PaymentRow.id), limit, offset)
    has_more = offset + len(found) < pagination["total"]
    return {"payments": [_listed(each) for each in found], "pagination": {**pagination, "hasMore": has_more}}


@router.call("POST /sandbox/transactions")
def post_transactions(body: ExecutionRequest, session: WorldSession) -> Mapping[str, Any]:
    """Make the transactions of a payment with the demo wallet: all of them, or none."""
    wallet = body.get("wallet") or DEMO_WALLET
    pay.check_format(wallet, "wallet")
    steps = pay.read_steps(body["transactions"])
    paid = pay.Paid.of(steps[-1])
    bill = pay.find_bill(session, BillRow.payment_reference == "0x" + paid.reference.hex())
    if bill is None:
        raise HttpError.of_field("transactions", "pay no payment or request of this sandbox", "transactions")
    order = pay.read_order(session, bill.body)
    pay.check_steps(order, steps, paid)
    account = _find_account(session, bill, body)
    pay.spend(session, order, steps, paid)
    outcome = None if account is None else _OUTCOMES.get(str(account["bankName"]).strip().lower(), "fiat_sent")
    payment = _add_payment(session, bill, order, paid, wallet, outcome)
    _fire_payment(session, payment, order)
    if outcome is not None:  # the states of a payout come in equal parts of the time that it takes
        states = ["pending_internal_assessment", *(["sending_fiat"] if outcome != "failed" else []), outcome]
        for place, state in enumerate(states):
            due = session.now + session.settings.payouts_after * place / (len(states) - 1)
            session.change_later("payout", payment.id, state, due)
    session.record("execution", body.get("clientUserId"), body, payment.payment_id)
    return {"transactionHash": payment.transaction_hash}


@router.call("GET /sandbox/operator")
async def get_operator() -> Mapping[str, Any]:
    """Return who receives the crypto of all payouts. The live service publishes no such address."""
    return {"address": pay.OPERATOR_ADDRESS}


@router.call("PUT /sandbox/payouts/{requestId}")
def put_payout(request_id: fields.RequestPathId, body: PayoutStateRequest, session: WorldSession) -> Mapping[str, Any]:
    """Set the state, as if the operator had decided so."""
    bill = pay.find_bill(session, BillRow.request_id == request_id)
    payouts = [] if bill is None else [each for each in bill.payments if each.outcome is not None]
    if not payouts:
        raise HttpError(404, f"Request {request_id} has no payout; pay it first")
    for each in payouts:
        session.drop_changes("payout", each.id)
        _fire_step(session, each, body["status"], session.now, body.get("reason"))
    return body


def find_payable_account(session: WorldSession, client_user_id: str, account_id: str) -> Mapping[str, Any]:
    """Return an account that can be paid, as listed. Raises HttpError if payer or account may not be paid yet."""
    payer = read_payer(session, client_user_id)
    account = find_account(session, account_id, AccountRow.payer_id == payer.id)
    if not is_compliant(payer):
        raise HttpError(403, "The payer is not compliant yet", code="not_yet_passed_kyc_kyb")
    if account.status not in {"approved", "verified"}:
        message = f"is {account.status}: only an approved account can be paid"
        raise HttpError.of_field("paymentDetailsId", message, "account_not_approved")
    return listed_account(account, payer.user_id)


@cache
def _least_amounts() -> Mapping[tuple[str, str], int]:
    """Return the least amounts of payouts by an account's currency and, for some, its rails (operator, 2025-11)."""
    return {(row["currency"], row["rails"]): int(row["least"]) for row in rows(__package__, "payout_minimums")}


def _check_least(order: pay.Order, amount: str, account: Mapping[str, Any]) -> None:
    """Raise HttpError if an order is below the least amount of an account's currency and rails."""
    currency, rails = str(account["currency"]).upper(), str(account["rails"])
    least = _least_amounts().get((currency, rails)) or _least_amounts().get((currency, ""))
    paid_out = find_currency(currency)
    if least is None or paid_out is None:
        return
    if Fraction(amount) * order.rates.exchange_rate(order.invoice, paid_out) < least:
        message = f"is below the least amount: {least} {currency} by {rails} rails"
        raise HttpError.of_field("amount", message, "below_currency_limit")


def _fire_step(session: WorldSession, payment: PaymentRow, state: str, at: float, reason: str | None = None) -> None:
    """Fire the events of a payout's new state. reason: why it failed; by default, in the sandbox's own words."""
    ids = payment.bill.ids
    step = {**ids, "subStatus": state, "timestamp": format_time(at)}
    if state not in _FAILURES:
        processing = {"offrampId": payment.payment_id, "paymentProcessor": "sandbox", "rawPayload": {}}
        session.fire("payment.processing", at, step | processing)
        return
    session.fire("payment.failed", at, {**step, "failureReason": reason or _FAILURES[state], "retryAfter": None})
    if state == "failed":
        refund = {"refundedTo": payment.body["wallet"], "refundAmount": payment.body["amount"]}
        of_refund = {**ids, **refund, "currency": payment.payment_currency, "timestamp": format_time(at)}
        session.fire("payment.refunded", at, of_refund)


CHANGES["payout"] = PaymentRow, _fire_step


# Payments


def _read_time(text: str, field: str) -> float:
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.timestamp()
    except (ValueError, OverflowError):
        pass
    raise HttpError.of_field(field, "must be a time with its zone, such as 2026-01-01T00:00:00Z", "time")


def _listed(payment: PaymentRow) -> dict[str, Any]:
    """Return a payment as listed."""
    return {
        "id": payment.payment_id,
        "amount": payment.body["amount"],
        "sourceNetwork": payment.body["network"],
        "destinationNetwork": payment.body["network"],
        "sourceTxHash": payment.transaction_hash,
        "destinationTxHash": None,
        "timestamp": format_time(payment.paid_at),
        "type": "direct",
        "currency": payment.invoice_currency,
        "paymentCurrency": payment.payment_currency,
        "fees": payment.body["fees"],
        "request": _request_of(payment.bill),
    }


def _request_of(bill: BillRow) -> dict[str, Any]:
    """Return the request as each of its payments names it."""
    return {
        "requestId": bill.request_id,
        "paymentReference": bill.payment_reference,
        "hasBeenPaid": bill.is_paid,
        "customerInfo": None,  # payerkit sends none
        "reference": bill.body.get("reference"),
    }


def _list_fees(order: pay.Order, paid: pay.Paid) -> list[dict[str, str]]:
    """Return the fees of a payment as listed: none, or the protocol fee."""
    if not paid.fee:
        return []
    currency = order.currency
    fee = {
        "type": "protocol",
        "stage": "sending",
        "provider": "request-network",
        "amount": format_units(paid.fee, currency),
        "amountInUSD": in_usd(whole_units(paid.fee, currency), currency, order.rates),
        "currency": currency.id,
        "receiverAddress": with_checksum(paid.fee_address),
        "network": currency.network,
    }
    return [fee]


def _add_payment(
    session: WorldSession, bill: BillRow, order: pay.Order, paid: pay.Paid, wallet: str, outcome: str | None
) -> PaymentRow:
    """Add a payment with ids of its own."""
    ordinal, currency = len(bill.payments), order.currency
    payment = PaymentRow(
        world_id=session.world.id,
        bill=bill,
        payment_id=session.identifiers.uuid("paid", bill.request_id, ordinal),
        transaction_hash="0x" + session.identifiers.token_bytes(32, "transaction", bill.request_id, ordinal).hex(),
        key=session.lookup_key(f"wallet {wallet.lower()}"),
        invoice_currency=bill.body["invoiceCurrency"],
        payment_currency=currency.id,
        paid_at=session.now,
        outcome=outcome,
        body={
            "wallet": wallet,
            "network": currency.network,
            "units": paid.amount,
            "requested": order.amount,
            "amount": format_units(paid.amount, currency),
            "fees": _list_fees(order, paid),
        },
    )
    session.add(payment)
    session.flush()
    return payment


def _fire_payment(session: WorldSession, payment: PaymentRow, order: pay.Order) -> None:
    """Fire the event of a payment: its bill is paid in full with it, or in part."""
    body, bill, currency = payment.body, payment.bill, order.currency
    event = {
        **bill.ids,
        "reference": bill.body.get("reference"),
        "amount": body["amount"],
        "totalAmountPaid": format_units(bill.paid, currency),
        "expectedAmount": format_units(order.amount, currency),
        "txHash": payment.transaction_hash,
        "network": currency.network,
        "currency": payment.invoice_currency,
        "paymentCurrency": payment.payment_currency,
        "isCryptoToFiat": payment.outcome is not None,
        "payerAddress": body["wallet"],
        "fees": body["fees"],
        "timestamp": format_time(payment.paid_at),
    }
    session.fire("payment.confirmed" if bill.is_paid else "payment.partial", payment.paid_at, event)


def _find_account(session: WorldSession, bill: BillRow, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the account that a payment pays out to, or None. Raises HttpError if it is missing, or cannot be paid."""
    if not bill.is_payout:
        return None
    for name in ("clientUserId", "paymentDetailsId"):
        if name not in body:
            raise HttpError.of_field(name, "must be provided, since the request is paid out to an account", "missing")
    return find_payable_account(session, str(body["clientUserId"]), str(body["paymentDetailsId"]))
