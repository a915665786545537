"""Middleware around all routes.

Host, API key and its world, limits of calls, the body with its size and type, faults, a bound on writes at once, and
the headers of every response.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from base64 import b64decode
from contextlib import ExitStack
from ipaddress import ip_address
from urllib.parse import unquote, unquote_plus, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from payerkit.service.call_log import CALL_RECORD, CallRecord
from payerkit.service.errors import Problem
from payerkit.service.faults import WRITE_METHODS, ServerConnection
from payerkit.service.settings import Settings
from payerkit.service.worlds import World, Worlds

SANDBOX_HEADER = "x-payerkit-sandbox"
"""Header of every response, so that the sandbox is not taken for the live service; it identifies the database."""

PUBLIC_PATHS = ("/docs", "/healthz", "/openapi.json", "/static-offline-docs/", "/agreement/", "/kyc/")
"""Paths that need no API key: documentation, health, and the pages with their unguessable links; and the start page."""

_CONTROLS = "/sandbox/"
"""Paths of the sandbox's own calls, which no limit counts: a live service does not have them."""

_STORED = "/sandbox/stored"
"""The page that takes the API key as a browser sends a password, too: it only reads, whoever leads a browser there."""

_ASK_PASSWORD = {"WWW-Authenticate": 'Basic realm="payerkit sandbox: any user name, the API key as password"'}

_HOST = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
"""The header Host: a name or an address, and a port."""

_FORM_BYTES = 1000
"""The largest body that is read without an API key: the form of a page."""

BODY_SECONDS = 20.0
"""How long a body may take to arrive."""

_WRITES_AT_ONCE = 16
"""How many writes may have one of the 40 worker threads: the others are for reads, which no stuck write may delay."""

_WRITE_SECONDS = 10.0
"""How long a write waits for those before it."""


