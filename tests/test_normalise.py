"""Cells that are rewritten with consent: what has exactly one meaning, and what must stay."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import payerkit
from payerkit import InvalidInput
from payerkit._tsv import rows as table_rows
from payerkit.checks.dates import file_date_order
from payerkit.checks.places import country_code
from payerkit.checks.readings import reading
from payerkit.checks.schema import BANK_DETAILS, MASK, PAYER
from payerkit.checks.texts import fold
from payerkit.tables.normalise import Change, reading_in_words, readings_of, shown_change
from published import PUBLISHED, TYPED_ACCOUNT, TYPED_PAYER, as_columns

ROW: dict[str, Any] = TYPED_PAYER | as_columns(TYPED_ACCOUNT) | {"bank_name": "Typed Bank"}


def read(cells: dict[str, Any], date_order: str | None = None) -> dict[str, str | None]:
    """Return the readings of a row with some cells, by column."""
    return {column: after for (_, column), after in readings_of(pd.DataFrame([ROW | cells]), date_order).items()}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        # Countries, and what must stay of them
        ({"country": "United States"}, {"country": "US"}),
        ({"country": "Alemania", "state": "Bayern"}, {"country": "DE"}),
        ({"country": "Vereinigte Staaten"}, {"country": "US"}),
        ({"country": "États-Unis"}, {"country": "US"}),
        ({"country": "Iran, Islamic Republic of"}, {"country": "IR"}),
        ({"country": "Germany (DE)"}, {"country": "DE"}),
        ({"country": "US - United States"}, {"country": "US"}),
        ({"country": "UK"}, {"country": "GB"}),
        ({"bank_country": "England"}, {"bank_country": "GB"}),
        ({"nationality": "German"}, {"nationality": "DE"}),
        ({"nationality": "American (US)"}, {"nationality": "US"}),
        ({"country": "German"}, {}),  # people, not a country
        ({"country": "Korea"}, {}),
        ({"country": "Congo"}, {}),
        ({"country": "US/CA"}, {}),
        ({"country": "Georgia, US"}, {}),
        ({"country": "NA"}, {}),
        ({"country": "us"}, {}),  # sent as typed
        ({"nationality": "Dominican"}, {}),
        ({"nationality": "German/American"}, {}),
        ({"nationality": "Europe"}, {}),
        # States
        ({"state": "New York"}, {"state": "NY"}),
        ({"state": "N.Y."}, {"state": "NY"}),
        ({"state": "Washington, D.C."}, {"state": "DC"}),
        ({"state": "Québec", "country": "Canada"}, {"state": "QC", "country": "CA"}),
        ({"state": "CDMX", "country": "MX"}, {"state": "CMX"}),
        ({"bank_state": "California"}, {"bank_state": "CA"}),
        ({"state": "New York", "country": "DE"}, {}),
        ({"state": "Ontario"}, {}),  # not in the US
        ({"state": "Washing"}, {}),
        # Types, rails, kinds of accounts
        ({"beneficiary_type": "Individual"}, {"beneficiary_type": "individual"}),
        ({"beneficiary_type": "Privatperson"}, {"beneficiary_type": "individual"}),
        ({"beneficiary_type": "COMPANY"}, {"beneficiary_type": "business"}),
        ({"bank_beneficiary_type": "Persona física"}, {"bank_beneficiary_type": "individual"}),
        ({"beneficiary_type": "sole trader"}, {}),  # a person, and a business
        ({"beneficiary_type": "Verein"}, {}),
        ({"rails": "ACH"}, {"rails": "local"}),
        ({"rails": "bank transfer"}, {}),
        ({"account_type": "Girokonto"}, {"account_type": "checking"}),
        ({"account_type": "deposit"}, {}),
        ({"holder_is_payer": "Ja"}, {"holder_is_payer": "yes"}),
        ({"holder_is_payer": "nein"}, {"holder_is_payer": "no"}),
        ({"holder_is_payer": "x"}, {}),
        ({"holder_is_payer": "yes"}, {}),
        # Currencies
        ({"currency": "€"}, {"currency": "EUR"}),
        ({"currency": "Euro (EUR)"}, {"currency": "EUR"}),
        ({"currency": "$ USD"}, {"currency": "USD"}),
        ({"currency": "Pound Sterling"}, {"currency": "GBP"}),
        ({"currency": "$"}, {}),
        ({"currency": "kr"}, {}),
        ({"currency": "EUR/USD"}, {}),
        ({"currency": "usd"}, {}),
        # Phones, by the country of the payer
        ({"phone": "(212) 555-1234"}, {"phone": "+12125551234"}),
        ({"phone": "Tel. 212 555 1234"}, {"phone": "+12125551234"}),
        ({"phone": "030 / 123 456", "country": "Germany"}, {"phone": "+4930123456", "country": "DE"}),
        ({"phone": "2025550123"}, {"phone": "+12025550123"}),  # there is no such number in Egypt
        ({"phone": "2015550123"}, {}),  # there may be such a one
        ({"phone": "030 123456", "country": "ZZ"}, {}),
        ({"phone": "212 555 1234 ext. 5"}, {}),
        ({"phone": "555-1234"}, {}),
        ({"phone": "+447911123456"}, {}),
        # Dates
        ({"date_of_birth": "31.12.1985"}, {"date_of_birth": "1985-12-31"}),
        ({"date_of_birth": "12/31/1985"}, {"date_of_birth": "1985-12-31"}),
        ({"bank_date_of_birth": "31. Dezember 1985"}, {"bank_date_of_birth": "1985-12-31"}),
        ({"date_of_birth": "03/04/1985"}, {}),
        ({"date_of_birth": "31/12/85"}, {}),
        ({"date_of_birth": "31412"}, {}),
        # Numbers and codes of banks
        ({"iban": "DE89 3704 0044 0532 0130 00"}, {"iban": "DE89370400440532013000"}),
        ({"iban": "DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000"}, {"iban": "DE89370400440532013000"}),
        ({"iban": "IBAN: DE89 3704 0044 0532 0130 00"}, {"iban": "DE89370400440532013000"}),
        ({"iban": "DE89370400440532013000 FR1420041010050500013M02606"}, {}),  # two
        ({"iban": "1234 5678"}, {}),  # no IBAN
        ({"iban": "IBAN 1234 5678"}, {}),
        ({"iban": "DE89370400440532013000"}, {}),
        ({"swift_bic": "BIC: DEUTDEFF"}, {"swift_bic": "DEUTDEFF"}),
        ({"swift_bic": "1985-02-30"}, {}),  # something else in this column
        ({"routing_number": "021-000-021"}, {"routing_number": "021000021"}),
        ({"routing_number": "21000021"}, {"routing_number": "021000021"}),
        ({"routing_number": "021-000-022"}, {}),  # the check digit is wrong
        ({"routing_number": "2100 0021"}, {}),
        ({"ifsc": "HDFC 0000001"}, {"ifsc": "HDFC0000001"}),
        ({"ifsc": "HDFC 1000001"}, {}),
        ({"account_number": "9812 7364 550"}, {}),  # banks differ
        ({"sort_code": "20 00 00"}, {}),
        ({"postcode": "2138", "state": "MA"}, {"postcode": "02138"}),
        ({"postcode": "2138", "state": "Massachusetts"}, {"postcode": "02138", "state": "MA"}),
        ({"postal_code": "2138", "bank_state": "MA"}, {"postal_code": "02138"}),
        ({"postcode": "1001"}, {}),  # 01001 is not in New York
        ({"postcode": "1067", "country": "CH"}, {}),
        ({"email": "Jane Doe <jane.doe@example.com>"}, {"email": "jane.doe@example.com"}),
        ({"email": "a@example.com, b@example.com"}, {}),
        # Placeholders of optional cells
        ({"address_line2": "N/A"}, {"address_line2": None}),
        ({"bank_address_line2": "-"}, {"bank_address_line2": None}),
        ({"swift_bic": "none"}, {"swift_bic": None}),
        ({"rails": "k.A."}, {"rails": None}),
        ({"company_name": "N/A"}, {"company_name": None}),
        ({"company_name": "None"}, {}),
        ({"company_name": "Null"}, {}),
        ({"address_line2": "#REF!"}, {}),  # a value was lost
        ({"address_line1": "N/A"}, {}),  # required
        ({"last_name": "Null"}, {}),
        ({"bank_state": "NA"}, {}),
        # What is never rewritten
        ({"client_user_id": " 007 "}, {}),
        ({"first_name": "JANE", "city": "NEW YORK", "address_line1": "1 main st"}, {}),
        ({"ssn": "219 09 9873"}, {}),
    ],
)  # fmt: skip
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
    messy |= {"state": "New York", "bank_date_of_birth": "27/03/1979", "currency": "US$", "bank_address_line2": "n/a"}
    messy |= {"beneficiary_type": "Person", "bank_beneficiary_type": "Person", "bank_state": "New York", "rails": "ACH"}
    table = payerkit.read_payers(pd.DataFrame([ROW | messy]), normalise=True)

    assert {} == readings_of(table)
    assert set(messy) == {each.column for each in table.origin.changes}
    assert {**ROW, "rails": "local", "bank_address_line2": None} == table.iloc[0].replace(
        {float("nan"): None}
    ).to_dict()
    assert 1 == payerkit.plan_onboarding(table).counts["to_send"]


def test_published_rows_are_left_alone() -> None:
    """The published examples, payers with accounts and each alone, have no reading."""
    payers = [{PAYER.names[key]: value for key, value in each.items()} for each in PUBLISHED["payers"].values()]
    accounts = [
        {BANK_DETAILS.names[key]: value for key, value in each.items()} for each in PUBLISHED["bank_details"].values()
    ]
    both = [payers[0] | as_columns(each) for each in PUBLISHED["bank_details"].values()]

    assert [{}] * 3 == [readings_of(pd.DataFrame(each)) for each in (payers, accounts, both)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["31/12/1985", "03/04/1985"], "day_first"),
        (["12/31/1985", "03-04-1985"], "month_first"),
        (["12.31.1985"], "month_first"),
        (["12/31/1985 0:00"], "month_first"),
        (["31/12/1985", "12/31/1985"], "mixed"),
        (["12.31.1985", "31/12/1985"], "mixed"),
        (["03/04/1985", "05/05/1990"], None),
        (["31.12.1985", "03/04/1985"], None),  # dots are day first everywhere, and tell nothing about slashes
        (["1985-12-31", "", "N/A", "99/99/1985", "31/13/1985"], None),
        (["31/12/85"], None),
        ([], None),
    ],
)
def test_the_order_of_dates_in_a_file(texts: list[str], expected: str | None) -> None:
    """The order is known if a date shows it, and none shows the other."""
    assert expected == file_date_order(texts)


@pytest.mark.parametrize(
    ("typed", "order", "expected"),
    [
        ("03/04/1985", "day_first", "1985-04-03"),
        ("03/04/1985", "month_first", "1985-03-04"),
        ("03-04-1985", "day_first", "1985-04-03"),
        ("03.04.1985", "day_first", "1985-04-03"),
        ("12/31/1985", "day_first", "1985-12-31"),  # can be read in one way only
        ("03/04/1985", "mixed", None),
        ("03/04/1985", None, None),
        ("03.04.1985", "month_first", None),  # dots say the opposite
        ("12.31.1985", "month_first", "1985-12-31"),
        ("12.31.1985", "day_first", None),
        ("31/31/1985", "day_first", None),
    ],
)
def test_dates_in_the_order_of_the_file(typed: str, order: str | None, expected: str | None) -> None:
    """A date that may mean two days is read in the order of its file, if there is one."""
    assert expected == reading(PAYER, "date_of_birth", typed, {}, date_order=order)
    assert ({} if expected is None else {"date_of_birth": expected}) == read({"date_of_birth": typed}, order)


def test_accounts_alone_have_their_own_country() -> None:
    """In a table of accounts, `country` is the holder's, by which states and postal codes are read."""
    frame = pd.DataFrame([{**TYPED_ACCOUNT, "client_user_id": "a", "country": "Canada", "state": "Ontario"}])

    assert {(0, "country"): "CA", (0, "state"): "ON"} == readings_of(frame)


