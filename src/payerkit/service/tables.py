"""The tables of the sandbox's database, as SQLAlchemy models. A change of them needs a new VERSION.

Every row but the first belongs to a world. Personal values are encrypted; a column named `key` holds the keyed hash of
one by which the row is found. Times are seconds of the world's clock.
"""

from __future__ import annotations

from typing import Annotated, Any

from sqlalchemy import JSON, ForeignKey, Index, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from payerkit.service.keys import Encrypted

VERSION = 3
"""The version of the tables below, which a database has in its row of `sandbox`."""

_Id = Annotated[int, mapped_column(primary_key=True)]
_State = Annotated[str, mapped_column(String(40))]
_Token = Annotated[str, mapped_column(String(66), unique=True)]
_Key = Annotated[str, mapped_column(String(64), index=True)]
_Body = Annotated[dict[str, Any], mapped_column(Encrypted)]
_Currency = Annotated[str, mapped_column(String(80))]


class Base(DeclarativeBase):
    """Base of the tables."""


class SandboxRow(Base):
    """The database as a whole, in one row: its API key, unless keys are given, its identity and its kind of clock."""

    __tablename__ = "sandbox"

    version: Mapped[int] = mapped_column(primary_key=True)
    api_key: Mapped[str] = mapped_column(Encrypted)
    identity: Mapped[str] = mapped_column(String(36))
    clock: Mapped[str | None] = mapped_column(String(10))


class WorldRow(Base):
    """A world, which one API key opens.

    advanced: by how many seconds its clock was advanced. rates: US dollars per unit, by currency, as set by a user.
    wallet: the demo wallet's balances and the payment contract's allowances in base units, by currency, once set.
    """

    __tablename__ = "worlds"

    id: Mapped[_Id]
    name: Mapped[str] = mapped_column(String(40), unique=True)
    advanced: Mapped[float] = mapped_column(default=0.0)
    rates: Mapped[dict[str, str]] = mapped_column(JSON, default={})
    wallet: Mapped[dict[str, dict[str, int]]] = mapped_column(JSON, default={})


_World = Annotated[int, mapped_column(ForeignKey(WorldRow.id), index=True)]


class ChangeRow(Base):
    """A change that comes by itself: when, of what kind (see `world.CHANGES`), of which row, and to which state."""

    __tablename__ = "changes"
    __table_args__ = (Index("changes_due", "world_id", "due"),)

    id: Mapped[_Id]
    world_id: Mapped[int] = mapped_column(ForeignKey(WorldRow.id))
    due: Mapped[float]
    kind: Mapped[_State]
    subject_id: Mapped[int] = mapped_column(index=True)
    state: Mapped[_State]


class PayerRow(Base):
    """A payer. kyc_page, agreement_page: the random parts of the links."""

    __tablename__ = "payers"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    key: Mapped[_Token]
    user_id: Mapped[_Token]
    body: Mapped[_Body] = mapped_column(deferred=True)  # decrypted only where it is needed
    kyc: Mapped[_State]
    agreement: Mapped[_State]
    kyc_page: Mapped[_Token]
    agreement_page: Mapped[_Token]

    @property
    def client_user_id(self) -> str:
        """The platform's own id of the payer."""
        return str(self.body["clientUserId"])


class AccountRow(Base):
    """Bank details of a payer."""

    __tablename__ = "accounts"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    payer_id: Mapped[int] = mapped_column(ForeignKey(PayerRow.id), index=True)
    account_id: Mapped[_Token]
    body: Mapped[_Body]
    status: Mapped[_State]


class BillRow(Base):
    """An order that is paid by its reference on the blockchain: a payment to a wallet, or a request for a payout.

    key: of equal orders, or of the user's reference. body: the order under the API's names, with what the user sent
    with a request besides.
    """

    __tablename__ = "bills"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    request_id: Mapped[_Token]
    payment_reference: Mapped[str] = mapped_column(String(18), index=True)
    key: Mapped[_Key]
    is_payout: Mapped[bool]
    created_at: Mapped[float]
    body: Mapped[_Body]
    payments: Mapped[list[PaymentRow]] = relationship(back_populates="bill", order_by="PaymentRow.id")

    @property
    def paid(self) -> int:
        """The sum of its payments, in base units."""
        return sum(each.body["units"] for each in self.payments)

    @property
    def is_paid(self) -> bool:
        """Whether the order is paid in full."""
        return bool(self.payments) and self.paid >= self.payments[0].body["requested"]

    @property
    def ids(self) -> dict[str, str]:
        """The request id, in both published spellings, and the payment reference."""
        names = {"requestId": self.request_id, "requestID": self.request_id}
        return {**names, "paymentReference": self.payment_reference}


class PaymentRow(Base):
    """A payment that a wallet made. key: of the wallet. outcome: how its payout ends by itself; None without one."""

    __tablename__ = "payments"

    id: Mapped[_Id]
    world_id: Mapped[_World]
    bill_id: Mapped[int] = mapped_column(ForeignKey(BillRow.id), index=True)
    bill: Mapped[BillRow] = relationship(back_populates="payments", lazy="joined", innerjoin=True)
    payment_id: Mapped[_Token]
    transaction_hash: Mapped[str] = mapped_column(String(66), index=True)
    key: Mapped[_Key]
    invoice_currency: Mapped[_Currency]
    payment_currency: Mapped[_Currency]
    paid_at: Mapped[float]
    outcome: Mapped[str | None] = mapped_column(String(40))
    body: Mapped[_Body]


class EventRow(Base):
    """An event that was fired. body: its text, whose bytes are signed."""

    __tablename__ = "events"

    number: Mapped[_Id]
    world_id: Mapped[_World]
    delivery_id: Mapped[str] = mapped_column(String(26))
    name: Mapped[_State]
    fired_at: Mapped[float]
    body: Mapped[str] = mapped_column(Encrypted)


class EntryRow(Base):
    """An entry of the ledger: a write that was stored."""

    __tablename__ = "ledger"

    number: Mapped[_Id]
    world_id: Mapped[_World]
    what: Mapped[_State]
    body: Mapped[_Body]
