"""The tables of the sandbox's database, as SQLAlchemy models. A change of them needs a
new VERSION.

Every row but the first belongs to a world. Times are seconds of the world's clock.
"""

from __future__ import annotations

import secrets
import uuid
from typing import Annotated, Any

from sqlalchemy import JSON, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

VERSION = 5
"""The version of the tables below, which a database has in its row of `sandbox`."""

RowId = Annotated[int, mapped_column(primary_key=True)]
StateColumn = Annotated[str, mapped_column(String(40))]
Token = Annotated[str, mapped_column(String(66), unique=True)]
Body = Annotated[dict[str, Any], mapped_column(JSON)]


def new_api_key() -> str:
    """Return a new API key, recognizable as a sandbox's."""
    return f"sandbox_{secrets.token_urlsafe(24)}"


class Base(DeclarativeBase):
    """Base of the tables."""


class SandboxRow(Base):
    """The database as a whole, in one row.

    identity: random, so that responses tell one database from another. api_key: that of
    the default world, unless others are given. clock: its kind, which the first service
    on the database chooses.
    """

    __tablename__ = "sandbox"

    version: Mapped[int] = mapped_column(primary_key=True, default=VERSION)
    identity: Mapped[str] = mapped_column(String(36), default=lambda: str(uuid.uuid4()))
    api_key: Mapped[str] = mapped_column(String(40), default=new_api_key)
    clock: Mapped[str | None] = mapped_column(String(10))


class WorldRow(Base):
    """A world, which one API key opens.

    secret: signs its events, and makes the fingerprints of its ledger. advanced: by how
    many seconds its clock was advanced. rates: US dollars per unit, by currency, as set
    by a user. wallet: the demo wallet's balances and the payment contract's allowances
    in base units, by currency, once set.
    """

    __tablename__ = "worlds"

    id: Mapped[RowId]
    name: Mapped[str] = mapped_column(String(40), unique=True)
    secret: Mapped[str] = mapped_column(String(64), default=secrets.token_hex)
    advanced: Mapped[float] = mapped_column(default=0.0)
    rates: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    wallet: Mapped[dict[str, dict[str, int]]] = mapped_column(JSON, default=dict)


WorldId = Annotated[int, mapped_column(ForeignKey(WorldRow.id), index=True)]


class ChangeRow(Base):
    """A change that comes by itself: when, of what kind (see `worlds.CHANGES`), of
    which row, and to which state.
    """

    __tablename__ = "changes"
    __table_args__ = (Index("changes_due", "world_id", "due"),)

    id: Mapped[RowId]
    world_id: Mapped[int] = mapped_column(ForeignKey(WorldRow.id))
    due: Mapped[float]
    kind: Mapped[StateColumn]
    subject_id: Mapped[int] = mapped_column(index=True)
    state: Mapped[StateColumn]


class PayerRow(Base):
    """A payer. kyc_page, agreement_page: the random parts of the links."""

    __tablename__ = "payers"
    __table_args__ = (UniqueConstraint("world_id", "client_user_id"),)

    id: Mapped[RowId]
    world_id: Mapped[int] = mapped_column(ForeignKey(WorldRow.id))
    client_user_id: Mapped[str] = mapped_column(String(256))
    user_id: Mapped[Token]
    body: Mapped[Body]
    kyc: Mapped[StateColumn] = mapped_column(default="not_started")
    agreement: Mapped[StateColumn] = mapped_column(default="not_started")
    kyc_page: Mapped[Token]
    agreement_page: Mapped[Token]


class AccountRow(Base):
    """Bank details of a payer."""

    __tablename__ = "accounts"

    id: Mapped[RowId]
    world_id: Mapped[WorldId]
    payer_id: Mapped[int] = mapped_column(ForeignKey(PayerRow.id), index=True)
    payer: Mapped[PayerRow] = relationship()
    account_id: Mapped[Token]
    body: Mapped[Body]
    status: Mapped[StateColumn]


class BillRow(Base):
    """An order that is paid by its reference on the blockchain: a payment to a wallet,
    or a request for a payout.

    key: equal for orders that are counted together to make seeded ids. reference: the
    user's own. body: the order under the API's names.
    """

    __tablename__ = "bills"

    id: Mapped[RowId]
    world_id: Mapped[WorldId]
    request_id: Mapped[Token]
    payment_reference: Mapped[str] = mapped_column(String(18), index=True)
    key: Mapped[str] = mapped_column(String(64), index=True)
    reference: Mapped[str | None] = mapped_column(String(255), index=True)
    is_payout: Mapped[bool]
    created_at: Mapped[float]
    body: Mapped[Body]
    payments: Mapped[list[PaymentRow]] = relationship(
        back_populates="bill", order_by="PaymentRow.id"
    )

    @property
    def paid(self) -> int:
        """The sum of its payments, in base units."""
        return sum(payment.body["units"] for payment in self.payments)

    @property
    def left(self) -> int:
        """What is left to pay once something is paid, in base units: negative if it
        was too much.
        """
        requested: int = self.payments[0].body["requested"]
        return requested - self.paid

    @property
    def is_paid(self) -> bool:
        """Whether the order is paid in full."""
        return bool(self.payments) and self.left <= 0

    @property
    def ids(self) -> dict[str, str]:
        """The request id, in both published spellings, and the payment reference."""
        return {
            "requestId": self.request_id,
            "requestID": self.request_id,
            "paymentReference": self.payment_reference,
        }


class PaymentRow(Base):
    """A payment that a wallet made."""

    __tablename__ = "payments"

    id: Mapped[RowId]
    world_id: Mapped[WorldId]
    bill_id: Mapped[int] = mapped_column(ForeignKey(BillRow.id), index=True)
    bill: Mapped[BillRow] = relationship(back_populates="payments", lazy="joined")
    payment_id: Mapped[Token]
    transaction_hash: Mapped[str] = mapped_column(String(66), index=True)
    wallet: Mapped[str] = mapped_column(String(42), index=True)
    invoice_currency: Mapped[str] = mapped_column(String(80))
    payment_currency: Mapped[str] = mapped_column(String(80))
    paid_at: Mapped[float]
    body: Mapped[Body]


class EventRow(Base):
    """An event that was fired. body: its text, whose bytes are signed."""

    __tablename__ = "events"

    number: Mapped[RowId]
    world_id: Mapped[WorldId]
    delivery_id: Mapped[Token]
    fired_at: Mapped[float]
    body: Mapped[str]


class EntryRow(Base):
    """An entry of the ledger: a write that was stored, and what it was about."""

    __tablename__ = "ledger"

    number: Mapped[RowId]
    world_id: Mapped[WorldId]
    what: Mapped[StateColumn]
    client_user_id: Mapped[str | None] = mapped_column(String(256))
    about: Mapped[str | None] = mapped_column(String(66))
    fingerprint: Mapped[str] = mapped_column(String(16))
