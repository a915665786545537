"""The journal, and resuming a run: who may open it, what it proves, and what is never
sent again.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import onboarding_tables
import payerkit
from clocks import HandClock
from far_end import Behaviour, FarEnd, close, reply, reset
from onboarding_model import FINE, LOST_BEFORE, ModelClient, ModelService, api_error
from onboarding_service import Service
from onboarding_tables import payer_row
from payerkit import InvalidInput, PayerkitError
from payerkit.client import Client, SandboxClient
from payerkit.runs import RunOptions
from payerkit.runs.journal import Journal, Subject
from processes import first_line

Lossy = partial(
    Service, status=None, keeps=True
)  # it stores an account whatever becomes of the response
QUIET = RunOptions(progress=False)
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


onboard = partial(onboarding_tables.onboard, workers=4, holder_is_payer=True)


def states(report: payerkit.runs.Report) -> list[tuple[str, str]]:
    """Return the last step of each row, and its state."""
    return list(zip(report.frame["step"], report.frame["state"], strict=True))


def written(client: SandboxClient) -> dict[str, int]:
    """Return the number of writes of each kind in the ledger."""
    return dict(client.sandbox.ledger()["what"].value_counts())


# Opening a journal


def test_a_second_process_is_refused_while_the_first_runs(
    client: SandboxClient, path: Path
) -> None:
    """When the first one is killed, the journal can be opened."""
    code = (
        "import sys; from pathlib import Path; from payerkit.runs.journal import"
        " Journal\n"
    )
    code += (
        "_, path, name = sys.argv; journal = Journal(Path(path), service=name,"
        " environment='sandbox')\n"
    )
    code += "print('open', flush=True); input()"
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(path),
            client.service_name(),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        first_line(other)
        with pytest.raises(
            InvalidInput, match=r"run\.journal is in use by another run"
        ):
            onboard(client, table(1), path)
        other.kill()
        other.wait(timeout=20)

    assert [("bank_details", "done")] == states(onboard(client, table(1), path))


def test_a_second_practice_session_begins_anew(
    client: SandboxClient, tmp_path: Path
) -> None:
    """The sandbox of yesterday is gone, and its payers with it: its journal is set
    aside.
    """
    file = tmp_path / "mine.csv"
    table(1, holder_is_payer="yes").to_csv(file, index=False)
    before = payerkit.onboard(client, file, options=QUIET).journal.read_bytes()
    with payerkit.sandbox(seed=1) as other:
        report = payerkit.onboard(other, file, options=QUIET)
        sent = written(other)
    aside = tmp_path / "mine.csv.journal.old-1"

    assert [("bank_details", "done")] == states(report)
    assert {PAYER: 1, ACCOUNT: 1} == sent
    assert (
        "mine.csv.journal was the journal of another sandbox: it was set aside as"
        " mine.csv.journal.old-1, and a new one begun." in str(report)
    )
    assert before == aside.read_bytes()
    assert aside.with_name(f"{aside.name}.secret").is_file()


def test_another_service_is_refused(path: Path, service: ModelService) -> None:
    """Its journal has other payers. The error names the file."""
    with ModelClient(service) as client:
        onboard(client, table(1), path)
    with (
        ModelClient(service, address="https://other.example.com") as other,
        pytest.raises(InvalidInput, match=r"run\.journal belongs to another service"),
    ):
        onboard(other, table(1), path)

    assert 1 == service.count("account")


# The journal of a file


def test_each_service_has_a_journal_beside_the_file(
    tmp_path: Path, service: ModelService
) -> None:
    """From the sandbox to one service and the next, without a question, and back to
    each; a replaced key goes on in it.
    """
    file = tmp_path / "payers.csv"
    table(1, holder_is_payer="yes").to_csv(file, index=False)
    with payerkit.sandbox(seed=1) as practice:
        reports = [payerkit.onboard(practice, file, options=QUIET)]
    others = ["https://one.example.com", "https://two.example.com"]
    for number, address in enumerate([*others, *others]):
        key = f"example-key-{number}"
        with ModelClient(service, key, address=address) as client:
            reports.append(payerkit.onboard(client, file, options=QUIET))

    assert [1] * 5 == [report.counts["done"] for report in reports]
    assert "set aside" in str(reports[1])
    assert [
        "payers.csv.journal",
        "payers.csv.two.example.com.journal",
        "payers.csv.journal",
        "payers.csv.two.example.com.journal",
    ] == [report.journal.name for report in reports[1:]]


def test_the_journal_of_a_sample_is_where_the_process_is(
    tmp_path: Path, client: SandboxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package that is installed gets no files."""
    monkeypatch.chdir(tmp_path)
    sample = payerkit.samples.workbook("payouts.xlsx")
    rows = payerkit.read_payers(
        sample, mapping={"Payee": "account_name", "Notes": None}, normalise=True
    )
    payerkit.onboard(client, rows.tail(1), options=QUIET)

    assert (tmp_path / "payouts.xlsx.journal").is_file()
    assert [] == list(sample.parent.glob("*.journal*"))


