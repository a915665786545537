"""GET /healthz: tells a load balancer or a monitor whether the sandbox and its database respond."""

from __future__ import annotations

from typing import Annotated, Literal

import anyio
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from payerkit.service.document import describe_refusals
from payerkit.service.errors import Problem
from payerkit.service.routes import from_state
from payerkit.service.worlds import Worlds

router = APIRouter(tags=["sandbox only"], responses=describe_refusals(400, 421, 500, 503))

_SECONDS = 2.0
"""How long the database may take to respond."""


class HealthResponse(TypedDict):
    """The sandbox and its database respond."""

    status: Literal["ok"]


@router.get("/healthz", operation_id="sandbox_health", summary="Check the sandbox and its database")
async def get_health(worlds: Annotated[Worlds, from_state("worlds")]) -> HealthResponse:
    """Return `ok` if the database responds within 2 seconds, else 503. Needs no API key, and counts for no limit."""
    # A thread of its own, since all others may be waiting for the database.
    with anyio.move_on_after(_SECONDS) as limit:
        await to_thread.run_sync(worlds.ping, abandon_on_cancel=True, limiter=CapacityLimiter(1))
    if limit.cancelled_caught:
        raise Problem(503, "The sandbox's database does not respond", headers={"Retry-After": "5"})
    return {"status": "ok"}
