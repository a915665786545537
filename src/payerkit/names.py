"""Names here and names on the wire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


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
