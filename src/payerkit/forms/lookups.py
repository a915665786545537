"""The tables in which a form looks up what is typed: countries, currencies, tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from payerkit.checks.places import countries, fiat_currencies
from payerkit.onchain.currencies import currencies as payable
from payerkit.onchain.currencies import find_currency

MOST = 12
"""As many as a person reads before typing one letter more."""


def find(lookup: str, text: str) -> list[tuple[str, str]]:
    """Return codes and names of what may be meant by a text, the likeliest first; at most `MOST`."""
    words = text.lower().split()
    known = _TABLES[lookup]()
    found = [(code, name) for code, name in known.items() if all(word in f"{code} {name}".lower() for word in words)]
    first = words[0] if words else ""
    whole = text.strip().lower()
    found.sort(key=lambda item: (_distance(item[0].lower(), item[1].lower(), whole, first), item[0].lower()))
    return found[:MOST]


def _distance(code: str, name: str, text: str, first: str) -> int:
    """Return how far a row is from what was typed: the code itself, its beginning, a word's beginning, inside."""
    near = (code == text, code.startswith(first), name.startswith(first), f" {first}" in name)
    return near.index(True) if True in near else len(near)


def name_of(lookup: str, code: str) -> str:
    """Return the name of a code, upper and lower case alike; "" if the table does not have it."""
    if lookup == "currencies":
        token = find_currency(code)
        return "" if token is None else _payable()[token.id]
    return _TABLES[lookup]().get(code.upper(), "") if lookup in _TABLES else ""


@cache
def _countries() -> Mapping[str, str]:
    return {code: country.name for code, country in countries().items()}


@cache
def _payable() -> Mapping[str, str]:
    """Return fiat money, coins and tokens by their id; a token's name tells its network."""
    names = fiat_currencies()
    return {
        each.id: names.get(each.symbol, each.symbol) if each.kind == "fiat" else f"{each.symbol} on {each.network}"
        for each in payable().values()
    }


_TABLES: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "countries": _countries,
    "fiat": fiat_currencies,
    "currencies": _payable,
}
