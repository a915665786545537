"""A small receiver of events, as an ASGI application: it verifies, appends to a file, and responds with 200 only then.

The service tries a delivery for 5 seconds, and three times more; what is not received by then is dropped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

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

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Reply(NamedTuple):
    """A response: its status, a sentence, and whether the connection ends, since the body was not read."""

    status: int
    message: str
    ends: bool = False


_REFUSED = _Reply(401, "The signature does not match the body. Nothing was stored.", ends=True)


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
        if scope["type"] != "http":
            return
        reply, shown = await self._take(scope, receive)
        body = json.dumps({"message": reply.message}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(b"allow", b"POST")] * (reply.status == 405) + [(b"connection", b"close")] * reply.ends
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        if shown:
            self._show(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {shown}")

    async def _take(self, scope: Scope, receive: Receive) -> tuple[_Reply, str]:
        """Return the response to a request, and what the terminal shows of it."""
        if scope["method"] != "POST":
            return _Reply(405, "Events arrive by POST.", ends=True), ""
        headers = kept_headers({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
        if SIGNATURE not in headers:
            return self._refuse()
        body = await _read_body(scope, receive)
        if isinstance(body, _Reply):
            return body, ""
        if not is_signed(body, headers[SIGNATURE], [self._secret.reveal().encode()]):
            return self._refuse()
        try:
            async with self._turn:
                line = Delivery(body, headers, datetime.now(UTC)).to_line()
                await asyncio.to_thread(self._file.append, line)
        except OSError as error:
            return _Reply(503, "The event could not be stored."), f"not stored: {error.strerror or error}"
        self.stored += 1
        return _Reply(200, "Stored."), _line_of(body, headers)

    def _refuse(self) -> tuple[_Reply, str]:
        self.refused += 1
        # Only the first one is shown: otherwise anybody could fill the terminal.
        shown = "refused: wrong signature. Is the secret that of this webhook? Further ones are only counted."
        return _REFUSED, shown if self.refused == 1 else ""


async def _read_body(scope: Scope, receive: Receive) -> bytes | _Reply:
    """Return the body, or the response to one that is too large, cut or too slow."""
    declared = next((value for name, value in scope["headers"] if name.lower() == b"content-length"), b"")
    # By its number of digits: int() of an absurd length would fail. A wrong length is caught by counting.
    body, more = bytearray(), len(declared) <= len(str(MAX_BODY))
    is_too_large = not more
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more and not is_too_large:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return _Reply(400, "The body is incomplete.", ends=True)
                body += message.get("body", b"")
                more, is_too_large = message.get("more_body", False), len(body) > MAX_BODY
    except TimeoutError:
        return _Reply(408, "The body took too long to arrive.", ends=True)
    return _Reply(413, f"The body is larger than {MAX_BODY} bytes.", ends=True) if is_too_large else bytes(body)


def _line_of(body: bytes, headers: dict[str, str]) -> str:
    """Return the name of a stored event, and the id of its delivery."""
    try:
        content = parse_json(body)
    except ValueError:
        content = None
    name = content.get("event") if isinstance(content, dict) else None
    words = [name if isinstance(name, str) else "not an event", headers.get(DELIVERY, "")]
    return "  ".join(visible(word[:_MAX_SHOWN]) for word in words if word)
