"""Reading tables: cells stay text, columns are named by field, rows are numbered as in
a spreadsheet.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from messy_tables import cells_of
from payerkit import InvalidInput
from published import BANK_DETAILS, TYPED_ACCOUNT, TYPED_PAYER


def csv_file(folder: Path, content: str | bytes) -> Path:
    """Return a CSV file with this content."""
    path = folder / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "source",
    [
        io.StringIO("\ufeffclientUserId\n007\n\n008\n"),
        io.BytesIO(b"clientUserId\r\n007\r\n\r\n008\r\n"),
    ],
)
def test_an_open_file_is_read(source: Any) -> None:
    """An open file is accepted, in text or binary mode; blank rows count in the
    numbering and are left out.
    """
    assert {2: ["007"], 4: ["008"]} == cells_of(payerkit.read_payers(source))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("elsewhere.csv", "file elsewhere.csv not found"),
        (None, "got None"),
        ([TYPED_PAYER], "got a list"),
    ],
)
def test_unreadable_sources_are_refused(
    source: Any, words: str, tmp_path: Path
) -> None:
    """A source that cannot be read is refused with the reason."""
    with pytest.raises(InvalidInput, match=words):
        payerkit.read_payers(tmp_path / source if isinstance(source, str) else source)


def test_a_dataframe_keeps_its_index_and_is_not_changed() -> None:
    """The result has the index of the DataFrame, which is not modified."""
    frame = pd.DataFrame(
        {"clientUserId": ["a", "b"], "notes": ["x", "y"]}, index=["one", "one"]
    )
    before = frame.copy(deep=True)
    table = payerkit.read_payers(frame, mapping={"notes": None})

    assert (["client_user_id"], ["one", "one"]) == (
        list(table.columns),
        list(table.index),
    )
    pd.testing.assert_frame_equal(before, frame)


@table("named_columns")
def test_columns_are_named_by_field(
    columns: list[str], mapping: Mapping[str, str | None], expected: list[str]
) -> None:
    """Columns are found by field name, by wire name and by the mapping."""
    frame = pd.DataFrame([["x"] * len(columns)], columns=columns)

    assert expected == list(payerkit.read_payers(frame, mapping=mapping).columns)


def test_columns_of_a_frame_without_names_are_mapped_by_number() -> None:
    """A frame that was made without names numbers its columns."""
    mapping: Any = {0: "client_user_id", 1: "email"}

    assert ["client_user_id", "email"] == list(
        payerkit.read_payers(pd.DataFrame([["x", "y"]]), mapping=mapping).columns
    )


@table("unknown_columns")
def test_every_unknown_column_is_reported(
    columns: list[str], mapping: Mapping[str, str | None], expected: dict[str, str]
) -> None:
    """Every unknown column is named, with a suggestion."""
    with pytest.raises(InvalidInput) as caught:
        payerkit.read_payers(
            pd.DataFrame([["x"] * len(columns)], columns=columns), mapping=mapping
        )

    told = {problem.field: problem.message for problem in caught.value.fields}
    assert list(expected) == list(told)
    assert [] == [
        name for name, words in expected.items() if not told[name].endswith(words)
    ]


@pytest.mark.parametrize("body", [TYPED_PAYER, TYPED_ACCOUNT])
def test_a_missing_header_is_reported_without_values(
    body: dict[str, str], tmp_path: Path
) -> None:
    """The first row of a file without a header is personal data, and is not in the
    message.
    """
    path = csv_file(tmp_path, ",".join(body.values()) + "\n")
    with pytest.raises(
        InvalidInput, match="Does the table have a header row"
    ) as caught:
        payerkit.read_payers(path, mapping={"zip": "postcode"})
    with pytest.raises(InvalidInput) as of_frame:
        payerkit.read_payers(pd.DataFrame(columns=[*body.values()]))

    # A DataFrame has no header further down.
    assert "header_row=" in str(caught.value)
    assert "header_row=" not in str(of_frame.value)
    assert [] == [
        value
        for value in body.values()
        if len(value) > 2 and value in str(caught.value)
    ]


@pytest.mark.parametrize("name", ["219-09-9873", "zanzibar@example.com"])
def test_column_names_that_are_personal_data_are_masked(name: str) -> None:
    """A column whose name is an SSN or an e-mail address is shown by its letter."""
    with pytest.raises(InvalidInput) as caught:
        payerkit.read_payers(pd.DataFrame(columns=["email", name]))

    assert (False, True) == (name in str(caught.value), "(B)" in str(caught.value))


def test_bank_details_need_client_user_ids() -> None:
    """A table of bank details without client user ids is refused."""
    with pytest.raises(InvalidInput, match="no column client_user_id"):
        payerkit.read_bank_details(pd.DataFrame([BANK_DETAILS]))


MESSY = (
    "Customer ID,Konto,Notes,Country,Phone\n007,DE89370400440532013000,x,Germany,030"
    " 901820\n"
)


def test_a_table_knows_its_mapping(tmp_path: Path) -> None:
    """The mapping says what was certain and what was chosen, shows masked values, and
    reads the next file alike.
    """
    file = csv_file(tmp_path, MESSY)
    table = payerkit.read_payers(
        file, mapping={"Konto": "iban", "Notes": None}, normalise=True
    )
    again = payerkit.read_payers(file, mapping=table.mapping, normalise=True)

    assert {
        "Customer ID": "client_user_id",
        "Konto": "iban",
        "Notes": None,
        "Country": "country",
        "Phone": "phone",
    } == (dict(table.mapping or {}))
    assert {"Konto": "iban", "Notes": None} == table.mapping.chosen  # type: ignore[union-attr]
    assert "DE8937040044" not in repr(table.mapping)
    assert table.mapping == again.mapping == table.tail(1).mapping
    pd.testing.assert_frame_equal(table, again)


def test_a_table_of_several_has_no_mapping(tmp_path: Path) -> None:
    """Tables that pandas joins may have come from different files."""
    table = payerkit.read_payers(csv_file(tmp_path, "Customer ID,Country\n007,DE\n"))
    other = payerkit.read_payers(csv_file(tmp_path, "Kundennummer,Land\n008,DE\n"))

    assert pd.concat([table, other]).mapping is None


def test_a_corrections_file_has_the_first_mapping(tmp_path: Path) -> None:
    """What was chosen for the first file still holds, and our own columns are none of
    the mapping.
    """
    table = payerkit.read_payers(
        csv_file(tmp_path, MESSY), mapping={"Konto": None, "Notes": "city"}
    )
    payerkit.plan_onboarding(table).save_corrections(tmp_path / "to-correct.csv")
    corrected = payerkit.read_payers(tmp_path / "to-correct.csv")

    assert dict(table.mapping or {}) == dict(corrected.mapping or {})


def test_a_table_lists_its_changes(tmp_path: Path) -> None:
    """Each cell that was rewritten is listed while its row is there, masked, as in a
    plan.
    """
    columns = {"Konto": None, "Notes": None}
    table = payerkit.read_payers(
        csv_file(tmp_path, f"{MESSY}008,,,DE,\n"), mapping=columns, normalise=True
    )
    rows = [list(row) for row in table.changes.itertuples(index=False)]

    assert [[2, "D2", "Country", "Germany", "DE"], [2, "E2", "Phone"]] == [
        rows[0],
        rows[1][:3],
    ]
    assert "901820" not in table.changes.to_string()
    assert 0 == len(table.tail(1).changes)
    assert 2 == len(table.reset_index(drop=True).changes)
    pd.testing.assert_frame_equal(
        table.changes, payerkit.plan_onboarding(table).changes
    )


def test_an_id_that_is_kept_is_one_in_its_row_alone(tmp_path: Path) -> None:
    """Whoever writes "keep Null" beside an account in a corrections file says that its
    payer has this id; the payer of another row has not.
    """
    path = tmp_path / "to-correct.csv"
    accounts = [
        {**BANK_DETAILS, "clientUserId": "Null", "accountNumber": f"981273645{number}"}
        for number in range(2)
    ]
    table = payerkit.read_bank_details(pd.DataFrame(accounts))
    payerkit.plan_onboarding(table).save_corrections(path)
    written = pd.read_csv(path, dtype=str, keep_default_na=False)
    written.loc[0, "problems"] = "keep Null"
    written.to_csv(path, index=False)
    plan = payerkit.plan_onboarding(payerkit.read_bank_details(path))

    assert ["to_send", "not_sent"] == plan.frame["state"].tolist()
