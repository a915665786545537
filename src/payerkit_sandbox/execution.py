"""The demo wallet pays a payment or a request, in full or in part, as if it signed and
sent the transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired

from fastapi import APIRouter
from typing_extensions import TypedDict

from payerkit.payments.onchain.currencies import native_currency
from payerkit_sandbox.clock import format_time
from payerkit_sandbox.common_fields import (
    Address,
    Amount,
    AnyId,
    RequestPathId,
)
from payerkit_sandbox.failures import HttpError, documented
from payerkit_sandbox.ledger import fire, record
from payerkit_sandbox.models import AccountRow, BillRow, PaymentRow
from payerkit_sandbox.pay import (
    ContractCall,
    Order,
    calls_of,
    find_bill,
    order_of_body,
    part_of,
)
from payerkit_sandbox.payouts import (
    begin_payout,
    find_payable_account,
    without_what_is_paid,
)
from payerkit_sandbox.wallet import (
    DEMO_WALLET,
    format_units,
    in_usd,
    parse_amount,
    read_holding,
    set_holding,
    take,
    whole_units,
)
from payerkit_sandbox.worlds import SessionDep, WorldSession

router = APIRouter()


class ExecutionRequest(TypedDict):
    """The amount in the payment currency, if it is not what is left to pay; the wallet
    that pays; and the account that the request is paid out to, if it is.
    """

    amount: NotRequired[Amount]
    wallet: NotRequired[Address]
    clientUserId: NotRequired[AnyId]
    paymentDetailsId: NotRequired[AnyId]


class ExecutionResponse(TypedDict):
    """The hash of the transaction that pays."""

    transactionHash: str


@router.post("/sandbox/requests/{requestId}/pay", responses=documented(403, 409))
def post_execution(
    request_id: RequestPathId, body: ExecutionRequest, session: SessionDep
) -> ExecutionResponse:
    """Pay with the demo wallet: all transactions are made, or none."""
    wallet = body.get("wallet", DEMO_WALLET)
    bill = find_bill(session, request_id)
    account = None
    if bill.is_payout:
        account = _find_account(session, body)
    order = order_of_body(session, bill.body)
    paid = without_what_is_paid(session, order, bill)
    if "amount" in body:
        units = parse_amount(body["amount"], order.currency)
        paid = part_of(session, order, units)
    allowance = read_holding(session, order.currency)["allowance"]
    _spend(session, paid, calls_of(session, paid, bill, allowance))
    payment = _add_payment(session, bill, paid, requested=order.amount, wallet=wallet)
    _fire_payment(session, payment, order)
    if account is not None:
        begin_payout(session, payment, account)
    about = payment.payment_id
    record(session, "execution", body.get("clientUserId"), body, about)
    return {"transactionHash": payment.transaction_hash}


def _find_account(session: WorldSession, body: ExecutionRequest) -> AccountRow:
    """Return the account that is paid. Raises HttpError if it is missing, or cannot be
    paid.
    """
    for name in ("clientUserId", "paymentDetailsId"):
        if name not in body:
            message = "must be provided, since the request is paid out to an account"
            raise HttpError.of_field(name, message, "missing")
    return find_payable_account(session, body["clientUserId"], body["paymentDetailsId"])


def _spend(session: WorldSession, paid: Order, calls: Sequence[ContractCall]) -> None:
    """Take what the transactions cost from the wallet. Raises HttpError for one that
    would fail.
    """
    currency = paid.currency
    coin = native_currency(currency.network)
    if coin is not None:
        take(session, coin, sum(call.gas_cost for call in calls), "for gas")
    if currency.kind != "native":
        # An approval is of exactly the total.
        allowance = read_holding(session, currency)["allowance"]
        set_holding(session, currency, allowance=max(0, allowance - paid.total))
    take(session, currency, paid.total, "for the payment")


def _add_payment(
    session: WorldSession, bill: BillRow, paid: Order, *, requested: int, wallet: str
) -> PaymentRow:
    """Add a payment with ids of its own."""
    ids = session.identifiers
    subject = (bill.request_id, len(bill.payments))
    payment = PaymentRow(
        world_id=session.world.id,
        bill=bill,
        payment_id=ids.uuid("paid", *subject),
        transaction_hash=f"0x{ids.token_bytes(32, 'transaction', *subject).hex()}",
        wallet=wallet.lower(),
        invoice_currency=bill.body["invoiceCurrency"],
        payment_currency=paid.currency.id,
        paid_at=session.now,
        body={
            "wallet": wallet,
            "network": paid.currency.network,
            "units": paid.amount,
            "requested": requested,
            "amount": format_units(paid.amount, paid.currency),
            "fees": _list_fees(session, paid),
        },
    )
    session.add(payment)
    session.flush()
    return payment


def _list_fees(session: WorldSession, paid: Order) -> list[dict[str, str]]:
    """Return the fees of a payment as listed: none, or the protocol fee."""
    if not paid.fee:
        return []
    currency = paid.currency
    usd = in_usd(whole_units(paid.fee, currency), currency, paid.rates)
    fee = {
        "type": "protocol",
        "stage": "sending",
        "provider": "request-network",
        "amount": format_units(paid.fee, currency),
        "amountInUSD": usd,
        "currency": currency.id,
        "receiverAddress": session.settings.fee_recipient,
        "network": currency.network,
    }
    return [fee]


def _fire_payment(session: WorldSession, payment: PaymentRow, order: Order) -> None:
    """Fire the event of a payment: its bill is paid in full with it, or in part."""
    bill = payment.bill
    event: dict[str, Any] = {
        **bill.ids,
        "reference": bill.reference,
        "amount": payment.body["amount"],
        "totalAmountPaid": format_units(bill.paid, order.currency),
        "expectedAmount": format_units(order.amount, order.currency),
        "txHash": payment.transaction_hash,
        "network": order.currency.network,
        "currency": payment.invoice_currency,
        "paymentCurrency": payment.payment_currency,
        "isCryptoToFiat": bill.is_payout,
        "payerAddress": payment.body["wallet"],
        "fees": payment.body["fees"],
        "timestamp": format_time(payment.paid_at),
    }
    name = "payment.partial"
    if bill.is_paid:
        name = "payment.confirmed"
    fire(session, name, payment.paid_at, event)
