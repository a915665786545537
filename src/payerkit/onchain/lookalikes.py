"""Addresses that people take for one another, since they compare only the first and the last digits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise


def shown_ends(address: str) -> tuple[str, str]:
    """Return what people compare of an address: the first and the last four hex digits."""
    return address[2:6].lower(), address[-4:].lower()


def lookalikes(addresses: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of different addresses with the same ends, each as it was first written."""
    distinct = {address.lower(): address for address in reversed([*addresses])}
    by_ends: dict[tuple[str, str], list[str]] = {}
    for address in reversed(distinct.values()):
        by_ends.setdefault(shown_ends(address), []).append(address)
    for alike in by_ends.values():
        yield from pairwise(alike)
