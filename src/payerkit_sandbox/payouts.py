"""Payouts: requests that are paid out to bank accounts, what was paid for these and
other bills, and the states that a payout goes through once its request is paid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from fastapi import APIRouter, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError
from sqlalchemy import Select, false, func, select
from typing_extensions import TypedDict

from payerkit._tsv import rows
from payerkit.payments.onchain.currencies import find_currency
from payerkit_sandbox.accounts import find_account
from payerkit_sandbox.clock import format_time
from payerkit_sandbox.common_fields import (
    Address,
    Amount,
    AnyId,
    OwnReference,
    RequestPathId,
)
from payerkit_sandbox.failures import HttpError, documented
from payerkit_sandbox.ledger import fire, record
from payerkit_sandbox.models import AccountRow, BillRow, PaymentRow
from payerkit_sandbox.pay import (
    CurrencyId,
    Order,
    Transactions,
    add_bill,
    find_bill,
    order_of_body,
    part_of,
    transactions_of,
)
from payerkit_sandbox.payers import find_payer, has_passed
from payerkit_sandbox.wallet import OPERATOR_ADDRESS, format_units, in_usd
from payerkit_sandbox.worlds import CHANGES, SessionDep, WorldSession

_PAYOUT_CURRENCIES = [
    "USDC-arbitrum-one",
    "USDC-mainnet",
    "USDC-matic",
    "fUSDC-sepolia",
]
"""What can be paid out to a bank (operator's documentation): USDC on four networks."""

QUOTE_SECONDS = 900
"""How long the amounts of a payment are promised; invented."""

PaymentType = Literal["direct", "conversion", "crosschain", "recurring"]
PaidState = Literal["pending", "partially_paid", "paid"]

PageLimit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, Field(ge=0, le=2**31)]

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

TEST_BANKS = {
    "Example Bank payout bounced": "bounced",
    "Example Bank payout failed": "failed",
}
"""Test values: how payouts to an account at a bank with such a name end."""

_OUTCOMES = {name.lower(): outcome for name, outcome in TEST_BANKS.items()}

_FAILURES = {
    "bounced": "The bank returned the money.",
    "failed": "The payment was rejected.",
    "insufficient_funds": "The wallet does not hold enough.",
    "retry_required": "The payout has to be tried again.",
}
"""States in which the bank has no money, with reasons of the sandbox's own."""

router = APIRouter()


def _listed_id(currency_id: str) -> str:
    """Return the id of a currency as the token list writes it."""
    currency = find_currency(currency_id)
    if currency is None:
        return currency_id
    return currency.id


def _check_payout_currency(currency_id: str) -> str:
    if _listed_id(currency_id) not in _PAYOUT_CURRENCIES:
        raise PydanticCustomError(
            "currency_payout",
            "cannot be paid out to a bank; choose one of {listed}",
            {"listed": ", ".join(_PAYOUT_CURRENCIES)},
        )
    return currency_id


class NewPayoutRequest(TypedDict):
    """A request that is paid out to a bank account: it names no payee."""

    amount: Amount
    invoiceCurrency: CurrencyId
    paymentCurrency: Annotated[CurrencyId, AfterValidator(_check_payout_currency)]
    isCryptoToFiatAvailable: Literal[True]
    reference: NotRequired[OwnReference]


class NewPayoutResponse(TypedDict):
    """The ids of a new request."""

    requestId: str
    paymentReference: str


class RequestOfPayment(NewPayoutResponse):
    """A request as each of its payments names it."""

    hasBeenPaid: bool
    reference: str | None
    customerInfo: None


class PaidRequest(RequestOfPayment):
    """A request, and whether it is paid."""

    status: PaidState
    txHash: str | None


class ListedRequest(PaidRequest):
    """A request as it is listed."""

    amount: str
    invoiceCurrency: str
    paymentCurrency: str
    createdAt: str
    payee: str | None
    payer: str | None


class PagePlace(TypedDict):
    """Which part of a list a response has."""

    total: int
    limit: int
    offset: int


class PaymentsPage(PagePlace):
    """Which part of the payments a response has."""

    hasMore: bool


class ListedRequests(TypedDict):
    """A page of requests."""

    requests: list[ListedRequest]
    pagination: PagePlace


