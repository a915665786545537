"""The tables of the sandbox's database.

Every row belongs to a world and has the time at which it was stored. Columns named `sealed` hold JSON encrypted by a
RecordCipher and bound to their row, columns named `key` its lookup keys. A change of these tables needs a migration and
a new VERSION.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import DateTime, ForeignKey, LargeBinary, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

VERSION = "0003"
"""The revision of the tables below. A database has its own in Alembic's table of versions."""

_Created = Annotated[datetime | None, mapped_column(DateTime(timezone=True), default=lambda: datetime.now(UTC))]
"""When a row was stored, in real time; None in rows from before this column."""

_Changed = Annotated[float | None, mapped_column()]
"""When a state was changed, by the world's clock, if no event was fired for it yet."""

_Id = Annotated[int, mapped_column(primary_key=True)]
_Token = Annotated[str, mapped_column(String(64), unique=True)]
_State = Annotated[str, mapped_column(String(40))]


class Base(DeclarativeBase):
    """Base of the tables."""


class VersionRow(Base):
    """The revision of the tables, in the table that Alembic reads."""

    __tablename__ = "alembic_version"

    version_num: Mapped[str] = mapped_column(String(32), primary_key=True)


class MetaRow(Base):
    """A value about the database as a whole: its identity, kind of clock, encrypted data key, or sealed API key."""

    __tablename__ = "meta"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(String(1000))
    created_at: Mapped[_Created]


class WorldRow(Base):
    """A world, which one API key opens. `advanced`: by how many seconds its clock was advanced."""

    __tablename__ = "worlds"

    id: Mapped[_Id]
    name: Mapped[str] = mapped_column(String(40), unique=True)
    advanced: Mapped[float] = mapped_column(default=0.0)
    created_at: Mapped[_Created]


_World = Annotated[int, mapped_column(ForeignKey(WorldRow.id), index=True)]


class PayerRow(Base):
    """A payer. `key` is the lookup key of the client user id, which is encrypted with the rest."""

    __tablename__ = "payers"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    key: Mapped[_Token]
    user_id: Mapped[str] = mapped_column(String(36), unique=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    kyc: Mapped[_State]
    kyc_following: Mapped[str | None] = mapped_column(String(40))
    kyc_due: Mapped[float | None]
    agreement: Mapped[_State]
    kyc_page: Mapped[_Token]
    agreement_page: Mapped[_Token]
    created_at: Mapped[_Created]
    changed_at: Mapped[_Changed]


class DetailRow(Base):
    """Bank details of a payer."""

    __tablename__ = "payment_details"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    detail_id: Mapped[str] = mapped_column(String(36), unique=True)
    payer_id: Mapped[int] = mapped_column(ForeignKey(PayerRow.id), index=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[_State]
    following: Mapped[str | None] = mapped_column(String(40))
    due: Mapped[float | None]
    created_at: Mapped[_Created]
    changed_at: Mapped[_Changed]


class PaymentRow(Base):
    """An initiated payment. `key` is the lookup key of its order, by which equal orders are counted.

    payment_reference: by which it is recognized when somebody pays it; None in rows from before this column.
    """

    __tablename__ = "payments"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    request_id: Mapped[str] = mapped_column(String(66), unique=True)
    key: Mapped[str] = mapped_column(String(64), index=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[_Created]
    payment_reference: Mapped[str | None] = mapped_column(String(18), index=True)


class RequestRow(Base):
    """A request that pays out to a bank account. `key` is the lookup key of the user's reference."""

    __tablename__ = "requests"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    request_id: Mapped[str] = mapped_column(String(66), unique=True)
    payment_reference: Mapped[str] = mapped_column(String(18), index=True)
    key: Mapped[str | None] = mapped_column(String(64), index=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[_Created]


class PaidRow(Base):
    """A payment that a wallet made, for a payment or a request. `key` is the lookup key of the wallet.

    paid_at: by the world's clock. outcome: how its payout ends by itself; None without a payout. decided, decided_at:
    the payout's state set by hand, and when. fired: how many of its events were fired. settled: whether all were.
    """

    __tablename__ = "paid"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    paid_id: Mapped[str] = mapped_column(String(36), unique=True)
    request_id: Mapped[str] = mapped_column(String(66), index=True)
    payment_reference: Mapped[str] = mapped_column(String(18), index=True)
    transaction_hash: Mapped[str] = mapped_column(String(66), index=True)
    key: Mapped[str] = mapped_column(String(64), index=True)
    invoice_currency: Mapped[str] = mapped_column(String(80))
    payment_currency: Mapped[str] = mapped_column(String(80))
    paid_at: Mapped[float] = mapped_column(index=True)
    outcome: Mapped[str | None] = mapped_column(String(40))
    decided: Mapped[str | None] = mapped_column(String(40))
    decided_at: Mapped[float | None]
    fired: Mapped[int] = mapped_column(default=0)
    settled: Mapped[bool] = mapped_column(default=False, index=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[_Created]


class EventRow(Base):
    """An event that was fired, at a time of the world's clock."""

    __tablename__ = "events"

    number: Mapped[_Id]
    world_id: Mapped[_World]
    delivery_id: Mapped[str] = mapped_column(String(26), unique=True)
    fired_at: Mapped[float]
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[_Created]


class LedgerRow(Base):
    """A write that was stored. `entry` is a random id, to which `sealed` is bound."""

    __tablename__ = "ledger"

    number: Mapped[_Id]
    world_id: Mapped[_World]
    entry: Mapped[str] = mapped_column(String(36), unique=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[_Created]


class RateRow(Base):
    """An exchange rate set by a user: US dollars per unit of a currency, as a decimal."""

    __tablename__ = "rates"

    world_id: Mapped[int] = mapped_column(ForeignKey(WorldRow.id), primary_key=True)
    currency: Mapped[str] = mapped_column(String(80), primary_key=True)
    usd: Mapped[str] = mapped_column(String(80))
    created_at: Mapped[_Created]


class HoldingRow(Base):
    """The demo wallet's balance of a currency and the payment contract's allowance, in base units."""

    __tablename__ = "wallet"

    world_id: Mapped[int] = mapped_column(ForeignKey(WorldRow.id), primary_key=True)
    currency: Mapped[str] = mapped_column(String(80), primary_key=True)
    balance: Mapped[str] = mapped_column(String(80))
    allowance: Mapped[str] = mapped_column(String(80))
    created_at: Mapped[_Created]
