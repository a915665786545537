"""Reports: what became of every row, what a person does next, and the file; from
journals without a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cases import said, table
from payerkit.reasons import Outcome
from payerkit.runs import Report
from payerkit.runs.journal import Journal, State
from payerkit.runs.rows import Step
from payerkit.runs.tasks import Limit, Table, Tasks
from published import own, typed_row

Known = dict[tuple[Step, int], tuple[State, dict[str, Any]]]
"""What a journal has of a row's step: its state, and the options with which it was
recorded.
"""


def rows(count: int, **changes: Any) -> pd.DataFrame:
    """Return payers with an account each."""
    made = [typed_row(place) for place in range(count)]
    return pd.DataFrame(made, dtype="object").assign(**changes)


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., Report]:
    """Report on a table, from a journal that knows some of its steps."""

    def make(
        table: pd.DataFrame,
        known: Known | None = None,
        *,
        stopped: Outcome | None = None,
        sent_as: pd.DataFrame | None = None,
    ) -> Report:
        with Journal(tmp_path / "run.journal") as journal:
            sent = Tasks(Table(table if sent_as is None else sent_as), journal.secret)
            for (step, row), (state, options) in (known or {}).items():
                task = sent[step, sent.table.rows[row]]
                journal.sent(task.key, task.subject)
                if state != "sent":
                    journal.record(task.key, state, **options)
            return Report(
                Tasks(Table(table), journal.secret), journal, stopped, Limit()
            )

    return make


PAYER: tuple[State, dict[str, Any]] = ("done", {"facts": {"kyc_status": "approved"}})


def both(count: int, state: State, **options: Any) -> Known:
    """Return payers who are done, and what became of their accounts."""
    payers: Known = {("payer", row): PAYER for row in range(count)}
    accounts: Known = {("bank_details", row): (state, options) for row in range(count)}
    return payers | accounts


def lines(found: Report) -> list[str]:
    """Return what a report says."""
    return str(found).splitlines()


# What is told


@pytest.mark.parametrize(
    ("count", "warned", "summary"),
    [
        (3, 0, "3 rows: 3 done."),
        (3, 1, "3 rows: 3 done, 1 with a warning."),
        (3, 2, "3 rows: 3 done, 2 with warnings."),
    ],
)
def test_rows_that_were_sent_with_warnings_are_counted(
    report: Callable[..., Report], count: int, warned: int, summary: str
) -> None:
    """A row that is done although a check warned of it is not as good as one
    without.
    """
    table = rows(count)
    table.loc[range(warned), "routing_number"] = "021000022"
    found = report(table, both(count, "done"))

    assert [summary] == lines(found)
    assert warned == (found.frame["findings"] != "").sum()


def test_findings_say_with_what_a_row_was_sent(report: Callable[..., Report]) -> None:
    """Warnings first, each with its column and its code; the table of findings has all
    of it.
    """
    table = rows(2, city=["Utica ", "Albany"]).set_axis(["a", "b"])
    table.loc["a", "bank_country"] = "UK"
    found = report(table, both(2, "done"))

    assert re.fullmatch(
        r"warning bank_country: Not an ISO 3166-1 code\. Write GB\. \[country_habit\];"
        r" .*info city: .* \[trimmed\]",
        str(found.frame.loc["a", "findings"]),
    )
    assert ("", {"a"}) == (found.frame.loc["b", "findings"], set(found.findings["row"]))
    assert {"country_habit", "trimmed"} <= set(found.findings["code"])


@table("advice")
def test_each_state_has_advice(
    report: Callable[..., Report],
    state: State,
    reason: list[Any],
    advice: str,
) -> None:
    """One line says what to do, and once; `retryable` says whether the same call does
    more.
    """
    outcome = Outcome.from_value(reason)
    found = report(rows(2), both(2, state, reason=outcome))

    assert [1] * 2 == [
        sum(bool(re.match(advice, line)) for line in text)
        for text in (lines(found), found._advice())
    ]
    is_retryable = state == "unknown" or "call again" in advice
    assert [is_retryable] * 2 == found.frame["retryable"].tolist()
    assert {state: 2} == {name: count for name, count in found.counts.items() if count}


def test_a_duplicate_has_both_ids_and_a_colour(report: Callable[..., Report]) -> None:
    """The id that is the row's, and those to remove, in a column of their own."""
    facts = {"id": "one", "other_ids": ["two", "three"]}
    found = report(rows(2), both(1, "duplicate", facts=facts) | {("payer", 1): PAYER})

    assert [("one", "two, three"), (pd.NA, "")] == [
        tuple(each)
        for each in found.frame[["payment_details_id", "other_ids"]].itertuples(
            index=False
        )
    ]
    assert "pk-other" in found._repr_html_()


