"""Tasks: what the rows of a table send, one by one, and the keys by which the journal knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from payerkit.bulk.identity import account_identity
from payerkit.bulk.journal import KEY_SIZE, Journal, digest
from payerkit.bulk.table import Step, Table
from payerkit.client.call import RequestBody
from payerkit.models import BankDetails, Payer

_NO_KEY = bytes(KEY_SIZE)


@dataclass(frozen=True, slots=True)
class Task:
    """One write: a payer, or one account of a payer. Its repr shows no data.

    values: by field name. key: identifies the task, in any table: a payer by the id, an account by its payer and what
    makes it this account. payer_key: the key of the payer. content: changes with any value. All three are keyed
    digests, so that they reveal nothing.
    """

    step: Step
    client_user_id: str
    values: dict[str, str]
    body: RequestBody
    key: bytes
    payer_key: bytes
    content: bytes

    def __repr__(self) -> str:
        return f"<{self.step} {self.key.hex()[:12]}>"


class Tasks:
    """The tasks of a table; safe to share by threads. secret: keys the digests."""

    def __init__(self, table: Table, secret: bytes) -> None:
        self.table, self._secret = table, secret
        # The keys of accounts, filled in as they are made. Threads may make one twice, and then write the same bytes to
        # its place. Those of payers cost less to make than to keep.
        self._keys = np.zeros(len(table), f"V{KEY_SIZE}")

    def task(self, step: Step, row: int) -> Task:
        """Return the task of a row. Its body comes from the model, as in a single call."""
        client_user_id, values = self._client_user_id(row), self.table.values(step, row)
        payer_key = self.payer_key(row)
        key = payer_key if step == "payer" else self._known_key(row) or self._account_key(row, values)
        body = self._body(step, row, values)
        return Task(step, client_user_id, values, body, key, payer_key, self._content(step, values))

    def key(self, step: Step, row: int) -> bytes:
        """Return the key of a row's task."""
        if step == "payer":
            return self.payer_key(row)
        return self._known_key(row) or self._account_key(row, self.table.values(step, row))

    def payer_key(self, row: int) -> bytes:
        """Return the key of a row's payer."""
        return payer_key(self._secret, self._client_user_id(row))

    def content(self, step: Step, row: int) -> bytes:
        """Return a digest of all values of a row's task: of those that are sent, if several rows are one task."""
        sent = self.table.payer_row(row) if step == "payer" else self.table.account_row(row)
        return self._content(step, self.table.values(step, sent))

    def _client_user_id(self, row: int) -> str:
        return str(self.table.client_user_id(row))

    def _known_key(self, row: int) -> bytes:
        """Return the key of a row's account if it was made before, else nothing."""
        key: bytes = self._keys[row].tobytes()
        return key if key != _NO_KEY else b""

    def _account_key(self, row: int, values: Mapping[str, Any]) -> bytes:
        key = digest(self._secret, "bank_details", self._client_user_id(row), *account_identity(values))
        self._keys[row] = np.void(key)
        return key

    def _content(self, step: Step, values: Mapping[str, Any]) -> bytes:
        parts = (f"{name}={value}" for name, value in sorted(values.items()))
        return digest(self._secret, "content", step, *parts)

    def _body(self, step: Step, row: int, values: dict[str, Any]) -> RequestBody:
        sent = (Payer if step == "payer" else BankDetails).of(values, {})
        return RequestBody(
            sent.to_dict(reveal=True), lambda: (*sent.private_values(), *self._private_of_payer(step, row))
        )

    def _private_of_payer(self, step: Step, row: int) -> tuple[str, ...]:
        """Return the private values of an account's payer: not in the body, but the service may repeat them."""
        payer = self.table.payer_row(row)
        if step == "payer" or payer < 0 or self.table.blocked[payer]:
            return ()
        return Payer.of(self.table.values("payer", payer), {}).private_values()


def payer_key(secret: bytes, client_user_id: str) -> bytes:
    """Return the key of a payer."""
    return digest(secret, "payer", client_user_id)


def knows_payer(journal: Journal, client_user_id: str) -> bool:
    """Return True if a payer, or an account of the payer, was sent under exactly this id."""
    key = payer_key(journal.secret, client_user_id)
    return journal.entry(key) is not None or bool(journal.entries_of(key))
