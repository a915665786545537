"""The store: both databases, and concurrent writers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import IntegrityError

from cases import table
from payerkit_sandbox.accounts import add_account, listed_account
from payerkit_sandbox.clock import advance_clock
from payerkit_sandbox.database import open_database
from payerkit_sandbox.failures import SetupError
from payerkit_sandbox.models import AccountRow, WorldRow
from payerkit_sandbox.payers import complete_step, find_payer, save_payer
from payerkit_sandbox.server import Service
from payerkit_sandbox.settings import Settings
from payerkit_sandbox.worlds import World
from published import BANK_DETAILS, PAYER
from stores import open_world, open_worlds


def save(world: World, client_user_id: str) -> str:
    """Register a payer in a world; return its user id."""
    body = {**PAYER, "clientUserId": client_user_id}
    with world.begin(write=True) as session:
        return save_payer(session, body).user_id


def add(world: World, client_user_id: str) -> dict[str, Any]:
    """Add an account in a world; return it as listed."""
    with world.begin(write=True) as session:
        return {**listed_account(add_account(session, client_user_id, BANK_DETAILS))}


def accounts_of(world: World) -> list[dict[str, Any]]:
    """Return all accounts of a world, as listed."""
    with world.begin(write=False) as session:
        return [{**listed_account(row)} for row in session.scalars(select(AccountRow))]


def test_everything_survives_a_restart(database: str | Path) -> None:
    """A second service on the same database finds payers, accounts and the identity."""
    worlds = [open_world(database) for _ in range(2)]
    user_id = save(worlds[0], str(database))
    record = add(worlds[0], str(database))

    with worlds[1].begin(write=False) as session:
        assert user_id == find_payer(session, str(database)).user_id
    assert [record] == accounts_of(worlds[1])
    assert (
        open_worlds(worlds[0].database).identity
        == open_worlds(worlds[1].database).identity
    )
    for world in worlds:
        world.database.close()


@pytest.mark.slow
def test_writers_do_not_lose_each_others_writes(database: str | Path) -> None:
    """Eight threads, on two services with one database, lose no write."""
    worlds = [
        open_world(database, Settings(seed=5, accounts_after=60)) for _ in range(2)
    ]
    save(worlds[0], "many")

    turns = cycle(worlds)

    def write() -> None:
        world = next(turns)
        for _ in range(15):
            add(world, "many")
            save(world, "at once")

    at_once(write, 8)
    records = accounts_of(worlds[0])
    assert (120, 120) == (len(records), len({record["id"] for record in records}))
    for world in worlds:
        world.database.close()


def now(world: World) -> float:
    """Return the time of a world's clock."""
    with world.begin(write=False) as session:
        return session.now


def go_on(world: World, seconds: float) -> None:
    """Advance a world's clock."""
    with world.begin(write=True) as session:
        advance_clock({"seconds": seconds}, session)


def test_services_on_one_database_share_its_clock(database: str | Path) -> None:
    """A manual clock that one service advances is advanced for the other, and for one
    that starts later.
    """
    settings = Settings(clock="manual")
    worlds = [open_world(database, settings) for _ in range(2)]
    start = now(worlds[0])
    go_on(worlds[0], 90)
    go_on(worlds[1], 30.5)
    worlds.append(open_world(database, settings))
    times = [now(world) - start for world in worlds]
    for world in worlds:
        world.database.close()

    assert [120.5] * 3 == times


def test_a_wall_clock_runs_ahead_once_it_is_advanced(tmp_path: Path) -> None:
    """An advance is added to the real time, also after a restart."""
    before = time.time()
    for _ in range(2):
        world = open_world(tmp_path / "x.db")
        go_on(world, 3600)
        seen = now(world)
        world.database.close()

    assert before + 7200 <= seen <= time.time() + 7200


def test_a_database_keeps_its_kind_of_clock(tmp_path: Path) -> None:
    """On another clock, what waits would be decided at once, or in months."""
    open_world(tmp_path / "x.db").database.close()
    database = open_database(tmp_path / "x.db")
    with pytest.raises(SetupError, match='made with clock="wall"'):
        open_world(database, Settings(clock="manual"))
    database.close()


