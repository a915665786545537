"""What an adversary tried: each way to store an account twice, to call one done that is
not there, or to give it up.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cases import table
from onboarding_model import (
    FAILS_BEFORE,
    FINE,
    LOST_AFTER,
    LOST_BEFORE,
    SETTLE,
    Fault,
    Killed,
    Kind,
    ModelClient,
    ModelService,
    Record,
    api_error,
    breaches,
    gateway,
    late,
    masked,
    reasons,
    row_states,
    run,
    specified,
    states_after,
    stored_twice,
    without_numbers,
)
from onboarding_tables import payer_row
from payerkit import InvalidInput
from payerkit.runs import Report, verify_onboarding
from payerkit.runs.limiter import StopSignal
from payerkit.runs.options import STOP_AFTER

Row = dict[str, str]
IBAN = "DE89370400440532013000"


def rows_of_payers(*places: int) -> list[Row]:
    """Return payers with an account each."""
    return [payer_row(place) for place in places]


def accounts_of_one(number: int) -> list[Row]:
    """Return so many accounts of one payer."""
    return [
        payer_row(1) | {"account_number": f"880000{place:04}"}
        for place in range(number)
    ]


def iban_row(place: int) -> Row:
    """Return a payer with an account that has an IBAN alone."""
    row = payer_row(place) | {"currency": "eur", "iban": IBAN}
    return {
        name: value
        for name, value in row.items()
        if name not in {"account_number", "routing_number"}
    }


def forget(path: Path) -> None:
    """Lose a journal."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def writes(service: ModelService) -> tuple[int, int]:
    """Return how many payers and accounts were sent."""
    return service.count("payer"), service.count("account")


# A row is known by what it asks for


def respell(rows: list[Row]) -> list[Row]:
    """Save with other blanks and case."""
    spelled = {
        "currency": " USD",
        "account_number": "77 0000 002 001",
        "routing_number": "026-013-356",
    }
    return [rows[0], rows[1] | {"currency": "USD"}, rows[2] | spelled]


LATER_FILES: dict[str, Callable[[list[Row]], list[Row]]] = {
    "longer": lambda rows: [*rows, payer_row(9)],
    "shorter": lambda rows: rows[1:],
    "sorted": lambda rows: rows[::-1],
    "saved with other blanks and case": respell,
    "with a column more": lambda rows: [
        row | {"bank_address_line2": ""} for row in rows
    ],
}


@pytest.mark.parametrize("change", LATER_FILES)
def test_a_later_file_goes_on_in_the_same_journal(
    service: ModelService, path: Path, change: str
) -> None:
    """What is done stays done. Before, the journal refused the file, and advised a new
    one: all was stored again.
    """
    rows = rows_of_payers(0, 1, 2)
    run(service, rows, path)
    before = service.count("account")
    later = LATER_FILES[change](rows)
    report = run(service, later, path)

    assert {"done"} == set(row_states(report))
    assert (change == "longer") == service.count("account") - before
    assert [] == breaches(service, later, report)


SENT = payer_row(0)


@pytest.mark.parametrize(
    "later",
    [
        [SENT | {"email": "nonsense"}],  # an error of the payer
        [SENT | {"account_name": ""}],  # one of the account
        [SENT, SENT | {"account_name": "Another Holder"}],  # a contradiction
    ],
)
def test_what_was_stored_before_a_file_had_errors_stays_done(
    service: ModelService, path: Path, later: list[Row]
) -> None:
    """And the errors are its reason. Before, the row was "not sent", though it is
    stored.
    """
    run(service, [SENT], path)
    report = run(service, later, path)

    assert {"done"} == set(row_states(report))
    assert not report.frame["retryable"].any()
    assert any("Not sent again: " in reason for reason in reasons(report))
    assert 1 == service.count("account")
    assert [] == breaches(service, later, report)


def test_a_row_that_is_kept_back_is_in_its_table(
    service: ModelService, path: Path
) -> None:
    """Its outcome is unknown, and `hold` keeps it back. Before, the report said that
    the table no longer has it.
    """
    rows = rows_with_a_warning()[1:]
    service.next["account"].append(LOST_AFTER)
    assert is_killed(service, rows, path, "list", 2, steps=0)
    report = run(service, rows, path, hold="warnings")

    assert ["unknown"] == row_states(report)
    assert "no longer has" not in str(report)


