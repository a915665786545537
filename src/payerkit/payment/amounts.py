"""Review amounts: what the order asks for, what a converted payment may cost, and the native value of a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from functools import cache
from typing import TYPE_CHECKING

from payerkit._tsv import rows
from payerkit.findings import Finding
from payerkit.models.compared_with import OrderTerms
from payerkit.onchain.addresses import is_same
from payerkit.onchain.amounts import EXACT, format_amount, format_number, format_percentage, positive_number, share_of
from payerkit.onchain.currencies import Currency, currency_hash, request_decimals
from payerkit.onchain.effects import Effect
from payerkit.payment.transactions import UNLIMITED, DecodedTransaction, finding
from payerkit.policy.payment_policy import MOST_PERCENT, rate_line, setting_line

if TYPE_CHECKING:
    from payerkit.payment.payment_review import PaymentReview


NEAR_RATE = 1
"""Percent from what a known rate asks for up to which an amount is no error: rates change from minute to minute."""

PEG_LIMIT = 3
"""Percent from one to one from which on an amount in a pegged token is an error: no peg that holds is off as far."""


def review_amount(review: PaymentReview, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about the amount of a payment."""
    if payment.amount is None:
        yield finding("amount_unknown", payment)
        return
    if payment.amount == 0:
        yield finding("amount_zero", payment)
    order = review.order_of(payment)
    currency = review.currency(order)
    if order is None or currency is None:
        yield finding("amount_unchecked.no_order", payment)
        return
    expected, invoice = positive_number(order.amount), review.policy.find_currency(order.invoice_currency)
    if currency.kind == "fiat":
        yield finding("currency_fiat", payment, currency=currency.id)
    elif expected is None:
        yield finding("order_amount", payment)
    elif invoice is None:
        yield finding("amount_unchecked.invoice", payment)
    elif payment.unit == "request":
        found = _compare_request(payment, expected, invoice, is_bounded=is_bounded(review, payment))
        yield finding(found, payment, currency=invoice.id, expected=f"{expected:f} {invoice.id}")
    elif invoice == currency:
        yield _compare_exactly(payment, expected, invoice)
    else:
        exchange = _Exchange(payment.amount, currency, expected, invoice)
        yield _compare_exchange(review, payment, exchange, order)


def _compare_exactly(payment: Effect, expected: Decimal, token: Currency) -> Finding:
    if expected.scaleb(token.decimals, EXACT) == payment.amount:
        return finding("amount_matches", payment)
    words = {"paid": format_amount(payment.amount or 0, token), "expected": f"{expected:f} {token.id}"}
    return finding("amount_differs", payment, **words)


def _compare_request(payment: Effect, expected: Decimal, invoice: Currency, *, is_bounded: bool) -> str:
    """Return the key of the finding about a payment that is converted on execution: in the invoice currency.

    is_bounded: what it may cost is bounded as agreed.
    """
    named = invoice.address if invoice.kind == "erc20" else currency_hash(invoice)
    if not payment.path or not is_same(payment.path[0], named):
        return "amount_differs.currency"
    if expected.scaleb(request_decimals(invoice), EXACT) != payment.amount:
        return "amount_differs.request"
    if len(payment.path) == 1:
        return "amount_differs.path"
    return "amount_converted.bounded" if is_bounded else "amount_converted"


