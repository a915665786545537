"""Match the payments of a response with the orders that they should fulfil, one to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
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


def match_one_to_one(payments: Sequence[Terms], orders: Sequence[Terms]) -> Mapping[int, int]:
    """Return the place of the order of each payment, by the payment's place; what fits nothing is missing.

    A payment that fits an order in part is matched with it, so that the difference can be told. Among several that
    fit alike, the smallest payment goes to the smallest order, and so on.
    """
    found: dict[int, int] = {}
    for step in _STEPS:
        taken = set(found.values())
        is_open = [number not in taken and _may_match(each, step) for number, each in enumerate(orders)]
        open_orders = _by_value(orders, step, compress(range(len(orders)), is_open))
        open_payments = _by_value(payments, step, (number for number in range(len(payments)) if number not in found))
        for value, numbers in open_payments.items():
            found |= zip(numbers, open_orders.get(value, ()), strict=False)
    return found


def _may_match(order: Terms, step: Sequence[str]) -> bool:
    """Return True unless the step ignores the payee that the order names."""
    return order.payee is None or step[0] != "currency"


def _by_value(terms: Sequence[Terms], names: Iterable[str], places: Iterable[int]) -> dict[tuple[Any, ...], list[int]]:
    """Return some places by the values of some members, the smallest first; without those that lack a value."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for place in sorted(places, key=lambda place: terms[place].size):
        value = tuple(getattr(terms[place], name) for name in names)
        if None not in value:
            found.setdefault(value, []).append(place)
    return found
