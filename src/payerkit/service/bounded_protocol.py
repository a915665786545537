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
    """One connection. head_timer: ends it, unless the head of a request arrives before; None while none is due."""

    head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """If there are too many connections, refuse one: that which has waited longest for a head, or else this one."""
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            waiting = (each for each in self.connections if isinstance(each, BoundedProtocol) and each.head_timer)
            min(waiting, key=_deadline, default=self).end("503 Service Unavailable")
        if not transport.is_closing():
            self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, and note whether a head is complete or begun."""
        super().data_received(data)
        self._watch_head(has_data=True)

    def on_response_complete(self) -> None:
        """Wait for the next request, of which a part may have arrived already."""
        super().on_response_complete()
        self._watch_head(has_data=bool(self.conn.trailing_data[0]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def end(self, status: str) -> None:
        """Respond with a status, and close the connection."""
        self._stop_timer()
        self.transport.write(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        self.transport.close()

    def _watch_head(self, *, has_data: bool) -> None:
        # Their state is IDLE until the head of a request is complete, and again when the next one may begin.
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif has_data and self.head_timer is None and not self.transport.is_closing():
            self._start_timer()

    def _start_timer(self) -> None:
        self.head_timer = self.loop.call_later(HEAD_SECONDS, self.end, "408 Request Timeout")

    def _stop_timer(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None


def max_connections() -> int:
    """Return how many connections are kept open: half of the descriptors that the process may have, at most 1,000.

    Without descriptors nothing can be accepted, and asyncio logs that for each connection that waits.
    """
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - only there on POSIX

    return min(_MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


def _deadline(connection: BoundedProtocol) -> float:
    return connection.head_timer.when() if connection.head_timer else 0.0
