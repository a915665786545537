"""The tables of 0.1.0, which had no version: its first databases have no ledger yet."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Add the ledger if it is missing."""
    ledger = Table(
        "ledger", MetaData(), Column("number", Integer, primary_key=True), Column("sealed", LargeBinary, nullable=False)
    )
    ledger.create(op.get_bind(), checkfirst=True)