# What is there already is not stored again


def test_a_lost_journal_stores_nothing_twice(service: ModelService, path: Path) -> None:
    """Before, a run with a new journal stored every account again, and told `done`."""
    rows = rows_of_payers(0, 1, 2)
    first = run(service, rows, path)
    forget(path)
    report = run(service, rows, path)

    assert ["done"] * 3 == row_states(report)
    assert all(reason.startswith("Was there already") for reason in reasons(report))
    assert list(first.frame["payment_details_id"]) == list(
        report.frame["payment_details_id"]
    )
    assert 3 == service.count("account")


@pytest.mark.parametrize("after", [0, 1, 3])
def test_two_tools_side_by_side_store_nothing_twice(
    service: ModelService, path: Path, after: int
) -> None:
    """Another run with a journal of its own goes on between two payers. Before, each
    stored every account.
    """
    rows = rows_of_payers(0, 1, 2)
    others: list[Report] = []

    def run_another(kind: Kind, _: str) -> None:
        if kind == "list" and service.count("list") == after:
            service.before = lambda _kind, _payer: None
            others.append(run(service, rows, path.with_name("other")))

    if after < 3:
        service.before = run_another
    report = run(service, rows, path)
    others = others or [run(service, rows, path.with_name("other"))]

    assert [["done"] * 3] * 2 == [row_states(each) for each in (report, others[0])]
    assert 3 == service.count("account")


def test_a_journal_deleted_mid_run_is_noticed(
    service: ModelService, path: Path
) -> None:
    """Nothing more is sent. Before, the run went on without a file, and the next one
    knew nothing.
    """
    rows = rows_of_payers(*range(6))

    def delete(kind: Kind, _: str) -> None:
        if kind == "account" and service.count("account") == 2:
            forget(path)

    service.before = delete
    stopped = run(service, rows, path).stopped
    sent = service.count("account")
    service.before = lambda _kind, _payer: None

    assert ["done"] * 6 == states_after(service, rows, path)
    assert 3 == sent
    assert "was deleted, moved or replaced" in stopped
    assert 6 == service.count("account")


LISTS: dict[str, Callable[[Record], Record]] = {
    "as sent": dict,
    "specified": specified,
    "masked": masked,
    "without_numbers": without_numbers,
}


@table("accounts_of_others")
def test_what_another_tool_stored_is_not_stored_again(
    service: ModelService, path: Path, listed: str, change: Row, expected: str
) -> None:
    """Unless the list says that it is another account; where it does not tell, a person
    decides.
    """
    row = payer_row(1)
    there = service.store(row | change)
    service.listed = LISTS[listed]
    report = run(service, [row], path)
    reason = reasons(report)[0]

    assert (expected == "sent") == bool(service.count("account"))
    if expected == "perhaps_there":
        assert ["not_sent"] == row_states(report)
        assert reason.startswith("perhaps_there: ")
    else:
        assert ["done"] == row_states(report)
    if expected.startswith("done"):
        assert there.id == report.frame["payment_details_id"].iloc[0]
        assert reason.startswith("Was there already.")
        assert ("told" in expected) == (len(reason) > len("Was there already."))


def showing(**fields: Any) -> Callable[[Record], Record]:
    """Return a list that shows some fields in another way; a text may have what was
    sent in it.
    """
    return lambda record: (
        record
        | {
            name: value.format(record.get(name)) if isinstance(value, str) else value
            for name, value in fields.items()
        }
    )


OWN_NUMBER = "a number of its own"
ROWS = {"number": payer_row(1), "IBAN": iban_row(1)}
FOUND = {
    "a code of another kind",
    "rails by another name",
    "an IBAN as the account number",
}
"""Ways that show the number and contradict nothing; with any other, a person
decides.
"""


@table("account_lists")
def test_a_lost_account_is_not_stored_again_however_it_is_listed(
    service: ModelService, path: Path, known_by: str, way: str, shown: Record
) -> None:
    """It is found, or left to a person with its id, if the list shows anything of it;
    a number of its own looks like another account.
    """
    row, service.listed = ROWS[known_by], showing(**shown)
    service.next["account"].append(LOST_AFTER)
    reports = [run(service, [row], path) for _ in range(2)]

    assert 1 == len(service.accounts)
    for report in reports:
        assert ["done" if way in FOUND else "unknown"] == row_states(report)
        is_named = service.accounts[0].id in reasons(report)[0]
        assert is_named == (way not in {*FOUND, OWN_NUMBER})
        assert [] == breaches(service, [row], report)


