"""A database, SQLite or any other that SQLAlchemy supports, and its transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from glob import escape
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    RootTransaction,
    create_engine,
    delete,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from payerkit.service.database_failures import OutcomeOpen, describe
from payerkit.service.encryption import EncryptionKeys, RecordCipher, new_encryption_key
from payerkit.service.errors import Problem
from payerkit.service.settings import SetupError
from payerkit.service.stored_rows import VERSION, Base, MetaRow, VersionRow, WorldRow

T = TypeVar("T")

_IS_WRITE = "payerkit_write"
"""Execution option of a transaction that writes: on SQLite it takes the write lock when it begins."""

_LOCK_SECONDS = 10.0
"""How long a write waits for those before it."""

_STATEMENT_SECONDS = 20.0
"""How long a statement may take, and a transaction may be idle."""

_CONNECT_SECONDS = 5
"""How long a new connection to PostgreSQL may take."""

_ATTEMPTS = 100
"""How often a write is tried whose id somebody else took at the same moment."""

_START_LOCK = 7_209_318
"""PostgreSQL's advisory lock under which the tables are created; any number that nobody else uses."""

_UPGRADE_SECONDS = 120
"""How long a service that starts waits for another one that creates or upgrades the tables."""

_BUSY_TIMEOUT = "PRAGMA busy_timeout=10000"
"""How long SQLite waits for another process that writes, in milliseconds."""


class Database:
    """An open database: its transactions, and the cipher of its records."""

    def __init__(self, engine: Engine, keys: EncryptionKeys) -> None:
        self._engine = engine
        # SQLite has one writer: its own lock would be polled, and time out under load.
        self._write_lock = threading.Lock() if engine.dialect.name == "sqlite" else None
        self.cipher = self._open_cipher(keys)

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a transaction that only reads."""
        with self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a transaction that writes.

        What is written is encrypted and encoded before: everybody else waits while it lasts.
        """
        if self._write_lock is not None and not self._write_lock.acquire(timeout=_LOCK_SECONDS):
            raise Problem(503, "The database is busy; nothing was stored", headers={"Retry-After": "1"})
        try:
            connected = self._engine.connect().execution_options(**{_IS_WRITE: True})
            with connected as connection, connection.begin() as transaction:
                yield connection
                _commit(transaction)
        finally:
            if self._write_lock is not None:
                self._write_lock.release()

    def retry_taken(self, attempt: Callable[[], T]) -> T:
        """Return the result of a write that chooses its ids by what is there; repeat it if another one was faster."""
        for _ in range(_ATTEMPTS):
            try:
                return attempt()
            except IntegrityError:
                continue
        raise Problem(503, "The database is busy; nothing was stored", headers={"Retry-After": "1"})

    def keep(self, **values: str) -> dict[str, str]:
        """Return what the database keeps under these names: the value given where it is the first."""

        def attempt() -> dict[str, str]:
            with self.read() as connection:
                kept = _read_meta(connection, values)
            if new := values.keys() - kept.keys():
                with self.write() as connection:
                    connection.execute(insert(MetaRow), [{"name": name, "value": values[name]} for name in new])
            return values | kept

        return self.retry_taken(attempt)

    def keep_sealed(self, name: str, value: str) -> str:
        """Return what the database keeps encrypted under a name: the value given, if it is the first."""
        row = f"meta {name}"
        kept = self.keep(**{name: self.cipher.seal(row, {name: value}).decode()})
        return str(self.cipher.unseal(row, kept[name].encode())[name])

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        with self.read() as connection:
            return {
                name: connection.scalar(select(func.count()).select_from(table)) or 0
                for name, table in Base.metadata.tables.items()
            }

    def delete_everything(self) -> None:
        """Delete what is stored, in all worlds, and the database's identity; keys and the names of worlds stay."""
        with self.write() as connection:
            for table in reversed(Base.metadata.sorted_tables):
                if table.name not in {"worlds", "meta", VersionRow.__tablename__}:
                    connection.execute(delete(table))
            connection.execute(update(WorldRow).values(advanced=0.0))
            connection.execute(delete(MetaRow).where(MetaRow.name.in_(["identity", "clock"])))

    def _open_cipher(self, keys: EncryptionKeys) -> RecordCipher:
        """Return the cipher with the database's own key, encrypted anew if the first of the given keys is a new one."""
        kept = self.keep(data_key=keys.wrap(new_encryption_key()))["data_key"]
        data_key = keys.unwrap(kept)
        if len(keys.keys) > 1:
            with self.write() as connection:
                wrapped = update(MetaRow).where(MetaRow.name == "data_key").values(value=keys.wrap(data_key))
                connection.execute(wrapped)
        return RecordCipher(data_key)


