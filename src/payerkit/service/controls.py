"""Calls that only a sandbox has: its clock, its faults, the events that were fired, and the ledger."""

from __future__ import annotations

import hashlib
import hmac
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field
from sqlalchemy import select
from typing_extensions import TypedDict

from payerkit.service.clock import LATEST, ClockKind, format_time
from payerkit.service.errors import Problem
from payerkit.service.fields import AnyText
from payerkit.service.payers import EmptyRequest
from payerkit.service.tables import EntryRow, EventRow, WorldRow
from payerkit.service.world import WorldRouter, WorldSession, WriteKind


class ClockRequest(TypedDict):
    """By how many seconds to advance the clock."""

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True, examples=[120])]


class ClockResponse(TypedDict):
    """The kind of the service's clock, and its time."""

    clock: ClockKind
    now: Annotated[str, Field(examples=["2026-01-01T00:02:00Z"])]


class FaultsRequest(TypedDict):
    """A new fault plan; an empty one ends all faults."""

    plan: Annotated[AnyText, Field(examples=["latency=0.02, reset_after=5%"])]


class FiredEvent(TypedDict):
    """An event as it is first delivered: the body, byte by byte, and what its headers say."""

    number: int
    event: str
    firedAt: Annotated[str, Field(examples=["2026-01-01T00:02:00Z"])]
    deliveryId: Annotated[str, Field(json_schema_extra={"pattern": "^[0-9A-HJKMNP-TV-Z]{26}$"})]
    signature: Annotated[str, Field(json_schema_extra={"pattern": "^[0-9a-f]{64}$"})]
    body: str


class EventsResponse(TypedDict):
    """Events, in the order in which they were fired."""

    events: list[FiredEvent]


class EventsSecretResponse(TypedDict):
    """The secret of a world's events."""

    secret: str


class LedgerEntry(TypedDict):
    """A write that was stored.

    `clientUserId` is null where the write names no payer. `id` is that of the account, the request or the payment.
    `fingerprint` is equal only for equal bodies.
    """

    number: int
    what: WriteKind
    clientUserId: str | None
    id: str | None
    fingerprint: str


class LedgerResponse(TypedDict):
    """The stored writes, in order."""

    writes: list[LedgerEntry]


After = Annotated[int, Query(ge=0, le=2**53 - 1, description="Return only what has a number after this one.")]
"""A number of an entry or an event: at most what every JSON parser reads exactly."""

router = WorldRouter()


@router.call("GET /sandbox/clock", "sandbox_get_clock", "Read the clock")
def get_clock(session: WorldSession) -> ClockResponse:
    """Return the time by which the service decides."""
    return {"clock": session.settings.clock, "now": format_time(session.now)}


@router.call("POST /sandbox/clock/advance", "sandbox_advance_clock", "Advance the clock")
def advance_clock(body: ClockRequest, session: WorldSession) -> ClockResponse:
    """Advance the clock, so that what waits is decided. A wall clock then runs ahead by so much."""
    if session.now + body["seconds"] > LATEST:
        raise Problem.of_field("seconds", "must not lead beyond the year 9999", "clock_range")
    session.get_one(WorldRow, session.world.id).advanced += body["seconds"]
    session.now += body["seconds"]
    session.settle()
    session.world.limits.advance(body["seconds"])
    return {"clock": session.settings.clock, "now": format_time(session.now)}


@router.call("PUT /sandbox/faults", "sandbox_set_faults", "Set the fault plan")
async def put_faults(body: FaultsRequest, request: Request) -> FaultsRequest:
    """Set the fault plan of all calls; the header `x-payerkit-faults` sets one for a single call."""
    # async, so that it runs in the event loop, where calls read the plan
    request.state.world.faults.set_plan(body["plan"])
    return body


@router.call("POST /sandbox/events", "sandbox_fire_events", "Fire the events that are due")
def post_events(_body: EmptyRequest, session: WorldSession, after: After = 0) -> EventsResponse:
    """Fire what is due by the clock, and return the events, at most 1,000 per call."""
    there = (EventRow.world_id == session.world.id) & (EventRow.number > after)
    rows = session.scalars(select(EventRow).where(there).order_by(EventRow.number).limit(1000))
    secret = get_events_secret(session)["secret"].encode()
    events: Any = [
        {
            "number": row.number,
            "event": row.name,
            "firedAt": format_time(row.fired_at),
            "deliveryId": row.delivery_id,
            "signature": hmac.digest(secret, row.body.encode(), hashlib.sha256).hex(),
            "body": row.body,
        }
        for row in rows
    ]
    return {"events": events}


@router.call("GET /sandbox/events/secret", "sandbox_get_events_secret", "Read the secret of the events")
def get_events_secret(session: WorldSession) -> EventsSecretResponse:
    """Return the secret that signs the events of the world."""
    return {"secret": session.lookup_key("secret", "of events")}  # derived from the key of the database


@router.call("GET /sandbox/ledger", "sandbox_get_ledger", "Read what was stored")
def get_ledger(session: WorldSession, after: After = 0) -> LedgerResponse:
    """Return the writes that were stored, at most 10,000 per call."""
    there = (EntryRow.world_id == session.world.id) & (EntryRow.number > after)
    columns = select(EntryRow.number, EntryRow.what, EntryRow.body).where(there)
    rows = session.execute(columns.order_by(EntryRow.number).limit(10_000))
    writes: Any = [{"number": number, "what": what, **body} for number, what, body in rows]
    return {"writes": writes}
