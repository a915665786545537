"""Runs: what is sent, repeated, and left to the user; odd cells, responses of gateways,
and early ends.
"""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pydantic import SecretStr

import payerkit
from cases import table
from clocks import LeapingClock
from far_end import FarEnd, Received, close, message, reply
from onboarding_tables import make_task, onboard, run_arguments
from payerkit import InvalidInput, Payer, PayerkitError, Refused, UnknownOutcome
from payerkit.client import Client, SandboxClient
from payerkit.client.call import RequestBody
from payerkit.errors import (
    InterruptedRun,
    NotFound,
    NotSent,
    RateLimited,
    ServiceError,
    WrongKey,
)
from payerkit.models.formats import Hidden
from payerkit.runs import Report, RunOptions
from payerkit.runs.limiter import (
    LONGEST_WAIT,
    MAX_FOREIGN,
    MAX_RATE_LIMITED,
    RUN_RETRIES,
    RateLimiter,
    StopSignal,
    run_workers,
)
from payerkit.runs.progress import Progress
from payerkit.runs.tasks import Table
from published import ANSWERS, BANK_DETAILS, PAYER, as_columns

Connect = Callable[..., Client]
STATUS = json.dumps(ANSWERS["create_payer"])
BANK = as_columns(BANK_DETAILS)


def payers(count: int, **changes: Any) -> pd.DataFrame:
    """Return a table of payers."""
    return pd.DataFrame(
        [{**PAYER, "clientUserId": f"row-{row}", **changes} for row in range(count)]
    )


def test_a_table_is_onboarded(path: Path) -> None:
    """Payers first, then their accounts; the report has the service's ids, statuses and
    links, row by row.
    """
    table = payers(5).assign(**BANK)
    with payerkit.sandbox(seed=1, decide_after=0) as client:
        report = onboard(client, table, path)
        ids = [
            payerkit.list_payment_details(client, client_user_id)["id"][0]
            for client_user_id in table["clientUserId"]
        ]
        ledger = client.sandbox.ledger()

    assert {
        "done": 5,
        "refused": 0,
        "unknown": 0,
        "not_sent": 0,
        "waiting": 0,
        "duplicate": 0,
    } == report.counts
    assert ids == report.frame["payment_details_id"].tolist()
    assert ["payer"] * 5 + ["payment_detail"] * 5 == ledger["what"].tolist()
    assert report.frame["agreement_url"].str.startswith(client.base_url).all()
    assert ("bank_details", "not_started", "approved", 2) == tuple(
        report.frame.loc[0, ["step", "kyc_status", "status", "attempts"]]
    )


def posts(far_end: FarEnd) -> list[str]:
    """Return the targets of the writes that arrived."""
    return [each.target for each in far_end.ledger if each.method == "POST"]


def test_a_wrong_key_ends_the_run(connected: Connect, path: Path) -> None:
    """A wrong key stops the run at the first 401, instead of failing for every row."""
    with FarEnd([reply(404), reply(401)]) as far_end:
        report = onboard(connected(far_end.url), payers(50), path, workers=1)

        assert 1 == len(posts(far_end))
    assert (50, 50) == (report.counts["not_sent"], report.frame["retryable"].sum())
    assert "does not accept the API key" in report.stopped
    assert report.stopped.endswith(
        "If this key was replaced, use the new one: the journal goes on with it."
    )
    assert report.frame["reason"].str.contains("API key").all()


def test_an_unreachable_service_ends_the_run(connected: Connect, path: Path) -> None:
    """A run stops if the service cannot be reached any more, instead of trying every
    row.
    """

    def answer_and_go(connection: socket.socket, _: object) -> None:
        connection.sendall(message(404, b"{}"))
        far_end._socket.shutdown(socket.SHUT_RDWR)

    with FarEnd([answer_and_go]) as far_end:
        report = onboard(connected(far_end.url), payers(200), path)

    assert (200, 200) == (report.counts["not_sent"], report.frame["retryable"].sum())
    assert "did not answer 10 times in a row" in report.stopped
    assert "could not be sent" in report.stopped


@contextmanager
def interrupt_after(writes: int, client: SandboxClient) -> Iterator[None]:
    """Press the stop button once a sandbox has stored so many payers, however slow this
    machine is.
    """
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
        presser.join(timeout=20)


