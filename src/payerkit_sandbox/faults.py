"""Faults for tests and rehearsals: calls that are late, refused, or whose response is
lost, as a plan says.
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

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import TypedDict

from payerkit_sandbox.common_fields import AnyText
from payerkit_sandbox.failures import HttpError

_NUMBER = r"[0-9]{1,4}(\.[0-9]{1,6})?"

_MAX_SECONDS = 60
"""The longest latency, which keeps a connection: longer than any client waits."""

router = APIRouter()


class FaultsRequest(TypedDict):
    """A new fault plan; an empty one ends all faults."""

    plan: AnyText


@router.put("/sandbox/faults")
async def put_faults(body: FaultsRequest, request: Request) -> FaultsRequest:
    """Set the fault plan of all calls."""
    # async, so that it runs in the event loop, where calls read the plan
    request.state.world.faults.set_plan(body["plan"])
    return body


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """How often calls fail, and how.

    latency: seconds before every call. slow_for: seconds until a slow write is stored.
    percentages: of the calls, by fault.
    """

    latency: float = 0.0
    slow_for: float = 1.0
    percentages: Mapping[str, Decimal] = field(default_factory=dict)

    def fault_at(self, draw: Decimal) -> str | None:
        """Return the fault at a number from 0 to 100, or None; the faults share that
        range in the plan's order.
        """
        for name, percentage in self.percentages.items():
            if draw < percentage:
                return name
            draw -= percentage
        return None


def parse_fault_plan(text: str) -> FaultPlan:
    """Return the plan that a text describes; an empty one has no faults. Raises
    ValueError for an invalid one.
    """
    if not text.strip():
        return FaultPlan()
    seconds: dict[str, float] = {}
    percentages: dict[str, Decimal] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        name = name.strip()
        if name in seconds or name in percentages:
            raise ValueError(f"{name} is given twice")
        if name in {"latency", "slow_for"}:
            seconds[name] = _parse_seconds(name, value.strip())
        elif name in FAULTS:
            percentages[name] = _parse_percentage(name, value.strip())
        else:
            known = ", ".join(["latency", "slow_for", *FAULTS])
            raise ValueError(f"unknown fault {name!r}; expected one of {known}")
    if sum(percentages.values()) > 100:
        raise ValueError("the percentages add up to more than 100%")
    return FaultPlan(**seconds, percentages=percentages)


def _parse_seconds(name: str, value: str) -> float:
    if not re.fullmatch(_NUMBER, value):
        raise ValueError(f"{name}: expected seconds, such as {name}=0.5")
    if float(value) > _MAX_SECONDS:
        raise ValueError(f"{name}: expected at most {_MAX_SECONDS} seconds")
    return float(value)


def _parse_percentage(name: str, value: str) -> Decimal:
    if not re.fullmatch(f"{_NUMBER}%", value):
        raise ValueError(
            f"{name}: expected a percentage of the calls, such as {name}=5%"
        )
    return Decimal(value.removesuffix("%"))


class FaultInjector:
    """Decides which call meets which fault.

    The draw is a keyed hash of the request and of how often the same request came
    before, not the next number of a generator: so the same table meets the same faults
    however many threads send it, and a retry draws anew.
    """

    def __init__(self, plan: str, secret: bytes) -> None:
        self._secret = secret
        self._slow_writes: set[asyncio.Task[Any]] = set()
        self.set_plan(plan)

    def set_plan(self, text: str) -> None:
        """Set the plan and count requests from zero. Raises HttpError for an invalid
        plan.
        """
        try:
            self._plan = parse_fault_plan(text)
        except ValueError as error:
            message = f"is not a valid fault plan: {error}"
            raise HttpError.of_field("plan", message, "plan") from None
        self._counts = Counter[bytes]()

    async def call(
        self, app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Wait for the planned latency, then let the application respond, or inject the
        fault of this call.
        """
        plan = self._plan
        await asyncio.sleep(plan.latency)
        fault = plan.fault_at(self._draw(scope, body))
        if fault is None:
            await app(scope, receive, send)
            return
        call = _FaultyCall(app, scope, receive, send, plan.slow_for, self._slow_writes)
        await FAULTS[fault](call)

    def _draw(self, scope: Scope, body: bytes) -> Decimal:
        """Return a number from 0 to 100 that depends on the request and its ordinal
        among equal requests.
        """
        request = (scope["method"], scope["path"], scope["query_string"], body)
        digest = hashlib.blake2b(repr(request).encode()).digest()
        self._counts[digest] += 1
        ordinal = repr(self._counts[digest]).encode()
        drawn = hashlib.blake2b(digest + ordinal, key=self._secret, digest_size=4)
        return Decimal(int.from_bytes(drawn.digest())) * 100 / 2**32


