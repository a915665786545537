"""Runs at their edges: odd cells, gateways that lie, limits in the middle of a run, interrupts between two steps."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import SecretStr

import payerkit
from bulk_tables import payer_rows
from clocks import LeapingClock, SteppedClock
from far_end import FarEnd, Received, close, reply
from payerkit.bulk import partitions
from payerkit.bulk import run as runs
from payerkit.bulk.progress import Progress
from payerkit.bulk.rate_limit import RateLimiter, StopSignal
from payerkit.bulk.run import Options, run_table
from payerkit.bulk.table import Table
from payerkit.bulk.tasks import Tasks
from payerkit.bulk.workers import run_workers
from payerkit.client import Client, RequestBody
from payerkit.errors import (
    InterruptedRun,
    InvalidInput,
    NotSent,
    PayerkitError,
    RateLimited,
    Refused,
    ServiceError,
    UnknownOutcome,
)
from payerkit.models import BankDetails, Payer
from payerkit.models.fields import SocialSecurityNumber
from payerkit.retry import LONGEST_WAIT, RUN_RETRIES
from published import ANSWERS, BANK_DETAILS, PAYER

STATUS = json.dumps(ANSWERS["create_payer"])
BANK = {name: value for name, value in BANK_DETAILS.items() if name not in PAYER}
NOTHING = reply(200, '{"paymentDetails": []}')
STORED = reply(201, '{"payment_detail": {"id": "id-1", "status": "approved"}}')
PAGE = reply(404, "<html>no backend</html>", {"Content-Type": "text/html"})
SECRET = b"secret of a test"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return a place for a journal."""
    return tmp_path / "run.journal"


def payers(count: int, **changes: Any) -> pd.DataFrame:
    """Return a table of payers."""
    return pd.DataFrame([{**PAYER, "clientUserId": f"row-{row}", **changes} for row in range(count)])


def accounts(count: int, **changes: Any) -> pd.DataFrame:
    """Return a table of accounts, each of a payer of its own."""
    return pd.DataFrame([{**BANK_DETAILS, "clientUserId": f"row-{row}", **changes} for row in range(count)])


# What is sent is what was checked

CELLS = {
    "text": "123-45-6789",
    "text of numpy's": np.str_("123-45-6789"),
    "a secret": SecretStr("123-45-6789"),
    "a secret of ours": SocialSecurityNumber("123-45-6789"),
    "nothing": None,
    "no number": float("nan"),
    "no decimal": Decimal("sNaN"),
    "a number": 123456789,
    "a large number": 10**400,
    "a duration": np.timedelta64(5, "D"),
    "a day": pd.Timestamp("1985-12-12"),
    "bytes": b"123-45-6789",
    "a list": ["123-45-6789"],
    "a dict": {("123", "45"): "6789"},
    "half a letter": "\ud800",
    "masked": "••••",
}


@pytest.mark.parametrize("member", ["ssn", "companyName", "clientUserId"])
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_a_cell_is_sent_as_a_call_sends_it_or_not_at_all(member: str, cell: Any) -> None:
    """Whatever a cell holds: the body is the one of `create_payer`, and what that refuses is not sent."""
    row = {**PAYER, member: cell}
    table = Table(pd.DataFrame([row], dtype=object))
    try:
        alone = RequestBody.of(Payer.of(row, {})).content
    except InvalidInput:
        assert table.blocked.tolist() == [True]
        return
    task = Tasks(table, SECRET).task("payer", 0)

    assert json.loads(alone) == json.loads(task.body.content)
    assert task.client_user_id == Payer.of(row, {}).client_user_id


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]", "object", "string", "category"])
def test_a_number_that_is_none_is_a_blank_cell(dtype: str) -> None:
    """NaN is not sent as one, whichever kind of column it stands in, also where pandas does not call it missing."""
    table = payers(2).assign(companyName=pd.Series([float("nan")] * 2, dtype=dtype))
    if dtype == "double[pyarrow]":
        arrow = pytest.importorskip("pyarrow")  # which does not call it missing, as here
        table["companyName"] = pd.arrays.ArrowExtensionArray(arrow.array([float("nan")] * 2, from_pandas=False))
    task = Tasks(Table(table), SECRET).task("payer", 0)

    assert "companyName" not in json.loads(task.body.content)


