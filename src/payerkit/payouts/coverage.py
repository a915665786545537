"""What a reconciliation compares: orders, what events say of them, and how far payments cover them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any, TypeAlias

import pandas as pd

from payerkit.checks.inputs import is_blank
from payerkit.errors import InvalidInput, kind_of, located
from payerkit.events.read_events import believed_events
from payerkit.explanations import explain_word
from payerkit.frames import read_truth
from payerkit.models import Payment, PaymentRequest, PayoutOrder
from payerkit.onchain.amounts import EXACT, format_number, positive_number
from payerkit.onchain.currencies import Currency, find_currency
from payerkit.payment.money import peg_of
from payerkit.payouts.lists import id_key, total_of
from payerkit.wire import our_name, read_decimal

ID_NAMES = ("request_id", "payment_reference", "reference")
"""The ids by which a payment is matched with its order, the strongest first."""

_NAMES = (*ID_NAMES, "amount", "invoice_currency", "payment_currency", "payee")

AnyOrder: TypeAlias = "PaymentRequest | Payment | PayoutOrder | Mapping[str, Any] | pd.Series[Any]"

OrdersToReconcile: TypeAlias = "pd.DataFrame | Iterable[AnyOrder]"
"""What `reconcile` takes as orders."""


class ExpectedOrder:
    """An order that payments are looked for. Raises InvalidInput if a payment for it could not be recognized.

    ids: by `ID_NAMES`, None for one that it does not have. amount: None if it is not known. payment_currency: the token
    in which it is to be paid, if that is known. pays_wallet: it names a wallet, so no bank is involved.
    """

    def __init__(self, order: Any) -> None:
        members = {name: value for name, value in _members(order).items() if not is_blank(value)}
        for name, value in members.items():
            if name != "amount" and not isinstance(value, str):
                raise InvalidInput(f"{name}: expected text, got {kind_of(value)}. Read tables as text.")
        self.ids: dict[str, str | None] = {name: members.get(name) or None for name in ID_NAMES}
        if not any(self.ids.values()):
            raise InvalidInput(
                "give the reference, the request_id or the payment_reference, by which its payments are found."
            )
        self.amount = positive_number(members.get("amount"))
        if "amount" in members and self.amount is None:
            raise InvalidInput("amount: expected a positive number as text, int or Decimal. Read tables as text.")
        self.invoice_currency: str | None = members.get("invoice_currency")
        self.payment_currency: str | None = members.get("payment_currency")
        self.pays_wallet = bool(members.get("payee"))


def read_expected_orders(orders: OrdersToReconcile) -> list[ExpectedOrder]:
    """Return the orders of a table or a list. Raises InvalidInput, naming the line, for one that cannot be read."""
    given: Any = orders
    if isinstance(given, pd.DataFrame):
        given = given.astype(object).to_dict("records")
    if isinstance(given, str | Mapping | PaymentRequest | Payment | PayoutOrder) or not isinstance(given, Iterable):
        raise InvalidInput(f"orders: give a DataFrame with one order a line, or a list; got {kind_of(orders)}.")
    found = []
    for number, order in enumerate(given, 1):
        with located(f"orders, line {number}"):
            found.append(ExpectedOrder(order))
    _check_distinct(found)
    return found


def _members(order: Any) -> dict[str, Any]:
    """Return the members of an order by payerkit's names, None for those that are not known."""
    if isinstance(order, Payment | PaymentRequest):
        payout = order.payout if isinstance(order, Payment) else None
        known = {name: getattr(order.order, name, None) for name in _NAMES}
        known |= {name: getattr(order, name) for name in ID_NAMES[:2]}
        return known | ({"reference": payout.reference} if payout is not None else {})
    if isinstance(order, PayoutOrder):
        return {name: getattr(order, name, None) for name in _NAMES}
    if not hasattr(order, "items"):
        raise InvalidInput(
            "give what create_request() or request_payment() returned, or a dict with reference, amount and "
            f"invoice_currency; got {kind_of(order)}."
        )
    given: dict[str, Any] = {}
    for name, value in order.items():
        if is_blank(given.get(our_name(str(name)))):  # of two spellings, the first that has a value
            given[our_name(str(name))] = _read_value(our_name(str(name)), value)
    if "amount" not in given:
        raise InvalidInput("amount is missing; leave it blank if it is not known.")
    return {name: given.get(name) for name in _NAMES}


