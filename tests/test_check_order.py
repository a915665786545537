"""`check_payment_order`: what can be said about an order before it is sent."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from cases import table
from example_payments import read
from payerkit import InvalidInput, PaymentOrder
from payerkit.payments import check_payment_order
from published import ORDER, PUBLISHED

PAYEE = ORDER["payee"]
TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"


@pytest.mark.parametrize("name", PUBLISHED["orders"])
def test_published_orders_are_right(name: str) -> None:
    """The published examples have no finding at all, wherever they are sent."""
    order = PUBLISHED["orders"][name]

    assert (
        ()
        == check_payment_order(order)
        == check_payment_order(PaymentOrder.of(order, {}), environment="sandbox")
    )


@table("checked_orders", read)
def test_orders_are_judged(
    changes: dict[str, Any], options: dict[str, Any], findings: list[str], words: str
) -> None:
    """Payee, amount and currencies are right, or told before anything is sent; the
    claims stand above their rows.
    """
    found = check_payment_order(ORDER | changes, **options)

    assert findings == [f"{each.severity} {each.field} {each.code}" for each in found]
    assert words in str(found)


@pytest.mark.parametrize("payee", ["vitalik.eth", "ab" * 32, PAYEE[:-2], TRON])
def test_what_was_typed_is_not_repeated(payee: str) -> None:
    """It may be a private key."""
    assert payee not in str(check_payment_order({**ORDER, "payee": payee}))


def test_an_amount_may_be_a_decimal() -> None:
    """It is written as text."""
    assert () == check_payment_order({**ORDER, "amount": Decimal("10.5")})


def test_a_missing_field_is_found_as_in_any_record() -> None:
    """What the specification refuses is found, too, and nothing is said twice about a
    field.
    """
    found = check_payment_order(
        {
            "payee": 5,
            "amount": 1.5,
            "invoice_currency": "USD",
            "payment_curency": "USDC-base",
        }
    )

    assert ["not_text", "not_text", "required", "unknown_member"] == [
        each.code for each in found
    ]


@pytest.mark.parametrize("order", [None, 5, "order", pd.DataFrame([ORDER]), object()])
def test_what_is_no_order(order: object) -> None:
    """Anything but an order is refused with what was expected."""
    with pytest.raises(InvalidInput, match="PaymentOrder"):
        check_payment_order(order)


def test_a_policy_is_a_policy() -> None:
    """Anything but a policy is refused, before a word about the order."""
    with pytest.raises(InvalidInput, match="policy: give a PaymentPolicy"):
        check_payment_order(ORDER, policy={})  # type: ignore[arg-type]
