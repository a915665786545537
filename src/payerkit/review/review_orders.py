"""Review a response that pays several orders: each order has one payment, and each payment its order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from payerkit.findings import Finding
from payerkit.onchain.addresses import lookalikes, with_checksum
from payerkit.onchain.amounts import format_effect_amount
from payerkit.review.payment_review import PaymentReview, finding, in_place, shown


def review_orders(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about several orders as a whole."""
    unmatched = [*_check_orders(review), *_check_payments(review)]
    yield from unmatched or [finding("orders_matched", count=len(review.orders))]
    payees = [order.payee for order in review.orders if order.payee and review.known(order.payee) is None]
    for one, other in lookalikes(payees):
        yield finding("payee_lookalike.orders", one=with_checksum(one), other=with_checksum(other))
    references = Counter(payment.reference for _, payment in review.payments if payment.reference)
    for reference, count in references.items():
        if count > 1:
            yield finding("reference_repeated", count=count, reference=f"0x{reference.hex()}")


def _check_orders(review: PaymentReview) -> Iterator[Finding]:
    paid = set(review.order_numbers.values())
    for number, order in enumerate(review.orders):
        if number not in paid:
            payee = "a payee that it does not name" if order.payee is None else with_checksum(order.payee)
            amount = f"{shown(order.amount)} {shown(order.invoice_currency)}"
            yield finding("order_unpaid", number=number + 1, amount=amount, payee=payee)


def _check_payments(review: PaymentReview) -> Iterator[Finding]:
    for transaction, payment in review.payments:
        if id(payment) not in review.order_numbers:
            amount = format_effect_amount(payment, payment.amount or 0, review.token(payment.token))
            recipient = with_checksum(payment.recipient) or "an unknown wallet"
            found = finding("payment_unordered", transaction, amount=amount, recipient=recipient)
            yield from in_place(payment, [found])
