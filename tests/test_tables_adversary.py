"""Tables that would send something else than was meant: found by trying what analysts have."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import payerkit
from payerkit.tables.damage import cell_findings
from payerkit.tables.sheet import Sheet
from published import TYPED_PAYER


def codes_in(field: str, *texts: str) -> list[str]:
    """Return the codes found in a CSV file's only column."""
    cells = pd.DataFrame({0: texts}, index=pd.RangeIndex(2, 2 + len(texts), name="row"), dtype=str)
    return [finding.code for _, _, finding in cell_findings(Sheet(cells), 2, {0: field})]


@pytest.mark.parametrize(
    ("field", "texts", "expected"),
    [
        ("client_user_id", ["123456789012345000"], ["like_digits_lost"]),
        ("account_number", ["4000123412341230", "4000123412341240", "4000123412341250"], ["like_digits_lost"] * 3),
        ("account_number", ["4000123412341230"], []),  # every tenth number ends so
        ("account_number", ["123456789012345000", "123456789012345678"], ["like_digits_lost"]),  # not the other one
        ("account_number", ["123456789012000"], []),  # 15 digits are kept
        ("account_number", ["000000000000123000"], []),  # no number of a spreadsheet begins with zeros
        ("account_name", ["123456789012345000"], []),
    ],
)
def test_long_numbers_that_end_in_zeros_are_doubted(field: str, texts: list[str], expected: list[str]) -> None:
    """Excel keeps 15 digits, and writes zeros for the others into a CSV file: two payers may become one."""
    assert expected == codes_in(field, *texts)


def test_findings_stay_with_columns_that_are_renamed(tmp_path: Path) -> None:
    """A damaged name is not sent because its column has its wire name by now."""
    path = tmp_path / "payers.csv"
    pd.DataFrame([TYPED_PAYER | {"last_name": "MÃ¼ller"}]).to_csv(path, index=False)
    table = payerkit.read_payers(path).rename(columns={"last_name": "lastName"})
    plan = payerkit.plan_onboarding(table)

    saved = tmp_path / "to-correct.csv"
    plan.save(saved)
    again = payerkit.plan_onboarding(payerkit.read_payers(saved))

    for found in (plan, again):
        assert [("last_name", "doubly_encoded")] == [*zip(found.findings["field"], found.findings["code"], strict=True)]
        assert 0 == found.counts["to_send"]
