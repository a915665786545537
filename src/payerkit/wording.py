"""Words for counts, lists and names, as messages and cards have them, and texts of
others made visible.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Collection, Iterable


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def attention(fields: Collection[object]) -> str:
    """Return the sentence that says how many fields are wrong."""
    if len(fields) == 1:
        return "1 field needs attention."
    return f"{len(fields)} fields need attention."


def in_words(name: str) -> str:
    """Return a name of the code or of the service as words, such as "not sent" for
    "not_sent".
    """
    return name.replace("_", " ")


def listed(words: Iterable[object], conjunction: str = "and") -> str:
    """Return words as people list them, such as "1, 2 and 3"; there must be one at
    least.
    """
    *first, last = [str(word) for word in words]
    if not first:
        return last
    return f"{', '.join(first)} {conjunction} {last}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that proposes the known name that is most like one, with a
    blank before it; "" if none is.
    """
    for close in difflib.get_close_matches(name, [*known], n=1):
        return f" Did you mean {close}?"
    return ""


_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of characters that are invisible or change the direction of the
text around them.
"""


def visible(text: str) -> str:
    """Return a text with its control, format and surrogate characters as Unicode
    escapes.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in _HIDDEN else char
        for char in text
    )


def visible_lines(text: str) -> str:
    """Return a text that may have lines of its own, each made visible."""
    return "\n".join(visible(line) for line in text.split("\n"))


def shown(text: str, most: int = 80) -> str:
    """Return a text of others, such that it cannot steer a terminal or fill a
    screen.
    """
    return visible(text)[:most]
