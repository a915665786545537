"""The file of a journal: what it keeps, who may open it, and what it notices."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cases import said, table
from clocks import HandClock
from payerkit import InvalidInput
from payerkit.onboarding.journal import Entry, Journal, JournalLost, digest
from payerkit.onboarding.sending import REFUSED
from payerkit.reasons import Outcome

OWN, OTHER, THIRD = b"own secret", b"other secret", b"third secret"
PAYER, ACCOUNT, SECOND = b"p" * 16, b"a" * 16, b"b" * 16
CONTENT, CHANGED = b"c" * 16, b"d" * 16
POSIX = pytest.mark.skipif(os.name == "nt", reason="an open file can be neither deleted nor moved there")


@pytest.fixture
def clock() -> HandClock:
    """Return a clock that is turned by hand."""
    return HandClock()


@pytest.fixture
def journal(path: Path, clock: HandClock) -> Iterator[Journal]:
    """Open a new journal."""
    with Journal(path, OWN, clock=clock.now) as opened:
        yield opened


def send(journal: Journal, key: bytes = ACCOUNT, content: bytes = CONTENT, **options: Any) -> None:
    """Record that a task of the payer is being sent."""
    journal.sent(key, payer=PAYER, content=content, **options)


def found(journal: Journal, key: bytes = ACCOUNT) -> Entry:
    """Return the record of a task, which is there."""
    entry = journal.entry(key)
    assert entry is not None
    return entry


# What it keeps


def test_an_entry_has_what_was_recorded(journal: Journal, clock: HandClock) -> None:
    """Reason and facts are returned as recorded, but for facts that are missing."""
    clock.time = 7.0
    send(journal)
    journal.record(ACCOUNT, "done", facts={"id": "pd-1", "status": None, "other_ids": ["pd-2"]}, reason=said("Found."))

    facts = {"id": "pd-1", "other_ids": ["pd-2"]}
    assert Entry(PAYER, CONTENT, "done", 1, 0, 7.0, True, facts, said("Found."), 0, False) == found(journal)
    assert journal.entry(b"another") is None


def test_the_file_has_codes_and_no_sentences(path: Path) -> None:
    """What a reason says is made of its code when it is read."""
    reason = Outcome("payer_lags", {"cause": Outcome("listed_failed", {"status": "rejected"})})
    with Journal(path, OWN) as journal:
        send(journal)
        journal.record(ACCOUNT, "not_sent", reason=reason)
        assert reason == found(journal).reason

    with closing(sqlite3.connect(path)) as database:
        ((kept,),) = database.execute("SELECT reason FROM task")
    assert '["payer_lags",{"cause":["listed_failed",{"status":"rejected"}]}]' == kept


def test_the_accounts_of_a_payer_are_found_together(journal: Journal) -> None:
    """Not the payer's own task, and no account of another payer."""
    send(journal, PAYER)
    send(journal, ACCOUNT)
    journal.defer(SECOND, "waiting", said("Waits."), payer=PAYER, content=CONTENT)
    journal.sent(b"e" * 16, payer=b"q" * 16, content=CONTENT)

    assert {ACCOUNT: found(journal, ACCOUNT), SECOND: found(journal, SECOND)} == journal.entries_of(PAYER)
    assert {} == journal.entries_of(b"nobody")


Step = Callable[[Journal], None]
STEPS: dict[str, Step] = {
    "sent": send,
    "sent again": lambda journal: send(journal, content=CHANGED, needs_look=True),
    "unknown": lambda journal: journal.mark_unknown(ACCOUNT, said("No response.")),
    "lookup": lambda journal: journal.count_lookup(ACCOUNT),
    "done": lambda journal: journal.record(ACCOUNT, "done"),
    "looked": lambda journal: journal.record(ACCOUNT, "done", needs_look=False),
    "left": lambda journal: journal.record(ACCOUNT, "unknown", reason=said("Compare.")),
    "refused": lambda journal: journal.record(ACCOUNT, "refused", reason=said("No.")),
    "not sent": lambda journal: journal.record(ACCOUNT, "not_sent", reason=said("Later."), final=False),
    "reset": lambda journal: journal.reset(ACCOUNT, CHANGED),
    "deferred": lambda journal: journal.defer(ACCOUNT, "waiting", said("Waits."), payer=PAYER, content=CHANGED),
    "begin": lambda journal: journal.begin_run(),
}


