"""Dates as people write them: the one day that a text can mean, and the order of day and month in a file."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from payerkit.checks.texts import fold

DateOrder = Literal["day_first", "month_first"]
"""Whether 03/04/1985 is the third of April or the fourth of March."""

_NAMES_OF_MONTHS = (
    "jan january januar janner enero ene janvier janv",
    "feb february februar feber febrero fevrier fevr",
    "mar march marz mrz marzo mars",
    "apr april abril abr avril avr",
    "may mai mayo",
    "jun june juni junio juin",
    "jul july juli julio juillet juil",
    "aug august agosto ago aout",
    "sep sept september septiembre setiembre septembre",
    "oct october oktober okt octubre octobre",
    "nov november noviembre novembre",
    "dec december dezember dez diciembre dic decembre",
)
"""The names of each month in English, German, Spanish and French, folded (Unicode CLDR)."""

_MONTHS = {name: str(month) for month, names in enumerate(_NAMES_OF_MONTHS, start=1) for name in names.split()}

_MIDNIGHT = re.compile("(?:[t ]00?:00(?::00(?:[.]0+)?)?z?| 12:00(?::00)? ?am)$")
"""The time that programs add to a day; any other time may mean another day elsewhere."""

_YEAR_FIRST = re.compile("([0-9]{4})[-/. ]([0-9]{1,2})[-/. ]([0-9]{1,2})").fullmatch
_YEAR_LAST = re.compile("([0-9]{1,2})([-/. ])([0-9]{1,2})\\2([0-9]{4})").fullmatch
_EIGHT_DIGITS = re.compile("((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})").fullmatch
_DAY_MONTH = re.compile("([0-9]{1,2})(?:st|nd|rd|th|er)? (?:of |de )?([a-z]+) (?:del? )?([0-9]{4})").fullmatch
_MONTH_DAY = re.compile("([a-z]+) ([0-9]{1,2})(?:st|nd|rd|th)? ([0-9]{4})").fullmatch


def read_date(text: str, order: str | None = None) -> str | None:
    """Return the only day that a text can mean, as YYYY-MM-DD, or None: it may mean no day or several.

    order: "day_first" or "month_first" for dates such as 03/04/1985, if it is known. With dots the day comes first:
    CLDR has no other order of them.
    """
    text = _without_time(text)
    if match := _YEAR_FIRST(text) or _EIGHT_DIGITS(text):
        year, month, day = match.groups()
        # An impossible month is a day: then the two were swapped.
        return _only(_days((year, month, day))) or _only(_days((year, day, month)))
    if match := _YEAR_LAST(text):
        first, separator, second, year = match.groups()
        return _choose(list(_days((year, second, first))), list(_days((year, first, second))), separator, order)
    words = fold(text)
    if match := _DAY_MONTH(words):
        day, month, year = match.groups()
        return _only(_days((year, _MONTHS.get(month, "0"), day)))
    if match := _MONTH_DAY(words):
        month, day, year = match.groups()
        return _only(_days((year, _MONTHS.get(month, "0"), day)))
    return None


def has_two_readings(text: str) -> bool:
    """Return True for a date that means one day with the day first, and another one with the month first."""
    days = read_date(text, "day_first"), read_date(text, "month_first")
    return read_date(text) is None and None not in days and days[0] != days[1]


def _choose(day_first: list[str], month_first: list[str], separator: str, order: str | None) -> str | None:
    """Return the day that is meant, of those that a date means with the day first, and with the month first."""
    if separator == "." and order != "month_first":
        return _only(day_first)
    if separator != "." and day_first and month_first:
        chosen = {"day_first": day_first, "month_first": month_first}.get(order or "")
        return _only(chosen or [*day_first, *month_first])
    return _only([*day_first, *month_first])


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


def _without_time(text: str) -> str:
    return _MIDNIGHT.sub("", text.strip().lower())


def _only(days: Iterable[str]) -> str | None:
    """Return the day if all are the same; None for different days, or no day."""
    found = set(days)
    return found.pop() if len(found) == 1 else None


def _days(parts: tuple[str, str, str]) -> Iterator[str]:
    """Yield the day of a year, month and day, if there is one."""
    try:
        yield dt.date(*map(int, parts)).isoformat()
    except ValueError:
        return
