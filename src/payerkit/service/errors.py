"""Error responses in the service's published format, and how the OpenAPI document describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal, NotRequired, Self

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field
from typing_extensions import TypedDict

NO_JSON = "Content-Type must be application/json"
"""The message for a body of another type, which is also no valid one."""

# fmt: off
FIELD_CODES = (
    # of pydantic, which checks the form of a body
    "bool_type", "dict_type", "finite_number", "float_type", "greater_than", "greater_than_equal", "int_parsing",
    "int_parsing_size", "less_than_equal", "list_type", "literal_error", "missing", "string_pattern_mismatch",
    "string_too_long", "string_too_short", "string_type", "string_unicode", "too_long", "too_short",
    # of the rules
    "account_not_approved", "address_checksum", "address_format", "address_zero", "amount_digits", "amount_format",
    "amount_range", "below_currency_limit", "clock_range", "currency_kind", "currency_network", "currency_payout",
    "currency_unknown", "no_rate", "plan", "rate", "time", "transactions",
)
# fmt: on
"""What may be wrong with a field."""


class FieldError(TypedDict):
    """What is wrong with one field; the message follows the field's name."""

    field: str
    message: str
    code: Annotated[str, Field(json_schema_extra={"enum": list(FIELD_CODES)})]


class ErrorResponse(TypedDict):
    """A refusal or a failure. `errors` names every invalid field; `code` says why a payer may not do something yet.

    `error` is the status in words, whose spelling depends on the sandbox's version of Python; 401 has none.
    """

    statusCode: int
    message: str
    error: NotRequired[str]
    code: NotRequired[Literal["not_yet_passed_kyc_kyb", "not_approved_for_payout_rail"]]
    errors: NotRequired[list[FieldError]]


ERRORS = {
    400: "The request is malformed.",
    401: "The API key is missing or wrong.",
    403: "The payer may not do this yet; the code says what is missing.",
    404: "What the path names does not exist.",
    408: "The body took too long to arrive; the connection is closed.",
    409: "The call is not possible in the current state, such as for a payer who exists already.",
    413: "The body is too large; the connection is closed.",
    415: "The body is not sent as JSON.",
    421: "The sandbox does not serve the host name of the request.",
    429: "A limit of calls is reached; nothing was done.",
    500: "The sandbox failed; its log says why.",
    503: "The call cannot be handled now.",
    507: "The disk of the sandbox's database is full; nothing was stored.",
}
"""The statuses of error responses, and what each means."""

_SCHEMA = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}
_PAGE = {"text/html": {"schema": {"type": "string"}}}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait, or a date.", "schema": {"type": "string"}}}


def describe_refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return error responses for the OpenAPI document.

    They refer to the schema by name. Given the type, FastAPI would make a validator of it for each response, which
    takes half a second in all.
    """
    return {
        status: {"description": ERRORS[status], "content": _SCHEMA}
        | ({"headers": _RETRY_AFTER} if status in {429, 503} else {})
        for status in statuses
    }


ANY_CALL = describe_refusals(400, 401, 421, 500, 503)
"""Refusals that every call may get."""

API_CALL = describe_refusals(429, 503) | {
    502: {
        "description": "Only with a fault plan: a web page, such as a proxy sends that cannot reach the service.",
        "content": _PAGE,
    }
}
API_CALL[503]["content"] = _SCHEMA | _PAGE
"""Refusals that a call of the API may get, too: it is limited, and meets faults, which send 502 and 503 as pages."""

WRITE = describe_refusals(408, 413, 415, 507)
"""Refusals that a call with a body may get, too."""


class SetupError(Exception):
    """The service cannot start; the message says what to change."""


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """An error response: status, message, the invalid fields, the service's code for the reason, and headers."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[Mapping[str, str]] = (),
        *,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.code = code
        self.headers = dict(headers or {})

    @classmethod
    def of_field(cls, field: str, message: str, code: str) -> Self:
        """Return a 400 for one field; the message follows the field's name."""
        return cls.of_fields([{"field": field, "message": message, "code": code}])

    @classmethod
    def of_fields(cls, errors: Sequence[Mapping[str, str]]) -> Self:
        """Return a 400 for several fields."""
        return cls(400, "; ".join(f"{error['field'] or 'the body'} {error['message']}" for error in errors), errors)

    def response(self) -> JSONResponse:
        """Return the response in the published format."""
        body: dict[str, Any] = {"statusCode": self.status, "message": self.message}
        if self.status != 401:
            body["error"] = HTTPStatus(self.status).phrase
        if self.code is not None:
            body["code"] = self.code
        if errors := [error for error in self.errors if error["field"]]:
            body["errors"] = errors
        return JSONResponse(body, self.status, self.headers)


async def handle_validation_error(request: Request, error: Exception) -> JSONResponse:
    """Respond to an invalid body: name every invalid field, repeat no value."""
    if request.method != "GET" and "application/json" not in request.headers.get("content-type", "").lower():
        return Problem(415, NO_JSON).response()
    details = error.errors() if isinstance(error, RequestValidationError) else ()
    return Problem.of_fields([_field_error(detail) for detail in details]).response()


def _field_error(detail: Mapping[str, Any]) -> dict[str, str]:
    path = [str(part) for part in detail["loc"] if part not in ("body", "query", "path")]
    field = ".".join(path) if detail["type"] != "json_invalid" else ""
    message = "must be provided" if detail["type"] == "missing" else _after_field_name(str(detail["msg"]))
    return {"field": field, "message": message, "code": str(detail["type"])}


def _after_field_name(message: str) -> str:
    """Rewrite pydantic's "Input should be ..." and the like to follow a field's name."""
    subject, _, rest = message.partition(" ")
    is_about_value = subject in {"Input", "String", "Value"} and rest.startswith("should ")
    return rest if is_about_value else f"is not valid: {message}"