def test_an_interrupt_loses_nothing(path: Path) -> None:
    """Calls under way end by themselves, the error holds the report, and the same call
    goes on.
    """
    with payerkit.sandbox(seed=1, faults="latency=0.05") as client:
        with interrupt_after(10, client), pytest.raises(InterruptedRun) as caught:
            onboard(client, payers(100), path, workers=4)
        first = caught.value.report.counts
        report = onboard(client, payers(100), path)
        ledger = client.sandbox.ledger()

    assert (100, 0, True) == (
        sum(first.values()),
        first["unknown"],
        0 < first["done"] < 100,
    )
    assert (100, 100) == (report.counts["done"], ledger["client_user_id"].nunique())
    assert 100 == len(ledger)


@table("refused_options")
def test_invalid_options_are_refused(
    shared: Client, path: Path, options: dict[str, Any], named: str
) -> None:
    """An invalid option is named before anything is sent."""
    with pytest.raises(InvalidInput, match=f"^{named}: "):
        payerkit.onboard(shared, payers(1), journal=path, **run_arguments(**options))


def test_options_are_run_options(shared: Client, path: Path) -> None:
    """A dict would hide a misspelt name."""
    with pytest.raises(InvalidInput, match="options: expected RunOptions, got a dict"):
        payerkit.onboard(shared, payers(1), journal=path, options={"limit": 3})  # type: ignore[arg-type]


def test_rows_from_no_file_need_a_journal(shared: Client) -> None:
    """There is no file that it could be beside."""
    with pytest.raises(InvalidInput, match="journal: give a file"):
        payerkit.onboard(shared, payers(1))


# Edge cases


NOTHING = reply(200, '{"paymentDetails": []}')
STORED = reply(201, '{"payment_detail": {"id": "id-1", "status": "approved"}}')
PAGE = reply(404, "<html>no backend</html>", {"Content-Type": "text/html"})
SECRET = b"secret of a test"


def add_accounts(client: Client, count: int, path: Path) -> Report:
    """Send so many accounts, each of another payer, one after the other."""
    rows = [{**BANK_DETAILS, "clientUserId": f"row-{row}"} for row in range(count)]
    options = RunOptions(workers=1, progress=False)
    return payerkit.add_bank_details(
        client, pd.DataFrame(rows), journal=path, options=options
    )


# What is sent is what was checked

CELLS = {
    "text": "123-45-6789",
    "text of numpy's": np.str_("123-45-6789"),
    "a secret": SecretStr("123-45-6789"),
    "a secret of ours": Hidden("123-45-6789"),
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


@pytest.mark.parametrize(
    ("cell", "member"), list(product(CELLS, ["ssn", "companyName", "clientUserId"]))
)
def test_a_row_is_sent_as_a_single_call_or_not_at_all(member: str, cell: str) -> None:
    """The body is that of `create_payer`, and a row that `create_payer` refuses is not
    sent.
    """
    row = {**PAYER, member: CELLS[cell]}
    table = Table(pd.DataFrame([row], dtype=object))
    try:
        alone = RequestBody(Payer.of(row, {}).to_dict(reveal=True)).content
    except InvalidInput:
        assert [True] == [row.is_blocked for row in table.rows]
        return
    task = make_task(table, SECRET, "payer", 0)

    assert json.loads(alone) == json.loads(task.body.content)
    assert task.client_user_id == Payer.of(row, {}).client_user_id


@pytest.mark.parametrize(
    "dtype", ["float64", "Float64", "double[pyarrow]", "object", "string", "category"]
)
def test_nan_is_a_blank_cell(dtype: str) -> None:
    """NaN is not sent, in a column of any dtype, even where pandas does not treat it as
    missing.
    """
    table = payers(2).assign(companyName=pd.Series([float("nan")] * 2, dtype=dtype))
    if dtype == "double[pyarrow]":
        # Arrow does not call it missing, as here.
        table["companyName"] = pd.arrays.ArrowExtensionArray(
            pa.array([float("nan")] * 2, from_pandas=False)
        )
    task = make_task(Table(table), SECRET, "payer", 0)

    assert "companyName" not in json.loads(task.body.content)


def test_rows_of_a_table_that_differ_in_a_secret_contradict() -> None:
    """Secrets are compared by value, not by their masked form."""
    one, same, other = (
        payers(1, ssn=SecretStr(number))
        for number in ("123-45-6789", "123-45-6789", "123-45-6788")
    )

    assert not any(row.is_blocked for row in Table(pd.concat([one, same])).rows)
    assert ["id_twice"] * 3 == [
        each.finding.code for each in Table(pd.concat([one, same, other])).found
    ]


def test_a_column_without_a_name_is_refused() -> None:
    """A column whose name is None is unknown, and is not dropped silently."""
    table = payers(1).assign(nameless="?")
    table.columns = pd.Index([*table.columns[:-1], None], dtype=object)
    with pytest.raises(InvalidInput, match="columns that cannot be used"):
        payerkit.plan_onboarding(table)


# Responses of services and gateways


def test_no_account_is_sent_before_the_list_was_read(
    connected: Connect, path: Path
) -> None:
    """If the payer's accounts cannot be listed first, none is sent: an old one could be
    taken for the new one.
    """
    with FarEnd([reply(404), PAGE]) as far_end:
        report = add_accounts(connected(far_end.url), 1, path)

        assert {"GET"} == {request.method for request in far_end.ledger}
    assert ("not_sent", True) == tuple(report.frame.loc[0, ["state", "retryable"]])


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (NotSent("never left"), RUN_RETRIES.attempts),
        (RateLimited("slow down"), MAX_RATE_LIMITED),  # which ends the run
        (RateLimited("slow down", retry_after=1), RUN_RETRIES.attempts),
        (ServiceError("a read failed"), RUN_RETRIES.attempts),
        (UnknownOutcome("a write may have happened"), 1),
        (Refused("no"), 1),
        (
            RateLimited("come back tomorrow", retry_after=LONGEST_WAIT + 1),
            1,
        ),  # which ends the run
    ],
)
def test_a_run_follows_the_retry_policy(error: PayerkitError, attempts: int) -> None:
    """Only calls that provably changed nothing are repeated, as often as the policy
    allows.
    """
    made: list[int] = []

    def call() -> None:
        made.append(1)
        raise error

    with pytest.raises(type(error)):
        LeapingClock().limiter().call(call)

    assert attempts == len(made)


