"""Plans: what a run would send, and what not and why; and reports of what it sent."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import payerkit
from cases import joined
from cases import table as table_of
from onboarding_tables import onboard
from payerkit import InvalidInput
from payerkit.client import Client
from payerkit.runs import RunOptions
from published import TYPED_ACCOUNT, TYPED_PAYER, own, typed_row

ID = {"client_user_id": "typed-001"}
BANK = {
    "bank_name": "Typed Bank",
    "account_name": "Zanzibar Quartermaine",
    "currency": "USD",
}
BANK |= {"account_number": "98127364550", "routing_number": "021000021"}
"""Fields that an account needs beyond those that a payer has, too."""
SHARED = {name: TYPED_PAYER[name] for name in TYPED_ACCOUNT if name in TYPED_PAYER} | {
    "postcode": "12207"
}
OTHER = {"account_number": "11112222333"}
SECRETS = [
    value
    for body in (TYPED_PAYER, TYPED_ACCOUNT)
    for value in body.values()
    if len(value) > 8
]


PARTS = {
    "PAYER": TYPED_PAYER,
    "ACCOUNT": TYPED_ACCOUNT,
    "BANK": BANK,
    "SHARED": SHARED,
    "ID": ID,
    "OTHER": OTHER,
}


row_of = partial(joined, PARTS)


def plan(*rows: dict[str, Any]) -> payerkit.runs.Plan:
    """Return the plan of a table with these rows, numbered from 1, of payers who hold
    the accounts themselves.
    """
    table = pd.DataFrame(rows, index=range(1, 1 + len(rows)), dtype="object")
    return payerkit.plan_onboarding(table, holder_is_payer=True)


def steps(found: payerkit.runs.Plan) -> list[tuple[str, str]]:
    """Return the planned action for the payer and the account of each row."""
    return list(
        found.frame[["payer", "bank_details"]].itertuples(index=False, name=None)
    )


@table_of("planned_rows")
def test_what_would_be_sent(rows: list[list[Any]], expected: list[list[str]]) -> None:
    """Each payer and each account is sent once; none is sent with an error, or without
    its payer.
    """
    found = plan(*map(row_of, rows))

    assert expected == [[*each] for each in steps(found)]
    is_sent = [any(row) for row in expected]
    assert (len(rows), sum(is_sent)) == (found.counts["rows"], found.counts["to_send"])
    assert [not sent for sent in is_sent] == list(found.frame["reason"] != "")


@table_of("reasons_of_plans")
def test_rows_that_are_not_sent_have_a_reason(
    rows: list[list[Any]], expected: str
) -> None:
    """The reason why the last row is not sent is given in words."""
    assert plan(*map(row_of, rows)).frame["reason"].iloc[-1].endswith(expected)


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, "", "  "])
def test_every_kind_of_empty_cell_is_the_same(empty: Any) -> None:
    """Two rows that differ only in the kind of their empty cells are one payer."""
    found = plan(
        TYPED_PAYER | {"company_name": None}, TYPED_PAYER | {"company_name": empty}
    )

    assert [("send", ""), ("as row 1", "")] == steps(found)


def table(**changes: Any) -> pd.DataFrame:
    """Return three payers with an account each, the second without an e-mail address
    and with blanks to strip.
    """
    rows: list[dict[str, Any]] = [
        TYPED_PAYER
        | BANK
        | own(place)
        | {
            "client_user_id": f"user-{place}",
            "account_number": f"1111222233{place}",
        }
        for place in range(3)
    ]
    rows[1] |= {"email": None, "city": " Utica", "bank_name": ""}
    return pd.DataFrame(rows, dtype="object").assign(holder_is_payer="yes", **changes)


@pytest.mark.parametrize("dtype", ["object", "string", "category", "str"])
def test_the_dtype_of_text_does_not_matter(dtype: Any) -> None:
    """Columns of objects, strings and categories give the same plan and the same
    findings.
    """
    frame = table().where(table().notna(), None)
    expected, found = (
        payerkit.plan_onboarding(each)
        for each in (frame, frame.astype({"client_user_id": dtype}))
    )
    every = payerkit.plan_onboarding(
        frame.astype(dtype) if dtype != "str" else pd.DataFrame(frame.to_dict("list"))
    )

    assert ["", "send"] == sorted(set(expected.frame["payer"]))
    for other in (found, every):
        pd.testing.assert_frame_equal(expected.frame, other.frame)
        pd.testing.assert_frame_equal(expected.findings, other.findings)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7, 7]),
        pd.Index(["c", "b", "a"], name="name"),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["file", None]),
        pd.date_range("2026-01-01", periods=3),
        pd.CategoricalIndex(["x", "y", "x"]),
    ],
)
def test_any_index_is_kept(index: Any) -> None:
    """The plan and its findings have the labels of the table's index."""
    found = payerkit.plan_onboarding(table().set_axis(index))

    assert list(index) == list(found.frame.index)
    assert [index[1]] == list(found.findings["row"].unique())
    assert ["send", "", "send"] == list(found.frame["payer"])


