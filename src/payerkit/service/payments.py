"""POST /v1/pay: turns an order into the transactions that pay it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from eth_utils import is_address, is_checksum_address, to_checksum_address

from payerkit.onchain.currencies import Currency, find_currency, native_currency, token_list
from payerkit.onchain.deployments import Deployment, find_deployment
from payerkit.service.encoding import APPROVE, PAY_NATIVE, PAY_TOKEN, big_number, encode_call, payment_reference
from payerkit.service.errors import FieldErrors, Problem
from payerkit.service.money import MAX_UINT256, Rates, convert, parse_amount
from payerkit.service.settings import Settings
from payerkit.service.store import Store
from payerkit.service.wallet import GAS_LIMITS, GAS_PRICE, Holding, read_holdings, read_rates

_ZERO_ADDRESS = "0x" + "0" * 40
_RESET_FIRST = {"USDT-mainnet"}
"""Tokens whose contract refuses to change a non-zero allowance: it has to be set to zero first."""


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


def create_payment(store: Store, body: Mapping[str, str], settings: Settings) -> dict[str, Any]:
    """Store a payment and return the response's body. Raises Problem for an order that cannot be paid."""
    order = check_order(body, read_rates(store), settings.fee_rate)
    coin = native_currency(order.currency.network)
    holdings = read_holdings(store, [order.currency, *([coin] if coin else [])])
    allowance = holdings[order.currency.id].allowance
    stored = json.dumps([body[name] for name in ("payee", "amount", "invoiceCurrency", "paymentCurrency")])

    def attempt() -> dict[str, Any]:
        ordinal = store.payment_ordinal(stored)
        request_id = "01" + store.identifiers.token_bytes(32, "request", stored, ordinal).hex()
        salt = store.identifiers.token_bytes(8, "salt", stored, ordinal).hex()
        reference = payment_reference(request_id, salt, order.payee)
        transactions = create_transactions(order, reference, settings.fee_recipient, allowance)
        store.add_payment(request_id, stored, "0x" + reference.hex())
        return {
            "requestId": request_id,
            "requestID": request_id,
            "paymentReference": "0x" + reference.hex(),
            "transactions": [transaction.to_json() for transaction in transactions],
            "metadata": payment_metadata(order, transactions, holdings, coin) | _declared_fee(settings),
        }

    return store.database.retry_conflicts(attempt)


def _declared_fee(settings: Settings) -> dict[str, Any]:
    """Return the fee's part of a payment's metadata: none without a fee."""
    return {"protocolFee": settings.protocol_fee} if settings.protocol_fee else {}


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
    if not is_address(payee) or not payee.startswith("0x"):
        raise Problem.of_field("payee", "must be an address: 0x and 40 hex digits", "address_format")
    # All lower or upper case is an address without a checksum (EIP-55).
    is_mixed_case = payee[2:] not in (payee[2:].lower(), payee[2:].upper())
    if is_mixed_case and not is_checksum_address(payee):
        raise Problem.of_field("payee", "fails its EIP-55 checksum: a letter or its case is wrong", "address_checksum")
    if payee.lower() == _ZERO_ADDRESS:
        raise Problem.of_field("payee", "must not be the zero address", "address_zero")
    return str(to_checksum_address(payee))


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
    contract = to_checksum_address(order.contract.address)
    if order.currency.kind == "native":
        data = encode_call(PAY_NATIVE, [order.payee, reference, order.fee, fee_address])
        return [UnsignedTransaction("native", contract, data, wei=order.total)]
    token = to_checksum_address(order.currency.address)
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
