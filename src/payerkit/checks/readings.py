"""Read the one value that a text can mean in a field, such as +12125551234 for (212)
555-1234 in the US.

A reading is only offered: a person decides. A text that is right already, means
nothing, or may mean several things, such as 03/04/1985, has no reading. Codes are read
from the words that people type for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from payerkit.cells import unwrap_secret
from payerkit.checks import banks, places
from payerkit.checks.codes import find_code, meant_codes
from payerkit.checks.dates import read_date
from payerkit.checks.people import parse_phone, phone_library
from payerkit.checks.texts import fold, other_digits, upper_code
from payerkit.findings import Finding, table_finding
from payerkit.models.base import RequestModel
from payerkit.models.fields import check_field, fields_of
from payerkit.models.formats import EMAIL

_MAX_LENGTH = 200
"""Longer texts have no reading, and would take time."""

_Values = Mapping[str, Any]

_BETWEEN_PARTS = re.compile(
    r"[-\u2013\u2014()\[\]/|:,;]|(?<=[$\u20ac\u00a3\u00a5])|(?=[$\u20ac\u00a3\u00a5])"
)
"""Splits a code from its name, and the sign of a currency from its code."""


def reading(
    model: type[RequestModel],
    field_name: str,
    value: Any,
    record: Mapping[str, Any],
    *,
    date_order: str | None = None,
) -> str | None:
    """Return the only value that a text can mean in a field, in the form that the field
    takes, or None.

    Args:
        model: Of the request.
        field_name: Our name of the field.
        value: As typed; a masked type is unwrapped. Anything but text has no reading.
        record: The other values by our names: a phone number is read by the country.
        date_order: Which part comes first in dates such as 03/04/1985, "day_first" or
            "month_first", if it is known.
    """
    given = unwrap_secret(value)
    field = fields_of(model)[field_name]
    if not isinstance(given, str) or not 0 < len(given) <= _MAX_LENGTH or field.is_id:
        return None
    text = given.strip()
    read: str | None = None
    if field.kind == "day":
        read = read_date(text, date_order)
    elif field.lookup:
        read = _read_code(field_name, field.lookup, text)
    elif fold(text) in field.options:
        read = fold(text)
    elif field.options:
        read = places.one_alias(field_name, text)
    else:
        reader = _READERS.get(field_name, _READERS.get(field.kind))
        if reader is not None:
            read = reader(text, record)
    if not read or read == text or check_field(model, field_name, read) is not None:
        return None
    return read


def strip_blanks(
    model: type[RequestModel], name: str, value: Any
) -> tuple[Any, Finding | None]:
    """Return a value without surrounding whitespace, and an info if there was any; an
    id stays as typed.
    """
    if not isinstance(value, str) or value == value.strip():
        return value, None
    if fields_of(model)[name].is_id:
        return value, None
    return value.strip(), table_finding("trimmed", name)


def use_label(model: type[RequestModel], field_name: str, read: str) -> str:
    """Return the label of a button that takes over a reading, without the text of a
    secret.
    """
    if fields_of(model)[field_name].is_secret:
        return f"Use {_SECRETLY.get(field_name, 'it in the right form')}"
    return f"Use {read}"


def read_note(model: type[RequestModel], field_name: str, read: str) -> str:
    """Return a note that a reading has replaced a typed text; it does not repeat a
    secret.
    """
    if fields_of(model)[field_name].is_secret:
        words = _SECRETLY.get(field_name, "it in the right form")
        return f"Read {words.removeprefix('it ')}."
    return f"Read as {read}."


def _only(values: Iterable[str]) -> str | None:
    """Return the value if all are the same; None for several different values, or no
    value.
    """
    different = {*values}
    if len(different) != 1:
        return None
    return different.pop()


def _read_code(name: str, lookup: str, text: str) -> str | None:
    """Return the code that a text means by itself, or by all of its parts, as in
    "Germany (DE)".
    """
    known = find_code(lookup, text)
    if known is not None and known.code.lower() == text.lower():
        return None
    if known is not None:
        return known.code
    meant = _meant(name, lookup, text)
    if meant:
        return _only(meant)
    parts = [part.strip() for part in _BETWEEN_PARTS.split(text)]
    meanings = [_meant(name, lookup, part) for part in parts if part]
    if not meanings:
        return None
    return _only(set.intersection(*meanings))


def _meant(name: str, lookup: str, text: str) -> set[str]:
    """Return the codes that a text may mean; a country also by its names in other
    languages, or by its people.
    """
    codes = {code.code for code in meant_codes(lookup, text)}
    if codes or lookup != "countries":
        return codes
    known = places.country_code(text)
    if known:
        return {known}
    return set(places.aliases(name).get(fold(text), ()))


def _read_phone(text: str, record: _Values) -> str | None:
    """Return the number with its country code: as it is written, or of the record's
    country.
    """
    text = re.sub("^tel(?:[.]?:|[.])?\\s*", "", text, flags=re.IGNORECASE)
    if other_digits(text) or re.search("[a-z]", text, re.IGNORECASE):
        return None  # an extension, or letters of a keypad
    plain = text.replace("(0)", "")
    country = upper_code(record.get("country"))
    if plain.startswith("+"):
        return _only(_valid_numbers(plain, None))
    whole = f"+{plain}"
    if re.sub("[^0-9]", "", plain).startswith("0"):
        whole = plain
    numbers = [*_valid_numbers(whole, None)]
    if plain.startswith("00"):
        numbers += _valid_numbers(f"+{plain[2:]}", None)
    if country in places.countries():
        numbers += _valid_numbers(plain, country)
    return _only(numbers)


def _valid_numbers(text: str, region: str | None) -> Iterator[str]:
    """Yield the number that the library reads in a text, if such numbers are given
    out.
    """
    number = parse_phone(text, region)
    library = phone_library()
    if number is not None and library.is_valid_number(number) and not number.extension:
        yield str(library.format_number(number, library.PhoneNumberFormat.E164))


_IN_BRACKETS = re.compile("[^<>@]*<\\s*(?:mailto:)?([^<>\\s]+)\\s*>[;,.]?")


def _read_email(text: str, _record: _Values) -> str | None:
    """Return the address in brackets behind a name, or without what mail programs put
    around it.
    """
    address = re.sub("^mailto:", "", text, flags=re.IGNORECASE).rstrip(";,.")
    match = _IN_BRACKETS.fullmatch(text)
    if match:
        address = match[1]
    if not EMAIL.matches(address):
        return None
    return address


_PLAIN = re.compile("[0-9]+([.][0-9]+)?")
_GROUPED = {
    ",": re.compile(
        "[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?|[0-9]{1,2}(,[0-9]{2})+,[0-9]{3}([.][0-9]+)?"
    ),
    ".": re.compile("[0-9]{1,3}([.][0-9]{3})+(,[0-9]+)?"),
    " ": re.compile("[0-9]{1,3}( [0-9]{3})+([.,][0-9]+)?"),
    "'": re.compile("[0-9]{1,3}('[0-9]{3})+([.,][0-9]+)?"),
}
"""Numbers with groups, by their separator: of thousands, with a comma also of lakhs."""

_IN_THOUSANDS = re.compile("[1-9][0-9]{0,2}[.][0-9]{3}")
_DECIMAL_COMMA = re.compile("[0-9]+,[0-9]+")
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"})


def _read_amount(text: str, _record: _Values) -> str | None:
    """Return an amount as a plain decimal number, if its separators leave one."""
    number = text.translate(_SPACES).removeprefix("+")
    if _IN_THOUSANDS.fullmatch(number):
        return None  # one, or a thousand: only a person knows
    return _only(_numbers(number))


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers that a text of digits and separators may mean."""
    if _PLAIN.fullmatch(text):
        yield text  # as the API reads it
        return
    if re.fullmatch("[.][0-9]+", text):
        yield f"0{text}"
    if re.fullmatch("[0-9]+[.]", text):
        yield text[:-1]
    for separator, pattern in _GROUPED.items():
        if pattern.fullmatch(text):
            yield text.replace(separator, "").replace(",", ".")
    if _DECIMAL_COMMA.fullmatch(text):
        yield text.replace(",", ".")


