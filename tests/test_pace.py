"""The pace of a client: calls are spaced, a limit of the service pauses all of them,
and no deadline runs meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from typing import Any

import numpy as np
import pytest

import payerkit
from clocks import HandClock, SteppedClock
from far_end import Behaviour, FarEnd, hang, reply, reset
from payerkit import InvalidInput, PayerkitError
from payerkit.client import Client, Timeout
from payerkit.client.call import RequestBody
from payerkit.client.pace import BLOCKED, DEFAULT_RATE, FIRST_PAUSES, Pace
from payerkit.errors import NotFound, NotSent, RateLimited, ServiceError
from payerkit.reasons import Outcome
from payerkit.runs.limiter import (
    LONGEST_WAIT,
    MAX_RATE_LIMITED,
    RateLimiter,
    RunStopped,
    StopSignal,
    list_accounts,
    request_each,
)
from published import ANSWERS

Connect = Callable[..., Client]
GOOD = reply(200, RequestBody(ANSWERS["get_payer_status"]).content)
LIMITED = reply(429)


@pytest.fixture
def clock() -> HandClock:
    """Make a clock that only waits move."""
    return HandClock()


@pytest.fixture
def pace(clock: HandClock) -> Pace:
    """Make a pace without a limit, on that clock."""
    return Pace(clock=clock.now)


Meet = Callable[..., tuple[FarEnd, Client]]


@pytest.fixture
def meet(connected: Connect, clock: HandClock) -> Iterator[Meet]:
    """Start far ends that behave as given, each with a client of it on that clock."""
    with ExitStack() as stack:

        def start(*behaviours: Behaviour, **options: Any) -> tuple[FarEnd, Client]:
            far = stack.enter_context(FarEnd(behaviours))
            return far, connected(far.url, **clock.options(), **options)

        yield start


def status(client: Client) -> payerkit.models.PayerStatus:
    """Make a read."""
    return payerkit.get_payer_status(client, "user-123")


def failure(client: Client) -> PayerkitError:
    """Return the error of a read."""
    with pytest.raises(PayerkitError) as caught:
        status(client)
    return caught.value


@pytest.mark.parametrize(
    ("address", "options", "rate"),
    [
        (
            "https://api.example.com",
            {},
            DEFAULT_RATE,
        ),  # any service but one on this machine
        ("https://api.example.com", {"rate": 0.5}, 0.5),
        ("https://api.example.com", {"rate": 20}, 20),
        ("https://api.example.com", {"rate": None}, None),  # lifted
        ("http://127.0.0.1:9", {}, None),  # this machine
        ("http://localhost:9", {"rate": 5}, 5),
    ],
)
def test_a_client_knows_its_pace(
    address: str, options: dict[str, Any], rate: float | None
) -> None:
    """The rate is the documented default, none on this machine, or the one that was
    given.
    """
    assert rate == payerkit.connect(address, api_key="key", **options).pace.rate


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), True, "5", "fast"])
def test_a_rate_is_a_positive_number(rate: Any) -> None:
    """Anything else is refused by the argument's name."""
    with pytest.raises(
        InvalidInput,
        match="rate: expected a positive number of calls per second, or None",
    ):
        payerkit.connect("https://api.example.com", api_key="key", rate=rate)


def test_calls_are_spaced(meet: Meet, clock: HandClock) -> None:
    """The first call leaves at once, as after a pause of the user's; the next ones an
    interval after the last.
    """
    _, client = meet(GOOD, rate=5)
    for _ in range(3):
        status(client)
    clock.time += 10
    status(client)

    assert [pytest.approx(0.2)] * 2 == clock.waits


def test_retries_keep_the_pace(meet: Meet, clock: HandClock) -> None:
    """An attempt that failed counts as a call, too."""
    status(meet(reset, GOOD, rate=0.01)[1])

    assert 100 == pytest.approx(sum(clock.waits))


