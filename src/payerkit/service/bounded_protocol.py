"""uvicorn's HTTP/1.1, with limits on connections, and on the time that a client may take to send and to receive.

h11 bounds the size of a head. uvicorn bounds how long a connection is idle, but not how long a head may take, nor the
rest of a body that nobody reads, nor a response that the client does not read.
"""

from __future__ import annotations

import asyncio
import sys

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""How long the head of a request may take to arrive, from its first byte or from the start of the connection."""

SEND_SECONDS = 30.0
"""How long a response may wait for its client, which has to take at least _SENT_BYTES in that time."""

_SENT_BYTES = 2**16

_MAX_CONNECTIONS = 1000


class BoundedProtocol(H11Protocol):
    """One connection. head_timer: ends it, unless a head, or the rest of an unread body, arrives before."""

    head_timer: asyncio.TimerHandle | None = None
    _client_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Refuse the connection if there are too many, and all of them have a request in hand."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that writing is paused as long as anything waits for the client
        if len(self.connections) > max_connections():
            spare = (each for each in self.connections if isinstance(each, BoundedProtocol) and each.is_spare)
            min(spare, key=_spare_first, default=self).make_room()
        if not transport.is_closing():
            self._start_timer()

    @property
    def is_spare(self) -> bool:
        """Whether the connection has no request in hand."""
        return not self.transport.is_closing() and bool(self.head_timer or self.timeout_keep_alive_task)

    def make_room(self) -> None:
        """End the connection; one that has been used and is idle learns nothing, so that it repeats nothing."""
        if self.timeout_keep_alive_task is None:
            self._end("503 Service Unavailable")
        else:
            self.timeout_keep_alive_handler()

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, and note whether a head is complete or begun."""
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        """Wait for the next request, of which a part may have arrived already."""
        super().on_response_complete()
        self._watch_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; if a response has begun already, only close the connection."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # what it responds from now on is dropped
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        """Give the client time to read."""
        super().pause_writing()
        self._await_client(self.transport.get_write_buffer_size() + _SENT_BYTES)

    def resume_writing(self) -> None:
        """Note that the client has read everything."""
        super().resume_writing()
        self._stop_client_timer()

    def shutdown(self) -> None:
        """End the connection, or let its request end; one whose client does not read would not end by itself."""
        super().shutdown()
        if self.flow.write_paused:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timer()
        self._stop_client_timer()
        super().connection_lost(exc)

    def _await_client(self, before: int) -> None:
        """Break the connection, even one that is closing, unless the client has read enough since `before`."""
        left = self.transport.get_write_buffer_size()
        if before - left < _SENT_BYTES:
            self.transport.abort()
        else:
            self._client_timer = self.loop.call_later(SEND_SECONDS, self._await_client, left)

    def _stop_client_timer(self) -> None:
        if self._client_timer is not None:
            self._client_timer.cancel()
            self._client_timer = None

    def _watch_head(self) -> None:
        # Their state is IDLE until the head of a request is complete, and again when the next one may begin.
        is_rest = self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE
        if is_rest or (self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]):
            if self.head_timer is None and not self.transport.is_closing():
                self._start_timer()
            return
        self._stop_timer()
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            # The rest of a body has arrived, of which uvicorn takes no more notice than that something has.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _start_timer(self) -> None:
        self.head_timer = self.loop.call_later(HEAD_SECONDS, self._end, "408 Request Timeout")

    def _stop_timer(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _end(self, status: str) -> None:
        """Respond with a status, unless there has been a response, and close the connection."""
        self._stop_timer()
        if self.conn.our_state is h11.IDLE:
            self.transport.write(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        self.transport.close()


def max_connections() -> int:
    """Return how many connections are kept open: half of the descriptors that the process may have, at most 1,000.

    Without descriptors nothing can be accepted, and asyncio logs that for each connection that waits.
    """
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - only there on POSIX

    return min(_MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


def _spare_first(connection: BoundedProtocol) -> tuple[bool, float]:
    """Return the order in which connections make room: those that never asked anything first, then the oldest."""
    timer = connection.head_timer or connection.timeout_keep_alive_task
    return connection.head_timer is None, timer.when() if timer else 0.0
