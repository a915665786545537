"""`check_payment_order`: what can be said about an order before it is sent."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from cases import table
from payerkit import InvalidInput, PaymentOrder, PaymentPolicy
from payerkit.onchain.currencies import is_payable, token_list
from payerkit.payment import check_payment_order
from payerkit.policy import AddressBook
from published import ORDER, PUBLISHED

PAYEE = ORDER["payee"]
UNSUPPORTED = ("warning", "payment_currency", "network_unsupported")
UNKNOWN = ("warning", "payment_currency", "currency_unknown")
TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"


def codes(order: dict[str, Any], **options: Any) -> list[tuple[str, str, str]]:
    """Return severity, field and code of the findings about the published order with some changes."""
    return [(item.severity, item.field, item.code) for item in check_payment_order({**ORDER, **order}, **options)]


@pytest.mark.parametrize("name", PUBLISHED["orders"])
def test_published_orders_are_right(name: str) -> None:
    """The published examples have no finding at all, wherever they are sent."""
    order = PUBLISHED["orders"][name]

    assert () == check_payment_order(order) == check_payment_order(PaymentOrder.of(order, {}), environment="sandbox")


@table("order_payees")
def test_payees_that_nobody_can_be(payee: str, code: str, words: str) -> None:
    """What is no wallet is an error that says what it is, and does not repeat what was typed."""
    (finding,) = check_payment_order({**ORDER, "payee": payee})

    assert ("error", "payee", code) == (finding.severity, finding.field, finding.code)
    assert words in str(finding)
    assert not payee or payee not in str(finding)


@pytest.mark.parametrize("payee", [PAYEE.lower(), f"0x{PAYEE[2:].upper()}", f" {PAYEE}"])
def test_an_address_without_a_checksum_is_taken(payee: str) -> None:
    """In one case, an address has no checksum to check; blanks around it are a finding of their own."""
    assert {"payee_form", "payee_checksum"}.isdisjoint(code for _, _, code in codes({"payee": payee}))


@pytest.mark.parametrize(
    ("payee", "currency", "expected"),
    [
        (TRON, "USDT-tron", [UNSUPPORTED]),
        (PAYEE, "USDT-tron", [("error", "payee", "payee_form"), UNSUPPORTED]),
        ("example.near", "NEAR-near", [UNKNOWN]),  # perhaps right there
        ("vitalik.eth", "NEAR-near", [("error", "payee", "payee_name"), UNKNOWN]),
    ],
)
def test_other_networks_have_other_addresses(payee: str, currency: str, expected: list[tuple[str, str, str]]) -> None:
    """An address is measured against the network of the payment currency, as far as payerkit knows it."""
    assert expected == codes({"payee": payee, "paymentCurrency": currency})


@table("order_amounts")
def test_amounts_that_are_none(amount: str, severity: str, code: str, words: str) -> None:
    """An amount is a positive, plain decimal number with no more decimals than its currency."""
    found = [each for each in check_payment_order({**ORDER, "amount": amount}) if each.code != "spreadsheet_number"]

    assert [(severity, "amount", code)] == [(each.severity, each.field, each.code) for each in found]
    assert words in str(found[0])


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        ("10.50", "USD"),
        ("10.5000", "USD"),  # idle zeros
        ("10.500", "USDC-base"),  # tokens have more decimals
        (10, "USD"),
        (Decimal("10.5"), "USD"),
        ("0.000001", "USDC-base"),
        ("1000", "JPY"),
        ("10.123", "XYZ"),  # of an unknown currency nobody knows the decimals
    ],
)
def test_amounts_that_are_right(amount: Any, currency: str) -> None:
    """Amounts in the form that the API takes have no finding."""
    assert [] == [each for each in codes({"amount": amount, "invoiceCurrency": currency}) if each[1] == "amount"]


@pytest.mark.parametrize(
    ("changes", "expected", "words"),
    [
        ({"paymentCurrency": "USD"}, ("error", "payment_currency", "fiat_pays"), "only a coin or a token can pay"),
        ({"paymentCurrency": "usdc"}, ("warning", "payment_currency", "currency_unknown"), "USDC-mainnet, USDCn-matic"),
        ({"paymentCurrency": "usdc polygon"}, ("warning", "payment_currency", "currency_unknown"), "mean USDCn-matic?"),
        ({"paymentCurrency": "ABC"}, ("warning", "payment_currency", "currency_unknown"), "currencies()"),
        ({"paymentCurrency": "ABC-base"}, ("info", "payment_currency", "currency_unlisted"), "the network, base"),
        ({"paymentCurrency": ""}, ("error", "payment_currency", "empty"), "Empty"),
        ({"invoiceCurrency": "US Dollar"}, ("warning", "invoice_currency", "currency_unknown"), "mean USD?"),
        (
            {"invoiceCurrency": "EUR", "paymentCurrency": "fUSDC-sepolia"},
            ("info", "payment_currency", "peg_differs"),
            "stands for USD, but the invoice is in EUR",
        ),
    ],
)
def test_currencies(changes: dict[str, str], expected: tuple[str, str, str], words: str) -> None:
    """A currency must be one of the token list; a fiat currency cannot pay, and a peg to another one is told."""
    (finding,) = check_payment_order({**ORDER, **changes})

    assert expected == (finding.severity, finding.field, finding.code)
    assert words in str(finding)


def test_a_token_without_a_payment_contract() -> None:
    """A token of a network where nothing can pay it is told before the service refuses it."""
    token = next(each for each in token_list().values() if each.kind == "erc20" and not is_payable(each))

    assert [("warning", "payment_currency", "not_payable")] == codes({"paymentCurrency": token.id})


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("sandbox", [("warning", "payment_currency", "real_money")]),
        ("staging", [("warning", "payment_currency", "real_money")]),
        ("live", []),  # there, money is meant to move
        (None, []),  # not said
    ],
)
def test_real_money(environment: str | None, expected: list[tuple[str, str, str]]) -> None:
    """Outside of a live service, a token that is worth something is told."""
    assert expected == codes({"paymentCurrency": "USDC-base"}, environment=environment)


@pytest.mark.parametrize(
    ("payee", "expected"),
    [
        (PAYEE, []),
        ("0x692300000000000000000000000000000000C7D7", [("error", "payee", "payee_lookalike")]),
        ("0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5", [("warning", "payee", "payee_new")]),
        ("0x0000000000000000000000000000000000123456", [("warning", "payee", "payee_new")]),  # known elsewhere
    ],
)
def test_the_address_book_of_a_policy(payee: str, expected: list[tuple[str, str, str]]) -> None:
    """With an address book, a new payee is told, and one who only looks like a known one is an error."""
    book = AddressBook.read(
        pd.DataFrame(
            [(PAYEE, "Example Payee", 11155111), ("0x0000000000000000000000000000000000123456", "Elsewhere", 1)],
            columns=["address", "name", "chainId"],
        )
    )

    assert expected == codes({"payee": payee}, policy=PaymentPolicy(addresses=book))


IDS = [
    ("a Cyrillic letter", {"paymentCurrency": "US\u0421-sepolia"}, ("error", "payment_currency", "currency_form")),
    ("a full-width letter", {"invoiceCurrency": "\uff35SD"}, ("error", "invoice_currency", "currency_form")),
    ("the Turkish dotless i", {"invoiceCurrency": "\u0131NR"}, ("error", "invoice_currency", "currency_form")),
    ("the Kelvin sign", {"invoiceCurrency": "\u212aES"}, ("error", "invoice_currency", "currency_form")),
    ("an invisible character", {"invoiceCurrency": "US\u200bD"}, ("error", "invoice_currency", "currency_form")),
]


@pytest.mark.parametrize(("changes", "expected"), [row[1:] for row in IDS], ids=[row[0] for row in IDS])
def test_a_currency_id_is_ascii(changes: dict[str, str], expected: tuple[str, str, str]) -> None:
    """What only looks like an id is not sent: the payment would be stopped."""
    assert expected in codes(changes)


def test_an_id_of_newer_documents_is_known() -> None:
    """The published example of a payout needs no policy."""
    assert [] == codes({"paymentCurrency": "USDC-sepolia"}, environment="sandbox")


def test_a_missing_field_is_found_as_in_any_record() -> None:
    """What the specification refuses is found, too, and nothing is said twice about a field."""
    found = check_payment_order({"payee": 5, "amount": 1.5, "invoice_currency": "USD", "payment_curency": "USDC-base"})

    assert ["not_text", "not_text", "required", "unknown_member"] == [each.code for each in found]


def test_codes_can_be_ignored() -> None:
    """`ignore` leaves out warnings and infos, one or several, and takes no error."""
    changes = {"invoiceCurrency": "EUR", "paymentCurrency": "USDC-base"}

    assert [] == codes(changes, ignore=["peg_differs", "real_money"], environment="sandbox")
    assert [] == codes({"paymentCurrency": "ABC"}, ignore="currency_unknown")
    with pytest.raises(InvalidInput, match="ignore: not the code of a warning or info: 'amount_form'"):
        codes({}, ignore="amount_form")


@pytest.mark.parametrize("order", [None, 5, "order", pd.DataFrame([ORDER]), object()])
def test_what_is_no_order(order: object) -> None:
    """Anything but an order is refused with what was expected."""
    with pytest.raises(InvalidInput, match="PaymentOrder"):
        check_payment_order(order)


def test_a_policy_is_a_policy() -> None:
    """Anything but a policy is refused, before a word about the order."""
    with pytest.raises(InvalidInput, match="policy: give a PaymentPolicy"):
        check_payment_order(ORDER, policy={})  # type: ignore[arg-type]
