"""The ledger: what the API's writes really stored, one row each, in their order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from payerkit.service.database import LedgerRow
from payerkit.service.encryption import RecordCipher

_INSERT = insert(LedgerRow)

What = Literal["payer", "payment_detail", "agreement"]


class Ledger:
    """The ledger as one transaction of the database sees it; its rows are sealed, since ids are."""

    def __init__(self, session: Session, vault: RecordCipher) -> None:
        self._session = session
        self._vault = vault

    def add(self, what: What, client_user_id: str, body: Mapping[str, Any], detail_id: str | None = None) -> None:
        """Add what this transaction stores; the fingerprint tells two bodies apart without holding them."""
        fingerprint = self._vault.index("body " + json.dumps(body, sort_keys=True))[:16]
        entry = {"what": what, "clientUserId": client_user_id, "id": detail_id, "fingerprint": fingerprint}
        # Past the session, which would track an object that nobody changes: half the cost of a row.
        self._session.connection().execute(_INSERT, {"sealed": self._vault.seal(entry)})

    def rows(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Return the rows behind a number, at most this many."""
        wanted = select(LedgerRow).where(LedgerRow.number > after).order_by(LedgerRow.number).limit(limit)
        return [{"number": row.number, **self._vault.open(row.sealed)} for row in self._session.scalars(wanted)]
