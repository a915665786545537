"""Where a value can be left: messages on a kernel's channels, files on the disk."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, WebSocket

Direction = Literal["sent", "received"]


def message_type(payload: bytes) -> str:
    """Return the type of the message in a frame of protocol v1."""
    numbers = memoryview(payload)[: len(payload) // 8 * 8].cast("Q")
    offsets = numbers[1 : 1 + numbers[0]].tolist()
    head = json.loads(payload[offsets[1] : offsets[2]])
    return str(head["msg_type"])


class Frames:
    """What went over the kernel channels of one page, in order."""

    def __init__(self, page: Page) -> None:
        self._seen: list[tuple[Direction, Any]] = []
        page.on("websocket", self._watch)

    def _watch(self, opened: WebSocket) -> None:
        if "/api/kernels/" in opened.url:
            opened.on("framesent", lambda payload: self._seen.append(("sent", payload)))
            opened.on(
                "framereceived",
                lambda payload: self._seen.append(("received", payload)),
            )

    def mark(self) -> int:
        """Return how many messages there were."""
        return len(self._seen)

    def leaks(self, text: str, since: int = 0) -> list[str]:
        """Return direction and type of each frame that holds a text, whatever part of
        the frame it is in.
        """
        found = []
        for direction, payload in self._seen[since:]:
            content = unpacked(payload)
            if any(spelling in content for spelling in spellings(text)):
                found.append(f"{direction} {message_type(payload)}")
        return found


def spellings(text: str) -> set[bytes]:
    """Return the bytes that a text can be in a file or a message."""
    escaped = json.dumps(text)[1:-1]
    return {
        text.encode(),
        escaped.encode(),
        text.encode("utf-16-le"),
        text.encode("utf-16-be"),
    }


def unpacked(content: bytes) -> bytes:
    """Return bytes, followed by what gzip packed in them, raw or as base64: widgets
    send and keep it so.
    """
    packed = [
        content[found.start() :] for found in re.finditer(rb"\x1f\x8b\x08", content)
    ]
    written = [found[0] for found in re.finditer(rb"H4sI[A-Za-z0-9+/]+", content)]
    packed += [b64decode(each[: len(each) // 4 * 4]) for each in written]
    parts = [content]
    for each in packed:
        with suppress(zlib.error):  # by chance the first bytes are the same
            parts.append(zlib.decompressobj(31).decompress(each))
    return b"\n".join(parts)


def find_text(folder: Path, needle: str) -> list[str]:
    """Return every file below a folder, hidden ones too, that holds a text."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with suppress(FileNotFoundError):  # a running server drops its journals
            held = (
                unpacked(file.read_bytes())
                if file.suffix == ".ipynb"
                else file.read_bytes()
            )
            found += [str(file.relative_to(folder))] * any(
                spelling in held for spelling in spellings(needle)
            )
    return found
