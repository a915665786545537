"""Rows that changed after they were done, and lists that do not show all: nothing is
stored for them that nobody asked for, and the report says what to do.

The far end is the judge: what it has stored is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from onboarding_model import (
    FINE,
    LOST_AFTER,
    Fault,
    ModelService,
    Record,
    breaches,
    reasons,
    row_states,
    run,
    without_numbers,
)
from onboarding_tables import Row, payer_row

ROWS = [payer_row(place) for place in range(3)]
NUMBER = ROWS[0]["account_number"]


def changed(**changes: str) -> list[Row]:
    """Return the table with a change in its first row."""
    return [ROWS[0] | changes, *ROWS[1:]]


def swapped() -> list[Row]:
    """Return the table with the accounts of two payers exchanged."""
    one, other = ROWS[0], ROWS[1]
    return [
        one | {"account_number": other["account_number"]},
        other | {"account_number": one["account_number"]},
        ROWS[2],
    ]


def shifted() -> list[Row]:
    """Return the table with the accounts one row further down."""
    numbers = [row["account_number"] for row in ROWS]
    moved = [numbers[-1], *numbers[:-1]]
    return [
        row | {"account_number": number}
        for row, number in zip(ROWS, moved, strict=True)
    ]


# A row that changed


@pytest.mark.parametrize(
    ("rows", "stopped"),
    [
        (changed(account_number="4411223344"), 1),  # a typo
        (changed(account_number=f"0{NUMBER}"), 1),  # a zero that was found
        (changed(routing_number="021000021"), 1),  # another bank code
        (changed(swift_bic="CHASUS33"), 1),  # a code more
        (changed(currency="eur"), 1),
        (changed(iban="GB29NWBK60161331926819"), 1),  # in place of the number
        (swapped(), 2),
        (shifted(), 3),
    ],
)
@pytest.mark.parametrize("is_lost", [False, True])
def test_a_row_that_changed_is_left_to_a_person(
    service: ModelService,
    path: Path,
    rows: list[Row],
    stopped: int,
    is_lost: bool,
) -> None:
    """Its payer has the account from the row as it was, whether the response to that
    was lost or not: no second one is stored unless a person says so.
    """
    if is_lost:
        service.next["account"].append(LOST_AFTER)
    run(service, ROWS, path)
    report = run(service, rows, path)
    stored = len(service.accounts)
    forced = run(service, rows, path, existing="send")

    assert 3 == stored
    assert stopped == report.counts["not_sent"]
    assert {"row_gone"} == set(report.frame["reason_code"].dropna()) - {""}
    assert service.accounts[0].id in reasons(report)[0]
    assert 'existing="send"' in str(report)
    assert ["done"] * 3 == row_states(forced)
    assert 3 + stopped == len(service.accounts)


def test_an_account_of_no_row_is_told(service: ModelService, path: Path) -> None:
    """It can still be paid, also if the row was replaced on purpose, or is gone."""
    run(service, ROWS, path)
    replaced = run(service, changed(account_number="4411223344"), path, existing="send")
    two = [ROWS[0], ROWS[1] | {"account_number": "4411223355"}]
    run(service, [*ROWS, two[1]], path)
    removed = run(service, ROWS, path)

    assert "1 account of these payers came from a row that is not here" in str(replaced)
    assert service.accounts[0].id in str(replaced)
    assert "2 accounts of these payers" in str(removed)


def test_a_table_with_some_of_the_rows_is_no_evidence(
    service: ModelService, path: Path
) -> None:
    """A second account of a payer is sent if none of its numbers is known; one that
    shares a number with a row that is not here is not.
    """
    run(service, ROWS, path)
    second = run(service, [ROWS[0] | {"account_number": "4411223344"}], path)
    same = run(service, [ROWS[1] | {"routing_number": "021000021"}], path)
    zero = run(
        service, [ROWS[2] | {"account_number": f"00{ROWS[2]['account_number']}"}], path
    )

    assert ["done"] == row_states(second)
    assert "1 account of these payers came from a row that is not here" in str(second)
    assert [["not_sent"], ["not_sent"]] == [row_states(same), row_states(zero)]
    assert 4 == len(service.accounts)


def test_a_corrections_file_is_no_evidence(service: ModelService, path: Path) -> None:
    """Of two accounts of one payer, one was refused; the file has that one alone."""
    rows = [ROWS[0], ROWS[0] | {"account_number": "4411223344"}]
    service.next["account"].extend([FINE, Fault(status=400, body={"message": "No"})])
    file = path.with_name("table.csv")
    pd.DataFrame(rows).assign(holder_is_payer="yes").to_csv(file, index=False)
    first = run(service, payerkit.read_payers(file), path)
    to_correct = path.with_name("to-correct.csv")
    first.save_corrections(to_correct)
    text = to_correct.read_text("utf-8").replace("4411223344", "4411223355")
    to_correct.write_text(text, "utf-8")
    report = run(service, payerkit.read_payers(to_correct), path)

    assert ["done", "refused"] == row_states(first)
    assert ["done"] == row_states(report)
    assert 2 == len(service.accounts)


# An id in another spelling

SPELLINGS = [
    ("Customer-7", "customer-7"),  # case
    ("customer 7", "customer7"),
    ("caf\u00e9-7", "cafe\u0301-7"),  # another Unicode form
    (
        "customer7",
        "\uff43\uff55\uff53\uff54\uff4f\uff4d\uff45\uff52\uff17",
    ),  # full width
    ("customer-7", "customer7"),
    ("customer\u20117", "customer-7"),  # another hyphen
    ("00001", "1"),
    ("a-001", "a-1"),
]


@pytest.mark.parametrize(("before", "after"), SPELLINGS)
@pytest.mark.parametrize("steps", [("payer", "bank_details"), ("bank_details",)])
def test_an_id_in_another_spelling_is_left_to_a_person(
    service: ModelService, path: Path, before: str, after: str, steps: Any
) -> None:
    """It would be another payer, with the same account."""
    rows = [ROWS[0] | {"client_user_id": before}, ROWS[1]]
    respelled = [ROWS[0] | {"client_user_id": after}, ROWS[1]]
    run(service, rows, path)
    report = run(service, respelled, path, steps=steps)
    again = run(service, respelled, path, steps=steps)

    assert ["not_sent", "done"] == row_states(report) == row_states(again)
    assert reasons(report)[0].startswith("id_respelled: ")
    assert 2 == len(service.accounts)
    assert 2 == len(service.payers)


@pytest.mark.parametrize(
    ("one", "other"), [("a-1", "a-11"), ("10", "1"), ("a.b", "ab")]
)
def test_another_id_is_another_payer(
    service: ModelService, path: Path, one: str, other: str
) -> None:
    """Digits and other signs count."""
    run(service, [ROWS[0] | {"client_user_id": one}], path)
    report = run(service, [ROWS[1] | {"client_user_id": other}], path)

    assert ["done"] == row_states(report)


def test_two_payers_of_nearly_one_id_are_two(service: ModelService, path: Path) -> None:
    """The table has both, also if the second comes later."""
    rows = [ROWS[0] | {"client_user_id": "a-1"}, ROWS[1] | {"client_user_id": "a1"}]
    run(service, rows[:1], path)
    report = run(service, rows, path)

    assert ["done", "done"] == row_states(report)
    assert 2 == len(service.payers)


# Lists that are not whole

BESIDE: list[dict[str, Any]] = [
    {"hasMore": True},
    {"has_more": "true"},
    {"total": 26},
    {"totalCount": "26"},
    {"meta": {"pagination": {"totalPages": 3, "page": 1}}},
    {"next": "https://example.com/?page=2"},
    {"nextCursor": "abc"},
    {"links": {"next": "/page/2"}},
    {"limit": 2},
    {"clientUserId": "somebody-else"},
]


@pytest.mark.parametrize("beside", BESIDE, ids=[str(each) for each in BESIDE])
def test_a_list_that_says_it_is_not_whole_proves_nothing(
    service: ModelService, path: Path, beside: dict[str, Any]
) -> None:
    """The journal was lost, and the list shows two accounts of more: what it does not
    show is not stored again.
    """
    rows = [ROWS[0] | {"account_number": f"880000{place:04}"} for place in range(4)]
    run(service, rows, path)
    shown = service.shown(rows[0]["client_user_id"])[:2]
    body = {"paymentDetails": shown} | beside
    service.next["list"].append(Fault(status=200, body=body))
    report = run(service, rows, path.with_name("new"))

    assert 4 == len(service.accounts)
    assert ["done", "done", "not_sent", "not_sent"] == row_states(report)
    assert all(reason.startswith("perhaps_there") for reason in reasons(report)[2:])
    assert "--existing send" in str(report)
    assert [] == breaches(service, rows, report)


WHOLE: list[dict[str, Any]] = [
    {"hasMore": False, "next": None, "nextCursor": ""},
    {"total": 2, "count": 2, "page": 1, "totalPages": 1, "limit": 50},
    {"links": {"self": "/page/1", "next": None}},
]


@pytest.mark.parametrize("beside", WHOLE, ids=[str(each) for each in WHOLE])
def test_a_list_that_says_it_is_whole_is_believed(
    service: ModelService, path: Path, beside: dict[str, Any]
) -> None:
    """What it does not show is sent."""
    rows = [ROWS[0] | {"account_number": f"880000{place:04}"} for place in range(3)]
    run(service, rows[:2], path)
    body = {"paymentDetails": service.shown(rows[0]["client_user_id"])} | beside
    service.next["list"].append(Fault(status=200, body=body))

    assert ["done"] * 3 == row_states(run(service, rows, path))


def test_accounts_of_another_payer_are_not_taken(
    service: ModelService, path: Path
) -> None:
    """A list that has them is not the payer's, so that it proves nothing."""
    foreign = {"id": "pd-x", "accountNumber": NUMBER, "currency": "usd"}
    records = [foreign | {"clientUserId": "somebody-else"}]
    service.next["list"].append(Fault(status=200, body={"paymentDetails": records}))
    report = run(service, ROWS[:1], path)

    assert ["not_sent"] == row_states(report)
    assert reasons(report)[0].startswith("perhaps_there")


