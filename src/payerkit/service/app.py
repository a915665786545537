"""The application: routes, refusals, and the gate around them."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from payerkit.service import pages, routes, sandbox_routes
from payerkit.service.errors import Problem, answer_invalid, answer_problem
from payerkit.service.faults import Faults
from payerkit.service.middleware import RequestGuard
from payerkit.service.settings import Settings
from payerkit.service.store import Store

_ABOUT = """The whole payment service on one machine, for trying out and for tests. Put the sandbox's key into
**Authorize**. The calls under *sandbox only* are its own: rates, demo wallet, states set by hand, faults, and a ledger
of what was stored. Test values stand on [the start page](/)."""


def create_app(store: Store, settings: Settings, api_key: str) -> ASGIApp:
    """Return the service over a database, guarded by a key."""
    faults = Faults(settings.faults, settings.seed)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        state = {"store": store, "settings": settings, "faults": faults}
        await _routes()({**scope, "state": state}, receive, send)

    # Around everything, so that a failure's answer is labelled, too.
    return RequestGuard(serve, faults, identity=store.identity, api_key=api_key, settings=settings)


@cache
def _routes() -> ASGIApp:
    """Return the routes, which know no service: FastAPI keeps what it was once given, so they are made once."""
    app = FastAPIOffline(
        title="payerkit sandbox", version="1", description=_ABOUT, redoc_url=None, redirect_slashes=False
    )
    app.include_router(routes.router, tags=["the API"])
    app.include_router(sandbox_routes.router)
    app.include_router(pages.router)
    handlers: dict[Any, Any] = {
        Problem: answer_problem,
        HTTPException: answer_problem,
        RequestValidationError: answer_invalid,
        OperationalError: _answer_busy,
        Exception: answer_problem,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    return app


async def _answer_busy(_request: Request, _error: Exception) -> Response:
    return Problem(503, "the sandbox's database does not answer; try again").answer({"Retry-After": "1"})
