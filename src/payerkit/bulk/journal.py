"""The journal of a run: an SQLite file that records the state of each task, without personal data."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from pydantic_core import from_json, to_json

from payerkit.errors import InvalidInput

State = Literal["sent", "done", "refused", "unknown", "not_sent", "waiting"]
Deferred = Literal["not_sent", "waiting"]
"""States of a task that the next run sends."""

KEY_SIZE = 16
"""Bytes of a digest."""

_VERSION = "1"
_APPLICATION_ID = 0x7061796B
"""Marks an SQLite file as a journal, in its header: `PRAGMA application_id`."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS run (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS task (
    key BLOB PRIMARY KEY, state TEXT NOT NULL, attempts INTEGER NOT NULL, looks INTEGER NOT NULL, since REAL NOT NULL,
    final INTEGER NOT NULL, facts TEXT NOT NULL, reason TEXT NOT NULL, doubts INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS payer (key BLOB PRIMARY KEY, known TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """The journal's record of a task.

    attempts: times that it was sent. lookups: times that it was searched for, and not found, since it was last sent.
    since: Unix time when it was sent, its outcome became unknown, or it was searched for; the latest of these. final:
    payerkit does nothing more about it. facts: ids, statuses and links from the response. unknown_sends: times that it
    was sent with unknown outcome.
    """

    state: State
    attempts: int = 0
    lookups: int = 0
    since: float = 0.0
    final: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    unknown_sends: int = 0

    @property
    def is_unresolved(self) -> bool:
        """True if the outcome is unknown and still to be reconciled."""
        return self.state == "unknown" and not self.final


def digest(secret: bytes, *parts: str | bytes) -> bytes:
    """Return a keyed digest of some values; the secret has at most 64 bytes."""
    return hashlib.blake2b(to_json(parts), key=secret, digest_size=KEY_SIZE).digest()


class Journal:
    """An open journal, locked for this process. Every write is on file before the method returns.

    It survives the end of the process, however it ends; with durable=True, a power cut or a crash of the operating
    system, too. `secret` keys the digests of ids and bodies: made from a salt in the file and the caller's secret, so
    that the file alone reveals nothing. `is_new`: no task was recorded before. Raises InvalidInput for a file that is
    not a journal, or is in use.
    """

    def __init__(self, path: Path, own_secret: bytes, *, durable: bool = False) -> None:
        # All threads of a run share one connection, and this lock guards it: a process has one writer anyway, and
        # SQLite's own locking between connections would cost more than the writes.
        self._lock = threading.Lock()
        self._is_open = True
        self._file = _open(path, durable=durable)
        self.salt = self._get_meta("salt") or self._set_meta("salt", secrets.token_bytes(16))
        self.secret = self.salt + own_secret
        self.is_new = self._file.execute("SELECT 1 FROM task LIMIT 1").fetchone() is None

    def require_same(self, name: str, value: bytes, what: str, advice: str = "Use another journal file.") -> None:
        """Record a property of the run, or compare it. Raises InvalidInput if the journal has another value."""
        recorded = self._get_meta(name)
        if recorded is None:
            self._set_meta(name, value)
        elif recorded != value:
            raise InvalidInput(f"journal: it belongs to another {what}. {advice}")

    def _get_meta(self, name: str) -> bytes | None:
        row = self._file.execute("SELECT value FROM run WHERE name = ?", [name]).fetchone()
        return None if row is None else row[0]

    def _set_meta(self, name: str, value: bytes) -> bytes:
        self._file.execute("INSERT INTO run VALUES (?, ?)", [name, value])
        return value

    def entry(self, key: bytes) -> Entry | None:
        """Return the record of a task; None if it was never sent."""
        with self._lock:
            row = self._file.execute(
                "SELECT state, attempts, looks, since, final, facts, reason, doubts FROM task WHERE key = ?", [key]
            ).fetchone()
        if row is None:
            return None
        state, attempts, lookups, since, final, facts, reason, unknown_sends = row
        return Entry(state, attempts, lookups, since, bool(final), from_json(facts), reason, unknown_sends)

    def sent(self, key: bytes) -> None:
        """Record that a task is being sent, before its first byte leaves. Raises sqlite3.Error if that fails."""
        self._write(
            "INSERT INTO task VALUES (?, 'sent', 1, 0, ?, 0, '{}', '', 0) ON CONFLICT (key) DO UPDATE "
            "SET state = 'sent', attempts = attempts + 1, looks = 0, since = excluded.since, reason = ''",
            [key, time.time()],
            is_vital=True,
        )

    def record(
        self, key: bytes, state: State, *, reason: str = "", final: bool = True, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Record the outcome of a task."""
        known = to_json({name: value for name, value in (facts or {}).items() if value is not None}).decode()
        self._write(
            "UPDATE task SET state = ?, final = ?, facts = ?, reason = ? WHERE key = ?",
            [state, final, known, reason, key],
        )

    def add_facts(self, key: bytes, facts: Mapping[str, str]) -> None:
        """Add facts to the record of a task that is done, or replace older ones."""
        if facts and (entry := self.entry(key)) is not None and entry.state == "done":
            self.record(key, "done", reason=entry.reason, final=entry.final, facts=entry.facts | dict(facts))

    def defer(self, key: bytes, state: Deferred, reason: str) -> None:
        """Record why a task is not sent in this run; it never was, or had no effect."""
        self._write(
            "INSERT INTO task VALUES (?, ?, 0, 0, 0, 0, '{}', ?, 0) ON CONFLICT (key) DO UPDATE "
            "SET state = excluded.state, reason = excluded.reason WHERE state IN ('not_sent', 'waiting') AND NOT final",
            [key, state, reason],
        )

    def mark_unknown(self, key: bytes, reason: str) -> None:
        """Record that the outcome of a task is unknown, from now on: the wait until it is reconciled begins."""
        self._write(
            "UPDATE task SET state = 'unknown', doubts = doubts + 1, since = ?, reason = ? WHERE key = ?",
            [time.time(), reason, key],
        )

    def count_lookup(self, key: bytes) -> None:
        """Record that a task was searched for and not found."""
        self._write("UPDATE task SET looks = looks + 1, since = ? WHERE key = ?", [time.time(), key])

    def mark_interrupted(self) -> None:
        """Mark every task that was being sent when the last run ended as unknown.

        The wait begins now, not when the task was sent: the call may have gone on until the run ended. A time in the
        future is set to now, too: the clock was ahead then.
        """
        now, reason = time.time(), "The run ended before the response arrived."
        self._write(
            "UPDATE task SET state = 'unknown', doubts = doubts + 1, since = ?, reason = ? WHERE state = 'sent'",
            [now, reason],
        )
        self._write("UPDATE task SET since = ? WHERE since > ?", [now, now])

    def has_unresolved(self) -> bool:
        """Return True if a task's outcome is unknown and still to be reconciled."""
        with self._lock:
            found = self._file.execute("SELECT 1 FROM task WHERE state = 'unknown' AND NOT final LIMIT 1").fetchone()
        return found is not None

    def baseline(self, client_user_id: str) -> list[str] | None:
        """Return the ids of the accounts that a payer had before any was sent; None if they were never listed."""
        key = digest(self.secret, client_user_id)
        with self._lock:
            row = self._file.execute("SELECT known FROM payer WHERE key = ?", [key]).fetchone()
        return None if row is None else from_json(row[0])

    def set_baseline(self, client_user_id: str, ids: list[str]) -> None:
        """Record the ids of the accounts that a payer has before any is sent; the first record stays."""
        key = digest(self.secret, client_user_id)
        self._write("INSERT OR IGNORE INTO payer VALUES (?, ?)", [key, to_json(ids).decode()])

    def _write(self, statement: str, values: list[Any], *, is_vital: bool = False) -> None:
        with self._lock:
            # A call may outlive a run that was interrupted twice. Its outcome is dropped, and the next run reconciles
            # it; but a vital write on the closed file raises, so that nothing is sent without a record.
            if self._is_open or is_vital:
                self._file.execute(statement, values)  # autocommit: on file when this returns

    def close(self) -> None:
        """Close the file and give up its lock."""
        with self._lock:
            self._is_open = False
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path, *, durable: bool) -> sqlite3.Connection:
    """Return the file, locked for this process and readable by its owner alone. Raises InvalidInput."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        file = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
    except OSError as error:
        raise InvalidInput(f"journal: {path.name} cannot be opened ({error.strerror}).") from None
    try:
        # The operating system holds this lock until the file is closed or the process ends, however it ends.
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute("BEGIN EXCLUSIVE")  # now: with the first write, two processes that start at once both fail
        file.execute("COMMIT")
        _check_application(file)
        file.execute("PRAGMA journal_mode = WAL")
        # NORMAL does not wait for the disk at a commit: the data survives this process, since the system has it. FULL
        # waits, so that the data survives the system, too; on macOS that takes fullfsync as well.
        # https://www.sqlite.org/pragma.html#pragma_synchronous
        file.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        file.execute(f"PRAGMA fullfsync = {'ON' if durable else 'OFF'}")
        file.executescript(_SCHEMA)
        file.execute("INSERT OR IGNORE INTO run VALUES ('version', ?)", [_VERSION])
        (version,) = file.execute("SELECT value FROM run WHERE name = 'version'").fetchone()
    except sqlite3.Error as error:
        problem = InvalidInput(f"journal: {path.name} {_explain(error)}")
    else:
        if version == _VERSION:
            return file
        problem = InvalidInput(f"journal: {path.name} was made by another version of payerkit.")
    file.close()
    raise problem


def _check_application(file: sqlite3.Connection) -> None:
    """Mark an empty file as a journal. Raises sqlite3.Error for another application's database, and leaves it alone."""
    (application,) = file.execute("PRAGMA application_id").fetchone()
    (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        file.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    elif application != _APPLICATION_ID:
        raise sqlite3.DatabaseError


def _explain(error: sqlite3.Error) -> str:
    """Return why a file cannot be opened, and what to do."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
    if code == sqlite3.SQLITE_BUSY:
        return "is in use by another run. Wait until it ends, or use another file."
    if code == sqlite3.SQLITE_NOTADB:
        return "is not a journal of payerkit. Use another file."
    return f"cannot be used ({error}). Check that the disk has room and that you may write there."
