"""Journals of payerkit 0.1.0: upgraded with the table that they were made for, or refused and left as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic_core import to_json

from bulk_model import ModelClient, ModelService, row_states, run
from bulk_tables import payer_row
from payerkit.bulk.journal import Entry, Journal, digest
from payerkit.bulk.table import Step, Table
from payerkit.bulk.tasks import Tasks
from payerkit.bulk.upgrade import merge, upgrade
from payerkit.errors import InvalidInput

OWN, SALT = b"own secret", b"0123456789abcdef"

SCHEMA = """
PRAGMA application_id = 0x7061796B;
PRAGMA journal_mode = WAL;
CREATE TABLE run (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE task (
    key BLOB PRIMARY KEY, state TEXT NOT NULL, attempts INTEGER NOT NULL, looks INTEGER NOT NULL, since REAL NOT NULL,
    final INTEGER NOT NULL, facts TEXT NOT NULL, reason TEXT NOT NULL, doubts INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE payer (key BLOB PRIMARY KEY, known TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO run VALUES ('version', '1');
"""

Old = tuple[Step, int, str, int, dict[str, Any]]
"""A task of 0.1.0: its step, its row, state, attempts and facts."""

OLD: list[Old] = [
    ("payer", 0, "done", 1, {"user_id": "u-0"}),
    ("payer", 1, "done", 2, {"user_id": "u-1"}),
    ("bank_details", 0, "done", 1, {"id": "pd-0"}),
    ("bank_details", 1, "sent", 1, {}),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path for a journal."""
    return tmp_path / "run.journal"


def rows_of(*places: int, **changes: str) -> pd.DataFrame:
    """Return payers with an account each."""
    return pd.DataFrame([payer_row(place) | changes for place in places])


@cache
def table_of(*places: int, **changes: str) -> Table:
    """Return a table of payers with an account each."""
    return Table(rows_of(*places, **changes), holder_is_payer=True)


def make_old(
    path: Path, table: Table, old: Sequence[Old] = OLD, *, own: bytes = OWN, service_name: bytes | str = b"any"
) -> None:
    """Write what 0.1.0 wrote for a table."""
    secret = SALT + own  # by which 0.1.0 keyed its digests
    tasks = Tasks(table, secret)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript(SCHEMA)
        known = {"salt": SALT, "key": digest(secret, "key"), "input": b"any", "service": digest(SALT, service_name)}
        file.executemany("INSERT INTO run VALUES (?, ?)", known.items())
        for step, row, state, attempts, facts in old:
            values = [tasks.old_key(step, row), state, attempts, to_json(facts).decode()]
            file.execute("INSERT INTO task VALUES (?, ?, ?, 0, 1e9, 0, ?, '', 0)", values)
        payer = digest(secret, str(table.client_user_id(0)))
        file.execute("INSERT INTO payer VALUES (?, '[\"pd-before\"]')", [payer])


def content_of(path: Path) -> list[str]:
    """Return all that is in a file, as SQL."""
    with closing(sqlite3.connect(path)) as file:
        return list(file.iterdump())


def upgraded(path: Path, table: Table) -> dict[tuple[Step, int], Entry | None]:
    """Upgrade a journal with a table, and return what it knows of each of its rows when the next run opens it."""
    with Journal(path, OWN) as journal:
        assert journal.needs_upgrade
        upgrade(journal, Tasks(table, journal.secret))
        assert not journal.needs_upgrade
    with Journal(path, OWN) as journal:
        assert not journal.needs_upgrade
        tasks, rows = Tasks(table, journal.secret), range(len(table))
        return {(step, row): journal.entry(tasks.key(step, row)) for step in table.steps for row in rows}


@pytest.mark.parametrize("places", [(0, 1), (1, 0), (2, 1, 0, 3)])
def test_what_was_done_stays_done(path: Path, places: tuple[int, ...]) -> None:
    """Also if the table was sorted or got longer meanwhile, which 0.1.0 refused."""
    make_old(path, table_of(0, 1))
    found = upgraded(path, table_of(*places))
    expected = {0: ("done", "done"), 1: ("done", "sent")}

    for row, place in enumerate(places):
        entries = [found["payer", row], found["bank_details", row]]
        assert expected.get(place, ()) == tuple(entry.state for entry in entries if entry)
    account = found["bank_details", places.index(0)]
    assert account is not None
    assert ({"id": "pd-0"}, 1) == (account.facts, account.attempts)


def test_all_of_a_row_is_known_after_an_upgrade(path: Path) -> None:
    """The account by its payer, the payer's list from before, and the values: a change is noticed."""
    table = table_of(0, 1)
    make_old(path, table)
    upgraded(path, table)
    with Journal(path, OWN) as journal:
        tasks = Tasks(table, journal.secret)
        account, payer = tasks.task("bank_details", 0), tasks.task("payer", 0)
        entries = journal.entries_of(payer.key)
        baselines = [journal.baseline(tasks.key("payer", row)) for row in (0, 1)]

    assert {account.key: account.content} == {key: entry.content for key, entry in entries.items()}
    assert [["pd-before"], None] == baselines


@pytest.mark.parametrize(
    ("places", "changes"),
    [
        ((0,), {}),  # shorter
        ((0, 1), {"bank_name": "Corrected Bank"}),
        ((0, 1), {"phone": "+12025550199"}),
        ((7, 8), {}),
    ],
)
def test_another_table_is_refused_and_the_file_left_as_it_is(
    path: Path, places: tuple[int, ...], changes: dict[str, str]
) -> None:
    """One sentence says which table to call with; that one is still upgraded."""
    make_old(path, table_of(0, 1))
    before = content_of(path)
    with (
        Journal(path, OWN) as journal,
        pytest.raises(InvalidInput, match=r"made it for another table. Call once with that table"),
    ):
        upgrade(journal, Tasks(table_of(*places, **changes), journal.secret))

    assert before == content_of(path)
    assert "done" in {entry.state for entry in upgraded(path, table_of(0, 1)).values() if entry}


def test_tasks_that_were_never_sent_need_no_row(path: Path) -> None:
    """Nothing is forgotten that may be there."""
    make_old(path, table_of(0, 1), [*OLD[:1], ("bank_details", 1, "waiting", 0, {})])
    found = upgraded(path, table_of(0))

    assert ["done"] == [entry.state for entry in found.values() if entry]


def test_an_old_journal_needs_its_key(path: Path) -> None:
    """Or today's, with the one before it, which then opens it no longer."""
    table = table_of(0, 1)
    make_old(path, table)
    with pytest.raises(InvalidInput, match="belongs to another API key"):
        Journal(path, b"new secret", previous_secret=b"third secret")
    with Journal(path, b"new secret", previous_secret=OWN) as journal:
        upgrade(journal, Tasks(table, journal.secret))
    with Journal(path, b"new secret") as journal:
        assert journal.entry(Tasks(table, journal.secret).key("payer", 0)) is not None
    with pytest.raises(InvalidInput, match="belongs to another API key"):
        Journal(path, OWN)


def test_an_upgrade_that_ends_early_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one transaction."""
    table = table_of(0, 1)
    make_old(path, table)
    before, left = content_of(path), [None, None]
    put = Journal.put
    monkeypatch.setattr(Journal, "put", lambda *given: put(*given) if left.pop() is None else None)
    with Journal(path, OWN) as journal, pytest.raises(IndexError):
        upgrade(journal, Tasks(table, journal.secret))

    assert before == content_of(path)


def entry_of(state: Any, **columns: Any) -> Entry:
    """Return a record of an account."""
    return Entry(b"payer", b"content", state, 1, **columns)


MERGED: list[tuple[Entry, Entry, tuple[Any, ...]]] = [
    (entry_of("done", facts={"id": "a"}), entry_of("refused"), ("done", {"id": "a"}, False)),
    (entry_of("done", facts={"id": "a"}), entry_of("waiting"), ("done", {"id": "a"}, False)),
    (
        entry_of("done", facts={"id": "a", "status": "approved"}),
        entry_of("done", facts={"id": "b"}),
        ("duplicate", {"id": "a", "status": "approved", "other_ids": ["b"]}, False),
    ),
    # the unknown one may be there, too
    (entry_of("done", facts={"id": "a"}), entry_of("unknown", unknown_sends=1), ("done", {"id": "a"}, True)),
    (entry_of("done", facts={"id": "a"}), entry_of("sent"), ("done", {"id": "a"}, True)),
    (entry_of("sent"), entry_of("unknown", final=True, unknown_sends=2), ("sent", {}, False)),
    (entry_of("unknown", unknown_sends=2), entry_of("refused", final=True), ("unknown", {}, False)),
    (entry_of("not_sent"), entry_of("refused", final=True), ("not_sent", {}, False)),
]


@pytest.mark.parametrize(("one", "other", "expected"), MERGED)
def test_two_tasks_that_are_one_account_become_one(one: Entry, other: Entry, expected: tuple[Any, ...]) -> None:
    """0.1.0 took them for two, since a name differed: what was stored for either counts, and nothing is forgotten."""
    merged = merge(one, other)
    swapped = merge(other, one)

    assert expected == (merged.state, merged.facts, merged.needs_look)
    assert (2, one.unknown_sends + other.unknown_sends) == (merged.attempts, merged.unknown_sends)
    assert (merged.state, merged.attempts, merged.unknown_sends) == (
        *(swapped.state, swapped.attempts),
        swapped.unknown_sends,
    )


def test_rows_with_the_same_account_are_merged(path: Path) -> None:
    """Whatever the table says of such rows today: both were sent."""
    rows = pd.concat([rows_of(0), rows_of(0, document_number="DOC-OTHER")], ignore_index=True)
    old: list[Old] = [
        ("payer", 0, "done", 1, {}),
        ("bank_details", 0, "done", 1, {"id": "pd-0"}),
        ("bank_details", 1, "done", 1, {"id": "pd-1"}),
    ]
    table = Table(rows, holder_is_payer=True)
    make_old(path, table, old)
    found = upgraded(path, table)["bank_details", 0]

    assert found is not None
    assert ("duplicate", {"id": "pd-0", "other_ids": ["pd-1"]}, 2) == (found.state, found.facts, found.attempts)


def test_ids_that_differ_in_their_case_were_two_payers(path: Path) -> None:
    """Their rows are one payer today. Before, the run ended with an error of SQLite, and blamed the disk."""
    rows = [payer_row(1) | {"client_user_id": written} for written in ("Customer-1", "customer-1")]
    table, service = Table(pd.DataFrame(rows), holder_is_payer=True), ModelService()
    table.use_written_ids()
    old: list[Old] = [(step, row, "done", 1, {"id": f"pd-{row}"}) for step in table.steps for row in (0, 1)]
    with ModelClient(service) as client:
        make_old(path, table, old, own=client.account_secret, service_name=client.service_name())
    report = run(service, rows, path)

    assert ["done", "done"] == row_states(report)
    assert ["pd-0", "pd-0"] == list(report.frame["payment_details_id"])
    assert [] == service.requests
