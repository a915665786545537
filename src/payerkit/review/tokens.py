"""Review which tokens are paid and approved, and who may take how many of them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from payerkit.findings import Finding
from payerkit.html import visible
from payerkit.models.compared_with import OrderTerms
from payerkit.onchain.addresses import is_same, with_checksum
from payerkit.onchain.amounts import EXACT, share_of, to_units
from payerkit.onchain.calldata import EffectKind
from payerkit.onchain.currencies import Currency, is_currency_id, network_in_id, networks
from payerkit.onchain.effects import NATIVE, Effect
from payerkit.policy.payment_policy import allowance_line, symbol_in, token_line
from payerkit.review.payment_review import PaymentReview
from payerkit.review.transactions import UNLIMITED, DecodedTransaction, finding


def review_order_currencies(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the ids of the currencies that the orders name, and about those that are to be paid."""
    fields = "invoice_currency", "payment_currency"
    for field, name in dict.fromkeys((field, getattr(order, field)) for order in review.orders for field in fields):
        currency, network = review.policy.find_currency(name), network_in_id(name)
        if not is_currency_id(name):
            yield finding("currency_form", field=field, currency=ascii(name)[1:-1][:80])
        elif field == "invoice_currency":
            continue
        elif (currency.network if currency else network and network.name) == "tron":
            yield finding("network_unsupported")
        elif currency is None and network is None:
            yield finding("currency_unknown")
        elif currency is None and network is not None:
            yield finding("currency_unlisted", currency=visible(name), network=network.name)


def review_token(review: PaymentReview, payment: Effect) -> Iterator[Finding]:
    """Yield the finding about the token of a payment; none without a network."""
    if review.network is None:
        return
    order = review.order_of(payment)
    token, expected = review.token(payment.token), review.currency(order)
    is_unlisted = order is not None and expected is None and network_in_id(order.payment_currency) is not None
    if order is not None and payment.token is not None and is_unlisted:
        yield _compare_with_unlisted(review, payment, token, order)
    elif token is None:
        yield finding("token_unknown", payment, network=review.network)
    elif expected and token != expected:
        yield finding("token_differs", payment, token=token.id, expected=expected.id)
    else:
        yield finding("token_matches", payment, token=token.id)


def _compare_with_unlisted(
    review: PaymentReview, payment: Effect, token: Currency | None, order: OrderTerms
) -> Finding:
    """Compare the token of a payment with a currency of the order that the token list does not have.

    The service's list moves on: such a currency may be new, or have another id in the list.
    """
    network, address = str(review.network), str(payment.token)
    currency = visible(order.payment_currency)
    if token is None and address == NATIVE:
        return finding("token_unlisted.coin", payment, network=network, currency=currency)
    if token is None:
        lines = token_line(currency, network, address, None)
        return finding("token_unlisted", payment, address=with_checksum(address), currency=currency, policy_lines=lines)
    is_same_symbol = symbol_in(currency, network).lower() == token.symbol.lower()
    if token.kind != "erc20" or not (is_same_symbol or networks()[network].is_test):
        return finding("token_differs", payment, token=token.id, expected=currency)
    lines = token_line(currency, network, token.address, token.decimals)
    return finding("token_renamed", payment, token=token.id, currency=currency, policy_lines=lines)


def review_token_contract(review: PaymentReview, transaction: DecodedTransaction) -> Finding:
    """Return the finding about a transaction that goes to a token, such as an approval."""
    token = review.token(transaction.to)
    expected = {currency.id: currency for order in review.orders if (currency := review.currency(order))}
    if token is None and _is_paid(review, transaction.to):
        return finding("token.unlisted", transaction)
    if token is None:
        return finding("token_unknown.contract", transaction, network=review.network)
    if expected and token not in expected.values():
        return finding("token_differs.contract", transaction, token=token.id, expected=" or ".join(expected))
    return finding("token", transaction, token=token.id)


def _is_paid(review: PaymentReview, token: str | None) -> bool:
    """Return True if a payment is in a token: what is wrong with the token is told there."""
    return any(is_same(payment.token, token) for payment in review.payments)


