"""Payers and bank details in the database; each method is one transaction."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Engine, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from payerkit.service.clock import LATEST, current_time
from payerkit.service.database import WRITE, DetailRow, LedgerRow, Meta, PayerRow
from payerkit.service.encryption import RecordCipher
from payerkit.service.errors import Problem
from payerkit.service.identifiers import Identifiers
from payerkit.service.settings import Settings, SetupError
from payerkit.service.states import (
    NOT_STARTED,
    TimedState,
    initial_detail_state,
    is_approved,
    is_refused_bank,
    states_from_email,
)

_NEVER_RETURNED = {"documentNumber"}
_ADVANCED = "advanced"
"""Name of the row that holds by how many seconds the clock was advanced, and that every write locks."""

_INSERT_LEDGER_ROW = insert(LedgerRow)

WriteKind = Literal["payer", "payment_detail", "agreement"]
"""What a row of the ledger records: one write of the API that was stored."""


@dataclass(frozen=True, slots=True)
class StoredPayer:
    """A payer with the current states; `page` is the random part of the links."""

    user_id: str
    client_user_id: str
    kyc: str
    agreement: str
    page: str


class Store:
    """The database behind the API. Methods about one payer raise Problem (404) if the payer is unknown."""

    def __init__(self, engine: Engine, cipher: RecordCipher, settings: Settings) -> None:
        self._engine = engine
        self._cipher = cipher
        self._settings = settings
        self._identifiers = Identifiers(settings.seed)
        self._write_lock = threading.Lock()
        identity = Identifiers().uuid("service")  # random even with a seed: it tells databases apart
        try:
            self.identity = self._get_or_add_meta("identity", identity)
        except IntegrityError:  # another service made the first entries at the same moment
            self.identity = self._get_or_add_meta("identity", identity)
        # Decisions are due at times of one clock; on another they would be due at once, or in months.
        if (clock := self._get_or_add_meta("clock", settings.clock)) != settings.clock:
            raise SetupError(f'clock: this database was made with clock="{clock}"; use that, or another database.')

    def api_key(self, new_key: str) -> str:
        """Return the API key kept in the database, for databases without a key file; keep this one if there is none."""
        return self._get_or_add_meta("api_key", new_key)

    def _get_or_add_meta(self, name: str, default: str) -> str:
        """Return the value kept under a name; keep the default if there is none.

        Raises SetupError if it was encrypted with another key: then all other records were, too.
        """
        with self.write() as (session, _):
            row = session.get(Meta, name)
            if row is None:
                row = Meta(name=name, value=self._cipher.encrypt({name: default}).decode())
                session.add(row)
            return str(self._cipher.decrypt(row.value.encode())[name])

    @contextmanager
    def write(self) -> Iterator[tuple[Session, float]]:
        """Give a transaction that may write, and its time; writes run one after the other.

        Threads of this process wait at the lock: SQLite would have them poll for its own, and time out under load.
        Other processes wait at the row of the clock, which every write locks first. Ids with an ordinal rely on
        this: between the count and the insert nobody else adds a row.
        """
        with self._write_lock, Session(self._engine, expire_on_commit=False) as session, session.begin():
            session.connection(execution_options={WRITE: True})
            row = session.get(Meta, _ADVANCED, with_for_update=True)
            if row is None:
                row = Meta(name=_ADVANCED, value="0")
                session.add(row)
            yield session, self._time(row)

    @contextmanager
    def read(self) -> Iterator[tuple[Session, float]]:
        """Give a transaction that only reads, and its time."""
        with Session(self._engine) as session, session.begin():
            yield session, self._time(session.get(Meta, _ADVANCED))

    def _time(self, row: Meta | None) -> float:
        return current_time(self._settings.clock, float(row.value) if row else 0.0)

    def now(self) -> float:
        """Return the time of the service's clock, in seconds."""
        with self.read() as (_, now):
            return now

    def advance(self, seconds: float) -> float:
        """Advance the clock of every service on this database; return the new time. Raises Problem at its end."""
        with self.write() as (session, now):
            if now + seconds > LATEST:
                raise Problem.of_field("seconds", "must not lead beyond the year 9999", "clock_range")
            row = session.get_one(Meta, _ADVANCED)
            row.value = repr(float(row.value) + seconds)
            return now + seconds

    def save_payer(self, body: Mapping[str, Any], *, must_be_new: bool = False) -> StoredPayer:
        """Add a payer, or update the one with this client user id; test e-mails set the states.

        Raises Problem (409) for a payer who exists already, if it must be a new one.
        """
        client_user_id = str(body["clientUserId"])
        with self.write() as (session, now):
            row = self._find_row(session, client_user_id)
            if row is None:
                row = PayerRow(
                    key=self._cipher.lookup_key(client_user_id),
                    user_id=self._identifiers.uuid("payer", client_user_id),
                    kyc=NOT_STARTED,
                    agreement=NOT_STARTED,
                    page=self._identifiers.token_bytes(16, "page", client_user_id).hex(),
                )
                session.add(row)
            elif must_be_new:
                raise Problem(409, "A payer with this client user ID exists already")
            row.sealed = self._cipher.encrypt(body)
            for kind, state in states_from_email(str(body["email"])).items():
                _set_state(row, kind, state)
            self._record(session, "payer", client_user_id, body, None)
            return self._payer(row, now)

    def find_payer(self, client_user_id: str) -> StoredPayer:
        """Return the payer with this client user id."""
        with self.read() as (session, now):
            return self._payer(self._payer_row(session, client_user_id), now)

    def find_page(self, page: str) -> StoredPayer | None:
        """Return the payer whose links contain this text, or None."""
        with self.read() as (session, now):
            row = session.scalar(select(PayerRow).where(PayerRow.page == page))
            return self._payer(row, now) if row else None

    def update_agreement(self, client_user_id: str, body: Mapping[str, Any]) -> None:
        """Set a payer's agreement as reported by the platform."""
        with self.write() as (session, _):
            row = self._payer_row(session, client_user_id)
            _set_state(row, "agreement", "completed" if body["agreementCompleted"] else NOT_STARTED)
            self._record(session, "agreement", client_user_id, body, None)

    def set_payer_state(self, client_user_id: str, kind: str, state: str) -> StoredPayer:
        """Set a payer's `kyc` or `agreement`; return the payer."""
        with self.write() as (session, now):
            row = self._payer_row(session, client_user_id)
            _set_state(row, kind, state)
            return self._payer(row, now)

    def submit_kyc(self, client_user_id: str) -> None:
        """Record a submitted identity check: pending now, approved after the delay."""
        with self.write() as (session, now):
            row = self._payer_row(session, client_user_id)
            row.kyc, row.kyc_following, row.kyc_due = "pending", "approved", now + self._settings.kyc_delay

    def add_detail(self, client_user_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Add bank details of a payer; return the record as listed.

        Raises Problem if the settings require an approved identity check and the payer has none, or if the bank's name
        is the test value for a refusal.
        """
        with self.write() as (session, now):
            payer = self._payer_row(session, client_user_id)
            if self._settings.needs_kyc and not is_approved(self._payer(payer, now).kyc):
                raise Problem(403, "The payer's identity check is not approved yet", code="not_yet_passed_kyc_kyb")
            if is_refused_bank(str(body["bankName"])):
                message = "The payer is not approved for this payout rail yet"
                raise Problem(403, message, code="not_approved_for_payout_rail")
            ordinal = session.scalar(select(func.count()).where(DetailRow.payer_id == payer.id))
            state = initial_detail_state(str(body["bankName"]), now, self._settings.account_delay)
            row = DetailRow(
                detail_id=self._identifiers.uuid("payment detail", client_user_id, ordinal),
                payer_id=payer.id,
                sealed=self._cipher.encrypt(body),
                state=state.state,
                following=state.next_state,
                due=state.due,
            )
            session.add(row)
            self._record(session, "payment_detail", client_user_id, body, row.detail_id)
            return self._detail(row, payer, now)

    def list_details(self, client_user_id: str, detail_id: str | None) -> list[dict[str, Any]]:
        """Return a payer's bank details in the order of their creation, or only those with this id."""
        with self.read() as (session, now):
            payer = self._payer_row(session, client_user_id)
            query = select(DetailRow).where(DetailRow.payer_id == payer.id).order_by(DetailRow.id)
            if detail_id is not None:
                query = query.where(DetailRow.detail_id == detail_id)
            return [self._detail(row, payer, now) for row in session.scalars(query)]

    def set_detail_state(self, detail_id: str, state: str) -> None:
        """Set the state of bank details for good. Raises Problem (404) if they are unknown."""
        with self.write() as (session, _):
            row = session.scalar(select(DetailRow).where(DetailRow.detail_id == detail_id))
            if row is None:
                raise Problem(404, f"Payment detail {detail_id} not found")
            row.state, row.following, row.due = state, None, None

    def ledger_rows(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Return the rows of the ledger after a number, at most `limit`."""
        query = select(LedgerRow).where(LedgerRow.number > after).order_by(LedgerRow.number).limit(limit)
        with self.read() as (session, _):
            return [{"number": row.number, **self._cipher.decrypt(row.sealed)} for row in session.scalars(query)]

    def _record(
        self, session: Session, kind: WriteKind, client_user_id: str, body: Mapping[str, Any], detail_id: str | None
    ) -> None:
        """Add a write of this transaction to the ledger, encrypted, since it holds a client user id.

        The fingerprint is equal only for equal bodies, and reveals nothing.
        """
        fingerprint = self._cipher.lookup_key("body " + json.dumps(body, sort_keys=True))[:16]
        entry = {"what": kind, "clientUserId": client_user_id, "id": detail_id, "fingerprint": fingerprint}
        # Not through the session: it would track an object that never changes, which doubles the cost of a row.
        session.connection().execute(_INSERT_LEDGER_ROW, {"sealed": self._cipher.encrypt(entry)})

    def _find_row(self, session: Session, client_user_id: str) -> PayerRow | None:
        return session.scalar(select(PayerRow).where(PayerRow.key == self._cipher.lookup_key(client_user_id)))

    def _payer_row(self, session: Session, client_user_id: str) -> PayerRow:
        if (row := self._find_row(session, client_user_id)) is None:
            raise Problem(404, f"Payer with client user ID {client_user_id} not found")  # the published words
        return row

    def _payer(self, row: PayerRow, now: float) -> StoredPayer:
        kyc = TimedState(row.kyc, row.kyc_following, row.kyc_due).at(now)
        client_user_id = str(self._cipher.decrypt(row.sealed)["clientUserId"])
        return StoredPayer(row.user_id, client_user_id, kyc, row.agreement, row.page)

    def _detail(self, row: DetailRow, payer: PayerRow, now: float) -> dict[str, Any]:
        """Return the record as listed: everything that was sent except document numbers, and the service's fields."""
        sent = {name: value for name, value in self._cipher.decrypt(row.sealed).items() if name not in _NEVER_RETURNED}
        status = TimedState(row.state, row.following, row.due).at(now)
        return {"id": row.detail_id, "userId": payer.user_id, "rails": "local", **sent, "status": status}


def _set_state(row: PayerRow, kind: str, state: str) -> None:
    if kind == "agreement":
        row.agreement = state
    else:
        row.kyc, row.kyc_following, row.kyc_due = state, None, None
