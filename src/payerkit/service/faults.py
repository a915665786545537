"""Faults for tests and rehearsals: calls that are late, refused, or whose response is lost.

A plan sets them for all calls, or the header `x-payerkit-faults` for one.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from payerkit.service.clock import Identifiers
from payerkit.service.failures import HttpError

FAULTS_HEADER = "x-payerkit-faults"
"""Header with a fault plan for one request; it replaces the service's."""

REFUSE_EXISTING = "payerkit.refuse_existing"
"""Key in the scope of a request that registers a payer: the route refuses one who exists already."""

WRITE_METHODS = ("POST", "PATCH", "PUT")

_DURATIONS = ("latency", "slow_for")
_NUMBER = r"[0-9]{1,4}(\.[0-9]{1,6})?"
_API_PATHS = ("/v1/", "/v2/")

_MAX_SECONDS = 60
"""The longest latency, which keeps a connection: longer than any client waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """How often calls fail, and how.

    latency: seconds before every call. slow_for: seconds until a slow write is stored. percentages: of the calls, by
    fault.
    """

    latency: float = 0.0
    slow_for: float = 1.0
    percentages: Mapping[str, Decimal] = field(default_factory=dict)

    def fault_at(self, draw: Decimal) -> str | None:
        """Return the fault at a number from 0 to 100, or None; the faults share that range in the plan's order."""
        for name, percentage in self.percentages.items():
            if draw < percentage:
                return name
            draw -= percentage
        return None


def parse_fault_plan(text: str) -> FaultPlan:
    """Return the plan that a text describes; an empty one has no faults. Raises ValueError for an invalid one."""
    values: dict[str, str] = {}
    for item in text.split(",") if text.strip() else ():
        name, _, value = (part.strip() for part in item.partition("="))
        if name in values:
            raise ValueError(f"{name} is given twice")
        if name not in (*_DURATIONS, *FAULTS):
            raise ValueError(f"unknown fault {name!r}; expected one of {', '.join((*_DURATIONS, *FAULTS))}")
        values[name] = value
    percentages = {name: _parse_percentage(name, value) for name, value in values.items() if name in FAULTS}
    if sum(percentages.values()) > 100:
        raise ValueError("the percentages add up to more than 100%")
    seconds = {name: _parse_seconds(name, value) for name, value in values.items() if name in _DURATIONS}
    return FaultPlan(**seconds, percentages=percentages)


def _parse_seconds(name: str, value: str) -> float:
    if not re.fullmatch(_NUMBER, value):
        raise ValueError(f"{name}: expected seconds, such as {name}=0.5")
    if float(value) > _MAX_SECONDS:
        raise ValueError(f"{name}: expected at most {_MAX_SECONDS} seconds")
    return float(value)


def _parse_percentage(name: str, value: str) -> Decimal:
    if not re.fullmatch(f"{_NUMBER}%", value):
        raise ValueError(f"{name}: expected a percentage of the calls, such as {name}=5%")
    return Decimal(value.removesuffix("%"))


def _parse_plan_field(text: str, field_name: str) -> FaultPlan:
    try:
        return parse_fault_plan(text)
    except ValueError as error:
        raise HttpError.of_field(field_name, f"is not a valid fault plan: {error}", "plan") from None


class FaultInjector:
    """Decides which call meets which fault.

    The draw is a keyed hash of the request and of how often the same request came before, not the next number of a
    generator: so the same table meets the same faults however many threads send it, and a retry draws anew.
    `plan_text` is the plan of all calls, as it was set.
    """

    def __init__(self, plan: str, seed: int | str | None) -> None:
        self._secret = Identifiers(seed).token_bytes(32, "faults")
        self._slow_writes: set[asyncio.Task[Any]] = set()
        self.set_plan(plan)

    def set_plan(self, text: str) -> None:
        """Set the plan and count requests from zero. Raises HttpError for an invalid plan."""
        self._plan, self._counts = _parse_plan_field(text, "plan"), Counter[bytes]()
        self.plan_text = text

    async def wrap(self, app: ASGIApp, scope: Scope, receive: Receive, server: tuple[Receive, Send]) -> ASGIApp:
        """Wait for the planned latency; return the application, or one that injects the fault of this call.

        server: the functions by which the server itself receives and sends.
        """
        if not scope["path"].startswith(_API_PATHS):
            return app
        header = Headers(scope=scope).get(FAULTS_HEADER)
        plan = self._plan if header is None else _parse_plan_field(header, FAULTS_HEADER)
        if plan.latency:
            await asyncio.sleep(plan.latency)
        fault = plan.fault_at(await self._draw(scope, receive)) if plan.percentages else None
        if fault is None:
            return app

        async def app_with_fault(scope: Scope, receive: Receive, send: Send) -> None:
            await FAULTS[fault](_FaultyCall(app, scope, receive, send, server, plan.slow_for, self._slow_writes))

        return app_with_fault

    async def _draw(self, scope: Scope, receive: Receive) -> Decimal:
        """Return a number from 0 to 100 that depends on the request and its ordinal among equal requests."""
        body = (await receive())["body"] if scope["method"] in WRITE_METHODS else b""
        request = repr((scope["method"], scope["path"], scope["query_string"], body)).encode()
        digest = hashlib.blake2b(request).digest()
        self._counts[digest] += 1
        ordinal = repr(self._counts[digest]).encode()
        drawn = hashlib.blake2b(digest + ordinal, key=self._secret, digest_size=4).digest()
        return Decimal(int.from_bytes(drawn)) * 100 / 2**32