def _read_value(name: str, value: Any) -> Any:
    """Return a value of an order without the blanks around it, and None for blanks alone; ids stay as typed."""
    if not isinstance(value, str):
        return value
    return value if name in ID_NAMES and value.strip() else value.strip() or None


def _check_distinct(orders: Iterable[ExpectedOrder]) -> None:
    """Raise InvalidInput if two orders are of one request: one payment would count for both."""
    lines: dict[tuple[str, str], tuple[int, bool]] = {}
    for number, order in enumerate(orders, 1):
        for place, key in enumerate(ids_of(order.ids)):
            is_strongest = place == 0
            first, was_strongest = lines.setdefault(key, (number, is_strongest))
            if first != number and (is_strongest or was_strongest):
                raise InvalidInput(
                    f"orders, lines {first} and {number}: both have the same {key[0]}, so a payment could be for "
                    "either. Give each order once, with its request_id."
                )


_NEEDED = (
    *("event", "request_id", "payment_reference", "sub_status", "amount", "currency", "payment_currency"),
    *("tx_hash", "reason"),
)

_PAID = {"payment.confirmed": True, "payment.partial": False}
"""Events about a payment, and whether the whole request is paid with it."""

_LATE = timedelta(minutes=1)
"""How late a delivery may be: retries follow after 1, 5 and 15 seconds (operator's documentation), each within 5."""


class PayoutEvent:
    """An event about a payment or its payout. has_time: whether it says when it happened, and not only when it came.

    completes: whether the request is paid in full by then; None if the event is not about that.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.kind: str = row["event"]
        self.completes = _PAID.get(self.kind)
        self.time: pd.Timestamp | None = row["at"]
        self.has_time = row["timestamp"] is not None
        self.status: str | None = row["sub_status"] or ("failed" if self.kind == "payment.failed" else None)
        self.reason: str | None = row["reason"]
        self.amount = read_decimal(row["amount"])
        self.currency: str | None = row["currency"]
        self.tx_hash: str | None = row["tx_hash"]
        found = explain_word(self.status, "payment")
        self.is_final = found.final
        # How bad its status is: 2 if the bank returned the money, 1 if the payout stopped otherwise, else 0.
        self.setback = 2 if self.status == "bounced" else int(found.final and not found.is_passed)
        # What a header calls a test counts only if it is bad news: a header proves nothing, and hides nothing.
        self.counts = not row["is_test"] or self.setback > 0 or self.kind == "payment.refunded"


class PayoutNews:
    """The events about one request, in their order.

    payments: those that say that a payment was seen. refunds: those that say that crypto was given back.
    """

    def __init__(self, events: Sequence[PayoutEvent]) -> None:
        self.payments = [event for event in events if event.completes is not None and event.counts]
        self.refunds = [event for event in events if event.kind == "payment.refunded"]
        self.has_tests = not all(event.counts for event in events)
        self._words = [event for event in events if event.status and event.counts]

    @property
    def latest(self) -> PayoutEvent | None:
        """The last one with an off-ramp status; one that was only delivered late does not count as the last."""
        lasting = (event for event in reversed(self._words) if not any(_is_before(event, each) for each in self._words))
        return next(lasting, None)


def _is_before(event: PayoutEvent, other: PayoutEvent) -> bool:
    """Return True if an event is to be taken as older than another one, although it may have come after it.

    Of two whose order is not known, one that brought the money back is the last; else one whose status is final.
    """
    if event.time is None or other.time is None:
        return event.setback < other.setback
    gap = event.time - other.time
    if event.setback < other.setback:
        return gap <= (timedelta(0) if event.has_time and other.has_time else _LATE)
    return not event.has_time and not event.is_final and other.is_final and timedelta(0) <= gap <= _LATE


class NewsIndex:
    """The believable events about payments and payouts in a frame of `read_events`, by the ids of their requests.

    Raises InvalidInput for anything but such a frame or None.
    """

    def __init__(self, events: Any) -> None:
        self._by_id: dict[tuple[str, str], dict[int, PayoutEvent]] = {}
        for place, row in enumerate(believed_events(events, _NEEDED, tests=True)):
            if str(row["event"]).startswith("payment."):
                event = PayoutEvent(row)
                for key in ids_of(row):
                    self._by_id.setdefault(key, {})[place] = event

    def of_request(self, ids: Sequence[tuple[str, str]]) -> PayoutNews:
        """Return the events about the request with one of these ids, each given with its name."""
        found = {place: event for key in ids for place, event in self._by_id.get(key, {}).items()}
        return PayoutNews([found[place] for place in sorted(found)])


def ids_of(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the ids that the service gave to a row's request, with their names, as `id_key` writes them."""
    return [(name, id_key(row[name])) for name in ID_NAMES[:2] if row[name]]


