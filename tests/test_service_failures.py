"""A database that is stuck, full, changed or gone: what the response and the log say,
and what works meanwhile.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from psycopg import errors
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

import payerkit
from payerkit import InvalidInput
from payerkit.client import SandboxClient
from payerkit_sandbox import database as service_database
from payerkit_sandbox.database import http_error_of
from postgres_server import PostgresServer, controlled_postgres, find_initdb
from published import BANK_DETAILS, PAYER


@pytest.fixture
def impatient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let writes wait shortly for those before them: 0.6 seconds, or the parameter."""
    monkeypatch.setattr(
        service_database, "LOCK_SECONDS", getattr(request, "param", 0.6)
    )


def post(client: SandboxClient, **changes: str) -> requests.Response:
    """Return the response to the registration of a payer, as it comes."""
    headers = {"x-api-key": client.reveal_key()}
    return requests.post(
        f"{client.base_url}/v2/payer", json=PAYER | changes, headers=headers, timeout=30
    )


def get(client: SandboxClient, path: str) -> int:
    """Return the status of a response."""
    headers = {"x-api-key": client.reveal_key()}
    return requests.get(
        f"{client.base_url}{path}", headers=headers, timeout=30
    ).status_code


@pytest.fixture
def shared_sandbox(
    database: str | Path,
) -> Iterator[tuple[SandboxClient, Callable[[], Any]]]:
    """Yield a sandbox with a payer, and a function that takes the write lock and gives
    what releases it.
    """
    is_file = isinstance(database, Path)
    begin = (
        ["BEGIN IMMEDIATE"]
        if is_file
        else ["BEGIN", "LOCK TABLE payers IN EXCLUSIVE MODE"]
    )
    engine = create_engine(
        f"sqlite:///{database}" if is_file else str(database),
        isolation_level="AUTOCOMMIT",
    )
    with payerkit.sandbox(db=database) as client, engine.connect() as other:
        payerkit.create_payer(client, PAYER)

        def lock() -> Callable[[], object]:
            for statement in begin:
                other.exec_driver_sql(statement)
            return partial(other.exec_driver_sql, "ROLLBACK")

        yield client, lock
    engine.dispose()


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "impatient", [3.0], indirect=True
)  # long enough for 53 calls on a machine that is busy
def test_a_stuck_lock_holds_up_writes_alone(
    shared_sandbox: tuple[SandboxClient, Callable[[], Any]],
) -> None:
    """Of 50 writes that wait for a lock each ends with 503; before any does, reads and
    the start page respond.
    """
    client, lock = shared_sandbox
    release = lock()
    with ThreadPoolExecutor(50) as pool:
        writes = [
            pool.submit(post, client, clientUserId=f"user-{place}")
            for place in range(50)
        ]
        time.sleep(0.5)
        reads = [
            get(client, path) for path in ("/v2/payer/user-123", "/", "/sandbox/terms")
        ]
        has_ended = any(write.done() for write in writes)
        responses = [write.result(timeout=30) for write in writes]
    release()

    assert not has_ended
    assert [200] * 3 == reads
    assert {(503, "1")} == {
        (each.status_code, each.headers["Retry-After"]) for each in responses
    }
    assert all(
        each.json()["message"].endswith("or is busy; nothing was stored")
        for each in responses
    )
    assert 200 == post(client).status_code
    assert 2 == len(client.sandbox.ledger())


def test_writes_go_on_when_a_lock_is_released(
    shared_sandbox: tuple[SandboxClient, Callable[[], Any]],
) -> None:
    """A write that waits for less than its limit is stored."""
    client, lock = shared_sandbox
    release = lock()
    threading.Timer(0.2, release).start()

    assert 200 == post(client, city="Albany").status_code


def test_a_full_disk_is_told_and_what_is_stored_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is stored by halves, reads go on, and writes as well once there is
    room.
    """
    pages = 2**30
    prepare = service_database._prepare_sqlite

    def prepare_small(connection: Any, record: object) -> None:
        prepare(connection, record)
        connection.execute(f"PRAGMA max_page_count={pages}")

    monkeypatch.setattr(service_database, "_prepare_sqlite", prepare_small)
    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        payerkit.create_payer(client, PAYER)
    pages = (tmp_path / "x.db").stat().st_size // 4096
    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        response = post(client, clientUserId="another", city="x" * 100_000)
        assert (507, "is full; nothing was stored") == (
            response.status_code,
            response.json()["message"][-27:],
        )
        assert 200 == get(client, "/v2/payer/user-123")
    pages = 2**30
    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        status = post(client, clientUserId="a third").status_code
        stored = client.sandbox.ledger()["client_user_id"].to_list()

    assert (200, ["user-123", "a third"]) == (status, stored)
    assert "database: OperationalError: database or disk is full" in caplog.messages


def test_a_missing_column_is_told_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The response does not ask to try again, since waiting does not help; the log
    names the column.
    """
    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        with closing(sqlite3.connect(tmp_path / "x.db")) as other:
            other.execute("ALTER TABLE payers RENAME COLUMN agreement TO renamed")
        response = post(client)

    assert (500, None) == (response.status_code, response.headers.get("Retry-After"))
    assert "see its log" in response.json()["message"]
    (record,) = [
        each for each in caplog.records if each.name == "payerkit.sandbox"
    ]  # and no value that was sent
    words = "database: OperationalError: no such column: payers.agreement"
    assert (logging.ERROR, words) == (record.levelno, record.getMessage())


