"""Check what a transaction has beside its recipient, calldata and value: what wallets
and libraries add is compared or bounded, anything else is for a person to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from payerkit.findings import Finding, payment_finding
from payerkit.models.whole_response import (
    CALLDATA_NAMES,
    CHAIN_NAMES,
    Member,
    plain_name,
    role_of,
)
from payerkit.payments.against import Against
from payerkit.payments.onchain.addresses import address_problem, is_same, with_checksum
from payerkit.payments.onchain.amounts import wei_of
from payerkit.payments.payment_policy import known_members_line
from payerkit.payments.statements import is_alarming
from payerkit.payments.transactions import DecodedTransaction
from payerkit.wording import shown

_GAS = {"gas", "gaslimit"}
_GAS_OF_A_CALL = 500_000
_GAS_OF_AN_EFFECT = 200_000
"""The most gas that a transaction may name: a payment takes about 100,000, and a batch
that for each of its payments.
"""

_PRICES = {"gasprice", "maxfeepergas", "maxpriorityfeepergas"}
_MOST_PRICE = 10**12
"""The highest price of gas that a transaction may name, in wei: 1,000 gwei."""

_TYPES = (0, 1, 2, "0", "1", "2", "0x0", "0x1", "0x2", "0x00", "0x01", "0x02")
"""Types of transactions that only say how gas is paid (EIP-2718)."""

_WORDS = {
    "action",
    "description",
    "functionname",
    "kind",
    "label",
    "method",
    "step",
    "summary",
    "title",
    "type",
}
"""Members that describe a transaction in words."""


def check_extras(
    against: Against, transaction: DecodedTransaction
) -> Iterator[Finding]:
    """Yield the findings about members of a transaction that are not in the
    specification, but that a wallet may use.

    Chain ids are compared with those of the whole response.
    """
    for name, value in transaction.extra_fields.items():
        plain = plain_name(name)
        if value is None or plain in CHAIN_NAMES:
            continue
        if name in CALLDATA_NAMES:
            if value != transaction.data:
                yield payment_finding("input_differs", transaction, field=name)
        elif plain == "from" and address_problem(value) != "address_malformed":
            yield _check_sender(against, transaction, value)
        elif plain in _GAS | _PRICES and wei_of(value) is not None:
            yield _check_gas(transaction, name, plain, value)
        elif _is_harmless(name, plain, value):
            yield payment_finding("member_plain", transaction, field=shown(name))
        elif role_of(plain) == "signed":
            yield payment_finding("member_signed", transaction, field=shown(name))
        elif plain not in against.known_members:
            lines = known_members_line([*against.policy.known_members, name])
            yield payment_finding(
                "member_unknown", transaction, field=shown(name), policy_lines=lines
            )


def _check_sender(
    against: Against, transaction: DecodedTransaction, sender: str
) -> Finding:
    """Compare who is to send a transaction with the wallet that signs."""
    wallet = against.signer
    if wallet is None:
        key = "sender_unchecked"
    elif is_same(wallet, sender):
        key = "sender_matches"
    else:
        key = "sender_differs"
    return payment_finding(
        key,
        transaction,
        sender=with_checksum(sender),
        wallet=shown(str(with_checksum(wallet))),
    )


def _check_gas(
    transaction: DecodedTransaction, name: str, plain: str, value: Any
) -> Finding:
    """Compare gas or its price with what payments need."""
    number = wei_of(value) or 0
    most = _MOST_PRICE
    if plain in _GAS:
        most = _GAS_OF_A_CALL + _GAS_OF_AN_EFFECT * len(transaction.effects)
    key = "gas_bounded" if number <= most else "gas_high"
    return payment_finding(key, transaction, field=shown(name), value=number)


def _is_harmless(name: str, plain: str, value: Any) -> bool:
    """Return True for a member that changes nothing: the type of a transaction, an
    empty list of what it accesses, or words that describe it.
    """
    if plain == "type" and not isinstance(value, bool) and value in _TYPES:
        return True
    if plain == "accesslist":
        return isinstance(value, list) and not value
    if plain not in _WORDS or not isinstance(value, str):
        return False
    member = Member("", name, name, plain, plain, value, None, "")
    return not is_alarming(value) and not [*member.usable()]
