"""Matching: what a listed account tells about being the one that a row asks for."""

from __future__ import annotations

from typing import Any

import pytest

from payerkit.onboarding.accounts import Grade, compare, is_dead
from payerkit.reference import statuses

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
    # the number is equal, so it is no other account, though something else differs
    ("another routing number", US, LISTED_US | {"routingNumber": "021000021"}, PERHAPS),  # the bank's other one
    ("a masked code that contradicts", US, LISTED_US | {"routingNumber": "*****0021"}, PERHAPS),
    ("the end of a code", US, LISTED_US | {"routingNumber": "3356"}, PERHAPS),
    ("a code in words", US, LISTED_US | {"routingNumber": "ending in 3356"}, PERHAPS),
    ("a code with its name", US, LISTED_US | {"routingNumber": "ABA 026013356"}, PERHAPS),
    ("no code but a word", US, LISTED_US | {"routingNumber": "hidden"}, PERHAPS),
    ("a hash of a code", US, LISTED_US | {"routingNumber": "9f86d081884c7d65"}, PERHAPS),
    ("a code of a branch", EU, LISTED_EU | {"swiftBic": "DEUTDEFF500"}, PERHAPS),
    ("other rails", US, LISTED_US | {"rails": "wire"}, PERHAPS),
    ("another code, and no currency", US, LISTED_US | {"currency": None, "routingNumber": "021000021"}, PERHAPS),
    ("the end of the number, and another code", US, LISTED_US | {"accountNumber": "•••3489", "rails": "wire"}, PERHAPS),
    # the number is written in another way
    ("a number in words", US, LISTED_US | {"accountNumber": "ending in 3489"}, PERHAPS),
    ("zeros for a mask", US, LISTED_US | {"accountNumber": "000000003489"}, PERHAPS),
    ("the beginning of the number", US, LISTED_US | {"accountNumber": "253009"}, PERHAPS),
    ("a number with decimals", US, LISTED_US | {"accountNumber": "253009233489.0"}, PERHAPS),
    ("an IBAN in words", EU, LISTED_EU | {"iban": "ending in 3000"}, PERHAPS),
    ("a word before a mask", EU, LISTED_EU | {"iban": "IBAN ••••3000"}, PERHAPS),
    ("a hash of an IBAN", EU, LISTED_EU | {"iban": "9f86d081884c7d659a2feaa0c55ad015"}, PERHAPS),
    ("the account number of an IBAN", EU, LISTED_EU | {"iban": None, "accountNumber": "532013000"}, PERHAPS),
    (
        "an equal number with another IBAN",
        EU | {"account_number": "532013000"},
        {"accountNumber": "532013000", "iban": "DE75512108001245126199"},
        PERHAPS,
    ),
    # something differs
    ("another number", US, LISTED_US | {"accountNumber": "253009233488"}, OTHER),
    ("another IBAN", EU, LISTED_EU | {"iban": "DE75512108001245126199"}, OTHER),
    ("another currency", US, LISTED_US | {"currency": "cad"}, OTHER),
    ("a mask that contradicts", US, LISTED_US | {"accountNumber": "••••3488"}, OTHER),
    ("a mask that contradicts in front", EU, LISTED_EU | {"iban": "FR89****3000"}, OTHER),
    ("an IBAN that is none", EU, LISTED_EU | {"iban": "DE75512108001245126198"}, PERHAPS),  # its check digits are wrong
    ("no number, and another code", US, LISTED_US | {"accountNumber": None, "routingNumber": "021000021"}, OTHER),
    ("no number, and other rails", US, LISTED_US | {"accountNumber": "•••", "rails": "wire"}, OTHER),
    ("no number, but another currency", US, {"id": "pd-1", "currency": "EUR"}, OTHER),
]


@pytest.mark.parametrize(("values", "record", "grade"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_listed_account_is_compared_by_what_it_shows(
    values: dict[str, str], record: dict[str, Any], grade: Grade
) -> None:
    """A mask or a missing field never confirms an account; another number or currency alone rules it out."""
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
