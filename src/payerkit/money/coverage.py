"""How far payments cover an order, after refunds: by the amounts where they can be
compared with the order's, else by the word of the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from payerkit.money.books import ExpectedOrder
from payerkit.money.lists import total_of
from payerkit.money.sources import Movement
from payerkit.payments.onchain.amounts import EXACT, format_number
from payerkit.payments.onchain.currencies import Currency, find_currency
from payerkit.payments.pegs import peg_of

NEAR = Decimal("0.02")
"""The share by which a payment may fall short: a token is only about worth the currency
that it is pegged to.
"""

_FOREIGN = (
    "A payment is in a token that is neither the order's nor pegged to its currency:"
    " ask what it counts for."
)
_REFUND = "It is not known how much is left after the refund: ask the service."
_TOO_MUCH = "More was given back than is listed as paid: ask the service."


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far payments cover an order, after refunds.

    paid: whether in full, None if that is not known. times: how often in full, or None.
    short, over: how much less or more than ordered was paid; None if the amounts cannot
    be compared with the order. is_fee: the listed fees are what is missing. excess:
    what was paid beyond the full times, if it is more than a peg explains. doubt: what
    speaks against the payments, as a sentence, or "".
    """

    paid: bool | None
    times: int | None
    short: Decimal | None = None
    over: Decimal | None = None
    is_fee: bool = False
    excess: Decimal | None = None
    doubt: str = ""
    is_refunded: bool = False


def cover(
    order: ExpectedOrder,
    payments: Sequence[Movement],
    refunds: Sequence[Movement],
) -> Coverage:
    """Return how far some payments, in their order and without duplicates, cover an
    order.

    A refund counts by its amount. One without an amount is that of a full payment.
    """
    if not (payments or refunds):
        return Coverage(paid=None, times=0)
    sized = [refund for refund in refunds if refund.amount is not None]
    is_comparable = _is_comparable(order, [*payments, *sized])
    if not payments:
        coverage = _by_refunds(order, sized, is_comparable=is_comparable)
    elif is_comparable:
        coverage = _by_amounts(order, payments, sized)
    else:
        coverage = _by_word(order, payments, sized)
    times = coverage.times
    if times is None:
        times = len(payments)
    left = max(times, 1) - (len(refunds) - len(sized))
    if coverage.is_refunded or left <= 0:
        coverage = replace(
            coverage, paid=False, times=0, short=None, doubt="", is_refunded=True
        )
    elif coverage.times:
        coverage = replace(coverage, times=left)
    return coverage


def _by_refunds(
    order: ExpectedOrder, refunds: Sequence[Movement], *, is_comparable: bool
) -> Coverage:
    """Return the coverage if only refunds are known: what is given back was paid."""
    near = tolerance(order, [refund.currency for refund in refunds])
    left = EXACT.subtract(order.amount or Decimal(0), _total(refunds))
    is_refunded = is_comparable and bool(refunds) and left <= near
    return Coverage(paid=None, times=None, doubt=_REFUND, is_refunded=is_refunded)


def _is_comparable(order: ExpectedOrder, movements: Iterable[Movement]) -> bool:
    """Return True if all amounts are known, and in the unit of the order's."""
    return order.amount is not None and all(
        movement.amount is not None and is_worth(movement.currency, order)
        for movement in movements
    )


def _by_amounts(
    order: ExpectedOrder, payments: Sequence[Movement], refunds: Sequence[Movement]
) -> Coverage:
    """Return the coverage by amounts that can be compared."""
    amount = order.amount or Decimal(0)
    paid = _total(payments)
    left = EXACT.subtract(paid, _total(refunds))
    near = tolerance(order, [each.currency for each in (*payments, *refunds)])
    least = EXACT.subtract(amount, near)
    # One payment that is too large is no second.
    times = max(min(int(EXACT.divide(left, least)), len(payments)), 0)
    missing = EXACT.subtract(amount, left)
    fees: set[Decimal] = set()
    if not refunds:
        fees = _fee_totals(payments, order)
    is_fee = missing > 0 and missing in fees
    if is_fee:
        times = 1
    is_stated = _is_stated_paid(payments)
    doubt = ""
    if left < -near:
        doubt = _TOO_MUCH
    elif is_stated and paid < least and not is_fee:
        doubt = (
            "The service says that it is paid, but"
            f" {in_currency(EXACT.subtract(amount, paid), order)} is missing here: find"
            " out why before anybody pays it."
        )
    elif times == 0 and missing <= max(fees, default=0):
        doubt = (
            f"{in_currency(missing, order)} is missing, and the listed fees are"
            f" {in_currency(max(fees), order)}: find out whether they took it."
        )
    rest = EXACT.subtract(left, EXACT.multiply(amount, Decimal(max(times, 1))))
    coverage = Coverage(
        paid=times > 0,
        times=times,
        short=max(Decimal(0), -rest),
        over=max(Decimal(0), rest),
        is_fee=is_fee,
        doubt=doubt,
        is_refunded=bool(refunds) and left <= near and doubt != _TOO_MUCH,
    )
    if times and rest > near:
        coverage = replace(coverage, excess=rest)
    if doubt or (times and is_stated is False and not is_fee):
        coverage = replace(coverage, paid=None, times=None)
    return coverage


