"""The outcome of each row of a table, from the journal of its run; and rows by the reasons that they have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from payerkit.bulk.journal import Entry, Journal
from payerkit.bulk.naming import FindingTexts, Naming, shown_id
from payerkit.bulk.rows import Problem, Row, Rows, Step
from payerkit.bulk.tasks import Limit, Tasks, steps_of
from payerkit.findings import Finding, table_finding
from payerkit.reasons import Outcome

PAYER_NOT_SENT = Outcome("payer_not_sent")
HELD = Outcome("held")

_OF_A_PERSON = {"perhaps_there", "there_failed", "held"}
"""Why rows are not sent that no run sends until a person decides about it."""

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
    reason: Outcome | None = None
    other_ids: str = ""

    def after(self, step: Step, entry: Entry | None, stopped: Outcome | None) -> Self:
        """Return the outcome with one more step, from the journal's record of its task."""
        if entry is None:
            return self.not_sent(step, stopped or Outcome("not_tried"), is_open=True)
        found = self._replace(
            **{_COLUMNS[name]: value for name, value in entry.facts.items() if name in _COLUMNS},
            attempts=self.attempts + entry.attempts,
            other_ids=", ".join(filter(None, entry.facts.get("other_ids", ()))),
        )
        is_open = entry.state == "sent" or entry.is_unresolved or entry.is_unsent
        if entry.state == "not_sent":
            return found.not_sent(step, entry.reason, is_open=is_open)
        if entry.state == "done" and entry.needs_look:
            reason = Outcome("look_due", {"noted": entry.reason})
            return found._replace(step=step, state="done", retryable=True, reason=reason)
        state = "unknown" if entry.state == "sent" else entry.state
        return found._replace(step=step, state=state, retryable=is_open, reason=entry.reason)

    def not_sent(self, step: Step, reason: Outcome | None, *, is_open: bool) -> Self:
        """Return the outcome with a step that was not sent. A step is taken only after the one before it is done."""
        is_of_a_person = reason is not None and reason.code in _OF_A_PERSON
        if self.step == "payer" and not is_of_a_person:
            reason = Outcome("payer_stored", {"noted": reason})
        return self._replace(step=step, state="not_sent", reason=reason, retryable=is_open and not is_of_a_person)

    @property
    def code(self) -> str:
        """The code of the reason, without remarks; "" for no reason."""
        return self.reason.main.code if self.reason else ""

    @property
    def text(self) -> str:
        """The reason in words, "" for none."""
        return self.reason.text if self.reason else ""


class Outcomes:
    """The outcome of each row of a table, found in the journal.

    rows: the outcomes. changes: a finding for each row that was changed after it was stored. stored: how many payers
    and accounts of the table are stored, by step. stopped: why the run stopped early, None if it did not.
    """

    def __init__(self, tasks: Tasks, journal: Journal, stopped: Outcome | None, limit: Limit | None) -> None:
        self._tasks, self.table, self._journal, self.stopped = tasks, tasks.table, journal, stopped
        self._limit = limit
        self.changes: list[Problem] = []
        self.stored = dict.fromkeys(self.table.columns, 0)
        rows = self.table.rows
        errors = FindingTexts(self.table.found.of_severity("error"), self.table.naming).of(range(len(rows)))
        self.rows = [self._tell_lost_links(row, self._outcome(row, errors[row.number])) for row in rows]

    def _tell_lost_links(self, row: Row, outcome: RowOutcome) -> RowOutcome:
        """Return the outcome of a row, with a reason that says so if it is done and its payer's links were lost."""
        if outcome.state != "done" or row.payer_row is None or outcome.agreement_url or outcome.kyc_url:
            return outcome
        entry = self._journal.entry(self._tasks.task("payer", row).key)
        if entry is None or entry.reason is None or entry.reason.code != "found_by_status":
            return outcome  # else the response, which has the links, was lost
        return outcome._replace(reason=Outcome("links_lost", {"noted": outcome.reason}))

    def _outcome(self, row: Row, errors: str) -> RowOutcome:
        is_payer_blocked = False
        outcome = RowOutcome(shown_id(row.client_user_id))
        blocked = outcome._replace(reason=Outcome("has_errors", {"findings": errors}))
        if errors and not row.data:  # it asks for nothing
            return blocked
        for step, source in steps_of(row):
            entry = self._journal.entry(self._tasks.task(step, source).key)
            is_payer_blocked |= source.is_blocked
            if errors and not _may_be_stored(entry):
                return blocked
            is_unsent = entry is None or entry.is_unsent
            if is_payer_blocked and is_unsent:
                return outcome._replace(step=step, state="not_sent", reason=PAYER_NOT_SENT)
            if source.is_held and is_unsent:
                return outcome.not_sent(step, HELD if row.is_held else PAYER_NOT_SENT, is_open=False)
            sent = self._tasks.sent_for(step, source)
            is_left = self._limit is not None and self._limit.leaves(sent)
            outcome = outcome.after(step, entry, self._limit.reason if self._limit and is_left else self.stopped)
            if entry is not None and entry.state in {"done", "duplicate"}:
                self.stored[step] += row is sent.row  # once for all rows that are the same
                if entry.content != sent.content:
                    self.changes.append(Problem(row.number, table_finding("changed_after_storing"), step))
            if outcome.state != "done":
                break
        if errors:  # of a row that was sent before it had them, or before this table contradicted it
            reason = Outcome("has_errors_now", {"noted": outcome.reason, "findings": errors})
            return outcome._replace(retryable=False, reason=reason if outcome.step else blocked.reason)
        return outcome

    def count_strays(self) -> int:
        """Return how many writes with unknown outcome the journal has that no row of the table explains."""
        if not (unresolved := self._journal.unresolved()):
            return 0
        pairs = (each for row in self.table.rows for each in steps_of(row))
        return len(unresolved - {self._tasks.task(step, source).key for step, source in pairs})


