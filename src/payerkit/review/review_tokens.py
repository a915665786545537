"""Review which tokens are paid and approved, also tokens that are newer than the token list."""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding
from payerkit.html import visible
from payerkit.onchain.addresses import is_same, with_checksum
from payerkit.onchain.currencies import Currency, is_currency_id, network_in_id, networks
from payerkit.onchain.effects import NATIVE, Effect
from payerkit.policy.further_tokens import symbol_in
from payerkit.policy.payment_policy import token_line
from payerkit.review.orders import ExpectedPayment
from payerkit.review.payment_review import PaymentReview, finding
from payerkit.review.transactions import DecodedTransaction


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


def review_token(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    """Yield the finding about the token of a payment; none without a network."""
    if review.network is None:
        return
    order = review.order_of(payment)
    token, expected = review.token(payment.token), review.currency(order)
    is_unlisted = order is not None and expected is None and network_in_id(order.payment_currency) is not None
    if order is not None and payment.token is not None and is_unlisted:
        yield _compare_with_unlisted(review, transaction, payment.token, token, order)
    elif token is None:
        yield finding("token_unknown", transaction, network=review.network)
    elif expected and token != expected:
        yield finding("token_differs", transaction, token=token.id, expected=expected.id)
    else:
        yield finding("token_matches", transaction, token=token.id)


def _compare_with_unlisted(
    review: PaymentReview, transaction: DecodedTransaction, address: str, token: Currency | None, order: ExpectedPayment
) -> Finding:
    """Compare the token of a payment with a currency of the order that the token list does not have.

    The service's list moves on: such a currency may be new, or have another id in the list.
    """
    network, currency = str(review.network), visible(order.payment_currency)
    if token is None and address == NATIVE:
        return finding("token_unlisted.coin", transaction, network=network, currency=currency)
    if token is None:
        lines = "\n" + token_line(currency, network, address, None)
        return finding("token_unlisted", transaction, address=with_checksum(address), currency=currency, lines=lines)
    is_same_symbol = symbol_in(currency, network).lower() == token.symbol.lower()
    if token.kind != "erc20" or not (is_same_symbol or networks()[network].is_test):
        return finding("token_differs", transaction, token=token.id, expected=currency)
    lines = "\n" + token_line(currency, network, token.address, token.decimals)
    return finding("token_renamed", transaction, token=token.id, currency=currency, lines=lines)


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
    return any(is_same(payment.token, token) for _, payment in review.payments)
