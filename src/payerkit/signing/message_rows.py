"""A message to sign as rows for a person, who compares them with a signing device; it is never judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from payerkit.html import visible

_MOST_ROWS = 40
_MOST_CHARACTERS = 80
_MOST_DEPTH = 6

_LAST_EXACT = 2**53
"""Numbers up to here are exact, however the message was read; as floats in a text, larger ones are not."""

_PLAIN = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]{1,78}(\.[0-9]+)?")
"""What is shown of others' texts: addresses, bytes and numbers. Other texts may be about people."""

_NAMED = {"domain.name", "domain.version", "primaryType"}
"""Texts that say what kind of message it is."""


def message_rows(message: Any) -> tuple[tuple[str, str], ...]:
    """Return what a message says, by the paths of its members; without the types, which say how it is hashed."""
    if isinstance(message, Mapping):
        message = {name: item for name, item in message.items() if name != "types"}
    return tuple(islice(_rows("", message, 0), _MOST_ROWS))


def _rows(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth < _MOST_DEPTH:
        for name, item in value.items():
            yield from _rows(f"{path}.{name}".removeprefix("."), item, depth + 1)
    elif isinstance(value, list) and depth < _MOST_DEPTH:
        for place, item in enumerate(value):
            yield from _rows(f"{path}[{place}]", item, depth + 1)
    else:
        yield visible(path)[:_MOST_CHARACTERS] or "content", _text(path, value)


def _text(path: str, value: Any) -> str:
    """Return a value if it is an address, a number or the kind of the message; else only what it is."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return str(int(value)) if abs(value) <= _LAST_EXACT and value == int(value) else "a number, not shown"
    if not isinstance(value, str) or not (path in _NAMED or _PLAIN.fullmatch(value)):
        return "text, not shown" if isinstance(value, str) else "more, not shown"
    text = visible(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}... ({len(text)} characters)"
