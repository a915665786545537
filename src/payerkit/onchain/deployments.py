"""The addresses of the payment contracts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tsv import rows
from payerkit.onchain.currencies import Currency


@dataclass(frozen=True, slots=True)
class Deployment:
    """A contract at an address of a network; on another network the address can hold a different contract."""

    contract: str
    version: str
    network: str
    address: str


@cache
def current_versions() -> Mapping[str, str]:
    """Return the version of each contract that new payments use where a network has it."""
    return {row["contract"]: row["current_version"] for row in rows(__package__, "contracts")}


@cache
def deployments() -> Mapping[tuple[str, str], tuple[Deployment, ...]]:
    """Return the deployments by contract and network, the current version first."""
    found: dict[tuple[str, str], list[Deployment]] = {}
    for row in rows(__package__, "deployments"):
        found.setdefault((row["contract"], row["network"]), []).append(Deployment(**row))
    return {place: tuple(sorted(versions, key=_rank)) for place, versions in found.items()}


def find_deployment(contract: str, network: str) -> Deployment | None:
    """Return the deployment that new payments use on a network; None if the contract is not deployed there."""
    known = deployments().get((contract, network))
    return known[0] if known else None


_FEE_CONTRACTS = {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}
"""The contract that pays in a currency of a kind; none is known for the other kinds."""


def is_payable(currency: Currency) -> bool:
    """Return True if a currency can pay: a payment contract for its kind is known on its network."""
    contract = _FEE_CONTRACTS.get(currency.kind)
    return contract is not None and find_deployment(contract, currency.network) is not None


@cache
def _by_address() -> Mapping[str, tuple[Deployment, ...]]:
    found: dict[str, list[Deployment]] = {}
    for versions in deployments().values():
        for deployment in versions:
            found.setdefault(deployment.address.lower(), []).append(deployment)
    return {address: tuple(each) for address, each in found.items()}


def deployments_at(address: str | None) -> tuple[Deployment, ...]:
    """Return the contracts deployed at an address, on any network."""
    return _by_address().get((address or "").lower(), ())


def _rank(deployment: Deployment) -> tuple[bool, str]:
    return deployment.version != current_versions()[deployment.contract], deployment.version
