"""Tables for requests, for what wallets paid, and for events; payments are recognized by their reference."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from alembic import op
from sqlalchemy import Boolean, Column, DateTime, Double, ForeignKey, Integer, LargeBinary, MetaData, String, Table

revision = "0003"
down_revision = "0002"


def _id(name: str = "id") -> Column[int]:
    return Column(name, Integer, primary_key=True)


def _text(name: str, length: int, **options: Any) -> Column[str]:
    return Column(name, String(length), **{"nullable": False, **options})


def _sealed() -> Column[bytes]:
    return Column("sealed", LargeBinary, nullable=False)


def _world() -> Column[int]:
    return Column("world_id", Integer, ForeignKey("worlds.id"), nullable=False, index=True)


def _created() -> Column[datetime]:
    return Column("created_at", DateTime(timezone=True))


_TABLES = MetaData()
_WORLDS = Table("worlds", _TABLES, _id())
_REQUESTS = Table(
    "requests",
    _TABLES,
    _id(),
    _world(),
    _text("request_id", 66, unique=True),
    _text("payment_reference", 18, index=True),
    _text("key", 64, nullable=True, index=True),
    _sealed(),
    _created(),
)
_PAID = Table(
    "paid",
    _TABLES,
    _id(),
    _world(),
    _text("paid_id", 36, unique=True),
    _text("request_id", 66, index=True),
    _text("payment_reference", 18, index=True),
    _text("transaction_hash", 66, index=True),
    _text("key", 64, index=True),
    _text("invoice_currency", 80),
    _text("payment_currency", 80),
    Column("paid_at", Double, nullable=False, index=True),
    _text("outcome", 40, nullable=True),
    _text("decided", 40, nullable=True),
    Column("decided_at", Double),
    Column("fired", Integer, nullable=False),
    Column("settled", Boolean, nullable=False, index=True),
    _sealed(),
    _created(),
)
_EVENTS = Table(
    "events",
    _TABLES,
    _id("number"),
    _world(),
    _text("delivery_id", 26, unique=True),
    Column("fired_at", Double, nullable=False),
    _sealed(),
    _created(),
)


def upgrade() -> None:
    """Add the tables, and the columns."""
    _TABLES.create_all(op.get_bind(), tables=[_REQUESTS, _PAID, _EVENTS], checkfirst=False)
    op.add_column("payments", _text("payment_reference", 18, nullable=True))
    for table in ("payers", "payment_details"):
        op.add_column(table, Column("changed_at", Double))
    op.create_index("ix_payments_payment_reference", "payments", ["payment_reference"])
