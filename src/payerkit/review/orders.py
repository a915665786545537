"""Orders as a review reads them: objects, dicts and rows of a table alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any

from payerkit.checks.inputs import is_blank, match_names, unknown_names
from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.errors import InvalidInput, kind_of
from payerkit.review.protocols import OrderLike
from payerkit.wire import our_name

if TYPE_CHECKING:
    import pandas as pd

    AnyOrder = OrderLike | Mapping[str, Any] | pd.Series[Any]
    Orders = pd.DataFrame | Iterable[AnyOrder]


@dataclass(frozen=True, slots=True)
class ExpectedPayment:
    """An order as text. payee, payment_reference: None if the order does not name one."""

    payee: str | None
    amount: str
    invoice_currency: str
    payment_currency: str
    payment_reference: str | None = None


def expected_payments(
    own: OrderLike | None, order: AnyOrder | None, orders: Orders | None
) -> tuple[ExpectedPayment, ...]:
    """Return the given order or orders, else a payment's own order. Raises InvalidInput if both are given."""
    if orders is None:
        found = read_order(own if order is None else order)
        return () if found is None else (found,)
    if order is not None:
        raise InvalidInput("order, orders: give one of them, not both.")
    return read_orders(orders)


def read_orders(orders: Orders) -> tuple[ExpectedPayment, ...]:
    """Return the orders of a table or list. Raises InvalidInput for anything else, naming the line."""
    given: Any = orders
    if hasattr(given, "columns"):
        given = [row for _, row in given.astype(object).iterrows()]
    if hasattr(given, "items") or isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"orders: give a DataFrame with one order a line, or a list; got {kind_of(given)}.")
    found = tuple(_read_line(number, order) for number, order in enumerate(given, 1))
    if not found:
        raise InvalidInput("orders: there is none. Give one line for each payment.")
    return found


def _read_line(number: int, line: Any) -> ExpectedPayment:
    """Return one of several orders, which may have the reference of its payment."""
    reference, order = _split_reference(line) if hasattr(line, "items") else (None, line)
    try:
        found = read_order(order)
    except InvalidInput as error:
        message = f"orders, line {number}: {error.message.removeprefix('order: ')}"
        raise InvalidInput(message, fields=error.fields) from None
    if found is None:
        raise InvalidInput(f"orders, line {number}: the order is missing.")
    return found if is_blank(reference) else replace(found, payment_reference=str(reference))


def _split_reference(line: Any) -> tuple[Any, Any]:
    """Return the reference of a row or dict, and the other members."""
    names = [name for name in line.keys() if our_name(str(name)) == "payment_reference"]  # noqa: SIM118 - of a Series
    others = line.drop(names) if hasattr(line, "drop") else {name: line[name] for name in line if name not in names}
    return (line[names[0]] if names else None), others


def read_order(order: AnyOrder | None) -> ExpectedPayment | None:
    """Return an order; None without one. Only its payee may be missing: an order may pay out to a bank account.

    Raises InvalidInput if something else is missing, or if a member is unknown, since it would not be compared.
    """
    if order is None:
        return None
    given = {name: value for name, value in _members(order).items() if not is_blank(value)}
    for name in PAYMENT_ORDER.fields:
        if name != "payee" and name not in given:
            raise InvalidInput(f"order: {name} is missing. Give a PaymentOrder, or a dict or Series with its fields.")
    payee = given.get("payee")
    return ExpectedPayment(
        payee=None if payee is None else str(payee),
        amount=_read_amount(given["amount"]),
        invoice_currency=str(given["invoice_currency"]),
        payment_currency=str(given["payment_currency"]),
    )


def _members(order: Any) -> Mapping[str, Any]:
    """Return the members of an order by our names."""
    if hasattr(order, "columns"):
        raise InvalidInput("order: a DataFrame may have several orders. Give one row, or all as orders=.")
    if not hasattr(order, "items"):
        found = {name: getattr(order, name) for name in PAYMENT_ORDER.fields if hasattr(order, name)}
        if not found:
            raise InvalidInput(
                f"order: give a PaymentOrder, or a dict or Series with its fields; got {kind_of(order)}."
            )
        return found
    values = dict(order.items())
    places, problems, unknown = match_names(PAYMENT_ORDER, values)
    is_row = not isinstance(order, Mapping) and len(places) == len(PAYMENT_ORDER.fields)
    if not is_row:  # a whole row of a table may have more columns; but a missing member may be a misspelled one
        problems += unknown_names(PAYMENT_ORDER, unknown, is_headless=not places)
    if problems:
        raise InvalidInput("order: wrong names. Nothing was checked.", fields=tuple(problems))
    given = [*values.values()]
    return {name: given[place] for name, place in places.items()}


def _read_amount(amount: Any) -> str:
    """Return an amount as text; text stays as typed. Raises InvalidInput for a float, since it is not exact."""
    if isinstance(amount, str):
        return amount
    if isinstance(amount, Decimal):
        return f"{amount:f}"
    if isinstance(amount, Integral) and not isinstance(amount, bool):
        return str(int(amount))
    raise InvalidInput(f"order: amount: give text, an int or a Decimal; got {kind_of(amount)}. Read tables as text.")
