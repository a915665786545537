"""What a run does with each task, by the journal: send it, look for it, or leave it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from payerkit.reasons import Outcome
from payerkit.runs.journal import Entry, Journal
from payerkit.runs.options import Options
from payerkit.runs.tasks import Task, Tasks

Intent = Literal["send", "look", "leave"]
"""look: its outcome is unknown, so it is looked for and not sent."""


@dataclass
class Intentions:
    """What a run, or its plan, would do with the tasks of a table."""

    tasks: Tasks
    journal: Journal
    options: Options

    def of(self, task: Task, entry: Entry | None) -> Intent:
        """Return what becomes of a task first. entry: the journal's record of it."""
        if entry is None or entry.is_unsent:
            return "send"
        if entry.state == "unknown":
            is_repeated = task.step == "payer" or self.options.retries("unknown")
            return "send" if is_repeated else "look"
        if entry.state == "refused":
            is_changed = entry.content != task.content
            is_wanted = is_changed or self.options.retries("refused")
            return "send" if is_wanted else "leave"
        return "leave"

    def obstacle(self, task: Task, entry: Entry | None) -> Outcome | None:
        """Return why a task that was never sent is left to a person: the journal has
        its payer from another row, or under another spelling. None if it is not.
        """
        if self.options.existing == "send" or (entry is not None and entry.attempts):
            return None
        if self._is_respelled(task):
            return Outcome("id_respelled")
        if task.step == "payer":
            return None
        return self._gone_row(task)

    def _is_respelled(self, task: Task) -> bool:
        """Return True if the journal knows a payer of nearly the same id who is not in
        the table, and not the payer of the task.
        """
        alike = self.journal.payers_of_form(task.id_form)
        if task.payer_key in alike:
            return False
        return not alike <= self.tasks.payer_keys

    def _gone_row(self, task: Task) -> Outcome | None:
        """Return why an account is not sent if its payer has one from a row that is
        not in the table any more: this row may correct that one.

        A table with some of the rows is no evidence that a row is gone: then an account
        without a number in common is another one.
        """
        gone = gone_accounts(self.tasks, self.journal, task.row.payer)
        if self.is_partial:
            subject = task.subject
            gone = [entry for entry in gone if entry.shares_number(subject)]
        if not gone:
            return None
        ids: list[str] = []
        for entry in gone:
            ids += entry.account_ids
        return Outcome("row_gone", {"ids": ids})

    @cached_property
    def is_partial(self) -> bool:
        """True if the table has some of the rows that were sent: it is a corrections
        file, or lacks payers of the journal.
        """
        if self.tasks.table.origin.rows:
            return True
        return not self.journal.stored_forms() <= self.tasks.id_forms


def gone_accounts(tasks: Tasks, journal: Journal, payer: int) -> list[Entry]:
    """Return the journal's records of accounts of a payer that are stored, or may be,
    and come from rows that the table does not have for this payer any more.

    payer: its number in the table.
    """
    rows = tasks.table.payers[payer]
    key = tasks.key_of(str(rows[0].client_user_id))
    own = tasks.accounts_of(payer)
    entries = journal.entries_of(key).items()
    return [entry for key, entry in entries if entry.may_be_stored and key not in own]