@pytest.mark.parametrize("cut", [8, 10, 20])
def test_a_lost_journal_stores_nothing_twice_behind_a_page(
    service: ModelService, path: Path, cut: int
) -> None:
    """26 accounts of one payer, of which the list shows a page."""
    rows = [ROWS[0] | {"account_number": f"880000{place:04}"} for place in range(26)]
    run(service, rows, path)
    service.cut = cut
    report = run(service, rows, path.with_name("new"))

    assert 26 == len(service.accounts)
    assert cut == report.counts["done"]
    assert {"perhaps_there"} == set(report.frame.loc[cut:, "reason_code"])


@pytest.mark.parametrize(
    "shown",
    ["0000", "••••0000", "000000000000", "XXXX-0000"],
)
def test_a_mask_of_zeros_compares_nothing(
    service: ModelService, path: Path, shown: str
) -> None:
    """The journal was lost: the account may be the one of the row."""

    def hide(record: Record) -> Record:
        return record | {"accountNumber": shown}

    run(service, ROWS[:1], path)
    service.listed = hide
    report = run(service, ROWS[:1], path.with_name("new"))

    assert ["not_sent"] == row_states(report)
    assert 1 == len(service.accounts)


# Responses that are none

IDS: list[Any] = [None, True, False, 0, {}, [], "", "  ", "null", "undefined"]