def test_tables_with_other_secrets_are_other_tables(connected: Callable[..., Client], journal: Path) -> None:
    """A secret counts by its value, not by what is shown of it."""
    with FarEnd([reply(200, STATUS)]) as far_end:
        client = connected(far_end.url)
        payerkit.onboard(client, payers(1, ssn=SecretStr("123-45-6789")), journal=journal, progress=False)
        with pytest.raises(InvalidInput, match="another table"):
            payerkit.onboard(client, payers(1, ssn=SecretStr("123-45-6788")), journal=journal, progress=False)


def test_a_column_without_a_name_is_refused() -> None:
    """A column that is called nothing is no member, and is not dropped in silence."""
    table = payers(1).assign(nameless="?")
    table.columns = pd.Index([*table.columns[:-1], None], dtype=object)
    with pytest.raises(InvalidInput, match="columns that cannot be used"):
        payerkit.plan_onboarding(table)


def test_one_payers_rows_are_read_together_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in any order are read in blocks, each once: a payer's accounts do not cost a block each."""
    rows = payer_rows(3000).sample(frac=1, random_state=1)
    table = Table(rows)
    read: list[int] = []
    blocks = [table._read_block(number) for number in range(-(-len(rows) // 1024))]

    def block(number: int) -> Any:
        read.append(number)
        return blocks[number]

    monkeypatch.setattr(table, "_block", block)
    tasks = Tasks(table, SECRET)
    for group in table.rows_by_payer():
        for row in group.tolist():
            tasks.task("bank_details", row)

    assert read == sorted(read)


# What a service and what is on the way to it say


@pytest.mark.parametrize("count", [1, 2])
def test_a_page_that_is_not_the_services_proves_nothing(
    connected: Callable[..., Client], journal: Path, count: int
) -> None:
    """A gateway without the service behind it does not show that an account is not there: nothing is sent again."""
    behaviours = [reply(404), NOTHING, close, *([NOTHING, STORED, reply(200, STATUS)] * (count - 1)), PAGE]
    with FarEnd(behaviours) as far_end:
        client = connected(far_end.url)
        report = payerkit.add_bank_details(
            client, accounts(count), journal=journal, workers=1, progress=False, reconcile_after=0.1
        )

        assert count == sum(request.method == "POST" for request in far_end.ledger)
    assert ("unknown", True) == tuple(report.frame.loc[0, ["state", "retryable"]])


def test_a_page_is_no_list_before_an_account_is_sent(connected: Callable[..., Client], journal: Path) -> None:
    """Unless it is known which accounts there are, none is sent: an old one would be taken for the new one."""
    with FarEnd([reply(404), PAGE]) as far_end:
        report = payerkit.add_bank_details(connected(far_end.url), accounts(1), journal=journal, progress=False)

        assert {"GET"} == {request.method for request in far_end.ledger}
    assert ("not_sent", True) == tuple(report.frame.loc[0, ["state", "retryable"]])


def stamped(moments: list[float], clock: Callable[[], float], behaviour: Any) -> Any:
    """Note when writes come; all meet one behaviour. Nothing is found by reading."""

    def behave(connection: socket.socket, request: Received) -> bool | None:
        if request.method == "GET":
            return reply(404)(connection, request)
        moments.append(clock())
        answer: bool | None = behaviour(connection, request)
        return answer

    return behave


def test_a_rate_is_kept_after_a_wait() -> None:
    """When a wait that the service asked for is over, those who waited do not all leave at once."""
    clock = SteppedClock(10)
    limiter = RateLimiter(20, StopSignal(), clock=clock.now, wait=clock.wait)
    moments: list[float] = []

    def send() -> None:
        moments.append(clock.now())
        if len(moments) == 1:
            raise RateLimited("Slow down.", retry_after=1)

    def call(_: int) -> None:
        limiter.call(send)
        clock.end()

    run_workers(call, range(10), workers=10, stop=limiter.stop)
    after = moments[1:]

    assert 10 == len(after)
    assert after[0] >= 1
    assert np.diff(after).min() >= 0.05 - 1e-6


@pytest.mark.parametrize("status", [429, 503])
def test_every_wait_is_kept_by_all(connected: Callable[..., Client], journal: Path, status: int) -> None:
    """Also the wait that comes with the last try of a call, or with another status, holds the next call back."""
    clock = LeapingClock()
    moments: list[float] = []
    with FarEnd([stamped(moments, clock.now, reply(status, headers={"Retry-After": "1"}))]) as far_end:
        options = Options(workers=1, reconcile_after=0)
        run_table(connected(far_end.url), Table(payers(2)), journal, options, progress=False, limiter=clock.limiter())
    gaps = np.diff(moments)

    assert len(gaps) > 1
    assert gaps.min() >= 0.9


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (NotSent("never left"), RUN_RETRIES.attempts),
        (RateLimited("slow down"), RUN_RETRIES.attempts),
        (RateLimited("slow down", retry_after=1), RUN_RETRIES.attempts),
        (ServiceError("a read failed"), RUN_RETRIES.attempts),
        (UnknownOutcome("a write may have happened"), 1),
        (Refused("no"), 1),
        (RateLimited("come back tomorrow", retry_after=LONGEST_WAIT + 1), 1),  # which ends the run
    ],
)
def test_a_run_follows_the_retry_policy(error: PayerkitError, attempts: int) -> None:
    """Only what provably changed nothing is repeated, and no more often than the policy says."""
    made: list[int] = []

    def call() -> None:
        made.append(1)
        raise error

    with pytest.raises(type(error)):
        LeapingClock().limiter().call(call)

    assert attempts == len(made)


def test_a_stop_is_seen_by_who_waits() -> None:
    """`wait` returns whether the run is stopped, as that of `threading.Event`, and the first reason counts."""
    stop = StopSignal()
    before = (bool(stop), stop.wait(0))
    stop.set("first")
    stop.set("second")

    assert (False, False) == before
    assert (True, True, "first") == (bool(stop), stop.wait(20), stop.reason)


def test_one_payer_who_is_forbidden_stops_nobody_else(connected: Callable[..., Client], journal: Path) -> None:
    """A 403 among answers is about its row; it is refused, and the others are sent."""

    def answer(connection: socket.socket, request: Received) -> bool | None:
        good, bad = reply(200, STATUS), reply(403, '{"message": "not from there"}')
        return (bad if b'"row-3"' in request.body else good)(connection, request)

    with FarEnd([answer]) as far_end:
        report = payerkit.onboard(connected(far_end.url), payers(20), journal=journal, workers=1, progress=False)

    assert (19, 1, "") == (report.counts["done"], report.counts["refused"], report.stopped)
    assert "not from there" in str(report.frame.loc[3, "reason"])


def test_a_key_that_is_forbidden_everything_ends_the_run(connected: Callable[..., Client], journal: Path) -> None:
    """Before anything was accepted, a few 403 tell that it is the key; what they were about can still be sent."""
    with FarEnd([reply(404), reply(403)]) as far_end:
        report = payerkit.onboard(connected(far_end.url), payers(50), journal=journal, workers=1, progress=False)

        assert 3 == sum(request.method == "POST" for request in far_end.ledger)
    assert (50, 50) == (report.counts["not_sent"], len(report.retryable))


PRIVATE = {"firstName": "Forenamed", "lastName": "Surnamed", "email": "somebody@example.com", "ssn": "123-45-6789"}


@pytest.mark.parametrize(
    "told",
    [
        {"userId": "mailbox@example.net"},
        {"userId": "row-0"},
        {"kycUrl": "https://example.com/?u=mailbox%40example.net"},
    ],
)
def test_an_answer_that_tells_who_it_is_leaves_no_trace(
    connected: Callable[..., Client], journal: Path, told: dict[str, str]
) -> None:
    """What a service repeats as its own id is kept neither in the journal nor in the report."""
    ((name, value),) = told.items()
    with FarEnd([reply(404), reply(200, json.dumps({**ANSWERS["create_payer"], name: value}))]) as far_end:
        report = payerkit.onboard(connected(far_end.url), payers(1), journal=journal, progress=False)

    assert 1 == report.counts["done"]
    assert value not in report.frame.drop(columns="client_user_id").to_csv()
    assert value not in written(journal)


def test_a_refused_account_tells_nothing_of_its_payer(connected: Callable[..., Client], journal: Path) -> None:
    """What a service says of the payer, of whom nothing stands in the account's body, is kept nowhere."""
    words = "Payer Forenamed Surnamed <somebody@example.com> or <another@example.org>, ssn 123-45-6789, is not approved"
    refused = reply(400, json.dumps({"message": words}))
    with FarEnd([reply(404), reply(200, STATUS), NOTHING, refused]) as far_end:
        report = payerkit.onboard(
            connected(far_end.url), payers(1, **PRIVATE, **BANK), journal=journal, workers=1, progress=False
        )
    reason = str(report.frame.loc[0, "reason"])

    assert ("refused", True) == (report.frame.loc[0, "state"], "is not approved" in reason)
    kept = reason + written(journal)
    assert [] == [value for value in (*PRIVATE.values(), "another@example.org") if value in kept]


def written(journal: Path) -> str:
    """Return everything that a journal holds, as text."""
    with sqlite3.connect(journal) as file:
        rows = [row for name in ("run", "task", "payer") for row in file.execute(f"SELECT * FROM {name}")]  # noqa: S608 - of three
    file.close()
    return repr(rows)


# How a run ends


def test_a_run_that_ends_while_something_is_unknown_gives_its_report(
    connected: Callable[..., Client], journal: Path
) -> None:
    """With one account stored, one unknown and a key that is no longer accepted, there is a report."""
    behaviours = [reply(404), NOTHING, STORED, NOTHING, close, reply(401)]
    with FarEnd(behaviours) as far_end:
        report = payerkit.add_bank_details(
            connected(far_end.url), accounts(4), journal=journal, workers=1, progress=False, reconcile_after=0.1
        )

    assert ["done", "unknown", "not_sent", "not_sent"] == report.frame["state"].tolist()
    assert "API key" in report.stopped


@pytest.mark.parametrize("where", ["_reconcile", "make_report"])
def test_an_interrupt_between_two_steps_has_the_report(
    connected: Callable[..., Client], journal: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Ctrl+C during reconciliation, or while the report is made, is an interrupted run as well."""
    place: Any = runs._Run if where == "_reconcile" else runs
    function = getattr(place, where)
    times: list[int] = []

    def interrupted(*arguments: Any) -> Any:
        times.append(1)
        if len(times) == 1:
            signal.raise_signal(signal.SIGINT)
        return function(*arguments)

    monkeypatch.setattr(place, where, interrupted)
    with FarEnd([reply(200, STATUS)]) as far_end, pytest.raises(InterruptedRun) as caught:
        payerkit.onboard(connected(far_end.url), payers(3), journal=journal, progress=False)

    assert 3 == caught.value.report.counts["done"]


def test_no_thread_outlives_a_mistake_in_the_one_that_waits() -> None:
    """Whatever the waiting thread raises, the tasks end before their client and journal are closed."""
    ended: list[int] = []

    def task(item: int) -> None:
        time.sleep(0.3)
        ended.append(item)

    def on_tick() -> None:
        raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        run_workers(task, range(100), workers=4, stop=StopSignal(), on_tick=on_tick)

    assert 4 == len(ended)


def test_a_bar_that_cannot_be_drawn_ends_no_run() -> None:
    """Where the bar was drawn may be gone: a closed pipe, a widget."""

    class Gone:
        n = 0

        def update(self, _: int) -> None:
            raise BrokenPipeError

        def close(self) -> None:
            raise AssertionError("there is nothing to close")

    progress = Progress(2, shown=False)
    progress._bar = Gone()
    with progress:
        progress.count("done")
        progress.refresh()
        progress.describe("on")


def test_a_sandbox_is_another_one_each_time(journal: Path) -> None:
    """With the same seed the same ids come again, and yet it is another service, which has nothing of the first."""
    for times in (1, 2):
        with payerkit.sandbox(seed=1) as client:
            if times == 1:
                payerkit.onboard(client, payers(1), journal=journal, progress=False)
                continue
            with pytest.raises(InvalidInput, match="another service"):
                payerkit.onboard(client, payers(1), journal=journal, progress=False)


def test_blanks_around_every_text_cost_little() -> None:
    """What is said of a thousand rows in the same words is made once."""
    table = payers(2000).map(lambda value: f" {value}")
    table["clientUserId"] = table["clientUserId"].str.strip()
    plan = payerkit.plan_onboarding(table)

    assert 2000 * (len(PAYER) - 1) == len(plan.findings)
    assert {"trimmed"} == set(plan.findings["code"])
    assert 2000 == plan.counts["to_send"]


def test_a_secret_in_a_row_is_a_value(connected: Callable[..., Client]) -> None:
    """A single call takes cells of a masking type as well."""
    with FarEnd([reply(200, STATUS)]) as far_end:
        payerkit.create_payer(connected(far_end.url), {**PAYER, "ssn": SecretStr("123-45-6789")})

        assert "123-45-6789" == json.loads(far_end.ledger[0].body)["ssn"]
    assert "Chase" == BankDetails.of({**BANK_DETAILS, "bankName": SecretStr("Chase")}, {}).bank_name


def test_findings_do_not_depend_on_how_many_rows_are_checked_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are checked part by part, so that checking a long table needs little memory; nothing is lost between."""
    rows = payer_rows(200)
    whole = Table(rows).findings
    monkeypatch.setattr(partitions, "_ROWS", 7)

    pd.testing.assert_frame_equal(whole, Table(rows).findings)
    assert len(whole) > 200
