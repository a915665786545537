"""What the API answers when it refuses, in the service's own shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Self

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException


class Problem(Exception):  # noqa: N818 - a refusal is a normal answer
    """A refusal: status, message, and the members at fault."""

    def __init__(self, status: int, message: str, errors: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors

    @classmethod
    def of(cls, member: str, message: str, code: str) -> Self:
        """Return a refusal of one member."""
        return cls(400, message, [{"field": member, "message": message, "code": code}])

    def answer(self, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """Return the answer that tells it."""
        body: dict[str, Any] = {"statusCode": self.status, "message": self.message}
        if self.status != 401:
            body["error"] = HTTPStatus(self.status).phrase
        if self.errors:
            body["errors"] = list(self.errors)
        return JSONResponse(body, self.status, dict(headers or {}))


async def answer_problem(_request: Request, problem: Exception) -> JSONResponse:
    """Answer a refusal of the service's own, or of the framework's (no such route, wrong method)."""
    if isinstance(problem, HTTPException):
        return Problem(problem.status_code, str(problem.detail)).answer(problem.headers)
    return problem.answer() if isinstance(problem, Problem) else _failed()


async def answer_invalid(_request: Request, error: Exception) -> JSONResponse:
    """Answer a body that does not fit: every bad member named, no value repeated."""
    details = error.errors() if isinstance(error, RequestValidationError) else ()
    errors = [_member(detail) for detail in details]
    message = "; ".join(each["message"] for each in errors) or "the body does not fit"
    return Problem(400, message, [each for each in errors if each["field"]]).answer()


def _member(detail: Mapping[str, Any]) -> dict[str, str]:
    path = [str(part) for part in detail["loc"] if part not in ("body", "query", "path")]
    name = ".".join(path) if detail["type"] != "json_invalid" else ""
    words = "must be provided" if detail["type"] == "missing" else _sentence(str(detail["msg"]))
    return {"field": name, "message": f"{name or 'body'} {words}", "code": str(detail["type"])}


def _sentence(message: str) -> str:
    """Turn "Input should be ..." and its like into what follows a member's name."""
    for start in ("Input should be ", "String should ", "Value should "):
        if message.startswith(start):
            return ("should be " if start.startswith("Input") else "should ") + message.removeprefix(start)
    return f"is refused: {message}"


def _failed() -> JSONResponse:
    return Problem(500, "the sandbox failed; its log says why").answer()
