"""The checks of a whole table: the same findings as for single records, whatever the
table holds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import payerkit
from examples import BASES, EXAMPLES
from payerkit import (
    InvalidInput,
    check_all_bank_details,
    check_bank_details,
    check_payer,
    check_payers,
)
from payerkit.checks.records import hint_for_column
from payerkit.findings import COLUMNS, Finding, Findings
from payerkit.models.fields import names_of
from published import BANK_DETAILS, PAYER

Row = dict[str, Any]
CHECKS: dict[str, tuple[Callable[..., Findings], Callable[..., pd.DataFrame]]] = {
    "Payer": (check_payer, check_payers),
    "BankDetails": (check_bank_details, check_all_bank_details),
}


def one_by_one(
    body: str, frame: pd.DataFrame, **options: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield the findings of each row, checked on its own, with the advice for columns,
    as rows of a DataFrame of findings.
    """
    for label, row in zip(frame.index, frame.to_dict("records"), strict=True):
        for finding in CHECKS[body][0](row, **options):
            hint = hint_for_column(finding, "Read the column with dtype=str.")
            found = replace(finding, hint=hint)
            yield (label, *(getattr(found, name) for name in COLUMNS))


def all_at_once(
    body: str, frame: pd.DataFrame, **options: Any
) -> list[tuple[Any, ...]]:
    """Return the findings of the whole table as rows of a DataFrame of findings."""
    return list(CHECKS[body][1](frame, **options).itertuples(index=False, name=None))


def values(field: str) -> st.SearchStrategy[Any]:
    """Return values for the cells of a field: those of the examples, blank ones of all
    kinds, and unusual ones.
    """
    known = {
        value
        for each in EXAMPLES
        for value in (each.bad.get(field), each.good.get(field))
    }
    usual = {record.get(field) for _, record in BASES.values()}
    blank = [
        None,
        np.nan,
        pd.NA,
        pd.NaT,
        Decimal("NaN"),
        Decimal("sNaN"),
        np.float32("nan"),
    ]
    odd = [
        "",
        " ",
        "x",
        "\ud800",
        "••••6789",
        "\u0661",
        np.bool_(1),
        dt.date(2000, 1, 1),
        0,
        1,
        True,
        1.0,
        2.5,
        *blank,
    ]
    return st.sampled_from([*sorted(known | usual, key=str), *odd, (), "é" * 300])


def rows(body: str) -> st.SearchStrategy[list[Row]]:
    """Return rows of a table: published records with some fields changed or missing."""
    fields = [
        wire
        for wire, ours in names_of(getattr(payerkit, body)).items()
        if wire != ours or "_" not in ours
    ]
    bases = st.sampled_from([record for name, record in BASES.values() if name == body])
    changes = st.dictionaries(st.sampled_from(fields), st.none(), max_size=5).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {str(name): values(str(name)) for name in chosen}
        )
    )
    return st.lists(
        st.builds(lambda base, change: {**base, **change}, bases, changes), max_size=6
    )


@pytest.mark.slow
@pytest.mark.parametrize("body", CHECKS)
@given(data=st.data())
def test_a_table_has_the_findings_of_its_rows(body: str, data: st.DataObject) -> None:
    """Whatever the cells hold, the findings are those of the rows, in the same order
    and words.
    """
    frame = pd.DataFrame(data.draw(rows(body)), dtype="object")

    assert list(one_by_one(body, frame)) == all_at_once(body, frame)


@pytest.mark.parametrize("body", CHECKS)
def test_all_examples_in_one_table(body: str) -> None:
    """Each rule finds the same in a table as in a row."""
    examples = [each for each in EXAMPLES if each.body == body]
    records = [
        each.record(changes) for each in examples for changes in (each.bad, each.good)
    ]
    frame = (
        pd.DataFrame(records).astype(object).where(lambda cells: cells.notna(), None)
    )
    found = all_at_once(body, frame)

    assert list(one_by_one(body, frame)) == found
    assert {each.code for each in examples} <= {
        row[1 + COLUMNS.index("code")] for row in found
    }


@pytest.mark.parametrize("dtype", ["object", "string", "category", None])
def test_text_columns_of_every_dtype_are_text(dtype: Any) -> None:
    """The dtype of a text column makes no difference."""
    rows = [{**PAYER, "country": "UK"}, {**PAYER, "city": None}]
    frame = (
        pd.DataFrame(rows)
        if dtype is None
        else pd.DataFrame(rows, dtype="object").astype(dtype)
    )

    assert ["country_habit", "required"] == list(check_payers(frame)["code"])