def test_another_journal_beside_the_file_is_told(
    tmp_path: Path, service: ModelService
) -> None:
    """A run does not see what it knows."""
    file = tmp_path / "payers.csv"
    table(1, holder_is_payer="yes").to_csv(file, index=False)
    with ModelClient(service) as client:
        first = payerkit.onboard(client, file, options=QUIET)
        second = payerkit.onboard(
            client, file, journal=tmp_path / "mine.journal", options=QUIET
        )

    assert "there is also" not in str(first)
    assert "there is also payers.csv.journal." in str(second)
    assert 1 == service.count("account")


# What a plan knows of it


@pytest.mark.slow
def test_a_plan_looks_at_the_journal(tmp_path: Path, service: ModelService) -> None:
    """At the one that is named, or the one beside the file: what it has is not counted
    as sent.
    """
    file = tmp_path / "payers.csv"
    rows = table(1, 2, 3, 4, holder_is_payer="yes")
    rows.head(3).to_csv(file, index=False)
    service.next["account"].extend([FINE, LOST_BEFORE, api_error(400, "No")])
    before = payerkit.plan_onboarding(file)
    with ModelClient(service) as client:
        payerkit.onboard(client, file, options=RunOptions(progress=False, workers=1))
    rows.to_csv(file, index=False)
    after = payerkit.plan_onboarding(file)
    named = payerkit.plan_onboarding(rows, journal=tmp_path / "payers.csv.journal")
    again = payerkit.plan_onboarding(file, options=RunOptions(retry="unknown"))
    other = payerkit.plan_onboarding(file, journal=tmp_path / "new.journal")
    sent = len(service.requests)
    with ModelClient(service) as client:
        payerkit.onboard(client, file, options=RunOptions(progress=False, workers=1))

    assert (3, 3) == (before.counts["payers"], before.counts["accounts"])
    for plan in (after, named):
        assert ["done", "unknown", "refused", "to_send"] == plan.frame["state"].tolist()
        assert (1, 1) == (plan.counts["payers"], plan.counts["accounts"])
        assert (1, 2) == (plan.counts["done"], plan.counts["left"])
        assert "The journal payers.csv.journal has 1 row as done" in str(plan)
    assert ["", "", "", "send"] == after.frame["bank_details"].tolist()
    assert (1, 2) == (again.counts["payers"], again.counts["accounts"])
    assert 4 == other.counts["accounts"]
    assert ["payer", "account"] == [
        kind for kind, _ in service.requests[sent:] if kind in {"payer", "account"}
    ]
    assert not (tmp_path / "new.journal").exists()


def test_a_plan_says_which_rows_would_be_stopped(
    path: Path, service: ModelService
) -> None:
    """A corrected account whose first version is stored, and an id in another
    spelling.
    """
    rows = table(1, 2, holder_is_payer="yes")
    with ModelClient(service) as client:
        onboard(client, rows, path)
    rows.loc[0, "account_number"] = "4411223344"
    rows["client_user_id"] = [rows["client_user_id"][0], "CUSTOMER-00002@example.org"]
    plan = payerkit.plan_onboarding(rows, journal=path)

    assert ["not_sent", "not_sent"] == plan.frame["state"].tolist()
    assert ["row_gone", "id_respelled"] == [
        reason.partition(":")[0] for reason in plan.frame["reason"]
    ]
    assert (0, 0) == (plan.counts["payers"], plan.counts["accounts"])


def test_a_journal_stays_usable_if_the_service_does_not_respond(path: Path) -> None:
    """The run fails, and goes on with the same journal when the service responds
    again.
    """
    service = Lossy()
    with FarEnd([service]) as far_end, Client(far_end.url, "key") as client:
        service.root = [close]
        with pytest.raises(PayerkitError, match="GET / failed"):
            onboard(client, table(1), path)

        assert [("bank_details", "done")] == states(onboard(client, table(1), path))


@POSIX
def test_a_journal_is_readable_by_its_owner_alone(
    client: SandboxClient, path: Path
) -> None:
    """So are the write-ahead log and the secret beside it."""
    with Journal(path) as journal:
        journal.sent(TASK, Subject(TASK))
        modes = {
            file.name: stat.S_IMODE(file.stat().st_mode)
            for file in path.parent.iterdir()
        }

    names = ["run.journal", "run.journal-wal", "run.journal.secret"]
    assert dict.fromkeys(names, 0o600) == modes
    onboard(client, table(1), path.with_name("second"))
    assert 0o600 == stat.S_IMODE(path.with_name("second").stat().st_mode)


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing/run.journal", "No such file"), (".", "Is a directory")],
)
def test_an_invalid_path_is_refused(
    client: SandboxClient, tmp_path: Path, name: str, words: str
) -> None:
    """The message has the reason of the operating system, and nothing was sent."""
    with pytest.raises(InvalidInput, match=f"cannot be opened .{words}"):
        onboard(client, table(1), tmp_path / name)

    assert {} == written(client)