def test_a_row_that_is_held_back_shows_why(report: Callable[..., Report]) -> None:
    """A notebook shows its findings beside the reason, which refers to them."""
    found = report(
        rows(1, routing_number="021000022"),
        both(1, "not_sent", reason=Outcome("held")),
    )

    assert (
        "Held back: routing_number: The check digit does not match"
        in found._repr_html_()
    )


def test_rows_that_were_there_already_are_counted(
    report: Callable[..., Report],
) -> None:
    """Else a run with a lost journal looks as if it had stored everything again."""
    known = both(3, "done") | {
        ("bank_details", 0): (
            "done",
            {"reason": Outcome("there_already", {"differs": ["bank_name"]})},
        )
    }

    assert [
        "3 rows: 3 done.",
        "1 row was there already, and nothing was stored again for it.",
    ] == lines(report(rows(3), known))


def test_a_row_that_was_changed_after_storing_stays_done_and_is_told(
    report: Callable[..., Report],
) -> None:
    """The service keeps what it has: the change is not sent."""
    changed = rows(2)
    changed.loc[1, "bank_name"] = "Another Bank"
    found = report(changed, both(2, "done"), sent_as=rows(2))

    assert ["changed_after_storing"] == found.findings["code"].tolist()
    assert ([1], "bank_details", "info") == (
        found.findings["row"].tolist(),
        *found.findings.loc[0, ["step", "severity"]],
    )
    assert [
        "2 rows: 2 done.",
        "1 row was changed after storing, and the service keeps what it has: row 1.",
    ] == (lines(found))


def test_a_changed_payer_is_told_on_each_row(report: Callable[..., Report]) -> None:
    """Two accounts of a payer, whose phone number changed: both rows show the payer's
    data, which is not sent.
    """
    sent = rows(2, client_user_id="user", **own(0))
    found = report(sent.assign(phone="+12125550123"), both(2, "done"), sent_as=sent)

    assert [(0, "payer"), (1, "payer")] == list(
        found.findings[["row", "step"]].itertuples(index=False, name=None)
    )


# Interrupts


def test_an_interrupted_run_says_what_is_stored(report: Callable[..., Report]) -> None:
    """Payers who are stored are not told as not sent: the reason of their rows says
    that the account is missing.
    """
    known = {("payer", row): PAYER for row in range(3)} | {
        ("bank_details", 0): ("done", {})
    }
    found = report(rows(5), known, stopped=Outcome("interrupted"))

    assert [
        "5 rows: 1 done, 4 not sent.",
        "The run stopped early: Interrupted by the user.",
        "Stored so far: 3 payers and 1 account.",
        "4 rows are not finished: call again with the same journal.",
    ] == lines(found)[:4]
    assert ["bank_details"] * 3 + ["payer"] * 2 == found.frame["step"].tolist()
    assert [
        "",
        *["Its payer is stored, its account is not. Interrupted by the user."] * 2,
        *["Interrupted by the user."] * 2,
    ] == found.frame["reason"].tolist()


def test_rows_that_are_one_count_once_as_stored(report: Callable[..., Report]) -> None:
    """Two accounts of one payer, one of them in two rows: one payer and two accounts
    are stored.
    """
    table = pd.concat(
        [
            rows(2, client_user_id="user", **own(0)),
            rows(1, client_user_id="user", **own(0)),
        ],
        ignore_index=True,
    )
    found = report(table, both(2, "done"), stopped=Outcome("interrupted"))

    assert "Stored so far: 1 payer and 2 accounts." in lines(found)