@table("account_lists")
def test_a_lost_journal_stores_nothing_twice_however_it_is_listed(
    service: ModelService, path: Path, known_by: str, way: str, shown: Record
) -> None:
    """A person compares what may be there. Before, most of these ways stored every
    account again.
    """
    row = ROWS[known_by]
    run(service, [row], path)
    forget(path)
    service.listed = showing(**shown)
    report = run(service, [row], path)
    is_there = row_states(report) == ["done"] or reasons(report)[0].startswith(
        "perhaps_there: "
    )

    assert is_there
    assert (2 if way == OWN_NUMBER else 1) == len(
        service.accounts
    )  # which is what a second account looks like


@pytest.mark.parametrize(
    "listed",
    [
        lambda record: record | {"id": None},
        lambda record: {"id": record["id"]},
        lambda _: None,
    ],
)
def test_a_list_without_ids_or_accounts_proves_nothing(
    service: ModelService, path: Path, listed: Any
) -> None:
    """The lost account is left to a person, and not stored again: without an id, with
    nothing else, or not listed.
    """
    service.listed = listed
    service.next["account"].extend([FINE, LOST_AFTER])

    assert [["done", "unknown"]] * 2 == [
        states_after(service, rows_of_payers(1, 2), path) for _ in range(2)
    ]
    assert 2 == len(service.accounts)


def test_a_second_account_at_the_bank_is_another_one(
    service: ModelService, path: Path
) -> None:
    """One is there, one was lost, and the response to one was lost: what is listed is
    done, and stored once.
    """
    rows = accounts_of_one(3)
    service.store(rows[0])
    service.next["account"].extend([LOST_BEFORE, LOST_AFTER])

    assert ["done", "unknown", "done"] == states_after(service, rows, path)
    assert set() == stored_twice(service)


def test_one_number_at_two_banks_is_two_accounts(
    service: ModelService, path: Path
) -> None:
    """The table has both, so each explains its own, whichever response is lost."""
    row = payer_row(1)
    rows = [row, row | {"routing_number": "021000021"}]
    service.next["account"].extend([LOST_BEFORE, LOST_AFTER])

    assert ["unknown", "done"] == states_after(service, rows, path)
    assert set() == stored_twice(service)


@pytest.mark.parametrize("codes", [("", "CHASUS33"), ("CHASUS33", "")])
def test_a_code_more_or_less_waits_for_a_late_write(
    service: ModelService, path: Path, codes: tuple[str, str]
) -> None:
    """The run was killed, the row changed, and the write takes effect in the next
    run.
    """
    before, after = ([payer_row(1) | {"swift_bic": code}] for code in codes)
    service.next["account"].append(late(0.9 * SETTLE))
    assert is_killed(service, before, path, "list", 2, steps=0)
    report = run(service, after, path)

    assert (["not_sent"], 1) == (row_states(report), len(service.accounts))


def let_another_tool_store(service: ModelService, row: Row) -> None:
    """Store an account while the first account that was sent is unknown."""

    def store_it(kind: Kind, _: str) -> None:
        if (
            kind == "list"
            and service.count("account")
            and not any(not each.by for each in service.accounts)
        ):
            service.store(row)

    service.before = store_it


@pytest.mark.parametrize(
    "status", ["waits for jane.doe@example.com", "Customer-00001@example.org"]
)
def test_a_listed_status_that_names_somebody_is_not_kept(
    service: ModelService, path: Path, status: str
) -> None:
    """As in other responses. Before, the journal and the report had it."""
    service.store(payer_row(1), status=status)
    report = run(service, [payer_row(1)], path)
    held = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))

    assert ["done"] == row_states(report)
    assert status.encode() not in held
    assert report.frame["status"].isna().all()


