"""`wait_for`: looks again at those whom waiting can help, and reports where everybody
stands. No test sleeps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import payerkit
from cases import table
from clocks import within
from far_end import Behaviour, FarEnd, reply
from payerkit import InvalidInput
from payerkit.client import Client
from payerkit.errors import InterruptedRun
from payerkit.money import WaitReport
from published import BANK_DETAILS, PAYER
from status_service import READY, REJECTED, REVIEW, UNSIGNED, StatusService, account


class Days:
    """A clock that does not wait: each sleep is recorded, and changes the service as a
    test tells it.
    """

    def __init__(self, *changes: Callable[[], object]) -> None:
        self.changes = list(changes)
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Record a sleep, and make the next change."""
        self.slept.append(seconds)
        if self.changes:
            self.changes.pop(0)()


@pytest.fixture
def wait(connected: Callable[..., Client]) -> Callable[..., WaitReport]:
    """Wait for the payers of a service on a clock that does not wait."""

    def call(service: StatusService, days: Days, **options: Any) -> WaitReport:
        client = connected(service.url, sleep=days.sleep)
        return payerkit.wait_for(
            client, options.pop("ids", list(service.payers)), progress=False, **options
        )

    return call


Wait = Callable[..., WaitReport]


def states(report: WaitReport) -> dict[str, str]:
    """Return the state of each payer."""
    return dict(zip(report.frame["client_user_id"], report.frame["state"], strict=True))


def test_who_is_there_already_is_not_waited_for(wait: Wait) -> None:
    """It looks before it sleeps, and returns at once if everybody is there or cannot
    get there.
    """
    days = Days()
    with StatusService({"ready": READY, "rejected": REJECTED}) as service:
        report = wait(service, days)

        assert ["ready", "rejected"] == sorted(service.asked)
    assert ([], {"ready": "reached", "rejected": "final"}) == (
        days.slept,
        states(report),
    )
    assert "2 payers: 1 compliant, 1 rejected." == str(report).splitlines()[0]


def test_only_the_others_are_asked_again(wait: Wait) -> None:
    """Each look is at those whom waiting can still help, until nobody is left."""
    with StatusService({"ready": READY, "slow": REVIEW, "slower": REVIEW}) as service:
        days = Days(
            lambda: service.payers.update(slow=READY),
            lambda: None,
            lambda: service.payers.update(slower=REJECTED),
        )
        report = wait(service, days, every=60)

        assert {"ready": 1, "slow": 2, "slower": 4} == Counter(service.asked)
    assert [60, 60, 60] == days.slept
    assert {"ready": "reached", "slow": "reached", "slower": "final"} == states(report)


@pytest.mark.parametrize(
    "response",
    [
        reply(429, "{}", {"Retry-After": "30"}),
        reply(503, "{}", {"Retry-After": "30"}),
        reply(503, "{}"),
    ],
    ids=["too many", "unavailable", "failing"],
)
def test_a_service_that_wants_to_be_called_later_does_not_make_the_wait_longer(
    response: Behaviour, connected: Callable[..., Client]
) -> None:
    """The time of the wait holds for the calls in it, too."""
    with FarEnd([response]) as far, within(5):
        report = payerkit.wait_for(
            connected(far.url), ["a", "b"], timeout=0.3, progress=False
        )

    assert "The time was over" in report.stopped
    assert {"a": "unread", "b": "unread"} == states(report)


@pytest.mark.parametrize(
    ("every", "timeout", "slept"),
    [
        (30, 0, []),  # one look
        (30, 90, [30, 30, 30]),
        (30, 100, [30, 30, 30, 10]),  # the last look at the end of the time
        (30, 20, [20]),
        (1, 2, [1, 1]),
    ],
)
def test_the_time_ends_the_wait(
    wait: Wait, every: float, timeout: float, slept: list[float]
) -> None:
    """What was slept counts, also if a clock turned by hand lets no time pass; looking
    takes a little, too.
    """
    days = Days()
    with StatusService({"slow": REVIEW}) as service:
        report = wait(service, days, every=every, timeout=timeout)

        assert len(slept) + 1 == len(service.asked)
    assert slept == pytest.approx(days.slept, abs=0.9)
    assert {"slow": "waiting"} == states(report)


@table("waited_for")
def test_where_a_payer_stands(
    wait: Wait,
    status: dict[str, Any],
    accounts: list[dict[str, Any]],
    until: str,
    state: str,
    summary: str,
) -> None:
    """Reached, final or waiting, for either goal; the summary says why."""
    with StatusService({"user-1": status}, {"user-1": accounts}) as service:
        report = wait(service, Days(), until=until, timeout=0)

    assert ([state], f"1 payer: {summary}.") == (
        list(report.frame["state"]),
        str(report).splitlines()[0],
    )


def test_a_compliant_payer_is_waited_for_until_the_account_is_there(wait: Wait) -> None:
    """First the identity check, then the account: each step is waited for, without a
    limit however long it takes.
    """
    with StatusService(
        {"user-1": REVIEW}, {"user-1": [account("initiated")]}
    ) as service:
        days = Days(
            lambda: service.payers.update({"user-1": READY}),
            lambda: service.accounts["user-1"][0].update(status="pending"),
            lambda: service.accounts["user-1"][0].update(status="verified"),
        )
        report = wait(service, days, until="approved", every=3600, timeout=None)

    assert ([3600] * 3, "1 payer: 1 approved.") == (days.slept, str(report))