@pytest.mark.parametrize("own_id", IDS, ids=repr)
def test_an_account_without_a_usable_id_is_unknown(
    service: ModelService, path: Path, own_id: Any
) -> None:
    """It is looked for: the far end did not store it, so it is not done."""
    record = {"id": own_id, "bankName": "Chase", "currency": "usd", "status": "ok"}
    service.next["account"].append(Fault(status=201, body={"payment_detail": record}))
    report = run(service, ROWS[:1], path)

    assert ["unknown"] == row_states(report)
    assert "--retry unknown" in reasons(report)[0]
    assert [] == service.accounts


def test_a_service_that_fails_for_everybody_ends_the_run(
    service: ModelService, path: Path
) -> None:
    """Within seconds; the same call goes on later."""
    rows = [payer_row(place) for place in range(50)]
    service.faults.extend([Fault(status=503)] * 1000)
    began = service.clock.now()
    report = run(service, rows, path)
    seconds = service.clock.now() - began
    service.faults.clear()
    again = run(service, rows, path)

    assert "did not answer 10 times in a row" in report.stopped
    assert seconds < 20
    assert ["done"] * 50 == row_states(again)
    assert 50 == len(service.accounts)


@pytest.mark.parametrize("hide", [without_numbers, lambda _: None])
def test_a_list_that_lags_or_hides_never_makes_two(
    service: ModelService, path: Path, hide: Callable[[Record], Record | None]
) -> None:
    """However often the same call is made, the lost account is stored once."""
    service.next["account"].append(LOST_AFTER)
    service.listed = hide
    states = [row_states(run(service, ROWS[:1], path)) for _ in range(4)]
    service.listed = dict
    last = row_states(run(service, ROWS[:1], path))

    assert [["unknown"]] * 4 == states
    assert ["done"] == last
    assert 1 == len(service.accounts)
