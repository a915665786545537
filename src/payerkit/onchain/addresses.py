"""Addresses: their format, and their checksum by EIP-55."""

from __future__ import annotations

import re
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.html import visible


def keccak(data: bytes) -> bytes:
    """Return the keccak-256 of bytes, which is not the SHA3-256 of the standard library."""
    from eth_hash.auto import keccak as digest  # noqa: PLC0415 - loaded when first needed

    return bytes(digest(data))


_ADDRESS = re.compile("0x[0-9a-fA-F]{40}").fullmatch


def address_problem(address: object) -> str:
    """Return the code of the problem of an address: "address_malformed" or "address_checksum"; "" if it is valid."""
    if not isinstance(address, str) or _ADDRESS(address) is None:
        return "address_malformed"
    if address in {address.lower(), f"0x{address[2:].upper()}"} or address == with_checksum(address):
        return ""
    return "address_checksum"


def with_checksum(address: Any) -> Any:
    """Return an address with its EIP-55 checksum; other text with invisible characters escaped, other values as is."""
    if not isinstance(address, str):
        return address
    if not _ADDRESS(address):
        return visible(address)
    digits = address[2:].lower()
    capitals = keccak(digits.encode()).hex()  # where a digit is 8 or more, a letter is a capital
    return "0x" + "".join(one.upper() if other > "7" else one for one, other in zip(digits, capitals, strict=False))


def read_address(address: object, name: str) -> str:
    """Return an address with its checksum. Raises InvalidInput for any other value. name: of what it is given for."""
    problem = address_problem(address)
    if problem == "address_malformed":
        raise InvalidInput(f"{name}: expected an address, 0x and 40 hex digits.")
    if problem:
        raise InvalidInput(
            f"{name}: the capital letters do not match the checksum of the address, so it may be mistyped. Compare it "
            "with a trusted source."
        )
    return str(with_checksum(address))


def is_same(one: object, other: object) -> bool:
    """Return True if both are the same address, ignoring case."""
    return isinstance(one, str) and isinstance(other, str) and one.lower() == other.lower()
