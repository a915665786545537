"""Match payments with the orders that they should fulfil, one to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from payerkit.payments.against import Against
from payerkit.payments.onchain.amounts import EXACT, positive_number, to_units
from payerkit.payments.onchain.calldata import At, Effect
from payerkit.payments.terms import OrderTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class _MatchTerms:
    """What a payment and its order have in common; None for what is not known, or not
    asked for.

    payee, reference: in lower case. currency: the id of the payment currency. amount:
    in its whole units, if that is known exactly. size: the same, or an estimate that
    grows with it.
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
"""What has to be equal, from the surest to the weakest. The last two are for orders
that name no payee.
"""


def match_orders(payments: Sequence[Effect], against: Against) -> dict[At, int]:
    """Return the number of the order of each payment, by where the payment stands."""
    found = _match_one_to_one(
        [_terms_of_payment(against, each) for each in payments],
        [_terms_of_order(against, each) for each in against.orders],
    )
    return {payments[place].at: number for place, number in found.items()}


def _terms_of_payment(against: Against, payment: Effect) -> _MatchTerms:
    """Return the terms of a payment; an amount that is converted on execution is only
    an estimate.
    """
    token = against.token(payment.token)
    amount = None
    if token is not None and payment.unit != "request":
        amount = to_units(payment.amount, token.decimals)
    size = amount
    if size is None:
        size = Decimal(payment.amount or 0)
    reference = None
    if payment.reference is not None:
        reference = f"0x{payment.reference.hex()}"
    return _MatchTerms(
        payee=payment.recipient and payment.recipient.lower(),
        currency=None if token is None else token.id,
        amount=amount,
        size=size,
        reference=reference,
    )


def _terms_of_order(against: Against, order: OrderTerms) -> _MatchTerms:
    """Return the terms of an order; its amount in the payment currency may be an
    estimate.
    """
    currency = against.currency(order)
    invoice = against.policy.find_currency(order.invoice_currency)
    asked = positive_number(order.amount)
    amount = None
    rate = None
    if currency is not None and currency == invoice:
        amount = asked
    else:
        rate = against.rate_of(order)
    return _MatchTerms(
        payee=order.payee and order.payee.lower(),
        currency=None if currency is None else currency.id,
        amount=amount,
        size=EXACT.divide(asked or Decimal(0), rate or Decimal(1)),
        reference=order.payment_reference and order.payment_reference.lower(),
    )


def _match_one_to_one(
    payments: Sequence[_MatchTerms], orders: Sequence[_MatchTerms]
) -> Mapping[int, int]:
    """Return the place of the order of each payment, by the payment's place; a payment
    that fits no order is missing.

    A payment that fits an order in part is matched with it, so that findings can name
    the difference. Among several that fit alike, the smallest payment goes to the
    smallest order, and so on.
    """
    found: dict[int, int] = {}
    for step in _STEPS:
        taken = set(found.values())
        # The last steps ignore the payee that an order names.
        open_orders = [
            number
            for number, order in enumerate(orders)
            if number not in taken and (order.payee is None or step[0] != "currency")
        ]
        open_payments = [
            number for number in range(len(payments)) if number not in found
        ]
        orders_by_value = _by_value(orders, step, open_orders)
        for value, numbers in _by_value(payments, step, open_payments).items():
            found |= zip(numbers, orders_by_value.get(value, ()), strict=False)
    return found


def _by_value(
    terms: Sequence[_MatchTerms], names: Iterable[str], places: Iterable[int]
) -> dict[tuple[Any, ...], list[int]]:
    """Return some places by the values of some members, the smallest first; without
    those that lack a value.
    """
    found: dict[tuple[Any, ...], list[int]] = {}
    for place in sorted(places, key=lambda place: terms[place].size):
        value = tuple(getattr(terms[place], name) for name in names)
        if None not in value:
            found.setdefault(value, []).append(place)
    return found
