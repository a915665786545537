"""Numbers and dates of workbooks as texts, and what they are."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial

from payerkit.tables.sheet import NoteKind

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


DIGITS = 15
"""How many digits of a number a spreadsheet keeps (ECMA-376 stores IEEE 754 doubles; Excel shows 15 digits)."""

Text = tuple[str, NoteKind | None]


def number_text(stored: str, shown: Callable[[int], str] | None = None) -> Text:
    """Return a stored number in full, without an exponent, as its format shows it if it is whole, and what it is."""
    try:
        number = Decimal(stored)
        whole = int(number) if number == number.to_integral_value() else None
    except (InvalidOperation, OverflowError):  # Inf has no whole number
        return stored, "error_value"
    if number.is_nan():
        return stored, "error_value"
    if whole is None:
        rounded = Decimal(f"{number:.{DIGITS}g}")  # 0.30000000000000004 is 0.3
        if rounded != rounded.to_integral_value():
            return f"{rounded.normalize():f}", "fraction"
        whole = int(rounded)
    if abs(whole) >= 10**DIGITS:
        return str(whole), "digits_lost"
    text = shown(whole) if shown and whole >= 0 else None
    return text or str(whole), None


def date_text(value: dt.date | dt.time | dt.timedelta) -> Text:
    """Return a date as 1985-12-31, with its time unless that is midnight, or a time, and what it is."""
    if isinstance(value, dt.datetime):
        has_time = value.time() != dt.time()
        return (value.isoformat(" ", "seconds") if has_time else value.date().isoformat()), "date"
    if isinstance(value, dt.date):
        return value.isoformat(), "date"
    if isinstance(value, dt.time):
        return value.isoformat("seconds"), "time"
    hours, rest = divmod(round(value.total_seconds()), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}", "time"
