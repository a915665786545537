"""Payers, bank details, payments and the ledger of one world; each method that writes is one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, insert, select, update

from payerkit.service.clock import LATEST, current_time
from payerkit.service.database import Database
from payerkit.service.errors import Problem
from payerkit.service.identifiers import Identifiers
from payerkit.service.settings import Settings
from payerkit.service.states import (
    AGREEMENT_OPEN,
    KYC_OPEN,
    NOT_STARTED,
    TimedState,
    initial_detail_state,
    is_approved,
    is_refused_bank,
    states_from_email,
)
from payerkit.service.stored_rows import DetailRow, LedgerRow, PayerRow, PaymentRow, WorldRow

_NEVER_RETURNED = {"documentNumber"}

_PAYERS, _DETAILS, _LEDGER = (each.__table__ for each in (PayerRow, DetailRow, LedgerRow))

# Statements that many calls need: to build one takes longer than to run it.
_ADVANCED = select(WorldRow.advanced).where(WorldRow.id == bindparam("world"))
_FIND_PAYER = select(_PAYERS).where(PayerRow.key == bindparam("wanted"))
_ADD_PAYER, _ADD_DETAIL, _ADD_PAYMENT, _ADD_ENTRY = (
    insert(rows) for rows in (PayerRow, DetailRow, PaymentRow, LedgerRow)
)
_CHANGE_PAYER = update(PayerRow).where(PayerRow.key == bindparam("wanted"))

WriteKind = Literal["payer", "payment_detail", "agreement"]
"""What a row of the ledger records: one write of the API that was stored."""

Step = Literal["kyc", "agreement"]
"""What a payer completes on a page."""


@dataclass(frozen=True, slots=True)
class StoredPayer:
    """A payer with the current states; the pages are the random parts of the links."""

    user_id: str
    client_user_id: str
    kyc: str
    agreement: str
    kyc_page: str
    agreement_page: str


def find_world_of_page(database: Database, step: Step, token: str) -> int | None:
    """Return the id of the world whose payer has this link, or None."""
    with database.read() as connection:
        return connection.scalar(select(PayerRow.world_id).where(_page_column(step) == token))


class Store:
    """The data of a world. Methods about one payer raise Problem (404) if the payer is unknown."""

    def __init__(self, database: Database, world_id: int, settings: Settings, identifiers: Identifiers) -> None:
        self.database = database
        self.world_id = world_id
        self.identifiers = identifiers
        self._cipher = database.cipher
        self._settings = settings

    def now(self) -> float:
        """Return the time of the world's clock, in seconds."""
        with self.database.read() as connection:
            return self._now(connection)

    def _now(self, connection: Connection) -> float:
        advanced = connection.scalar(_ADVANCED, {"world": self.world_id})
        return current_time(self._settings.clock, advanced or 0.0)

    def advance(self, seconds: float) -> float:
        """Advance the clock of this world, in every service on the database; return the new time.

        Raises Problem at its end.
        """
        with self.database.write() as connection:
            world = update(WorldRow).where(WorldRow.id == self.world_id)
            connection.execute(world.values(advanced=WorldRow.advanced + seconds))
            if (now := self._now(connection)) > LATEST:
                raise Problem.of_field("seconds", "must not lead beyond the year 9999", "clock_range")
            return now

    def save_payer(self, body: Mapping[str, Any], *, must_be_new: bool = False) -> StoredPayer:
        """Add a payer, or update the one with this client user id; test e-mails set the states.

        Raises Problem (409) for a payer who exists already, if it must be a new one.
        """
        client_user_id = str(body["clientUserId"])
        key = self.lookup_key(client_user_id)
        requested = states_from_email(str(body["email"]))
        changes = {"sealed": self._cipher.seal(f"payer {key}", body)}
        for kind, state in requested.items():
            changes |= _state_columns(kind, state)
        new = {
            "world_id": self.world_id,
            "key": key,
            "user_id": self.identifiers.uuid("payer", client_user_id),
            "kyc": NOT_STARTED,
            "agreement": NOT_STARTED,
            "kyc_page": self._page_token("kyc", client_user_id),
            "agreement_page": self._page_token("agreement", client_user_id),
        }
        entry = self._ledger_entry("payer", client_user_id, body)

        def attempt() -> tuple[Row[Any], float]:
            with self.database.write() as connection:
                if connection.execute(_FIND_PAYER, {"wanted": key}).one_or_none() is None:
                    connection.execute(_ADD_PAYER, new | changes)
                elif must_be_new:
                    raise Problem(409, "A payer with this client user ID exists already")
                else:
                    connection.execute(_CHANGE_PAYER, {"wanted": key, **changes})
                connection.execute(_ADD_ENTRY, entry)
                return self._payer_row(connection, client_user_id, key), self._now(connection)

        return _stored_payer(client_user_id, *self.database.retry_conflicts(attempt))

    def find_payer(self, client_user_id: str) -> StoredPayer:
        """Return the payer with this client user id."""
        key = self.lookup_key(client_user_id)
        with self.database.read() as connection:
            row, now = self._payer_row(connection, client_user_id, key), self._now(connection)
        return _stored_payer(client_user_id, row, now)

    def find_page(self, step: Step, token: str) -> StoredPayer | None:
        """Return the payer whose link of a step has this token, or None."""
        with self.database.read() as connection:
            query = select(_PAYERS).where(_page_column(step) == token, PayerRow.world_id == self.world_id)
            row, now = connection.execute(query).one_or_none(), self._now(connection)
        if row is None:
            return None
        return _stored_payer(str(self._cipher.unseal(f"payer {row.key}", row.sealed)["clientUserId"]), row, now)

    def update_agreement(self, client_user_id: str, body: Mapping[str, Any]) -> None:
        """Set a payer's agreement as reported by the platform."""
        state = "completed" if body["agreementCompleted"] else NOT_STARTED
        entry = self._ledger_entry("agreement", client_user_id, body)
        self._update_payer(client_user_id, {"agreement": state}, entry)

    def set_payer_state(self, client_user_id: str, kind: str, state: str) -> StoredPayer:
        """Set a payer's `kyc` or `agreement`; return the payer."""
        return self._update_payer(client_user_id, _state_columns(kind, state))

    def sign_agreement(self, client_user_id: str) -> StoredPayer | None:
        """Record a signature; return the payer, or None if the agreement cannot be signed any more."""
        return self._complete_step(client_user_id, PayerRow.agreement.in_(AGREEMENT_OPEN), {"agreement": "signed"})

    def submit_kyc(self, client_user_id: str) -> StoredPayer | None:
        """Record a submitted identity check: pending now, approved after the delay.

        Return the payer, or None if the check cannot be submitted any more.
        """
        due = self.now() + self._settings.kyc_delay
        columns = {"kyc": "pending", "kyc_following": "approved", "kyc_due": due}
        return self._complete_step(client_user_id, PayerRow.kyc.in_(KYC_OPEN), columns)

    def _complete_step(
        self, client_user_id: str, is_open: ColumnElement[bool], columns: Mapping[str, Any]
    ) -> StoredPayer | None:
        """Change columns of a payer whose step is open; in one statement, so that of two at once only one does."""
        key = self.lookup_key(client_user_id)
        with self.database.write() as connection:
            now = self._now(connection)
            change = update(PayerRow).where(PayerRow.key == key, is_open)
            changed = connection.execute(change, {**columns, "changed_at": now}).rowcount
            row = self._payer_row(connection, client_user_id, key)
        return _stored_payer(client_user_id, row, now) if changed else None

    def _update_payer(
        self, client_user_id: str, columns: Mapping[str, Any], entry: Mapping[str, Any] | None = None
    ) -> StoredPayer:
        """Change columns of a payer, and record it in the ledger if an entry is given; return the payer."""
        key = self.lookup_key(client_user_id)
        with self.database.write() as connection:
            now = self._now(connection)
            connection.execute(_CHANGE_PAYER, {"wanted": key, **columns, "changed_at": now})
            row = self._payer_row(connection, client_user_id, key)
            if entry is not None:
                connection.execute(_ADD_ENTRY, entry)
        return _stored_payer(client_user_id, row, now)

    def add_detail(self, client_user_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Add bank details of a payer; return the record as listed.

        Raises Problem if the settings require an approved identity check and the payer has none, or if the bank's name
        is the test value for a refusal.
        """
        key, bank = self.lookup_key(client_user_id), str(body["bankName"])
        belongs_to_payer = DetailRow.payer_id.in_(select(PayerRow.id).where(PayerRow.key == key))

        def attempt() -> dict[str, Any]:
            ordinal = self.ordinal(select(func.count(DetailRow.id)).where(belongs_to_payer))
            detail_id = self.identifiers.uuid("payment detail", client_user_id, ordinal)
            sealed = self._cipher.seal(f"payment_detail {detail_id}", body)
            entry = self._ledger_entry("payment_detail", client_user_id, body, detail_id)
            with self.database.write() as connection:
                payer = self._payer_row(connection, client_user_id, key, called="User with ID")
                now = self._now(connection)
                if self._settings.needs_kyc and not is_approved(_kyc_state(payer, now)):
                    raise Problem(403, "The payer's identity check is not approved yet", code="not_yet_passed_kyc_kyb")
                if is_refused_bank(bank):
                    message = "The payer is not approved for this payout rail yet"
                    raise Problem(403, message, code="not_approved_for_payout_rail")
                state = initial_detail_state(bank, now, self._settings.account_delay)
                row = {
                    "world_id": self.world_id,
                    "detail_id": detail_id,
                    "payer_id": payer.id,
                    "sealed": sealed,
                    "state": state.state,
                    "following": state.next_state,
                    "due": state.due,
                }
                connection.execute(_ADD_DETAIL, row)
                connection.execute(_ADD_ENTRY, entry)
            return _listed_detail(detail_id, payer.user_id, body, state.at(now))

        return self.database.retry_conflicts(attempt)

    def list_details(self, client_user_id: str, detail_id: str | None) -> list[dict[str, Any]]:
        """Return a payer's bank details in the order of their creation, or only those with this id."""
        key = self.lookup_key(client_user_id)
        with self.database.read() as connection:
            payer = self._payer_row(connection, client_user_id, key)
            query = select(_DETAILS).where(DetailRow.payer_id == payer.id).order_by(DetailRow.id)
            if detail_id is not None:
                query = query.where(DetailRow.detail_id == detail_id)
            rows, now = connection.execute(query).all(), self._now(connection)
        return [
            _listed_detail(
                row.detail_id,
                payer.user_id,
                self._cipher.unseal(f"payment_detail {row.detail_id}", row.sealed),
                TimedState(row.state, row.following, row.due).at(now),
            )
            for row in rows
        ]

    def set_detail_state(self, detail_id: str, state: str) -> None:
        """Set the state of bank details for good. Raises Problem (404) if they are unknown."""
        with self.database.write() as connection:
            there = (DetailRow.detail_id == detail_id) & (DetailRow.world_id == self.world_id)
            columns = {"state": state, "following": None, "due": None, "changed_at": self._now(connection)}
            if not connection.execute(update(DetailRow).where(there), columns).rowcount:
                raise Problem(404, f"Payment detail {detail_id} not found")

    def add_payment(self, request_id: str, order: str, payment_reference: str) -> None:
        """Add a payment, and its order as JSON. Raises IntegrityError for an id that is taken."""
        row = {
            "world_id": self.world_id,
            "request_id": request_id,
            "payment_reference": payment_reference,
            "key": self.lookup_key(order),
            "sealed": self._cipher.seal(f"payment {request_id}", {"order": order}),
        }
        with self.database.write() as connection:
            connection.execute(_ADD_PAYMENT, row)

    def payment_ordinal(self, order: str) -> int | None:
        """Return how many payments there are of an order, if ids depend on it."""
        return self.ordinal(select(func.count(PaymentRow.id)).where(PaymentRow.key == self.lookup_key(order)))

    def ledger_rows(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Return the rows of the ledger after a number, at most `limit`."""
        query = select(_LEDGER).where(LedgerRow.world_id == self.world_id, LedgerRow.number > after)
        with self.database.read() as connection:
            rows = connection.execute(query.order_by(LedgerRow.number).limit(limit)).all()
        return [{"number": row.number, **self._cipher.unseal(f"ledger {row.entry}", row.sealed)} for row in rows]

    def _ledger_entry(
        self, kind: WriteKind, client_user_id: str, body: Mapping[str, Any], detail_id: str | None = None
    ) -> dict[str, Any]:
        """Return the ledger's row about a write, encrypted, since it holds a client user id.

        The fingerprint is equal only for equal bodies, and reveals nothing.
        """
        fingerprint = self._cipher.lookup_key("body", json.dumps(body, sort_keys=True))[:16]
        record = {"what": kind, "clientUserId": client_user_id, "id": detail_id, "fingerprint": fingerprint}
        entry = Identifiers().uuid()
        return {"world_id": self.world_id, "entry": entry, "sealed": self._cipher.seal(f"ledger {entry}", record)}

    def ordinal(self, count: Any) -> int | None:
        """Return how many rows are there, if ids depend on it: of writers at the same moment, one has to try again."""
        if self._settings.seed is None:
            return None
        with self.database.read() as connection:
            return int(connection.scalar(count) or 0)

    def lookup_key(self, text: str) -> str:
        """Return the lookup key of a client user id, an order or a reference in this world."""
        return self._cipher.lookup_key(self.world_id, text)

    def _page_token(self, step: Step, client_user_id: str) -> str:
        return self.identifiers.token_bytes(16, f"{step} page", client_user_id).hex()

    def _payer_row(
        self, connection: Connection, client_user_id: str, key: str, *, called: str = "Payer with client user ID"
    ) -> Row[Any]:
        """Return a payer's row. called: the published words, of which adding bank details has others."""
        row = connection.execute(_FIND_PAYER, {"wanted": key}).one_or_none()
        if row is None:
            raise Problem(404, f"{called} {client_user_id} not found")
        return row


def _page_column(step: Step) -> Any:
    return PayerRow.kyc_page if step == "kyc" else PayerRow.agreement_page


def _state_columns(kind: str, state: str) -> dict[str, Any]:
    """Return the columns that set a payer's state for good."""
    return {"agreement": state} if kind == "agreement" else {"kyc": state, "kyc_following": None, "kyc_due": None}


def _kyc_state(row: Row[Any], now: float) -> str:
    return TimedState(row.kyc, row.kyc_following, row.kyc_due).at(now)


def _stored_payer(client_user_id: str, row: Row[Any], now: float) -> StoredPayer:
    return StoredPayer(
        row.user_id, client_user_id, _kyc_state(row, now), row.agreement, row.kyc_page, row.agreement_page
    )


def _listed_detail(detail_id: str, user_id: str, body: Mapping[str, Any], status: str) -> dict[str, Any]:
    """Return the record as listed: everything that was sent except document numbers, and the service's fields."""
    sent = {name: value for name, value in body.items() if name not in _NEVER_RETURNED}
    return {"id": detail_id, "userId": user_id, "rails": "local", **sent, "status": status}
