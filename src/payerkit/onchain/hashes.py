"""The hash function of Ethereum."""

from __future__ import annotations


def keccak(data: bytes) -> bytes:
    """Return the keccak-256 of bytes, which is not the SHA3-256 of the standard library."""
    from eth_hash.auto import keccak as digest  # noqa: PLC0415 - loaded when first needed

    return bytes(digest(data))
