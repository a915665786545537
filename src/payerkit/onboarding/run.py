"""Send a table: payers, then accounts; what is unknown waits beside them; a last look at what was sent twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from payerkit.client.client import Client, check_client
from payerkit.errors import InterruptedRun, InvalidInput, PayerkitError, without_internal_frames
from payerkit.onboarding.journal import Entry, Journal, JournalLost, open_journal
from payerkit.onboarding.limiter import RateLimiter, run_workers
from payerkit.onboarding.options import DEFAULTS, Accounts, Existing, Options, RunOptions
from payerkit.onboarding.progress import Progress
from payerkit.onboarding.reconcile import Reconciler
from payerkit.onboarding.report import Report
from payerkit.onboarding.rows import Placeholders, Row, Step
from payerkit.onboarding.sending import Sender
from payerkit.onboarding.tasks import Limit, Table, Task, Tasks
from payerkit.reasons import Outcome


@without_internal_frames
def onboard(  # noqa: PLR0913 - what a run is about, each by name
    client: Client,
    rows: Any,
    *,
    journal: str | Path | None = None,
    accounts: Accounts = "now",
    existing: Existing = "skip",
    holder_is_payer: bool = False,
    placeholders: Placeholders = "error",
    options: RunOptions = DEFAULTS,
) -> Report:
    """Send the payers of a table, then their bank details, and report the outcome of every row.

    The journal makes a run safe to repeat: after a crash, an interrupt or a failure, the same call with the same
    journal resumes the run. It knows a payer by the id, and an account by its payer, currency, rails, numbers and
    codes. So the table may be corrected, longer or sorted in another way: what is done stays done, and what is new is
    sent. A row that was refused is sent again if it changed.

    What is there already is not stored again: the accounts of a payer are listed before the first is sent. One that is
    listed is done, with the reason "Was there already."; where the list cannot tell, the account is not sent, and the
    reason begins with `perhaps_there`. No key of the API prevents doubles, so use one journal at a time;
    `verify_onboarding` shows what is there twice all the same.

    A write whose outcome is unknown is looked for at once: what is found is done, and what is not found is reconciled
    after a while, beside the accounts of other payers. A payer is asked for, up to six times, and sent again if the
    service does not know it. An account is looked for in the payer's list, and sent again if it is missing from two
    lists that show all accounts known to be there. At the end of the run, accounts that were sent more than once are
    looked for once more, a whole `reconcile_after` after they were sent last; the progress bar says of how many payers,
    and how many seconds it waits. An account that is stored twice is a `duplicate`. What is still unknown then is
    left to the next run, or to you, with the reason in the report.

    An account that the service does not take yet, since its payer is not compliant, is *waiting*: the same call on
    another day sends it.

    Rows with errors are not sent; rows with warnings are. The example rows of a template are errors, except in a
    sandbox. Agreements and payments are never sent.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: From `read_payers`, the path of a file that it reads, or any DataFrame with columns by field name or wire
            name. Rows that differ only in blanks, case or Unicode form are sent as one.
        journal: A file that records the state of each row, without personal data; for rows of a file, by default, the
            one beside it, such as payers.csv.journal. It is made for the first run, and serves all tables of one
            service and API key. It is on the disk before each request leaves. If the key was replaced, the journal goes
            on with the previous key in the environment variable PAYERKIT_PREVIOUS_API_KEY.
        accounts: "now": send them once their payer is registered; the service decides whether they wait.
            "when_compliant": read the status of each payer first, which is beyond the specification, and send the
            accounts of compliant payers only; those of the others are waiting, and were not sent.
        existing: "skip": an account that is listed before it is sent is done, and not sent. "send": it is sent, and
            so is one that may be there (`perhaps_there`), or is there and failed (`there_failed`).
        holder_is_payer: The account holders are the payers: birth date, type and address of the holder come from the
            payer's columns. By default they do not: the holder has columns of their own, with `bank_` in front where a
            payer has the field, too (`bank_country`). A column `holder_is_payer` (yes, no) says it for each row.
        placeholders: What cells are that stand for no value, such as N/A, - or none: "error", they block their row;
            "keep", they are sent as they are, such as the surname Null. NA as a country is always Namibia.
        options: A limit, which rows to hold back or to try again, and how fast, as `RunOptions`.

    Returns:
        A `Report`, whose `frame` has one row for each row of the table. What fails for single rows is in it.

    Raises:
        InvalidInput: For a table, a journal or options that cannot be used, and for payers with accounts without the
            columns of the account holder. Nothing was sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`; call again to resume.
        PayerkitError: If the journal cannot be written, such as on a full disk. Nothing is lost.

    Example:
        >>> text = template("usd-local", "eur-local", path="accounts.csv")
        >>> report = onboard(client, read_payers("accounts.csv"))  # with the journal accounts.csv.journal
        >>> report.counts
        {'done': 2, 'refused': 0, 'unknown': 0, 'not_sent': 0, 'waiting': 0, 'duplicate': 0}
    """
    chosen = Options.of(options, accounts, existing)
    return _run(client, rows, journal, chosen, holder_is_payer=holder_is_payer, placeholders=placeholders)


@without_internal_frames
def add_bank_details(  # noqa: PLR0913 - what a run is about, each by name
    client: Client,
    rows: Any,
    *,
    journal: str | Path | None = None,
    accounts: Accounts = "now",
    existing: Existing = "skip",
    holder_is_payer: bool = False,
    placeholders: Placeholders = "error",
    options: RunOptions = DEFAULTS,
) -> Report:
    """Send the bank details of a table, for payers who are already registered, and report the outcome of every row.

    It works like `onboard`, which explains the details: it is safe to repeat with the same journal.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: From `read_bank_details`, the path of a file that it reads, or any DataFrame, one account per row;
            `client_user_id` names its payer.
        journal: As for `onboard`; the same one to resume.
        accounts: "now", or "when_compliant" to send the accounts of compliant payers only; those of the others are
            waiting, and the same call on another day sends them.
        existing: "skip", or "send" to send accounts that are listed already, or may be.
        holder_is_payer: As for `onboard`; it matters only if the table has columns of payers, too.
        placeholders: As for `onboard`.
        options: As for `onboard`.

    Returns:
        A `Report`, whose `frame` has one row for each row of the table.

    Raises:
        InvalidInput: For a table, a journal or options that cannot be used, and for payers with accounts without the
            columns of the account holder. Nothing was sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`; call again to resume.
        PayerkitError: If the journal cannot be written, such as on a full disk. Nothing is lost.

    Example:
        >>> rows = pd.DataFrame([{"client_user_id": "user-123"} | details])
        >>> add_bank_details(client, rows, journal="accounts.journal").frame["status"].tolist()
        ['approved']
    """
    chosen, steps = Options.of(options, accounts, existing), ("bank_details",)
    return _run(client, rows, journal, chosen, steps=steps, holder_is_payer=holder_is_payer, placeholders=placeholders)


def _run(client: Client, rows: Any, journal: str | Path | None, options: Options, **checks: Any) -> Report:
    """Check a table, send it and return the report. checks: how it is checked, as for `Table`."""
    check_client(client)
    # A sandbox is on this machine, and may have the example rows of a template.
    table = Table(rows, hold=options.hold, takes_examples=client.environment == "sandbox", **checks)
    file = table.origin.path
    if journal is None and file is None:
        raise InvalidInput('journal: give a file, such as journal="run.journal", since these rows are from none.')
    return run_table(client, table, f"{file}.journal" if journal is None else journal, options)


def run_table(
    client: Client,
    table: Table,
    path: str | Path,
    options: Options,
    *,
    limiter: RateLimiter | None = None,
    clock: Callable[[], float] | None = None,
) -> Report:
    """Send a table and return the report.

    limiter: one that does not really wait, for tests. clock: that of the waits until something is looked up; by
    default, the limiter's.
    """
    limiter = limiter or RateLimiter(client.pace)
    with open_journal(Path(path), client, clock or limiter.clock) as journal:
        tasks = Tasks.of_journal(table, journal)
        journal.begin_run()
        with Progress(shown=options.progress, where=client.environment) as progress:
            run = TableRun(client.without_retries(), tasks, journal, options, limiter, progress)
            try:
                run.go()
            except KeyboardInterrupt:  # between two steps
                limiter.stop.interrupt()
            report = Report(tasks, journal, limiter.stop.outcome, run.limit)
    if limiter.stop.is_interrupted:
        raise InterruptedRun(str(report), report=report)
    return report


Intent = Literal["send", "reset", "reopen", "leave"]
"""What a run does with a task first: send it, forget that it was refused or given up and send it, look for it anew."""

_UNITS: dict[Step, str] = {"payer": "payer", "bank_details": "account"}
"""What the progress bar counts in each step."""

_GOES_ON = {"done", "sent", "unknown"}
"""States of a payer after which the accounts may be sent in the same run."""

_LONGEST_PAUSE = 1.0
"""Seconds between two looks at what is due, and at the progress bar."""


Batch = tuple[Task, ...]
"""Tasks that one worker sends one after the other: those of one payer, for one step.

