"""Read the one value that a text can mean in a field, such as +12125551234 for (212) 555-1234 in the US.

A reading is only offered: a person decides. A text that is right already, means nothing, or may mean several things,
such as 03/04/1985, has no reading.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from payerkit.checks.banks import ifsc_letter_o, routing_zero_lost
from payerkit.checks.codes import find_code
from payerkit.checks.inputs import unwrap_secret
from payerkit.checks.places import aliases, countries, one_alias, postal_elsewhere, postal_zero_lost, state_written_out
from payerkit.checks.schema import FORMATS, Schema, check_field
from payerkit.checks.texts import compact, fold, inner_separators, other_digits, upper_code
from payerkit.onchain.addresses import address_problem

_MAX_LENGTH = 200
"""Longer texts have no reading, and would take time."""

_Values = Mapping[str, Any]


def reading(schema: Schema, field_name: str, value: Any, record: Mapping[str, Any]) -> str | None:
    """Return the one value that a text can mean in a field, in the form that the field takes, or None.

    Args:
        schema: Of the request.
        field_name: Our name of the field.
        value: As typed; a masked type is unwrapped. Anything but text has no reading.
        record: The other values by our names: a phone number is read by the country, an amount by its currency.
    """
    text = unwrap_secret(value)
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_LENGTH or schema.fields[field_name].is_id:
        return None
    reader = _reader(schema, field_name)
    found = reader(text.strip(), record) if reader else None
    if found is None or found == text or check_field(schema, field_name, found) is not None:
        return None
    return found


def use_label(schema: Schema, field_name: str, read: str) -> str:
    """Return the label of a button that takes over a reading, without the text of a secret."""
    return f"Use {_SECRETLY[field_name] if schema.fields[field_name].is_secret else read}"


def _reader(schema: Schema, name: str) -> Callable[[str, _Values], str | None] | None:
    """Return the reader of a field; None if its texts mean what they say."""
    field = schema.fields[name]
    if field.lookup:
        return lambda text, _record: _read_code(field.lookup, text)
    if field.options:
        return lambda text, _record: _read_option(name, field.options, text)
    kind = next(kind for kind, known in FORMATS.items() if known is field.format)
    return _BY_FORMAT.get(kind) or _BY_NAME.get(name)


def _only(values: Iterable[str]) -> str | None:
    """Return the value if all are the same; None for several different values, or no value."""
    found = dict.fromkeys(values)
    return next(iter(found)) if len(found) == 1 else None


def _read_code(lookup: str, text: str) -> str | None:
    found = find_code(lookup, text)
    return None if found is None or found.code.lower() == text.lower() else found.code


def _read_option(name: str, options: tuple[str, ...], text: str) -> str | None:
    return fold(text) if fold(text) in options else one_alias(name, text)


def _read_phone(text: str, record: _Values) -> str | None:
    """Return the number with its country code: as it is written, or of the record's country."""
    if other_digits(text) or re.search("[a-z]", text, re.IGNORECASE):
        return None  # an extension, or letters of a keypad
    plain = text.replace("(0)", "")
    country = upper_code(record.get("country"))
    starts_with_code = _digits(plain)[:1] != "0" and not plain.startswith("+")
    given: list[tuple[str, str | None]] = [(f"+{plain}" if starts_with_code else plain, None)]
    if plain.startswith("00"):
        given.append((f"+{plain[2:]}", None))
    if not plain.startswith("+") and country in countries():
        given.append((plain, country))
    return _only(number for text, region in given for number in _valid_numbers(text, region))


def _valid_numbers(text: str, region: str | None) -> Iterator[str]:
    """Yield the number that the library reads in a text, if such numbers are given out."""
    import phonenumbers  # noqa: PLC0415 - takes 25 ms to import

    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return
    if phonenumbers.is_valid_number(number) and not number.extension:
        yield str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))


def _digits(text: str) -> str:
    return re.sub("[^0-9]", "", text)


_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            "jan january",
            "feb february",
            "mar march",
            "apr april",
            "may",
            "jun june",
            "jul july",
            "aug august",
            "sep sept september",
            "oct october",
            "nov november",
            "dec december",
        ),
        start=1,
    )
    for name in names.split()
}
_YEAR_FIRST = re.compile("([0-9]{4})[-/. ]([0-9]{1,2})[-/. ]([0-9]{1,2})(?:[t ]00:00(?::00(?:[.]0+)?)?z?)?").fullmatch
_YEAR_LAST = re.compile("([0-9]{1,2})([-/. ])([0-9]{1,2})\\2([0-9]{4})").fullmatch
_EIGHT_DIGITS = re.compile("((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})").fullmatch
_DAY_MONTH = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?[.]?(?: of)?[- ]+([a-z]+)[.,]?[- ]+([0-9]{4})").fullmatch
_MONTH_DAY = re.compile(r"([a-z]+)[.]? +([0-9]{1,2})(?:st|nd|rd|th)?,? +([0-9]{4})").fullmatch


def _read_date(text: str, _record: _Values) -> str | None:
    """Return the only day that a text can mean; with dots, the day stands first (CLDR has no other order of them)."""
    text = text.lower()
    if match := _YEAR_FIRST(text) or _EIGHT_DIGITS(text):
        year, month, day = match.groups()
        # An impossible month is a day: then the two were swapped.
        return _only(_days((year, month, day))) or _only(_days((year, day, month)))
    if match := _YEAR_LAST(text):
        first, separator, second, year = match.groups()
        orders = [(year, second, first)] if separator == "." else [(year, second, first), (year, first, second)]
        return _only(day for order in orders for day in _days(order))
    if match := _DAY_MONTH(text):
        day, month, year = match.groups()
        return _only(_days((year, str(_MONTHS.get(month, 0)), day)))
    if match := _MONTH_DAY(text):
        month, day, year = match.groups()
        return _only(_days((year, str(_MONTHS.get(month, 0)), day)))
    return None


