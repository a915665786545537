"""Compare the transactions of a payment with its order, and report every match and mismatch."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from payerkit.errors import without_internal_frames
from payerkit.findings import Finding, PaymentFindings
from payerkit.models.compared_with import KnowsPaid
from payerkit.models.payments import Payment
from payerkit.onchain.addresses import address_problem
from payerkit.onchain.calldata import NOTES, EffectKind
from payerkit.onchain.currencies import deployments_at, networks
from payerkit.onchain.effects import Effect
from payerkit.payment.amounts import review_amount, review_maximum, review_value
from payerkit.payment.fees import review_fees
from payerkit.payment.orders import review_orders
from payerkit.payment.payees import review_approval, review_payee, review_terms, review_token, review_token_contract
from payerkit.payment.payment_review import PaymentReview
from payerkit.payment.response import review_members, review_metadata, review_payout, review_response
from payerkit.payment.transactions import DecodedTransaction, contract_at, finding, network_of
from payerkit.policy.payment_policy import PaymentPolicy

if TYPE_CHECKING:
    from payerkit.models.compared_with import AnyOrder, Orders


MAX_TRANSACTIONS = 50
"""Transactions that are checked; a payment has a few, and more only make the user wait."""

MAX_EFFECTS = 1000
"""Payments and approvals that are checked; the service pays at most 200 at once (operator's documentation)."""


@without_internal_frames
def check_payment(  # noqa: PLR0913 - what a payment is compared with, each by name
    payment: Payment,
    order: AnyOrder | None = None,
    *,
    orders: Orders | None = None,
    rate: Decimal | int | str | None = None,
    network: str | None = None,
    policy: PaymentPolicy | None = None,
    now: datetime | None = None,
    client: KnowsPaid | None = None,
) -> PaymentFindings:
    """Compare the transactions of a payment with its order before anyone signs; works offline, without a client.

    It cannot know who controls an address, whether the wallet has enough money, and whether a contract has changed.

    Args:
        payment: A `Payment`, from `initiate_payment` or `read_payment`.
        order: A `PaymentOrder`, or a dict or Series with its fields; by default, the order that the payment remembers.
            It need not name a payee, as an order that pays out to a bank account does not. A dict or Series may also
            have the `payment_reference`, for a response that does not have it.
        orders: For a response that pays several at once: a DataFrame with one order a line (`payee`, `amount`,
            `invoice_currency`, `payment_currency`, and optionally `payment_reference`), or a list of orders. Each
            has to be paid once, and nothing else.
        rate: The price of one unit of the payment currency in the invoice currency, such as "2500" for an invoice in
            USD that is paid in ETH. Without it, the amount is only checked if both currencies are the same.
        network: The network that the transactions are for, such as "matic"; by default, that of the order, else the
            one that the response names.
        policy: What you agreed to once, for all payments: fees, allowances, known addresses, rates and tokens.
        now: The time to compare with, for a response that expires; by default, the clock's.
        client: From `connect()` or `sandbox()`. The service is then asked whether the request is paid already, by
            `GET /v2/request/{requestId}`, **beyond the specification**: if it is, the verdict is "stop"; if that is
            not known, "look". If a part is paid, the payment is compared with the rest.

    Returns:
        All findings: what is wrong with an amount first, then those about the whole payment, then by transaction.
            `.verdict` is "ok" if everything that can be checked matches, "look" if a person must decide, and "stop" if
            something contradicts the order.

    Raises:
        InvalidInput: An argument has another type than described, the order has a member that is not compared, the
            rate is not positive, the network is not known, `now` has no time zone, `client` is not a client, or the
            policy's `rate_source` raises something.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> check_payment(payment, rate="2500").verdict  # it carries a fee, which the order does not name
        'look'
        >>> check_payment(payment, {**order, "amount": "11"}, rate="2500").errors
        STOP: 1 error.
          transaction 1   error    amount: The amount is 0.004 ETH-sepolia-sepolia; by the given rate,
          0.0044 ETH-sepolia-sepolia. That is 9.1 % too little. Compare the rate with a second source. If it is right,
          ask for a new payment; if not, give a newer one.  [amount_differs: order]
    """
    return review_findings(
        PaymentReview(
            payment, order=order, orders=orders, rate=rate, network=network, policy=policy, now=now, client=client
        )
    )


def review_findings(review: PaymentReview) -> PaymentFindings:
    """Return the findings about a payment with what it is compared with."""
    if len(review.transactions) > MAX_TRANSACTIONS:
        return PaymentFindings([finding("too_many", count=len(review.transactions), limit=MAX_TRANSACTIONS)])
    effects = sum(len(each.effects) for each in review.transactions)
    if effects > MAX_EFFECTS:
        return PaymentFindings([finding("too_many.effects", count=effects, limit=MAX_EFFECTS)])
    found = [*_check_whole(review), *review_payout(review), *review_response(review), *review_metadata(review)]
    for transaction in review.transactions:
        found += _check_transaction(review, transaction)
    found += review_fees(review)
    return PaymentFindings(sorted(found, key=_place))


def _place(found: Finding) -> int:
    """Return where a finding stands: what is paid too much or too little comes first, then the whole payment."""
    if found.field == "amount" and found.severity != "info" and not found.unchecked:
        return -2
    return -1 if found.step is None else found.step


def _check_whole(review: PaymentReview) -> Iterator[Finding]:
    """Check what is not about one transaction: the orders, the network, and how many payments there are."""
    if not review.orders:
        yield finding("no_order")
    yield from _check_network(review)
    yield from review_terms(review)
    if not review.payments:
        yield finding("no_payment")
    if len(review.orders) > 1:
        yield from review_orders(review)
    elif len(review.payments) > 1:
        key = "several_payments" if review.orders else "several_payments.no_order"
        yield finding(key, count=len(review.payments))


def _check_network(review: PaymentReview) -> Iterator[Finding]:
    of_orders = sorted({of for order in review.orders if (of := network_of(order, review.policy))})
    if len(of_orders) > 1:
        yield finding("network_differs.orders", networks=", ".join(of_orders))
    elif review.given_network and of_orders and [review.given_network] != of_orders:
        yield finding("network_differs", expected=of_orders[0], given=review.given_network)
    if review.network is None:
        yield finding("network_unknown")
    else:
        yield finding("network", network=networks()[review.network])


def _check_transaction(review: PaymentReview, transaction: DecodedTransaction) -> Iterator[Finding]:
    yield from _check_calldata(review, transaction)
    yield from _check_contract(review, transaction)
    yield from review_value(review, transaction)
    yield from review_members(transaction)
    if transaction.call.arguments is not None and not transaction.effects:
        yield finding("empty_batch", transaction)
    for effect in transaction.effects:
        if effect.kind == EffectKind.APPROVE:
            yield from review_approval(review, effect)
        elif effect.at in review.fee_legs:
            # Its share is one of all fees.
            is_known = effect.reference is None or any(effect.reference == each.reference for each in review.payments)
            yield finding("fee_leg" if is_known else "fee_leg.reference", effect)
            yield from _check_execution(review, effect)
        elif effect.is_payment:
            yield from _check_payment(review, effect)
        else:
            yield finding("other_function", transaction, effect=effect.kind.value)


def _check_calldata(review: PaymentReview, transaction: DecodedTransaction) -> Iterator[Finding]:
    code, data = transaction.call.code, transaction.data
    if data and not data.startswith("0x"):
        yield finding("data_prefix", transaction)
    is_fee = any(effect.at in review.fee_legs for effect in transaction.effects)
    if code and not (is_fee and code in {"empty", "reference_only"}):
        keys = {"not_canonical": "not_canonical", "empty": "plain_transfer", "reference_only": "plain_transfer"}
        yield finding(keys.get(code, "unreadable_data"), transaction, note=NOTES[code])


def _check_contract(review: PaymentReview, transaction: DecodedTransaction) -> Iterator[Finding]:
    problem = address_problem(transaction.to)
    if problem:
        yield finding(problem, transaction)
    function = transaction.call.function
    if function is None or review.network is None or problem == "address_malformed":
        return
    if function.contracts == ("ERC20",):
        yield review_token_contract(review, transaction)
        return
    others = ", ".join(sorted({each.network for each in deployments_at(transaction.to)} - {review.network}))
    found = contract_at(transaction.to, review.network, function.contracts)
    if found and found.contract in function.contracts:
        yield finding("contract", transaction, contract=f"{found.contract} {found.version}", network=review.network)
        if function.payable and others:
            yield finding("other_networks", transaction, networks=others)
    else:
        known = f" It is {found.contract}." if found else ""
        known += f" It is a known contract on {others}." if others else ""
        yield finding("contract_unknown", transaction, network=review.network, known=known)


def _check_payment(review: PaymentReview, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about a payment."""
    yield from review_payee(review, payment)
    yield from review_token(review, payment)
    yield from review_amount(review, payment)
    yield from _check_reference(review, payment)
    if payment.kind != EffectKind.TRANSFER:
        yield finding("other_way", payment, effect=payment.kind.value)
    yield from _check_execution(review, payment)


def _check_execution(review: PaymentReview, payment: Effect) -> Iterator[Finding]:
    if payment.revert_reason:
        yield finding("would_fail", payment, reason=payment.revert_reason)
    if payment.kept_reason:
        yield finding("kept_back", payment, reason=payment.kept_reason)
    if payment.unit == "request":
        yield review_maximum(review, payment)
    elif payment.max_to_spend or payment.max_rate_age:
        yield finding("maximum_unread", payment)


def _check_reference(review: PaymentReview, payment: Effect) -> Iterator[Finding]:
    if payment.reference is None:
        yield finding("reference_missing", payment)
        return
    if payment.reference and not any(payment.reference):
        yield finding("reference_zero", payment)
    if len(payment.reference) != 8:
        yield finding("reference_malformed", payment)
        return
    order, payout = review.order_of(payment), review.payment.payout
    ordered = None if order is None else order.payment_reference
    requested = None if payout is None else payout.payment_reference
    told = review.payment.payment_reference
    sources = [
        (ordered, "reference_matches.order", "reference_differs.order"),
        (requested, "reference_matches.request", "reference_differs.request"),
        (None if told == requested else told, "reference_matches", "reference_differs"),
    ]
    for reference, matches, differs in sources:
        if reference is not None:
            is_match = reference.lower() == f"0x{payment.reference.hex()}"
            yield finding(matches if is_match else differs, payment)
    if all(reference is None for reference, *_ in sources):
        yield finding("reference_unchecked", payment)
