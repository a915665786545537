"""The wallet's part: transactions are made against the demo wallet, and what they pay is seen by its reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from eth_utils import is_address, to_checksum_address
from sqlalchemy import func, insert, select

from payerkit.onchain.currencies import Currency, native_currency
from payerkit.service.bills import Bill, find_by_payment_reference
from payerkit.service.encoding import APPROVE, PAY_NATIVE, decode_call
from payerkit.service.errors import Problem
from payerkit.service.payments import Order, check_order
from payerkit.service.payout_requests import find_payable_account
from payerkit.service.payout_states import payout_outcome
from payerkit.service.settings import Settings
from payerkit.service.store import Store
from payerkit.service.stored_rows import PaidRow
from payerkit.service.wallet import GAS_LIMITS, GAS_PRICE, Holding, change_holdings, read_rates

DEMO_WALLET = "0x" + "0de0" * 10
"""The address of the demo wallet, if a payment does not name another one; invented."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One transaction: the function that it calls, its arguments, the contract, and its value in wei."""

    function: str
    arguments: Sequence[Any]
    to: str
    wei: int


@dataclass(frozen=True, slots=True)
class _PayStep:
    """What the last transaction pays, in base units, by the arguments of its call."""

    recipient: str
    amount: int
    fee: int
    fee_address: str
    reference: str

    @classmethod
    def of(cls, step: _Step) -> _PayStep:
        """Return what a step pays."""
        if step.function == PAY_NATIVE:
            recipient, reference, fee, fee_address = step.arguments
            return cls(recipient, step.wei - fee, fee, fee_address, "0x" + reference.hex())
        _, recipient, amount, reference, fee, fee_address = step.arguments
        return cls(recipient, amount, fee, fee_address, "0x" + reference.hex())


def execute(store: Store, body: Mapping[str, Any], settings: Settings) -> str:
    """Make the transactions of one payment, all or none, and return the hash of the one that pays.

    Raises Problem for transactions that pay nothing here, or that would fail on the blockchain.
    """
    wallet = body.get("wallet") or DEMO_WALLET
    if not is_address(wallet):
        raise Problem.of_field("wallet", "must be an address: 0x and 40 hex digits", "address_format")
    steps = _read_steps(body["transactions"])
    pay = _PayStep.of(steps[-1])
    bill = find_by_payment_reference(store, pay.reference)
    if bill is None:
        raise Problem.of_field("transactions", "pay no payment or request of this sandbox", "transactions")
    order = check_order(bill.order, read_rates(store), settings.fee_rate)
    _compare(order, steps, pay)
    account = _find_account(store, bill, body)
    coin = native_currency(order.currency.network)
    row = {
        "world_id": store.world_id,
        "request_id": bill.request_id,
        "payment_reference": bill.payment_reference,
        "key": store.lookup_key(f"wallet {wallet.lower()}"),
        "invoice_currency": bill.order["invoiceCurrency"],
        "payment_currency": order.currency.id,
        "outcome": None if account is None else payout_outcome(str(account["bankName"])),
    }
    record = {
        "wallet": wallet,
        "amount": str(pay.amount),
        "fee": str(pay.fee),
        "feeAddress": to_checksum_address(pay.fee_address),
        "requested": str(order.amount),
        "clientUserId": body.get("clientUserId") if bill.is_payout else None,
        "paymentDetailsId": body.get("paymentDetailsId") if bill.is_payout else None,
    }

    currencies = [order.currency, *([coin] if coin else [])]
    spend = partial(_spend, order=order, steps=steps, pay=pay, coin=coin)
    return store.database.retry_conflicts(partial(_store, store, row, record, currencies, spend))


def _store(
    store: Store,
    row: Mapping[str, Any],
    record: Mapping[str, Any],
    currencies: Sequence[Currency],
    spend: Callable[[Mapping[str, Holding]], dict[str, Holding]],
) -> str:
    """Take what a payment costs from the wallet, store the payment, and return the hash of its transaction."""
    request_id = row["request_id"]
    ordinal = store.ordinal(select(func.count(PaidRow.id)).where(PaidRow.request_id == request_id))
    paid_id = store.identifiers.uuid("paid", request_id, ordinal)
    transaction = "0x" + store.identifiers.token_bytes(32, "transaction", request_id, ordinal).hex()
    sealed = store.database.cipher.seal(f"paid {paid_id}", record)
    own = {"paid_id": paid_id, "transaction_hash": transaction, "sealed": sealed, "paid_at": store.now()}
    with store.database.write() as connection:
        change_holdings(connection, store, currencies, spend)
        connection.execute(insert(PaidRow), {**row, **own})
    return transaction