def test_a_list_without_ibans_tells_nothing_of_an_iban(
    service: ModelService, path: Path
) -> None:
    """The specified list has none. An account of the same payer and currency may be the
    one; a person clears it.
    """
    row = iban_row(1)
    service.store(row)
    service.listed = specified
    reports = [run(service, [row], path), run(service, [row], path)]
    before = service.count("account")
    cleared = run(service, [row], path, existing="send")

    assert [["not_sent"]] * 2 == [row_states(report) for report in reports]
    assert reasons(reports[1])[0].startswith("perhaps_there: ")
    assert (0, 1) == (before, service.count("account"))
    assert ["done"] == row_states(cleared)


# Absence counts only if the list is whole


@pytest.mark.parametrize("others", [7, 8])
def test_a_long_list_with_accounts_of_others_proves_no_absence(
    service: ModelService, path: Path, others: int
) -> None:
    """Eight accounts may be a page of a longer list, with the lost one behind it.
    Before, it was sent again.
    """
    rows = accounts_of_one(2)
    run(service, rows[:1], path)
    store_others(service, others)
    service.cut = others + 1
    service.next["account"].append(LOST_AFTER)

    assert ["done", "unknown"] == states_after(service, rows, path, existing="send")
    assert 2 == service.count("account")


def test_a_short_list_with_accounts_of_others_is_whole(
    service: ModelService, path: Path
) -> None:
    """Seven accounts are taken for all that there are: what is missing is sent."""
    rows = accounts_of_one(1)
    store_others(service, 7)

    assert ["done"] == states_after(service, rows, path)


def store_others(service: ModelService, number: int) -> None:
    """Let another tool store accounts of the payer."""
    for place in range(number):
        service.store(payer_row(1) | {"account_number": f"99000000{place:02}"})


def test_a_long_list_of_this_journal_alone_is_whole(
    service: ModelService, path: Path
) -> None:
    """Of thirteen accounts of the table, one is listed that is not known yet, and one
    was lost before it was stored.
    """
    rows = accounts_of_one(13)
    run(service, rows[:8], path)
    service.next["account"].extend([LOST_AFTER, LOST_BEFORE])

    expected = ["done"] * 9 + ["unknown"] + ["done"] * 3
    assert expected == states_after(service, rows, path)
    assert set() == stored_twice(service)


def test_another_tool_fills_a_cut_list(service: ModelService, path: Path) -> None:
    """The payer had no account when the journal began; another tool stored twelve
    since, and ten are shown.
    """
    rows = accounts_of_one(12)
    run(service, rows[:1], path)
    for row in rows[1:]:
        service.store(row)
    service.cut = 10
    report = run(service, [rows[0], rows[11]], path)

    assert ["done", "not_sent"] == row_states(report)
    assert reasons(report)[1].startswith("perhaps_there: ")
    assert 1 == service.count("account")


def test_an_unknown_account_is_not_taken_for_another_tools(
    service: ModelService, path: Path
) -> None:
    """It was stored and is listed masked; while a person has to decide, another account
    of the payer is sent.
    """
    rows = accounts_of_one(2)
    service.listed = masked
    service.next["account"].extend([gateway(403), LOST_AFTER])
    reports = [run(service, rows, path) for _ in range(2)]
    service.listed = dict

    assert ["done", "done"] == states_after(service, rows, path, retry=["unknown"])
    assert [["not_sent", "unknown"], ["done", "unknown"]] == [
        row_states(each) for each in reports
    ]
    assert set() == stored_twice(service)


@pytest.mark.parametrize(
    ("listed", "number"), [(masked, "5500002001"), (without_numbers, "5500001234")]
)
def test_a_list_that_hides_numbers_confirms_nothing(
    service: ModelService, path: Path, listed: Any, number: str
) -> None:
    """A new account ends in the same digits, or has the same holder. Before, the lost
    one was told `done` by it.
    """
    rows = [payer_row(1) | {"account_number": "7700002001"}]
    service.listed = listed
    service.next["account"].append(LOST_BEFORE)
    let_another_tool_store(service, payer_row(1) | {"account_number": number})
    report = run(service, rows, path)

    assert [] == breaches(service, rows, report)
    assert "done" not in row_states(report)


# Responses that do not say what was asked for