def test_the_api_key_is_kept_in_the_database(database: str | Path) -> None:
    """Of a file, and of a database with an SQLAlchemy URL: it stays the same."""
    keys = []
    for _ in range(2):
        service = Service(Settings(), db=database)
        service.start()
        service.stop()
        keys.append(service.api_key)

    assert (True, 1) == (keys[0].startswith("sandbox_"), len(set(keys)))


def at_once(work: Callable[[], Any], count: int) -> list[Any]:
    """Return the results of a function that several threads call at the same moment."""
    barrier = threading.Barrier(count)

    def run(_: int) -> Any:
        barrier.wait(timeout=20)
        return work()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def test_services_may_start_at_the_same_time(postgres: str) -> None:
    """Several services on an empty database create one set of tables and one
    identity.
    """

    def start() -> str:
        opened = open_database(postgres)
        try:
            return open_worlds(opened).identity
        finally:
            opened.close()

    assert len(set(at_once(start, 6))) == 1


@pytest.mark.parametrize(
    "db",
    [
        *("", ".", ":memory:", "sqlite://", "sqlite:///:memory:", Path(), "a\0b"),
        *("sqlite:///file::memory:?uri=true", "sqlite:///file:x?mode=memory&uri=true"),
    ],
)
def test_a_database_that_is_not_a_file_is_refused(db: str | Path) -> None:
    """A folder is refused, and a database in memory, of which each thread would see its
    own.
    """
    with pytest.raises(SetupError, match="expected a file"):
        open_database(db)


def test_an_sqlite_url_is_used_unchanged(tmp_path: Path) -> None:
    """The options of an SQLite URL reach the driver."""
    with pytest.raises(SetupError, match="cannot open the database"):
        open_database(f"sqlite:///file:{tmp_path}/missing.db?mode=ro&uri=true")


def test_a_statement_that_fails_does_not_show_its_values(tmp_path: Path) -> None:
    """No database error contains the stored values."""
    database = open_database(tmp_path / "x.db")
    with database.writing.begin() as connection:
        connection.execute(insert(WorldRow).values(name="secret name"))
        with pytest.raises(IntegrityError) as caught:
            connection.execute(insert(WorldRow).values(name="secret name"))
    database.close()

    assert "secret name" not in str(caught.value)


@pytest.mark.parametrize(
    ("db", "words"),
    [
        ("nonsense://x", "db: "),
        (
            "postgresql+psycopg://nobody@127.0.0.1:9/none",
            "cannot open the database: .*Connection refused",
        ),
        ("postgresql+asyncpg://x/y", "db: "),  # a driver that is not installed
        ("postgresql+psycopg://x:port/y", "db: "),
        ("/nonexistent/folder/x.db", "cannot open the database"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_database_that_cannot_be_opened_is_reported(db: Any, words: str) -> None:
    """A URL that cannot be opened gets a SetupError."""
    with pytest.raises(SetupError, match=words):
        open_database(db)


@table("service_settings")
def test_invalid_settings_are_refused(options: dict[str, Any]) -> None:
    """An invalid setting is refused by name."""
    (name,) = options
    with pytest.raises(SetupError, match=name):
        Settings(**options)


def test_of_two_signatures_at_once_one_counts(database: str | Path) -> None:
    """A double click gets one result, whichever thread is faster."""
    world = open_world(database)
    save(world, "user-123")

    def sign() -> bool:
        with world.begin(write=True) as session:
            return complete_step(session, find_payer(session, "user-123"), "agreement")

    signed = at_once(sign, 8)
    world.database.close()

    assert 7 == signed.count(False)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sandbox SET version = version + 1",  # of a later one
        "DROP TABLE sandbox",  # of one that had no such table
    ],
)
def test_a_database_of_another_version_is_left_alone(
    database: str | Path, statement: str
) -> None:
    """One sentence says so, and nothing in it changes."""
    world = open_world(database)
    save(world, "user-123")
    with world.database.writing.begin() as connection:
        connection.execute(text(statement))
    world.database.close()
    before = database.read_bytes() if isinstance(database, Path) else b""
    with pytest.raises(SetupError, match="of another version of payerkit"):
        open_database(database)

    assert before == (database.read_bytes() if isinstance(database, Path) else b"")
