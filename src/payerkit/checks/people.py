"""Checkers of personal and company data: e-mail, phone, tax numbers, dates, names."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from payerkit._tsv import rows
from payerkit.checks.banks import country_of_bic, is_valid_number
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


def phone_impossible(value: str) -> bool:
    """Return True if a phone number has an unknown country code, or too few or too many digits."""
    phonenumbers = phone_library()
    number = parse_phone(f"+{value.removeprefix('+')}")
    possible = phonenumbers.ValidationResult.IS_POSSIBLE
    return number is None or bool(phonenumbers.is_possible_number_with_reason(number) != possible)


def phone_national(value: str, country: str | None) -> bool | str:
    """Return the prefix that a payer's number needs if its country code is missing; False for any other number.

    Such a number may pass as one of another country: 2025550123, of the US, is +20 25550123, in Egypt. A number with a
    + is trusted, unless no number of its country looks like it. What cannot be a number at all is left to the rule
    phone_impossible. A table may have dropped a leading zero of the number.
    """
    digits, region = value.removeprefix("+"), upper_code(country)
    code = str(phone_library().country_code_for_region(region) or "")
    if not code or digits.startswith(code) or (value != digits and _is_given_out(parse_phone(value))):
        return False
    for lost in () if phone_impossible(value) else ("", "0"):
        number = parse_phone(f"{lost}{digits}", region)
        if _is_given_out(number) and bool(number.italian_leading_zero) == bool(lost):
            return f"+{code}{lost}"
    return False


def parse_phone(text: str, region: str | None = None) -> Any:
    """Return a number as the library reads it; None if it cannot. region: of a number without its country code."""
    phonenumbers = phone_library()
    try:
        return phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None


def _is_given_out(number: Any) -> bool:
    """Return True for a number of a kind that people have; a premium rate, for one, is of no person."""
    return number is not None and phone_library().number_type(number) in _kinds_of_people()


@cache
def _kinds_of_people() -> Collection[int]:
    kinds = "FIXED_LINE MOBILE FIXED_LINE_OR_MOBILE TOLL_FREE SHARED_COST PERSONAL_NUMBER VOIP UAN"
    return {getattr(phone_library().PhoneNumberType, kind) for kind in kinds.split()}


def phone_library() -> Any:
    """Return the library of phone numbers, which takes as long to import as payerkit."""
    return import_module("phonenumbers")


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


@cache
def _document_checks() -> Mapping[tuple[str, str], str]:
    """Return how numbers of documents are checked, by currency and type: countries share the names of documents."""
    return {(row["currency"], row["document_type"]): row["check"] for row in rows(__package__, "documents")}


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
        return [document] if document in _document_checks() else []
    if currency == "BRL":
        return [("BRL", "cpf"), ("BRL", "cnpj")]
    return [("ARS", "cuit")] if currency == "ARS" and re.fullmatch("[0-9]{11}", number) else []


def _is_valid(number: str, document: tuple[str, str]) -> bool:
    check = _document_checks()[document]
    return bool(re.fullmatch(check, number)) if check.startswith("[") else is_valid_number(check, number)


# Names: legal forms of companies, and scripts that banks do not take

_MAX_WORDS = 4
"""Words of the longest legal form, such as `Sp. z o. o.`."""

_IGNORED = str.maketrans("", "", ".,;-()'\"\u05f3\u05f4")
_HAS_INNER_DOT = re.compile(r"[^\W\d_]\.[^\W\d_]").search
_INITIALS_LAST = {"IN", "LK"}
"""Countries where initials such as S.A. often stand beside the name of a natural person."""


def name_initials(value: str, holder: str | None, country: str | None) -> bool:
    """Return True if the first or the last name of an individual is an initial, where that is not the usual way."""
    words = value.replace(".", " ").split()
    is_person = holder == "individual" and upper_code(country) not in _INITIALS_LAST and len(words) > 1
    return is_person and any(len(word) == 1 and word.isupper() for word in (words[0], words[-1]))


@dataclass(frozen=True, slots=True)
class LegalForm:
    """A row of `legal_forms.tsv`: how the form is written, where it exists, and whether it is a personal name, too."""

    text: str
    countries: frozenset[str]
    is_also_a_name: bool


@cache
def _legal_forms() -> Mapping[str, LegalForm]:
    """Return the legal forms by their letters in upper case."""
    return {
        _letters(row["form"]).upper(): LegalForm(row["form"], frozenset(row["countries"].split()), row["also"] == "*")
        for row in rows(__package__, "legal_forms")
    }


def _letters(text: str) -> str:
    return text.translate(_IGNORED).replace(" ", "")


def legal_form(value: str, holder: str | None, country: str | None) -> bool | str:
    """Return the legal form at the end of an individual's name; False without one, or if it may be a surname."""
    if holder != "individual":
        return False
    words = value.split()
    for count in range(1, min(_MAX_WORDS, len(words)) + 1):
        ending = "".join(words[-count:])
        form = _legal_forms().get(_letters(ending).upper())
        if form is not None and _is_meant(form, ending, words[:-count], is_one_word=count == 1, country=country):
            return form.text
    if not value.isascii():
        letters = _letters(value)
        for ending, form in _legal_forms().items():  # in scripts without capitals, where no blank may stand before it
            if ending == ending.lower() and letters.endswith(ending):
                return form.text
    return False


def _is_meant(form: LegalForm, ending: str, before: list[str], *, is_one_word: bool, country: str | None) -> bool:
    """Return True if an ending is a legal form rather than a surname or initials, by how it is written."""
    if not form.is_also_a_name:
        return True
    is_of_holder = upper_code(country) in form.countries
    if not before or (upper_code(country) in _INITIALS_LAST and not is_of_holder):
        return False
    letters, written = _letters(form.text), _letters(ending)
    if _HAS_INNER_DOT(ending) or (letters.istitle() and ending.endswith(".")):
        return True
    if not is_one_word:
        return False
    if written.isupper():
        return any(char.islower() for word in before for char in word)
    return written == letters and (is_of_holder or not letters.istitle())


@cache
def _name_scripts() -> Mapping[str, tuple[Callable[[str], object], str]]:
    """Return a search for letters that banks refuse, and words for those that they take, by country and currency."""
    found = {}
    for row in rows(__package__, "name_scripts"):
        refuses = re.compile(rf"[^\W\d_{row['accepted']}]").search
        found[row["country"]] = found[row["currency"]] = refuses, f"{row['country']}, which take {row['letters']}"
    return found


def name_script(value: str, currency: str | None, bic: str | None) -> bool | str:
    """Return the country of the bank and the letters that its banks take if a name has others; else False.

    The country is that of the BIC; without one, that of the currency.
    """
    refuses, words = _name_scripts().get(country_of_bic(bic) or upper_code(currency), (None, ""))
    return words if refuses and refuses(unicodedata.normalize("NFC", value)) else False