@pytest.mark.parametrize(
    "body",
    [{"statusCode": 400}, {"message": "queued"}, {"ok": True}, {"payment_detail": {}}],
)
@pytest.mark.parametrize("stored", [0.0, None])
@pytest.mark.parametrize("kind", ["payer", "account"])
def test_a_success_without_what_was_asked_for_is_looked_up(
    service: ModelService, path: Path, kind: Kind, stored: float | None, body: Any
) -> None:
    """It is done if it is found, whether the response says so or not. A payer is
    repeated, and an account is not.
    """
    service.next[kind].append(Fault(stored=stored, status=202, body=body))
    is_lost = kind == "account" and stored is None

    expected = ["unknown"] if is_lost else ["done"]
    assert expected == states_after(service, rows_of_payers(1), path)
    assert (0 if is_lost else 1) == len(service.accounts)


# Late writes


def test_a_late_write_is_found_by_the_next_run(
    service: ModelService, path: Path
) -> None:
    """A service that is silent for 5 s stores after 8: the account is unknown until
    then, and stored once.
    """
    rows = rows_of_payers(1)
    service.next["account"].append(late(8.0, takes=5.0))

    assert ["unknown"] == states_after(service, rows, path)
    service.settle()
    assert ["done"] == states_after(service, rows, path)
    assert 1 == service.count("account")


def test_a_payer_that_stays_missing_is_left_to_the_next_run(
    service: ModelService, path: Path
) -> None:
    """The reason says that it was stored; one that this journal did not store is
    refused.
    """
    missing = api_error(404, "Payer with client user ID user-1 not found")
    service.next["account"].append(missing)
    report = run(service, rows_of_payers(1), path)
    again = run(service, rows_of_payers(1), path)
    service.next["account"].append(missing)
    alone = run(service, rows_of_payers(2), path, steps=("bank_details",))

    assert (["not_sent"], [True]) == (
        row_states(report),
        list(report.frame["retryable"]),
    )
    assert "The service stored the payer before" in reasons(report)[0]
    assert ["done"] == row_states(again)
    assert ["refused"] == row_states(alone)


def is_killed(
    service: ModelService,
    rows: list[Row],
    path: Path,
    kind: Kind,
    number: int,
    steps: int,
) -> bool:
    """Kill a run so many steps after a request of a kind arrived, the n-th from now
    on.
    """
    left = number

    def watch(arrived: Kind, _: str) -> None:
        nonlocal left
        left -= arrived == kind
        if left == 0 and service.steps_left is None:
            service.steps_left = steps

    service.before = watch
    try:
        run(service, rows, path)
    except Killed:
        return True
    finally:
        service.before = lambda _kind, _payer: None
    return False


def test_a_failed_account_is_no_second_one(service: ModelService, path: Path) -> None:
    """Another tool stored it once more, and that one failed: one is there."""
    rows = rows_of_payers(1)
    service.next["account"].append(LOST_AFTER)

    def store_it(kind: Kind, _: str) -> None:
        if kind == "list" and service.count("account"):
            service.before = lambda _kind, _payer: None
            service.store(rows[0], status="failed")

    service.before = store_it

    assert ["done"] == states_after(service, rows, path)


# What no run can know, and a look can tell


def verified(
    service: ModelService, rows: list[Row], journal: Path | None = None
) -> list[tuple[str, ...]]:
    """Return what a look tells of each account: the label of its row, its state, and
    the ids that it names.
    """
    before = writes(service)
    with ModelClient(service) as client:
        frame = verify_onboarding(client, pd.DataFrame(rows), journal)

    assert before == writes(service)
    assert frame.loc[frame["state"] != "stored", "reason"].notna().all()
    ids = frame["payment_details_id"].fillna("") + frame["other_ids"].fillna("").map(
        lambda text: f", {text}" * bool(text)
    )
    return list(zip(frame["row"].map(str), frame["state"], ids, strict=True))


def test_a_look_finds_a_request_that_the_network_repeated(
    service: ModelService, path: Path
) -> None:
    """No key of the API prevents it: the run had one response, and knows of one
    account.
    """
    rows = rows_of_payers(1, 2)
    report = run(service, rows, path)
    again = service.store(rows[0])
    ids = list(report.frame["payment_details_id"])
    expected = [("0", "duplicate", f"{ids[0]}, {again.id}"), ("1", "stored", ids[1])]

    assert expected == verified(service, rows) == verified(service, rows, path)


