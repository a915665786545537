"""Send a table: payers, then accounts; what is unknown is looked for at once, and once
more at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from payerkit.client.client import Client, check_client
from payerkit.errors import (
    InterruptedRun,
    InvalidInput,
    without_internal_frames,
)
from payerkit.reasons import Outcome
from payerkit.runs.intent import Intentions
from payerkit.runs.journal import Entry, Journal, JournalLost
from payerkit.runs.limiter import RateLimiter, run_workers
from payerkit.runs.locate import journal_of_file, open_journal
from payerkit.runs.options import (
    DEFAULTS,
    Accounts,
    Existing,
    Options,
    RunOptions,
)
from payerkit.runs.progress import Progress
from payerkit.runs.report import Report
from payerkit.runs.rows import NOUNS, Placeholders, Row, Step
from payerkit.runs.sending import Sender
from payerkit.runs.tasks import Limit, Table, Task, Tasks


@without_internal_frames
def onboard(
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
    """Send the payers of a table, then their bank details, and report the outcome of
    every row.

    The journal makes a run safe to repeat: after a crash, an interrupt or a failure,
    the same call with the same journal resumes the run. It knows a payer by the id, and
    an account by its payer, currency, rails, numbers and codes. So the table may be
    corrected, longer or sorted in another way: what is done stays done, and what is new
    is sent. A row that was refused is sent again if it changed.

    What is there already is not stored again: the accounts of a payer are listed before
    the first is sent. One that is listed is done, with the reason "Was there already.";
    where the list cannot tell, the account is not sent, and the reason begins with
    `perhaps_there`. No key of the API prevents doubles, so use one journal at a time;
    `verify_onboarding` shows what is there twice all the same.

    An account whose outcome is unknown is looked for in the payer's list: at once, at
    the end of the run, and in the next run. What is found is done. What is not found
    stays unknown, with the listed accounts that could be it, and **is never sent again
    by itself**, since a list may leave out accounts. If you are sure that it is not
    there, `RunOptions(retry="unknown")` sends it again. A payer is repeated: the same
    id makes no second payer.

    A row that changed is compared with what the journal has. Its account is not sent if
    the payer has one from a row that is not in the table any more, or if the journal
    has the payer under another spelling of the id; the reason says what to do.

    An account that the service does not take yet, since its payer is not compliant, is
    *waiting*: the same call on another day sends it.

    Rows with errors are not sent; rows with warnings are. The example rows of a
    template are errors, except in a sandbox. Agreements and payments are never sent.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: From `read_payers`, the path of a file that it reads, or any DataFrame
            with columns by field name or wire name. Rows that differ only in blanks,
            case or Unicode form are sent as one; an id has to be written in one way.
        journal: A file that records the state of each row, without personal data; for
            rows of a file, by default, the one beside it, such as payers.csv.journal.
            It is made for the first run, with its secret beside it, such as
            payers.csv.journal.secret: keep the two together. It serves all tables of
            one service, and goes on with a new API key; the one beside a file has the
            host in its name for a second service. That of another sandbox on this
            machine is set aside. It is on the disk before each request leaves.
        accounts: "now": send them once their payer is registered; the service decides
            whether they wait. "when_compliant": read the status of each payer first,
            which is beyond the specification, and send the accounts of compliant payers
            only; those of the others are waiting, and were not sent.
        existing: "skip": an account that is listed before it is sent is done, and not
            sent. "send": it is sent, and so is one that may be there (`perhaps_there`),
            or is there and failed (`there_failed`).
        holder_is_payer: The account holders are the payers: birth date, type and
            address of the holder come from the payer's columns. By default they do not:
            the holder has columns of their own, with `bank_` in front where a payer has
            the field, too (`bank_country`). A column `holder_is_payer` (yes, no) says
            it for each row.
        placeholders: What cells are that stand for no value, such as N/A, - or none:
            "error", they block their row; "keep", they are sent as they are; or the
            words that are sent, such as {"Null", "None"}. A name that is written as
            one, such as Null, is warned of. NA as a country is always Namibia.
        options: A limit, which rows to hold back or to try again, and how fast, as
            `RunOptions`.

    Returns:
        A `Report`, whose `frame` has one row for each row of the table. What fails for
        single rows is in it.

    Raises:
        InvalidInput: For a table, a journal or options that cannot be used, and for
            payers with accounts without the columns of the account holder. Nothing was
            sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`; call again to
            resume.
        PayerkitError: If the journal cannot be written, such as on a full disk. Nothing
            is lost.

    Example:
        >>> text = template("usd-local", "eur-local", path="accounts.csv")
        >>> # with the journal accounts.csv.journal
        >>> report = onboard(client, read_payers("accounts.csv"))
        >>> report.counts
        {'done': 2, 'refused': 0, 'unknown': 0, 'not_sent': 0, 'waiting': 0,
        'duplicate': 0}
    """
    return _run(
        client,
        rows,
        journal,
        Options.of(options, accounts, existing),
        holder_is_payer=holder_is_payer,
        placeholders=placeholders,
    )


@without_internal_frames
def add_bank_details(
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
    """Send the bank details of a table, for payers who are already registered, and
    report the outcome of every row.

    It works like `onboard`, which explains the details: it is safe to repeat with the
    same journal.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: From `read_bank_details`, the path of a file that it reads, or any
            DataFrame, one account per row; `client_user_id` names its payer.
        journal: As for `onboard`; the same one to resume.
        accounts: "now", or "when_compliant" to send the accounts of compliant payers
            only; those of the others are waiting, and the same call on another day
            sends them.
        existing: "skip", or "send" to send accounts that are listed already, or may be.
        holder_is_payer: As for `onboard`; it matters only if the table has columns of
            payers, too.
        placeholders: As for `onboard`.
        options: As for `onboard`.

    Returns:
        A `Report`, whose `frame` has one row for each row of the table.

    Raises:
        InvalidInput: For a table, a journal or options that cannot be used, and for
            payers with accounts without the columns of the account holder. Nothing was
            sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`; call again to
            resume.
        PayerkitError: If the journal cannot be written, such as on a full disk. Nothing
            is lost.

    Example:
        >>> rows = pd.DataFrame([{"client_user_id": "user-123"} | details])
        >>> add_bank_details(client, rows, journal="accounts.journal").frame[
        ...     "status"
        ... ].tolist()
        ['approved']
    """
    return _run(
        client,
        rows,
        journal,
        Options.of(options, accounts, existing),
        steps=("bank_details",),
        holder_is_payer=holder_is_payer,
        placeholders=placeholders,
    )


def _run(
    client: Client,
    rows: Any,
    journal: str | Path | None,
    options: Options,
    **checks: Any,
) -> Report:
    """Check a table, send it and return the report. checks: how it is checked, as for
    `Table`.
    """
    check_client(client)
    client.check_confirmed()
    # A sandbox may have the example rows of a template.
    table = Table(
        rows,
        hold=options.hold,
        takes_examples=client.environment == "sandbox",
        **checks,
    )
    file = table.origin.path
    if journal is not None:
        path = Path(journal)
    elif file is not None:
        path = journal_of_file(file, client)
    else:
        raise InvalidInput(
            'journal: give a file, such as journal="run.journal", since these rows are'
            " from none."
        )
    return run_table(client, table, path, options)


def run_table(
    client: Client,
    table: Table,
    path: str | Path,
    options: Options,
    *,
    limiter: RateLimiter | None = None,
) -> Report:
    """Send a table and return the report. limiter: one that does not really wait, for
    tests.
    """
    limiter = limiter or RateLimiter(client.pace)
    with open_journal(Path(path), client) as journal:
        tasks = Tasks(table, journal.secret)
        journal.begin_run()
        with Progress(shown=options.progress, where=client.environment) as progress:
            run = TableRun(
                client.without_retries(), tasks, journal, options, limiter, progress
            )
            try:
                run.go()
            except KeyboardInterrupt:  # between two steps
                limiter.stop.interrupt()
            report = Report(
                tasks, journal, limiter.stop.outcome, run.limit, others=run.others
            )
    if limiter.stop.is_interrupted:
        raise InterruptedRun(str(report), report=report)
    return report


LAST_LOOK_AFTER = 2.0
"""Seconds until a run looks once more for what is unknown, at its end."""

_GOES_ON = {"done", "sent", "unknown"}
"""States of a payer after which the accounts may be sent in the same run."""

Batch = tuple[Task, ...]
"""Tasks that one worker sends one after the other: those of one payer, for one step.

