"""The journal of a run: one SQLite file that says of each task what is known of it, and nothing of what it holds."""

from __future__ import annotations

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

State = Literal["sent", "done", "refused", "unknown", "not_sent"]
_VERSION = "1"
_KIND = 0x7061796B
"""What says in the head of an SQLite file that it is a journal, and not a database of something else."""

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
    """What is known of a task.

    attempts: how often it was sent. doubts: how often nobody knew what became of that. looks: how often somebody looked
    for it since then. since: when that was, or the look. final: nothing more is done by itself. facts: what the service
    answered. reason: why it is so.
    """

    state: State
    attempts: int = 0
    looks: int = 0
    since: float = 0.0
    final: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    doubts: int = 0


class Journal:
    """An open journal, which nobody else can open. What is written is there after a crash of the process.

    secret: turns ids and bodies into keys; made from the salt in the file and the caller's own secret, so that the file
    alone tells nothing. is_new: whether it had nothing about any task when it was opened. Raises InvalidInput for a
    file that is no journal or is in use.
    """

    def __init__(self, path: Path, own_secret: bytes) -> None:
        self._lock = threading.Lock()
        self._is_open = True
        self._file = _open(path)
        self.salt = self._told("salt") or self._tell("salt", secrets.token_bytes(16))
        self.secret = self.salt + own_secret
        self.is_new = self._file.execute("SELECT 1 FROM task LIMIT 1").fetchone() is None

    def belongs_to(self, name: str, value: bytes, what: str, advice: str = "Take another file, or that one.") -> None:
        """Note what the run is about, or compare it. Raises InvalidInput if it is about something else."""
        told = self._told(name)
        if told is None:
            self._tell(name, value)
        elif told != value:
            raise InvalidInput(f"journal: it belongs to another {what}. {advice}")

    def _told(self, name: str) -> bytes | None:
        row = self._file.execute("SELECT value FROM run WHERE name = ?", [name]).fetchone()
        return None if row is None else row[0]

    def _tell(self, name: str, value: bytes) -> bytes:
        self._file.execute("INSERT INTO run VALUES (?, ?)", [name, value])
        return value

    def entry(self, key: bytes) -> Entry | None:
        """Return what is known of a task; None if it was never sent."""
        with self._lock:
            row = self._file.execute(
                "SELECT state, attempts, looks, since, final, facts, reason, doubts FROM task WHERE key = ?", [key]
            ).fetchone()
        if row is None:
            return None
        state, attempts, looks, since, final, facts, reason, doubts = row
        return Entry(state, attempts, looks, since, bool(final), from_json(facts), reason, doubts)

    def sent(self, key: bytes) -> None:
        """Note that a task is being sent, before its first byte leaves. Raises sqlite3.Error if that is not noted."""
        self._write(
            "INSERT INTO task VALUES (?, 'sent', 1, 0, ?, 0, '{}', '', 0) ON CONFLICT (key) DO UPDATE "
            "SET state = 'sent', attempts = attempts + 1, looks = 0, since = excluded.since, reason = ''",
            [key, time.time()],
            is_vital=True,
        )

    def settle(
        self, key: bytes, state: State, *, reason: str = "", final: bool = True, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Note what became of a task."""
        told = to_json({name: value for name, value in (facts or {}).items() if value is not None}).decode()
        self._write(
            "UPDATE task SET state = ?, final = ?, facts = ?, reason = ? WHERE key = ?",
            [state, final, told, reason, key],
        )

    def put_off(self, key: bytes, reason: str) -> None:
        """Note why a task could not be sent yet."""
        self._write("INSERT OR IGNORE INTO task VALUES (?, 'not_sent', 0, 0, 0, 0, '{}', ?, 0)", [key, reason])

    def doubt(self, key: bytes, reason: str) -> None:
        """Note that nobody knows what became of a task that was just sent, and that the time to wait begins now."""
        self._write(
            "UPDATE task SET state = 'unknown', doubts = doubts + 1, since = ?, reason = ? WHERE key = ?",
            [time.time(), reason, key],
        )

    def looked(self, key: bytes) -> None:
        """Note that somebody looked for a task, and did not find it."""
        self._write("UPDATE task SET looks = looks + 1, since = ? WHERE key = ?", [time.time(), key])

    def cut_off(self) -> None:
        """Turn what was being sent when the last run ended into what is not known.

        When it was sent says nothing: the call may have gone on until the run ended. Nor does a clock that was ahead.
        """
        now, reason = time.time(), "The run ended while it was being sent."
        self._write(
            "UPDATE task SET state = 'unknown', doubts = doubts + 1, since = ?, reason = ? WHERE state = 'sent'",
            [now, reason],
        )
        self._write("UPDATE task SET since = ? WHERE since > ?", [now, now])

    def has_lost(self) -> bool:
        """Tell whether there is any task of which it is not known what became of it, and which is no person's yet."""
        with self._lock:
            found = self._file.execute("SELECT 1 FROM task WHERE state = 'unknown' AND NOT final LIMIT 1").fetchone()
        return found is not None

    def known_accounts(self, payer: bytes) -> list[str] | None:
        """Return the ids of the accounts that a payer had before any was sent; None if nobody looked."""
        with self._lock:
            row = self._file.execute("SELECT known FROM payer WHERE key = ?", [payer]).fetchone()
        return None if row is None else from_json(row[0])

    def know_accounts(self, payer: bytes, ids: list[str]) -> None:
        """Note the accounts that a payer has before any is sent."""
        self._write("INSERT OR IGNORE INTO payer VALUES (?, ?)", [payer, to_json(ids).decode()])

    def _write(self, statement: str, values: list[Any], *, is_vital: bool = False) -> None:
        with self._lock:
            # Else a call that outlived an interrupt: it may not send, and what it learns the next run finds out.
            if self._is_open or is_vital:
                self._file.execute(statement, values)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._is_open = False
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path) -> sqlite3.Connection:
    """Return the file, locked for this process alone; a new one is its owner's. Raises InvalidInput."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        file = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
    except OSError as error:
        raise InvalidInput(f"journal: {path.name} cannot be opened ({error.strerror}).") from None
    try:
        # Held until it is closed or the process ends, however it ends.
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute("BEGIN EXCLUSIVE")  # now, or two that begin at once would both be refused
        file.execute("COMMIT")
        _claim(file)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = NORMAL")
        file.executescript(_SCHEMA)
        file.execute("INSERT OR IGNORE INTO run VALUES ('version', ?)", [_VERSION])
        (version,) = file.execute("SELECT value FROM run WHERE name = 'version'").fetchone()
    except sqlite3.Error as error:
        problem = InvalidInput(f"journal: {path.name} {_trouble(error)}")
    else:
        if version == _VERSION:
            return file
        problem = InvalidInput(f"journal: {path.name} was made by another version of payerkit.")
    file.close()
    raise problem


def _claim(file: sqlite3.Connection) -> None:
    """Mark an empty file as a journal. Raises sqlite3.Error for a database of something else, and leaves it alone."""
    ((kind,), (tables,)) = (
        file.execute(asked).fetchone() for asked in ("PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    if not tables:
        file.execute(f"PRAGMA application_id = {_KIND}")
    elif kind != _KIND:
        raise sqlite3.DatabaseError


def _trouble(error: sqlite3.Error) -> str:
    """Return why a file cannot be opened, and what to do."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
    if code == sqlite3.SQLITE_BUSY:
        return "is in use by another run. Wait for it, or take another file."
    if code == sqlite3.SQLITE_NOTADB:
        return "is no journal of payerkit. Take another file."
    return f"cannot be used ({error}). Take a file where there is room, and which you may write."
