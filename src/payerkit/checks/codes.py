"""Codes of countries, currencies and tokens, and what people type in place of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from payerkit._tsv import grouped
from payerkit.checks import places
from payerkit.checks.requirements import listed_rails
from payerkit.checks.texts import fold
from payerkit.payments.onchain.currencies import (
    Currency,
    Network,
    currency_aliases,
    is_payable,
    networks,
    token_list,
)

_FIRST_COUNTRIES = ("US", "GB", "DE")
_FIRST_CURRENCIES = ("USD", "EUR", "GBP")
_FIRST_SYMBOLS = ("USDC", "USDT", "ETH", "DAI")
_FIRST_NETWORKS = ("mainnet", "matic", "base", "arbitrum-one", "optimism", "bsc")
"""What is used most; everything else follows in the order of its code."""

FUNDS = frozenset(
    "BOV CHE CHW CLF COU MXV USN UYI UYW XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU"  # noqa: SIM905 - a list to read
    " XTS XUA XXX".split()
)
"""Codes of ISO 4217 for funds, metals, units of account and tests, in which no bank
keeps an ordinary account.
"""


@dataclass(frozen=True, slots=True)
class Code:
    """A code with its name and its spellings: the folded texts that mean it, though
    others may share one.

    use: codes that are used more sort before others. is_test: whether it is of a token
    on a test network.
    """

    code: str
    name: str
    spellings: tuple[str, ...]
    use: tuple[int | str, ...]
    is_test: bool = False


@cache
def codes(lookup: str) -> tuple[Code, ...]:
    """Return the codes of a lookup, those that are used most first."""
    return tuple(sorted(_TABLES[lookup](), key=lambda code: code.use))


def meant_codes(lookup: str, text: str) -> tuple[Code, ...]:
    """Return the codes that a text may mean, by one of their spellings; those that are
    used most first.
    """
    return _by_spelling(lookup).get(_key(text), ())


def find_code(lookup: str, text: str) -> Code | None:
    """Return the code that a text means, exactly: by itself, else by one of its
    spellings; None if several codes do.
    """
    meant = meant_codes(lookup, text)
    for code in meant:
        if fold(code.code) == fold(text):
            return code
    if len(meant) == 1:
        return meant[0]
    return None


def name_of(lookup: str, code: str) -> str:
    """Return the name of a code in any case; "" if it is unknown, or if a field has no
    lookup.
    """
    if not lookup:
        return ""
    names = (each.name for each in codes(lookup) if each.code.upper() == code.upper())
    return next(names, "")


@cache
def _by_spelling(lookup: str) -> Mapping[str, tuple[Code, ...]]:
    pairs = []
    for code in codes(lookup):
        keys = dict.fromkeys(_key(spelling) for spelling in code.spellings)
        pairs += [(key, code) for key in keys]
    return grouped(pairs)


def _key(text: str) -> str:
    """Return the words of a text in one order, so that "polygon usdc" is "USDC on
    Polygon".
    """
    return " ".join(sorted(word for word in fold(text).split() if word != "on"))


def _code(
    code: str, name: str, others: Sequence[str], use: tuple[int | str, ...]
) -> Code:
    texts = (code, name, *others)
    spellings = tuple(dict.fromkeys(fold(text) for text in texts))
    return Code(code, name, spellings, use)


def _countries() -> Iterator[Code]:
    others = _aliases_by_code("country")
    for code, country in places.countries().items():
        spellings = [*others.get(code, ())]
        if country.alpha3:
            spellings.insert(0, country.alpha3)
        yield _code(
            code,
            country.name,
            spellings,
            (_place(_FIRST_COUNTRIES, code), fold(country.name)),
        )


def _fiat() -> Iterator[Code]:
    others = _aliases_by_code("currency")
    for code, name in places.fiat_currencies().items():
        yield _code(code, name, others.get(code, ()), _use_of_fiat(code))


def _use_of_fiat(code: str) -> tuple[int | str, ...]:
    """Return the place of a currency: those that the service lists, the usual ones
    first, the others, then funds.
    """
    group = 1
    if code in FUNDS:
        group = 2
    elif listed_rails(code):
        group = 0
    return 0, group, _place(_FIRST_CURRENCIES, code), code


def _currencies() -> Iterator[Code]:
    """Yield what an order can name: fiat currencies, coins and tokens."""
    others = _aliases_by_code("currency")
    names = places.fiat_currencies()
    for token in token_list().values():
        if token.kind == "fiat":
            name = names.get(token.symbol, token.symbol)
            aliases = others.get(token.id, ())
            yield _code(token.id, name, aliases, _use_of_fiat(token.id))
    yield from _tokens()


def _tokens() -> Iterator[Code]:
    for token in token_list().values():
        if token.kind != "fiat":
            yield _token(token, networks()[token.network])
    for alias, token in currency_aliases().items():
        listed = _token(token, networks()[token.network])
        name = f"{listed.name}, the same as {token.id}"
        same = _code(alias, name, (), (*listed.use, alias))
        yield replace(same, is_test=listed.is_test)


def _token(token: Currency, network: Network) -> Code:
    other_symbols = _aliases_by_code("token").get(token.ticker, ())
    other_places = _aliases_by_code("network").get(network.name, ())
    symbols = dict.fromkeys([token.ticker, token.symbol, *other_symbols])
    places = dict.fromkeys([network.name, network.title, *other_places])
    spellings = [*symbols]
    for symbol in symbols:
        spellings += [f"{symbol} {place}" for place in places]
    use = (
        1,
        not is_payable(token),
        _place(_FIRST_SYMBOLS, token.ticker),
        network.is_test,
        _place(_FIRST_NETWORKS, network.name),
        token.id,
    )
    name = f"{token.ticker} on {network.title}"
    if network.is_test and "Testnet" not in network.title:
        name += " (test network)"
    return replace(_code(token.id, name, spellings, use), is_test=network.is_test)


def _place(first: Sequence[str], item: str) -> int:
    if item not in first:
        return len(first)
    return first.index(item)


@cache
def _aliases_by_code(kind: str) -> Mapping[str, tuple[str, ...]]:
    pairs = []
    for alias, meant in places.aliases(kind).items():
        pairs += [(code, alias) for code in meant]
    return grouped(pairs)


_TABLES: Mapping[str, Callable[[], Iterator[Code]]] = {
    "countries": _countries,
    "fiat": _fiat,
    "currencies": _currencies,
    "tokens": _tokens,
}
