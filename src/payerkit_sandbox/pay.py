"""POST /v1/pay: turns an order into the transactions that pay it.

The function signatures are written out here. The decoder in `onchain` has its own, so
that a mistake on one side shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired

from eth_abi import encode
from fastapi import APIRouter
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError
from sqlalchemy import select
from typing_extensions import TypedDict

from payerkit.payments.onchain.addresses import address_problem, keccak, with_checksum
from payerkit.payments.onchain.currencies import (
    Currency,
    find_currency,
    find_deployment,
    native_currency,
)
from payerkit_sandbox.common_fields import Address, Amount, NonEmptyText, OwnReference
from payerkit_sandbox.failures import HttpError
from payerkit_sandbox.ledger import record
from payerkit_sandbox.models import BillRow
from payerkit_sandbox.wallet import (
    MAX_UINT256,
    OPERATOR_ADDRESS,
    FeeBody,
    Rates,
    convert,
    parse_amount,
    protocol_fee,
    read_holding,
)
from payerkit_sandbox.worlds import SessionDep, WorldSession

APPROVE = "approve(address,uint256)"
PAY_TOKEN = (
    "transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)"  # noqa: S105 - a signature
)
PAY_NATIVE = "transferWithReferenceAndFee(address,bytes,uint256,address)"

GAS_LIMITS = {APPROVE: 60_000, PAY_TOKEN: 100_000, PAY_NATIVE: 100_000}
"""Gas that a call of each function may need: slightly more than the contracts used when
executed.
"""

_GAS_PRICE = 20_000_000_000
"""Wei per unit of gas; invented."""

_RESET_FIRST = {"USDT-mainnet"}
"""Tokens whose contract refuses to change a non-zero allowance: it has to be set to
zero first.
"""

router = APIRouter()


def _check_payee(payee: str) -> str:
    if address_problem(payee):
        raise PydanticCustomError(
            "address_checksum",
            "fails its EIP-55 checksum: a letter or its case is wrong",
        )
    if int(payee, 16) == 0:
        raise PydanticCustomError("address_zero", "must not be the zero address")
    return payee


def _check_currency(currency_id: str) -> str:
    _read_currency(currency_id)
    return currency_id


def _check_payment_currency(currency_id: str) -> str:
    _payment_contract(_read_currency(currency_id))
    return currency_id


def _read_currency(currency_id: str) -> Currency:
    currency = find_currency(currency_id)
    if currency is None:
        raise PydanticCustomError("currency_unknown", "is not in the token list")
    return currency


def _payment_contract(currency: Currency) -> str:
    """Return the address of the contract that payments in a currency call."""
    contracts = {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}
    if currency.kind not in contracts:
        raise PydanticCustomError(
            "currency_kind", "must be a native coin or a token of an EVM network"
        )
    contract = find_deployment(contracts[currency.kind], currency.network)
    if contract is None:
        raise PydanticCustomError(
            "currency_network",
            "cannot be paid: no payment contract is deployed on {network}",
            {"network": currency.network},
        )
    return str(with_checksum(contract.address))


PayeeAddress = Annotated[Address, AfterValidator(_check_payee)]
CurrencyId = Annotated[NonEmptyText, AfterValidator(_check_currency)]
PaymentCurrencyId = Annotated[NonEmptyText, AfterValidator(_check_payment_currency)]


class PayRequest(TypedDict):
    """A payment order. A capital letter in an address belongs to its checksum
    (EIP-55).
    """

    payee: PayeeAddress
    amount: Amount
    invoiceCurrency: CurrencyId
    paymentCurrency: PaymentCurrencyId


class PayoutsRequest(PayRequest):
    """A payment order under its newer path, which takes a reference."""

    reference: NotRequired[OwnReference]


class BigNumber(TypedDict):
    """A number as ethers 5 serializes it."""

    type: str
    hex: str


class TransactionBody(TypedDict):
    """A transaction to sign; its value is a number only if it is 0."""

    data: str
    to: str
    value: BigNumber | int


class Metadata(TypedDict):
    """What a payment needs, and what is known of the wallet."""

    stepsRequired: int
    needsApproval: bool
    approvalTransactionIndex: int | None
    paymentTransactionIndex: int
    hasEnoughBalance: NotRequired[bool]
    hasEnoughGas: NotRequired[bool]
    hasEnoughAllowance: NotRequired[bool]
    protocolFee: NotRequired[FeeBody]
    quoteExpiresAt: NotRequired[str]


class Transactions(TypedDict):
    """The transactions to sign."""

    transactions: list[TransactionBody]
    metadata: Metadata


class PayResponse(Transactions):
    """A new payment, and the transactions to sign."""

    requestId: str
    requestID: str
    paymentReference: str


@router.post("/v1/pay", status_code=201)
def post_payment(body: PayRequest, session: SessionDep) -> PayResponse:
    """Return the transactions to sign."""
    order = order_of_body(session, body)
    currencies = (body["invoiceCurrency"], body["paymentCurrency"])
    seed_text = json.dumps([body["payee"], body["amount"], *currencies])
    bill = add_bill(session, "", order.payee, seed_text, body)
    record(session, "payment", None, body, bill.request_id)
    pay = transactions_of(session, order, bill)
    return {
        "requestId": bill.request_id,
        "requestID": bill.request_id,
        "paymentReference": bill.payment_reference,
        **pay,
    }


@router.post("/v2/payouts", status_code=201)
def post_payouts(body: PayoutsRequest, session: SessionDep) -> PayResponse:
    """Return the transactions to sign, as /v1/pay does."""
    return post_payment(body, session)


@dataclass(frozen=True, slots=True)
class Order:
    """A valid order: amounts in base units of the payment currency, the contract that
    pays it, and today's rates.
    """

    payee: str
    invoice: Currency
    currency: Currency
    contract: str
    amount: int
    fee: int
    rates: Rates

    @property
    def total(self) -> int:
        """Amount and fee; gas is extra."""
        return self.amount + self.fee


@dataclass(frozen=True, slots=True)
class ContractCall:
    """A call of a contract: the function, its arguments, the contract's address, and
    the value in wei.
    """

    function: str
    arguments: Sequence[Any]
    to: str
    wei: int = 0

    @property
    def gas_cost(self) -> int:
        """The cost of its gas, in wei."""
        return GAS_LIMITS[self.function] * _GAS_PRICE

    def to_json(self) -> TransactionBody:
        """Return the transaction as published."""
        types = self.function.partition("(")[2].removesuffix(")").split(",")
        arguments = encode(types, self.arguments)
        selector = keccak(self.function.encode())[:4]
        value: BigNumber | int = 0
        if self.wei:
            value = big_number(self.wei)
        return {
            "data": f"0x{(selector + arguments).hex()}",
            "to": self.to,
            "value": value,
        }


def big_number(value: int) -> BigNumber:
    """Return a number as ethers 5 serializes it to JSON: hex with an even number of
    digits.
    """
    digits = f"{value:x}"
    if len(digits) % 2:
        digits = f"0{digits}"
    return {"type": "BigNumber", "hex": f"0x{digits}"}


def add_bill(
    session: WorldSession,
    kind: Literal["", "payout "],
    payee: str,
    seed_text: str,
    body: Mapping[str, Any],
) -> BillRow:
    """Store a payment, or a request for a payout, with ids of its own.

    seed_text: what seeded ids are made from, with the number of equal ones before.
    """
    key = hashlib.sha256(f"{kind}{seed_text}".encode()).hexdigest()
    ordinal = session.ordinal(BillRow, key=key)
    ids = session.identifiers
    request_id = f"01{ids.token_bytes(32, f'{kind}request', seed_text, ordinal).hex()}"
    salt = ids.token_bytes(8, f"{kind}salt", seed_text, ordinal).hex()
    reference = payment_reference(request_id, salt, payee)
    bill = BillRow(
        world_id=session.world.id,
        request_id=request_id,
        payment_reference=f"0x{reference.hex()}",
        key=key,
        reference=body.get("reference"),
        is_payout=bool(kind),
        created_at=session.now,
        body=dict(body),
    )
    session.add(bill)
    return bill


def find_bill(session: WorldSession, request_id: str) -> BillRow:
    """Return the payment or the request with an id. Raises HttpError (404) if there is
    none.
    """
    query = select(BillRow).filter_by(world_id=session.world.id, request_id=request_id)
    bill = session.scalars(query).one_or_none()
    if bill is None:
        raise HttpError(404, f"Request {request_id} not found")
    return bill


def payment_reference(request_id: str, salt: str, address: str) -> bytes:
    """Return the 8-byte reference that identifies a payment on chain.

    The last eight bytes of keccak-256 over request id, salt and address as lower-case
    text (RequestNetwork, payment-detection, payment-reference-calculator).
    """
    return keccak((request_id + salt + address).lower().encode())[-8:]


def transactions_of(
    session: WorldSession, order: Order, bill: BillRow, *, has_wallet: bool = True
) -> Transactions:
    """Return the transactions that pay an order, and their metadata. has_wallet: False
    for an unknown wallet.
    """
    holding = read_holding(session, order.currency)
    allowance = 0
    if has_wallet:
        allowance = holding["allowance"]
    calls = calls_of(session, order, bill, allowance)
    last = len(calls) - 1
    metadata: Metadata = {
        "stepsRequired": len(calls),
        "needsApproval": last > 0,
        "approvalTransactionIndex": None,
        "paymentTransactionIndex": last,
    }
    if last > 0:
        metadata["approvalTransactionIndex"] = last - 1
    if has_wallet:
        cost = sum(call.wei + call.gas_cost for call in calls)
        metadata["hasEnoughBalance"] = holding["balance"] >= order.total
        metadata["hasEnoughGas"] = _has_coins(session, order.currency.network, cost)
    fee = protocol_fee(session.settings)
    if fee is not None:
        metadata["protocolFee"] = fee
    return {"transactions": [call.to_json() for call in calls], "metadata": metadata}


def _has_coins(session: WorldSession, network: str, wei: int) -> bool:
    coin = native_currency(network)
    return coin is not None and read_holding(session, coin)["balance"] >= wei


def calls_of(
    session: WorldSession, order: Order, bill: BillRow, allowance: int
) -> list[ContractCall]:
    """Return the calls that pay an order: approvals, if the allowance of the payment
    contract is too small, and the payment.
    """
    reference = bytes.fromhex(bill.payment_reference.removeprefix("0x"))
    payment = _payment_call(session, order, reference)
    return [*_approvals(order, allowance), payment]


def _approvals(order: Order, allowance: int) -> list[ContractCall]:
    """Return the approvals of exactly the total that a payment needs."""
    if order.currency.kind == "native" or allowance >= order.total:
        return []
    amounts = [order.total]
    if allowance and order.currency.id in _RESET_FIRST:
        amounts = [0, order.total]
    token = with_checksum(order.currency.address)
    return [
        ContractCall(APPROVE, [order.contract, amount], token) for amount in amounts
    ]


def _payment_call(
    session: WorldSession, order: Order, reference: bytes
) -> ContractCall:
    fee = [order.fee, session.settings.fee_recipient]
    if order.currency.kind == "native":
        arguments = [order.payee, reference, *fee]
        return ContractCall(PAY_NATIVE, arguments, order.contract, order.total)
    token = with_checksum(order.currency.address)
    arguments = [token, order.payee, order.amount, reference, *fee]
    return ContractCall(PAY_TOKEN, arguments, order.contract)


def order_of_body(session: WorldSession, body: Mapping[str, Any]) -> Order:
    """Return the order in the body of a payment, or of a request, which pays the
    operator. Raises HttpError for an amount or a rate that does not fit.
    """
    invoice = _read_currency(body["invoiceCurrency"])
    currency = _read_currency(body["paymentCurrency"])
    rates = Rates(session.row.rates)
    units = parse_amount(body["amount"], invoice)
    order = Order(
        payee=str(with_checksum(body.get("payee", OPERATOR_ADDRESS))),
        invoice=invoice,
        currency=currency,
        contract=_payment_contract(currency),
        amount=convert(units, invoice, currency, rates),
        fee=0,
        rates=rates,
    )
    return part_of(session, order, order.amount)


def part_of(session: WorldSession, order: Order, amount: int) -> Order:
    """Return an order of another amount, with its fee. Raises HttpError for one that is
    too large.
    """
    # Exact, then rounded down: a payer never pays more than the fee's percentage.
    fee = int(amount * session.settings.fee_rate)
    if amount + fee > MAX_UINT256:
        message = "is too large: converted and with its fee, it does not fit 256 bits"
        raise HttpError.of_field("amount", message, "amount_range")
    return replace(order, amount=amount, fee=fee)
