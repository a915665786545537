"""What the values of a column say beside its header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit import InvalidInput
from payerkit.models.requests import SHARED_FIELDS
from payerkit.tables.spreadsheets import write_rows
from published import PAYER


@table("columns_in_doubt")
def test_a_certain_header_with_other_values_is_asked(
    columns: dict[str, list[str]], header: str, words: str
) -> None:
    """One sentence for the column; a few wrong cells are left to their rows."""
    ids = [f"user-{place}" for place in range(len(columns[header]))]
    frame = pd.DataFrame({"Customer ID": ids, **columns}).replace("", None)
    proposed = payerkit.tables.propose_mapping(frame)

    assert (bool(words), True) == (
        proposed.loc[header, "is_open"],
        words in str(proposed.loc[header, "problem"]),
    )
    assert not words or proposed.loc[header, "field"] is None


def test_a_column_in_doubt_can_be_chosen() -> None:
    """Whoever knows better says so."""
    frame = pd.DataFrame({"E-mail": ["x", "y", "z"]})
    with pytest.raises(InvalidInput, match="hardly those of email"):
        payerkit.read_payers(frame)
    chosen = payerkit.read_payers(frame, mapping={"E-mail": "email"})

    assert ["email"] == list(chosen.columns)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        (["NY", "MA", "CA"], "state"),
        (["1", "2", "3"], "state"),  # any text may be a state
    ],
)
def test_a_near_miss_counts_as_far_as_its_values_fit(
    values: list[str], field: str
) -> None:
    """A misspelt header is what it looks like."""
    frame = pd.DataFrame({"Customer ID": ["a", "b", "c"], "Statue": values})

    assert field == payerkit.tables.propose_mapping(frame).loc["Statue", "field"]


def test_a_near_miss_with_other_values_is_no_candidate() -> None:
    """Towns are no e-mail addresses, however the header looks."""
    frame = pd.DataFrame(
        {"Customer ID": ["a", "b", "c"], "E-mails": ["Bonn", "Trier", "Ulm"]}
    )
    proposed = payerkit.tables.propose_mapping(frame)

    assert proposed.loc["E-mails", "field"] is None
    assert proposed.loc["E-mails", "is_open"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Cancelled 3 May", "cancelled"),
        ("please do not pay", "do not pay"),
        ("on hold", "on hold"),
        ("Konto gesperrt", "gesperrt"),
        ("no pagar", "no pagar"),
        ("clôturé", "clôturé"),
        ("paid", ""),
        ("Holden Example", ""),
    ],
)
def test_a_column_left_out_that_says_stop_is_told(text: str, word: str) -> None:
    """The row is warned of, and would be sent."""
    frame = pd.DataFrame([PAYER | {"Remarks": text}, PAYER | {"Remarks": "x"}])
    frame["clientUserId"] = ["a", "b"]
    rows = payerkit.read_payers(frame, mapping={"Remarks": None})
    found = payerkit.plan_onboarding(rows).findings

    assert [f"The column Remarks, which is left out, says: {word}."] * bool(word) == (
        found[found["code"] == "left_out_says_stop"]["message"].to_list()
    )


def test_an_account_without_a_payer_is_to_be_filled_down() -> None:
    """A row with the id alone is a further account of that payer; without it, the
    message says what to do.
    """
    account = {"iban": "DE89370400440532013000", "account_name": "Ada Example"}
    frame = pd.DataFrame(
        [PAYER | account, {"clientUserId": "user-123", **account}, account]
    )
    found = payerkit.read_payers(frame).origin.findings

    assert [(2, "fill_down")] == [(each.label, each.finding.code) for each in found]


def both() -> pd.DataFrame:
    """Return a table of a payer with an account, of a payer who is the holder, and of a
    further account.
    """
    text = payerkit.tables.template("eur-local")
    (row,) = csv.DictReader(io.StringIO(text))
    holder = [f"bank_{name}" for name in SHARED_FIELDS if f"bank_{name}" in row]
    of_account = {name: row[name] for name in account_columns(row)}
    rows: list[dict[str, str | None]] = [
        {**row},
        row | dict.fromkeys(holder) | {"client_user_id": "b", "holder_is_payer": "yes"},
        {"client_user_id": "b", **of_account, "iban": "DE89370400440532013001"},
    ]
    return payerkit.read_payers(pd.DataFrame(rows))


def account_columns(names: Iterable[str]) -> list[str]:
    """Return the columns of an account and its holder."""
    fields = {*payerkit.BankDetails.model_fields} - {*payerkit.Payer.model_fields}
    return [name for name in names if name in fields or name.startswith("bank_")]


def test_a_table_of_both_is_checked_as_it_is_read() -> None:
    """Each check takes its own rows and columns; the holder's are told from the
    payer's.
    """
    payers = payerkit.check_payers(both())
    accounts = payerkit.check_all_bank_details(both())

    assert "error" not in {*payers["severity"], *accounts["severity"]}
    assert [2] == accounts[accounts["field"] == "iban"]["row"].to_list()


def test_an_unknown_column_of_a_table_of_both_is_named_alone() -> None:
    """The holder's columns are known."""
    with pytest.raises(InvalidInput) as caught:
        payerkit.check_payers(both().assign(colour="red"))

    assert ["colour"] == [each.field for each in caught.value.fields]


def test_a_carriage_return_ends_no_row() -> None:
    """A file that is written has as many rows as the frame, for every program."""
    text = io.StringIO(newline="")
    write_rows(pd.DataFrame({"reason": ["one\rtwo", "three"]}), text)

    assert "\r" not in text.getvalue()
    assert 3 == len([*csv.reader(io.StringIO(text.getvalue()))])