@table("journal_steps")
def test_each_step_changes_what_it_proves(journal: Journal, steps: list[str], expected: list[Any]) -> None:
    """Attempts and sends with unknown outcome are only counted up."""
    for step in steps:
        STEPS[step](journal)
    entry = found(journal)
    counts = (entry.attempts, entry.lookups, entry.unknown_sends)

    assert expected == [entry.state, entry.final, *counts, entry.needs_look, entry.content == CHANGED]


@pytest.mark.parametrize(
    ("steps", "unresolved", "looks"),
    [
        ("", 0, False),
        ("sent, done", 0, False),
        ("sent, unknown", 1, False),
        ("sent, unknown, left", 0, False),  # it is a person's
        ("sent, unknown, sent again, done", 0, True),
        ("sent, unknown, sent again, unknown", 1, True),
        ("sent, unknown, sent again, looked", 0, False),
    ],
)
def test_what_is_left_to_do_is_known(journal: Journal, steps: str, unresolved: int, looks: bool) -> None:
    """Of any table: tasks to be reconciled, and last looks."""
    for step in filter(None, steps.split(", ")):
        STEPS[step](journal)

    assert (unresolved, looks) == (len(journal.unresolved()), bool(journal.looks()))


def test_a_task_that_is_sent_anew_forgets_an_old_refusal(journal: Journal) -> None:
    """It would be told as refused for a reason of long ago; its id stays."""
    send(journal)
    journal.record(ACCOUNT, "unknown", facts={REFUSED: "No.", "id": "pd-1"})
    journal.reset(ACCOUNT, CHANGED)

    assert {"id": "pd-1"} == found(journal).facts


def test_a_baseline_only_grows(path: Path) -> None:
    """What was listed first stays, and accounts that others sent are added to it, each once."""
    with Journal(path, OWN) as journal:
        before = journal.baseline(PAYER)
        journal.add_to_baseline(PAYER, ["pd-1"])
        journal.add_to_baseline(PAYER, [])
        journal.add_to_baseline(PAYER, ["pd-3", "pd-1"])
        journal.add_to_baseline(SECOND, [])
    with Journal(path, OWN) as journal:
        assert (None, ["pd-1", "pd-3"], []) == (before, journal.baseline(PAYER), journal.baseline(SECOND))


# Its clock


@pytest.mark.parametrize("now", [0.0, 500.0, 1e9])
def test_what_an_earlier_run_left_waits_from_now_on(path: Path, now: float) -> None:
    """Whatever its clock showed, as after a restart of the machine: one whole wait, neither less nor more."""
    with Journal(path, OWN, clock=lambda: 500.0) as journal:
        send(journal, ACCOUNT)
        send(journal, SECOND, needs_look=True)
        journal.record(SECOND, "done")
    with Journal(path, OWN, clock=lambda: now) as journal:
        journal.begin_run()
        assert [now, now] == [found(journal, key).since for key in (ACCOUNT, SECOND)]


# Who may open it


@pytest.mark.parametrize("content", [b"client_user_id,email\n" * 100, b"SQLite format 3\0" + b"\1" * 5000])
def test_other_files_are_not_changed(path: Path, content: bytes) -> None:
    """A file that is not a journal is refused and keeps its content."""
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"run\.journal is not a journal of payerkit"):
        Journal(path, OWN)

    assert content == path.read_bytes()


