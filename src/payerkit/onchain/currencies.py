"""The currencies that an order can name: fiat money, coins of networks, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from payerkit.tables import rows

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


def _currency(row: dict[str, str]) -> Currency:
    return Currency(
        id=row["id"],
        kind=cast("Kind", row["kind"]),
        network=row["network"],
        symbol=row["symbol"],
        decimals=int(row["decimals"]),
        address=row["address"],
    )
