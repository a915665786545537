"""Middleware around all routes: API key, limits of calls, body size, content type, faults, and the sandbox's header."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Mapping
from urllib.parse import unquote, unquote_plus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from payerkit.service.errors import Problem
from payerkit.service.faults import WRITE_METHODS, ServerConnection
from payerkit.service.worlds import World, Worlds

SANDBOX_HEADER = "x-payerkit-sandbox"
"""Header of every response, so that the sandbox is not taken for the live service; it identifies the database."""

PUBLIC_PATHS = ("/docs", "/openapi.json", "/static-offline-docs/", "/agreement/", "/kyc/")
"""Paths that need no API key: the documentation, and the pages with their unguessable links. So does the start page."""

_CONTROLS = "/sandbox/"
"""Paths of the sandbox's own calls, which no limit counts: a live service does not have them."""


class RequestGuard:
    """ASGI middleware that checks each request before the routes see it.

    All of it runs in the server's event loop, so its state needs no lock.
    """

    def __init__(self, app: ASGIApp, worlds: Worlds, *, max_body: int) -> None:
        self._app = app
        self._worlds = worlds
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a valid request on, respond to any other; add the sandbox's header."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[SANDBOX_HEADER] = self._worlds.identity
            await send(message)

        handler: ASGIApp = self._app
        try:
            scope = _with_raw_path(scope)
            if scope["path"] != "/" and not scope["path"].startswith(PUBLIC_PATHS):
                connection = ServerConnection(receive, send)
                world = self._find_world(scope)
                scope = {**scope, "state": world.state}
                receive = await self._check_body(scope, receive)
                handler = await world.faults.wrap(handler, scope, receive, connection)
        except Problem as problem:
            handler = problem.response()
        except asyncio.CancelledError:  # the service stops while a body is still arriving, or during a latency
            handler = Problem(503, "The sandbox is shutting down").response({"Connection": "close"})
        await handler(scope, receive, send_with_header)

    def _find_world(self, scope: Scope) -> World:
        """Return the world of the request's API key, and count the call there. Raises Problem."""
        # The key comes first: without it, nobody may use up the limit or have a body read.
        world = self._worlds.of_key(Headers(scope=scope).get("x-api-key", ""))
        if world is None:
            raise Problem(401, "Unauthorized")
        if not scope["path"].startswith(_CONTROLS):
            world.limits.count()
        return world

    async def _check_body(self, scope: Scope, receive: Receive) -> Receive:
        """Check content type and body; return a `receive` for the body that was read. Raises Problem."""
        headers = Headers(scope=scope)
        if scope["method"] not in WRITE_METHODS:
            return receive
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, "Content-Type must be application/json")
        body = await self._read_body(headers, receive)

        async def replay() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return replay

    async def _read_body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        body, more = bytearray(), True
        # By its number of digits: int() of an absurd length would fail. A wrong length is caught by counting.
        is_declared_too_long = len(headers.get("content-length", "")) > len(str(self._max_body))
        while more and len(body) <= self._max_body and not is_declared_too_long:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "The request body is incomplete")
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if more or len(body) > self._max_body:
            text = f"The request body is larger than {self._max_body} bytes"
            # The rest of the body is never read, so the connection cannot be used again.
            raise Problem(413, text, headers={"Connection": "close"})
        return bytes(body)


def _with_raw_path(scope: Scope) -> Scope:
    """Return the scope with the path as it was sent: decoded before routing, `a%2Fb` would be two segments.

    Raises Problem for bytes that are not UTF-8, which would make two ids one, and for control characters, at which some
    databases stop.
    """
    path, query = (part.decode("latin-1") for part in (scope["raw_path"], scope["query_string"]))
    try:
        text = unquote(path, errors="strict") + unquote_plus(query, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "The URL is not valid UTF-8") from None
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise Problem(400, "The URL contains a control character")
    return {**scope, "path": path.partition("?")[0]}
