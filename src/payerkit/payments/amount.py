"""Check amounts, the maximum of what is converted, and native values: what the order
asks for, and what may be spent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal

from payerkit.findings import Finding, payment_finding
from payerkit.payments.against import Against
from payerkit.payments.effects import Effects
from payerkit.payments.onchain.addresses import is_same, with_checksum
from payerkit.payments.onchain.amounts import (
    EXACT,
    format_amount,
    format_effect_amount,
    format_number,
    format_percentage,
    percentage,
    positive_number,
    share_of,
    to_units,
)
from payerkit.payments.onchain.calldata import UNLIMITED, Effect
from payerkit.payments.onchain.currencies import (
    Currency,
    currency_hash,
    find_by_hash,
    request_decimals,
    tokens_at,
)
from payerkit.payments.payment_policy import MOST_PERCENT, rate_lines, setting_line
from payerkit.payments.pegs import is_test_money, peg_of, shared_peg
from payerkit.payments.terms import OrderTerms
from payerkit.payments.transactions import DecodedTransaction
from payerkit.wording import listed

NEAR_RATE = 1
"""Percent from what a known rate asks for up to which an amount is no error: rates
change from minute to minute.
"""

PEG_LIMIT = 3
"""Percent from one to one from which on an amount in a pegged token is an error: no peg
that holds is off as far.
"""


def check_amount(
    effects: Effects, against: Against, payment: Effect
) -> Iterator[Finding]:
    """Yield the findings about the amount of a payment."""
    if payment.amount is None:
        yield payment_finding("amount_unknown", payment)
        return
    if payment.amount == 0:
        yield payment_finding("amount_zero", payment)
        return
    order = effects.order_of(payment)
    if order is None and len(against.orders) > 1:
        return  # `payment_unordered` says that
    currency = against.currency(order)
    if order is None or currency is None:
        yield payment_finding("amount_unchecked.no_order", payment)
        return
    expected = positive_number(order.amount)
    invoice = against.policy.find_currency(order.invoice_currency)
    if currency.kind == "fiat":
        yield payment_finding("currency_fiat", payment, currency=currency.id)
    elif expected is None:
        yield payment_finding("order_amount", payment)
    elif invoice is None:
        yield payment_finding("amount_unchecked.invoice", payment)
    elif payment.unit == "request":
        key = _compare_request(payment, expected, invoice)
        words = f"{expected:f} {invoice.id}"
        yield payment_finding(key, payment, currency=invoice.id, expected=words)
    elif invoice == currency:
        yield _compare_exactly(payment, expected, invoice)
    else:
        exchange = _Exchange(payment.amount, currency, expected, invoice)
        yield _compare_exchange(effects, against, payment, exchange, order)


def _compare_exactly(payment: Effect, expected: Decimal, token: Currency) -> Finding:
    if expected.scaleb(token.decimals, EXACT) == payment.amount:
        return payment_finding("amount_matches", payment)
    words = {
        "paid": format_amount(payment.amount or 0, token),
        "expected": f"{expected:f} {token.id}",
    }
    return payment_finding("amount_differs", payment, **words)


def _compare_request(payment: Effect, expected: Decimal, invoice: Currency) -> str:
    """Return the key of the finding about a payment that is converted on execution: in
    the invoice currency. `check_maximum` tells what it may cost.
    """
    named = invoice.address if invoice.kind == "erc20" else currency_hash(invoice)
    if not payment.path or not is_same(payment.path[0], named):
        return "amount_differs.currency"
    if expected.scaleb(request_decimals(invoice), EXACT) != payment.amount:
        return "amount_differs.request"
    if len(payment.path) == 1:
        return "amount_differs.path"
    if not is_path_listed(payment):
        return "amount_converted.unlisted"
    return "amount_converted"


def is_path_listed(effect: Effect) -> bool:
    """Return True if an amount is converted by way of listed currencies alone."""
    return all(find_by_hash(each) or tokens_at(each) for each in effect.path[1:-1])


_MOST_DIGITS = 60
"""The most digits of a rate in a line of a policy."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """An amount of a token, in base units, for what an invoice asks for in another
    currency.
    """

    paid: int
    token: Currency
    expected: Decimal
    invoice: Currency

    @property
    def rate(self) -> Decimal:
        """The price with as many digits, from eight on, as make the amount right to the
        base unit.
        """
        for digits in range(8, _MOST_DIGITS):
            price = self._price(digits)
            if self.off_by(price) < 1:
                return price
        return self._price(_MOST_DIGITS)

    def _price(self, digits: int) -> Decimal:
        """Return what one unit of the token costs in the invoice currency."""
        units = to_units(self.paid, self.token.decimals)
        return EXACT.divide(self.expected, units or Decimal(1)).normalize(
            Context(prec=digits)
        )

    def due(self, rate: Decimal) -> Decimal:
        """Return what a rate asks for, in base units, unrounded."""
        return EXACT.divide(self.expected, rate).scaleb(self.token.decimals, EXACT)

    def difference(self, rate: Decimal) -> Decimal:
        """Return by how many percent the amount differs from what a rate asks for."""
        return percentage(self.off_by(rate), self.due(rate))

    def off_by(self, rate: Decimal) -> Decimal:
        """Return by how many base units the amount differs from that: less than one is
        due to rounding.
        """
        return EXACT.abs(EXACT.subtract(Decimal(self.paid), self.due(rate)))

    @property
    def words(self) -> dict[str, str]:
        """The amount, what it is for, and their rate."""
        price = f"{self._price(8):f} {self.invoice.id} per {self.token.symbol}"
        expected = f"{self.expected:f} {self.invoice.id}"
        return {
            "paid": format_amount(self.paid, self.token),
            "expected": expected,
            "price": price,
        }


def _compare_exchange(
    effects: Effects,
    against: Against,
    payment: Effect,
    exchange: _Exchange,
    order: OrderTerms,
) -> Finding:
    """Compare an amount with a rate; without one, with the peg of the token, if it has
    one.
    """
    rate = against.rate_of(order)
    if rate is not None:
        return _compare_by_rate(payment, exchange, rate, against.policy.rate_tolerance)
    if shared_peg(exchange.token, exchange.invoice):
        finding = _compare_by_peg(effects, against, payment, exchange)
        # A token of a test network is worth nothing, so that no peg clears an amount.
        is_test = is_test_money(exchange.token, exchange.invoice)
        if finding.severity == "error" or not is_test:
            return finding
    pair = order.payment_currency, order.invoice_currency
    return payment_finding(
        "amount_unchecked",
        payment,
        **exchange.words,
        policy_lines=rate_lines({pair: exchange.rate}),
    )


def _compare_by_rate(
    payment: Effect, exchange: _Exchange, rate: Decimal, tolerance: Decimal | None
) -> Finding:
    difference = exchange.difference(rate)
    if difference <= NEAR_RATE and exchange.off_by(rate) < 1:
        return payment_finding("amount_matches", payment)
    due = exchange.due(rate)
    direction = "too much" if exchange.paid > due else "too little"
    words = {
        "paid": exchange.words["paid"],
        "expected": format_amount(int(due.to_integral_value(ROUND_UP)), exchange.token),
        "difference": f"{_in_two_digits(difference)} {direction}",
    }
    if tolerance is not None and difference <= tolerance:
        return payment_finding(
            "amount_near_rate", payment, **words, most=format_percentage(tolerance)
        )
    if difference > NEAR_RATE:
        return payment_finding("amount_differs.rate", payment, **words)
    lines = _tolerance_line(difference)
    return payment_finding("amount_off_rate", payment, **words, policy_lines=lines)


def _compare_by_peg(
    effects: Effects, against: Against, payment: Effect, exchange: _Exchange
) -> Finding:
    """Compare an amount with one to one, which a peg promises; how near it is today,
    only a rate tells.

    A payout may be more, by the operator's fee. Only a small difference has a line for
    the policy: else the amount would write its own permission.
    """
    difference = exchange.difference(Decimal(1))
    tolerance = against.policy.peg_tolerance
    words = exchange.words | {
        "peg": str(peg_of(exchange.token)),
        "difference": _in_money(exchange),
    }
    if tolerance is not None and difference <= tolerance:
        return payment_finding(
            "amount_pegged", payment, **words, most=format_percentage(tolerance)
        )
    lines = setting_line("peg_tolerance", Decimal(NEAR_RATE))
    if difference == 0:
        return payment_finding(
            "amount_unchecked.peg", payment, **words, policy_lines=lines
        )
    is_more = exchange.paid > exchange.due(Decimal(1))
    is_fee = effects.payment.payout is not None and is_more
    is_far = difference > MOST_PERCENT if is_fee else difference >= PEG_LIMIT
    if is_far:
        return payment_finding("amount_differs.peg", payment, **words)
    return payment_finding(
        _OFF_PEG[is_fee, difference <= NEAR_RATE], payment, **words, policy_lines=lines
    )


_OFF_PEG = {
    (False, False): "amount_off_peg",
    (False, True): "amount_off_peg.near",
    (True, False): "amount_off_peg.payout",
    (True, True): "amount_off_peg.payout_near",
}
"""The findings about an amount that is not one to one: if it may be the operator's fee,
and if it is near.
"""


def check_rates(against: Against) -> Iterator[Finding]:
    """Yield a finding for each rate that contradicts the peg of a token: an amount by
    such a rate matches, although it is another one in money.
    """
    tolerance = against.policy.peg_tolerance or Decimal(0)
    pairs = set[tuple[str, str]]()
    for order in against.orders:
        token = against.currency(order)
        invoice = against.policy.find_currency(order.invoice_currency)
        rate = against.rate_of(order)
        if token is None or invoice is None or token == invoice or rate is None:
            continue
        peg = shared_peg(token, invoice)
        if not peg or (token.id, invoice.id) in pairs:
            continue
        pairs.add((token.id, invoice.id))
        difference = 100 * EXACT.abs(EXACT.subtract(rate, Decimal(1)))
        if difference >= PEG_LIMIT and difference > tolerance:
            yield payment_finding(
                "rate_off_peg",
                rate=f"{format_number(rate)} {invoice.id} per {token.symbol}",
                difference=_in_two_digits(difference),
                peg=peg,
            )


def _in_money(exchange: _Exchange) -> str:
    """Return by how much an amount in a pegged token differs, exactly, in the currency
    of the peg.
    """
    more = EXACT.subtract(Decimal(exchange.paid), exchange.due(Decimal(1))).scaleb(
        -exchange.token.decimals, EXACT
    )
    whole, _, rest = format_number(EXACT.abs(more)).partition(".")
    direction = "more" if more > 0 else "less"
    return f"{whole}.{rest:0<2} {peg_of(exchange.token)} {direction} than ordered"


def _most_spent(effects: Effects, payment: Effect) -> int | None:
    """Return the most that a converted payment may spend, in base units of the token
    that it takes; None if that is not known.

    The native value of a transaction is that of all its native payments.
    """
    if payment.is_native:
        return effects.transactions[payment.step].value
    return payment.max_to_spend


def check_maximum(effects: Effects, against: Against, payment: Effect) -> Finding:
    """Return the finding about the maximum that a converted payment may spend.

    More above a known rate than any policy can agree to is an error: the contract would
    take what the maximum allows if its own rate were wrong, or made wrong. Less than
    the payment costs only makes it fail, and the next whole base unit is no more than
    there has to be.
    """
    most = _most_spent(effects, payment)
    cost = effects.native_costs[payment.step]
    if not payment.is_native:
        cost = against.cost_of(payment, effects.order_of(payment))
    words = {
        "maximum": maximum_text(effects, against, payment),
        "age": "" if payment.max_rate_age else " The contract takes a rate of any age.",
    }
    if most is None or not cost:
        lines = _rate_lines(effects, against, payment)
        key = "max_to_spend.no_rate" if lines else "max_to_spend"
        return payment_finding(key, payment, **words, policy_lines=lines)
    excess = EXACT.subtract(Decimal(most), cost)
    difference = percentage(EXACT.abs(excess), cost)
    if difference > MOST_PERCENT:
        key = "max_to_spend" if excess < 1 else "max_to_spend.far"
        return payment_finding(key, payment, **words)
    side = "less" if excess < 0 else "more"
    words["difference"] = f"{_in_two_digits(difference)} {side}"
    agreed = _agreed_percentage(against, payment)
    if agreed is not None and difference <= agreed:
        return payment_finding("max_to_spend.agreed", payment, **words)
    lines = _tolerance_line(difference)
    return payment_finding("max_to_spend.rate", payment, **words, policy_lines=lines)


def maximum_text(effects: Effects, against: Against, payment: Effect) -> str:
    """Return what a converted payment may take from the wallet: in the token that it
    takes, and in the decimals of that.
    """
    most = _most_spent(effects, payment)
    token = against.token(payment.token)
    if most is not None and most != UNLIMITED:
        return f"up to {format_amount(most, token)}"
    return f"any amount of {token.id}" if token else "any amount"


def fee_of_leg(effects: Effects, against: Against, leg: Effect) -> str:
    """Return the fee of a leg, and if it is converted, by which way, and what may be
    taken for it.
    """
    token = against.token(leg.token)
    if leg.amount is None:
        return "an unknown amount"
    fee = format_effect_amount(leg, leg.amount, token)
    if leg.unit != "request":
        return fee
    ways = [_name_on_path(step, against) for step in leg.path[1:-1]]
    way = f" by way of {listed(ways)}" if ways else ""
    return f"{fee}{way}, for {maximum_text(effects, against, leg)}"


def _name_on_path(step: str, against: Against) -> str:
    """Return the id of a currency on a conversion path; its address if that is not
    known.
    """
    currency = find_by_hash(step) or against.token(step)
    return str(with_checksum(step)) if currency is None else currency.id


def _rate_lines(effects: Effects, against: Against, payment: Effect) -> str:
    """Return the lines for the rate that a payment is converted by; "" if one is known.

    Nor are there any where no rate would help, since a currency is not known.
    """
    order = effects.order_of(payment)
    if order is None or against.currency(order) is None:
        return ""
    if against.rate_of(order) is not None:
        return ""
    if against.policy.find_currency(order.invoice_currency) is None:
        return ""
    return rate_lines({(order.payment_currency, order.invoice_currency): "?"})


def _agreed_percentage(against: Against, payment: Effect) -> Decimal | None:
    """Return by how much the maximum may differ from what the payment costs by a known
    rate, as the policy wants it; None without a policy for that.
    """
    tolerance = against.policy.rate_tolerance
    if tolerance is None:
        return None
    if payment.place is not None:  # a batch may take its fee from the maximum, too
        tolerance += against.policy.batch_fee or Decimal(0)
    return min(tolerance, Decimal(MOST_PERCENT))


def check_value(against: Against, transaction: DecodedTransaction) -> Iterator[Finding]:
    """Yield the findings about the native value of a transaction.

    It is the sum of the native payments; one that is converted may spend what is left.
    """
    value = transaction.value
    function = transaction.call.function
    native = [
        effect
        for effect in transaction.effects
        if effect.is_payment and effect.is_native
    ]
    exact = [effect for effect in native if effect.unit == "native"]
    is_exact = len(exact) == len(native)
    needed = sum(effect.most_taken for effect in exact)
    in_batch = sum(effect.amount or 0 for effect in exact if effect.place is not None)
    most = needed + share_of(in_batch, against.policy.batch_fee)
    if value is None:
        yield payment_finding("value_unreadable", transaction)
    elif value and function is not None and not function.payable:
        yield payment_finding("value_not_payable", transaction)
    elif value < needed or (value == needed and not is_exact):
        yield payment_finding("value_small", transaction)
    elif value > most and is_exact:
        key = "value_large" if needed else "value_unexplained"
        yield payment_finding(key, transaction)
    if not transaction.is_value_given:
        yield payment_finding("value_absent", transaction)


def _tolerance_line(difference: Decimal) -> str:
    """Return the line of a policy that accepts a difference in percent from what a rate
    asks for: two digits, and at least 1.
    """
    needed = max(Context(prec=2, rounding=ROUND_UP).plus(difference), Decimal(1))
    return setting_line("rate_tolerance", needed)


def _in_two_digits(difference: Decimal) -> str:
    """Return a percentage as far as people remember it."""
    return format_percentage(Context(prec=2).plus(difference))
