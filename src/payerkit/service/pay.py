"""POST /v1/pay: turns an order into the transactions that pay it.

The function signatures are written out here. The decoder in `onchain` has its own, so that a mistake on one side shows.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, NotRequired, cast

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from pydantic import Field
from sqlalchemy import bindparam, func, select
from typing_extensions import TypedDict

from payerkit.onchain.addresses import address_problem, keccak, with_checksum
from payerkit.onchain.currencies import (
    Currency,
    Deployment,
    find_currency,
    find_deployment,
    native_currency,
    token_list,
)
from payerkit.service.errors import FieldErrors, Problem
from payerkit.service.fields import Address, Amount, Hex, NonEmptyText, PaymentReference, RequestId
from payerkit.service.money import MAX_UINT256, Rates, convert, parse_amount
from payerkit.service.tables import BillRow
from payerkit.service.wallet import GAS_LIMITS, GAS_PRICE, Holding, ProtocolFee, read_holdings, read_rates
from payerkit.service.world import WorldSession, of_api

APPROVE = "approve(address,uint256)"
PAY_TOKEN = "transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)"  # noqa: S105 - a signature
PAY_NATIVE = "transferWithReferenceAndFee(address,bytes,uint256,address)"

_COUNT = select(func.count(BillRow.id)).where(BillRow.key == bindparam("key"))

_ZERO_ADDRESS = "0x" + "0" * 40
_RESET_FIRST = {"USDT-mainnet"}
"""Tokens whose contract refuses to change a non-zero allowance: it has to be set to zero first."""


class PayRequest(TypedDict):
    """A payment order. A capital letter in an address belongs to its checksum (EIP-55)."""

    payee: Address
    amount: Amount
    invoiceCurrency: Annotated[NonEmptyText, Field(examples=["USD"])]
    paymentCurrency: Annotated[NonEmptyText, Field(examples=["ETH-sepolia-sepolia"])]


class BigNumber(TypedDict):
    """An integer of any size, as ethers serializes it."""

    type: Literal["BigNumber"]
    hex: Hex


class TransactionResponse(TypedDict):
    """A transaction to sign. A value of zero is a number."""

    data: Hex
    to: Address
    value: BigNumber | Literal[0]


class Steps(TypedDict):
    """How the transactions belong together, and the fee, if there is one."""

    stepsRequired: int
    needsApproval: bool
    approvalTransactionIndex: int | None
    paymentTransactionIndex: int
    protocolFee: NotRequired[ProtocolFee]


class PaymentMetadataResponse(Steps):
    """How the transactions belong together, whether the demo wallet can pay them, and the fee, if there is one."""

    hasEnoughBalance: bool
    hasEnoughGas: bool


class PaymentResponse(TypedDict):
    """A payment to sign. The request id is given in both published spellings."""

    requestId: RequestId
    requestID: RequestId
    paymentReference: PaymentReference
    transactions: list[TransactionResponse]
    metadata: PaymentMetadataResponse


router = of_api()


@router.call("POST /v1/pay", "initiate_payment", "Initiate a payment", status_code=201)
def post_payment(body: PayRequest, session: WorldSession) -> PaymentResponse:
    """Return the transactions to sign."""
    return cast("PaymentResponse", create_payment(session, cast("Mapping[str, str]", body)))


@dataclass(frozen=True, slots=True)
class Order:
    """A valid order: amounts in base units of the payment currency, and the contract that pays it."""

    payee: str
    currency: Currency
    contract: Deployment
    amount: int
    fee: int

    @property
    def total(self) -> int:
        """Amount and fee; gas is extra."""
        return self.amount + self.fee


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """A transaction to sign: its kind (a key of GAS_LIMITS), recipient, calldata, and value in wei."""

    kind: str
    to: str
    data: str
    wei: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the transaction as published: a value of 0 as a number, any other as ethers serializes it."""
        return {"data": self.data, "to": self.to, "value": big_number(self.wei) if self.wei else 0}


