"""The codes of countries, currencies and tokens, and what people type in place of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from payerkit.checks.places import aliases, countries, fiat_currencies
from payerkit.checks.requirements import listed_rails
from payerkit.checks.texts import fold
from payerkit.onchain.currencies import Currency, Network, currency_aliases, is_payable, networks, token_list

_FIRST_COUNTRIES = ("US", "GB", "DE")
_FIRST_CURRENCIES = ("USD", "EUR", "GBP")
_FIRST_SYMBOLS = ("USDC", "USDT", "ETH", "DAI")
_FIRST_NETWORKS = ("mainnet", "matic", "base", "arbitrum-one", "optimism", "bsc")
"""What is used most; everything else follows in the order of its code."""

FUNDS = frozenset(
    "BOV CHE CHW CLF COU MXV USN UYI UYW XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX".split()  # noqa: SIM905 - a list to read
)
"""Codes of ISO 4217 for funds, metals, units of account and tests, in which no bank keeps an ordinary account."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code with its name and its spellings: the folded texts that mean it, though others may share one.

    text: everything that a search looks through, folded. use: codes that are used more sort before others.
    """

    code: str
    name: str
    spellings: tuple[str, ...]
    text: str
    use: tuple[int | str, ...]


@cache
def codes(lookup: str) -> tuple[Code, ...]:
    """Return the codes of a lookup, those that are used most first."""
    return tuple(sorted(_TABLES[lookup](), key=lambda code: code.use))


def meant_codes(lookup: str, text: str) -> tuple[Code, ...]:
    """Return the codes that a text may mean, by one of their spellings; those that are used most first."""
    return _by_spelling(lookup).get(_key(text), ())


def find_code(lookup: str, text: str) -> Code | None:
    """Return the code that a text means, exactly: by itself, else by one of its spellings; None if several codes do."""
    found = meant_codes(lookup, text)
    same = [each for each in found if fold(each.code) == fold(text)]
    return same[0] if same else found[0] if len(found) == 1 else None


def name_of(lookup: str, code: str) -> str:
    """Return the name of a code in any case; "" if it is unknown, or if a field has no lookup."""
    return "" if not lookup else _names(lookup).get(code.upper(), "")


@cache
def _names(lookup: str) -> Mapping[str, str]:
    return {each.code.upper(): each.name for each in codes(lookup)}


@cache
def _by_spelling(lookup: str) -> Mapping[str, tuple[Code, ...]]:
    found: dict[str, tuple[Code, ...]] = {}
    for each in codes(lookup):
        for spelling in dict.fromkeys(map(_key, each.spellings)):
            found[spelling] = (*found.get(spelling, ()), each)
    return found


def _key(text: str) -> str:
    """Return the words of a text in one order, so that "polygon usdc" is "USDC on Polygon"."""
    return " ".join(sorted(word for word in fold(text).split() if word != "on"))


def _code(code: str, name: str, others: Sequence[str], use: tuple[int | str, ...]) -> Code:
    spellings = tuple(dict.fromkeys(map(fold, (code, name, *others))))
    return Code(code, name, spellings, " ".join(spellings), use)


def _countries() -> Iterator[Code]:
    others = _aliases_by_code("country")
    for code, country in countries().items():
        spellings = [*([country.alpha3] if country.alpha3 else []), *others.get(code, ())]
        yield _code(code, country.name, spellings, (_place(_FIRST_COUNTRIES, code), fold(country.name)))


def _fiat() -> Iterator[Code]:
    others = _aliases_by_code("currency")
    for code, name in fiat_currencies().items():
        yield _code(code, name, others.get(code, ()), _use_of_fiat(code))


def _use_of_fiat(code: str) -> tuple[int | str, ...]:
    """Return the place of a currency: those that the operator lists, the usual ones first, the others, then funds."""
    group = 2 if code in FUNDS else 0 if listed_rails(code) else 1
    return 0, group, _place(_FIRST_CURRENCIES, code), code


def _currencies() -> Iterator[Code]:
    """Yield what an order can name: fiat currencies, coins and tokens."""
    others = _aliases_by_code("currency")
    names = fiat_currencies()
    for each in token_list().values():
        if each.kind == "fiat":
            yield _code(each.id, names.get(each.symbol, each.symbol), others.get(each.id, ()), _use_of_fiat(each.id))
    yield from _tokens()


def _tokens() -> Iterator[Code]:
    for each in token_list().values():
        if each.kind != "fiat":
            yield _token(each, networks()[each.network])
    for alias, each in currency_aliases().items():
        listed = _token(each, networks()[each.network])
        yield _code(alias, f"{listed.name}, the same as {each.id}", (), (*listed.use, alias))


def _token(token: Currency, network: Network) -> Code:
    symbols = dict.fromkeys([token.ticker, token.symbol, *_aliases_by_code("token").get(token.ticker, ())])
    places = dict.fromkeys([network.name, network.title, *_aliases_by_code("network").get(network.name, ())])
    spellings = [*symbols, *(f"{symbol} {place}" for symbol in symbols for place in places)]
    use = (
        1,
        not is_payable(token),
        _place(_FIRST_SYMBOLS, token.ticker),
        network.is_test,
        _place(_FIRST_NETWORKS, network.name),
        token.id,
    )
    is_marked = network.is_test and "Testnet" not in network.title
    name = f"{token.ticker} on {network.title}{' (test network)' if is_marked else ''}"
    return _code(token.id, name, spellings, use)


def _place(first: Sequence[str], item: str) -> int:
    return first.index(item) if item in first else len(first)


@cache
def _aliases_by_code(kind: str) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for alias, meant in aliases(kind).items():
        for code in meant:
            found[code] = (*found.get(code, ()), alias)
    return found


_TABLES: Mapping[str, Callable[[], Iterator[Code]]] = {
    "countries": _countries,
    "fiat": _fiat,
    "currencies": _currencies,
    "tokens": _tokens,
}
