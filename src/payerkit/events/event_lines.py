"""A delivery of an event as one line of a file: JSON with its headers and its raw body, so that it can be verified."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from payerkit.wire import parse_json, read_time

SIGNATURE = "x-request-network-signature"
DELIVERY = "x-request-network-delivery"
RETRY_COUNT = "x-request-network-retry-count"
TEST = "x-request-network-test"

HEADERS = (SIGNATURE, DELIVERY, RETRY_COUNT, TEST)
"""The headers that a line keeps; others may have secrets of a proxy."""

_MAX_HEADER = 256
"""Characters of a header that are kept."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What arrived. received_at: None if it is not known. headers: those of `HEADERS` that were there, by these names.

    body: the raw bytes. Only the body is signed, the headers are not.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    received_at: datetime | None = None

    @property
    def signature(self) -> str | None:
        """The signature of the body."""
        return self.headers.get(SIGNATURE)

    @property
    def delivery_id(self) -> str | None:
        """The id of the delivery, the same each time that it is tried."""
        return self.headers.get(DELIVERY) or None

    @property
    def retry_count(self) -> int | None:
        """How often it was tried before."""
        count = self.headers.get(RETRY_COUNT, "")
        return int(count) if count.isascii() and count.isdecimal() and len(count) < 10 else None

    @property
    def is_test(self) -> bool:
        """Whether somebody asked the service for it, to try the receiver."""
        return self.headers.get(TEST, "").lower() == "true"

    def to_line(self) -> bytes:
        """Return the delivery as a line, with its end."""
        time = (self.received_at or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        try:
            body = {"body": self.body.decode()}
        except UnicodeDecodeError:
            body = {"body_base64": b64encode(self.body).decode()}
        return json.dumps({"received_at": time, "headers": dict(self.headers), **body}).encode() + b"\n"

    @classmethod
    def of_line(cls, content: Mapping[str, Any]) -> Self:
        """Return the delivery in a parsed line. Raises ValueError for anything else."""
        if isinstance(text := content.get("body"), str):
            body = text.encode()  # raises UnicodeEncodeError, a ValueError, for what no receiver wrote
        elif isinstance(text := content.get("body_base64"), str):
            body = b64decode(text, validate=True)
        else:
            raise ValueError("expected a body")  # noqa: TRY004 - a bad value
        return cls(body, kept_headers(content.get("headers")), read_time(content.get("received_at"), milliseconds=True))


def kept_headers(headers: Any) -> dict[str, str]:
    """Return the headers that a line keeps, by their names in lower case."""
    given = headers.items() if isinstance(headers, Mapping) else ()
    lower = {name.lower(): value for name, value in given if isinstance(name, str) and isinstance(value, str)}
    return {name: lower[name][:_MAX_HEADER] for name in HEADERS if name in lower}


def _is_line(content: object) -> bool:
    """Return True if parsed JSON is a delivery, and not the body of one."""
    return isinstance(content, Mapping) and "event" not in content and bool({"body", "body_base64"} & content.keys())


def read_delivery(content: bytes | Mapping[str, Any]) -> Delivery:
    """Return the delivery in a line, or in a body alone, which then has no headers.

    Raises ValueError if it is neither: no JSON object, or one without an event.
    """
    parsed = parse_json(content) if isinstance(content, bytes) else content
    if _is_line(parsed):
        return Delivery.of_line(parsed)
    if not isinstance(parsed, Mapping) or "event" not in parsed:
        raise ValueError("expected an event")
    try:
        return Delivery(content if isinstance(content, bytes) else json.dumps(parsed).encode())
    except TypeError:  # from Python: other types than JSON has
        raise ValueError("expected JSON") from None
