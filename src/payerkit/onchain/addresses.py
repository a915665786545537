"""Addresses: their format, their checksum by EIP-55, and those that people take for one another."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from os.path import commonprefix
from string import ascii_letters
from typing import Any
from unicodedata import category, name, normalize

from payerkit._tsv import grouped, rows
from payerkit.errors import InvalidInput
from payerkit.wording import visible


def keccak(data: bytes) -> bytes:
    """Return the keccak-256 of bytes, which is not the SHA3-256 of the standard library."""
    from eth_hash.auto import keccak as digest  # noqa: PLC0415 - loaded when first needed

    return bytes(digest(data))


_ADDRESS = re.compile("0x[0-9a-fA-F]{40}").fullmatch


def address_problem(address: object) -> str:
    """Return the code of the problem of an address: "address_malformed" or "address_checksum"; "" if it is valid."""
    if not isinstance(address, str) or _ADDRESS(address) is None:
        return "address_malformed"
    if address in {address.lower(), f"0x{address[2:].upper()}"} or address == with_checksum(address):
        return ""
    return "address_checksum"


def with_checksum(address: Any) -> Any:
    """Return an address with its EIP-55 checksum; other text with invisible characters escaped, other values as is."""
    if not isinstance(address, str):
        return address
    if not _ADDRESS(address):
        return visible(address)
    digits = address[2:].lower()
    capitals = keccak(digits.encode()).hex()  # where a digit is 8 or more, a letter is a capital
    return "0x" + "".join(one.upper() if other > "7" else one for one, other in zip(digits, capitals, strict=False))


def read_address(address: object, name: str) -> str:
    """Return an address with its checksum. Raises InvalidInput for any other value. name: of what it is given for."""
    problem = address_problem(address)
    if problem == "address_malformed":
        raise InvalidInput(f"{name}: expected an address, 0x and 40 hex digits.")
    if problem:
        raise InvalidInput(
            f"{name}: the capital letters do not match the checksum of the address, so it may be mistyped. Compare it "
            "with a trusted source."
        )
    return str(with_checksum(address))


def is_same(one: object, other: object) -> bool:
    """Return True if both are the same address, ignoring case."""
    return isinstance(one, str) and isinstance(other, str) and one.lower() == other.lower()


_SHOWN = 4
"""Digits that wallets show of each end of an address."""

_LEAST_AT_END, _LEAST_AT_ENDS = 3, 12
"""Equal digits at each end, and at both together, that make people stop comparing."""

_MOST_CHANGED = 4
"""Digits that may differ anywhere without being seen."""

_LEAST_DIGITS = 16
"""An address with fewer digits behind its leading zeros was counted up, not made from a key: it is like no other."""

_PART = 8
"""With `_MOST_CHANGED` digits changed, one of the five parts of so many digits is unchanged."""


def are_alike(one: str, other: str) -> bool:
    """Return True for different addresses that are easily taken for one another.

    They begin and end alike, or differ in a few digits only. Leading zeros do not count: each address begins with its
    first other digit. Zeros are easily mined, and liked for cheaper calls, so two addresses may share them by chance.
    Readers do not count zeros, so one more or less does not show.
    """
    both = one[2:].lower(), other[2:].lower()
    counted = [digits.lstrip("0") for digits in both]
    if both[0] == both[1] or len(one) != len(other) or min(map(len, counted)) < _LEAST_DIGITS:
        return False
    first, last = _same(*counted), _same(both[0][::-1], both[1][::-1])
    is_shown = min(first, last) >= _SHOWN or (min(first, last) >= _LEAST_AT_END and first + last >= _LEAST_AT_ENDS)
    return is_shown or sum(map(operator.ne, *both)) <= _MOST_CHANGED


def _same(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return len(commonprefix([one, other]))  # noqa: RUF071 - character by character is what is meant


class Lookalikes:
    """Addresses by their parts, to be asked for those that another one may be taken for."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._by_part = grouped((part, address) for address in addresses for part in _parts(address))

    def near(self, address: str) -> Iterable[str]:
        """Return the addresses that share a part with an address; all that are like it are among them."""
        return dict.fromkeys(each for part in _parts(address) for each in self._by_part.get(part, ()))


def _parts(address: str) -> list[tuple[int, str]]:
    """Return parts of an address, one of which it shares with every address that is like it."""
    digits = address[2:].lower()
    counted = digits.lstrip("0")
    if len(counted) < _LEAST_DIGITS:
        return []
    ends = counted[:_LEAST_AT_END] + counted[-_LEAST_AT_END:]
    return [(-1, ends), *((place, digits[place : place + _PART]) for place in range(0, len(digits), _PART))]


def lookalikes(addresses: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of addresses that are alike, each as it was first written; each that is like another is in a pair."""
    distinct = [*reversed({address.lower(): address for address in reversed([*addresses])}.values())]
    index, paired = Lookalikes(distinct), set[str]()
    for address in distinct:
        for each in index.near(address):
            if not {each, address} <= paired and are_alike(each, address):
                paired |= {each, address}
                yield address, each


def shape(text: str) -> str:
    """Return a text that is the same for all texts that look alike; it is not to be shown."""
    plain = normalize("NFKC", text).translate(_confusables())
    kept = "".join(char for char in plain if category(char) not in {"Cf", "Cc"})
    return " ".join(kept.casefold().split()).replace("rn", "m")


def is_mixed(text: str) -> bool:
    """Return True if a word has Latin letters, and letters of another script that look like Latin ones."""
    foreign = {each for each in text if ord(each) in _confusables() and not name(each).startswith(("LATIN", "DIGIT"))}
    return any(foreign.intersection(word) and not set(ascii_letters).isdisjoint(word) for word in text.split())


@cache
def _confusables() -> Mapping[int, str]:
    return {ord(char): row["ascii"] for row in rows(__package__, "confusables") for char in row["characters"].split()}
