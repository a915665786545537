"""A run with a limit: which rows it tries, the first ones that no run has sent yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from payerkit.bulk.journal import Entry, Journal
from payerkit.bulk.table import Step, Table
from payerkit.bulk.tasks import Tasks
from payerkit.reasons import Outcome

IsUnsent = Callable[[Step, int, Entry | None], bool]
"""Says whether a run sends the task of a row, from the journal's record of it."""

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


def choose_rows(tasks: Tasks, journal: Journal, rows: int, is_unsent: IsUnsent) -> Limit:
    """Return the first rows that have something to send: the rows of a payer come one after the other.

    A row brings along all that it asks for, its payer in another row, too. Rows that send the same as one of these do
    not count.
    """
    limit, left = Limit(rows), rows
    for row in _sendable_rows(tasks.table):
        wanted = [
            (step, source) for step, source in _unsent(tasks, journal, row, is_unsent) if limit.leaves(step, source)
        ]
        left -= bool(wanted)
        for step, source in wanted:
            limit.tried[step].add(source)
        if not left:
            break
    return limit


def _sendable_rows(table: Table) -> Iterator[int]:
    """Yield the rows that a run without a limit may send, in the order in which it sends them."""
    is_sendable = ~table.blocked & ~table.held & ~table.without_payer & (table.payers >= 0)
    yield from map(int, table.order[is_sendable[table.order]])


def _unsent(tasks: Tasks, journal: Journal, row: int, is_unsent: IsUnsent) -> Iterator[tuple[Step, int]]:
    """Yield the tasks that a run sends for a row, each by the row that sends it; none if its payer was refused."""
    for step, source in _sources(tasks.table, row):
        entry = journal.entry(tasks.key(step, source))
        if is_unsent(step, source, entry):
            yield step, source
        elif step == "payer" and entry is not None and entry.state not in _GOES_ON:
            return


def _sources(table: Table, row: int) -> Iterator[tuple[Step, int]]:
    """Yield the steps of a row, each with the row that is sent for it."""
    payer = table.payer_row(row)
    if "payer" in table.steps and payer >= 0:
        yield "payer", payer
    if "bank_details" in table.steps and table.rows_with("bank_details")[row]:
        yield "bank_details", table.account_row(row)
