"""Review an approval: who may take tokens from the wallet, and how many."""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding
from payerkit.onchain.addresses import is_same
from payerkit.onchain.effects import Effect
from payerkit.onchain.functions import EffectKind
from payerkit.onchain.review_base import UNLIMITED, PaymentReview, finding
from payerkit.onchain.transactions import DecodedTransaction


def review_approval(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> Iterator[Finding]:
    """Yield the findings about an approval."""
    paying = [other.index for other, _ in review.payments if is_same(other.to, approval.spender)]
    yield finding("spender" if paying else "spender_differs", transaction)
    later = [index for index in paying if index > transaction.index]
    if not later:
        yield finding("allowance_late", transaction)
    elif _is_replaced(review, transaction, approval, before=later[0]):
        yield finding("allowance_reset.replaced" if approval.allowance else "allowance_reset", transaction)
    else:
        needed = _needed(review, transaction, approval)
        yield finding(_compare_allowance(approval.allowance or 0, needed), transaction)


def _compare_allowance(allowance: int, needed: int | None) -> str:
    """Return the code of the finding."""
    if allowance == UNLIMITED:
        return "allowance_unlimited"
    if needed is None:
        return "allowance_unchecked"
    if allowance == needed:
        return "allowance_exact"
    return "allowance_small" if allowance < needed else "allowance_large"


def _needed(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> int | None:
    """Return how much of the approved token the payments need; None if the calldata does not tell."""
    payments = [payment for paying, payment in review.payments if is_same(paying.to, approval.spender)]
    needs = [
        payment.max_to_spend if payment.unit == "request" else (payment.amount or 0) + (payment.fee or 0)
        for payment in payments
        if is_same(payment.token, transaction.to)
    ]
    known = [need for need in needs if need is not None]
    return sum(known) if payments and len(known) == len(payments) else None


def _is_replaced(review: PaymentReview, transaction: DecodedTransaction, approval: Effect, *, before: int) -> bool:
    """Return True if another approval replaces this one before the payment."""
    return any(
        effect.kind == EffectKind.APPROVE and is_same(effect.spender, approval.spender)
        for other in review.transactions[transaction.index + 1 : before]
        if is_same(other.to, transaction.to)
        for effect in other.effects
    )
