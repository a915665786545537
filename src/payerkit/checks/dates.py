"""Dates as people write them: the one day that a text can mean, and the order of day
and month in a file.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from typing import Literal

from payerkit.checks.places import one_alias
from payerkit.checks.texts import fold

DateOrder = Literal["day_first", "month_first"]
"""Whether 03/04/1985 is the third of April or the fourth of March."""

_TIME = re.compile(
    "(?:[t ]00?:00(?::00(?:[.]0+)?)?z?"
    "|[t ](?:[01]?[0-9]|20):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]+)?)?"
    "| (?:0?[1-9]|1[0-2]):[0-5][0-9](?::[0-5][0-9])? ?am)$"
)
"""A time behind a day. With a zone, or late in the evening, as programs write the
midnight of another zone, it may mean the next day.
"""

_WEEKDAYS = frozenset(
    "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday"  # noqa: SIM905 - a list to read
    " friday saturday sunday mo di mi do fr sa so montag dienstag mittwoch donnerstag"
    " freitag samstag sonnabend sonntag lunes martes miercoles jueves viernes sabado"
    " domingo lundi mardi mercredi jeudi vendredi samedi dimanche".split()
)
_FIRST_WORD = re.compile(r"([^\W\d_]+)[.,]* +(?=\S)")

_YEAR_FIRST = re.compile(
    "([0-9]{4})(?:[-/ ]|[.年] ?)([0-9]{1,2})(?:[-/ ]|[.月] ?)([0-9]{1,2})[.日]?"
).fullmatch
_YEAR_LAST = re.compile("([0-9]{1,2})([-/. ])([0-9]{1,2})\\2([0-9]{4})").fullmatch
_EIGHT_DIGITS = re.compile("((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})").fullmatch
_DAY_MONTH = re.compile(
    r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er)? (?:of |de )?(?P<month>[^\W\d_]+)"
    r" (?:del? )?(?P<year>[0-9]{4})(?: (?:г|года|r|roku))?"  # noqa: RUF001 - Russian
).fullmatch
_MONTH_DAY = re.compile(
    "(?P<month>[a-z]+) (?P<day>[0-9]{1,2})(?:st|nd|rd|th)? (?P<year>[0-9]{4})"
).fullmatch


def read_date(text: str, order: str | None = None) -> str | None:
    """Return the only day that a text can mean, as YYYY-MM-DD, or None: it may mean no
    day or several.

    order: "day_first" or "month_first" for dates such as 03/04/1985, if it is known.
    With dots the day comes first: CLDR has no other order of them.
    """
    text = _day_alone(text)
    match = _YEAR_FIRST(text) or _EIGHT_DIGITS(text)
    if match:
        year, month, day = match.groups()
        # An impossible month is a day: the two were swapped.
        return _day(year, month, day) or _day(year, day, month)
    match = _YEAR_LAST(text)
    if match:
        return _read_year_last(match, order)
    words = fold(text)
    match = _DAY_MONTH(words) or _MONTH_DAY(words)
    if match is None:
        return None
    month = one_alias("month", match["month"]) or "0"
    return _day(match["year"], month, match["day"])


def _read_year_last(match: re.Match[str], order: str | None) -> str | None:
    """Return the day of a date such as 03/04/1985, None if it may be two."""
    first, separator, second, year = match.groups()
    day_first = _day(year, second, first)
    month_first = _day(year, first, second)
    if separator == "." and order != "month_first":
        return day_first
    if day_first is None or month_first is None or day_first == month_first:
        return day_first or month_first
    if separator == ".":
        return None
    if order == "day_first":
        return day_first
    if order == "month_first":
        return month_first
    return None


def has_two_readings(text: str) -> bool:
    """Return True for a date that means one day with the day first, and another one
    with the month first.
    """
    days = {read_date(text, "day_first"), read_date(text, "month_first")}
    return read_date(text) is None and None not in days and len(days) == 2


def file_date_order(texts: Iterable[str]) -> DateOrder | Literal["mixed"] | None:
    """Return the order of day and month in the dates of a file, by those that can be
    read in one way only.

    "mixed" if they contradict each other, None if no date tells. A date with dots tells
    only if its month is first.
    """
    found: set[DateOrder] = set()
    for text in texts:
        match = _YEAR_LAST(_day_alone(text))
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
    """Return True if dates such as 1985-31-12 show that a column has the day before the
    month, and none denies it.
    """
    matches = [_YEAR_FIRST(_day_alone(text)) for text in texts if isinstance(text, str)]
    days = [(int(match[2]), int(match[3])) for match in matches if match]
    return any(second > 12 for second, _ in days) and all(
        third <= 12 for _, third in days
    )


def swap_day(text: str) -> str | None:
    """Return the day of a date in the order of 1985-31-12, as YYYY-MM-DD, if it is a
    day in both orders; else None.
    """
    match = _YEAR_FIRST(_day_alone(text))
    if match is None:
        return None
    year, month, day = match.groups()
    if month == day or _day(year, month, day) is None:
        return None
    return _day(year, day, month)


def is_impossible(text: str) -> bool:
    """Return True for a date of digits that no order of day and month makes a day, such
    as 1985-02-30.
    """
    match = _YEAR_FIRST(_day_alone(text)) or _YEAR_LAST(_day_alone(text))
    if match is None or read_date(text) is not None or has_two_readings(text):
        return False
    return all(read_date(text, order) is None for order in ("day_first", "month_first"))


def _day_alone(text: str) -> str:
    """Return a date in small letters, without its weekday and its time."""
    text = _TIME.sub("", text.strip().lower())
    word = _FIRST_WORD.match(text)
    if word is not None and fold(word[1]) in _WEEKDAYS:
        return text[word.end() :]
    return text


def _day(year: str, month: str, day: str) -> str | None:
    """Return a day as YYYY-MM-DD; None if there is no such day."""
    try:
        return dt.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None
