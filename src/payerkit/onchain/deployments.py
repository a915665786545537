"""Where the payment contracts are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit.tables import rows

CURRENT = {"ERC20FeeProxy": "0.2.0", "EthereumFeeProxy": "0.2.0"}
"""The version of each contract that new payments use where a network has it."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A contract at an address; the same address can be something else on another network."""

    contract: str
    version: str
    network: str
    address: str


@cache
def deployments() -> Mapping[tuple[str, str], tuple[Deployment, ...]]:
    """Return the deployments of a contract on a network, by both names, the one to use first."""
    found: dict[tuple[str, str], list[Deployment]] = {}
    for row in rows(__package__, "deployments"):
        found.setdefault((row["contract"], row["network"]), []).append(Deployment(**row))
    return {place: tuple(sorted(all_of_them, key=_rank)) for place, all_of_them in found.items()}


def find_deployment(contract: str, network: str) -> Deployment | None:
    """Return the deployment that new payments use on a network; None if the contract is not there."""
    known = deployments().get((contract, network))
    return known[0] if known else None


def _rank(deployment: Deployment) -> tuple[bool, str]:
    return deployment.version != CURRENT[deployment.contract], deployment.version
