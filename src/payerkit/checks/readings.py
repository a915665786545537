"""Read the one value that a text can mean in a field, such as +12125551234 for (212) 555-1234 in the US.

A reading is only offered: a person decides. A text that is right already, means nothing, or may mean several things,
such as 03/04/1985, has no reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from payerkit.checks.banks import (
    ifsc_form,
    ifsc_letter_o,
    is_bic,
    is_iban,
    routing_checksum,
    routing_digits,
    routing_zero_lost,
)
from payerkit.checks.codes import find_code, meant_codes
from payerkit.checks.dates import read_date
from payerkit.checks.inputs import unwrap_secret
from payerkit.checks.places import (
    aliases,
    countries,
    country_code,
    one_alias,
    postal_elsewhere,
    postal_zero_lost,
    state_code,
)
from payerkit.checks.schema import FORMATS, Schema, check_field
from payerkit.checks.texts import fold, other_digits, upper_code
from payerkit.onchain.addresses import address_problem

_MAX_LENGTH = 200
"""Longer texts have no reading, and would take time."""

_Values = Mapping[str, Any]

_BETWEEN_PARTS = re.compile(r"[-\u2013\u2014()\[\]/|:,;]|(?<=[$\u20ac\u00a3\u00a5])|(?=[$\u20ac\u00a3\u00a5])").split
"""Splits a code from its name, and the sign of a currency from its code."""


def reading(
    schema: Schema, field_name: str, value: Any, record: Mapping[str, Any], *, date_order: str | None = None
) -> str | None:
    """Return the only value that a text can mean in a field, in the form that the field takes, or None.

    Args:
        schema: Of the request.
        field_name: Our name of the field.
        value: As typed; a masked type is unwrapped. Anything but text has no reading.
        record: The other values by our names: a phone number is read by the country, an amount by its currency.
        date_order: What stands first in dates such as 03/04/1985, "day_first" or "month_first", if it is known.
    """
    text = unwrap_secret(value)
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_LENGTH or schema.fields[field_name].is_id:
        return None
    reader = _reader(schema, field_name, date_order)
    found = reader(text.strip(), record) if reader else None
    if not found or found == text.strip() or check_field(schema, field_name, found) is not None:
        return None
    return found


def use_label(schema: Schema, field_name: str, read: str) -> str:
    """Return the label of a button that takes over a reading, without the text of a secret."""
    return f"Use {_SECRETLY[field_name] if schema.fields[field_name].is_secret else read}"


def _reader(schema: Schema, name: str, date_order: str | None) -> Callable[[str, _Values], str | None] | None:
    """Return the reader of a field; None if its texts mean what they say."""
    field = schema.fields[name]
    if field.format is FORMATS["day"]:
        return lambda text, _record: read_date(text, date_order)
    if field.lookup:
        return lambda text, _record: _read_code(name, field.lookup, text)
    if field.options:
        return lambda text, _record: _read_option(name, field.options, text)
    kind = next(kind for kind, known in FORMATS.items() if known is field.format)
    return _BY_FORMAT.get(kind) or _BY_NAME.get(name)


def _only(values: Iterable[str]) -> str | None:
    """Return the value if all are the same; None for several different values, or no value."""
    found = dict.fromkeys(values)
    return next(iter(found)) if len(found) == 1 else None


def _read_code(name: str, lookup: str, text: str) -> str | None:
    """Return the code that a text means by itself, or by all of its parts, as in "Germany (DE)"."""
    found = find_code(lookup, text)
    if found is not None:
        return None if found.code.lower() == text.lower() else found.code
    meant = _meant(name, lookup, text)
    if not meant:
        parts = [part for part in map(str.strip, _BETWEEN_PARTS(text)) if part]
        meanings = [_meant(name, lookup, part) for part in parts]
        meant = set.intersection(*meanings) if meanings else set()
    return _only(meant)


def _meant(name: str, lookup: str, text: str) -> set[str]:
    """Return the codes that a text may mean; a country also by its names in other languages, or by its people."""
    codes = {code.code for code in meant_codes(lookup, text)}
    if not codes and lookup == "countries":
        known = country_code(text)
        codes = {known} if known else set(aliases(name).get(fold(text), ()))
    return codes


def _read_option(name: str, options: tuple[str, ...], text: str) -> str | None:
    return fold(text) if fold(text) in options else one_alias(name, text)


def _read_phone(text: str, record: _Values) -> str | None:
    """Return the number with its country code: as it is written, or of the record's country."""
    text = re.sub("^tel(?:[.]?:|[.])?\\s*", "", text, flags=re.IGNORECASE)
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


_SEPARATORS = re.compile("[\\s\u200b\ufeff\u2010-\u2014-]")
_MAY_BE_IBAN = re.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}", re.IGNORECASE | re.ASCII).fullmatch
"""Matches an IBAN, mistyped or not, but no account number, and no two IBANs in one cell (ISO 13616)."""

_BIC_LABEL = re.compile("(?:bic|swift|swift/bic|bic/swift|swift code):", re.IGNORECASE)


def _read_iban(text: str, _record: _Values) -> str | None:
    """Return an IBAN without separators, and without the word IBAN in front if what is left is one."""
    bare = _SEPARATORS.sub("", text)
    if bare[:4].upper() == "IBAN":
        number = bare[4:].lstrip(":.").upper()
        return number if is_iban(number) else None
    return bare.upper() if bare != text and _MAY_BE_IBAN(bare) else None


def _read_bic(text: str, _record: _Values) -> str | None:
    """Return a BIC without separators, and without a word in front."""
    label = _BIC_LABEL.match(text)
    bare = _SEPARATORS.sub("", text[label.end() :] if label else text)
    return bare.upper() if bare != text and is_bic(bare) else None


def _read_routing_number(text: str, _record: _Values) -> str | None:
    """Return the number with its leading zero, or without separators, if its check digit proves it."""
    bare = _SEPARATORS.sub("", text)
    if bare != text:
        return None if len(bare) != 9 or routing_digits(bare) or routing_checksum(bare) else bare
    return f"0{text}" if routing_zero_lost(text) else None


def _read_ifsc(text: str, _record: _Values) -> str | None:
    bare = _SEPARATORS.sub("", text).upper()
    if ifsc_letter_o(bare):
        return f"{bare[:4]}0{bare[5:]}"
    return None if bare == text.upper() or ifsc_form(bare) else bare


def _read_postal_code(text: str, record: _Values) -> str | None:
    """Return the code with its leading zero, unless the record's state has no such code: then another digit is lost."""
    country, restored = record.get("country"), f"0{text}"
    is_lost = postal_zero_lost(text, country) and not postal_elsewhere(restored, record.get("state"), country)
    return restored if is_lost else None


def _read_state(text: str, record: _Values) -> str | None:
    found = state_code(text, record.get("country"))
    return None if found == text.upper() else found


_BY_FORMAT: Mapping[str, Callable[[str, _Values], str | None]] = {
    "phone": _read_phone,
    "email": _read_email,
    "amount": _read_amount,
}
_SECRETLY = {"iban": "it without blanks", "routing_number": "it with its leading zero"}
"""The words of a button in place of a secret reading."""

_BY_NAME: Mapping[str, Callable[[str, _Values], str | None]] = {
    "iban": _read_iban,
    "swift_bic": _read_bic,
    "routing_number": _read_routing_number,
    "ifsc": _read_ifsc,
    "postcode": _read_postal_code,
    "postal_code": _read_postal_code,
    "state": _read_state,
    "payee": _read_payee,
}
