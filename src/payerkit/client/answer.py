"""An answer as it comes over a connection: how it is framed, and whether it is whole."""

from __future__ import annotations

import socket
from http.client import IncompleteRead, RemoteDisconnected
from io import BytesIO

from httptools import HttpParserError, HttpResponseParser
from urllib3 import HTTPResponse

_CHUNK = 2**16
_MAX_HEAD = 2**18
_FRAMES = ("content-length", "transfer-encoding")


class AnswerTooLarge(Exception):  # noqa: N818 - never leaves the client
    """An answer is larger than is read."""


class Answer:
    """One answer. httptools reads it, urllib3 unpacks it.

    status: None until all headers came. headers: by names in lower case; of several with one name, the first. keeps:
    whether its connection may serve another call.
    """

    def __init__(self, most: int) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.keeps = False
        self._most = most
        self._content = bytearray()
        self._is_whole = False
        self._parser = HttpResponseParser(self)

    def read(self, sock: socket.socket) -> bytes:
        """Return what the answer holds, unpacked.

        Raises AnswerTooLarge for more than `most` bytes, OSError, HTTPException or HttpParserError for what breaks off
        or is no answer of HTTP/1, and HTTPError of urllib3 for what cannot be unpacked.
        """
        head = 0
        while not self._is_whole:
            data = sock.recv(_CHUNK)
            if not data:
                self._end()
                break
            self._feed(data)
            head += len(data) * (self.status is None)
            if head > _MAX_HEAD or len(self._content) > self._most:
                raise AnswerTooLarge(f"more than {self._most if self.status else _MAX_HEAD} bytes")
        packing = self.headers.get("content-encoding")
        return bytes(self._content) if packing is None else self._unpacked(packing)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserError:
            if not self._is_whole:
                raise
            self.keeps = False  # what follows the answer is nobody's

    def _end(self) -> None:
        """Tell an answer that ends with its connection from one that broke off."""
        if self.status is None:
            raise RemoteDisconnected("the connection was closed without an answer")
        if any(name in self.headers for name in _FRAMES):
            raise IncompleteRead(b"")

    def _unpacked(self, packing: str) -> bytes:
        packed = HTTPResponse(BytesIO(self._content), {"Content-Encoding": packing}, preload_content=False)
        unpacked = bytearray()
        for chunk in packed.stream(_CHUNK, decode_content=True):
            unpacked += chunk
            if len(unpacked) > self._most:
                raise AnswerTooLarge(f"more than {self._most} bytes")
        return bytes(unpacked)

    # What the parser calls:

    def on_message_begin(self) -> None:
        """Note whether anything follows the answer."""
        self.keeps = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header."""
        if not self._is_whole:
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        """Note the status, unless it only says that the answer is yet to come."""
        status = self._parser.get_status_code()
        if self._is_whole:
            return
        if status >= 200:
            self.status = status
        else:
            self.headers.clear()

    def on_body(self, part: bytes) -> None:
        """Note a part of the content."""
        if not self._is_whole:
            self._content += part

    def on_message_complete(self) -> None:
        """Note that the answer is whole."""
        if self.status is not None and not self._is_whole:
            self._is_whole = True
            self.keeps = self._parser.should_keep_alive()
