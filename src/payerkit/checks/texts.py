"""Checkers of any text: what cannot be seen, and what was meant otherwise."""

from __future__ import annotations

import unicodedata

_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp"}
"""Unicode categories that draw nothing."""


def bare(value: str) -> str:
    """Return a number or code without the blanks and hyphens that people put in, in capitals."""
    return value.replace(" ", "").replace("-", "").upper()


def only_blanks(value: str) -> bool:
    """Tell whether a text has blanks and nothing else."""
    return value.isspace()


def outer_blanks(value: str) -> bool:
    """Tell whether a text begins or ends with a blank that is sent with it."""
    return value != value.strip() and not value.isspace()


def invisible(value: str) -> bool:
    """Tell whether a text has characters that nobody sees, such as a zero-width blank from a web page."""
    return not value.isprintable() and any(unicodedata.category(char) in _INVISIBLE for char in value)


def other_digits(value: str) -> bool:
    """Tell whether a text has digits of another script, which look right and are not read as digits."""
    return not value.isascii() and any(char.isdigit() and not char.isascii() for char in value)