class PaymentFilters(BaseModel):
    """What the listed payments have, and which part of them to list."""

    model_config = ConfigDict(alias_generator=to_camel)

    tx_hash: AnyId | None = None
    wallet_address: AnyId | None = None
    payment_reference: AnyId | None = None
    request_id: AnyId | None = None
    reference: AnyId | None = None
    type: PaymentType | None = None
    invoice_currency: AnyId | None = None
    payment_currency: Annotated[AnyId, AfterValidator(_listed_id)] | None = None
    from_date: AwareDatetime | None = None
    to_date: AwareDatetime | None = None
    limit: PageLimit = 20
    offset: Offset = 0


class ListedFee(TypedDict):
    """A fee of a payment as it is listed."""

    type: str
    stage: str
    provider: str
    amount: str
    amountInUSD: str
    currency: str
    receiverAddress: str
    network: str


class ListedPaymentBody(TypedDict):
    """A payment as it is listed."""

    id: str
    amount: str
    sourceNetwork: str
    destinationNetwork: str
    sourceTxHash: str
    destinationTxHash: None
    timestamp: str
    type: PaymentType
    currency: str
    paymentCurrency: str
    fees: list[ListedFee]
    request: RequestOfPayment


class ListedPayments(TypedDict):
    """A page of payments."""

    payments: list[ListedPaymentBody]
    pagination: PaymentsPage


class RequestState(PaidRequest):
    """A request, and all that was paid for it."""

    isListening: bool
    isCryptoToFiatAvailable: bool
    requestAmount: str
    paidAmount: str
    receivedAmount: str
    excessAmount: str
    payerAddress: str | None
    amountInUsd: str
    conversionRate: None
    payments: list[ListedPaymentBody]
    fees: list[ListedFee]


@router.post("/v2/request", status_code=201)
def post_request(body: NewPayoutRequest, session: SessionDep) -> NewPayoutResponse:
    """Store the request. The call for its transactions names the account that is
    paid.
    """
    order_of_body(session, body)  # which refuses what does not fit
    seed_text = json.dumps(body, sort_keys=True)
    bill = add_bill(session, "payout ", OPERATOR_ADDRESS, seed_text, body)
    record(session, "request", None, body, bill.request_id)
    return {"requestId": bill.request_id, "paymentReference": bill.payment_reference}


@router.get("/v2/request")
def get_requests(
    session: SessionDep,
    wallet: Annotated[AnyId | None, Query(alias="walletAddress")] = None,
    limit: PageLimit = 20,
    offset: Offset = 0,
) -> ListedRequests:
    """Return the requests of this key, unpaid ones too."""
    query = select(BillRow).filter_by(world_id=session.world.id).order_by(BillRow.id)
    if wallet is not None:
        query = query.where(BillRow.payments.any(wallet=wallet.lower()))
    bills, page = _read_page(session, query, limit, offset)
    return {"requests": [_listed_request(bill) for bill in bills], "pagination": page}


def _read_page(
    session: WorldSession, query: Select[Any], limit: int, offset: int
) -> tuple[Sequence[Any], PagePlace]:
    """Return a page of a list, and which part of the whole it is."""
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    found = session.scalars(query.limit(limit).offset(offset)).all()
    return found, {"total": total, "limit": limit, "offset": offset}


def _listed_request(bill: BillRow) -> ListedRequest:
    return {
        **_paid_request(bill),
        "amount": bill.body["amount"],
        "invoiceCurrency": bill.body["invoiceCurrency"],
        "paymentCurrency": bill.body["paymentCurrency"],
        "createdAt": format_time(bill.created_at),
        "payee": bill.body.get("payee"),
        "payer": _payer_of(bill),
    }


def _payer_of(bill: BillRow) -> str | None:
    """Return the wallet that paid first, or None."""
    if not bill.payments:
        return None
    wallet: str = bill.payments[0].body["wallet"]
    return wallet


def _paid_request(bill: BillRow) -> PaidRequest:
    request = _request_of(bill)
    if not bill.payments:
        return {**request, "status": "pending", "txHash": None}
    status: PaidState = "partially_paid"
    if bill.is_paid:
        status = "paid"
    return {
        **request,
        "status": status,
        "txHash": bill.payments[0].transaction_hash,
    }


