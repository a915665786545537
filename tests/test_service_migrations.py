"""Databases of earlier versions: upgraded, whole or not at all, or refused; and many services that start at once."""

from __future__ import annotations

import base64
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event, inspect, text

from old_databases import load_old_database, recording_of
from payerkit import SandboxControls, create_payer, create_payment_detail, list_payment_details
from payerkit.client import Client
from payerkit.service.database_opening import open_database
from payerkit.service.encryption import EncryptionKeys, new_encryption_key
from payerkit.service.server import Service
from payerkit.service.settings import Settings, SetupError
from payerkit.service.stored_rows import VERSION
from processes import running
from published import BANK_DETAILS, ORDER, PAYER
from stores import ENCRYPTION_KEY, open_store

KEYS = EncryptionKeys(ENCRYPTION_KEY)
OTHER_KEY = base64.urlsafe_b64encode(bytes(32)).decode()
SETTINGS = Settings(seed="old", clock="manual")
HERE = str(Path(__file__).parent)
PAYERS_PATH = "/v1/payer/example-payer-001%40example.com"

START = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from stores import open_worlds
from payerkit.service.settings import Settings
print("ready", flush=True)
sys.stdin.readline()
db = sys.argv[2] if "://" in sys.argv[2] else Path(sys.argv[2])
worlds = open_worlds(db, Settings(seed="old", clock="manual"))
print(worlds.identity, "alembic" in sys.modules)
"""
"""Opens a database at a signal; prints its identity, and whether Alembic was needed."""


@pytest.fixture(
    params=[
        "sqlite last",
        pytest.param("sqlite first", marks=pytest.mark.slow),
        pytest.param("postgresql last", marks=pytest.mark.slow),
        pytest.param("postgresql first", marks=pytest.mark.slow),
    ]
)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str | Path, str]:
    """Return the path or URL of a database of 0.1.0, and its kind."""
    name, kind = request.param.split()
    db = tmp_path / "team.db" if name == "sqlite" else str(request.getfixturevalue("postgres"))
    load_old_database(db, kind)
    return db, kind


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """Return the path of a SQLite database of 0.1.0."""
    load_old_database(tmp_path / "team.db", "last")
    return tmp_path / "team.db"


Call = Callable[..., requests.Response]


@contextmanager
def serving(db: str | Path, api_key: str) -> Iterator[Call]:
    """Run a service on a database of 0.1.0, with the keys it had; give a function that calls it with its API key."""
    if isinstance(db, Path):
        db.with_name(f"{db.name}.api-key").write_text(api_key, "ascii")
    service = Service(SETTINGS, db=db, environment={"PAYERKIT_SANDBOX_ENCRYPTION_KEY": ENCRYPTION_KEY})
    service.start()
    try:
        with requests.Session() as session:
            session.headers["x-api-key"] = api_key
            yield lambda method, path, body=None: session.request(method, service.url + path, json=body, timeout=20)
    finally:
        service.stop()


def content_of(db: str | Path) -> dict[str, list[Any]]:
    """Return all rows of a database, by their tables."""
    engine = create_engine(f"sqlite:///{db}" if isinstance(db, Path) else db)
    with engine.connect() as connection:
        names = sorted(inspect(connection).get_table_names())
        rows = {name: connection.execute(text(f'SELECT * FROM "{name}" ORDER BY 1')).all() for name in names}  # noqa: S608
    engine.dispose()
    return {name: [tuple(row) for row in found] for name, found in rows.items()}


def change(db: str | Path, *statements: str) -> None:
    """Run statements on a database."""
    engine = create_engine(f"sqlite:///{db}" if isinstance(db, Path) else db)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def equal_bodies(ledger: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a ledger that tells of each row the first one with the same fingerprint, and no fingerprints."""
    first: dict[str, int] = {}
    return [row | {"fingerprint": first.setdefault(row["fingerprint"], row["number"])} for row in ledger]


def test_everything_of_an_old_database_is_there(old: tuple[str | Path, str]) -> None:
    """The service says of an upgraded database what 0.1.0 said, with the same key and identity."""
    recorded = recording_of(*old)
    with serving(old[0], recorded["api_key"]) as call:
        responses = {path: call("GET", path) for path in recorded["read"]}
    expected, found = recorded["read"], {path: response.json() for path, response in responses.items()}
    ledgers = [each.pop("/sandbox/ledger")["writes"] for each in (expected, found)]

    assert expected == found
    assert equal_bodies(ledgers[0]) == equal_bodies(ledgers[1])
    assert {recorded["identity"]} == {response.headers["x-payerkit-sandbox"] for response in responses.values()}


