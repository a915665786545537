"""What the values of a column say beside its header: that they are none of its field,
or that a cell holds more or less than the field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from payerkit.checks.places import state_code, states
from payerkit.checks.texts import fold, upper_code
from payerkit.models.formats import FieldKind
from payerkit.tables.header import field_of, traits_of

Values = Mapping[int, Sequence[str | None]]
"""The first texts of columns by their number, None where a cell is blank."""

FIRST_ROWS = 100
"""So many rows show what a column holds."""

LEAST = 3
"""Fewer values show nothing."""

_SHAPES: Mapping[FieldKind, re.Pattern[str]] = {
    "email": re.compile(r".*@.*", re.DOTALL),
    "phone": re.compile(r"(?:[^\d@]*\d){5}[^@]*", re.DOTALL),
    "day": re.compile(r"[^@]*\d[^@]*", re.DOTALL),
    "country": re.compile(r"[^\d@]{2,}", re.DOTALL),
    "currency": re.compile(r"[^\d@]+", re.DOTALL),
    "digits": re.compile(r"[^@]*\d[^@]*", re.DOTALL),
    "number": re.compile(r"[^@]*\d[^@]*", re.DOTALL),
    "postcode": re.compile(r"[^@]*\d[^@]*", re.DOTALL),
    "name": re.compile(r"(?=.*[^\W\d_])[^@]*", re.DOTALL),
}
"""How texts of these kinds look at least, be they right or wrong."""

_STOP = re.compile(
    r"\b(cancell?ed|closed|on hold|hold|do not pay|don't pay|stopped|blocked|storniert"
    r"|gek[üu]ndigt|gesperrt|nicht (?:aus)?zahlen|cancelad[oa]|cerrad[oa]|bloquead[oa]"
    r"|no pagar|annul[ée]e?|cl[ôo]tur[ée]e?|bloqu[ée]e?|ne pas payer)\b",
    re.IGNORECASE,
)
"""Words that say that a row is not to be paid."""

_TWO_NAMES = re.compile(r"[^\W\d_][^,]*, [^\W\d_][^,.]*")
_PLACE = re.compile(r"(?:[A-Z]{1,3}[ -]?)?[0-9]{4,6}(?:[ -].*)?|.* [A-Z]{2} [0-9]{5}")
"""A part of an address that has the postal code: "10115 Berlin", "MA 02108"."""

_NICKNAMES = {"account name", "kontoname", "nombre de la cuenta", "nom du compte"}
"""Headers of the holder's name that may also be what somebody calls the account."""

_HOUSE_NUMBER = re.compile(r"[0-9]{1,5} ?[A-Za-z]?(?: ?[-/] ?[0-9]{1,4}[A-Za-z]?)?")


def fits(column: str, texts: Sequence[str]) -> bool:
    """Return True unless most of some texts cannot be values of a column of ours."""
    field = traits_of(column)
    if field is None or field.kind not in _SHAPES:
        return True
    return _are_most(_SHAPES[field.kind], texts)


def holds_two_names(texts: Sequence[str]) -> bool:
    """Return True if most of some texts are like "Archer, Ada"."""
    return _are_most(_TWO_NAMES, texts)


def column_doubt(
    place: int, header: str, fields: Mapping[int, str], values: Values
) -> str:
    """Return why the values of a column can hardly be those of its field, as the end of
    a sentence; "" if they can.

    fields: our column for each column that is certain.
    """
    column = fields[place]
    texts = _filled(values.get(place, ()))
    if len(texts) < LEAST:
        return ""
    if not fits(column, texts) or _are_no_states(place, fields, values):
        return f"its values are hardly those of {column}."
    name = field_of(column)
    if name == "address_line1" and _are_whole_addresses(texts):
        return "whole addresses: make columns of street, city and postal code."
    if fold(header) in _NICKNAMES and _is_one_for_many(texts, fields, values):
        return "one name for different accounts: it may not be that of the holder."
    return ""


def stop_word(text: object) -> str:
    """Return the words in a text that say that its row is not to be paid, in small
    letters; "" for other texts.
    """
    found = _STOP.search(text) if isinstance(text, str) else None
    return found[0].lower() if found else ""


def holds_house_numbers(texts: Sequence[str | None]) -> bool:
    """Return True if most texts of a column are like 12 or 12a."""
    return _are_most(_HOUSE_NUMBER, _filled(texts))


def _filled(texts: Sequence[str | None]) -> list[str]:
    return [text for text in texts if text is not None]


def _are_most(shape: re.Pattern[str], texts: Sequence[str]) -> bool:
    matches = [text for text in texts if shape.fullmatch(text.strip())]
    return bool(texts) and len(matches) > len(texts) / 2


def _are_no_states(place: int, fields: Mapping[int, str], values: Values) -> bool:
    """Return True if most states of a column are unknown in the countries beside
    them.
    """
    prefix, is_state, _ = fields[place].rpartition("state")
    countries = [other for other in fields if fields[other] == f"{prefix}country"]
    if not is_state or not countries:
        return False
    known = []
    for state, country in zip(values[place], values[countries[0]], strict=True):
        if state is not None and upper_code(country) in states():
            known.append(state_code(state, country) is not None)
    return len(known) >= LEAST and sum(known) < len(known) / 2


def _are_whole_addresses(texts: Sequence[str]) -> bool:
    """Return True if most texts have a street, and a part with a postal code."""
    whole = 0
    for text in texts:
        _, *parts = [part.strip() for part in re.split("[,;\n]", text)]
        whole += any(_PLACE.fullmatch(part) for part in parts)
    return whole > len(texts) / 2


def _is_one_for_many(
    names: Sequence[str], fields: Mapping[int, str], values: Values
) -> bool:
    """Return True if most accounts have one name, though their numbers differ."""
    _, most = Counter(names).most_common(1)[0]
    numbers = 0
    for place, column in fields.items():
        if column in {"iban", "account_number"}:
            numbers = max(numbers, len({*_filled(values.get(place, ()))}))
    return most > len(names) / 2 and numbers >= max(LEAST, len(names) / 2)
