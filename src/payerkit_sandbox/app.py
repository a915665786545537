"""The application: its routes, what its errors look like, and what is checked before a
route is found.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import Any
from urllib.parse import unquote, unquote_plus

from fastapi import Depends, FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from payerkit_sandbox import (
    accounts,
    clock,
    execution,
    faults,
    ledger,
    pages,
    pay,
    payers,
    payouts,
    wallet,
)
from payerkit_sandbox.database import LOGGER, describe, http_error_of
from payerkit_sandbox.failures import COMMON, HttpError, http_error_of_request
from payerkit_sandbox.worlds import Worlds

SANDBOX_HEADER = "x-payerkit-sandbox"
"""Header of every response, so that the sandbox is not taken for the live service; it
identifies the database.
"""

MAX_BODY = 2**20
"""The largest body that is read, in bytes."""

BODY_SECONDS = 5.0
"""How long a body may take to arrive."""


class SandboxApp(FastAPI):
    """The application, which describes itself without FastAPI's 422: it responds to an
    invalid request with 400.
    """

    def openapi(self) -> dict[str, Any]:
        """Return the document of all calls."""
        if self.openapi_schema is None:
            self.openapi_schema = super().openapi()
            for methods in self.openapi_schema["paths"].values():
                for call in methods.values():
                    call["responses"].pop("422", None)
        return self.openapi_schema


async def require_json(request: Request) -> None:
    """Raise HttpError (415) for a write without a body in JSON."""
    content_type, _, _ = request.headers.get("content-type", "").partition(";")
    is_json = content_type.strip().lower() == "application/json"
    if request.method != "GET" and not is_json:
        raise HttpError(415, "Content-Type must be application/json")


app = SandboxApp(
    title="payerkit sandbox",
    version="2",
    description="Request Network's payer API on this machine. Nothing here is real.",
    docs_url=None,
    redoc_url=None,
    redirect_slashes=False,
)
"""The routes of every sandbox of this process; each request brings its own worlds."""

api_key = APIKeyHeader(name="x-api-key", scheme_name="ApiKey", auto_error=False)
client_id = APIKeyHeader(name="x-client-id", scheme_name="ClientId", auto_error=False)
for subject in (
    payers,
    accounts,
    pay,
    payouts,
    wallet,
    execution,
    clock,
    faults,
    ledger,
):
    app.include_router(
        subject.router,
        responses=COMMON,
        dependencies=[
            Security(api_key),
            Security(client_id),
            Depends(require_json),
        ],
    )


@app.get("/healthz")
async def get_health() -> dict[str, str]:
    """Say that the service runs. It needs no API key."""
    return {"status": "ok"}


app.include_router(pages.router)


@app.exception_handler(HttpError)
async def respond_to_refusal(_request: Request, error: HttpError) -> Response:
    """Respond as a route decided."""
    return error.response()


@app.exception_handler(RequestValidationError)
async def respond_to_invalid(
    _request: Request, error: RequestValidationError
) -> Response:
    """Respond with 400 to an invalid request."""
    return http_error_of_request(error).response()


@app.exception_handler(HTTPException)
async def respond_to_wrong_route(request: Request, error: HTTPException) -> Response:
    """Respond to an unknown route, or a wrong method."""
    headers = error.headers
    methods = _methods_of(request.scope["path"])
    if error.status_code == 405 and methods:
        # Starlette names the methods of one route, and a path may have several.
        headers = {"Allow": ", ".join(methods)}
    return HttpError(error.status_code, error.detail, headers=headers).response()


def _methods_of(path: str) -> list[str]:
    """Return the methods of the calls at a path."""
    methods: set[str] = set()
    for template, calls in app.openapi()["paths"].items():
        pattern = re.sub(r"\{\w+\}", "[^/]+", template)
        if re.fullmatch(pattern, path):
            methods.update(method.upper() for method in calls)
    return sorted(methods)


@app.exception_handler(SQLAlchemyError)
async def respond_to_database(_request: Request, error: SQLAlchemyError) -> Response:
    """Respond to a failure of the database, and log it."""
    LOGGER.error("database: %s", describe(error))
    return http_error_of(error).response()


@app.exception_handler(Exception)
async def respond_to_failure(_request: Request, _error: Exception) -> Response:
    """Respond to a mistake of the sandbox, which the server logs."""
    return HttpError(500, "The sandbox failed; see its log").response()


def create_app(worlds: Worlds, *, host: str = "localhost") -> ASGIApp:
    """Return the service of some worlds. host: the address that it listens on, if
    others reach it.
    """
    hosts = ["localhost", "127.0.0.1", host]
    public = worlds.settings.public_url
    if public is not None and public.host is not None:
        hosts.append(public.host)
    if host == "0.0.0.0":  # noqa: S104 - it is compared
        hosts = ["*"]
    # Otherwise a web page elsewhere could let its own name lead to this machine, and
    # read the responses (DNS rebinding).
    trusted = TrustedHostMiddleware(app, hosts, www_redirect=False)
    return Guard(trusted, worlds)


class Guard:
    """ASGI middleware around all: it finds the world of the API key, bounds the body,
    and labels the response.

    A stranger keeps nothing: without a valid key, nothing is read but forms, and the
    response closes its connection.
    """

    def __init__(self, app: ASGIApp, worlds: Worlds) -> None:
        self._app = app
        self._worlds = worlds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a valid request on, and respond to any other."""
        headers = Headers(scope=scope)
        key = headers.get("x-api-key") or headers.get("x-client-id", "")
        world = self._worlds.by_key.get(key)
        state: dict[str, Any] = {"worlds": self._worlds, "world": world}
        state |= {"receive": receive, "send": send}
        scope = {**scope, "state": state}
        if scope["method"] == "HEAD":  # the server leaves out the body of the response
            scope["method"] = "GET"
        is_begun = False

        async def send_labelled(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[SANDBOX_HEADER] = self._worlds.identity
                headers["Cache-Control"] = "no-store"
                if world is None:
                    headers["Connection"] = "close"
            await send(message)

        try:
            # If the body that came along is malformed, the server refuses it now.
            await asyncio.sleep(0)
            await self._respond(scope, receive, send_labelled)
        except HttpError as error:
            await error.response()(scope, receive, send_labelled)
        except asyncio.CancelledError:
            # The service stops, while a thread may still write.
            if not is_begun:
                ending = HttpError(503, "The sandbox is shutting down")
                await ending.response()(scope, receive, send_labelled)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["path"] = _raw_path(scope)
        world = scope["state"]["world"]
        if world is None and not _is_public(scope["path"]):
            raise HttpError(401, "Unauthorized")
        is_api = scope["path"].startswith(("/v1/", "/v2/"))
        if is_api:
            world.limits.count()
        body = b""
        if scope["method"] != "GET":
            body = await _read_body(scope, receive)

        async def replay() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        if is_api:
            await world.faults.call(self._app, scope, body, replay, send)
        else:
            await self._app(scope, replay, send)


def _is_public(path: str) -> bool:
    """Return True for what needs no API key: the pages with their unguessable links,
    and what tells of the sandbox itself.
    """
    return path in {"/", "/healthz", "/openapi.json"} or path.startswith(
        ("/agreement/", "/kyc/")
    )


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the body of a request. Raises HttpError for one that is too large, cut or
    too slow.
    """
    # The rest of a body is never read, so the connection cannot be used again.
    ending = {"Connection": "close"}
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in Request(scope, receive).stream():
                body += part
                if len(body) > MAX_BODY:
                    message = f"The request body is larger than {MAX_BODY} bytes"
                    raise HttpError(413, message, headers=ending)
    except TimeoutError:
        message = "The request body took too long to arrive"
        raise HttpError(408, message, headers=ending) from None
    except ClientDisconnect:
        raise HttpError(400, "The request body is incomplete") from None
    return body


def _raw_path(scope: Scope) -> str:
    """Return the path as it was sent: decoded before routing, `a%2Fb` would be two
    segments.

    Raises HttpError for bytes that are not UTF-8, which would make two ids one, and for
    control characters, at which some databases stop.
    """
    path: str = scope["raw_path"].decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    try:
        text = unquote(path, errors="strict") + unquote_plus(query, errors="strict")
    except UnicodeDecodeError:
        raise HttpError(400, "The URL is not valid UTF-8") from None
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise HttpError(400, "The URL contains a control character")
    path, _, _ = path.partition("?")
    return path
