"""The journal of a run: an SQLite file that records the state of each task, without
personal data.

    none -> sent -> done | refused | waiting | not_sent | unknown
    unknown -> done            the payer's list shows it
    unknown -> sent            a person wants it sent again; a payer, in any case

A task is `sent` on the disk before its first byte leaves. One that is `sent` when a run
begins is `unknown`.

A journal belongs to a service and its environment, not to a table or an API key: it
knows a payer by its id and an account by its payer and what makes it this account, as
keyed digests. So a corrected, longer or sorted table goes on in the same journal, and
so does a new API key.

The key of these digests is the *secret* of the journal: random, in a file beside it
that only its owner can read. So the journal alone does not even let anybody test
whether a guessed id is in it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from pydantic_core import from_json, to_json

from payerkit.disk import save_file, sync_file, sync_folder
from payerkit.errors import InvalidInput, PayerkitError
from payerkit.reasons import Outcome

State = Literal[
    "sent", "done", "refused", "unknown", "not_sent", "waiting", "duplicate"
]
Deferred = Literal["not_sent", "waiting"]
"""States of a task that the next run sends."""

KEY_SIZE = 16
"""Bytes of a digest."""

_SECRET_SIZE = 32
"""Bytes of the secret of a journal."""

_VERSION = "7"

_COLUMNS = (
    "payer, id_form, content, numbers, state, attempts, was_unknown, facts, reason"
)
"""The columns of a task after its key, in the order of the fields of `Entry`."""

_SCHEMA = """
CREATE TABLE run (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE task (
    key BLOB PRIMARY KEY, payer BLOB NOT NULL, id_form BLOB NOT NULL,
    content BLOB NOT NULL, numbers BLOB NOT NULL, state TEXT NOT NULL,
    attempts INTEGER NOT NULL, was_unknown INTEGER NOT NULL, facts TEXT NOT NULL,
    reason TEXT
);
CREATE INDEX account ON task (payer) WHERE payer <> key;
CREATE INDEX unknown ON task (key) WHERE state = 'unknown';
CREATE INDEX spelling ON task (id_form);
"""
# The task of a payer is the one whose key is the payer's.

_SET = "INSERT OR REPLACE INTO run VALUES (?, ?)"
_BECOMES_UNKNOWN = "state = 'unknown', was_unknown = 1, reason = ?"
_STORED = "state IN ('done', 'duplicate')"

_IF_DAMAGED = (
    "use a copy of it, or another file. What it has as unknown is forgotten with it:"
    " look first at what the service has, with verify_onboarding() (--verify)."
)

_PROBLEMS = {
    sqlite3.SQLITE_BUSY: (
        "is in use by another run. Wait until it ends, or use another file."
    ),
    sqlite3.SQLITE_CORRUPT: f"is damaged: {_IF_DAMAGED}",
    sqlite3.SQLITE_NOTADB: "is not a journal of payerkit. Use another file.",
    sqlite3.SQLITE_ERROR: (
        "is not a journal of payerkit. Use another file."
    ),  # it has no table `run`
}
"""Why a file cannot be opened, and what to do, by SQLite's code."""


class JournalLost(sqlite3.OperationalError):
    """The file of an open journal, named so, was deleted, moved or replaced: what it
    records now would be lost.
    """


class OtherService(InvalidInput):
    """A journal belongs to another service or environment.

    is_of_practice: that was a sandbox on this machine.
    """

    def __init__(self, name: str, is_of_practice: bool) -> None:  # noqa: FBT001
        super().__init__(
            f"journal: {name} belongs to another service or environment. Use another"
            " journal for this one."
        )
        self.is_of_practice = is_of_practice


@dataclass(frozen=True, slots=True)
class Subject:
    """What a task is about, in keyed digests.

    payer: the key of its payer. id_form: of the payer's id, whatever its spelling.
    content: of the values that it is sent with. numbers: of each number of an account,
    one behind the other.
    """

    payer: bytes
    id_form: bytes = b""
    content: bytes = b""
    numbers: bytes = b""


@dataclass(frozen=True, slots=True)
class Entry:
    """The journal's record of a task.

    subject: what it was last sent with. attempts: times that it was sent. was_unknown:
    some attempt had an unknown outcome, and it was not found since. facts: ids,
    statuses and links from the response. reason: why it is as it is, which the file has
    as JSON.
    """

    subject: Subject
    state: State
    attempts: int = 0
    was_unknown: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    reason: Outcome | None = None

    @classmethod
    def from_row(cls, columns: Iterable[Any]) -> Self:
        """Return the record of a task from its columns in the file."""
        *subject, state, attempts, was_unknown, facts, reason = columns
        try:
            outcome = Outcome.from_value(from_json(reason)) if reason else None
            known = from_json(facts)
        except ValueError:
            raise sqlite3.DatabaseError("a record is damaged") from None
        return cls(
            Subject(*subject), state, attempts, bool(was_unknown), known, outcome
        )

    @property
    def content(self) -> bytes:
        """A digest of the values that it was last sent with."""
        return self.subject.content

    @property
    def shown_state(self) -> State:
        """The state that a person sees: what is being sent is unknown until then."""
        return "unknown" if self.state == "sent" else self.state

    @property
    def is_unsent(self) -> bool:
        """True if the next run sends the task: it never was sent, or that had no
        effect.
        """
        return self.state in {"not_sent", "waiting"}

    @property
    def may_be_stored(self) -> bool:
        """True if the service has what was sent, or may have it."""
        return self.state in {"done", "duplicate", "sent", "unknown"}

    def shares_number(self, subject: Subject) -> bool:
        """Return True if an account has a number of another one."""
        own = _split(self.subject.numbers)
        return not own.isdisjoint(_split(subject.numbers))

    @property
    def account_ids(self) -> list[str]:
        """The ids of the accounts that are known to be stored for the task; the first
        is the one of its row.
        """
        return [
            str(each)
            for each in (self.facts.get("id"), *self.facts.get("other_ids", ()))
            if each
        ]


def digest(secret: bytes, *parts: str | bytes) -> bytes:
    """Return a keyed digest of some values; the secret has at most 64 bytes."""
    return hashlib.blake2b(to_json(parts), key=secret, digest_size=KEY_SIZE).digest()


def _split(digests: bytes) -> set[bytes]:
    """Return digests that stand one behind the other."""
    starts = range(0, len(digests), KEY_SIZE)
    return {digests[start : start + KEY_SIZE] for start in starts}


def _json(value: object) -> str:
    return to_json(value).decode()


def _columns_of(subject: Subject) -> list[bytes]:
    return [subject.payer, subject.id_form, subject.content, subject.numbers]


class Journal:
    """An open journal, locked for this process. Every write is on file before the
    method returns.

    It survives the end of the process, killed or crashed, and a power cut: that a task
    is sent is on the disk before its first byte leaves. Outcomes are on the disk at the
    end of the run; one that a power cut takes is unknown, and looked for.

    Args:
        path: The file, made if it is missing.
        service: The name of the service whose payers it has; None to read it, whatever
            service that is.
        environment: The environment of that service.
        is_practice: The service is a sandbox on this machine, whose payers may be gone
            tomorrow.

    Attributes:
        path: The file.
        secret: Keys the digests of ids, accounts and contents.
        environment: The environment of the service whose payers it has.
        set_aside: The name of the journal that was here before, "" if there was none.

    Raises:
        OtherService: For a journal of another service.
        InvalidInput: For a file that is not a journal, is in use, or whose secret is
            missing or another one.
    """

    def __init__(
        self,
        path: Path,
        *,
        service: str | None = "",
        environment: str = "",
        is_practice: bool = False,
    ) -> None:
        # All threads of a run share one connection, and this lock guards it: a process
        # has one writer anyway, and SQLite's own locking between connections would cost
        # more than the writes.
        self._lock = threading.Lock()
        self.path = path
        self.set_aside = ""
        self._is_open = True
        self._syncing = threading.Lock()
        self._written = 0
        self._synced = 0
        self._file = _open(path)
        self._name = str(path.resolve())  # wherever the process goes meanwhile
        try:
            meta = dict(self._select("SELECT name, value FROM run"))
            self.secret = self._find_secret(path, meta)
            if service is not None:
                own = digest(self.secret, service, environment)
                self._check_service(meta, own, environment, is_practice=is_practice)
        except BaseException:
            self._file.close()
            raise
        self.environment = str(meta.get("environment", environment))
        self._identity = self._file_identity()

    def _find_secret(self, path: Path, meta: Mapping[str, Any]) -> bytes:
        """Return the secret that keys the digests, from the file beside the journal; of
        a new journal, that file is made.

        meta: what the journal records about itself. Raises InvalidInput without the
        secret of this journal.
        """
        file = secret_file(path)
        if "key" not in meta:
            secret = _make_secret(file)
            self._file.execute(_SET, ["key", digest(secret, "key")])
            return secret
        try:
            secret = file.read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"journal: its secret cannot be read from {file.name}"
                f" ({error.strerror}). Put that file back beside {path.name}, or use"
                " another journal: accounts that the service lists already are not"
                " sent again."
            ) from None
        if len(secret) != _SECRET_SIZE or digest(secret, "key") != meta["key"]:
            raise InvalidInput(
                f"journal: {file.name} has the secret of another journal than"
                f" {path.name}. Put the right file back, or use another journal."
            )
        return secret

    def _check_service(
        self,
        meta: Mapping[str, Any],
        service: bytes,
        environment: str,
        *,
        is_practice: bool,
    ) -> None:
        """Raise OtherService if the journal belongs to another service; a new one
        belongs to this one from now on.
        """
        if "service" not in meta:
            self._file.execute(_SET, ["environment", environment])
            self._file.execute(_SET, ["is_practice", int(is_practice)])
            self._file.execute(_SET, ["service", service])
        elif meta["service"] != service:
            raise OtherService(self.path.name, bool(meta.get("is_practice")))

    def _select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a query finds."""
        with self._lock:
            return self._file.execute(query, values).fetchall()

    def entry(self, key: bytes) -> Entry | None:
        """Return the record of a task, or None."""
        rows = self._select(f"SELECT {_COLUMNS} FROM task WHERE key = ?", [key])  # noqa: S608
        return Entry.from_row(rows[0]) if rows else None

    def entries_of(self, payer: bytes) -> dict[bytes, Entry]:
        """Return the records of all accounts of a payer by key, also of rows that a
        table of today does not have.
        """
        statement = f"SELECT key, {_COLUMNS} FROM task WHERE payer = ? AND payer <> key"  # noqa: S608
        return {
            key: Entry.from_row(columns)
            for key, *columns in self._select(statement, [payer])
        }

    def payers_of_form(self, id_form: bytes) -> set[bytes]:
        """Return the keys of the payers who were sent, or have accounts, and whose ids
        have a form.
        """
        is_known = f"(attempts > 0 OR {_STORED})"
        query = f"SELECT DISTINCT payer FROM task WHERE id_form = ? AND {is_known}"  # noqa: S608
        return {payer for (payer,) in self._select(query, [id_form])}

    def stored_forms(self) -> set[bytes]:
        """Return the forms of the ids of the payers who are stored, or have a stored
        account.
        """
        query = f"SELECT DISTINCT id_form FROM task WHERE {_STORED}"  # noqa: S608
        return {id_form for (id_form,) in self._select(query)}

    def unknown(self) -> set[bytes]:
        """Return the keys of the tasks whose outcome is unknown, of any table."""
        query = "SELECT key FROM task WHERE state = 'unknown'"
        return {key for (key,) in self._select(query)}

    def sent(self, key: bytes, subject: Subject) -> None:
        """Record that a task is being sent, before its first byte leaves.

        Raises JournalLost if the file was deleted or replaced, and sqlite3.Error if it
        cannot be written.
        """
        if self._is_open and self._file_identity() != self._identity:
            raise JournalLost(Path(self._name).name)
        self._write(
            "INSERT INTO task VALUES (?, ?, ?, ?, ?, 'sent', 1, 0, '{}', NULL)"
            " ON CONFLICT (key) DO UPDATE SET state = 'sent', attempts = attempts + 1,"
            " content = excluded.content, numbers = excluded.numbers, reason = NULL",
            [key, *_columns_of(subject)],
            is_vital=True,
        )
        self._wait_for_disk()

    def record(
        self,
        key: bytes,
        state: State,
        *,
        reason: Outcome | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Record the outcome of a task. One that is done, or known by its id, is not
        unknown any more, whatever happened before.
        """
        known = {name: each for name, each in (facts or {}).items() if each is not None}
        is_found = state == "done" or "id" in known
        self._update(
            key,
            "state = ?, facts = ?, reason = ?, was_unknown = was_unknown AND NOT ?",
            state,
            _json(known),
            reason and _json(reason),
            is_found,
        )

    def add_facts(self, key: bytes, facts: Mapping[str, str]) -> None:
        """Add facts to the record of a task that is done, or replace older ones."""
        entry = self.entry(key)
        if facts and entry is not None and entry.state == "done":
            known = entry.facts | dict(facts)
            self.record(key, "done", reason=entry.reason, facts=known)

    def defer(
        self, key: bytes, state: Deferred, reason: Outcome | None, subject: Subject
    ) -> None:
        """Record why a task is not sent in this run; it never was, or had no effect."""
        self._write(
            "INSERT INTO task VALUES (?, ?, ?, ?, ?, ?, 0, 0, '{}', ?) ON CONFLICT"
            " (key) DO UPDATE SET state = excluded.state, reason = excluded.reason,"
            " content = excluded.content WHERE state IN ('not_sent', 'waiting',"
            " 'refused')",
            [key, *_columns_of(subject), state, reason and _json(reason)],
        )

    def mark_unknown(self, key: bytes, reason: Outcome) -> None:
        """Record that the outcome of a task is unknown."""
        self._update(key, _BECOMES_UNKNOWN, _json(reason))

    def begin_run(self) -> None:
        """Take up what an earlier run left: a task that was being sent when that run
        ended is unknown.
        """
        cut_off = [_json(Outcome("cut_off"))]
        self._write(f"UPDATE task SET {_BECOMES_UNKNOWN} WHERE state = 'sent'", cut_off)  # noqa: S608

    def _update(self, key: bytes, changes: str, *values: Any) -> None:
        """Change the record of a task, if there is one."""
        self._write(f"UPDATE task SET {changes} WHERE key = ?", [*values, key])  # noqa: S608

    def _write(
        self, statement: str, values: list[Any], *, is_vital: bool = False
    ) -> None:
        with self._lock:
            # A call may outlive a run that was interrupted twice. Its outcome is
            # dropped, and the next run reconciles it; but a vital write on the closed
            # file raises, so that nothing is sent without a record.
            if self._is_open or is_vital:
                # Autocommit: it is on file when this returns.
                self._file.execute(statement, values)
                self._written += 1

    def _wait_for_disk(self) -> None:
        """Wait until all that was written is on the disk; threads that come at the same
        time wait for the same.
        """
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
        """Return the device and number of the journal's file; None if there is no file
        of its name.
        """
        try:
            found = os.stat(self._name)  # noqa: PTH116 - before each task, so it must be fast
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def close(self, *_: object) -> None:
        """Close the file and give up its lock."""
        with self._lock:
            self._is_open = False
            # which moves the log into the file, and waits for the disk
            self._file.close()

    def __enter__(self) -> Self:
        return self

    __exit__ = close


