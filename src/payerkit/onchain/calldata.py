"""Decode the calldata of one transaction: the function, its arguments, and whether they account for every byte."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from typing import Any

from payerkit._tsv import rows

WORD = 32
_TOKENS = re.compile(r"[(),]|\[\]| |[A-Za-z0-9_]+")


@dataclass(frozen=True)
class AbiType:
    """An argument or a part of one. parts: the components of a tuple, or the one item type of an array."""

    name: str
    kind: str
    parts: tuple[AbiType, ...] = ()

    @cached_property
    def canonical(self) -> str:
        """The type as written in a canonical signature."""
        if self.kind == "array":
            return f"{self.parts[0].canonical}[]"
        return f"({','.join(part.canonical for part in self.parts)})" if self.kind == "tuple" else self.kind

    @cached_property
    def is_dynamic(self) -> bool:
        """Whether the head holds an offset and the value follows in the tail."""
        return self.kind in {"bytes", "array"} or any(part.is_dynamic for part in self.parts)

    @cached_property
    def head_words(self) -> int:
        """Number of words in the head."""
        return 1 if self.is_dynamic or self.kind != "tuple" else sum(part.head_words for part in self.parts)


def parse_signature(signature: str) -> tuple[str, AbiType]:
    """Return the function name and its arguments as one tuple. Raises ValueError if the signature is malformed."""
    name, bracket, rest = signature.partition("(")
    tokens = [part for part in _TOKENS.findall(bracket + rest) if part != " "]
    parsed, left = _parse(tokens)
    if left or not name.isidentifier():
        raise ValueError(f"malformed signature: {signature}")
    return name, parsed


def _parse(left: list[str]) -> tuple[AbiType, list[str]]:
    """Return the first type with its name, and the tokens after it."""
    if left[0] == "(":
        components, left = [], left[1:]
        while left[0] != ")":
            component, left = _parse(left)
            components.append(component)
            left = left[1:] if left[0] == "," else left
        found = AbiType("", "tuple", tuple(components))
    else:
        found = AbiType("", left[0])
    left = left[1:]
    while left and left[0] == "[]":
        found, left = AbiType("", "array", (found,)), left[1:]
    if left and left[0].isidentifier():
        found, left = replace(found, name=left[0]), left[1:]
    return found, left


class OverlappingDataError(ValueError):
    """The arguments use parts of the data more than once."""


def _count_words(kind: AbiType, data: bytes, start: int, left: int) -> int:
    """Return how many of the words that are left a value leaves, if each part is written once.

    Raises OverlappingDataError if there are too few, and ValueError for data that ends too early. A few kilobytes whose
    arrays point at the same items decode to millions of values, so this follows offsets and lengths alone.
    """
    parts, head = kind.parts, start
    if kind.kind in {"bytes", "array"}:
        length = _number_at(data, start)
        if kind.kind == "bytes":
            return _use(left, 1 - (-length // WORD))
        if length * parts[0].head_words > left:
            raise OverlappingDataError
        parts, head, left = parts * length, start + WORD, _use(left, 1)
    first = head
    for part in parts:
        if part.is_dynamic:
            left = _count_words(part, data, first + _number_at(data, head), left)
        head += part.head_words * WORD
    return _use(left, (head - first) // WORD)


def _use(left: int, words: int) -> int:
    if words > left:
        raise OverlappingDataError
    return left - words


def _number_at(data: bytes, start: int) -> int:
    word = data[start : start + WORD]
    if len(word) < WORD:
        raise ValueError("the data ends too early")
    return int.from_bytes(word)


class EffectKind(Enum):
    """The effect of a function, with the words for users; they follow "the call would"."""

    TRANSFER = "pay"
    TRANSFER_FROM = "transfer another account's tokens"
    APPROVE = "approve"
    INCREASE_ALLOWANCE = "increase an allowance"
    DECREASE_ALLOWANCE = "decrease an allowance"
    PERMIT = "approve by signature"
    SWAP = "swap tokens to pay"
    ESCROW = "use an escrow"
    PAY_RECEIVABLE = "pay the owner of a receivable"
    CREATE_PROXY = "create a contract for one payment"
    TRIGGER_PROXY = "trigger the payment of a contract"
    RESCUE = "withdraw the funds of a contract"
    RECURRING = "collect a recurring payment"


@dataclass(frozen=True, slots=True)
class Function:
    """A contract function. contracts: names of those that have it. unit: of its amounts, see functions.tsv."""

    selector: bytes
    name: str
    arguments: AbiType
    contracts: tuple[str, ...]
    effect: EffectKind
    is_batch: bool
    unit: str
    payable: bool


@cache
def functions() -> Mapping[bytes, Function]:
    """Return all functions by selector."""
    return {function.selector: function for function in map(_function, rows(__package__, "functions"))}


def _function(row: dict[str, str]) -> Function:
    name, arguments = parse_signature(row["signature"])
    return Function(
        selector=bytes.fromhex(row["selector"][2:]),
        name=name,
        arguments=arguments,
        contracts=tuple(row["contract"].split()),
        effect=EffectKind[row["effect"]],
        is_batch=row["batch"] == "yes",
        unit=row["unit"],
        payable=row["payable"] == "yes",
    )


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
    content = bytes.fromhex(digits)
    function = functions().get(content[:4])
    if function is None:
        codes = {0: "empty", 8: "reference_only"}
        return DecodedCall(content, codes.get(len(content), "too_short" if len(content) < 4 else "unknown"))
    return _decode(function, content)


def _decode(function: Function, data: bytes) -> DecodedCall:
    """Decode as contracts do, which ignore additional and rearranged bytes; encoding again shows these."""
    from eth_abi import decode, encode  # noqa: PLC0415 - takes 60 ms to import
    from eth_abi.exceptions import DecodingError  # noqa: PLC0415

    types = [part.canonical for part in function.arguments.parts]
    try:
        _count_words(function.arguments, data[4:], 0, -(-len(data[4:]) // WORD))
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
