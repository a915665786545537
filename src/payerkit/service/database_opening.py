"""Opens a database: parses its URL, limits every wait, and creates or upgrades the tables."""

from __future__ import annotations

import glob
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from payerkit.service.database import IS_WRITE, LOCK_SECONDS, Database
from payerkit.service.database_failures import CommitFailed, describe
from payerkit.service.encryption import EncryptionKeys, load_encryption_keys
from payerkit.service.errors import Problem
from payerkit.service.settings import SetupError
from payerkit.service.stored_rows import VERSION, Base, VersionRow

BEFORE = ".before-"
"""Follows the name of a SQLite file in that of its copy from before an upgrade; the new version follows."""

_STATEMENT_SECONDS = 20.0
"""How long a statement may take, and how long a transaction may be idle."""

_CONNECT_SECONDS = 5
"""How long a new connection to PostgreSQL may take."""

_START_LOCK = 7_209_318
"""PostgreSQL's advisory lock under which the tables are created: an arbitrary number."""

_PAUSE_SECONDS = 0.01
"""How long to wait before the journal mode of a SQLite file is changed again."""

_UPGRADE_SECONDS = 120
"""How long a service that starts waits for another one that creates or upgrades the tables."""


def sqlite_file(db: str | Path) -> Path | None:
    """Return the file of a database given as a path or an SQLite URL; None for any other database.

    Raises SetupError for anything else, and for a database in memory, of which each thread would see its own.
    """
    url = _parse_url(db)
    if url.get_backend_name() != "sqlite":
        return None
    name = url.database or ""
    file = Path(name)
    is_in_memory = ":memory:" in name or url.query.get("mode") == "memory"
    with explained_start():
        if not name or is_in_memory or "\0" in name or file.is_dir():
            raise SetupError("db: expected a file; leave db out for a temporary database.")
        file.exists()  # fails if a folder may not be read, or the name is too long
    return file


def copies_before_upgrades(db: str | Path) -> list[Path]:
    """Return the copies that upgrades have left beside a SQLite database; none for any other database."""
    file = sqlite_file(db)
    return [] if file is None else sorted(file.parent.glob(f"{glob.escape(file.name)}{BEFORE}*"))


def open_database(db: str | Path, keys: EncryptionKeys) -> Database:
    """Return a database with its tables. Raises SetupError if it cannot be opened, or needs another encryption key."""
    file = sqlite_file(db)
    # Whatever fails, the stack closes what is open by then.
    with ExitStack() as resources, explained_start():
        if file is not None and file.parent.is_dir():
            file.touch(mode=0o600)  # SQLite would create it readable by everybody
        engine = _create_engine(_parse_url(db))
        resources.callback(engine.dispose)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        _prepare_tables(engine, keys)
        database = Database(engine, keys)
        resources.pop_all()
    return database


def open_existing(db: str | Path, environment: Mapping[str, str]) -> Database:
    """Return a database with the keys in the environment or beside it. Raises SetupError as `open_database`.

    A SQLite file that does not exist is not created, but refused.
    """
    file = sqlite_file(db)
    if file is not None and not file.exists():
        raise SetupError(f"db: {file} does not exist.")
    return open_database(db, load_encryption_keys(file, environment))


