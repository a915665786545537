"""The store: encryption, keys, both databases, and concurrent writers."""

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
from payerkit.service.accounts import add_account, listed_account
from payerkit.service.clock import Identifiers
from payerkit.service.database import open_database
from payerkit.service.failures import SetupError
from payerkit.service.keys import ENCRYPTION_KEY_VARIABLE, Seal, load_api_keys, load_seal, new_encryption_key
from payerkit.service.payers import complete_step, find_payer, is_compliant, save_payer
from payerkit.service.server import Service
from payerkit.service.settings import Settings
from payerkit.service.tables import AccountRow, PayerRow, WorldRow
from payerkit.service.world import World, WorldSession
from published import BANK_DETAILS, PAYER
from stores import ENCRYPTION_KEY, open_world, open_worlds

KEYS = Seal(ENCRYPTION_KEY)


def save(world: World, client_user_id: str) -> str:
    """Register a payer in a world; return its user id."""
    body = {**PAYER, "clientUserId": client_user_id}
    return world.call(lambda session: save_payer(session, body).user_id, write=True)


def add(world: World, client_user_id: str) -> dict[str, Any]:
    """Add an account in a world; return it as listed."""
    return world.call(lambda session: add_account(session, client_user_id, BANK_DETAILS), write=True)


def accounts_of(world: World) -> list[dict[str, Any]]:
    """Return all accounts of a world, as listed."""
    both = select(AccountRow, PayerRow.user_id).join(PayerRow, PayerRow.id == AccountRow.payer_id)
    return world.call(lambda session: [listed_account(*each) for each in session.execute(both)], write=False)


def test_everything_survives_a_restart(database: str | Path) -> None:
    """A second service on the same database finds payers, accounts and the identity."""
    worlds = [open_world(database) for _ in range(2)]
    user_id = save(worlds[0], str(database))
    record = add(worlds[0], str(database))

    assert user_id == worlds[1].call(lambda session: find_payer(session, str(database)).user_id, write=False)
    assert [record] == accounts_of(worlds[1])
    assert open_worlds(worlds[0].database).identity == open_worlds(worlds[1].database).identity
    for world in worlds:
        world.database.close()


@pytest.mark.slow
def test_writers_do_not_lose_each_others_writes(database: str | Path) -> None:
    """Eight threads, on two services with one database, lose no write."""
    worlds = [open_world(database, Settings(seed=5, accounts_after=60)) for _ in range(2)]
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
    return float(world.call(lambda session: session.now, write=False))


def advance(world: World, seconds: float) -> None:
    """Advance a world's clock."""
    world.call(lambda session: session.update_world(advanced=WorldRow.advanced + seconds), write=True)


def test_services_on_one_database_share_its_clock(database: str | Path) -> None:
    """A manual clock that one service advances is advanced for the other, and for one that starts later."""
    settings = Settings(clock="manual")
    worlds = [open_world(database, settings) for _ in range(2)]
    start = now(worlds[0])
    advance(worlds[0], 90)
    advance(worlds[1], 30.5)
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
        advance(world, 3600)
        seen = now(world)
        world.database.close()

    assert before + 7200 <= seen <= time.time() + 7200


def test_a_database_keeps_its_kind_of_clock(tmp_path: Path) -> None:
    """On another clock, what waits would be decided at once, or in months."""
    open_world(tmp_path / "x.db").database.close()
    database = open_database(tmp_path / "x.db", KEYS)
    with pytest.raises(SetupError, match='made with clock="wall"'):
        open_world(database, Settings(clock="manual"))
    database.close()


def test_another_key_is_noticed(database: str | Path) -> None:
    """A service refuses a database that was encrypted with another key."""
    open_world(database).database.close()
    with pytest.raises(SetupError, match=f"set {ENCRYPTION_KEY_VARIABLE}"):
        open_database(database, Seal(new_encryption_key()))


