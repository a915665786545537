"""Failures: a service that cannot start, and error responses in the published format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Self

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

NO_JSON = "Content-Type must be application/json"
"""The message for a body of another type, which is also no valid one."""


class SetupError(Exception):
    """The service cannot start; the message says what to change."""


class HttpError(Exception):
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
        return HttpError(415, NO_JSON).response()
    details = error.errors() if isinstance(error, RequestValidationError) else ()
    return HttpError.of_fields([_field_error(detail) for detail in details]).response()


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
