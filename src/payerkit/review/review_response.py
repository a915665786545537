"""Review the whole response: what else it holds to sign, and what contradicts the order or the transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.findings import Finding
from payerkit.onchain.amounts import positive_number
from payerkit.onchain.currencies import networks
from payerkit.review.chain_claims import chain_number, claimed_networks, is_chain_name, named_network, other_claims
from payerkit.review.orders import ExpectedPayment
from payerkit.review.paid_status import PaidStatus, read_number
from payerkit.review.payees import burned_at, known_contract_at
from payerkit.review.payment_review import PaymentReview, finding, shown
from payerkit.review.transactions import DecodedTransaction
from payerkit.review.whole_response import CALLDATA_NAMES, Member, comparable, plain_name, usable
from payerkit.wire import our_name
from payerkit.wording import listed

_MOST_NAMES = 10
"""Members that a finding names."""

_FEES = {
    f"metadata.{name}Fee{member}" for name in ("protocol", "platform") for member in ("", ".percentage", ".address")
}
"""The paths of the fees that the service declares, which the review of fees reads."""

_ID_DIGITS = (64, 66)
"""Hex digits of a hash, and of a request's id."""


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
    yield from _check_members(review)


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
    """Check what a response says of the request and the order, each beside its other statements."""
    if review.payment.payout is None:  # else they are compared with what was asked for
        yield from _compare_ids(review)
    yield from _check_paid(review)
    yield from _check_failure(review)
    if len(review.orders) == 1:
        yield from _compare_with_order(review, review.orders[0])


def _compare_ids(review: PaymentReview) -> Iterator[Finding]:
    """Compare the ids with each other, and the references; each may be stated more than once."""
    for name, key in (("request_id", "ids_differ"), ("payment_reference", "references_differ")):
        members = review.statements.get(name, [])
        if len({comparable(member.value) for member in members}) > 1:
            yield finding(key, fields=listed(shown(member.path) for member in members))


def _check_paid(review: PaymentReview) -> Iterator[Finding]:
    """Tell whether the request is paid already, as the response says, or the service when it was asked."""
    said, asked = PaidStatus.of(review.statements), review.paid
    if said.has_been_paid or (asked is not None and asked.has_been_paid):
        yield finding("paid_already")
        return
    if asked is not None:
        yield _asked_finding(review, asked)
    elif said.is_in_part:
        yield finding("paid_in_part.unasked")
    elif review.payment.payout is not None:
        yield finding("paid_unasked")
    for path, state in (*said.states, *(() if asked is None else asked.states)):
        if state.final or not state.basis:
            yield finding("status_told", field=shown(path), meaning=state.meaning)


def _asked_finding(review: PaymentReview, asked: PaidStatus) -> Finding:
    """Return the finding about a request that the service, when it was asked, does not call paid."""
    rest = asked.rest_of(review.ordered[0], review.policy) if len(review.ordered) == 1 else None
    if rest is not None:
        invoice = shown(review.ordered[0].invoice_currency)
        return finding("paid_in_part", paid=f"{asked.paid_amount:f} {invoice}", rest=f"{rest:f} {invoice}")
    if asked.is_in_part:
        return finding("paid_in_part.unknown")
    if asked.has_been_paid is None:
        return finding("paid_unknown", problem=shown(asked.problem, 300))
    return finding("paid_not_yet")


def _check_failure(review: PaymentReview) -> Iterator[Finding]:
    """Tell where a response says itself that something failed, or cannot be paid any more."""
    stated = review.statements.get
    failed = [each for each in stated("error", []) if not _is_nothing(each.value)]
    failed += [each for each in stated("success", []) if _is_nothing(each.value)]
    failed += [each for each in (*stated("http_status", []), *stated("status", [])) if _is_failure(each.value)]
    for member in failed:
        yield finding("response_failed", field=shown(member.path))


def _compare_with_order(review: PaymentReview, order: ExpectedPayment) -> Iterator[Finding]:
    """Compare what is stated with the order, and with what is left of it.

    An amount is that of the order in the response itself, in its metadata, and beside another member of orders: fees
    have amounts, too.
    """
    names = {*PAYMENT_ORDER.fields} - {"amount"}
    holders = {"", "metadata", *(each.holder for name in names for each in review.statements.get(name, ()))}
    for name in PAYMENT_ORDER.fields:
        read: Callable[[object], object] = positive_number if name == "amount" else comparable
        ordered = [read(value) for each in (order, *review.ordered) if (value := getattr(each, name)) is not None]
        for member in review.statements.get(name, []) if ordered else []:
            if (name != "amount" or member.holder in holders) and read(member.value) not in ordered:
                yield finding("order_differs", field=shown(member.path))


