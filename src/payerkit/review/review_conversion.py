"""Review what a payment that is converted on execution may cost: its maximum, compared with a known rate."""

from __future__ import annotations

from decimal import Context, Decimal

from payerkit.findings import Finding
from payerkit.onchain.amounts import EXACT, format_amount, format_percentage
from payerkit.onchain.effects import Effect
from payerkit.policy.policy_lines import setting_line
from payerkit.review.payment_review import UNLIMITED, PaymentReview, finding, needed_percentage
from payerkit.review.transactions import DecodedTransaction

FAR_FROM_RATE = 20
"""Percent from what a payment costs by a known rate at which no policy is offered: such a maximum is hardly meant."""


def review_maximum(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Finding:
    """Return the finding about the maximum that a converted payment may spend."""
    most = _maximum(transaction, payment)
    token = review.token(payment.token)
    maximum = "any amount" if most is None or most == UNLIMITED else f"up to {format_amount(most, token)}"
    age = "" if payment.max_rate_age else " The rate may be of any age."
    difference = _difference(review, transaction, payment)
    if difference is None or difference > FAR_FROM_RATE:
        return finding("max_to_spend", transaction, maximum=maximum, age=age)
    share = format_percentage(Context(prec=2).plus(difference))
    if is_bounded(review, transaction, payment):
        return finding("max_to_spend.agreed", transaction, maximum=maximum, age=age, difference=share)
    lines = "\n" + setting_line("rate_tolerance", needed_percentage(difference))
    return finding("max_to_spend.rate", transaction, maximum=maximum, age=age, difference=share, lines=lines)


def is_bounded(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> bool:
    """Return True if the maximum is as near to what the payment costs by a known rate as the policy wants it."""
    difference, tolerance = _difference(review, transaction, payment), review.policy.rate_tolerance
    if difference is None or tolerance is None:
        return False
    in_batch = Decimal(0) if payment.place is None else review.policy.batch_fee or Decimal(0)
    return difference <= tolerance + in_batch  # a batch may take its fee from the maximum, too


def _maximum(transaction: DecodedTransaction, payment: Effect) -> int | None:
    return transaction.value if payment.is_native else payment.max_to_spend


def _difference(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Decimal | None:
    """Return by how many percent the maximum differs from what is spent by a known rate; None if that is not known.

    The native value of a transaction is the maximum of all its native payments together.
    """
    most = _maximum(transaction, payment)
    cost = review.native_costs[transaction.index] if payment.is_native else review.cost_of(payment)
    if most is None or not cost:
        return None
    return EXACT.divide(EXACT.multiply(Decimal(100), abs(most - cost)), cost)
