"""Whether an account that a service lists is the one that a row asks for, as far as the list shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from payerkit.bulk.identity import CODES, NUMBERS, id_form, normal_form
from payerkit.checks.schema import RAILS
from payerkit.wire import wire_name


class Grade(Enum):
    """How much a listed account tells about being the one that a row asks for.

    SAME: number, codes and currency are equal. NUMBER: the number is equal, but the list does not show all of the
    others. PERHAPS: nothing rules it out; its number is masked or missing. OTHER: something differs.
    """

    SAME = "same"
    NUMBER = "number"
    PERHAPS = "perhaps"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Match:
    """A listed account, compared with a row. differs: fields that only describe an account, and differ."""

    grade: Grade
    differs: tuple[str, ...] = ()


Relation = Literal["equal", "hidden", "different"]
"""A field of the row next to that of the list. hidden: the list shows too little of it to tell."""

_DESCRIBING = ("bank_name", "account_name")

_DEAD = frozenset({"failed", "rejected", "deactivated"})
"""Statuses of accounts that cannot be paid, and never will be. Source: those of `statuses.tsv` for accounts."""

_MASK = re.compile(r"X{2,}|[\W_]+")
"""The characters of a mask in a normal form, which has neither blanks nor hyphens."""


def compare(values: Mapping[str, Any], record: Mapping[str, Any]) -> Match:
    """Compare a row's values, by field name, with an account that a service lists.

    A mask may rule an account out, and never confirms it. The names of bank and holder do neither: if they differ,
    `Match.differs` has them.
    """
    listed = {wire_name(name): str(value) for name, value in record.items() if isinstance(value, str | int)}
    number = _compare_numbers(values, listed)
    others = {name: _compare_field(name, values, listed) for name in ("currency", "rails", *CODES)}
    if "different" in {number, *others.values()}:
        return Match(Grade.OTHER)
    if number == "hidden":
        return Match(Grade.PERHAPS)
    has_iban = _compare_field("iban", values, listed) == "equal"  # which says where the account is kept
    shown = all(others[name] == "equal" for name in _to_confirm(values, listed, has_iban=has_iban))
    differs = tuple(name for name in _DESCRIBING if _differs_in_words(values.get(name), listed.get(wire_name(name))))
    return Match(Grade.SAME if shown else Grade.NUMBER, differs)


def is_dead(record: Mapping[str, Any]) -> bool:
    """Return True if a listed account cannot be paid, and never will be."""
    return str(record.get("status")).strip().casefold() in _DEAD


def _to_confirm(values: Mapping[str, Any], listed: Mapping[str, str], *, has_iban: bool) -> list[str]:
    """Return the fields, next to the number, that must be equal for an account to be the same."""
    codes = [name for name in CODES if values.get(name) or (listed.get(wire_name(name)) and not has_iban)]
    return ["currency", *codes]


def _compare_numbers(values: Mapping[str, Any], listed: Mapping[str, str]) -> Relation:
    """Compare the numbers of an account; a list may have an IBAN in the place of the account number."""
    relations = {_compare_field(name, values, listed) for name in NUMBERS}
    sent = {normal_form(name, str(values[name])) for name in NUMBERS if values.get(name)}
    shown = {normal_form(name, listed[wire_name(name)]) for name in NUMBERS if listed.get(wire_name(name))}
    if "different" in relations:
        return "different"
    return "equal" if sent & shown else "hidden"


def _compare_field(name: str, values: Mapping[str, Any], listed: Mapping[str, str]) -> Relation:
    """Compare a field that makes an account this account and no other."""
    text = listed.get(wire_name(name), "").strip()
    sent, shown = normal_form(name, str(values.get(name) or "")), normal_form(name, text)
    if not text or not sent or not _is_of_its_kind(name, shown):
        return "hidden"
    if sent == shown:
        return "equal"
    return "hidden" if _may_be_shortened(name, sent, shown) else "different"


def _is_of_its_kind(name: str, shown: str) -> bool:
    """Return True if a listed text is a value of this field, not a word of the service's own."""
    if name == "rails":
        return shown in RAILS
    return name != "currency" or (len(shown) == 3 and shown.isalpha())


def _may_be_shortened(name: str, sent: str, shown: str) -> bool:
    """Return True if a listed value that is not equal may be the same all the same: masked, or written otherwise."""
    parts = _MASK.split(shown)
    if name in NUMBERS and sent.isdecimal() and re.search("[^0-9]", "".join(parts)):
        return True  # an IBAN, or what the service has in place of a number
    if len(parts) > 1:
        return re.fullmatch(".*".join(map(re.escape, parts)), sent) is not None
    if sent.isdecimal() and shown.isdecimal() and sent.lstrip("0") == shown.lstrip("0"):
        return True
    return name in NUMBERS and (sent.endswith(shown) or shown.endswith(sent))


def _differs_in_words(sent: Any, listed: str | None) -> bool:
    """Return True if a name is shown, in full, and is another than the one that was sent."""
    if not sent or not listed or not re.search(r"\w", listed) or re.search(r"[•*…]", listed):
        return False
    return id_form(str(sent)) != id_form(listed)
