"""How long a run waits for what is unknown, and which rows a run with a limit tries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import payerkit
from onboarding_model import (
    FINE,
    LOST_AFTER,
    LOST_BEFORE,
    SETTLE,
    Fault,
    Killed,
    ModelService,
    api_error,
    breaches,
    late,
    reasons,
    row_states,
    run,
    states_after,
)
from onboarding_tables import Row, payer_row

PAYERS = 8


ROWS = [payer_row(place) for place in range(PAYERS)]


def faults_of(fault: Fault, unknown: int) -> list[Fault]:
    """Return what becomes of the first requests of a kind: so many have a fault, and
    the others none.
    """
    return [fault] * unknown + [FINE] * (PAYERS - unknown)


@pytest.mark.parametrize(
    ("fault", "lost", "state", "seconds"),
    [
        (FINE, 0, "done", 0.0),
        (LOST_AFTER, 1, "done", 0.0),  # found at once
        (LOST_AFTER, PAYERS, "done", 0.0),
        (late(SETTLE / 2), 3, "done", SETTLE),
        (LOST_BEFORE, 1, "unknown", SETTLE),  # they wait once, together
        (LOST_BEFORE, PAYERS, "unknown", SETTLE),
    ],
)
def test_a_run_waits_once_for_accounts_that_are_not_found(
    service: ModelService,
    path: Path,
    fault: Fault,
    lost: int,
    state: str,
    seconds: float,
) -> None:
    """They are looked for at once, and once more at the end, and never sent again."""
    began = service.clock.now()
    service.next["account"].extend(faults_of(fault, lost))

    expected = [state] * lost + ["done"] * (PAYERS - lost)
    assert expected == states_after(service, ROWS, path)
    assert seconds == pytest.approx(service.clock.now() - began, abs=0.1)
    assert PAYERS == service.count("account")


@pytest.mark.parametrize("workers", [1, 4])
def test_a_limit_holds_for_what_follows(
    service: ModelService, path: Path, workers: int
) -> None:
    """The accounts of the payers who are tried are sent, and none of the others."""
    service.next["payer"].append(LOST_BEFORE)

    assert ["done"] * 2 + ["not_sent"] * (PAYERS - 2) == states_after(
        service, ROWS, path, limit=2, workers=workers
    )
    assert (3, 2) == (service.count("payer"), service.count("account"))


# Runs with a limit


LEFT = (
    "Not tried yet: with limit, this call tried the first 2 rows that had not been sent"
    " before."
)


def rows_of(count: int) -> list[Row]:
    """Return payers with an account each."""
    return [payer_row(place) for place in range(count)]


def done(report: payerkit.runs.Report) -> list[int]:
    """Return the rows that are done."""
    return [row for row, state in enumerate(row_states(report)) if state == "done"]


def test_a_few_rows_are_tried_first(service: ModelService, path: Path) -> None:
    """The others are not sent, and say why; the same call without limit sends them, and
    nothing twice.
    """
    rows = rows_of(5)
    tried = run(service, rows, path, limit=2)

    assert ([0, 1], 2, 2) == (
        done(tried),
        service.count("payer"),
        service.count("account"),
    )
    assert ["", "", LEFT, LEFT, LEFT] == reasons(tried)
    assert [False, False, True, True, True] == tried.frame["retryable"].tolist()
    assert (
        "3 rows are left to a later call: call again with the same journal, without"
        " limit (--limit)." in str(tried)
    )
    assert "not finished" not in str(tried)

    rest = run(service, rows, path)

    assert (list(range(5)), 5, 5) == (
        done(rest),
        service.count("payer"),
        service.count("account"),
    )
    assert [] == breaches(service, rows, rest)


def test_the_next_call_tries_the_next_rows(service: ModelService, path: Path) -> None:
    """A limit is that of one call: rows that were sent before do not count."""
    rows = rows_of(5)

    assert [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4]] == [
        done(run(service, rows, path, limit=2)) for _ in range(3)
    ]
    assert (5, 5) == (service.count("payer"), service.count("account"))


def test_rows_that_cannot_be_sent_do_not_count(
    service: ModelService, path: Path
) -> None:
    """Rows with errors, rows that are held, and rows whose payer has an error."""
    rows = rows_of(6)
    rows[0] |= {"email": "x"}
    rows[1] |= {"country": "UK"}
    report = run(service, rows, path, limit=2, hold="country_habit")

    assert [2, 3] == done(report)
    assert [True, True] == [
        reasons(report)[0].startswith("email: "),
        reasons(report)[1].startswith("Held back"),
    ]


def test_rows_that_were_refused_do_not_count(service: ModelService, path: Path) -> None:
    """As long as they are as they were: they would not be sent. A corrected one
    counts.
    """
    rows = rows_of(4)
    service.next["payer"].append(api_error(400))
    first = run(service, rows, path, limit=1)
    second = run(service, rows, path, limit=1)
    rows[0] |= {"city": "Utica"}
    third = run(service, rows, path, limit=1)

    assert ["refused", "not_sent", "not_sent", "not_sent"] == row_states(first)
    assert ["refused", "done", "not_sent", "not_sent"] == row_states(second)
    assert ["done", "done", "not_sent", "not_sent"] == row_states(third)


ACCOUNTS = [payer_row(0) | {"account_number": f"8800{place}"} for place in range(4)]
PAYER_ALONE = dict.fromkeys(
    ("bank_name", "account_name", "account_number", "routing_number", "currency")
)
PAYER_ALONE |= {"document_type": None, "document_number": None}


@pytest.mark.parametrize(
    ("rows", "limit", "payers", "accounts", "finished"),
    [
        (ACCOUNTS, 2, 1, 2, [0, 1]),  # the rest of the payer's accounts comes later
        (
            [*ACCOUNTS[:2], payer_row(1), ACCOUNTS[2]],
            3,
            1,
            3,
            [0, 1, 3],
        ),  # rows of one payer come together
        (
            [ACCOUNTS[0], ACCOUNTS[0], payer_row(1), payer_row(2)],
            2,
            2,
            2,
            [0, 1, 2],
        ),  # the same row twice counts once
        ([payer_row(0) | PAYER_ALONE, payer_row(1), ACCOUNTS[0]], 1, 1, 0, [0]),
        ([payer_row(0) | PAYER_ALONE, payer_row(1), ACCOUNTS[0]], 2, 1, 1, [0, 2]),
    ],
)
def test_the_rows_of_one_payer(
    service: ModelService,
    path: Path,
    rows: list[Any],
    limit: int,
    payers: int,
    accounts: int,
    finished: list[int],
) -> None:
    """A row brings its payer along; another account of the payer is another row."""
    report = run(service, rows, path, limit=limit)

    assert (payers, accounts) == (service.count("payer"), service.count("account"))
    assert finished == done(report)
    assert list(range(len(rows))) == done(run(service, rows, path))
    assert 1 == service.count("payer", payer_row(0)["client_user_id"])


def test_what_is_unknown_is_settled_all_the_same(
    service: ModelService, path: Path
) -> None:
    """It was sent before, so that it does not count; this call sends two further
    rows.
    """
    rows = rows_of(4)
    service.next["account"].append(LOST_AFTER)

    def end(kind: str, _: str) -> None:
        if kind == "list" and service.count("account"):
            raise Killed

    service.before = end
    with pytest.raises(Killed):
        run(service, rows, path, limit=1)
    service.before = lambda *_: None
    report = run(service, rows, path, limit=2)

    assert [0, 1, 2] == done(report)
    assert 3 == service.count("account")
