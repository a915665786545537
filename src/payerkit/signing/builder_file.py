"""The file of calls that Safe's Transaction Builder reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.html import visible
from payerkit.onchain.hashes import keccak
from payerkit.signing.safe_calls import SafeCall

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
