"""A database, SQLite or PostgreSQL: how it is opened and created, its transactions, and what its failures mean."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from payerkit.service.failures import HttpError, SetupError
from payerkit.service.keys import Seal, new_api_key
from payerkit.service.tables import VERSION, Base, SandboxRow, WorldRow

T = TypeVar("T")

LOGGER = logging.getLogger("payerkit.sandbox")
"""The logger of failures. The process that runs the sandbox sets it up."""

LOCK_SECONDS = 10.0
"""How long a call waits for those before it."""

_STATEMENT_SECONDS = 20.0
"""How long a statement may take on PostgreSQL."""

_START_LOCK = 7_209_318
"""PostgreSQL's advisory lock under which the tables are created: an arbitrary number."""


class Database:
    """An open database.

    A transaction on SQLite takes less time than the way to a thread and back, so it runs where it is asked for, unless
    another process has the lock. All others run in threads: those that write apart from those that only read, so that
    no stuck write holds up a read.
    """

    def __init__(self, engine: sa.Engine, seal: Seal) -> None:
        self.engine = engine
        self.seal = seal
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._own: sa.Connection | None = None
        self._waiting = 0  # writes in threads, which no later one overtakes
        self._readers, self._writers = ThreadPoolExecutor(8), ThreadPoolExecutor(1 if self.is_sqlite else 16)

    def close(self) -> None:
        """Close the connections; a transaction that runs comes to its end by itself."""
        for threads in (self._readers, self._writers):
            threads.shutdown(wait=False, cancel_futures=True)
        if self._own is not None:
            self._own.close()
        self.engine.dispose()

    async def run(self, work: Callable[..., T], *, write: bool) -> T:
        """Return the result of work, whose `wait` says whether it may wait for a lock of another process.

        Raises HttpError (503) if those before it take too long.
        """
        if self.is_sqlite and not (write and self._waiting):
            try:
                return work(wait=False)
            except OperationalError as error:
                if not _error_name(error).startswith("SQLITE_BUSY"):
                    raise
        last = time.monotonic() + LOCK_SECONDS

        def start() -> T:
            if time.monotonic() > last:
                raise _unavailable()
            return work(wait=True)

        self._waiting += write
        try:
            return await asyncio.get_running_loop().run_in_executor(self._writers if write else self._readers, start)
        finally:
            self._waiting -= write

    @contextmanager
    def transaction(self, *, write: bool, wait: bool = True) -> Iterator[sa.Connection]:
        """Give a connection in a transaction, and commit it. Raises HttpError (500) if its outcome is unknown.

        wait: False for a transaction in the event loop, which may not wait for a lock.
        """
        connected = self.engine.connect() if wait else nullcontext(self._own or self._open_own())
        with connected as connection, connection.begin() as transaction:
            if self.is_sqlite:
                # A deferred one that reads first cannot wait for the lock: SQLite fails it, lest it deadlock.
                connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
            yield connection
            try:
                transaction.commit()
            except SQLAlchemyError as error:
                if not wait:
                    connection.close()  # which rolls back what it could not commit
                    self._own = None
                if self.is_sqlite or http_error_of(error).status == 507:
                    raise  # nothing was stored
                LOGGER.error("database commit: %s", describe(error))  # noqa: TRY400 - a traceback would have values
                message = "The database failed while storing this: see what is stored before you call again"
                raise HttpError(500, message) from error

    def _open_own(self) -> sa.Connection:
        """Open the connection of the event loop: to take one from the pool each time takes as long as to read a row."""
        self._own = self.engine.connect()
        driver: Any = self._own.connection.driver_connection
        driver.execute("PRAGMA busy_timeout=0")
        return self._own

    def enter(self, clock: str, names: Iterable[str]) -> tuple[SandboxRow, dict[str, int]]:
        """Return the row of the database as a whole, and the ids of the worlds, of which new ones are added.

        Raises SetupError if the database was made with another kind of clock; the first service on it decides that.
        """
        with self.transaction(write=True) as connection, Session(connection) as session:
            row = session.scalars(sa.select(SandboxRow).with_for_update()).one()  # services that start come one by one
            row.clock = row.clock or clock
            # Decisions are due at times of one clock; on another they would be due at once, or in months.
            if row.clock != clock:
                raise SetupError(f'clock: this database was made with clock="{row.clock}"; use that, or another one.')
            known = set(session.scalars(sa.select(WorldRow.name)))
            session.add_all(WorldRow(name=name) for name in names if name not in known)
            return row, {each.name: each.id for each in session.scalars(sa.select(WorldRow))}


def open_database(db: str | Path, seal: Seal) -> Database:
    """Return a database with its tables. Raises SetupError if it cannot be opened, or is of another version or key."""
    file = sqlite_file(db)
    # Whatever fails, the stack closes what is open by then.
    with ExitStack() as resources, explained_start():
        if file is not None and file.parent.is_dir():
            file.touch(mode=0o600)  # SQLite would create it readable by everybody
        database = Database(_create_engine(_parse_url(db), seal), seal)
        resources.callback(database.close)
        _prepare_tables(database)
        resources.pop_all()
        return database


