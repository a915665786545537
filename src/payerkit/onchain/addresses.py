"""Addresses: well-formed or not, spelled with their checksum or not, somebody's or nobody's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from payerkit.html import visible

BURNED = frozenset({f"0x{0:040x}", f"0x{0xDEAD:040x}"})
"""Addresses that nobody has the key of: zero, and 0x...dEaD."""

_ADDRESS = re.compile("0x[0-9a-fA-F]{40}").fullmatch


@dataclass(frozen=True, slots=True)
class AddressFault:
    """What is wrong with an address. is_spelling: it is one, and only its letters are not those of its checksum."""

    code: str
    message: str
    is_spelling: bool = False


def address_fault(address: Any) -> AddressFault | None:
    """Return what is wrong with an address; None if nothing is."""
    if not isinstance(address, str) or _ADDRESS(address) is None:
        return AddressFault("address_malformed", "No address: 0x and 40 hex digits.")
    if address in {address.lower(), address[:2] + address[2:].upper()} or is_checksummed(address):
        return None
    words = "The letters do not fit the checksum of the address: it may be mistyped."
    return AddressFault("address_checksum", words, is_spelling=True)


def is_checksummed(address: str) -> bool:
    """Tell whether large and small letters of an address are those of EIP-55."""
    return bool(spelled(address) == address)


def spelled(address: Any) -> Any:
    """Return an address with the large and small letters of EIP-55, as people compare it; other text made visible."""
    from eth_utils.address import to_checksum_address  # noqa: PLC0415 - loaded when first needed

    if not isinstance(address, str):
        return address
    return str(to_checksum_address(address)) if _ADDRESS(address) else visible(address)


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two addresses are the same, however their letters are spelled."""
    return isinstance(one, str) and isinstance(other, str) and one.lower() == other.lower()
