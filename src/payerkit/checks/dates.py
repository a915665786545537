"""Dates as people write them: the one day that a text can mean, and the order of day and month in a file."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from typing import Literal

from payerkit.checks.places import one_alias
from payerkit.checks.texts import fold

DateOrder = Literal["day_first", "month_first"]
"""Whether 03/04/1985 is the third of April or the fourth of March."""

_MIDNIGHT = re.compile("(?:[t ]00?:00(?::00(?:[.]0+)?)?z?| 12:00(?::00)? ?am)$")
"""The time that programs add to a day; any other time may mean another day elsewhere."""

_YEAR_FIRST = re.compile("([0-9]{4})(?:[-/ ]|[.年] ?)([0-9]{1,2})(?:[-/ ]|[.月] ?)([0-9]{1,2})[.日]?").fullmatch
_YEAR_LAST = re.compile("([0-9]{1,2})([-/. ])([0-9]{1,2})\\2([0-9]{4})").fullmatch
_EIGHT_DIGITS = re.compile("((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})").fullmatch
_DAY_MONTH = re.compile(
    "(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er)? (?:of |de )?(?P<month>[a-z]+) (?:del? )?(?P<year>[0-9]{4})"
).fullmatch
_MONTH_DAY = re.compile("(?P<month>[a-z]+) (?P<day>[0-9]{1,2})(?:st|nd|rd|th)? (?P<year>[0-9]{4})").fullmatch


def read_date(text: str, order: str | None = None) -> str | None:
    """Return the only day that a text can mean, as YYYY-MM-DD, or None: it may mean no day or several.

    order: "day_first" or "month_first" for dates such as 03/04/1985, if it is known. With dots the day comes first:
    CLDR has no other order of them.
    """
    text = _without_time(text)
    if match := _YEAR_FIRST(text) or _EIGHT_DIGITS(text):
        year, month, day = match.groups()
        return _day(year, month, day) or _day(year, day, month)  # an impossible month is a day: the two were swapped
    if match := _YEAR_LAST(text):
        first, separator, second, year = match.groups()
        days = {"day_first": _day(year, second, first), "month_first": _day(year, first, second)}
        if separator == "." and order != "month_first":
            return days["day_first"]
        if separator != "." and all(days.values()) and order in days:
            return days[order]
        found = set(filter(None, days.values()))
        return found.pop() if len(found) == 1 else None
    words = fold(text)
    match = _DAY_MONTH(words) or _MONTH_DAY(words)
    return _day(match["year"], one_alias("month", match["month"]) or "0", match["day"]) if match else None


def has_two_readings(text: str) -> bool:
    """Return True for a date that means one day with the day first, and another one with the month first."""
    days = read_date(text, "day_first"), read_date(text, "month_first")
    return read_date(text) is None and None not in days and days[0] != days[1]


def file_date_order(texts: Iterable[str]) -> DateOrder | Literal["mixed"] | None:
    """Return the order of day and month in the dates of a file, by those that can be read in one way only.

    "mixed" if they contradict each other, None if no date tells. A date with dots tells only if its month is first.
    """
    found: set[DateOrder] = set()
    for text in texts:
        match = _YEAR_LAST(_without_time(text))
        if match is None:
            continue
        first, separator, second, _ = match.groups()
        if int(first) <= 12 < int(second) <= 31:
            found.add("month_first")
        elif int(second) <= 12 < int(first) <= 31 and separator != ".":
            found.add("day_first")
        if len(found) == 2:
            return "mixed"
    return next(iter(found), None)


def is_year_day_month(texts: Iterable[object]) -> bool:
    """Return True if dates such as 1985-31-12 show that a column has the day before the month, and none denies it."""
    matches = [_YEAR_FIRST(_without_time(text)) for text in texts if isinstance(text, str)]
    days = [(int(match[2]), int(match[3])) for match in matches if match]
    return any(second > 12 for second, _ in days) and all(third <= 12 for _, third in days)


def swap_day(text: str) -> str | None:
    """Return the day of a date in the order of 1985-31-12, as YYYY-MM-DD, if it is a day in both orders; else None."""
    match = _YEAR_FIRST(_without_time(text))
    return _day(match[1], match[3], match[2]) if match and match[2] != match[3] and _day(*match.groups()) else None


def is_impossible(text: str) -> bool:
    """Return True for a date of digits that no order of day and month makes a day, such as 1985-02-30."""
    match = _YEAR_FIRST(_without_time(text)) or _YEAR_LAST(_without_time(text))
    if match is None or read_date(text) is not None or has_two_readings(text):
        return False
    return all(read_date(text, order) is None for order in ("day_first", "month_first"))


def _without_time(text: str) -> str:
    return _MIDNIGHT.sub("", text.strip().lower())


def _day(year: str, month: str, day: str) -> str | None:
    """Return a day as YYYY-MM-DD; None if there is no such day."""
    try:
        return dt.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None
