"""The tables, on SQLite or any other database that SQLAlchemy supports.

Columns named `sealed` hold JSON encrypted by a RecordCipher, columns named `key` its lookup keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ForeignKey,
    LargeBinary,
    String,
    create_engine,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from payerkit.service.settings import SetupError

WRITE = "payerkit_write"
"""Execution option of a transaction that writes: on SQLite it takes the write lock when it begins."""


class Base(DeclarativeBase):
    """Base of the tables."""


class Meta(Base):
    """The service's own state: how far its clock was advanced; encrypted, its identity, API key and kind of clock."""

    __tablename__ = "meta"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(String(400))


class PayerRow(Base):
    """A payer. `key` is the lookup key of the client user id, which is encrypted with the rest."""

    __tablename__ = "payers"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[str] = mapped_column(String(36), unique=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    kyc: Mapped[str] = mapped_column(String(40))
    kyc_following: Mapped[str | None] = mapped_column(String(40))
    kyc_due: Mapped[float | None]
    agreement: Mapped[str] = mapped_column(String(40))
    page: Mapped[str] = mapped_column(String(64), unique=True)


class DetailRow(Base):
    """Bank details of a payer."""

    __tablename__ = "payment_details"

    id: Mapped[int] = mapped_column(primary_key=True)
    detail_id: Mapped[str] = mapped_column(String(36), unique=True)
    payer_id: Mapped[int] = mapped_column(ForeignKey(PayerRow.id), index=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[str] = mapped_column(String(40))
    following: Mapped[str | None] = mapped_column(String(40))
    due: Mapped[float | None]


class PaymentRow(Base):
    """An initiated payment, and its order as JSON."""

    __tablename__ = "payments"

    id: Mapped[int] = mapped_column(primary_key=True)
    request_id: Mapped[str] = mapped_column(String(66), unique=True)
    order: Mapped[str] = mapped_column(String(400), index=True)


class LedgerRow(Base):
    """A write that was stored."""

    __tablename__ = "ledger"

    number: Mapped[int] = mapped_column(primary_key=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)


class RateRow(Base):
    """An exchange rate set by a user: US dollars per unit of a currency, as a decimal."""

    __tablename__ = "rates"

    currency: Mapped[str] = mapped_column(String(80), primary_key=True)
    usd: Mapped[str] = mapped_column(String(80))


class HoldingRow(Base):
    """The demo wallet's balance of a currency and the payment contract's allowance, in base units."""

    __tablename__ = "wallet"

    currency: Mapped[str] = mapped_column(String(80), primary_key=True)
    balance: Mapped[str] = mapped_column(String(80))
    allowance: Mapped[str] = mapped_column(String(80))


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


def open_database(db: str | Path) -> Engine:
    """Return an engine, with its tables created. Raises SetupError if the database cannot be opened."""
    file = sqlite_file(db)
    if file is not None and file.parent.is_dir():
        file.touch(mode=0o600)  # SQLite would create it readable by everybody
    try:
        engine = create_engine(_parse_url(db), hide_parameters=True)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        _create_tables(engine)
        _widen_columns(engine)
    except ModuleNotFoundError as error:
        raise _missing_driver(error) from None
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", "") or type(error).__name__).strip()
        raise SetupError(f"db: cannot open the database: {reason}") from None
    return engine


def _create_tables(engine: Engine) -> None:
    try:
        Base.metadata.create_all(engine)
    except SQLAlchemyError:
        # Another service may be creating them at the same moment; a second attempt then finds them.
        Base.metadata.create_all(engine)


def _widen_columns(engine: Engine) -> None:
    """Widen the columns of states in a database of 0.1.0, whose words were shorter; SQLite has no widths."""
    if engine.dialect.name != "postgresql":
        return
    for name in (PayerRow.__tablename__, DetailRow.__tablename__):
        widths = {each["name"]: getattr(each["type"], "length", None) for each in inspect(engine).get_columns(name)}
        for column in Base.metadata.tables[name].columns:
            wanted = getattr(column.type, "length", None)
            if wanted and (widths[column.name] or wanted) < wanted:
                with engine.begin() as connection:
                    connection.execute(text(f"ALTER TABLE {name} ALTER COLUMN {column.name} TYPE VARCHAR({wanted})"))


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
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads first cannot wait for the write lock: SQLite fails it at once, lest it deadlock.
    mode = "IMMEDIATE" if connection.get_execution_options().get(WRITE) else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {mode}")