@dataclass(frozen=True, slots=True)
class _FaultyCall:
    """A call that meets a fault; the methods without an underscore are the faults."""

    _app: ASGIApp
    _scope: Scope
    _receive: Receive
    _send: Send
    _slow_for: float
    _slow_writes: set[asyncio.Task[Any]]

    async def refuse(self, retry_after: str = "1") -> None:
        """Respond with 429 and the seconds to wait; nothing is stored."""
        headers = {"Retry-After": retry_after}
        refusal = HttpError(429, "Too Many Requests", headers=headers).response()
        await refusal(self._scope, self._receive, self._send)

    async def refuse_date(self) -> None:
        """Respond with 429 and the time to wait for; nothing is stored."""
        await self.refuse(formatdate(time.time() + 1, usegmt=True))

    async def exists(self) -> None:
        """Refuse to register a payer who exists already (409); nothing is stored. No
        fault for any other call.
        """
        self._scope["state"]["refuses_existing"] = True
        await self._app(self._scope, self._receive, self._send)

    async def reset_before(self) -> None:
        """Reset the connection; nothing is stored."""
        # With a linger time of zero, the kernel sends a reset; without, it closes in
        # order, which is another fault.
        form = "hh" if os.name == "nt" else "ii"
        linger = struct.pack(form, 1, 0)
        with suppress(OSError):  # the client was faster
            self._transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
        self._transport.abort()
        await self._wait_for_disconnect()

    async def reset_after(self) -> None:
        """Handle the call, then reset the connection."""
        await self._handle()
        await self.reset_before()

    async def cut(self) -> None:
        """Handle the call, send half of the response's body, then close the
        connection.
        """
        start, *rest = await self._handle()
        body = b"".join(message.get("body", b"") for message in rest)
        half = body[: len(body) // 2]
        await self._send(start)
        await self._send(
            {"type": "http.response.body", "body": half, "more_body": True}
        )
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
        if self._scope["method"] != "GET":
            # A task of its own: when it stops, the server waits for its requests, and
            # logs a traceback if they last.
            task = asyncio.create_task(self._handle_later())
            self._slow_writes.add(task)  # the event loop holds its tasks weakly
            task.add_done_callback(self._slow_writes.discard)

    @property
    def _transport(self) -> asyncio.Transport:
        """The client's connection, which a fault resets or closes: ASGI has no means
        for that.

        uvicorn passes `send` as a method of the object that holds the transport.
        """
        transport: asyncio.Transport = self._scope["state"]["send"].__self__.transport
        return transport

    async def _wait_for_disconnect(self) -> None:
        """Wait until the server notices: it would log a traceback about an application
        that did not respond.
        """
        receive: Receive = self._scope["state"]["receive"]
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _handle(self) -> list[Message]:
        """Let the application handle the call; return its response, which nobody has
        received yet.
        """
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
        html = f"<html><body><h1>{status} {phrase}</h1></body></html>"
        page = HTMLResponse(html, status)
        await page(self._scope, self._receive, self._send)


FAULTS: Mapping[str, Callable[[_FaultyCall], Awaitable[None]]] = {
    name: method
    for name, method in vars(_FaultyCall).items()
    if not name.startswith("_")
}
"""The faults that a percentage of the calls can meet."""
