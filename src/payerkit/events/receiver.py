"""A small receiver of events, as an ASGI application: it verifies, appends to a file, and responds with 200 only then.

The service tries a delivery for 5 seconds, and three times more; what is not received by then is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from payerkit.events.event import is_signed, read_secrets
from payerkit.events.file import DELIVERY, SIGNATURE, Delivery, EventsFile, kept_headers
from payerkit.wire import ApiKey, parse_json
from payerkit.wording import visible

MAX_BODY = 2**18
"""Bytes of a body; those of events have some hundred."""

BODY_SECONDS = 5.0
"""How long a body may take to arrive: the service waits no longer for the response."""

_MAX_SHOWN = 60
"""Characters of a name or an id that the terminal shows."""


class EventReceiver:
    """The application. stored, refused: how many deliveries were, and how many had a wrong signature.

    show: gets a line for each delivery, without anything personal.
    """

    def __init__(self, file: EventsFile, secret: str, show: Callable[[str], object]) -> None:
        read_secrets(secret)  # raises InvalidInput for one that cannot be used
        self._file, self._secret, self._show = file, ApiKey(secret), show
        self._turn = asyncio.Lock()  # one line at a time, so that waiting for the file takes one thread only
        self.stored = self.refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one delivery; any path will do."""
        response, shown = await self._take(Request(scope, receive))
        await response(scope, receive, send)
        if shown:
            self._show(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {shown}")

    async def _take(self, request: Request) -> tuple[JSONResponse, str]:
        """Return the response to a request, and what the terminal shows of it."""
        if request.method != "POST":
            return _respond(405, "Events arrive by POST.", allow="POST", connection="close"), ""
        headers = kept_headers(request.headers)
        if SIGNATURE not in headers:
            return self._refuse()
        body = await _read_body(request)
        if isinstance(body, JSONResponse):
            return body, ""
        if not is_signed(body, headers[SIGNATURE], [self._secret.reveal().encode()]):
            return self._refuse()
        try:
            async with self._turn:
                line = Delivery(body, headers, datetime.now(UTC)).to_line()
                await asyncio.to_thread(self._file.append, line)
        except OSError as error:
            return _respond(503, "The event could not be stored."), f"not stored: {error.strerror or error}"
        self.stored += 1
        return _respond(200, "Stored."), _line_of(body, headers)

    def _refuse(self) -> tuple[JSONResponse, str]:
        self.refused += 1
        # Only the first one is shown: otherwise anybody could fill the terminal.
        shown = "refused: wrong signature. Is the secret that of this webhook? Further ones are only counted."
        response = _respond(401, "The signature does not match the body. Nothing was stored.", connection="close")
        return response, shown if self.refused == 1 else ""


def _respond(status: int, message: str, **headers: str) -> JSONResponse:
    """Return a response. A body that was not read ends the connection, since its rest would follow."""
    return JSONResponse({"message": message}, status, headers)


async def _read_body(request: Request) -> bytes | JSONResponse:
    """Return the body, or the response to one that is too large, cut or too slow."""
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    return _respond(413, f"The body is larger than {MAX_BODY} bytes.", connection="close")
    except TimeoutError:
        return _respond(408, "The body took too long to arrive.", connection="close")
    except ClientDisconnect:
        return _respond(400, "The body is incomplete.", connection="close")
    return body


def _line_of(body: bytes, headers: dict[str, str]) -> str:
    """Return the name of a stored event, and the id of its delivery."""
    try:
        content = parse_json(body)
    except ValueError:
        content = None
    name = content.get("event") if isinstance(content, dict) else None
    words = [name if isinstance(name, str) else "not an event", headers.get(DELIVERY, "")]
    return "  ".join(visible(word[:_MAX_SHOWN]) for word in words if word)
