"""The networks that currencies and contracts are on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tsv import rows
from payerkit.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Network:
    """A blockchain. name: as in currency ids. title: its common name. chain_id: None if the sources disagree.

    is_test: its coins and tokens are worth nothing. explorer: a site that shows its addresses; "" if none is known.
    """

    name: str
    title: str
    chain_id: int | None
    is_test: bool
    explorer: str = ""

    def page_of(self, address: str) -> str:
        """Return the explorer's page about an address, as EIP-3091 has it."""
        return f"{self.explorer}/address/{address}"

    def __str__(self) -> str:
        known = [] if self.title.lower() == self.name else [self.title]
        known += [] if self.chain_id is None else [f"chain id {self.chain_id}"]
        return f"{self.name} ({', '.join(known)})"


@cache
def networks() -> Mapping[str, Network]:
    """Return all networks by name."""
    return {row["network"]: _network(row) for row in rows(__package__, "networks")}


def read_network(network: object) -> str:
    """Return a network by its name. Raises InvalidInput for one that is not in networks.tsv."""
    if str(network) not in networks():
        raise InvalidInput(
            f"network: {network!r} is not known. Use a network name as in currency ids, such as matic for Polygon."
        )
    return str(network)


def network_in_id(currency_id: str) -> Network | None:
    """Return the network that a currency id ends with, also if the token list does not have the currency; else None."""
    key = currency_id.lower()
    found = [each for name, each in networks().items() if key.endswith(f"-{name}") and currency_id.isascii()]
    return max(found, key=lambda network: len(network.name), default=None)


def _network(row: dict[str, str]) -> Network:
    return Network(
        name=row["network"],
        title=row["title"],
        chain_id=int(row["chain_id"]) if row["chain_id"] else None,
        is_test={"yes": True, "no": False}[row["test"]],
        explorer=row["explorer"],
    )