def _days(parts: tuple[str, str, str]) -> Iterator[str]:
    """Yield the day of a year, month and day, if there is one."""
    try:
        yield dt.date(*map(int, parts)).isoformat()
    except ValueError:
        return


_IN_BRACKETS = re.compile("[^<>@]*<\\s*(?:mailto:)?([^<>\\s]+)\\s*>[;,.]?").fullmatch


def _read_email(text: str, _record: _Values) -> str | None:
    """Return the address in brackets behind a name, or without what mail programs put around it."""
    match = _IN_BRACKETS(text)
    found = match[1] if match else re.sub("^mailto:", "", text, flags=re.IGNORECASE).rstrip(";,.")
    return found if FORMATS["email"].matches(found) else None


_PLAIN = re.compile("[0-9]+([.][0-9]+)?").fullmatch
_GROUPED = {
    ",": re.compile("[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?|[0-9]{1,2}(,[0-9]{2})+,[0-9]{3}([.][0-9]+)?").fullmatch,
    ".": re.compile("[0-9]{1,3}([.][0-9]{3})+(,[0-9]+)?").fullmatch,
    " ": re.compile("[0-9]{1,3}( [0-9]{3})+([.,][0-9]+)?").fullmatch,
    "'": re.compile("[0-9]{1,3}('[0-9]{3})+([.,][0-9]+)?").fullmatch,
}
"""Numbers with groups, by their separator: of thousands, with a comma also of lakhs."""

_IN_THOUSANDS = re.compile("[1-9][0-9]{0,2}[.][0-9]{3}").fullmatch
_DECIMAL_COMMA = re.compile("[0-9]+,[0-9]+").fullmatch
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"})
_WITH_CURRENCY = re.compile(r"([^0-9.,+\s-]+)?\s*([0-9.,' ]*[0-9][.]?)\s*([^0-9.,+\s-]+)?").fullmatch


def _read_amount(text: str, record: _Values) -> str | None:
    """Return an amount as a plain decimal number, without its currency if that is the one of the invoice."""
    match = _WITH_CURRENCY(text.translate(_SPACES).removeprefix("+"))
    if match is None:
        return None
    before, number, after = match.groups()
    if any(word and not _is_currency(word, record) for word in (before, after)) or (before and after):
        return None
    if _IN_THOUSANDS(number.strip()):  # one, or a thousand: only a person knows
        return None
    return _only(_numbers(number))


def _is_currency(word: str, record: _Values) -> bool:
    """Return True if a word or sign beside an amount may stand for the currency of the invoice; it must be known."""
    given = record.get("invoice_currency")
    if not isinstance(given, str) or not given:
        return False
    found = find_code("currencies", word)
    signs = aliases("currency").get(fold(word), ())
    return (
        fold(word) == fold(given)
        or given.upper() in signs
        or (found is not None and found.code.lower() == given.lower())
    )


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers that a text of digits and separators may mean."""
    if _PLAIN(text):
        yield text  # as the API reads it
        return
    if re.fullmatch("[.][0-9]+", text):
        yield f"0{text}"
    if re.fullmatch("[0-9]+[.]", text):
        yield text[:-1]
    for separator, matches in _GROUPED.items():
        if matches(text):
            yield text.replace(separator, "").replace(",", ".")
    if _DECIMAL_COMMA(text):
        yield text.replace(",", ".")


def _read_payee(text: str, _record: _Values) -> str | None:
    """Return an address whose 0x is missing, if its checksum proves that it is one."""
    found = f"0x{text}"
    has_checksum = found not in {found.lower(), f"0x{text.upper()}"}
    return found if not address_problem(found) and has_checksum else None


def _without_separators(text: str, _record: _Values) -> str | None:
    return compact(text) if inner_separators(text) else None


def _read_routing_number(text: str, _record: _Values) -> str | None:
    return f"0{text}" if routing_zero_lost(text) else None


def _read_ifsc(text: str, _record: _Values) -> str | None:
    return f"{text[:4]}0{text[5:]}".upper() if ifsc_letter_o(text) else None


def _read_postal_code(text: str, record: _Values) -> str | None:
    """Return the code with its leading zero, unless the record's state has no such code: then another digit is lost."""
    country, restored = record.get("country"), f"0{text}"
    is_lost = postal_zero_lost(text, country) and not postal_elsewhere(restored, record.get("state"), country)
    return restored if is_lost else None


def _read_state(text: str, record: _Values) -> str | None:
    found = state_written_out(text, record.get("country"))
    return found if isinstance(found, str) else None


_BY_FORMAT: Mapping[str, Callable[[str, _Values], str | None]] = {
    "phone": _read_phone,
    "day": _read_date,
    "email": _read_email,
    "amount": _read_amount,
}
_SECRETLY = {"iban": "it without blanks", "routing_number": "it with its leading zero"}
"""The words of a button in place of a secret reading."""

_BY_NAME: Mapping[str, Callable[[str, _Values], str | None]] = {
    "iban": _without_separators,
    "swift_bic": _without_separators,
    "routing_number": _read_routing_number,
    "ifsc": _read_ifsc,
    "postcode": _read_postal_code,
    "postal_code": _read_postal_code,
    "state": _read_state,
    "payee": _read_payee,
}
