"""Review what the service says about the transactions of a payment, and about the payer's wallet."""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding
from payerkit.onchain.functions import EffectKind
from payerkit.review.payment_review import PaymentReview, finding
from payerkit.review.protocols import MetadataLike


def review_metadata(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the metadata of a payment."""
    metadata = review.payment.metadata
    if metadata is None:
        return
    effects = [(each.index, effect) for each in review.transactions for effect in each.effects]
    approvals = [index for index, effect in effects if effect.kind == EffectKind.APPROVE]
    payments = [transaction.index for transaction, _ in review.payments]
    claims: list[tuple[str, int | None, list[int]]] = [
        ("steps_required", metadata.steps_required, [len(review.payment.transactions)]),
        ("needs_approval", metadata.needs_approval, [bool(approvals)]),
        ("approval_transaction_index", metadata.approval_transaction_index, approvals),
        ("payment_transaction_index", metadata.payment_transaction_index, payments),
    ]
    for name, claimed, found in claims:
        if claimed is not None and claimed not in found:
            yield finding("metadata_differs", field=name)
    yield from _check_wallet(metadata, has_approval=bool(approvals))
    if (expiry := metadata.quote_expires_at) is not None:
        yield finding("quote_valid" if review.now < expiry else "quote_expired", time=f"{expiry:%Y-%m-%d %H:%M:%S} UTC")


def _check_wallet(metadata: MetadataLike, *, has_approval: bool) -> Iterator[Finding]:
    if metadata.has_enough_balance is False:
        yield finding("wallet_short", field="has_enough_balance", lacking="of the payment currency")
    if metadata.has_enough_gas is False:
        yield finding("wallet_short", field="has_enough_gas", lacking="for gas")
    if metadata.has_enough_allowance is False and not has_approval:
        yield finding("wallet_short.allowance", field="has_enough_allowance")
