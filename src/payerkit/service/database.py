"""A database, SQLite or any other that SQLAlchemy supports: its transactions, and the values about it as a whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine, RootTransaction, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from payerkit.service.database_failures import CommitFailed
from payerkit.service.encryption import EncryptionKeys, RecordCipher, new_encryption_key
from payerkit.service.errors import Problem
from payerkit.service.stored_rows import Base, MetaRow, VersionRow, WorldRow

T = TypeVar("T")

IS_WRITE = "payerkit_write"
"""Execution option of a transaction that writes: on SQLite it takes the write lock when it begins."""

LOCK_SECONDS = 10.0
"""How long a write waits for those before it."""

_ATTEMPTS = 100
"""How often a write is tried that conflicts with others."""


class Database:
    """An open database: its transactions, and the cipher of its records."""

    def __init__(self, engine: Engine, keys: EncryptionKeys) -> None:
        self._engine = engine
        # SQLite has one writer: its own lock would be polled, and time out under load.
        self._write_lock = threading.Lock() if engine.dialect.name == "sqlite" else None
        self.cipher = self._open_cipher(keys)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a transaction that only reads."""
        with self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a transaction that writes. Encrypt and encode before it begins: other writes may wait while it lasts.

        Raises Problem (503) if others hold the lock for too long, and CommitFailed.
        """
        if self._write_lock is not None and not self._write_lock.acquire(timeout=LOCK_SECONDS):
            raise _busy()
        try:
            connected = self._engine.connect().execution_options(**{IS_WRITE: True})
            with connected as connection, connection.begin() as transaction:
                yield connection
                _commit(transaction)
        finally:
            if self._write_lock is not None:
                self._write_lock.release()

    def retry_conflicts(self, attempt: Callable[[], T]) -> T:
        """Return the result of a write; repeat it while it conflicts with another one, such as one with the same id.

        Raises Problem (503) if that does not end.
        """
        for _ in range(_ATTEMPTS):
            try:
                return attempt()
            except IntegrityError:
                continue
        raise _busy()

    def get_or_add(self, **values: str) -> dict[str, str]:
        """Return the values about the database under these names; store the given ones where they are missing."""

        def attempt() -> dict[str, str]:
            with self.read() as connection:
                stored = _read_meta(connection, values)
            if new := values.keys() - stored.keys():
                with self.write() as connection:
                    connection.execute(insert(MetaRow), [{"name": name, "value": values[name]} for name in new])
            return values | stored

        return self.retry_conflicts(attempt)

    def get_or_add_sealed(self, name: str, value: str) -> str:
        """Return the encrypted value under a name; the first call stores the given one."""
        row = f"meta {name}"
        stored = self.get_or_add(**{name: self.cipher.seal(row, {name: value}).decode()})
        return str(self.cipher.unseal(row, stored[name].encode())[name])

    def count_rows(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        with self.read() as connection:
            return {
                name: connection.scalar(select(func.count()).select_from(table)) or 0
                for name, table in Base.metadata.tables.items()
            }

    def delete_everything(self) -> None:
        """Delete the data of all worlds, the identity and the kind of clock; keys and names of worlds stay."""
        with self.write() as connection:
            for table in reversed(Base.metadata.sorted_tables):
                if table.name not in {"worlds", "meta", VersionRow.__tablename__}:
                    connection.execute(delete(table))
            connection.execute(update(WorldRow).values(advanced=0.0))
            connection.execute(delete(MetaRow).where(MetaRow.name.in_(["identity", "clock"])))

    def _open_cipher(self, keys: EncryptionKeys) -> RecordCipher:
        """Return the cipher of the data key, which a new database is given here."""
        data_key = keys.unwrap(self.get_or_add(data_key=keys.wrap(new_encryption_key()))["data_key"])
        if len(keys.keys) > 1:  # the first may be new: with the data key encrypted by it, the others can be left out
            with self.write() as connection:
                wrapped = update(MetaRow).where(MetaRow.name == "data_key").values(value=keys.wrap(data_key))
                connection.execute(wrapped)
        return RecordCipher(data_key)


def _commit(transaction: RootTransaction) -> None:
    """Commit a write. Raises CommitFailed if the database fails."""
    try:
        transaction.commit()
    except SQLAlchemyError as error:
        raise CommitFailed from error


def _busy() -> Problem:
    return Problem(503, "The database is busy; nothing was stored", headers={"Retry-After": "1"})


def _read_meta(connection: Connection, names: Iterable[str]) -> dict[str, str]:
    rows = connection.execute(select(MetaRow.name, MetaRow.value).where(MetaRow.name.in_(list(names))))
    return {row.name: row.value for row in rows}
