"""An answer as it comes over a connection: how it is framed, and whether it is whole."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import wraps
from http.client import IncompleteRead, RemoteDisconnected
from io import BytesIO
from typing import Concatenate, ParamSpec

from httptools import HttpParserCallbackError, HttpParserError, HttpResponseParser
from urllib3 import HTTPResponse

P = ParamSpec("P")

_CHUNK = 2**16
_MAX_HEAD = 2**18


class AnswerTooLarge(Exception):  # noqa: N818 - never leaves the client
    """An answer is larger than is read."""


def _called(function: Callable[Concatenate[Answer, P], None]) -> Callable[Concatenate[Answer, P], None]:
    """Make a function one that the parser calls. An interrupt is kept: the parser raises another error for it."""

    @wraps(function)
    def call(answer: Answer, /, *arguments: P.args, **options: P.kwargs) -> None:
        try:
            function(answer, *arguments, **options)
        except BaseException as error:
            answer.stopped = error
            raise

    return call


class Answer:
    """One answer. httptools reads it, urllib3 unpacks it.

    status: None until all headers came. headers: by names in lower case; of several with one name, the first. keeps:
    whether its connection may serve another call. stopped: what interrupted the reading.
    """

    def __init__(self, most: int) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.keeps = False
        self.stopped: BaseException | None = None
        self._most = most
        self._content = bytearray()
        self._is_whole = False
        self._parser = HttpResponseParser(self)
        # Some gateways write so. Dangerous it is where several parties share a connection, and nobody shares this one.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)

    def read(self, sock: socket.socket) -> bytes:
        """Return what the answer holds, unpacked.

        Raises AnswerTooLarge for more than `most` bytes, OSError, HTTPException or HttpParserError for what breaks off
        or is no answer of HTTP/1, and HTTPError of urllib3 for what cannot be unpacked.
        """
        received = 0
        while not self._is_whole:
            data = sock.recv(_CHUNK)
            if not data:
                self._end()
                break
            self._feed(data)
            received += len(data)
            if len(self._content) > self._most:
                raise AnswerTooLarge(f"more than {self._most} bytes")
            if received - len(self._content) > _MAX_HEAD + self._most * (self.status is not None):  # chunks have heads
                raise AnswerTooLarge(f"more than {_MAX_HEAD} bytes that say nothing")
        packing = self.headers.get("content-encoding")
        return bytes(self._content) if packing is None else self._unpacked(packing)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserCallbackError:
            raise (self.stopped or KeyboardInterrupt()) from None
        except HttpParserError:
            if not self._is_whole:
                raise
            self.keeps = False  # what follows the answer is nobody's

    def _end(self) -> None:
        """Tell an answer that ends with its connection from one that broke off."""
        if self.status is None:
            raise RemoteDisconnected("the connection was closed without an answer")
        if "content-length" in self.headers or "chunked" in self.headers.get("transfer-encoding", "").lower():
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

    @_called
    def on_message_begin(self) -> None:
        """Note whether anything follows the answer."""
        self.keeps = False

    @_called
    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header, unless it comes after the content."""
        if self.status is None:
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    @_called
    def on_headers_complete(self) -> None:
        """Note the status, unless it only says that the answer is yet to come."""
        if self._is_whole:
            return
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
        else:
            self.headers.clear()

    @_called
    def on_body(self, part: bytes) -> None:
        """Note a part of the content."""
        if not self._is_whole:
            self._content += part

    @_called
    def on_message_complete(self) -> None:
        """Note that the answer is whole."""
        if self.status is not None and not self._is_whole:
            self._is_whole = True
            self.keeps = self._parser.should_keep_alive()
