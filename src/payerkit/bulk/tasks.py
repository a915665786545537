"""What the rows of a table send, task by task, how the journal knows it, and what of it a limited run tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from payerkit.bulk.accounts import account_identity
from payerkit.bulk.journal import Entry, Journal, digest
from payerkit.bulk.table import Step, Table
from payerkit.client.call import RequestBody
from payerkit.models import BankDetails, Payer
from payerkit.reasons import Outcome


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
        self._keys: dict[int, bytes] = {}  # of accounts, as they are made: two threads may make one, which are equal

    def task(self, step: Step, row: int) -> Task:
        """Return the task of a row. Its body comes from the model, as in a single call."""
        client_user_id, values = str(self.table.client_user_id(row)), self.table.values(step, row)
        sent = (Payer if step == "payer" else BankDetails).of(values, {})
        body = RequestBody(
            sent.to_dict(reveal=True), lambda: (*sent.private_values(), *self._private_of_payer(step, row))
        )
        key, content = self.key(step, row), self._content(step, values)
        return Task(step, client_user_id, values, body, key, self.payer_key(row), content)

    def key(self, step: Step, row: int) -> bytes:
        """Return the key of a row's task."""
        if step == "payer":
            return self.payer_key(row)
        if row not in self._keys:
            identity = account_identity(self.table.values(step, row))
            self._keys[row] = digest(self._secret, step, str(self.table.client_user_id(row)), *identity)
        return self._keys[row]

    def payer_key(self, row: int) -> bytes:
        """Return the key of a row's payer."""
        return payer_key(self._secret, str(self.table.client_user_id(row)))

    def content(self, step: Step, row: int) -> bytes:
        """Return a digest of all values of a row's task: of those that are sent, if several rows are one task."""
        sent = self.table.payer_row(row) if step == "payer" else self.table.account_row(row)
        return self._content(step, self.table.values(step, sent))

    def _content(self, step: Step, values: Mapping[str, Any]) -> bytes:
        parts = (f"{name}={value}" for name, value in sorted(values.items()))
        return digest(self._secret, "content", step, *parts)

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


_GOES_ON = {"done", "sent", "unknown"}
"""States of a payer after which the accounts may be sent in the same run."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The tasks that a run with a limit tries, by step: each by the row that sends it."""

    rows: int
    tried: Mapping[Step, set[int]] = field(default_factory=lambda: {"payer": set(), "bank_details": set()})

    @property
    def reason(self) -> Outcome:
        """Why the other rows are not sent."""
        return Outcome("left_by_limit", {"rows": self.rows})

    def leaves(self, step: Step, row: int) -> bool:
        """Return True if the task of a row is left to a later run."""
        return row not in self.tried[step]


def choose_rows(
    tasks: Tasks, journal: Journal, rows: int, is_unsent: Callable[[Step, int, Entry | None], bool]
) -> Limit:
    """Return the first rows that have something to send: the rows of a payer come one after the other.

    A row brings along all that it asks for, its payer in another row, too. Rows that send the same as one of these do
    not count. is_unsent: says whether a run sends the task of a row, from the journal's record of it.
    """
    table, limit, left = tasks.table, Limit(rows), rows
    is_sendable = ~table.blocked & ~table.held & ~table.without_payer & (table.payers >= 0)
    for row in map(int, table.order[is_sendable[table.order]]):
        has_wanted = False
        for step, source in steps_of(table, row):
            sender = source if step == "payer" else table.account_row(row)
            entry = journal.entry(tasks.key(step, sender))
            if is_unsent(step, sender, entry):
                has_wanted |= limit.leaves(step, sender)
                limit.tried[step].add(sender)
            elif step == "payer" and entry is not None and entry.state not in _GOES_ON:
                break
        left -= has_wanted
        if not left:
            break
    return limit


def steps_of(table: Table, row: int) -> Iterator[tuple[Step, int]]:
    """Yield the steps of a row, each with the row whose data is sent; none for a row without an id."""
    if table.payers[row] < 0:
        return
    payer = table.payer_row(row)
    if "payer" in table.steps and payer >= 0:
        yield "payer", payer
    if "bank_details" in table.steps and table.rows_with("bank_details")[row]:
        yield "bank_details", row
