"""Runs: what is sent, what is repeated, what is looked up, and what is left to the user."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from far_end import FarEnd, message, reply
from onboarding_tables import onboard, run_arguments
from payerkit import InvalidInput
from payerkit.client import Client, SandboxClient
from payerkit.errors import InterruptedRun
from payerkit.onboarding import RunOptions
from payerkit.onboarding.limiter import StopSignal, run_workers
from published import ANSWERS, BANK_DETAILS, PAYER, as_columns

Connect = Callable[..., Client]
STATUS = json.dumps(ANSWERS["create_payer"])
BANK = as_columns(BANK_DETAILS)


def payers(count: int, **changes: Any) -> pd.DataFrame:
    """Return a table of payers."""
    return pd.DataFrame([{**PAYER, "clientUserId": f"row-{row}", **changes} for row in range(count)])


def accounts(count: int, **changes: Any) -> pd.DataFrame:
    """Return a table of accounts of one payer."""
    rows = [{**BANK_DETAILS, "clientUserId": "row-0", "accountNumber": f"25300923348{row}"} for row in range(count)]
    return pd.DataFrame([{**row, **changes} for row in rows])


def test_a_table_is_onboarded(path: Path) -> None:
    """Payers first, then their accounts; the report has the service's ids, statuses and links, row by row."""
    table = payers(5).assign(**BANK)
    with payerkit.sandbox(seed=1, decide_after=0) as client:
        report = onboard(client, table, path)
        listed = payerkit.statuses.list_many(client, table["clientUserId"], progress=False)
        ledger = client.sandbox.ledger()

    assert {"done": 5, "refused": 0, "unknown": 0, "not_sent": 0, "waiting": 0, "duplicate": 0} == report.counts
    assert listed["id"].tolist() == report.frame["payment_details_id"].tolist()
    assert ["payer"] * 5 + ["payment_detail"] * 5 == ledger["what"].tolist()
    assert report.frame["agreement_url"].str.startswith(client.base_url).all()
    assert ("bank_details", "not_started", "approved", 2) == tuple(
        report.frame.loc[0, ["step", "kyc_status", "status", "attempts"]]
    )


def test_rows_with_errors_are_not_sent_and_warnings_are(path: Path) -> None:
    """A row with an error is not sent, and has a reason; a row with a warning is sent."""
    table = payers(3)
    table.loc[0, "email"] = "nobody"
    table.loc[1, "postcode"] = "1"
    with payerkit.sandbox(seed=1) as client:
        report = onboard(client, table, path)

    assert ["not_sent", "done", "done"] == report.frame["state"].tolist()
    assert "email: Not an e-mail address. Write it as name@example.com." == report.frame.loc[0, "reason"]
    assert 0 == len(report.retryable)


def posts(far_end: FarEnd) -> list[str]:
    """Return the targets of the writes that arrived."""
    return [each.target for each in far_end.ledger if each.method == "POST"]


def test_an_account_waits_for_its_payer(connected: Connect, path: Path) -> None:
    """If the payer was refused, the account is not sent, and the row says why."""
    table = payers(1).assign(**BANK)
    with FarEnd([reply(404), reply(400, '{"message": "not this one"}')]) as far_end:
        report = onboard(connected(far_end.url), table, path)

        assert ["/v2/payer"] == posts(far_end)
    assert ("payer", "refused") == tuple(report.frame.loc[0, ["step", "state"]])
    assert "not this one" in str(report.frame.loc[0, "reason"])


def test_a_wrong_key_ends_the_run(connected: Connect, path: Path) -> None:
    """A wrong key stops the run at the first 401, instead of failing for every row."""
    with FarEnd([reply(404), reply(401)]) as far_end:
        report = onboard(connected(far_end.url), payers(50), path, workers=1)

        assert 1 == len(posts(far_end))
    assert (50, 50) == (report.counts["not_sent"], len(report.retryable))
    assert "does not accept the API key" in report.stopped
    assert report.stopped.endswith("set PAYERKIT_PREVIOUS_API_KEY to this one: it opens the journal.")
    assert report.frame["reason"].str.contains("API key").all()


