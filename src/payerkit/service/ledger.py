"""The ledger: one row for each write of the API that was stored, in order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from payerkit.service.database import LedgerRow
from payerkit.service.encryption import RecordCipher

_INSERT = insert(LedgerRow)

WriteKind = Literal["payer", "payment_detail", "agreement"]


class Ledger:
    """The ledger within one database transaction; its rows are encrypted, since they hold client user ids."""

    def __init__(self, session: Session, cipher: RecordCipher) -> None:
        self._session = session
        self._cipher = cipher

    def add(self, kind: WriteKind, client_user_id: str, body: Mapping[str, Any], detail_id: str | None = None) -> None:
        """Add a write of this transaction; the fingerprint is equal only for equal bodies, and reveals nothing."""
        fingerprint = self._cipher.lookup_key("body " + json.dumps(body, sort_keys=True))[:16]
        entry = {"what": kind, "clientUserId": client_user_id, "id": detail_id, "fingerprint": fingerprint}
        # Not through the session: it would track an object that never changes, which doubles the cost of a row.
        self._session.connection().execute(_INSERT, {"sealed": self._cipher.encrypt(entry)})

    def rows(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Return the rows after a number, at most `limit`."""
        query = select(LedgerRow).where(LedgerRow.number > after).order_by(LedgerRow.number).limit(limit)
        return [{"number": row.number, **self._cipher.decrypt(row.sealed)} for row in self._session.scalars(query)]