def test_an_upgraded_database_goes_on(old: tuple[str | Path, str]) -> None:
    """New rows get new numbers and ids; what is found by a lookup key is found, and what was stored before is known."""
    recorded = recording_of(*old)
    with serving(old[0], recorded["api_key"]) as call:
        before = call("GET", "/sandbox/ledger").json()["writes"]
        details = call("GET", f"{PAYERS_PATH}/payment-details").json()["paymentDetails"]
        body = BANK_DETAILS | {"bankName": "Example Bank"}  # as 0.1.0 stored it
        added = call("POST", f"{PAYERS_PATH}/payment-details", body).json()["payment_detail"]
        payer = call("POST", "/v2/payer", PAYER | {"clientUserId": "new@example.com"})
        again = call("POST", "/v2/payer", PAYER | {"clientUserId": "example-payer-001@example.com"})
        payment = call("POST", "/v1/pay", ORDER)
        links = {path: call("GET", path).status_code for path in recorded["links"]}
        entries = call("GET", f"/sandbox/ledger?after={len(before)}").json()["writes"]

    assert added["id"] not in [each["id"] for each in details]
    assert [200, 200, 201] == [each.status_code for each in (payer, again, payment)]
    assert recorded["read"]["/v2/payer/example-payer-001%40example.com"]["userId"] == again.json()["userId"]
    assert [len(before) + 1, len(before) + 2, len(before) + 3] == [each["number"] for each in entries]
    assert entries[0]["fingerprint"] in {each["fingerprint"] for each in before}
    assert set() == set(links.values()) - {200, 410}