def create_payment(session: WorldSession, body: Mapping[str, str]) -> dict[str, Any]:
    """Store a payment and return the response's body. Raises Problem for an order that cannot be paid."""
    settings = session.settings
    order = check_order(body, read_rates(session), settings.fee_rate)
    names = ("payee", "amount", "invoiceCurrency", "paymentCurrency")
    bill = add_bill(session, "", order.payee, json.dumps([body[name] for name in names]), dict(body))
    transactions, metadata = transactions_of(session, order, bill)
    session.record("payment", None, body, bill.request_id)
    return {
        "requestId": bill.request_id,
        "requestID": bill.request_id,
        "paymentReference": bill.payment_reference,
        "transactions": transactions,
        "metadata": metadata,
    }


def add_bill(
    session: WorldSession, kind: Literal["", "payout "], payee: str, text: str, body: dict[str, Any]
) -> BillRow:
    """Store a payment, or a request for a payout, with ids of its own. text: from which seeded ids are made."""
    reference = body.get("reference")
    key = session.lookup_key(f"reference {reference}" if kind and reference is not None else kind or text)
    ordinal = session.count(_COUNT, key=key)
    request_id = "01" + session.identifiers.token_bytes(32, f"{kind}request", text, ordinal).hex()
    salt = session.identifiers.token_bytes(8, f"{kind}salt", text, ordinal).hex()
    return session.insert(
        BillRow,
        request_id=request_id,
        payment_reference="0x" + payment_reference(request_id, salt, payee).hex(),
        key=key,
        is_payout=bool(kind),
        body=body,
    )


def find_bill(session: WorldSession, condition: Any) -> BillRow | None:
    """Return the payment or the request of which a condition is true, or None."""
    return session.scalars(select(BillRow).where(condition, BillRow.world_id == session.world.id)).one_or_none()


