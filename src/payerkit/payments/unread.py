"""Check what nobody reads of a response: unknown members, and what a wallet could use
of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from payerkit.findings import Finding, payment_finding
from payerkit.models.whole_response import CHAIN_NAMES, Member, WholeResponse
from payerkit.payments.against import Against
from payerkit.payments.effects import Effects
from payerkit.payments.payee import burned_at, known_contract_at
from payerkit.payments.payment_policy import known_members_line
from payerkit.payments.statements import what_is_said
from payerkit.wording import shown

MOST_NAMES = 10
"""Members that a finding names."""

FEE_PATHS = {
    "metadata.protocolFee",
    "metadata.protocolFee.percentage",
    "metadata.protocolFee.address",
    "metadata.platformFee",
    "metadata.platformFee.percentage",
    "metadata.platformFee.address",
}
"""The paths of the fees that the service declares, which `check_fees` reads."""


def check_unread(effects: Effects, against: Against) -> Iterator[Finding]:
    """Yield findings about unknown members: that they are there, what they say, and
    what they hold that a wallet could use.

    The members of transactions are left to the findings about these. An unknown member
    is named as a whole.
    """
    whole = effects.payment.whole
    if not whole.is_complete:  # `response_too_large` says that much is unread
        return
    transactions = {path for path, _ in whole.transactions}
    transactions |= {f"transactions[{member.step}]" for member in whole.members}
    unknown = _unknown_members(whole, transactions, against)
    if unknown:
        paths = {member.path for member in unknown}
        names = [shown(member.path) for member in unknown if member.holder not in paths]
        yield payment_finding("members_unknown", names=_first(names))
    yield from _check_said(unknown, against)
    yield from _check_held(effects, transactions, against)


def _unknown_members(
    whole: WholeResponse, transactions: Collection[str], against: Against
) -> list[Member]:
    """Return the members that no check reads. transactions: the paths of objects that
    are reported elsewhere.
    """
    inside = {*transactions, *whole.typed_messages}
    unknown = []
    for member in whole.members:
        if member.holder in inside or member.path in inside:
            inside.add(member.path)
        elif not _is_read(member, against):
            unknown.append(member)
    return unknown


def _is_read(member: Member, against: Against) -> bool:
    """Return True for a member that another check reads, or that the user knows."""
    if member.role or member.path in FEE_PATHS or member.own in CHAIN_NAMES:
        return True
    return member.plain in against.known_members


def _check_said(unknown: list[Member], against: Against) -> Iterator[Finding]:
    """Yield one finding about all that unknown members say."""
    said = list[str]()
    names = list[str]()
    for member in unknown:
        words = what_is_said(member, against.now)
        if words:
            said.append(words)
            names.append(_last_name(member))
    if said:
        lines = known_members_line([*against.policy.known_members, *names])
        yield payment_finding("members_told", told=_first(said), policy_lines=lines)


def _last_name(member: Member) -> str:
    """Return the name of a member; of an item of a list, that of the list."""
    return member.name or member.path.rpartition(".")[2].partition("[")[0]


def _check_held(
    effects: Effects, transactions: Collection[str], against: Against
) -> Iterator[Finding]:
    """Yield the findings about members that hold an address or bytes that a wallet
    could use. A policy may name those with an address or a hash.
    """
    whole = effects.payment.whole
    known = _known_hex(effects, against)
    held = list[str]()
    plain = list[str]()
    names = list[str]()
    for member in whole.members:
        if member.path in whole.typed_messages or member.holder in transactions:
            continue
        uses = [
            use for use in member.usable() if not _is_known(against, member, use, known)
        ]
        if not uses:
            continue
        words = f"{shown(member.path)} ({_kind_of_use(uses[0])})"
        if all(_may_be_known(member, use) for use in uses):
            plain.append(words)
            names.append(_last_name(member))
        else:
            held.append(words)
    if held:
        yield payment_finding("members_usable", names=_first(held))
    if plain:
        lines = known_members_line([*against.policy.known_members, *names])
        yield payment_finding(
            "members_usable.plain", names=_first(plain), policy_lines=lines
        )


def _may_be_known(member: Member, use: str) -> bool:
    """Return True for an address or a hash in a member that is not there to be
    signed.
    """
    return member.role != "signed" and len(use) in {40, *_ID_LENGTHS} and " " not in use


def _kind_of_use(use: str) -> str:
    """Return what a wallet could use, in words: hex is not repeated."""
    if " " in use:
        return use
    return "an address" if len(use) == 40 else f"{len(use) // 2} bytes"


def _known_hex(effects: Effects, against: Against) -> frozenset[str]:
    """Return the hex that transactions, orders, ids, the payer's wallet, fees and
    allowances have, without 0x.
    """
    payout = effects.payment.payout
    policy = against.policy
    ids = [effects.payment.request_id or ""]
    texts = [against.wallet or ""]
    if payout is not None:
        ids.append(payout.request_id)
        texts += [payout.client_user_id, payout.reference or "", payout.wallet or ""]
    texts += [each for each in ids if len(_digits(each)) in _ID_LENGTHS]
    texts += [order.payee or "" for order in against.original_orders]
    texts += [fee.address for fee in policy.fees]
    texts += [allowance.spender for allowance in policy.allowances]
    for transaction in effects.transactions:
        data = (transaction.data or "").removeprefix("0x")
        words = [data[place : place + 64] for place in range(8, len(data), 64)]
        addresses = [word[24:] for word in words if word.startswith("0" * 24)]
        texts += [transaction.to or "", data, *words, *addresses]
    return frozenset(_digits(text) for text in texts)


def _digits(text: str) -> str:
    return text.lower().removeprefix("0x")


_ID_LENGTHS = {64, 66}
"""How many hex digits a hash has, and the id of a request."""


def _is_known(
    against: Against, member: Member, use: str, known: frozenset[str]
) -> bool:
    """Return True if what a wallet could use was checked with the transactions, or only
    reports something; of a member that the user knows, an address or a hash.
    """
    if use in known or member.own in CHAIN_NAMES or member.path in FEE_PATHS:
        return True
    if member.role in {"report", "request_id"} and len(use) in _ID_LENGTHS:
        return True
    if member.plain == "hex" and member.step is not None:
        return True  # of a transaction's native value
    if member.plain in against.known_members and _may_be_known(member, use):
        return True
    orders = against.orders
    if member.role == "payee" and len(orders) == 1 and orders[0].payee is not None:
        return True  # it is compared with the order
    address = f"0x{use}"
    if not use.strip("0") or burned_at(address) or address in against.policy.book:
        return True
    return bool(known_contract_at(address, against.policy))


def _first(names: list[str]) -> str:
    """Return the first of the names, and how many more there are."""
    more = len(names) - MOST_NAMES
    words = ", ".join(names[:MOST_NAMES])
    return f"{words} and {more} more" if more > 0 else words