_MOST_DIGITS = 60
"""Digits of a rate that a policy is told at most."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """An amount of a token, in base units, for what an invoice asks for in another currency."""

    paid: int
    token: Currency
    expected: Decimal
    invoice: Currency

    @property
    def rate(self) -> Decimal:
        """The price with as many digits, from eight on, as make the amount right to the base unit."""
        prices = (price for digits in range(8, _MOST_DIGITS) if self.off_by(price := self._price(digits)) < 1)
        return next(prices, self._price(_MOST_DIGITS))

    @property
    def units(self) -> Decimal:
        """The amount in whole units of the token."""
        return Decimal(self.paid).scaleb(-self.token.decimals, EXACT)

    def _price(self, digits: int) -> Decimal:
        """Return what one unit of the token costs in the invoice currency."""
        price = EXACT.divide(self.expected, self.units or Decimal(1))
        return price.normalize(Context(prec=digits))

    def due(self, rate: Decimal) -> Decimal:
        """Return what a rate asks for, in base units, unrounded."""
        return EXACT.divide(self.expected, rate).scaleb(self.token.decimals, EXACT)

    def difference(self, rate: Decimal) -> Decimal:
        """Return by how many percent the amount differs from what a rate asks for."""
        return EXACT.divide(EXACT.multiply(Decimal(100), self.off_by(rate)), self.due(rate))

    def off_by(self, rate: Decimal) -> Decimal:
        """Return by how many base units the amount differs from that: less than one is due to rounding."""
        return EXACT.abs(EXACT.subtract(Decimal(self.paid), self.due(rate)))

    @property
    def words(self) -> dict[str, str]:
        """The amount, what it is for, and their rate."""
        price = f"{self._price(8):f} {self.invoice.id} per {self.token.symbol}"
        expected = f"{self.expected:f} {self.invoice.id}"
        return {"paid": format_amount(self.paid, self.token), "expected": expected, "price": price}


def _compare_exchange(review: PaymentReview, payment: Effect, exchange: _Exchange, order: OrderTerms) -> Finding:
    """Compare an amount with a rate; without one, with the peg of the token, if it has one."""
    if (rate := review.rate_of(order)) is not None:
        return _compare_by_rate(payment, exchange, rate, review.policy.rate_tolerance)
    peg = peg_of(exchange.token)
    if peg is not None and peg == peg_of(exchange.invoice):
        return _compare_by_peg(review, payment, exchange)
    lines = rate_line(order.payment_currency, order.invoice_currency, exchange.rate)
    return finding("amount_unchecked", payment, **exchange.words, policy_lines=lines)


def _compare_by_rate(payment: Effect, exchange: _Exchange, rate: Decimal, tolerance: Decimal | None) -> Finding:
    difference = exchange.difference(rate)
    if difference <= NEAR_RATE and exchange.off_by(rate) < 1:
        return finding("amount_matches", payment)
    share = format_percentage(Context(prec=2).plus(difference))
    words = {
        "paid": exchange.words["paid"],
        "expected": format_amount(int(exchange.due(rate).to_integral_value(ROUND_UP)), exchange.token),
        "difference": f"{share} {'too much' if exchange.paid > exchange.due(rate) else 'too little'}",
    }
    if tolerance is not None and difference <= tolerance:
        return finding("amount_near_rate", payment, **words, most=format_percentage(tolerance))
    if difference > NEAR_RATE:
        return finding("amount_differs.rate", payment, **words)
    lines = setting_line("rate_tolerance", needed_percentage(difference))
    return finding("amount_off_rate", payment, **words, policy_lines=lines)


def _compare_by_peg(review: PaymentReview, payment: Effect, exchange: _Exchange) -> Finding:
    """Compare an amount with one to one, which a peg promises; how near it is today, only a rate tells.

    A payout may be more, by the operator's fee. Only a small difference has a line for the policy: else the amount
    would write its own permission.
    """
    difference, tolerance = exchange.difference(Decimal(1)), review.policy.peg_tolerance
    words = exchange.words | {"peg": str(peg_of(exchange.token)), "difference": _in_money(exchange)}
    if tolerance is not None and difference <= tolerance:
        return finding("amount_pegged", payment, **words, most=format_percentage(tolerance))
    lines = setting_line("peg_tolerance", Decimal(NEAR_RATE))
    if difference == 0:
        return finding("amount_unchecked.peg", payment, **words, policy_lines=lines)
    is_fee = review.payment.payout is not None and exchange.paid > exchange.due(Decimal(1))
    if difference > MOST_PERCENT if is_fee else difference >= PEG_LIMIT:
        return finding("amount_differs.peg", payment, **words)
    return finding(_OFF_PEG[is_fee, difference <= NEAR_RATE], payment, **words, policy_lines=lines)


_OFF_PEG = {
    (False, False): "amount_off_peg",
    (False, True): "amount_off_peg.near",
    (True, False): "amount_off_peg.payout",
    (True, True): "amount_off_peg.payout_near",
}
"""The findings about an amount that is not one to one: if it may be the operator's fee, and if it is near."""


def _in_money(exchange: _Exchange) -> str:
    """Return by how much an amount in a pegged token differs, exactly, in the currency of the peg."""
    more = EXACT.subtract(exchange.units, exchange.expected)
    whole, _, rest = format_number(EXACT.abs(more)).partition(".")
    return f"{whole}.{rest:0<2} {peg_of(exchange.token)} {'more' if more > 0 else 'less'} than ordered"


def peg_of(currency: Currency) -> str | None:
    """Return the fiat currency that a currency is worth by the word of its issuer, or None."""
    return currency.id if currency.kind == "fiat" else _pegs().get(currency.symbol)


@cache
def _pegs() -> Mapping[str, str]:
    return {row["symbol"]: row["currency"] for row in rows(__package__, "pegs")}


