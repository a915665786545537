"""The networks that currencies and contracts are on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tables import rows


@dataclass(frozen=True, slots=True)
class Network:
    """A blockchain. name: as in currency ids. title: its common name. chain_id: None if the sources disagree."""

    name: str
    title: str
    chain_id: int | None

    def __str__(self) -> str:
        known = [] if self.title.lower() == self.name else [self.title]
        known += [] if self.chain_id is None else [f"chain id {self.chain_id}"]
        return f"{self.name} ({', '.join(known)})"


@cache
def networks() -> Mapping[str, Network]:
    """Return all networks by name."""
    return {
        row["network"]: Network(row["network"], row["title"], int(row["chain_id"]) if row["chain_id"] else None)
        for row in rows(__package__, "networks")
    }
