"""Requests that are paid out to bank accounts: created, turned into transactions, and the steps of their payouts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from fastapi import Query
from pydantic import Field
from sqlalchemy import select
from typing_extensions import TypedDict

from payerkit._tsv import rows
from payerkit.onchain.addresses import address_problem
from payerkit.onchain.currencies import find_currency
from payerkit.service import fields
from payerkit.service.accounts import listed_account
from payerkit.service.clock import format_time
from payerkit.service.errors import Problem
from payerkit.service.money import format_units
from payerkit.service.pay import (
    OPERATOR_ADDRESS,
    Order,
    Steps,
    TransactionResponse,
    add_bill,
    find_bill,
    read_order,
    transactions_of,
)
from payerkit.service.payers import is_compliant, read_payer
from payerkit.service.tables import AccountRow, BillRow, PaymentRow
from payerkit.service.world import CHANGES, WorldSession, of_api, of_sandbox

PayoutState = Literal[
    "initiated",
    "pending_internal_assessment",
    "ongoing_checks",
    "processing",
    "sending_fiat",
    "fiat_sent",
    "bounced",
    "failed",
    "insufficient_funds",
    "retry_required",
]
"""The words of the operator's documentation, of its events, and of a public client."""

TEST_BANKS = {"Example Bank payout bounced": "bounced", "Example Bank payout failed": "failed"}
"""Test values: how payouts to an account at a bank with such a name end."""

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


class AddressOfRequest(TypedDict):
    """The address of a customer."""

    street: NotRequired[fields.AnyText]
    city: NotRequired[fields.AnyText]
    state: NotRequired[fields.AnyText]
    postalCode: NotRequired[fields.AnyText]
    country: NotRequired[fields.AnyText]


class CustomerOfRequest(TypedDict):
    """Who the customer is; the sandbox returns it, and does nothing else with it."""

    firstName: NotRequired[fields.AnyText]
    lastName: NotRequired[fields.AnyText]
    email: NotRequired[fields.AnyText]
    address: NotRequired[AddressOfRequest]


class NewPayoutRequest(TypedDict):
    """A request that is paid out to a bank account: it names no payee."""

    amount: fields.Amount
    invoiceCurrency: Annotated[fields.NonEmptyText, Field(examples=["USD"])]
    paymentCurrency: Annotated[fields.NonEmptyText, Field(examples=["USDC-sepolia"])]
    isCryptoToFiatAvailable: Literal[True]
    reference: NotRequired[Annotated[str, Field(min_length=1, max_length=255, examples=["invoice-001"])]]
    customerInfo: NotRequired[CustomerOfRequest]


class CreatedRequest(TypedDict):
    """The ids of a new request."""

    requestId: fields.RequestId
    paymentReference: fields.PaymentReference


class PayoutMetadata(Steps, TypedDict):
    """How the transactions belong together and, if the wallet is given, whether it can pay them."""

    hasEnoughAllowance: NotRequired[bool]
    hasEnoughBalance: NotRequired[bool]
    hasEnoughGas: NotRequired[bool]
    quoteExpiresAt: NotRequired[fields.Time]


class PayoutTransactions(TypedDict):
    """The transactions that pay a request."""

    transactions: list[TransactionResponse]
    metadata: PayoutMetadata


class OperatorResponse(TypedDict):
    """Who receives the crypto of all payouts."""

    address: fields.Address


class PayoutStateRequest(TypedDict):
    """A state of a request's payouts, and the reason that its event gives."""

    status: PayoutState
    reason: NotRequired[fields.AnyText]


router = of_api()
controls = of_sandbox()


@router.call("POST /v2/request", "create_request", "Create a request to be paid out to a bank account", status_code=201)
def post_request(body: NewPayoutRequest, session: WorldSession) -> CreatedRequest:
    """Store the request; who is paid is told where its transactions are asked for."""
    order = read_order(session, body)
    if order.currency.id not in _PAYOUT_CURRENCIES:
        listed = ", ".join(sorted(_PAYOUT_CURRENCIES))
        message = f"cannot be paid out to a bank; choose one of {listed}"
        raise Problem.of_field("paymentCurrency", message, "currency_payout")
    stored = dict(body)
    bill = add_bill(session, "payout ", OPERATOR_ADDRESS, json.dumps(stored, sort_keys=True), stored)
    session.record("request", None, stored, bill.request_id)
    return {"requestId": bill.request_id, "paymentReference": bill.payment_reference}


@router.call("GET /v2/request/{requestId}/pay", "request_payment", "Read the transactions that pay a request", 403, 404)
def get_transactions(
    request_id: fields.RequestPathId,
    session: WorldSession,
    client_user_id: Annotated[fields.Id, Query(alias="clientUserId", description="The payer.", examples=["user-123"])],
    payment_details_id: Annotated[fields.Id, Query(alias="paymentDetailsId", description="The account that is paid.")],
    wallet: Annotated[fields.Address | None, Query(description="The address of the wallet that pays.")] = None,
) -> PayoutTransactions:
    """Return the transactions to sign, which pay the operator; the operator pays out to the account."""
    bill = find_bill(session, (BillRow.request_id == request_id) & BillRow.is_payout)
    if bill is None:
        raise Problem(404, f"Request {request_id} not found")
    check_wallet(wallet)
    account = find_payable_account(session, client_user_id, payment_details_id)
    order = read_order(session, bill.body)
    _check_least(order, bill.body["amount"], account)
    transactions, metadata = transactions_of(session, order, bill, has_wallet=wallet is not None)
    if wallet is None:
        metadata = {name: value for name, value in metadata.items() if not name.startswith("hasEnough")}
    else:
        metadata["hasEnoughAllowance"] = not metadata["needsApproval"]
    if session.settings.clock == "wall":  # a manual clock stands in the past, and quotes are checked by a real one
        metadata["quoteExpiresAt"] = format_time(float(int(session.now)) + QUOTE_SECONDS)
    return {"transactions": transactions, "metadata": metadata}


