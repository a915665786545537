"""Decode the calldata of one transaction: the function, its arguments, and whether they account for every byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from payerkit.onchain.abi import AbiType, OverlappingDataError, check_overlap
from payerkit.onchain.functions import Function, functions

MAX_BYTES = 131_072
"""Maximum length of calldata that is decoded; networks accept no longer transaction (geth, txMaxSize)."""

NOTES = {
    "": "",
    "missing": "The transaction has no calldata.",
    "not_hex": "The calldata is not valid hexadecimal.",
    "elided": "The calldata is abbreviated with dots, so it cannot be decoded.",
    "odd": "The calldata has an odd number of hex digits: it is truncated.",
    "too_long": f"The calldata is longer than {MAX_BYTES:,} bytes, more than networks accept.",
    "empty": "The transaction is a plain transfer without calldata.",
    "reference_only": "The transaction is a plain transfer with an eight-byte payment reference.",
    "too_short": "The calldata is too short for a function call.",
    "unknown": "payerkit does not know the function that the calldata calls.",
    "cut": "The arguments do not match the function: the calldata is truncated or malformed.",
    "too_much": "The arguments overlap: they use parts of the calldata more than once.",
    "not_canonical": "The calldata differs from the encoding of its arguments: it has additional or rearranged bytes.",
}
"""The message of each code; "" is the code of a call whose arguments account for every byte."""


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """Decoded calldata.

    code: a key of `NOTES`. function: None if there is no call, or of an unknown function. arguments: by payerkit's
    names; None if they cannot be decoded.
    """

    data: bytes
    code: str
    function: Function | None = None
    arguments: dict[str, Any] | None = None

    @property
    def selector(self) -> str:
        """The first four bytes as hex; "" if there are fewer."""
        return f"0x{self.data[:4].hex()}" if len(self.data) >= 4 and self.code != "reference_only" else ""

    @property
    def canonical(self) -> bool | None:
        """Whether the arguments account for every byte; None if there are no decoded arguments."""
        return None if self.arguments is None else self.code == ""


def read_call(data: object) -> DecodedCall:
    """Return the decoded calldata of a transaction; never raises."""
    if not isinstance(data, str):
        return DecodedCall(b"", "missing" if data is None else "not_hex")
    if len(data) > 2 * MAX_BYTES + 2:
        return DecodedCall(b"", "too_long")
    digits = data[2:] if data[:2] in {"0x", "0X"} else data
    if re.fullmatch("[0-9a-fA-F]*", digits) is None:
        return DecodedCall(b"", "elided" if re.search(r"\.\.|…", data) else "not_hex")
    if len(digits) % 2:
        return DecodedCall(bytes.fromhex(digits[:-1]), "odd")
    return _read_bytes(bytes.fromhex(digits))


def _read_bytes(data: bytes) -> DecodedCall:
    function = functions().get(data[:4])
    if function is None:
        return DecodedCall(data, _code_without_function(data))
    return _decode(function, data)


def _code_without_function(data: bytes) -> str:
    if len(data) in {0, 8}:
        return "reference_only" if data else "empty"
    return "too_short" if len(data) < 4 else "unknown"


def _decode(function: Function, data: bytes) -> DecodedCall:
    """Decode as contracts do, which ignore additional and rearranged bytes; encoding again shows these."""
    from eth_abi import decode, encode  # noqa: PLC0415 - takes 60 ms to import
    from eth_abi.exceptions import DecodingError  # noqa: PLC0415

    types = [part.canonical for part in function.arguments.parts]
    try:
        check_overlap(function.arguments, data[4:])
        values = decode(types, data[4:])
    except OverlappingDataError:
        return DecodedCall(data, "too_much", function)
    except (ValueError, DecodingError, OverflowError):
        return DecodedCall(data, "cut", function)
    code = "" if encode(types, values) == data[4:] else "not_canonical"
    return DecodedCall(data, code, function, _by_name(function.arguments, values))


def _by_name(kind: AbiType, value: Any) -> Any:
    """Return a decoded tuple as a dict by name, an array as a list, any other value as is."""
    if kind.kind == "tuple":
        return {part.name: _by_name(part, item) for part, item in zip(kind.parts, value, strict=True)}
    if kind.kind == "array":
        return [_by_name(kind.parts[0], item) for item in value]
    return value
