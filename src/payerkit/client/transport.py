"""One exchange with the service: bytes out, bytes in, and what a failure proves about them.

No library tells whether any byte of the request had left, keeps a deadline for the whole exchange and a bound on the
answer, and fails without holding the request.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from payerkit.client.answer import Answer
from payerkit.client.call import Call
from payerkit.client.exchange import Exchange
from payerkit.client.sockets import Connections
from payerkit.errors import InvalidInput

MAX_ANSWER = 16 * 2**20
"""Bytes of an answer, unpacked; more is not read."""

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Timeout:
    """Seconds that may pass: to connect, without a byte of the answer, and for a whole call with its retries.

    Raises InvalidInput unless all are positive and finite.
    """

    connect: float = 5.0
    read: float = 30.0
    total: float = 60.0

    def __post_init__(self) -> None:
        if not all(_is_duration(seconds) for seconds in (self.connect, self.read, self.total)):
            raise InvalidInput("timeout: give positive numbers of seconds, such as Timeout(total=60).")

    def within(self, seconds: float) -> tuple[float, float]:
        """Return the limits to connect and to read when this many seconds are left."""
        return min(self.connect, seconds), min(self.read, seconds)


def _is_duration(seconds: object) -> bool:
    return isinstance(seconds, int | float) and 0 < seconds < math.inf


def _host(parts: SplitResult) -> str:
    """Return what the header Host says of an address."""
    name = parts.hostname or ""
    name = f"[{name}]" if ":" in name else name
    return name if parts.port in {None, _PORTS[parts.scheme]} else f"{name}:{parts.port}"


class Transport:
    """Exchanges requests for answers with one origin."""

    def __init__(self, base_url: str, *, local: bool, pool_size: int, max_answer: int = MAX_ANSWER) -> None:
        parts = urlsplit(base_url)
        self._host = _host(parts)
        self._prefix = parts.path
        self._max_answer = max_answer
        self._connections = Connections(base_url, local=local, size=pool_size)

    def perform(self, call: Call[Any], headers: Mapping[str, str], exchange: Exchange, timeout: Timeout) -> None:
        """Send a call, read its answer, and note in the exchange what happened. Only an interrupt is raised."""
        with exchange:
            try:
                self._send_and_read(call, headers, exchange, timeout)
            except Exception as error:  # noqa: BLE001 - once a byte has left, every failure means the same
                exchange.fail(error)
                if exchange.interrupted:
                    raise KeyboardInterrupt from None

    def _send_and_read(self, call: Call[Any], headers: Mapping[str, str], exchange: Exchange, timeout: Timeout) -> None:
        left = exchange.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no time was left")
        connect, read = timeout.within(left)
        request = self._request(call, headers)
        answer = Answer(self._max_answer)
        sock = self._connections.take(exchange, connect)
        try:
            if sock.gettimeout() != read:  # to set it is a system call
                sock.settimeout(read)
            exchange.sent = True
            with suppress(BrokenPipeError, ConnectionResetError):  # a service may answer before it has read all
                sock.sendall(request)
            exchange.content = answer.read(sock)
        except BaseException:
            sock.close()  # what is left of the answer must not be read as the next one
            raise
        finally:
            exchange.status, exchange.headers = answer.status, answer.headers
            exchange.let_go()
        if answer.keeps:
            self._connections.keep(sock)
        else:
            sock.close()

    def _request(self, call: Call[Any], headers: Mapping[str, str]) -> bytes:
        """Return a request as one piece, so that one system call sends it."""
        body = b"" if call.body is None else call.body.content
        length = {} if call.body is None else {"Content-Length": str(len(body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": self._host, **headers, **length}.items())
        # The path as it is: one that is put together again would decode "%2E%2E", and ".." would reach another route.
        return f"{call.method} {self._prefix}{call.path} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + body

    def close(self) -> None:
        """Close the idle connections."""
        self._connections.close()
