"""How a number format shows a whole number: 00000 shows 1234 as 01234."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

_TOKENS = re.compile(r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<width>[_*].)|\[(?P<bracket>[^\]]*)\]|(?P<bare>.)')
_SIGNS = frozenset("-+(): ")
"""Characters that a format shows as they are (ECMA-376, 18.8.31), without those for decimals, percents and such."""

_DIGITS = frozenset("0#")

Part = tuple[bool, str]
"""Whether a part of a format stands for a digit, and its text."""


def shown_by(code: str) -> Callable[[int], str] | None:
    """Return how a number format shows a number of at least 0, if it has only digits and what separates them.

    Other formats, as for amounts, days or with conditions: None.
    """
    parts = []
    for match in _TOKENS.finditer(_first_section(code)):
        part = _part(match)
        if part is None:
            return None
        parts.append(part)
    return partial(_fill, parts) if (True, "0") in parts else None


def _first_section(code: str) -> str:
    """Return the section for positive numbers."""
    return re.split(r""";(?=(?:[^"]*"[^"]*")*[^"]*$)""", code)[0]


def _part(match: re.Match[str]) -> Part | None:
    """Return a part of a format; None if it is for other than digits and signs."""
    bracket, bare = match["bracket"], match["bare"]
    if bracket is not None:
        return (False, "") if bracket.isalpha() or bracket.startswith("$-") else None  # a colour, or a language
    if bare is None:
        return False, match["quoted"] or match["escaped"] or ""
    return (bare in _DIGITS, bare) if bare in _DIGITS | _SIGNS else None


def _fill(parts: list[Part], number: int) -> str:
    """Return the parts with the digits of a number in their places, from the right; the first takes the rest."""
    places = sum(is_digit for is_digit, _ in parts)
    padded = str(number).rjust(places)
    first = len(padded) - places + 1
    digits = iter([padded[:first], *padded[first:]])
    filled = (next(digits).replace(" ", "0" if part == "0" else "") if is_digit else part for is_digit, part in parts)
    return "".join(filled)
