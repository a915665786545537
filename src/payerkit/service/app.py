"""The application: routes, exception handlers, the OpenAPI document, and the middleware around them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from pydantic import TypeAdapter
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp

from payerkit.service import accounts, pages, pay, payers, payments, payouts
from payerkit.service.database import LOGGER, describe, problem_of
from payerkit.service.errors import ErrorResponse, Problem, handle_exception, handle_validation_error
from payerkit.service.middleware import RequestGuard
from payerkit.service.settings import Settings
from payerkit.service.world import PageNotFound, Worlds

_DESCRIPTION = """The whole payment service on one machine, for experiments and tests. Enter the sandbox's API key under
**Authorize**. The calls under *sandbox only* do not exist on the live service: they set exchange rates, a demo wallet,
states and faults, and read a ledger of everything that was stored. Each API key opens a world of its own: the data,
rates, wallet, clock, faults and limits of other keys are not in it. [The start page](./) lists the test values."""

_ROUTERS = (
    *(payers.router, accounts.router, pay.router, payouts.router, payments.router),
    *pages.CONTROLS,
    pages.router,
)


def create_app(worlds: Worlds, settings: Settings, *, host: str = "localhost") -> ASGIApp:
    """Return the service on a database; the API key of a request opens one of its worlds."""
    # The outermost layer, so that responses to failures carry the sandbox's header, too.
    return RequestGuard(_create_routes(), worlds, settings, host=host)


@cache
def _create_routes() -> ASGIApp:
    """Return the routes of every service; each request brings its own world.

    Created once: FastAPI keeps references to an application for good, so one per sandbox would leak its database.
    """
    app = FastAPIOffline(
        title="payerkit sandbox", version="1", description=_DESCRIPTION, redoc_url=None, redirect_slashes=False
    )
    for router in _ROUTERS:
        app.include_router(router)
    app.openapi = partial(_create_document, app, app.openapi)  # type: ignore[method-assign]  # as FastAPI documents it
    handlers: dict[Any, Any] = {
        HTTPException: handle_exception,
        405: _handle_wrong_method,
        RequestValidationError: handle_validation_error,
        SQLAlchemyError: _handle_database_failure,
        PageNotFound: pages.handle_page_not_found,
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


async def _handle_database_failure(_request: Request, error: Exception) -> Response:
    """Respond to a failure before COMMIT; the log names the cause."""
    assert isinstance(error, SQLAlchemyError)  # noqa: S101 - registered for it alone
    LOGGER.error("database: %s", describe(error))
    return problem_of(error).response()


def _create_document(app: FastAPI, create: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return FastAPI's document with the schema of errors and the published examples.

    The status 422, which FastAPI adds, is left out: invalid fields get 400.
    """
    if app.openapi_schema is None:
        document = create()
        examples = json.loads(files(__package__).joinpath("examples.json").read_text("utf-8"))
        for operation in (each for path in document["paths"].values() for each in path.values()):
            operation["responses"].pop("422", None)
            if operation["tags"]:
                operation["security"] = [{"APIKeyHeader": []}]  # the middleware checks it; for /docs
            _add_examples(operation, examples.get(operation["operationId"].removesuffix("_v2"), {}))
        header = {"type": "apiKey", "in": "header", "name": "x-api-key"}
        document["components"]["securitySchemes"] = {"APIKeyHeader": header}
        schemas = document["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schema = TypeAdapter(ErrorResponse).json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs"))
        schemas["ErrorResponse"] = schema
        app.openapi_schema = document
    return app.openapi_schema


def _add_examples(operation: dict[str, Any], examples: Mapping[str, Mapping[str, Any]]) -> None:
    """Add examples of the body and of the response. FastAPI would leave out the null members of those it is given."""
    success = next(each for status, each in operation["responses"].items() if status.startswith("2"))
    for kind, described in (("requests", operation.get("requestBody")), ("responses", success)):
        if described and kind in examples:
            values = {name: {"value": value} for name, value in examples[kind].items()}
            described["content"]["application/json"]["examples"] = values
