"""Addresses that nobody should pay: tokens, payment contracts, burn addresses, and what only looks like an address."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from payerkit._tsv import rows
from payerkit.onchain.addresses import address_problem, is_same
from payerkit.onchain.currencies import deployments_at, find_by_hash, tokens_at
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy

_LAST_RESERVED = 0xFFFF
"""The addresses up to here are for contracts of the network itself, such as precompiles (EIP-1352)."""


def burned_at(address: str) -> str:
    """Return what an address is if no one can have its key, such as "a burn address"; "" for any other text."""
    if known := _reserved().get(address.lower()):
        return known
    if address_problem(address) != "address_malformed" and int(address, 16) <= _LAST_RESERVED:
        return "an address that networks reserve for themselves"
    currency = find_by_hash(address)
    return f"the hash that stands for {currency.id}" if currency else ""


def known_contract_at(address: str, policy: PaymentPolicy = NO_POLICY) -> str:
    """Return what an address is if it is a known contract, on any network; "" for any other text."""
    own = (each for each in policy.tokens if is_same(each.address, address))
    if token := next(iter([*tokens_at(address), *own]), None):
        return f"the token {token.id}"
    if deployed := next(iter(deployments_at(address)), None):
        return f"the payment contract {deployed.contract} on {deployed.network}"
    return ""


def payee_note(payee: str) -> str:
    """Return a warning about a payee that an order should not have; "" for any other.

    What is not an address is left to the service: other kinds of networks have other addresses.
    """
    problem = address_problem(payee)
    if problem == "address_malformed":
        return ""
    if problem:
        return (
            "The capital letters of the payee do not match the checksum of the address, so it may be mistyped. Compare "
            "it with a trusted source."
        )
    if what := burned_at(payee):
        return f"The payee is {what}, which no one controls: the money would be lost. Correct it."
    if what := known_contract_at(payee):
        return f"The payee is {what}, not a wallet: the money would be lost. Correct it."
    return ""


@cache
def _reserved() -> Mapping[str, str]:
    return {row["address"].lower(): row["what"] for row in rows(__package__, "reserved_addresses")}