def transactions_of(
    session: WorldSession, order: Order, bill: BillRow, *, has_wallet: bool = True
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the transactions that pay an order, and their metadata. has_wallet: False for an unknown allowance."""
    settings, coin = session.settings, native_currency(order.currency.network)
    holdings = read_holdings(session, [order.currency, *([coin] if coin else [])])
    allowance = holdings[order.currency.id].allowance if has_wallet else 0
    reference = bytes.fromhex(bill.payment_reference[2:])
    transactions = create_transactions(order, reference, settings.fee_recipient, allowance)
    metadata = payment_metadata(order, transactions, holdings, coin)
    metadata |= {"protocolFee": settings.protocol_fee} if settings.protocol_fee else {}
    return [each.to_json() for each in transactions], metadata


def check_order(body: Mapping[str, str], rates: Rates, fee_rate: Fraction) -> Order:
    """Return the order in base units. Raises Problem that names every invalid field."""
    errors = FieldErrors()
    payee = errors.attempt(_parse_payee, body["payee"])
    invoice = errors.attempt(_parse_currency, body, "invoiceCurrency")
    payment = errors.attempt(_parse_currency, body, "paymentCurrency")
    contract = payment and errors.attempt(_payment_contract, payment)
    units = invoice and errors.attempt(parse_amount, body["amount"], invoice)
    if not (payee and invoice and payment and contract and units):
        raise Problem.of_fields(errors.found)
    amount = convert(units, invoice, payment, rates)
    fee = int(amount * fee_rate)  # exact, then rounded down: a payer never pays more than the fee's percentage
    if amount + fee > MAX_UINT256:
        message = "is too large: converted and with its fee, it does not fit 256 bits"
        raise Problem.of_field("amount", message, "amount_range")
    return Order(payee, payment, contract, amount, fee)


def _parse_payee(payee: str) -> str:
    problem = address_problem(payee)
    if problem == "address_malformed":
        raise Problem.of_field("payee", "must be an address: 0x and 40 hex digits", "address_format")
    if problem:
        raise Problem.of_field("payee", "fails its EIP-55 checksum: a letter or its case is wrong", "address_checksum")
    if payee.lower() == _ZERO_ADDRESS:
        raise Problem.of_field("payee", "must not be the zero address", "address_zero")
    return str(with_checksum(payee))


def _parse_currency(body: Mapping[str, str], field: str) -> Currency:
    currency = find_currency(body[field])
    if currency is None:
        close = difflib.get_close_matches(body[field].lower(), token_list(), n=1)
        suggestion = f"; did you mean {token_list()[close[0]].id}?" if close else ""
        raise Problem.of_field(field, f"is not in the token list{suggestion}", "currency_unknown")
    return currency


def _payment_contract(currency: Currency) -> Deployment:
    """Return the contract that payments in a currency call."""
    name = {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}.get(currency.kind)
    if name is None:
        message = "must be a native coin or a token of an EVM network"
        raise Problem.of_field("paymentCurrency", message, "currency_kind")
    contract = find_deployment(name, currency.network)
    if contract is None:
        message = f"cannot be paid: no payment contract is deployed on {currency.network}"
        raise Problem.of_field("paymentCurrency", message, "currency_network")
    return contract


def create_transactions(order: Order, reference: bytes, fee_address: str, allowance: int) -> list[UnsignedTransaction]:
    """Return the transactions that pay an order: approvals if the allowance does not suffice, then the payment."""
    contract = with_checksum(order.contract.address)
    if order.currency.kind == "native":
        data = encode_call(PAY_NATIVE, [order.payee, reference, order.fee, fee_address])
        return [UnsignedTransaction("native", contract, data, wei=order.total)]
    token = with_checksum(order.currency.address)
    arguments = [token, order.payee, order.amount, reference, order.fee, fee_address]
    return [
        *_approvals(order, token, contract, allowance),
        UnsignedTransaction("token", contract, encode_call(PAY_TOKEN, arguments)),
    ]


def _approvals(order: Order, token: str, contract: str, allowance: int) -> list[UnsignedTransaction]:
    """Return the approvals of exactly the total: none if the allowance suffices, after a reset where needed."""
    if allowance >= order.total:
        return []
    needs_reset = allowance > 0 and order.currency.id in _RESET_FIRST
    amounts = [0, order.total] if needs_reset else [order.total]
    return [UnsignedTransaction("approve", token, encode_call(APPROVE, [contract, amount])) for amount in amounts]


def payment_metadata(
    order: Order, transactions: list[UnsignedTransaction], holdings: Mapping[str, Holding], coin: Currency | None
) -> dict[str, Any]:
    """Return how the transactions belong together; `coin` pays for gas, None if the currency list has none."""
    payment_index = len(transactions) - 1
    gas = sum(GAS_LIMITS[transaction.kind] for transaction in transactions) * GAS_PRICE
    value = sum(transaction.wei for transaction in transactions)
    gas_balance = holdings[coin.id].balance if coin else 0
    return {
        "stepsRequired": len(transactions),
        "needsApproval": payment_index > 0,
        "approvalTransactionIndex": payment_index - 1 if payment_index else None,
        "paymentTransactionIndex": payment_index,
        "hasEnoughBalance": holdings[order.currency.id].balance >= order.total,
        "hasEnoughGas": gas_balance >= value + gas,
    }


def encode_call(signature: str, arguments: Sequence[Any]) -> str:
    """Return the calldata of a function call as hex: the 4-byte selector, then the ABI-encoded arguments."""
    return "0x" + (keccak(signature.encode())[:4] + encode(_types(signature), arguments)).hex()


def decode_call(data: str) -> tuple[str, list[Any]] | None:
    """Return the signature and the arguments of one of the calls above; None for any other calldata."""
    content = bytes.fromhex(data.removeprefix("0x"))
    for signature in (APPROVE, PAY_TOKEN, PAY_NATIVE):
        if content[:4] == keccak(signature.encode())[:4]:
            try:
                return signature, list(decode(_types(signature), content[4:]))
            except DecodingError:
                return None
    return None


def payment_reference(request_id: str, salt: str, address: str) -> bytes:
    """Return the 8-byte reference that identifies a payment on chain.

    The last eight bytes of keccak-256 over request id, salt and address as lower-case text (RequestNetwork,
    payment-detection, payment-reference-calculator).
    """
    return keccak((request_id + salt + address).lower().encode())[-8:]


def _types(signature: str) -> list[str]:
    return signature.partition("(")[2].removesuffix(")").split(",")


def big_number(value: int) -> dict[str, str]:
    """Return a number as ethers 5 serializes it to JSON: hex with an even number of digits."""
    digits = f"{value:x}"
    return {"type": "BigNumber", "hex": "0x" + digits.rjust(len(digits) + len(digits) % 2, "0")}
