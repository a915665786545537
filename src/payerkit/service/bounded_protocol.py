"""uvicorn's HTTP/1.1, with a limit on connections and on the time in which the head of a request arrives.

h11 bounds the size of a head. uvicorn bounds how long a connection is idle, but not how long a head may take.
"""

from __future__ import annotations

import asyncio
import sys

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""How long the head of a request may take to arrive, from its first byte or from the start of the connection."""

_MAX_CONNECTIONS = 1000


class BoundedProtocol(H11Protocol):
    """One connection. `awaits_head`: the timer that ends it, while the head of a request is due."""

    awaits_head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Refuse the connection if there are too many, and none among them that has not asked anything."""
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            waiting = (each for each in self.connections if isinstance(each, BoundedProtocol) and each.awaits_head)
            oldest = min(waiting, key=_deadline, default=self)
            oldest.end("503 Service Unavailable")
        if not transport.is_closing():
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        super().data_received(data)
        self._watch_head(has_data=True)

    def on_response_complete(self) -> None:
        """Begin anew; part of the next request may have arrived already."""
        super().on_response_complete()
        self._watch_head(has_data=bool(self.conn.trailing_data[0]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._forget_head()
        super().connection_lost(exc)

    def end(self, status: str) -> None:
        """Respond with a status, and close the connection."""
        self._forget_head()
        self.transport.write(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        self.transport.close()

    def _watch_head(self, *, has_data: bool) -> None:
        # Their state is IDLE until the head of a request is complete, and again when the next one may begin.
        if self.conn.their_state is not h11.IDLE:
            self._forget_head()
        elif has_data and self.awaits_head is None and not self.transport.is_closing():
            self._await_head()

    def _await_head(self) -> None:
        self.awaits_head = self.loop.call_later(HEAD_SECONDS, self.end, "408 Request Timeout")

    def _forget_head(self) -> None:
        if self.awaits_head is not None:
            self.awaits_head.cancel()
            self.awaits_head = None


def max_connections() -> int:
    """Return how many connections are kept open: half of the descriptors that the process may have, at most 1,000.

    Without descriptors nothing can be accepted, and asyncio logs that for each connection that waits.
    """
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - only there on POSIX

    return min(_MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


def _deadline(connection: BoundedProtocol) -> float:
    return connection.awaits_head.when() if connection.awaits_head else 0.0
