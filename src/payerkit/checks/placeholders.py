"""Placeholders: texts such as N/A, - or none, which stand for nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tsv import rows
from payerkit.checks import places
from payerkit.models.base import RequestModel
from payerkit.models.fields import fields_of

_LONGEST_PLACEHOLDER = 24
"""Longer texts are no placeholders."""

_BRACKETS = "<>()[]{}\"' "
_OF_TEMPLATE = re.compile(
    r"\$?[<\[{]{1,2} *[^\W\d_][^\d@<>\[\]{}]{0,40}[>\]}]{1,2}|%[A-Za-z_ ]{2,40}%"
)
"""Matches words in brackets that a program or a person did not replace by a value:
[First name], {{iban}}, <city>.
"""
_SIGNS = {"Sm", "Sk"}
"""Unicode categories of signs such as = and ~; those of currencies have a category of
their own.
"""

_BULLET = "\u2022"
"""What masked values are made of; they are refused as such."""


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """What is known of a placeholder.

    not_in: fields in which it is a value. stays: where it is not cleared: "always", in
    "names", or "" for nowhere.
    """

    not_in: frozenset[str]
    stays: str


@cache
def _words() -> Mapping[str, _Placeholder]:
    table = rows(__package__, "placeholders")
    return {
        row["word"]: _Placeholder(frozenset(row["not_in"].split()), row["stays"])
        for row in table
    }


@cache
def error_values() -> frozenset[str]:
    """Return the errors of Excel, LibreOffice and Google Sheets, in capitals, in four
    languages.
    """
    return frozenset(
        word.upper() for word, known in _words().items() if known.stays == "always"
    )


_ANY_WORD = _Placeholder(frozenset(), "")


def is_placeholder(model: type[RequestModel], field_name: str, text: str) -> bool:
    """Return True if a text stands for no value in a field. As a country, NA is a
    value.
    """
    if text[:1].isdigit():
        return False  # the usual case
    if _OF_TEMPLATE.fullmatch(text.strip()):
        return True
    if len(text) > _LONGEST_PLACEHOLDER:
        return False
    word = _find_word(text)
    text = text.strip()
    if word is None:
        return False
    if field_name in word.not_in and text in {text.capitalize(), text.upper()}:
        # People write Nan or NAN, the city; programs write nan and NaN.
        return False
    is_country = fields_of(model)[field_name].kind == "country"
    return not (is_country and text.upper() in places.countries())


def may_be_name(model: type[RequestModel], field_name: str, text: str) -> bool:
    """Return True for a placeholder that is written as a name of a person or a town is:
    Null, Na, None.
    """
    is_name = fields_of(model)[field_name].kind == "name" or field_name == "city"
    text = text.strip()
    return is_name and text.isalpha() and text.istitle()


def is_clearable(model: type[RequestModel], field_name: str, text: str) -> bool:
    """Return True if a text can mean nothing but an empty cell: a name such as Null
    can, and so can an error value.
    """
    if not is_placeholder(model, field_name, text):
        return False
    word = _find_word(text)
    if word is None or word.stays == "always":
        return False
    return word.stays != "names" or fields_of(model)[field_name].kind != "name"


def _find_word(text: str) -> _Placeholder | None:
    """Return what is known of a placeholder; None for any other text."""
    word = _fold(text)
    if not word:
        return None
    known = _words().get(word)
    if known is not None or word[0].isalpha():
        return known
    if not word[-1].isalnum() and all(_says_nothing(letter) for letter in word):
        return _ANY_WORD
    return _words().get(word.strip(_BRACKETS))


def _fold(text: str) -> str:
    """Return a text in small letters, with the usual forms of letters, blanks and
    hyphens.
    """
    if text.isascii():
        return text.strip().lower()
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def _says_nothing(letter: str) -> bool:
    category = unicodedata.category(letter)
    return letter == " " or (
        (category[0] == "P" or category in _SIGNS) and letter != _BULLET
    )