def test_another_country_does_not_count() -> None:
    """The holder's state is not read by the country of the payer, and the other way round."""
    assert {} == read({"country": "CA", "bank_state": "Ontario"})
    assert {"bank_state": "ON"} == read({"bank_country": "CA", "bank_state": "Ontario"})


@pytest.mark.parametrize("mark", ["-", "N/A", "none"])
def test_a_row_without_an_account_is_one(mark: str) -> None:
    """If all cells of an account are placeholders, they are cleared: the row is about the payer alone."""
    account = {name: mark for name in ROW if name not in {*TYPED_PAYER, "bank_name", "account_name", "postal_code"}}
    account |= {"bank_name": "-", "account_name": "-"}  # None could be a name
    rows = pd.DataFrame([ROW, ROW | account | {"client_user_id": "b"}])
    table = payerkit.read_payers(rows, normalise=True)

    assert {(1, name, None) for name in account} == {
        (each.label, each.column, each.after) for each in table.origin.changes
    }
    assert ["send", ""] == payerkit.plan_onboarding(table).frame["bank_details"].tolist()


def test_an_account_with_one_real_value_stays() -> None:
    """A required placeholder beside a value is no blank cell: it is an error until a person clears it."""
    cells = dict.fromkeys(["bank_name", "account_name", "bank_city", "bank_address_line1"], "-")

    assert {} == read(cells)


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category"])
def test_frames_keep_their_kind(dtype: Any) -> None:
    """Other columns are untouched, and so are dtype, index and the frame that was given."""
    frame = pd.DataFrame([ROW, ROW | {"country": "USA"}], index=[7, 9]).astype(dtype)
    before = frame.copy()
    made = payerkit.read_payers(frame, normalise=["country"])

    assert (Change(9, "country", "USA", "US"),) == made.origin.changes
    assert ["US", "US"] == made["country"].tolist()
    assert [7, 9] == made.index.tolist()
    pd.testing.assert_frame_equal(before, frame)
    pd.testing.assert_frame_equal(pd.DataFrame(made).drop(columns="country"), before.drop(columns="country"))
    assert dtype == "category" or made["country"].dtype == before["country"].dtype


