"""The application: routes, exception handlers, and the middleware around them."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from payerkit.service import health, pages, payout_routes, routes, sandbox_routes
from payerkit.service.call_log import CALL_RECORD
from payerkit.service.database_failures import CommitFailed, handle_database_failure, handle_failed_commit
from payerkit.service.document import create_document
from payerkit.service.errors import Problem, handle_exception, handle_validation_error
from payerkit.service.middleware import RequestGuard
from payerkit.service.settings import Settings
from payerkit.service.worlds import Worlds

_DESCRIPTION = """The whole payment service on one machine, for experiments and tests. Enter the sandbox's API key under
**Authorize**. The calls under *sandbox only* do not exist on the live service: they set exchange rates, a demo wallet,
states and faults, and read a ledger of everything that was stored. Each API key opens a world of its own: the data,
rates, wallet, clock, faults and limits of other keys are not in it. [The start page](./) lists the test values."""

_ROUTERS = (
    routes.router,
    payout_routes.router,
    sandbox_routes.router,
    payout_routes.controls,
    health.router,
    pages.router,
)


def create_app(worlds: Worlds, settings: Settings) -> ASGIApp:
    """Return the service on a database; the API key of a request opens one of its worlds."""
    checks = health.Health(worlds)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = {"settings": settings, "worlds": worlds, "health": checks, **scope.get("state", {})}
        try:
            await _create_routes()(scope, receive, send)
        finally:
            scope[CALL_RECORD].route = getattr(scope.get("route"), "path_format", None)

    # The outermost layer, so that responses to failures carry the sandbox's header, too.
    return RequestGuard(serve, worlds, settings)


@cache
def _create_routes() -> ASGIApp:
    """Return the routes of every service; each request brings its own store.

    Created once: FastAPI keeps references to an application for good, so one per sandbox would leak its store.
    """
    app = FastAPIOffline(
        title="payerkit sandbox", version="1", description=_DESCRIPTION, redoc_url=None, redirect_slashes=False
    )
    for router in _ROUTERS:
        app.include_router(router)
    app.openapi = partial(create_document, app, app.openapi)  # type: ignore[method-assign]  # as FastAPI documents it
    handlers: dict[Any, Any] = {
        HTTPException: handle_exception,
        405: _handle_wrong_method,
        RequestValidationError: handle_validation_error,
        SQLAlchemyError: handle_database_failure,
        CommitFailed: handle_failed_commit,
        pages.PageNotFound: pages.handle_page_not_found,
        Problem: handle_exception,
        Exception: handle_exception,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    return app


async def _handle_wrong_method(request: Request, _error: Exception) -> Response:
    """Respond with all methods of the path; the framework names those of its first route."""
    matching = (
        route.methods or ()
        for router in _ROUTERS
        for route in router.routes
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
    )
    allowed = {method for methods in matching for method in methods}
    return Problem(405, "Method Not Allowed").response({"Allow": ", ".join(sorted(allowed))})