def test_a_service_runs_on_postgresql(postgres: str) -> None:
    """With an SQLAlchemy URL, the key comes from the environment, and the API key stays the same."""
    with pytest.raises(SetupError, match=f"Set {ENCRYPTION_KEY_VARIABLE}"):
        Service(Settings(), db=postgres, environment={})
    keys = []
    for _ in range(2):
        service = Service(Settings(), db=postgres, environment={ENCRYPTION_KEY_VARIABLE: ENCRYPTION_KEY})
        service.start()
        service.stop()
        keys.append(service.api_key)

    assert (True, 1) == (keys[0].startswith("sandbox_"), len(set(keys)))


def at_once(work: Callable[[], Any], count: int) -> list[Any]:
    """Return the results of a function that several threads call at the same moment."""
    barrier = threading.Barrier(count)

    def run(_: int) -> Any:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def test_services_may_start_at_the_same_time(postgres: str) -> None:
    """Several services on an empty database create one set of tables and one identity."""

    def start() -> str:
        opened = open_database(postgres, KEYS)
        try:
            return open_worlds(opened).identity
        finally:
            opened.close()

    assert len(set(at_once(start, 6))) == 1


def test_keys_beside_a_database_are_whole(tmp_path: Path) -> None:
    """Services that start at the same time all get the same key, and none an empty one."""
    for place in range(20):
        keys = at_once(lambda place=place: load_api_keys(tmp_path / f"{place}.db", {}), 6)  # type: ignore[misc]
        assert (1, True) == (len({each["default"] for each in keys}), keys[0]["default"].startswith("sandbox_"))
    assert {f"{place}.db.api-key" for place in range(20)} == {file.name for file in tmp_path.iterdir()}


def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """It is somebody else's, a folder, or no text."""
    (tmp_path / "x.db.key").mkdir()
    (tmp_path / "x.db.api-key").write_bytes(b"\xff")

    with pytest.raises(SetupError, match=r"cannot read x\.db\.key beside the database"):
        load_seal(tmp_path / "x.db", {})
    with pytest.raises(SetupError, match=r"x\.db\.api-key: "):
        load_api_keys(tmp_path / "x.db", {})


@pytest.mark.parametrize("text", ["", "\n", "two words", "schlüssel"])
def test_a_key_file_without_a_valid_key_is_refused(tmp_path: Path, text: str) -> None:
    """An empty key would let everybody in, and no header can carry the others."""
    (tmp_path / "x.db.api-key").write_text(text, "utf-8")

    with pytest.raises(SetupError, match="not a valid key"):
        load_api_keys(tmp_path / "x.db", {})


@pytest.mark.parametrize(
    "db",
    [
        *("", ".", ":memory:", "sqlite://", "sqlite:///:memory:", Path(), "a\0b"),
        *("sqlite:///file::memory:?uri=true", "sqlite:///file:x?mode=memory&uri=true"),
    ],
)
def test_a_database_that_is_not_a_file_is_refused(db: str | Path) -> None:
    """A folder is refused, and a database in memory, of which each thread would see its own."""
    with pytest.raises(SetupError, match="expected a file"):
        open_database(db, KEYS)


def test_an_sqlite_url_is_used_unchanged(tmp_path: Path) -> None:
    """The options of an SQLite URL reach the driver."""
    with pytest.raises(SetupError, match="cannot open the database"):
        open_database(f"sqlite:///file:{tmp_path}/missing.db?mode=ro&uri=true", KEYS)


def test_a_statement_that_fails_does_not_show_its_values(tmp_path: Path) -> None:
    """No database error contains the stored values."""
    database = open_database(tmp_path / "x.db", KEYS)
    with database.transaction(write=True) as connection:
        connection.execute(insert(WorldRow).values(name="secret name"))
        with pytest.raises(IntegrityError) as caught:
            connection.execute(insert(WorldRow).values(name="secret name"))
    database.close()

    assert "secret name" not in str(caught.value)


