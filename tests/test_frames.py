"""Frames: stable columns, text as text, numbers masked, keys that compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from payerkit.endpoints import payment_details_frame
from payerkit.frames import columns
from payerkit.wire import our_name
from published import ANSWERS

SECRET = b"a secret of tests"
RECORD: dict[str, Any] = ANSWERS["list_payment_details"]["paymentDetails"][0]
COLUMNS = [
    *columns("id user_id bank_name account_name beneficiary_type account_number routing_number"),
    *columns("currency status rails account_key"),
]


def frame(*records: dict[str, Any], reveal: bool = False) -> pd.DataFrame:
    """Return the frame of some records."""
    return payment_details_frame(records, secret=SECRET, reveal=reveal)


def row(made: pd.DataFrame, place: int = 0) -> dict[str, Any]:
    """Return a row by its names."""
    return {str(name): value for name, value in made.iloc[place].items()}


@pytest.mark.parametrize("records", [[], [RECORD], [RECORD, {}]], ids=["none", "one", "an empty one"])
def test_columns_always_stand(records: list[dict[str, Any]]) -> None:
    """The listed columns are there in their order, also without records."""
    made = frame(*records)

    assert (COLUMNS, len(records)) == (list(made.columns), len(made))
    assert {"string"} == {str(dtype) for dtype in made.dtypes}


def test_what_tells_about_a_person_is_masked_unless_revealed() -> None:
    """Numbers show their end, and some services return birth dates and addresses; a notebook saves none of them."""
    private = {"dateOfBirth": "1985-12-12", "addressLine1": "24 Theatre St.", "postalCode": "90723"}
    record = RECORD | private | {"city": "Paramount"}
    names = ["account_number", "routing_number", "date_of_birth", "address_line1", "postal_code", "city"]
    masked, revealed = ([row(frame(record, reveal=each))[name] for name in names] for each in (False, True))

    assert ["••••3489", "••••3356", "••••", "••••", "••••", "Paramount"] == masked
    assert ["253009233489", "026013356", *private.values(), "Paramount"] == revealed  # the leading zero, too


@pytest.mark.parametrize("spell", [our_name, str.upper, str], ids=["snake", "upper", "wire"])
def test_other_spellings_are_the_same_fields(spell: Callable[[str], str]) -> None:
    """A service that spells its fields differently fills the same columns, masked, with the same key."""
    names = ["iban", "accountNumber", "id"] if spell is not str.upper else ["iban", "id"]
    record = {spell(name): "DE89370400440532013000" for name in names}
    made = frame(record)

    assert (1, "••••3000") == (len(made), row(made)["iban"])
    assert row(made)["account_key"] == row(frame({"iban": "DE89370400440532013000"}))["account_key"]


def test_people_show_initials() -> None:
    """The holder of an account is shown if it is a business; of a person, the initials; both on demand."""
    person = RECORD | {"accountName": "Jane Smith", "beneficiaryType": "individual"}
    made, revealed = frame(RECORD, person), frame(RECORD, person, reveal=True)

    assert ["Gordon's Chase Business Account", "J•••• S••••"] == made["account_name"].to_list()
    assert revealed["account_name"].to_list()[1] == "Jane Smith"


def test_unknown_fields_are_kept() -> None:
    """Fields that the specification does not have follow those that it has, as received."""
    made = frame(RECORD | {"newThing": {"iban": "DE89370400440532013000", "a": 1}}, RECORD | {"other": 7})

    assert ["new_thing", "other"] == list(made.columns[len(COLUMNS) :])
    assert ({"iban": "••••3000", "a": 1}, 7) == (row(made)["new_thing"], row(made, 1)["other"])


def test_numbers_instead_of_text_stay_numbers() -> None:
    """A number in a response stays a number: a conversion would be a guess."""
    made = frame(RECORD | {"id": 26013356}, RECORD)

    assert [26013356, RECORD["id"]] == made["id"].to_list()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (RECORD, RECORD | {"id": "another", "status": "failed"}, True),  # the same account, stored twice
        ({"iban": "DE89 3704 0044 0532 0130 00"}, {"iban": "de89370400440532013000"}, True),  # as people write it
        ({"accountNumber": "123", "sortCode": "20-00-00"}, {"accountNumber": "123", "sortCode": "200000"}, True),
        (RECORD, RECORD | {"routingNumber": "026009593"}, False),  # the same number at another bank
        ({"accountNumber": "12345678", "bankName": "A"}, {"accountNumber": "12345678", "bankName": "B"}, False),
        ({"accountNumber": "0123"}, {"accountNumber": "123"}, False),  # a leading zero counts
    ],
)
def test_keys_are_equal_where_the_account_is(one: dict[str, Any], other: dict[str, Any], is_same: bool) -> None:
    """Rows of one account can be grouped and joined while the number is masked; those of two never share a key."""
    assert (1 if is_same else 2) == len(set(frame(one, other)["account_key"]))


def test_keys_need_the_secret() -> None:
    """Nobody can try all account numbers against a key without the secret; no number has no key."""
    other = payment_details_frame([RECORD, {}], secret=b"another secret")

    assert row(other)["account_key"] != row(frame(RECORD))["account_key"]
    assert row(other, 1)["account_key"] is pd.NA


VALUES = st.none() | st.text() | st.integers() | st.booleans() | st.lists(st.text(), max_size=2)


@given(st.lists(st.dictionaries(st.sampled_from([*RECORD, "x", "dateOfBirth"]), VALUES), max_size=4))
def test_every_list_becomes_a_frame(records: list[dict[str, Any]]) -> None:
    """Whatever the records hold, there is a row each and nothing fails."""
    assert len(records) == len(frame(*records))
