"""Send a table: step by step in worker threads, each task in the journal, and unknown outcomes reconciled."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from payerkit.bulk.journal import Journal, digest
from payerkit.bulk.options import DEFAULTS, Accounts, Existing, Options, RunOptions
from payerkit.bulk.progress import Progress
from payerkit.bulk.rate_limit import INTERRUPTED, RateLimiter, StopSignal
from payerkit.bulk.report import Report, make_report
from payerkit.bulk.rows import Placeholders
from payerkit.bulk.table import Table
from payerkit.bulk.table_run import TableRun
from payerkit.bulk.tasks import Tasks, knows_payer
from payerkit.client.client import Client, check_client
from payerkit.errors import InterruptedRun, InvalidInput, PayerkitError, without_internal_frames
from payerkit.tables.source_table import origin_of


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
    looked for once more, a whole `reconcile_after` after they were sent last; the progress bar says how many they are,
    and how many seconds that takes. An account that is stored twice is a `duplicate`. What is still unknown then is
    left to the next run, or to you, with the reason in the report.

    An account that the service does not take yet, since its payer is not compliant, is *waiting*: the same call on
    another day sends it.

    Rows with errors are not sent; rows with warnings are. The example rows of a template are errors, but for a sandbox.
    Agreements and payments are never sent.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: From `read_payers`, or any DataFrame with columns by field name or wire name. Rows that differ only in
            blanks, case or Unicode form are sent as one.
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
        rows: From `read_bank_details`, or any DataFrame, one account per row; `client_user_id` names its payer.
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
    return run_table(client, table, _journal_of(rows) if journal is None else journal, options)


def _journal_of(rows: Any) -> Path:
    """Return the journal beside the file of a table. Raises InvalidInput for rows that are from no file."""
    if (file := origin_of(rows).path) is None:
        raise InvalidInput('journal: give a file, such as journal="run.journal", since these rows are from none.')
    return file.with_name(f"{file.name}.journal")


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
    check_client(client)
    limiter = limiter or RateLimiter(client.pace, StopSignal(), rate=options.rate)
    file, stop = Path(path), limiter.stop
    with (
        _explain_journal_errors(file),
        Journal(
            file,
            client.account_secret,
            previous_secret=client.previous_account_secret,
            clock=clock or limiter.clock,
        ) as journal,
        client.without_retries(pool_size=options.workers) as own,
    ):
        journal.require_same("service", digest(journal.salt, client.service_name()), "service")
        table.prefer_ids(lambda client_user_id: knows_payer(journal, client_user_id))
        tasks = Tasks(table, journal.secret)
        journal.begin_run()
        with Progress(shown=options.progress, where=client.environment) as progress:
            table_run = TableRun(own, tasks, journal, options, limiter, progress)
            try:
                table_run.go()
                report = make_report(tasks, journal, stop.outcome, table_run.limit)
            except KeyboardInterrupt:  # between two steps, or while the report was made
                stop.set(INTERRUPTED)
                report = make_report(tasks, journal, stop.outcome, table_run.limit)
    if stop.is_interrupted:
        raise InterruptedRun(str(report), report=report)
    return report


@contextmanager
def _explain_journal_errors(file: Path) -> Iterator[None]:
    """Raise a PayerkitError with advice if the journal cannot be written: the disk may be full."""
    try:
        yield
    except sqlite3.Error as error:
        raise PayerkitError(
            f"journal: {file.name} cannot be written ({error}), so the run stopped.",
            advice="Nothing is lost. Make room on the disk, then call again with the same journal.",
        ) from None
