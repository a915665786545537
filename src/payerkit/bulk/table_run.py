"""A run over a table: payers, then accounts; what is unknown waits beside them; a last look at what was sent twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from payerkit.bulk.journal import Deferred, Entry, Journal, JournalLost
from payerkit.bulk.matching import Listing
from payerkit.bulk.options import Options
from payerkit.bulk.progress import Progress, estimate_duration
from payerkit.bulk.rate_limit import INTERRUPTED, RateLimiter, run_workers
from payerkit.bulk.reconcile import Reconciler
from payerkit.bulk.sending import Sender, is_waiting, reason_of, waiting_reason
from payerkit.bulk.table import Step
from payerkit.bulk.tasks import Limit, Task, Tasks, choose_rows
from payerkit.client.client import Client
from payerkit.errors import PayerkitError
from payerkit.reasons import Outcome
from payerkit.wording import count_of

Intent = Literal["send", "reset", "reopen", "leave"]
"""What a run does with a task first: send it, forget that it was refused or given up and send it, look for it anew."""

_UNITS: dict[Step, str] = {"payer": "payer", "bank_details": "account"}
"""What the progress bar counts in each step."""

_LONGEST_PAUSE = 1.0
"""Seconds between two looks at what is due, and at the progress bar."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that one worker sends one after the other: those of one payer, for one step, one row for each task.

    Accounts of one payer are never sent by two workers: the list of accounts that the payer had before, and the search
    for one whose outcome is unknown, need to see all of them.
    """

    step: Step
    rows: tuple[int, ...]


class TableRun:
    """Sends a table: payers, then the accounts of those that are settled, then what waits. Use it once."""

    def __init__(
        self,
        client: Client,
        tasks: Tasks,
        journal: Journal,
        options: Options,
        limiter: RateLimiter,
        progress: Progress,
    ) -> None:
        self._tasks, self._table, self._journal, self._options = tasks, tasks.table, journal, options
        self._limiter, self._stop, self._client, self._progress = limiter, limiter.stop, client, progress
        limiter.slowest = max(limiter.slowest, journal.slowest)
        self._when_compliant = options.accounts == "when_compliant"
        self._sender = Sender(client, journal, limiter, stop_after=options.stop_after)
        self._reconciler = Reconciler(
            self._sender,
            journal,
            existing=options.existing,
            when_compliant=self._when_compliant,
            accounts=lambda: chain.from_iterable(map(self._batch_tasks, self._batches["bank_details"])),
        )
        self._batches: dict[Step, list[Batch]] = {step: list(self._make_batches(step)) for step in tasks.table.steps}
        self.limit: Limit | None = None
        """What the run tries if it has a limit, known once it began."""
        self._postponed: set[Batch] = set()
        """Batches for which this run can do no more: the next run tries again. Threads only add to it."""
        self._later: dict[int, Batch] = {}
        """Accounts that are sent once their payer is settled, by the row of the payer."""

    def go(self) -> None:
        """Send and reconcile all steps, until the run is stopped."""
        if self._options.limit is not None:
            self.limit = choose_rows(self._tasks, self._journal, self._options.limit, self._is_unsent)
        if self._progress.is_shown:
            self._announce()
        for step in self._batches:
            batches = self._batches_to_send(step)
            self._progress.begin(_UNITS[step], sum(len(batch.rows) for batch in batches))
            self._run_workers(self._send_payer if step == "payer" else self._send_accounts, batches)
            if not self._stop:
                self._run_workers(self._look_at_once, self._unresolved_batches(step))
        for step in self._batches:
            self._reconcile(step)
        if "bank_details" in self._batches:
            self._look_again()

    # How long it takes

    def _announce(self) -> None:
        """Announce how many calls are still to be made, and how long they take, without retries and looks.

        An account takes more than one: the payer's accounts are listed before the first, and the status may be read.
        """
        payers, accounts = (
            [count for count in map(self._count_unsent, self._batches_to_send(step)) if count] for step in _UNITS
        )
        calls = sum(payers) + sum(accounts) + len(accounts) * (1 + self._when_compliant)
        rate = self._options.rate or self._client.pace.rate  # a rate above the client's was refused
        if calls and rate is not None:
            self._progress.announce(estimate_duration(sum(payers), sum(accounts), calls, rate))

    def _count_unsent(self, batch: Batch) -> int:
        """Return how many tasks of a batch this run sends if nothing goes wrong."""
        if batch.step == "bank_details" and self._table.without_payer[batch.rows[0]]:
            return 0
        return sum(self._is_unsent(batch.step, row, self._entry(batch.step, row)) for row in batch.rows)

    # Sending

    def _run_workers(self, task: Callable[[Batch], None], batches: Iterable[Batch]) -> None:
        def work(batch: Batch) -> None:
            try:
                task(batch)
            except JournalLost as error:
                self._stop.set(Outcome("journal_lost", {"name": str(error)}))

        run_workers(work, batches, workers=self._options.workers, stop=self._stop, on_tick=self._progress.show)

    def _make_batches(self, step: Step) -> Iterator[Batch]:
        """Yield the batches of a step."""
        to_send = self._table.rows_to_send(step)
        for group in self._table.rows_by_payer():
            rows = group[to_send[group]].tolist()
            if step == "payer":
                chosen = [row for row in rows if self._table.payer_row(row) == row]
            else:
                chosen = [*dict.fromkeys(map(self._table.account_row, rows))]
            if chosen:
                yield Batch(step, tuple(chosen))

    def _batches_to_send(self, step: Step) -> list[Batch]:
        """Return the batches of a step with rows that this run tries."""
        batches, limit = self._batches.get(step, []), self.limit
        return [each for each in batches if limit is None or not all(limit.leaves(step, row) for row in each.rows)]

    def _entry(self, step: Step, row: int) -> Entry | None:
        """Return the journal's record of a task."""
        return self._journal.entry(self._tasks.key(step, row))

    def _batch_tasks(self, batch: Batch) -> list[Task]:
        """Return the tasks of a batch."""
        return [self._tasks.task(batch.step, row) for row in batch.rows]

    def _send_payer(self, batch: Batch) -> None:
        for row in self._unsent_rows(batch):
            self._progress.count(self._sender.send(self._tasks.task("payer", row)))

    def _send_accounts(self, batch: Batch) -> None:
        """Send the accounts of a payer, unless the table has the payer, too, and the payer is not done.

        Those of a payer whose outcome is unknown follow once it is settled.
        """
        payer = self._table.payer_row(batch.rows[0])
        if "payer" in self._table.steps and payer >= 0 and not self._is_payer_done(payer):
            self._later[payer] = batch
            for _ in batch.rows:
                self._progress.count("not_sent")
            return
        rows = set(self._unsent_rows(batch))
        tasks = self._batch_tasks(batch) if rows else []
        unsent = [task for row, task in zip(batch.rows, tasks, strict=False) if row in rows]
        if not unsent or not self._may_be_sent(unsent, payer) or (listing := self._list(unsent)) is None:
            return
        states = self._reconciler.sort_out(tasks, unsent, listing)
        for task in unsent:
            is_repeat = listing.was_sent(task.key)
            self._progress.count(states.get(task.key) or self._sender.send(task, is_repeat=is_repeat))

    def _may_be_sent(self, tasks: Sequence[Task], payer: int) -> bool:
        """Return True if accounts need not wait for their payer, in row `payer`; else record why they are not sent."""
        if not self._when_compliant:
            return True
        client_user_id = tasks[0].client_user_id
        try:
            reason_to_wait, facts = self._sender.check_compliance(client_user_id)
        except PayerkitError as error:
            self._defer(tasks, "not_sent", Outcome("status_unread", {"cause": reason_of(error, client_user_id)}))
            return False
        if "payer" in self._table.steps and payer >= 0:
            self._journal.add_facts(self._tasks.key("payer", payer), facts)
        if reason_to_wait:
            self._defer(tasks, "waiting", reason_to_wait)
        return reason_to_wait is None

    def _list(self, tasks: Sequence[Task]) -> Listing | None:
        """Return the accounts that a payer has before any of these is sent; None if they wait, which is recorded."""
        try:
            return self._sender.look(tasks[0])
        except PayerkitError as error:
            if is_waiting(error):
                self._defer(tasks, "waiting", waiting_reason(error))
            else:
                reason = reason_of(error, tasks[0].client_user_id)
                self._defer(tasks, "not_sent", Outcome("list_unread", {"cause": reason}))
            return None

    def _defer(self, tasks: Sequence[Task], state: Deferred, reason: Outcome) -> None:
        for task in tasks:
            self._journal.defer(task.key, state, reason, payer=task.payer_key, content=task.content)
            self._progress.count(state)

    def _is_payer_done(self, row: int) -> bool:
        entry = None if self._table.blocked[row] else self._entry("payer", row)
        return entry is not None and entry.state == "done"

    # What is left to be done

    def _unsent_rows(self, batch: Batch) -> list[int]:
        """Return the rows whose tasks are to be sent, as the journal may have to note; count the others by state."""
        unsent = []
        for row in batch.rows:
            entry = self._entry(batch.step, row)
            intent = self._intent(batch.step, row, entry)
            if intent == "reset":
                self._journal.reset(self._tasks.key(batch.step, row), self._tasks.content(batch.step, row))
            elif intent == "reopen":
                self._journal.reopen(self._tasks.key(batch.step, row))
            if intent in {"send", "reset"}:
                unsent.append(row)
            else:
                self._progress.count("not_sent" if entry is None else entry.state)
        return unsent

    def _is_unsent(self, step: Step, row: int, entry: Entry | None) -> bool:
        """Return True if this run sends a task, from the journal's record of it."""
        return self._intent(step, row, entry) in {"send", "reset"}

    def _intent(self, step: Step, row: int, entry: Entry | None) -> Intent:
        """Return what this run does with a task first."""
        is_left = self.limit is not None and self.limit.leaves(step, row)
        if entry is None or entry.is_unsent:
            return "leave" if is_left else "send"
        if entry.state in {"refused", "not_sent"}:
            is_wanted = entry.state == "refused" and "refused" in self._options.retry
            is_changed = entry.content and entry.content != self._tasks.content(step, row)
            return "reset" if (is_wanted or is_changed) and not is_left else "leave"
        if entry.state != "unknown":
            return "leave"
        is_wanted = step == "bank_details" and "unknown" in self._options.retry
        if is_wanted and self._options.existing == "send":
            return "leave" if is_left else "reset"
        return "reopen" if entry.final and (is_wanted or step == "payer") else "leave"

    # Reconciling, and the last look

    def _look_at_once(self, batch: Batch) -> None:
        with suppress(PayerkitError):  # the look after the delay decides
            self._reconciler.look_at_once(self._batch_tasks(batch))

    def _reconcile(self, step: Step) -> None:
        """Reconcile the tasks of a step, each when it is due, until none is unresolved or the run is stopped."""
        self._work_when_due(
            self._unresolved_batches(step),
            "reconciled payer",
            self._reconcile_batch,
            since=lambda batch: min(self._unresolved(batch)),
            is_left=lambda batch: bool(self._unresolved(batch)) and batch not in self._postponed,
        )

    def _unresolved_batches(self, step: Step) -> list[Batch]:
        """Return the batches of a step with tasks that are still to be reconciled."""
        if not self._journal.unresolved():
            return []
        return [batch for batch in self._batches[step] if self._unresolved(batch)]

    def _work_when_due(
        self,
        batches: Sequence[Batch],
        unit: str,
        work: Callable[[Batch], None],
        *,
        since: Callable[[Batch], float],
        is_left: Callable[[Batch], bool] = lambda _: False,
    ) -> None:
        """Work on each batch a whole delay after a time, and again while it is left, until the run is stopped."""
        total = len(batches)
        if batches and not self._stop:
            self._progress.begin(unit, total)
        while batches and not self._stop:
            self._progress.draw(total - len(batches))
            due_since = self._journal.now() - self._delay()
            if due := {batch for batch in batches if since(batch) <= due_since}:
                self._run_workers(work, [batch for batch in batches if batch in due])
                batches = [batch for batch in batches if batch not in due or is_left(batch)]
            else:
                self._pause(min(map(since, batches)))

    def _delay(self) -> float:
        """Return the seconds until a write must have taken effect, if it ever does.

        A call that seems to have taken longer than its deadline did not: the machine slept meanwhile.
        """
        return max(self._options.reconcile_after, min(2 * self._limiter.slowest, self._client.timeout.total))

    def _entries(self, batch: Batch) -> list[Entry]:
        """Return the journal's records of a batch's tasks."""
        return [entry for row in batch.rows if (entry := self._entry(batch.step, row)) is not None]

    def _unresolved(self, batch: Batch) -> list[float]:
        """Return since when the tasks of a batch wait that are still to be reconciled."""
        return [entry.since for entry in self._entries(batch) if entry.is_unresolved]

    def _pause(self, since: float) -> None:
        """Wait until what began at a time is due, but not for long: the progress bar is drawn in between."""
        left = since + self._delay() - self._journal.now()
        try:
            self._limiter.pause(min(max(left, 0.01), _LONGEST_PAUSE))
        except KeyboardInterrupt:
            self._stop.set(INTERRUPTED)
        self._progress.show()

    def _reconcile_batch(self, batch: Batch) -> None:
        try:
            goes_on = self._reconciler.reconcile(self._batch_tasks(batch), self._delay())
        except PayerkitError:
            goes_on = False
        if not goes_on:
            self._postponed.add(batch)
        if batch.step == "payer" and self._is_payer_done(batch.rows[0]):
            self._send_later(batch.rows[0])

    def _send_later(self, payer: int) -> None:
        """Send the accounts of a payer, in this row, who is settled by now, and look at once for what is unknown."""
        if (batch := self._later.pop(payer, None)) is not None:
            self._send_accounts(batch)
            if self._unresolved(batch):
                self._look_at_once(batch)

    def _look_again(self) -> None:
        """Look once more, a whole delay after it was last sent, at each account that may be stored twice."""
        if self._stop or not self._journal.has_looks():
            return
        batches = [batch for batch in self._batches["bank_details"] if self._looks(batch)]
        if not batches:
            return
        times = [since for batch in batches for since in self._looks(batch)]
        seconds = max(0.0, max(times) + self._delay() - self._journal.now())
        accounts = count_of(len(times), "account")
        self._progress.announce(f"{accounts} sent more than once: the check for duplicates begins in {seconds:.0f} s.")
        self._work_when_due(
            batches, "checked payer", self._look_again_at, since=lambda batch: max(self._looks(batch), default=0.0)
        )

    def _looks(self, batch: Batch) -> list[float]:
        """Return when the accounts of a batch were last sent that are due for a last look."""
        return [entry.since for entry in self._entries(batch) if entry.needs_look]

    def _look_again_at(self, batch: Batch) -> None:
        with suppress(PayerkitError):  # the next run looks
            self._reconciler.look_again(self._batch_tasks(batch))
