"""Matching: what a listed account tells about being the one that a row asks for."""

from __future__ import annotations

from typing import Any

import pytest

from payerkit.bulk.matching import Grade, compare, is_dead
from payerkit.explanations import statuses

US = {
    "bank_name": "Chase",
    "account_name": "Mei Lu",
    "currency": "usd",
    "account_number": "253009233489",
    "routing_number": "026013356",
}
IBAN = "DE89370400440532013000"
EU = {"bank_name": "Example Bank", "currency": "EUR", "iban": IBAN, "swift_bic": "DEUTDEFFXXX"}
LISTED_US = {
    "id": "pd-1",
    "bankName": "Chase",
    "accountName": "Mei Lu",
    "currency": "usd",
    "accountNumber": "253009233489",
    "routingNumber": "026013356",
    "rails": "local",
}
LISTED_EU = {"id": "pd-2", "bankName": "Example Bank", "currency": "EUR", "iban": IBAN, "swiftBic": "DEUTDEFF"}

SAME, NUMBER, PERHAPS, OTHER = Grade.SAME, Grade.NUMBER, Grade.PERHAPS, Grade.OTHER

CASES: list[tuple[str, dict[str, str], dict[str, Any], Grade]] = [
    ("as it was sent", US, LISTED_US, SAME),
    ("an IBAN", EU, LISTED_EU, SAME),
    ("our names", US, {"account_number": "253009233489", "routing_number": "026013356", "currency": "usd"}, SAME),
    ("other case, blanks and hyphens", US, LISTED_US | {"currency": "USD", "accountNumber": "2530-0923 3489"}, SAME),
    ("numbers as numbers", US, LISTED_US | {"accountNumber": 253009233489}, SAME),
    ("an IBAN in the place of the account number", EU, LISTED_EU | {"iban": None, "accountNumber": IBAN}, SAME),
    ("a code that the IBAN implies", {"currency": "EUR", "iban": IBAN}, LISTED_EU, SAME),
    # the number is equal, and the list does not show the rest
    ("no routing number", US, LISTED_US | {"routingNumber": None}, NUMBER),
    ("a masked routing number", US, LISTED_US | {"routingNumber": "*****3356"}, NUMBER),
    ("a routing number that lost its zero", US, LISTED_US | {"routingNumber": 26013356}, NUMBER),
    ("no currency", US, LISTED_US | {"currency": ""}, NUMBER),
    ("a currency in words", US, LISTED_US | {"currency": "US dollar"}, NUMBER),
    ("a code that was not sent", US, LISTED_US | {"swiftBic": "CHASUS33"}, NUMBER),
    # nothing rules it out
    ("no number", US, LISTED_US | {"accountNumber": None}, PERHAPS),
    ("no IBAN, as specified", EU, {"id": "pd-2", "bankName": "Example Bank", "currency": "EUR"}, PERHAPS),
    ("nothing but an id", US, {"id": "pd-1"}, PERHAPS),
    ("the end of the number", US, LISTED_US | {"accountNumber": "••••3489"}, PERHAPS),
    ("the end of the number, without a mask", US, LISTED_US | {"accountNumber": "3489"}, PERHAPS),
    ("six of its digits", US, LISTED_US | {"accountNumber": "**233489"}, PERHAPS),
    ("a mask with hyphens", US, LISTED_US | {"accountNumber": "XXXX-XXXX-3489"}, PERHAPS),
    ("both ends", EU, LISTED_EU | {"iban": "DE89 **** **** 3000"}, PERHAPS),
    ("nothing of the number", US, LISTED_US | {"accountNumber": "•••••••"}, PERHAPS),
    ("a token in its place", US, LISTED_US | {"accountNumber": "tok_8f2a"}, PERHAPS),
    ("an account number where an IBAN was sent", EU, LISTED_EU | {"iban": None, "accountNumber": "0532013"}, PERHAPS),
    ("the holder's name alone", US, {"id": "pd-1", "accountName": "Mei Lu"}, PERHAPS),
    ("zeros in front", US, LISTED_US | {"accountNumber": "0253009233489"}, PERHAPS),
    # something differs
    ("another number", US, LISTED_US | {"accountNumber": "253009233488"}, OTHER),
    ("another IBAN", EU, LISTED_EU | {"iban": "DE75512108001245126199"}, OTHER),
    ("another currency", US, LISTED_US | {"currency": "cad"}, OTHER),
    ("another routing number", US, LISTED_US | {"routingNumber": "021000021"}, OTHER),
    ("other rails", US, LISTED_US | {"rails": "wire"}, OTHER),
    ("a mask that contradicts", US, LISTED_US | {"accountNumber": "••••3488"}, OTHER),
    ("a mask that contradicts in front", EU, LISTED_EU | {"iban": "FR89****3000"}, OTHER),
    ("a masked code that contradicts", US, LISTED_US | {"routingNumber": "*****0021"}, OTHER),
    ("no number, but another currency", US, {"id": "pd-1", "currency": "EUR"}, OTHER),
]


@pytest.mark.parametrize(("values", "record", "grade"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_listed_account_is_compared_by_what_it_shows(
    values: dict[str, str], record: dict[str, Any], grade: Grade
) -> None:
    """A mask or a missing field never confirms an account, and a field that differs rules it out."""
    assert grade == compare(values, record).grade


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
def test_names_are_told_and_rule_nothing_out(changes: dict[str, Any], differs: tuple[str, ...]) -> None:
    """Neither bank nor holder makes it another account."""
    match = compare(US, LISTED_US | changes)

    assert (SAME, differs) == (match.grade, match.differs)


@pytest.mark.parametrize("status", ["failed", "rejected", "deactivated", "Failed"])
def test_a_dead_account_cannot_be_paid(status: str) -> None:
    """These statuses are final and bad; `explain` knows each of them."""
    assert is_dead({"id": "pd-1", "status": status})
    assert status.lower() in set(statuses()["status"])


@pytest.mark.parametrize("status", ["approved", "pending", "initiated", None, "", "another"])
def test_any_other_account_is_alive(status: str | None) -> None:
    """Also one without a status, or with one that nobody documents."""
    assert not is_dead({"id": "pd-1", "status": status})
