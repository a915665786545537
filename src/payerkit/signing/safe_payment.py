"""Hand a checked payment to a Safe: one whose verdict is "stop" is refused."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Unpack

from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.html import visible
from payerkit.models.compared_with import ComparedWith
from payerkit.models.responses import Payment
from payerkit.onchain.addresses import read_address, with_checksum
from payerkit.onchain.amounts import format_effect_amount
from payerkit.review.check_payment import review_findings
from payerkit.review.payment_review import PaymentReview
from payerkit.signing.safe_calls import SafeCall, builder_file, chain_id_of, safe_calls, write_builder_file
from payerkit.signing.safe_hashes import SafeHashes, hash_calls


@without_internal_frames
def write_safe(
    payment: Payment,
    path: str | Path,
    *,
    safe: str,
    created_at: datetime | None = None,
    anyway: bool = False,
    **given: Unpack[ComparedWith],
) -> None:
    """Write a payment as a file for Safe's Transaction Builder, as `Payment.to_safe` documents it."""
    address, review = read_address(safe, "safe"), _checked(payment, anyway=anyway, **given)
    content = builder_file(
        calls_of(review, anyway=anyway),
        safe=address,
        chain_id=chain_id_of(review.network),
        name=f"payerkit {payment.payment_reference or 'payment'}",
        description=_describe(review),
        created_at=created_at,
    )
    write_builder_file(path, content)


@without_internal_frames
def hash_safe(
    payment: Payment,
    *,
    safe: str,
    nonce: int,
    version: str = "1.4.1",
    multi_send: str | None = None,
    anyway: bool = False,
    **given: Unpack[ComparedWith],
) -> SafeHashes:
    """Return the hashes of a payment as one transaction of a Safe, as `Payment.safe_hashes` documents it."""
    address, review = read_address(safe, "safe"), _checked(payment, anyway=anyway, **given)
    return hash_calls(
        calls_of(review, anyway=anyway),
        safe=address,
        network=review.network,
        nonce=nonce,
        version=version,
        multi_send=multi_send,
    )


def _checked(payment: Payment, *, anyway: bool, **given: Unpack[ComparedWith]) -> PaymentReview:
    """Return a payment with what it is compared with. Raises InvalidInput if the verdict is "stop"."""
    review = PaymentReview.of(payment, **given)
    found = review_findings(review)
    if found.verdict == "stop" and not anyway:
        raise InvalidInput(
            f"The verdict is stop: {found.errors[0].message} Nothing was made for the Safe. "
            "check_payment has all findings; anyway=True overrules them."
        )
    return review


def calls_of(review: PaymentReview, *, anyway: bool) -> tuple[SafeCall, ...]:
    """Return the transactions of a payment as calls.

    Those that stand elsewhere in its response are left out. As the verdict is about all of them, this raises
    InvalidInput if there are some, unless `anyway`.
    """
    own = len(review.payment.transactions)
    if review.transactions[own:] and not anyway:
        origin = visible(review.transactions[own].origin)[:80]
        raise InvalidInput(
            f"A transaction stands elsewhere in the response, in {origin}: the Safe would not make it. Nothing was "
            "made. anyway=True leaves it out."
        )
    return safe_calls(review.transactions[:own])


def _describe(review: PaymentReview) -> str:
    """Return a payment in a few words: the order if there is one, else what the transactions pay."""
    if len(review.orders) == 1 and review.orders[0].payee:
        order = review.orders[0]
        return f"{order.amount} {order.invoice_currency} to {order.payee}"
    if len(review.payments) != 1:
        return f"{len(review.payments)} payments"
    effect = review.payments[0]
    amount = effect.amount
    much = "An unknown amount" if amount is None else format_effect_amount(effect, amount, review.token(effect.token))
    return f"{much} to {with_checksum(effect.recipient) or 'an unknown wallet'}"
