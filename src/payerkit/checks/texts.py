"""Rules about any text, such as invisible characters; and the normal form of numbers
and codes.
"""

from __future__ import annotations

import re
import unicodedata

from payerkit.checks.rules import TEXTS, rule
from payerkit.models.formats import NUMBER_KINDS

_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp", "Zs"}
"""Unicode categories of invisible characters, and of spaces other than the ordinary
one.
"""

_USUAL_SPACES = {" ", "\u3000"}
"""The ordinary space, and the ideographic one of Japanese addresses."""

_JOINER = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
"""A zero-width (non-)joiner between two non-ASCII letters: Persian and Sinhala
names need it.
"""


def compact(value: str) -> str:
    """Return a number or code in upper case, without spaces and hyphens."""
    return value.replace(" ", "").replace("-", "").upper()


_FOLDED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "\u0131": "i", "&": " and "}
    | dict.fromkeys(".'`\u2018\u2019", "")
)
"""Letters that Unicode does not take apart, and what people leave out inside a word."""

_SEPARATORS = "PZC"
"""Separators of words: the first letters of the Unicode categories."""


def fold(text: str) -> str:
    """Return a text as searches compare it: small letters without accents, words
    separated by one blank.
    """
    letters = text.casefold().translate(_FOLDED)
    kept = (
        letter
        for letter in unicodedata.normalize("NFKD", letters)
        if not unicodedata.combining(letter)
    )
    parted = (
        " " if unicodedata.category(letter)[0] in _SEPARATORS else letter
        for letter in kept
    )
    return " ".join("".join(parted).split())


def upper_code(code: str | None) -> str:
    """Return a code in upper case; "" for None."""
    return (code or "").upper()


_REFORMATTED = re.compile(
    "[0-9][.,][0-9]+[eE][+]?[0-9]+|[0-9][eE][+][0-9]+|[0-9]+[.]0"
    "|[1-9][0-9]{0,2}(,[0-9]{3})+"
)
"""What spreadsheets make of a number: 1.23E+08, 123.0 and 1,234. Ids such as 1E10 are
common.
"""

_CROSSED_OUT = re.compile("[ -]*[xX*#\u2022]{3}[xX*#\u2022 -]*[0-9]{2,6}")


@rule(
    "only_blanks",
    TEXTS,
    message="Contains only whitespace.",
    hint="Fill it in.",
    basis="plausibility",
)
def only_blanks(value: str) -> bool:
    """Return True if a text has nothing but whitespace."""
    return value.isspace()


@rule(
    "outer_blanks",
    TEXTS,
    severity="info",
    message="Begins or ends with whitespace.",
    hint="Remove it, unless it belongs there.",
    basis="plausibility",
)
def outer_blanks(value: str) -> bool:
    """Return True if a text has leading or trailing whitespace, which is sent with
    it.
    """
    return value != value.strip() and not value.isspace()


@rule(
    "invisible_characters",
    TEXTS,
    "email",
    message=(
        "Contains an invisible character or an unusual space, as copied from a web"
        " page."
    ),
    hint="Retype it.",
    basis="plausibility",
)
def invisible(value: str) -> bool:
    """Return True if a text has invisible characters, such as a zero-width space from a
    web page.
    """
    if value.isprintable():
        return False
    return any(
        unicodedata.category(char) in _INVISIBLE
        and char not in _USUAL_SPACES
        and not _JOINER.match(value, position)
        for position, char in enumerate(value)
    )


@rule(
    "spreadsheet_number",
    TEXTS,
    message=(
        "A number reformatted by a spreadsheet: digits or commas were lost or added."
    ),
    hint="Write all its digits.",
    basis="plausibility",
)
def spreadsheet_number(value: str) -> bool:
    """Return True if a text looks like a number that a spreadsheet has reformatted."""
    return _REFORMATTED.fullmatch(value) is not None


@rule(
    "other_digits",
    kinds=NUMBER_KINDS,
    message="Contains digits of another script.",
    hint="Retype them as 0 to 9.",
    basis="Unicode, general category Nd",
)
def other_digits(value: str) -> bool:
    """Return True if a text has digits of another script, which may look right but are
    not 0 to 9.
    """
    return not value.isascii() and any(
        char.isdecimal() and not char.isascii() for char in value
    )


@rule(
    "crossed_out",
    kinds={"digits", "number"},
    message="Only its last digits are there: the others are crossed out.",
    hint="Fill in the whole number.",
    basis="plausibility",
)
def crossed_out(value: str) -> bool:
    """Return True if only the last digits of a number are there, as on a statement."""
    return _CROSSED_OUT.fullmatch(value) is not None
