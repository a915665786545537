"""The checks of a whole table: the same findings as one by one, whatever the table holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import BASES, EXAMPLES
from payerkit.checks.many import check_all_bank_details, check_payers
from payerkit.checks.one import check_bank_details, check_payer
from payerkit.checks.schema import SCHEMAS
from payerkit.errors import InvalidInput
from payerkit.findings import COLUMNS, Finding, Findings
from published import BANK_DETAILS, PAYER

Row = dict[str, Any]
CHECKS: dict[str, tuple[Callable[..., Findings], Callable[..., pd.DataFrame]]] = {
    "Payer": (check_payer, check_payers),
    "BankDetails": (check_bank_details, check_all_bank_details),
}


def one_by_one(body: str, frame: pd.DataFrame, **options: Any) -> Iterator[tuple[Any, ...]]:
    """Yield what the check of one body finds in each row, as rows of a frame of findings."""
    for label, row in zip(frame.index, frame.to_dict("records"), strict=True):
        for finding in CHECKS[body][0](row, **options):
            yield (label, *(getattr(finding, name) for name in COLUMNS))


def all_at_once(body: str, frame: pd.DataFrame, **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows that the check of a table gives."""
    return list(CHECKS[body][1](frame, **options).itertuples(index=False, name=None))


def values(member: str) -> st.SearchStrategy[Any]:
    """Return what may stand in a cell: what examples have there, blanks of all kinds, and what nobody expects."""
    known = {value for each in EXAMPLES for value in (each.bad.get(member), each.good.get(member))}
    usual = {record.get(member) for _, record in BASES.values()}
    odd = [
        "",
        " ",
        "x",
        "\ud800",
        "••••6789",
        "\u0661",
        None,
        np.nan,
        pd.NA,
        pd.NaT,
        Decimal("NaN"),
        Decimal("sNaN"),
        np.float32("nan"),
        np.bool_(1),
        dt.date(2000, 1, 1),
        0,
        1,
        True,
        1.0,
        2.5,
    ]
    return st.sampled_from([*sorted(known | usual, key=str), *odd, (), "é" * 300])


def rows(body: str) -> st.SearchStrategy[list[Row]]:
    """Return rows of a table: published bodies with some members changed or missing."""
    members = [wire for wire, ours in SCHEMAS[body].names.items() if wire != ours or "_" not in ours]
    bases = st.sampled_from([record for name, record in BASES.values() if name == body])
    changes = st.dictionaries(st.sampled_from(members), st.none(), max_size=5).flatmap(
        lambda chosen: st.fixed_dictionaries({str(name): values(str(name)) for name in chosen})
    )
    return st.lists(st.builds(lambda base, change: {**base, **change}, bases, changes), max_size=6)


@pytest.mark.parametrize("body", CHECKS)
@given(data=st.data())
def test_a_table_has_the_findings_of_its_rows(body: str, data: st.DataObject) -> None:
    """Whatever stands in the cells: the findings are those of the rows, in the same order and words."""
    frame = pd.DataFrame(data.draw(rows(body)), dtype="object")

    assert list(one_by_one(body, frame)) == all_at_once(body, frame)


@pytest.mark.parametrize("body", CHECKS)
def test_all_examples_in_one_table(body: str) -> None:
    """Each rule finds in a table what it finds in a row."""
    examples = [each for each in EXAMPLES if each.body == body]
    records = [each.record(changes) for each in examples for changes in (each.bad, each.good)]
    frame = pd.DataFrame(records).astype(object).where(lambda cells: cells.notna(), None)
    found = all_at_once(body, frame)

    assert list(one_by_one(body, frame)) == found
    assert {each.code for each in examples} <= {row[1 + COLUMNS.index("code")] for row in found}


@pytest.mark.parametrize("dtype", ["object", "string", "category", None])
def test_text_columns_of_every_kind_are_text(dtype: Any) -> None:
    """However pandas keeps text, it is the same text."""
    rows = [{**PAYER, "country": "UK"}, {**PAYER, "city": None}]
    frame = pd.DataFrame(rows) if dtype is None else pd.DataFrame(rows, dtype="object").astype(dtype)

    assert ["country_habit", "required"] == list(check_payers(frame)["code"])


