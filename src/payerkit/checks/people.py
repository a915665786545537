"""Rules about people and companies: e-mail, phone, tax numbers, dates, names."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from payerkit._tsv import rows
from payerkit.checks.banks import country_of_bic
from payerkit.checks.places import is_us
from payerkit.checks.rules import Words, rule
from payerkit.checks.texts import compact, upper_code
from payerkit.models.formats import EMAIL

_ODD_EMAIL = re.compile(
    # before the @: a dot at either end, two dots in a row, quotes
    # after it: a label with outer hyphens, no real top-level domain
    r"""\.|.*\.@ | [^@]*\.\. | "
    | .*@(.*\.)?- | .*@.*-(\.|\Z) | .*\.([0-9]+|.)\Z
    """,
    re.VERBOSE,
)
_SSN = re.compile(r"([0-9]{3})[- ]?([0-9]{2})[- ]?([0-9]{4})")
_ITIN_MIDDLE = {*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100)}
"""The two middle digits of ITINs (IRS)."""

_EIN = re.compile(r"[0-9]{2}-?[0-9]{7}|[0-9]{3}-[0-9]{2}-[0-9]{4}")
_MIN_AGE = 18
_MAX_AGE = 120
_CUIT = re.compile("[0-9]{11}")
_IRS = "IRS: EIN, ITIN; SSA POMS RM 10201.035"


@rule(
    "id_is_email",
    "client_user_id",
    only="Payer",
    severity="info",
    message=(
        "An e-mail address, which the service advises against as the id of a payer."
    ),
    hint="Choose an id that is not personal data, such as a customer number.",
    basis="operator's documentation",
)
def id_is_email(client_user_id: str) -> bool:
    """Return True if an id is an e-mail address."""
    return EMAIL.matches(client_user_id.strip())


@rule(
    "email_odd",
    "email",
    message=(
        "Probably not deliverable: misplaced dots, quotes or hyphens, or no valid"
        " top-level domain."
    ),
    hint="Confirm the address with the payer.",
    basis="RFC 5321, RFC 1123",
)
def email_odd(email: str) -> bool:
    """Return True if a well-formed e-mail address is probably not deliverable."""
    return _ODD_EMAIL.match(email) is not None


@rule(
    "phone_without_plus",
    "phone",
    severity="info",
    message="No leading +.",
    hint="Put + in front if the number begins with its country code.",
    basis="E.164; the service takes both",
)
def phone_without_plus(phone: str) -> bool:
    """Return True if a phone number does not begin with a plus."""
    return not phone.startswith("+")


@rule(
    "phone_impossible",
    "phone",
    message=(
        "Not a possible phone number: the country code is unknown, or the number is"
        " too short or too long."
    ),
    hint="Write the country code and the number, without the trunk prefix 0.",
    basis="libphonenumber",
)
def phone_impossible(phone: str) -> bool:
    """Return True if a phone number has an unknown country code, or too few or too many
    digits.
    """
    phonenumbers = phone_library()
    number = parse_phone(f"+{phone.removeprefix('+')}")
    possible = phonenumbers.ValidationResult.IS_POSSIBLE
    return number is None or bool(
        phonenumbers.is_possible_number_with_reason(number) != possible
    )


@rule(
    "phone_national",
    "phone",
    only="Payer",
    message=(
        "Probably without the country code, so it passes as a number of another"
        " country."
    ),
    hint=(
        "If it is a number of the payer's country, begin it with {prefix}, in place of"
        " the prefix that is dialled inside the country."
    ),
    basis="libphonenumber",
)
def phone_national(phone: str, country: str | None) -> Words | None:
    """Return the prefix that a payer's number needs if its country code is missing;
    None for any other number.

    Such a number may pass as one of another country: 2025550123, of the US, is +20
    25550123, in Egypt. A number with a + is trusted, unless no number of its country
    looks like it. What cannot be a number at all is left to the rule phone_impossible.
    A table may have dropped a leading zero of the number.
    """
    digits = phone.removeprefix("+")
    region = upper_code(country)
    code = str(phone_library().country_code_for_region(region) or "")
    if not code or digits.startswith(code) or phone_impossible(phone):
        return None
    if phone.startswith("+") and _is_given_out(parse_phone(phone)):
        return None
    for lost in ("", "0"):
        number = parse_phone(f"{lost}{digits}", region)
        if _is_given_out(number) and bool(number.italian_leading_zero) == bool(lost):
            return {"prefix": f"+{code}{lost}"}
    return None


def parse_phone(text: str, region: str | None = None) -> Any:
    """Return a number as the library reads it; None if it cannot. region: of a number
    without its country code.
    """
    phonenumbers = phone_library()
    try:
        return phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None


def _is_given_out(number: Any) -> bool:
    """Return True for a number of a kind that people have; a premium rate, for one, is
    of no person.
    """
    if number is None:
        return False
    kinds = phone_library().PhoneNumberType
    of_no_person = {kinds.PREMIUM_RATE, kinds.PAGER, kinds.VOICEMAIL, kinds.UNKNOWN}
    return phone_library().number_type(number) not in of_no_person


def phone_library() -> ModuleType:
    """Return the library of phone numbers."""
    import phonenumbers  # noqa: PLC0415 - it takes as long to import as payerkit

    return phonenumbers


@rule(
    "ssn_digits",
    "ssn",
    message="A Social Security number or ITIN has nine digits.",
    hint="Write it as 123-45-6789.",
    basis=_IRS,
)
def ssn_digits(ssn: str, country: str | None, beneficiary_type: str | None) -> bool:
    """Return True if the tax number of a US individual does not have nine digits."""
    is_of_person = is_us(country) and beneficiary_type == "individual"
    return is_of_person and _SSN.fullmatch(ssn) is None


@rule(
    "ssn_impossible",
    "ssn",
    message="Never issued as a Social Security number or ITIN.",
    hint="Compare it with the card.",
    basis=_IRS,
)
def ssn_impossible(ssn: str, country: str | None, beneficiary_type: str | None) -> bool:
    """Return True if the number of a US individual is never issued as a Social Security
    number or ITIN.
    """
    match = _SSN.fullmatch(ssn)
    if match is None or not is_us(country) or beneficiary_type != "individual":
        return False
    area, group, serial = (int(part) for part in match.groups())
    if area >= 900:
        return group not in _ITIN_MIDDLE
    return area in {0, 666} or group == 0 or serial == 0


@rule(
    "ein_digits",
    "ssn",
    message="The EIN of a company has nine digits.",
    hint="Write it as 12-3456789.",
    basis=f"{_IRS}; operator's documentation",
)
def ein_digits(ssn: str, country: str | None, beneficiary_type: str | None) -> bool:
    """Return True if the EIN of a US company does not have nine digits."""
    is_of_company = is_us(country) and beneficiary_type == "business"
    return is_of_company and _EIN.fullmatch(ssn) is None


@rule(
    "date_impossible",
    "date_of_birth",
    message="Not a valid date.",
    hint="Write it as YYYY-MM-DD; month and day may be swapped.",
    basis="Gregorian calendar",
)
def date_impossible(date_of_birth: str) -> bool:
    """Return True if there is no such date."""
    return _parse_date(date_of_birth) is None


@rule(
    "date_future",
    "date_of_birth",
    message="The date is in the future.",
    hint="Enter the date of birth, or a company's date of incorporation.",
    basis="operator's documentation",
)
def date_future(date_of_birth: str) -> bool:
    """Return True if the date is in the future."""
    date = _parse_date(date_of_birth)
    return date is not None and date > _today()


@rule(
    "age_unlikely",
    "date_of_birth",
    message="Under 18 or over 120 years old.",
    hint="Compare it with the identity document.",
    basis="plausibility",
)
def age_unlikely(date_of_birth: str, beneficiary_type: str | None) -> bool:
    """Return True if an individual is under 18 or over 120 years old; a company may
    have any age.
    """
    birth = _parse_date(date_of_birth)
    today = _today()
    if birth is None or birth > today or beneficiary_type != "individual":
        return False
    age = today.year - birth.year
    if (today.month, today.day) < (birth.month, birth.day):
        age -= 1
    return not _MIN_AGE <= age <= _MAX_AGE


def _parse_date(value: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        return None


def _today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()


@rule(
    "company_member_missing",
    "company_name",
    "source_of_funds",
    "business_activity",
    only="Payer",
    message="Missing, but usually needed for a business.",
    hint="Fill it in.",
    basis="operator's documentation",
)
def company_field_missing(
    beneficiary_type: str, given: frozenset[str], *, field: str
) -> bool:
    """Return True if a company has no value in a field that companies need."""
    return beneficiary_type == "business" and field not in given


# Documents, whose names several countries share: the currency tells which one is meant

_STDNUM = "national tax and identity numbers, by python-stdnum"


@cache
def _document_checkers() -> Mapping[tuple[str, str], Callable[[str], bool]]:
    """Return the validators of numbers, by currency and document type."""
    from stdnum.ar import cuit  # noqa: PLC0415 - python-stdnum is loaded for a number
    from stdnum.br import cnpj, cpf  # noqa: PLC0415
    from stdnum.cl import rut  # noqa: PLC0415
    from stdnum.co import nit  # noqa: PLC0415
    from stdnum.mx import curp, rfc  # noqa: PLC0415
    from stdnum.pe import ruc  # noqa: PLC0415

    return {
        ("ARS", "cuit"): cuit.is_valid,
        ("BRL", "cnpj"): cnpj.is_valid,
        ("BRL", "cpf"): cpf.is_valid,
        ("CLP", "rut"): rut.is_valid,
        ("COP", "ced_ciu"): _digits(6, 10),
        ("COP", "nit"): nit.is_valid,
        ("MXN", "curp"): curp.is_valid,
        ("MXN", "rfc"): rfc.is_valid,
        ("PEN", "dni"): _digits(8, 8),
        ("PEN", "ruc"): ruc.is_valid,
    }


def _digits(least: int, most: int) -> Callable[[str], bool]:
    """Return a checker of numbers that have no check digit."""
    pattern = re.compile(f"[0-9]{{{least},{most}}}")
    return lambda number: pattern.fullmatch(number) is not None


@rule(
    "document_number",
    "document_number",
    message="Not a valid {document} number.",
    hint="Compare it with the document.",
    basis=_STDNUM,
)
def document_invalid(
    document_number: str, document_type: str | None, currency: str | None
) -> Words | None:
    """Return the document types for which a number is invalid; None if it is valid, or
    no format is known.
    """
    number = compact(document_number).replace(".", "").replace("/", "")
    documents = _documents(document_type, currency, number)
    checkers = _document_checkers()
    is_valid = any(checkers[document](number) for document in documents)
    if is_valid or not documents:
        return None
    names = [name.upper().replace("_", " ") for _, name in documents]
    return {"document": " or ".join(names)}


@rule(
    "document_unchecked",
    "document_number",
    severity="info",
    message="Not checked: no format is known for this document type.",
    basis=_STDNUM,
)
def document_unchecked(
    document_type: str, currency: str | None, given: frozenset[str]
) -> bool:
    """Return True if there is a number, but no known format for its document type."""
    return "document_number" in given and not _documents(document_type, currency, "")


def _documents(
    document_type: str | None, currency: str | None, number: str
) -> list[tuple[str, str]]:
    """Return the document types that may be meant; without a type, those that the
    currency and length suggest.
    """
    currency = upper_code(currency)
    if document_type is not None:
        document = (currency, document_type.strip().lower())
        return [document] if document in _document_checkers() else []
    if currency == "BRL":
        return [("BRL", "cpf"), ("BRL", "cnpj")]
    if currency == "ARS" and _CUIT.fullmatch(number):
        return [("ARS", "cuit")]
    return []


# Names: legal forms of companies, and scripts that banks do not take

_MAX_WORDS = 4
"""Words of the longest legal form, such as `Sp. z o. o.`."""

_IGNORED = str.maketrans("", "", ".,;-()'\"\u05f3\u05f4")
_INNER_DOT = re.compile(r"[^\W\d_]\.[^\W\d_]")
_INITIALS_LAST = {"IN", "LK"}
"""Countries where initials such as S.A. often stand beside the name of a natural
person.
"""


@dataclass(frozen=True, slots=True)
class LegalForm:
    """A row of `legal_forms.tsv`: how the form is written, where it exists, and whether
    it is a personal name, too.
    """

    text: str
    countries: frozenset[str]
    is_also_a_name: bool


@cache
def _legal_forms() -> Mapping[str, LegalForm]:
    """Return the legal forms by their letters in upper case."""
    return {
        _letters(row["form"]).upper(): LegalForm(
            row["form"], frozenset(row["countries"].split()), row["also"] == "*"
        )
        for row in rows(__package__, "legal_forms")
    }


def _letters(text: str) -> str:
    return text.translate(_IGNORED).replace(" ", "")


@rule(
    "legal_form",
    "last_name",
    "account_name",
    message="Ends in {form}, the legal form of a company, but the type is individual.",
    hint="If this is a company, set its type to business.",
    basis="ISO 20275; company laws",
)
def legal_form(
    value: str, beneficiary_type: str | None, country: str | None
) -> Words | None:
    """Return the legal form at the end of an individual's name; None without one, or if
    it may be a surname.
    """
    if beneficiary_type != "individual":
        return None
    words = value.split()
    for count in range(1, min(_MAX_WORDS, len(words)) + 1):
        ending = "".join(words[-count:])
        form = _legal_forms().get(_letters(ending).upper())
        if form is not None and _is_meant(
            form, ending, words[:-count], is_one_word=count == 1, country=country
        ):
            return {"form": form.text}
    return None if value.isascii() else _joined_form(_letters(value))


def _joined_form(letters: str) -> Words | None:
    """Return the legal form at the end of a name in a script without capitals, where no
    blank may stand before it.
    """
    for ending, form in _legal_forms().items():
        if ending == ending.lower() and letters.endswith(ending):
            return {"form": form.text}
    return None


def _is_meant(
    form: LegalForm,
    ending: str,
    before: list[str],
    *,
    is_one_word: bool,
    country: str | None,
) -> bool:
    """Return True if an ending is a legal form rather than a surname or initials, by
    how it is written.
    """
    if not form.is_also_a_name:
        return True
    is_of_holder = upper_code(country) in form.countries
    if not before or (upper_code(country) in _INITIALS_LAST and not is_of_holder):
        return False
    letters = _letters(form.text)
    written = _letters(ending)
    has_dots = _INNER_DOT.search(ending) is not None
    if has_dots or (letters.istitle() and ending.endswith(".")):
        return True
    if not is_one_word:
        return False
    if written.isupper():
        return any(letter.islower() for letter in "".join(before))
    return written == letters and (is_of_holder or not letters.istitle())


@dataclass(frozen=True, slots=True)
class _Script:
    """The letters that the banks of a country take in names: in words, and a pattern of
    the others.
    """

    country: str
    letters: str
    others: re.Pattern[str]


def _script(country: str, letters: str, accepted: str) -> _Script:
    return _Script(country, letters, re.compile(rf"[^\W\d_{accepted}]"))


_LATIN = r"\x00-\u024f\u1e00-\u1eff"
_FULL_WIDTH = r"\uff21-\uff5a"
_KATAKANA = r"\u30a0-\u30ff\u31f0-\u31ff\uff21-\uff9f"
_SCRIPTS = {
    "ID": _script("ID", "Latin letters", _LATIN + _FULL_WIDTH),
    "JP": _script("JP", "katakana or Latin letters", _LATIN + _KATAKANA),
    "VN": _script("VN", "Latin letters without accents", r"\x00-\xbf"),
}
"""The scripts of account holders' names, by country of the bank; looked up on
2026-11-20 in the documentation of payout providers, such as Airwallex's payout network.
Latin letters pass everywhere, since SWIFT messages have no others.
"""

_COUNTRIES_OF_SCRIPTS = {"IDR": "ID", "JPY": "JP", "VND": "VN"}
"""The countries of scripts by currency, which tells the country if there is no BIC."""


@rule(
    "name_script",
    "account_name",
    message="Has letters that are refused by banks in {country}, which take {letters}.",
    hint="Write the name in these letters, as the bank has it.",
    basis="payout providers' documentation",
)
def name_script(
    account_name: str, currency: str | None, swift_bic: str | None
) -> Words | None:
    """Return the country of the bank and the letters that its banks take if a name has
    others; else None.

    The country is that of the BIC; without one, that of the currency.
    """
    of_currency = _COUNTRIES_OF_SCRIPTS.get(upper_code(currency), "")
    script = _SCRIPTS.get(country_of_bic(swift_bic) or of_currency)
    name = unicodedata.normalize("NFC", account_name)
    if script is None or script.others.search(name) is None:
        return None
    return {"country": script.country, "letters": script.letters}
