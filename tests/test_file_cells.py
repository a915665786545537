"""What was found in the cells of a file: it blocks its row, or can hold it, as long as
the cell is as it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import payerkit
from payerkit import InvalidInput
from payerkit.findings import Severity
from payerkit.runs import RunOptions
from payerkit.runs.tasks import Table
from payerkit.tables import SourceTable
from payerkit.tables.damage import file_finding
from payerkit.tables.normalise import CellFinding, Origin
from published import TYPED_PAYER, typed_row

ROWS = [typed_row(place) for place in range(3)]


def read(*found: tuple[int, str], severity: Severity = "error") -> SourceTable:
    """Return three rows, 2 to 4, as if they were read from a file in which some cells
    are damaged.
    """
    frame = pd.DataFrame(ROWS, index=pd.RangeIndex(2, 5, name="row"), dtype="object")
    cells = [
        CellFinding(
            label,
            column,
            str(frame.loc[label, column]),
            replace(file_finding("became_date", column), severity=severity),
        )
        for label, column in found
    ]
    return SourceTable.of(frame, Origin(file="mine.xlsx", findings=cells))


def found_in(table: Any) -> list[tuple[int, str, str]]:
    """Return the row, field and step of each finding about a cell of a file."""
    frame = payerkit.plan_onboarding(table).findings
    frame = frame[frame["basis"] == "file"]
    return list(frame[["row", "field", "step"]].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("account_number", ("account_number", "bank_details")),
        ("bank_country", ("country", "bank_details")),  # the account holder's
        ("country", ("country", "payer")),
        ("city", ("city", "payer")),
        ("client_user_id", ("client_user_id", "payer")),
        ("postal_code", ("postal_code", "bank_details")),
    ],
)
def test_a_damaged_cell_blocks_its_row(column: str, expected: tuple[str, str]) -> None:
    """It is about the field that the column fills, in the step that sends it."""
    table = read((3, column))

    assert [(3, *expected)] == found_in(table)
    assert ["to_send", "not_sent", "to_send"] == payerkit.plan_onboarding(table).frame[
        "state"
    ].tolist()


def test_a_field_of_payer_and_holder_is_told_once() -> None:
    """If the account holder is the payer, one cell fills both."""
    own_columns = [
        name for name in ROWS[0] if not name.startswith("bank_") or name == "bank_name"
    ]
    table = read((3, "country"))[
        [name for name in own_columns if name != "postal_code"]
    ]
    found = payerkit.plan_onboarding(table, holder_is_payer=True).findings

    assert [(3, "country", "payer")] == list(
        found[["row", "field", "step"]].itertuples(index=False, name=None)
    )


def test_an_id_in_a_table_of_accounts_is_told() -> None:
    """Though no field of bank details has it."""
    columns = [
        name for name in ROWS[0] if name not in TYPED_PAYER or name == "client_user_id"
    ]

    assert [(4, "client_user_id", "")] == found_in(read((4, "client_user_id"))[columns])


def test_a_cell_that_is_not_sent_is_not_told() -> None:
    """The payer's columns of a table from which only accounts are sent."""
    table = read((3, "phone"), (4, "account_number"))
    found = Table(table, ("bank_details",)).found

    assert [2] == [each.row for each in found if each.finding.basis == "file"]


def test_a_finding_about_the_row_is_told_whatever_is_sent() -> None:
    """Such as that the row is hidden: its cell is only the place where it was found."""
    frame = pd.DataFrame(
        ROWS[:1], index=pd.RangeIndex(2, 3, name="row"), dtype="object"
    )
    hidden = CellFinding(2, "phone", ROWS[0]["phone"], file_finding("hidden_row", ""))
    found = Table(SourceTable.of(frame, Origin(findings=[hidden])), ("bank_details",))

    assert [("hidden_row", "", "")] == [
        (each.finding.code, each.finding.field, each.step) for each in found.found
    ]
    assert [True] == [row.is_blocked for row in found.rows]


def test_a_corrected_cell_is_no_finding() -> None:
    """And findings stay with their rows when these are sorted or chosen."""
    table = read((2, "phone"), (3, "phone"))
    table.loc[3, "phone"] = "+12125550199"

    assert [(2, "phone", "payer")] == found_in(table.iloc[::-1])
    assert [] == found_in(table.loc[[3, 4]])


@pytest.mark.parametrize(
    ("hold", "held"), [((), 0), ("became_date", 1), ("warnings", 1)]
)
def test_a_doubt_about_a_cell_can_hold_its_row(
    monkeypatch: pytest.MonkeyPatch, hold: Any, held: int
) -> None:
    """As any other warning."""
    warning = replace(file_finding("became_date", "phone"), severity="warning")
    monkeypatch.setattr("payerkit.runs.tasks.file_finding", lambda *_: warning)

    assert (
        held
        == payerkit.plan_onboarding(
            read((3, "phone"), severity="warning"), options=RunOptions(hold=hold)
        ).counts["held"]
    )


def test_the_code_of_damage_holds_nothing() -> None:
    """It blocks its row anyway."""
    with pytest.raises(InvalidInput, match="not the code of a warning: 'became_date'"):
        payerkit.plan_onboarding(
            read((3, "phone")), options=RunOptions(hold="became_date")
        )