@dataclass(frozen=True, slots=True)
class _FaultyCall:
    """A call that meets a fault; the methods without an underscore are the faults."""

    _app: ASGIApp
    _scope: Scope
    _receive: Receive
    _send: Send
    _server: tuple[Receive, Send]
    _slow_for: float
    _slow_writes: set[asyncio.Task[Any]]

    async def refuse(self, retry_after: str = "1") -> None:
        """Respond with 429 and the seconds to wait; nothing is stored."""
        problem = HttpError(429, "Too Many Requests", headers={"Retry-After": retry_after})
        await problem.response()(self._scope, self._receive, self._send)

    async def refuse_date(self) -> None:
        """Respond with 429 and the time to wait for; nothing is stored."""
        await self.refuse(formatdate(time.time() + 1, usegmt=True))

    async def exists(self) -> None:
        """Refuse to register a payer who exists already (409); nothing is stored. No fault for any other call."""
        await self._app({**self._scope, REFUSE_EXISTING: True}, self._receive, self._send)

    async def reset_before(self) -> None:
        """Reset the connection; nothing is stored."""
        # With a linger time of zero, the kernel sends a reset; without, it closes in order, which is another fault.
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        with suppress(OSError):  # the client was faster
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()
        await self._wait_for_disconnect()

    async def reset_after(self) -> None:
        """Handle the call, then reset the connection."""
        await self._handle()
        await self.reset_before()

    async def cut(self) -> None:
        """Handle the call, send half of the response's body, then close the connection."""
        start, *rest = await self._handle()
        body = b"".join(message.get("body", b"") for message in rest)
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        self._transport.close()  # after everything written was sent
        await self._wait_for_disconnect()

    async def fail_before(self) -> None:
        """Respond with 503; nothing is stored."""
        await self._respond_as_proxy(503)

    async def fail_after(self) -> None:
        """Handle the call, then respond with 502."""
        await self._handle()
        await self._respond_as_proxy(502)

    async def slow(self) -> None:
        """Reset the connection, and handle a write after the client has given up."""
        await self.reset_before()
        if self._scope["method"] in WRITE_METHODS:
            # A task of its own: when it stops, the server waits for its requests, and logs a traceback if they last.
            task = asyncio.create_task(self._handle_later())
            self._slow_writes.add(task)  # the event loop holds its tasks weakly
            task.add_done_callback(self._slow_writes.discard)

    @property
    def _transport(self) -> asyncio.Transport:
        """The client's connection, which a fault resets or closes: ASGI has no means for that.

        uvicorn passes `send` as a method of the object that holds the transport.
        """
        protocol: Any = self._server[1]
        transport: asyncio.Transport = protocol.__self__.transport
        return transport

    async def _wait_for_disconnect(self) -> None:
        """Wait until the server notices: it would log a traceback about an application that did not respond."""
        while (await self._server[0]())["type"] != "http.disconnect":
            pass

    async def _handle(self) -> list[Message]:
        """Let the application handle the call; return its response, which nobody has received yet."""
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        await self._app(self._scope, self._receive, collect)
        return messages

    async def _handle_later(self) -> None:
        await asyncio.sleep(self._slow_for)
        await self._handle()

    async def _respond_as_proxy(self, status: int) -> None:
        """Respond in HTML, as a proxy that has lost the service does."""
        phrase = HTTPStatus(status).phrase
        page = HTMLResponse(f"<html><body><h1>{status} {phrase}</h1></body></html>", status)
        await page(self._scope, self._receive, self._send)


FAULTS: Mapping[str, Callable[[_FaultyCall], Awaitable[None]]] = {
    name: method for name, method in vars(_FaultyCall).items() if not name.startswith("_")
}
"""The faults that a percentage of the calls can meet."""
