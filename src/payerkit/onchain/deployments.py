"""Where the payment contracts are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tables import rows

CURRENT = {
    "AuthCaptureEscrow": "0.1.0",
    "BatchConversionPayments": "0.1.0",
    "BatchPayments": "0.1.0",
    "ChainlinkConversionPath": "0.2.0",
    "ERC20CommerceEscrowWrapper": "0.1.0",
    "ERC20EscrowToPay": "0.1.0",
    "ERC20FeeProxy": "0.2.0",
    "ERC20Proxy": "0.1.0",
    "ERC20RecurringPaymentProxy": "0.1.0",
    "ERC20SwapToPay": "0.4.0",
    "ERC20TransferableReceivable": "0.2.0",
    "Erc20ConversionProxy": "0.1.0",
    "Erc20SwapConversion": "0.2.0",
    "EthConversionProxy": "0.2.0",
    "EthereumFeeProxy": "0.2.0",
    "EthereumProxy": "0.3.0",
    "SingleRequestProxyFactory": "0.1.0",
}
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


@cache
def _by_address() -> Mapping[str, tuple[Deployment, ...]]:
    found: dict[str, list[Deployment]] = {}
    for place in deployments().values():
        for deployment in place:
            found.setdefault(deployment.address.lower(), []).append(deployment)
    return {address: tuple(each) for address, each in found.items()}


def deployments_at(address: str) -> tuple[Deployment, ...]:
    """Return what is deployed at an address, on whichever networks; nothing if no contract is known there."""
    return _by_address().get(address.lower(), ())


def _rank(deployment: Deployment) -> tuple[bool, str]:
    return deployment.version != CURRENT[deployment.contract], deployment.version
