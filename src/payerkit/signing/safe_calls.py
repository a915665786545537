"""The transactions of a payment as calls that a Safe makes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.html import visible
from payerkit.onchain.addresses import address_problem, keccak, with_checksum
from payerkit.onchain.networks import networks
from payerkit.review.transactions import DecodedTransaction
from payerkit.signing.device import digest_of


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


BUILDER_VERSION = "1.18.3"
"""The version of Safe's Transaction Builder whose files are written."""


def builder_file(
    calls: Sequence[SafeCall], *, safe: str, chain_id: int, name: str, description: str, created_at: datetime | None
) -> dict[str, Any]:
    """Return calls as the content of a file for Safe's Transaction Builder, with its checksum."""
    at = datetime.now(UTC) if created_at is None else created_at
    if at.tzinfo is None:
        raise InvalidInput("created_at: give a time with its time zone, such as datetime.now(UTC).")
    content: dict[str, Any] = {
        "version": "1.0",
        "chainId": str(chain_id),
        "createdAt": round(at.timestamp() * 1000),
        "meta": {
            "name": visible(name),
            "description": visible(description),
            "txBuilderVersion": BUILDER_VERSION,
            "createdFromSafeAddress": safe,
            "createdFromOwnerAddress": "",
        },
        "transactions": [
            {
                "to": call.to,
                "value": str(call.value),
                "data": f"0x{call.data.hex()}",
                "contractMethod": None,
                "contractInputsValues": None,
            }
            for call in calls
        ],
    }
    content["meta"]["checksum"] = _checksum(content)
    return content


def write_builder_file(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a file for Safe's Transaction Builder, replacing an existing one."""
    Path(path).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _checksum(content: dict[str, Any]) -> str:
    """Return what the Transaction Builder compares, to tell whether a file was modified; the name is left out."""
    return f"0x{keccak(_serialized({**content, 'meta': {**content['meta'], 'name': None}}).encode()).hex()}"


def _serialized(value: Any) -> str:
    """Return JSON in the form that the Transaction Builder hashes."""
    if isinstance(value, dict):
        keys = sorted(value)
        return "{" + _compact(keys) + "".join(f"{_serialized(value[key])}," for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_serialized, value)) + "]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
