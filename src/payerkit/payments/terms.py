"""The terms of an order, and their one reader: for payments, and for money that is
looked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import create_model

from payerkit.cells import is_blank
from payerkit.checks.placeholders import is_placeholder
from payerkit.errors import InvalidInput, kind_of
from payerkit.models.fields import field
from payerkit.models.formats import Text
from payerkit.models.names import match_names, unknown_names
from payerkit.models.payments import Payment
from payerkit.models.requests import PaymentOrder, PayoutOrder
from payerkit.models.responses import PaymentRequest
from payerkit.wording import listed

if TYPE_CHECKING:
    from payerkit.models.payments import AnyOrder, Orders

NEEDED = ("amount", "invoice_currency", "payment_currency")
"""The members of an order that a payment is compared with. It may pay out to a bank
account, so that it names no payee.
"""

MOST_DIGITS = 100
"""Digits that an amount does not have; writing out more only takes time."""


@dataclass(frozen=True, slots=True)
class OrderTerms:
    """An order as text.

    payee, payment_reference, request_id, reference: None if the order does not name
    one. amount, invoice_currency, payment_currency: "" if it may be read without them,
    and does not have them. is_payout: whether it is one that pays out to a bank
    account, such as a `PayoutOrder`.
    """

    payee: str | None
    amount: str
    invoice_currency: str
    payment_currency: str
    payment_reference: str | None = None
    is_payout: bool = False
    request_id: str | None = None
    reference: str | None = None


def read_orders(
    own: object, order: AnyOrder | None, orders: Orders | None
) -> tuple[OrderTerms, ...]:
    """Return the given order or orders, else a payment's own order.

    Raises InvalidInput if both are given, and for what is not an order, naming its
    line.
    """
    if orders is None:
        given = own if order is None else order
        return () if given is None else (read_order(given),)
    if order is not None:
        raise InvalidInput("order, orders: give one of them, not both.")
    terms = tuple(
        read_order(line, f"orders, line {number}")
        for number, line in enumerate(lines_of(orders), 1)
    )
    if not terms:
        raise InvalidInput("orders: the list is empty. Give one line for each payment.")
    _require_payees(terms)
    return terms


def lines_of(orders: Any) -> list[Any]:
    """Return the rows of a table, or the items of a list, each an order. Raises
    InvalidInput for anything else.
    """
    if hasattr(orders, "columns"):
        return [row for _, row in orders.astype(object).iterrows()]
    is_one_order = hasattr(orders, "items") or isinstance(orders, str)
    if is_one_order or not isinstance(orders, Iterable):
        raise InvalidInput(
            "orders: give a DataFrame with one order a line, or a list; got"
            f" {kind_of(orders)}."
        )
    return list(orders)


def _require_payees(orders: Sequence[OrderTerms]) -> None:
    """Raise InvalidInput for the first order that names no payee, if others name one:
    its cell was left empty by mistake. Payouts name none.
    """
    if not any(_names_payee(order) for order in orders):
        return
    for number, order in enumerate(orders, 1):
        if not order.is_payout and not _names_payee(order):
            raise InvalidInput(
                f"orders, line {number}: payee is missing, and other lines have one."
                " Add it, or leave this line out."
            )


def _names_payee(order: OrderTerms) -> bool:
    """Return True for any text as payee but one that stands for nothing, such as
    N/A.
    """
    payee = order.payee or ""
    return bool(payee.strip()) and not is_placeholder(PaymentOrder, "payee", payee)


def read_order(
    order: Any,
    where: str = "order",
    *,
    needs: Collection[str] = NEEDED,
    ids: Collection[str] = ("payment_reference",),
) -> OrderTerms:
    """Return the terms of an order.

    Blanks around the values of a dict or row, as files have them, mean nothing; a blank
    value counts as missing.

    where: the name of the order in errors. needs: the members that it has to have. ids:
    those that a dict or row may have beside the members of an order; a request or a
    payment is an order, too, if `request_id` is among them. Raises InvalidInput if
    something is missing, or if a member is unknown, since it would not be compared.
    """
    if isinstance(order, PaymentRequest | Payment) and "request_id" in ids:
        return _terms_of_response(order)
    if isinstance(order, PaymentOrder | PayoutOrder):  # its members are text
        return OrderTerms(
            payee=order.payee,
            amount=order.amount,
            invoice_currency=order.invoice_currency,
            payment_currency=order.payment_currency,
            is_payout=isinstance(order, PayoutOrder),
            reference=getattr(order, "reference", None),
        )
    given = {
        name: value
        for name, value in _members(order, where, needs=needs, ids=ids).items()
        if not is_blank(value)
    }
    for name in needs:
        if name not in given:
            raise InvalidInput(
                f"{where}: {name} is missing. Give a PaymentOrder, or a dict or Series"
                " with its fields."
            )
    texts = {name: _text_of(name, value, where) for name, value in given.items()}
    return OrderTerms(
        payee=texts.get("payee"),
        amount=texts.get("amount", ""),
        invoice_currency=texts.get("invoice_currency", ""),
        payment_currency=texts.get("payment_currency", ""),
        payment_reference=texts.get("payment_reference") or None,
        request_id=texts.get("request_id") or None,
        reference=texts.get("reference") or None,
    )


def _terms_of_response(response: PaymentRequest | Payment) -> OrderTerms:
    """Return the terms of the order that was sent, with the ids that the service gave
    it.
    """
    reference = None
    if isinstance(response, PaymentRequest):
        reference = response.reference
    elif response.payout is not None:
        reference = response.payout.reference
    terms = OrderTerms(None, "", "", "")
    if response.order is not None:
        terms = read_order(response.order)
    return replace(
        terms,
        request_id=response.request_id,
        payment_reference=response.payment_reference,
        reference=reference,
    )


def _members(
    order: Any, where: str, *, needs: Collection[str], ids: Collection[str]
) -> Mapping[str, Any]:
    """Return the members of an order by our names."""
    if hasattr(order, "columns"):
        raise InvalidInput(
            f"{where}: a DataFrame may have several orders. Give one row, or all as"
            " orders=."
        )
    if not hasattr(order, "items"):
        raise InvalidInput(
            f"{where}: give a PaymentOrder, or a dict or Series with its fields; got"
            f" {kind_of(order)}."
        )
    model = _order_with(tuple(ids))
    members = [*order.items()]
    places, problems, unknown = match_names(model, [name for name, _ in members])
    # A whole row of a table may have more columns; but what looks like a missing member
    # may be a misspelled one.
    is_mapping = isinstance(order, Mapping)
    if is_mapping or not places.keys() >= PaymentOrder.model_fields.keys():
        problems += unknown_names(model, unknown, is_headless=not places)
    if problems:
        missing = [name for name in needs if name not in places]
        words = f"wrong names ({listed(missing)} missing)" if missing else "wrong names"
        raise InvalidInput(
            f"{where}: {words}. Nothing was checked.", fields=tuple(problems)
        )
    return {name: members[place][1] for name, place in places.items()}


@cache
def _order_with(ids: tuple[str, ...]) -> type[PaymentOrder]:
    """Return the model of an order that may have ids, which are any text."""
    an_id = field(
        title="Id",
        help="By which a payment or a request is found again.",
        example="invoice-001",
        section="Order",
    )
    fields: dict[str, Any] = dict.fromkeys(ids, (Annotated[Text | None, an_id], None))
    return create_model(PaymentOrder.__name__, __base__=PaymentOrder, **fields)


def _text_of(name: str, value: Any, where: str) -> str:
    """Return a value as text without the blanks around it. Raises InvalidInput for
    anything but text; an amount may be an exact number, too.
    """
    if name == "amount":
        return _read_amount(value, where).strip()
    if not isinstance(value, str):
        raise InvalidInput(f"{where}: {name}: expected text, got {kind_of(value)}.")
    return value.strip()


def _read_amount(amount: Any, where: str) -> str:
    """Return an amount as text; text stays as typed. Raises InvalidInput for a float,
    since it is not exact.
    """
    if isinstance(amount, str):
        return amount
    if isinstance(amount, bool) or not isinstance(amount, Decimal | Integral):
        raise InvalidInput(
            f"{where}: amount: give text, an int or a Decimal; got {kind_of(amount)}."
            " Read tables as text."
        )
    number = amount if isinstance(amount, Decimal) else Decimal(int(amount))
    if abs(number.adjusted()) >= MOST_DIGITS:
        raise InvalidInput(
            f"{where}: amount: expected a number of fewer than {MOST_DIGITS} digits."
        )
    return f"{number:f}"
