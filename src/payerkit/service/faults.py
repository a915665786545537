"""Faults for rehearsal: calls that are late, refused, or lose their answer, by a plan or by a header of their own."""

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
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from payerkit.service.errors import Problem
from payerkit.service.identifiers import Identifiers

SHARES = (
    "refuse",
    "refuse_date",
    "reset_before",
    "reset_after",
    "cut",
    "fail_before",
    "fail_after",
    "slow",
)
"""Faults that a share of the calls meets; `faults.py` says what each does."""

_SECONDS = ("latency", "slow_for")
_NUMBER = r"[0-9]{1,4}(\.[0-9]{1,6})?"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """Seconds before every call, seconds until a slow write lands, and percents of the calls by fault."""

    latency: float = 0.0
    slow_for: float = 1.0
    shares: Mapping[str, Decimal] = field(default_factory=dict)

    def fault(self, draw: Decimal) -> str | None:
        """Return the fault of the call that drew this number from 0 to 100, None for no fault."""
        for name, percent in self.shares.items():
            if draw < percent:
                return name
            draw -= percent
        return None


def parse_fault_plan(text: str) -> FaultPlan:
    """Return the plan that a text describes; an empty one has no faults. Raises ValueError for what is no plan."""
    given: dict[str, str] = {}
    for item in text.split(",") if text.strip() else ():
        name, _, value = (part.strip() for part in item.partition("="))
        if name in given:
            raise ValueError(f"{name} is given twice")
        if name not in (*_SECONDS, *SHARES):
            raise ValueError(f"{name!r} is no fault; there are {', '.join((*_SECONDS, *SHARES))}")
        given[name] = value
    shares = {name: _percent(name, value) for name, value in given.items() if name in SHARES}
    if sum(shares.values()) > 100:
        raise ValueError("the shares are more than 100% together")
    seconds = {name: _seconds(name, value) for name, value in given.items() if name in _SECONDS}
    return FaultPlan(**seconds, shares=shares)


def _seconds(name: str, value: str) -> float:
    if not re.fullmatch(_NUMBER, value):
        raise ValueError(f"{name}: give seconds, such as {name}=0.5")
    return float(value)


def _percent(name: str, value: str) -> Decimal:
    if not re.fullmatch(f"{_NUMBER}%", value):
        raise ValueError(f"{name}: give a share of the calls, such as {name}=5%")
    return Decimal(value.removesuffix("%"))


HEADER = "x-payerkit-faults"
"""Header with a plan for one request; it counts instead of the service's."""

_API = ("/v1/", "/v2/")
_WRITES = ("POST", "PATCH", "PUT")


class Faults:
    """Decides which call meets which fault.

    By a keyed hash of what is asked and how often it was asked before, not by who comes first: the same table meets
    the same faults however many threads send it, and a repetition draws anew.
    """

    def __init__(self, plan: str, seed: int | str | None) -> None:
        self._secret = Identifiers(seed).digits(32, "faults")
        self._slow_writes: set[asyncio.Task[Any]] = set()
        self.set_plan(plan)

    def set_plan(self, text: str) -> None:
        """Follow this plan from now on, and count anew. Raises Problem for what is no plan."""
        self._plan, self._seen = _parsed(text, "plan"), Counter[bytes]()

    async def met(self, app: ASGIApp, scope: Scope, receive: Receive, line: ServerConnection) -> ASGIApp:
        """Wait as planned; return what answers the call, the application itself or a fault. Raises Problem."""
        if not scope["path"].startswith(_API):
            return app
        own = Headers(scope=scope).get(HEADER)
        plan = self._plan if own is None else _parsed(own, HEADER)
        await asyncio.sleep(plan.latency)
        fault = plan.fault(await self._draw(scope, receive)) if plan.shares else None
        if fault is None:
            return app

        async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
            await _ACTS[fault](_Met(app, scope, receive, send, line, plan.slow_for, self._slow_writes))

        return faulty

    async def _draw(self, scope: Scope, receive: Receive) -> Decimal:
        """Return a number from 0 to 100 for this request, the same for the same one in the same place."""
        body = (await receive())["body"] if scope["method"] in _WRITES else b""
        asked = hashlib.blake2b(repr((scope["method"], scope["path"], scope["query_string"], body)).encode()).digest()
        self._seen[asked] += 1
        drawn = hashlib.blake2b(asked + repr(self._seen[asked]).encode(), key=self._secret, digest_size=4).digest()
        return Decimal(int.from_bytes(drawn)) * 100 / 2**32


