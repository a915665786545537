"""Search the countries, currencies and tokens that a form suggests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from payerkit.checks.places import countries, fiat_currencies
from payerkit.onchain.currencies import find_currency, token_list

MAX_OPTIONS = 12
"""The length of a list that can be read at a glance; one more letter is typed faster than a longer list is read."""


def search(lookup: str, text: str) -> list[tuple[str, str]]:
    """Return codes and names that contain all words of a text, best matches first; at most `MAX_OPTIONS`."""
    text = text.strip().lower()
    words = text.split()
    names = _TABLES[lookup]().items()
    options = [(code, name) for code, name in names if all(word in f"{code} {name}".lower() for word in words)]
    options.sort(key=lambda option: (_rank(option[0].lower(), option[1].lower(), text), option[0].lower()))
    return options[:MAX_OPTIONS]


def _rank(code: str, name: str, text: str) -> int:
    """Return 0 for the code itself, then 1 for its beginning, the name's, a word's; 4 for a match inside a word."""
    first = text.split(maxsplit=1)[0] if text else ""
    matches = (code == text, code.startswith(first), name.startswith(first), f" {first}" in name, True)
    return matches.index(True)


def name_of(lookup: str, code: str) -> str:
    """Return the name of a code in any case; "" if it is unknown."""
    if lookup == "currencies":
        token = find_currency(code)
        return "" if token is None else _payable()[token.id]
    return _TABLES[lookup]().get(code.upper(), "") if lookup in _TABLES else ""


@cache
def _countries() -> Mapping[str, str]:
    return {code: country.name for code, country in countries().items()}


@cache
def _payable() -> Mapping[str, str]:
    """Return the names of fiat currencies, coins and tokens by currency id; a token's name has its network."""
    names = fiat_currencies()
    return {
        each.id: names.get(each.symbol, each.symbol) if each.kind == "fiat" else f"{each.symbol} on {each.network}"
        for each in token_list().values()
    }


_TABLES: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "countries": _countries,
    "fiat": fiat_currencies,
    "currencies": _payable,
}
