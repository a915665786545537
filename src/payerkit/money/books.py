"""Orders as people keep them: in tables with blank rows, totals, and amounts as a
spreadsheet shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from payerkit.cells import is_blank
from payerkit.errors import InvalidInput, kind_of
from payerkit.models import Payment, PaymentRequest, PayoutOrder
from payerkit.money.lists import id_key, total_of
from payerkit.payments.onchain.amounts import positive_number
from payerkit.payments.terms import lines_of, read_order
from payerkit.wire import our_name

if TYPE_CHECKING:
    import pandas as pd

ID_NAMES = ("request_id", "payment_reference", "reference")
"""The ids by which a payment is matched with its order, the strongest first."""

_NAMES = (*ID_NAMES, "amount", "invoice_currency", "payment_currency", "payee")

AnyOrder: TypeAlias = (
    "PaymentRequest | Payment | PayoutOrder | Mapping[str, Any] | pd.Series[Any]"
)

OrdersToReconcile: TypeAlias = "pd.DataFrame | Iterable[AnyOrder]"
"""What `reconcile` takes as orders."""


class ExpectedOrder:
    """An order that payments are looked for. Raises InvalidInput if a payment for it
    could not be recognized.

    ids: by `ID_NAMES`, None for one that it does not have. amount: None if it is not
    known. payment_currency: the token in which it is to be paid, if that is known.
    pays_wallet: it names a wallet, so no bank is involved.
    """

    def __init__(self, order: Any, where: str = "order") -> None:
        terms = read_order(order, where, needs=(), ids=ID_NAMES)
        self.ids: dict[str, str | None] = {
            name: getattr(terms, name) for name in ID_NAMES
        }
        if not any(self.ids.values()):
            raise InvalidInput(
                f"{where}: give the reference, the request_id or the"
                " payment_reference, by which its payments are found."
            )
        self.amount = positive_number(terms.amount)
        if terms.amount and self.amount is None:
            raise InvalidInput(f"{where}: amount: expected a positive number.")
        self.invoice_currency = terms.invoice_currency or None
        self.payment_currency = terms.payment_currency or None
        self.pays_wallet = bool(terms.payee)


def read_books(orders: OrdersToReconcile) -> list[ExpectedOrder]:
    """Return the orders of a table or a list, without blank rows and totals. Raises
    InvalidInput, naming the line, for one that cannot be read.
    """
    if isinstance(orders, PaymentRequest | Payment | PayoutOrder):
        raise InvalidInput(
            "orders: give a DataFrame with one order a line, or a list; got"
            f" {kind_of(orders)}."
        )
    lines = {
        number: _members(line, f"orders, line {number}")
        for number, line in enumerate(lines_of(orders), 1)
    }
    rows = {number: line for number, line in lines.items() if isinstance(line, dict)}
    _read_amounts(rows)
    left_out = _totals(rows) | {n for n, row in rows.items() if not any(row.values())}
    expected = {
        number: ExpectedOrder(line, f"orders, line {number}")
        for number, line in lines.items()
        if number not in left_out
    }
    _check_distinct(expected)
    return list(expected.values())


def _members(line: Any, where: str) -> Any:
    """Return the members of a row or a dict by payerkit's names, of two spellings of a
    name the first that has a value; and requests and payments as they are.
    """
    if isinstance(line, PaymentRequest | Payment | PayoutOrder):
        return line
    if not hasattr(line, "items"):
        raise InvalidInput(
            f"{where}: give what create_request() or request_payment() returned, or a"
            f" dict with reference, amount and invoice_currency; got {kind_of(line)}."
        )
    members: dict[str, Any] = {}
    for spelling, value in line.items():
        name = our_name(str(spelling).strip())
        if name in _NAMES and members.get(name) is None:
            members[name] = None if _is_empty(value) else value
    if "amount" not in members:
        raise InvalidInput(
            f"{where}: amount is missing; leave it blank if it is not known."
        )
    return members


def _is_empty(value: Any) -> bool:
    return is_blank(value) or (isinstance(value, str) and not value.strip())


_TOTAL = re.compile(
    "(?:grand |sub)?total|sum|summe|gesamt|gesamtbetrag|totaal|totale|somme|suma",
)


def _totals(rows: Mapping[int, Mapping[str, Any]]) -> set[int]:
    """Return the lines that add up those above them: they have no id, or a word such as
    Total in place of one.
    """
    totals = set()
    above = 0
    total: Decimal | None = Decimal(0)
    for number, row in rows.items():
        ids = [id_key(str(row[name])) for name in ID_NAMES if row.get(name)]
        amount = positive_number(row.get("amount"))
        is_named = any(_TOTAL.fullmatch(text.strip(" :.")) for text in ids)
        is_sum = amount is not None and above > 1 and total == amount
        if is_named and not is_sum:
            raise InvalidInput(
                f"orders, line {number}: it looks like a total, but is not the sum of"
                " the lines above it. Remove it, or give it its own reference."
            )
        if is_named or (is_sum and not ids):
            totals.add(number)
        elif any(row.values()):
            above += 1
            total = total_of([total, amount])
    return totals


_MONEY = re.compile(
    r"(?P<before>[A-Z]{3}|[€$£])?\s*"
    r"(?P<number>[0-9][0-9.,'\u2019\s]*?)"
    r"\s*(?P<after>[A-Z]{3}|[€$£])?",
)
_SIGNS = {"€": "EUR", "£": "GBP", "$": "USD"}

_POINT = re.compile(r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
"""A number with a decimal point."""

_COMMA = re.compile(r"(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?")
"""A number with a decimal comma."""


def _read_amounts(rows: Mapping[int, dict[str, Any]]) -> None:
    """Write the amounts of a table as plain decimals, if they can be read in one way
    alone. Raises InvalidInput if they can be read in two.
    """
    numbers: dict[int, str] = {}
    for number, row in rows.items():
        amount = row.get("amount")
        found = _MONEY.fullmatch(amount.strip()) if isinstance(amount, str) else None
        if found is not None:
            numbers[number] = re.sub(r"[\s'\u2019]", "", found["number"])
            _read_currency(row, found["before"] or found["after"], number)
    with_point = {line for line, text in numbers.items() if _POINT.fullmatch(text)}
    with_comma = {line for line, text in numbers.items() if _COMMA.fullmatch(text)}
    proves_point = with_point - with_comma
    proves_comma = with_comma - with_point
    is_proven = bool(proves_point) != bool(proves_comma)
    for line in sorted(with_point | with_comma):
        text = numbers[line]
        if not text.isdecimal() and not is_proven:
            raise InvalidInput(
                f"orders, line {line}: amount: it is not certain whether a point or a"
                " comma marks the decimals. Write all amounts like 1234.50."
            )
        if proves_comma:
            text = text.replace(".", "").replace(",", ".")
        rows[line]["amount"] = text.replace(",", "")


def _read_currency(row: dict[str, Any], shown: str | None, line: int) -> None:
    """Take the currency beside an amount as that of the order. Raises InvalidInput if
    the order names another one.
    """
    if shown is None:
        return
    currency = _SIGNS.get(shown, shown)
    named = row.get("invoice_currency")
    if named is None:
        row["invoice_currency"] = currency
    elif str(named).strip().upper() != currency and shown != "$":
        raise InvalidInput(
            f"orders, line {line}: amount: its currency is not the invoice_currency."
        )


def ids_of(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the ids that the service gave to a row's request, with their names, as
    `id_key` writes them.
    """
    return [(name, id_key(row[name])) for name in ID_NAMES[:2] if row[name]]


def _check_distinct(orders: Mapping[int, ExpectedOrder]) -> None:
    """Raise InvalidInput if two orders are of one request: one payment would count for
    both.
    """
    lines: dict[tuple[str, str], tuple[int, bool]] = {}
    for number, order in orders.items():
        for place, key in enumerate(ids_of(order.ids)):
            is_strongest = place == 0
            first, was_strongest = lines.setdefault(key, (number, is_strongest))
            if first != number and (is_strongest or was_strongest):
                raise InvalidInput(
                    f"orders, lines {first} and {number}: both have the same {key[0]},"
                    " so a payment could be for either. Give each order once, with its"
                    " request_id."
                )


def near_key(reference: str | None) -> str:
    """Return a reference without what people leave out of it: punctuation, and zeros in
    front of numbers.
    """
    text = re.sub(r"[\W_]+", "", id_key(reference or ""))
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", text)