def tolerance(order: ExpectedOrder, tokens: Iterable[str | None]) -> Decimal:
    """Return how much payments in some tokens may differ: nothing in the token of the
    invoice.
    """
    is_exact = all(is_token(token, order.invoice_currency) for token in tokens)
    if is_exact or order.amount is None:
        return Decimal(0)
    return EXACT.multiply(order.amount, NEAR)


def _fee_totals(payments: Sequence[Movement], order: ExpectedOrder) -> set[Decimal]:
    """Return what the listed fees may have taken in all: each type, and all of them."""
    columns = set().union(*[payment.fees for payment in payments])
    sums = {
        name: total_of(payment.fees.get(name, Decimal(0)) for payment in payments)
        for name in columns
    }
    in_usd = sums.pop("fees_usd", None)
    totals = {*sums.values(), total_of(sums.values())}
    if _unit_of(order.invoice_currency) == "usd":
        totals.add(in_usd)
    return {total for total in totals if total}


def _by_word(
    order: ExpectedOrder, payments: Sequence[Movement], refunds: Sequence[Movement]
) -> Coverage:
    """Return the coverage by the word of the service, for amounts that cannot be
    compared with the order's.
    """
    if refunds:
        is_same = all(
            is_token(refund.currency, payments[0].currency) for refund in refunds
        )
        total = sum_of(payments)
        is_all = is_same and total is not None and _total(refunds) >= total
        return Coverage(paid=None, times=None, doubt=_REFUND, is_refunded=is_all)
    # A payment in an unknown token may be for the order, too.
    is_ordered = all(
        is_worth(payment.currency, order)
        or is_token(payment.currency, order.payment_currency)
        for payment in payments
        if payment.currency
    )
    if order.invoice_currency and not is_ordered:
        return Coverage(paid=None, times=None, doubt=_FOREIGN)
    is_each = len(payments) == 1 or all(
        payment.amount is not None and payment.amount == order.amount
        for payment in payments
    )
    stated = _is_stated_paid(payments)
    times = None
    if stated is False:
        times = 0
    elif stated and is_each:
        times = len(payments)
    return Coverage(paid=stated, times=times)


def _is_stated_paid(payments: Sequence[Movement]) -> bool | None:
    """Return whether the service says that the request is paid; an earlier list may say
    no, a later one yes.
    """
    stated = {payment.has_been_paid for payment in payments}
    if stated == {None}:
        return None
    return True in stated


def _total(movements: Iterable[Movement]) -> Decimal:
    return total_of(movement.amount for movement in movements) or Decimal(0)


def sum_of(payments: Sequence[Movement]) -> Decimal | None:
    """Return the sum of the payments; None if an amount is not known, or if they are in
    several tokens.
    """
    tokens = {(payment.currency or "").lower() for payment in payments}
    if len(tokens) != 1:
        return None
    return total_of(payment.amount for payment in payments)


def in_currency(amount: Decimal, order: ExpectedOrder) -> str:
    """Return an amount in the currency of an order, as people write it."""
    return f"{format_number(amount)} {order.invoice_currency or ''}".rstrip()


def is_worth(token: str | None, order: ExpectedOrder) -> bool:
    """Return True if an amount of a token is in the unit of the order's: it is the
    invoice currency, or pegged to it.

    No documentation says in which of the two a listed amount is; then it makes no
    difference.
    """
    if not token or not order.invoice_currency:
        return False
    return _unit_of(token) == _unit_of(order.invoice_currency)


def is_token(one: str | None, other: str | None) -> bool:
    """Return True if two ids are of one token, on any network: an event may have its
    symbol alone.
    """
    known = find_currency(one or "")
    if known is not None and known == find_currency(other or ""):
        return True
    return _symbol_of(one).lower() == _symbol_of(other).lower() != ""


def _unit_of(currency_id: str | None) -> str:
    """Return the fiat currency that a currency is worth by the word of its issuer, or
    its id; in lower case.
    """
    name = currency_id or ""
    symbol = _symbol_of(currency_id)
    if symbol.islower():
        symbol = symbol.upper()
    unknown = Currency(
        id=name, kind="erc20", network="", symbol=symbol, decimals=0, address=""
    )
    return (peg_of(find_currency(name) or unknown) or name).lower()


def _symbol_of(currency_id: str | None) -> str:
    """Return the symbol of a currency; of an id that is not in the token list, the part
    before its first dash.
    """
    name = currency_id or ""
    known = find_currency(name)
    if known is not None and known.id.lower() == name.lower():
        return known.symbol
    return name.partition("-")[0]
