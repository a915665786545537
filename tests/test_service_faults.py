"""Faults of the sandbox: which error a client raises for each, and what was stored
nevertheless.
"""

from __future__ import annotations

import http.client
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

import payerkit
from cases import table
from clocks import HandClock
from payerkit import InvalidInput, PayerkitError, Refused, UnknownOutcome
from payerkit.client import Client, Retries, SandboxClient
from payerkit.errors import RateLimited, ServiceError, UnreadableAnswer
from payerkit_sandbox.faults import FAULTS, parse_fault_plan
from published import BANK_DETAILS, PAYER

STATUS = "/v2/payer/user-123"


@pytest.fixture(autouse=True)
def quiet(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """Faults are intended: the service logs and prints nothing about them."""
    yield
    logged = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.levelno >= logging.WARNING
    ]

    assert ([], ("", "")) == (logged, capfd.readouterr())


@contextmanager
def sandbox_with_payer() -> Iterator[SandboxClient]:
    """Run a sandbox with one payer, without faults yet."""
    with payerkit.sandbox(seed=1) as sandbox:
        payerkit.create_payer(sandbox, PAYER)
        yield sandbox


@pytest.fixture(scope="module")
def opened() -> Iterator[SandboxClient]:
    """Run one sandbox for all tests that store nothing in it."""
    with sandbox_with_payer() as sandbox:
        yield sandbox


@pytest.fixture
def client(opened: SandboxClient) -> SandboxClient:
    """Return that sandbox, without faults yet."""
    opened.sandbox.set_faults("")
    return opened


@pytest.fixture
def fresh() -> Iterator[SandboxClient]:
    """Yield a sandbox of its own for a test that stores something."""
    with sandbox_with_payer() as sandbox:
        yield sandbox


def without_retries(client: SandboxClient) -> Client:
    """Return a client of a sandbox that never retries, and on whose clock a pause after
    a 429 takes no time.
    """
    return Client(
        client.base_url,
        client.reveal_key(),
        retries=Retries(attempts=1),
        **HandClock().options(),
    )


@pytest.fixture
def once(client: SandboxClient) -> Iterator[Client]:
    """Yield a client of the shared sandbox that never retries."""
    with without_retries(client) as connected:
        yield connected


@pytest.fixture
def fresh_once(fresh: SandboxClient) -> Iterator[Client]:
    """Yield a client of the test's own sandbox that never retries."""
    with without_retries(fresh) as connected:
        yield connected


def details_stored(client: SandboxClient) -> int:
    """Return the number of payment details in the ledger."""
    return int((client.sandbox.ledger()["what"] == "payment_detail").sum())


# fault, its error and status in a write, how often that is stored; its error and status
# in a read
MET = [
    (
        "refuse",
        (RateLimited, 429, 0),
        (RateLimited, 429),
    ),  # refused, and the client knows it
    ("refuse_date", (RateLimited, 429, 0), (RateLimited, 429)),
    (
        "reset_before",
        (UnknownOutcome, None, 0),
        (ServiceError, None),
    ),  # indistinguishable from the next
    (
        "reset_after",
        (UnknownOutcome, None, 1),
        (ServiceError, None),
    ),  # stored, without a response
    (
        "cut",
        (UnknownOutcome, 201, 1),
        (UnreadableAnswer, 200),
    ),  # the status came, the id did not
    (
        "fail_before",
        (UnknownOutcome, 503, 0),
        (ServiceError, 503),
    ),  # a 5xx proves nothing
    ("fail_after", (UnknownOutcome, 502, 1), (ServiceError, 502)),
    (
        "slow",
        (UnknownOutcome, None, 0),
        (ServiceError, None),
    ),  # stored after the ledger is read
]


def test_every_fault_is_tested() -> None:
    """Every fault has a row; `exists` is none for these calls, and has tests of its
    own.
    """
    assert set(FAULTS) - {"exists"} == {fault for fault, *_ in MET}


def test_a_payer_who_exists_is_refused(fresh: SandboxClient) -> None:
    """A second registration gets a 409 and stores nothing; the first one of another
    payer is stored.
    """
    fresh.sandbox.set_faults("exists=100%")
    with pytest.raises(Refused, match="exists already") as caught:
        payerkit.create_payer(fresh, {**PAYER, "city": "Albany"})
    payerkit.create_payer(fresh, {**PAYER, "clientUserId": "somebody new"})

    assert caught.value.status_code == 409
    assert ["user-123", "somebody new"] == fresh.sandbox.ledger()[
        "client_user_id"
    ].to_list()