NEAR = Decimal("0.02")
"""The share by which a payment may fall short: a token is only about worth the currency that it is pegged to."""

_FOREIGN = "A payment is in a token that is neither the order's nor pegged to its currency: ask what it counts for."
_REFUND = "It is not known how much is left after the refund: ask the service."


class SeenPayment:
    """A payment that was listed, or that an event tells of, from its row.

    tx_hash: the transaction that paid; tx_hashes: all of them, in lower case. has_been_paid: whether the whole request
    is paid.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.time: pd.Timestamp | None = row["timestamp"]
        self.amount = read_decimal(row["amount"])
        self.payment_currency: str | None = row["payment_currency"]
        hashes: list[str] = [each for each in (row["source_tx_hash"], row["destination_tx_hash"]) if each]
        self.tx_hash = hashes[0] if hashes else None
        self.tx_hashes = {each.lower() for each in hashes}
        self.has_been_paid = read_truth(row["has_been_paid"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far payments cover an order, after refunds.

    paid: whether in full, None if that is not known. times: how often in full, or None. amount: the sum of the
    payments, None if it is not known, or of several tokens. excess: what was paid beyond the full times; None if the
    amounts cannot be compared with the order. paid_at: when it was paid in full, or else the last time. doubt: what
    speaks against the payments, as a sentence, or "".
    """

    paid: bool | None
    times: int | None
    amount: Decimal | None = None
    missing: Decimal | None = None
    excess: Decimal | None = None
    paid_at: pd.Timestamp | None = None
    doubt: str = ""
    is_refunded: bool = False


def cover(order: ExpectedOrder, payments: Sequence[SeenPayment], refunds: Sequence[PayoutEvent] = ()) -> Coverage:
    """Return how far some payments, in their order and without duplicates, cover an order.

    A refund counts by its amount. One without an amount is that of a full payment.
    """
    if not (payments or refunds):
        return Coverage(paid=None, times=0)
    sized = [each for each in refunds if each.amount is not None]
    found = _by_amounts(order, payments, sized) or _by_word(order, payments, sized)
    left = max(len(payments) if found.times is None else found.times, 1) - (len(refunds) - len(sized))
    if found.is_refunded or left <= 0:
        found = replace(found, paid=False, times=0, doubt="", is_refunded=True)
    elif found.times:
        found = replace(found, times=left)
    last = next((each.time for each in reversed(payments) if each.time is not None), None)
    return replace(found, amount=_sum_of(payments), paid_at=found.paid_at or last)


def _by_amounts(
    order: ExpectedOrder, payments: Sequence[SeenPayment], refunds: Sequence[PayoutEvent]
) -> Coverage | None:
    """Return the coverage by the amounts; None if they cannot be compared with the order's."""
    total = total_of(each.amount for each in payments) if payments else order.amount  # what is given back was paid
    given = total_of(each.amount for each in refunds)
    tokens = [*(each.payment_currency for each in payments), *(each.currency for each in refunds)]
    if order.amount is None or total is None or given is None or not all(_is_worth(each, order) for each in tokens):
        return None
    is_exact = all(_is_token(each, order.invoice_currency) for each in tokens)
    near = EXACT.multiply(order.amount, Decimal(0) if is_exact else NEAR)
    least, left = EXACT.subtract(order.amount, near), EXACT.subtract(total, given)
    times = max(min(int(EXACT.divide(left, least)), len(payments)), 0)  # one payment that is too large is no second
    rest = EXACT.subtract(left, EXACT.multiply(order.amount, Decimal(times)))
    stated = _is_stated_paid(payments)
    doubt = "" if payments else _REFUND
    if payments and stated is True and total < least:
        missing = f"{format_number(EXACT.subtract(order.amount, total))} {order.invoice_currency}"
        doubt = f"The service says that it is paid, but {missing} is missing here: find out why before anybody pays it."
    paid = None if doubt or (times and stated is False) else times > 0
    return Coverage(
        paid=paid,
        times=None if paid is None else times,
        missing=EXACT.subtract(order.amount, left) if times == 0 else None,
        excess=rest if times and rest > near else None,
        paid_at=_covered_at(least, payments),
        doubt=doubt,
        is_refunded=bool(refunds) and left <= near,
    )


