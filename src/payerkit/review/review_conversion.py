"""Review what a payment that is converted on execution may cost: its maximum, compared with a known rate."""

from __future__ import annotations

from decimal import Context, Decimal

from payerkit.findings import Finding
from payerkit.onchain.amounts import EXACT, format_amount, format_percentage
from payerkit.onchain.effects import Effect
from payerkit.policy.payment_policy import MOST_PERCENT, rate_line, setting_line
from payerkit.review.payment_review import UNLIMITED, PaymentReview, finding, needed_percentage
from payerkit.review.transactions import DecodedTransaction


def review_maximum(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Finding:
    """Return the finding about the maximum that a converted payment may spend.

    More above a known rate than any policy can agree to is an error: the contract would take what the maximum allows
    if its own rate were wrong, or made wrong. Less than the payment costs only makes it fail.
    """
    most, lines = _maximum(transaction, payment), _rate_lines(review, payment)
    token = review.token(payment.token)
    words = {
        "maximum": "any amount" if most is None or most == UNLIMITED else f"up to {format_amount(most, token)}",
        "age": "" if payment.max_rate_age else " The rate may be of any age.",
    }
    more = _difference(review, transaction, payment)
    if more is None and lines:
        return finding("max_to_spend.no_rate", transaction, **words, lines=lines)
    if more is None or more < -MOST_PERCENT:
        return finding("max_to_spend", transaction, **words)
    if more > MOST_PERCENT:
        return finding("max_to_spend.far", transaction, **words)
    difference = EXACT.abs(more)
    words["difference"] = format_percentage(Context(prec=2).plus(difference))
    if is_bounded(review, transaction, payment):
        return finding("max_to_spend.agreed", transaction, **words)
    tolerance = setting_line("rate_tolerance", needed_percentage(difference))
    return finding("max_to_spend.rate", transaction, **words, lines=f"\n{tolerance}")


def _rate_lines(review: PaymentReview, payment: Effect) -> str:
    """Return the lines for the rate that a payment is converted by, after a line break; "" if one is known.

    Nor are there any where no rate would help, since a currency is not known.
    """
    order = review.order_of(payment)
    if order is None or review.currency(order) is None or review.rate_of(order) is not None:
        return ""
    is_listed = review.policy.find_currency(order.invoice_currency) is not None
    return "\n" + rate_line(order.payment_currency, order.invoice_currency, "?") if is_listed else ""


def is_bounded(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> bool:
    """Return True if the maximum is as near to what the payment costs by a known rate as the policy wants it."""
    difference, tolerance = _difference(review, transaction, payment), review.policy.rate_tolerance
    if difference is None or tolerance is None:
        return False
    in_batch = Decimal(0) if payment.place is None else review.policy.batch_fee or Decimal(0)
    # a batch may take its fee from the maximum, too
    return EXACT.abs(difference) <= min(tolerance + in_batch, Decimal(MOST_PERCENT))


def _maximum(transaction: DecodedTransaction, payment: Effect) -> int | None:
    return transaction.value if payment.is_native else payment.max_to_spend


def _difference(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Decimal | None:
    """Return by how many percent the maximum is above what is spent by a known rate; None if that is not known.

    The native value of a transaction is the maximum of all its native payments together.
    """
    most = _maximum(transaction, payment)
    cost = review.native_costs[transaction.index] if payment.is_native else review.cost_of(payment)
    if most is None or not cost:
        return None
    return EXACT.divide(EXACT.multiply(Decimal(100), EXACT.subtract(Decimal(most), cost)), cost)
