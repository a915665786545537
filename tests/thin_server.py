"""A server that answers every call after a fixed time and does nothing else, so that
only the client is measured.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection


class _Answer(asyncio.Protocol):
    """Answers each request of a connection with the same bytes, as late as it is
    told.
    """

    def __init__(self, content: bytes, latency: float) -> None:
        self._content, self._latency = content, latency
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note where to answer."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # of a stream

    def data_received(self, data: bytes) -> None:
        """Answer when a request is whole."""
        self._read += data
        head, end, body = self._read.partition(b"\r\n\r\n")
        if end and len(body) >= _length(head):
            self._read = b""
            asyncio.get_running_loop().call_later(
                self._latency, self._transport.write, self._content
            )


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length:")
    return int(rest.split(b"\r\n")[0]) if found else 0


def _serve(pipe: Connection, body: bytes, latency: float) -> None:
    async def run() -> None:
        content = (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:"
            b" %d\r\n\r\n%s"
            % (
                len(body),
                body,
            )
        )
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: _Answer(content, latency), "127.0.0.1", 0, backlog=1024
        )
        pipe.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await loop.run_in_executor(None, pipe.recv)

    asyncio.run(run())


@contextmanager
def thin_server(body: str, latency: float) -> Iterator[str]:
    """Run the server in a process of its own; give its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_serve, args=(theirs, body.encode(), latency), daemon=True
    )
    process.start()
    try:
        if not ours.poll(30):
            raise AssertionError("the thin server did not start in 30 seconds")
        yield ours.recv()
        ours.send(None)
        process.join(timeout=5)
    finally:
        process.kill()
