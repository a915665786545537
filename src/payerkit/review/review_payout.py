"""Review the bank account that a payment pays out to: its status, its currency, and the least that reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from payerkit.checks.requirements import least_amount
from payerkit.explanations import explain_word
from payerkit.findings import Finding
from payerkit.onchain.amounts import format_number, positive_number
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy
from payerkit.review.orders import ExpectedPayment
from payerkit.review.payment_review import PaymentReview, finding, shown
from payerkit.review.protocols import PayoutLike
from payerkit.review.review_amounts import peg_of
from payerkit.review.whole_response import comparable

_ASKED = {"request_id": "request", "payment_details_id": "account", "client_user_id": "payer"}
_ASKED |= {"reference": "reference", "payment_reference": "payment reference"}
"""What a payout asked for, by our names, in words."""

_IN_HEX = {"request_id", "payment_reference"}
"""Of these, capital and small letters are the same."""


def review_payout(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the bank account, if the payment pays out to one."""
    payout = review.payment.payout
    if payout is None:
        return
    yield finding("payout_account", account=review.account)
    if payout.also_listed:
        yield finding("account_repeated", others=shown(payout.also_listed, 160))
    yield from _compare_with_asked(review, payout)
    status = explain_word(payout.status, "account")
    if not status.is_passed:
        yield finding("account_status", meaning=status.meaning, advice=status.what_to_do)
    if len(review.orders) == 1 and payout.currency:
        yield from _compare_currencies(review.orders[0], payout, review.policy)


def _compare_with_asked(review: PaymentReview, payout: PayoutLike) -> Iterator[Finding]:
    """Compare what the response says of request, account, payer and references with what was asked for.

    The reference of the response itself is compared with those of the transactions.
    """
    for name, what in _ASKED.items():
        asked: list[object] = [getattr(payout, name)]
        if name == "reference":  # some call that of the payment so, too
            asked.append(payout.payment_reference)
        for member in review.statements.get(name, []) if asked[0] else []:
            values = [member.value, *asked]
            said, *same = map(comparable, values) if name in _IN_HEX else values
            if said not in same and member.path != "paymentReference":
                yield finding("request_differs", field=shown(member.path), what=what)


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
