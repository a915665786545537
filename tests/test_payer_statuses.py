"""`payer_statuses`: who is stuck, whose move it is, and since when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from clocks import LeapingClock
from payerkit import InvalidInput
from payerkit.client import Client
from payerkit.errors import UnreadableAnswer
from payerkit.frames import columns
from payerkit.money.statuses import take_snapshots, without_replaced
from status_service import (
    READY,
    REVIEW,
    UNSIGNED,
    StatusService,
    account,
    payer,
)

COLUMNS = columns(
    "client_user_id kyc_status agreement_status compliant account_statuses whose_move"
    " what_to_do reason since_utc checked_at_utc error",
    boolean="compliant",
    time="since_utc checked_at_utc",
)


@pytest.fixture
def read(connected: Callable[..., Client]) -> Callable[..., pd.DataFrame]:
    """Read statuses of a service without a progress bar."""

    def call(service: StatusService, ids: Any = None, **options: Any) -> pd.DataFrame:
        wanted = list(service.payers) if ids is None else ids
        return payerkit.payer_statuses(
            connected(service.url), wanted, progress=False, **options
        )

    return call


Read = Callable[..., pd.DataFrame]


def cells(frame: pd.DataFrame, *names: str, place: int = 0) -> list[Any]:
    """Return some cells of a row, None where they are missing."""
    return [
        None if pd.isna(frame[name].iloc[place]) else frame[name].iloc[place]
        for name in names
    ]


@pytest.mark.parametrize("ids", [[], ["user-1"], ["user-1", "nobody"]])
def test_columns_always_stand(read: Read, ids: list[str]) -> None:
    """Names, order and types of the columns are the same without rows, and with a payer
    who could not be read.
    """
    with StatusService({"user-1": READY}) as service:
        frame = read(service, ids)

    assert (COLUMNS, len(ids)) == (
        {name: str(dtype) for name, dtype in frame.dtypes.items()},
        len(frame),
    )


def test_one_row_per_payer_in_the_order_of_the_ids(read: Read) -> None:
    """Whichever response comes first; a duplicate is requested once."""
    with StatusService({f"user-{place}": READY for place in range(9)}) as service:
        frame = read(service, ["user-5", "user-1", "user-5", "user-8"])

        assert ["user-5", "user-1", "user-8"] == list(frame["client_user_id"])
        assert 6 == len(service.asked)


@table("who_is_stuck")
def test_who_is_stuck(
    read: Read, status: Any, accounts: list[Any], found: list[Any]
) -> None:
    """The question of a Monday morning: whose move it is, with the accounts named."""
    with StatusService({"user-1": status}, {"user-1": accounts}) as service:
        frame = read(service)

    assert found == cells(frame, "whose_move", "account_statuses")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (payer("completed", "completed"), True),
        (payer("pending", "completed"), False),
        (payer(None, None) | {"userId": "1"}, None),
        (
            payer("approved", "completed", compliant=False),
            False,
        ),  # the service's own word counts
        # It contradicts itself.
        (payer("rejected", "completed", compliant=True), None),
    ],
)
def test_compliant_is_derived_if_the_service_does_not_say_it(
    read: Read, fields: dict[str, Any], expected: Any
) -> None:
    """`isCompliant` is taken, else the two statuses decide, else it is missing."""
    with StatusService({"user-1": fields}) as service:
        assert [expected] == cells(read(service), "compliant")


@table("replaced_accounts")
def test_a_failed_account_may_be_replaced(
    records: list[dict[str, Any]], statuses: list[str]
) -> None:
    """A failed account does not count if one in the same currency with the same holder
    or number has not failed.
    """
    assert statuses == [record["status"] for record in without_replaced(records)]


def test_payers_who_cannot_be_read_have_the_reason(read: Read) -> None:
    """An unknown payer has an error and the advice; the others are read, and no e-mail
    address is shown.
    """
    with StatusService({"user-1": READY, "zoe@example.com": REVIEW}) as service:
        frame = read(service, ["user-1", "nobody@example.com", "zoe@example.com"])
        shown = read(service, reveal=True)

    assert [False, True, False] == list(frame["error"].notna())
    move, error, step = cells(frame, "whose_move", "error", "what_to_do", place=1)
    assert ("you", True, True) == (move, "404" in error, "create_payer()" in step)
    assert ["user-1", "••••", "••••"] == list(frame["client_user_id"])
    assert "@" not in frame.to_string()
    assert ["user-1", "zoe@example.com"] == list(shown["client_user_id"])


@pytest.mark.parametrize(
    ("fields", "move"),
    [
        (READY, "you"),
        (UNSIGNED, "payer"),
    ],  # a compliant payer's next step is not known without the accounts
)
def test_accounts_that_cannot_be_read_are_an_error(
    read: Read, fields: dict[str, Any], move: str
) -> None:
    """The statuses stay, those of accounts are missing, the error says why."""
    with StatusService({"user-1": fields}) as service:
        service.failing["user-1/accounts"] = 403
        frame = read(service)

    assert [fields["kycStatus"], move, None] == cells(
        frame, "kyc_status", "whose_move", "account_statuses"
    )
    assert "403" in frame["error"][0]


def test_a_payer_without_a_list_has_no_accounts(read: Read) -> None:
    """A service that answers 404 to the list of a payer it knows means that there is
    none.
    """
    with StatusService({"user-1": READY}) as service:
        service.failing["user-1/accounts"] = 404
        frame = read(service)

    assert ["none", None] == cells(frame, "account_statuses", "error")


def test_a_wrong_key_ends_it(connected: Callable[..., Client]) -> None:
    """After a 401 no other payer is requested, and every row says why."""
    with StatusService({f"user-{place}": READY for place in range(50)}) as service:
        service.failing["user-0"] = 401
        found = take_snapshots(
            connected(service.url),
            list(service.payers),
            LeapingClock().limiter(workers=1),
        )

        assert (1, 50) == (
            len(service.asked),
            sum("key" in each.problem for each in found.values()),
        )


def test_an_interrupt_ends_it(read: Read) -> None:
    """After Ctrl+C no other payer is requested, and the interrupt is raised."""
    with StatusService({f"user-{place}": READY for place in range(500)}) as service:
        service.interrupts_at = 3
        with pytest.raises(KeyboardInterrupt):
            read(service)

        assert len(service.asked) < 1000


def test_a_response_that_cannot_be_read_is_an_error(
    connected: Callable[..., Client],
) -> None:
    """A list of something else is in the row's error; it was tried as often as any
    read.
    """
    with StatusService({"user-1": READY}) as service:
        service.accounts["user-1"] = "text"  # type: ignore[assignment]  # what the API does not document
        found = take_snapshots(
            connected(service.url), ["user-1"], LeapingClock().limiter(workers=1)
        )

    assert isinstance(found["user-1"].error, UnreadableAnswer)


@table("rejection_reasons")
def test_why_an_account_does_not_pass(
    read: Read, status: Any, accounts: list[Any], events: list[Any], reason: str | None
) -> None:
    """The last event about each account that counts says it, if it says the status that
    holds now.
    """
    with StatusService({"user-1": status}, {"user-1": accounts}) as service:
        assert [reason] == cells(
            read(service, events=payerkit.read_events(events)), "reason"
        )


def test_since_comes_from_an_earlier_frame(read: Read) -> None:
    """The same statuses hold since the earlier look, or since what that knew; of others
    it is not known.
    """
    same, changed, new = "user-1", "user-2", "user-3"
    with StatusService({same: REVIEW, changed: UNSIGNED, new: REVIEW}) as service:
        first = read(service, [changed, same])
        service.payers[changed] = REVIEW
        second = read(service, [same, changed, new], previous=first)
        third = read(service, [same, changed, new], previous=second)

    assert [first["checked_at_utc"][1], pd.NaT, pd.NaT] == list(
        second["since_utc"].astype(object)
    )
    assert [first["checked_at_utc"][1], *second["checked_at_utc"][1:]] == list(
        third["since_utc"]
    )


@pytest.mark.parametrize(
    ("client_user_id", "options", "is_known"),
    [
        ("nobody", {}, False),  # two errors are no equal statuses
        ("zoe@example.com", {}, False),  # a masked id is anybody's
        ("zoe@example.com", {"reveal": True}, True),
    ],
)
def test_who_has_a_history(
    read: Read, client_user_id: str, options: dict[str, Any], is_known: bool
) -> None:
    """Only a payer who was read, and whose id is shown."""
    with StatusService({"zoe@example.com": REVIEW}) as service:
        first = read(service, [client_user_id], **options)
        second = read(service, [client_user_id], previous=first, **options)

    assert [is_known] == list(second["since_utc"].notna())


@pytest.mark.parametrize(
    ("change", "of_account", "is_same"),
    [
        ({}, "pending", True),
        (
            {"isCompliant": True},
            "pending",
            False,
        ),  # approved and signed, and now compliant, too
        ({"userId": "7"}, "pending", True),  # not a status
        ({}, "failed", False),
    ],
)
def test_only_statuses_count(
    read: Read, change: dict[str, Any], of_account: str, is_same: bool
) -> None:
    """Those of the payer and of the accounts: anything else may change."""
    before = payer("approved", "completed", compliant=False)
    with StatusService({"user-1": before}, {"user-1": [account("pending")]}) as service:
        first = read(service)
        service.payers["user-1"] |= change
        service.accounts["user-1"][0]["status"] = of_account
        second = read(service, previous=first)

    assert is_same == second["since_utc"].notna().all()


def test_an_earlier_frame_may_come_from_a_file(read: Read, tmp_path: Path) -> None:
    """Saved as CSV and read with any types, it is worth the same; what is no time says
    nothing.
    """
    file = tmp_path / "last-week.csv"
    with StatusService(
        {"user-1": READY, "user-2": REVIEW}, {"user-1": [account("approved")]}
    ) as service:
        first = read(service).assign(since_utc=["2026-01-05T08:00:00Z", "Monday"])
        first.to_csv(file, index=False)
        as_text = read(service, previous=pd.read_csv(file, dtype=str))
        guessed = read(service, previous=pd.read_csv(file))

    expected = [pd.Timestamp("2026-01-05 08:00"), first["checked_at_utc"][1]]
    assert expected == list(as_text["since_utc"]) == list(guessed["since_utc"])


@pytest.mark.parametrize(
    ("ids", "options", "words"),
    [
        ("user-1", {}, "got a str"),  # and not six payers of one letter
        (b"user-1", {}, "got a bytes"),
        (
            pd.DataFrame({"id": ["user-1"]}),
            {},
            "got a DataFrame",
        ),  # and not its columns
        ({"user-1": 1}, {}, "got a dict"),
        (None, {}, "got None"),
        (["user-1", None], {}, "ids: Expected one id as text"),  # an empty cell
        (["user-1", ".."], {}, "removed from the URL"),
        (
            ["user-1"],
            {"previous": "last-week.csv"},
            "previous: expected an earlier result",
        ),
        (
            ["user-1"],
            {"events": "events.jsonl"},
            "events: expected a result of read_events",
        ),
        (
            ["user-1"],
            {"events": pd.DataFrame({"event": []})},
            "events: expected a result of read_events",
        ),
        (
            ["user-1"],
            {"events": SimpleNamespace(columns=None)},
            "events: expected a result of read_events",
        ),
        (
            ["user-1"],
            {"previous": pd.DataFrame({"since_utc": []})},
            "previous: expected an earlier result",
        ),
    ],
)
def test_invalid_arguments_are_refused(
    connected: Callable[..., Client], ids: Any, options: dict[str, Any], words: str
) -> None:
    """Invalid ids and options are refused before anything is sent."""
    with StatusService({"user-1": READY}) as service:
        with pytest.raises(InvalidInput, match=words):
            payerkit.payer_statuses(connected(service.url), ids, **options)

        assert [] == service.asked


FAILED_ACCOUNT = {
    "event": "payment_detail.updated",
    "status": "failed",
    "paymentDetailsId": "1",
    "rejectionMessage": "Beneficiary name mismatch",
}


def test_a_reason_is_masked_unless_it_is_to_be_shown(read: Read) -> None:
    """Whatever the events show."""
    reason = "Account of zoe@example.com closed"
    event = FAILED_ACCOUNT | {"rejectionMessage": reason}
    events = payerkit.read_events([event], reveal=True)
    with StatusService({"user-1": READY}, {"user-1": [account("failed")]}) as service:
        frames = [
            read(service, events=events, reveal=reveal) for reveal in (False, True)
        ]

    assert ["Account of •••• closed", reason] == [
        frame["reason"][0] for frame in frames
    ]
