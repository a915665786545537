"""ABI encoding of the calls that the sandbox responds with: selectors and arguments, by eth-abi.

The function signatures are written out here. The decoder in `onchain` has its own, so that a mistake on one side shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_hash.auto import keccak

APPROVE = "approve(address,uint256)"
PAY_TOKEN = "transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)"  # noqa: S105 - a signature
PAY_NATIVE = "transferWithReferenceAndFee(address,bytes,uint256,address)"


def encode_call(signature: str, arguments: Sequence[Any]) -> str:
    """Return the calldata of a function call as hex: the 4-byte selector, then the ABI-encoded arguments."""
    return "0x" + (keccak(signature.encode())[:4] + encode(_types(signature), arguments)).hex()


def decode_call(data: str) -> tuple[str, list[Any]] | None:
    """Return the signature and the arguments of one of the calls above; None for any other calldata."""
    content = bytes.fromhex(data.removeprefix("0x"))
    for signature in (APPROVE, PAY_TOKEN, PAY_NATIVE):
        if content[:4] == keccak(signature.encode())[:4]:
            try:
                return signature, list(decode(_types(signature), content[4:]))
            except DecodingError:
                return None
    return None


def payment_reference(request_id: str, salt: str, address: str) -> bytes:
    """Return the 8-byte reference that identifies a payment on chain.

    The last eight bytes of keccak-256 over request id, salt and address as lower-case text (RequestNetwork,
    payment-detection, payment-reference-calculator).
    """
    return keccak((request_id + salt + address).lower().encode())[-8:]


def _types(signature: str) -> list[str]:
    return signature.partition("(")[2].removesuffix(")").split(",")


def big_number(value: int) -> dict[str, str]:
    """Return a number as ethers 5 serializes it to JSON: hex with an even number of digits."""
    digits = f"{value:x}"
    return {"type": "BigNumber", "hex": "0x" + digits.rjust(len(digits) + len(digits) % 2, "0")}