def test_a_column_of_categories_takes_a_new_text() -> None:
    """A text that is none of the categories is written all the same, and is no blank cell."""
    frame = pd.DataFrame([ROW | {"country": "USA"}]).astype("category")

    assert ["US"] == payerkit.read_payers(frame, normalise=True)["country"].tolist()


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (False, set()),
        (True, {"country", "bank_country", "phone"}),
        (["country"], {"country"}),
        ("bank_country", {"bank_country"}),
        ({"phone", "country"}, {"phone", "country"}),
        ([], set()),
    ],
)
def test_consent_is_for_columns(which: Any, expected: set[str]) -> None:
    """Only columns that were named are rewritten; by the meaning of the others."""
    cells = {"country": "USA", "bank_country": "USA", "phone": "(212) 555-1234"}
    table = payerkit.read_payers(pd.DataFrame([ROW | cells]), normalise=which)

    assert expected == {each.column for each in table.origin.changes}


@pytest.mark.parametrize("which", [["shoe_size"], 5, None])
def test_consent_names_columns(which: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInput, match="normalise: "):
        payerkit.read_payers(pd.DataFrame([ROW]), normalise=which)


@pytest.mark.parametrize("value", [None, float("nan"), 5, True, pd.Timestamp("1985-12-31"), b"USA", ["USA"], "", " "])
def test_what_is_no_text_is_left_alone(value: Any) -> None:
    """Cells of a DataFrame that hold anything else are not read."""
    frame = pd.DataFrame({name: pd.Series([value], dtype="object") for name in ROW})

    assert {} == readings_of(frame)


