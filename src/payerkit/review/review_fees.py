"""Review all fees of a payment: what is taken on top of it, and whether that is declared and agreed.

A declaration clears no fee: the service is the party that is checked. What the user agreed to does.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from payerkit.findings import Finding
from payerkit.onchain.addresses import with_checksum
from payerkit.onchain.amounts import (
    effect_units,
    format_effect_amount,
    format_number,
    format_percentage,
    simplest_percentage,
)
from payerkit.policy.payment_policy import AgreedFee, fee_line, setting_line
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
    amount = effect_units(charge.effect, charge.fee, review.token(charge.effect.token))
    alike = review.policy.lookalike(charge.recipient)
    return finding(
        "fee_lookalike" if alike else _judge(charge, claim, agreed, amount=amount),
        charge.transaction,
        fee=_fee_words(review, charge),
        recipient=with_checksum(charge.recipient) or "an unknown wallet",
        declared=claim,
        known=alike,
        name=claim and claim.name,
        share=claim and format_percentage(claim.percentage),
        most=agreed and _most(agreed),
        lines=_policy_lines(charge, claim, agreed, amount=amount),
    )


def _judge(charge: Charge, claim: FeeClaim | None, agreed: AgreedFee | None, *, amount: Decimal | None) -> str:
    """Return the key of the finding. claim, agreed: what service and policy say of the recipient, if they name it.

    Less than the service declares is no difference: it caps its fee for large payments, and does not publish where.
    amount: of the fee, in whole units; None if that is not known.
    """
    is_agreed = charge.is_agreed(agreed) and _is_within(amount, agreed)
    share = None if claim is None else claim.percentage
    if charge.recipient == _ZERO and not charge.effect.is_native and charge.effect.place is None:
        return "fee.burned"  # a batch contract would take it all the same, and keep it
    if charge.is_high and not is_agreed:
        return "fee_high" if charge.amount else "fee_high.no_amount"
    if claim and not (is_agreed if share is None else charge.is_at_most(share)):
        return "fee_differs"
    is_less = share is not None and not charge.is_share(share)
    if is_agreed:
        return ("fee.less" if is_less else "fee.agreed") if claim else "fee.undeclared"
    if agreed:
        return "fee.above"
    return ("fee.below" if is_less else "fee.declared") if claim else "fee_unknown"


def _is_within(amount: Decimal | None, agreed: AgreedFee | None) -> bool:
    """Return True if an agreement has no highest amount, or an amount is not above it."""
    most = None if agreed is None else agreed.max_amount
    return most is None or (amount is not None and amount <= most)


def _most(agreed: AgreedFee) -> str:
    amount = "" if agreed.max_amount is None else f" and an amount of {format_number(agreed.max_amount)}"
    return f"{format_percentage(agreed.max_percent)}{amount}"


def _find_missing(review: PaymentReview, charges: list[Charge]) -> Iterator[FeeClaim]:
    """Yield the declared fees that no transaction has; a share of a small amount may round down to nothing."""
    found = {(charge.recipient or "").lower() for charge in charges}
    nothing = [Charge(transaction, payment, None, 0, payment.amount or 0) for transaction, payment in review.payments]
    for address, claim in review.declared_fees.items():
        if address not in found and not all(each.is_share(claim.percentage) for each in nothing):
            yield claim


def _find_unused(review: PaymentReview, charges: list[Charge]) -> Iterator[Finding]:
    """Yield a finding for each wallet that is named as a fee's recipient, unless it is known or receives one.

    A batch contract may pay its own fee to the wallet: then that the service declares it makes it no known one.
    """
    told = _NO_RECIPIENTS | {(charge.recipient or "").lower() for charge in charges}
    for transaction, effect in review.paying:
        recipient = (effect.fee_recipient or "").lower()
        is_vouched = effect.place is None or review.policy.agreed_fee(recipient) is not None
        if recipient and recipient not in told and not (is_vouched and recipient in review.fee_recipients):
            told |= {recipient}
            key = "fee_none.recipient" if effect.place is None else "fee_none.batch"
            yield finding(key, transaction, recipient=with_checksum(recipient))


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


def _policy_lines(charge: Charge, claim: FeeClaim | None, agreed: AgreedFee | None, *, amount: Decimal | None) -> str:
    """Return the lines that agree to a fee, after a line break; "" if its share or its amount cannot be told."""
    is_declared = claim is not None and charge.is_share(claim.percentage)
    share = claim.percentage if claim and is_declared else simplest_percentage(charge.fee, charge.amount)
    if share is None or charge.recipient is None:
        return ""
    if agreed is None:
        return "\n" + fee_line(charge.recipient, share)
    most = None if agreed.max_amount is None else max(agreed.max_amount, amount or Decimal(0))
    return "\n" + fee_line(charge.recipient, max(share, agreed.max_percent), agreed.name, most)