def test_a_forbidden_row_does_not_stop_the_run(connected: Connect, path: Path) -> None:
    """A 403 after other calls were accepted is about its row: it is refused, and the
    others are sent.
    """

    def answer(connection: socket.socket, request: Received) -> bool | None:
        good, bad = reply(200, STATUS), reply(403, '{"message": "not from there"}')
        return (bad if b'"row-3"' in request.body else good)(connection, request)

    with FarEnd([answer]) as far_end:
        report = onboard(connected(far_end.url), payers(20), path, workers=1)

    assert (19, 1, "") == (
        report.counts["done"],
        report.counts["refused"],
        report.stopped,
    )
    assert "not from there" in str(report.frame.loc[3, "reason"])


def test_a_forbidden_key_ends_the_run(connected: Connect, path: Path) -> None:
    """Three 403 before anything was accepted mean that the key is wrong; these rows can
    still be sent.
    """
    with FarEnd([reply(404), reply(403)]) as far_end:
        report = onboard(connected(far_end.url), payers(50), path, workers=1)

        assert 3 == sum(request.method == "POST" for request in far_end.ledger)
    assert (50, 50) == (report.counts["not_sent"], report.frame["retryable"].sum())


PRIVATE = {
    "firstName": "Forenamed",
    "lastName": "Surnamed",
    "email": "somebody@example.com",
    "ssn": "123-45-6789",
}


@pytest.mark.parametrize(
    "told",
    [
        {"userId": "mailbox@example.net"},
        {"userId": "row-0"},
        {"agreementUrl": "https://example.com/a?u=row%2D0"},
        {"kycUrl": "https://example.com/?u=mailbox%40example.net"},
    ],
)
def test_responses_that_identify_a_payer_are_not_kept(
    connected: Connect, path: Path, told: dict[str, str]
) -> None:
    """An id or link that holds the payer's id or an e-mail address is neither in the
    journal nor in the report.
    """
    ((name, value),) = told.items()
    with FarEnd(
        [reply(404), reply(200, json.dumps({**ANSWERS["create_payer"], name: value}))]
    ) as far_end:
        report = onboard(connected(far_end.url), payers(1), path)

    assert 1 == report.counts["done"]
    assert value not in report.frame.drop(columns="client_user_id").to_csv()
    assert value not in written(path)


def test_the_reason_of_a_refused_account_hides_its_payer(
    connected: Connect, path: Path
) -> None:
    """The payer's data in the service's message is masked, although it is not in the
    body of the account.
    """
    words = (
        "Payer Forenamed Surnamed <somebody@example.com> or <another@example.org>, ssn"
        " 123-45-6789, is not approved"
    )
    refused = reply(400, json.dumps({"message": words}))
    with FarEnd([reply(404), reply(200, STATUS), NOTHING, refused]) as far_end:
        report = onboard(
            connected(far_end.url), payers(1, **PRIVATE, **BANK), path, workers=1
        )
    reason = str(report.frame.loc[0, "reason"])

    assert ("refused", True) == (
        report.frame.loc[0, "state"],
        "is not approved" in reason,
    )
    kept = reason + written(path)
    assert [] == [
        value for value in (*PRIVATE.values(), "another@example.org") if value in kept
    ]