def test_one_pace_for_all_threads_and_copies() -> None:
    """Calls of all threads, of a client or of its copies for runs, leave one after the
    other.
    """
    clock = SteppedClock(12)
    client = payerkit.connect("https://api.example.com", api_key="key")
    client.pace = Pace(4, clock=clock.now)
    paces = [client.without_retries().pace, client.pace, client.without_retries().pace]
    moments: list[float] = []

    def leave(pace: Pace) -> None:
        moments.append(pace.wait_turn(clock.wait))
        clock.end()

    threads = [threading.Thread(target=leave, args=(pace,)) for pace in paces * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert 12 == len(moments)
    assert np.diff(sorted(moments)).min() >= 0.25 - 1e-6
    assert max(moments) < 11 * 0.25 + 0.01


def test_a_turn_that_is_given_up_leaves_no_gap(clock: HandClock) -> None:
    """After a run was stopped, the next call does not wait for the turns of its
    workers.
    """
    pace = Pace(1, clock=clock.now)
    pace.wait_turn(clock.wait)
    for _ in range(50):
        pace.wait_turn(lambda _: True)

    assert pytest.approx(1) == pace.wait_turn(clock.wait)


def test_a_run_keeps_the_pace_of_its_client(meet: Meet, clock: HandClock) -> None:
    """The calls of a run leave at the client's rate, after the calls before it."""
    far, client = meet(GOOD, reply(404), rate=5)
    status(client)
    limiter = RateLimiter(client.pace, wait=clock.wait)
    limiter.workers = 1
    request_each(
        client,
        ["a", "b", "c"],
        lambda own, each: (list_accounts(own, limiter, each), True),
        limiter,
        progress=False,
    )

    assert 4 == len(far.ledger)
    assert [pytest.approx(0.2)] * 3 == clock.waits


def test_waiting_counts_against_no_deadline(meet: Meet, clock: HandClock) -> None:
    """A call that waits for its turn longer than it may take has its whole time left
    then.
    """
    _, client = meet(GOOD, rate=0.001, timeout=Timeout(total=30))
    kept = [status(client).kyc_status for _ in range(2)]

    assert (2, [1000]) == (len(kept), clock.waits)


def test_the_deadline_is_that_of_the_work(meet: Meet, clock: HandClock) -> None:
    """After a wait, the deadline still ends a call that hangs."""
    _, client = meet(GOOD, hang, rate=0.001, timeout=Timeout(total=0.3))
    status(client)
    error = failure(client)

    assert (ServiceError, [1000]) == (type(error), clock.waits)


def test_a_wait_that_the_service_requests_counts_against_the_deadline(
    meet: Meet, clock: HandClock
) -> None:
    """Waits for Retry-After are made within the time of a call, however often the
    service requests them.
    """
    often = payerkit.client.Retries(attempts=10)
    far, client = meet(
        reply(429, headers={"Retry-After": "20"}), timeout=30, retries=often
    )
    error = failure(client)

    assert (RateLimited, 20, [20], 2) == (
        type(error),
        error.retry_after,
        clock.waits,
        len(far.ledger),
    )


def test_retry_after_pauses_all_calls(meet: Meet, clock: HandClock) -> None:
    """The next call of the client waits, too; a copy for a run has the same pause."""
    _, client = meet(
        reply(429, headers={"Retry-After": "20"}),
        GOOD,
        retries=payerkit.client.Retries(attempts=1),
    )
    failure(client)
    left = client.without_retries().pace.pause_left()
    status(client)

    assert (20, [20]) == (left, clock.waits)


def test_the_controls_of_a_sandbox_keep_no_pace(clock: HandClock) -> None:
    """They are no calls of the API: they are neither counted nor paused."""
    with payerkit.sandbox() as client:
        client.pace = Pace(0.001, clock=clock.now)
        client.pace.record(RateLimited("slow down", retry_after=5000), 0)
        rates = [client.sandbox.rate("USD") for _ in range(3)]

    assert (3, []) == (len(rates), clock.waits)


def test_the_controls_of_a_sandbox_wait_as_requested(
    meet: Meet, clock: HandClock
) -> None:
    """Without a pace, the wait that a response requests is still a wait: of this call
    alone.
    """
    _, client = meet(reply(503, "{}", {"Retry-After": "2"}), reply(200, '{"usd": "1"}'))
    payerkit.client.SandboxControls(client).rate("USD")

    assert ([2], 0) == (clock.waits, client.pace.pause_left())


def test_a_429_without_a_wait_is_raised_at_once(meet: Meet, clock: HandClock) -> None:
    """A single call is not repeated; the client pauses, and the next call waits for
    that.
    """
    far, client = meet(LIMITED, GOOD)
    error = failure(client)
    sent = len(far.ledger)
    status(client)

    assert (RateLimited, None, 429, 1) == (
        type(error),
        error.retry_after,
        error.status_code,
        sent,
    )
    assert [1] == clock.waits


def test_pauses_grow_until_the_service_responds(meet: Meet) -> None:
    """1, 2, 4, 8, 16 seconds, then five minutes; any other response begins anew."""
    pauses = list[float]()
    _, client = meet(*[LIMITED] * 7, reply(404), LIMITED, timeout=1000)
    for _ in range(9):
        failure(client)
        pauses.append(client.pace.pause_left())

    assert [*FIRST_PAUSES, BLOCKED, BLOCKED, 0, 1] == pauses


def test_a_long_pause_is_told_and_not_waited(meet: Meet, clock: HandClock) -> None:
    """While the client pauses for longer than a call may take, a call raises at once,
    and nothing is sent.
    """
    far, client = meet(*[LIMITED] * 6, GOOD)
    for _ in range(6):
        failure(client)
    waits = len(clock.waits)
    clock.time += 100
    error = failure(client)

    assert (6, waits) == (len(far.ledger), len(clock.waits))
    assert (RateLimited, 200, None, "GET /v2/payer/{clientUserId}") == (
        type(error),
        error.retry_after,
        error.status_code,
        error.request,
    )
    assert "sends nothing for 200 s" in str(error)
    clock.time += 150
    assert status(client).kyc_status
    assert 50 == clock.waits[-1]


def test_a_pause_keeps_an_outcome_unknown(meet: Meet, clock: HandClock) -> None:
    """A call that may have happened, and whose repetition a pause prevents, stays
    unknown.
    """
    far, client = meet(reply(503, headers={"Retry-After": "50"}), LIMITED)

    def pause_longer(seconds: float) -> None:
        clock.wait(seconds)
        client.pace.record(RateLimited("elsewhere", retry_after=500), clock.now())

    client._sleep = pause_longer
    with pytest.raises(payerkit.UnknownOutcome):
        payerkit.update_agreement(client, "user-123")

    assert 1 == len(far.ledger)


def test_a_burst_counts_once(clock: HandClock, pace: Pace) -> None:
    """Of many calls that are refused together, one makes the pause; those after it make
    the next.
    """
    for refusals, pause in [(1, 1), (2, 2)]:
        departures = [pace.wait_turn(clock.wait) for _ in range(10)]
        clock.time += 0.1
        for departed in departures:
            pace.record(RateLimited("slow down"), departed)
            clock.time += 0.001
        found = (pace.refusals, round(pace.pause_left()))

        assert (refusals, pause) == found


def test_a_success_of_the_burst_does_not_count(clock: HandClock, pace: Pace) -> None:
    """A call that left before the pause and was accepted does not end the row of
    refusals; one after it does.
    """
    early = pace.wait_turn(clock.wait)
    pace.record(RateLimited("slow down"), pace.wait_turn(clock.wait))
    pace.record(None, early)
    before = pace.refusals
    pace.record(None, pace.wait_turn(clock.wait))

    assert (1, 0) == (before, pace.refusals)


@pytest.mark.parametrize(
    ("error", "refusals"),
    [
        (NotFound("no"), 0),  # the service read the request
        (NotSent("no connection"), 1),  # nobody read it
        (ServiceError("bad gateway"), 1),
    ],
)
def test_what_ends_a_row_of_refusals(
    error: PayerkitError, refusals: int, clock: HandClock, pace: Pace
) -> None:
    """Only a response of the service shows that it accepts calls again."""
    pace.record(RateLimited("slow down"), pace.wait_turn(clock.wait))
    pace.record(error, pace.wait_turn(clock.wait))

    assert refusals == pace.refusals


@pytest.mark.parametrize(
    ("refusals", "is_stopped"),
    [(MAX_RATE_LIMITED - 1, False), (MAX_RATE_LIMITED, True)],
)
def test_a_run_goes_on_after_a_block(
    refusals: int, is_stopped: bool, clock: HandClock
) -> None:
    """Five pauses that grow and a block of five minutes end no run; refused again after
    two blocks, it says why.
    """
    stop, moments = StopSignal(), list[float]()
    limiter = RateLimiter(
        Pace(5, clock=clock.now),
        stop,
        wait=lambda seconds: clock.wait(seconds) or bool(stop),
    )

    def call() -> None:
        moments.append(clock.now())
        if len(moments) <= refusals:
            raise RateLimited("slow down")

    with pytest.raises(RateLimited) if is_stopped else nullcontext():
        limiter.call(call)

    assert [*FIRST_PAUSES, BLOCKED, BLOCKED] == pytest.approx(np.diff(moments))
    assert is_stopped == (
        "as too frequent 8 times in a row. Call again later, with a lower rate"
        in stop.reason
    )


def test_a_stop_ends_a_pause(pace: Pace) -> None:
    """A run that is stopped while all calls pause ends at once, without a call."""
    stop = StopSignal()
    pace.record(RateLimited("slow down", retry_after=50), 0)

    def stopped(_: float) -> bool:
        stop.set(Outcome("interrupted"))
        return True

    with pytest.raises(RunStopped):
        RateLimiter(pace, stop, wait=stopped).call(
            lambda: pytest.fail("sent after the stop")
        )


def test_a_run_does_not_begin_in_a_pause_of_hours(clock: HandClock, pace: Pace) -> None:
    """If a call before the run was told to wait for very long, the run ends and says
    how long it is.
    """
    stop = StopSignal()
    pace.record(RateLimited("slow down", retry_after=LONGEST_WAIT + 1), 0)
    with pytest.raises(RunStopped):
        RateLimiter(pace, stop, wait=clock.wait).call(
            lambda: pytest.fail("sent in the pause")
        )

    assert ("3601 s" in stop.reason, []) == (True, clock.waits)
