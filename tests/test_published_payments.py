"""Published responses to a payment are judged as the documentation beside them says."""

from __future__ import annotations

import pytest

from example_payments import APPROVAL, DEAD, FEE_PROXY, OTHER, PAYEE, TOKEN, as_json, codes, data
from payerkit import PaymentPolicy, check_payment
from payerkit.models import Payment
from published import ANSWERS

COMPLETE = {
    "payee": "0x29eab540117632a112ea29ba8be686a1b66467a7",
    "amount": "0.2",
    "invoice_currency": "ETH-sepolia-sepolia",
    "payment_currency": "ETH-sepolia-sepolia",
}
"""The order that the one complete response fulfils: it pays 0.2 ETH without a fee."""


@pytest.mark.parametrize(
    ("change", "verdict", "code"),
    [
        ({}, "ok", "payee_matches"),
        ({"payee": OTHER}, "stop", "payee_differs"),
        ({"amount": "0.02"}, "stop", "amount_differs"),
        ({"invoice_currency": "USD", "amount": "500"}, "look", "amount_unchecked"),  # no rate
        ({"payment_currency": "FAU-sepolia", "invoice_currency": "FAU-sepolia"}, "stop", "token_differs"),
    ],
)
def test_the_complete_response_is_compared_with_its_order(change: dict[str, str], verdict: str, code: str) -> None:
    """It pays 0.2 ETH through the fee proxy of Sepolia: ok for this order, and for no other."""
    found = check_payment(Payment.read(ANSWERS["pay_complete"]), COMPLETE | change)

    assert (verdict, True) == (found.verdict, code in {finding.code for finding in found})


@pytest.mark.parametrize("name", ["pay_native", "pay_token"])
def test_responses_with_omissions_are_stopped(name: str) -> None:
    """The documentation prints most of the calldata as dots: nobody can sign that."""
    found = check_payment(Payment.read(ANSWERS[name]), COMPLETE)

    assert ("stop", True) == (found.verdict, {"unreadable_data", "no_payment"} <= codes(found, "error"))


REFERENCE = bytes.fromhex("44d119773d96f724")
TEN_DOLLARS = [as_json(*APPROVAL), as_json(FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7, REFERENCE, 0, DEAD), 0)]
"""An approval and a payment of 10 fUSDC, whose hashes the tests of signing have."""


@pytest.mark.parametrize(
    ("invoice", "policy", "verdict"),
    [
        ("fUSDC-sepolia", None, "ok"),
        ("USD", None, "look"),  # nobody said that this token is worth a dollar today
        ("USD", PaymentPolicy(peg_tolerance="1"), "ok"),
        ("EUR", PaymentPolicy(peg_tolerance="1"), "look"),  # pegged to another currency, so a rate is needed
        ("EUR", PaymentPolicy(rates={("fUSDC-sepolia", "EUR"): "1"}), "ok"),
        ("EUR", PaymentPolicy(rates={("fUSDC-sepolia", "EUR"): "0.9"}), "stop"),
    ],
)
def test_ten_dollars_in_a_pegged_token(invoice: str, policy: PaymentPolicy | None, verdict: str) -> None:
    """A person agrees once to a peg or a rate; until then the amount has to be looked at."""
    paid = Payment.read({"paymentReference": "0x44d119773d96f724", "transactions": TEN_DOLLARS})
    order = {"payee": PAYEE, "amount": "10", "invoice_currency": invoice, "payment_currency": "fUSDC-sepolia"}

    assert verdict == check_payment(paid, order, policy=policy).verdict
