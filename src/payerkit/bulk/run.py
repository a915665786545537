"""Send a table: a bounded pool of threads over one client, a journal, and a second look at what is not known."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any

from payerkit.bulk.journal import Entry, Journal
from payerkit.bulk.partitions import Step
from payerkit.bulk.progress import Progress
from payerkit.bulk.rate_limit import RateLimiter, StopSignal
from payerkit.bulk.report import Report, make_report
from payerkit.bulk.sending import Sender, is_due, is_lost
from payerkit.bulk.table import Table
from payerkit.bulk.tasks import Task, Tasks, digest
from payerkit.bulk.workers import INTERRUPTED, each
from payerkit.client import Client, check_client
from payerkit.errors import InterruptedRun, InvalidInput, PayerkitError, without_internal_frames

Unit = tuple[int, ...]
"""Rows that one thread works on, one after the other."""

MOST_WORKERS = 256

_SAME_TABLE = (
    "Give the same table. For corrected rows take another file and a table of them alone: with another journal, "
    "all rows of a table are sent."
)

SETTLE = 10.0
"""Seconds after which a write that was on its way must have landed; longer if the service was slower."""


@without_internal_frames
def onboard(  # noqa: PLR0913 - what can be chosen, each by name
    client: Client,
    rows: Any,
    *,
    journal: str | Path,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    settle: float = SETTLE,
) -> Report:
    """Send the payers of a table, and then their bank details; return what became of every row.

    rows: from `read_payers`, or any DataFrame with columns by our names or wire names (pandas, or Dask, whose
    partitions are read and checked on its cluster). journal: a file for this run; the same call with it goes on where
    a crash, an interrupt or a failure ended the last one, and repeats nothing that was done. workers: calls at a time.
    rate: calls a second, at most. settle: seconds after which an outcome that is not known is looked into: an account
    is looked for twice before it is sent again, a payer is sent again, each at most once.

    Rows with errors are not sent; warnings are sent. Agreements and payments are never sent. Raises InvalidInput for
    rows, a journal or numbers that cannot be used, InterruptedRun with the report after an interrupt. What fails for
    one row is in the report.
    """
    return _run(client, Table(rows), journal, Options(workers, rate, settle), progress=progress)


@without_internal_frames
def add_bank_details(  # noqa: PLR0913 - what can be chosen, each by name
    client: Client,
    rows: Any,
    *,
    journal: str | Path,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    settle: float = SETTLE,
) -> Report:
    """Send the bank details of a table for payers who are on board; return what became of every row.

    rows: from `read_bank_details`, with a column `client_user_id`. Everything else as for `onboard`.
    """
    table = Table(rows, ("bank_details",))
    return _run(client, table, journal, Options(workers, rate, settle), progress=progress)


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes. Raises InvalidInput for numbers that make no sense."""

    workers: int
    rate: float | None
    settle: float = SETTLE

    def __post_init__(self) -> None:
        if not _is_number(self.workers, int) or not 1 <= self.workers <= MOST_WORKERS:
            raise InvalidInput(f"workers: give a whole number from 1 to {MOST_WORKERS}.")
        if self.rate is not None and not (_is_number(self.rate, int | float) and 0 < self.rate < math.inf):
            raise InvalidInput("rate: give a positive number of calls a second, or None.")
        if not (_is_number(self.settle, int | float) and 0 <= self.settle < math.inf):
            raise InvalidInput("settle: give a number of seconds.")


def _is_number(value: object, kinds: type | UnionType) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _run(client: Client, table: Table, path: str | Path, options: Options, *, progress: bool) -> Report:
    check_client(client)
    file, workers = Path(path), options.workers
    with (
        _noted(file),
        Journal(file, client.account_secret) as journal,
        client.without_retries(pool_size=workers) as own,
    ):
        journal.belongs_to("service", digest(journal.salt, client.service_name()), "service")
        journal.belongs_to("key", digest(journal.secret, "key"), "API key")
        journal.belongs_to("input", table.fingerprint(journal.secret), "table", _SAME_TABLE)
        journal.cut_off()
        tasks = Tasks(table, journal.secret)
        run = _Run(own, tasks, journal, options)
        try:
            run.go(shown=progress)
            report = make_report(tasks, journal, run.stop.reason)
        except KeyboardInterrupt:  # between two steps, or while the report was made
            run.stop.because(INTERRUPTED)
            report = make_report(tasks, journal, run.stop.reason)
    if run.stop.reason == INTERRUPTED:
        raise InterruptedRun(str(report), report=report)
    return report


@contextmanager
def _noted(file: Path) -> Iterator[None]:
    """Tell what it means that the journal could not be written: the disk may be full."""
    try:
        yield
    except sqlite3.Error as error:
        raise PayerkitError(
            f"journal: {file.name} cannot be written ({error}), so the run ended.",
            advice="Nothing is lost: make room, then call again with the same journal.",
        ) from None


