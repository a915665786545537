"""What a payment does, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from itertools import chain

from payerkit.findings import PaymentFindings
from payerkit.payments.against import Against
from payerkit.payments.effects import MAX_TRANSACTIONS, Effects
from payerkit.payments.onchain.addresses import is_same, with_checksum
from payerkit.payments.onchain.amounts import format_number, format_percentage, to_units
from payerkit.payments.onchain.calldata import UNLIMITED, Effect, EffectKind
from payerkit.payments.onchain.currencies import Currency, networks, request_decimals

_COUNTS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)
_NOTHING = "There is nothing to sign."
_ONLY_MESSAGES = (
    "There is no transaction, but a message to sign, which payerkit cannot judge."
)
_TWO_DIGITS = Context(prec=2)
"""The share of a fee is rounded to what a person remembers of it; the findings have it
exactly.
"""


def payment_sentence(
    effects: Effects, against: Against, findings: PaymentFindings
) -> str:
    """Return who is paid what, on which network, for which bank account, with which fee
    and how many signatures.

    It says "would" if the findings stop the payment.
    """
    if not effects.transactions:
        return _ONLY_MESSAGES if effects.payment.whole.typed_messages else _NOTHING
    count = len(effects.transactions)
    if count > MAX_TRANSACTIONS:
        return f"There are {count} transactions, more than payerkit reads."
    words = [
        _pays(effects, against, findings),
        *_fee_words(effects, against),
    ]
    every = chain.from_iterable(each.effects for each in effects.transactions)
    if any(effect.allowance == UNLIMITED for effect in every):
        words.append("an unlimited allowance")
    words += _signatures(effects)
    return f"{', '.join(words)}."


def short_address(address: str) -> str:
    """Return the beginning and the end of an address; enough to recognise it, not to
    compare it.
    """
    return address if len(address) <= 14 else f"{address[:6]}...{address[-4:]}"


def _pays(effects: Effects, against: Against, findings: PaymentFindings) -> str:
    """Return who is paid how much, on which network, for which bank account."""
    payments = effects.payments
    where = f" on {networks()[against.network].title}" if against.network else ""
    is_stopped = findings.verdict == "stop"
    pay = "Would pay" if is_stopped else "Pays"
    make = "Would make" if is_stopped else "Makes"
    if not payments:
        if all(transaction.effects for transaction in effects.transactions):
            return f"{pay} nobody{where}"
        return f"Would do something that payerkit cannot read{where}"
    unknown = {
        finding.step
        for finding in findings
        if finding.code in {"contract_unknown", "address_malformed"}
    }
    if any(payment.step in unknown for payment in payments):  # it may pay nobody
        pay = "Would ask an unknown contract to pay"
        make = "Would ask an unknown contract to make"
    purpose = f" for the account {effects.account}" if effects.account else ""
    if len(payments) == 1:
        amount = amount_to_pay(against, payments[0])
        payee = _payee(effects, against, payments[0])
        return f"{pay} {amount}{where} to {payee}{purpose}"
    wallets = len({str(payment.recipient).lower() for payment in payments})
    to = "one wallet" if wallets == 1 else f"{_number(wallets)} wallets"
    words = f"{make} {_number(len(payments))} payments{where} to {to}{purpose}"
    total = _sum(against, payments, [payment.amount for payment in payments])
    return f"{words}, {total} in all" if total else words


def _payee(effects: Effects, against: Against, payment: Effect) -> str:
    """Return the recipient: short if the order or the address book names it, in full if
    nothing vouches for it.

    One that looks like a known address is in full, too: short, it would be taken for
    that.
    """
    if payment.recipient is None:
        return "an unknown wallet"
    address = str(with_checksum(payment.recipient))
    short = short_address(address)
    known = against.known(payment.recipient)
    if known is not None:
        return f"{short} ({known.name})" if known.name else short
    if against.policy.lookalike(payment.recipient) is not None:
        return address
    order = effects.order_of(payment)
    is_ordered = order is not None and is_same(order.payee, payment.recipient)
    return short if is_ordered else address


def amount_to_pay(against: Against, payment: Effect) -> str:
    """Return what a payment pays, in whole units if its token is known."""
    token = against.token(payment.token)
    if payment.amount is None:
        return "an unknown amount"
    if payment.unit != "request":
        return in_units(payment.amount, token)
    currency = payment.request_currency
    decimals = None if currency is None else request_decimals(currency)
    amount = in_units(payment.amount, currency, decimals)
    paid_in = token.ticker if token else "an unknown token"
    words = f"{amount} in {paid_in}, at the rate on execution"
    if payment.max_to_spend is None or payment.max_to_spend == UNLIMITED:
        return f"{words},"
    return f"{words} and at most {in_units(payment.max_to_spend, token)},"


def in_units(base: int, currency: Currency | None, decimals: int | None = None) -> str:
    """Return an amount with the currency's symbol, or in base units if the currency is
    not known. decimals: by default those of the currency.
    """
    if currency is None:
        return f"{base} base units of an unknown token"
    if decimals is None:
        decimals = currency.decimals
    amount = to_units(base, decimals) or Decimal(0)
    return f"{format_number(amount)} {currency.ticker}"


def _fee_words(effects: Effects, against: Against) -> list[str]:
    """Return the fees of all payments as a share of all amounts, or as an amount;
    nothing if they cannot be added.
    """
    payments = effects.payments
    legs = effects.fee_legs.values()
    fees = [*(payment.fee for payment in payments), *(leg.amount for leg in legs)]
    if not payments or all(fee is None for fee in fees):
        return []
    fee = sum(each or 0 for each in fees)
    amount = sum(payment.amount or 0 for payment in payments)
    if fee == 0:
        return ["no fee"]
    paying = [*payments, *legs]
    if len({(each.token, each.unit, each.path[:1]) for each in paying}) > 1:
        return ["with fees"]
    if amount == 0:
        return [f"fee {_sum(against, paying, fees) or 'unknown'}"]
    percentage = _TWO_DIGITS.divide(Decimal(100 * fee), Decimal(amount))
    return [f"fee {format_percentage(percentage)}"]


def _sum(
    against: Against, same: Sequence[Effect], amounts: Sequence[int | None]
) -> str:
    """Return the sum of amounts in one token; "" if there are several tokens, or
    something is not known.
    """
    kinds = {(each.token, each.unit) for each in same}
    token = against.token(same[0].token)
    if len(kinds) > 1 or same[0].unit == "request" or token is None or None in amounts:
        return ""
    return in_units(sum(each or 0 for each in amounts), token)


def _signatures(effects: Effects) -> list[str]:
    """Return how many signatures it takes, and for what else than payments and
    approvals some of them are.
    """
    count = len(effects.transactions)
    unread = sum(not transaction.effects for transaction in effects.transactions)
    other = sum(_is_of_another_kind(each.effects) for each in effects.transactions)
    words = [f"{_number(count)} signatures"]
    if count == 1:
        words = [
            "one signature for a call of another kind" if other else "one signature"
        ]
    if effects.payments and 0 < unread < count:
        words.append(
            f"{_number(unread)} of them for something that payerkit cannot read"
        )
    if other and count > 1:
        words.append(f"{_number(other)} of them for a call of another kind")
    if effects.payment.whole.typed_messages:
        words.append("and a message to sign")
    return words


def _is_of_another_kind(effects: Sequence[Effect]) -> bool:
    """Return True for a call that does anything but pay and approve."""
    return any(
        not effect.is_payment and effect.kind != EffectKind.APPROVE
        for effect in effects
    )


def _number(count: int) -> str:
    return _COUNTS[count] if count < len(_COUNTS) else str(count)
