"""When a run ends early: refusals that are not the API's, and refusals that are equal."""

from __future__ import annotations

from contextlib import suppress

import pytest

from cases import said
from clocks import HandClock
from payerkit import PayerkitError, Refused, UnknownOutcome
from payerkit.client.pace import MAX_FOREIGN, Pace
from payerkit.errors import NotFound, NotSent, RateLimited, WrongKey
from payerkit.onboarding.limiter import RateLimiter, StopSignal, is_foreign


def refusal(
    kind: type[Refused] = Refused, status: int = 400, *, foreign: bool = True, retryable: bool | None = None
) -> Refused:
    """Return a refusal, of a gateway unless said otherwise."""
    error = kind("refused", status_code=status)
    error.foreign, error.retryable = foreign, kind.retryable if retryable is None else retryable
    return error


@pytest.mark.parametrize(
    ("error", "expected", "why"),
    [
        (refusal(), True, "a gateway's 400"),
        (refusal(WrongKey, 403), True, "a gateway's 403"),
        (refusal(NotFound, 404), True, "a gateway's 404"),
        (refusal(status=302), True, "a redirect"),
        (refusal(foreign=False), False, "the API's"),
        (refusal(WrongKey, 401), False, "it ends the run anyway"),
        (refusal(RateLimited, 429), False, "it is tried again anyway"),
        (refusal(retryable=True), False, "it broke off: nobody knows whose it is"),
        (UnknownOutcome("lost", status_code=502), False, "no refusal"),
        (NotSent("no route"), False, "no response"),
    ],
)
def test_a_refusal_that_is_not_the_api_s(error: PayerkitError, expected: bool, why: str) -> None:
    """It says nothing about the row."""
    assert expected == is_foreign(error), why


@pytest.fixture
def limiter() -> RateLimiter:
    """Return a limiter whose waits take no time."""
    clock = HandClock()
    return RateLimiter(Pace(None, clock=clock.now), StopSignal(), wait=clock.wait)


def call(limiter: RateLimiter, error: PayerkitError | None, kind: str) -> None:
    """Make a call that ends in an error, or well."""

    def make() -> None:
        if error is not None:
            raise error

    with suppress(PayerkitError):
        limiter.call(make, kind=kind)


def test_foreign_refusals_in_a_row_end_a_run(limiter: RateLimiter) -> None:
    """Whatever other calls are made in between; the reason says that no row was refused."""
    for _ in range(MAX_FOREIGN):
        assert not limiter.stop
        call(limiter, None, "list")
        call(limiter, refusal(WrongKey, 403), "bank_details")

    assert "Nothing was marked as refused." in limiter.stop.reason


@pytest.mark.parametrize("between", [None, refusal(foreign=False)])
def test_a_response_of_the_api_begins_a_new_row(limiter: RateLimiter, between: PayerkitError | None) -> None:
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


def test_equal_refusals_stop_and_say_what_to_do(limiter: RateLimiter) -> None:
    """Others in between do not begin a new row."""
    for number in range(2):
        limiter.count_refusal(refusal(), said("no such bank"), 3)
        limiter.count_refusal(refusal(), said(f"another reason {number}"), 3)
        limiter.count_refusal(refusal(status=422), said("no such bank"), 3)
    before = bool(limiter.stop)
    limiter.count_refusal(refusal(), said("no such bank"), 3)
    reason = limiter.stop.reason

    assert not before
    assert reason.startswith("3 rows were refused with the same response: no such bank Correct")
    assert ('retry=["refused"]' in reason, "stop_after=None" in reason) == (True, True)


def test_equal_refusals_need_not_stop(limiter: RateLimiter) -> None:
    """With stop_after=None."""
    for _ in range(100):
        limiter.count_refusal(refusal(), said("no such bank"), None)

    assert not limiter.stop


def test_a_call_that_timed_out_counts_with_its_time() -> None:
    """So does any other one that ended; not one that never left."""
    clock = HandClock()
    limiter = RateLimiter(Pace(None, clock=clock.now), StopSignal(), wait=clock.wait)

    def time_out(seconds: float, error: PayerkitError) -> None:
        def make() -> None:
            clock.time += seconds
            raise error

        with pytest.raises(PayerkitError):
            limiter.call(make)

    time_out(60, UnknownOutcome("no response"))
    time_out(90, NotSent("no route"))

    assert 60 == limiter.slowest
