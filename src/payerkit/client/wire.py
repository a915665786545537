"""What stands on the wire: ids in paths, bodies that show nothing, JSON and error bodies read without failing."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self
from urllib.parse import quote

from pydantic_core import PydanticSerializationError, from_json, to_json

from payerkit.errors import FieldProblem, InvalidInput
from payerkit.masking import clean
from payerkit.wire import our_name


def fill(route: str, ids: Mapping[str, str]) -> str:
    """Return the path of a route such as `/v1/payer/{clientUserId}`, each id encoded whole."""
    return route.format_map({name: quote(value, safe="") for name, value in ids.items()})


class Sendable(Protocol):
    """An object that knows what it sends, and which of it is private."""

    def to_dict(self, *, reveal: bool) -> dict[str, Any]:
        """Return the members by their wire names."""

    def private_values(self) -> tuple[str, ...]:
        """Return the true values of what is not shown."""


class RequestBody:
    """A request's body. It shows its length only, and knows which values must not turn up in a message.

    Raises InvalidInput for text that cannot be sent.
    """

    __slots__ = ("_private", "content")

    def __init__(self, members: Mapping[str, Any], private: Callable[[], Iterable[str]] = tuple) -> None:
        try:
            self.content = to_json(members)
        except PydanticSerializationError:
            raise InvalidInput(
                "A text holds half a character, or a value is none of JSON's. Nothing was sent."
            ) from None
        self._private = private

    @classmethod
    def of(cls, sent: Sendable) -> Self:
        """Return the body that sends an object."""
        return cls(sent.to_dict(reveal=True), sent.private_values)

    @property
    def private(self) -> tuple[str, ...]:
        """The values that must not turn up in a message; found out when there is a message."""
        return tuple(self._private())

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
    """What an error body says: a message, and the members it names. is_any: whether it is one of the API's at all."""

    message: str
    fields: tuple[FieldProblem, ...]
    is_any: bool = True


def read_complaint(content: bytes, private: Iterable[str]) -> Complaint:
    """Return what could be read of an error body, whatever it is, free of what was private.

    Read are the published shapes: `message` as text, list of texts, list of objects or one object, and `errors`
    beside it; of each, as many entries as a person reads. HTML, an empty body and a cut one say nothing.
    """
    try:
        body = read_json(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return Complaint("", (), is_any=False)
    entries = [*_listed(body.get("message")), *_listed(body.get("errors"))]
    fields = tuple(_field_problem(item, private) for item in entries if _member(item))
    told = {problem.message for problem in fields}
    told.add("; ".join(f"{problem.wire_name} {problem.message}" for problem in fields))
    texts = dict.fromkeys(clean(_text(item), private) for item in entries if not _member(item))
    message = "; ".join(text for text in texts if text and text not in told)
    return Complaint(message or ("" if fields else clean(_text(body.get("error")), private)), fields)


_ENTRIES = 50
"""Entries of a list of complaints that are read: more than a body has members."""


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value[:_ENTRIES] if isinstance(value, list) else [value]


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


def _field_problem(item: dict[str, Any], private: Iterable[str]) -> FieldProblem:
    name, words, code = (clean(text, private) for text in (_member(item), _text(item), str(item.get("code") or "")))
    return FieldProblem(our_name(name), name, words, code)
