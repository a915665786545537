"""The journal, and resuming a run: who may open it, what it proves, and what is never sent again."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from clocks import HandClock
from far_end import Behaviour, FarEnd, close, reply, reset
from onboarding_service import Service
from onboarding_tables import payer_row, run_arguments
from payerkit import InvalidInput, PayerkitError
from payerkit.client import Client, SandboxClient
from payerkit.onboarding.journal import Journal

Lossy = partial(Service, status=None, keeps=True)  # it stores an account whatever becomes of the response
RECONCILE_AFTER = 0.2
TASK, PAYER, ACCOUNT = b"k" * 16, "payer", "payment_detail"
POSIX = pytest.mark.skipif(os.name == "nt", reason="files have no mode there")


@pytest.fixture
def client() -> Iterator[SandboxClient]:
    """Run a sandbox for one test, whose ledger is counted."""
    with payerkit.sandbox(seed=1) as opened:
        yield opened


def table(*places: int, **changes: str) -> pd.DataFrame:
    """Return payers with an account each, which is their own."""
    return pd.DataFrame([payer_row(place) | changes for place in places])


def onboard(client: Client, rows: pd.DataFrame, path: Path, **options: Any) -> payerkit.onboarding.Report:
    """Run with short waits."""
    return payerkit.onboard(
        client,
        rows,
        journal=path,
        **run_arguments(**{"reconcile_after": RECONCILE_AFTER, "workers": 4, "holder_is_payer": True, **options}),
    )


def states(report: payerkit.onboarding.Report) -> list[tuple[str, str]]:
    """Return the last step of each row, and its state."""
    return list(zip(report.frame["step"], report.frame["state"], strict=True))


def written(client: SandboxClient) -> dict[str, int]:
    """Return the number of writes of each kind in the ledger."""
    return dict(client.sandbox.ledger()["what"].value_counts())


# Opening a journal


def test_a_second_process_is_refused_while_the_first_runs(client: SandboxClient, path: Path) -> None:
    """When the first one is killed, the journal can be opened."""
    code = "import sys; from pathlib import Path; from payerkit.onboarding.journal import Journal\n"
    code += "_, path, secret, name = sys.argv; journal = Journal(Path(path), bytes.fromhex(secret), service=name)\n"
    code += "print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), client.account_secret.hex(), client.service_name()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InvalidInput, match=r"run\.journal is in use by another run"):
            onboard(client, table(1), path)
        other.kill()
        other.wait()

    assert [("bank_details", "done")] == states(onboard(client, table(1), path))


def test_another_service_is_refused(client: SandboxClient, path: Path) -> None:
    """Another sandbox does not have the payers of the first one."""
    onboard(client, table(1), path)
    with payerkit.sandbox(seed=1) as other, pytest.raises(InvalidInput, match="belongs to another service or API key"):
        onboard(other, table(1), path)


def test_a_replaced_key_goes_on_with_its_journal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the previous key in the environment, nothing is stored again; the service gets the new key alone."""
    service = Lossy()
    with FarEnd([service]) as far_end:
        with payerkit.connect(far_end.url, api_key="key-one") as client:
            onboard(client, table(1), path)
        monkeypatch.setenv("PAYERKIT_PREVIOUS_API_KEY", "key-one")
        with payerkit.connect(far_end.url, api_key="key-two") as client:
            report = onboard(client, table(1, 2), path)
        keys = [request.headers["x-api-key"] for request in far_end.ledger]

    assert [("bank_details", "done")] * 2 == states(report)
    assert 2 == len(service.stored)
    assert ["key-one", "key-two"] == sorted(set(keys))


