"""Check the whole response: what else it holds, what contradicts the order, and its bank account."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any

from payerkit.checks.requirements import least_amount, unlocked_on_request
from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.explanations import explain_word
from payerkit.findings import Finding, payment_finding
from payerkit.models.payments import Payout
from payerkit.models.whole_response import (
    CALLDATA_NAMES,
    CHAIN_NAMES,
    Member,
    chain_number,
    comparable,
    named_network,
    plain_name,
)
from payerkit.onchain.amounts import format_number, positive_number
from payerkit.onchain.calldata import EffectKind
from payerkit.onchain.currencies import networks
from payerkit.payment.compare import Comparison, DecodedTransaction, OrderTerms, PaidStatus, read_number
from payerkit.payment.money import peg_of
from payerkit.payment.payee import burned_at, known_contract_at
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy
from payerkit.wire import our_name, read_time
from payerkit.wording import listed, shown

_MOST_NAMES = 10
"""Members that a finding names."""

_FEES = {
    f"metadata.{name}Fee{member}" for name in ("protocol", "platform") for member in ("", ".percentage", ".address")
}
"""The paths of the fees that the service declares, which `check_fees` reads."""


def check_response(compared: Comparison) -> Iterator[Finding]:
    """Yield the findings about a response as a whole."""
    payment, whole = compared.payment, compared.payment.whole
    if not whole.is_complete:
        yield payment_finding("response_too_large")
    for name in payment.repeated:
        yield payment_finding("member_repeated", field=shown(name))
    for path in whole.typed_messages:
        is_alone = plain_name(path) == "paymentintent" and not compared.transactions
        yield payment_finding("typed_message.intent" if is_alone else "typed_message", field=shown(path))
    for transaction in compared.transactions[len(payment.transactions) :]:
        yield payment_finding("elsewhere", transaction, field=shown(transaction.origin))
    yield from _check_chains(compared)
    ids = {"request_id": "ids_differ", "payment_reference": "references_differ"}
    for name, key in ids.items() if payment.payout is None else ():  # else they are compared with what was asked for
        members = compared.statements[name]
        if len({comparable(member.value) for member in members}) > 1:
            yield payment_finding(key, fields=listed([shown(member.path) for member in members]))
    yield from _check_paid(compared)
    yield from _check_failure(compared)
    if len(compared.orders) == 1:
        yield from _compare_with_order(compared, compared.orders[0])
    fees = () if payment.metadata is None else payment.metadata.odd
    for name in (*payment.odd, *(each for each in fees if f"metadata.{each}" in _FEES)):  # the rest is compared
        yield payment_finding("type_unexpected", field=our_name(name))
    yield from _check_unread(compared)


def check_members(transaction: DecodedTransaction) -> Iterator[Finding]:
    """Yield the findings about members of a transaction that are not in the specification, but that a wallet may use.

    Chain ids are compared with those of the whole response.
    """
    for name, value in transaction.extra_fields.items():
        if value is None or plain_name(name) in CHAIN_NAMES:
            continue
        if name not in CALLDATA_NAMES:
            yield payment_finding("member_unknown", transaction, field=shown(name))
        elif value != transaction.data:
            yield payment_finding("input_differs", transaction, field=name)


def _check_chains(compared: Comparison) -> Iterator[Finding]:
    claims, others = compared.payment.whole.chain_claims()
    if compared.network is None and len(claimed := compared.payment.whole.claimed_networks()) > 1:
        yield payment_finding("chain_differs.several", networks=listed(claimed))
    for claim in (*claims, *others):
        named, about = named_network(claim.value), None if claim.step is None else compared.transactions[claim.step]
        if named is not None and compared.network in {None, named.name}:
            continue
        key = "chain_differs" if named is not None else "chain_unknown"
        if named is None and compared.network is not None and chain_number(claim.value) is not None:
            key = "chain_unchecked" if networks()[compared.network].chain_id is None else "chain_differs"
        yield payment_finding(key, about, field=shown(claim.path if about is None else claim.name))


def _check_paid(compared: Comparison) -> Iterator[Finding]:
    """Yield findings about a request that is paid already, by the response or by the service, if it was asked."""
    stated, asked = PaidStatus.of(compared.statements), compared.paid
    if stated.has_been_paid or (asked and asked.has_been_paid):
        yield payment_finding("paid_already")
        return
    if asked is None and stated.is_in_part:
        yield payment_finding("paid_in_part.unasked")
    elif asked is None and compared.payment.payout is not None:
        yield payment_finding("paid_unasked")
    elif asked and compared.rest is not None:
        invoice = shown(compared.original_orders[0].invoice_currency)
        yield payment_finding(
            "paid_in_part", paid=f"{asked.paid_amount:f} {invoice}", rest=f"{compared.rest:f} {invoice}"
        )
    elif asked and asked.is_in_part:
        yield payment_finding("paid_in_part.unknown")
    elif asked and asked.has_been_paid is None:
        yield payment_finding("paid_unknown", problem=shown(asked.problem, 300))
    elif asked:
        yield payment_finding("paid_not_yet")
    for path, state in (*stated.states, *(asked.states if asked else ())):
        if state.final or not state.basis:
            yield payment_finding("status_told", field=shown(path), meaning=state.meaning)


def _check_failure(compared: Comparison) -> Iterator[Finding]:
    """Tell where a response says itself that something failed, or cannot be paid any more."""
    stated = compared.statements
    for each in (*stated["error"], *stated["success"], *stated["http_status"], *stated["status"]):
        text = each.value.lower() if isinstance(each.value, str) else None
        is_no, number = not each.value or text in _NOTHING, read_number(each.value)
        is_failure = each.value is False or (number is not None and 400 <= number < 600)
        if {"error": not is_no, "success": is_no}.get(each.role, is_failure):
            yield payment_finding("response_failed", field=shown(each.path))


_NOTHING = {"false", "no", "none", "null", "0"}
"""Texts that say no, or nothing."""


def _compare_with_order(compared: Comparison, order: OrderTerms) -> Iterator[Finding]:
    """Compare what is stated with the order, and with what is left of it.

    An amount is that of the order in the response itself, in its metadata, and beside another member of orders: fees
    have amounts, too.
    """
    names = {*PAYMENT_ORDER.fields} - {"amount"}
    holders = {"", "metadata", *(each.holder for name in names for each in compared.statements[name])}
    for name in PAYMENT_ORDER.fields:
        terms = [value for each in (order, *compared.original_orders) if (value := getattr(each, name)) is not None]
        for member in compared.statements[name] if terms else []:
            ordered = [_meant(compared, name, value) for value in terms]
            if (name != "amount" or member.holder in holders) and _meant(compared, name, member.value) not in ordered:
                yield payment_finding("order_differs", field=shown(member.path))


def _meant(compared: Comparison, name: str, value: object) -> object:
    """Return what a member of an order means: amounts may be written in several ways, and currencies have aliases."""
    if name == "amount":
        return read_number(value)
    is_id = isinstance(value, str) and name.endswith("currency")
    return (is_id and compared.policy.find_currency(str(value))) or comparable(value)


def _check_unread(compared: Comparison) -> Iterator[Finding]:
    """Yield findings about unknown members, and about members that hold an address or bytes that a wallet could use.

    The members of transactions are left to the findings about these. An unknown member is reported as a whole.
    """
    known, whole = _known_hex(compared), compared.payment.whole
    reported = {path for path, _ in whole.transactions} | {f"transactions[{each.step}]" for each in whole.members}
    inside = {*reported, *whole.typed_messages}  # reported elsewhere, or unknown as a whole
    held, unknown = list[str](), list[str]()
    for member in whole.members:
        if member.path not in whole.typed_messages and member.holder not in reported:
            uses = [each for each in member.usable() if not _is_known(compared, member, each, known)]
            if uses:
                size = "an address" if len(uses[0]) == 40 else f"{len(uses[0]) // 2} bytes"
                held.append(f"{shown(member.path)} ({uses[0] if ' ' in uses[0] else size})")
        if member.holder in inside:
            inside.add(member.path)
        elif member.path not in inside and not (member.role or member.path in _FEES or member.own in CHAIN_NAMES):
            inside.add(member.path)
            unknown.append(shown(f"{member.holder}.{member.name}".removeprefix(".")))
    if unknown:
        yield payment_finding("members_unknown", names=_first(unknown))
    if held:
        yield payment_finding("members_usable", names=_first(held))


def _known_hex(compared: Comparison) -> frozenset[str]:
    """Return the hex that transactions, orders, ids, the payer's wallet, fees and allowances have, without 0x."""
    payout, policy = compared.payment.payout, compared.policy
    texts = [each for each in (compared.payment.request_id, payout and payout.request_id) if each]
    texts = [each for each in texts if len(each.lower().removeprefix("0x")) in _ID_LENGTHS]
    texts += [] if payout is None else [payout.client_user_id, payout.reference or "", payout.wallet or ""]
    texts += [order.payee or "" for order in compared.original_orders]
    texts += [each.address for each in policy.fees] + [each.spender for each in policy.allowances]
    for transaction in compared.transactions:
        data = (transaction.data or "").removeprefix("0x")
        words = [data[place : place + 64] for place in range(8, len(data), 64)]
        texts += [transaction.to or "", data, *words, *(word[24:] for word in words if word.startswith("0" * 24))]
    return frozenset(text.lower().removeprefix("0x") for text in texts)