def test_an_upgraded_database_is_like_a_new_one(old: tuple[str | Path, str], tmp_path: Path) -> None:
    """It has the same tables, columns, indexes and constraints."""
    db = old[0]
    open_store(db, SETTINGS).database.close()
    upgraded = tables_of(db)
    if isinstance(db, Path):
        new: str | Path = tmp_path / "new.db"
    else:
        change(db, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        new = db
    open_store(new, SETTINGS).database.close()

    assert tables_of(new) == upgraded


def tables_of(db: str | Path) -> dict[str, Any]:
    """Return what the tables of a database are."""
    engine = create_engine(f"sqlite:///{db}" if isinstance(db, Path) else db)
    looking = inspect(engine)
    found = {
        name: {
            "columns": [{**each, "type": str(each["type"])} for each in looking.get_columns(name)],
            "key": looking.get_pk_constraint(name),
            "unique": sorted(looking.get_unique_constraints(name), key=str),
            "indexes": sorted(looking.get_indexes(name), key=str),
            "references": sorted(looking.get_foreign_keys(name), key=str),
        }
        for name in looking.get_table_names()
    }
    engine.dispose()
    return found


def test_the_version_is_that_of_the_last_migration() -> None:
    """A change of the tables needs a migration."""
    config = Config()
    config.set_main_option("script_location", "payerkit.service:migrations")

    assert VERSION == ScriptDirectory.from_config(config).get_current_head()


def test_the_first_databases_had_no_ledger(old_file: Path) -> None:
    """It is empty then."""
    change(old_file, "DROP TABLE ledger")
    store = open_store(old_file, SETTINGS)
    entries = store.ledger_rows(0, 100)
    store.database.close()

    assert [] == entries


def test_nothing_of_a_payment_stays_readable(old_file: Path) -> None:
    """0.1.0 did not encrypt payments: neither the rows nor what SQLite leaves of deleted ones shows them."""
    payee = ORDER["payee"].encode()
    assert payee in old_file.read_bytes()
    open_store(old_file, SETTINGS).database.close()

    assert payee not in old_file.read_bytes()


def test_a_copy_is_kept_of_a_file(old_file: Path) -> None:
    """It is complete, its owner's alone, and opens with the same key; a new or upgraded file has none."""
    before = content_of(old_file)
    for _ in range(2):
        open_store(old_file, SETTINGS).database.close()
    copy = old_file.with_name("team.db.before-0003")
    open_store(old_file.with_name("new.db"), SETTINGS).database.close()

    assert before == content_of(copy)
    assert os.name != "posix" or copy.stat().st_mode & 0o777 == 0o600
    assert {"team.db", "team.db.before-0003", "new.db"} == {file.name for file in old_file.parent.iterdir()}


def test_an_old_database_opens_with_the_keys_it_had(old_file: Path) -> None:
    """With the file beside it, or with the variable of 0.1.0 and a warning that has its new name."""
    old_file.with_name("team.db.key").write_text(ENCRYPTION_KEY, "ascii")
    Service(SETTINGS, db=old_file, environment={}).stop()
    old_file.with_name("team.db.key").unlink()
    with pytest.warns(FutureWarning, match="is now called PAYERKIT_SANDBOX_ENCRYPTION_KEY"):
        Service(SETTINGS, db=old_file, environment={"PAYERKIT_SANDBOX_KEY": ENCRYPTION_KEY}).stop()

    assert 4 == len(content_of(old_file)["payers"])


def test_a_database_may_get_a_new_key_with_its_upgrade(old_file: Path) -> None:
    """The old one is given after the new one, once; then the new one alone opens the database."""
    new = new_encryption_key()
    open_database(old_file, EncryptionKeys(new, ENCRYPTION_KEY)).close()
    store = open_store(open_database(old_file, EncryptionKeys(new)), SETTINGS)
    details = store.list_details("example-payer-001@example.com", None)
    store.database.close()

    assert len(details) == 3


REFUSED = [
    ("UPDATE alembic_version SET version_num = '9999'", 'version "9999", which this payerkit does not know'),
    ("UPDATE alembic_version SET version_num = 'their own'", 'version "their own", which this'),
    ("DELETE FROM alembic_version", "tables that are not payerkit's"),  # nobody knows of which version it is
]


@pytest.mark.parametrize(("statement", "words"), REFUSED)
def test_an_unknown_version_is_refused(tmp_path: Path, statement: str, words: str) -> None:
    """One sentence says what to do, and the file stays as it is."""
    open_database(tmp_path / "x.db", KEYS).close()
    change(tmp_path / "x.db", statement)
    before = content_of(tmp_path / "x.db")
    with pytest.raises(SetupError, match=words):
        open_database(tmp_path / "x.db", KEYS)

    assert before == content_of(tmp_path / "x.db")
    assert ["x.db"] == [file.name for file in tmp_path.iterdir()]


def test_tables_of_another_program_are_refused(tmp_path: Path) -> None:
    """Its payments are not taken for those of 0.1.0."""
    change(tmp_path / "shop.db", "CREATE TABLE payments (id INTEGER)", "INSERT INTO payments VALUES (7)")
    with pytest.raises(SetupError, match="tables that are not payerkit's"):
        open_database(tmp_path / "shop.db", KEYS)

    assert {"payments": [(7,)]} == content_of(tmp_path / "shop.db")


@pytest.mark.parametrize(
    ("key", "statement", "words"),
    [
        (OTHER_KEY, None, "encrypted with another key"),
        (
            ENCRYPTION_KEY,
            "UPDATE payment_details SET sealed = X'00' WHERE id = 4",
            "row 4 of payment_details is damaged",
        ),
        (ENCRYPTION_KEY, "UPDATE payers SET sealed = X'FF80' WHERE id = 2", "row 2 of payers is damaged"),
    ],
)
def test_an_old_database_that_cannot_be_read_stays_as_it_is(
    old_file: Path, key: str, statement: str | None, words: str
) -> None:
    """Nothing is lost, and no copy left."""
    if statement:
        change(old_file, statement)
    before = content_of(old_file)
    with pytest.raises(SetupError, match=words):
        open_database(old_file, EncryptionKeys(key))

    assert before == content_of(old_file)
    assert ["team.db"] == [file.name for file in old_file.parent.iterdir()]


class InterruptionError(Exception):
    """Ends an upgrade early."""


@contextmanager
def interrupted(after: int) -> Iterator[None]:
    """Interrupt an upgrade after so many statements."""
    numbers = count(1)

    def interrupt(*_: object) -> None:
        if next(numbers) > after:
            raise InterruptionError

    event.listen(Engine, "before_cursor_execute", interrupt)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", interrupt)


@pytest.mark.parametrize("after", range(4, 64, 10))
def test_an_interrupted_upgrade_changes_nothing(old_file: Path, after: int) -> None:
    """Wherever it ends; the next start upgrades."""
    before = content_of(old_file)
    with interrupted(after), pytest.raises(InterruptionError):
        open_database(old_file, KEYS)

    assert before == content_of(old_file)
    open_database(old_file, KEYS).close()
    assert [(VERSION,)] == content_of(old_file)["alembic_version"]


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from itertools import count
from pathlib import Path
from sqlalchemy import Engine, event
from stores import open_worlds
numbers = count(1)
def end(*_):
    if next(numbers) > int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
event.listen(Engine, "before_cursor_execute", end)
open_worlds(sys.argv[2] if "://" in sys.argv[2] else Path(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize("after", [20, 60])
def test_a_killed_upgrade_changes_nothing(database: str | Path, after: int) -> None:
    """The next start upgrades, though the connection was not closed."""
    load_old_database(database, "last")
    before = content_of(database)
    ended = subprocess.run([sys.executable, "-c", KILLED, HERE, str(database), str(after)], check=False, cwd="/")

    assert -signal.SIGKILL == ended.returncode
    assert before == content_of(database)
    open_database(database, KEYS).close()
    assert [(VERSION,)] == content_of(database)["alembic_version"]


def start_at_once(db: str | Path, number: int) -> list[str]:
    """Open a database in so many processes at the same moment; return what each said."""
    command = [sys.executable, "-c", START, HERE, str(db)]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd="/") for _ in range(number)
    ]
    for process in processes:
        assert process.stdout
        assert "ready\n" == process.stdout.readline()
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=100) for process in processes]
    assert [0] * number == [process.returncode for process in processes], "\n".join(errors for _, errors in ended)
    return [said.strip() for said, _ in ended]


