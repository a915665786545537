"""What the rows of a table send, task by task, how the journal knows it, and what of it a limited run tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from payerkit.bulk.accounts import account_identity
from payerkit.bulk.journal import Entry, Journal, digest
from payerkit.bulk.rows import Row, Step
from payerkit.bulk.table import Table
from payerkit.client.call import RequestBody
from payerkit.models import BankDetails, Payer
from payerkit.reasons import Outcome


class Task:
    """One write: a payer, or one account of a payer, from a row of a table. Its repr shows no data.

    The values are read from the table whenever they are needed. key: identifies the task, in any table: a payer by the
    id, an account by its payer and what makes it this account. payer_key: the key of the payer. Both, and the content,
    are keyed digests, so that they reveal nothing.
    """

    def __init__(self, table: Table, secret: bytes, step: Step, row: Row) -> None:
        self.step, self.row = step, row
        self._table, self._secret = table, secret
        self.client_user_id = str(row.client_user_id)
        self.payer_key = payer_key(secret, self.client_user_id)

    def __repr__(self) -> str:
        return f"<{self.step} {self.key.hex()[:12]}>"

    @cached_property
    def key(self) -> bytes:
        """What identifies the task."""
        if self.step == "payer":
            return self.payer_key
        return digest(self._secret, self.step, self.client_user_id, *account_identity(self.values))

    @property
    def values(self) -> dict[str, Any]:
        """What is sent, by field name."""
        return self._table.values(self.step, self.row)

    @property
    def content(self) -> bytes:
        """A digest that changes with any value."""
        parts = (f"{name}={value}" for name, value in sorted(self.values.items()))
        return digest(self._secret, "content", self.step, *parts)

    @property
    def body(self) -> RequestBody:
        """What is sent, from the model, as in a single call."""
        sent = (Payer if self.step == "payer" else BankDetails).of(self.values, {})
        return RequestBody(sent.to_dict(reveal=True), lambda: (*sent.private_values(), *self._private_of_payer()))

    def _private_of_payer(self) -> tuple[str, ...]:
        """Return the private values of an account's payer: not in the body, but the service may repeat them."""
        payer = self.row.payer_row
        if self.step == "payer" or payer is None or payer.is_blocked:
            return ()
        return Payer.of(self._table.values("payer", payer), {}).private_values()


class Tasks:
    """The tasks of a table, each made once; safe to share by threads. secret: keys the digests."""

    def __init__(self, table: Table, secret: bytes) -> None:
        self.table, self.secret = table, secret
        self._made: dict[tuple[Step, Row], Task] = {}

    def task(self, step: Step, row: Row) -> Task:
        """Return the task of a row."""
        if (step, row) not in self._made:
            self._made.setdefault((step, row), Task(self.table, self.secret, step, row))
        return self._made[step, row]

    def sent_for(self, step: Step, row: Row) -> Task:
        """Return the task that is sent for a row: several rows may ask for the same."""
        return self.task(step, row if step == "payer" else row.account_row)


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
    """The tasks that a run with a limit tries. rows: the limit."""

    rows: int
    tried: set[Task] = field(default_factory=set)

    @property
    def reason(self) -> Outcome:
        """Why the other rows are not sent."""
        return Outcome("left_by_limit", {"rows": self.rows})

    def leaves(self, task: Task) -> bool:
        """Return True if a task is left to a later run."""
        return task not in self.tried


def choose_rows(tasks: Tasks, journal: Journal, rows: int, is_unsent: Callable[[Task, Entry | None], bool]) -> Limit:
    """Return the first rows that have something to send: the rows of a payer come one after the other.

    A row brings along all that it asks for, its payer in another row, too. Rows that send the same as one of these do
    not count. is_unsent: says whether a run sends the task of a row, from the journal's record of it.
    """
    limit, left = Limit(rows), rows
    for row in chain.from_iterable(tasks.table.payers):
        has_wanted = False
        for step, source in steps_of(row) if row.may_be_sent and not row.waits_for_payer else ():
            task = tasks.sent_for(step, source)
            entry = journal.entry(task.key)
            if is_unsent(task, entry):
                has_wanted |= limit.leaves(task)
                limit.tried.add(task)
            elif step == "payer" and entry is not None and entry.state not in _GOES_ON:
                break
        left -= has_wanted
        if not left:
            break
    return limit


def steps_of(row: Row) -> Iterator[tuple[Step, Row]]:
    """Yield the steps of a row, each with the row whose data is sent; none for a row without an id."""
    if row.payer_row is not None:
        yield "payer", row.payer_row
    if row.payer >= 0 and "bank_details" in row.data:
        yield "bank_details", row
