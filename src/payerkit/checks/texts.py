"""Checkers of any text: whitespace, invisible characters, digits; and the normal form of numbers and codes."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp", "Zs"}
"""Unicode categories of invisible characters, and of spaces other than the ordinary one."""

_USUAL_SPACES = {" ", "\u3000"}
"""The ordinary space, and the ideographic one of Japanese addresses."""

_IS_JOINER = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])").match
"""Matches a zero-width (non-)joiner between two non-ASCII letters: Persian and Sinhala names need it."""


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
    """Return a text as searches compare it: small letters without accents, words separated by one blank."""
    letters = text.casefold().translate(_FOLDED)
    kept = (letter for letter in unicodedata.normalize("NFKD", letters) if not unicodedata.combining(letter))
    return " ".join("".join(" " if unicodedata.category(each)[0] in _SEPARATORS else each for each in kept).split())


def inner_separators(value: str) -> bool:
    """Return True if a code has blanks or hyphens inside, which are sent with it."""
    return "-" in value or " " in value.strip()


def upper_code(code: str | None) -> str:
    """Return a code in upper case; "" for None."""
    return (code or "").upper()


def outer_blanks(value: str) -> bool:
    """Return True if a text has leading or trailing whitespace, which is sent with it."""
    return value != value.strip() and not value.isspace()


def invisible(value: str) -> bool:
    """Return True if a text has invisible characters, such as a zero-width space from a web page."""
    if value.isprintable():
        return False
    return any(
        unicodedata.category(char) in _INVISIBLE and char not in _USUAL_SPACES and not _IS_JOINER(value, position)
        for position, char in enumerate(value)
    )


def other_digits(value: str) -> bool:
    """Return True if a text has digits of another script, which may look right but are not 0 to 9."""
    return not value.isascii() and any(char.isdecimal() and not char.isascii() for char in value)
