"""Orders as a review reads them: objects, dicts and rows of a table alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any

from payerkit.checks.inputs import is_blank, match_names, unknown_names
from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.errors import InvalidInput, kind_of
from payerkit.onchain.protocols import OrderLike

if TYPE_CHECKING:
    import pandas as pd

    AnyOrder = OrderLike | Mapping[str, Any] | pd.Series[Any]


@dataclass(frozen=True, slots=True)
class ExpectedPayment:
    """An order as text. payee, payment_reference: None if the order does not name one."""

    payee: str | None
    amount: str
    invoice_currency: str
    payment_currency: str
    payment_reference: str | None = None


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