def _read_steps(transactions: Sequence[Mapping[str, str]]) -> list[_Step]:
    """Return the transactions of a payment. Raises Problem unless they are approvals, if any, and one payment."""
    steps = [_read_step(place, each) for place, each in enumerate(transactions)]
    if [step.function == APPROVE for step in steps] != [True] * (len(steps) - 1) + [False]:
        message = "must be approvals, if any, and then one payment by a contract that the sandbox uses"
        raise Problem.of_field("transactions", message, "transactions")
    return steps


def _read_step(place: int, transaction: Mapping[str, str]) -> _Step:
    """Return a transaction. Raises Problem if it is malformed, or calls none of the functions that pay here."""
    field = f"transactions.{place}"
    to, data, value = transaction["to"], transaction["data"], transaction["value"]
    if not is_address(to) or not to.startswith("0x"):
        raise Problem.of_field(f"{field}.to", "must be an address: 0x and 40 hex digits", "address_format")
    if not (value.isascii() and value.isdigit() and len(value) <= 78):
        raise Problem.of_field(f"{field}.value", "must be a whole number of wei", "amount_format")
    try:
        call = decode_call(data)
    except ValueError:
        call = None
    if call is None:
        message = "must be calldata of an approval, or of a payment as this sandbox returns it"
        raise Problem.of_field(f"{field}.data", message, "transactions")
    return _Step(*call, to.lower(), int(value))


def _compare(order: Order, steps: Sequence[_Step], pay: _PayStep) -> None:
    """Raise Problem for transactions that go to other contracts, tokens or recipients than those of the order."""
    contract, token = order.contract.address.lower(), order.currency.address.lower()
    is_native = order.currency.kind == "native"
    *approvals, payment = steps
    is_right = payment.to == contract and (payment.function == PAY_NATIVE) == is_native
    is_right = is_right and (is_native or str(payment.arguments[0]).lower() == token)
    is_right = is_right and all(
        each.to == token and str(each.arguments[0]).lower() == contract and not each.wei for each in approvals
    )
    if not is_right:
        raise Problem(409, "The transactions go to other contracts or tokens than the payment that they refer to")
    if pay.recipient.lower() != order.payee.lower():
        raise Problem(409, "The transactions pay somebody else than the payment that they refer to")
    if pay.amount <= 0:
        raise Problem(409, "The transaction would fail: it pays nothing")


def _find_account(store: Store, bill: Bill, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the account that a payment pays out to, or None. Raises Problem if it is missing, or cannot be paid."""
    if not bill.is_payout:
        return None
    for name in ("clientUserId", "paymentDetailsId"):
        if name not in body:
            raise Problem.of_field(name, "must be provided, since the request is paid out to an account", "missing")
    return find_payable_account(store, str(body["clientUserId"]), str(body["paymentDetailsId"]))


def _spend(
    before: Mapping[str, Holding], order: Order, steps: Sequence[_Step], pay: _PayStep, coin: Currency | None
) -> dict[str, Holding]:
    """Return the wallet after the transactions. Raises Problem for one that would fail."""
    after = dict(before)
    currency = order.currency.id
    for step in steps:
        if coin is not None:
            kind = "approve" if step.function == APPROVE else "native" if step.function == PAY_NATIVE else "token"
            after[coin.id] = _take(after[coin.id], GAS_LIMITS[kind] * GAS_PRICE, coin.id, "for gas")
        if step.function == APPROVE:
            after[currency] = replace(after[currency], allowance=step.arguments[1])
    total = pay.amount + pay.fee
    if order.currency.kind != "native":
        if after[currency].allowance < total:
            raise Problem(409, f"The transaction would fail: the allowance of {currency} is too small")
        after[currency] = replace(after[currency], allowance=after[currency].allowance - total)
    after[currency] = _take(after[currency], total, currency, "for the payment")
    return {name: holding for name, holding in after.items() if holding != before[name]}


def _take(holding: Holding, units: int, currency: str, purpose: str) -> Holding:
    if holding.balance < units:
        raise Problem(409, f"The transaction would fail: the wallet does not have enough {currency} {purpose}")
    return replace(holding, balance=holding.balance - units)
