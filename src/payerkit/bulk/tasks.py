"""What the rows of a table ask for, one by one, and the keys by which a journal knows it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from pydantic_core import to_json

from payerkit.bulk.partitions import Step
from payerkit.bulk.table import Table
from payerkit.client import RequestBody
from payerkit.models import BankDetails, Payer
from payerkit.wire import wire_name

_KEY = 16


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to send: a payer, or an account of one. It shows nothing of what it holds.

    values: by our names. body: what is sent, as the checks of the table found it right. key: tells tasks apart, also
    in the next run with the same table; nobody reads anything from it without the secret.
    """

    step: Step
    client_user_id: str
    values: dict[str, str]
    body: RequestBody
    key: bytes

    def __repr__(self) -> str:
        return f"<{self.step} {self.key.hex()[:12]}>"


class Tasks:
    """The tasks of a table. Their keys are made with a secret, once for each row; safe to share by threads."""

    def __init__(self, table: Table, secret: bytes) -> None:
        self.table, self._secret = table, secret
        self._keys = {step: np.zeros(len(table), f"V{_KEY}") for step in table.steps}

    def task(self, step: Step, row: int) -> Task:
        """Return what a row asks for."""
        client_user_id, values = str(self.table.id_at(row)), self.table.values(step, row)
        if not all(map(isinstance, values.values(), repeat(str))):
            raise TypeError("what is sent is text, and the checks let nothing else pass")
        model = Payer if step == "payer" else BankDetails
        members = {wire_name(name): value for name, value in values.items()}
        body = RequestBody(
            members, lambda: (*model.of(values, {}).private_values(), *self._private_of_payer(step, row))
        )
        key = digest(self._secret, step, client_user_id, body.content)
        self._keys[step][row] = np.void(key)
        return Task(step, client_user_id, values, body, key)

    def _private_of_payer(self, step: Step, row: int) -> tuple[str, ...]:
        """Return what a service may repeat of the payer of an account, who is not in its body."""
        payer = self.table.payer_row(row)
        if step == "payer" or payer < 0 or self.table.blocked[payer]:
            return ()
        return Payer.of(self.table.values("payer", payer), {}).private_values()

    def key(self, step: Step, row: int) -> bytes:
        """Return the key of what a row asks for."""
        key: bytes = self._keys[step][row].tobytes()
        return key if any(key) else self.task(step, row).key


def digest(secret: bytes, *parts: str | bytes) -> bytes:
    """Return 16 bytes that stand for some values, and tell nothing of them without the secret, of at most 64 bytes."""
    return hashlib.blake2b(to_json(parts), key=secret, digest_size=_KEY).digest()