@pytest.mark.parametrize(
    ("db", "words"),
    [
        ("nonsense://x", "db: "),
        ("postgresql+psycopg://nobody@127.0.0.1:9/none", "cannot open the database: .*Connection refused"),
        ("postgresql+asyncpg://x/y", "db: "),  # a driver that is not installed
        ("postgresql+psycopg://x:port/y", "db: "),
        ("/nonexistent/folder/x.db", "cannot open the database"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_database_that_cannot_be_opened_is_reported(db: Any, words: str) -> None:
    """A URL that cannot be opened gets a SetupError."""
    with pytest.raises(SetupError, match=words):
        open_database(db, KEYS)


def test_a_missing_key_file_is_reported(tmp_path: Path) -> None:
    """A database whose key file is missing gets no new key."""
    (tmp_path / "team.db").touch()

    with pytest.raises(SetupError, match=r"team\.db\.key is missing"):
        load_seal(tmp_path / "team.db", {})


def test_an_invalid_encryption_key_is_refused(tmp_path: Path) -> None:
    """The message names where it is from, and does not repeat it."""
    (tmp_path / "x.db.key").write_text("my-secret-word")
    for file, environment, source in (
        (None, {"PAYERKIT_SANDBOX_ENCRYPTION_KEY": "my-secret-word"}, "PAYERKIT_SANDBOX_ENCRYPTION_KEY"),
        (tmp_path / "x.db", {}, r"x\.db\.key"),
    ):
        with pytest.raises(SetupError, match=f"^{source}: not a Fernet key") as caught:
            load_seal(file, environment)

        assert "my-secret-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("kyc", "agreement", "compliant"),
    [
        ("approved", "completed", True),
        ("completed", "signed", True),
        ("full_clearance", "signed", True),
        ("prechecks_completed", "signed", False),
        ("pending", "completed", False),
        ("approved", "not_started", False),
        ("approved", "pending", False),
    ],
)
def test_compliance_requires_both(kyc: str, agreement: str, compliant: bool) -> None:
    """A payer is compliant when the check is passed and the agreement is signed."""
    assert compliant == is_compliant(PayerRow(kyc=kyc, agreement=agreement))


@table("service_settings")
def test_invalid_settings_are_refused(options: dict[str, Any]) -> None:
    """An invalid setting is refused by name."""
    (name,) = options
    with pytest.raises(SetupError, match=name):
        Settings(**options)


def test_seeded_ids_depend_on_their_subject() -> None:
    """Equal seeds and subjects give equal ids, other subjects other ids; without a seed ids are random."""
    seeded = [Identifiers(1).uuid("payer", "a"), Identifiers(1).uuid("payer", "a"), Identifiers(1).uuid("payer", "b")]

    assert (seeded[0], True) == (seeded[1], seeded[0] != seeded[2])
    assert Identifiers().uuid("payer", "a") != Identifiers().uuid("payer", "a")


def test_of_two_signatures_at_once_one_counts(database: str | Path) -> None:
    """A double click gets one result, whichever thread is faster."""
    world = open_world(database)
    save(world, "user-123")

    def sign(session: WorldSession) -> bool:
        return complete_step(session, find_payer(session, "user-123"), "agreement")

    signed = at_once(lambda: world.call(sign, write=True), 8)
    world.database.close()

    assert 7 == signed.count(False)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sandbox SET version = version + 1",  # of a later one
        "DROP TABLE sandbox",  # of one that had no such table
    ],
)
def test_a_database_of_another_version_is_left_alone(database: str | Path, statement: str) -> None:
    """One sentence says so, and nothing in it changes."""
    world = open_world(database)
    save(world, "user-123")
    with world.database.transaction(write=True) as connection:
        connection.execute(text(statement))
    world.database.close()
    before = database.read_bytes() if isinstance(database, Path) else b""
    with pytest.raises(SetupError, match="of another version of payerkit"):
        open_database(database, KEYS)

    assert before == (database.read_bytes() if isinstance(database, Path) else b"")
