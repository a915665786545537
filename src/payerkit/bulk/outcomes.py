"""The outcome of each row of a table, from the journal of its run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from payerkit.bulk.existing import PERHAPS_THERE, THERE_FAILED
from payerkit.bulk.finding_texts import FindingTexts
from payerkit.bulk.journal import Entry, Journal
from payerkit.bulk.limit import Limit
from payerkit.bulk.naming import shown_id
from payerkit.bulk.rows import Problem
from payerkit.bulk.sending import LINKS_LOST
from payerkit.bulk.table import Step, Table
from payerkit.bulk.tasks import Tasks
from payerkit.checks.table_findings import table_finding

PAYER_NOT_SENT = "Its payer was not sent: see the row of the payer."
HELD = "held: the row is kept back because of its warnings, see findings."

_CODES_OF_REASONS = (PERHAPS_THERE, THERE_FAILED, "held")
"""Words with which the reason of a row begins that no run sends until a person decides about it."""

_PAYER_STORED = "Its payer is stored, its account is not."
_NEEDS_LOOK = "It was sent more than once: the next run checks that it is stored only once."

_NO_LINKS = "Its links were lost with the response: create_payer() returns them again, and creates no second payer."

_FACTS = ("user_id", "kyc_status", "agreement_status", "status", "agreement_url", "kyc_url")
_COLUMNS = {"id": "payment_details_id"} | {name: name for name in _FACTS}
"""The column of each fact in the journal."""


class RowOutcome(NamedTuple):
    """The outcome of a row: what a row of the report shows, beside its findings."""

    client_user_id: str | None
    step: str = ""
    state: str = "not_sent"
    user_id: str | None = None
    payment_details_id: str | None = None
    kyc_status: str | None = None
    agreement_status: str | None = None
    status: str | None = None
    agreement_url: str | None = None
    kyc_url: str | None = None
    attempts: int = 0
    retryable: bool = False
    reason: str = ""
    other_ids: str = ""

    def after(self, step: Step, entry: Entry | None, stopped: str) -> Self:
        """Return the outcome with one more step, from the journal's record of its task."""
        if entry is None:
            return self.not_sent(step, stopped or "Not sent yet.", is_open=True)
        found = self._replace(
            **{_COLUMNS[name]: value for name, value in entry.facts.items() if name in _COLUMNS},
            attempts=self.attempts + entry.attempts,
            other_ids=", ".join(filter(None, entry.facts.get("other_ids", ()))),
        )
        is_open = entry.state == "sent" or entry.is_unresolved or entry.is_unsent
        if entry.state == "not_sent":
            return found.not_sent(step, entry.reason, is_open=is_open)
        if entry.state == "done" and entry.needs_look:
            reason = f"{entry.reason} {_NEEDS_LOOK}".lstrip()
            return found._replace(step=step, state="done", retryable=True, reason=reason)
        state = "unknown" if entry.state == "sent" else entry.state
        return found._replace(step=step, state=state, retryable=is_open, reason=entry.reason)

    def not_sent(self, step: Step, reason: str, *, is_open: bool) -> Self:
        """Return the outcome with a step that was not sent. A step is taken only after the one before it is done."""
        code = code_of(reason)
        if self.step == "payer" and not code:
            reason = f"{_PAYER_STORED} {reason}"
        return self._replace(step=step, state="not_sent", reason=reason, retryable=is_open and not code)


