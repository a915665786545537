"""What every request meets first: the key, a limit, a bound, the right type; and the sandbox's label."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Mapping
from urllib.parse import unquote, unquote_plus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from payerkit.service.errors import Problem
from payerkit.service.faults import Faults, ServerConnection
from payerkit.service.settings import Settings

LABEL = "x-payerkit-sandbox"
"""Header of every answer, so that nobody takes the sandbox for the real thing; it tells databases apart."""

OPEN = ("/docs", "/openapi.json", "/static-offline-docs/", "/agreement/", "/kyc/")
"""What needs no key: the documents, and the pages, whose links nobody can guess. The start page is open, too."""

_MINUTE = 60.0


class RequestGuard:
    """ASGI middleware around the whole service."""

    def __init__(
        self,
        app: ASGIApp,
        faults: Faults,
        *,
        identity: str,
        api_key: str,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._faults = faults
        self._identity = identity
        self._key = api_key.encode()
        self._max_body = settings.max_body
        self._rate_limit = settings.rate_limit
        self._clock = clock
        self._recent: deque[float] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what may not pass, label what does."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def labelled(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[LABEL] = self._identity
            await send(message)

        answer: ASGIApp = self._app
        try:
            scope = _with_raw_path(scope)
            if scope["path"] != "/" and not scope["path"].startswith(OPEN):
                line = ServerConnection(receive, send)
                receive = await self._checked(scope, receive)
                answer = await self._faults.met(answer, scope, receive, line)
        except Problem as problem:
            answer = self._refusal(problem)
        except asyncio.CancelledError:  # the service ends while a body is still coming, or a call waits
            answer = Problem(503, "the sandbox is ending").answer({"Connection": "close"})
        await answer(scope, receive, labelled)

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        """Return what gives the checked body. Raises Problem."""
        headers = Headers(scope=scope)
        if not secrets.compare_digest(headers.get("x-api-key", "").encode(), self._key):
            raise Problem(401, "Unauthorized")
        self._count()
        if scope["method"] not in {"POST", "PATCH", "PUT"}:
            return receive
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, "send the body as application/json")
        return _replay(await self._body(headers, receive))

    def _count(self) -> None:
        """Count the call. Raises Problem when there were more in the last minute than allowed."""
        now = self._clock()
        while self._recent and now - self._recent[0] >= _MINUTE:
            self._recent.popleft()
        if self._rate_limit and len(self._recent) >= self._rate_limit:
            raise Problem(429, "Too Many Requests")
        if self._rate_limit:
            self._recent.append(now)

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        body, more = bytearray(), True
        is_told_too_long = len(headers.get("content-length", "")) > len(str(self._max_body))
        while more and len(body) <= self._max_body and not is_told_too_long:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "the body was cut off")
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if more or len(body) > self._max_body:
            raise Problem(413, f"the body is larger than {self._max_body} bytes")
        return bytes(body)

    def _refusal(self, problem: Problem) -> Response:
        headers = {}
        if problem.status == 429:
            headers["Retry-After"] = str(max(1, math.ceil(_MINUTE - (self._clock() - self._recent[0]))))
        if problem.status == 413:
            headers["Connection"] = "close"
        return problem.answer(headers)


def _with_raw_path(scope: Scope) -> Scope:
    """Return the request with its path as it was sent: decoded before it is routed, `a%2Fb` would be two segments.

    Raises Problem for what no text can be: bytes that are no UTF-8 would make two ids one, control characters stop
    some databases.
    """
    path, query = (part.decode("latin-1") for part in (scope["raw_path"], scope["query_string"]))
    try:
        text = unquote(path, errors="strict") + unquote_plus(query, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "the address is not UTF-8") from None
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise Problem(400, "the address holds a control character")
    return {**scope, "path": path.partition("?")[0]}


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