@pytest.mark.skipif(
    sys.platform != "linux", reason="the limit of a file's size stands for a full disk"
)
@pytest.mark.parametrize(
    ("size", "words"),
    [
        (4096, r"run\.journal cannot be used"),
        (262144, r"run\.journal cannot be used any more"),
    ],
)
def test_a_full_disk_ends_the_run(path: Path, size: int, words: str) -> None:
    """The error says so; with room on the disk, the same call does the rest, and
    nothing twice.
    """
    import resource  # noqa: PLC0415 - not on Windows

    limits, service = resource.getrlimit(resource.RLIMIT_FSIZE), Lossy()
    with FarEnd([service]) as far_end, Client(far_end.url, "key") as client:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(PayerkitError, match=words):
                onboard(client, table(*range(100)), path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        before, accounts = (
            sum(each.method == "POST" for each in far_end.ledger),
            len(service.stored),
        )
        report = onboard(client, table(*range(100)), path)

    assert (size > 4096) == bool(before)
    assert accounts < 100
    assert {("bank_details", "done")} == set(states(report))
    assert 100 == len(service.stored)


def test_a_damaged_journal_sends_nothing(path: Path, service: ModelService) -> None:
    """A file that is cut, or has a record that is no JSON, is told as damaged; another
    one stores no account again.
    """
    rows = table(*range(60))
    with ModelClient(service) as client:
        onboard(client, rows, path)
        content = path.read_bytes()
        sent = len(service.requests)
        damaged = [
            (content.replace(b'{"', b"{{"), "any more .a record is damaged"),
            (content[: len(content) // 2 + 1], "malformed|is damaged"),
            (content[:-4096], "is damaged: use"),
        ]
        for left, words in damaged:
            path.write_bytes(left)
            with pytest.raises(PayerkitError, match=words):
                onboard(client, rows, path)

        assert sent == len(service.requests)
        report = onboard(client, rows, path.with_name("another.journal"))

    assert 60 == service.count("account")
    assert {("bank_details", "done")} == set(states(report))


# Resuming a run


def test_nothing_is_sent_without_a_record(path: Path) -> None:
    """A call that outlives its run cannot send, since the journal is closed; its late
    outcome is dropped.
    """
    with Journal(path) as journal:
        journal.sent(TASK, Subject(TASK))
    journal.record(TASK, "done")
    with pytest.raises(sqlite3.ProgrammingError):
        journal.sent(TASK, Subject(TASK))
    with Journal(path) as again:
        again.begin_run()
        entry = again.entry(TASK)

    assert entry is not None
    assert ("unknown", 1, True) == (entry.state, entry.attempts, entry.was_unknown)


def test_resuming_sends_nothing_twice(client: SandboxClient, path: Path) -> None:
    """The second report is equal to the first, and the ledger does not grow."""
    first = onboard(client, table(*range(5)), path)
    before = client.sandbox.ledger()
    second = onboard(client, table(*range(5)), path)

    assert {("bank_details", "done")} == set(states(first))
    pd.testing.assert_frame_equal(first.frame, second.frame)
    pd.testing.assert_frame_equal(before, client.sandbox.ledger())


# Behaviour of services


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [
        # There is one already: the first; but the service does not return its status.
        (reply(409), ""),
        (reply(400), ""),
        (reply(401), "does not accept the API key"),  # stops the run
        (reply(429, headers={"Retry-After": "7200"}), "asks to wait 7,200 seconds"),
    ],
)
@pytest.mark.slow
def test_a_refusal_proves_nothing_about_an_earlier_attempt(
    path: Path, answer: Behaviour, stopped: str
) -> None:
    """A payer whose first response was lost is not reported as refused or not sent: it
    may have been stored.
    """
    with (
        FarEnd([Lossy(payers=[reset, answer, answer])]) as far_end,
        Client(far_end.url, "key") as client,
    ):
        report = onboard(client, table(1), path)

    assert [("payer", "unknown")] == states(report)
    assert [2 if stopped else 3] == report.frame["attempts"].tolist()
    assert (stopped != "") == bool(report.stopped)
    assert stopped in report.stopped


def test_a_long_retry_after_stops_the_run(path: Path) -> None:
    """The same call sends the rest later."""
    busy = reply(429, headers={"Retry-After": "7200"})
    service = Lossy(payers=[busy])
    clock = HandClock()
    with (
        FarEnd([service]) as far_end,
        Client(far_end.url, "key", clock=clock.now) as client,
    ):
        first, early = onboard(client, table(1), path), onboard(client, table(1), path)
        clock.time += 7200
        second = onboard(client, table(1), path)

        assert 2 == sum(each.target == "/v2/payer" for each in far_end.ledger)
    assert "sends nothing for 7200 s" in early.stopped
    assert ([("payer", "not_sent")], [True]) == (
        states(first),
        first.frame["retryable"].tolist(),
    )
    assert "asks to wait 7,200 seconds" in first.stopped
    assert [("bank_details", "done")] == states(second)
