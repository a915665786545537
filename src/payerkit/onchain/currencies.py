"""The currencies that an order can name: fiat money, coins of networks, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from payerkit._tables import rows

Kind = Literal["fiat", "native", "erc20", "trc20"]


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency of the service's token list.

    decimals: digits after the point; they belong to the currency and not to its symbol. address: of the token's
    contract, "" for fiat money and coins. network: "fiat" for fiat money.
    """

    id: str
    kind: Kind
    network: str
    symbol: str
    decimals: int
    address: str


@cache
def currencies() -> Mapping[str, Currency]:
    """Return all currencies by their id in lower case; ids differ also when case is ignored."""
    return {row["id"].lower(): _currency(row) for row in rows(__package__, "currencies")}


def find_currency(currency_id: str) -> Currency | None:
    """Return the currency with this id, upper and lower case alike; None if the list does not have it."""
    return currencies().get(currency_id.lower())


def find_token(network: str, address: str) -> Currency | None:
    """Return the token at an address of a network; None if the list does not have it."""
    return _tokens().get((network, address.lower()))


def tokens_at(address: str) -> list[Currency]:
    """Return the tokens at an address, on whichever networks."""
    return [token for (_, place), token in _tokens().items() if place == address.lower()]


def native_currency(network: str) -> Currency | None:
    """Return a network's own coin; None if the list does not have it."""
    return next((each for each in currencies().values() if each.kind == "native" and each.network == network), None)


def find_by_hash(digest: str) -> Currency | None:
    """Return the fiat money or coin that a conversion path names by its hash; None if it is none of the list's."""
    return _by_hash().get(digest.lower())


@cache
def _tokens() -> Mapping[tuple[str, str], Currency]:
    return {(each.network, each.address.lower()): each for each in currencies().values() if each.kind == "erc20"}


@cache
def _by_hash() -> Mapping[str, Currency]:
    return {currency_hash(each): each for each in currencies().values() if each.kind in {"fiat", "native"}}


def currency_hash(currency: Currency) -> str:
    """Return what stands for fiat money or a coin in a conversion path: 20 bytes as lower-case hex.

    The last of keccak-256 over the lower-cased JSON of type and symbol (RequestNetwork, currency package). A coin that
    several networks have is one currency there.
    """
    from eth_hash.auto import keccak  # noqa: PLC0415 - loaded when first needed

    kind = "ISO4217" if currency.kind == "fiat" else "ETH"
    return "0x" + keccak(f'{{"type":"{kind}","value":"{currency.symbol}"}}'.lower().encode())[-20:].hex()


def _currency(row: dict[str, str]) -> Currency:
    return Currency(
        id=row["id"],
        kind=cast("Kind", row["kind"]),
        network=row["network"],
        symbol=row["symbol"],
        decimals=int(row["decimals"]),
        address=row["address"],
    )
