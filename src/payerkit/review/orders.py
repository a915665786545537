"""Orders: read as objects, dicts and rows of a table alike, matched with the payments that should fulfil them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from numbers import Integral
from typing import TYPE_CHECKING, Any

from payerkit.checks.inputs import is_blank, match_names, unknown_names
from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import Finding
from payerkit.onchain.addresses import with_checksum
from payerkit.onchain.amounts import EXACT, format_effect_amount, positive_number, to_units
from payerkit.onchain.effects import Effect
from payerkit.onchain.lookalikes import lookalikes
from payerkit.review.messages import finding, in_place, shown
from payerkit.review.protocols import OrderLike
from payerkit.wire import our_name
from payerkit.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.review.payment_review import PaymentReview

    AnyOrder = OrderLike | Mapping[str, Any] | pd.Series[Any]
    Orders = pd.DataFrame | Iterable[AnyOrder]


_MOST_DIGITS = 100
"""Digits that an amount does not have; writing out more only takes time."""


@dataclass(frozen=True, slots=True)
class ExpectedPayment:
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
    found = read_order(line, f"orders, line {number}")
    if found is None:
        raise InvalidInput(f"orders, line {number}: the order is missing.")
    return found


def read_order(order: AnyOrder | None, where: str = "order") -> ExpectedPayment | None:
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
    return ExpectedPayment(
        payee=given.get("payee"),
        amount=amount,
        invoice_currency=given["invoice_currency"],
        payment_currency=given["payment_currency"],
        payment_reference=given.get("payment_reference"),
        is_payout=not hasattr(order, "items") and "payee" not in given,
    )


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


def match_orders(review: PaymentReview) -> dict[int, int]:
    """Return the place of the order of each payment, by the `id` of the payment's effect: two may be equal."""
    payments = [payment for _, payment in review.payments]
    found = match_one_to_one(
        [_paid(review, each) for each in payments], [_asked(review, each) for each in review.orders]
    )
    return {id(payments[place]): number for place, number in found.items()}


def _paid(review: PaymentReview, payment: Effect) -> Terms:
    """Return the terms of a payment; an amount that is converted on execution is only an estimate."""
    token = review.token(payment.token)
    amount = to_units(payment.amount, token.decimals if token and payment.unit != "request" else None)
    return Terms(
        payee=payment.recipient and payment.recipient.lower(),
        currency=None if token is None else token.id,
        amount=amount,
        size=Decimal(payment.amount or 0) if amount is None else amount,
        reference=None if payment.reference is None else f"0x{payment.reference.hex()}",
    )


def _asked(review: PaymentReview, order: ExpectedPayment) -> Terms:
    """Return the terms of an order; its amount in the payment currency may be an estimate."""
    currency, amount = review.currency(order), positive_number(order.amount)
    is_exact = currency is not None and currency == review.policy.find_currency(order.invoice_currency)
    rate = None if is_exact else review.rate_of(order)
    return Terms(
        payee=order.payee and order.payee.lower(),
        currency=None if currency is None else currency.id,
        amount=amount if is_exact else None,
        size=EXACT.divide(amount or Decimal(0), rate or Decimal(1)),
        reference=order.payment_reference and order.payment_reference.lower(),
    )


def match_one_to_one(payments: Sequence[Terms], orders: Sequence[Terms]) -> Mapping[int, int]:
    """Return the place of the order of each payment, by the payment's place; a payment that fits no order is missing.

    A payment that fits an order in part is matched with it, so that findings can name the difference. Among several
    that fit alike, the smallest payment goes to the smallest order, and so on.
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


def review_orders(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about several orders as a whole."""
    unmatched = [*_check_orders(review), *_check_payments(review)]
    yield from unmatched or [finding("orders_matched", count=len(review.orders))]
    payees = [order.payee for order in review.orders if order.payee and review.known(order.payee) is None]
    for one, other in lookalikes(payees):
        yield finding("payee_lookalike.orders", one=with_checksum(one), other=with_checksum(other))
    references = Counter(payment.reference for _, payment in review.payments if payment.reference)
    for reference, count in references.items():
        if count > 1:
            yield finding("reference_repeated", count=count, reference=f"0x{reference.hex()}")


def _check_orders(review: PaymentReview) -> Iterator[Finding]:
    paid = set(review.order_numbers.values())
    for number, order in enumerate(review.orders):
        if number not in paid:
            payee = "a payee that it does not name" if order.payee is None else with_checksum(order.payee)
            amount = f"{shown(order.amount)} {shown(order.invoice_currency)}"
            yield finding("order_unpaid", number=number + 1, amount=amount, payee=payee)


def _check_payments(review: PaymentReview) -> Iterator[Finding]:
    for transaction, payment in review.payments:
        if id(payment) not in review.order_numbers:
            amount = format_effect_amount(payment, payment.amount or 0, review.token(payment.token))
            recipient = with_checksum(payment.recipient) or "an unknown wallet"
            found = finding("payment_unordered", transaction, amount=amount, recipient=recipient)
            yield from in_place(payment, [found])
