"""A database, SQLite or PostgreSQL: how it is opened and created, and what its failures
mean.

On SQLite a write is on the disk soon after its response: if the power fails, the last
ones may be lost; if the process is killed, none is.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from fastapi import Request
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from payerkit_sandbox.failures import HttpError, SetupError
from payerkit_sandbox.models import VERSION, Base, SandboxRow

LOGGER = logging.getLogger("payerkit.sandbox")
"""The logger of failures. The process that runs the sandbox sets it up."""

LOCK_SECONDS = 10.0
"""How long a call waits for those before it."""

_READS = 20
"""How many calls read at once. One more writes, and threads are left for their
functions.
"""

_START_LOCK = 7_209_318
"""PostgreSQL's advisory lock under which the tables are created: an arbitrary
number.
"""


class Database:
    """An open database. engine: for sessions that only read. writing: the same, for
    those that write.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        # SQLite cannot let a transaction wait that has read before it writes.
        self.writing = engine.execution_options(begin="BEGIN IMMEDIATE")
        self.is_sqlite = engine.dialect.name == "sqlite"
        self.reads = asyncio.Semaphore(_READS)
        self.writes = asyncio.Semaphore(1)

    def close(self) -> None:
        """Close the connections; a transaction that runs comes to its end by itself."""
        self.engine.dispose()

    def commit(self, session: Session) -> None:
        """Commit a session. Raises HttpError (500) if its outcome is unknown."""
        session.flush()
        try:
            session.commit()
        except SQLAlchemyError as error:
            if self.is_sqlite or http_error_of(error).status == 507:
                raise  # nothing was stored
            LOGGER.error("database commit: %s", describe(error))  # noqa: TRY400 - a traceback would have values
            raise HttpError(
                500,
                "The database failed while storing this: see what is stored before you"
                " call again",
            ) from error


async def take_turn(request: Request) -> AsyncIterator[None]:
    """Let one call write at a time, and some read, so that those that wait take neither
    threads nor connections. Raises HttpError (503) if those before take too long.
    """
    database: Database = request.state.worlds.database
    turns = database.reads if request.method == "GET" else database.writes
    try:
        async with asyncio.timeout(LOCK_SECONDS):
            await turns.acquire()
    except TimeoutError:
        raise _unavailable() from None
    try:
        yield
    finally:
        turns.release()


def open_database(db: str | Path) -> Database:
    """Return a database with its tables. Raises SetupError if it cannot be opened, or
    is of another version.
    """
    with explained_start(), ExitStack() as resources:
        url = _parse_url(db)
        file = sqlite_file(url)
        if file is not None and file.parent.is_dir():
            file.touch(mode=0o600)  # SQLite would create it readable by everybody
        database = Database(_create_engine(url))
        resources.callback(database.close)
        _prepare_tables(database)
        resources.pop_all()
        return database


@contextmanager
def explained_start() -> Iterator[None]:
    """Turn what fails in the block into a SetupError that says why the service cannot
    start.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise SetupError(
            f"db: the driver {error.name} is not installed; for PostgreSQL, run pip"
            " install 'payerkit[postgres]'."
        ) from None
    except SQLAlchemyError as error:
        raise SetupError(f"db: cannot open the database: {describe(error)}") from None
    except OSError as error:
        raise SetupError(f"db: cannot open the database: {error.strerror}") from None


def sqlite_file(url: sa.URL) -> Path | None:
    """Return the file of an SQLite database; None for any other database.

    Raises SetupError for anything else, and for a database in memory, of which each
    thread would see its own.
    """
    if url.get_backend_name() != "sqlite":
        return None
    name = url.database or ""
    is_in_memory = ":memory:" in name or url.query.get("mode") == "memory"
    if not name or is_in_memory or "\0" in name or Path(name).is_dir():
        raise SetupError("db: expected a file; leave db out for a temporary database.")
    return Path(name)


def http_error_of(error: Exception) -> HttpError:
    """Return the response to a failure of the database before COMMIT: nothing was
    stored.
    """
    cause = getattr(error, "orig", None)
    name = getattr(cause, "sqlite_errorname", type(cause).__name__)
    if name in {"SQLITE_FULL", "DiskFull"}:
        return HttpError(
            507, "The disk of the sandbox's database is full; nothing was stored"
        )
    # A statement that does not fit the tables is an OperationalError on SQLite alone.
    if isinstance(error, OperationalError | PoolTimeout) and name != "SQLITE_ERROR":
        return _unavailable()
    return HttpError(500, "The sandbox failed; see its log")


def describe(error: SQLAlchemyError) -> str:
    """Return the cause for the log: the first line of the driver's message, which has
    no values.
    """
    cause = getattr(error, "orig", None) or error
    line, _, _ = str(cause).partition("\n")
    return f"{type(cause).__name__}: {line}"


def _unavailable() -> HttpError:
    message = "The database cannot be reached, or is busy; nothing was stored"
    return HttpError(503, message, headers={"Retry-After": "1"})


def _parse_url(db: str | Path) -> sa.URL:
    if isinstance(db, Path) or "://" not in db:
        return sa.URL.create("sqlite", database=str(db))
    try:
        url = sa.make_url(db)
        url.get_dialect()
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError):
        raise SetupError(
            "db: expected a path or an SQLAlchemy URL, such as"
            " postgresql+psycopg://host/name."
        ) from None
    return url


def _create_engine(url: sa.URL) -> sa.Engine:
    """Return an engine with a limit on each wait."""
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, pool_size=_READS + 1, hide_parameters=True)
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    limit = int(LOCK_SECONDS * 1000)
    return sa.create_engine(
        url,
        pool_size=_READS + 1,
        pool_pre_ping=True,  # a connection that broke while it was idle is replaced
        hide_parameters=True,
        connect_args={
            "connect_timeout": 5,
            "options": f"-c lock_timeout={limit} -c statement_timeout={2 * limit}",
        },
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # sqlite3 would begin a transaction only before the first write.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={int(LOCK_SECONDS * 1000)}")
    try:
        connection.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.OperationalError:  # the database is locked
        connection.close()  # which the pool would not do
        raise
    connection.execute("PRAGMA foreign_keys=ON")
    # Readers do not wait for the writer then. It fails while another service starts,
    # which sets it, too.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=WAL")


def _begin_sqlite(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    connection.exec_driver_sql(options.get("begin", "BEGIN"))


def _prepare_tables(database: Database) -> None:
    """Create the tables in a new database. Raises SetupError, and changes nothing, for
    one of another version.

    If several services start at once, one of them does this, and the others wait for
    it.
    """
    with database.writing.begin() as connection:
        if not database.is_sqlite:
            lock = sa.func.pg_advisory_xact_lock(_START_LOCK)
            connection.execute(sa.select(lock))
        names = set(sa.inspect(connection).get_table_names())
        if not names & set(Base.metadata.tables):
            Base.metadata.create_all(connection)
            connection.execute(sa.insert(SandboxRow))
        elif _version(connection, names) != VERSION:
            raise SetupError(
                "db: the database is of another version of payerkit; use that version,"
                " or another database."
            )


def _version(connection: sa.Connection, names: set[str]) -> int | None:
    if SandboxRow.__tablename__ not in names:
        return None
    return connection.scalar(sa.select(SandboxRow.version))
