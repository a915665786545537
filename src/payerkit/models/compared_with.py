"""What a payment is compared with: orders in any form, a rate, a policy, and what else `check_payment` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable

from payerkit.checks.inputs import is_blank, match_names, unknown_names
from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.errors import InvalidInput, kind_of
from payerkit.policy.payment_policy import PaymentPolicy
from payerkit.wire import our_name
from payerkit.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.models.requests import PaymentOrder, PayoutOrder

    AnyOrder = PaymentOrder | PayoutOrder | Mapping[str, Any] | pd.Series[Any]
    Orders = pd.DataFrame | Iterable[AnyOrder]


@runtime_checkable
class KnowsPaid(Protocol):
    """Anything that can be asked what a service says about a request, such as a `Client`.

    A question that fails raises a PayerkitError.
    """

    def request_members(self, request_id: str) -> Mapping[str, Any]:
        """Return the members of the response about a request, by the names on the wire."""


class ComparedWith(TypedDict, total=False):
    """What a payment is compared with, each by the name that `check_payment` gives it."""

    order: AnyOrder | None
    orders: Orders | None
    rate: Decimal | int | str | None
    network: str | None
    policy: PaymentPolicy | None
    now: datetime | None
    client: KnowsPaid | None


_MOST_DIGITS = 100
"""Digits that an amount does not have; writing out more only takes time."""


@dataclass(frozen=True, slots=True)
class OrderTerms:
    """An order as text. payee, payment_reference: None if the order does not name one.

    is_payout: whether it is one that pays out to a bank account, such as a `PayoutOrder`.
    """

    payee: str | None
    amount: str
    invoice_currency: str
    payment_currency: str
    payment_reference: str | None = None
    is_payout: bool = False


def expected_payments(
    own: PaymentOrder | PayoutOrder | None, order: AnyOrder | None, orders: Orders | None
) -> tuple[OrderTerms, ...]:
    """Return the given order or orders, else a payment's own order.

    Raises InvalidInput if both are given, and for what is not an order, naming its line.
    """
    if orders is None:
        found = read_order(own if order is None else order)
        return () if found is None else (found,)
    if order is not None:
        raise InvalidInput("order, orders: give one of them, not both.")
    given: Any = orders
    if hasattr(given, "columns"):
        given = [row for _, row in given.astype(object).iterrows()]
    if hasattr(given, "items") or isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"orders: give a DataFrame with one order a line, or a list; got {kind_of(given)}.")
    lines = [read_order(line, f"orders, line {number}") for number, line in enumerate(given, 1)]
    if None in lines:
        raise InvalidInput(f"orders, line {lines.index(None) + 1}: the order is missing.")
    if not lines:
        raise InvalidInput("orders: there is none. Give one line for each payment.")
    return tuple(filter(None, lines))


def read_order(order: AnyOrder | None, where: str = "order") -> OrderTerms | None:
    """Return an order; None without one. Only its payee may be missing: an order may pay out to a bank account.

    A dict or row may also have the reference of its payment. where: the name of the order in errors. Raises
    InvalidInput if something else is missing, or if a member is unknown, since it would not be compared.
    """
    if order is None:
        return None
    given = {name: value for name, value in _members(order, where).items() if not is_blank(value)}
    for name in PAYMENT_ORDER.fields:
        if name != "payee" and name not in given:
            raise InvalidInput(f"{where}: {name} is missing. Give a PaymentOrder, or a dict or Series with its fields.")
    amount = _read_amount(given.pop("amount"), where)
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidInput(f"{where}: {name}: expected text, got {kind_of(value)}.")
    is_payout = not hasattr(order, "items") and "payee" not in given
    return OrderTerms(amount=amount, is_payout=is_payout, **{"payee": None, **given})


def _members(order: Any, where: str) -> Mapping[str, Any]:
    """Return the members of an order by our names."""
    if hasattr(order, "columns"):
        raise InvalidInput(f"{where}: a DataFrame may have several orders. Give one row, or all as orders=.")
    if not hasattr(order, "items"):
        if not all(hasattr(order, name) for name in PAYMENT_ORDER.fields):  # a payee may be None, but has to be there
            raise InvalidInput(
                f"{where}: give a PaymentOrder, or a dict or Series with its fields; got {kind_of(order)}."
            )
        return {name: getattr(order, name) for name in PAYMENT_ORDER.fields}
    members = [*order.items()]
    references = [value for name, value in members if our_name(str(name)) == "payment_reference"]
    others = [(name, value) for name, value in members if our_name(str(name)) != "payment_reference"]
    places, problems, unknown = match_names(PAYMENT_ORDER, [name for name, _ in others])
    is_row = not isinstance(order, Mapping) and len(places) == len(PAYMENT_ORDER.fields)
    if not is_row:  # a whole row of a table may have more columns; but a missing member may be a misspelled one
        problems += unknown_names(PAYMENT_ORDER, unknown, is_headless=not places)
    if problems:
        missing = [name for name in PAYMENT_ORDER.fields if name not in places and name != "payee"]
        words = f"wrong names ({listed(missing)} missing)" if missing else "wrong names"
        raise InvalidInput(f"{where}: {words}. Nothing was checked.", fields=tuple(problems))
    if len(references) > 1:
        raise InvalidInput(f"{where}: payment_reference is given twice. Nothing was checked.")
    given = {name: others[place][1] for name, place in places.items()}
    return given | ({"payment_reference": references[0]} if references else {})


def _read_amount(amount: Any, where: str) -> str:
    """Return an amount as text; text stays as typed. Raises InvalidInput for a float, since it is not exact."""
    if isinstance(amount, str):
        return amount
    if isinstance(amount, bool) or not isinstance(amount, Decimal | Integral):
        raise InvalidInput(
            f"{where}: amount: give text, an int or a Decimal; got {kind_of(amount)}. Read tables as text."
        )
    number = amount if isinstance(amount, Decimal) else Decimal(int(amount))
    if abs(number.adjusted()) >= _MOST_DIGITS:
        raise InvalidInput(f"{where}: amount: expected a number of fewer than {_MOST_DIGITS} digits.")
    return f"{number:f}"
