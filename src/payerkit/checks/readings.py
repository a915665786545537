"""Read the one value that a text can mean in a field, such as +12125551234 for (212) 555-1234 in the US.

A reading is only offered: a person decides. A text that is right already, means nothing, or may mean several things,
such as 03/04/1985, has no reading. Codes are read from the words that people type for them, and placeholders such as
N/A as a blank cell.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from payerkit._tsv import grouped, rows
from payerkit.checks import banks, places
from payerkit.checks.dates import read_date
from payerkit.checks.inputs import check_field, unwrap_secret
from payerkit.checks.people import parse_phone, phone_library
from payerkit.checks.requirements import listed_rails
from payerkit.checks.schema import FORMATS, Schema
from payerkit.checks.texts import fold, other_digits, upper_code
from payerkit.onchain.currencies import Currency, Network, currency_aliases, is_payable, networks, token_list

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
        record: The other values by our names: a phone number is read by the country.
        date_order: Which part comes first in dates such as 03/04/1985, "day_first" or "month_first", if it is known.
    """
    given, field = unwrap_secret(value), schema.fields[field_name]
    if not isinstance(given, str) or not 0 < len(given) <= _MAX_LENGTH or field.is_id:
        return None
    text = given.strip()
    if field.format is FORMATS["day"]:
        found = read_date(text, date_order)
    elif field.lookup:
        found = _read_code(field_name, field.lookup, text)
    elif field.format.options:
        found = fold(text) if fold(text) in field.format.options else places.one_alias(field_name, text)
    else:
        reader = _READERS.get(field_name)
        found = reader(text, record) if reader else None
    if not found or found == text or check_field(schema, field_name, found) is not None:
        return None
    return found


def use_label(schema: Schema, field_name: str, read: str) -> str:
    """Return the label of a button that takes over a reading, without the text of a secret."""
    return f"Use {_SECRETLY[field_name] if schema.fields[field_name].is_secret else read}"


def read_note(schema: Schema, field_name: str, read: str) -> str:
    """Return a note that a reading has replaced a typed text; it does not repeat a secret."""
    secretly = _SECRETLY.get(field_name, "").removeprefix("it ")
    return f"Read {secretly if schema.fields[field_name].is_secret else f'as {read}'}."


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
        known = places.country_code(text)
        codes = {known} if known else set(places.aliases(name).get(fold(text), ()))
    return codes


def _read_phone(text: str, record: _Values) -> str | None:
    """Return the number with its country code: as it is written, or of the record's country."""
    text = re.sub("^tel(?:[.]?:|[.])?\\s*", "", text, flags=re.IGNORECASE)
    if other_digits(text) or re.search("[a-z]", text, re.IGNORECASE):
        return None  # an extension, or letters of a keypad
    plain = text.replace("(0)", "")
    country = upper_code(record.get("country"))
    starts_with_code = re.sub("[^0-9]", "", plain)[:1] != "0" and not plain.startswith("+")
    given: list[tuple[str, str | None]] = [(f"+{plain}" if starts_with_code else plain, None)]
    if plain.startswith("00"):
        given.append((f"+{plain[2:]}", None))
    if not plain.startswith("+") and country in places.countries():
        given.append((plain, country))
    return _only(number for text, region in given for number in _valid_numbers(text, region))


def _valid_numbers(text: str, region: str | None) -> Iterator[str]:
    """Yield the number that the library reads in a text, if such numbers are given out."""
    number, library = parse_phone(text, region), phone_library()
    if number is not None and library.is_valid_number(number) and not number.extension:
        yield str(library.format_number(number, library.PhoneNumberFormat.E164))


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


def _read_amount(text: str, _record: _Values) -> str | None:
    """Return an amount as a plain decimal number, if its separators leave one."""
    number = text.translate(_SPACES).removeprefix("+")
    return None if _IN_THOUSANDS(number) else _only(_numbers(number))  # one, or a thousand: only a person knows


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


_SEPARATORS = re.compile("[\\s\u200b\ufeff\u2010-\u2014-]")
_MAY_BE_IBAN = re.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}", re.IGNORECASE | re.ASCII).fullmatch
"""Matches an IBAN, mistyped or not, but no account number, and no two IBANs in one cell (ISO 13616)."""


def _read_iban(text: str, _record: _Values) -> str | None:
    """Return an IBAN without separators, and without the word IBAN in front if what is left is one."""
    bare = _SEPARATORS.sub("", text)
    if bare[:4].upper() == "IBAN":
        number = bare[4:].lstrip(":.").upper()
        return number if banks.is_iban(number) else None
    return bare.upper() if bare != text and _MAY_BE_IBAN(bare) else None


def _read_bic(text: str, _record: _Values) -> str | None:
    """Return a BIC without separators."""
    bare = _SEPARATORS.sub("", text)
    return bare.upper() if bare != text and banks.is_bic(bare) else None