def _is_nothing(value: object) -> bool:
    """Return True if a value says no, also as text or as a number, or if it is empty."""
    return not value or (isinstance(value, str) and value.lower() in {"false", "no", "none", "null", "0"})


def _is_failure(value: object) -> bool:
    """Return True for a status code of HTTP that stands for an error, also as text, and for no."""
    number = read_number(value)
    return value is False or (number is not None and 400 <= number < 600)


def _check_types(review: PaymentReview) -> Iterator[Finding]:
    metadata = review.payment.metadata
    fees = [] if metadata is None else [name for name in metadata.odd if f"metadata.{name}" in _FEES]
    for name in (*review.payment.odd, *fees):  # what else is in the metadata is compared
        yield finding("type_unexpected", field=our_name(name))


def _check_members(review: PaymentReview) -> Iterator[Finding]:
    """Tell which members are unknown, and which hold what a wallet could use, wherever they stand.

    The members of transactions are told with these; of an unknown member, nothing inside it is called unknown.
    """
    known, whole = _known_hex(review), review.whole
    told = {path for path, _ in whole.transactions} | {f"transactions[{each.step}]" for each in whole.members}
    inside = {*told, *whole.typed_messages}  # what is told, or unknown as a whole
    held, unknown = list[str](), list[str]()
    for member in whole.members:
        if member.path not in whole.typed_messages and member.holder not in told:
            uses = [each for each in usable(member) if not _is_known(review, member, each, known)]
            held += [f"{shown(member.path)} ({_in_words(uses[0])})"] if uses else []
        if member.holder in inside:
            inside.add(member.path)
        elif member.path not in inside and not (member.role or member.path in _FEES or is_chain_name(member.name)):
            inside.add(member.path)
            unknown.append(shown(f"{member.holder}.{member.name}".removeprefix(".")))
    if unknown:
        yield finding("members_unknown", names=_first(unknown))
    if held:
        yield finding("members_usable", names=_first(held))


def _known_hex(review: PaymentReview) -> frozenset[str]:
    """Return the hex that the transactions, the orders, the ids, the payer's wallet and the policy have, without 0x."""
    payout, policy = review.payment.payout, review.policy
    ids = [review.payment.request_id] + ([] if payout is None else [payout.request_id])
    texts = [each for each in ids if each and len(each.lower().removeprefix("0x")) in _ID_DIGITS]
    texts += [] if payout is None else [payout.client_user_id, payout.reference or "", payout.wallet or ""]
    texts += [order.payee or "" for order in review.ordered]
    texts += [each.address for each in (*policy.fees, *(policy.addresses or ()))]
    texts += [each.spender for each in policy.allowances]
    for transaction in review.transactions:
        data = (transaction.data or "").removeprefix("0x")
        words = [data[place : place + 64] for place in range(8, len(data), 64)]
        texts += [transaction.to or "", data, *words, *(word[24:] for word in words if word.startswith("0" * 24))]
    return frozenset(text.lower().removeprefix("0x") for text in texts)


def _is_known(review: PaymentReview, member: Member, hex_or_words: str, known: frozenset[str]) -> bool:
    """Return True if what a wallet could use is no more than what was judged, or only reports."""
    is_report = member.role in {"report", "request_id"} and len(hex_or_words) in _ID_DIGITS
    is_compared = member.role == "payee" and len(review.orders) == 1 and review.orders[0].payee is not None
    is_compared |= is_chain_name(member.name) or member.path in _FEES
    is_value = member.plain == "hex" and member.step is not None  # of a transaction's native value
    if is_report or is_compared or is_value or hex_or_words in known:
        return True
    address = f"0x{hex_or_words}"
    return not hex_or_words.strip("0") or bool(known_contract_at(address, review.policy) or burned_at(address))


def _in_words(hex_or_words: str) -> str:
    """Return what a wallet could use in words."""
    if " " in hex_or_words:
        return hex_or_words
    return "an address" if len(hex_or_words) == 40 else f"{len(hex_or_words) // 2} bytes"


def _first(names: list[str]) -> str:
    """Return the first of the names, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