class _Run:
    """One run over a table: each step for all rows, then a second look at what is not known."""

    def __init__(self, client: Client, tasks: Tasks, journal: Journal, options: Options) -> None:
        self.stop = StopSignal()
        self._by_row, self._table, self._journal, self._options = tasks, tasks.table, journal, options
        self._pace = RateLimiter(options.rate, self.stop)
        self._sender = Sender(client, journal, self._pace)
        self._failed: set[Unit] = set()

    def go(self, *, shown: bool) -> None:
        """Do all steps, until the run ends."""
        total = sum(1 for step in self._table.steps for unit in self._units(step) for _ in unit)
        with Progress(total, shown=shown) as self._progress:
            for step in self._table.steps:
                self._progress.say(step.replace("_", " "))
                work = self._send_payer if step == "payer" else self._send_accounts
                self._each(work, self._units(step))
                self._settle(step)

    def _each(self, work: Callable[[Unit], None], units: Iterable[Unit]) -> None:
        each(work, units, workers=self._options.workers, stop=self.stop, beat=self._progress.beat)

    def _units(self, step: Step) -> Iterator[Unit]:
        """Yield what is sent by one thread, one after the other: a payer, or all accounts of one, as rows."""
        table = self._table
        if step == "payer":
            wanted = table.has(step) & ~table.blocked
            yield from ((row,) for row in table.order[wanted[table.order]].tolist() if table.payer_row(row) == row)
            return
        wanted = table.has(step) & ~table.blocked
        for rows in table.groups():
            unit = tuple(rows[wanted[rows]].tolist())
            if unit:
                yield unit

    def _tasks(self, step: Step, unit: Unit) -> list[Task]:
        """Return the tasks of a unit; rows that ask for the same are one task."""
        tasks = (self._by_row.task(step, row) for row in unit)
        return list({task.key: task for task in tasks}.values())

    def _send_payer(self, unit: Unit) -> None:
        for task in self._unsent("payer", unit):
            self._progress.count(self._sender.send(task))

    def _send_accounts(self, unit: Unit) -> None:
        """Send the accounts of a payer who is on board, or whom the table does not tell about."""
        payer = self._table.payer_row(unit[0])
        if "payer" in self._table.steps and payer >= 0 and not self._is_done(payer):
            for _ in unit:
                self._progress.count("not_sent")
            return
        tasks = self._unsent("bank_details", unit)
        try:
            if tasks:
                self._sender.know_accounts(tasks[0])
        except PayerkitError as error:
            for task in tasks:
                self._journal.put_off(task.key, f"It is not known which accounts there are: {error.message}")
            return
        for task in tasks:
            self._progress.count(self._sender.send(task))

    def _is_done(self, payer: int) -> bool:
        if self._table.blocked[payer]:
            return False
        entry = self._journal.entry(self._by_row.key("payer", payer))
        return entry is not None and entry.state == "done"

    def _unsent(self, step: Step, unit: Unit) -> list[Task]:
        """Return the tasks that were never sent, or provably never arrived; count the others as what they are."""
        unsent = []
        for task in self._tasks(step, unit):
            entry = None if self._journal.is_new else self._journal.entry(task.key)
            if entry is None or (entry.state == "not_sent" and not entry.final):
                unsent.append(task)
            else:
                self._progress.count(entry.state)
        return unsent

    def _settle(self, step: Step) -> None:
        """Look into what is not known, each when it is due, until it is known or a person's."""
        if not self._journal.has_lost():
            return
        lost = [unit for unit in self._units(step) if self._lost(step, unit)]
        if self.stop or (lost and step == "bank_details" and not self._list_tells()):
            return  # they stay unknown in this run
        while lost and not self.stop:
            self._progress.say(f"looking into {len(lost)} unknown")
            delay = max(self._options.settle, 2 * self._pace.longest)
            due = [unit for unit in lost if any(is_due(entry, delay) for entry in self._lost(step, unit))]
            self._each(partial(self._look, step, delay), due)
            lost = [unit for unit in lost if self._lost(step, unit) and unit not in self._failed]
            if lost and not due:
                self._nap()

    def _list_tells(self) -> bool:
        """Tell whether a list shows an account that is surely there, of the last ones; else it proves nothing."""
        for unit in reversed(list(self._units("bank_details"))):
            for task in self._tasks("bank_details", unit):
                entry = self._journal.entry(task.key)
                if entry is not None and entry.state == "done" and entry.facts.get("id"):
                    return self._sender.shows(task.client_user_id, entry.facts["id"])
        return True

    def _nap(self) -> None:
        try:
            self.stop.wait(0.1)
        except KeyboardInterrupt:
            self.stop.because(INTERRUPTED)
        self._progress.beat()

    def _lost(self, step: Step, unit: Unit) -> list[Entry]:
        entries = (self._journal.entry(task.key) for task in self._tasks(step, unit))
        return [entry for entry in entries if entry is not None and is_lost(entry)]

    def _look(self, step: Step, delay: float, unit: Unit) -> None:
        tasks = self._tasks(step, unit)
        try:
            if step == "payer":
                self._sender.repeat(tasks[0], delay)
            else:
                self._sender.look_for(tasks, delay)
        except PayerkitError:
            self._failed.add(unit)  # it stays unknown in this run; the next one looks again
