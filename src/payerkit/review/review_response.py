"""Review the whole response: what else it holds to sign, and what contradicts the order or the transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from payerkit.findings import Finding
from payerkit.onchain.amounts import positive_number
from payerkit.onchain.networks import networks
from payerkit.review.chain_claims import chain_number, claimed_networks, is_chain_name, named_network, other_claims
from payerkit.review.orders import ExpectedPayment
from payerkit.review.payment_review import PaymentReview, finding, shown
from payerkit.review.transactions import DecodedTransaction
from payerkit.review.whole_response import CALLDATA_NAMES, Member, plain_name
from payerkit.wire import our_name
from payerkit.wording import listed

_MOST_NAMES = 10
"""Unknown members that a finding names."""

_OF_RESPONSE = {
    "requestid",
    "paymentreference",
    "transactions",
    "metadata",
    "paymentintent",
    "paymentintentid",
    "erc20approvaltransactions",
    "batchpaymenttransaction",
    "erc20batchpaymenttransaction",
    "ethbatchpaymenttransaction",
}
"""The members of responses in the specification and the operator's documentation, as plain names."""

_OF_METADATA = {
    "stepsrequired",
    "needsapproval",
    "approvaltransactionindex",
    "paymenttransactionindex",
    "hasenoughbalance",
    "hasenoughgas",
    "hasenoughallowance",
    "protocolfee",
    "platformfee",
    "quoteexpiresat",
    "routetype",
    "sourceamount",
}
"""Likewise of their metadata."""


_OF_ORDERS: Mapping[str, tuple[str, ...]] = {
    "payee": ("recipient", "payeeaddress", "recipientaddress"),
    "amount": (),
    "invoice_currency": (),
    "payment_currency": (),
}
"""The members of orders, with other plain names that a response may have for them."""


def review_response(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about a response as a whole."""
    if not review.whole.is_complete:
        yield finding("response_too_large")
    for name in review.payment.repeated:
        yield finding("member_repeated", field=shown(name))
    for path in review.whole.typed_messages:
        is_alone = plain_name(path) == "paymentintent" and not review.transactions
        yield finding("typed_message.intent" if is_alone else "typed_message", field=shown(path))
    read = {transaction.origin for transaction in review.payment.transactions}
    for transaction in review.transactions:
        if transaction.origin not in read:
            yield finding("elsewhere", transaction, field=shown(transaction.origin))
    yield from _check_chains(review)
    yield from _check_statements(review)
    yield from _check_types(review)
    yield from _check_unknown(review)


def review_members(transaction: DecodedTransaction) -> Iterator[Finding]:
    """Yield the findings about members of a transaction that are not in the specification, but that a wallet may use.

    Chain ids are left to the review of the whole response.
    """
    for name, value in transaction.extra_fields.items():
        if value is None or is_chain_name(name):
            continue
        if name not in CALLDATA_NAMES:
            yield finding("member_unknown", transaction, field=shown(name))
        elif value != transaction.data:
            yield finding("input_differs", transaction, field=name)


def _check_chains(review: PaymentReview) -> Iterator[Finding]:
    claimed = claimed_networks(review.chain_claims)
    if review.network is None and len(claimed) > 1:
        yield finding("chain_differs.several", networks=listed(claimed))
    for claim in (*review.chain_claims, *other_claims(review.whole)):
        if (key := _compare_chain(claim.value, review.network)) is not None:
            about = None if claim.step is None else review.transactions[claim.step]
            yield finding(key, about, field=shown(claim.path if about is None else claim.name))


def _compare_chain(value: object, expected: str | None) -> str | None:
    """Return the key of the finding about a claim; None if there is nothing to say about it."""
    named, number = named_network(value), chain_number(value)
    if named is not None:
        return "chain_differs" if expected not in {None, named.name} else None
    if number is None or expected is None:
        return "chain_unknown"
    return "chain_differs" if networks()[expected].chain_id is not None else "chain_unchecked"


def _check_statements(review: PaymentReview) -> Iterator[Finding]:
    """Check what response and metadata say about ids and the order, each beside its other statements."""
    stated: dict[str, list[Member]] = {}
    for member in _outer_members(review):
        if member.value is not None:
            stated.setdefault(plain_name(member.name), []).append(member)
    yield from _compare_ids(stated)
    yield from _check_paid(review)
    if len(review.orders) == 1:
        yield from _compare_with_order(review.orders[0], stated)


def _check_paid(review: PaymentReview) -> Iterator[Finding]:
    """Tell whether the request is paid already, as the response says, or the service when it was asked."""
    says_paid = any(plain_name(each.name) == "hasbeenpaid" and _is_true(each.value) for each in review.whole.members)
    asked = review.paid
    if says_paid or (asked is not None and asked.has_been_paid):
        yield finding("paid_already")
    elif asked is not None and asked.has_been_paid is None:
        yield finding("paid_unknown", problem=shown(asked.problem, 300))
    elif asked is not None:
        yield finding("paid_not_yet")
    elif review.payment.payout is not None:
        yield finding("paid_unasked")


def _compare_ids(stated: Mapping[str, list[Member]]) -> Iterator[Finding]:
    """Compare the ids with each other, and the references; each may be stated more than once."""
    for name, key in (("requestid", "ids_differ"), ("paymentreference", "references_differ")):
        members = stated.get(name, [])
        if len({_comparable(member.value) for member in members}) > 1:
            yield finding(key, fields=listed(shown(member.path) for member in members))


def _compare_with_order(order: ExpectedPayment, stated: Mapping[str, list[Member]]) -> Iterator[Finding]:
    for name, others in _OF_ORDERS.items():
        read: Callable[[object], object] = positive_number if name == "amount" else _comparable
        ordered = getattr(order, name)
        for member in (each for other in (plain_name(name), *others) for each in stated.get(other, [])):
            if ordered is not None and read(member.value) != read(ordered):
                yield finding("order_differs", field=shown(member.path))


def _is_true(value: object) -> bool:
    """Return True if a value says yes, also as text or as a number."""
    return value is True or value == 1 or (isinstance(value, str) and value.lower() == "true")


def _comparable(value: object) -> object:
    """Return a value as it is compared; an object or list is only equal to others of its kind."""
    if isinstance(value, str):
        return value.lower()
    return value if isinstance(value, int | float) else type(value)


def _outer_members(review: PaymentReview) -> list[Member]:
    """Return the members of the response itself and of its metadata."""
    return [member for member in review.whole.members if member.holder in {"", "metadata"}]


def _check_types(review: PaymentReview) -> Iterator[Finding]:
    metadata = review.payment.metadata
    for name in (*review.payment.odd, *(() if metadata is None else metadata.odd)):
        yield finding("type_unexpected", field=our_name(name))


def _check_unknown(review: PaymentReview) -> Iterator[Finding]:
    unknown = [
        shown(f"{member.holder}.{member.name}".removeprefix("."))
        for member in _outer_members(review)
        if plain_name(member.name) not in (_OF_METADATA if member.holder else _OF_RESPONSE)
        and not is_chain_name(member.name)
    ]
    if unknown:
        more = len(unknown) - _MOST_NAMES
        names = ", ".join(unknown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        yield finding("members_unknown", names=names)
