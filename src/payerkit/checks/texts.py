"""Checkers of any text: what cannot be seen, and what was meant otherwise."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp", "Zs"}
"""Unicode categories that draw nothing, or a blank that is none."""

_USUAL = {" ", "\u3000"}
"""The blank, and the one that Japanese addresses have."""

_JOINED = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])").match
"""Finds what joins or parts two letters, as Persian and Sinhala names need it."""

_SPREADSHEET = re.compile("[0-9]([.,][0-9]+)?[eE][+]?[0-9]+|[0-9]+[.]0").fullmatch


def bare(value: str) -> str:
    """Return a number or code without the blanks and hyphens that people put in, in capitals."""
    return value.replace(" ", "").replace("-", "").upper()


def capitals(code: str | None) -> str:
    """Return a code in capitals, as it is compared; "" for none."""
    return (code or "").upper()


def only_blanks(value: str) -> bool:
    """Tell whether a text has blanks and nothing else."""
    return value.isspace()


def outer_blanks(value: str) -> bool:
    """Tell whether a text begins or ends with a blank that is sent with it."""
    return value != value.strip() and not value.isspace()


def invisible(value: str) -> bool:
    """Tell whether a text has characters that nobody sees, such as a zero-width blank from a web page."""
    if value.isprintable():
        return False
    return any(
        unicodedata.category(char) in _INVISIBLE and char not in _USUAL and not _JOINED(value, place)
        for place, char in enumerate(value)
    )


def spreadsheet_number(value: str) -> bool:
    """Tell whether a text is a number as spreadsheets and tables write it, which has lost digits or won a `.0`."""
    return _SPREADSHEET(value) is not None


def other_digits(value: str) -> bool:
    """Tell whether a text has digits of another script, which look right and are not read as digits."""
    return not value.isascii() and any(char.isdecimal() and not char.isascii() for char in value)