def test_only_registrations_can_meet_a_payer_who_exists(fresh: SandboxClient) -> None:
    """The other calls succeed under the same plan."""
    fresh.sandbox.set_faults("exists=100%")
    payerkit.update_agreement(fresh, "user-123")
    payerkit.create_payment_detail(fresh, "user-123", BANK_DETAILS)

    assert payerkit.get_payer_status(fresh, "user-123").agreement_status == "completed"
    assert len(payerkit.list_payment_details(fresh, "user-123")) == 1


@pytest.mark.parametrize(
    ("fault", "expected"), [(fault, write) for fault, write, _ in MET]
)
def test_a_write_meets_a_fault(
    fresh: SandboxClient, fresh_once: Client, fault: str, expected: tuple[Any, ...]
) -> None:
    """The client raises no more than the fault proves, and the ledger shows what
    happened; a reset is one.
    """
    fresh.sandbox.set_faults(f"{fault}=100%")
    with pytest.raises(PayerkitError) as caught:
        payerkit.create_payment_detail(fresh_once, "user-123", BANK_DETAILS)

    assert expected == (
        type(caught.value),
        caught.value.status_code,
        details_stored(fresh),
    )
    is_reset = "ConnectionResetError" in str(
        caught.value
    ) or "ConnectionAborted" in str(caught.value)
    assert is_reset == (fault in {"reset_before", "reset_after", "slow"})


@pytest.mark.parametrize(
    ("fault", "expected"), [(fault, read) for fault, _, read in MET]
)
def test_a_read_meets_a_fault(
    client: SandboxClient, once: Client, fault: str, expected: tuple[Any, ...]
) -> None:
    """Reads meet the same faults, without an unknown outcome."""
    client.sandbox.set_faults(f"{fault}=100%")
    with pytest.raises(PayerkitError) as caught:
        payerkit.get_payer_status(once, "user-123")

    assert expected == (type(caught.value), caught.value.status_code)


def test_a_slow_write_is_stored_after_its_response_is_lost(
    fresh: SandboxClient, fresh_once: Client
) -> None:
    """The list is empty at first, and has the account fresh_once after `slow_for`."""
    fresh.sandbox.set_faults("slow=100%, slow_for=0.5")
    with pytest.raises(UnknownOutcome):
        payerkit.create_payment_detail(fresh_once, "user-123", BANK_DETAILS)
    fresh.sandbox.set_faults("")
    at_once = len(payerkit.list_payment_details(fresh, "user-123"))
    until = time.monotonic() + 10
    while not details_stored(fresh) and time.monotonic() < until:
        time.sleep(0.05)

    assert (0, 1, 1) == (
        at_once,
        len(payerkit.list_payment_details(fresh, "user-123")),
        details_stored(fresh),
    )


def test_a_sandbox_stops_during_a_slow_write(
    fresh: SandboxClient, fresh_once: Client
) -> None:
    """A slow write does not delay the stop."""
    fresh.sandbox.set_faults("slow=100%, slow_for=60")
    with pytest.raises(UnknownOutcome):
        payerkit.create_payment_detail(fresh_once, "user-123", BANK_DETAILS)
    started = time.monotonic()
    fresh.close()

    assert time.monotonic() - started < 4