@controls.call("GET /sandbox/operator", "sandbox_get_operator", "Read the operator's address")
async def get_operator() -> OperatorResponse:
    """Return who receives the crypto of all payouts. The live service publishes no such address."""
    return {"address": OPERATOR_ADDRESS}


@controls.call("PUT /sandbox/payouts/{requestId}", "sandbox_decide_payout", "Set the state of a payout", 404)
def put_payout(request_id: fields.RequestPathId, body: PayoutStateRequest, session: WorldSession) -> PayoutStateRequest:
    """Set the state, as if the operator had decided so."""
    bill = find_bill(session, BillRow.request_id == request_id)
    payments = [] if bill is None else payments_of(session, bill)
    payouts = [each for each in payments if each.outcome is not None]
    if not payouts:
        raise Problem(404, f"Request {request_id} has no payout; pay it first")
    for each in payouts:
        session.drop_changes("payout", each.id)
        _fire_step(session, each, body["status"], session.now, body.get("reason"))
    return body


def check_wallet(wallet: str | None) -> None:
    """Raise Problem for a wallet that is no address; its checksum does not matter, since it receives nothing."""
    if wallet is not None and address_problem(wallet) == "address_malformed":
        raise Problem.of_field("wallet", "must be an address: 0x and 40 hex digits", "address_format")


def find_payable_account(session: WorldSession, client_user_id: str, account_id: str) -> Mapping[str, Any]:
    """Return an account that can be paid, as listed. Raises Problem if payer or account may not be paid yet."""
    payer = read_payer(session, client_user_id)
    there = (AccountRow.account_id == account_id) & (AccountRow.payer_id == payer.id)
    account = session.scalars(select(AccountRow).where(there)).one_or_none()
    if account is None:
        raise Problem(404, f"Payment detail {account_id} not found")
    if not is_compliant(payer):
        raise Problem(403, "The payer is not compliant yet", code="not_yet_passed_kyc_kyb")
    if account.status not in {"approved", "verified"}:
        message = f"is {account.status}: only an approved account can be paid"
        raise Problem.of_field("paymentDetailsId", message, "account_not_approved")
    return listed_account(account, payer.user_id)


@cache
def _least_amounts() -> Mapping[tuple[str, str], int]:
    """Return the least amounts of payouts by an account's currency and, for some, its rails (operator, 2025-11)."""
    return {(row["currency"], row["rails"]): int(row["least"]) for row in rows(__package__, "payout_minimums")}


def _check_least(order: Order, amount: str, account: Mapping[str, Any]) -> None:
    """Raise Problem if an order is below the least amount of an account's currency and rails."""
    currency, rails = str(account["currency"]).upper(), str(account["rails"])
    least = _least_amounts().get((currency, rails)) or _least_amounts().get((currency, ""))
    paid_out = find_currency(currency)
    if least is None or paid_out is None:
        return
    if Fraction(Decimal(amount)) * order.rates.exchange_rate(order.invoice, paid_out) < least:
        message = f"is below the least amount: {least} {currency} by {rails} rails"
        raise Problem.of_field("amount", message, "below_currency_limit")


def payments_of(session: WorldSession, bill: BillRow) -> list[PaymentRow]:
    """Return the payments of a bill, in their order."""
    return list(session.scalars(select(PaymentRow).where(PaymentRow.bill_id == bill.id).order_by(PaymentRow.id)))


def payout_outcome(bank_name: str) -> str:
    """Return how payouts to an account at this bank end: the bank has the money, unless the name is a test value."""
    tests = {name.lower(): outcome for name, outcome in TEST_BANKS.items()}
    return tests.get(bank_name.strip().lower(), "fiat_sent")


def payout_steps(outcome: str, paid_at: float, after: float) -> list[tuple[float, str]]:
    """Return the states of a payout, in equal parts of the time that it takes, each with its time."""
    states = ["pending_internal_assessment", *(["sending_fiat"] if outcome != "failed" else []), outcome]
    return [(paid_at + after * place / (len(states) - 1), state) for place, state in enumerate(states)]


def _fire_step(session: WorldSession, payment: PaymentRow, state: str, at: float, reason: str | None = None) -> None:
    """Fire the events of a payout's new state. reason: why it failed; by default, in the sandbox's own words."""
    ids = payment.bill.ids
    step = {**ids, "subStatus": state, "timestamp": format_time(at)}
    if state not in _FAILURES:
        processing = {"offrampId": payment.payment_id, "paymentProcessor": "sandbox", "rawPayload": {}}
        session.fire("payment.processing", at, step | processing)
        return
    session.fire("payment.failed", at, {**step, "failureReason": reason or _FAILURES[state], "retryAfter": None})
    currency = find_currency(payment.payment_currency)
    if state == "failed" and currency is not None:
        refund = {"refundedTo": payment.body["wallet"], "refundAmount": format_units(payment.body["amount"], currency)}
        of_refund = {**ids, **refund, "currency": payment.payment_currency, "timestamp": format_time(at)}
        session.fire("payment.refunded", at, of_refund)


CHANGES["payout"] = PaymentRow, _fire_step
