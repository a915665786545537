"""Placeholders: texts such as N/A, - or none, which stand for nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tsv import rows
from payerkit.checks.places import countries
from payerkit.checks.schema import Schema

NAMES = frozenset({"first_name", "last_name", "company_name", "account_name", "bank_name"})
"""Fields with names: people are called None, Null and Nan."""

_MAX_LENGTH = 24
"""Longer texts are no placeholders."""

_BRACKETS = "<>()[]{}\"' "
_CROSSES = re.compile("x{2,}").fullmatch
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
_CROSSED_OUT = _Placeholder(frozenset({"state", "branch_code"}), "")
"""XXX is a branch in a BIC, so it may stand in a column of branches."""


def is_placeholder(schema: Schema, field_name: str, text: str) -> bool:
    """Return True if a text stands for no value in a field. As a country, NA is a value."""
    if len(text) > _MAX_LENGTH or text[:1].isdigit():
        return False  # the usual case
    word = _find(text)
    if word is None or (field_name in word.not_in and _is_written_as_a_value(text.strip())):
        return False
    return not (schema.fields[field_name].lookup == "countries" and text.strip().upper() in countries())


def _is_written_as_a_value(text: str) -> bool:
    """Return True for a name or code as people write it, such as Nan or NAN, the city; nan and NaN are of programs."""
    return text in {text.capitalize(), text.upper()}


def is_clearable(schema: Schema, field_name: str, text: str) -> bool:
    """Return True if a text can mean nothing but an empty cell: a name such as Null can, and so can an error value."""
    if not is_placeholder(schema, field_name, text):
        return False
    word = _find(text)
    return word is not None and word.stays != "always" and not (word.stays == "names" and field_name in NAMES)


def _find(text: str) -> _Placeholder | None:
    """Return what is known of a placeholder; None for any other text."""
    word = text.strip().lower() if text.isascii() else _fold(text)
    if not word:
        return None
    known = _words().get(word)
    if known is not None or word[0].isalpha():
        return known or (_CROSSED_OUT if _CROSSES(word) else None)
    if not word[-1].isalnum() and all(map(_says_nothing, word)):
        return _ANY_WORD
    return _words().get(word.strip(_BRACKETS))


def _fold(text: str) -> str:
    """Return a text in small letters, with the usual forms of letters, blanks and hyphens."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def _says_nothing(letter: str) -> bool:
    category = unicodedata.category(letter)
    return letter == " " or ((category[0] == "P" or category in _SIGNS) and letter != _BULLET)