def sqlite_file(db: str | Path) -> Path | None:
    """Return the file of a database given as a path or an SQLite URL; None for any other database.

    Raises SetupError for anything else, and for a database in memory, of which each thread would see its own.
    """
    with explained_start():
        url = _parse_url(db)
        if url.get_backend_name() != "sqlite":
            return None
        name = url.database or ""
        file = Path(name)
        is_in_memory = ":memory:" in name or url.query.get("mode") == "memory"
        if not name or is_in_memory or "\0" in name or file.is_dir():
            raise SetupError("db: expected a file; leave db out for a temporary database.")
        file.exists()  # fails if a folder may not be read, or the name is too long
        return file


@contextmanager
def explained_start() -> Iterator[None]:
    """Turn what fails in the block into a SetupError that says why the service cannot start."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SetupError(
            f"db: the driver {error.name} is not installed; for PostgreSQL, run pip install 'payerkit[postgres]'."
        ) from None
    except SQLAlchemyError as error:
        raise SetupError(f"db: cannot open the database: {describe(error)}") from None
    except (HttpError, OSError) as error:
        raise SetupError(f"db: cannot open the database: {getattr(error, 'strerror', error)}") from None


def http_error_of(error: Exception) -> HttpError:
    """Return the response to a failure before COMMIT, or of SQLite's: nothing was stored."""
    name = _error_name(error)
    if name in {"SQLITE_FULL", "DiskFull"}:
        return HttpError(507, "The disk of the sandbox's database is full; nothing was stored")
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    # SQLITE_ERROR is a statement that does not fit the tables, for which other databases have an error of their own.
    if isinstance(error, PoolTimeout) or is_lost or (isinstance(error, OperationalError) and name != "SQLITE_ERROR"):
        return _unavailable()
    return HttpError(500, "The sandbox failed; see its log")


def _error_name(error: Exception) -> str:
    """Return the name of a driver's error: SQLite's result code, or the class of psycopg's error."""
    cause: Any = getattr(error, "orig", None)
    return str(getattr(cause, "sqlite_errorname", None) or type(cause).__name__)


def describe(error: SQLAlchemyError) -> str:
    """Return the cause for the log: the driver's message, without the values of the statement."""
    cause: Any = getattr(error, "orig", None) or error
    primary = getattr(getattr(cause, "diag", None), "message_primary", None)
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    # Without a state, psycopg's OperationalError is of the connection, and so knows of no statement.
    has_values = hasattr(cause, "diag") and (code or type(cause).__name__ != "OperationalError")
    words = primary or ("" if has_values else str(cause).partition("\n")[0])
    return " ".join(str(part) for part in (type(cause).__name__, code, words) if part)


def _unavailable() -> HttpError:
    message = "The database cannot be reached, or is busy; nothing was stored"
    return HttpError(503, message, headers={"Retry-After": "1"})


def _create_engine(url: sa.URL, seal: Seal) -> sa.Engine:
    """Return an engine with a limit on each wait: for a connection, for a lock, for a statement."""
    options: dict[str, Any] = {"pool_size": 10, "max_overflow": 20, "pool_timeout": LOCK_SECONDS}
    if url.get_backend_name() == "postgresql":
        limits = {"statement_timeout": _STATEMENT_SECONDS, "lock_timeout": LOCK_SECONDS}
        settings = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items())
        defaults: dict[str, Any] = {"connect_timeout": 5, "options": settings}
        options["connect_args"] = {name: value for name, value in defaults.items() if name not in url.query}
        options["pool_pre_ping"] = True  # a connection that broke while it was idle is replaced
    engine = sa.create_engine(url, hide_parameters=True, **options)
    engine.dialect.seal = seal  # type: ignore[attr-defined]  # where the type Encrypted finds it
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # None, so that Database begins transactions: sqlite3 begins them itself, but only before the first write.
    connection.isolation_level = None
    for pragma in (f"busy_timeout={int(LOCK_SECONDS * 1000)}", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _prepare_tables(database: Database) -> None:
    """Create the tables in a new database. Raises SetupError, and changes nothing, for one of another version.

    If several services start at once, one of them does this, and the others wait for it. A failure changes nothing.
    """
    with database.transaction(write=True) as connection:
        if not database.is_sqlite:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _START_LOCK})
        if not _is_prepared(connection):
            Base.metadata.create_all(connection, checkfirst=False)
            row = {"version": VERSION, "api_key": new_api_key(), "identity": str(uuid.uuid4())}
            connection.execute(sa.insert(SandboxRow), row)
    if database.is_sqlite:
        # So that readers do not wait for the writer. It fails while another service starts, which sets it, too.
        with suppress(OperationalError), database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")


def _is_prepared(connection: sa.Connection) -> bool:
    """Return True if the tables are there, and False in a new database. Raises SetupError for any others."""
    names = set(sa.inspect(connection).get_table_names())
    if not names & set(Base.metadata.tables):
        return False
    version = connection.scalar(sa.text("SELECT version FROM sandbox")) if SandboxRow.__tablename__ in names else None
    if version == VERSION:
        return connection.scalar(sa.select(SandboxRow.api_key)) is not None  # which fails with another encryption key
    raise SetupError("db: the database is of another version of payerkit; use that version, or another database.")


def _parse_url(db: str | Path) -> sa.URL:
    if isinstance(db, Path) or "://" not in db:
        return sa.URL.create("sqlite", database=str(db))
    try:
        url = sa.make_url(db)
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError, ValueError):  # the last for a port that is not a number
        raise SetupError("db: expected a path or an SQLAlchemy URL, such as postgresql+psycopg://host/name.") from None
    return url