def test_numbers_say_how_to_read_the_table() -> None:
    """A column that pandas read as numbers is one error a row, each with the way out."""
    frame = pd.DataFrame([BANK_DETAILS] * 3).assign(routingNumber=[26013356, 26013356, 1])
    found = check_all_bank_details(frame)

    assert ([0, 1, 2], {"not_text"}) == (list(found["row"]), set(found["code"]))
    assert found["hint"].str.contains("dtype=str").all()


def test_findings_carry_the_labels_of_the_table() -> None:
    """`row` is the label in the index, so that findings can be joined with the table."""
    frame = pd.DataFrame([PAYER, {**PAYER, "country": "UK"}], index=pd.Index(["a", "b"], name="case"))

    assert ["b"] == list(check_payers(frame)["row"])
    assert "UK" == frame.join(check_payers(frame).set_index("row"), how="inner")["country"].item()


def test_columns_that_are_no_members_are_told_before_anything() -> None:
    """A column that no call takes is named, with what was meant; those of the other body are somebody else's."""
    frame = pd.DataFrame([{**BANK_DETAILS, **PAYER, "shoe size": "9", "email_adress": "x"}] * 3)
    with pytest.raises(InvalidInput, match="Rename them, or leave them out") as caught:
        check_payers(frame)

    assert [("shoe size", "Leave it out."), ("email_adress", "Did you mean email?")] == [
        (problem.field, problem.hint) for problem in caught.value.fields if isinstance(problem, Finding)
    ]
    assert check_payers(frame[[*BANK_DETAILS, *(name for name in PAYER if name not in BANK_DETAILS)]]).empty


def test_a_member_by_both_names_is_told() -> None:
    """Two columns for one member: which one counts, nobody can know."""
    frame = pd.DataFrame([{**PAYER, "first_name": "Johnny"}] * 2)

    assert list(one_by_one("Payer", frame)) == all_at_once("Payer", frame)
    assert ["given_twice"] * 2 == list(check_payers(frame)["code"])


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame([PAYER]).head(0), pd.DataFrame([PAYER])])
def test_without_findings_the_columns_stand(frame: pd.DataFrame) -> None:
    """No rows, or nothing to say: an empty frame with its columns."""
    found = check_payers(frame)

    assert (["row", *COLUMNS], 0) == (list(found.columns), len(found))


def test_warnings_are_ignored_in_a_table_too() -> None:
    """One word leaves out one kind of finding."""
    frame = pd.DataFrame([{**PAYER, "country": "UK", "city": " "}])

    assert list(one_by_one("Payer", frame, ignore="only_blanks")) == all_at_once("Payer", frame, ignore="only_blanks")
    with pytest.raises(InvalidInput, match="no rule has the code 'nonsense'"):
        check_payers(frame, ignore=["nonsense"])


@pytest.mark.parametrize("thing", [None, PAYER, [PAYER], pd.Series(PAYER)])
def test_what_is_no_table_is_told(thing: Any) -> None:
    """One payer is checked by another function."""
    with pytest.raises(InvalidInput, match="Give a DataFrame with one Payer a row"):
        check_payers(thing)


def test_the_table_is_left_as_it_is() -> None:
    """Checking changes nothing."""
    frame = pd.DataFrame([{**PAYER, "city": None, "ssn": 5}, PAYER])
    before = frame.copy(deep=True)
    check_payers(frame)

    pd.testing.assert_frame_equal(before, frame)


def test_a_table_without_names_is_told_without_its_values() -> None:
    """A file without a header row is one error, and not a finding for each value in its first row."""
    frame = pd.DataFrame([list(PAYER.values())], columns=list(PAYER.values()))
    with pytest.raises(InvalidInput, match="Does the table have a row of names") as caught:
        check_payers(frame)

    assert [] == [value for value in PAYER.values() if len(value) > 3 and value in str(caught.value)]


def test_a_member_of_the_other_body_in_the_wrong_table_is_told() -> None:
    """`postcode` is the payers' word; an accounts' table that has it in place of `postal_code` learns that."""
    frame = pd.DataFrame([BANK_DETAILS]).rename(columns={"postalCode": "postcode"})

    with pytest.raises(InvalidInput, match="Did you mean postal_code"):
        check_all_bank_details(frame)


def test_a_dask_frame_is_told_how() -> None:
    """A partitioned table is checked where its partitions are."""
    with pytest.raises(InvalidInput, match="map_partitions"):
        check_payers(dd.from_pandas(pd.DataFrame([PAYER]), npartitions=1))
