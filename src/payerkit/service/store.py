"""What is stored and read, one transaction each; writes come one after the other, whoever writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from payerkit.service.database import WRITE, DetailRow, Meta, PayerRow
from payerkit.service.encryption import RecordCipher
from payerkit.service.errors import Problem
from payerkit.service.identifiers import Identifiers
from payerkit.service.ledger import Ledger
from payerkit.service.settings import Settings
from payerkit.service.states import NOT_STARTED, Decided, detail_state, is_approved, payer_states

_NEVER_RETURNED = {"documentNumber"}


@dataclass(frozen=True, slots=True)
class StoredPayer:
    """A payer as the service knows them now; `page` is the unguessable part of the links."""

    user_id: str
    client_user_id: str
    kyc: str
    agreement: str
    page: str


class Store:
    """The database behind the API."""

    def __init__(self, engine: Engine, vault: RecordCipher, settings: Settings) -> None:
        self._engine = engine
        self._vault = vault
        self._settings = settings
        self._origin = Identifiers(settings.seed)
        self._writing = threading.Lock()
        fresh = Identifiers().uuid("service")  # never the same, even with a seed
        try:
            self.identity = self._kept("identity", fresh)
        except IntegrityError:  # another service made its first entries at this moment
            self.identity = self._kept("identity", fresh)

    def api_key(self, fresh: str) -> str:
        """Return the API key that the database keeps, for those that have no file beside them."""
        return self._kept("api_key", fresh)

    def _kept(self, name: str, fresh: str) -> str:
        """Return what is kept under a name, sealed; keep this if nothing is.

        Raises SetupError if it was sealed with another key: then the database was written with another one, too.
        """
        with self.write() as (session, _):
            row = session.get(Meta, name)
            if row is None:
                row = Meta(name=name, value=self._vault.seal({name: fresh}).decode())
                session.add(row)
            return str(self._vault.open(row.value.encode())[name])

    @contextmanager
    def write(self) -> Iterator[tuple[Session, float]]:
        """Give a transaction that may write, and the time in it; the row that counts writes keeps others out."""
        with self._writing, Session(self._engine, expire_on_commit=False) as session, session.begin():
            session.connection(execution_options={WRITE: True})
            counter = session.get(Meta, "writes", with_for_update=True)
            if counter is None:
                counter = Meta(name="writes", value="0")
                session.add(counter)
            writes = int(counter.value) + 1
            counter.value = str(writes)
            yield session, self._origin.now(writes)

    @contextmanager
    def read(self) -> Iterator[tuple[Session, float]]:
        """Give a transaction that only reads, and the time in it."""
        with Session(self._engine) as session, session.begin():
            counter = session.get(Meta, "writes")
            yield session, self._origin.now(int(counter.value) if counter else 0)

    def save_payer(self, body: Mapping[str, Any]) -> StoredPayer:
        """Store a payer, or update the one with this client user id; test e-mails set the states."""
        client_user_id = str(body["clientUserId"])
        with self.write() as (session, now):
            row = self._payer_row(session, client_user_id)
            if row is None:
                row = self._new_payer(client_user_id)
                session.add(row)
            row.sealed = self._vault.seal(body)
            for kind, state in payer_states(str(body["email"])).items():
                self._set_state(row, kind, state)
            Ledger(session, self._vault).add("payer", client_user_id, body)
            return self._payer(row, now)

    def _new_payer(self, client_user_id: str) -> PayerRow:
        return PayerRow(
            key=self._vault.index(client_user_id),
            user_id=self._origin.uuid("payer", client_user_id),
            kyc=NOT_STARTED,
            agreement=NOT_STARTED,
            page=self._origin.digits(16, "page", client_user_id).hex(),
        )

    def find_payer(self, client_user_id: str) -> StoredPayer | None:
        """Return the payer with this client user id, if there is one."""
        with self.read() as (session, now):
            row = self._payer_row(session, client_user_id)
            return self._payer(row, now) if row else None

    def find_page(self, page: str) -> StoredPayer | None:
        """Return the payer whose links hold this, if there is one."""
        with self.read() as (session, now):
            row = session.scalar(select(PayerRow).where(PayerRow.page == page))
            return self._payer(row, now) if row else None

    def update_agreement(self, client_user_id: str, body: Mapping[str, Any]) -> bool:
        """Set a payer's agreement as the platform tells it; return whether there is such a payer."""
        with self.write() as (session, _):
            row = self._payer_row(session, client_user_id)
            if row is not None:
                self._set_state(row, "agreement", "completed" if body["agreementCompleted"] else NOT_STARTED)
                Ledger(session, self._vault).add("agreement", client_user_id, body)
            return row is not None

    def set_payer_state(self, client_user_id: str, kind: str, state: str) -> StoredPayer | None:
        """Set a payer's `kyc` or `agreement`; None if there is no such payer."""
        with self.write() as (session, now):
            row = self._payer_row(session, client_user_id)
            if row is None:
                return None
            self._set_state(row, kind, state)
            return self._payer(row, now)

    def submit_kyc(self, client_user_id: str) -> StoredPayer | None:
        """Take an identity check as submitted: pending now, approved after the delay."""
        with self.write() as (session, now):
            row = self._payer_row(session, client_user_id)
            if row is None:
                return None
            row.kyc, row.kyc_following, row.kyc_due = "pending", "approved", now + self._settings.decide_after
            return self._payer(row, now)

    def add_detail(self, client_user_id: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Store bank details of a payer and return the record; None if there is no such payer.

        Raises Problem if the service is set to wait for an identity check that is not approved.
        """
        with self.write() as (session, now):
            payer = self._payer_row(session, client_user_id)
            if payer is None:
                return None
            if self._settings.kyc_required and not is_approved(self._payer(payer, now).kyc):
                raise Problem(400, "the payer's identity check is not approved yet")
            place = session.scalar(select(func.count()).where(DetailRow.payer_id == payer.id))
            decided = detail_state(str(body["bankName"]), now, self._settings.decide_after)
            row = DetailRow(
                detail_id=self._origin.uuid("payment detail", client_user_id, place),
                payer_id=payer.id,
                sealed=self._vault.seal(body),
                state=decided.state,
                following=decided.following,
                due=decided.due,
            )
            session.add(row)
            Ledger(session, self._vault).add("payment_detail", client_user_id, body, row.detail_id)
            return self._detail(row, payer, now)

    def details(self, client_user_id: str, detail_id: str | None) -> list[dict[str, Any]] | None:
        """Return a payer's bank details in the order they came, or the one with this id; None without a payer."""
        with self.read() as (session, now):
            payer = self._payer_row(session, client_user_id)
            if payer is None:
                return None
            wanted = select(DetailRow).where(DetailRow.payer_id == payer.id).order_by(DetailRow.id)
            if detail_id is not None:
                wanted = wanted.where(DetailRow.detail_id == detail_id)
            return [self._detail(row, payer, now) for row in session.scalars(wanted)]

    def decide_detail(self, detail_id: str, state: str) -> bool:
        """Set the state of bank details for good; return whether there are such details."""
        with self.write() as (session, _):
            row = session.scalar(select(DetailRow).where(DetailRow.detail_id == detail_id))
            if row is not None:
                row.state, row.following, row.due = state, None, None
            return row is not None

    def ledger(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Return the rows of the ledger behind a number, at most this many."""
        with self.read() as (session, _):
            return Ledger(session, self._vault).rows(after, limit)

    def _payer_row(self, session: Session, client_user_id: str) -> PayerRow | None:
        return session.scalar(select(PayerRow).where(PayerRow.key == self._vault.index(client_user_id)))

    def _set_state(self, row: PayerRow, kind: str, state: str) -> None:
        if kind == "agreement":
            row.agreement = state
        else:
            row.kyc, row.kyc_following, row.kyc_due = state, None, None

    def _payer(self, row: PayerRow, now: float) -> StoredPayer:
        kyc = Decided(row.kyc, row.kyc_following, row.kyc_due).at(now)
        client_user_id = str(self._vault.open(row.sealed)["clientUserId"])
        return StoredPayer(row.user_id, client_user_id, kyc, row.agreement, row.page)

    def _detail(self, row: DetailRow, payer: PayerRow, now: float) -> dict[str, Any]:
        """Return what is listed: everything that was sent but document numbers, and what the service added."""
        sent = {name: value for name, value in self._vault.open(row.sealed).items() if name not in _NEVER_RETURNED}
        status = Decided(row.state, row.following, row.due).at(now)
        return {"id": row.detail_id, "userId": payer.user_id, "rails": "local", **sent, "status": status}