def test_a_look_finds_lost_data(service: ModelService, path: Path) -> None:
    """The service lost an account, and a payer; the journal has both as stored."""
    rows = rows_of_payers(1, 2, 3)
    run(service, rows, path)
    lost = service.accounts.pop(0)
    del service.payers[rows[1]["client_user_id"]]
    found = verified(service, rows, path)

    assert ["missing", "missing", "stored"] == [state for _, state, _ in found]
    assert lost.id not in str(found)


def test_a_look_tells_accounts_that_no_row_explains(
    service: ModelService, path: Path
) -> None:
    """Of another program, and of a row that the table does not have any more; each
    payer's list is read.
    """
    rows = accounts_of_one(3)
    run(service, rows[:2], path)
    extra = service.store(rows[0] | {"account_number": "9999999999"})
    ids = [each.id for each in service.accounts]
    found = verified(service, [rows[0], rows[2]], path)

    assert [("0", "stored", ids[0]), ("1", "missing", "")] == found[:2]
    assert [
        ("None", "unexplained", ids[1]),
        ("None", "unexplained", extra.id),
    ] == found[2:]


HIDDEN = [
    (masked, False, ["perhaps_there", "perhaps_there"]),  # others end like this, too
    (masked, True, ["stored", "stored"]),  # the journal has the ids
    (showing(routingNumber="hidden"), False, ["perhaps_there", "perhaps_there"]),
    (showing(status="failed"), False, ["failed", "failed"]),
    (dict, False, ["stored", "stored"]),
]


@pytest.mark.parametrize(("listed", "has_journal", "expected"), HIDDEN)
def test_a_look_is_as_certain_as_the_list(
    service: ModelService,
    path: Path,
    listed: Callable[[Record], Record],
    has_journal: bool,
    expected: list[str],
) -> None:
    """What hides the number, or contradicts it, tells too little; with the journal, an
    id is enough.
    """
    rows = rows_of_payers(1, 2)
    run(service, rows, path)
    service.listed = listed
    found = verified(service, rows, path if has_journal else None)

    assert expected == [state for _, state, _ in found]


def test_a_masked_double_is_perhaps_one(service: ModelService, path: Path) -> None:
    """The journal knows one of two that end alike."""
    rows = rows_of_payers(1)
    run(service, rows, path)
    service.store(rows[0])
    service.listed = masked

    assert [("0", "perhaps_duplicate", "pd-1, pd-2")] == verified(service, rows, path)


