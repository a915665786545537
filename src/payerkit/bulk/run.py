"""Send a table: step by step in worker threads, each task in the journal, and unknown outcomes reconciled."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from payerkit.bulk.journal import Deferred, Entry, Journal, JournalLost, digest
from payerkit.bulk.progress import Progress, estimate_duration
from payerkit.bulk.rate_limit import RateLimiter, StopSignal
from payerkit.bulk.reconcile import Reconciler, is_due
from payerkit.bulk.report import Report, count_of, make_report
from payerkit.bulk.sending import Sender, is_waiting, reason_of, waiting_reason
from payerkit.bulk.table import Step, Table
from payerkit.bulk.tasks import Task, Tasks
from payerkit.bulk.upgrade import upgrade
from payerkit.bulk.workers import INTERRUPTED, run_workers
from payerkit.client import Client, check_client
from payerkit.client.pace import checked_rate
from payerkit.errors import InterruptedRun, InvalidInput, PayerkitError, without_internal_frames
from payerkit.retry import RECONCILE_AFTER, is_non_negative

Accounts = Literal["now", "when_compliant"]
"""When a run sends accounts: once their payer is registered, or once the payer is compliant."""

MAX_WORKERS = 256


@without_internal_frames
def onboard(  # noqa: PLR0913 - the options of a run, each by name
    client: Client,
    rows: Any,
    *,
    journal: str | Path,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    reconcile_after: float = RECONCILE_AFTER,
    durable: bool = False,
    accounts: Accounts = "now",
    holder_is_payer: bool = False,
) -> Report:
    """Send the payers of a table, then their bank details, and report the outcome of every row.

    The journal makes a run safe to repeat: after a crash, an interrupt or a failure, the same call with the same
    journal resumes the run. It does not repeat what is done, and reconciles writes whose outcome is unknown: a payer
    is sent again; an account is looked up twice in the payer's list and sent again if it is not there; each at most
    once. What is still unknown then is left to you, with the reason in the report. A payer that the service refuses as
    there already (409) is done, if its status can be read.

    An account that the service does not take yet, since its payer is not compliant, is *waiting*: the same call on
    another day sends it.

    Rows with errors are not sent; rows with warnings are. Agreements and payments are never sent.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: From `read_payers`, or any DataFrame with columns by field name or wire name: of pandas, or of Dask, whose
            partitions are read and checked on its cluster.
        journal: A file that records the state of each row, without personal data. It is made for the first run, and
            serves all tables of one service and API key. It is written before each request leaves. If the key was
            replaced, the journal goes on with the previous key in the environment variable PAYERKIT_PREVIOUS_API_KEY.
        workers: Calls at the same time, 1 to 256.
        rate: Calls per second, at most, no more than `client.pace.rate`; None for that rate. A 429 or a
            `Retry-After` of the service pauses all calls of the client.
        progress: Show a progress bar, and if the pace is limited, how long the run takes at least.
        reconcile_after: Seconds until a write whose outcome is unknown is reconciled, or twice the slowest response if
            that is longer. It must exceed the service's slowest write.
        durable: False: the journal survives the end of the process, killed or crashed. After a power cut or a crash of
            the operating system, its last moments may be missing. True: they are not, and each write of the journal
            waits for the disk, for 0.1 to 10 milliseconds.
        accounts: "now": send them once their payer is registered; the service decides whether they wait.
            "when_compliant": read the status of each payer first, which is beyond the specification, and send the
            accounts of compliant payers only; those of the others are waiting, and were not sent.
        holder_is_payer: The account holders are the payers: birth date, type and address of the holder come from the
            payer's columns. By default they do not: the holder has columns of their own, with `bank_` in front where a
            payer has the field, too (`bank_country`). A column `holder_is_payer` (yes, no) says it for each row.

    Returns:
        A `Report`, whose `frame` has one row for each row of the table. What fails for single rows is in it.

    Raises:
        InvalidInput: For a table, a journal or options that cannot be used, and for payers with accounts without the
            columns of the account holder. Nothing was sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`; call again to resume.
        PayerkitError: If the journal cannot be written, such as on a full disk. Nothing is lost.

    Example:
        >>> text = template("usd-local", "eur-local", path="accounts.csv")
        >>> report = onboard(client, read_payers("accounts.csv"), journal="run.journal", progress=False)
        >>> report.counts
        {'done': 2, 'refused': 0, 'unknown': 0, 'not_sent': 0, 'waiting': 0}
    """
    options = Options(workers, rate, reconcile_after, durable, accounts)
    return run_table(client, Table(rows, holder_is_payer=holder_is_payer), journal, options, progress=progress)


@without_internal_frames
def add_bank_details(  # noqa: PLR0913 - the options of a run, each by name
    client: Client,
    rows: Any,
    *,
    journal: str | Path,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    reconcile_after: float = RECONCILE_AFTER,
    durable: bool = False,
    accounts: Accounts = "now",
    holder_is_payer: bool = False,
) -> Report:
    """Send the bank details of a table, for payers who are already registered, and report the outcome of every row.

    It works like `onboard`, which explains the details: it is safe to repeat with the same journal.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: From `read_bank_details`, or any DataFrame, one account per row; `client_user_id` names its payer.
        journal: A file that records the state of each row, without personal data; the same one to resume.
        workers: Calls at the same time, 1 to 256.
        rate: Calls per second, at most, no more than `client.pace.rate`; None for that rate.
        progress: Show a progress bar.
        reconcile_after: Seconds until a write whose outcome is unknown is reconciled.
        durable: True: after a power cut or a crash of the operating system, the last moments of the journal are not
            missing, and each write of the journal waits for the disk.
        accounts: "now", or "when_compliant" to send the accounts of compliant payers only; those of the others are
            waiting, and the same call on another day sends them.
        holder_is_payer: As for `onboard`; it matters only if the table has columns of payers, too.

    Returns:
        A `Report`, whose `frame` has one row for each row of the table.

    Raises:
        InvalidInput: For a table, a journal or options that cannot be used, and for payers with accounts without the
            columns of the account holder. Nothing was sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`; call again to resume.
        PayerkitError: If the journal cannot be written, such as on a full disk. Nothing is lost.

    Example:
        >>> rows = pd.DataFrame([{"client_user_id": "user-123"} | details])
        >>> add_bank_details(client, rows, journal="accounts.journal", progress=False).frame["status"].tolist()
        ['approved']
    """
    options = Options(workers, rate, reconcile_after, durable, accounts)
    table = Table(rows, ("bank_details",), holder_is_payer=holder_is_payer)
    return run_table(client, table, journal, options, progress=progress)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run. Raises InvalidInput for values out of range."""

    workers: int
    rate: float | None = None
    reconcile_after: float = RECONCILE_AFTER
    durable: bool = False
    accounts: Accounts = "now"

    def __post_init__(self) -> None:
        if not (is_non_negative(self.workers) and 1 <= self.workers <= MAX_WORKERS and isinstance(self.workers, int)):
            raise InvalidInput(f"workers: expected a whole number from 1 to {MAX_WORKERS}.")
        if self.rate is not None:
            checked_rate(self.rate)
        if not is_non_negative(self.reconcile_after):
            raise InvalidInput("reconcile_after: expected a number of seconds, 0 or more.")
        if not isinstance(self.durable, bool):
            raise InvalidInput("durable: expected True or False.")
        if self.accounts not in get_args(Accounts):
            raise InvalidInput('accounts: expected "now" or "when_compliant".')


