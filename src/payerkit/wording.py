"""Words for counts, lists and names, as messages and cards have them."""

from __future__ import annotations

from collections.abc import Iterable


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def in_words(name: str) -> str:
    """Return a name of the code or of the service as words, such as "not sent" for "not_sent"."""
    return name.replace("_", " ")


def listed(words: Iterable[object], conjunction: str = "and") -> str:
    """Return words as people list them, such as "1, 2 and 3"; there must be one at least."""
    *first, last = map(str, words)
    return f"{', '.join(first)} {conjunction} {last}" if first else last