class ServerConnection:
    """The connection on which a request came, to be broken off.

    ASGI has no word for that. uvicorn, with h11 as with httptools, hands on `send` as a method of the object that holds
    the transport; under a server that does not, nothing can be broken off, and the call is answered 502 instead.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._transport: asyncio.Transport | None = getattr(getattr(send, "__self__", None), "transport", None)

    async def reset(self) -> bool:
        """Break off at once, as a machine that fails does; return whether that was possible."""
        if self._transport is None:
            return False
        # Without lingering the end is a reset; a plain close would be a clean end, which is another fault.
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        with suppress(OSError):  # the other side was faster
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()
        await self._gone()
        return True

    async def close(self) -> None:
        """Close after what was written has left."""
        if self._transport is not None:
            self._transport.close()
            await self._gone()

    async def _gone(self) -> None:
        """Wait until the server knows, too: it would log a traceback about an answer that nobody gave."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    @property
    def can_break(self) -> bool:
        """Whether the server lets the connection be reached."""
        return self._transport is not None


@dataclass(frozen=True, slots=True)
class _Met:
    """A call that meets a fault."""

    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    line: ServerConnection
    slow_for: float
    slow_writes: set[asyncio.Task[Any]]

    async def handle(self) -> list[Message]:
        """Let the application handle the call; return its answer, which nobody has got yet."""
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        await self.app(self.scope, self.receive, keep)
        return answer

    async def handle_later(self) -> None:
        await asyncio.sleep(self.slow_for)
        await self.handle()

    async def say(self, response: Response) -> None:
        await response(self.scope, self.receive, self.send)

    async def fail(self, status: int, words: str) -> None:
        """Answer as a proxy does that lost the service: in HTML."""
        await self.say(HTMLResponse(f"<html><body><h1>{status} {words}</h1></body></html>", status))

    async def lose(self) -> None:
        if not await self.line.reset():
            await self.fail(502, "Bad Gateway")


async def _refuse(met: _Met) -> None:
    await met.say(Problem(429, "Too Many Requests").answer({"Retry-After": "1"}))


async def _refuse_date(met: _Met) -> None:
    until = formatdate(time.time() + 1, usegmt=True)
    await met.say(Problem(429, "Too Many Requests").answer({"Retry-After": until}))


async def _fail_before(met: _Met) -> None:
    await met.fail(503, "Service Unavailable")


async def _fail_after(met: _Met) -> None:
    await met.handle()
    await met.fail(502, "Bad Gateway")


async def _reset_before(met: _Met) -> None:
    await met.lose()


async def _reset_after(met: _Met) -> None:
    await met.handle()
    await met.lose()


async def _cut(met: _Met) -> None:
    start, *rest = await met.handle()
    if not met.line.can_break:
        await met.fail(502, "Bad Gateway")
        return
    body = b"".join(message.get("body", b"") for message in rest)
    await met.send(start)
    await met.send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
    await met.line.close()


async def _slow(met: _Met) -> None:
    await met.lose()
    if met.scope["method"] in _WRITES:
        # A task of its own: the server would wait for it when it ends, and log a traceback when it lasts.
        task = asyncio.create_task(met.handle_later())
        met.slow_writes.add(task)
        task.add_done_callback(met.slow_writes.discard)


_ACTS: Mapping[str, Callable[[_Met], Awaitable[None]]] = {
    "refuse": _refuse,
    "refuse_date": _refuse_date,
    "reset_before": _reset_before,
    "reset_after": _reset_after,
    "cut": _cut,
    "fail_before": _fail_before,
    "fail_after": _fail_after,
    "slow": _slow,
}


def _parsed(text: str, place: str) -> FaultPlan:
    try:
        return parse_fault_plan(text)
    except ValueError as error:
        raise Problem.of(place, f"is no plan: {error}", "plan") from None
