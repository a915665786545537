"""Review one payment of a call: its recipient, token, amount and reference."""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding
from payerkit.onchain.calldata import EffectKind
from payerkit.onchain.effects import Effect
from payerkit.review.payment_review import PaymentReview, finding
from payerkit.review.review_amounts import review_amount
from payerkit.review.review_conversion import review_maximum
from payerkit.review.review_payee import review_payee
from payerkit.review.review_tokens import review_token
from payerkit.review.transactions import DecodedTransaction


def review_payment(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about a payment."""
    yield from review_payee(review, transaction, payment)
    yield from review_token(review, transaction, payment)
    yield from review_amount(review, transaction, payment)
    yield from _check_reference(review, transaction, payment)
    if payment.kind != EffectKind.TRANSFER:
        yield finding("other_way", transaction, effect=payment.kind.value)
    yield from _check_execution(review, transaction, payment)


def review_fee_leg(review: PaymentReview, transaction: DecodedTransaction, leg: Effect) -> Iterator[Finding]:
    """Yield the findings about a payment that only carries a fee, but for its share, which is one of all fees."""
    is_known = leg.reference is None or leg.reference in review.references
    yield finding("fee_leg" if is_known else "fee_leg.reference", transaction)
    yield from _check_execution(review, transaction, leg)


def _check_execution(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    if payment.revert_reason:
        yield finding("would_fail", transaction, reason=payment.revert_reason)
    if payment.kept_reason:
        yield finding("kept_back", transaction, reason=payment.kept_reason)
    if payment.unit == "request":
        yield review_maximum(review, transaction, payment)
    elif payment.max_to_spend or payment.max_rate_age:
        yield finding("maximum_unread", transaction)


def _check_reference(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    if payment.reference is None:
        yield finding("reference_missing", transaction)
        return
    if payment.reference and not any(payment.reference):
        yield finding("reference_zero", transaction)
    if len(payment.reference) != 8:
        yield finding("reference_malformed", transaction)
        return
    order, payout = review.order_of(payment), review.payment.payout
    ordered = None if order is None else order.payment_reference
    requested = None if payout is None else payout.payment_reference
    told = review.payment.payment_reference
    sources = [
        (ordered, "reference_matches.order", "reference_differs.order"),
        (requested, "reference_matches.request", "reference_differs.request"),
        (None if told == requested else told, "reference_matches", "reference_differs"),
    ]
    for reference, matches, differs in sources:
        if reference is not None:
            is_match = reference.lower() == f"0x{payment.reference.hex()}"
            yield finding(matches if is_match else differs, transaction)
    if all(reference is None for reference, *_ in sources):
        yield finding("reference_unchecked", transaction)
