"""Amounts, fees and approvals: exact, by a rate or a peg, declared or agreed, and no more than is needed."""

from __future__ import annotations

from typing import Any

import pytest

from cases import table
from example_addresses import DEAD, FEE_PROXY, MAIN_PROXY, MAIN_USDC, MAX, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import TOKEN_PAYMENT, data, order, payment, read, told, unsaid
from payerkit import PaymentPolicy, check_payment
from payerkit._tsv import rows
from payerkit.models import Payment
from payerkit.onchain.amounts import simplest_percentage
from payerkit.onchain.currencies import token_list
from payerkit.payment.compare import Comparison
from payerkit.policy import AgreedFee


@table("amounts fees approvals payees", read)
def test_payments_are_judged(
    paid: Payment, options: dict[str, Any], verdict: str, codes: str, words: str | list[str]
) -> None:
    """Amounts, fees, allowances and payees are right or told; the claims stand above their rows in the tables."""
    found = check_payment(paid, **options)

    assert (verdict, codes) == (found.verdict, told(found, codes))
    assert [] == unsaid(found, words)


@pytest.mark.parametrize("amount", [10_100_001, 9_800_000, 10_299_999, 10_300_000, 12_000_000, 100_000_000])
def test_more_than_a_percent_off_a_peg_has_no_line(amount: int) -> None:
    """Otherwise the amount that is checked would write its own permission."""
    call = data("c219a14d", MAIN_USDC, PAYEE, amount, REFERENCE, 0, DEAD)
    found = check_payment(payment((MAIN_PROXY, call, 0), asked=order("USDC-mainnet", "USD")))

    assert [] == [each.policy_lines for each in found if each.policy_lines]


def test_the_card_says_a_difference_from_a_peg_first() -> None:
    """It is a point to decide on, before a fee and an allowance, and not merely something that was not checked."""
    call = data("c219a14d", TOKEN, PAYEE, 10_050_000, REFERENCE, 10_000, OTHER)
    approval = (TOKEN, data("095ea7b3", FEE_PROXY, MAX), 0)
    declared = {"protocolFee": {"percentage": "0.1", "address": OTHER}}
    paid = payment(approval, (FEE_PROXY, call, 0), asked=order("fUSDC-sepolia", "USD"), metadata=declared)
    problems = paid.card().content.problems

    assert 3 == len(problems)
    assert "0.05 USD more than ordered" in problems[0].message


@pytest.mark.parametrize("row", list(rows("payerkit.payment", "pegs")), ids=lambda row: str(row["symbol"]))
def test_pegs_are_of_listed_tokens_and_currencies(row: dict[str, str]) -> None:
    """A symbol is one of the token list, or of the two in newer lists, and its currency is a fiat currency."""
    symbols = {each.symbol for each in token_list().values() if each.kind != "fiat"}

    assert row["symbol"] in symbols | {"EURC", "USDT0"}
    assert ("fiat", True) == (token_list()[row["currency"].lower()].kind, bool(row["basis"]))


@table("written_percentages")
def test_percentages_are_those_that_a_person_would_write(fee: str, amount: str, words: str) -> None:
    """A share is the shortest number that explains a rounded fee."""
    share = simplest_percentage(int(fee), int(amount))

    assert words == (str(share) if share is None else f"{share.normalize():f}")


def test_the_payee_of_an_order_receives_no_fee_legs() -> None:
    """A wallet may receive fees, and be the payee of an order: then it is paid."""
    leg = (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10_000, REFERENCE, 0, DEAD), 0)
    policy = PaymentPolicy(fees=[AgreedFee(address=OTHER, max_percent="0.1")])
    paid = payment(TOKEN_PAYMENT, leg, asked=None)
    asked = order("fUSDC-sepolia", amount="0.01", payee=OTHER)

    assert 1 == len(Comparison(paid, policy=policy).payments)
    assert 2 == len(Comparison(paid, order=asked, policy=policy).payments)
