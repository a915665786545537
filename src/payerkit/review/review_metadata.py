"""Review what the service says about the transactions of a payment, and about the payer's wallet."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from payerkit.findings import Finding
from payerkit.onchain.functions import EffectKind
from payerkit.review.payment_review import PaymentReview, finding, shown
from payerkit.review.whole_response import Member
from payerkit.wire import our_name, read_time

_MOST = 2**31
"""Numbers of transactions are below it."""


def review_metadata(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about what a response says of its transactions, of the wallet, and of how long it holds."""
    effects = [(each.index, effect) for each in review.transactions for effect in each.effects]
    approvals = [index for index, effect in effects if effect.kind == EffectKind.APPROVE]
    claims: list[tuple[str, Collection[Any]]] = [
        ("steps_required", [len(review.payment.transactions)]),
        ("needs_approval", [bool(approvals)]),
        ("approval_transaction_index", approvals),
        ("payment_transaction_index", [transaction.index for transaction, _ in review.payments]),
    ]
    for name, found in claims:
        for member in review.statements.get(name, []):
            if isinstance(member.value, bool) != (name == "needs_approval") or not _is_count(member.value):
                yield _finding("type_unexpected", member)
            elif member.value not in found:
                yield _finding("metadata_differs", member)
    yield from _check_wallet(review, has_approval=bool(approvals))
    for member in review.statements.get("quote_expires_at", []):
        if (expiry := read_time(member.value)) is None:
            yield _finding("type_unexpected", member)
        else:
            key = "quote_valid" if review.now < expiry else "quote_expired"
            yield _finding(key, member, time=f"{expiry:%Y-%m-%d %H:%M:%S} UTC")


def _check_wallet(review: PaymentReview, *, has_approval: bool) -> Iterator[Finding]:
    for name, lacking in (("balance", "of the payment currency"), ("gas", "for gas"), ("allowance", "")):
        for member in review.statements.get(f"has_enough_{name}", []):
            if not isinstance(member.value, bool):
                yield _finding("type_unexpected", member)
            elif not member.value and lacking:
                yield _finding("wallet_short", member, lacking=lacking)
            elif not member.value and not has_approval:
                yield _finding("wallet_short.allowance", member)


def _finding(key: str, member: Member, **values: Any) -> Finding:
    """Return a finding about a member: of the metadata, by its name here; of anything else, by its path."""
    is_in_metadata = member.path == f"metadata.{member.name}"
    return finding(key, field=our_name(member.name) if is_in_metadata else shown(member.path), **values)


def _is_count(value: Any) -> bool:
    """Return True for a number of transactions, or a place among them."""
    return isinstance(value, int | float) and 0 <= value < _MOST and value == int(value)
