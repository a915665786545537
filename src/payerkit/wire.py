"""Names here and on the wire, ids that may stand in a path, hosts that are this machine."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from payerkit.errors import FieldProblem, InvalidInput


def our_name(name: str) -> str:
    """Return the name here of a member's name on the wire: `addressLine1` is `address_line1`, `IBAN` is `iban`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@lru_cache(1024)  # the members' names, again and again
def wire_name(name: str) -> str:
    """Return the name on the wire of a member's name here, or of another spelling of it: `iban`, `addressLine1`."""
    first, *rest = our_name(name).split("_")
    return first + "".join(word.capitalize() for word in rest)


def first(members: Mapping[str, Any], *spellings: str) -> Any:
    """Return the first value that is there under one of a member's spellings; None if there is none."""
    return next((members[name] for name in spellings if members.get(name) is not None), None)


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


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
