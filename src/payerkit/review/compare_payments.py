"""Compare many payments with each other: what was perhaps paid already, and payees that look alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from payerkit.findings import Finding
from payerkit.onchain.addresses import lookalikes, with_checksum
from payerkit.review.messages import finding
from payerkit.review.payment_review import PaymentReview
from payerkit.wording import listed

MOST_NAMED = 5
"""Other payments that a finding names; more only make it long."""


def compare_reviews(reviews: Sequence[PaymentReview], labels: Sequence[str]) -> Iterator[tuple[int, Finding]]:
    """Yield what only a comparison finds, each finding with the place of its payment. labels: as findings name them."""
    yield from _find_repeated(reviews, labels)
    yield from _find_lookalikes(reviews)


def unreadable(problem: str) -> Finding:
    """Return the finding about a payment that cannot be read."""
    return finding("payment_unreadable", problem=problem)


def _find_repeated(reviews: Sequence[PaymentReview], labels: Sequence[str]) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each payment that shares what no two payments share."""
    holders = defaultdict(list)
    for place, review in enumerate(reviews):
        for identity in _identities(review):
            holders[identity].append(place)
    for place, review in enumerate(reviews):
        shared = [identity for identity in _identities(review) if len(holders[identity]) > 1]
        if shared:
            found = (other for identity in shared for other in holders[identity] if other != place)
            others = [*dict.fromkeys(islice(found, MOST_NAMED + 1))]
            named = [labels[other] for other in others[:MOST_NAMED]] + ["others"] * (len(others) > MOST_NAMED)
            kinds = [*dict.fromkeys(kind for kind, _ in shared)]
            key = _OF_EQUALS.get(kinds[0], "perhaps_paid") if len(kinds) == 1 else "perhaps_paid"
            yield place, finding(key, what=listed(kinds), others=listed(named))


_EQUAL = "payee with token and amount"
"""What two payments of one payee may share although each has an invoice of its own."""

_EQUAL_PAYOUT = "account with token and amount"
"""Likewise of one bank account. All payments to bank accounts have the operator for their recipient."""

_OF_EQUALS = {_EQUAL: "perhaps_paid.equal", _EQUAL_PAYOUT: "perhaps_paid.account"}
"""The findings where nothing else is shared."""


def _identities(review: PaymentReview) -> dict[tuple[str, str], None]:
    """Return what a payment shares only with one that pays the same: its kinds and values, each once.

    Ids are compared without case: who changes that of a letter has the same payment.
    """
    payments, payout = review.payments, review.payment.payout
    kind, account = (_EQUAL, None) if payout is None else (_EQUAL_PAYOUT, payout.payment_details_id)
    references = [
        review.payment.payment_reference,
        *(f"0x{each.reference.hex()}" for each in payments if each.reference),
    ]
    found: Iterable[tuple[str, str | None]] = chain(
        (("request id", each) for each in (review.payment.request_id, None if payout is None else payout.request_id)),
        (("reference", reference) for reference in references),
        (
            (kind, f"{account} {review.network} {each.recipient} {each.token} {each.amount}")
            for each in payments
            if each.recipient
        ),
    )
    keys = ((kind, (value or "").strip().casefold()) for kind, value in found)
    return dict.fromkeys(identity for identity in keys if identity[1])


def _find_lookalikes(reviews: Sequence[PaymentReview]) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each payment whose payee looks like another one's, unless the address book has it."""
    paying: dict[str, dict[int, None]] = defaultdict(dict)
    for place, review in enumerate(reviews):
        for payment in review.payments:
            if payment.recipient:
                paying[payment.recipient.lower()][place] = None
    pairs = [*lookalikes(paying)]
    for payee, other in (*pairs, *(pair[::-1] for pair in pairs)):
        told = finding("payee_lookalike.table", payee=with_checksum(payee), other=with_checksum(other))
        yield from ((place, told) for place in paying[payee] if reviews[place].known(payee) is None)
