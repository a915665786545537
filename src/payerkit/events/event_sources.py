"""Deliveries of events from a file, a folder, or a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from payerkit.errors import InvalidInput, kind_of
from payerkit.events.event_lines import Delivery, read_delivery
from payerkit.wire import parse_json

EventSource = str | Path | Iterable[str | bytes | Mapping[str, Any]]
"""A file, a folder of files, or a list of lines, bodies or dicts."""

_SUFFIXES = {".jsonl", ".json"}
"""The files of a folder that have events."""


def read_deliveries(source: EventSource) -> Iterator[Delivery | None]:
    """Yield each delivery of a source; None for what is not one.

    Raises InvalidInput for anything but a source, and OSError for a file that cannot be read.
    """
    if isinstance(source, str | Path):
        yield from _read_path(Path(source))
        return
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise InvalidInput(f"source: expected a file, a folder or a list of events, got {kind_of(source)}.")
    for item in source:
        if not isinstance(item, str | bytes | Mapping):
            raise InvalidInput(f"source: expected a list of lines, bodies or dicts, got one of {kind_of(item)}.")
        yield _read_one(item)


def _read_path(path: Path) -> Iterator[Delivery | None]:
    if not path.is_dir():
        yield from _read_file(path)
        return
    for file in sorted(path.iterdir()):
        if file.suffix.lower() in _SUFFIXES and file.is_file():
            yield from _read_file(file)


def _read_file(file: Path) -> Iterator[Delivery | None]:
    """Yield the deliveries of a file: a line each, or the whole file is one of them, or a JSON array of them."""
    if file.suffix.lower() == ".json":
        content = file.read_bytes()
        try:
            parsed = parse_json(content)
        except ValueError:  # it has lines, whatever its name says
            parsed = None
        if isinstance(parsed, list):
            yield from (_read_one(item) if isinstance(item, Mapping) else None for item in parsed)
            return
        if parsed is not None:
            yield _read_one(content)
            return
    yield from read_lines(file)


def read_lines(file: Path) -> Iterator[Delivery | None]:
    """Yield the deliveries of a file with one in each line; None for what is not one."""
    with file.open("rb") as lines:
        for line in lines:
            is_half = not line.endswith(b"\n")
            delivery = _read_one(line) if line.strip() else None
            # A line without an end is being written, or its receiver was killed: nobody was told that it is stored.
            if line.strip() and not (is_half and delivery is None):
                yield delivery


def _read_one(item: str | bytes | Mapping[str, Any]) -> Delivery | None:
    """Return a delivery; None for what is not one. Lines lose their ends, bodies keep every byte."""
    try:
        content = item.encode() if isinstance(item, str) else item
        return read_delivery(content)
    except ValueError:
        return None
