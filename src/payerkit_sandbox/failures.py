"""Failures: a service that cannot start, and error responses in the published
format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NotRequired, Self

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict


class SetupError(Exception):
    """The service cannot start; the message says what to change."""


class FieldError(TypedDict):
    """What is wrong with a field of a request."""

    field: str
    message: str
    code: str


class FailureBody(TypedDict):
    """The body of every error response."""

    statusCode: int
    message: str
    error: NotRequired[str]
    code: NotRequired[str]
    errors: NotRequired[list[FieldError]]


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route, for its documentation."""
    return {status: {"model": FailureBody} for status in statuses}


COMMON = documented(400, 401, 404, 408, 413, 415, 429, 500, 503, 507)
"""The errors that any call can meet."""


class HttpError(Exception):
    """An error response: status, message, the invalid fields, the service's code for
    the reason, and headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[FieldError] = (),
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
    def of_fields(cls, errors: Sequence[FieldError]) -> Self:
        """Return a 400 for several fields; the name "" stands for the whole body."""
        sentences = [
            f"{error['field'] or 'the body'} {error['message']}" for error in errors
        ]
        return cls(400, "; ".join(sentences), [e for e in errors if e["field"]])

    def response(self) -> JSONResponse:
        """Return the response in the published format."""
        body: dict[str, Any] = {"statusCode": self.status, "message": self.message}
        if self.status != 401:
            body["error"] = HTTPStatus(self.status).phrase
        if self.code is not None:
            body["code"] = self.code
        if self.errors:
            body["errors"] = self.errors
        return JSONResponse(body, self.status, self.headers)


def http_error_of_request(error: RequestValidationError) -> HttpError:
    """Return a 400 that names every invalid field, and repeats no value."""
    return HttpError.of_fields([_field_error(detail) for detail in error.errors()])


def _field_error(detail: Mapping[str, Any]) -> FieldError:
    path = [str(part) for part in detail["loc"][1:]]
    if detail["type"] == "json_invalid":
        path = []  # its place in the text is no field
    message = "must be provided"
    if detail["type"] != "missing":
        message = _after_field_name(detail["msg"])
    return {"field": ".".join(path), "message": message, "code": detail["type"]}


def _after_field_name(message: str) -> str:
    """Rewrite pydantic's "Input should be ..." and the like to follow a field's name,
    as the sandbox's own messages do.
    """
    if message[0].islower():
        return message
    for subject in ("Input", "String", "Value"):
        if message.startswith(f"{subject} should "):
            return message.removeprefix(f"{subject} ")
    return f"is not valid: {message}"