def test_a_commit_that_sqlite_refuses_stores_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response says so, and the next write is stored."""

    def fail(*_: object) -> None:
        error = sqlite3.OperationalError("words of SQLite")
        error.sqlite_errorname = "SQLITE_IOERR"
        raise error

    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        payerkit.create_payer(client, PAYER)
        monkeypatch.setattr("sqlalchemy.engine.default.DefaultDialect.do_commit", fail)
        response = post(client, clientUserId="another")
        with pytest.raises(payerkit.UnknownOutcome):
            payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
        monkeypatch.undo()
        assert 404 == get(client, "/v2/payer/another")
        assert 200 == post(client).status_code

    assert (503, "nothing was stored") == (
        response.status_code,
        response.json()["message"][-18:],
    )


REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'refused at the end' USING DETAIL = NEW.kyc_page; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON payers DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION refuse()"""


def test_a_commit_that_postgresql_refuses_has_an_unknown_outcome(
    postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As a trigger does that runs at the end of a transaction; its words are in the
    log, no value is.
    """
    engine = create_engine(postgres)
    with payerkit.sandbox(db=postgres) as client:
        with engine.begin() as connection:
            connection.execute(text(REFUSE))
        response = post(client)
    engine.dispose()

    assert (500, "see what is stored before you call again") == (
        response.status_code,
        response.json()["message"][-40:],
    )
    assert "database commit: RaiseException: refused at the end" in caplog.messages


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """Yield a PostgreSQL server of one test's own."""
    initdb = find_initdb()
    if initdb is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with controlled_postgres(initdb) as controlled:
        yield controlled


@pytest.mark.postgres
def test_a_postgresql_that_was_killed_and_started_again(
    server: PostgresServer,
) -> None:
    """While it is gone, calls end with 503 at once; afterwards everything goes on, with
    all that was stored.
    """
    with payerkit.sandbox(db=server.url) as client:
        with ThreadPoolExecutor(4) as pool:
            stored = list(
                pool.map(
                    lambda place: (
                        post(client, clientUserId=f"user-{place}").status_code
                    ),
                    range(40),
                )
            )
            server.kill()
            gone = [
                *pool.map(lambda _: post(client).status_code, range(4)),
                get(client, "/v2/payer/x"),
            ]
            page = get(client, "/")
            server.start()
            again = list(
                pool.map(
                    lambda place: (
                        post(client, clientUserId=f"user-{place}").status_code
                    ),
                    range(80),
                )
            )
        there = {get(client, f"/v2/payer/user-{place}") for place in range(80)}

    assert ([200] * 40, [503] * 5, 200) == (stored, gone, page)
    assert ([200] * 80, {200}) == (again, there)


@pytest.mark.usefixtures("impatient")
def test_a_database_that_is_locked_at_the_start_is_told(
    tmp_path: Path,
) -> None:
    """The sandbox does not start, and says why."""
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            InvalidInput, match=r"db: cannot open the database: .* database is locked"
        ):
            payerkit.sandbox(db=tmp_path / "x.db")


def broken(kind: type[Exception], *, invalidated: bool = False) -> OperationalError:
    """Return a failure as PostgreSQL's driver gives it."""
    cause = kind("words with a value")
    return OperationalError("INSERT", {}, cause, connection_invalidated=invalidated)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (broken(errors.DiskFull), 507),
        (broken(errors.LockNotAvailable), 503),
        (broken(errors.QueryCanceled), 503),  # a statement took too long
        (broken(errors.AdminShutdown), 503),
        (
            broken(psycopg.OperationalError, invalidated=True),
            503,
        ),  # nothing could be asked
        (PoolTimeout(), 503),
        (
            ProgrammingError(
                "INSERT", {}, errors.UndefinedColumn("words with a value")
            ),
            500,
        ),
        (
            IntegrityError("INSERT", {}, errors.NotNullViolation("words with a value")),
            500,
        ),
    ],
)
def test_failures_of_postgresql_are_told_apart(error: Any, status: int) -> None:
    """A full disk, what is over when one waits, and what is a fault of the sandbox."""
    assert status == http_error_of(error).status
