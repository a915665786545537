"""Read the bytes of one transaction: which function, with which arguments, and whether that is all there is to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from payerkit.onchain.abi import Type, words_of
from payerkit.onchain.functions import Function, functions

MAX_BYTES = 131_072
"""Bytes of call data that are read: what networks take in one transaction (geth, txMaxSize)."""

NOTES = {
    "": "",
    "missing": "The transaction has no data.",
    "not_hex": "The data is no hex.",
    "elided": "The data was shortened with dots; nothing can be read from it.",
    "odd": "The data has half a byte at its end: it was cut.",
    "too_long": f"The data has more than {MAX_BYTES} bytes, more than networks take.",
    "empty": "A plain transfer without data.",
    "reference_only": "A plain transfer with eight bytes of reference.",
    "too_short": "The data is too short to call a function.",
    "unknown": "A function that payerkit does not know.",
    "cut": "The arguments do not fit the function: bytes are missing, or places point outside.",
    "too_much": "The data uses parts of itself more than once; it is not read any further.",
    "not_canonical": "The data is not what its arguments encode to: it has bytes more, or otherwise placed.",
}
"""What is to be said of a call, by a code; "" where its arguments explain every byte."""


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """What the data of a transaction says.

    code: one of `NOTES`. function: None if the data calls none, or an unknown one. arguments: by our names, None if
    they cannot be read.
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
        """Whether the arguments explain every byte; None if no arguments were read."""
        return None if self.arguments is None else self.code == ""


def read_call(data: Any) -> DecodedCall:
    """Return what call data says; it never fails, whatever the data is."""
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
    if not data:
        return DecodedCall(data, "empty")
    function = functions().get(data[:4])
    if function is None:
        return DecodedCall(data, _without_function(data))
    try:
        words_of(function.arguments, data[4:])
    except ValueError as error:
        return DecodedCall(data, "too_much" if type(error) is not ValueError else "cut", function)
    return _decode(function, data)


def _without_function(data: bytes) -> str:
    if len(data) == 8:
        return "reference_only"
    return "too_short" if len(data) < 4 else "unknown"


def _decode(function: Function, data: bytes) -> DecodedCall:
    from eth_abi import decode, encode  # noqa: PLC0415 - takes 60 ms to import
    from eth_abi.exceptions import DecodingError  # noqa: PLC0415

    types = [part.canonical for part in function.arguments.parts]
    try:
        values = decode(types, data[4:])
    except (DecodingError, OverflowError):
        return DecodedCall(data, "cut", function)
    is_all = encode(types, values) == data[4:]
    return DecodedCall(data, "" if is_all else "not_canonical", function, _named(function.arguments, values))


def _named(kind: Type, value: Any) -> Any:
    """Return a decoded value with our names: a tuple as a dict, an array as a list."""
    if kind.kind == "tuple":
        return {part.name: _named(part, item) for part, item in zip(kind.parts, value, strict=True)}
    if kind.kind == "array":
        return [_named(kind.parts[0], item) for item in value]
    return value