@contextmanager
def failures_told(path: Path) -> Iterator[None]:
    """Say of a failure of SQLite, in a PayerkitError, which journal cannot be used any
    more.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise PayerkitError(
            f"journal: {path.name} cannot be used any more ({error}).",
            advice=(
                "Nothing is lost. If the disk is full, make room, then call again with"
                f" the same journal; if the file is damaged, {_IF_DAMAGED}"
            ),
        ) from None


def secret_file(journal: Path) -> Path:
    """Return the file with the secret of a journal: beside it, and named after it.

    Of a link to a journal, that of the journal itself.
    """
    journal = journal.resolve()
    return journal.with_name(f"{journal.name}.secret")


def _make_secret(file: Path) -> bytes:
    """Write a new secret that only the owner can read, all of it or nothing, and return
    it. Raises InvalidInput if it cannot be written.

    Only for a journal without records: a file that is there belonged to a journal that
    was deleted, or whose first run broke off here.
    """
    secret = secrets.token_bytes(_SECRET_SIZE)
    try:
        save_file(file, secret, private=True)
    except OSError as error:
        raise InvalidInput(
            f"journal: its secret cannot be written to {file.name} ({error.strerror})."
        ) from None
    return secret


def _open(path: Path) -> sqlite3.Connection:
    """Return the file, locked for this process and readable by its owner alone. Raises
    InvalidInput.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        sync_folder(path.parent)
        file = sqlite3.connect(
            path, timeout=0.2, isolation_level=None, check_same_thread=False
        )
    except OSError as error:
        raise InvalidInput(
            f"journal: {path.name} cannot be opened ({error.strerror})."
        ) from None
    try:
        # The operating system holds this lock until the file is closed or the process
        # ends, however it ends.
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute(
            "BEGIN EXCLUSIVE"
        )  # now: with the first write, two processes that start at once both fail
        file.execute("COMMIT")
        (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            file.executescript(
                f"BEGIN; {_SCHEMA} INSERT INTO run VALUES ('version', '{_VERSION}');"  # noqa: S608
                " COMMIT;"
            )
        # Before anything else: another application's database is left alone.
        version = file.execute(
            "SELECT value FROM run WHERE name = 'version'"
        ).fetchone()
        file.execute("PRAGMA journal_mode = WAL")
        # NORMAL waits for the disk at a checkpoint, which takes fullfsync on macOS, and
        # at no commit: `_wait_for_disk` does that, for several at once.
        # https://www.sqlite.org/pragma.html#pragma_synchronous
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute("PRAGMA fullfsync = ON")
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
        why = (
            f"cannot be used ({error}). Check that the disk has room and that you may"
            " write there."
        )
        problem = InvalidInput(f"journal: {path.name} {_PROBLEMS.get(code, why)}")
    else:
        if version == (_VERSION,):
            return file
        problem = InvalidInput(
            f"journal: {path.name} was made by another version of payerkit. Use another"
            " file."
        )
    file.close()
    raise problem
