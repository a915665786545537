"""Payments: a wallet makes them with its transactions, their references find them, and they are listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, cast

from fastapi import Query
from pydantic import Field
from sqlalchemy import ColumnElement, func, select
from typing_extensions import TypedDict

from payerkit.onchain.addresses import address_problem, with_checksum
from payerkit.onchain.currencies import Currency, find_currency, native_currency
from payerkit.service import fields, payouts
from payerkit.service.clock import format_time
from payerkit.service.errors import Problem
from payerkit.service.money import Rates, format_units, in_usd, read_holding, read_rates, whole_units
from payerkit.service.pay import APPROVE, PAY_TOKEN, Order, Transaction, decode_call, find_bill, read_order
from payerkit.service.tables import BillRow, HoldingRow, PaymentRow
from payerkit.service.world import WorldSession, of_api, of_sandbox

DEMO_WALLET = "0x" + "0de0" * 10
"""The address of the demo wallet, if a payment does not name another one; invented."""


class PaidFee(TypedDict):
    """A fee that was paid on top of a payment."""

    type: Literal["protocol"]
    stage: Literal["sending"]
    provider: Literal["request-network"]
    amount: str
    amountInUSD: str
    currency: str
    receiverAddress: fields.Address
    network: str


class PaidRequest(TypedDict):
    """The request of a payment."""

    requestId: fields.RequestId
    paymentReference: fields.PaymentReference
    hasBeenPaid: bool
    customerInfo: payouts.CustomerOfRequest | None
    reference: str | None


class PaidPayment(TypedDict):
    """A payment that was seen on the blockchain."""

    id: fields.Uuid
    amount: str
    sourceNetwork: str
    destinationNetwork: str
    sourceTxHash: fields.TransactionHash
    destinationTxHash: fields.TransactionHash | None
    timestamp: fields.Time
    type: Literal["direct"]
    currency: str
    paymentCurrency: str
    fees: list[PaidFee]
    request: PaidRequest


class Pagination(TypedDict):
    """Which part of all payments these are."""

    total: int
    limit: int
    offset: int
    hasMore: bool


class PaidPayments(TypedDict):
    """A page of payments, in the order in which they were seen."""

    payments: list[PaidPayment]
    pagination: Pagination


class RequestState(PaidRequest):
    """What is known of a request."""

    status: Literal["pending", "partially_paid", "paid"]
    isListening: bool
    isCryptoToFiatAvailable: bool
    txHash: fields.TransactionHash | None
    requestAmount: str
    paidAmount: str
    amountInUsd: str
    conversionRate: str | None
    payments: list[PaidPayment]
    fees: list[PaidFee]


class SignedTransaction(TypedDict):
    """A transaction as a wallet sends it; the value in wei."""

    to: fields.Address
    data: fields.Hex
    value: Annotated[fields.AnyText, Field(json_schema_extra={"pattern": "^[0-9]{1,78}$"}, examples=["0"])]


class ExecutionRequest(TypedDict):
    """The transactions of a payment, and the account that it pays out to, if it does."""

    transactions: Annotated[list[SignedTransaction], Field(min_length=1, max_length=10)]
    wallet: NotRequired[fields.Address]
    clientUserId: NotRequired[fields.Id]
    paymentDetailsId: NotRequired[fields.Id]


class ExecutionResponse(TypedDict):
    """The transaction that paid."""

    transactionHash: fields.TransactionHash


PaymentType = Literal["direct", "conversion", "crosschain", "recurring"]

router = of_api()
controls = of_sandbox()


@router.call("GET /v2/request/{requestId}", "get_request", "Read a request", 404)
def get_request(request_id: fields.RequestPathId, session: WorldSession) -> RequestState:
    """Return whether the request is paid, and its payments."""
    bill = find_bill(session, BillRow.request_id == request_id)
    if bill is None:
        raise Problem(404, f"Request {request_id} not found")
    rates, found = read_rates(session), payouts.payments_of(session, bill)
    order, is_paid = bill.body, _is_paid(found)
    payments = [_listed(each, rates, has_been_paid=is_paid) for each in found]
    state: Any = {
        **_request_of(bill, is_paid=is_paid),
        "status": "paid" if is_paid else "partially_paid" if found else "pending",
        "isListening": not is_paid,
        "isCryptoToFiatAvailable": bill.is_payout,
        "txHash": found[0].transaction_hash if found else None,
        "requestAmount": order["amount"],
        "paidAmount": format_units(sum(each.body["amount"] for each in found), currency_of(order["paymentCurrency"])),
        "amountInUsd": in_usd(Fraction(Decimal(order["amount"])), currency_of(order["invoiceCurrency"]), rates),
        "conversionRate": None,
        "payments": payments,
        "fees": [fee for payment in payments for fee in payment["fees"]],
    }
    return state  # type: ignore[no-any-return]  # built field by field


@router.call("GET /v2/payments", "list_payments", "List payments")
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
    from_date: Annotated[fields.Id | None, Query(alias="fromDate", examples=["2026-01-01T00:00:00Z"])] = None,
    to_date: Annotated[fields.Id | None, Query(alias="toDate", examples=["2026-01-02T00:00:00Z"])] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> PaidPayments:
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
        raise Problem(400, "Give at least one filter besides fromDate and toDate, such as reference")
    if payment_type not in {None, "direct"}:  # the only type that the sandbox has
        wanted.append(PaymentRow.id < 0)
    if from_date is not None:
        wanted.append(PaymentRow.paid_at >= _read_time(from_date, "fromDate"))
    if to_date is not None:
        wanted.append(PaymentRow.paid_at <= _read_time(to_date, "toDate"))
    return cast("PaidPayments", _list_payments(session, wanted, limit, offset))


@controls.call("POST /sandbox/transactions", "sandbox_execute", "Sign and send transactions", 403, 404, 409)
def post_transactions(body: ExecutionRequest, session: WorldSession) -> ExecutionResponse:
    """Make the transactions of a payment with the demo wallet: all of them, or none."""
    return {"transactionHash": execute(session, body)}


def _read_time(text: str, field: str) -> float:
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.timestamp()
    except (ValueError, OverflowError):
        pass
    raise Problem.of_field(field, "must be a time with its zone, such as 2026-01-01T00:00:00Z", "time")


def _list_payments(
    session: WorldSession, wanted: Sequence[ColumnElement[bool]], limit: int, offset: int
) -> dict[str, Any]:
    """Return a page of payments and what it is a part of."""
    query = select(PaymentRow).join(PaymentRow.bill).where(PaymentRow.world_id == session.world.id, *wanted)
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    found = session.scalars(query.order_by(PaymentRow.id).limit(limit).offset(offset)).all()
    rates = read_rates(session)
    is_paid = {each.bill_id: _is_paid(payouts.payments_of(session, each.bill)) for each in found}
    return {
        "payments": [_listed(each, rates, has_been_paid=is_paid[each.bill_id]) for each in found],
        "pagination": {"total": total, "limit": limit, "offset": offset, "hasMore": offset + len(found) < total},
    }


def _is_paid(payments: Sequence[PaymentRow]) -> bool:
    """Return True if the payments of a bill pay it in full."""
    bodies = [each.body for each in payments]
    return bool(bodies) and sum(each["amount"] for each in bodies) >= bodies[0]["requested"]


def _listed(payment: PaymentRow, rates: Rates, *, has_been_paid: bool) -> dict[str, Any]:
    """Return a payment as listed."""
    currency = currency_of(payment.payment_currency)
    return {
        "id": payment.payment_id,
        "amount": format_units(payment.body["amount"], currency),
        "sourceNetwork": currency.network,
        "destinationNetwork": currency.network,
        "sourceTxHash": payment.transaction_hash,
        "destinationTxHash": None,
        "timestamp": format_time(payment.paid_at),
        "type": "direct",
        "currency": payment.invoice_currency,
        "paymentCurrency": payment.payment_currency,
        "fees": _list_fees(payment.body, currency, rates),
        "request": _request_of(payment.bill, is_paid=has_been_paid),
    }


def _request_of(bill: BillRow, *, is_paid: bool) -> dict[str, Any]:
    """Return what every payment says of its request."""
    return {
        "requestId": bill.request_id,
        "paymentReference": bill.payment_reference,
        "hasBeenPaid": is_paid,
        "customerInfo": bill.body.get("customerInfo"),
        "reference": bill.body.get("reference"),
    }


def _list_fees(body: Mapping[str, Any], currency: Currency, rates: Rates) -> list[dict[str, str]]:
    """Return the fees of a payment as listed: none, or the protocol fee."""
    if not body["fee"]:
        return []
    fee = {
        "type": "protocol",
        "stage": "sending",
        "provider": "request-network",
        "amount": format_units(body["fee"], currency),
        "amountInUSD": in_usd(whole_units(body["fee"], currency), currency, rates),
        "currency": currency.id,
        "receiverAddress": body["feeAddress"],
        "network": currency.network,
    }
    return [fee]


def currency_of(currency_id: str) -> Currency:
    """Return the currency of a stored order or payment."""
    currency = find_currency(currency_id)
    if currency is None:  # the token list is part of the program, and does not lose an entry
        raise Problem(500, "A payment is in a currency that the sandbox does not know")
    return currency


class _Paid(NamedTuple):
    """What a transaction pays, in base units, by the arguments of its call. token: "" for a native coin."""

    token: str
    recipient: str
    amount: int
    reference: bytes
    fee: int
    fee_address: str

    @classmethod
    def of(cls, step: Transaction) -> _Paid:
        """Return what a payment pays."""
        if step.function == PAY_TOKEN:
            return cls(*step.arguments)
        recipient, reference, fee, fee_address = step.arguments
        return cls("", recipient, step.wei - fee, reference, fee, fee_address)


def execute(session: WorldSession, body: Mapping[str, Any]) -> str:
    """Make the transactions of one payment, all or none, and return the hash of the one that pays.

    Raises Problem for transactions that pay nothing here, or that would fail on the blockchain.
    """
    wallet = body.get("wallet") or DEMO_WALLET
    payouts.check_wallet(wallet)
    steps = _read_steps(body["transactions"])
    pay = _Paid.of(steps[-1])
    bill = find_bill(session, BillRow.payment_reference == "0x" + pay.reference.hex())
    if bill is None:
        raise Problem.of_field("transactions", "pay no payment or request of this sandbox", "transactions")
    order = read_order(session, bill.body)
    _compare(order, steps, pay)
    account = _find_account(session, bill, body)
    _spend(session, order, steps, pay)
    payment = _add_payment(session, bill, order, pay, wallet, account)
    _fire_payment(session, payment, order)
    if payment.outcome is not None:
        for time, state in payouts.payout_steps(payment.outcome, session.now, session.settings.payouts_after):
            session.change_later("payout", payment.id, state, time)
    session.record("execution", body.get("clientUserId"), body, payment.payment_id)
    return payment.transaction_hash


def _add_payment(
    session: WorldSession, bill: BillRow, order: Order, pay: _Paid, wallet: str, account: Mapping[str, Any] | None
) -> PaymentRow:
    """Add a payment with ids of its own."""
    ordinal = session.count(PaymentRow, bill_id=bill.id)
    payment = session.insert(
        PaymentRow,
        bill_id=bill.id,
        payment_id=session.identifiers.uuid("paid", bill.request_id, ordinal),
        transaction_hash="0x" + session.identifiers.token_bytes(32, "transaction", bill.request_id, ordinal).hex(),
        key=session.lookup_key(f"wallet {wallet.lower()}"),
        invoice_currency=bill.body["invoiceCurrency"],
        payment_currency=order.currency.id,
        paid_at=session.now,
        outcome=None if account is None else payouts.payout_outcome(str(account["bankName"])),
        body={
            "wallet": wallet,
            "amount": pay.amount,
            "fee": pay.fee,
            "feeAddress": with_checksum(pay.fee_address),
            "requested": order.amount,
        },
    )
    payment.bill = bill
    return payment


def _fire_payment(session: WorldSession, payment: PaymentRow, order: Order) -> None:
    """Fire the event of a payment: its bill is paid in full with it, or in part."""
    body, bill, currency = payment.body, payment.bill, order.currency
    total = sum(each.body["amount"] for each in payouts.payments_of(session, bill))
    event = {
        **bill.ids,
        "reference": bill.body.get("reference"),
        "amount": format_units(body["amount"], currency),
        "totalAmountPaid": format_units(total, currency),
        "expectedAmount": format_units(body["requested"], currency),
        "txHash": payment.transaction_hash,
        "network": currency.network,
        "currency": payment.invoice_currency,
        "paymentCurrency": payment.payment_currency,
        "isCryptoToFiat": payment.outcome is not None,
        "payerAddress": body["wallet"],
        "fees": _list_fees(body, currency, order.rates),
        "timestamp": format_time(payment.paid_at),
    }
    session.fire("payment.confirmed" if total >= body["requested"] else "payment.partial", payment.paid_at, event)


def _read_steps(transactions: Sequence[Mapping[str, str]]) -> list[Transaction]:
    """Return the transactions of a payment. Raises Problem unless they are approvals, if any, and one payment."""
    steps = [_read_step(place, each) for place, each in enumerate(transactions)]
    if [step.function == APPROVE for step in steps] != [True] * (len(steps) - 1) + [False]:
        message = "must be approvals, if any, and then one payment by a contract that the sandbox uses"
        raise Problem.of_field("transactions", message, "transactions")
    return steps


def _read_step(place: int, transaction: Mapping[str, str]) -> Transaction:
    """Return a transaction. Raises Problem if it is malformed, or calls none of the functions that pay here."""
    field = f"transactions.{place}"
    to, data, value = transaction["to"], transaction["data"], transaction["value"]
    if address_problem(to) == "address_malformed":
        raise Problem.of_field(f"{field}.to", "must be an address: 0x and 40 hex digits", "address_format")
    if not (value.isascii() and value.isdigit() and len(value) <= 78):
        raise Problem.of_field(f"{field}.value", "must be a whole number of wei", "amount_format")
    call = decode_call(data)
    if call is None:
        message = "must be calldata of an approval, or of a payment as this sandbox returns it"
        raise Problem.of_field(f"{field}.data", message, "transactions")
    return Transaction(*call, to.lower(), int(value))


def _compare(order: Order, steps: Sequence[Transaction], pay: _Paid) -> None:
    """Raise Problem for transactions that go to other contracts, tokens or recipients than those of the order."""
    contract, token = order.contract.lower(), order.currency.address.lower()
    *approvals, payment = steps
    is_right = payment.to == contract and pay.token.lower() == ("" if order.currency.kind == "native" else token)
    if not is_right or any(
        each.to != token or str(each.arguments[0]).lower() != contract or each.wei for each in approvals
    ):
        raise Problem(409, "The transactions go to other contracts or tokens than the payment that they refer to")
    if pay.recipient.lower() != order.payee.lower():
        raise Problem(409, "The transactions pay somebody else than the payment that they refer to")
    if pay.amount <= 0:
        raise Problem(409, "The transaction would fail: it pays nothing")


def _find_account(session: WorldSession, bill: BillRow, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the account that a payment pays out to, or None. Raises Problem if it is missing, or cannot be paid."""
    if not bill.is_payout:
        return None
    for name in ("clientUserId", "paymentDetailsId"):
        if name not in body:
            raise Problem.of_field(name, "must be provided, since the request is paid out to an account", "missing")
    return payouts.find_payable_account(session, str(body["clientUserId"]), str(body["paymentDetailsId"]))


def _spend(session: WorldSession, order: Order, steps: Sequence[Transaction], pay: _Paid) -> None:
    """Take what the transactions cost from the wallet. Raises Problem for one that would fail."""
    coin, total = native_currency(order.currency.network), pay.amount + pay.fee
    held = read_holding(session, order.currency)
    for_gas = held if coin in {None, order.currency} else read_holding(session, coin)
    for step in steps:
        if coin is not None:
            _take(for_gas, step.gas_cost, "for gas")
        if step.function == APPROVE:
            held.allowance = step.arguments[1]
    if order.currency.kind != "native":
        if held.allowance < total:
            raise Problem(409, f"The transaction would fail: the allowance of {held.currency} is too small")
        held.allowance -= total
    _take(held, total, "for the payment")
    session.merge(held)
    session.merge(for_gas)


def _take(holding: HoldingRow, units: int, purpose: str) -> None:
    if holding.balance < units:
        raise Problem(409, f"The transaction would fail: the wallet does not have enough {holding.currency} {purpose}")
    holding.balance -= units
