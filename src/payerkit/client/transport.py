"""One exchange with the service: bytes out, bytes in, and what a failure proves about them.

requests finds the way (proxies, certificates), once, and urllib3 goes it. Here is what they do not tell or do:
whether any byte of the request had left, a deadline for the whole exchange, a bound on the answer, and failures that do
not hold the request.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from requests import PreparedRequest
from requests.utils import get_environ_proxies
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Retry
from urllib3 import Timeout as Limits

from payerkit.client.call import Call
from payerkit.client.exchange import AnswerTooLarge, Exchange, watched
from payerkit.client.sockets import WatchedAdapter
from payerkit.errors import InvalidInput

MAX_ANSWER = 16 * 2**20
"""Bytes of an answer, unpacked; more is not read."""

_CHUNK = 2**16
_ONCE = Retry(0, read=False)


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


class Transport:
    """A pool of connections to one origin. The environment (proxies, certificates) is read once, netrc never."""

    def __init__(self, base_url: str, *, local: bool, pool_size: int, max_answer: int = MAX_ANSWER) -> None:
        self._base_url = base_url
        self._max_answer = max_answer
        self._proxies = {} if local else get_environ_proxies(base_url)
        if any(proxy.lower().startswith("socks") for proxy in self._proxies.values()):
            raise InvalidInput("A SOCKS proxy of the environment cannot be used; set NO_PROXY for this address.")
        certificates = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        self._verify: bool | str = certificates or True
        self._adapter: Any = WatchedAdapter(pool_connections=1, pool_maxsize=pool_size)
        self._pool: HTTPConnectionPool | None = None
        self._prefix = ""

    def perform(self, call: Call[Any], headers: Mapping[str, str], exchange: Exchange, timeout: Timeout) -> None:
        """Send a call, read its answer, and note in the exchange what happened; no failure is raised."""
        with watched(exchange):
            try:
                self._send_and_read(call, headers, exchange, timeout)
            except Exception as error:  # noqa: BLE001 - once a byte has left, every failure means the same
                exchange.fail(error)

    def _send_and_read(self, call: Call[Any], headers: Mapping[str, str], exchange: Exchange, timeout: Timeout) -> None:
        left = exchange.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no time was left")
        connect, read = timeout.within(left)
        pool = self._pool or self._open()
        response = pool.urlopen(
            call.method,
            # As it is: a URL that is put together again would decode "%2E%2E", and ".." would reach another route.
            self._prefix + call.path,
            body=None if call.body is None else call.body.content,
            headers=headers,
            retries=_ONCE,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
            timeout=Limits(connect=connect, read=read),
        )
        exchange.status, exchange.headers = response.status, response.headers
        try:
            exchange.content = self._content(response)
        except BaseException:
            response.close()  # what is left of the answer must not be read as the next one
            raise

    def _open(self) -> HTTPConnectionPool:
        """Return the pool of connections to the service, or to the proxy on the way, with what TLS has to check."""
        request = PreparedRequest()
        request.url = f"{self._base_url}/"
        pool: HTTPConnectionPool = self._adapter.get_connection_with_tls_context(
            request, self._verify, proxies=self._proxies
        )
        self._adapter.cert_verify(pool, request.url, self._verify, None)
        # A path, or with a proxy for plain http the whole address.
        self._prefix = self._adapter.request_url(request, self._proxies).removesuffix("/")
        self._pool = pool
        return pool

    def _content(self, response: BaseHTTPResponse) -> bytes:
        content = bytearray()
        for chunk in response.stream(_CHUNK, decode_content=True):
            content += chunk
            if len(content) > self._max_answer:
                raise AnswerTooLarge(f"more than {self._max_answer} bytes")
        return bytes(content)

    def close(self) -> None:
        """Close the idle connections."""
        self._pool = None
        self._adapter.close()
