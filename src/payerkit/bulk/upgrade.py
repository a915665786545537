"""Upgrade a journal of payerkit 0.1.0, which knew a row by the whole of its data, in one table.

A digest cannot be inverted, so the table that the journal was made for is needed once: each of its rows gives both the
key of 0.1.0 and the key of today.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from payerkit.bulk.journal import Entry, Journal, State, digest
from payerkit.bulk.tasks import Task, Tasks
from payerkit.errors import InvalidInput

_OTHER_TABLE = (
    "journal: payerkit 0.1.0 made it for another table. Call once with that table and the same holder_is_payer, then "
    "with this one."
)

_ORDER: list[State] = ["duplicate", "done", "sent", "unknown", "waiting", "not_sent", "refused"]
"""The states of one account that 0.1.0 took for two: what counts for both comes first."""


def upgrade(journal: Journal, tasks: Tasks) -> None:
    """Turn a journal of payerkit 0.1.0 into one of today, by the rows of the table that it was made for.

    Raises InvalidInput if the journal has tasks that were sent and are of no row; then it stays as it was.
    """
    with journal.replacing_tasks() as file:
        for old_key, task in _tasks_by_old_key(tasks):
            _move_baseline(file, digest(journal.secret, task.client_user_id), task.payer_key)
            if (entry := _take(file, old_key, task)) is not None:
                known = journal.entry(task.key)
                journal.put(task.key, entry if known is None else merge(known, entry))
        if file.execute("SELECT 1 FROM old_task WHERE attempts > 0 LIMIT 1").fetchone():
            raise InvalidInput(_OTHER_TABLE)


def _tasks_by_old_key(tasks: Tasks) -> Iterator[tuple[bytes, Task]]:
    """Yield the tasks of a table, each with its key of payerkit 0.1.0."""
    table = tasks.table
    for step in table.steps:
        for row in table.order[table.rows_with(step)[table.order]].tolist():
            # A row that has an error today may have been sent: 0.1.0 found fewer. One without a body was not.
            with suppress(InvalidInput):
                yield tasks.old_key(step, row), tasks.task(step, row)


def _move_baseline(file: sqlite3.Connection, old_key: bytes, payer: bytes) -> None:
    file.execute("INSERT OR IGNORE INTO payer SELECT ?, known FROM old_payer WHERE key = ?", [payer, old_key])


def _take(file: sqlite3.Connection, old_key: bytes, task: Task) -> Entry | None:
    """Remove the record of a task from the old ones and return it; None if the old ones lack it."""
    row = file.execute(
        "SELECT state, attempts, looks, since, final, facts, reason, doubts FROM old_task WHERE key = ?", [old_key]
    ).fetchone()
    if row is None:
        return None
    file.execute("DELETE FROM old_task WHERE key = ?", [old_key])
    return Entry.from_row([task.payer_key, task.content, *row, False])


def merge(one: Entry, other: Entry) -> Entry:
    """Return what is known of an account that 0.1.0 took for two, since another field of it differed."""
    first, second = sorted([one, other], key=lambda entry: _ORDER.index(entry.state))
    facts, state, needs_look = first.facts, first.state, first.needs_look or second.needs_look
    if second.state in {"done", "duplicate"}:
        ids = [*first.account_ids, *second.account_ids]
        facts, state = {**facts, "other_ids": ids[1:]}, "duplicate"
    elif second.state in {"sent", "unknown"} and first.state in {"done", "duplicate"}:
        needs_look = True
    return replace(
        first,
        state=state,
        attempts=first.attempts + second.attempts,
        facts=facts,
        unknown_sends=first.unknown_sends + second.unknown_sends,
        needs_look=needs_look,
    )
