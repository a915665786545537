"""The application: routes, exception handlers, and what is checked before the routes."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, unquote_plus, urlsplit

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from payerkit.service import pages
from payerkit.service.database import LOGGER, describe, http_error_of
from payerkit.service.failures import HttpError, handle_validation_error
from payerkit.service.faults import WRITE_METHODS
from payerkit.service.settings import Settings
from payerkit.service.world import SANDBOX_PATH, Worlds

_ROUTERS = (*pages.ROUTERS, pages.router)


def create_app(worlds: Worlds, settings: Settings, *, host: str = "localhost") -> ASGIApp:
    """Return the service on a database; the API key of a request opens one of its worlds."""
    # The outermost layer, so that responses to failures carry the sandbox's header, too.
    return RequestGuard(_create_routes(), worlds, settings, host=host)


@cache
def _create_routes() -> ASGIApp:
    """Return the routes of every service; each request brings its own world.

    Created once: FastAPI keeps references to an application for good, so one per sandbox would leak its database.
    """
    handlers: dict[Any, Any] = {
        RequestValidationError: handle_validation_error,
        **dict.fromkeys((HTTPException, SQLAlchemyError, HttpError, Exception), _handle_exception),
    }
    app = FastAPI(openapi_url=None, redirect_slashes=False, exception_handlers=handlers)
    for router in _ROUTERS:
        app.include_router(router)
    return app


async def _handle_exception(_request: Request, error: Exception) -> Response:
    """Respond to a HttpError, to an error of the framework, to a failure before COMMIT, or to any other with 500."""
    if isinstance(error, HttpError):
        return error.response()
    if isinstance(error, HTTPException):  # an unknown route, or a wrong method
        return HttpError(error.status_code, str(error.detail), headers=error.headers).response()
    if isinstance(error, SQLAlchemyError):
        LOGGER.error("database: %s", describe(error))
    return http_error_of(error).response()


# Around all routes: host, API key and its world, limits of calls, the size of the body, faults, headers

SANDBOX_HEADER = "x-payerkit-sandbox"
"""Header of every response, so that the sandbox is not taken for the live service; it identifies the database."""

PUBLIC_PATHS = ("/agreement/", "/kyc/")
"""Paths that need no API key, as the start page: the pages with their unguessable links."""

_HOST = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
"""The header Host: a name or an address, and a port."""

MAX_BODY = 2**20
"""The largest body that is read, in bytes."""

BODY_SECONDS = 20.0
"""How long a body may take to arrive."""


class RequestGuard:
    """ASGI middleware that checks each request before the routes see it.

    All of it runs in the server's event loop, so its state needs no lock. host: the address that the service listens
    on, if others reach it.
    """

    def __init__(self, app: ASGIApp, worlds: Worlds, settings: Settings, *, host: str = "localhost") -> None:
        self._app = app
        self._worlds = worlds
        public = urlsplit(settings.public_url or "")
        self._hosts = {"localhost", public.hostname or "localhost", host.lower()}
        self._root_path = public.path.rstrip("/")
        self._state = {"settings": settings, "worlds": worlds}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a valid request on, respond to any other; add the headers of every response."""
        is_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                headers = MutableHeaders(scope=message)
                headers[SANDBOX_HEADER], headers["Cache-Control"] = self._worlds.identity, "no-store"
            await send(message)

        handler = self._app
        try:
            try:
                self._check_host(scope)
                scope = {**_with_raw_path(scope, self._root_path), "state": dict(self._state)}
                if scope["path"] == "/" or scope["path"].startswith(PUBLIC_PATHS):
                    receive = await _read_body(scope, receive)
                # The key comes first: without it, nobody may use up the limit or have a body read.
                elif (world := self._worlds.of_key(Headers(scope=scope).get("x-api-key", ""))) is None:
                    handler = HttpError(401, "Unauthorized").response()
                else:
                    if not scope["path"].startswith(SANDBOX_PATH):
                        world.limits.count()
                    scope["state"]["world"] = world
                    body = await _read_body(scope, receive)
                    handler = await world.faults.wrap(handler, scope, body, (receive, send))
                    receive = body
            except HttpError as error:
                handler = error.response()
            await handler(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            # The service stops while a body arrives, during a latency, or while the database is stuck: then its thread
            # goes on, and may still write.
            if not is_begun:
                ending = HttpError(503, "The sandbox is shutting down", headers={"Connection": "close"})
                await ending.response()(scope, receive, send_with_headers)

    def _check_host(self, scope: Scope) -> None:
        """Raise HttpError (421) for a host name that is not this sandbox's.

        Otherwise a web page elsewhere could let its own name lead to this machine, and read the responses (DNS
        rebinding). An IP address cannot be misused so.
        """
        given = Headers(scope=scope).get("host", "localhost")  # HTTP/1.0 needs none, and no browser speaks that
        try:
            # Only a name and a port: with more in it, this and what makes links of it could read different names.
            host = urlsplit(f"//{given}").hostname if _HOST.fullmatch(given) else None
            if host not in self._hosts:
                ip_address(host or "")
        except ValueError:
            message = (
                "The sandbox does not serve this host name; start it with --public-url URL, or in Python public_url"
            )
            raise HttpError(421, message) from None


async def _read_body(scope: Scope, receive: Receive) -> Receive:
    """Return a `receive` for the body that was read. Raises HttpError for one that is too large, cut or too slow.

    Starlette's own limit does not serve here: it responds in plain text, also to a request without a key.
    """
    if scope["method"] not in WRITE_METHODS:
        return receive
    body = b""
    # The rest of a body is never read, so the connection cannot be used again.
    ending = {"Connection": "close"}
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in Request(scope, receive).stream():
                body += part
                if len(body) > MAX_BODY:
                    raise HttpError(413, f"The request body is larger than {MAX_BODY} bytes", headers=ending)
    except TimeoutError:
        raise HttpError(408, "The request body took too long to arrive", headers=ending) from None
    except ClientDisconnect:
        raise HttpError(400, "The request body is incomplete") from None

    async def replay() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_raw_path(scope: Scope, root_path: str) -> Scope:
    """Return the scope with the path as it was sent: decoded before routing, `a%2Fb` would be two segments.

    root_path: the prefix of each path behind a proxy, which may remove it or not. Raises HttpError for
    bytes that are not UTF-8, which would make two ids one, and for control characters, at which some databases stop.
    """
    raw: tuple[bytes, bytes] = (scope["raw_path"], scope["query_string"])
    path, query = raw[0].decode("latin-1"), raw[1].decode("latin-1")
    try:
        text = unquote(path, errors="strict") + unquote_plus(query, errors="strict")
    except UnicodeDecodeError:
        raise HttpError(400, "The URL is not valid UTF-8") from None
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise HttpError(400, "The URL contains a control character")
    path = path.partition("?")[0]
    if root_path and f"{path}/".startswith(f"{root_path}/"):
        path = path.removeprefix(root_path) or "/"
    return {**scope, "path": path, "root_path": root_path}
