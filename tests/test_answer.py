"""Answers as they come over a connection: however they are cut into pieces, and whatever is wrong with them."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
from http.client import HTTPException
from itertools import pairwise
from typing import Self

import pytest
from httptools import HttpParserError
from hypothesis import given
from hypothesis import strategies as st
from urllib3.exceptions import HTTPError

from far_end import message
from payerkit.client.answer import Answer, AnswerTooLarge

BODY = b'{"status": {"kycStatus": "not_started"}, "userId": "example"}'
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n5\r\n%s\r\n%x;note=1\r\n%s\r\n0\r\nTrailer: 1\r\n\r\n"
WHOLE = {
    "with a length": message(200, BODY),
    "in chunks": HEAD + CHUNKS % (BODY[:5], len(BODY) - 5, BODY[5:]),
    "after another one": b"HTTP/1.1 100 Continue\r\nLength: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"
    + message(200, BODY),
    "packed": message(200, gzip.compress(BODY), {"Content-Encoding": "gzip"}),
    "that ends with the connection": HEAD + b"\r\n" + BODY,
    "of the first version": b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    "with odd headers": HEAD + b"X: \xff\r\nX:\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY,
    "with bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(BODY) + BODY,
    "with blanks after the length of a chunk": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n%x \r\n" % len(BODY)
    + BODY
    + b"\r\n0\r\n\r\n",
    "with late headers": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY)
    + BODY
    + b"\r\n0\r\nContent-Encoding: gzip\r\n\r\n",
}


def read(pieces: list[bytes], most: int = 10_000) -> tuple[Answer, bytes]:
    """Return the answer that comes in these pieces, and what it holds; then the connection ends."""
    here, there = socket.socketpair()
    answer = Answer(most)

    def send() -> None:
        with there, contextlib.suppress(OSError):  # of an answer that is not read to its end
            for piece in pieces:
                there.sendall(piece)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with here:
            return answer, answer.read(here)
    finally:
        sender.join()


@pytest.mark.parametrize("whole", WHOLE.values(), ids=WHOLE)
def test_an_answer_is_the_same_byte_by_byte(whole: bytes) -> None:
    """One byte after the other gives what all at once gives."""

    class Slow(socket.socket):
        """Hands out one byte at a time."""

        def recv(self, _size: int, flags: int = 0) -> bytes:
            return super().recv(1, flags)

    here, there = socket.socketpair()
    with there, Slow(fileno=here.detach()) as slow:
        there.sendall(whole)
        there.shutdown(socket.SHUT_WR)
        answer = Answer(10_000)
        content = answer.read(slow)

    assert (200, BODY, BODY) == (answer.status, content, read([whole])[1])


@pytest.mark.parametrize("name", WHOLE)
def test_a_connection_is_kept_where_the_answer_has_an_end(name: str) -> None:
    """What ends with the connection, or is of HTTP/1.0, is the connection's last."""
    is_last = name in {"that ends with the connection", "of the first version"}
    assert read([WHOLE[name]])[0].keeps is not is_last


@pytest.mark.parametrize("more", [b"HTTP/1.1 200 OK\r\n", message(200, BODY), b"odd", b"\x00"])
def test_a_connection_with_more_than_the_answer_is_not_kept(more: bytes) -> None:
    """Bytes that nobody asked for show that the connection is out of step; the answer is what it is."""
    answer, content = read([message(200, BODY) + more])

    assert (BODY, False) == (content, answer.keeps)


@pytest.mark.parametrize("name", list(WHOLE)[:4])
def test_no_cut_answer_is_taken_for_whole(name: str) -> None:
    """Wherever an answer with an end is cut, reading fails."""
    whole = WHOLE[name]
    for end in range(len(whole)):
        with pytest.raises((HTTPException, OSError)):
            read([whole[:end]])


@pytest.mark.parametrize(
    "answer",
    [
        message(200, b" " * 10_001),
        HEAD + b"\r\n" + b" " * 10_001,
        message(200, gzip.compress(b" " * 10_001), {"Content-Encoding": "gzip"}),
        HEAD + b"X: 1\r\n" * 100_000,
        HEAD + b"X: " + b"1" * 500_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: 1\r\n" * 100_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"1" * 500_000,
    ],
    ids=["a length", "no length", "packed", "headers", "a header", "late headers", "a late header"],
)
def test_nothing_is_read_without_end(answer: bytes) -> None:
    """There is a bound for headers, for content, and for what it unpacks to."""
    with pytest.raises(AnswerTooLarge):
        read([answer])


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("moment", ["headers", "_content"])
@pytest.mark.parametrize("handled", [False, True])
def test_an_interrupt_among_the_parsers_calls_is_one(
    interrupt: type[BaseException], moment: str, handled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What interrupts the reading is raised as itself, also where the caller is just handling an error."""

    class Interrupting(bytearray):
        """Interrupts whoever adds to it."""

        def __iadd__(self, _: object) -> Self:
            raise interrupt

        def setdefault(self, _name: str, _value: str) -> str:
            """Interrupt."""
            raise interrupt

    made = Answer.__init__

    def make(answer: Answer, most: int) -> None:
        made(answer, most)
        setattr(answer, moment, Interrupting())

    monkeypatch.setattr(Answer, "__init__", make)
    if not handled:
        assert interrupt is whatever_reading_raises()
        return
    try:
        int("no number")
    except ValueError:
        assert interrupt is whatever_reading_raises()


def whatever_reading_raises() -> type[BaseException]:
    """Return the kind of what reading an answer raises."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - an interrupt, above all
        read([WHOLE["with a length"]])
    return caught.type


@given(st.data())
def test_broken_bytes_fail_as_told(data: st.DataObject) -> None:
    """Bytes changed, cut out and put in: an answer, or one of the errors that are told of, and never a hang."""
    whole = data.draw(st.sampled_from(list(WHOLE.values())))
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    parts = [whole[one:two] for one, two in pairwise([0, *places, len(whole)])]
    noise = st.one_of(st.binary(max_size=6), st.sampled_from([b"\r\n", b"\r\n\r\n", b"0", b":", b"ffffffffffffffffff"]))
    changed = b"".join(part + data.draw(noise) for part in parts)
    try:
        answer, content = read([changed])
    except (AnswerTooLarge, OSError, HTTPException, HttpParserError, HTTPError):
        return

    assert answer.status is not None
    assert len(content) <= 10_000