def written(path: Path) -> str:
    """Return everything that a journal holds, as text."""
    with sqlite3.connect(path) as file:
        rows = [
            *file.execute("SELECT * FROM run").fetchall(),
            *file.execute("SELECT * FROM task").fetchall(),
        ]
    file.close()
    return repr(rows)


# The end of a run


def test_a_run_that_stops_before_reconciling_has_a_report(
    connected: Connect, path: Path
) -> None:
    """One account is done, one unknown, and the key is no longer accepted: the run
    returns a report.
    """
    behaviours = [reply(404), NOTHING, STORED, NOTHING, close, reply(401)]
    with FarEnd(behaviours) as far_end:
        report = add_accounts(connected(far_end.url), 4, path)

    assert ["done", "unknown", "not_sent", "not_sent"] == report.frame["state"].tolist()
    assert "API key" in report.stopped


def test_an_interrupt_between_two_steps_has_the_report(
    connected: Connect, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl+C during the wait for the last look is an interrupted run as well."""
    monkeypatch.setattr(
        StopSignal, "wait", lambda *_: signal.raise_signal(signal.SIGINT)
    )
    with (
        FarEnd([reply(404), NOTHING, close, NOTHING]) as far_end,
        pytest.raises(InterruptedRun) as caught,
    ):
        add_accounts(connected(far_end.url), 1, path)

    assert 1 == caught.value.report.counts["unknown"]


def test_workers_end_before_an_error_of_the_main_thread_is_raised() -> None:
    """The tasks under way end before the caller closes their client and journal."""
    ended: list[int] = []

    def task(item: int) -> None:
        time.sleep(0.3)
        ended.append(item)

    def on_tick() -> None:
        raise RuntimeError("an error")

    with pytest.raises(RuntimeError, match="an error"):
        run_workers(task, range(100), workers=4, stop=StopSignal(), on_tick=on_tick)

    assert 4 == len(ended)


def test_a_run_goes_on_without_its_progress_bar() -> None:
    """The bar can no longer be drawn, for instance on a closed pipe: it is dropped."""

    class Gone:
        def set_postfix_str(self, *_: object, **__: object) -> None:
            raise BrokenPipeError

        def close(self) -> None:
            raise AssertionError("there is nothing to close")

    progress = Progress(shown=False, where="")
    progress._bar = Gone()
    with progress:
        progress.count("done")
        progress.show(now=True)
        progress.begin("account", 1)


# When a run ends early: refusals that are not the API's, and refusals that are equal


def refusal(
    kind: type[Refused] = Refused,
    status: int = 400,
    *,
    foreign: bool = True,
    retryable: bool | None = None,
) -> Refused:
    """Return a refusal, of a gateway unless said otherwise."""
    error = kind("refused", status_code=status)
    error.foreign, error.retryable = (
        foreign,
        kind.retryable if retryable is None else retryable,
    )
    return error


@pytest.fixture
def limiter() -> RateLimiter:
    """Return a limiter whose waits take no time."""
    return LeapingClock().limiter()


def call(limiter: RateLimiter, error: PayerkitError | None, kind: str) -> None:
    """Make a call that ends in an error, or well."""

    def make() -> None:
        if error is not None:
            raise error

    with suppress(PayerkitError):
        limiter.call(make, kind=kind)


@pytest.mark.parametrize("between", [None, refusal(foreign=False)])
def test_a_response_of_the_api_begins_a_new_row(
    limiter: RateLimiter, between: PayerkitError | None
) -> None:
    """A firewall that objects to single rows does not end a run."""
    for _ in range(2):
        for _ in range(MAX_FOREIGN - 1):
            call(limiter, refusal(), "payer")
        call(limiter, between, "payer")

    assert not limiter.stop


def test_a_call_that_a_service_may_lack_is_not_counted(limiter: RateLimiter) -> None:
    """A payer's status is beyond the specification."""
    for _ in range(3 * MAX_FOREIGN):
        call(limiter, refusal(NotFound, 404), "")

    assert not limiter.stop


def test_a_gateway_s_403_is_not_about_the_key(limiter: RateLimiter) -> None:
    """Neither before anything was accepted, nor about one row afterwards."""
    for _ in range(MAX_FOREIGN - 1):
        call(limiter, refusal(WrongKey, 403), "payer")
    stopped_early = bool(limiter.stop)
    call(limiter, None, "payer")

    assert not stopped_early
    assert not limiter.is_forbidden(refusal(WrongKey, 403))
    assert limiter.is_forbidden(refusal(WrongKey, 403, foreign=False))
