"""Checkers of what tells who somebody is: e-mail, phone, tax numbers, dates."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from typing import Any

from payerkit.checks.places import is_american

_ODD_EMAIL = re.compile(
    r"""\.|.*\.@ | [^@]*\.\. | "        # dots at the ends or two in a row, quotes, before the @
    | .*@(.*\.)?- | .*@.*-(\.|\Z) | .*\.([0-9]+|.)\Z   # hyphens around a label, a last label that is no domain
    """,
    re.VERBOSE,
).match
_SSN = re.compile(r"([0-9]{3})[- ]?([0-9]{2})[- ]?([0-9]{4})").fullmatch
_ITIN_MIDDLE = {*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100)}
_EIN = re.compile(r"[0-9]{2}-?[0-9]{7}|[0-9]{3}-[0-9]{2}-[0-9]{4}").fullmatch
_ADULT, _OLDEST = 18, 120


def email_odd(value: str) -> bool:
    """Tell whether an e-mail address has the form and is still unlikely to reach anybody."""
    return _ODD_EMAIL(value) is not None


def phone_without_plus(value: str) -> bool:
    """Tell whether a phone number lacks its plus, which the service does not ask for."""
    return not value.startswith("+")


def phone_impossible(value: str) -> bool:
    """Tell whether no phone can have this number: an unknown country code, too few or too many digits."""
    digits = value.removeprefix("+")
    for length in (1, 2, 3):
        country = _numbering(digits[:length])
        if country is not None:
            lengths, strips_prefix = country
            national = digits[length:]
            if len(national) in lengths and not strips_prefix(national):
                return False
    return not _is_possible(digits)


@cache
def _numbering(code: str) -> tuple[frozenset[int], Any] | None:
    """Return the lengths of the numbers after a country code, and what tells that the library drops their prefix.

    None where it is not that simple. What this cannot say is left to the library, which takes fifteen times as long.
    """
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata  # noqa: PLC0415 - loaded when first needed

    regions = COUNTRY_CODE_TO_REGION_CODE.get(int(code or 0))
    metadata = regions and PhoneMetadata.metadata_for_region(regions[0], None)
    if not metadata or metadata.general_desc is None:
        return None
    prefix = metadata.national_prefix_for_parsing
    return frozenset(metadata.general_desc.possible_length), re.compile(prefix or "(?!)").match


def _is_possible(digits: str) -> bool:
    import phonenumbers  # noqa: PLC0415 - takes 25 ms to import

    try:
        number = phonenumbers.parse(f"+{digits}")
    except phonenumbers.NumberParseException:
        return False
    possible = phonenumbers.ValidationResult.IS_POSSIBLE
    return bool(phonenumbers.is_possible_number_with_reason(number) == possible)


def ssn_digits(value: str, country: str | None, holder: str | None) -> bool:
    """Tell whether a US person's number has not nine digits."""
    return is_american(country) and holder == "individual" and _SSN(value) is None


def ssn_impossible(value: str, country: str | None, holder: str | None) -> bool:
    """Tell whether a US person's number is none that was given out, as a social security number or an ITIN."""
    found = _SSN(value)
    if found is None or not is_american(country) or holder != "individual":
        return False
    area, group, serial = (int(part) for part in found.groups())
    if area >= 900:
        return group not in _ITIN_MIDDLE
    return area in {0, 666} or group == 0 or serial == 0


def ein_digits(value: str, country: str | None, holder: str | None) -> bool:
    """Tell whether a US company's number has not nine digits."""
    return is_american(country) and holder == "business" and _EIN(value) is None


def date_impossible(value: str) -> bool:
    """Tell whether the calendar does not have the day."""
    return _day(value) is None


def date_future(value: str) -> bool:
    """Tell whether the day is still to come."""
    day = _day(value)
    return day is not None and day > _today()


def age_unlikely(value: str, holder: str | None) -> bool:
    """Tell whether a person would be under 18 or over 120 years old. A company may be of any age."""
    day, today = _day(value), _today()
    if day is None or day > today or holder != "individual":
        return False
    age = today.year - day.year - ((today.month, today.day) < (day.month, day.day))
    return not _ADULT <= age <= _OLDEST


def _day(value: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        return None


def _today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()


def company_missing(holder: str, is_given: bool | None) -> bool:  # noqa: FBT001 - as a rule passes it
    """Tell whether a company lacks what companies are asked for."""
    return holder == "business" and not is_given


def company_of_a_person(_value: str, holder: str | None) -> bool:
    """Tell whether a person has a member that is a company's."""
    return holder == "individual"
