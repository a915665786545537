"""Search the countries, currencies and tokens that a form suggests."""

from __future__ import annotations

from typing import NamedTuple

from payerkit.checks.readings import FUNDS, Code, codes, find_code, name_of
from payerkit.checks.texts import fold

__all__ = ["MAX_OPTIONS", "Suggestions", "name_of", "search"]

MAX_OPTIONS = 40
"""The length of a list that people still scroll through; how many more there are is said below it."""


class Suggestions(NamedTuple):
    """What a search found, best first.

    options: codes with their names, at most `MAX_OPTIONS`. match: the place of the option that Tab or Enter
    takes: the only one, or the one that the text names exactly; -1 for none. more: the number of further options.
    """

    options: list[tuple[str, str]]
    match: int
    more: int


def search(lookup: str, text: str) -> Suggestions:
    """Return the codes and names that contain all words of a text, best first, then those that are used most."""
    folded = fold(text)
    words = folded.split()
    found = [each for each in codes(lookup) if all(word in each.text for word in words)]
    exact = find_code(lookup, text)
    if exact is not None and exact not in found:  # meant without a word of the text, such as "on"
        found.append(exact)
    found.sort(key=lambda each: (each is not exact, _rank(each, folded)))  # a stable sort: codes are sorted by use
    is_clear = bool(words) and (exact is not None or (len(found) == 1 and _is_meant(found[0], folded)))
    options = [(each.code, each.name) for each in found[:MAX_OPTIONS]]
    return Suggestions(options, 0 if is_clear else -1, len(found) - len(options))


def _is_meant(code: Code, text: str) -> bool:
    """Return True unless the only code that contains a text is met by chance: inside a word, or as a fund."""
    return code.code not in FUNDS and _rank(code, text) < _INSIDE


_INSIDE = 4


def _rank(code: Code, text: str) -> int:
    """Return 0 for a spelling, then 1 for the beginning of the code, 2 of the name, 3 of a word; 4 inside a word."""
    first = text.split(maxsplit=1)[0] if text else ""
    starts = (fold(code.code).startswith(first), fold(code.name).startswith(first), f" {first}" in code.text, True)
    return 0 if text in code.spellings else 1 + starts.index(True)
