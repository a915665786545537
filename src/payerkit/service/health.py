"""GET /healthz: tells a load balancer or a monitor whether the sandbox and its database respond."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

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


class Health:
    """Asks the database whether it responds: once for all who want to know, since each question takes a thread."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._asked: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Return if the database responds in time. Raises Problem or SQLAlchemyError."""
        asked = self._asked
        if asked is None or asked.done():
            asked = self._asked = asyncio.create_task(self._ask())
            asked.add_done_callback(_forget_failure)
        await asyncio.wait({asked}, timeout=_SECONDS)
        if not asked.done():
            raise Problem(503, "The sandbox's database does not respond", headers={"Retry-After": "5"})
        asked.result()

    async def _ask(self) -> None:
        # A thread of its own, since all others may be waiting for the database.
        await to_thread.run_sync(self._worlds.ping, abandon_on_cancel=True, limiter=CapacityLimiter(1))


def _forget_failure(asked: asyncio.Task[None]) -> None:
    """Keep asyncio from logging a failure for which nobody waited to the end."""
    if not asked.cancelled():
        asked.exception()


@router.get("/healthz", operation_id="sandbox_health", summary="Check the sandbox and its database")
async def get_health(health: Annotated[Health, from_state("health")]) -> HealthResponse:
    """Return `ok` if the database responds within 2 seconds, else 503. Needs no API key, and counts for no limit."""
    await health.check()
    return {"status": "ok"}