@router.get("/v2/request/{requestId}/pay", responses=documented(403))
def get_transactions(
    request_id: RequestPathId,
    session: SessionDep,
    client_user_id: Annotated[AnyId, Query(alias="clientUserId")],
    payment_details_id: Annotated[AnyId, Query(alias="paymentDetailsId")],
    wallet: Address | None = None,
) -> Transactions:
    """Return the transactions to sign, which pay the operator; the operator pays out to
    the account.
    """
    bill = find_bill(session, request_id)
    if not bill.is_payout:
        raise HttpError(404, f"Request {request_id} not found")
    account = find_payable_account(session, client_user_id, payment_details_id)
    order = order_of_body(session, bill.body)
    check_least(order, bill.body["amount"], account)
    order = without_what_is_paid(session, order, bill)
    has_wallet = wallet is not None
    response = transactions_of(session, order, bill, has_wallet=has_wallet)
    metadata = response["metadata"]
    if has_wallet:
        metadata["hasEnoughAllowance"] = not metadata["needsApproval"]
    # A manual clock stands in the past, and quotes are checked by a real one.
    if session.settings.clock == "wall":
        end = float(int(session.now)) + QUOTE_SECONDS
        metadata["quoteExpiresAt"] = format_time(end)
    return response


def without_what_is_paid(session: WorldSession, order: Order, bill: BillRow) -> Order:
    """Return an order of what is left to pay, or the whole if that is nothing."""
    if not bill.payments or bill.is_paid:
        return order
    return part_of(session, order, bill.left)


@router.get("/v2/request/{requestId}")
def get_request_status(request_id: RequestPathId, session: SessionDep) -> RequestState:
    """Return whether the request is paid, and its payments."""
    bill = find_bill(session, request_id)
    order = order_of_body(session, bill.body)
    payments = [_listed(payment) for payment in bill.payments]
    excess = 0
    if bill.is_paid:
        excess = -bill.left
    amount = Fraction(bill.body["amount"])
    paid = format_units(bill.paid, order.currency)
    fees: list[ListedFee] = []
    for payment in payments:
        fees += payment["fees"]
    return {
        **_paid_request(bill),
        "isListening": not bill.is_paid,
        "isCryptoToFiatAvailable": bill.is_payout,
        "requestAmount": bill.body["amount"],
        "paidAmount": paid,
        "receivedAmount": paid,
        "excessAmount": format_units(excess, order.currency),
        "payerAddress": _payer_of(bill),
        "amountInUsd": in_usd(amount, order.invoice, order.rates),
        "conversionRate": None,
        "payments": payments,
        "fees": fees,
    }


@router.get("/v2/payments")
def get_payments(
    filters: Annotated[PaymentFilters, Query()], session: SessionDep
) -> ListedPayments:
    """Return the payments that have all that is asked for. A request that nobody has
    paid is not among them.
    """
    given = filters.model_dump(exclude_none=True)
    if given.keys() <= {"from_date", "to_date", "limit", "offset"}:
        raise HttpError(
            400,
            "Give at least one filter besides fromDate and toDate, such as reference",
        )
    query = select(PaymentRow).join(PaymentRow.bill).order_by(PaymentRow.id)
    query = query.where(PaymentRow.world_id == session.world.id)
    in_any_case = {
        "tx_hash": PaymentRow.transaction_hash,
        "wallet_address": PaymentRow.wallet,
        "payment_reference": BillRow.payment_reference,
        "request_id": BillRow.request_id,
        "invoice_currency": PaymentRow.invoice_currency,
        "payment_currency": PaymentRow.payment_currency,
    }
    for name, column in in_any_case.items():
        if name in given:
            query = query.where(func.lower(column) == given[name].lower())
    if filters.reference is not None:
        query = query.where(BillRow.reference == filters.reference)
    if filters.type not in {None, "direct"}:  # the only type that the sandbox has
        query = query.where(false())
    if filters.from_date is not None:
        query = query.where(PaymentRow.paid_at >= filters.from_date.timestamp())
    if filters.to_date is not None:
        query = query.where(PaymentRow.paid_at <= filters.to_date.timestamp())
    payments, page = _read_page(session, query, filters.limit, filters.offset)
    has_more = filters.offset + len(payments) < page["total"]
    return {
        "payments": [_listed(payment) for payment in payments],
        "pagination": {**page, "hasMore": has_more},
    }


