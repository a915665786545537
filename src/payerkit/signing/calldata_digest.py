"""The calldata digest of ERC-8213, which signing devices show for a transaction that they cannot read."""

from __future__ import annotations

from payerkit.onchain.hashes import keccak
from payerkit.review.transactions import DecodedTransaction

_NOT_BYTES = {"missing", "not_hex", "elided", "odd", "too_long"}
"""Codes of calldata that is not a sequence of bytes, so that it has no digest."""


def calldata_digest(data: bytes) -> str:
    """Return the keccak-256 of the length of calldata, as a 32-byte number, and the calldata (ERC-8213).

    It covers neither the contract, nor the value, nor the chain: compare these, too.
    """
    return f"0x{keccak(len(data).to_bytes(32) + data).hex()}"


def digest_of(transaction: DecodedTransaction) -> str | None:
    """Return the calldata digest of a transaction; None if its calldata is missing or cannot be read."""
    return None if transaction.call.code in _NOT_BYTES else calldata_digest(transaction.call.data)
