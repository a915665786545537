"""Review all fees of a payment: what is taken on top of it, and whether that is declared and agreed.

A declaration clears no fee: the service is the party that is checked. What the user agreed to does.
"""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding
from payerkit.onchain.addresses import with_checksum
from payerkit.onchain.amounts import format_effect_amount, format_percentage, simplest_percentage
from payerkit.policy.payment_policy import AgreedFee
from payerkit.policy.policy_lines import fee_line, setting_line
from payerkit.review.fees import Charge, FeeClaim, find_charges
from payerkit.review.payment_review import PaymentReview, finding

_ZERO = f"0x{0:040x}"
_NO_RECIPIENTS = {_ZERO, f"0x{0xDEAD:040x}"}
"""What calls name as the recipient of a fee where there is none, in lower case."""


def review_fees(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the fees of all transactions: one for each wallet that receives some."""
    charges = find_charges(review.payments, review.fee_legs)
    for charge in charges:
        yield _check_charge(review, charge)
    missing = [*_find_missing(review, charges)]
    for claim in missing:
        yield finding("fee_missing", review.payments[0][0], declared=claim)
    unused = [*_find_unused(review, charges)]
    yield from unused
    if review.payments and not charges and not missing and not unused:
        yield finding("fee_none", review.payments[0][0])
    yield from _check_batches(review)


def _check_charge(review: PaymentReview, charge: Charge) -> Finding:
    recipient = (charge.recipient or "").lower()
    claim, agreed = review.declared_fees.get(recipient), review.policy.agreed_fee(charge.recipient)
    return finding(
        _judge(charge, claim, agreed),
        charge.transaction,
        fee=_fee_words(review, charge),
        recipient=with_checksum(charge.recipient) or "an unknown wallet",
        declared=claim,
        name=claim and claim.name,
        share=claim and format_percentage(claim.percentage),
        most=agreed and format_percentage(agreed.max_percent),
        lines=_policy_lines(charge, claim),
    )


def _judge(charge: Charge, claim: FeeClaim | None, agreed: AgreedFee | None) -> str:
    """Return the key of the finding. claim, agreed: what service and policy say of the recipient, if they name it."""
    is_agreed = charge.is_agreed(agreed)
    is_declared = claim is not None and charge.is_share(claim.percentage)
    if charge.recipient == _ZERO and not charge.effect.is_native and charge.effect.place is None:
        return "fee.burned"  # a batch contract would take it all the same, and keep it
    if charge.is_high and not is_agreed:
        return "fee_high" if charge.amount else "fee_high.no_amount"
    if claim and not is_declared and not (is_agreed and claim.percentage is None):
        return "fee_differs"
    if is_agreed:
        return "fee.agreed" if claim else "fee.undeclared"
    if agreed:
        return "fee.above"
    return "fee.declared" if claim else "fee_unknown"


def _find_missing(review: PaymentReview, charges: list[Charge]) -> Iterator[FeeClaim]:
    """Yield the declared fees that no transaction has; a share of a small amount may round down to nothing."""
    found = {(charge.recipient or "").lower() for charge in charges}
    nothing = [Charge(transaction, payment, None, 0, payment.amount or 0) for transaction, payment in review.payments]
    for address, claim in review.declared_fees.items():
        if address not in found and not all(each.is_share(claim.percentage) for each in nothing):
            yield claim


def _find_unused(review: PaymentReview, charges: list[Charge]) -> Iterator[Finding]:
    """Yield a finding for each wallet that is named as a fee's recipient, unless it is known or receives one."""
    known = _NO_RECIPIENTS | review.fee_recipients | {(charge.recipient or "").lower() for charge in charges}
    for transaction, effect in review.paying:
        recipient = (effect.fee_recipient or "").lower()
        if recipient and recipient not in known:
            known |= {recipient}
            yield finding("fee_none.recipient", transaction, recipient=with_checksum(recipient))


def _check_batches(review: PaymentReview) -> Iterator[Finding]:
    """Yield what a batch contract may take in addition, once for each batch."""
    batches = {each.index: each for each, payment in review.payments if payment.place is not None}
    most = review.policy.batch_fee
    for batch in batches.values():
        if most is None:
            yield finding("batch", batch, lines="\n" + setting_line("batch_fee", "?"))
        else:
            yield finding("batch.agreed", batch, most=format_percentage(most))


def _fee_words(review: PaymentReview, charge: Charge) -> str:
    """Return a fee with its share of the amount."""
    fee = format_effect_amount(charge.effect, charge.fee, review.token(charge.effect.token))
    share = simplest_percentage(charge.fee, charge.amount)
    return fee if share is None else f"{fee} ({format_percentage(share)})"


def _policy_lines(charge: Charge, claim: FeeClaim | None) -> str:
    """Return the lines that agree to a fee, after a line break; "" if its share cannot be told."""
    is_declared = claim is not None and charge.is_share(claim.percentage)
    share = claim.percentage if claim and is_declared else simplest_percentage(charge.fee, charge.amount)
    if share is None or charge.recipient is None:
        return ""
    return "\n" + fee_line(charge.recipient, share)