def _listed(payment: PaymentRow) -> ListedPaymentBody:
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


def _request_of(bill: BillRow) -> RequestOfPayment:
    return {
        "requestId": bill.request_id,
        "paymentReference": bill.payment_reference,
        "hasBeenPaid": bill.is_paid,
        "reference": bill.reference,
        "customerInfo": None,  # payerkit sends none
    }


class PayoutStateBody(TypedDict):
    """A state of a request's payouts."""

    status: PayoutState


@router.put("/sandbox/payouts/{requestId}")
def put_payout(
    request_id: RequestPathId, body: PayoutStateBody, session: SessionDep
) -> PayoutStateBody:
    """Set the state, as if the operator had decided so."""
    bill = find_bill(session, request_id)
    if not (bill.is_payout and bill.payments):
        raise HttpError(404, f"Request {request_id} has no payout; pay it first")
    for payment in bill.payments:
        session.drop_changes("payout", payment.id)
        set_payout(session, payment, body["status"], session.now)
    return body


def find_payable_account(
    session: WorldSession, client_user_id: str, account_id: str
) -> AccountRow:
    """Return an account that can be paid. Raises HttpError if payer or account may not
    be paid yet.
    """
    payer = find_payer(session, client_user_id)
    account = find_account(session, account_id, payer_id=payer.id)
    if not has_passed(payer):
        raise HttpError(
            403, "The payer is not compliant yet", code="not_yet_passed_kyc_kyb"
        )
    if account.status not in {"approved", "verified"}:
        message = f"is {account.status}: only an approved account can be paid"
        raise HttpError.of_field("paymentDetailsId", message, "account_not_approved")
    return account


@cache
def _least_amounts() -> Mapping[tuple[str, str], int]:
    """Return the least amounts of payouts by an account's currency and, for some, its
    rails (operator, 2025-11).
    """
    return {
        (row["currency"], row["rails"]): int(row["least"])
        for row in rows(__package__, "payout_minimums")
    }


def check_least(order: Order, amount: str, account: AccountRow) -> None:
    """Raise HttpError if an order is below the least amount of an account's currency
    and rails.
    """
    currency = account.body["currency"].upper()
    rails = account.body.get("rails", "local")
    least = _least_amounts().get((currency, rails))
    if least is None:
        least = _least_amounts().get((currency, ""))
    paid_out = find_currency(currency)
    if least is None or paid_out is None:
        return
    if Fraction(amount) * order.rates.exchange_rate(order.invoice, paid_out) < least:
        message = f"is below the least amount: {least} {currency} by {rails} rails"
        raise HttpError.of_field("amount", message, "below_currency_limit")


def begin_payout(
    session: WorldSession, payment: PaymentRow, account: AccountRow
) -> None:
    """Plan the states of a payout to an account, in equal parts of the time that it
    takes.
    """
    outcome = _OUTCOMES.get(account.body["bankName"].strip().lower(), "fiat_sent")
    states = ["pending_internal_assessment", "sending_fiat", outcome]
    if outcome == "failed":
        states.remove("sending_fiat")
    seconds = session.settings.decide_after
    for number, state in enumerate(states):
        due = session.now + seconds * number / (len(states) - 1)
        session.change_later("payout", payment.id, state, due)


def set_payout(
    session: WorldSession, payment: PaymentRow, state: str, at: float
) -> None:
    """Fire the events of a payout's new state."""
    time = format_time(at)
    step = {**payment.bill.ids, "subStatus": state, "timestamp": time}
    if state not in _FAILURES:
        processing = {
            "offrampId": payment.payment_id,
            "paymentProcessor": "sandbox",
            "rawPayload": {},
        }
        fire(session, "payment.processing", at, step | processing)
        return
    failure = {"failureReason": _FAILURES[state], "retryAfter": None}
    fire(session, "payment.failed", at, step | failure)
    if state == "failed":
        refund = {
            **payment.bill.ids,
            "refundedTo": payment.body["wallet"],
            "refundAmount": payment.body["amount"],
            "currency": payment.payment_currency,
            "timestamp": time,
        }
        fire(session, "payment.refunded", at, refund)


CHANGES["payout"] = PaymentRow, set_payout
