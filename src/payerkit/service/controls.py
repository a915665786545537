"""Calls that only a sandbox has: its clock, its faults, the events that were fired, and the ledger."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field
from sqlalchemy import select
from typing_extensions import TypedDict

from payerkit.service.clock import LATEST, format_time
from payerkit.service.failures import HttpError
from payerkit.service.fields import AnyText
from payerkit.service.payers import EmptyRequest
from payerkit.service.tables import EntryRow, EventRow, WorldRow
from payerkit.service.world import WorldRouter, WorldSession


class ClockRequest(TypedDict):
    """By how many seconds to advance the clock."""

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class FaultsRequest(TypedDict):
    """A new fault plan; an empty one ends all faults."""

    plan: AnyText


After = Annotated[int, Query(ge=0, le=2**53 - 1)]
"""A number of an entry or an event: at most what every JSON parser reads exactly."""

router = WorldRouter()


@router.call("GET /sandbox/clock")
def get_clock(session: WorldSession) -> Mapping[str, Any]:
    """Return the time by which the service decides."""
    return {"clock": session.settings.clock, "now": format_time(session.now)}


@router.call("POST /sandbox/clock/advance")
def advance_clock(body: ClockRequest, session: WorldSession) -> Mapping[str, Any]:
    """Advance the clock, so that what waits is decided. A wall clock then runs ahead by so much."""
    if session.now + body["seconds"] > LATEST:
        raise HttpError.of_field("seconds", "must not lead beyond the year 9999", "clock_range")
    session.update_world(advanced=WorldRow.advanced + body["seconds"])
    session.now += body["seconds"]
    session.settle()
    return {"clock": session.settings.clock, "now": format_time(session.now)}


@router.call("PUT /sandbox/faults")
async def put_faults(body: FaultsRequest, request: Request) -> Mapping[str, Any]:
    """Set the fault plan of all calls; the header `x-payerkit-faults` sets one for a single call."""
    # async, so that it runs in the event loop, where calls read the plan
    request.state.world.faults.set_plan(body["plan"])
    return body


@router.call("POST /sandbox/events")
def post_events(_body: EmptyRequest, session: WorldSession, after: After = 0) -> Mapping[str, Any]:
    """Fire what is due by the clock, and return the events, at most 1,000 per call."""
    there = (EventRow.world_id == session.world.id) & (EventRow.number > after)
    rows = session.scalars(select(EventRow).where(there).order_by(EventRow.number).limit(1000))
    secret = get_events_secret(session)["secret"].encode()
    events = [
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


@router.call("GET /sandbox/events/secret")
def get_events_secret(session: WorldSession) -> Mapping[str, Any]:
    """Return the secret that signs the events of the world."""
    return {"secret": session.lookup_key("secret", "of events")}  # derived from the key of the database


@router.call("GET /sandbox/ledger")
def get_ledger(session: WorldSession, after: After = 0) -> Mapping[str, Any]:
    """Return the writes that were stored, at most 10,000 per call."""
    there = (EntryRow.world_id == session.world.id) & (EntryRow.number > after)
    columns = select(EntryRow.number, EntryRow.what, EntryRow.body).where(there)
    rows = session.execute(columns.order_by(EntryRow.number).limit(10_000))
    writes = [{"number": number, "what": what, **body} for number, what, body in rows]
    return {"writes": writes}
