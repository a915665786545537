"""The file of a journal: what it keeps, who may open it, and what it notices."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from payerkit import InvalidInput
from payerkit.reasons import Outcome
from payerkit.runs.journal import Entry, Journal, JournalLost, Subject, digest

ACCOUNT = b"a" * 16
SECOND = b"b" * 16
OWN = Subject(b"p" * 16, b"f" * 16, b"c" * 16, b"n" * 16)
POSIX = pytest.mark.skipif(
    os.name == "nt", reason="an open file can be neither deleted nor moved there"
)


def send(journal: Journal, key: bytes = ACCOUNT) -> None:
    """Record that an account is being sent."""
    journal.sent(key, OWN)


def found(journal: Journal, key: bytes = ACCOUNT) -> Entry:
    """Return the record of a task, which is there."""
    entry = journal.entry(key)
    assert entry is not None
    return entry


# What it keeps


def test_the_file_has_codes_and_no_sentences(path: Path) -> None:
    """What a reason says is made of its code when it is read."""
    reason = Outcome(
        "payer_lags", {"cause": Outcome("listed_failed", {"status": "rejected"})}
    )
    with Journal(path) as journal:
        send(journal)
        journal.record(ACCOUNT, "not_sent", reason=reason)
        assert reason == found(journal).reason

    with closing(sqlite3.connect(path)) as database:
        ((kept,),) = database.execute("SELECT reason FROM task")
    assert '["payer_lags",{"cause":["listed_failed",{"status":"rejected"}]}]' == kept


# Who may open it


@pytest.mark.parametrize(
    "content", [b"client_user_id,email\n" * 100, b"SQLite format 3\0" + b"\1" * 5000]
)
def test_other_files_are_not_changed(path: Path, content: bytes) -> None:
    """A file that is not a journal is refused and keeps its content."""
    path.write_bytes(content)
    with pytest.raises(
        InvalidInput, match=r"run\.journal is not a journal of payerkit"
    ):
        Journal(path)

    assert content == path.read_bytes()


def test_other_databases_are_not_changed(path: Path) -> None:
    """A database of another application is refused, and gets no tables."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE payers (id INTEGER)")
    content = path.read_bytes()
    with pytest.raises(
        InvalidInput, match=r"run\.journal is not a journal of payerkit"
    ):
        Journal(path)

    assert content == path.read_bytes()


@pytest.mark.parametrize("version", ["6", "8"])
def test_a_journal_of_another_version_is_refused(path: Path, version: str) -> None:
    """The meaning of its states may differ."""
    Journal(path).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE run SET value = ? WHERE name = 'version'", [version])
    with pytest.raises(InvalidInput, match="another version of payerkit"):
        Journal(path)


def test_the_secret_is_random_and_its_owners_alone(path: Path, tmp_path: Path) -> None:
    """It is in a file beside the journal, and opens that journal again."""
    with Journal(path) as journal:
        send(journal)
        secret = journal.secret
    with Journal(tmp_path / "other.journal") as other:
        assert secret != other.secret
    file = path.with_name("run.journal.secret")

    assert secret == file.read_bytes()
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    assert not list(tmp_path.glob("*.secret.*"))
    with Journal(path) as journal:
        assert (secret, "sent") == (journal.secret, found(journal).state)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, r"cannot be read from run\.journal\.secret"),
        (b"", r"run\.journal\.secret has the secret of another journal"),
        (b"x" * 32, r"run\.journal\.secret has the secret of another journal"),
    ],
    ids=["absent", "empty", "of another journal"],
)
def test_without_its_secret_a_journal_is_refused(
    path: Path, content: bytes | None, words: str
) -> None:
    """The error names the file, and neither file is changed."""
    Journal(path).close()
    file = path.with_name("run.journal.secret")
    secret = file.read_bytes()
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        Journal(path)
    file.write_bytes(secret)

    Journal(path).close()


def test_a_deleted_journal_begins_again(path: Path) -> None:
    """With a secret of its own: the one that was left behind opens no other."""
    Journal(path).close()
    file = path.with_name("run.journal.secret")
    before = file.read_bytes()
    path.unlink()
    Journal(path).close()

    assert before != file.read_bytes()


@pytest.mark.parametrize("other", [{"service": "b"}, {"environment": "live"}])
def test_another_service_or_environment_is_refused(
    path: Path, other: dict[str, str]
) -> None:
    """It has other payers."""
    own: dict[str, Any] = {"service": "a", "environment": "sandbox"}
    Journal(path, **own).close()
    with pytest.raises(InvalidInput, match="belongs to another service or environment"):
        Journal(path, **(own | other))


def test_the_file_alone_tells_nothing_of_an_id(path: Path) -> None:
    """Who has the journal, but not the file of its secret, cannot even test a guess."""
    with Journal(path) as journal:
        key = digest(journal.secret, "payer", "user-1")
        journal.sent(key, Subject(key))
        secret = journal.secret
    content = path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT value FROM run").fetchall()
    recorded = [value for (value,) in rows if isinstance(value, bytes)]

    assert key in content
    assert secret not in content
    assert 2 == len(recorded)
    for value in recorded:
        assert digest(value, "payer", "user-1") not in content


# What it notices


def delete(path: Path) -> None:
    """Delete a journal alone."""
    path.unlink()


def put_copy(path: Path) -> None:
    """Put a copy in the place of a journal."""
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


@POSIX
@pytest.mark.parametrize("lose", [delete, put_copy])
def test_a_lost_journal_is_noticed_before_the_next_task_is_sent(
    path: Path, lose: Callable[[Path], None]
) -> None:
    """What it records then would be lost; the outcome of tasks under way is dropped
    without an error.
    """
    with Journal(path) as journal:
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
        with Journal(Path(name)) as journal:
            monkeypatch.chdir(tmp_path / "elsewhere")
            send(journal)
            monkeypatch.chdir(path.parent)


@POSIX
def test_a_journal_is_on_the_disk_before_a_task_is_sent(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name, which is lost in a power cut if no folder has it, its secret, and its
    log; outcomes may wait for the next task.
    """
    synchronized: list[int] = []
    monkeypatch.setattr(
        os, "fsync", lambda opened: synchronized.append(os.fstat(opened).st_ino)
    )
    with Journal(path) as journal:
        send(journal)
        journal.record(ACCOUNT, "done")
        send(journal, SECOND)
        log = path.with_name(f"{path.name}-wal").stat().st_ino
    folder = path.parent.stat().st_ino
    secret = path.with_name(f"{path.name}.secret").stat().st_ino

    assert [folder, secret, folder, log, log] == synchronized


def test_tasks_that_are_sent_at_once_wait_for_the_disk_together(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one waits, the others gather; all of them are on the disk after the next
    wait.
    """
    waits, is_waiting, goes_on = (
        itertools.count(1),
        threading.Event(),
        threading.Event(),
    )

    def wait(_: int) -> None:
        next(waits)
        is_waiting.set()
        goes_on.wait(10)

    with Journal(path) as journal, ThreadPoolExecutor(9) as threads:
        monkeypatch.setattr("payerkit.runs.journal.sync_file", wait)
        first = threads.submit(send, journal)
        is_waiting.wait(10)
        others = [
            threads.submit(send, journal, bytes([place]) * 16) for place in range(8)
        ]
        end = time.monotonic() + 10
        while journal._written < 1 + len(others) and time.monotonic() < end:
            time.sleep(0.001)
        goes_on.set()
        for each in (first, *others):
            each.result(timeout=20)

    assert next(waits) <= 1 + 2