_ID_LENGTHS = {64, 66}
"""How many hex digits a hash has, and the id of a request."""


def _is_known(compared: Comparison, member: Member, hex_or_words: str, known: frozenset[str]) -> bool:
    """Return True if a value that a wallet could use was checked with the transactions, or only reports something."""
    is_report = member.role in {"report", "request_id"} and len(hex_or_words) in _ID_LENGTHS
    is_compared = member.role == "payee" and len(compared.orders) == 1 and compared.orders[0].payee is not None
    is_compared |= member.own in CHAIN_NAMES or member.path in _FEES
    is_value = member.plain == "hex" and member.step is not None  # of a transaction's native value
    if is_report or is_compared or is_value or hex_or_words in known:
        return True
    address, policy = f"0x{hex_or_words}", compared.policy
    is_burned = not hex_or_words.strip("0") or bool(burned_at(address))
    return is_burned or address in policy.book or bool(known_contract_at(address, policy))


def _first(names: list[str]) -> str:
    """Return the first of the names, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


_MOST = 2**31
"""Numbers of transactions are below it."""


def check_metadata(compared: Comparison) -> Iterator[Finding]:
    """Yield the findings about what a response says of its transactions, of the wallet, and of how long it holds."""
    approvals = [
        effect.step for each in compared.transactions for effect in each.effects if effect.kind == EffectKind.APPROVE
    ]
    payments = [payment.step for payment in compared.payments]
    allowance = [True] if not approvals else [True, False]  # an approval makes up for what is missing
    claims: list[tuple[str, Collection[Any], str]] = [
        ("steps_required", [len(compared.payment.transactions)], "metadata_differs"),
        ("needs_approval", [bool(approvals)], "metadata_differs"),
        ("approval_transaction_index", approvals, "metadata_differs"),
        ("payment_transaction_index", payments, "metadata_differs"),
        ("has_enough_balance", [True], "wallet_short"),
        ("has_enough_gas", [True], "wallet_short.gas"),
        ("has_enough_allowance", allowance, "wallet_short.allowance"),
    ]
    for name, right, key in claims:
        for member in compared.statements[name]:
            value = member.value
            is_count = isinstance(value, int | float) and 0 <= value < _MOST and value == int(value)  # or yes or no
            if not is_count or isinstance(value, bool) != name.startswith(("needs", "has")):
                yield payment_finding("type_unexpected", field=shown(member.path))
            elif value not in right:
                yield payment_finding(key, field=shown(member.path))
    for member in compared.statements["quote_expires_at"]:
        expiry = read_time(member.value)
        key = "type_unexpected" if expiry is None else "quote_valid" if compared.now < expiry else "quote_expired"
        yield payment_finding(key, field=shown(member.path), time=f"{expiry:%Y-%m-%d %H:%M:%S} UTC" if expiry else "")


_ASKED = {"request_id": "request", "payment_details_id": "account", "client_user_id": "payer"}
_ASKED |= {"reference": "reference", "payment_reference": "payment reference"}
"""What a payout asked for, by our names, in words."""

_IN_HEX = {"request_id", "payment_reference"}
"""Of these, capital and small letters are the same."""


def check_payout(compared: Comparison) -> Iterator[Finding]:
    """Yield the findings about the bank account, if the payment pays out to one."""
    payout = compared.payment.payout
    if payout is None:
        return
    yield payment_finding("payout_account", account=f"the account {compared.account}")
    what, least = unlocked_on_request(payout.currency, payout.rails), least_amount(payout.currency, payout.rails)
    more = f" {what} is unlocked on request only." if what else ""
    more += f" It pays out at least {format_number(least)} {shown(str(payout.currency)).upper()}." if least else ""
    yield payment_finding("payout_needs", more=more)
    if payout.also_listed:
        yield payment_finding("account_repeated", others=shown(payout.also_listed, 160))
    yield from _compare_with_asked(compared, payout)
    status = explain_word(payout.status, "account")
    if not status.is_passed:
        yield payment_finding("account_status", meaning=status.meaning, advice=status.what_to_do)
    if len(compared.orders) == 1 and payout.currency:
        yield from compare_currencies(compared.orders[0], payout, compared.policy)


def _compare_with_asked(compared: Comparison, payout: Payout) -> Iterator[Finding]:
    """Compare what the response says of request, account, payer and references with what was asked for.

    The reference of the response itself is compared with those of the transactions.
    """
    for name, what in _ASKED.items():
        asked: list[object] = [getattr(payout, name)]
        if name == "reference":  # some call that of the payment so, too
            asked.append(payout.payment_reference)
        for member in compared.statements[name] if asked[0] else []:
            values = [member.value, *asked]
            stated, *same = map(comparable, values) if name in _IN_HEX else values
            if stated not in same and member.path != "paymentReference":
                yield payment_finding("request_differs", field=shown(member.path), what=what)


def compare_currencies(order: OrderTerms, payout: Payout, policy: PaymentPolicy) -> Iterator[Finding]:
    """Yield the findings about an order that the account cannot take: another currency, or too small an amount."""
    invoice, currency = shown(order.invoice_currency), shown(str(payout.currency)).upper()
    if _worth(order.invoice_currency, policy) != currency:
        yield payment_finding("account_currency", invoice=invoice, currency=currency)
    elif (least := least_above(order.amount, order.invoice_currency, payout, policy)) is not None:
        amount, rails = f"{shown(order.amount)} {invoice}", f" by {shown(payout.rails)}" if payout.rails else ""
        yield payment_finding("amount_least", least=f"{format_number(least)} {currency}", amount=amount, rails=rails)


def least_above(
    amount: str, invoice_currency: str, payout: Payout, policy: PaymentPolicy = NO_POLICY
) -> Decimal | None:
    """Return the least amount that reaches an account if an order is known to be below it, or None."""
    asked, least = positive_number(amount), least_amount(payout.currency, payout.rails)
    if asked is None or least is None or _worth(invoice_currency, policy) != (payout.currency or "").upper():
        return None
    return least if asked < least else None


def _worth(currency: str, policy: PaymentPolicy) -> str | None:
    """Return the fiat currency that a currency is, or is pegged to; None for a coin or another token."""
    found = policy.find_currency(currency)
    return currency.upper() if found is None else peg_of(found)
