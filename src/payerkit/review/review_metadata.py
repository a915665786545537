"""Review what the service says about the transactions of a payment, and about the payer's wallet."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from payerkit.findings import Finding
from payerkit.onchain.calldata import EffectKind
from payerkit.review.payment_review import PaymentReview, finding, shown
from payerkit.wire import read_time

_MOST = 2**31
"""Numbers of transactions are below it."""


def review_metadata(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about what a response says of its transactions, of the wallet, and of how long it holds."""
    effects = [(each.index, effect) for each in review.transactions for effect in each.effects]
    approvals = [index for index, effect in effects if effect.kind == EffectKind.APPROVE]
    payments = [transaction.index for transaction, _ in review.payments]
    allowance = [True] if not approvals else [True, False]  # an approval makes up for what is missing
    claims: list[tuple[str, Collection[Any], str]] = [
        ("steps_required", [len(review.payment.transactions)], "metadata_differs"),
        ("needs_approval", [bool(approvals)], "metadata_differs"),
        ("approval_transaction_index", approvals, "metadata_differs"),
        ("payment_transaction_index", payments, "metadata_differs"),
        ("has_enough_balance", [True], "wallet_short"),
        ("has_enough_gas", [True], "wallet_short.gas"),
        ("has_enough_allowance", allowance, "wallet_short.allowance"),
    ]
    for name, right, key in claims:
        for member in review.statements.get(name, []):
            if isinstance(member.value, bool) != name.startswith(("needs", "has")) or not _is_count(member.value):
                yield finding("type_unexpected", field=shown(member.path))
            elif member.value not in right:
                yield finding(key, field=shown(member.path))
    for member in review.statements.get("quote_expires_at", []):
        expiry = read_time(member.value)
        key = "type_unexpected" if expiry is None else "quote_valid" if review.now < expiry else "quote_expired"
        yield finding(key, field=shown(member.path), time=f"{expiry:%Y-%m-%d %H:%M:%S} UTC" if expiry else "")


def _is_count(value: Any) -> bool:
    """Return True for yes and no, a number of transactions, and a place among them."""
    return isinstance(value, int | float) and 0 <= value < _MOST and value == int(value)
