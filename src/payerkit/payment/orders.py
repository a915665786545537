"""Match the payments of a response with the orders that they should fulfil, one to one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from payerkit.findings import Finding, payment_finding
from payerkit.onchain.addresses import lookalikes, with_checksum
from payerkit.onchain.amounts import EXACT, format_effect_amount, positive_number, to_units
from payerkit.onchain.calldata import At, Effect
from payerkit.wording import shown

if TYPE_CHECKING:
    from payerkit.payment.compare import Comparison, OrderTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTerms:
    """What a payment and its order have in common; None for what is not known, or not asked for.

    payee, reference: in lower case. currency: the id of the payment currency. amount: in its whole units, if that is
    known exactly. size: the same, or an estimate that grows with it.
    """

    payee: str | None
    currency: str | None
    amount: Decimal | None
    size: Decimal
    reference: str | None


_STEPS = (
    ("reference",),
    ("payee", "currency", "amount"),
    ("payee", "currency"),
    ("payee",),
    ("currency", "amount"),
    ("currency",),
)
"""What has to be equal, from the surest to the weakest. The last two are for orders that name no payee."""


def match_orders(compared: Comparison) -> dict[At, int]:
    """Return the number of the order of each payment, by where the payment stands."""
    payments = compared.payments
    found = match_one_to_one(
        [_terms_of_payment(compared, each) for each in payments],
        [_terms_of_order(compared, each) for each in compared.orders],
    )
    return {payments[place].at: number for place, number in found.items()}


def _terms_of_payment(compared: Comparison, payment: Effect) -> MatchTerms:
    """Return the terms of a payment; an amount that is converted on execution is only an estimate."""
    token = compared.token(payment.token)
    amount = to_units(payment.amount, token.decimals if token and payment.unit != "request" else None)
    return MatchTerms(
        payee=payment.recipient and payment.recipient.lower(),
        currency=None if token is None else token.id,
        amount=amount,
        size=Decimal(payment.amount or 0) if amount is None else amount,
        reference=None if payment.reference is None else f"0x{payment.reference.hex()}",
    )


def _terms_of_order(compared: Comparison, order: OrderTerms) -> MatchTerms:
    """Return the terms of an order; its amount in the payment currency may be an estimate."""
    currency, amount = compared.currency(order), positive_number(order.amount)
    is_exact = currency is not None and currency == compared.policy.find_currency(order.invoice_currency)
    rate = None if is_exact else compared.rate_of(order)
    return MatchTerms(
        payee=order.payee and order.payee.lower(),
        currency=None if currency is None else currency.id,
        amount=amount if is_exact else None,
        size=EXACT.divide(amount or Decimal(0), rate or Decimal(1)),
        reference=order.payment_reference and order.payment_reference.lower(),
    )


def match_one_to_one(payments: Sequence[MatchTerms], orders: Sequence[MatchTerms]) -> Mapping[int, int]:
    """Return the place of the order of each payment, by the payment's place; a payment that fits no order is missing.

    A payment that fits an order in part is matched with it, so that findings can name the difference. Among several
    that fit alike, the smallest payment goes to the smallest order, and so on.
    """
    found: dict[int, int] = {}
    for step in _STEPS:
        taken = set(found.values())
        # The last steps ignore the payee that an order names.
        may_match = [n for n, each in enumerate(orders) if each.payee is None or step[0] != "currency"]
        open_orders = _by_value(orders, step, (number for number in may_match if number not in taken))
        open_payments = _by_value(payments, step, (number for number in range(len(payments)) if number not in found))
        for value, numbers in open_payments.items():
            found |= zip(numbers, open_orders.get(value, ()), strict=False)
    return found


def _by_value(
    terms: Sequence[MatchTerms], names: Iterable[str], places: Iterable[int]
) -> dict[tuple[Any, ...], list[int]]:
    """Return some places by the values of some members, the smallest first; without those that lack a value."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for place in sorted(places, key=lambda place: terms[place].size):
        value = tuple(getattr(terms[place], name) for name in names)
        if None not in value:
            found.setdefault(value, []).append(place)
    return found


def check_orders(compared: Comparison) -> Iterator[Finding]:
    """Yield the findings about several orders as a whole."""
    unmatched = [*_find_unpaid(compared), *_find_unordered(compared)]
    yield from unmatched or [payment_finding("orders_matched", count=len(compared.orders))]
    payees = [order.payee for order in compared.orders if order.payee and compared.known(order.payee) is None]
    for one, other in lookalikes(payees):
        yield payment_finding("payee_lookalike.orders", one=with_checksum(one), other=with_checksum(other))
    references = Counter(payment.reference for payment in compared.payments if payment.reference)
    for reference, count in references.items():
        if count > 1:
            yield payment_finding("reference_repeated", count=count, reference=f"0x{reference.hex()}")


def _find_unpaid(compared: Comparison) -> Iterator[Finding]:
    paid = set(compared.order_numbers.values())
    for number, order in enumerate(compared.orders):
        if number not in paid:
            payee = "a payee that it does not name" if order.payee is None else with_checksum(order.payee)
            amount = f"{shown(order.amount)} {shown(order.invoice_currency)}"
            yield payment_finding("order_unpaid", number=number + 1, amount=amount, payee=payee)


def _find_unordered(compared: Comparison) -> Iterator[Finding]:
    for payment in compared.payments:
        if payment.at not in compared.order_numbers:
            amount = format_effect_amount(payment, payment.amount or 0, compared.token(payment.token))
            recipient = with_checksum(payment.recipient) or "an unknown wallet"
            yield payment_finding("payment_unordered", payment, amount=amount, recipient=recipient)
