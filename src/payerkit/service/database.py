"""The tables, on SQLite or any other database that SQLAlchemy knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, ForeignKey, LargeBinary, String, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from payerkit.service.settings import SetupError

WRITE = "payerkit_write"
"""Execution option of transactions that write: on SQLite they take the lock when they begin."""


class Base(DeclarativeBase):
    """Base of the tables."""


class Meta(Base):
    """What the service remembers about itself: the number of writes; sealed, its identity and its key."""

    __tablename__ = "meta"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(String(400))


class PayerRow(Base):
    """A payer. `key` stands for the client user id, which is sealed like the rest."""

    __tablename__ = "payers"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[str] = mapped_column(String(36), unique=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    kyc: Mapped[str] = mapped_column(String(20))
    kyc_following: Mapped[str | None] = mapped_column(String(20))
    kyc_due: Mapped[float | None]
    agreement: Mapped[str] = mapped_column(String(20))
    page: Mapped[str] = mapped_column(String(64), unique=True)


class DetailRow(Base):
    """A payer's bank details, sealed."""

    __tablename__ = "payment_details"

    id: Mapped[int] = mapped_column(primary_key=True)
    detail_id: Mapped[str] = mapped_column(String(36), unique=True)
    payer_id: Mapped[int] = mapped_column(ForeignKey(PayerRow.id), index=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[str] = mapped_column(String(20))
    following: Mapped[str | None] = mapped_column(String(20))
    due: Mapped[float | None]


class PaymentRow(Base):
    """An initiated payment, and what was asked for, as JSON."""

    __tablename__ = "payments"

    id: Mapped[int] = mapped_column(primary_key=True)
    request_id: Mapped[str] = mapped_column(String(66), unique=True)
    order: Mapped[str] = mapped_column(String(400), index=True)


class LedgerRow(Base):
    """A write that was stored, sealed."""

    __tablename__ = "ledger"

    number: Mapped[int] = mapped_column(primary_key=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)


class RateRow(Base):
    """A rate that somebody set: US dollars for one unit of a currency, as a decimal."""

    __tablename__ = "rates"

    currency: Mapped[str] = mapped_column(String(80), primary_key=True)
    usd: Mapped[str] = mapped_column(String(80))


class HoldingRow(Base):
    """What the demo wallet holds of a currency, and lets the payment contract take, in base units."""

    __tablename__ = "wallet"

    currency: Mapped[str] = mapped_column(String(80), primary_key=True)
    balance: Mapped[str] = mapped_column(String(80))
    allowance: Mapped[str] = mapped_column(String(80))


def sqlite_file(db: str | Path) -> Path | None:
    """Return the file of a database given as a path or an SQLite address; None for any other database.

    Raises SetupError for what is neither.
    """
    if isinstance(db, Path) or "://" not in db:
        name = str(db)
    else:
        url = _url(db)
        if url.get_backend_name() != "sqlite":
            return None
        name = url.database or ""
    file = Path(name)
    if name in {"", ":memory:"} or file.is_dir():
        raise SetupError("db: give a file; without db, a sandbox has one of its own that goes with it.")
    return file


def open_database(db: str | Path) -> Engine:
    """Return an engine whose tables are there. Raises SetupError if the database cannot be reached."""
    file = sqlite_file(db)
    if file is not None and file.parent.is_dir():
        file.touch(mode=0o600)
    url = _url(str(db)) if "://" in str(db) else URL.create("sqlite", database=str(file))
    try:
        engine = create_engine(url, hide_parameters=True)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        _make_tables(engine)
    except ModuleNotFoundError as error:
        raise SetupError(f"db: the driver {error.name} is not installed; for PostgreSQL: payerkit[postgres].") from None
    except SQLAlchemyError as error:
        why = str(getattr(error, "orig", "") or type(error).__name__).strip()
        raise SetupError(f"db: cannot open the database: {why}") from None
    return engine


def _make_tables(engine: Engine) -> None:
    try:
        Base.metadata.create_all(engine)
    except SQLAlchemyError:
        # Somebody else may be making them just now; then the second look finds them.
        Base.metadata.create_all(engine)


def _url(db: str) -> URL:
    try:
        url = make_url(db)
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError):
        raise SetupError("db: give a path, or an SQLAlchemy address such as postgresql+psycopg://...") from None
    except ModuleNotFoundError as error:
        raise SetupError(f"db: the driver {error.name} is not installed; for PostgreSQL: payerkit[postgres].") from None
    return url


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver would begin transactions by itself, and too late
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    mode = "IMMEDIATE" if connection.get_execution_options().get(WRITE) else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {mode}")
