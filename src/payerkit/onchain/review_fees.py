"""Review the fee of one payment, and compare it with the fees that the service declares.

A declaration clears no fee: the service is the party that is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal

from payerkit.findings import Finding
from payerkit.onchain.addresses import BURN_ADDRESSES, address_problem, is_same, with_checksum
from payerkit.onchain.amounts import EXACT, format_effect_amount, format_percentage
from payerkit.onchain.effects import Effect
from payerkit.onchain.protocols import FeeLike
from payerkit.onchain.review_base import PaymentReview, finding
from payerkit.onchain.transactions import DecodedTransaction


def review_fee(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about the fee of a payment."""
    declared = _declared_fees(review)
    if payment.fee:
        yield from _check_fee(review, transaction, payment, declared)
        return
    missing = [*_check_missing(transaction, payment, declared)]
    yield from missing
    recipient = (payment.fee_recipient or "").lower()
    if recipient and recipient not in BURN_ADDRESSES:
        yield finding("fee_none.recipient", transaction)
    elif payment.fee == 0 and not missing:
        yield finding("fee_none", transaction)


def _check_fee(
    review: PaymentReview, transaction: DecodedTransaction, payment: Effect, declared: dict[str, FeeLike]
) -> Iterator[Finding]:
    recipient = with_checksum(payment.fee_recipient) or "an unknown wallet"
    words = {"fee": _fee_words(review, payment), "recipient": recipient}
    match = next((name for name, fee in declared.items() if _is_declared(payment, fee)), "")
    if payment.fee_recipient and int(payment.fee_recipient, 16) == 0:
        yield finding("fee.burned", transaction, **words)
    elif not declared:
        yield finding("fee", transaction, **words)
    if match:
        yield finding(
            "fee.declared", transaction, **words, name=match, share=format_percentage(declared[match].percentage)
        )
        others = {name: fee for name, fee in declared.items() if name != match}
        yield from _check_missing(transaction, payment, others)
    elif declared:
        yield finding("fee_differs", transaction, **words, declared=_declaration(declared))


def _check_missing(transaction: DecodedTransaction, payment: Effect, declared: dict[str, FeeLike]) -> Iterator[Finding]:
    """Tell which declared fees a payment does not have; a share of a small amount may round down to nothing."""
    missing = {name: fee for name, fee in declared.items() if not _is_share(fee, payment.amount, 0)}
    if missing:
        yield finding("fee_missing", transaction, declared=_declaration(missing))


def _declared_fees(review: PaymentReview) -> dict[str, FeeLike]:
    """Return the fees that the service declares, by name."""
    metadata = review.payment.metadata
    fees = {} if metadata is None else {"protocol": metadata.protocol_fee, "platform": metadata.platform_fee}
    return {name: fee for name, fee in fees.items() if fee is not None}


def _is_declared(payment: Effect, fee: FeeLike) -> bool:
    """Return True if amount and recipient of a payment's fee are those that the service declares."""
    return is_same(payment.fee_recipient, fee.address) and _is_share(fee, payment.amount, payment.fee or 0)


def _is_share(fee: FeeLike, amount: int | None, found: int) -> bool:
    """Return True if an amount is the fee's share of a payment, rounded up or down to one base unit."""
    if fee.percentage is None or amount is None:
        return False
    difference = EXACT.subtract(EXACT.multiply(Decimal(amount), fee.percentage), Decimal(100 * found))
    return EXACT.abs(difference) < 100


def _fee_words(review: PaymentReview, payment: Effect) -> str:
    """Return the amount of a fee, with its share of the amount."""
    fee = format_effect_amount(payment, payment.fee or 0, review.token(payment.token))
    if not payment.amount:
        return fee
    share = Context(prec=4).divide(Decimal(100 * (payment.fee or 0)), Decimal(payment.amount))
    return f"{fee} ({format_percentage(share)})"


def _declaration(fees: dict[str, FeeLike]) -> str:
    """Return the declared fees in words, such as "a protocol fee of 0.1 % to 0x..."."""
    return " and ".join(
        f"a {name} fee of {format_percentage(fee.percentage)} to {_wallet_words(fee)}" for name, fee in fees.items()
    )


def _wallet_words(fee: FeeLike) -> str:
    is_address = address_problem(fee.address) != "address_malformed"
    return str(with_checksum(fee.address)) if is_address else "an unknown wallet"