Accounts of one payer are never sent by two workers: only all of them together show
which row a listed account belongs to.
"""


class TableRun:
    """Sends a table: payers, then the accounts of those that are done, and looks for
    what is unknown. Use it once.
    """

    def __init__(
        self,
        client: Client,
        tasks: Tasks,
        journal: Journal,
        options: Options,
        limiter: RateLimiter,
        progress: Progress,
    ) -> None:
        self._tasks = tasks
        self._journal = journal
        self._options = options
        self._limiter = limiter
        self._stop = limiter.stop
        self._progress = progress
        self._sender = Sender(client, journal, limiter, options)
        self._intentions = Intentions(tasks, journal, options)
        self._tried: set[bytes] = set()
        """The tasks that this run sent, each at most once; a payer once more at its
        end.
        """
        self.limit = Limit()
        """What the run tries, known once it began."""

    def go(self) -> None:
        """Send all steps, then look once more for what is unknown, until the run is
        stopped.
        """
        batches = {step: self._make_batches(step) for step in self._tasks.table.columns}
        if self._options.limit is not None:
            self.limit = self._choose_rows(self._options.limit)
        for step, of_step in batches.items():
            self._run_step(
                step, [batch for batch in of_step if not self._leaves(batch)]
            )
        unknown = self._journal.unknown()
        left = {
            step: [batch for batch in of_step if self._is_open(batch, unknown)]
            for step, of_step in batches.items()
        }
        if not any(left.values()) or self._stop:
            return
        if self._limiter.pause(LAST_LOOK_AFTER):
            return
        self._tried -= unknown & self._tasks.payer_keys
        for step, of_step in left.items():
            self._run_step(step, of_step)

    def _run_step(self, step: Step, batches: Sequence[Batch]) -> None:
        """Do what is to be done with the batches of a step."""
        if not batches:
            return
        self._progress.begin(NOUNS[step], sum(len(batch) for batch in batches))
        work = self._send_payer if step == "payer" else self._send_accounts
        self._run_workers(work, batches)

    def _leaves(self, batch: Batch) -> bool:
        """Return True if all of a batch is left to a later run."""
        return all(self.limit.leaves(task) for task in batch)

    @property
    def others(self) -> int:
        """How many accounts were listed that no row explains."""
        return sum(self._sender.unexplained.values())

    def _is_open(self, batch: Batch, unknown: set[bytes]) -> bool:
        """Return True if a task of a batch is unknown, or the payer of its accounts."""
        if batch[0].payer_key in unknown:
            return True
        return any(task.key in unknown for task in batch)

    # What is to be sent

    def _make_batches(self, step: Step) -> list[Batch]:
        """Return the batches of a step."""
        batches = []
        for group in self._tasks.table.payers:
            batch: dict[Task, None] = {}
            for row in group:
                if not row.may_be_sent:
                    continue
                for task in self._tasks.of(row):
                    is_own = step == "bank_details" or task.row is row
                    if task.step == step and is_own:
                        batch[task] = None
            if batch:
                batches.append(tuple(batch))
        return batches

    def _choose_rows(self, rows: int) -> Limit:
        """Return the first rows that have something to send: the rows of a payer come
        one after the other.

        A row brings along all that it asks for, its payer in another row, too. Rows
        that send the same as one of these do not count.
        """
        limit = Limit(rows)
        left = rows
        for group in self._tasks.table.payers:
            for row in group:
                if not left:
                    return limit
                wanted = self._wanted_of(row)
                if not wanted <= limit.tried:
                    limit.tried.update(wanted)
                    left -= 1
        return limit

    def _wanted_of(self, row: Row) -> set[Task]:
        """Return the tasks of a row that are to be sent."""
        wanted = set[Task]()
        if not row.may_be_sent or row.waits_for_payer:
            return wanted
        for task in self._tasks.of(row):
            entry = self._journal.entry(task.key)
            if self._is_wanted(task, entry):
                wanted.add(task)
            elif (
                task.step == "payer"
                and entry is not None
                and entry.state not in _GOES_ON
            ):
                return set()  # its accounts would not be sent either
        return wanted

    def _is_wanted(self, task: Task, entry: Entry | None) -> bool:
        """Return True if a task is to be sent in this run."""
        if task.key in self._tried:
            return False
        return self._intentions.of(task, entry) == "send"

    def _take(self, task: Task, entry: Entry | None) -> bool:
        """Return True if a task is sent now; record why it is not, if it is wanted."""
        if self.limit.leaves(task) or not self._is_wanted(task, entry):
            return False
        self._tried.add(task.key)
        obstacle = self._intentions.obstacle(task, entry)
        if obstacle is not None:
            self._sender.defer(task, "not_sent", obstacle)
        return obstacle is None

    # Sending

    def _run_workers(
        self, task: Callable[[Batch], None], batches: Sequence[Batch]
    ) -> None:
        def work(batch: Batch) -> None:
            try:
                task(batch)
            except JournalLost as error:
                self._stop.set(Outcome("journal_lost", {"name": str(error)}))

        run_workers(
            work,
            batches,
            workers=self._options.workers,
            stop=self._stop,
            on_tick=self._progress.show,
        )

    def _send_payer(self, batch: Batch) -> None:
        for task in batch:
            if self._take(task, self._journal.entry(task.key)):
                self._sender.send_payer(task)
            self._count(task)

    def _send_accounts(self, batch: Batch) -> None:
        """Send the accounts of a payer, unless the table has the payer, too, and the
        payer is not done; look for those whose outcome is unknown.
        """
        if self._is_payer_done(batch[0].row.payer_row):
            entries = self._journal.entries_of(batch[0].payer_key)
            wanted = [task for task in batch if self._take(task, entries.get(task.key))]
            self._sender.send_accounts(batch, wanted)
        for task in batch:
            self._count(task)

    def _count(self, task: Task) -> None:
        entry = self._journal.entry(task.key)
        self._progress.count("not_sent" if entry is None else entry.state)

    def _is_payer_done(self, row: Row | None) -> bool:
        """Return True if the table does not have the payer, or the payer is done."""
        if row is None:
            return True
        if row.is_blocked:
            return False
        entry = self._journal.entry(self._tasks["payer", row].key)
        return entry is not None and entry.state == "done"
