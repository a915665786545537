"""Check the whole response: what else it holds, and what contradicts the order or the
transactions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from payerkit.findings import Finding, payment_finding
from payerkit.models.payments import Payment
from payerkit.models.requests import PaymentOrder
from payerkit.models.whole_response import (
    Member,
    chain_number,
    comparable,
    named_network,
    plain_name,
)
from payerkit.payments.against import Against
from payerkit.payments.effects import Effects
from payerkit.payments.onchain.calldata import EffectKind
from payerkit.payments.onchain.currencies import Network, networks
from payerkit.payments.paid import PaidStatus, read_number
from payerkit.payments.payout import check_payout
from payerkit.payments.unread import FEE_PATHS, MOST_NAMES, check_unread
from payerkit.wire import our_name, read_time
from payerkit.wording import listed, shown

Statements = defaultdict[str, list[Member]]
"""What a response says about the request and its payment, by the roles in
`members.tsv`.
"""


def check_response(effects: Effects, against: Against) -> Iterator[Finding]:
    """Yield the findings about a response as a whole: the bank account that it pays out
    to, what else it holds, and what it says of the request and its transactions.
    """
    payment = effects.payment
    request_id = payment.request_id
    if payment.payout is not None:
        request_id = payment.payout.request_id
    statements = payment.whole.statements(request_id)
    if payment.payout is not None:
        yield from check_payout(payment.payout, payment.whole, statements, against)
    yield from _check_whole(effects)
    yield from _check_chains(effects, against)
    if payment.payout is None:  # else they are compared with what was asked for
        yield from _compare_ids(statements)
    yield from _check_paid(effects, against, statements)
    yield from _check_failure(statements)
    if len(against.orders) == 1:
        yield from _compare_with_order(against, statements)
    yield from _check_types(payment)
    yield from check_unread(effects, against)
    yield from _check_claims(effects, statements)
    yield from _check_expiry(against, statements)


def _check_whole(effects: Effects) -> Iterator[Finding]:
    """Yield the findings about what a response holds beside its transactions."""
    payment = effects.payment
    whole = effects.payment.whole
    if not whole.is_complete:
        yield payment_finding("response_too_large")
    for name in payment.repeated[:MOST_NAMES]:
        yield payment_finding("member_repeated", field=shown(name))
    for path in whole.typed_messages:
        is_alone = plain_name(path) == "paymentintent" and not effects.transactions
        yield payment_finding(
            "typed_message.intent" if is_alone else "typed_message", field=shown(path)
        )
    for transaction in effects.transactions[len(payment.transactions) :]:
        yield payment_finding("elsewhere", transaction, field=shown(transaction.origin))


def _compare_ids(statements: Statements) -> Iterator[Finding]:
    """Yield findings about a response that has several ids or references."""
    keys = {"request_id": "ids_differ", "payment_reference": "references_differ"}
    for name, key in keys.items():
        members = statements[name]
        if len({comparable(member.value) for member in members}) > 1:
            paths = [shown(member.path) for member in members]
            yield payment_finding(key, fields=listed(paths))


def _check_types(payment: Payment) -> Iterator[Finding]:
    """Yield findings about members whose values are not of the documented type."""
    names = [*payment.odd]
    if payment.metadata is not None:  # the rest of it is compared
        of_fees = [
            name for name in payment.metadata.odd if f"metadata.{name}" in FEE_PATHS
        ]
        names += of_fees
    for name in names:
        yield payment_finding("type_unexpected", field=our_name(name))


def _check_chains(effects: Effects, against: Against) -> Iterator[Finding]:
    claims, others = effects.payment.whole.chain_claims()
    claimed = effects.payment.whole.claimed_networks()
    if against.network is None and len(claimed) > 1:
        yield payment_finding("chain_differs.several", networks=listed(claimed))
    for claim in (*claims, *others):
        named = named_network(claim.value)
        about = None if claim.step is None else effects.transactions[claim.step]
        if named is not None and against.network in {None, named.name}:
            continue
        path = claim.path if about is None else claim.name
        yield payment_finding(
            _key_of_chain(claim, named, against), about, field=shown(path)
        )


def _key_of_chain(claim: Member, named: Network | None, against: Against) -> str:
    """Return the key of the finding about a claim that is not that of the network."""
    if named is not None:
        return "chain_differs"
    if against.network is None or chain_number(claim.value) is None:
        return "chain_unknown"
    if networks()[against.network].chain_id is None:
        return "chain_unchecked"
    return "chain_differs"


def _check_paid(
    effects: Effects, against: Against, statements: Statements
) -> Iterator[Finding]:
    """Yield findings about a request that is paid already, by the response or by the
    service, if it was asked.
    """
    stated = PaidStatus.of(statements)
    asked = against.paid
    if stated.has_been_paid or (asked and asked.has_been_paid):
        yield payment_finding("paid_already")
        return
    if asked is None and stated.is_in_part:
        yield payment_finding("paid_in_part.unasked")
    elif asked is None and effects.payment.payout is not None:
        yield payment_finding("paid_unasked")
    elif asked and against.rest is not None:
        invoice = shown(against.original_orders[0].invoice_currency)
        yield payment_finding(
            "paid_in_part",
            paid=f"{asked.paid_amount:f} {invoice}",
            rest=f"{against.rest:f} {invoice}",
        )
    elif asked and asked.is_in_part:
        yield payment_finding("paid_in_part.unknown")
    elif asked and asked.has_been_paid is None:
        yield payment_finding("paid_unknown", problem=shown(asked.problem, 300))
    elif asked:
        yield payment_finding("paid_not_yet")
    states = [*stated.states]
    if asked:
        states += asked.states
    for path, state in states:
        if state.final or not state.basis:
            yield payment_finding(
                "status_told", field=shown(path), meaning=state.meaning
            )


def _check_failure(statements: Statements) -> Iterator[Finding]:
    """Tell where a response says itself that something failed, or cannot be paid any
    more.
    """
    for role in ("error", "success", "http_status", "status"):
        for member in statements[role]:
            if _says_failure(member):
                yield payment_finding("response_failed", field=shown(member.path))


def _says_failure(member: Member) -> bool:
    """Return True if a member of such a role says that something failed."""
    value = member.value
    text = value.lower() if isinstance(value, str) else None
    is_no = not value or text in _NOTHING
    if member.role == "error":
        return not is_no
    if member.role == "success":
        return is_no
    number = read_number(value)
    return value is False or (number is not None and 400 <= number < 600)


_NOTHING = {"false", "no", "none", "null", "0"}
"""Texts that say no, or nothing."""


def _compare_with_order(against: Against, statements: Statements) -> Iterator[Finding]:
    """Compare what is stated with the order, and with what is left of it.

    An amount is that of the order in the response itself, in its metadata, and beside
    another member of orders: fees have amounts, too.
    """
    holders = {"", "metadata"}
    for name in PaymentOrder.model_fields:
        if name != "amount":
            holders |= {member.holder for member in statements[name]}
    orders = (against.orders[0], *against.original_orders)
    for name in PaymentOrder.model_fields:
        terms = [getattr(order, name) for order in orders]
        ordered = [_meant(against, name, term) for term in terms if term is not None]
        if not ordered:
            continue
        for member in statements[name]:
            is_of_order = name != "amount" or member.holder in holders
            if is_of_order and _meant(against, name, member.value) not in ordered:
                yield payment_finding("order_differs", field=shown(member.path))


_WITH_CHAIN = re.compile(r"eip155:([0-9]{1,20}):(0x[0-9a-fA-F]{40})")
"""An address with its chain in front (CAIP-10)."""


def _meant(against: Against, name: str, value: object) -> object:
    """Return what a member of an order means: amounts may be written in several ways,
    currencies have aliases, and an address may have the chain of the payment in front.
    """
    if name == "amount":
        return read_number(value)
    if isinstance(value, str) and name.endswith("currency"):
        return against.policy.find_currency(value) or comparable(value)
    address = _WITH_CHAIN.fullmatch(value) if isinstance(value, str) else None
    network = networks().get(against.network or "")
    if address and network and int(address[1]) == network.chain_id:
        return comparable(address[2])
    return comparable(value)


_MOST = 2**31
"""Numbers of transactions are below it."""


def _check_claims(effects: Effects, statements: Statements) -> Iterator[Finding]:
    """Yield the findings about what a response says of its transactions, and of the
    wallet.
    """
    approvals = list[int]()
    for transaction in effects.transactions:
        kinds = [effect.kind for effect in transaction.effects]
        approvals += [transaction.index] * kinds.count(EffectKind.APPROVE)
    payments = [payment.step for payment in effects.payments]
    # An approval makes up for what is missing.
    allowance = [True, False] if approvals else [True]
    claims: list[tuple[str, Collection[Any], str]] = [
        ("steps_required", [len(effects.payment.transactions)], "metadata_differs"),
        ("needs_approval", [bool(approvals)], "metadata_differs"),
        ("approval_transaction_index", approvals, "metadata_differs"),
        ("payment_transaction_index", payments, "metadata_differs"),
        ("has_enough_balance", [True], "wallet_short"),
        ("has_enough_gas", [True], "wallet_short.gas"),
        ("has_enough_allowance", allowance, "wallet_short.allowance"),
    ]
    for name, right, key in claims:
        is_yes_or_no = name.startswith(("needs", "has"))
        for member in statements[name]:
            path = shown(member.path)
            is_kind = isinstance(member.value, bool) == is_yes_or_no
            if not is_kind or not _is_count(member.value):
                yield payment_finding("type_unexpected", field=path)
            elif member.value not in right:
                yield payment_finding(key, field=path)


def _is_count(value: object) -> bool:
    """Return True for a number of transactions, and for yes and no."""
    if not isinstance(value, int | float):
        return False
    return 0 <= value < _MOST and value == int(value)


def _check_expiry(against: Against, statements: Statements) -> Iterator[Finding]:
    """Yield the findings about how long a response holds, by its own word."""
    for member in statements["quote_expires_at"]:
        path = shown(member.path)
        expiry = read_time(member.value)
        if expiry is None:
            yield payment_finding("type_unexpected", field=path)
            continue
        key = "quote_valid" if against.now < expiry else "quote_expired"
        yield payment_finding(key, field=path, time=f"{expiry:%Y-%m-%d %H:%M:%S} UTC")
