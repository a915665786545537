"""The clock of a world, by which everything is decided, and the calls that read and
advance it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from typing_extensions import TypedDict

from payerkit_sandbox.failures import HttpError
from payerkit_sandbox.settings import ClockKind
from payerkit_sandbox.worlds import SessionDep

LATEST = 253_402_300_799.0
"""The last second of the year 9999: no clock can be advanced beyond it."""

router = APIRouter()


def format_time(seconds: float) -> str:
    """Return a time in seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


class AdvanceRequest(TypedDict):
    """By how many seconds to advance the clock."""

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class Clock(TypedDict):
    """A kind of clock, and its time."""

    clock: ClockKind
    now: str


@router.get("/sandbox/clock")
def get_clock(session: SessionDep) -> Clock:
    """Return the time by which the service decides."""
    return {"clock": session.settings.clock, "now": format_time(session.now)}


@router.post("/sandbox/clock/advance")
def advance_clock(body: AdvanceRequest, session: SessionDep) -> Clock:
    """Advance the clock, so that what waits is decided. A wall clock then runs ahead by
    so much.
    """
    seconds = body["seconds"]
    if session.now + seconds > LATEST:
        raise HttpError.of_field(
            "seconds", "must not lead beyond the year 9999", "clock_range"
        )
    session.row.advanced += seconds
    session.now += seconds
    session.settle()
    return get_clock(session)