def run_table(
    client: Client,
    table: Table,
    path: str | Path,
    options: Options,
    *,
    progress: bool,
    limiter: RateLimiter | None = None,
) -> Report:
    """Send a table and return the report. limiter: one whose clock does not really wait, for tests."""
    check_client(client)
    limiter = limiter or RateLimiter(client.pace, StopSignal(), rate=options.rate)
    file, stop = Path(path), limiter.stop
    with (
        _explain_journal_errors(file),
        Journal(
            file, client.account_secret, previous_secret=client.previous_account_secret, durable=options.durable
        ) as journal,
        client.without_retries(pool_size=options.workers) as own,
    ):
        journal.require_same("service", digest(journal.salt, client.service_name()), "service")
        tasks = Tasks(table, journal.secret)
        if journal.needs_upgrade:
            upgrade(journal, tasks)
        journal.begin_run()
        run = _Run(own, tasks, journal, options, limiter)
        try:
            run.go(shown=progress)
            report = make_report(tasks, journal, stop.reason)
        except KeyboardInterrupt:  # between two steps, or while the report was made
            stop.set(INTERRUPTED)
            report = make_report(tasks, journal, stop.reason)
    if stop.reason == INTERRUPTED:
        raise InterruptedRun(str(report), report=report)
    return report


