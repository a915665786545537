"""Deliveries of events as lines of a file, each with its headers and raw body, so that it can be verified later."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Self

from payerkit.disk import lock_file, sync_file, sync_folder
from payerkit.errors import InvalidInput, kind_of
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
    """A delivery of an event.

    received_at: None if it is not known. headers: those of `HEADERS` that were there, by these names. body: the raw
    bytes. Only the body is signed, the headers are not.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    received_at: datetime | None = None

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
        """Whether it was sent on request, to try the receiver."""
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


_START = b'{"received_at"'
"""How each line begins, and so the file."""

_LOCK_SECONDS = 2.0
"""How long a line waits for those that other processes append."""

_BLOCK = 2**16


class EventsFile:
    """A file of lines, which several processes may append to at once, and any may be killed.

    It is opened for each line, so that it can be moved away meanwhile. Raises InvalidInput if it is another file, and
    OSError if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with suppress(FileNotFoundError), path.open("rb") as file:
            if not _START.startswith(file.read(len(_START))):  # nothing of another file may be cut off
                raise InvalidInput(f"to: {path.name} is not a file of events. Choose another file.")
        self.append(b"")

    def append(self, line: bytes) -> None:
        """Append a line and wait until it is on the disk; cut off what a killed process left half written.

        Raises OSError, and TimeoutError if other processes hold the file for too long: then nothing was appended.
        """
        is_new = not self.path.exists()
        with open(self.path, "r+b", buffering=0, opener=_open_for_owner) as file:  # closing it ends the lock, too
            lock_file(file.fileno(), _LOCK_SECONDS)
            end = _end_of_lines(file)
            try:
                file.truncate(end)
                file.seek(end)
                while line:
                    line = line[os.write(file.fileno(), line) :]
                sync_file(file.fileno())
            except OSError:  # the disk is full, say
                file.truncate(end)
                raise
        if is_new:
            sync_folder(self.path.parent)


def _open_for_owner(path: str, flags: int) -> int:
    """Open a file, and create it for its owner alone, since events have personal data."""
    return os.open(path, flags | os.O_CREAT, 0o600)


def _end_of_lines(file: FileIO) -> int:
    """Return where the last whole line ends; one that lacks only its line break gets it."""
    size = file.seek(0, os.SEEK_END)
    half = b""  # what follows the last line break: nothing, unless somebody was killed
    while b"\n" not in half and len(half) < size:
        start = max(0, size - len(half) - (_BLOCK if half else 1))
        file.seek(start)
        half = file.read(size - len(half) - start) + half
    half = half.rpartition(b"\n")[2]
    try:
        parse_json(half)
    except ValueError:
        return size - len(half)
    file.seek(size)
    return size + file.write(b"\n")


EventSource = str | Path | Iterable[str | bytes | Mapping[str, Any]]
"""A file, a folder of files, or a list of lines, bodies or dicts."""

_SUFFIXES = {".jsonl", ".json"}
"""The files of a folder that have events."""


def read_deliveries(source: EventSource) -> Iterator[Delivery | None]:
    """Yield each delivery of a source; None for what is not one.

    Raises InvalidInput for anything but a source, and OSError for a file that cannot be read.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.exists():
            advice = "`payerkit events` writes one; of a sandbox, client.sandbox.save_events()."
            raise FileNotFoundError(f"source: there is no file {path.name}. {advice}")
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file == path or (file.suffix.lower() in _SUFFIXES and file.is_file()):
                yield from _read_file(file)
        return
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise InvalidInput(f"source: expected a file, a folder or a list of events, got {kind_of(source)}.")
    for item in source:
        if not isinstance(item, str | bytes | Mapping):
            raise InvalidInput(f"source: expected a list of lines, bodies or dicts, got one of {kind_of(item)}.")
        yield _read_one(item)


def _read_file(file: Path) -> Iterator[Delivery | None]:
    """Yield the deliveries of a file: a line each, or the whole file is one of them, or a JSON array of them."""
    content: Any = None
    if file.suffix.lower() == ".json":
        with suppress(ValueError):  # else it has lines, whatever its name says
            content = parse_json(file.read_bytes())
    if isinstance(content, list):
        yield from (_read_one(item) if isinstance(item, Mapping) else None for item in content)
    elif content is not None:
        yield _read_one(file.read_bytes())
    else:
        yield from read_lines(file)


def read_lines(file: Path) -> Iterator[Delivery | None]:
    """Yield the deliveries of a file with one in each line; None for what is not one."""
    with file.open("rb") as lines:
        for line in lines:
            is_half = not line.endswith(b"\n")
            delivery = _read_one(line) if line.strip() else None
            # A line without an end is being written, or its receiver was killed: so its receipt was not confirmed.
            if line.strip() and not (is_half and delivery is None):
                yield delivery


def _read_one(item: str | bytes | Mapping[str, Any]) -> Delivery | None:
    """Return the delivery in a line, or in a body alone, which then has no headers; None for anything else.

    Lines lose their ends, bodies keep every byte.
    """
    try:
        content = item if isinstance(item, Mapping) else item.encode() if isinstance(item, str) else item
        parsed = content if isinstance(content, Mapping) else parse_json(content)
        if isinstance(parsed, Mapping) and "event" in parsed:
            return Delivery(json.dumps(parsed).encode() if isinstance(content, Mapping) else content)
        return Delivery.of_line(parsed) if isinstance(parsed, Mapping) else None
    except (TypeError, ValueError):  # TypeError: other types than JSON has, from Python
        return None