def test_odd_cells_are_findings() -> None:
    """Cells that are not text, or cannot be encoded, are errors as any other."""
    odd = [["x"], {"a": 1}, "\ud800"]
    found = payerkit.plan_onboarding(table(client_user_id=odd, city=[odd, *odd[1:]]))

    assert (0, 3) == (found.counts["to_send"], len(found.frame))
    assert {"client_user_id", "city"} <= set(
        found.findings.loc[found.findings["row"] == 2, "field"]
    )
    assert r"\ud800" == found.frame["client_user_id"].iloc[2]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (pd.DataFrame(), "no column client_user_id"),
        (
            pd.DataFrame([TYPED_PAYER]).drop(columns="client_user_id"),
            "no column client_user_id",
        ),
        (pd.DataFrame([ID]), "no columns of a payer or of bank details"),
        (
            pd.DataFrame([ID | {"city": "Albany", "postcode": "12207"}]),
            "no columns of a payer or of bank details",
        ),
        (pd.DataFrame([TYPED_PAYER | {"shoe size": 44}]), "shoe size: not a field"),
        (TYPED_PAYER, "got a dict"),
        ([TYPED_PAYER], "got a list"),
    ],
)
def test_tables_without_anything_to_send_are_refused(rows: Any, words: str) -> None:
    """A table that cannot send anything is an error, not an empty plan."""
    with pytest.raises(InvalidInput, match=words):
        payerkit.plan_onboarding(rows)


def test_an_empty_table_has_an_empty_plan() -> None:
    """A header without rows: nothing to send, and no findings."""
    found = payerkit.plan_onboarding(table().head(0))

    assert {0} == set(found.counts.values())
    assert (0, 0, False) == (
        len(found.frame),
        len(found.findings),
        "would not" in str(found),
    )


def test_planning_sends_nothing_and_changes_nothing() -> None:
    """A plan needs no client, and does not modify the table."""
    frame = table()
    before = frame.copy(deep=True)
    payerkit.plan_onboarding(frame)

    pd.testing.assert_frame_equal(before, frame)


def test_held_rows_would_not_be_sent() -> None:
    """Rows with errors are not held: they are not sent whatever their warnings are."""
    rows = [
        TYPED_PAYER | own(place) | {"client_user_id": f"id-{place}", "country": "UK"}
        for place in range(2)
    ]
    frame = pd.DataFrame(
        [rows[0], rows[1] | {"email": "x"}, TYPED_PAYER | own(2)], dtype="object"
    )
    found = payerkit.plan_onboarding(frame, options=RunOptions(hold="warnings"))

    assert ["Held b", "email:", ""] == [reason[:6] for reason in found.frame["reason"]]
    assert (1, 1) == (found.counts["held"], found.counts["to_send"])
    assert "1 row would be held back because of warnings." in str(found)


