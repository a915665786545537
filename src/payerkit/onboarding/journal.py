"""The journal of a run: an SQLite file that records the state of each task, without personal data.

A journal belongs to a service and to an API key, not to a table: it knows a payer by its id and an account by its payer
and what makes it this account, as keyed digests. So a corrected, longer or sorted table goes on in the same journal.

The key of these digests is the *secret* of the journal, made of the API key, so that the file alone does not even let
anybody test whether a guessed id is in it. Whoever replaced the API key opens the journal with the previous one.

Times are seconds on a clock that only goes forward, and only within a run: what still waits when a run begins waits a
whole time from then, whatever the clock of the machine showed before.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from pydantic_core import from_json, to_json

from payerkit.client.client import Client
from payerkit.disk import sync_file, sync_folder
from payerkit.errors import InvalidInput, PayerkitError
from payerkit.reasons import Outcome

State = Literal["sent", "done", "refused", "unknown", "not_sent", "waiting", "duplicate"]
Deferred = Literal["not_sent", "waiting"]
"""States of a task that the next run sends."""

KEY_SIZE = 16
"""Bytes of a digest."""

_VERSION = "5"

_COLUMNS = "payer, content, state, attempts, lookups, since, final, facts, reason, unknown_sends, needs_look"
"""The columns of a task after its key, in the order of the fields of `Entry`."""

_SCHEMA = """
CREATE TABLE run (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE task (
    key BLOB PRIMARY KEY, payer BLOB NOT NULL, content BLOB NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
    lookups INTEGER NOT NULL, since REAL NOT NULL, final INTEGER NOT NULL, facts TEXT NOT NULL, reason TEXT,
    unknown_sends INTEGER NOT NULL, needs_look INTEGER NOT NULL
);
CREATE INDEX account ON task (payer) WHERE payer <> key;
CREATE INDEX unresolved ON task (key) WHERE state = 'unknown' AND NOT final;
CREATE INDEX look ON task (key) WHERE needs_look;
CREATE TABLE payer (key BLOB PRIMARY KEY, known TEXT NOT NULL) WITHOUT ROWID;
"""
# The task of a payer is the one whose key is the payer's.

_SET = "INSERT OR REPLACE INTO run VALUES (?, ?)"
_BECOMES_UNKNOWN = "state = 'unknown', final = 0, unknown_sends = unknown_sends + 1, since = ?, reason = ?"
_UNRESOLVED = "state = 'unknown' AND NOT final"

_IF_DAMAGED = "use a copy of it, or another file: accounts that the service lists already are not sent again."

_PROBLEMS = {
    sqlite3.SQLITE_BUSY: "is in use by another run. Wait until it ends, or use another file.",
    sqlite3.SQLITE_CORRUPT: f"is damaged: {_IF_DAMAGED}",
    sqlite3.SQLITE_NOTADB: "is not a journal of payerkit. Use another file.",
    sqlite3.SQLITE_ERROR: "is not a journal of payerkit. Use another file.",  # it has no table `run`
}
"""Why a file cannot be opened, and what to do, by SQLite's code."""


class JournalLost(sqlite3.OperationalError):
    """The file of an open journal, named so, was deleted, moved or replaced: what it records now would be lost."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The journal's record of a task.

    payer: the key of its payer. content: a digest of the values that it was last sent with. attempts: times that it was
    sent. lookups: times that it was searched for, and not found, since it was last sent. since: when it was sent, its
    outcome became unknown, it was searched for or this run began, by `Journal.now`; the latest of these. final:
    payerkit does nothing more about it. facts: ids, statuses and links from the response. reason: why it is as it
    is, which the file has as JSON. unknown_sends: times that it was sent with unknown outcome. needs_look: it may have
    been stored twice, and one last look is due.
    """

    payer: bytes
    content: bytes
    state: State
    attempts: int = 0
    lookups: int = 0
    since: float = 0.0
    final: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    reason: Outcome | None = None
    unknown_sends: int = 0
    needs_look: bool = False

    @property
    def is_unsent(self) -> bool:
        """True if the next run sends the task: it never was sent, or that had no effect."""
        return self.state in {"not_sent", "waiting"} and not self.final

    @classmethod
    def from_row(cls, columns: Iterable[Any]) -> Self:
        """Return the record of a task from its columns in the file, which are in the order of the fields."""
        *plain, final, facts, reason, unknown_sends, needs_look = columns
        try:
            outcome = reason and Outcome.from_value(from_json(reason))
            values: Any = [*plain, bool(final), from_json(facts), outcome, unknown_sends, bool(needs_look)]
        except ValueError:
            raise sqlite3.DatabaseError("a record is damaged") from None
        return cls(*values)

    @property
    def is_unresolved(self) -> bool:
        """True if the outcome is unknown and still to be reconciled."""
        return self.state == "unknown" and not self.final

    @property
    def account_ids(self) -> list[str]:
        """The ids of the accounts that are known to be stored for the task; the first is the one of its row."""
        return [str(each) for each in (self.facts.get("id"), *self.facts.get("other_ids", ())) if each]


def digest(secret: bytes, *parts: str | bytes) -> bytes:
    """Return a keyed digest of some values; the secret has at most 64 bytes."""
    return hashlib.blake2b(to_json(parts), key=secret, digest_size=KEY_SIZE).digest()


def _json(value: object) -> str:
    return to_json(value).decode()


class Journal:
    """An open journal, locked for this process. Every write is on file before the method returns.

    It survives the end of the process, killed or crashed, and a power cut: that a task is sent is on the disk before
    its first byte leaves. Outcomes are on the disk at the end of the run; one that a power cut takes is reconciled.

    Args:
        path: The file, made if it is missing.
        own_secret: What the API key makes secret: it opens the journal.
        service: The name of the service whose payers it has.
        previous_secret: The same as own_secret for the key that this one replaced: it opens a journal of that key.
        clock: Gives the seconds since any moment, and only goes forward.

    Attributes:
        secret: Keys the digests of ids, accounts and contents.
        now: Gives the seconds on the clock of this run, on which `Entry.since` is.
        slowest: Seconds of the slowest call that earlier runs remembered, 0.0 if none did, or nothing is unknown.

    Raises:
        InvalidInput: For a file that is not a journal, belongs to another service or API key, or is in use.
    """

    def __init__(
        self,
        path: Path,
        own_secret: bytes,
        *,
        service: str = "",
        previous_secret: bytes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # All threads of a run share one connection, and this lock guards it: a process has one writer anyway, and
        # SQLite's own locking between connections would cost more than the writes.
        self._lock = threading.Lock()
        self._is_open = True
        self._syncing, self._written, self._synced = threading.Lock(), 0, 0
        self.now = clock
        self._file = _open(path)
        self._name = str(path.resolve())  # wherever the process goes meanwhile
        try:
            meta = dict(self._select("SELECT name, value FROM run"))
            self.secret = self._find_secret(meta, service, list(filter(None, [own_secret, previous_secret])))
        except BaseException:
            self._file.close()
            raise
        self.slowest = float(meta.get("slowest") or 0.0)
        self._identity = self._file_identity()

    def _find_secret(self, meta: Mapping[str, Any], service: str, own_secrets: Sequence[bytes]) -> bytes:
        """Return the secret that keys the digests, made of a random part of the file and of an API key's secret."""
        salt = meta.get("salt", secrets.token_hex())
        for own in own_secrets:
            secret = digest(own, salt, service)
            check = digest(secret, "key")
            if "key" not in meta:
                self._file.execute(f"{_SET}, (?, ?)", ["salt", salt, "key", check])
            if meta.get("key", check) == check:
                return secret
        raise InvalidInput(
            "journal: it belongs to another service or API key. Use another journal file; if the key was replaced, set "
            "PAYERKIT_PREVIOUS_API_KEY to the old one."
        )

    def _select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a query finds."""
        with self._lock:
            return self._file.execute(query, values).fetchall()

    def entry(self, key: bytes) -> Entry | None:
        """Return the record of a task, or None."""
        rows = self._select(f"SELECT {_COLUMNS} FROM task WHERE key = ?", [key])  # noqa: S608
        return Entry.from_row(rows[0]) if rows else None

    def entries_of(self, payer: bytes) -> dict[bytes, Entry]:
        """Return the records of all accounts of a payer by key, also of rows that a table of today does not have."""
        statement = f"SELECT key, {_COLUMNS} FROM task WHERE payer = ? AND payer <> key"  # noqa: S608
        return {key: Entry.from_row(columns) for key, *columns in self._select(statement, [payer])}

    def sent(self, key: bytes, *, payer: bytes, content: bytes, needs_look: bool = False) -> None:
        """Record that a task is being sent, before its first byte leaves.

        needs_look: it may be stored twice by that, so one last look is due; only `record` takes that back. Raises
        JournalLost if the file was deleted or replaced, and sqlite3.Error if it cannot be written.
        """
        if self._is_open and self._file_identity() != self._identity:
            raise JournalLost(Path(self._name).name)
        self._write(
            "INSERT INTO task VALUES (?, ?, ?, 'sent', 1, 0, ?, 0, '{}', NULL, 0, ?) ON CONFLICT (key) DO UPDATE "
            "SET state = 'sent', attempts = attempts + 1, lookups = 0, since = excluded.since, reason = NULL, "
            "final = 0, content = excluded.content, needs_look = needs_look OR excluded.needs_look",
            [key, payer, content, self.now(), needs_look],
            is_vital=True,
        )
        self._wait_for_disk()

    def record(
        self,
        key: bytes,
        state: State,
        *,
        reason: Outcome | None = None,
        final: bool = True,
        facts: Mapping[str, Any] | None = None,
        needs_look: bool | None = None,
    ) -> None:
        """Record the outcome of a task. needs_look: whether one last look is due; None for as before."""
        known = _json({name: value for name, value in (facts or {}).items() if value is not None})
        changes = "state = ?, final = ?, facts = ?, reason = ?, needs_look = coalesce(?, needs_look)"
        self._update(key, changes, state, final, known, reason and _json(reason), needs_look)

    def add_facts(self, key: bytes, facts: Mapping[str, str]) -> None:
        """Add facts to the record of a task that is done, or replace older ones."""
        if facts and (entry := self.entry(key)) is not None and entry.state == "done":
            self.record(key, "done", reason=entry.reason, final=entry.final, facts=entry.facts | dict(facts))

    def defer(self, key: bytes, state: Deferred, reason: Outcome | None, *, payer: bytes, content: bytes) -> None:
        """Record why a task is not sent in this run; it never was, or had no effect."""
        self._write(
            "INSERT INTO task VALUES (?, ?, ?, ?, 0, 0, 0, 0, '{}', ?, 0, 0) ON CONFLICT (key) DO UPDATE "
            "SET state = excluded.state, reason = excluded.reason, content = excluded.content "
            "WHERE state IN ('not_sent', 'waiting') AND NOT final",
            [key, payer, content, state, reason and _json(reason)],
        )

    def mark_unknown(self, key: bytes, reason: Outcome) -> None:
        """Record that the outcome of a task is unknown, from now on: the wait until it is reconciled begins."""
        self._update(key, _BECOMES_UNKNOWN, self.now(), _json(reason))

    def count_lookup(self, key: bytes) -> None:
        """Record that a task was searched for and not found."""
        self._update(key, "lookups = lookups + 1, since = ?", self.now())

    def reset(self, key: bytes, content: bytes) -> None:
        """Let a task that is refused or unknown be sent again: it changed, or a person asked for it.

        What was counted before stays: an earlier attempt with unknown outcome may still have been stored. Why a repeat
        was refused does not: the next one may end otherwise.
        """
        unrefused = "facts = json_remove(facts, '$.refused')"
        self._update(key, f"state = 'not_sent', final = 0, reason = NULL, content = ?, {unrefused}", content)

    def reopen(self, key: bytes) -> None:
        """Let a task whose outcome stayed unknown be looked for again, a whole delay from now."""
        self._update(key, "final = 0, lookups = 0, since = ?", self.now())

    def begin_run(self) -> None:
        """Take up what an earlier run left.

        A task that was being sent when that run ended is unknown. The wait of whatever is unresolved or waits for a
        last look begins now: the call may have gone on until the run ended, and clocks of two runs do not compare.
        """
        cut_off = [self.now(), _json(Outcome("cut_off"))]
        self._write(f"UPDATE task SET {_BECOMES_UNKNOWN} WHERE state = 'sent'", cut_off)  # noqa: S608
        self._write(f"UPDATE task SET since = ? WHERE {_UNRESOLVED}", [self.now()])  # noqa: S608
        self._write("UPDATE task SET since = ? WHERE needs_look", [self.now()])
        if not (self.unresolved() or self.looks()):
            self.slowest = 0.0  # a slow call of long ago is no reason to wait for what this run sends
            self._write("DELETE FROM run WHERE name = 'slowest'", [])

    def unresolved(self) -> dict[bytes, float]:
        """Return since when tasks are unknown and still to be reconciled, by key, of any table."""
        return dict(self._select(f"SELECT key, since FROM task WHERE {_UNRESOLVED}"))  # noqa: S608

    def looks(self) -> dict[bytes, float]:
        """Return since when tasks wait for a last look, by key, of any table."""
        return dict(self._select("SELECT key, since FROM task WHERE needs_look"))

    def baseline(self, payer: bytes) -> list[str] | None:
        """Return the ids of the accounts that a payer had before any was sent; None if they were never listed."""
        rows = self._select("SELECT known FROM payer WHERE key = ?", [payer])
        return from_json(rows[0][0]) if rows else None

    def add_to_baseline(self, payer: bytes, ids: Collection[str]) -> None:
        """Add accounts to those that a payer had before any was sent: others sent them."""
        before = self.baseline(payer)
        if before is None or ids:
            known = dict.fromkeys([*(before or []), *ids])
            self._write("INSERT OR REPLACE INTO payer VALUES (?, ?)", [payer, _json([*known])])

    def remember_slowest(self, seconds: float) -> None:
        """Record the seconds of a slow call, for the waits of later runs, if it is the slowest so far."""
        if seconds > self.slowest:
            self.slowest = seconds
            self._write(_SET, ["slowest", seconds])

    def _update(self, key: bytes, changes: str, *values: Any) -> None:
        """Change the record of a task, if there is one."""
        self._write(f"UPDATE task SET {changes} WHERE key = ?", [*values, key])  # noqa: S608

    def _write(self, statement: str, values: list[Any], *, is_vital: bool = False) -> None:
        with self._lock:
            # A call may outlive a run that was interrupted twice. Its outcome is dropped, and the next run reconciles
            # it; but a vital write on the closed file raises, so that nothing is sent without a record.
            if self._is_open or is_vital:
                self._file.execute(statement, values)  # autocommit: on file when this returns
                self._written += 1

    def _wait_for_disk(self) -> None:
        """Wait until all that was written is on the disk; threads that come at the same time wait for the same."""
        written = self._written
        with self._syncing:
            if self._synced < written:
                latest = self._written
                try:
                    with open(f"{self._name}-wal", "r+b") as log:  # noqa: PTH123 - often, so it must be fast
                        sync_file(log.fileno())
                except OSError as error:
                    raise sqlite3.OperationalError(str(error.strerror)) from None
                self._synced = latest

    def _file_identity(self) -> tuple[int, int] | None:
        """Return the device and number of the journal's file; None if there is no file of its name."""
        try:
            found = os.stat(self._name)  # noqa: PTH116 - before each task, so it must be fast
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def close(self, *_: object) -> None:
        """Close the file and give up its lock."""
        with self._lock:
            self._is_open = False
            self._file.close()  # which moves the log into the file, and waits for the disk

    def __enter__(self) -> Self:
        return self

    __exit__ = close


@contextmanager
def open_journal(path: Path, client: Client, clock: Callable[[], float] = time.monotonic) -> Iterator[Journal]:
    """Open the journal of runs with a client. Raises PayerkitError if it cannot be opened, written or read."""
    own, previous, service = client.account_secret, client.previous_account_secret, client.service_name()
    try:
        with Journal(path, own, service=service, previous_secret=previous, clock=clock) as journal:
            yield journal
    except sqlite3.Error as error:
        raise PayerkitError(
            f"journal: {path.name} cannot be used any more ({error}).",
            advice="Nothing is lost. If the disk is full, make room, then call again with the same journal; if the "
            f"file is damaged, {_IF_DAMAGED}",
        ) from None


def _open(path: Path) -> sqlite3.Connection:
    """Return the file, locked for this process and readable by its owner alone. Raises InvalidInput."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        sync_folder(path.parent)
        file = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
    except OSError as error:
        raise InvalidInput(f"journal: {path.name} cannot be opened ({error.strerror}).") from None
    try:
        # The operating system holds this lock until the file is closed or the process ends, however it ends.
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute("BEGIN EXCLUSIVE")  # now: with the first write, two processes that start at once both fail
        file.execute("COMMIT")
        (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            file.executescript(f"BEGIN; {_SCHEMA} INSERT INTO run VALUES ('version', '{_VERSION}'); COMMIT;")  # noqa: S608
        # Before anything else: another application's database is left alone.
        version = file.execute("SELECT value FROM run WHERE name = 'version'").fetchone()
        file.execute("PRAGMA journal_mode = WAL")
        # NORMAL waits for the disk at a checkpoint, which takes fullfsync on macOS, and at no commit: `_wait_for_disk`
        # does that, for several at once. https://www.sqlite.org/pragma.html#pragma_synchronous
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute("PRAGMA fullfsync = ON")
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
        why = f"cannot be used ({error}). Check that the disk has room and that you may write there."
        problem = InvalidInput(f"journal: {path.name} {_PROBLEMS.get(code, why)}")
    else:
        if version == (_VERSION,):
            return file
        problem = InvalidInput(f"journal: {path.name} was made by another version of payerkit. Use another file.")
    file.close()
    raise problem
