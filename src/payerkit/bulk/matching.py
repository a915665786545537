"""Whether an account that a service lists is the one that a row asks for, as far as the list shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from payerkit.bulk.identity import CODES, NUMBERS, id_form, normal_form
from payerkit.checks.banks import is_iban
from payerkit.checks.schema import RAILS
from payerkit.wire import wire_name


class Grade(Enum):
    """How much a listed account tells about being the one that a row asks for.

    SAME: number, codes and currency are equal. NUMBER: the number is equal, but the list does not show all of the
    others. PERHAPS: its number is masked, missing or written in another way; or it is equal, and codes or rails are
    not. OTHER: another number or currency; or, in a list that shows nothing of the number, another code or other rails.
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


Relation = Literal["equal", "fits", "hidden", "unlike", "different"]
"""A field of the row next to that of the list. fits: the list shows a part of it. hidden: it shows nothing of it.
unlike: it has something in its place, such as a hash or words. different: it has another value of its kind."""

_DESCRIBING = ("bank_name", "account_name")

_DEAD = frozenset({"failed", "rejected", "deactivated"})
"""Statuses of accounts that cannot be paid, and never will be. Source: those of `statuses.tsv` for accounts."""

_MASK = re.compile(r"X{2,}|[\W_]+")
"""The characters of a mask in a normal form, which has neither blanks nor hyphens."""


def compare(values: Mapping[str, Any], record: Mapping[str, Any]) -> Match:
    """Compare a row's values, by field name, with an account that a service lists.

    A mask may rule an account out, and never confirms it. An equal number in an equal currency is never another
    account, however its codes and rails are written: banks have several codes, and services write them as they like.
    The names of bank and holder do neither: if they differ, `Match.differs` has them.
    """
    listed = {wire_name(name): str(value) for name, value in record.items() if isinstance(value, str | int)}
    number, currency = _compare_numbers(values, listed), _compare_field("currency", values, listed)
    others = {name: _compare_field(name, values, listed) for name in ("rails", *CODES)}
    is_number_shown = number in {"equal", "fits"}
    if "different" in {number, currency} or ("different" in others.values() and not is_number_shown):
        return Match(Grade.OTHER)
    if number != "equal" or {"unlike", "different"} & set(others.values()):
        return Match(Grade.PERHAPS)
    has_iban = _compare_field("iban", values, listed) == "equal"  # which says where the account is kept
    codes = _codes_to_confirm(values, listed, has_iban=has_iban)
    is_shown = currency == "equal" and all(others[name] == "equal" for name in codes)
    differs = tuple(name for name in _DESCRIBING if _differs_in_words(values.get(name), listed.get(wire_name(name))))
    return Match(Grade.SAME if is_shown else Grade.NUMBER, differs)


def is_dead(record: Mapping[str, Any]) -> bool:
    """Return True if a listed account cannot be paid, and never will be."""
    return str(record.get("status")).strip().casefold() in _DEAD


def _codes_to_confirm(values: Mapping[str, Any], listed: Mapping[str, str], *, has_iban: bool) -> list[str]:
    """Return the codes that, next to number and currency, must be equal for an account to be the same."""
    return [name for name in CODES if values.get(name) or (listed.get(wire_name(name)) and not has_iban)]


def _compare_numbers(values: Mapping[str, Any], listed: Mapping[str, str]) -> Relation:
    """Compare the numbers of an account; a list may have an IBAN in the place of the account number."""
    relations = {_compare_field(name, values, listed) for name in NUMBERS}
    sent = {normal_form(name, str(values[name])) for name in NUMBERS if values.get(name)}
    shown = {normal_form(name, listed[wire_name(name)]) for name in NUMBERS if listed.get(wire_name(name))}
    if sent & shown:
        return "fits" if "different" in relations else "equal"
    if "different" in relations:
        return "different"
    is_part = any(_is_part(one, other) for one in sent for other in shown)  # an account number and its IBAN, say
    return "fits" if is_part or "fits" in relations else "hidden"


def _compare_field(name: str, values: Mapping[str, Any], listed: Mapping[str, str]) -> Relation:
    """Compare a field that makes an account this account and no other."""
    text = listed.get(wire_name(name), "").strip()
    sent, shown = normal_form(name, str(values.get(name) or "")), normal_form(name, text)
    if not text or not sent or (name == "rails" and shown not in RAILS):
        return "hidden"
    if sent == shown:
        return "equal"
    parts = _MASK.split(shown)
    if len(parts) > 1:
        return _compare_ends(parts, sent)
    if name in NUMBERS and _is_part(sent, shown):
        return "fits"
    if name == "currency":
        return "different" if len(shown) == 3 and shown.isalpha() else "hidden"
    if sent.isdecimal() and shown.isdecimal() and sent.lstrip("0") == shown.lstrip("0"):
        return "fits"
    return "different" if name == "rails" or _is_of_its_kind(name, sent, shown) else "unlike"


def _compare_ends(parts: Sequence[str], sent: str) -> Relation:
    """Compare what a mask leaves of the beginning and the end; words, and fewer than three digits, tell nothing."""
    first, last = parts[0], parts[-1]
    if sent in parts:  # with something behind it, such as .0
        return "fits"
    is_start = re.fullmatch(r"[0-9]{3,}" if sent.isdecimal() else r"[A-Z]{2}[0-9]{2}\w*", first)
    ends = [sent.lstrip("0").startswith(first.lstrip("0"))] if is_start else []
    ends += [sent.endswith(last)] if re.fullmatch(r"[0-9]{3,}", last) else []
    return "hidden" if not ends else "fits" if all(ends) else "different"


def _is_part(sent: str, shown: str) -> bool:
    """Return True if one number begins or ends with the other, whatever zeros are in front."""
    one, other = sorted([sent.lstrip("0"), shown.lstrip("0")], key=len)
    return bool(one) and (other.startswith(one) or other.endswith(one))


def _is_of_its_kind(name: str, sent: str, shown: str) -> bool:
    """Return True if a listed text is a whole value of a field, and not a word or a hash in its place."""
    if name == "iban":
        return is_iban(shown)
    if sent.isdecimal() != shown.isdecimal():
        return False
    return len(sent) == len(shown) or (name in NUMBERS and sent.isdecimal())


def _differs_in_words(sent: Any, listed: str | None) -> bool:
    """Return True if a name is shown, in full, and is another than the one that was sent."""
    if not sent or not listed or not re.search(r"\w", listed) or re.search(r"[•*…]", listed):
        return False
    return id_form(str(sent)) != id_form(listed)
