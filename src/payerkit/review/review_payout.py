"""Review the bank account that a payment pays out to: its status, its currency, and the least that reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from payerkit.checks.least_amounts import least_amount
from payerkit.explanations import explain_word
from payerkit.findings import Finding
from payerkit.onchain.amounts import format_number, positive_number
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy
from payerkit.review.orders import ExpectedPayment
from payerkit.review.payment_review import PaymentReview, finding, shown
from payerkit.review.protocols import PayoutLike
from payerkit.review.review_amounts import peg_of


def review_payout(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the bank account, if the payment pays out to one."""
    payout = review.payment.payout
    if payout is None:
        return
    yield finding("payout_account", account=review.account)
    if review.payment.request_id != payout.request_id:
        yield finding("request_differs")
    status = explain_word(payout.status, "account")
    if not status.is_passed:
        yield finding("account_status", meaning=status.meaning, advice=status.what_to_do)
    if len(review.orders) == 1 and payout.currency:
        yield from _compare_currencies(review.orders[0], payout, review.policy)


def _compare_currencies(order: ExpectedPayment, payout: PayoutLike, policy: PaymentPolicy) -> Iterator[Finding]:
    invoice, currency = shown(order.invoice_currency), shown(str(payout.currency)).upper()
    if _worth(order.invoice_currency, policy) != currency:
        yield finding("account_currency", invoice=invoice, currency=currency)
    elif (least := least_above(order.amount, order.invoice_currency, payout, policy)) is not None:
        amount, rails = f"{shown(order.amount)} {invoice}", f" by {shown(payout.rails)}" if payout.rails else ""
        yield finding("amount_least", least=f"{format_number(least)} {currency}", amount=amount, rails=rails)


def least_above(
    amount: str, invoice_currency: str, payout: PayoutLike, policy: PaymentPolicy = NO_POLICY
) -> Decimal | None:
    """Return the least amount that reaches an account if an order is below it; None if it is not, or nobody knows."""
    asked, least = positive_number(amount), least_amount(payout.currency, payout.rails)
    if asked is None or least is None or _worth(invoice_currency, policy) != (payout.currency or "").upper():
        return None
    return least if asked < least else None


def _worth(currency: str, policy: PaymentPolicy) -> str | None:
    """Return the fiat currency that a currency is, or is pegged to; None for a coin or another token."""
    found = policy.find_currency(currency)
    return currency.upper() if found is None else peg_of(found)
