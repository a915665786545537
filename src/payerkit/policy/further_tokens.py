"""Tokens that the token list does not have, as a policy names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from payerkit.errors import InvalidInput, kind_of
from payerkit.html import visible
from payerkit.onchain.addresses import read_address
from payerkit.onchain.currencies import (
    Currency,
    find_currency,
    find_token,
    is_currency_id,
    lookalike_id,
    network_in_id,
    networks,
)

_MEMBERS = ("id", "network", "address", "decimals")


def read_token(token: Currency | Mapping[str, Any]) -> Currency:
    """Return a further token. Raises InvalidInput if a member is missing, unknown, wrong or contradicts the table."""
    if isinstance(token, Currency):
        return token
    if not isinstance(token, Mapping):
        raise InvalidInput(f"tokens: expected dicts with {', '.join(_MEMBERS)}; got {kind_of(token)}.")
    for name in _MEMBERS:
        if name not in token:
            raise InvalidInput(f"{name}: missing. A token has {', '.join(_MEMBERS)}.")
    for name in token:
        if name not in (*_MEMBERS, "symbol"):
            raise InvalidInput(f"{visible(str(name))}: not a member. A token has {', '.join(_MEMBERS)} and symbol.")
    return _token(**token)


def token_members(token: Currency) -> dict[str, Any]:
    """Return a further token as a dict; its symbol only if the id does not give it."""
    members = {name: getattr(token, name) for name in _MEMBERS}
    return members if token.symbol == symbol_in(token.id, token.network) else members | {"symbol": token.symbol}


def symbol_in(currency_id: str, network: str) -> str:
    """Return the symbol in a currency id, which comes before the network."""
    ending = f"-{network}"
    return currency_id[: -len(ending)] if currency_id.lower().endswith(ending) else currency_id


def _token(*, id: str, network: str, address: str, decimals: int, symbol: str = "") -> Currency:  # noqa: A002 - a member
    for name, text in {"id": id, "network": network, "symbol": symbol}.items():
        if not isinstance(text, str):
            raise InvalidInput(f"{name}: expected text, got {kind_of(text)}.")
    if not is_currency_id(id):
        raise InvalidInput("id: expected printable ASCII characters: others may only look like those of another id.")
    if alike := lookalike_id(id):
        raise InvalidInput(f"id: it looks like {alike}, but is another id. Copy it from the service, or type it again.")
    if network not in networks():
        raise InvalidInput('network: expected a name as in currency ids, such as "sepolia".')
    if type(decimals) is not int or not 0 <= decimals <= 36:
        raise InvalidInput("decimals: expected a number from 0 to 36, as the token's contract has it.")
    named = network_in_id(id)
    if named is not None and named.name != network:
        raise InvalidInput(f"network: the id ends with {named.name}. Correct one of them.")
    place, symbol = read_address(address, "address"), symbol or symbol_in(id, network)
    token = Currency(id=id, kind="erc20", network=network, symbol=symbol, decimals=decimals, address=place)
    _check_against_list(token)
    return token


def _check_against_list(token: Currency) -> None:
    """Raise InvalidInput if a further token contradicts the token list: then one of the two is wrong."""
    listed = find_token(token.network, token.address)
    if listed is not None and listed.decimals != token.decimals:
        raise InvalidInput(f"decimals: the token list has {listed.decimals} for this address, as {listed.id}.")
    if (same := find_currency(token.id)) is not None and same != listed:
        raise InvalidInput(f"id: in the token list, {same.id} is another token. Choose another id.")