def test_a_cut_response_declares_its_full_length(client: SandboxClient) -> None:
    """Content-Length is that of the whole body; half of it arrives, then the connection
    closes.
    """
    whole = get(client, STATUS).content
    client.sandbox.set_faults("cut=100%")
    address = urlsplit(client.base_url)
    with closing(
        http.client.HTTPConnection(str(address.hostname), address.port, timeout=20)
    ) as connection:
        connection.request("GET", STATUS, headers={"x-api-key": client.reveal_key()})
        response = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead) as caught:
            response.read()

    assert (str(len(whole)), whole[: len(whole) // 2]) == (
        response.getheader("Content-Length"),
        caught.value.partial,
    )


def test_latency_comes_before_every_call(client: SandboxClient) -> None:
    """Every call takes longer by the latency."""
    client.sandbox.set_faults("latency=0.3")
    started = time.monotonic()
    payerkit.get_payer_status(client, "user-123")

    assert time.monotonic() - started >= 0.3


def get(client: SandboxClient, path: str, key: str = "") -> requests.Response:
    """Return the response to a request."""
    headers = {"x-api-key": key or client.reveal_key()}
    return requests.get(client.base_url + path, headers=headers, timeout=20)


@pytest.mark.parametrize(
    ("path", "plan", "status"),
    [
        (STATUS, "", 200),
        (STATUS, "fail_before=100%", 503),
        (STATUS, "slow_for=2", 200),  # a plan without faults
        ("/sandbox/ledger", "fail_before=100%", 200),  # sandbox routes have no faults
        ("/", "fail_before=100%", 200),  # nor have the pages
    ],
)
def test_a_plan_is_for_the_calls_of_the_api(
    client: SandboxClient, path: str, plan: str, status: int
) -> None:
    """Nothing else fails, and every response has the sandbox header."""
    client.sandbox.set_faults(plan)
    response = get(client, path)
    label = get(client, "/").headers["x-payerkit-sandbox"]

    assert (status, label) == (
        response.status_code,
        response.headers["x-payerkit-sandbox"],
    )


def test_the_wrong_key_meets_no_fault(client: SandboxClient) -> None:
    """A call without the key is refused before any latency."""
    client.sandbox.set_faults("latency=19")
    started = time.monotonic()
    response = get(client, STATUS, key="another")

    assert (401, True) == (response.status_code, time.monotonic() - started < 10)


MIXED = (
    "refuse=10%, reset_before=5%, reset_after=5%, cut=5%, fail_before=5%, fail_after=5%"
)
DUE = {
    "none": 260,
    "RateLimited 429": 40,
    "UnknownOutcome None": 40,
    "UnknownOutcome 200": 20,
}
DUE |= {"UnknownOutcome 503": 20, "UnknownOutcome 502": 20}


def outcome(call: Callable[[], object]) -> str:
    """Return the error of a call, or "none"."""
    try:
        call()
    except PayerkitError as error:
        return f"{type(error).__name__} {error.status_code}"
    return "none"


def rehearse(threads: int, count: int) -> tuple[dict[str, str], set[str]]:
    """Send so many payers to a seeded sandbox; return the outcome of each, and the ids
    that were stored.
    """
    ids = [f"user-{place}" for place in range(count)]
    with (
        payerkit.sandbox(seed=7, faults=MIXED) as sandbox,
        without_retries(sandbox) as once,
        ThreadPoolExecutor(threads) as pool,
    ):
        payers = [{**PAYER, "clientUserId": each} for each in ids]
        ends = pool.map(
            lambda payer: outcome(lambda: payerkit.create_payer(once, payer)), payers
        )
        return dict(zip(ids, ends, strict=True)), set(
            sandbox.sandbox.ledger()["client_user_id"]
        )


@pytest.mark.slow
def test_faults_depend_on_the_request_and_not_on_the_order() -> None:
    """With a seed the same rows meet the same faults, with one thread or eight; the
    percentages are as planned.
    """
    (ends, stored), (first_ends, first_stored) = rehearse(1, 400), rehearse(8, 150)
    counts = Counter(ends.values())

    assert set(DUE) == set(first_ends.values())
    assert first_ends == {name: ends[name] for name in first_ends}
    assert first_stored == stored & first_ends.keys()
    assert set(DUE) == set(counts)
    assert [] == [
        (end, counts[end])
        for end, due in DUE.items()
        if abs(counts[end] - due) > 2.5 * due**0.5
    ]
    assert (
        counts["none"] + counts["UnknownOutcome 200"] + counts["UnknownOutcome 502"]
        < len(stored)
        < 340
    )


def test_a_retry_draws_anew(client: SandboxClient, once: Client) -> None:
    """The same request does not fail for ever; setting the plan again starts again."""

    def series() -> list[str]:
        client.sandbox.set_faults("refuse=50%")
        return [
            outcome(lambda: payerkit.get_payer_status(once, "user-123"))
            for _ in range(20)
        ]

    first = series()

    assert {"none", "RateLimited 429"} == set(first)
    assert first == series()


@table("service_fault_plans")
def test_an_invalid_plan_is_refused(
    client: SandboxClient, text: str, words: str
) -> None:
    """Every way to set a plan refuses an invalid one with the same message."""
    with pytest.raises(InvalidInput) as at_start:
        payerkit.sandbox(faults=text)
    with pytest.raises(Refused) as at_control:
        client.sandbox.set_faults(text)

    assert [True, True] == [
        words in str(caught.value) for caught in (at_start, at_control)
    ]


def test_a_plan_is_parsed_as_written() -> None:
    """Seconds, percentages and blanks are parsed; the percentages may add up to 100."""
    plan = parse_fault_plan(" latency = 0.02,cut=33.3% , refuse=66.7%,slow_for=1.5")

    assert (0.02, 1.5, {"cut": Decimal("33.3"), "refuse": Decimal("66.7")}) == (
        plan.latency,
        plan.slow_for,
        plan.percentages,
    )
    assert ["cut", "refuse", "refuse"] == [
        plan.fault_at(Decimal(draw)) for draw in ("33.2", "33.3", "99.9999")
    ]
    assert parse_fault_plan("cut=5%").fault_at(Decimal(5)) is None
