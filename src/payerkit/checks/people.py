"""Checkers of personal and company data: e-mail, phone, tax numbers, dates."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from payerkit.checks.banks import is_valid_number
from payerkit.checks.places import is_us
from payerkit.checks.schema import FORMATS
from payerkit.checks.texts import compact, upper_code

_ODD_EMAIL = re.compile(
    r"""\.|.*\.@ | [^@]*\.\. | "        # before the @: a dot at either end, two dots in a row, quotes
    | .*@(.*\.)?- | .*@.*-(\.|\Z) | .*\.([0-9]+|.)\Z   # after it: a label with outer hyphens, no real top-level domain
    """,
    re.VERBOSE,
).match
_SSN = re.compile(r"([0-9]{3})[- ]?([0-9]{2})[- ]?([0-9]{4})").fullmatch
_ITIN_MIDDLE = {*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100)}
"""The two middle digits of ITINs (IRS)."""

_EIN = re.compile(r"[0-9]{2}-?[0-9]{7}|[0-9]{3}-[0-9]{2}-[0-9]{4}").fullmatch
_MIN_AGE, _MAX_AGE = 18, 120


def email_odd(value: str) -> bool:
    """Return True if a well-formed e-mail address is probably not deliverable."""
    return _ODD_EMAIL(value) is not None


def id_is_email(value: str) -> bool:
    """Return True if an id is an e-mail address."""
    return FORMATS["email"].matches(value.strip()) is not None


def phone_without_plus(value: str) -> bool:
    """Return True if a phone number has no leading +, which the service does not require."""
    return not value.startswith("+")


def phone_impossible(value: str) -> bool:
    """Return True if a phone number has an unknown country code, or too few or too many digits."""
    digits = value.removeprefix("+")
    for length in (1, 2, 3):
        plan = _numbering_plan(digits[:length])
        if plan is not None:
            lengths, has_national_prefix = plan
            national = digits[length:]
            if len(national) in lengths and not has_national_prefix(national):
                return False
    return not _is_possible(digits)


def phone_national(value: str, country: str | None) -> bool | str:
    """Return what stands in front of the payer's number if it is written without its country code; else False.

    Such a number may pass as one of another country: 2025550123, of the US, is +20 25550123, in Egypt. A number with a
    + is trusted, unless no number of its country looks like it. What cannot be a number at all is left to the rule
    phone_impossible.
    """
    digits = value.removeprefix("+")
    region = upper_code(country)
    code = str(_library().country_code_for_region(region) or "")
    if not code or digits.startswith(code) or (value != digits and _exists(digits)) or phone_impossible(value):
        return False
    for national, written in _as_national(region, digits):
        if any(_is_given_out(other, national) for other in _regions(code)):
            return f"+{code}{written}"
    return False


def _as_national(region: str, digits: str) -> Iterator[tuple[str, str]]:
    """Yield the number that some digits may be inside a country, each with what then stands before them.

    A table may have dropped a zero that belongs to the number. Where a national prefix is no zero, it may be there.
    """
    yield digits, ""
    yield f"0{digits}", "0"
    metadata = _metadata(region)
    prefix = metadata and metadata.national_prefix
    if prefix and digits.startswith(prefix):
        yield digits[len(prefix) :], ""


def _regions(code: str) -> Sequence[str]:
    """Return the countries that share a country code, such as 1; none for an unknown code."""
    regions: Sequence[str] = _library().COUNTRY_CODE_TO_REGION_CODE.get(int(code or 0), ())
    return regions


def _metadata(region: str) -> Any:
    return _library().PhoneMetadata.metadata_for_region(region, None)


def _library() -> Any:
    """Return the library of phone numbers, which takes 25 ms to import."""
    return import_module("phonenumbers")


def _exists(digits: str) -> bool:
    """Return True if numbers such as this one are given out under the country code that it begins with."""
    codes = [digits[:length] for length in (1, 2, 3)]
    return any(_is_given_out(region, digits[len(code) :]) for code in codes for region in _regions(code))


def _is_given_out(region: str, national: str) -> bool:
    return any(matches(national) is not None for matches in _kinds_of_numbers(region))


@cache
def _kinds_of_numbers(region: str) -> tuple[Callable[[str], Any], ...]:
    """Return a matcher of each kind of number of a country: of landlines, mobile phones, and so on."""
    metadata = _metadata(region)
    kinds = ("fixed_line", "mobile", "toll_free", "shared_cost", "personal_number", "voip", "uan")
    found = [getattr(metadata, kind, None) for kind in kinds]
    patterns = [kind.national_number_pattern for kind in found if kind is not None]
    return tuple(re.compile(pattern).fullmatch for pattern in patterns if pattern)


@cache
def _numbering_plan(code: str) -> tuple[frozenset[int], Any] | None:
    """Return the possible lengths of numbers with a country code, and a matcher of prefixes that the library strips.

    None if there is no such plan. What this cannot confirm is left to the library, which takes fifteen times as long.
    """
    regions = _regions(code)
    metadata = regions and _metadata(regions[0])
    if not metadata or metadata.general_desc is None:
        return None
    prefix = metadata.national_prefix_for_parsing
    return frozenset(metadata.general_desc.possible_length), re.compile(prefix or "(?!)").match


def _is_possible(digits: str) -> bool:
    phonenumbers = _library()
    try:
        number = phonenumbers.parse(f"+{digits}")
    except phonenumbers.NumberParseException:
        return False
    possible = phonenumbers.ValidationResult.IS_POSSIBLE
    return bool(phonenumbers.is_possible_number_with_reason(number) == possible)


def ssn_digits(value: str, country: str | None, holder: str | None) -> bool:
    """Return True if the tax number of a US individual does not have nine digits."""
    return is_us(country) and holder == "individual" and _SSN(value) is None


def ssn_impossible(value: str, country: str | None, holder: str | None) -> bool:
    """Return True if the number of a US individual is never issued as a Social Security number or ITIN."""
    match = _SSN(value)
    if match is None or not is_us(country) or holder != "individual":
        return False
    area, group, serial = (int(part) for part in match.groups())
    if area >= 900:
        return group not in _ITIN_MIDDLE
    return area in {0, 666} or group == 0 or serial == 0


def ein_digits(value: str, country: str | None, holder: str | None) -> bool:
    """Return True if the EIN of a US company does not have nine digits."""
    return is_us(country) and holder == "business" and _EIN(value) is None


def date_impossible(value: str) -> bool:
    """Return True if there is no such date."""
    return _parse_date(value) is None


def date_future(value: str) -> bool:
    """Return True if the date is in the future."""
    date = _parse_date(value)
    return date is not None and date > _today()


def age_unlikely(value: str, holder: str | None) -> bool:
    """Return True if an individual is under 18 or over 120 years old; a company may have any age."""
    birth, today = _parse_date(value), _today()
    if birth is None or birth > today or holder != "individual":
        return False
    age = today.year - birth.year - ((today.month, today.day) < (birth.month, birth.day))
    return not _MIN_AGE <= age <= _MAX_AGE


def _parse_date(value: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        return None


def _today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()


def company_field_missing(holder: str, has_value: bool | None) -> bool:  # noqa: FBT001 - rules pass it by position
    """Return True if a company has no value in a field that companies need."""
    return holder == "business" and not has_value


def company_of_a_person(_value: str, holder: str | None) -> bool:
    """Return True if an individual has a value in a field for companies."""
    return holder == "individual"


_STDNUM_MODULES = {
    ("ARS", "cuit"): "ar.cuit",
    ("BRL", "cnpj"): "br.cnpj",
    ("BRL", "cpf"): "br.cpf",
    ("CLP", "rut"): "cl.rut",
    ("COP", "nit"): "co.nit",
    ("MXN", "curp"): "mx.curp",
    ("MXN", "rfc"): "mx.rfc",
    ("PEN", "ruc"): "pe.ruc",
}
"""Modules of python-stdnum by currency and document type: countries share the names of documents."""

_PATTERNS = {("COP", "ced_ciu"): "[0-9]{6,10}", ("PEN", "dni"): "[0-9]{8}"}
"""Patterns of numbers without a check digit."""


def document_invalid(number: str, kind: str | None, currency: str | None) -> bool | str:
    """Return the document types for which a number is invalid; False if it is valid, or no format is known."""
    compacted = compact(number).replace(".", "").replace("/", "")
    documents = _documents(kind, currency, compacted)
    if not documents or any(_is_valid(compacted, document) for document in documents):
        return False
    return " or ".join(name.upper().replace("_", " ") for _, name in documents)


def document_unchecked(kind: str, currency: str | None, has_number: bool | None) -> bool:  # noqa: FBT001 - rules pass it by position
    """Return True if there is a number, but no known format for its document type."""
    return bool(has_number) and not _documents(kind, currency, "")


def _documents(kind: str | None, currency: str | None, number: str) -> list[tuple[str, str]]:
    """Return the document types that may be meant; without a kind, those that the currency and length suggest."""
    currency = upper_code(currency)
    if kind is not None:
        document = (currency, kind.strip().lower())
        return [document] if document in _STDNUM_MODULES or document in _PATTERNS else []
    if currency == "BRL":
        return [("BRL", "cpf"), ("BRL", "cnpj")]
    return [("ARS", "cuit")] if currency == "ARS" and re.fullmatch("[0-9]{11}", number) else []


def _is_valid(number: str, document: tuple[str, str]) -> bool:
    if document in _PATTERNS:
        return re.fullmatch(_PATTERNS[document], number) is not None
    return is_valid_number(_STDNUM_MODULES[document], number)
