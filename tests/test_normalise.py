"""Cells that are rewritten with consent: what has exactly one meaning, and what must
stay.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit import InvalidInput
from payerkit._tsv import rows as table_rows
from payerkit.checks.dates import file_date_order
from payerkit.checks.places import country_code
from payerkit.checks.readings import reading
from payerkit.checks.texts import fold
from payerkit.models.fields import fields_of, names_of
from payerkit.models.requests import BankDetails, Payer
from payerkit.tables.normalise import (
    Change,
    reading_in_words,
    readings_of,
    shown_change,
)
from published import PUBLISHED, TYPED_ACCOUNT, TYPED_PAYER, as_columns

ROW: dict[str, Any] = (
    TYPED_PAYER | as_columns(TYPED_ACCOUNT) | {"bank_name": "Typed Bank"}
)


def read(cells: dict[str, Any], date_order: str | None = None) -> dict[str, str | None]:
    """Return the readings of a row with some cells, by column."""
    return {
        column: after
        for (_, column), after in readings_of(
            pd.DataFrame([ROW | cells]), date_order
        ).items()
    }


@table("normalised_cells")
def test_readings(cells: dict[str, str], expected: dict[str, str | None]) -> None:
    """A cell is read if it can mean one thing only."""
    assert expected == read(cells)


def test_a_second_look_finds_nothing() -> None:
    """What was rewritten stays, and its row is sent."""
    messy = {
        "country": "USA",
        "phone": "(212) 555-7391",
        "date_of_birth": "27/03/1979",
        "bank_country": "Estados Unidos",
    }
    messy |= {
        "state": "New York",
        "bank_date_of_birth": "27/03/1979",
        "currency": "US$",
        "bank_address_line2": "n/a",
    }
    messy |= {
        "beneficiary_type": "Person",
        "bank_beneficiary_type": "Person",
        "bank_state": "New York",
        "rails": "ACH",
    }
    table = payerkit.read_payers(pd.DataFrame([ROW | messy]), normalise=True)

    assert {} == readings_of(table)
    assert set(messy) == {each.column for each in table.origin.changes}
    assert {**ROW, "rails": "local", "bank_address_line2": None} == table.iloc[
        0
    ].replace({float("nan"): None}).to_dict()
    assert 1 == payerkit.plan_onboarding(table).counts["to_send"]


def test_published_rows_are_left_alone() -> None:
    """The published examples, payers with accounts and each alone, have no reading."""
    payers = [
        {names_of(Payer)[key]: value for key, value in each.items()}
        for each in PUBLISHED["payers"].values()
    ]
    accounts = [
        {names_of(BankDetails)[key]: value for key, value in each.items()}
        for each in PUBLISHED["bank_details"].values()
    ]
    both = [payers[0] | as_columns(each) for each in PUBLISHED["bank_details"].values()]

    assert [{}] * 3 == [
        readings_of(pd.DataFrame(each)) for each in (payers, accounts, both)
    ]


@table("date_orders")
def test_the_order_of_dates_in_a_file(texts: list[str], expected: str | None) -> None:
    """The order is known if a date shows it, and none shows the other."""
    assert expected == file_date_order(texts)


@table("dates_in_order")
def test_dates_in_the_order_of_the_file(
    typed: str, order: str | None, expected: str | None
) -> None:
    """A date that may mean two days is read in the order of its file, if there is
    one.
    """
    assert expected == reading(Payer, "date_of_birth", typed, {}, date_order=order)
    assert ({} if expected is None else {"date_of_birth": expected}) == read(
        {"date_of_birth": typed}, order
    )


def test_accounts_alone_have_their_own_country() -> None:
    """In a table of accounts, `country` is the holder's, by which states and postal
    codes are read.
    """
    frame = pd.DataFrame(
        [
            {
                **TYPED_ACCOUNT,
                "client_user_id": "a",
                "country": "Canada",
                "state": "Ontario",
            }
        ]
    )

    assert {(0, "country"): "CA", (0, "state"): "ON"} == readings_of(frame)


def test_another_country_does_not_count() -> None:
    """The holder's state is not read by the country of the payer, and the other way
    round.
    """
    assert {} == read({"country": "CA", "bank_state": "Ontario"})
    assert {"bank_state": "ON"} == read({"bank_country": "CA", "bank_state": "Ontario"})


@pytest.mark.parametrize("mark", ["-", "N/A", "none"])
def test_a_row_without_an_account_is_one(mark: str) -> None:
    """If all cells of an account are placeholders, they are cleared: the row is about
    the payer alone.
    """
    account = {
        name: mark
        for name in ROW
        if name not in {*TYPED_PAYER, "bank_name", "account_name", "postal_code"}
    }
    account |= {"bank_name": "-", "account_name": "-"}  # None could be a name
    rows = pd.DataFrame([ROW, ROW | account | {"client_user_id": "b"}])
    table = payerkit.read_payers(rows, normalise=True)

    assert {(1, name, None) for name in account} == {
        (each.label, each.column, each.after) for each in table.origin.changes
    }
    assert ["send", ""] == payerkit.plan_onboarding(table).frame[
        "bank_details"
    ].tolist()


def test_an_account_with_one_real_value_stays() -> None:
    """A required placeholder beside a value is no blank cell: it is an error until a
    person clears it.
    """
    cells = dict.fromkeys(
        ["bank_name", "account_name", "bank_city", "bank_address_line1"], "-"
    )

    assert {} == read(cells)


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category"])
def test_frames_keep_their_kind(dtype: Any) -> None:
    """Other columns are untouched, and so are dtype, index and the frame that was
    given.
    """
    frame = pd.DataFrame([ROW, ROW | {"country": "USA"}], index=[7, 9]).astype(dtype)
    before = frame.copy()
    made = payerkit.read_payers(frame, normalise=True)

    assert (Change(9, "country", "USA", "US"),) == made.origin.changes
    assert ["US", "US"] == made["country"].tolist()
    assert [7, 9] == made.index.tolist()
    pd.testing.assert_frame_equal(before, frame)
    pd.testing.assert_frame_equal(
        pd.DataFrame(made).drop(columns="country"), before.drop(columns="country")
    )
    assert dtype == "category" or made["country"].dtype == before["country"].dtype


def test_a_column_of_categories_takes_a_new_text() -> None:
    """A text that is none of the categories is written all the same, and is no blank
    cell.
    """
    frame = pd.DataFrame([ROW | {"country": "USA"}]).astype("category")

    assert ["US"] == payerkit.read_payers(frame, normalise=True)["country"].tolist()


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (False, set()),
        (True, {"country", "bank_country", "phone"}),
    ],
)
def test_cells_are_rewritten_with_consent(which: Any, expected: set[str]) -> None:
    """Only if somebody asks for it; each by the meaning of the others."""
    cells = {"country": "USA", "bank_country": "USA", "phone": "(212) 555-1234"}
    table = payerkit.read_payers(pd.DataFrame([ROW | cells]), normalise=which)

    assert expected == {each.column for each in table.origin.changes}


@pytest.mark.parametrize("which", [["phone"], "no", 5])
def test_consent_is_true_or_false(which: Any) -> None:
    """Anything else is refused, such as the columns in which."""
    with pytest.raises(InvalidInput, match="normalise: "):
        payerkit.read_payers(pd.DataFrame([ROW]), normalise=which)


@pytest.mark.parametrize(
    "value",
    [None, float("nan"), 5, True, pd.Timestamp("1985-12-31"), b"USA", ["USA"], "", " "],
)
def test_what_is_no_text_is_left_alone(value: Any) -> None:
    """Cells of a DataFrame that hold anything else are not read."""
    frame = pd.DataFrame({name: pd.Series([value], dtype="object") for name in ROW})

    assert {} == readings_of(frame)


@table("shown_changes")
def test_changes_are_shown_masked(
    column: str, before: str, after: str | None, from_: str, to: str
) -> None:
    """Codes and placeholders are shown; what is personal is masked."""
    assert (from_, to) == shown_change(column, before, after)


@pytest.mark.parametrize(
    ("column", "after", "expected"),
    [
        ("country", "DE", "DE"),
        ("bank_date_of_birth", "1985-12-31", "it in the right form"),
        ("phone", "+12125551234", "it in the right form"),
        ("address_line2", None, ""),
    ],
)
def test_hints(column: str, after: str | None, expected: str) -> None:
    """A finding says what a cell would become; nothing of one that would be cleared."""
    assert expected == reading_in_words(column, after)


def test_no_hint_shows_what_is_masked() -> None:
    """Whatever is personal or secret has words of its own."""
    fields = {**fields_of(Payer), **fields_of(BankDetails)}
    read_fields = {
        "email",
        "phone",
        "date_of_birth",
        "postcode",
        "postal_code",
        "iban",
        "routing_number",
    }

    assert all(fields[name].masking for name in read_fields)
    assert [] == [
        name
        for name in read_fields
        if "secret value" in reading_in_words(name, "secret value")
    ]


def test_aliases_mean_something_once() -> None:
    """No alias stands twice, and none is what the tables of countries know better."""
    table = list(table_rows("payerkit.checks", "aliases"))
    keys = [(row["kind"], fold(row["alias"]), row["code"]) for row in table]

    assert len(keys) == len(set(keys))


def test_names_of_countries_mean_one() -> None:
    """Each name in another language is read as its country."""
    table = list(table_rows("payerkit.checks", "country_names"))

    assert [] == [
        row["name"] for row in table if country_code(row["name"]) != row["code"]
    ]
