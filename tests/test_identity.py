"""Identity: which rows are one payer or one account."""

from __future__ import annotations

import pytest

from payerkit.checks.schema import BANK_DETAILS
from payerkit.onboarding.accounts import ACCOUNT_FIELDS, account_identity, id_form, normal_form

IBAN = "DE89370400440532013000"


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("iban", IBAN, "DE89 3704 0044 0532 0130 00"),  # printed form
        ("iban", IBAN, IBAN.lower()),
        ("iban", IBAN, "ＤＥ89370400440532013000"),  # noqa: RUF001 - full-width letters, as of a Japanese keyboard
        ("iban", IBAN, f"{IBAN[:4]}\u00a0{IBAN[4:]}\u200b"),  # blanks of web pages
        ("sort_code", "20-00-00", "200000"),
        ("bsb_number", "062\u2013000", "062000"),  # a dash in place of a hyphen
        ("currency", "usd", "USD"),
        ("rails", "", "local"),
        ("rails", "SWIFT", "swift"),
        ("swift_bic", "DEUTDEFFXXX", "deutdeff"),
    ],
)
def test_two_ways_to_write_one_value_are_one(name: str, one: str, other: str) -> None:
    """Such rows are one account."""
    assert normal_form(name, one) == normal_form(name, other)
    assert account_identity({name: one}) == account_identity({name: other})


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("account_number", "007", "7"),  # leading zeros count
        ("account_number", "12345678", ""),
        ("rails", "", "wire"),
        ("swift_bic", "DEUTDEFF", "DEUTDEFF500"),  # a branch
        ("currency", "usd", "cad"),
    ],
)
def test_different_values_stay_different(name: str, one: str, other: str) -> None:
    """Such rows are two accounts."""
    assert account_identity({name: one}) != account_identity({name: other})


def test_other_fields_do_not_make_another_account() -> None:
    """Neither the bank's name nor the holder's."""
    others = BANK_DETAILS.fields.keys() - set(ACCOUNT_FIELDS)

    assert {"bank_name", "account_name", "document_number"} <= others
    assert account_identity({"iban": IBAN}) == account_identity({"iban": IBAN} | dict.fromkeys(others, "x"))


def test_near_duplicates_of_an_id_have_one_form() -> None:
    """Blanks, case and the Unicode form do not count; everything else does."""
    assert id_form("Müller 1") == id_form(" mu\u0308ller1 ")
    assert id_form("user-1") != id_form("user1")