def _read_routing_number(text: str, _record: _Values) -> str | None:
    """Return the number with its leading zero, or without separators, if its check digit proves it."""
    bare = _SEPARATORS.sub("", text)
    if bare != text:
        return None if len(bare) != 9 or banks.routing_digits(bare) or banks.routing_checksum(bare) else bare
    return f"0{text}" if banks.routing_zero_lost(text) else None


def _read_postal_code(text: str, record: _Values) -> str | None:
    """Return the code with its leading zero, unless the record's state has no such code: then another digit is lost."""
    country, restored = record.get("country"), f"0{text}"
    is_lost = places.postal_zero_lost(text, country) and not places.postal_elsewhere(
        restored, record.get("state"), country
    )
    return restored if is_lost else None


def _read_state(text: str, record: _Values) -> str | None:
    found = places.state_code(text, record.get("country"))
    return None if found == text.upper() else found


_SECRETLY = {"iban": "it without blanks", "routing_number": "it with its leading zero"}
"""The words of a button in place of a secret reading."""

_READERS: Mapping[str, Callable[[str, _Values], str | None]] = {
    "phone": _read_phone,
    "email": _read_email,
    "amount": _read_amount,
    "iban": _read_iban,
    "swift_bic": _read_bic,
    "routing_number": _read_routing_number,
    "postcode": _read_postal_code,
    "postal_code": _read_postal_code,
    "state": _read_state,
}


# Codes of countries, currencies and tokens, and what people type in place of them

_FIRST_COUNTRIES = ("US", "GB", "DE")
_FIRST_CURRENCIES = ("USD", "EUR", "GBP")
_FIRST_SYMBOLS = ("USDC", "USDT", "ETH", "DAI")
_FIRST_NETWORKS = ("mainnet", "matic", "base", "arbitrum-one", "optimism", "bsc")
"""What is used most; everything else follows in the order of its code."""

FUNDS = frozenset(
    "BOV CHE CHW CLF COU MXV USN UYI UYW XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX".split()  # noqa: SIM905 - a list to read
)
"""Codes of ISO 4217 for funds, metals, units of account and tests, in which no bank keeps an ordinary account."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code with its name and its spellings: the folded texts that mean it, though others may share one.

    text: everything that a search looks through, folded. use: codes that are used more sort before others. is_test:
    whether it is of a token on a test network.
    """

    code: str
    name: str
    spellings: tuple[str, ...]
    text: str
    use: tuple[int | str, ...]
    is_test: bool = False


@cache
def codes(lookup: str) -> tuple[Code, ...]:
    """Return the codes of a lookup, those that are used most first."""
    return tuple(sorted(_TABLES[lookup](), key=lambda code: code.use))


def meant_codes(lookup: str, text: str) -> tuple[Code, ...]:
    """Return the codes that a text may mean, by one of their spellings; those that are used most first."""
    return _by_spelling(lookup).get(_key(text), ())


def find_code(lookup: str, text: str) -> Code | None:
    """Return the code that a text means, exactly: by itself, else by one of its spellings; None if several codes do."""
    found = meant_codes(lookup, text)
    same = [each for each in found if fold(each.code) == fold(text)]
    return same[0] if same else found[0] if len(found) == 1 else None


def name_of(lookup: str, code: str) -> str:
    """Return the name of a code in any case; "" if it is unknown, or if a field has no lookup."""
    known = codes(lookup) if lookup else ()
    return next((each.name for each in known if each.code.upper() == code.upper()), "")


@cache
def _by_spelling(lookup: str) -> Mapping[str, tuple[Code, ...]]:
    return grouped((spelling, each) for each in codes(lookup) for spelling in dict.fromkeys(map(_key, each.spellings)))


def _key(text: str) -> str:
    """Return the words of a text in one order, so that "polygon usdc" is "USDC on Polygon"."""
    return " ".join(sorted(word for word in fold(text).split() if word != "on"))


def _code(code: str, name: str, others: Sequence[str], use: tuple[int | str, ...]) -> Code:
    spellings = tuple(dict.fromkeys(map(fold, (code, name, *others))))
    return Code(code, name, spellings, " ".join(spellings), use)


def _countries() -> Iterator[Code]:
    others = _aliases_by_code("country")
    for code, country in places.countries().items():
        spellings = [*([country.alpha3] if country.alpha3 else []), *others.get(code, ())]
        yield _code(code, country.name, spellings, (_place(_FIRST_COUNTRIES, code), fold(country.name)))


def _fiat() -> Iterator[Code]:
    others = _aliases_by_code("currency")
    for code, name in places.fiat_currencies().items():
        yield _code(code, name, others.get(code, ()), _use_of_fiat(code))


def _use_of_fiat(code: str) -> tuple[int | str, ...]:
    """Return the place of a currency: those that the service lists, the usual ones first, the others, then funds."""
    group = 2 if code in FUNDS else 0 if listed_rails(code) else 1
    return 0, group, _place(_FIRST_CURRENCIES, code), code


