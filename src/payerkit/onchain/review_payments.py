"""Review one payment of a call: its recipient, token, amount, fee and reference."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_UP, Context, Decimal

from payerkit.findings import Finding
from payerkit.onchain.addresses import is_same
from payerkit.onchain.amounts import EXACT, format_amount, positive_number, to_units
from payerkit.onchain.currencies import Currency, currency_hash, request_decimals
from payerkit.onchain.effects import Effect
from payerkit.onchain.functions import EffectKind
from payerkit.onchain.review_base import UNLIMITED, PaymentReview, finding
from payerkit.onchain.review_fees import review_fee
from payerkit.onchain.review_payee import review_payee
from payerkit.onchain.review_tokens import review_token
from payerkit.onchain.transactions import DecodedTransaction

_TOLERANCE = Decimal("0.01")
"""Share by which an amount may differ from the given rate, as rates change from minute to minute."""


def review_payment(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about a payment."""
    yield from review_payee(review, transaction, payment)
    yield from review_token(review, transaction, payment)
    yield from _check_amount(review, transaction, payment)
    yield from review_fee(review, transaction, payment)
    yield _check_reference(review, transaction, payment)
    if payment.revert_reason:
        yield finding("would_fail", transaction, reason=payment.revert_reason)
    if payment.kind != EffectKind.TRANSFER:
        yield finding("other_way", transaction, effect=payment.kind.value)
    if payment.place is not None:
        yield finding("batch", transaction)
    if payment.unit == "request":
        yield _check_maximum(review, transaction, payment)


def _check_amount(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    if payment.amount is None:
        yield finding("amount_unknown", transaction)
        return
    if payment.amount == 0:
        yield finding("amount_zero", transaction)
    order = review.order_of(payment)
    currency = review.currency(order)
    if order is None or currency is None:
        yield finding("amount_unchecked.no_order", transaction)
        return
    expected, invoice = positive_number(order.amount), review.policy.find_currency(order.invoice_currency)
    if expected is None:
        yield finding("order_amount", transaction)
    elif invoice is None:
        yield finding("amount_unchecked.invoice", transaction)
    elif payment.unit == "request":
        yield _compare_request(transaction, payment, expected, invoice)
    elif invoice == currency:
        yield _compare_exactly(transaction, payment.amount, expected, invoice)
    else:
        rate = review.rate_of(order)
        yield _compare_by_rate(transaction, payment.amount, expected, invoice, token=currency, rate=rate)


def _compare_exactly(transaction: DecodedTransaction, paid: int, expected: Decimal, token: Currency) -> Finding:
    if EXACT.multiply(expected, Decimal(10) ** token.decimals) == paid:
        return finding("amount_matches", transaction)
    words = {"paid": format_amount(paid, token), "expected": f"{expected:f} {token.id}"}
    return finding("amount_differs", transaction, **words)


def _compare_by_rate(
    transaction: DecodedTransaction,
    paid: int,
    expected: Decimal,
    invoice: Currency,
    *,
    token: Currency,
    rate: Decimal | None,
) -> Finding:
    if rate is None:
        price = EXACT.divide(expected, to_units(paid, token.decimals) or Decimal(1)).normalize(Context(prec=8))
        words = {"expected": f"{expected:f} {invoice.id}", "price": f"{price:f} {invoice.id} per {token.symbol}"}
        return finding("amount_unchecked", transaction, paid=format_amount(paid, token), **words)
    exact = EXACT.multiply(EXACT.divide(expected, rate), Decimal(10) ** token.decimals)
    difference = abs(paid - exact)
    if difference < 1:  # rounded up or down
        return finding("amount_matches", transaction)
    due = int(exact.to_integral_value(ROUND_UP))
    key = "amount_off_rate" if EXACT.divide(difference, exact) <= _TOLERANCE else "amount_differs.rate"
    return finding(key, transaction, paid=format_amount(paid, token), expected=format_amount(due, token))


def _compare_request(transaction: DecodedTransaction, payment: Effect, expected: Decimal, invoice: Currency) -> Finding:
    """Compare a payment that is converted on execution: its amount is in the invoice currency."""
    named = invoice.address if invoice.kind == "erc20" else currency_hash(invoice)
    if not payment.path or not is_same(payment.path[0], named):
        return finding("amount_differs.currency", transaction, currency=invoice.id)
    if EXACT.multiply(expected, Decimal(10) ** request_decimals(invoice)) != payment.amount:
        return finding("amount_differs.request", transaction, expected=f"{expected:f} {invoice.id}")
    return finding("amount_converted" if len(payment.path) > 1 else "amount_differs.path", transaction)


def _check_maximum(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Finding:
    most = transaction.value if payment.max_to_spend is None else payment.max_to_spend
    token = review.token(payment.token)
    maximum = "any amount" if most is None or most == UNLIMITED else f"up to {format_amount(most, token)}"
    age = "" if payment.max_rate_age else " The rate may be of any age."
    return finding("max_to_spend", transaction, maximum=maximum, age=age)


def _check_reference(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Finding:
    expected = review.payment.payment_reference
    if payment.reference is None:
        return finding("reference_missing", transaction)
    if len(payment.reference) != 8:
        return finding("reference_malformed", transaction)
    if expected is None:
        return finding("reference_unchecked", transaction)
    is_match = f"0x{payment.reference.hex()}" == expected.lower()
    return finding("reference_matches" if is_match else "reference_differs", transaction)
