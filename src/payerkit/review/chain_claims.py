"""What a response says about the network that its transactions are for, compared as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from payerkit.onchain.currencies import Network, networks
from payerkit.review.whole_response import Member, WholeResponse, plain_name

_NAMES = {"chain", "chainid", "chainname", "network", "networkid", "networkname"}
_ENDINGS = tuple(_NAMES)
_NUMBER = re.compile(r"(?:eip155:)?(?:0[xX](?P<hex>[0-9a-fA-F]{1,64})|(?P<decimal>[0-9]{1,78}))")
"""A chain id as text; with `eip155:` in front by CAIP-2."""


def is_chain_name(name: str) -> bool:
    """Return True if a member with this name says which network a transaction is for."""
    return plain_name(name) in _NAMES


def chain_claims(whole: WholeResponse) -> list[Member]:
    """Return the members that name a network, wherever they stand; null names none."""
    return [each for each in whole.members if each.value is not None and is_chain_name(each.name)]


def other_claims(whole: WholeResponse) -> list[Member]:
    """Return the members that name a known network in other words, such as `destinationChainId`."""
    return [
        each
        for each in whole.members
        if plain_name(each.name).endswith(_ENDINGS) and not is_chain_name(each.name) and named_network(each.value)
    ]


def claimed_networks(claims: Iterable[Member]) -> list[str]:
    """Return the known networks that claims name."""
    named = (named_network(claim.value) for claim in claims)
    return sorted({network.name for network in named if network is not None})


def named_network(value: object) -> Network | None:
    """Return the network that a value names by its chain id, its name or its common name; None if none is known."""
    number, text = chain_number(value), str(value).casefold() if isinstance(value, str) else ""
    for network in networks().values():
        if text in {network.name, network.title.casefold()} or (number is not None and number == network.chain_id):
            return network
    return None


def chain_number(value: object) -> int | float | None:
    """Return a chain id as a number; None for what is not one."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        if found is None:
            return None
        return int(found["hex"], 16) if found["hex"] else int(found["decimal"])
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
