"""Failures of the database: the response says if something was stored, the log names the cause."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.requests import Request
from starlette.responses import Response

from payerkit.service.call_log import LOGGER
from payerkit.service.errors import Problem

_WAIT = {"Retry-After": "1"}

_SQLITE = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_IOERR: "unreachable",
    sqlite3.SQLITE_READONLY: "unreachable",
    sqlite3.SQLITE_CANTOPEN: "unreachable",
}
"""Kinds of failures by SQLite's primary result codes (sqlite.org/rescode.html)."""

_POSTGRESQL = {
    "08": "unreachable",  # connection exception
    "40001": "busy",  # serialization failure
    "40P01": "busy",  # deadlock detected
    "42703": "tables",  # undefined column
    "42P01": "tables",  # undefined table
    "53100": "full",  # disk full
    "53300": "busy",  # too many connections
    "55P03": "busy",  # lock not available: lock_timeout
    "57014": "busy",  # query canceled: statement_timeout
    "57P": "unreachable",  # operator intervention: shut down, crashed, starting
}
"""Kinds of failures by the beginnings of PostgreSQL's SQLSTATE (its manual, appendix A)."""


class CommitFailed(Exception):  # noqa: N818 - what happened
    """COMMIT failed, so the write may have been stored or not; the cause is chained."""


def kind_of(error: SQLAlchemyError) -> str:
    """Return the kind of a failure: busy, full, tables (of another version), unreachable or other."""
    if isinstance(error, PoolTimeout):
        return "busy"
    cause: Any = getattr(error, "orig", None)
    if isinstance(cause, sqlite3.Error):
        is_missing = str(cause).startswith(("no such table", "no such column")) or " has no column " in str(cause)
        return "tables" if is_missing else _SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "other")
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or ""
    for length in (5, 3, 2):
        if kind := _POSTGRESQL.get(state[:length]):
            return kind
    is_lost = isinstance(error, DBAPIError) and (error.connection_invalidated or not state)
    return "unreachable" if is_lost else "other"


def describe(error: SQLAlchemyError) -> str:
    """Return the cause for the log: the driver's message, without the values of the statement."""
    cause: Any = getattr(error, "orig", None) or error
    primary = getattr(getattr(cause, "diag", None), "message_primary", None)
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    # Without a state, psycopg's OperationalError is of the connection, and so knows of no statement.
    has_values = hasattr(cause, "diag") and (code or type(cause).__name__ != "OperationalError")
    words = primary or ("" if has_values else str(cause).partition("\n")[0])
    return " ".join(str(part) for part in (type(cause).__name__, code, words) if part)


async def handle_database_failure(_request: Request, error: Exception) -> Response:
    """Respond to a failure before COMMIT: nothing was stored."""
    assert isinstance(error, SQLAlchemyError)  # noqa: S101 - registered for it alone
    kind = kind_of(error)
    LOGGER.error("database %s: %s", kind, describe(error))
    problems = {
        "busy": Problem(503, "The database is busy; nothing was stored", headers=_WAIT),
        "full": Problem(507, "The disk of the sandbox's database is full; nothing was stored"),
        "tables": Problem(500, "The database lacks a table or column of this payerkit version; nothing was stored"),
        "unreachable": Problem(503, "The database cannot be reached; nothing was stored", headers=_WAIT),
    }
    return problems.get(kind, Problem(500, "The sandbox failed; see its log")).response()


async def handle_failed_commit(_request: Request, error: Exception) -> Response:
    """Respond to a failure of COMMIT: the outcome of the write is open."""
    cause = error.__cause__
    LOGGER.error("database commit: %s", describe(cause) if isinstance(cause, SQLAlchemyError) else "")
    message = "The database failed while storing this, so the outcome is open: see what is stored before you call again"
    return Problem(503, message, code="outcome_open").response()