@contextmanager
def _explain_journal_errors(file: Path) -> Iterator[None]:
    """Raise a PayerkitError with advice if the journal cannot be written: the disk may be full."""
    try:
        yield
    except JournalLost as error:
        raise PayerkitError(
            f"journal: {file.name} {error}, so the run stopped.",
            advice="If you still have it, put it back and call again. Else call again with a new one: accounts that "
            "the service lists are not sent again.",
        ) from None
    except sqlite3.Error as error:
        raise PayerkitError(
            f"journal: {file.name} cannot be written ({error}), so the run stopped.",
            advice="Nothing is lost. Make room on the disk, then call again with the same journal.",
        ) from None


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that one worker sends one after the other: those of one payer, for one step.

    Accounts of one payer are never sent by two workers: the list of accounts that the payer had before, and the search
    for one whose outcome is unknown, need to see all of them.
    """

    step: Step
    rows: tuple[int, ...]


class _Run:
    """A run over a table: each step for all rows, then reconciliation of that step."""

    def __init__(self, client: Client, tasks: Tasks, journal: Journal, options: Options, limiter: RateLimiter) -> None:
        self._tasks, self._table, self._journal, self._options = tasks, tasks.table, journal, options
        self._limiter, self._stop = limiter, limiter.stop
        self._client, self._sender = client, Sender(client, journal, limiter)
        self._when_compliant = options.accounts == "when_compliant"
        self._reconciler = Reconciler(self._sender, journal, when_compliant=self._when_compliant)
        self._postponed: set[Batch] = set()
        """Batches whose reconciliation failed: the next run tries again. Threads only add to it."""

    def go(self, *, shown: bool) -> None:
        """Send and reconcile all steps, until the run is stopped."""
        total = sum(len(batch.rows) for step in self._table.steps for batch in self._batches(step))
        with Progress(total, shown=shown, where=self._client.environment) as self._progress:
            if shown and (rate := self._rate()) is not None and (estimate := self._estimate(rate)):
                self._progress.announce(estimate)
            for step in self._table.steps:
                self._progress.describe(step.replace("_", " "))
                self._run_workers(self._send_payer if step == "payer" else self._send_accounts, self._batches(step))
                self._reconcile(step)

    def _rate(self) -> float | None:
        """Return the calls per second to which the run or the client is limited; None if neither is."""
        return self._options.rate or self._client.pace.rate  # a rate above the client's was refused

    def _estimate(self, rate: float) -> str:
        """Return how long the calls take that are still to be made, without retries and lookups; "" if there are none.

        An account is more than one call: the payer's accounts are listed before the first, and the status may be read.
        """
        unsent: dict[Step, int] = {"payer": 0, "bank_details": 0}
        reads = 0
        for step in self._table.steps:
            for batch in self._batches(step):
                count = self._count_unsent(batch)
                unsent[step] += count
                if count and step == "bank_details":
                    payer = self._tasks.payer_key(batch.rows[0])
                    reads += self._when_compliant + (self._journal.baseline(payer) is None)
        calls = sum(unsent.values()) + reads
        return estimate_duration(unsent["payer"], unsent["bank_details"], calls, rate) if calls else ""

    def _count_unsent(self, batch: Batch) -> int:
        """Return how many tasks of a batch this run sends if nothing goes wrong."""
        table, rows = self._table, batch.rows
        if batch.step == "bank_details":
            rows = tuple(row for row in rows if table.account_row(row) == row and not table.without_payer[row])
        if self._journal.is_new:
            return len(rows)
        return sum(_is_unsent(self._journal.entry(self._tasks.key(batch.step, row))) for row in rows)

    def _run_workers(self, task: Callable[[Batch], None], batches: Iterable[Batch]) -> None:
        run_workers(task, batches, workers=self._options.workers, stop=self._stop, on_tick=self._progress.refresh)

    def _batches(self, step: Step) -> Iterator[Batch]:
        """Yield the batches of a step."""
        table, to_send = self._table, self._table.rows_to_send(step)
        if step == "payer":
            rows = table.order[to_send[table.order]].tolist()
            yield from (Batch(step, (row,)) for row in rows if table.payer_row(row) == row)
            return
        for group in table.rows_by_payer():
            chosen = tuple(group[to_send[group]].tolist())
            if chosen:
                yield Batch(step, chosen)

    def _batch_tasks(self, batch: Batch) -> list[Task]:
        """Return the tasks of a batch; rows with the same data are one task."""
        tasks = (self._tasks.task(batch.step, row) for row in batch.rows)
        return list({task.key: task for task in tasks}.values())

    def _send_payer(self, batch: Batch) -> None:
        for task in self._unsent_tasks(batch):
            self._progress.count(self._sender.send(task))

    def _send_accounts(self, batch: Batch) -> None:
        """Send the accounts of a payer, unless the table has the payer, too, and the payer is not done."""
        payer = self._table.payer_row(batch.rows[0])
        if "payer" in self._table.steps and payer >= 0 and not self._is_payer_done(payer):
            for _ in batch.rows:
                self._progress.count("not_sent")
            return
        tasks = self._unsent_tasks(batch)
        if tasks and self._may_be_sent(tasks, payer) and self._is_listed(tasks):
            for task in tasks:
                self._progress.count(self._sender.send(task))

    def _may_be_sent(self, tasks: Sequence[Task], payer: int) -> bool:
        """Return True if accounts need not wait for their payer, in row `payer`; else record why they are not sent."""
        if not self._when_compliant:
            return True
        client_user_id = tasks[0].client_user_id
        try:
            found = self._sender.check_compliance(client_user_id)
        except PayerkitError as error:
            reason = reason_of(error, client_user_id)
            self._defer(tasks, "not_sent", f"The payer's status must be read first, which failed: {reason}")
            return False
        if "payer" in self._table.steps and payer >= 0:
            self._journal.add_facts(self._tasks.key("payer", payer), found.facts)
        if found.reason_to_wait:
            self._defer(tasks, "waiting", found.reason_to_wait)
        return not found.reason_to_wait

    def _is_listed(self, tasks: Sequence[Task]) -> bool:
        """Return True if it is on record which accounts a payer had before; else record why they are not sent."""
        client_user_id = tasks[0].client_user_id
        try:
            self._sender.record_baseline(tasks[0].payer_key, client_user_id)
        except PayerkitError as error:
            if is_waiting(error):
                self._defer(tasks, "waiting", waiting_reason(error))
                return False
            reason = reason_of(error, client_user_id)
            reason = f"The payer's accounts must be listed before one is sent, which failed: {reason}"
            self._defer(tasks, "not_sent", reason)
            return False
        return True

    def _defer(self, tasks: Sequence[Task], state: Deferred, reason: str) -> None:
        for task in tasks:
            self._journal.defer(task.key, state, reason, payer=task.payer_key, content=task.content)
            self._progress.count(state)

    def _is_payer_done(self, row: int) -> bool:
        if self._table.blocked[row]:
            return False
        entry = self._journal.entry(self._tasks.key("payer", row))
        return entry is not None and entry.state == "done"

    def _unsent_tasks(self, batch: Batch) -> list[Task]:
        """Return the tasks that never reached the service, or that wait; count the others by their state."""
        unsent = []
        for task in self._batch_tasks(batch):
            entry = None if self._journal.is_new else self._journal.entry(task.key)
            if entry is None or _is_unsent(entry):
                unsent.append(task)
            else:
                self._progress.count(entry.state)
        return unsent

    def _reconcile(self, step: Step) -> None:
        """Reconcile the tasks of a step, each when it is due, until none is unresolved or the run is stopped."""
        if not self._journal.has_unresolved():
            return
        batches = [batch for batch in self._batches(step) if self._unresolved(batch)]
        if self._stop or (batches and step == "bank_details" and not self._can_rely_on_lists()):
            return  # they stay unknown in this run
        while batches and not self._stop:
            self._progress.describe(f"reconciling {count_of(len(batches), 'payer')}")
            delay = max(self._options.reconcile_after, 2 * self._limiter.slowest)
            due_since = self._journal.now() - delay
            due = [batch for batch in batches if any(is_due(entry, due_since) for entry in self._unresolved(batch))]
            self._run_workers(partial(self._reconcile_batch, delay), due)
            batches = [batch for batch in batches if self._unresolved(batch) and batch not in self._postponed]
            if batches and not due:
                self._pause()

    def _unresolved(self, batch: Batch) -> list[Entry]:
        """Return the journal's records of a batch's tasks that are still to be reconciled."""
        keys = {self._tasks.key(batch.step, row) for row in batch.rows}
        return [entry for key in keys if (entry := self._journal.entry(key)) is not None and entry.is_unresolved]

    def _can_rely_on_lists(self) -> bool:
        batches = reversed(list(self._batches("bank_details")))  # the latest first: stored most recently
        return self._reconciler.can_rely_on_lists(task for batch in batches for task in self._batch_tasks(batch))

    def _pause(self) -> None:
        try:
            self._stop.wait(0.1)
        except KeyboardInterrupt:
            self._stop.set(INTERRUPTED)
        self._progress.refresh()

    def _reconcile_batch(self, delay: float, batch: Batch) -> None:
        try:
            self._reconciler.reconcile(self._batch_tasks(batch), delay)
        except PayerkitError:
            self._postponed.add(batch)


def _is_unsent(entry: Entry | None) -> bool:
    """Return True if a task is to be sent, from the journal's record of it."""
    return entry is None or (entry.state in {"not_sent", "waiting"} and not entry.final)