def _may_be_stored(entry: Entry | None) -> bool:
    """Return True if a task is stored, or may be, from the journal's record of it."""
    return entry is not None and entry.state in {"done", "duplicate", "sent", "unknown"}


class ReasonKind(NamedTuple):
    """A reason in words. kind: a state of rows, or the severity of a finding. column: of the table, "" for none.

    code: of a warning, by which rows are held back, "" for any other reason.
    """

    kind: str
    message: str
    hint: str = ""
    code: str = ""
    column: str = ""


class Reason(NamedTuple):
    """A reason with the rows that have it, in their order."""

    kind: ReasonKind
    rows: Rows

    def hint(self, naming: Naming) -> str:
        """Return what to do, with what normalise=True would do about the cells of the rows."""
        return naming.with_readings(self.kind.hint, self.kind.column, self.rows.tolist())

    def text(self, naming: Naming) -> str:
        """Return the reason in words, with what to do and its code."""
        code = self.kind.code and f"[{self.kind.code}]"
        return " ".join(filter(None, (self.kind.message, self.hint(naming), code)))

    @property
    def times(self) -> int:
        """The number of the rows."""
        return len(self.rows)


class Reasons(list[Reason]):
    """Reasons with their rows. A row may have several."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[ReasonKind, int]]) -> Self:
        """Return the reasons of rows, each once. pairs: a reason, and a row that has it."""
        grouped: dict[ReasonKind, set[int]] = {}
        for kind, row in pairs:
            grouped.setdefault(kind, set()).add(row)
        return cls(Reason(kind, np.array(sorted(rows), np.int32)) for kind, rows in grouped.items())

    @classmethod
    def of_states(cls, states: Iterable[str], reasons: Iterable[str]) -> Self:
        """Return the reasons of all rows by their states and their reasons in words; "" for no reason."""
        pairs = enumerate(zip(states, reasons, strict=True))
        return cls.of((ReasonKind(state, text), row) for row, (state, text) in pairs if text)

    @classmethod
    def of_findings(
        cls, found: Iterable[Problem], naming: Naming, *, as_kind: str = "", with_infos: bool = False
    ) -> Self:
        """Return findings, with or without infos. as_kind: the kind of all; by default, it is the severity."""
        shown = [each for each in found if with_infos or each.finding.severity != "info"]
        keys = dict.fromkeys((each.general or each.finding, each.step) for each in shown)
        kinds = {key: _kind_of(*key, naming, as_kind) for key in keys}
        return cls.of((kinds[each.general or each.finding, each.step], each.row) for each in shown)

    @classmethod
    def join(cls, parts: Iterable[Self]) -> Self:
        """Return the reasons of some parts together."""
        return cls(reason for part in parts for reason in part)

    def sorted(self, order: Sequence[str]) -> Self:
        """Return the reasons with the kinds in an order, and the most frequent reasons of each kind first."""
        ranks = {kind: rank for rank, kind in enumerate(order)}
        return type(self)(sorted(self, key=lambda each: (ranks[each.kind.kind], -each.times)))

    def first(self, count: int | None, kinds: Collection[str]) -> list[Reason]:
        """Return the first reasons, so many or all, that are of some kinds."""
        return [each for each in self if each.kind.kind in kinds][:count]


def _kind_of(finding: Finding, step: Step | str, naming: Naming, as_kind: str) -> ReasonKind:
    """Return a finding as a reason: with the sender's name of its column, and what to do."""
    column = naming.column(finding, step)
    message = f"{naming.header(column)}: {finding.message}" if column else finding.message
    code = finding.code if finding.severity == "warning" else ""
    return ReasonKind(as_kind or finding.severity, message, naming.hint(finding, step), code, column)
