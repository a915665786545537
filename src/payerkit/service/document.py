"""The OpenAPI document: its error responses, each with its schema, so that clients get typed errors; its examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Literal, NotRequired

from fastapi import FastAPI
from pydantic import TypeAdapter
from typing_extensions import TypedDict

FieldCode = Literal[
    # of pydantic, which checks the form of a body
    "bool_type",
    "dict_type",
    "finite_number",
    "float_type",
    "greater_than",
    "greater_than_equal",
    "int_parsing",
    "int_parsing_size",
    "less_than_equal",
    "list_type",
    "literal_error",
    "missing",
    "string_pattern_mismatch",
    "string_too_long",
    "string_too_short",
    "string_type",
    "string_unicode",
    "too_long",
    "too_short",
    # of the sandbox, which checks what it means
    "account_not_approved",
    "address_checksum",
    "address_format",
    "address_zero",
    "amount_digits",
    "amount_format",
    "amount_range",
    "below_currency_limit",
    "clock_range",
    "currency_kind",
    "currency_network",
    "currency_payout",
    "currency_unknown",
    "no_rate",
    "plan",
    "rate",
    "time",
    "transactions",
]
"""What is wrong with a field."""


class FieldError(TypedDict):
    """What is wrong with one field; the message follows the field's name."""

    field: str
    message: str
    code: FieldCode


class BadRequestResponse(TypedDict):
    """The request is malformed; `errors` names every invalid field, if it is about fields."""

    statusCode: Literal[400]
    message: str
    error: Literal["Bad Request"]
    errors: NotRequired[list[FieldError]]


class UnauthorizedResponse(TypedDict):
    """The API key is missing or wrong."""

    statusCode: Literal[401]
    message: Literal["Unauthorized"]


class ForbiddenResponse(TypedDict):
    """The payer may not do this yet; the code says what is missing."""

    statusCode: Literal[403]
    message: str
    error: Literal["Forbidden"]
    code: Literal["not_yet_passed_kyc_kyb", "not_approved_for_payout_rail"]


class NotFoundResponse(TypedDict):
    """What the path names does not exist."""

    statusCode: Literal[404]
    message: str
    error: Literal["Not Found"]


class RequestTimeoutResponse(TypedDict):
    """The body took too long to arrive; the connection is closed."""

    statusCode: Literal[408]
    message: str
    error: Literal["Request Timeout"]


class ConflictResponse(TypedDict):
    """The call is not possible in the current state, such as for a payer who exists already."""

    statusCode: Literal[409]
    message: str
    error: Literal["Conflict"]


class ContentTooLargeResponse(TypedDict):
    """The body is too large; the connection is closed. `error` depends on the sandbox's version of Python."""

    statusCode: Literal[413]
    message: str
    error: Literal["Content Too Large", "Request Entity Too Large"]


class UnsupportedMediaTypeResponse(TypedDict):
    """The body is not sent as JSON."""

    statusCode: Literal[415]
    message: str
    error: Literal["Unsupported Media Type"]


class MisdirectedRequestResponse(TypedDict):
    """The sandbox does not serve the host name of the request."""

    statusCode: Literal[421]
    message: str
    error: Literal["Misdirected Request"]


class TooManyRequestsResponse(TypedDict):
    """A limit of calls is reached; nothing was done."""

    statusCode: Literal[429]
    message: Literal["Too Many Requests"]
    error: Literal["Too Many Requests"]


class InternalServerErrorResponse(TypedDict):
    """The sandbox failed; its log says why."""

    statusCode: Literal[500]
    message: str
    error: Literal["Internal Server Error"]


class ServiceUnavailableResponse(TypedDict):
    """The call cannot be handled now. Nothing was stored; with the code `outcome_open`, it may have been."""

    statusCode: Literal[503]
    message: str
    error: Literal["Service Unavailable"]
    code: NotRequired[Literal["outcome_open"]]


class InsufficientStorageResponse(TypedDict):
    """The disk of the sandbox's database is full; nothing was stored."""

    statusCode: Literal[507]
    message: str
    error: Literal["Insufficient Storage"]


_ERRORS: Mapping[int, Any] = {
    400: BadRequestResponse,
    401: UnauthorizedResponse,
    403: ForbiddenResponse,
    404: NotFoundResponse,
    408: RequestTimeoutResponse,
    409: ConflictResponse,
    413: ContentTooLargeResponse,
    415: UnsupportedMediaTypeResponse,
    421: MisdirectedRequestResponse,
    429: TooManyRequestsResponse,
    500: InternalServerErrorResponse,
    503: ServiceUnavailableResponse,
    507: InsufficientStorageResponse,
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait, or a date.", "schema": {"type": "string"}}}
_PAGE = {"text/html": {"schema": {"type": "string"}}}
_REF = "#/components/schemas/{model}"


def describe_refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return error responses for the document, each with a reference to its schema.

    Not with the type itself: FastAPI would make a validator of it for each response, which takes half a second in all.
    """
    return {status: _describe(status) for status in statuses}


def _describe(status: int, **content: Any) -> dict[str, Any]:
    error = _ERRORS[status]
    content = {"application/json": {"schema": {"$ref": _REF.format(model=error.__name__)}}, **content}
    headers = {"headers": _RETRY_AFTER} if status in {429, 503} else {}
    return {"description": error.__doc__, "content": content, **headers}


ANY_CALL = describe_refusals(400, 401, 421, 500, 503)
"""Refusals that every call may get."""

API_CALL = describe_refusals(429) | {
    502: {
        "description": "Only with a fault plan: a web page, such as a proxy sends that cannot reach the service.",
        "content": _PAGE,
    },
    503: _describe(503, **_PAGE),
}
"""Refusals that a call of the API may get, too: it is limited, and meets faults, which send 502 and 503 as pages."""

WRITE = describe_refusals(408, 413, 415, 507)
"""Refusals that a call with a body may get, too."""


def create_document(app: FastAPI, create: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return FastAPI's document with the errors' schemas and the published examples.

    The status 422, which FastAPI adds, is left out: invalid fields get 400.
    """
    if app.openapi_schema is None:
        document = create()
        examples = json.loads(files(__package__).joinpath("examples.json").read_text("utf-8"))
        for operation in (each for path in document["paths"].values() for each in path.values()):
            operation["responses"].pop("422", None)
            _add_examples(operation, examples.get(operation["operationId"].removesuffix("_v2"), {}))
        schemas = document["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas.update(_error_schemas())
        app.openapi_schema = document
    return app.openapi_schema


def _error_schemas() -> dict[str, Any]:
    """Return the schemas of the error responses, by their names."""
    adapters: Any = [(error.__name__, "serialization", TypeAdapter(error)) for error in _ERRORS.values()]
    _, definitions = TypeAdapter.json_schemas(adapters, ref_template=_REF)
    return dict(definitions["$defs"])


def _add_examples(operation: dict[str, Any], examples: Mapping[str, Mapping[str, Any]]) -> None:
    """Add examples of the body and of the response. FastAPI would leave out the null members of those it is given."""
    success = next(each for status, each in operation["responses"].items() if status.startswith("2"))
    for kind, described in (("requests", operation.get("requestBody")), ("responses", success)):
        if described and kind in examples:
            values = {name: {"value": value} for name, value in examples[kind].items()}
            described["content"]["application/json"]["examples"] = values
