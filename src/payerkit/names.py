"""Names here and names on the wire."""

from __future__ import annotations

import re


def our_name(wire_name: str) -> str:
    """Return the name here of a member's name on the wire: `addressLine1` is `address_line1`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", wire_name).lower()


def wire_name(our_name: str) -> str:
    """Return the name on the wire of a member's name here: `address_line1` is `addressLine1`."""
    first, *rest = our_name.split("_")
    return first + "".join(word.capitalize() for word in rest)
