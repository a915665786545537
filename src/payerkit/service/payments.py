"""POST /v1/pay: an order becomes the transactions that pay it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from eth_utils import is_address, is_checksum_address, to_checksum_address
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from payerkit.onchain.currencies import Currency, currencies, find_currency
from payerkit.onchain.deployments import Deployment, find_deployment
from payerkit.service.database import PaymentRow, RateRow
from payerkit.service.encoding import APPROVE, PAY_NATIVE, PAY_TOKEN, big_number, call, payment_reference
from payerkit.service.errors import Problem, Problems
from payerkit.service.identifiers import Identifiers
from payerkit.service.money import LARGEST, Rates, convert, parse_amount
from payerkit.service.settings import Settings
from payerkit.service.wallet import GAS, GAS_PRICE, Wallet

_ZERO = "0x" + "0" * 40
_RESET_FIRST = {"USDT-mainnet"}
"""Tokens whose contract refuses to change an allowance that is not zero: it has to be set to zero first."""


@dataclass(frozen=True, slots=True)
class Order:
    """A checked order: what is paid, in base units of the payment currency, and through which contract."""

    payee: str
    currency: Currency
    contract: Deployment
    amount: int
    fee: int

    @property
    def total(self) -> int:
        """What leaves the wallet, but for gas."""
        return self.amount + self.fee


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """One transaction: what it is for, where it goes, its data, and the wei sent along."""

    kind: str
    to: str
    data: str
    wei: int = 0

    def answer(self) -> dict[str, Any]:
        """Return the transaction as the API gives it: 0 as a number, other values as ethers writes them."""
        return {"data": self.data, "to": self.to, "value": big_number(self.wei) if self.wei else 0}


def pay(session: Session, body: Mapping[str, str], settings: Settings) -> dict[str, Any]:
    """Store a payment and return the answer. Raises Problem for an order that cannot be paid."""
    order = check_order(body, stored_rates(session), settings.fee_rate)
    wallet = Wallet(session)
    asked = json.dumps([body[name] for name in ("payee", "amount", "invoiceCurrency", "paymentCurrency")])
    place = session.scalar(select(func.count()).where(PaymentRow.order == asked))
    origin = Identifiers(settings.seed)
    request_id = "01" + origin.digits(32, "request", asked, place).hex()
    reference = payment_reference(request_id, origin.digits(8, "salt", asked, place).hex(), order.payee)
    steps = _steps(order, reference, settings.fee_recipient, wallet)
    session.add(PaymentRow(request_id=request_id, order=asked))
    return {
        "requestId": request_id,
        "requestID": request_id,
        "paymentReference": "0x" + reference.hex(),
        "transactions": [step.answer() for step in steps],
        "metadata": _metadata(order, steps, wallet),
    }


def stored_rates(session: Session) -> Rates:
    """Return the rates, with those that somebody set."""
    return Rates({row.currency: row.usd for row in session.scalars(select(RateRow))})


def check_order(body: Mapping[str, str], rates: Rates, fee_rate: Fraction) -> Order:
    """Return the order in base units. Raises Problem that names every member at fault."""
    with Problems() as problems:
        payee = problems.found(_checked_address, body["payee"])
        invoice = problems.found(_known, body, "invoiceCurrency")
        payment = problems.found(_known, body, "paymentCurrency")
        contract = payment and problems.found(_contract, payment)
        units = invoice and problems.found(parse_amount, body["amount"], invoice)
    if not (payee and invoice and payment and contract and units):
        raise AssertionError  # the problems were raised
    amount = convert(units, invoice, payment, rates)
    fee = int(amount * fee_rate)
    if amount + fee > LARGEST:
        raise Problem.of("amount", "does not fit 256 bits in the payment currency, with its fee", "amount_range")
    return Order(payee, payment, contract, amount, fee)


def _checked_address(payee: str) -> str:
    if not is_address(payee) or not payee.startswith("0x"):
        raise Problem.of("payee", "must be an address: 0x and 40 hex digits", "address_format")
    is_mixed = payee[2:] not in (payee[2:].lower(), payee[2:].upper())
    if is_mixed and not is_checksum_address(payee):
        raise Problem.of("payee", "fails its EIP-55 checksum; a letter or its case is wrong", "address_checksum")
    if payee.lower() == _ZERO:
        raise Problem.of("payee", "must not be the zero address", "address_zero")
    return str(to_checksum_address(payee))


def _known(body: Mapping[str, str], member: str) -> Currency:
    currency = find_currency(body[member])
    if currency is None:
        close = difflib.get_close_matches(body[member].lower(), currencies(), n=1)
        suggestion = f"; did you mean {currencies()[close[0]].id}?" if close else ""
        raise Problem.of(member, f"is not in the token list{suggestion}", "currency_unknown")
    return currency


def _contract(currency: Currency) -> Deployment:
    """Return the contract that payments of a currency go through."""
    names = {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}
    name = names.get(currency.kind)
    if name is None:
        raise Problem.of("paymentCurrency", "must be a coin or token of an EVM network", "currency_kind")
    contract = find_deployment(name, currency.network)
    if contract is None:
        words = f"cannot be paid: there is no payment contract on {currency.network}"
        raise Problem.of("paymentCurrency", words, "currency_network")
    return contract


def _steps(order: Order, reference: bytes, fee_address: str, wallet: Wallet) -> list[UnsignedTransaction]:
    contract = to_checksum_address(order.contract.address)
    if order.currency.kind == "native":
        data = call(PAY_NATIVE, [order.payee, reference, order.fee, fee_address])
        return [UnsignedTransaction("native", contract, data, wei=order.total)]
    token = to_checksum_address(order.currency.address)
    arguments = [token, order.payee, order.amount, reference, order.fee, fee_address]
    return [
        *_approvals(order, token, contract, wallet),
        UnsignedTransaction("token", contract, call(PAY_TOKEN, arguments)),
    ]


def _approvals(order: Order, token: str, contract: str, wallet: Wallet) -> list[UnsignedTransaction]:
    """Return what lets the contract take the total: nothing where it may already, a reset first where it must be."""
    allowance = wallet.holding(order.currency).allowance
    if allowance >= order.total:
        return []
    has_to_reset = allowance > 0 and order.currency.id in _RESET_FIRST
    amounts = [0, order.total] if has_to_reset else [order.total]
    return [UnsignedTransaction("approve", token, call(APPROVE, [contract, amount])) for amount in amounts]


def _metadata(order: Order, steps: list[UnsignedTransaction], wallet: Wallet) -> dict[str, Any]:
    payment = len(steps) - 1
    gas = sum(GAS[step.kind] for step in steps) * GAS_PRICE
    sent_along = sum(step.wei for step in steps)
    return {
        "stepsRequired": len(steps),
        "needsApproval": payment > 0,
        "approvalTransactionIndex": payment - 1 if payment else None,
        "paymentTransactionIndex": payment,
        "hasEnoughBalance": wallet.holding(order.currency).balance >= order.total,
        "hasEnoughGas": wallet.gas_money(order.currency.network) >= sent_along + gas,
    }
