"""Addresses: their format, their checksum by EIP-55, and those that people take for one
another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from os.path import commonprefix
from typing import Any
from unicodedata import category, normalize

from payerkit._tsv import rows
from payerkit.errors import InvalidInput
from payerkit.wording import visible


def keccak(data: bytes) -> bytes:
    """Return the keccak-256 of bytes, which is not the SHA3-256 of the standard
    library.
    """
    from eth_hash.auto import keccak as digest  # noqa: PLC0415 - loaded when first needed

    return bytes(digest(data))


_ADDRESS = re.compile("0x[0-9a-fA-F]{40}")


def address_problem(address: object) -> str:
    """Return the code of the problem of an address: "address_malformed" or
    "address_checksum"; "" if it is valid.
    """
    if not isinstance(address, str) or _ADDRESS.fullmatch(address) is None:
        return "address_malformed"
    digits = address[2:]
    if digits in {digits.lower(), digits.upper()} or address == with_checksum(address):
        return ""
    return "address_checksum"


def with_checksum(address: Any) -> Any:
    """Return an address with its EIP-55 checksum; other text with invisible characters
    escaped, other values as is.
    """
    if not isinstance(address, str):
        return address
    if not _ADDRESS.fullmatch(address):
        return visible(address)
    digits = address[2:].lower()
    letters = []
    # Where a digit of the hash is 8 or more, the letter is a capital.
    for letter, digit in zip(digits, keccak(digits.encode()).hex(), strict=False):
        letters.append(letter.upper() if digit > "7" else letter)
    return f"0x{''.join(letters)}"


def read_address(address: object, name: str) -> str:
    """Return an address with its checksum. Raises InvalidInput for any other value.
    name: of what it is given for.
    """
    problem = address_problem(address)
    if problem == "address_malformed":
        raise InvalidInput(f"{name}: expected an address, 0x and 40 hex digits.")
    if problem:
        raise InvalidInput(
            f"{name}: the capital letters do not match the checksum of the address, so"
            " it may be mistyped. Compare it with a trusted source."
        )
    return str(with_checksum(address))


def is_same(one: object, other: object) -> bool:
    """Return True if both are the same address, ignoring case."""
    return (
        isinstance(one, str) and isinstance(other, str) and one.lower() == other.lower()
    )


_SHOWN = 4
"""Digits that wallets show of each end of an address."""

_LEAST_AT_END = 3
"""Equal digits at each end that make people stop comparing, if there are more at the
other end.
"""

_LEAST_AT_ENDS = 12
"""Equal digits at both ends together that do so."""

_MOST_CHANGED = 4
"""Digits that may differ anywhere without being seen."""

_LEAST_DIGITS = 16
"""An address with fewer digits behind its leading zeros was counted up, not made from a
key: it is like no other.
"""

_PART = 8
"""With `_MOST_CHANGED` digits changed, one of the five parts of so many digits is
unchanged.
"""


def are_alike(one: str, other: str) -> bool:
    """Return True for different addresses that are easily taken for one another.

    They begin and end alike, or differ in a few digits only. The beginning counts both
    as it is shown and behind leading zeros, which readers do not count: one zero more
    or less does not show.
    """
    digits = _digits(one)
    other_digits = _digits(other)
    if digits == other_digits or len(digits) != len(other_digits):
        return False
    if _is_counted_up(digits) or _is_counted_up(other_digits):
        return False
    first = max(
        _same(digits, other_digits),
        _same(digits.lstrip("0"), other_digits.lstrip("0")),
    )
    last = _same(digits[::-1], other_digits[::-1])
    if min(first, last) >= _SHOWN:
        return True
    if min(first, last) >= _LEAST_AT_END and first + last >= _LEAST_AT_ENDS:
        return True
    pairs = zip(digits, other_digits, strict=True)
    return sum(digit != twin for digit, twin in pairs) <= _MOST_CHANGED


def _digits(address: str) -> str:
    return address[2:].lower()


def _is_counted_up(digits: str) -> bool:
    return len(digits.lstrip("0")) < _LEAST_DIGITS


def _same(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return len(commonprefix([one, other]))  # noqa: RUF071 - character by character is what is meant


class Lookalikes:
    """Addresses by their parts, to be asked for those that another one may be taken
    for.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self._by_part: dict[tuple[int, str], list[str]] = {}
        for address in addresses:
            for part in _parts(address):
                self._by_part.setdefault(part, []).append(address)

    def near(self, address: str) -> Iterable[str]:
        """Return the addresses that share a part with an address; all that are like it
        are among them.
        """
        near: dict[str, None] = {}
        for part in _parts(address):
            near |= dict.fromkeys(self._by_part.get(part, ()))
        return near


def _parts(address: str) -> list[tuple[int, str]]:
    """Return parts of an address, one of which it shares with every address that is
    like it.
    """
    digits = _digits(address)
    if _is_counted_up(digits):
        return []
    end = digits[-_LEAST_AT_END:]
    parts = [
        (-2, digits[:_LEAST_AT_END] + end),
        (-1, digits.lstrip("0")[:_LEAST_AT_END] + end),
    ]
    for place in range(0, len(digits), _PART):
        parts.append((place, digits[place : place + _PART]))
    return parts


def lookalikes(addresses: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of addresses that are alike, each as it was first written; each that
    is like another is in a pair.
    """
    distinct: dict[str, str] = {}
    for address in addresses:
        distinct.setdefault(address.lower(), address)
    index = Lookalikes(distinct.values())
    paired = set[str]()
    for address in distinct.values():
        for other in index.near(address):
            if not {other, address} <= paired and are_alike(other, address):
                paired |= {other, address}
                yield address, other


def shape(text: str) -> str:
    """Return a text that is the same for all texts that look alike; it is not to be
    shown.
    """
    plain = normalize("NFKC", text).translate(_confusables())
    kept = "".join(char for char in plain if category(char) not in {"Cf", "Cc"})
    return " ".join(kept.casefold().split()).replace("rn", "m")


@cache
def _confusables() -> Mapping[int, str]:
    letters = {}
    for row in rows(__package__, "confusables"):
        for character in row["characters"].split():
            letters[ord(character)] = row["ascii"]
    return letters
