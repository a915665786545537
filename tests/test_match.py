"""Accounts: what makes two the same one, and what a list tells about the one that a row
asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import table
from onboarding_model import Record, identity_of, specified
from payerkit.models.fields import fields_of
from payerkit.models.requests import BankDetails
from payerkit.reference import statuses
from payerkit.runs.match import (
    ACCOUNT_FIELDS,
    Grade,
    account_identity,
    compare,
    differing_names,
    id_form,
    is_dead,
    normal_form,
)
from payerkit.wire import wire_name

Row = dict[str, str]

US = {
    "bank_name": "Chase",
    "account_name": "Mei Lu",
    "currency": "usd",
    "account_number": "253009233489",
    "routing_number": "026013356",
}
IBAN = "DE89370400440532013000"
EU = {
    "bank_name": "Example Bank",
    "currency": "EUR",
    "iban": IBAN,
    "swift_bic": "DEUTDEFFXXX",
}
LISTED_US = {
    "id": "pd-1",
    "bankName": "Chase",
    "accountName": "Mei Lu",
    "currency": "usd",
    "accountNumber": "253009233489",
    "routingNumber": "026013356",
    "rails": "local",
}
LISTED_EU = {
    "id": "pd-2",
    "bankName": "Example Bank",
    "currency": "EUR",
    "iban": IBAN,
    "swiftBic": "DEUTDEFF",
}

ROWS: dict[Any, Row] = {"US": US, "EU": EU}
LISTED: dict[Any, Record] = {"US": LISTED_US, "EU": LISTED_EU, None: {}}


@table("account_values")
def test_a_value_may_be_written_in_several_ways(
    name: str, one: str, other: str, is_same: bool
) -> None:
    """Rows with two such values are one account; others are two."""
    assert is_same == (normal_form(name, one) == normal_form(name, other))
    assert is_same == (account_identity({name: one}) == account_identity({name: other}))


def test_an_iban_says_which_account_it_is() -> None:
    """With or without a SWIFT code or the number that is in it: whoever adds one has
    the same account.
    """
    besides = {
        "swift_bic": "DEUTDEFF",
        "account_number": "0532013000",
        "bank_code": "37040044",
    }

    assert account_identity({"iban": IBAN}) == account_identity(
        {"iban": IBAN} | besides
    )
    assert account_identity({"iban": IBAN}) != account_identity(
        {"iban": IBAN, "rails": "swift"}
    )


def test_other_fields_do_not_make_another_account() -> None:
    """Neither the bank's name nor the holder's."""
    others = fields_of(BankDetails).keys() - set(ACCOUNT_FIELDS)

    assert {"bank_name", "account_name", "document_number"} <= others
    assert account_identity({"iban": IBAN}) == account_identity(
        {"iban": IBAN} | dict.fromkeys(others, "x")
    )


def test_near_duplicates_of_an_id_have_one_form() -> None:
    """Blanks, case and the Unicode form do not count; everything else does."""
    assert id_form("Müller 1") == id_form(" mu\u0308ller1 ")
    assert id_form("user-1") != id_form("user1")


@table("listed_accounts")
def test_a_listed_account_is_compared_by_what_it_shows(
    row: Any, listed: Any, changes: Record, grade: str
) -> None:
    """A mask or a missing field never confirms an account; another number or currency
    alone rules it out.
    """
    values = row if isinstance(row, dict) else ROWS[row]

    assert grade == compare(values, LISTED[listed] | changes).value


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, ()),
        ({"bankName": "CHASE ", "accountName": "mei  lu"}, ()),
        ({"bankName": "Chase Manhattan"}, ("bank_name",)),
        ({"accountName": "Xu"}, ("account_name",)),
        ({"accountName": "M•• L•"}, ()),  # masked
        ({"accountName": None, "bankName": ""}, ()),  # not shown
    ],
)
def test_names_are_told_and_rule_nothing_out(
    changes: dict[str, Any], differs: tuple[str, ...]
) -> None:
    """Neither bank nor holder makes it another account."""
    record = LISTED_US | changes

    assert (Grade.SAME, [*differs]) == (
        compare(US, record),
        differing_names(US, record),
    )


@pytest.mark.parametrize("status", ["failed", "rejected", "deactivated", "Failed"])
def test_a_dead_account_cannot_be_paid(status: str) -> None:
    """These statuses are final and bad; `explain` knows each of them."""
    assert is_dead({"id": "pd-1", "status": status})
    assert status.lower() in set(statuses()["status"])


# In whatever way a list shows accounts, it confirms no other one, and rules out none
# that is there


def shown_as(change: Callable[[str], Any], *names: str) -> Callable[[Record], Record]:
    """Return a list that shows some fields in another form."""
    return lambda record: {
        name: change(value) if name in names else value
        for name, value in record.items()
    }


def without(*names: str) -> Callable[[Record], Record]:
    """Return a list that leaves out some fields."""
    return lambda record: {
        name: value for name, value in record.items() if name not in names
    }


NUMBERS = ("accountNumber", "iban")
LISTS: dict[str, Callable[[Record], Record]] = {
    "whole": dict,
    "specified": specified,
    "the end behind dots": shown_as(lambda text: f"••••{text[-4:]}", *NUMBERS),
    "the end behind X": shown_as(
        lambda text: "X" * (len(text) - 4) + text[-4:], *NUMBERS
    ),
    "the end alone": shown_as(lambda text: text[-4:], *NUMBERS),
    "both ends": shown_as(lambda text: f"{text[:2]}**{text[-2:]}", *NUMBERS),
    "masked groups": shown_as(lambda text: f"XXXX-XXXX-{text[-4:]}", *NUMBERS),
    "nothing of the numbers": shown_as(lambda _: "••••", *NUMBERS),
    "groups of four": shown_as(
        lambda text: " ".join(text[at : at + 4] for at in range(0, len(text), 4)),
        *NUMBERS,
        "routingNumber",
    ),
    "other case": shown_as(str.swapcase, *NUMBERS, "currency", "swiftBic", "rails"),
    "as a number": shown_as(
        lambda text: int(text) if text.isdecimal() else text, *NUMBERS, "routingNumber"
    ),
    "null for codes": shown_as(lambda _: None, "routingNumber", "sortCode", "swiftBic"),
    "no codes": without("routingNumber", "sortCode", "swiftBic"),
    "no numbers": without(*NUMBERS),
    "no currency": without("currency"),
    "the name alone": lambda record: {
        "id": record["id"],
        "accountName": record["accountName"],
    },
}

digits = st.sampled_from(
    ["0012345678", "12345678", "1234567890", "9912345678", "00012345678", "55555678"]
)
accounts = st.fixed_dictionaries(
    {
        "bank_name": st.sampled_from(["Example Bank", "Other Bank"]),
        "account_name": st.just("Example Payee"),
    },
    optional={
        "currency": st.sampled_from(["USD", "usd", "EUR"]),
        "rails": st.sampled_from(["local", "swift", "wire"]),
        "account_number": digits,
        "iban": st.sampled_from(
            [
                "DE89370400440532013000",
                "FR1420041010050500013M02606",
                "DE12500105170012345678",
            ]
        ),
        "routing_number": st.sampled_from(["026013356", "021000021", "000012345"]),
        "sort_code": st.sampled_from(["200000", "20-00-00", "123456"]),
        "swift_bic": st.sampled_from(["COBADEFF", "COBADEFFXXX", "CHASUS33"]),
    },
)


def record_of(row: Row) -> Record:
    """Return the account of a row as a service stores it."""
    own = {wire_name(name): value for name, value in row.items()}
    return own | {"id": "1", "status": "approved"}


def identity(row: Row) -> tuple[str, ...]:
    """Return what makes an account the one that it is, with a SWIFT code of the head
    office as one of eight.
    """
    code = row.get("swift_bic", "")
    short = row | {"swift_bic": code.removesuffix("XXX") if len(code) == 11 else code}
    return identity_of("", {wire_name(name): value for name, value in short.items()})


@given(row=accounts, other=accounts, listed=st.sampled_from(sorted(LISTS)))
def test_only_the_same_account_is_confirmed(row: Row, other: Row, listed: str) -> None:
    """Number, codes, currency and rails of what is confirmed are those that were sent,
    as far as both have them.
    """
    found = compare(row, LISTS[listed](record_of(other)))
    codes = (
        {"currency", "routing_number", "sort_code", "swift_bic"}
        & row.keys()
        & other.keys()
    )
    ours, theirs = ({name: each[name] for name in codes} for each in (row, other))

    if found is Grade.SAME:
        assert identity(ours) == identity(theirs)
        assert any(
            row.get(name, "") == other.get(name) for name in ("account_number", "iban")
        )


@given(row=accounts, listed=st.sampled_from(sorted(LISTS)))
def test_the_same_account_is_never_ruled_out(row: Row, listed: str) -> None:
    """Else it would be stored a second time."""
    found = compare(row, LISTS[listed](record_of(row)))

    assert found is not Grade.OTHER
    if listed == "whole" and {"account_number", "iban"} & {*row} and "currency" in row:
        assert found is Grade.SAME


@given(
    row=accounts,
    listed=st.sampled_from(
        [name for name in sorted(LISTS) if "end" in name or "masked" in name]
    ),
)
def test_a_mask_confirms_nothing(row: Row, listed: str) -> None:
    """Others end in the same digits."""
    assert compare(row, LISTS[listed](record_of(row))) is Grade.PERHAPS
