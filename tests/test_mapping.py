"""The mapping: a dict of what is decided, and the proposal that shows it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import payerkit
from payerkit.tables import ColumnMapping

HEADERS = ["Vorname", "E-Mail", "Konto", "Notiz", "Notiz"]
PEOPLE = pd.DataFrame(
    {
        "Kundennummer": ["payer@example.com", "user-2"],
        "Vorname": ["Gordon", "Zoë"],
        "SSN": ["123-45-6789", None],
        "Geburtsdatum": ["12.12.1985", "01.02.1990"],
        "Land": ["DE", "FR"],
        "Kontonummer": ["253009233489", "253009233489"],
        "Wer": ["Gordon Example", ""],
    }
)
PERSONAL = ["Gordon", "Zoë", "123-45-6789", "1985", "payer@", "253009233489"]


def test_a_mapping_has_what_is_decided() -> None:
    """What is certain or was chosen is in it; open columns are not."""
    mapping = ColumnMapping(HEADERS, {"Konto": "iban", "Notiz (D)": None})

    assert {
        "Vorname": "first_name",
        "E-Mail": "email",
        "Konto": "iban",
        "Notiz (D)": None,
    } == dict(mapping)
    assert ["Notiz (E)"] == list(mapping.open)
    with pytest.raises(KeyError):
        mapping["Notiz (E)"]


def test_other_columns_follow_a_choice() -> None:
    """Whose country it is depends on what the table has, so a choice may change what
    other headers mean.
    """
    headers = ["IBAN", "Beneficiary country", "Kontakt"]

    assert "country" == ColumnMapping(headers)["Beneficiary country"]
    assert "bank_country" == ColumnMapping(headers, {"Kontakt": "email"})[headers[1]]


def test_a_salutation_is_no_type_of_payer() -> None:
    """Mr and Mrs do not say whether somebody is a person or a company, so the column
    beside it is proposed for that.
    """
    mapping = ColumnMapping(["Kundennr.", "Anrede", "Art"])

    assert {"Anrede": None, "Art": "beneficiary_type"} == mapping.proposals


@pytest.mark.parametrize(
    ("headers", "chosen", "is_equal"),
    [
        (HEADERS, {"Konto": "iban"}, True),
        (HEADERS, {"Konto": "account_number"}, False),
        (HEADERS, {"Konto": "iban", "Notiz (D)": "city"}, False),
        ([*HEADERS, "Tel."], {"Konto": "iban"}, False),
    ],
)
def test_mappings_differ_by_what_is_decided(
    headers: list[str], chosen: dict[str, str | None], is_equal: bool
) -> None:
    """A mapping equals another one, or a dict, with the same columns."""
    mapping = ColumnMapping(HEADERS, {"Konto": "iban"})

    assert is_equal == (mapping == ColumnMapping(headers, chosen))
    assert is_equal == (mapping == dict(ColumnMapping(headers, chosen)))


def test_a_proposal_shows_masked_values() -> None:
    """The first values are shown as their shape where they are personal, and as they
    are where they are not.
    """
    proposal = payerkit.tables.propose_mapping(PEOPLE)

    assert {
        "Kundennummer": "xxxxx@xxxxxxx.xxx, user-2",
        "Vorname": "Xxxxxx, Xxx",
        "SSN": "000-00-0000",
        "Geburtsdatum": "00.00.0000",
        "Land": "DE, FR",
        "Kontonummer": "••••3489",
        "Wer": "Xxxxxx Xxxxxxx",  # nobody knows yet what it is
    } == proposal["first_values"].to_dict()
    assert [] == [value for value in PERSONAL if value in proposal.to_csv()]


def test_a_proposal_says_what_is_open() -> None:
    """An open column has the likeliest field, or none, and a reason; another one is
    certain.
    """
    proposal = payerkit.tables.propose_mapping(
        pd.DataFrame(columns=["E-Mail", "Konto", "Wer", "payer@example.com"])
    )

    assert {
        "E-Mail": "email",
        "Konto": "account_number",
        "Wer": None,
        "(D)": None,  # it may be personal data
    } == proposal["field"].to_dict()
    assert [False, True, True, True] == proposal["is_open"].tolist()
    assert [
        "",
        "may be account_number, iban or client_user_id.",
        "not a field of a payer or of bank details.",
    ] == proposal["problem"].tolist()[:3]


def test_a_file_is_proposed_below_its_titles(tmp_path: Path) -> None:
    """The row of names is found for the proposal, and by read_payers."""
    path = tmp_path / "table.csv"
    path.write_text("Payers,,\n,,\nE-Mail,Kto,Nr\na@example.com,12345678,7\n", "utf-8")
    proposal = payerkit.tables.propose_mapping(path)

    assert ["E-Mail", "Kto", "Nr"] == proposal.index.tolist()
    assert proposal["field"].tolist() == list(
        payerkit.read_payers(path, mapping={"Nr": "client_user_id"}).columns
    )


def test_unknown_headers_can_be_mapped() -> None:
    """Headers in another language, of which none is known, are shown, so that a person
    can map them.
    """
    table = pd.DataFrame(columns=["Imię", "Nazwisko"])

    assert ["Imię", "Nazwisko"] == payerkit.tables.propose_mapping(table).index.tolist()