@pytest.mark.slow
def test_eight_processes_start_at_once_on_a_new_database(database: str | Path) -> None:
    """One creates the tables, and none needs Alembic, which would make each start slower."""
    said = start_at_once(database, 8)

    assert ["False"] * 8 == [each.partition(" ")[2] for each in said]
    assert 1 == len(set(said))


@pytest.mark.slow
def test_eight_processes_start_at_once_on_an_old_database(database: str | Path) -> None:
    """One upgrades it, and the others find it upgraded."""
    load_old_database(database, "last")
    said = [each.partition(" ") for each in start_at_once(database, 8)]
    rows = content_of(database)

    assert {recording_of(database, "last")["identity"]} == {identity for identity, _, _ in said}
    assert ["False"] * 7 + ["True"] == sorted(needed for _, _, needed in said)
    assert (4, 3, 1) == tuple(len(rows[name]) for name in ("payers", "payments", "worlds"))


def test_a_start_does_not_wait_for_writes(tmp_path: Path) -> None:
    """A database that needs nothing is only read."""
    open_store(tmp_path / "x.db", SETTINGS).database.close()
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        open_store(tmp_path / "x.db", SETTINGS).database.close()

    assert time.monotonic() - began < 5


def test_a_start_waits_for_another_that_starts(old_file: Path) -> None:
    """A file that is not in WAL mode yet: SQLite itself does not wait to change that while another program writes."""
    with closing(sqlite3.connect(old_file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.2, other.execute, ["COMMIT"])
        timer.start()
        open_database(old_file, KEYS).close()
        timer.join()

    assert [(VERSION,)] == content_of(old_file)["alembic_version"]


def test_two_databases_are_upgraded_at_once(tmp_path: Path) -> None:
    """In two threads of a process, such as two notebooks' sandboxes: Alembic keeps its connection in a module."""
    files = [tmp_path / f"{number}.db" for number in range(3)]
    for file in files:
        load_old_database(file, "last")
    threads = [threading.Thread(target=lambda file=file: open_database(file, KEYS).close()) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [[(VERSION,)]] * 3 == [content_of(file)["alembic_version"] for file in files]


API_KEY = "key-of-a-test-of-two-services"


@contextmanager
def team_service(url: str, folder: Path) -> Iterator[tuple[SandboxControls, Client, subprocess.Popen[str]]]:
    """Run a service on a database in a process of its own; give its controls, a client and the process."""
    environment = {
        "PAYERKIT_SANDBOX_ENCRYPTION_KEY": ENCRYPTION_KEY,
        "PAYERKIT_SANDBOX_API_KEY": API_KEY,
    }
    command = ("sandbox", "--port", "0", "--db", url, "--clock", "manual")
    with running(*command, folder=folder, **environment) as (printed, process):
        address = re.search(r"http://\S+:[0-9]+", printed)
        assert address, printed
        with Client(address[0], API_KEY) as client:
            yield SandboxControls(client), client, process


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_two_processes_serve_one_database(postgres: str, tmp_path: Path) -> None:
    """They share data and clock, lose and double nothing, and each goes on alone; faults are each one's own."""
    with team_service(postgres, tmp_path) as (controls, client, process), team_service(postgres, tmp_path) as second:
        others_controls, other, _ = second
        create_payer(client, PAYER)

        def write(each: Client) -> list[str]:
            return [str(create_payment_detail(each, PAYER["clientUserId"], BANK_DETAILS).id) for _ in range(5)]

        with ThreadPoolExecutor(8) as threads:
            stored = [one for ids in threads.map(write, [client, other] * 4) for one in ids]
        lists = [list(list_payment_details(each, PAYER["clientUserId"])["id"]) for each in (client, other)]
        controls.advance(hours=1)
        statuses = set(list_payment_details(other, PAYER["clientUserId"])["status"])
        controls.set_faults("fail_before=100%")
        responses = [
            requests.get(f"{each.base_url}/v2/payer/user-123", headers={"x-api-key": API_KEY}, timeout=20)
            for each in (client, other)
        ]
        process.kill()
        process.wait()
        create_payer(other, PAYER | {"clientUserId": "later"})
        ledger = others_controls.ledger()

    assert (sorted(stored), 40) == (sorted(lists[0]), len(set(stored)))
    assert lists[0] == lists[1]
    assert ({"approved"}, [503, 200]) == (statuses, [response.status_code for response in responses])
    assert 42 == len(ledger)