def test_an_unreachable_service_ends_the_run(connected: Connect, path: Path) -> None:
    """A run stops if the service cannot be reached any more, instead of trying every row."""

    def answer_and_go(connection: socket.socket, _: object) -> None:
        connection.sendall(message(404, b"{}"))
        far_end._socket.shutdown(socket.SHUT_RDWR)

    with FarEnd([answer_and_go]) as far_end:
        report = onboard(connected(far_end.url), payers(200), path)

    assert (200, 200) == (report.counts["not_sent"], len(report.retryable))
    assert "could not be reached" in report.stopped


def test_an_interrupt_waits_for_the_call_under_way() -> None:
    """When the interrupted workers are done, so is what one of them was doing: it can be reported."""
    begun, stop, done = threading.Event(), StopSignal(), list[int]()

    def call(item: int) -> None:
        begun.set()
        threading.Event().wait(0.3)
        done.append(item)

    def interrupt() -> None:
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    run_workers(call, [1, 2, 3], workers=1, stop=stop)

    assert ([1], True) == (done, bool(stop))


@contextmanager
def interrupt_after(writes: int, client: SandboxClient) -> Iterator[None]:
    """Press the stop button once a sandbox has stored so many payers, however slow this machine is."""
    is_over = threading.Event()

    def press() -> None:
        while len(client.sandbox.ledger()) < writes:
            if is_over.wait(0.05):
                return
        signal.raise_signal(signal.SIGINT)

    presser = threading.Thread(target=press, daemon=True)
    presser.start()
    try:
        yield
    finally:
        is_over.set()
        presser.join()


def test_an_interrupt_loses_nothing(path: Path) -> None:
    """Calls under way end by themselves, the error holds the report, and the same call goes on."""
    with payerkit.sandbox(seed=1) as client:
        with interrupt_after(10, client), pytest.raises(InterruptedRun) as caught:
            onboard(client, payers(100), path, workers=4, rate=50)
        first = caught.value.report.counts
        report = onboard(client, payers(100), path)
        ledger = client.sandbox.ledger()

    assert (100, 0, True) == (sum(first.values()), first["unknown"], 0 < first["done"] < 100)
    assert (100, 100) == (report.counts["done"], ledger["client_user_id"].nunique())
    assert 100 == len(ledger)


@table("refused_options")
def test_invalid_options_are_refused(shared: Client, path: Path, options: dict[str, Any], named: str) -> None:
    """An invalid option is named before anything is sent."""
    with pytest.raises(InvalidInput, match=f"^{named}: "):
        payerkit.onboard(shared, payers(1), journal=path, **run_arguments(**options))


def test_options_are_run_options(shared: Client, path: Path) -> None:
    """A dict would hide a misspelt name."""
    with pytest.raises(InvalidInput, match="options: expected RunOptions, got a dict"):
        payerkit.onboard(shared, payers(1), journal=path, options={"limit": 3})  # type: ignore[arg-type]


def test_the_journal_of_a_file_is_beside_it(shared: Client, tmp_path: Path) -> None:
    """As on the command line; rows that are from no file need one by name."""
    pd.DataFrame([PAYER | {"clientUserId": "beside"}]).to_csv(tmp_path / "payers.csv", index=False)
    rows = payerkit.read_payers(tmp_path / "payers.csv")
    payerkit.onboard(shared, rows, options=RunOptions(progress=False))

    assert (tmp_path / "payers.csv.journal").is_file()
    with pytest.raises(InvalidInput, match="journal: give a file"):
        payerkit.onboard(shared, payers(1))


def test_progress_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bar counts the payers, and how many of them are done."""
    with payerkit.sandbox(seed=1) as client:
        payerkit.onboard(client, payers(3), journal=path)

    told = capsys.readouterr().err
    assert ("payer 3 of 3 [" in told, "3 done" in told) == (True, True)
