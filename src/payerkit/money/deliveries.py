"""Deliveries of events as a receiver stores them: a line of JSON each, with the headers
and the raw body, so that it can be verified later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from payerkit.errors import InvalidInput, kind_of
from payerkit.wire import parse_json, read_time

SIGNATURE = "x-request-network-signature"
DELIVERY = "x-request-network-delivery"
_TEST = "x-request-network-test"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery of an event.

    body: the raw bytes, which alone are signed. id: the same each time that it is
    tried. is_test: whether it was sent on request, to try the receiver. received_at:
    None if it is not known.
    """

    body: bytes = field(repr=False)
    signature: str | None = None
    id: str | None = None
    is_test: bool = False
    received_at: datetime | None = None

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> Self:
        """Return the delivery in a parsed line. Raises ValueError for anything else."""
        body = line.get("body")
        if not isinstance(body, str):
            raise ValueError("expected a body")  # noqa: TRY004 - a bad value
        headers = line.get("headers")
        if not isinstance(headers, Mapping):
            headers = {}
        known = {
            name.lower(): value
            for name, value in headers.items()
            if isinstance(name, str) and isinstance(value, str)
        }
        return cls(
            body.encode(),  # raises a ValueError for what no receiver wrote
            signature=known.get(SIGNATURE),
            id=known.get(DELIVERY) or None,
            is_test=known.get(_TEST, "").lower() == "true",
            received_at=read_time(line.get("received_at"), milliseconds=True),
        )


EventSource = str | Path | Iterable[str | bytes | Mapping[str, Any]]
"""A file, a folder of files, or a list of lines, bodies or dicts."""


def read_deliveries(source: EventSource) -> Iterator[Delivery | None]:
    """Yield each delivery of a source; None for what is not one.

    Raises InvalidInput for anything but a source, and OSError for a file that cannot be
    read.
    """
    if isinstance(source, str | Path):
        source = _lines_of(Path(source))
    elif isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise InvalidInput(
            "source: expected a file, a folder or a list of events, got"
            f" {kind_of(source)}."
        )
    for item in source:
        if not isinstance(item, str | bytes | Mapping):
            raise InvalidInput(
                "source: expected a list of lines, bodies or dicts, got one of"
                f" {kind_of(item)}."
            )
        yield _read_one(item)


def _lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, or of all files of a folder that end in .jsonl."""
    if not path.exists():
        raise FileNotFoundError(
            f"source: there is no file {path.name}. Your receiver writes one; of a"
            " sandbox, client.sandbox.events() gives them."
        )
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as lines:
            for line in lines:
                if line.strip():
                    yield line


def _read_one(item: str | bytes | Mapping[str, Any]) -> Delivery | None:
    """Return the delivery in a line, or in a body alone, which then has no headers;
    None for anything else.
    """
    try:
        content = item.encode() if isinstance(item, str) else item
        parsed = content if isinstance(content, Mapping) else parse_json(content)
        if not isinstance(parsed, Mapping):
            return None
        if "event" not in parsed:
            return Delivery.of_line(parsed)
        if isinstance(content, Mapping):
            content = json.dumps(parsed).encode()
        return Delivery(content)
    except (TypeError, ValueError):  # TypeError: other types than JSON has, from Python
        return None