def test_numbers_hint_at_dtype() -> None:
    """A column that pandas read as numbers has one error per row, each with the
    remedy.
    """
    frame = pd.DataFrame([BANK_DETAILS] * 3).assign(
        routingNumber=[26013356, 26013356, 1]
    )
    found = check_all_bank_details(frame)

    assert ([0, 1, 2], {"not_text"}) == (list(found["row"]), set(found["code"]))
    assert found["hint"].str.contains("dtype=str").all()


def test_findings_carry_the_labels_of_the_table() -> None:
    """`row` is the label in the index, so that findings can be joined with the
    table.
    """
    frame = pd.DataFrame(
        [PAYER, {**PAYER, "country": "UK"}], index=pd.Index(["a", "b"], name="case")
    )

    assert ["b"] == list(check_payers(frame)["row"])
    assert (
        "UK"
        == frame.join(check_payers(frame).set_index("row"), how="inner")[
            "country"
        ].item()
    )


def test_unknown_columns_are_refused() -> None:
    """An unknown column is refused, with the field that was probably meant; columns of
    the other schema are skipped.
    """
    frame = pd.DataFrame(
        [{**BANK_DETAILS, **PAYER, "shoe size": "9", "email_adress": "x"}] * 3
    )
    with pytest.raises(InvalidInput, match="Rename or drop them") as caught:
        check_payers(frame)

    assert [("shoe size", "Remove it."), ("email_adress", "Did you mean email?")] == [
        (problem.field, problem.hint)
        for problem in caught.value.fields
        if isinstance(problem, Finding)
    ]
    assert check_payers(
        frame[[*BANK_DETAILS, *(name for name in PAYER if name not in BANK_DETAILS)]]
    ).empty


def test_a_field_under_both_names_is_an_error() -> None:
    """Two columns for one field are an error in each row."""
    frame = pd.DataFrame([{**PAYER, "first_name": "Johnny"}] * 2)

    assert list(one_by_one("Payer", frame)) == all_at_once("Payer", frame)
    assert ["given_twice"] * 2 == list(check_payers(frame)["code"])


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(), pd.DataFrame([PAYER]).head(0), pd.DataFrame([PAYER])]
)
def test_an_empty_result_has_its_columns(frame: pd.DataFrame) -> None:
    """Without rows or findings, the result is an empty DataFrame with its columns."""
    found = check_payers(frame)

    assert (["row", *COLUMNS], 0) == (list(found.columns), len(found))


def test_warnings_are_ignored_in_a_table_too() -> None:
    """An ignored code is left out of all rows."""
    frame = pd.DataFrame([{**PAYER, "country": "UK", "city": " "}])

    assert list(one_by_one("Payer", frame, ignore="only_blanks")) == all_at_once(
        "Payer", frame, ignore="only_blanks"
    )
    with pytest.raises(
        InvalidInput, match="not the code of a warning or info: 'nonsense'"
    ):
        check_payers(frame, ignore=["nonsense"])


@pytest.mark.parametrize("thing", [None, PAYER, [PAYER], pd.Series(PAYER)])
def test_a_value_that_is_not_a_table_is_refused(thing: Any) -> None:
    """Only a DataFrame is accepted; single payers have their own function."""
    with pytest.raises(
        InvalidInput,
        match=r"Expected a DataFrame with one Payer per row, got (a |None)",
    ):
        check_payers(thing)


def test_the_table_is_not_changed() -> None:
    """Checking leaves the table as it is."""
    frame = pd.DataFrame([{**PAYER, "city": None, "ssn": 5}, PAYER])
    before = frame.copy(deep=True)
    check_payers(frame)

    pd.testing.assert_frame_equal(before, frame)


def test_a_table_without_header_is_refused_without_its_values() -> None:
    """A file without a header row leads to one error that does not repeat the values of
    its first row.
    """
    frame = pd.DataFrame([list(PAYER.values())], columns=list(PAYER.values()))
    with pytest.raises(
        InvalidInput, match="Check that the table has a header row"
    ) as caught:
        check_payers(frame)

    assert [] == [
        value
        for value in PAYER.values()
        if len(value) > 3 and value in str(caught.value)
    ]