@pytest.mark.parametrize(
    ("column", "before", "after", "expected"),
    [
        ("country", "USA", "US", ("USA", "US")),
        ("bank_state", "New York", "NY", ("New York", "NY")),
        ("currency", "€", "EUR", ("€", "EUR")),
        ("rails", "ACH", "local", ("ACH", "local")),
        ("bank_beneficiary_type", "Firma", "business", ("Firma", "business")),
        ("swift_bic", "DEUT DE FF", "DEUTDEFF", ("DEUT DE FF", "DEUTDEFF")),
        ("phone", "(212) 555-1234", "+12125551234", (MASK, MASK)),
        ("bank_date_of_birth", "31.12.1985", "1985-12-31", (MASK, MASK)),
        ("email", "<a@example.com>", "a@example.com", (MASK, MASK)),
        ("postcode", "2138", "02138", (MASK, MASK)),
        ("iban", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000", (f"{MASK}0 00", f"{MASK}3000")),
        ("routing_number", "21000021", "021000021", (f"{MASK}0021", f"{MASK}0021")),
        ("address_line2", "N/A", None, ("N/A", "")),
        ("bank_address_line2", "-", None, ("-", "")),
        ("holder_is_payer", "ja", "yes", ("ja", "yes")),
    ],
)
def test_changes_are_shown_masked(column: str, before: str, after: str | None, expected: tuple[str, str]) -> None:
    """Codes and placeholders are shown; what is personal is masked."""
    assert expected == shown_change(column, before, after)


@pytest.mark.parametrize(
    ("column", "after", "expected"),
    [
        ("country", "DE", "DE"),
        ("bank_date_of_birth", "1985-12-31", "it as YYYY-MM-DD"),
        ("phone", "+12125551234", "it with + and the country code"),
        ("address_line2", None, ""),
    ],
)
def test_hints(column: str, after: str | None, expected: str) -> None:
    """A finding says what a cell would become; nothing of one that would be cleared."""
    assert expected == reading_in_words(column, after)


def test_no_hint_shows_what_is_masked() -> None:
    """Whatever is personal or secret has words of its own."""
    fields = {**PAYER.fields, **BANK_DETAILS.fields}
    read_fields = {"email", "phone", "date_of_birth", "postcode", "postal_code", "iban", "routing_number"}

    assert all(fields[name].masking for name in read_fields)
    assert [] == [name for name in read_fields if "secret value" in reading_in_words(name, "secret value")]


def test_aliases_mean_something_once() -> None:
    """No alias stands twice, and none is what the tables of countries know better."""
    table = list(table_rows("payerkit.checks", "aliases"))
    keys = [(row["kind"], fold(row["alias"]), row["code"]) for row in table]

    assert len(keys) == len(set(keys))


def test_names_of_countries_mean_one() -> None:
    """Each name in another language is read as its country."""
    table = list(table_rows("payerkit.checks", "country_names"))

    assert [] == [row["name"] for row in table if country_code(row["name"]) != row["code"]]