def _currencies() -> Iterator[Code]:
    """Yield what an order can name: fiat currencies, coins and tokens."""
    others = _aliases_by_code("currency")
    names = places.fiat_currencies()
    for each in token_list().values():
        if each.kind == "fiat":
            yield _code(each.id, names.get(each.symbol, each.symbol), others.get(each.id, ()), _use_of_fiat(each.id))
    yield from _tokens()


def _tokens() -> Iterator[Code]:
    for each in token_list().values():
        if each.kind != "fiat":
            yield _token(each, networks()[each.network])
    for alias, each in currency_aliases().items():
        listed = _token(each, networks()[each.network])
        same = _code(alias, f"{listed.name}, the same as {each.id}", (), (*listed.use, alias))
        yield replace(same, is_test=listed.is_test)


def _token(token: Currency, network: Network) -> Code:
    symbols = dict.fromkeys([token.ticker, token.symbol, *_aliases_by_code("token").get(token.ticker, ())])
    places = dict.fromkeys([network.name, network.title, *_aliases_by_code("network").get(network.name, ())])
    spellings = [*symbols, *(f"{symbol} {place}" for symbol in symbols for place in places)]
    use = (
        1,
        not is_payable(token),
        _place(_FIRST_SYMBOLS, token.ticker),
        network.is_test,
        _place(_FIRST_NETWORKS, network.name),
        token.id,
    )
    is_marked = network.is_test and "Testnet" not in network.title
    name = f"{token.ticker} on {network.title}{' (test network)' if is_marked else ''}"
    return replace(_code(token.id, name, spellings, use), is_test=network.is_test)


def _place(first: Sequence[str], item: str) -> int:
    return first.index(item) if item in first else len(first)


@cache
def _aliases_by_code(kind: str) -> Mapping[str, tuple[str, ...]]:
    return grouped((code, alias) for alias, meant in places.aliases(kind).items() for code in meant)


_TABLES: Mapping[str, Callable[[], Iterator[Code]]] = {
    "countries": _countries,
    "fiat": _fiat,
    "currencies": _currencies,
    "tokens": _tokens,
}


# Placeholders: texts such as N/A, - or none, which stand for nothing

NAMES = frozenset({"first_name", "last_name", "company_name", "account_name", "bank_name"})
"""Fields with names: people are called None, Null and Nan."""

_LONGEST_PLACEHOLDER = 24
"""Longer texts are no placeholders."""

_BRACKETS = "<>()[]{}\"' "
_SIGNS = {"Sm", "Sk"}
"""Unicode categories of signs such as = and ~; those of currencies have a category of their own."""

_BULLET = "\u2022"
"""What masked values are made of; they are refused as such."""


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """What is known of a placeholder.

    not_in: fields in which it is a value. stays: where it is not cleared: "always", in "names", or "" for nowhere.
    """

    not_in: frozenset[str]
    stays: str


@cache
def _words() -> Mapping[str, _Placeholder]:
    table = rows(__package__, "placeholders")
    return {row["word"]: _Placeholder(frozenset(row["not_in"].split()), row["stays"]) for row in table}


@cache
def error_values() -> frozenset[str]:
    """Return the errors of Excel, LibreOffice and Google Sheets, in capitals, in four languages."""
    return frozenset(word.upper() for word, known in _words().items() if known.stays == "always")


_ANY_WORD = _Placeholder(frozenset(), "")


def is_placeholder(schema: Schema, field_name: str, text: str) -> bool:
    """Return True if a text stands for no value in a field. As a country, NA is a value."""
    if len(text) > _LONGEST_PLACEHOLDER or text[:1].isdigit():
        return False  # the usual case
    word, text = _find_word(text), text.strip()
    if word is None:
        return False
    if field_name in word.not_in and text in {text.capitalize(), text.upper()}:
        return False  # as people write Nan or NAN, the city; nan and NaN are of programs
    return not (schema.fields[field_name].lookup == "countries" and text.upper() in places.countries())


def is_clearable(schema: Schema, field_name: str, text: str) -> bool:
    """Return True if a text can mean nothing but an empty cell: a name such as Null can, and so can an error value."""
    if not is_placeholder(schema, field_name, text):
        return False
    word = _find_word(text)
    return word is not None and word.stays != "always" and not (word.stays == "names" and field_name in NAMES)


def _find_word(text: str) -> _Placeholder | None:
    """Return what is known of a placeholder; None for any other text."""
    word = text.strip().lower() if text.isascii() else _fold(text)
    if not word:
        return None
    known = _words().get(word)
    if known is not None or word[0].isalpha():
        return known
    if not word[-1].isalnum() and all(map(_says_nothing, word)):
        return _ANY_WORD
    return _words().get(word.strip(_BRACKETS))


def _fold(text: str) -> str:
    """Return a text in small letters, with the usual forms of letters, blanks and hyphens."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def _says_nothing(letter: str) -> bool:
    category = unicodedata.category(letter)
    return letter == " " or ((category[0] == "P" or category in _SIGNS) and letter != _BULLET)