def test_a_list_that_cannot_be_read_or_is_long_tells_nothing(
    service: ModelService, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that an account is there, nor that it is missing."""
    monkeypatch.setattr(
        StopSignal, "wait", lambda _, seconds: service.clock.wait(seconds)
    )
    rows = rows_of_payers(1, 2)
    run(service, rows, path)
    store_others(service, 9)
    service.cut = 0
    service.next["list"].extend([FAILS_BEFORE] * 6)
    unread = verified(service, rows[:1])
    service.cut, service.listed = None, showing(accountNumber="9000000042")

    assert [("0", "unknown", "")] == unread
    assert ("0", "unknown", "") == verified(service, rows[:1])[0]


def test_a_long_list_of_the_table_shows_what_is_missing(
    service: ModelService, path: Path
) -> None:
    """All that it shows was sent with the journal, so that none can be behind its end.
    Without the journal, that is not known.
    """
    rows = accounts_of_one(9)
    run(service, rows[:8], path)
    with_journal = [state for _, state, _ in verified(service, rows, path)]
    without = [state for _, state, _ in verified(service, rows)]

    assert ["stored"] * 8 + ["missing"] == with_journal
    assert ["stored"] * 8 + ["unknown"] == without


def test_a_look_refuses_a_journal_that_is_not_there(
    service: ModelService, path: Path
) -> None:
    """A name with a slip would compare without it, and nobody would know."""
    with pytest.raises(InvalidInput, match=r"there is no file run\.journal"):
        verified(service, rows_of_payers(1), path)


# Nothing given up


@pytest.mark.parametrize("has_status", [True, False])
@pytest.mark.parametrize("fault", [LOST_BEFORE, LOST_AFTER, FAILS_BEFORE])
def test_a_payer_is_sent_until_it_is_known(
    service: ModelService, path: Path, has_status: bool, fault: Fault
) -> None:
    """Five responses are lost. Before, the payer was given up after two, and its
    accounts with it.
    """
    service.has_status = has_status
    service.next["payer"].extend([fault] * 5)
    rows = rows_of_payers(1)

    assert ["done"] == states_after(service, rows, path)


def test_a_killed_account_is_sent_again_by_a_person_alone(
    service: ModelService, path: Path
) -> None:
    """Whether the request arrived is unknown, and the list does not show it."""
    rows = rows_of_payers(1)
    service.next["account"].append(LOST_BEFORE)
    assert is_killed(service, rows, path, "account", 1, steps=0)

    assert [["unknown"]] * 3 == [states_after(service, rows, path) for _ in range(3)]
    assert 1 == service.count("account")
    assert ["done"] == states_after(service, rows, path, retry="unknown")
    assert 2 == service.count("account")


@pytest.mark.parametrize("status", [404, 302, 400, 403])
@pytest.mark.parametrize("kind", ["payer", "account"])
def test_refusals_of_a_gateway_refuse_no_row(
    service: ModelService, path: Path, status: int, kind: Kind
) -> None:
    """Something in front of the API is out of order. Before, every row was refused, for
    good.
    """
    rows = rows_of_payers(*range(30))
    service.next[kind].extend(
        [FINE, FINE, *[gateway(status)] * 100]
    )  # the key is accepted
    report = run(service, rows, path)
    seen = 100 - len(service.next[kind])
    service.next[kind].clear()
    again = run(service, rows, path)

    assert 0 == report.counts["refused"]
    assert report.stopped
    assert report.frame.loc[report.frame["state"] == "not_sent", "retryable"].all()
    assert seen <= 6
    assert ["done"] * 30 == row_states(again)
    assert [] == breaches(service, rows, again)


def test_equal_refusals_stop_and_ask(service: ModelService, path: Path) -> None:
    """One cause refuses all. Before, a whole table was refused for good before anyone
    saw the reason.
    """
    rows = rows_of_payers(*range(30))
    service.next["account"].extend(
        [api_error(400, "Currency not enabled for this platform")] * 30
    )
    report = run(service, rows, path)
    left = len(service.next["account"])
    service.next["account"].clear()
    again = run(service, rows, path, retry="refused")

    assert {"refused": 20, "not_sent": 10} == {
        state: n for state, n in report.counts.items() if n
    }
    assert "20" in report.stopped
    assert 10 == left
    assert ["done"] * 30 == row_states(again)


def test_equal_refusals_need_not_stop(service: ModelService, path: Path) -> None:
    """`stop_after=None` goes on; so do refusals that are not equal."""
    rows = rows_of_payers(*range(STOP_AFTER + 1))
    refused = [api_error(400, "Currency not enabled")] * len(rows)
    service.next["account"].extend(refused)
    report = run(service, rows, path, stop_after=None)
    service.next["account"].extend(
        api_error(400, f"Example {place}", f"code_{place}") for place in range(3)
    )
    other = run(service, rows[:4], path.with_name("other"), stop_after=2)

    assert ["refused"] * len(rows) == row_states(report)
    assert ["refused"] * 3 + ["done"] == row_states(other)
    assert "" == report.stopped == other.stopped


def rows_with_a_warning() -> list[Row]:
    """Return two rows, of which the second one has a warning."""
    fine = {"phone": "+12125557391"}
    one, other = (
        payer_row(1) | {"ssn": "219-09-9873"},
        payer_row(2) | {"ssn": "219-09-9874"},
    )
    return [one | fine, other | fine | {"routing_number": "026013357"}]


@pytest.mark.parametrize("hold", ["warnings", ["routing_checksum"]])
def test_rows_with_warnings_are_held(
    service: ModelService, path: Path, hold: Any
) -> None:
    """All warnings, or those with some codes, keep a row back; a later run without
    sends it.
    """
    rows = rows_with_a_warning()
    report = run(service, rows, path, hold=hold)
    sent = service.count("account")
    again = run(service, rows, path)

    assert ["done", "not_sent"] == row_states(report)
    assert reasons(report)[1].startswith("Held back")
    assert 1 == sent
    assert ["done", "done"] == row_states(again)
