"""Numbers of blockchains: read exactly, or not at all."""

from __future__ import annotations

import re
from typing import Any

_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,64}")
_DECIMAL = re.compile(r"[0-9]{1,78}")


def wei_of(value: Any) -> int | None:
    """Return a transaction's value as an integer of wei; None for a form that was never published.

    Published forms: the number 0, "0x0", a decimal string, {"type": "BigNumber", "hex": "0x..."}. A number of
    more than 256 bits is no value that a transaction can carry.
    """
    if isinstance(value, dict) and value.get("type", "BigNumber") == "BigNumber" and value.keys() <= {"type", "hex"}:
        value = value.get("hex")
    if isinstance(value, str):
        value = _integer(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 2**256 else None


def _integer(text: str) -> int | None:
    if _HEX.fullmatch(text):
        return int(text, 16)
    return int(text) if _DECIMAL.fullmatch(text) else None
