"""Review the native value of a transaction: it is what its payments need."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from payerkit.findings import Finding
from payerkit.onchain.amounts import share_of
from payerkit.review.payment_review import PaymentReview, finding
from payerkit.review.transactions import DecodedTransaction


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
    value = transaction.value or 0
    native = [effect for effect in transaction.effects if effect.is_payment and effect.is_native]
    exact = [effect for effect in native if effect.unit == "native"]
    needed = sum((effect.amount or 0) + (effect.fee or 0) for effect in exact)
    in_batch = sum(effect.amount or 0 for effect in exact if effect.place is not None)
    if value < needed or (value == needed and len(exact) < len(native)):
        yield finding("value_small", transaction)
    elif value > needed + share_of(in_batch, batch_fee) and len(exact) == len(native):
        yield finding("value_large" if needed else "value_unexplained", transaction)