@contextmanager
def explained_start() -> Iterator[None]:
    """Turn what fails in the block into a SetupError that says why the service cannot start."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise _missing_driver(error) from None
    except SQLAlchemyError as error:
        raise SetupError(f"db: cannot open the database: {describe(error)}") from None
    except (CommitFailed, Problem) as error:
        raise SetupError(f"db: cannot open the database: {error.__cause__ or error}") from None
    except OSError as error:
        raise SetupError(f"db: cannot open the database: {error.strerror}") from None


def _create_engine(url: URL) -> Engine:
    """Return an engine with a limit on each wait: for a connection, for a lock, for a statement."""
    options: dict[str, Any] = {"pool_size": 10, "max_overflow": 20, "pool_timeout": LOCK_SECONDS}
    if url.get_backend_name() == "postgresql":
        limits = {"statement_timeout": _STATEMENT_SECONDS, "lock_timeout": LOCK_SECONDS}
        limits["idle_in_transaction_session_timeout"] = _STATEMENT_SECONDS
        settings = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items())
        defaults: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "options": settings}
        # If the network is gone, not even an end arrives; TCP by itself waits for a quarter of an hour, or for good.
        defaults |= {"tcp_user_timeout": int(_STATEMENT_SECONDS * 1000), "keepalives_idle": 10}
        options["connect_args"] = {name: value for name, value in defaults.items() if name not in url.query}
        options["pool_pre_ping"] = True  # a connection that broke while it was idle is replaced
    return create_engine(url, hide_parameters=True, **options)


def _prepare_tables(engine: Engine, keys: EncryptionKeys) -> None:
    """Create the tables in a new database, or upgrade those of an earlier version of payerkit.

    If several services start at once, one of them does this, and the others wait for it. A failure changes nothing.
    """
    with engine.connect() as connection, connection.begin():
        if _stored_version(connection, _table_names(connection)) == VERSION:
            return
    with _start_transaction(engine) as connection:
        names = _table_names(connection)
        if not names & set(Base.metadata.tables):
            Base.metadata.create_all(connection, checkfirst=False)
            connection.execute(insert(VersionRow).values(version_num=VERSION))
        elif (version := _stored_version(connection, names)) != VERSION:
            # Imported here, since Alembic takes longer to import than a sandbox takes to start.
            from payerkit.service.migrations import upgrade_tables  # noqa: PLC0415

            upgrade_tables(connection, version, keys)


@contextmanager
def _start_transaction(engine: Engine) -> Iterator[Connection]:
    """Give a transaction that only one service has at a time; others wait for it as long as an upgrade may take."""
    with engine.connect().execution_options(**{IS_WRITE: True}) as connection:
        driver: Any = connection.connection.driver_connection
        if engine.dialect.name == "sqlite":
            driver.execute(_busy_timeout(_UPGRADE_SECONDS))
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL statement_timeout = 0"))
                connection.execute(text(f"SET LOCAL lock_timeout = '{_UPGRADE_SECONDS}s'"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _START_LOCK})
            yield connection
        if engine.dialect.name == "sqlite":
            driver.execute(_busy_timeout(LOCK_SECONDS))


def _table_names(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


def _stored_version(connection: Connection, names: set[str]) -> str | None:
    """Return the revision of a database's tables, or None: 0.1.0 had no table of versions, and a new one has none."""
    return connection.scalar(select(VersionRow.version_num)) if VersionRow.__tablename__ in names else None


def _parse_url(db: str | Path) -> URL:
    if not isinstance(db, str | Path):
        raise SetupError("db: expected a path or an SQLAlchemy URL.")
    if isinstance(db, Path) or "://" not in db:
        return URL.create("sqlite", database=str(db))
    try:
        url = make_url(db)
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError, ValueError):  # the last for a port that is not a number
        raise SetupError("db: expected a path or an SQLAlchemy URL, such as postgresql+psycopg://host/name.") from None
    except ModuleNotFoundError as error:
        raise _missing_driver(error) from None
    return url


def _missing_driver(error: ModuleNotFoundError) -> SetupError:
    return SetupError(
        f"db: the driver {error.name} is not installed; for PostgreSQL, run pip install 'payerkit[postgres]'."
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # None, so that _begin_sqlite begins transactions: sqlite3 begins them itself, but only before the first write.
    connection.isolation_level = None
    connection.execute(_busy_timeout(LOCK_SECONDS))
    _use_write_ahead_log(connection)
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _use_write_ahead_log(connection: Any) -> None:
    """Let readers of a SQLite file not wait for its writer; repeat this while other services that start do the same."""
    last = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # Each of two that change the mode has read before, so SQLite fails one at once, lest they deadlock.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
        else:
            return
        time.sleep(_PAUSE_SECONDS)


def _busy_timeout(seconds: float) -> str:
    """Return the statement that lets SQLite wait for another process that writes."""
    return f"PRAGMA busy_timeout={int(seconds * 1000)}"


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads first cannot wait for the write lock: SQLite fails it at once, lest it deadlock.
    mode = "IMMEDIATE" if connection.get_execution_options().get(IS_WRITE) else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {mode}")