def test_nobody_to_wait_for(wait: Wait) -> None:
    """An empty list is no error."""
    with StatusService({}) as service:
        report = wait(service, Days(), ids=[])

    assert ("0 payers: nothing to wait for.", 0) == (str(report), len(report.frame))
    assert "state" in report.frame


def test_an_unknown_payer_is_not_waited_for(wait: Wait) -> None:
    """Waiting does not create a payer: the row has the error."""
    with StatusService({"user-1": READY}) as service:
        report = wait(service, Days(), ids=["user-1", "nobody@example.com"])

        assert 2 == len(service.asked)
    assert ["reached", "unread"] == list(report.frame["state"])
    assert "404" in report.frame["error"][1]
    assert "2 payers: 1 compliant, 1 not read." == str(report).splitlines()[0]
    assert "@" not in str(report)


def test_a_wrong_key_ends_the_wait(wait: Wait) -> None:
    """What was read before stands; the report says why the wait ended."""
    with StatusService({"slow": REVIEW, "other": REVIEW}) as service:
        days = Days(lambda: service.failing.update(slow=401))
        report = wait(service, days)

    assert ([30], {"slow": "unread", "other": "waiting"}) == (
        days.slept,
        states(report),
    )
    assert "The wait ended early: " in str(report)
    assert "key" in report.stopped


@pytest.mark.parametrize("looks", [0, 1])
def test_an_interrupt_keeps_what_was_found(wait: Wait, looks: int) -> None:
    """After Ctrl+C while it waits, the error has the report."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with StatusService({"ready": READY, "slow": REVIEW}) as service:
        days = Days(*[lambda: None] * looks, interrupt)
        with pytest.raises(
            InterruptedRun, match="1 compliant, 1 still waiting for the service"
        ) as caught:
            wait(service, days)

    assert isinstance(caught.value, KeyboardInterrupt)
    assert {"ready": "reached", "slow": "waiting"} == states(caught.value.report)
    assert "Call again to go on waiting" in caught.value.advice
    assert "Interrupted by the user." == caught.value.report.stopped


def test_an_interrupt_during_a_look_keeps_what_was_found(wait: Wait) -> None:
    """Payers who were not looked at yet say so, and none is lost."""
    with StatusService({f"user-{place}": REVIEW for place in range(500)}) as service:
        service.interrupts_at = 3
        with pytest.raises(InterruptedRun) as caught:
            wait(service, Days())

    report = caught.value.report
    counts = report.frame["state"].value_counts()
    assert (500, True) == (len(report.frame), counts["waiting"] >= 2)
    assert {"Interrupted by the user."} == set(report.frame["error"].dropna())
    assert counts["unread"] == report.frame["error"].notna().sum()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"until": "signed"}, 'until: expected "compliant" or "approved"'),
        (
            {"every": 0.5},
            "every: expected a number of seconds, 1 or more",
        ),  # no polling without a pause
        ({"every": "30"}, "every: "),
        ({"timeout": -1}, "timeout: "),
        ({"ids": "user-1"}, "ids: expected a list"),
    ],
)
def test_invalid_arguments_are_refused(
    wait: Wait, options: dict[str, Any], words: str
) -> None:
    """They are refused before anything is sent."""
    with StatusService({"user-1": READY}) as service:
        with pytest.raises(InvalidInput, match=words):
            wait(service, Days(), **options)

        assert [] == service.asked


@pytest.mark.parametrize("shown", [True, False])
def test_the_bar_shows_who_is_waited_for(
    connected: Callable[..., Client], capsys: pytest.CaptureFixture[str], shown: bool
) -> None:
    """How many are not waited for any more, and who has to move; nothing if it is not
    shown.
    """
    with StatusService({"ready": READY, "unsigned": UNSIGNED}) as service:
        days = Days(lambda: service.payers.update(unsigned=READY))
        payerkit.wait_for(
            connected(service.url, sleep=days.sleep),
            ["ready", "unsigned"],
            progress=shown,
        )
    told = capsys.readouterr().err

    assert [shown] * 3 == [
        text in told
        for text in ("payer 1 of 2", "waiting: 1 for payer", "payer 2 of 2")
    ]
    assert shown or not told


def test_the_sandbox_is_waited_for() -> None:
    """The real calls, until a payer and the account are approved; each wait turns its
    clock.
    """
    with payerkit.sandbox(seed=1, clock="manual", accounts_after=100) as client:
        payerkit.create_payer(client, PAYER)
        payerkit.update_agreement(client, PAYER["clientUserId"])
        client.sandbox.complete_kyc(PAYER["clientUserId"], status="full_clearance")
        payerkit.create_payment_detail(client, PAYER["clientUserId"], BANK_DETAILS)
        early = payerkit.wait_for(
            client,
            [PAYER["clientUserId"]],
            until="approved",
            timeout=60,
            progress=False,
        )
        late = payerkit.wait_for(
            client, [PAYER["clientUserId"]], until="approved", progress=False
        )

    assert "1 payer: 1 still waiting for the service." == str(early).splitlines()[0]
    assert "1 payer: 1 approved." == str(late)
