"""What stands on the wire: ids in paths, bodies that show nothing, JSON and error bodies read without failing."""

from __future__ import annotations

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self
from urllib.parse import quote

from pydantic_core import from_json

from payerkit.errors import FieldError, InvalidInput
from payerkit.masking import clean
from payerkit.names import our_name, wire_name

MAX_ID = 256
"""Characters of an id; the specification has no bound, a path has."""


def check_id(value: object, name: str) -> str:
    """Return an id that reaches the service exactly as typed.

    Raises InvalidInput for what cannot: no text, empty, longer than 256 characters, control characters, half a
    character, and `.` and `..`, which HTTP libraries and servers fold away even when they are encoded.
    """
    fault = _id_fault(value)
    if fault is None:
        return str(value)
    code, words = fault
    problem = FieldError(name, wire_name(name), words, code)
    raise InvalidInput(f"{name} cannot be used. Nothing was sent.", fields=(problem,))


def _id_fault(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return (
            "id_type",
            f"Must be text, not {type(value).__name__}. In a table, read this column with dtype=str.",
        )
    if not value:
        return "id_empty", "Empty, but required."
    if len(value) > MAX_ID:
        return "id_length", f"Longer than {MAX_ID} characters."
    if value in {".", ".."}:
        return "id_dots", f"{value!r} is folded away on the way to the service. Choose another id."
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in value):
        return "id_characters", "Holds a control character or half a character. Choose another id."
    return None


def fill(route: str, ids: Mapping[str, str]) -> str:
    """Return the path of a route such as `/v1/payer/{clientUserId}`, each id encoded whole."""
    return route.format_map({name: quote(value, safe="") for name, value in ids.items()})


class Sendable(Protocol):
    """An object that knows what it sends, and which of it is secret."""

    def to_dict(self, *, reveal: bool) -> dict[str, Any]:
        """Return the members by their wire names."""

    def secret_values(self) -> tuple[str, ...]:
        """Return the true values of the secrets."""


class Body:
    """A request's body. It shows its length only, and knows which secrets must not turn up in a message."""

    __slots__ = ("content", "secrets")

    def __init__(self, members: Mapping[str, Any], secrets: Iterable[str] = ()) -> None:
        self.content = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
        self.secrets = tuple(secrets)

    @classmethod
    def of(cls, sent: Sendable) -> Self:
        """Return the body that sends an object."""
        return cls(sent.to_dict(reveal=True), sent.secret_values())

    def __repr__(self) -> str:
        return f"<body of {len(self.content)} bytes>"

    def fingerprint(self, key: bytes) -> str:
        """Return twelve hex digits that tell bodies apart and cannot be turned back without the key."""
        return hmac.new(key, self.content, hashlib.sha256).hexdigest()[:12]


def read_json(content: bytes) -> Any:
    """Return what a JSON answer holds. Raises ValueError for anything else, also for nesting without end."""
    return from_json(content.removeprefix(b"\xef\xbb\xbf"))


@dataclass(frozen=True, slots=True)
class Complaint:
    """What an error body says: a message, and the members it names."""

    message: str
    fields: tuple[FieldError, ...]


def read_complaint(content: bytes, secrets: Iterable[str]) -> Complaint:
    """Return what could be read of an error body, whatever it is, free of the given secrets.

    Read are the published shapes: `message` as text, list of texts, list of objects or one object, and `errors`
    beside it. HTML, an empty body and a cut one say nothing.
    """
    try:
        body = read_json(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return Complaint("", ())
    told = _listed(body.get("message"))
    named = [item for item in [*told, *_listed(body.get("errors"))] if _member(item)]
    message = "; ".join(filter(None, (_text(item) for item in told if not _member(item))))
    return Complaint(
        clean(message or _text(body.get("error")), secrets),
        tuple(_field_error(item, secrets) for item in named),
    )


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _text(item: Any) -> str:
    if isinstance(item, dict):
        item = item.get("message")
    return item if isinstance(item, str) else ""


def _member(item: Any) -> str:
    """Return the wire name of the member that an entry is about, "" if it names none."""
    if not isinstance(item, dict):
        return ""
    source = item.get("source")
    pointer = source.get("pointer") if isinstance(source, dict) else None
    name = item.get("field") or pointer
    return name.rpartition("/")[2] if isinstance(name, str) else ""


def _field_error(item: dict[str, Any], secrets: Iterable[str]) -> FieldError:
    name = clean(_member(item), secrets)
    return FieldError(
        our_name(name),
        name,
        clean(_text(item), secrets),
        clean(str(item.get("code") or ""), secrets),
    )