def review_maximum(review: PaymentReview, payment: Effect) -> Finding:
    """Return the finding about the maximum that a converted payment may spend.

    More above a known rate than any policy can agree to is an error: the contract would take what the maximum allows
    if its own rate were wrong, or made wrong. Less than the payment costs only makes it fail.
    """
    most, lines = _maximum(review, payment), _rate_lines(review, payment)
    token = review.token(payment.token)
    words = {
        "maximum": "any amount" if most is None or most == UNLIMITED else f"up to {format_amount(most, token)}",
        "age": "" if payment.max_rate_age else " The rate may be of any age.",
    }
    more = _difference(review, payment)
    if more is None and lines:
        return finding("max_to_spend.no_rate", payment, **words, policy_lines=lines)
    if more is None or more < -MOST_PERCENT:
        return finding("max_to_spend", payment, **words)
    if more > MOST_PERCENT:
        return finding("max_to_spend.far", payment, **words)
    difference = EXACT.abs(more)
    words["difference"] = format_percentage(Context(prec=2).plus(difference))
    if is_bounded(review, payment):
        return finding("max_to_spend.agreed", payment, **words)
    tolerance = setting_line("rate_tolerance", needed_percentage(difference))
    return finding("max_to_spend.rate", payment, **words, policy_lines=tolerance)


def _rate_lines(review: PaymentReview, payment: Effect) -> str:
    """Return the lines for the rate that a payment is converted by; "" if one is known.

    Nor are there any where no rate would help, since a currency is not known.
    """
    order = review.order_of(payment)
    if order is None or review.currency(order) is None or review.rate_of(order) is not None:
        return ""
    is_listed = review.policy.find_currency(order.invoice_currency) is not None
    return rate_line(order.payment_currency, order.invoice_currency, "?") if is_listed else ""


def is_bounded(review: PaymentReview, payment: Effect) -> bool:
    """Return True if the maximum is as near to what the payment costs by a known rate as the policy wants it."""
    difference, tolerance = _difference(review, payment), review.policy.rate_tolerance
    if difference is None or tolerance is None:
        return False
    in_batch = Decimal(0) if payment.place is None else review.policy.batch_fee or Decimal(0)
    # a batch may take its fee from the maximum, too
    return EXACT.abs(difference) <= min(tolerance + in_batch, Decimal(MOST_PERCENT))


def _maximum(review: PaymentReview, payment: Effect) -> int | None:
    return review.transactions[payment.step].value if payment.is_native else payment.max_to_spend


def _difference(review: PaymentReview, payment: Effect) -> Decimal | None:
    """Return by how many percent the maximum is above what is spent by a known rate; None if that is not known.

    The native value of a transaction is the maximum of all its native payments together.
    """
    most = _maximum(review, payment)
    cost = review.native_costs[payment.step] if payment.is_native else review.cost_of(payment)
    if most is None or not cost:
        return None
    return EXACT.divide(EXACT.multiply(Decimal(100), EXACT.subtract(Decimal(most), cost)), cost)


def review_value(review: PaymentReview, transaction: DecodedTransaction) -> Iterator[Finding]:
    """Yield the findings about the native value of a transaction."""
    function = transaction.call.function
    if transaction.value is None:
        yield finding("value_unreadable", transaction)
    elif transaction.value and function is not None and not function.payable:
        yield finding("value_not_payable", transaction)
    else:
        yield from _compare_value(transaction, review.policy.batch_fee)
    if not transaction.is_value_given:
        yield finding("value_absent", transaction)


def _compare_value(transaction: DecodedTransaction, batch_fee: Decimal | None) -> Iterator[Finding]:
    """Compare the value with the sum of the native payments; one that is converted may spend what is left."""
    value, needed, in_batch, is_exact = transaction.value or 0, 0, 0, True
    for effect in transaction.effects:
        if not (effect.is_payment and effect.is_native):
            continue
        if effect.unit != "native":
            is_exact = False
            continue
        needed += (effect.amount or 0) + (effect.fee or 0)
        in_batch += 0 if effect.place is None else effect.amount or 0
    if value < needed or (value == needed and not is_exact):
        yield finding("value_small", transaction)
    elif value > needed + share_of(in_batch, batch_fee) and is_exact:
        yield finding("value_large" if needed else "value_unexplained", transaction)


def needed_percentage(difference: Decimal) -> Decimal:
    """Return the percentage that a policy has to name to accept a difference: two digits, and at least 1."""
    return max(Context(prec=2, rounding=ROUND_UP).plus(difference), Decimal(1))