def first_twice(ids: list[str]) -> pd.DataFrame:
    """Return the first payer of the table, the second, and the first again. ids: of
    both.
    """
    frame = table(client_user_id=[*ids[:2], ids[0]])
    return frame.assign(
        **{
            name: [*frame[name][:2], frame[name][0]]
            for name in ("email", "ssn", "account_number")
        }
    )


EMAILS = [f"<b>user-{place}@example.com</b>" for place in range(3)]


def secrets_shown(found: payerkit.runs.Plan | payerkit.runs.Report) -> list[str]:
    """Return the data of the rows that a plan or a report shows."""
    frame = found.frame.reset_index(drop=True).to_string()
    shown = "".join([str(found), repr(found), found._repr_html_(), frame])
    return [each for each in [*SECRETS, "user-", "<b>u", "<script"] if each in shown]


def test_a_plan_shows_no_personal_data() -> None:
    """Ids and labels that are e-mail addresses are masked; a plan does not show data of
    the rows.
    """
    found = payerkit.plan_onboarding(first_twice(EMAILS).set_axis(EMAILS))

    assert [] == secrets_shown(found)
    assert (["••••"] * 3, "as row ••••") == (
        list(found.frame["client_user_id"]),
        found.frame["payer"].iloc[2],
    )


def test_a_plan_shows_where_a_warning_is_and_the_code_that_holds_it() -> None:
    """The rows are named; the code in brackets is what `hold` takes."""
    rows = [typed_row(place, routing_number="021000022") for place in range(7)]
    found = plan(*rows)

    assert " [routing_checksum] (all rows)\n" in str(found)


@pytest.fixture
def report(shared: Client, tmp_path: Path) -> payerkit.runs.Report:
    """Send three payers: the second has an error, the third is the same as the
    first.
    """
    rows = first_twice(EMAILS).set_axis([*EMAILS[:2], "<script>"])
    return onboard(shared, rows, tmp_path / "journal")


def test_a_report_shows_no_personal_data(report: payerkit.runs.Report) -> None:
    """Text, HTML and cells of a report do not show data of the rows."""
    assert [] == secrets_shown(report)
    assert "email: Required." in report._repr_html_()


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.RangeIndex(3), ["row"]),
        (pd.Index([2, 3, 4], name="line"), ["line"]),
        (
            pd.MultiIndex.from_tuples(
                [("a", 1), ("a", 2), ("b", 1)], names=["file", None]
            ),
            ["file", "row"],
        ),
    ],
)
def test_a_report_is_saved(
    index: Any, names: list[str], shared: Client, tmp_path: Path
) -> None:
    """The saved file has the labels of the rows first, and the same cells."""
    found = onboard(shared, table().set_axis(index), tmp_path / "journal")
    found.save(tmp_path / "report.csv")
    read = pd.read_csv(tmp_path / "report.csv", dtype=str, keep_default_na=False)

    assert [*names, *found.frame.columns] == list(read.columns)
    expected = found.frame.astype("string").fillna("")
    cells = read[expected.columns]
    assert expected.to_numpy().tolist() == cells.to_numpy().tolist()
    assert [] == [
        secret
        for secret in SECRETS
        if secret in (tmp_path / "report.csv").read_text("utf-8")
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [
            TYPED_PAYER | {"email": "x"},
            ID | TYPED_ACCOUNT,
        ],  # an account without its payer
        [
            TYPED_PAYER | BANK,
            ID | SHARED | BANK | OTHER,
            ID,
        ],  # two accounts, and nothing
        [TYPED_PAYER | BANK] * 2,
    ],
)
def test_a_run_does_what_its_plan_says(
    rows: list[dict[str, Any]], shared: Client, tmp_path: Path
) -> None:
    """A run sends exactly the rows that its plan would send."""
    frame = pd.DataFrame(rows, dtype="object")
    report = onboard(shared, frame, tmp_path / "journal", holder_is_payer=True)
    planned = payerkit.plan_onboarding(frame, holder_is_payer=True)

    assert list(planned.frame["reason"] == "") == list(report.frame["state"] == "done")
    assert planned.counts["to_send"] == report.counts["done"]
