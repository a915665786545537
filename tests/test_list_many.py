"""`list_many`: the accounts of many payers in one DataFrame."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

import far_end
import payerkit
from clocks import LeapingClock
from payerkit import InvalidInput
from payerkit.client import Client
from payerkit.onboarding.limiter import request_lists
from payerkit.statuses.statuses import accounts_frame
from published import TYPED_ACCOUNT, TYPED_PAYER

FIRST, SECOND, WITHOUT = "zoe@example.com", "user-2", "user-3"
NUMBERS = {FIRST: ["98127364550", "11112222333"], SECOND: ["44445555666"], WITHOUT: []}


@pytest.fixture(scope="module")
def service() -> Iterator[Client]:
    """Run a sandbox with three payers: two accounts, one, and none."""
    with payerkit.sandbox(seed=1) as client:
        for client_user_id, numbers in NUMBERS.items():
            payerkit.create_payer(client, TYPED_PAYER | {"client_user_id": client_user_id})
            for number in numbers:
                payerkit.create_payment_detail(client, client_user_id, TYPED_ACCOUNT | {"account_number": number})
        yield client


def read(client: Client, ids: Any, **options: Any) -> pd.DataFrame:
    """List without a progress bar."""
    return payerkit.statuses.list_many(client, ids, progress=False, **options)


def whose(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the payer and the number of each account in a DataFrame."""
    return list(frame[["client_user_id", "account_number"]].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([FIRST, SECOND], [FIRST, FIRST, SECOND]),
        ([SECOND, WITHOUT, SECOND], [SECOND]),  # no account, no row; an id twice is asked for once
        (pd.DataFrame({"id": [SECOND, FIRST, SECOND]})["id"], [SECOND, FIRST, FIRST]),  # a column
        (pd.Index([SECOND]), [SECOND]),
        ([], []),
    ],
)
def test_accounts_are_in_the_order_of_the_ids(ids: Any, expected: list[str], service: Client) -> None:
    """Payers are in the order of the ids, accounts in the order of the service."""
    frame = read(service, ids, reveal=True)

    numbers = [number for each in dict.fromkeys(expected) for number in NUMBERS[each]]
    assert list(zip(expected, numbers, strict=True)) == whose(frame)
    assert frame["error"].isna().all()


def test_columns_are_those_of_list_payment_details(service: Client) -> None:
    """They stand between `client_user_id` and `error`."""
    one = payerkit.list_payment_details(service, FIRST)
    many = read(service, [FIRST])

    assert ["client_user_id", *one.columns, "error"] == list(many.columns)
    pd.testing.assert_frame_equal(one, many[one.columns])
    assert ["client_user_id", "error"] == [name for name in read(service, []).columns if name not in one.columns]


def test_accounts_are_masked_unless_revealed(service: Client) -> None:
    """Account numbers, names and e-mail addresses are masked; `reveal=True` shows them."""
    secrets = [FIRST, *NUMBERS[FIRST], "Quartermaine", "1979-03-27", "77 Typed Terrace"]
    hidden, shown = (read(service, [FIRST], reveal=reveal).to_string() for reveal in (False, True))

    assert ([], []) == ([each for each in secrets if each in hidden], [each for each in secrets if each not in shown])


def test_unknown_payers_have_a_row(service: Client) -> None:
    """An unknown payer has one row with the error; an id that is an e-mail address is masked. Others are read."""
    frame = read(service, ["nobody@example.com", SECOND, "nobody"])

    assert ["••••", SECOND, "nobody"] == list(frame["client_user_id"])
    assert [True, False, True] == list(frame["error"].str.contains("404").fillna(value=False))
    assert [True, False, True] == list(frame.drop(columns=["client_user_id", "error"]).isna().all(axis=1))
    assert "@" not in frame.to_string()


def test_an_error_for_one_payer_is_in_its_row(connected: Callable[..., Client]) -> None:
    """The other payers are read; a field `error` of the service is not taken for our column."""

    def answer(connection: Any, request: far_end.Received) -> bool | None:
        records = json.dumps([{"id": "1", "accountNumber": "98127364550", "error": "none", "clientUserId": "x"}])
        return far_end.reply(200, "<html>" if "user-2" in request.target else records)(connection, request)

    with far_end.FarEnd([answer]) as far:
        client, limiter = connected(far.url), LeapingClock().limiter(workers=1)
        results = request_lists(client, ["user-1", "user-2", "user-3"], limiter, progress=False)
    frame = accounts_frame(results, reveal=False)

    assert [("user-1", "••••4550"), ("user-2", pd.NA), ("user-3", "••••4550")] == whose(frame)
    assert [False, True, False] == list(frame["error"].notna())


def test_an_id_alone_is_refused(connected: Callable[..., Client]) -> None:
    """Ids are checked as those of `payer_statuses`, before anything is sent."""
    with far_end.FarEnd([far_end.reply(200, "[]")]) as far:
        with pytest.raises(InvalidInput, match="ids: expected a list or a column of client user ids, got a str"):
            read(connected(far.url), "user-1")

        assert [] == far.ledger
