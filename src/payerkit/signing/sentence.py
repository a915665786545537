"""What a payment does, in one sentence."""

from __future__ import annotations

from decimal import Context, Decimal

from payerkit.findings import PaymentFindings
from payerkit.onchain.addresses import is_same, with_checksum
from payerkit.onchain.amounts import format_number, format_percentage, to_units
from payerkit.onchain.calldata import UNLIMITED, Effect, EffectKind
from payerkit.onchain.currencies import Currency, networks, request_decimals
from payerkit.payment.compare import Comparison

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NOTHING = "There is nothing to sign."
_ONLY_MESSAGES = "There is no transaction, but a message to sign, which payerkit cannot judge."
_TWO_DIGITS = Context(prec=2)
"""The share of a fee is rounded to what a person remembers of it; the findings have it exactly."""


def payment_sentence(compared: Comparison, findings: PaymentFindings) -> str:
    """Return who is paid what, on which network, for which bank account, with which fee and how many signatures.

    It says "would" if the findings stop the payment.
    """
    if not compared.transactions:
        return _NOTHING if not compared.payment.whole.typed_messages else _ONLY_MESSAGES
    has_unlimited = any(effect.allowance == UNLIMITED for each in compared.transactions for effect in each.effects)
    words = [
        _pays(compared, compared.payments, findings),
        *_fee_words(compared, compared.payments),
        *(["an unlimited allowance"] if has_unlimited else []),
        *_signatures(compared),
    ]
    return f"{', '.join(words)}."


def short_address(address: str) -> str:
    """Return the beginning and the end of an address; enough to recognise it, not to compare it."""
    return address if len(address) <= 14 else f"{address[:6]}...{address[-4:]}"


def _pays(compared: Comparison, payments: list[Effect], findings: PaymentFindings) -> str:
    pay, make = ("Would pay", "Would make") if findings.verdict == "stop" else ("Pays", "Makes")
    where = f" on {networks()[compared.network].title}" if compared.network else ""
    if not payments:
        is_readable = all(transaction.effects for transaction in compared.transactions)
        return f"{pay} nobody{where}" if is_readable else f"Would do something that payerkit cannot read{where}"
    unknown = {each.step for each in findings if each.code in {"contract_unknown", "address_malformed"}}
    if any(payment.step in unknown for payment in payments):  # it may pay nobody
        pay, make = "Would ask an unknown contract to pay", "Would ask an unknown contract to make"
    purpose = f" for the account {compared.account}" if compared.account else ""
    if len(payments) == 1:
        return f"{pay} {amount_to_pay(compared, payments[0])}{where} to {_payee(compared, payments[0])}{purpose}"
    wallets = len({str(payment.recipient).lower() for payment in payments})
    to = "one wallet" if wallets == 1 else f"{_number(wallets)} wallets"
    total = _sum(compared, payments, [payment.amount for payment in payments])
    return f"{make} {_number(len(payments))} payments{where} to {to}{purpose}{f', {total} in all' if total else ''}"


def _payee(compared: Comparison, payment: Effect) -> str:
    """Return the recipient: short if the order or the address book names it, in full if nothing vouches for it.

    One that looks like a known address is in full, too: short, it would be taken for that.
    """
    if payment.recipient is None:
        return "an unknown wallet"
    address = str(with_checksum(payment.recipient))
    if known := compared.known(payment.recipient):
        return f"{short_address(address)} ({known.name})" if known.name else short_address(address)
    order = compared.order_of(payment)
    is_ordered = order is not None and is_same(order.payee, payment.recipient)
    is_lookalike = compared.policy.lookalike(payment.recipient) is not None
    return short_address(address) if is_ordered and not is_lookalike else address


def amount_to_pay(compared: Comparison, payment: Effect) -> str:
    """Return what a payment pays, in whole units if its token is known."""
    token = compared.token(payment.token)
    if payment.amount is None:
        return "an unknown amount"
    if payment.unit != "request":
        return _in_units(payment.amount, token)
    currency = payment.request_currency
    amount = _in_units(payment.amount, currency, request_decimals(currency) if currency else None)
    paid_in = token.ticker if token else "an unknown token"
    is_bounded = payment.max_to_spend not in {None, UNLIMITED}
    most = f" and at most {_in_units(payment.max_to_spend or 0, token)}" if is_bounded else ""
    return f"{amount} in {paid_in}, at the rate on execution{most},"


def _in_units(base: int, currency: Currency | None, decimals: int | None = None) -> str:
    """Return an amount with the currency's symbol, or in base units if the currency is not known."""
    if currency is None:
        return f"{base} base units of an unknown token"
    found = to_units(base, currency.decimals if decimals is None else decimals)
    return f"{format_number(found or Decimal(0))} {currency.ticker}"


def _fee_words(compared: Comparison, payments: list[Effect]) -> list[str]:
    """Return the fees of all payments as a share of all amounts, or as an amount; nothing if they cannot be added."""
    legs = compared.fee_legs.values()
    fees = [*(payment.fee for payment in payments), *(leg.amount for leg in legs)]
    if not payments or all(fee is None for fee in fees):
        return []
    fee, amount = sum(each or 0 for each in fees), sum(payment.amount or 0 for payment in payments)
    if fee == 0:
        return ["no fee"]
    if len({(each.token, each.unit, each.path[:1]) for each in (*payments, *legs)}) > 1:
        return ["with fees"]
    if amount == 0:
        return [f"fee {_sum(compared, [*payments, *legs], fees) or 'unknown'}"]
    return [f"fee {format_percentage(_TWO_DIGITS.divide(Decimal(100 * fee), Decimal(amount)))}"]


def _sum(compared: Comparison, effects: list[Effect], amounts: list[int | None]) -> str:
    """Return the sum of amounts in one token; "" if there are several tokens, or something is not known."""
    tokens = {(each.token, each.unit) for each in effects}
    token = compared.token(effects[0].token)
    is_known = len(tokens) == 1 and effects[0].unit != "request" and token is not None and None not in amounts
    return _in_units(sum(each or 0 for each in amounts), token) if is_known else ""


def _signatures(compared: Comparison) -> list[str]:
    """Return how many signatures it takes, and for what else than payments and approvals some of them are."""
    effects = [transaction.effects for transaction in compared.transactions]
    unread = sum(not each for each in effects)
    other = sum(any(not one.is_payment and one.kind != EffectKind.APPROVE for one in each) for each in effects)
    words = [f"{_number(len(effects))} {'signature' if len(effects) == 1 else 'signatures'}"]
    words += [f"{_number(unread)} of them for something that payerkit cannot read"] if 0 < unread < len(effects) else []
    words += [f"{_number(other)} of them for a call of another kind"] if other else []
    return words + (["a message to sign beside them"] if compared.payment.whole.typed_messages else [])


def _number(count: int) -> str:
    return _COUNTS[count] if count < len(_COUNTS) else str(count)