class Outcomes:
    """Finds the outcome of each row in the journal.

    stored: how many payers and accounts of the table are stored, by step. without_links: how many rows are done whose
    payer's links were lost. Both are complete once each row was asked for.
    """

    def __init__(self, tasks: Tasks, journal: Journal, stopped: str, limit: Limit | None) -> None:
        self._tasks, self._table, self._journal, self._stopped = tasks, tasks.table, journal, stopped
        self._limit = limit
        self._errors = FindingTexts(self._table.found.of_severity("error"), self._table.naming)
        self._changed: dict[Step, list[int]] = {step: [] for step in self._table.steps}
        self.stored = dict.fromkeys(self._table.steps, 0)
        self.without_links = 0

    def of(self, rows: Sequence[int], ids: Sequence[str | None]) -> list[RowOutcome]:
        """Return the outcome of each of some rows. ids: those of the payers."""
        return list(map(self._tell_lost_links, rows, map(self._outcome, rows, ids, self._errors.of(rows))))

    def _tell_lost_links(self, row: int, outcome: RowOutcome) -> RowOutcome:
        """Return the outcome of a row, with a reason that says so if it is done and its payer's links were lost."""
        is_payer = outcome.state == "done" and "payer" in self._table.steps and self._table.payer_row(row) >= 0
        if not is_payer or outcome.agreement_url or outcome.kyc_url:
            return outcome
        entry = self._journal.entry(self._tasks.payer_key(row))
        if entry is None or LINKS_LOST not in entry.facts:
            return outcome
        self.without_links += 1
        return outcome._replace(reason=f"{outcome.reason} {_NO_LINKS}".lstrip())

    def _outcome(self, row: int, client_user_id: str | None, errors: str) -> RowOutcome:
        outcome = RowOutcome(shown_id(client_user_id))
        table, is_payer_blocked = self._table, False
        if errors and not any(table.rows_with(step)[row] for step in table.steps):  # it asks for nothing
            return outcome._replace(reason=errors)
        for step, source in _steps(table, row):
            entry = self._journal.entry(self._tasks.key(step, source))
            is_payer_blocked |= bool(table.blocked[source])
            if errors and not _may_be_stored(entry):
                return RowOutcome(outcome.client_user_id, reason=errors)
            is_unsent = entry is None or entry.is_unsent
            if is_payer_blocked and is_unsent:
                return outcome._replace(step=step, state="not_sent", reason=PAYER_NOT_SENT)
            if table.held[source] and is_unsent:
                return outcome.not_sent(step, HELD if table.held[row] else PAYER_NOT_SENT, is_open=False)
            outcome = outcome.after(step, entry, self._why_unsent(step, source))
            if entry is not None and entry.state in {"done", "duplicate"}:
                self._note_stored(step, row, source, entry)
            if outcome.state != "done":
                break
        if errors:  # of a row that was sent before it had them, or before this table contradicted it
            reason = f"{outcome.reason} Not sent again: {errors}".lstrip() if outcome.step else errors
            return outcome._replace(retryable=False, reason=reason)
        return outcome

    def _why_unsent(self, step: Step, source: int) -> str:
        """Return why the task of a row that the journal does not have was not sent, "" if nothing is known."""
        sender = source if step == "payer" else self._table.account_row(source)
        return self._limit.reason if self._limit and self._limit.leaves(step, sender) else self._stopped

    def _note_stored(self, step: Step, row: int, source: int, entry: Entry) -> None:
        """Count what is stored, once for all rows that are the same, and note rows that were changed after that."""
        self.stored[step] += row == (source if step == "payer" else self._table.account_row(row))
        if entry.content != self._tasks.content(step, source):
            self._changed[step].append(row)

    def changes(self) -> list[Problem]:
        """Return a finding for each row that was changed after it was stored."""
        finding = table_finding("changed_after_storing")
        return [Problem(row, finding, step) for step, rows in self._changed.items() for row in rows]

    def count_strays(self) -> int:
        """Return how many writes with unknown outcome the journal has that no row of the table explains."""
        unresolved, table = self._journal.count_unresolved(), self._table
        if not unresolved:
            return 0
        keys = set()
        for step in table.steps:
            is_there = table.rows_with(step) & (table.payers >= 0)
            for row in table.order[is_there[table.order]].tolist():
                key = self._tasks.key(step, row)
                if (entry := self._journal.entry(key)) is not None and entry.is_unresolved:
                    keys.add(key)
        return unresolved - len(keys)


def _steps(table: Table, row: int) -> Iterator[tuple[Step, int]]:
    """Yield the steps of a row, each with the row whose data is sent; none for a row without an id."""
    if table.payers[row] < 0:
        return
    payer = table.payer_row(row)
    if "payer" in table.steps and payer >= 0:
        yield "payer", payer
    if "bank_details" in table.steps and table.rows_with("bank_details")[row]:
        yield "bank_details", row


def _may_be_stored(entry: Entry | None) -> bool:
    """Return True if a task is stored, or may be, from the journal's record of it."""
    return entry is not None and entry.state in {"done", "duplicate", "sent", "unknown"}


def code_of(reason: str) -> str:
    """Return the word that tells a program why a row is not sent, with which its reason begins, "" without one."""
    code, _, _ = reason.partition(":")
    return code if code in _CODES_OF_REASONS else ""