def review_approval(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> Iterator[Finding]:
    """Yield the findings about an approval."""
    paying = [payment.step for payment in _spending(review, approval)]
    if not paying:
        yield finding("spender_differs", transaction)
        return
    yield finding("spender", transaction)
    later = [index for index in paying if index > transaction.index]
    if later and next(_replacing(review, transaction, approval), later[0]) < later[0]:
        yield finding("allowance_reset.replaced" if approval.allowance else "allowance_reset", transaction)
    elif not later and not approval.allowance:
        yield finding("allowance_taken_back", transaction)
    else:
        yield _check_allowance(review, transaction, approval, is_late=not later)


def _spending(review: PaymentReview, approval: Effect) -> list[Effect]:
    """Return the payments that use an allowance: their contract is its spender.

    A plain transfer needs no allowance, neither of the token that makes it nor of the wallet that receives coins.
    """
    return [
        payment
        for other in review.transactions
        if is_same(other.to, approval.spender) and other.call.function and other.call.function.contracts != ("ERC20",)
        for payment in other.effects
        if payment.is_payment
    ]


def _check_allowance(
    review: PaymentReview, transaction: DecodedTransaction, approval: Effect, *, is_late: bool
) -> Finding:
    key = "allowance_late" if is_late else _compare_allowance(review, transaction, approval)
    if key not in _MORE_THAN_NEEDED:
        return finding(key, transaction)
    if _is_accepted(review, transaction, approval):
        return finding("allowance_accepted", transaction)
    token = review.token(transaction.to)
    if token is None or approval.spender is None:  # a policy names tokens by their ids
        return finding(key, transaction, lines=" its token, then this allowance.")
    most = None if approval.allowance == UNLIMITED else to_units(approval.allowance, token.decimals)
    return finding(key, transaction, policy_lines=allowance_line(token.id, approval.spender, most))


_MORE_THAN_NEEDED = {"allowance_late", "allowance_unlimited", "allowance_unchecked", "allowance_large"}
"""What a policy may accept: an allowance that is, or may be, more than the payments need."""


def _compare_allowance(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> str:
    """Return the key of the finding."""
    allowance, needed = approval.allowance or 0, _needed(review, transaction, approval)
    if allowance == UNLIMITED:
        return "allowance_unlimited"
    if needed is None:
        return "allowance_unchecked"
    least, most = needed
    if allowance < least:
        return "allowance_small"
    if allowance > most:
        return "allowance_large"
    return "allowance_exact" if allowance == least else "allowance_exact.batch"


def _needed(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> tuple[int, int] | None:
    """Return how much of the approved token the payments need, without and with the agreed fee of a batch contract.

    These are the payments up to the next approval, which replaces this one. None if the calldata does not tell.
    """
    end = next(_replacing(review, transaction, approval), len(review.transactions))
    payments = [
        payment
        for payment in _spending(review, approval)
        if transaction.index < payment.step < end and is_same(payment.token, transaction.to)
    ]
    needs = [
        payment.max_to_spend if payment.unit == "request" else (payment.amount or 0) + (payment.fee or 0)
        for payment in payments
    ]
    known = [need for need in needs if need is not None]
    if not known or len(known) < len(needs):
        return None
    in_batch = sum(payment.amount or 0 for payment in payments if payment.place is not None and payment.unit == "token")
    return sum(known), sum(known) + share_of(in_batch, review.policy.batch_fee)


def _is_accepted(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> bool:
    """Return True if the policy accepts an allowance of this size."""
    token = review.token(transaction.to)
    accepted = token and review.policy.accepted_allowance(token.id, approval.spender)
    if not token or not accepted:
        return False
    most = accepted.most
    return most is None or (approval.allowance or 0) <= EXACT.multiply(most, Decimal(10) ** token.decimals)


def _replacing(review: PaymentReview, transaction: DecodedTransaction, approval: Effect) -> Iterator[int]:
    """Yield the indexes of later transactions that approve the same token for the same spender."""
    for other in review.transactions[transaction.index + 1 :]:
        is_approval = any(
            effect.kind == EffectKind.APPROVE and is_same(effect.spender, approval.spender) for effect in other.effects
        )
        if is_approval and is_same(other.to, transaction.to):
            yield other.index
