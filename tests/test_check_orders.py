"""Several orders in one response: each has one payment, each payment has its order, and
nothing else is paid.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from cases import table
from example_addresses import BATCH, DEAD, MAIN_USDC, OTHER, PAYEE
from example_payments import codes, data, read
from payerkit import (
    InvalidInput,
    PaymentOrder,
    PaymentPolicy,
    PayoutOrder,
    check_payment,
    read_payment,
)
from payerkit.findings import PaymentFindings
from payerkit.models import Payment

Paid = tuple[str, int, int]
"""Who is paid, how many USDC, and the byte of which the reference consists."""

ASKED: list[Paid] = [(PAYEE, 10, 1), (OTHER, 20, 2), (PAYEE, 30, 3)]

EVERYBODY = PaymentPolicy(
    batch_fee="0", addresses={PAYEE: "Example Payee", OTHER: "Another"}
)
"""A policy whose address book has everybody who is paid."""


def orders(*asked: Paid, **columns: Any) -> pd.DataFrame:
    """Return orders as a table, with their references."""
    rows = [
        {
            "payee": payee,
            "amount": str(amount),
            "payment_reference": "0x" + bytes([mark] * 8).hex(),
        }
        for payee, amount, mark in asked
    ]
    same = {"invoice_currency": "USDC-mainnet", "payment_currency": "USDC-mainnet"}
    return pd.DataFrame(rows).assign(**(same | columns))


def batch(*paid: Paid) -> Payment:
    """Return a response that approves the total and pays some payees in one batch."""
    details = [
        (payee, amount * 10**6, [MAIN_USDC], bytes([mark] * 8), 0, 0, 0)
        for payee, amount, mark in paid
    ]
    total = sum(amount for _, amount, _ in paid) * 10**6
    transactions = [
        {"to": MAIN_USDC, "data": data("095ea7b3", BATCH, total), "value": "0"},
        {"to": BATCH, "data": data("92cddb91", [(2, details)], [], DEAD), "value": "0"},
    ]
    return Payment.read({"transactions": transactions})


def wrong(found: PaymentFindings) -> list[tuple[str, int | None]]:
    """Return the codes of what is wrong, and of which payment of the batch; the batch's
    own warning is left out.
    """
    return [
        (each.code, each.place)
        for each in (*found.errors, *found.warnings)
        if each.code != "batch"
    ]


@pytest.mark.parametrize("sequence", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_a_batch_that_pays_its_orders_is_in_order(sequence: list[int]) -> None:
    """Orders need not stand in the sequence of the payments."""
    found = check_payment(batch(*ASKED), orders=orders(*ASKED).iloc[sequence])

    assert [] == wrong(found)
    assert {
        "orders_matched",
        "payee_matches",
        "amount_matches",
        "reference_matches",
    } <= codes(found, "info")


def test_a_batch_in_its_published_form_is_compared() -> None:
    """The response to a batch has members of its own in place of `transactions`
    (operator's documentation).
    """
    approval, paying = batch(*ASKED).to_dict(reveal=True)["transactions"]
    response = {
        "ERC20ApprovalTransactions": [approval],
        "batchPaymentTransaction": paying,
    }

    assert [] == wrong(check_payment(read_payment(response), orders=orders(*ASKED)))
    assert "order_unpaid" in codes(
        check_payment(read_payment(response), orders=orders(*ASKED, ASKED[0])), "error"
    )


def test_orders_are_a_table_or_a_list() -> None:
    """By our names or wire names. What people note beside an order in a table is not
    compared.
    """
    wire_names = {
        "payment_reference": "paymentReference",
        "payment_currency": "paymentCurrency",
    }
    renamed = orders(*ASKED).rename(columns=wire_names)
    listed: Any = renamed.to_dict("records")
    noted = renamed.assign(invoice=["A-1", "A-2", "A-3"])

    assert [] == wrong(check_payment(batch(*ASKED), orders=listed))
    assert [] == wrong(check_payment(batch(*ASKED), orders=noted))


@table("wrong_batches", read)
def test_a_batch_that_differs_from_its_orders_stops(
    paid: list[Paid], asked: list[Paid], expected: list[list[str | int | None]]
) -> None:
    """Each difference is an error, which names the payment of the batch."""
    found = check_payment(batch(*paid), orders=orders(*asked))
    errors = [[each.code, each.place] for each in found.errors]

    assert sorted(expected, key=str) == sorted(errors, key=str)


def test_a_payment_that_nothing_names_is_told_with_its_amount() -> None:
    """Unmatched orders and payments are told in words that a person can look for."""
    found = check_payment(batch((OTHER, 20, 7)), orders=orders(ASKED[0], ASKED[2]))
    told = [
        each.message for each in found.errors if each.field in {"orders", "recipient"}
    ]

    assert [
        f"No payment fulfils order 1: 10 USDC-mainnet to {PAYEE}.",
        f"No payment fulfils order 2: 30 USDC-mainnet to {PAYEE}.",
        f"No order asks for the payment of 20 USDC-mainnet to {OTHER}.",
    ] == told


def test_orders_without_references_leave_them_unchecked() -> None:
    """Without references in the orders, a response that names none cannot be
    compared.
    """
    found = check_payment(
        batch(*ASKED), orders=orders(*ASKED).drop(columns="payment_reference")
    )

    assert [("reference_unchecked", place) for place in range(3)] == wrong(found)


def test_payments_by_a_rate_are_matched_by_size() -> None:
    """Amounts in another currency than the invoice's are paired from the smallest to
    the largest.
    """
    asked = orders(*ASKED, invoice_currency=["USD", "USD", "EUR"]).drop(
        columns="payment_reference"
    )
    policy = PaymentPolicy(
        rates={("USDC-mainnet", "USD"): Decimal(1), ("USDC-mainnet", "EUR"): Decimal(1)}
    )
    found = check_payment(
        batch(ASKED[2], ASKED[1], ASKED[0]), orders=asked, policy=policy
    )

    assert 3 == sum(each.code == "amount_matches" for each in found)


def test_a_rate_is_the_same_during_a_check() -> None:
    """A source of rates is asked once for each pair of currencies."""
    asked: list[tuple[str, str]] = []

    def source(payment: str, invoice: str) -> int:
        asked.append((payment, invoice))
        return len(asked)

    found = check_payment(
        batch(*ASKED),
        orders=orders(*ASKED, invoice_currency="USD"),
        policy=PaymentPolicy(rate_source=source),
    )

    assert [("USDC-mainnet", "USD")] == asked
    assert 3 == sum(each.code == "amount_matches" for each in found)


def test_a_payout_takes_what_no_other_order_asks_for() -> None:
    """An order whose payee the service chooses is matched by currency and amount, after
    those that name a payee.
    """
    named = orders(*ASKED).drop(columns="payment_reference")
    lines: Any = named.to_dict("records")
    asked: list[Any] = [PaymentOrder(**line) for line in lines]
    asked[1] = PayoutOrder(
        amount=lines[1]["amount"],
        invoice_currency=lines[1]["invoice_currency"],
        payment_currency=lines[1]["payment_currency"],
    )
    found = check_payment(batch(*ASKED), orders=asked)

    assert "orders_matched" in codes(found, "info")
    assert "payee_operator" in codes(found, "warning")


@pytest.mark.parametrize("payee", [None, float("nan"), pd.NA, "", " ", "N/A", "-"])
def test_a_line_without_a_payee_is_refused_where_others_have_one(payee: Any) -> None:
    """Its cell was left empty by mistake: no payee is not the consent to anybody."""
    asked = orders(*ASKED)
    asked.loc[1, "payee"] = payee

    with pytest.raises(InvalidInput, match="orders, line 2: payee is missing"):
        check_payment(batch(*ASKED), orders=asked, policy=EVERYBODY)


def test_orders_without_any_payee_are_looked_at() -> None:
    """Everybody in the address book would do, so a person looks at who is paid."""
    asked = orders(*ASKED).drop(columns=["payee", "payment_reference"])
    found = check_payment(batch(*ASKED), orders=asked, policy=EVERYBODY)

    assert "look" == found.verdict
    assert "payee_unnamed" in codes(found, "warning")


def test_orders_of_several_networks_stop() -> None:
    """One response is for one network."""
    both = ["USDC-mainnet", "fUSDC-sepolia", "USDC-mainnet"]
    found = check_payment(
        batch(*ASKED),
        orders=orders(*ASKED, invoice_currency=both, payment_currency=both),
    )

    assert "network_differs" in codes(found, "error")


MALFORMED: list[tuple[Any, str]] = [
    ("orders.csv", "orders: give a DataFrame"),
    ({"payee": PAYEE}, "orders: give a DataFrame"),
    (7, "orders: give a DataFrame"),
    ([], "orders: the list is empty"),
    (orders(*ASKED).iloc[:0], "orders: the list is empty"),
    (
        [orders(*ASKED).iloc[0].to_dict(), {"payee": PAYEE}],
        "orders, line 2: .*amount is missing",
    ),
    ([None], "orders, line 1: give a PaymentOrder"),
    (
        orders(ASKED[0]).rename(columns={"amount": "total"}),
        "(?s)orders, line 1: wrong names .amount missing.*total: ",
    ),
    (
        [{**orders(ASKED[0]).iloc[0], "paymentRefernce": "0x1"}],
        "(?s)orders, line 1: wrong names.*paymentRefernce",
    ),
    (
        orders(*ASKED, amount=[10.0, 20.0, 30.0]),
        "orders, line 1: .*Read tables as text",
    ),
]


@pytest.mark.parametrize(
    ("given", "words"), MALFORMED, ids=[row[1] for row in MALFORMED]
)
def test_malformed_orders_are_refused(given: Any, words: str) -> None:
    """What is no table of orders is refused, and the line is named."""
    with pytest.raises(InvalidInput, match=words):
        check_payment(batch(*ASKED), orders=given)


def test_one_order_and_several_are_not_both_given() -> None:
    """Two answers to the same question are refused."""
    with pytest.raises(InvalidInput, match="one of them, not both"):
        check_payment(batch(*ASKED), {"payee": PAYEE}, orders=orders(*ASKED))