def test_the_most_frequent_reasons_are_shown(report: Callable[..., Report]) -> None:
    """At most five, with their numbers, of rows that were refused or not sent."""
    reasons = {row: said(f"Reason {row // 2}.") for row in range(12)}
    known: Known = {
        ("payer", row): ("refused" if row < 4 else "not_sent", {"reason": reason})
        for row, reason in reasons.items()
    }
    found = report(pd.concat([rows(12), rows(1, client_user_id="last")]), known)

    shown = [line for line in lines(found) if re.match(r" +\d", line)]
    assert [
        "    2 rows  refused: Reason 0. (rows 0, 1)",
        "    2 rows  refused: Reason 1. (rows 2, 3)",
        "    2 rows  not sent: Reason 2. (rows 4, 5)",
    ] == shown[:3]
    assert 5 == len(shown)


def test_what_the_table_no_longer_has_is_told(report: Callable[..., Report]) -> None:
    """A write whose outcome is unknown is of a row that was removed: without that row
    nothing is found out.
    """
    known = both(2, "unknown")
    found = report(rows(1), known, sent_as=rows(2))

    assert (
        "1 write with unknown outcome in the journal belongs to rows that this table no"
        " longer has" in str(found)
    )
    assert "no longer has" not in str(report(rows(3)))


def test_pictures_group_reasons(report: Callable[..., Report]) -> None:
    """Errors first, each with its number of rows and the first of them, in words with
    blanks.
    """
    states: list[State] = ["waiting", "not_sent", "duplicate", "unknown", "refused"]
    known = both(30, "done") | {
        ("bank_details", row): (states[row % 5], {"reason": said("Example.")})
        for row in range(30)
    }
    shown = report(rows(30), known)._repr_html_()
    places = [
        shown.index(words)
        for words in (
            "✗&nbsp;refused",
            "!&nbsp;unknown",
            "=&nbsp;duplicate",
            "·&nbsp;not sent",
            "i&nbsp;waiting",
        )
    ]

    assert sorted(places) == places
    assert "rows 4, 9, 14 and 3 more" in shown
    assert "not_sent" not in shown


# The file


@table("cells_of_reports")
def test_a_saved_report_has_no_formulas(
    report: Callable[..., Report], tmp_path: Path, cell: str, written: str
) -> None:
    """Ids and labels come from others, and reasons from the service: a spreadsheet must
    not run what they say.
    """
    table = rows(2).set_axis(pd.Index([cell, "b"], name="=name"))
    table["client_user_id"] = [cell, "other"]
    found = report(table, {("payer", 0): ("refused", {"reason": said(cell)})})
    found.save(tmp_path / "report.csv")
    read = pd.read_csv(tmp_path / "report.csv", dtype=str, keep_default_na=False)

    shown = "••••" if "@" in cell else written  # as an e-mail address
    assert [[written, shown, written], ["b", "other", "Not sent yet."]] == (
        read[["'=name", "client_user_id", "reason"]].to_numpy().tolist()
    )
    assert [cell, "b"] == found.frame.index.tolist()


# Order and memory


def test_rows_of_a_payer_may_stand_apart(report: Callable[..., Report]) -> None:
    """A report has the order of the table, whatever the order in which it is read."""
    table = pd.concat(
        [rows(3), rows(3).assign(account_number=["91", "92", "93"])], ignore_index=True
    )
    known = both(6, "done") | {
        ("bank_details", row): ("done", {"facts": {"id": f"id-{row}"}})
        for row in range(6)
    }
    found = report(table, known)

    assert [f"id-{row}" for row in range(6)] == found.frame[
        "payment_details_id"
    ].tolist()
    assert ["user-0", "user-1", "user-2"] * 2 == found.frame["client_user_id"].tolist()
