"""Call data of the transactions that the service hands out: selectors and arguments, encoded with eth-abi.

The functions are written out here and nowhere else imported: whoever decodes them must not read them from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eth_abi import encode
from eth_hash.auto import keccak

APPROVE = "approve(address,uint256)"
PAY_TOKEN = "transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)"  # noqa: S105 - a signature
PAY_NATIVE = "transferWithReferenceAndFee(address,bytes,uint256,address)"


def call(signature: str, arguments: Sequence[Any]) -> str:
    """Return the call data of a function as hex: four bytes of the signature's hash, then the arguments."""
    types = signature.partition("(")[2].removesuffix(")").split(",")
    return "0x" + (keccak(signature.encode())[:4] + encode(types, arguments)).hex()


def payment_reference(request_id: str, salt: str, address: str) -> bytes:
    """Return the eight bytes by which a payment is found again.

    The last eight of keccak-256 over request id, salt and address as lower-case text (RequestNetwork,
    payment-detection, payment-reference-calculator).
    """
    return keccak((request_id + salt + address).lower().encode())[-8:]


def big_number(value: int) -> dict[str, str]:
    """Return a number the way ethers 5 writes it to JSON: hex with an even number of digits."""
    digits = f"{value:x}"
    return {"type": "BigNumber", "hex": "0x" + digits.rjust(len(digits) + len(digits) % 2, "0")}
