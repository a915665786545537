"""The gate and the refusals, spoken to as a server does, for what a socket cannot make happen."""

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
    """A store in which everything fails in the same way."""

    identity = "an identity"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def find_payer(self, _: str) -> None:
        """Fail."""
        raise self._error


def ask(app: Any, messages: list[dict[str, Any]], **scope: Any) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body that an application answers to a request."""
    sent: list[dict[str, Any]] = []
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(waiting)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    full = {**SCOPE, "headers": [(b"x-api-key", KEY.encode()), *scope.pop("headers", [])]}
    try:
        asyncio.run(app({**full, **scope}, receive, send))
    except (RuntimeError, OperationalError):  # the framework hands on what it has answered, for the server's log
        assert sent
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize(
    ("error", "status"),
    [(RuntimeError("secret detail"), 500), (OperationalError("SELECT secret", {}, ValueError()), 503)],
)
def test_failures_are_answered_in_shape_and_labelled(error: Exception, status: int) -> None:
    """A failure of the service's own is told in its shape, labelled, without what it was."""
    app = create_app(BrokenStore(error), Settings(), KEY)  # type: ignore[arg-type]  # a store that fails is the point
    answered, headers, body = ask(app, [{"type": "http.request"}])

    assert (status, status, "an identity") == (answered, json.loads(body)["statusCode"], headers["x-payerkit-sandbox"])
    assert b"secret" not in body


def gate() -> RequestGuard:
    """Return a gate before an application that is not to be reached."""

    async def unreachable(*_: object) -> None:
        raise AssertionError

    return RequestGuard(unreachable, FaultInjector("", None), identity="x", api_key=KEY, settings=Settings(max_body=10))


JSON = [(b"content-type", b"application/json")]


@pytest.mark.parametrize(
    ("messages", "headers", "status"),
    [
        ([{"type": "http.disconnect"}], JSON, 400),  # the other side gave up
        ([{"type": "http.request", "body": b"x" * 6, "more_body": True}] * 2, JSON, 413),  # in pieces, without a length
        ([], [*JSON, (b"content-length", b"9" * 5000)], 413),  # a length that no number holds
        ([], [(b"content-type", b"text/json")], 415),
    ],
)
def test_bodies_are_bounded_before_they_are_read(messages: list[Any], headers: list[Any], status: int) -> None:
    """What is too much, cut off or of another kind never reaches the application."""
    assert ask(gate(), messages, method="POST", headers=headers)[0] == status


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "cut", "slow"])
def test_a_connection_that_is_out_of_reach_is_answered(fault: str) -> None:
    """Under a server that hides its connections, a call whose answer is to be lost ends in a 502 instead."""

    async def app(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    before = RequestGuard(app, FaultInjector("", None), identity="x", api_key=KEY, settings=Settings())
    status, headers, body = ask(before, [], headers=[(b"x-payerkit-faults", f"{fault}=100%".encode())])

    assert (502, "x", b"<html") == (status, headers["x-payerkit-sandbox"], body[:5])


class Wire:
    """The object of a server that sends, and the connection that it holds; keeps what is done to both."""

    def __init__(self) -> None:
        self.transport = self
        self.done: list[str] = []

    def get_extra_info(self, _: str) -> Any:
        """Return the socket, which is the same here."""
        return self

    def setsockopt(self, *_: object) -> None:
        """Take any option."""

    def abort(self) -> None:
        """Be broken off."""
        self.done.append("reset")

    def close(self) -> None:
        """Be closed."""
        self.done.append("close")

    async def send(self, message: Any) -> None:
        """Send."""
        self.done.append(message["type"])

    async def receive(self) -> dict[str, Any]:
        """Tell that the connection is gone."""
        return {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("fault", "done"),
    [
        ("reset_before", ["reset"]),
        ("reset_after", ["stored", "reset"]),  # who looks after the reset finds it
        ("cut", ["stored", "http.response.start", "http.response.body", "close"]),
        ("fail_after", ["stored", "http.response.start", "http.response.body"]),
    ],
)
def test_what_is_stored_is_stored_before_its_answer_is_lost(fault: str, done: list[str]) -> None:
    """A write that happens is done when the client learns that something went wrong."""
    wire = Wire()

    async def app(_scope: object, _receive: object, send: Any) -> None:
        wire.done.append("stored")
        await send({"type": "http.response.start", "status": 200, "headers": []})

    before = RequestGuard(app, FaultInjector(f"{fault}=100%", None), identity="x", api_key=KEY, settings=Settings())
    asyncio.run(before({**SCOPE, "headers": [(b"x-api-key", KEY.encode())]}, wire.receive, wire.send))

    assert done == wire.done


def test_a_limit_counts_the_last_minute() -> None:
    """Calls that are a minute old do not count any more, and the wait that is told is the one it takes."""
    times = iter([0.0, 30.0, 45.0, 45.0, 61.0])

    async def app(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    settings = Settings(rate_limit=2)
    limited = RequestGuard(
        app, FaultInjector("", None), identity="x", api_key=KEY, settings=settings, clock=lambda: next(times)
    )
    answers = [ask(limited, []) for _ in range(4)]

    assert [200, 200, 429, 200] == [status for status, _, _ in answers]
    assert answers[2][1]["retry-after"] == "15"
