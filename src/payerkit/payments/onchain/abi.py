"""Decode and encode the arguments of functions, by eth-abi."""

from collections.abc import Sequence
from typing import Any

from eth_abi import decode as eth_abi_decode
from eth_abi import encode
from eth_abi.exceptions import DecodingError
from eth_abi.grammar import ABIType, TupleType, parse

__all__ = ["decode", "encode"]

WORD = 32


def decode(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """Return the values of some types. Raises ValueError if the data ends too early, or
    has parts that stand for more than its length.
    """
    parts = [parse(kind) for kind in types]
    _count_parts(parts, data, 0, -(-len(data) // WORD))
    try:
        values: tuple[Any, ...] = eth_abi_decode(types, data)
    except (DecodingError, OverflowError) as error:
        raise ValueError(f"the arguments cannot be decoded: {error}") from None
    return values


def _count_parts(parts: Sequence[ABIType], data: bytes, start: int, left: int) -> int:
    """Return how many of the words that are left some values leave, if each is written
    once.

    Raises ValueError if there are too few, and for data that ends too early. A few
    kilobytes whose arrays point at the same items decode to millions of values, so this
    follows offsets and lengths alone.
    """
    head = start
    for part in parts:
        if part.is_dynamic:
            place = start + _number_at(data, head)
            left = _count_dynamic(part, data, place, left)
        head += _head_words(part) * WORD
    return _take((head - start) // WORD, left)


def _count_dynamic(kind: ABIType, data: bytes, start: int, left: int) -> int:
    """Return how many words are left after a value of no fixed length."""
    if kind.is_array:
        length = _number_at(data, start)
        if length * _head_words(kind.item_type) > left:
            raise ValueError("the arguments overlap")
        left = _take(1, left)
        return _count_parts([kind.item_type] * length, data, start + WORD, left)
    if isinstance(kind, TupleType):
        return _count_parts(kind.components, data, start, left)
    return _take(1 - (-_number_at(data, start) // WORD), left)


def _take(words: int, left: int) -> int:
    if words > left:
        raise ValueError("the arguments overlap")
    return left - words


def _head_words(kind: ABIType) -> int:
    """Return how many words a value takes where it stands; one if that is an offset."""
    if kind.is_dynamic or not isinstance(kind, TupleType):
        return 1
    return sum(_head_words(part) for part in kind.components)


def _number_at(data: bytes, start: int) -> int:
    word = data[start : start + WORD]
    if len(word) < WORD:
        raise ValueError("the data ends too early")
    return int.from_bytes(word)
