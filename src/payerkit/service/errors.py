"""What the API answers when it refuses, in the service's own shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, ParamSpec, Self, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

P = ParamSpec("P")
T = TypeVar("T")


class Problem(Exception):  # noqa: N818 - a refusal is a normal answer
    """A refusal: status, message, and the members at fault."""

    def __init__(self, status: int, message: str, errors: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors

    @classmethod
    def of(cls, member: str, words: str, code: str) -> Self:
        """Return a refusal of one member; the words follow its name."""
        return cls.of_all([{"field": member, "message": words, "code": code}])

    @classmethod
    def of_all(cls, errors: Sequence[Mapping[str, str]]) -> Self:
        """Return a refusal of several members."""
        return cls(400, "; ".join(f"{error['field'] or 'the body'} {error['message']}" for error in errors), errors)

    def answer(self, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """Return the answer that tells it."""
        body: dict[str, Any] = {"statusCode": self.status, "message": self.message}
        if self.status != 401:
            body["error"] = HTTPStatus(self.status).phrase
        if errors := [error for error in self.errors if error["field"]]:
            body["errors"] = errors
        return JSONResponse(body, self.status, dict(headers or {}))


class Problems:
    """Collects refusals, so that all members at fault are named at once: `with Problems() as problems`."""

    def __init__(self) -> None:
        self._errors: list[Mapping[str, str]] = []

    def found(self, check: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | None:
        """Return what a check returns; keep its refusal, and return None, if it raises one."""
        try:
            return check(*arguments, **options)
        except Problem as problem:
            self._errors += problem.errors
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._errors:
            raise Problem.of_all(self._errors)


async def answer_problem(_request: Request, problem: Exception) -> JSONResponse:
    """Answer a refusal of the service's own, or of the framework's (no such route, wrong method)."""
    if isinstance(problem, HTTPException):
        return Problem(problem.status_code, str(problem.detail)).answer(problem.headers)
    return problem.answer() if isinstance(problem, Problem) else _failed()


async def answer_invalid(_request: Request, error: Exception) -> JSONResponse:
    """Answer a body that does not fit: every bad member named, no value repeated."""
    details = error.errors() if isinstance(error, RequestValidationError) else ()
    return Problem.of_all([_member(detail) for detail in details]).answer()


def _member(detail: Mapping[str, Any]) -> dict[str, str]:
    path = [str(part) for part in detail["loc"] if part not in ("body", "query", "path")]
    name = ".".join(path) if detail["type"] != "json_invalid" else ""
    words = "must be provided" if detail["type"] == "missing" else _sentence(str(detail["msg"]))
    return {"field": name, "message": words, "code": str(detail["type"])}


def _sentence(message: str) -> str:
    """Turn "Input should be ..." and its like into what follows a member's name."""
    for start in ("Input should be ", "String should ", "Value should "):
        if message.startswith(start):
            return ("should be " if start.startswith("Input") else "should ") + message.removeprefix(start)
    return f"is refused: {message}"


def _failed() -> JSONResponse:
    return Problem(500, "the sandbox failed; its log says why").answer()
