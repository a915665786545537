"""The types of a contract's arguments, with our names: parsed from a signature, walked over before they are decoded."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORD = 32
_PARTS = re.compile(r"[(),]|\[\]| |[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Type:
    """One argument, or part of one. parts: of a tuple, its members; of an array, the one type of its items."""

    name: str
    kind: str
    parts: tuple[Type, ...] = ()

    @property
    def canonical(self) -> str:
        """The type as a selector is computed from it."""
        if self.kind == "array":
            return f"{self.parts[0].canonical}[]"
        return f"({','.join(part.canonical for part in self.parts)})" if self.kind == "tuple" else self.kind

    @property
    def is_dynamic(self) -> bool:
        """Whether the value stands behind the head, which holds its place only."""
        return self.kind in {"bytes", "array"} or any(part.is_dynamic for part in self.parts)

    @property
    def head_words(self) -> int:
        """Words that the value takes in the head."""
        is_one = self.is_dynamic or self.kind != "tuple"
        return 1 if is_one else sum(part.head_words for part in self.parts)


def parse_signature(signature: str) -> tuple[str, Type]:
    """Return the name of a function and its arguments as one tuple. Raises ValueError for what is no signature."""
    name, bracket, rest = signature.partition("(")
    parts = [part for part in _PARTS.findall(bracket + rest) if part != " "]
    parsed, left = _parse(parts)
    if left or not name.isidentifier():
        raise ValueError(f"no signature: {signature}")
    return name, parsed


def _parse(left: list[str]) -> tuple[Type, list[str]]:
    """Return the first type of a signature's parts with its name, and the parts that are left."""
    if left[0] == "(":
        members, left = [], left[1:]
        while left[0] != ")":
            member, left = _parse(left)
            members.append(member)
            left = left[1:] if left[0] == "," else left
        found = Type("", "tuple", tuple(members))
    else:
        found = Type("", left[0])
    left = left[1:]
    while left and left[0] == "[]":
        found, left = Type("", "array", (found,)), left[1:]
    if left and left[0].isidentifier():
        found, left = Type(left[0], found.kind, found.parts), left[1:]
    return found, left


class TooMuch(ValueError):  # noqa: N818 - what it says of the data
    """The data decodes to more than it holds: parts of it are used more than once."""


def words_of(arguments: Type, data: bytes) -> int:
    """Return how many words the arguments take when each is written once. Raises TooMuch, ValueError.

    A few kilobytes whose arrays point at each other's items decode to millions of values; whoever writes each value
    once needs exactly as many words as the data has, so that more of them are a reason to stop.
    """
    return _Walk(data).tuple_words(arguments.parts, 0)


class _Walk:
    """Goes along the data from place to place and counts; reads lengths and places, and no values."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.left = -(-len(data) // WORD)

    def tuple_words(self, parts: tuple[Type, ...], base: int) -> int:
        words, head = 0, base
        for part in parts:
            words += part.head_words
            if part.is_dynamic:
                words += self.words(part, base + self.number(head))
            head += part.head_words * WORD
        self.count(sum(part.head_words for part in parts))
        return words

    def words(self, part: Type, place: int) -> int:
        if part.kind == "tuple":
            return self.tuple_words(part.parts, place)
        length = self.number(place)
        if part.kind == "bytes":
            size = -(-length // WORD)
            self.count(1 + size)
            return 1 + size
        (item,) = part.parts
        if length * item.head_words > self.left:
            raise TooMuch
        self.count(1)
        return 1 + self.tuple_words((item,) * length, place + WORD)

    def count(self, words: int) -> None:
        self.left -= words
        if self.left < 0:
            raise TooMuch

    def number(self, place: int) -> int:
        word = self.data[place : place + WORD]
        if len(word) < WORD:
            raise ValueError("ends too early")
        return int.from_bytes(word)