class RequestGuard:
    """ASGI middleware that checks each request before the routes see it.

    All of it runs in the server's event loop, so its state needs no lock.
    """

    def __init__(self, app: ASGIApp, worlds: Worlds, settings: Settings) -> None:
        self._app = app
        self._worlds = worlds
        self._max_body = settings.max_body
        self._hosts = settings.hosts
        self._root_path = settings.root_path
        self._writes = asyncio.Semaphore(_WRITES_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a valid request on, respond to any other; add the headers of every response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        call = CallRecord(scope["method"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                call.status = message["status"]
                MutableHeaders(scope=message).update(
                    {SANDBOX_HEADER: self._worlds.identity, "Cache-Control": "no-store"}
                )
            await send(message)

        handler: ASGIApp = self._handle
        try:
            self._check_host(scope)
            scope = _with_raw_path(scope, self._root_path)
            if scope["path"] == "/" or scope["path"].startswith(PUBLIC_PATHS):
                receive = await self._read_body(scope, receive, _FORM_BYTES)
            else:
                connection = ServerConnection(receive, send)
                world = self._find_world(scope)
                call.world = world.name
                scope = {**scope, "state": world.state}
                receive = await self._read_json(scope, receive)
                handler = await world.faults.wrap(handler, scope, receive, connection)
        except Problem as problem:
            handler = problem.response()
        except asyncio.CancelledError:  # the service stops while a body is still arriving, or during a latency
            handler = _ending().response()
        try:
            await handler({**scope, CALL_RECORD: call}, receive, send_with_headers)
        except asyncio.CancelledError:  # or while the database is stuck: its thread goes on, and may still write
            if call.status is None:
                code = "outcome_open" if scope["method"] in WRITE_METHODS else None
                await _ending(code).response()(scope, receive, send_with_headers)
        finally:
            call.log()

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application handle a request; of writes, only so many at once."""
        if scope["method"] not in WRITE_METHODS:
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                await self._writes.acquire()
        except TimeoutError:
            busy = Problem(503, "The sandbox is busy; nothing was stored", headers={"Retry-After": "1"})
            await busy.response()(scope, receive, send)
            return
        with ExitStack() as held:
            held.callback(self._writes.release)

            async def send_released(message: Message) -> None:
                held.close()  # the write is done, and a client that does not read holds up nobody else's
                await send(message)

            await self._app(scope, receive, send_released)

    def _check_host(self, scope: Scope) -> None:
        """Raise Problem (421) for a host name that is not this sandbox's.

        Otherwise a web page elsewhere could let its own name lead to this machine, and read the responses (DNS
        rebinding). An IP address cannot be misused so.
        """
        given = Headers(scope=scope).get("host", "localhost")  # HTTP/1.0 needs none, and no browser speaks that
        try:
            # Only a name and a port: with more in it, this and what makes links of it could read different names.
            host = urlsplit(f"//{given}").hostname if _HOST.fullmatch(given) else None
        except ValueError:
            host = None
        if host not in self._hosts and not _is_ip_address(host):
            message = (
                "The sandbox does not serve this host name; start it with --trusted-host NAME or --public-url URL, or "
                "in Python with trusted_hosts=[NAME] or public_url=URL"
            )
            raise Problem(421, message)

    def _find_world(self, scope: Scope) -> World:
        """Return the world of the request's API key, and count the call there. Raises Problem (401 or 429)."""
        # The key comes first: without it, nobody may use up the limit or have a body read.
        headers = Headers(scope=scope)
        is_stored_page = scope["method"] == "GET" and scope["path"] == _STORED
        key = headers.get("x-api-key") or (_read_password(headers) if is_stored_page else "")
        world = self._worlds.of_key(key)
        if world is None:
            raise Problem(401, "Unauthorized", headers=_ASK_PASSWORD if is_stored_page else None)
        if not scope["path"].startswith(_CONTROLS):
            world.limits.count()
        return world

    async def _read_json(self, scope: Scope, receive: Receive) -> Receive:
        """Return a `receive` for the body that was read. Raises Problem for one that is too large or no JSON."""
        content_type = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] in WRITE_METHODS and content_type != "application/json":
            raise Problem(415, "Content-Type must be application/json")
        return await self._read_body(scope, receive, self._max_body)

    async def _read_body(self, scope: Scope, receive: Receive, max_bytes: int) -> Receive:
        """Return a `receive` for the body that was read. Raises Problem for one that is too large, cut or too slow.

        Starlette's own limit does not serve here: it responds in plain text, also to a request without a key.
        """
        if scope["method"] not in WRITE_METHODS:
            return receive
        # By its number of digits: int() of an absurd length would fail. A wrong length is caught by counting.
        is_declared_too_long = len(Headers(scope=scope).get("content-length", "")) > len(str(max_bytes))
        body, more = bytearray(), True
        # The rest of a body is never read, so the connection cannot be used again.
        ending = {"Connection": "close"}
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more and len(body) <= max_bytes and not is_declared_too_long:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "The request body is incomplete")
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Problem(408, "The request body took too long to arrive", headers=ending) from None
        if more or len(body) > max_bytes:
            raise Problem(413, f"The request body is larger than {max_bytes} bytes", headers=ending)

        async def replay() -> Message:
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        return replay


def _read_password(headers: Headers) -> str:
    """Return the password that a browser sends (HTTP Basic, RFC 7617), or ""."""
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(credentials).decode().partition(":")[2]
    except ValueError:
        return ""


def _ending(code: str | None = None) -> Problem:
    """Return the refusal of a service that stops."""
    return Problem(503, "The sandbox is shutting down", code=code, headers={"Connection": "close"})


def _is_ip_address(host: str | None) -> bool:
    try:
        ip_address(host or "")
    except ValueError:
        return False
    return True


def _with_raw_path(scope: Scope, root_path: str) -> Scope:
    """Return the scope with the path as it was sent: decoded before routing, `a%2Fb` would be two segments.

    root_path: the prefix of each path behind a proxy, which may remove it or not. Raises Problem for
    bytes that are not UTF-8, which would make two ids one, and for control characters, at which some databases stop.
    """
    path, query = (part.decode("latin-1") for part in (scope["raw_path"], scope["query_string"]))
    try:
        text = unquote(path, errors="strict") + unquote_plus(query, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "The URL is not valid UTF-8") from None
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise Problem(400, "The URL contains a control character")
    path = path.partition("?")[0]
    if root_path and f"{path}/".startswith(f"{root_path}/"):
        path = path.removeprefix(root_path) or "/"
    return {**scope, "path": path, "root_path": root_path}
