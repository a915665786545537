"""The transactions of a payment as calls that a Safe makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from payerkit.errors import InvalidInput
from payerkit.onchain.addresses import address_problem, with_checksum
from payerkit.onchain.networks import networks
from payerkit.review.transactions import DecodedTransaction
from payerkit.signing.calldata_digest import digest_of


@dataclass(frozen=True, slots=True)
class SafeCall:
    """A call that a Safe makes. operation: 0 for a call, 1 for a delegate call. value: in wei."""

    to: str
    value: int
    data: bytes
    operation: int = 0


def safe_calls(transactions: Sequence[DecodedTransaction]) -> tuple[SafeCall, ...]:
    """Return transactions as calls. Raises InvalidInput for one that cannot be sent as it is."""
    if not transactions:
        raise InvalidInput("payment: it has no transactions.")
    return tuple(map(_safe_call, transactions))


def _safe_call(transaction: DecodedTransaction) -> SafeCall:
    to, value, name = transaction.to, transaction.value, f"transaction {transaction.index + 1}"
    if to is None or address_problem(to):
        raise InvalidInput(f"{name}: `to` is not a valid address.")
    if value is None:
        raise InvalidInput(f"{name}: its value cannot be read.")
    if digest_of(transaction) is None:
        raise InvalidInput(f"{name}: its calldata cannot be read.")
    return SafeCall(with_checksum(to), value, transaction.call.data)


def chain_id_of(network: str | None) -> int:
    """Return the chain id of a network. Raises InvalidInput if it is not known."""
    if network is None:
        raise InvalidInput("network: not known; name it, such as network='sepolia'.")
    chain_id = networks()[network].chain_id
    if chain_id is None:
        raise InvalidInput(f"network: the chain id of {network} is not known.")
    return chain_id
