"""The middleware and the exception handlers, called as by a server: for cases that no socket can produce."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from payerkit.service.app import create_app
from payerkit.service.faults import FaultInjector
from payerkit.service.middleware import RequestGuard
from payerkit.service.settings import Settings

KEY = "key-of-a-test"
SCOPE = {
    "type": "http",
    "method": "GET",
    "path": "/v2/payer/x",
    "raw_path": b"/v2/payer/x",
    "query_string": b"",
    "server": ("127.0.0.1", 80),
    "scheme": "http",
}


class BrokenStore:
    """A store whose calls fail with a given error."""

    identity = "an identity"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def find_payer(self, _: str) -> None:
        """Raise the error."""
        raise self._error


def call(app: Any, messages: list[dict[str, Any]], **scope: Any) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of an application's response."""
    sent: list[dict[str, Any]] = []
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    full = {**SCOPE, "headers": [(b"x-api-key", KEY.encode()), *scope.pop("headers", [])]}
    try:
        asyncio.run(app({**full, **scope}, receive, send))
    except (RuntimeError, OperationalError):  # the framework raises it again after responding, for the server's log
        assert sent
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize(
    ("error", "status"),
    [(RuntimeError("secret detail"), 500), (OperationalError("SELECT secret", {}, ValueError()), 503)],
)
def test_failures_get_the_published_format_and_the_header(error: Exception, status: int) -> None:
    """An internal error gets the published format and the header, without details."""
    app = create_app(BrokenStore(error), Settings(), KEY)  # type: ignore[arg-type]  # a store that fails is the point
    received, headers, body = call(app, [{"type": "http.request"}])

    assert (status, status, "an identity") == (received, json.loads(body)["statusCode"], headers["x-payerkit-sandbox"])
    assert b"secret" not in body


def guard() -> RequestGuard:
    """Return the middleware around an application that must not be called."""

    async def unreachable(*_: object) -> None:
        raise AssertionError

    return RequestGuard(unreachable, FaultInjector("", None), identity="x", api_key=KEY, settings=Settings(max_body=10))


JSON = [(b"content-type", b"application/json")]


@pytest.mark.parametrize(
    ("messages", "headers", "status"),
    [
        ([{"type": "http.disconnect"}], JSON, 400),  # the client gave up
        ([{"type": "http.request", "body": b"x" * 6, "more_body": True}] * 2, JSON, 413),  # in pieces, without a length
        ([], [*JSON, (b"content-length", b"9" * 5000)], 413),  # a length that int() refuses
        ([], [(b"content-type", b"text/json")], 415),
    ],
)
def test_bodies_are_bounded_before_they_are_read(messages: list[Any], headers: list[Any], status: int) -> None:
    """A body that is too large, incomplete or of another type never reaches the application."""
    assert call(guard(), messages, method="POST", headers=headers)[0] == status


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "cut", "slow"])
def test_a_connection_out_of_reach_gets_502(fault: str) -> None:
    """Under a server that hides its connections, a call whose response should be lost gets a 502."""

    async def app(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    before = RequestGuard(app, FaultInjector("", None), identity="x", api_key=KEY, settings=Settings())
    status, headers, body = call(before, [], headers=[(b"x-payerkit-faults", f"{fault}=100%".encode())])

    assert (502, "x", b"<html") == (status, headers["x-payerkit-sandbox"], body[:5])


class Wire:
    """A server's protocol object and its connection in one; records what is done to both."""

    def __init__(self) -> None:
        self.transport = self
        self.done: list[str] = []

    def get_extra_info(self, _: str) -> Any:
        """Return the socket: this object again."""
        return self

    def setsockopt(self, *_: object) -> None:
        """Accept any option."""

    def abort(self) -> None:
        """Record a reset."""
        self.done.append("reset")

    def close(self) -> None:
        """Record a close."""
        self.done.append("close")

    async def send(self, message: Any) -> None:
        """Record a message."""
        self.done.append(message["type"])

    async def receive(self) -> dict[str, Any]:
        """Report that the client has disconnected."""
        return {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("fault", "done"),
    [
        ("reset_before", ["reset"]),
        ("reset_after", ["stored", "reset"]),  # stored before the client sees the reset
        ("cut", ["stored", "http.response.start", "http.response.body", "close"]),
        ("fail_after", ["stored", "http.response.start", "http.response.body"]),
    ],
)
def test_a_write_is_stored_before_its_response_is_lost(fault: str, done: list[str]) -> None:
    """A write is finished when the client notices the fault."""
    wire = Wire()

    async def app(_scope: object, _receive: object, send: Any) -> None:
        wire.done.append("stored")
        await send({"type": "http.response.start", "status": 200, "headers": []})

    before = RequestGuard(app, FaultInjector(f"{fault}=100%", None), identity="x", api_key=KEY, settings=Settings())
    asyncio.run(before({**SCOPE, "headers": [(b"x-api-key", KEY.encode())]}, wire.receive, wire.send))

    assert done == wire.done


def test_a_limit_counts_the_last_minute() -> None:
    """Calls older than a minute no longer count, and Retry-After is exact."""
    times = iter([0.0, 30.0, 45.0, 45.0, 61.0])

    async def app(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    settings = Settings(rate_limit=2)
    limited = RequestGuard(
        app, FaultInjector("", None), identity="x", api_key=KEY, settings=settings, clock=lambda: next(times)
    )
    responses = [call(limited, []) for _ in range(4)]

    assert [200, 200, 429, 200] == [status for status, _, _ in responses]
    assert responses[2][1]["retry-after"] == "15"