Accounts of one payer are never sent by two workers: the list of accounts that the payer had before, and the search for
one whose outcome is unknown, need to see all of them.
"""


class TableRun:
    """Sends a table: payers, then the accounts of those that are settled, then what waits. Use it once."""

    def __init__(
        self, client: Client, tasks: Tasks, journal: Journal, options: Options, limiter: RateLimiter, progress: Progress
    ) -> None:
        self._tasks, self._journal, self._options = tasks, journal, options
        self._limiter, self._stop, self._client, self._progress = limiter, limiter.stop, client, progress
        limiter.slowest = max(limiter.slowest, journal.slowest)
        self._sender = Sender(client, journal, limiter, options)
        self._batches = {step: self._make_batches(step) for step in tasks.table.columns}
        accounts = partial(chain.from_iterable, self._batches.get("bank_details", ()))
        self._reconciler = Reconciler(self._sender, journal, accounts)
        self.limit = Limit()
        """What the run tries, known once it began."""
        self._later: dict[Row, Batch] = {}
        """Accounts that are sent once their payer is settled, by the row of the payer."""

    def go(self) -> None:
        """Send and reconcile all steps, until the run is stopped."""
        if self._options.limit is not None:
            self.limit = self._choose_rows(self._options.limit)
        for step in self._batches:
            batches = [batch for batch in self._batches[step] if not all(map(self.limit.leaves, batch))]
            self._progress.begin(_UNITS[step], sum(map(len, batches)))
            self._run_workers(self._send_payer if step == "payer" else self._send_accounts, batches)
            if not self._stop:
                self._run_workers(self._look_at_once, [*self._waiting(step, self._journal.unresolved())])
        for step in self._batches:
            self._work_when_due(step, "reconciled payer", self._journal.unresolved, self._reconcile, first=min)
        self._work_when_due("bank_details", "checked payer", self._journal.looks, self._look_again, first=max)

    # What is to be sent

    def _make_batches(self, step: Step) -> list[Batch]:
        """Return the batches of a step."""
        batches = []
        for group in self._tasks.table.payers:
            asked = [(row, task) for row in group if row.may_be_sent for task in self._tasks.of(row)]
            wanted = (task for row, task in asked if task.step == step and (step == "bank_details" or task.row is row))
            batches.append(tuple(dict.fromkeys(wanted)))
        return list(filter(None, batches))

    def _choose_rows(self, rows: int) -> Limit:
        """Return the first rows that have something to send: the rows of a payer come one after the other.

        A row brings along all that it asks for, its payer in another row, too. Rows that send the same as one of these
        do not count.
        """
        limit, left = Limit(rows), rows
        for row in chain.from_iterable(self._tasks.table.payers):
            has_wanted = False
            for task in self._tasks.of(row) if row.may_be_sent and not row.waits_for_payer else ():
                entry = self._journal.entry(task.key)
                if self._intent(task, entry) in {"send", "reset"}:
                    has_wanted |= limit.leaves(task)
                    limit.tried.add(task)
                elif task.step == "payer" and entry is not None and entry.state not in _GOES_ON:
                    break
            left -= has_wanted
            if not left:
                break
        return limit

    def _unsent(self, batch: Batch) -> list[Task]:
        """Return the tasks that are to be sent, as the journal may have to note; count the others by state."""
        unsent = []
        for task in batch:
            entry = self._journal.entry(task.key)
            intent = self._intent(task, entry)
            if intent == "reset":
                self._journal.reset(task.key, task.content)
            elif intent == "reopen":
                self._journal.reopen(task.key)
            if intent in {"send", "reset"}:
                unsent.append(task)
            else:
                self._progress.count("not_sent" if entry is None else entry.state)
        return unsent

    def _intent(self, task: Task, entry: Entry | None) -> Intent:
        """Return what this run does with a task first."""
        is_left = self.limit.leaves(task)
        if entry is None or entry.is_unsent:
            return "leave" if is_left else "send"
        if entry.state in {"refused", "not_sent"}:
            is_wanted = entry.state == "refused" and "refused" in self._options.retry
            is_changed = entry.content and entry.content != task.content
            return "reset" if (is_wanted or is_changed) and not is_left else "leave"
        if entry.state != "unknown":
            return "leave"
        is_wanted = task.step == "bank_details" and "unknown" in self._options.retry
        if is_wanted and self._options.existing == "send":
            return "leave" if is_left else "reset"
        return "reopen" if entry.final and (is_wanted or task.step == "payer") else "leave"

    # Sending

    def _run_workers(self, task: Callable[[Batch], None], batches: Sequence[Batch]) -> None:
        def work(batch: Batch) -> None:
            try:
                task(batch)
            except JournalLost as error:
                self._stop.set(Outcome("journal_lost", {"name": str(error)}))

        run_workers(work, batches, workers=self._options.workers, stop=self._stop, on_tick=self._progress.show)

    def _send_payer(self, batch: Batch) -> None:
        for task in self._unsent(batch):
            self._progress.count(self._sender.send(task))

    def _send_accounts(self, batch: Batch) -> None:
        """Send the accounts of a payer, unless the table has the payer, too, and the payer is not done.

        Those of a payer whose outcome is unknown follow once it is settled.
        """
        payer = batch[0].row.payer_row
        if payer is not None and not self._is_payer_done(payer):
            self._later[payer] = batch
            for _ in batch:
                self._progress.count("not_sent")
        elif unsent := self._unsent(batch):
            states = self._sender.sort_out(batch, unsent)
            for task in unsent:
                self._progress.count(states.get(task.key) or self._sender.send(task))

    def _is_payer_done(self, row: Row) -> bool:
        entry = None if row.is_blocked else self._journal.entry(self._tasks["payer", row].key)
        return entry is not None and entry.state == "done"

    # Reconciling, and the last look

    def _waiting(self, step: Step, since: Mapping[bytes, float]) -> dict[Batch, list[float]]:
        """Return the batches of a step with tasks that wait, and since when. since: of each task that does, by key."""
        batches = self._batches.get(step, []) if since else []
        times = {batch: [since[task.key] for task in batch if task.key in since] for batch in batches}
        return {batch: own for batch, own in times.items() if own}

    def _work_when_due(
        self,
        step: Step,
        unit: str,
        find: Callable[[], Mapping[bytes, float]],
        work: Callable[[Batch], bool],
        *,
        first: Callable[[Iterable[float]], float],
    ) -> None:
        """Work on the batches of a step with tasks that wait, until none does or the run is stopped.

        find: returns since when tasks wait, by key. work: returns False if this run can do no more for a batch. first:
        of the times of a batch, the one a whole delay after which it is due.
        """
        ended = set[Batch]()

        def work_once(batch: Batch) -> None:
            if not work(batch):
                ended.add(batch)

        total = done = 0
        while waiting := {batch: own for batch, own in self._waiting(step, find()).items() if batch not in ended}:
            if self._stop:
                break
            if not total:
                total = len(waiting)
                self._progress.begin(unit, total)
            done = max(done, total - len(waiting))  # others may have come to wait meanwhile
            since = min(map(first, waiting.values()))
            seconds = max(0.0, since + self._sender.delay() - self._journal.now())
            note = f"waits {seconds:.0f} s, until a write would have taken effect" if seconds else ""
            self._progress.draw(done, note)
            due_since = self._journal.now() - self._sender.delay()
            if due := [batch for batch, times in waiting.items() if first(times) <= due_since]:
                self._run_workers(work_once, due)
            else:
                self._pause(seconds)

    def _pause(self, seconds: float) -> None:
        """Wait until something is due, but not for long: the progress bar is drawn in between."""
        try:
            self._limiter.pause(min(max(seconds, 0.01), _LONGEST_PAUSE))
        except KeyboardInterrupt:
            self._stop.interrupt()
        self._progress.show()

    def _look_at_once(self, batch: Batch) -> None:
        with suppress(PayerkitError):  # a later look, or the next run, decides
            self._reconciler.look_at_once(batch)

    def _reconcile(self, batch: Batch) -> bool:
        """Take the next step for what is unknown, and then send the accounts of a payer who is settled by that."""
        goes_on, payer = False, batch[0].row
        with suppress(PayerkitError):
            goes_on = self._reconciler.reconcile(batch, self._sender.delay())
        if batch[0].step == "payer" and payer in self._later and self._is_payer_done(payer):
            accounts = self._later.pop(payer)
            self._send_accounts(accounts)
            if not self._journal.unresolved().keys().isdisjoint(task.key for task in accounts):
                self._look_at_once(accounts)
        return goes_on

    def _look_again(self, batch: Batch) -> bool:
        """Look for the last time at accounts that may be stored twice."""
        with suppress(PayerkitError):  # the next run looks
            self._reconciler.look_again(batch)
        return False
