"""Values as the cells of a table have them: blank, or inside a masking type."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any


def is_blank(value: Any) -> bool:
    """Return True if a value is an empty cell of a table: None, NaN, NA or NaT."""
    if value is None or isinstance(value, str):
        return value is None
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, Real):
        return bool(value != value)  # noqa: PLR0124 - only NaN differs from itself; math.isnan overflows for large integers
    name = type(value).__name__
    if name == "datetime64":
        return str(value) == "NaT"
    return name in {"NAType", "NaTType"}


def unwrap_secret(value: Any) -> Any:
    """Return a value without its masking type; None for an empty cell of a table."""
    if isinstance(value, str):
        return value  # the usual case, asked for every value several times
    reveal = getattr(value, "get_secret_value", None)
    if callable(reveal):
        value = reveal()
    if is_blank(value):
        return None
    return value