def _commit(transaction: RootTransaction) -> None:
    """End a write. Raises OutcomeOpen if the database fails then, as it may have stored it or not."""
    try:
        transaction.commit()
    except SQLAlchemyError as error:
        raise OutcomeOpen from error


def _read_meta(connection: Connection, names: Iterable[str]) -> dict[str, str]:
    rows = connection.execute(select(MetaRow.name, MetaRow.value).where(MetaRow.name.in_(list(names))))
    return {row.name: row.value for row in rows}


def sqlite_file(db: str | Path) -> Path | None:
    """Return the file of a database given as a path or an SQLite URL; None for any other database.

    Raises SetupError for anything else, and for a database in memory, of which each thread would see its own.
    """
    url = _parse_url(db)
    if url.get_backend_name() != "sqlite":
        return None
    name = url.database or ""
    file = Path(name)
    if name in {"", ":memory:"} or file.is_dir():
        raise SetupError("db: expected a file; leave db out for a temporary database.")
    return file


def copies_before_upgrades(db: str | Path) -> list[Path]:
    """Return the files beside a SQLite database that hold it as it was before an upgrade."""
    file = sqlite_file(db)
    return [] if file is None else sorted(file.parent.glob(f"{escape(file.name)}.before-*"))


def open_database(db: str | Path, keys: EncryptionKeys) -> Database:
    """Return a database, with its tables. Raises SetupError if it cannot be opened, or the keys are not its own."""
    file = sqlite_file(db)
    if file is not None and file.parent.is_dir():
        file.touch(mode=0o600)  # SQLite would create it readable by everybody
    # Whatever fails, the stack closes what is open by then.
    with ExitStack() as resources, explained_start():
        engine = _create_engine(_parse_url(db))
        resources.callback(engine.dispose)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        _prepare_tables(engine, keys)
        database = Database(engine, keys)
        resources.pop_all()
    return database


@contextmanager
def explained_start() -> Iterator[None]:
    """Raise SetupError for what fails in the block, and say why the service cannot start."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise _missing_driver(error) from None
    except SQLAlchemyError as error:
        raise SetupError(f"db: cannot open the database: {describe(error)}") from None
    except (OutcomeOpen, Problem) as error:
        raise SetupError(f"db: cannot open the database: {error.__cause__ or error}") from None


def _create_engine(url: URL) -> Engine:
    """Return an engine whose waits all end: for a connection, for a lock, for a statement."""
    options: dict[str, Any] = {"pool_size": 10, "max_overflow": 20, "pool_timeout": _LOCK_SECONDS}
    if url.get_backend_name() == "postgresql":
        limits = {"statement_timeout": _STATEMENT_SECONDS, "lock_timeout": _LOCK_SECONDS}
        limits["idle_in_transaction_session_timeout"] = _STATEMENT_SECONDS
        settings = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items())
        own = {"connect_timeout": _CONNECT_SECONDS, "options": settings}
        # What the URL says wins. A connection that broke while it was idle is replaced when it is needed.
        options |= {"connect_args": {name: own[name] for name in own.keys() - url.query.keys()}, "pool_pre_ping": True}
    return create_engine(url, hide_parameters=True, **options)


def _prepare_tables(engine: Engine, keys: EncryptionKeys) -> None:
    """Create the tables in an empty database, or upgrade those of an earlier version of payerkit.

    Of several services that start at once, one does, and the others wait for it. What fails changes nothing.
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
    """Give a transaction that one service has at a time; the others wait for it as long as an upgrade may take."""
    with engine.connect().execution_options(**{_IS_WRITE: True}) as connection:
        driver: Any = connection.connection.driver_connection
        if engine.dialect.name == "sqlite":
            driver.execute(f"PRAGMA busy_timeout={_UPGRADE_SECONDS * 1000}")
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL statement_timeout = 0"))
                connection.execute(text(f"SET LOCAL lock_timeout = '{_UPGRADE_SECONDS}s'"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _START_LOCK})
            yield connection
        if engine.dialect.name == "sqlite":
            driver.execute(_BUSY_TIMEOUT)


def _table_names(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


def _stored_version(connection: Connection, names: set[str]) -> str | None:
    """Return the revision of a database's tables; None for those of 0.1.0, which has no table of versions."""
    return connection.scalar(select(VersionRow.version_num)) if VersionRow.__tablename__ in names else None


def _parse_url(db: str | Path) -> URL:
    if isinstance(db, Path) or "://" not in db:
        return URL.create("sqlite", database=str(db))
    try:
        url = make_url(db)
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError):
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
    # The wait comes first: to change the journal mode takes a lock, for which other services that start wait, too.
    connection.execute(_BUSY_TIMEOUT)
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads first cannot wait for the write lock: SQLite fails it at once, lest it deadlock.
    mode = "IMMEDIATE" if connection.get_execution_options().get(_IS_WRITE) else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {mode}")
