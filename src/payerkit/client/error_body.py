"""Parse JSON and error bodies; what cannot be read of an error body is left out, and never raises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from payerkit.errors import FieldProblem
from payerkit.masking import redact
from payerkit.retry import WAITING_CODES
from payerkit.wire import our_name, parse_json

_MAX_ENTRIES = 50
"""Entries of an error list that are read: more than a body has fields."""

_CODE = re.compile(r"(?=.{3,64}\Z)[a-z][a-z0-9]*(_[a-z0-9]+)+")
"""A machine-readable code: one word in snake_case. A word without an underscore may be part of a sentence."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error body: its message, its code, the fields it names. is_from_api: False for a proxy's page, say."""

    message: str
    fields: tuple[FieldProblem, ...]
    code: str = ""
    is_from_api: bool = True


def read_error_body(content: bytes, private: Iterable[str]) -> ErrorBody:
    """Return what an error body says, with private values redacted.

    Read are the published shapes: `message` as text, list of texts, list of objects or one object, and `errors` beside
    it. HTML, an empty body and a truncated one have no message.
    """
    try:
        body = parse_json(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return ErrorBody("", (), is_from_api=False)
    entries = [*_as_list(body.get("message")), *_as_list(body.get("errors"))]
    fields = tuple(_field_problem(entry, private) for entry in entries if _field_name(entry))
    repeated = {problem.message for problem in fields}
    repeated.add("; ".join(f"{problem.wire_name} {problem.message}" for problem in fields))
    texts = dict.fromkeys(redact(_text(entry), private) for entry in entries if not _field_name(entry))
    message = "; ".join(text for text in texts if text and text not in repeated)
    message = message or ("" if fields else redact(_text(body.get("error")), private))
    return ErrorBody(message, fields, _find_code(body, private))


def _find_code(body: dict[str, Any], private: Iterable[str]) -> str:
    """Return the first code in an error body that repeats no private value, or ""."""
    codes = (text for text in _code_places(body) if isinstance(text, str) and _CODE.fullmatch(text))
    return next((code for code in codes if code in WAITING_CODES or not _repeats(code, private)), "")


def _code_places(body: dict[str, Any]) -> Iterator[Any]:
    """Yield the values of an error body that may be its code."""
    yield from (body.get(name) for name in ("code", "errorCode", "error", "message"))
    yield from (entry.get("code") for entry in _as_list(body.get("errors")) if isinstance(entry, dict))


def _repeats(code: str, private: Iterable[str]) -> bool:
    """Return True if a code contains a private value, as a part between underscores or in another form."""
    parts = code.split("_")
    return redact(code, private) != code or any(value.casefold() in parts for value in private)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value[:_MAX_ENTRIES] if isinstance(value, list) else [value]


def _text(entry: Any) -> str:
    if isinstance(entry, dict):
        entry = entry.get("message")
    return entry if isinstance(entry, str) else ""


def _field_name(entry: Any) -> str:
    """Return the name on the wire of the field that an entry is about, "" if it names none."""
    if not isinstance(entry, dict):
        return ""
    source = entry.get("source")
    pointer = source.get("pointer") if isinstance(source, dict) else None
    name = entry.get("field") or pointer
    return name.rpartition("/")[2] if isinstance(name, str) else ""


def _field_problem(entry: dict[str, Any], private: Iterable[str]) -> FieldProblem:
    texts = (_field_name(entry), _text(entry), str(entry.get("code") or ""))
    name, message, code = (redact(text, private) for text in texts)
    return FieldProblem(our_name(name), name, message, code)
