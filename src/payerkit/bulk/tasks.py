"""Tasks: what the rows of a table send, one by one, and the keys by which the journal knows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from payerkit.bulk.journal import KEY_SIZE, digest
from payerkit.bulk.table import Step, Table
from payerkit.client import RequestBody
from payerkit.models import BankDetails, Payer


@dataclass(frozen=True, slots=True)
class Task:
    """One write: a payer, or one account of a payer. Its repr shows no data.

    values: by field name. key: identifies the task, also in later runs with the same table; a keyed digest, so that it
    reveals nothing.
    """

    step: Step
    client_user_id: str
    values: dict[str, str]
    body: RequestBody
    key: bytes

    def __repr__(self) -> str:
        return f"<{self.step} {self.key.hex()[:12]}>"


class Tasks:
    """The tasks of a table; safe to share by threads. secret: keys the digests."""

    def __init__(self, table: Table, secret: bytes) -> None:
        self.table, self._secret = table, secret
        # Filled in as tasks are made. Threads may make one twice, and then write the same bytes to its place.
        self._keys = {step: np.zeros(len(table), f"V{KEY_SIZE}") for step in table.steps}

    def task(self, step: Step, row: int) -> Task:
        """Return the task of a row. Its body comes from the model, as in a single call."""
        client_user_id, values = str(self.table.client_user_id(row)), self.table.values(step, row)
        sent = (Payer if step == "payer" else BankDetails).of(values, {})
        # The key depends on the order of the model's fields: an older journal knows its tasks only while that stays.
        body = RequestBody(
            sent.to_dict(reveal=True), lambda: (*sent.private_values(), *self._private_of_payer(step, row))
        )
        key = digest(self._secret, step, client_user_id, body.content)
        self._keys[step][row] = np.void(key)
        return Task(step, client_user_id, values, body, key)

    def _private_of_payer(self, step: Step, row: int) -> tuple[str, ...]:
        """Return the private values of an account's payer: not in the body, but the service may repeat them."""
        payer = self.table.payer_row(row)
        if step == "payer" or payer < 0 or self.table.blocked[payer]:
            return ()
        return Payer.of(self.table.values("payer", payer), {}).private_values()

    def key(self, step: Step, row: int) -> bytes:
        """Return the key of a row's task."""
        key: bytes = self._keys[step][row].tobytes()
        return key if any(key) else self.task(step, row).key