def test_other_databases_are_not_changed(path: Path) -> None:
    """A database of another application is refused, and gets no tables."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE payers (id INTEGER)")
    content = path.read_bytes()
    with pytest.raises(InvalidInput, match=r"run\.journal is not a journal of payerkit"):
        Journal(path, OWN)

    assert content == path.read_bytes()


@pytest.mark.parametrize("version", ["4", "6"])
def test_a_journal_of_another_version_is_refused(path: Path, version: str) -> None:
    """The meaning of its states may differ."""
    Journal(path, OWN).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE run SET value = ? WHERE name = 'version'", [version])
    with pytest.raises(InvalidInput, match="another version of payerkit"):
        Journal(path, OWN)


def test_a_previous_key_opens_its_journals(path: Path) -> None:
    """Their keys of ids stay: nothing is sent again."""
    with Journal(path, OWN) as journal:
        send(journal)
        secret = journal.secret
    with Journal(path, OTHER, previous_secret=OWN) as journal:
        assert (secret, "sent") == (journal.secret, found(journal).state)
    with pytest.raises(InvalidInput, match="PAYERKIT_PREVIOUS_API_KEY"):
        Journal(path, OTHER)


@pytest.mark.parametrize("previous", [None, THIRD])
def test_another_key_is_refused(path: Path, previous: bytes | None) -> None:
    """It may be of another platform, with other payers; so may a previous key that never opened it."""
    Journal(path, OWN).close()
    with pytest.raises(InvalidInput, match="belongs to another service or API key"):
        Journal(path, OTHER, previous_secret=previous)


def test_a_previous_key_does_not_matter_otherwise(path: Path) -> None:
    """The variable may stay set: new journals and those of today's key are this key's."""
    Journal(path, OWN, previous_secret=OTHER).close()
    Journal(path, OWN, previous_secret=THIRD).close()
    Journal(path, OWN).close()


def test_the_file_alone_tells_nothing_of_an_id(path: Path) -> None:
    """Its secret is made of the API key: who has the file, but no key, cannot even test a guess."""
    with Journal(path, OWN) as journal:
        key = digest(journal.secret, "payer", "user-1")
        journal.sent(key, payer=key, content=CONTENT)
        secret = journal.secret
    content = path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        known = dict(database.execute("SELECT name, value FROM run"))

    assert key in content
    assert secret not in content
    assert all(digest(given, "payer", "user-1") not in content for given in (known["salt"].encode(), known["key"]))


# What it notices


def delete(path: Path) -> None:
    """Delete a journal alone."""
    path.unlink()


def replace(path: Path) -> None:
    """Put a copy in the place of a journal."""
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


@POSIX
@pytest.mark.parametrize("lose", [delete, replace])
def test_a_lost_journal_is_noticed_before_the_next_task_is_sent(path: Path, lose: Callable[[Path], None]) -> None:
    """What it records then would be lost; the outcome of tasks under way is dropped without an error."""
    with Journal(path, OWN) as journal:
        send(journal)
        lose(path)
        with pytest.raises(JournalLost, match=path.name):
            send(journal, SECOND)
        journal.record(ACCOUNT, "done")


def test_a_journal_is_not_lost_when_the_process_changes_its_folder(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A relative path stays the file that it was at first; so does a link."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(path.parent)
    (tmp_path / "link").symlink_to(path)
    for name in (path.name, "link"):
        with Journal(Path(name), OWN) as journal:
            monkeypatch.chdir(tmp_path / "elsewhere")
            send(journal)
            monkeypatch.chdir(path.parent)


@POSIX
def test_a_journal_is_on_the_disk_before_a_task_is_sent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name, which is lost in a power cut if no folder has it, and its log; outcomes may wait for the next task."""
    synchronized: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda opened: synchronized.append(os.fstat(opened).st_ino))
    with Journal(path, OWN) as journal:
        send(journal)
        journal.record(ACCOUNT, "done")
        send(journal, SECOND)
        log = path.with_name(f"{path.name}-wal").stat().st_ino

    assert [path.parent.stat().st_ino, log, log] == synchronized


def test_tasks_that_are_sent_at_once_wait_for_the_disk_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one waits, the others gather; all of them are on the disk after the next wait."""
    waits, is_waiting, goes_on = itertools.count(1), threading.Event(), threading.Event()

    def wait(_: int) -> None:
        next(waits)
        is_waiting.set()
        goes_on.wait(10)

    with Journal(path, OWN) as journal, ThreadPoolExecutor(9) as threads:
        monkeypatch.setattr("payerkit.onboarding.journal.sync_file", wait)
        first = threads.submit(send, journal)
        is_waiting.wait(10)
        others = [threads.submit(send, journal, bytes([place]) * 16) for place in range(8)]
        while journal._written < 1 + len(others):
            time.sleep(0.001)
        goes_on.set()
        for each in (first, *others):
            each.result()

    assert next(waits) <= 1 + 2
