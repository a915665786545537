"""Ids that reach the service exactly as typed, or are refused here."""

from __future__ import annotations

import unicodedata

from payerkit.errors import FieldProblem, InvalidInput
from payerkit.names import wire_name

MAX_ID = 256
"""Characters of an id; the specification has no bound, a path has."""


def check_id(value: object, name: str) -> str:
    """Return an id that reaches the service exactly as typed.

    Raises InvalidInput for what cannot: no text, empty, longer than 256 characters, control characters, half a
    character, and `.` and `..`, which HTTP libraries and servers fold away even when they are encoded.
    """
    fault = id_fault(value)
    if fault is None:
        return str(value)
    code, words = fault
    problem = FieldProblem(name, wire_name(name), words, code)
    raise InvalidInput(f"{name} cannot be used. Nothing was sent.", fields=(problem,))


def id_fault(value: object) -> tuple[str, str] | None:
    """Return why an id cannot be sent, as a code and in words; None if it can."""
    if hasattr(value, "client_user_id"):
        return "id_type", f"Give the id itself, as in {type(value).__name__.lower()}.client_user_id."
    if not isinstance(value, str):
        return "id_type", f"Must be text, not {type(value).__name__}. In a table, read this column with dtype=str."
    if not value:
        return "id_empty", "Empty, but required."
    if len(value) > MAX_ID:
        return "id_length", f"Longer than {MAX_ID} characters."
    if value in {".", ".."}:
        return "id_dots", f"{value!r} is folded away on the way to the service. Choose another id."
    if not value.isprintable() and any(unicodedata.category(char) in {"Cc", "Cs"} for char in value):
        return "id_characters", "Holds a control character or half a character. Choose another id."
    return None
