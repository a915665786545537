"""Review an approval: who may take tokens from the wallet, and how many."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from payerkit.findings import Finding
from payerkit.onchain.addresses import is_same
from payerkit.onchain.amounts import EXACT, share_of, to_units
from payerkit.onchain.calldata import EffectKind
from payerkit.onchain.effects import Effect
from payerkit.policy.payment_policy import allowance_line
from payerkit.review.fees import Paying
from payerkit.review.payment_review import UNLIMITED, PaymentReview, finding
from payerkit.review.transactions import DecodedTransaction


def review_approval(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> Iterator[Finding]:
    """Yield the findings about an approval."""
    paying = [other.index for other, _ in _spending(review, approval)]
    if not paying:
        yield finding("spender_differs", transaction)
        return
    yield finding("spender", transaction)
    later = [index for index in paying if index > transaction.index]
    if later and next(_replacing(review, transaction, approval), later[0]) < later[0]:
        yield finding("allowance_reset.replaced" if approval.allowance else "allowance_reset", transaction)
    elif not later and not approval.allowance:
        yield finding("allowance_taken_back", transaction)
    else:
        yield _check_allowance(review, transaction, approval, is_late=not later)


def _spending(review: PaymentReview, approval: Effect) -> list[Paying]:
    """Return the payments that use an allowance: their contract is its spender.

    A plain transfer needs no allowance, neither of the token that makes it nor of the wallet that receives coins.
    """
    return [
        (other, payment)
        for other, payment in review.paying
        if is_same(other.to, approval.spender) and other.call.function and other.call.function.contracts != ("ERC20",)
    ]


def _check_allowance(
    review: PaymentReview, transaction: DecodedTransaction, approval: Effect, *, is_late: bool
) -> Finding:
    key = "allowance_late" if is_late else _compare_allowance(review, transaction, approval)
    if key not in _MORE_THAN_NEEDED:
        return finding(key, transaction)
    if _is_accepted(review, transaction, approval):
        return finding("allowance_accepted", transaction)
    return finding(key, transaction, lines=_policy_lines(review, transaction, approval))


_MORE_THAN_NEEDED = {"allowance_late", "allowance_unlimited", "allowance_unchecked", "allowance_large"}
"""What a policy may accept: an allowance that is, or may be, more than the payments need."""


def _compare_allowance(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> str:
    """Return the key of the finding."""
    allowance, needed = approval.allowance or 0, _needed(review, transaction, approval)
    if allowance == UNLIMITED:
        return "allowance_unlimited"
    if needed is None:
        return "allowance_unchecked"
    least, most = needed
    if allowance < least:
        return "allowance_small"
    if allowance > most:
        return "allowance_large"
    return "allowance_exact" if allowance == least else "allowance_exact.batch"


def _needed(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> tuple[int, int] | None:
    """Return how much of the approved token the payments need, without and with the agreed fee of a batch contract.

    These are the payments up to the next approval, which replaces this one. None if the calldata does not tell.
    """
    end = next(_replacing(review, transaction, approval), len(review.transactions))
    payments = [
        payment
        for paying, payment in _spending(review, approval)
        if transaction.index < paying.index < end and is_same(payment.token, transaction.to)
    ]
    needs = [
        payment.max_to_spend if payment.unit == "request" else (payment.amount or 0) + (payment.fee or 0)
        for payment in payments
    ]
    known = [need for need in needs if need is not None]
    if not known or len(known) < len(needs):
        return None
    in_batch = sum(payment.amount or 0 for payment in payments if payment.place is not None and payment.unit == "token")
    return sum(known), sum(known) + share_of(in_batch, review.policy.batch_fee)


def _is_accepted(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> bool:
    """Return True if the policy accepts an allowance of this size."""
    token = review.token(transaction.to)
    accepted = token and review.policy.accepted_allowance(token.id, approval.spender)
    if not token or not accepted:
        return False
    most = accepted.most
    return most is None or (approval.allowance or 0) <= EXACT.multiply(most, Decimal(10) ** token.decimals)


def _policy_lines(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> str:
    """Return the lines that accept an allowance, after a line break; a policy names tokens by their ids."""
    token = review.token(transaction.to)
    if token is None or approval.spender is None:
        return " its token, then this allowance."
    most = None if approval.allowance == UNLIMITED else to_units(approval.allowance, token.decimals)
    return "\n" + allowance_line(token.id, approval.spender, most)


def _replacing(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> Iterator[int]:
    """Yield the indexes of later transactions that approve the same token for the same spender."""
    for other in review.transactions[transaction.index + 1 :]:
        is_approval = any(
            effect.kind == EffectKind.APPROVE and is_same(effect.spender, approval.spender) for effect in other.effects
        )
        if is_approval and is_same(other.to, transaction.to):
            yield other.index