def test_a_previous_key_that_cannot_be_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names its variable, and not the key."""
    monkeypatch.setenv("PAYERKIT_PREVIOUS_API_KEY", "key-one ")
    with pytest.raises(InvalidInput, match="PAYERKIT_PREVIOUS_API_KEY: the key has a blank"):
        payerkit.connect("https://api.example.com", api_key="key-two")


def test_a_journal_stays_usable_if_the_service_does_not_respond(path: Path) -> None:
    """The run fails, and goes on with the same journal when the service responds again."""
    service = Lossy()
    with FarEnd([service]) as far_end, Client(far_end.url, "key") as client:
        service.root = [close]
        with pytest.raises(PayerkitError, match="GET / failed"):
            onboard(client, table(1), path)

        assert [("bank_details", "done")] == states(onboard(client, table(1), path))


@POSIX
def test_a_journal_is_readable_by_its_owner_alone(client: SandboxClient, path: Path) -> None:
    """So is the write-ahead log beside it."""
    with Journal(path, b"secret") as journal:
        journal.sent(TASK, payer=TASK, content=TASK)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert {"run.journal": 0o600, "run.journal-wal": 0o600} == modes
    onboard(client, table(1), path.with_name("second"))
    assert 0o600 == stat.S_IMODE(path.with_name("second").stat().st_mode)


@pytest.mark.parametrize(("name", "words"), [("missing/run.journal", "No such file"), (".", "Is a directory")])
def test_an_invalid_path_is_refused(client: SandboxClient, tmp_path: Path, name: str, words: str) -> None:
    """The message has the reason of the operating system, and nothing was sent."""
    with pytest.raises(InvalidInput, match=f"cannot be opened .{words}"):
        onboard(client, table(1), tmp_path / name)

    assert {} == written(client)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size stands for a full disk")
@pytest.mark.parametrize(
    ("size", "words"), [(4096, r"run\.journal cannot be used"), (262144, r"run\.journal cannot be used any more")]
)
def test_a_full_disk_ends_the_run(path: Path, size: int, words: str) -> None:
    """The error says so; with room on the disk, the same call does the rest, and nothing twice."""
    import resource  # noqa: PLC0415 - not on Windows

    limits, service = resource.getrlimit(resource.RLIMIT_FSIZE), Lossy()
    with FarEnd([service]) as far_end, Client(far_end.url, "key") as client:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(PayerkitError, match=words):
                onboard(client, table(*range(100)), path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        before, accounts = sum(each.method == "POST" for each in far_end.ledger), len(service.stored)
        report = onboard(client, table(*range(100)), path)

    assert (size > 4096) == bool(before)
    assert accounts < 100
    assert {("bank_details", "done")} == set(states(report))
    assert 100 == len(service.stored)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: content.replace(b'{"', b"{{"), "any more .a record is damaged"),
        (lambda content: content[: len(content) // 2 + 1], "malformed|is damaged"),
        (lambda content: content[:-4096], "is damaged: use"),
    ],
    ids=["a record", "half of it", "the last page"],
)
def test_a_damaged_journal_sends_nothing(
    client: SandboxClient, path: Path, damage: Callable[[bytes], bytes], words: str
) -> None:
    """A file that is cut, or has a record that is no JSON, is told as damaged; another one stores no account again."""
    rows = table(*range(60))
    onboard(client, rows, path)
    before = written(client)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(PayerkitError, match=words):
        onboard(client, rows, path)
    after = written(client)
    report = onboard(client, rows, path.with_name("another.journal"))

    assert before == after
    assert before[ACCOUNT] == written(client)[ACCOUNT]
    assert {("bank_details", "done")} == set(states(report))


# Resuming a run


def test_nothing_is_sent_without_a_record(path: Path) -> None:
    """A call that outlives its run cannot send, since the journal is closed; its late outcome is dropped."""
    with Journal(path, b"secret") as journal:
        journal.sent(TASK, payer=TASK, content=TASK)
    journal.record(TASK, "done")
    with pytest.raises(sqlite3.ProgrammingError):
        journal.sent(TASK, payer=TASK, content=TASK)
    with Journal(path, b"secret") as again:
        again.begin_run()
        entry = again.entry(TASK)

    assert entry is not None
    assert ("unknown", 1, 1) == (entry.state, entry.attempts, entry.unknown_sends)


def test_resuming_sends_nothing_twice(client: SandboxClient, path: Path) -> None:
    """The second report is equal to the first, and the ledger does not grow."""
    first = onboard(client, table(*range(20)), path)
    before = client.sandbox.ledger()
    second = onboard(client, table(*range(20)), path)

    assert {("bank_details", "done")} == set(states(first))
    pd.testing.assert_frame_equal(first.frame, second.frame)
    pd.testing.assert_frame_equal(before, client.sandbox.ledger())


def test_duplicate_rows_are_one_task(client: SandboxClient, path: Path) -> None:
    """Both rows report its outcome."""
    report = onboard(client, table(1, 1), path)

    assert [("bank_details", "done")] * 2 == states(report)
    assert 1 == report.frame["payment_details_id"].nunique()
    assert {PAYER: 1, ACCOUNT: 1} == written(client)


# Behaviour of services


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [
        (reply(409), ""),  # there is one already: the first; but the service does not return its status
        (reply(400), ""),
        (reply(401), "does not accept the API key"),  # stops the run
        (reply(429, headers={"Retry-After": "7200"}), "asks to wait 7200 seconds"),
    ],
)
def test_a_refusal_proves_nothing_about_an_earlier_attempt(path: Path, answer: Behaviour, stopped: str) -> None:
    """A payer whose first response was lost is not reported as refused or not sent: it may have been stored."""
    with FarEnd([Lossy(payers=[reset, answer])]) as far_end, Client(far_end.url, "key") as client:
        report = onboard(client, table(1), path)

    assert [("payer", "unknown")] == states(report)
    assert [2] == report.frame["attempts"].tolist()
    assert (stopped != "") == bool(report.stopped)
    assert stopped in report.stopped


def test_a_rate_limited_attempt_does_not_count(path: Path) -> None:
    """A payer that was rate limited and then had an unknown outcome is still sent once more."""
    slow = reply(429, headers={"Retry-After": "0"})
    service = Lossy(payers=[slow, slow, reset, slow, slow])
    with FarEnd([service]) as far_end, Client(far_end.url, "key") as client:
        report = onboard(client, table(1), path)

    assert [("bank_details", "done")] == states(report)


def test_a_long_retry_after_stops_the_run(path: Path) -> None:
    """The same call sends the rest later."""
    busy = reply(429, headers={"Retry-After": "7200"})
    service = Lossy(payers=[busy])
    clock = HandClock()
    with FarEnd([service]) as far_end, Client(far_end.url, "key", clock=clock.now) as client:
        first, early = onboard(client, table(1), path), onboard(client, table(1), path)
        clock.time += 7200
        second = onboard(client, table(1), path)

        assert 2 == sum(each.target == "/v2/payer" for each in far_end.ledger)
    assert "sends nothing for 7200 s" in early.stopped
    assert ([("payer", "not_sent")], [True]) == (states(first), first.frame["retryable"].tolist())
    assert "asks to wait 7200 seconds" in first.stopped
    assert [("bank_details", "done")] == states(second)