def _by_word(order: ExpectedOrder, payments: Sequence[SeenPayment], refunds: Sequence[PayoutEvent]) -> Coverage:
    """Return the coverage by the word of the service, for amounts that cannot be compared with the order's."""
    stated = _is_stated_paid(payments)
    if refunds:
        total, given = _sum_of(payments), total_of(each.amount for each in refunds)
        is_same = all(_is_token(each.currency, payments[0].payment_currency) for each in refunds if payments)
        is_all = is_same and total is not None and given is not None and given >= total
        return Coverage(paid=None, times=None, doubt=_REFUND, is_refunded=is_all)
    # A payment in an unknown token may be for the order, too.
    paid_in = {each.payment_currency for each in payments if each.payment_currency}
    is_ordered = all(_is_worth(each, order) or _is_token(each, order.payment_currency) for each in paid_in)
    if order.invoice_currency and not is_ordered:
        return Coverage(paid=None, times=None, doubt=_FOREIGN)
    is_each = len(payments) == 1 or all(each.amount is not None and each.amount == order.amount for each in payments)
    return Coverage(paid=stated, times={True: len(payments) if is_each else None, False: 0, None: None}[stated])


def _is_stated_paid(payments: Sequence[SeenPayment]) -> bool | None:
    """Return whether the service says that the request is paid; an earlier list may say no, a later one yes."""
    stated = {each.has_been_paid for each in payments}
    return True if True in stated else False if False in stated else None


def _sum_of(payments: Sequence[SeenPayment]) -> Decimal | None:
    """Return the sum of the payments; None if an amount is not known, or if they are in several tokens."""
    is_one = len({(each.payment_currency or "").lower() for each in payments}) == 1
    return total_of(each.amount for each in payments) if is_one else None


def _covered_at(amount: Decimal, payments: Sequence[SeenPayment]) -> pd.Timestamp | None:
    """Return the time of the payment with which an amount was paid in full; None if it was not."""
    totals = accumulate((each.amount or Decimal(0) for each in payments), EXACT.add)
    return next((each.time for each, total in zip(payments, totals, strict=True) if total >= amount), None)


def _is_worth(token: str | None, order: ExpectedOrder) -> bool:
    """Return True if an amount of a token is in the unit of the order's: it is the invoice currency, or pegged to it.

    No documentation says in which of the two a listed amount is; then it makes no difference.
    """
    return bool(token and order.invoice_currency) and _unit_of(token) == _unit_of(order.invoice_currency)


def _is_token(one: str | None, other: str | None) -> bool:
    """Return True if two ids are of one token, on any network: an event may have its symbol alone."""
    known = find_currency(one or "")
    is_same = known is not None and known == find_currency(other or "")
    return is_same or _symbol_of(one).lower() == _symbol_of(other).lower() != ""


def _unit_of(currency_id: str | None) -> str:
    """Return the fiat currency that a currency is worth by the word of its issuer, or its id; in lower case."""
    name, symbol = currency_id or "", _symbol_of(currency_id)
    symbol = symbol.upper() if symbol.islower() else symbol
    unknown = Currency(id=name, kind="erc20", network="", symbol=symbol, decimals=0, address="")
    return (peg_of(find_currency(name) or unknown) or name).lower()


def _symbol_of(currency_id: str | None) -> str:
    """Return the symbol of a currency; of an id that is not in the token list, the part before its first dash."""
    name = currency_id or ""
    known = find_currency(name)
    return known.symbol if known is not None and known.id.lower() == name.lower() else name.partition("-")[0]