_SEPARATORS = re.compile("[\\s\u200b\ufeff\u2010-\u2014-]")
_MAY_BE_IBAN = re.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}", re.IGNORECASE | re.ASCII)
"""Matches an IBAN, mistyped or not, but no account number, and no two IBANs in one cell
(ISO 13616).
"""


def _read_iban(text: str, _record: _Values) -> str | None:
    """Return an IBAN without separators, and without the word IBAN in front if what is
    left is one.
    """
    bare = _SEPARATORS.sub("", text)
    if bare[:4].upper() == "IBAN":
        number = bare[4:].lstrip(":.").upper()
        if not banks.is_iban(number):
            return None
        return number
    if bare == text or not _MAY_BE_IBAN.fullmatch(bare):
        return None
    return bare.upper()


def _read_bic(text: str, _record: _Values) -> str | None:
    """Return a BIC without separators."""
    bare = _SEPARATORS.sub("", text)
    if bare == text or not banks.is_bic(bare):
        return None
    return bare.upper()


def _read_routing_number(text: str, _record: _Values) -> str | None:
    """Return the number with its leading zero, or without separators, if its check
    digit proves it.
    """
    bare = _SEPARATORS.sub("", banks.bare_number(text))
    if bare == text and banks.routing_zero_lost(text):
        return f"0{text}"
    if len(bare) != 9 or banks.routing_digits(bare) or banks.routing_checksum(bare):
        return None
    return bare


def _read_number(text: str, _record: _Values) -> str:
    """Return a number without a word in front of it, and without blanks."""
    return banks.bare_number(text)


def _read_postal_code(text: str, record: _Values) -> str | None:
    """Return the code with its leading zero, unless the record's state has no such
    code: then another digit is lost.
    """
    country = record.get("country")
    restored = f"0{text}"
    if not places.postal_zero_lost(text, country):
        return None
    if places.postal_elsewhere(restored, record.get("state"), country):
        return None
    return restored


def _read_state(text: str, record: _Values) -> str | None:
    code = places.state_code(text, record.get("country"))
    if code == text.upper():
        return None
    return code


_SECRETLY = {
    "iban": "it without blanks",
    "routing_number": "it with its leading zero",
    "account_number": "the number alone",
    "document_number": "the number alone",
}
"""The words of a button in place of a secret reading."""

# By the kind of a field, or by its name.
_READERS: Mapping[str, Callable[[str, _Values], str | None]] = {
    "phone": _read_phone,
    "email": _read_email,
    "amount": _read_amount,
    "iban": _read_iban,
    "swift_bic": _read_bic,
    "routing_number": _read_routing_number,
    "account_number": _read_number,
    "document_number": _read_number,
    "postcode": _read_postal_code,
    "state": _read_state,
}
