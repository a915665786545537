"""Contract ABI types, parsed from signatures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

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
        return 1 if self.is_dynamic or self.kind != "tuple" else self.head_size // WORD

    @cached_property
    def head_size(self) -> int:
        """Number of bytes in the head of a tuple's components."""
        return WORD * sum(part.head_words for part in self.parts)


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


def check_overlap(arguments: AbiType, data: bytes) -> None:
    """Raise OverlappingDataError if the arguments, each written once, take more words than the data has.

    A few kilobytes whose arrays point at the same items decode to millions of values: check this before decoding data
    that is not canonical. Raises ValueError for data that ends too early.
    """
    _WordCounter(data).count_tuple(arguments.parts, 0)


class _WordCounter:
    """Follows offsets and lengths, without reading values, until more words are used than the data has."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.left = -(-len(data) // WORD)

    def count_tuple(self, parts: tuple[AbiType, ...], start: int) -> None:
        head = start
        for part in parts:
            if part.is_dynamic:
                self.count_dynamic(part, start + self.number_at(head))
            head += part.head_words * WORD
        self.use((head - start) // WORD)

    def count_dynamic(self, part: AbiType, start: int) -> None:
        if part.kind == "tuple":
            self.count_tuple(part.parts, start)
            return
        length = self.number_at(start)
        if part.kind == "bytes":
            self.use(1 - (-length // WORD))
            return
        (item,) = part.parts
        if length * item.head_words > self.left:
            raise OverlappingDataError
        self.use(1)
        self.count_tuple((item,) * length, start + WORD)

    def use(self, words: int) -> None:
        self.left -= words
        if self.left < 0:
            raise OverlappingDataError

    def number_at(self, start: int) -> int:
        word = self.data[start : start + WORD]
        if len(word) < WORD:
            raise ValueError("the data ends too early")
        return int.from_bytes(word)
