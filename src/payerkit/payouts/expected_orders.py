"""Orders as a reconciliation reads them: what was created or initiated, dicts, and rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import pandas as pd

from payerkit.checks.inputs import is_blank
from payerkit.errors import InvalidInput, kind_of
from payerkit.models import Payment, PaymentRequest, PayoutOrder
from payerkit.onchain.amounts import positive_number
from payerkit.wire import our_name

ID_NAMES = ("request_id", "payment_reference", "reference")
"""What tells which order a payment is for, the strongest first."""

_NAMES = (*ID_NAMES, "amount", "invoice_currency", "payment_currency", "payee")


def id_key(value: str) -> str:
    """Return an id or a reference without what tells nothing apart: the case of letters, and blanks around words."""
    return " ".join(value.split()).casefold()


AnyOrder: TypeAlias = "PaymentRequest | Payment | PayoutOrder | Mapping[str, Any] | pd.Series[Any]"

OrdersToReconcile: TypeAlias = "pd.DataFrame | Iterable[AnyOrder]"
"""What `reconcile` takes as orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOrder:
    """An order that payments are looked for.

    amount: None if it is not known. payment_currency: the token in which it is to be paid, if that is known.
    pays_wallet: it names a wallet, so no bank is involved.
    """

    request_id: str | None = None
    payment_reference: str | None = None
    reference: str | None = None
    amount: Decimal | None = None
    invoice_currency: str | None = None
    payment_currency: str | None = None
    pays_wallet: bool = False


def read_expected_orders(orders: OrdersToReconcile) -> list[ExpectedOrder]:
    """Return the orders of a table or a list. Raises InvalidInput, naming the line, for one that cannot be read."""
    given: Any = orders
    if isinstance(given, pd.DataFrame):
        given = given.astype(object).to_dict("records")
    if isinstance(given, str | Mapping | PaymentRequest | Payment | PayoutOrder) or not isinstance(given, Iterable):
        raise InvalidInput(f"orders: give a DataFrame with one order a line, or a list; got {kind_of(orders)}.")
    found = [_read_order(number, order) for number, order in enumerate(given, 1)]
    _check_distinct(found)
    return found


def _read_order(number: int, order: Any) -> ExpectedOrder:
    """Return an order. Raises InvalidInput if a payment for it could not be recognized."""
    members = {name: value for name, value in _members(number, order).items() if not is_blank(value)}
    for name, value in members.items():
        if name != "amount" and not isinstance(value, str):
            raise InvalidInput(
                f"orders, line {number}: {name}: expected text, got {kind_of(value)}. Read tables as text."
            )
    if not any(members.get(name) for name in ID_NAMES):
        raise InvalidInput(
            f"orders, line {number}: give the reference, the request_id or the payment_reference, by which its "
            "payments are found."
        )
    amount = positive_number(members.get("amount"))
    if "amount" in members and amount is None:
        raise InvalidInput(
            f"orders, line {number}: amount: expected a positive number as text, int or Decimal. Read tables as text."
        )
    return ExpectedOrder(
        **{name: members.get(name) or None for name in ID_NAMES},
        amount=amount,
        invoice_currency=members.get("invoice_currency"),
        payment_currency=members.get("payment_currency"),
        pays_wallet=bool(members.get("payee")),
    )


def _members(number: int, order: Any) -> dict[str, Any]:
    """Return what is known of an order, by our names."""
    if isinstance(order, Payment | PaymentRequest):
        sent = order.order
        known = {name: getattr(sent, name, None) for name in _NAMES}
        known |= {name: getattr(order, name) for name in ID_NAMES[:2]}
        payout = order.payout if isinstance(order, Payment) else None
        return known | ({"reference": payout.reference} if payout is not None else {})
    if isinstance(order, PayoutOrder):
        return {name: getattr(order, name, None) for name in _NAMES}
    if not hasattr(order, "items"):
        raise InvalidInput(
            f"orders, line {number}: give what create_request() or request_payment() returned, or a dict with "
            f"reference, amount and invoice_currency; got {kind_of(order)}."
        )
    given: dict[str, Any] = {}
    for name, value in order.items():
        if not is_blank(given.get(our_name(str(name)))):
            continue  # of two spellings, the first that has a value
        given[our_name(str(name))] = value
    if "amount" not in given:
        raise InvalidInput(f"orders, line {number}: amount is missing; leave it blank if it is not known.")
    return {name: given.get(name) for name in _NAMES}


def _check_distinct(orders: Iterable[ExpectedOrder]) -> None:
    """Raise InvalidInput if two orders are of one request: one payment would count for both."""
    lines: dict[tuple[str, str], tuple[int, bool]] = {}
    for number, order in enumerate(orders, 1):
        given = [(name, getattr(order, name)) for name in ID_NAMES[:2] if getattr(order, name)]
        for place, (name, value) in enumerate(given):
            is_only_sign = place == 0
            first, was_only_sign = lines.setdefault((name, id_key(value)), (number, is_only_sign))
            if first != number and (is_only_sign or was_only_sign):
                raise InvalidInput(
                    f"orders, lines {first} and {number}: both have the same {name}, so a payment could be for either. "
                    "Give each order once, with its request_id."
                )
