"""Numbers and dates of workbooks as texts, and what they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from payerkit.tables.sheet import NoteKind

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
