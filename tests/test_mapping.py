"""The mapping: a dict of what is decided, shown without values."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import payerkit
from payerkit import InvalidInput
from payerkit.tables import Mapping

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


def decided() -> Mapping:
    """Return a mapping with all settings."""
    mapping = Mapping(HEADERS, {"Konto": "iban", "Notiz (D)": None, "Notiz (E)": None})
    mapping.sheet, mapping.normalise, mapping.date_order = "Kunden", True, "day_first"
    return mapping


def test_a_mapping_has_what_is_decided() -> None:
    """Certain columns are in it, open ones are not until somebody decides."""
    mapping = Mapping(HEADERS)
    before = dict(mapping)
    mapping["Konto"] = "iban"

    assert {"Vorname": "first_name", "E-Mail": "email"} == before
    assert ["Vorname", "E-Mail", "Konto"] == list(mapping)
    assert ["Notiz (D)", "Notiz (E)"] == list(mapping.open)
    with pytest.raises(KeyError, match="not decided"):
        mapping["Notiz (D)"]


def test_a_choice_is_taken_back() -> None:
    """Deleting a column asks again; clearing takes back every choice, and keeps what is certain."""
    mapping = Mapping(HEADERS, {"Konto": "iban", "Vorname": None})
    del mapping["Konto"]
    again = "Konto" in mapping.open
    mapping.clear()

    assert (True, "first_name") == (again, mapping["Vorname"])


def test_other_columns_follow_a_choice() -> None:
    """Whose country it is depends on what the table has, so a choice may change what other headers mean."""
    mapping = Mapping(["IBAN", "Beneficiary country", "Kontakt"])
    before = mapping["Beneficiary country"]
    mapping["Kontakt"] = "email"

    assert ("country", "bank_country") == (before, mapping["Beneficiary country"])


def test_a_salutation_is_no_type_of_payer() -> None:
    """Mr and Mrs do not say whether somebody is a person or a company, so the column beside it is proposed for that."""
    mapping = Mapping(["Kundennr.", "Anrede", "Art"])

    assert {"Anrede": None, "Art": "beneficiary_type"} == mapping.proposals


def test_proposals_are_taken_together() -> None:
    """A person who looked at the proposals takes them all."""
    mapping = Mapping(HEADERS)
    proposals = mapping.proposals

    assert proposals.items() <= dict(mapping.accept()).items()
    assert {} == mapping.open


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("Konto", "ibann", "ibann is not a field .* Did you mean iban?"),
        ("Kontoo", "iban", "Kontoo is not a column of the file"),
        ("Notiz", None, r'several columns have this name. Write "Notiz \(D\)" or "Notiz \(E\)"'),
        ("payer@example.com", None, "•••• is not a column"),
    ],
)
def test_wrong_choices_are_refused(key: str, value: str | None, words: str) -> None:
    """A column or a field that does not exist is refused at once."""
    with pytest.raises(InvalidInput, match=words):
        Mapping(HEADERS)[key] = value


@pytest.mark.parametrize("change", [{"Konto": "account_number"}, {"Notiz (D)": "city"}])
def test_mappings_differ_by_what_is_decided(change: dict[str, str]) -> None:
    """A mapping equals another one, or a dict, with the same columns."""
    other = decided()
    other.update(change)

    assert (decided() == decided(), decided() == other) == (True, False)
    assert decided() == dict(decided())


def test_a_mapping_shows_masked_values() -> None:
    """The first values are shown as their shape where they are personal, and as they are where they are not."""
    mapping = payerkit.tables.propose_mapping(PEOPLE)
    expected = {
        "Kundennummer": ("xxxxx@xxxxxxx.xxx", "user-2"),
        "Vorname": ("Xxxxxx", "Xxx"),
        "SSN": ("000-00-0000",),
        "Geburtsdatum": ("00.00.0000",),
        "Land": ("DE", "FR"),
        "Kontonummer": ("••••3489",),
        "Wer": ("Xxxxxx Xxxxxxx",),  # nobody knows yet what it is
    }

    assert expected == {key: mapping.examples(key) for key in expected}
    shown = repr(mapping) + mapping._repr_html_() + repr(vars(mapping))
    assert [] == [value for value in PERSONAL if value in shown]


def test_the_picture_says_what_is_open() -> None:
    """The picture has each header with its state in words, and an example of how to decide."""
    html = Mapping(["E-Mail", "<b>", "Konto"])._repr_html_()

    assert "Mapping of 3 columns, 2 open" in html
    assert "&lt;b&gt;" in html
    assert "mapping.accept()" in html


def test_a_file_is_proposed_below_its_titles(tmp_path: Path) -> None:
    """The row of names is found for the mapping, and by read_payers."""
    path = tmp_path / "table.csv"
    path.write_text("Payers,,\n,,\nE-Mail,Kto,Nr\na@example.com,12345678,7\n", "utf-8")
    mapping = payerkit.tables.propose_mapping(path)
    mapping["Nr"] = "client_user_id"

    assert "account_number" == mapping["Kto"]
    assert ["email", "account_number", "client_user_id"] == list(payerkit.read_payers(path, mapping=mapping).columns)


def test_unknown_headers_can_be_mapped() -> None:
    """Headers in another language, of which none is known, are shown, so that a person can map them."""
    assert ["Imię", "Nazwisko"] == list(
        payerkit.tables.propose_mapping(pd.DataFrame(columns=["Imię", "Nazwisko"])).open
    )
