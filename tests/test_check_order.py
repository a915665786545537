"""`check_payment_order`: what can be said about an order before it is sent."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from cases import table
from example_payments import read
from payerkit import InvalidInput, PaymentOrder
from payerkit.payment import check_payment_order
from published import ORDER, PUBLISHED

PAYEE = ORDER["payee"]
TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"


def codes(order: dict[str, Any], **options: Any) -> list[tuple[str, str, str]]:
    """Return severity, field and code of the findings about the published order with some changes."""
    return [(item.severity, item.field, item.code) for item in check_payment_order({**ORDER, **order}, **options)]


@pytest.mark.parametrize("name", PUBLISHED["orders"])
def test_published_orders_are_right(name: str) -> None:
    """The published examples have no finding at all, wherever they are sent."""
    order = PUBLISHED["orders"][name]

    assert () == check_payment_order(order) == check_payment_order(PaymentOrder.of(order, {}), environment="sandbox")


@table("checked_orders", read)
def test_orders_are_judged(changes: dict[str, Any], options: dict[str, Any], findings: list[str], words: str) -> None:
    """Payee, amount and currencies are right, or told before anything is sent; the claims stand above their rows."""
    found = check_payment_order(ORDER | changes, **options)

    assert findings == [f"{each.severity} {each.field} {each.code}" for each in found]
    assert words in str(found)


@pytest.mark.parametrize("payee", ["vitalik.eth", "ab" * 32, PAYEE[:-2], TRON])
def test_what_was_typed_is_not_repeated(payee: str) -> None:
    """It may be a private key."""
    assert payee not in str(check_payment_order({**ORDER, "payee": payee}))


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


def test_a_missing_field_is_found_as_in_any_record() -> None:
    """What the specification refuses is found, too, and nothing is said twice about a field."""
    found = check_payment_order({"payee": 5, "amount": 1.5, "invoice_currency": "USD", "payment_curency": "USDC-base"})

    assert ["not_text", "not_text", "required", "unknown_member"] == [each.code for each in found]


@pytest.mark.parametrize("order", [None, 5, "order", pd.DataFrame([ORDER]), object()])
def test_what_is_no_order(order: object) -> None:
    """Anything but an order is refused with what was expected."""
    with pytest.raises(InvalidInput, match="PaymentOrder"):
        check_payment_order(order)


def test_a_policy_is_a_policy() -> None:
    """Anything but a policy is refused, before a word about the order."""
    with pytest.raises(InvalidInput, match="policy: give a PaymentPolicy"):
        check_payment_order(ORDER, policy={})  # type: ignore[arg-type]
