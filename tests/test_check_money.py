"""Amounts, fees and approvals: exact, by a rate or a peg, declared or agreed, and no
more than is needed.
"""

from __future__ import annotations

from typing import Any

import pytest

from cases import table
from example_addresses import (
    DEAD,
    FAU,
    FEE_PROXY,
    HASHES,
    MAIN_PROXY,
    MAIN_USDC,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
)
from example_payments import (
    data,
    order,
    payment,
    read,
    told,
    unsaid,
)
from payerkit import PaymentPolicy, check_payment
from payerkit._tsv import rows
from payerkit.models import Payment
from payerkit.payments import AgreedFee
from payerkit.payments.onchain.amounts import simplest_percentage
from payerkit.payments.onchain.currencies import find_deployment, token_list


@table("amounts fees fee_legs approvals payees", read)
def test_payments_are_judged(
    paid: Payment,
    options: dict[str, Any],
    verdict: str,
    codes: str,
    words: str | list[str],
) -> None:
    """Amounts, fees, allowances and payees are right or told; the claims stand above
    their rows in the tables.
    """
    found = check_payment(paid, **options)

    assert (verdict, codes) == (found.verdict, told(found, codes))
    assert [] == unsaid(found, words)


@pytest.mark.parametrize(
    "amount", [10_100_001, 9_800_000, 10_299_999, 10_300_000, 12_000_000, 100_000_000]
)
def test_more_than_a_percent_off_a_peg_has_no_line(amount: int) -> None:
    """Otherwise the amount that is checked would write its own permission."""
    call = data("c219a14d", MAIN_USDC, PAYEE, amount, REFERENCE, 0, DEAD)
    found = check_payment(
        payment((MAIN_PROXY, call, 0), asked=order("USDC-mainnet", "USD"))
    )

    assert [] == [each.policy_lines for each in found if each.policy_lines]


def test_the_card_says_a_difference_from_a_peg_first() -> None:
    """It is a point to decide on, before a fee and an allowance, and not merely
    something that was not checked.
    """
    call = data("c219a14d", TOKEN, PAYEE, 10_050_000, REFERENCE, 10_000, OTHER)
    approval = (TOKEN, data("095ea7b3", FEE_PROXY, MAX), 0)
    declared = {"protocolFee": {"percentage": "0.1", "address": OTHER}}
    paid = payment(
        approval,
        (FEE_PROXY, call, 0),
        asked=order("fUSDC-sepolia", "USD"),
        metadata=declared,
    )
    to_decide = paid.card().content.sections[0]

    assert ("To decide", 3) == (to_decide.title, len(to_decide.points))
    assert "0.05 USD more than ordered" in to_decide.points[0].message


@pytest.mark.parametrize(
    "row", list(rows("payerkit.payments", "pegs")), ids=lambda row: str(row["symbol"])
)
def test_pegs_are_of_listed_tokens_and_currencies(row: dict[str, str]) -> None:
    """A symbol is one of the token list, or of the two in newer lists, and its currency
    is a fiat currency.
    """
    symbols = {each.symbol for each in token_list().values() if each.kind != "fiat"}

    assert row["symbol"] in symbols | {"EURC", "USDT0"}
    assert ("fiat", True) == (
        token_list()[row["currency"].lower()].kind,
        bool(row["basis"]),
    )


@table("written_percentages")
def test_percentages_are_those_that_a_person_would_write(
    fee: str, amount: str, words: str
) -> None:
    """A share is the shortest number that explains a rounded fee."""
    share = simplest_percentage(int(fee), int(amount))

    assert words == (str(share) if share is None else f"{share.normalize():f}")


USD = HASHES[0]


def leg_of_fee(*path: str, most: int) -> tuple[str, str, int]:
    """Return a transaction that pays a fee of 1 USD to `OTHER`, converted by a path."""
    proxy = find_deployment("Erc20ConversionProxy", "sepolia")
    assert proxy is not None
    call = data("3af2c012", OTHER, 10**8, list(path), REFERENCE, 0, DEAD, most, 0)
    return (proxy.address, call, 0)


def test_a_converted_fee_leg_is_named_with_what_it_takes() -> None:
    """Finding and card tell the fee in the invoice currency, and the most that leaves
    the wallet for it, in the decimals of the token that leaves.
    """
    policy = PaymentPolicy(fees=[AgreedFee(address=OTHER, max_percent="1")])
    leg = leg_of_fee(USD, FAU, most=2 * 10**18)
    unlimited = leg_of_fee(USD, TOKEN, FAU, most=MAX)
    call = data("3af2c012", PAYEE, 10**10, [USD, FAU], REFERENCE, 0, DEAD, 10**20, 0)
    paid = payment(
        (leg[0], call, 0), leg, unlimited, asked=order("FAU-sepolia", "USD", "100")
    )
    legs = [
        found.message
        for found in check_payment(paid, policy=policy)
        if found.code == "fee_leg"
    ]
    card = " ".join(str(paid.card(policy=policy)).split())

    assert "1 USD, converted on execution, for up to 2 FAU-sepolia." in legs[0]
    assert (
        "1 USD, converted on execution by way of fUSDC-sepolia, for any amount of"
        " FAU-sepolia." in legs[1]
    )
    assert 1 == card.count(f" pays 100 USD, converted on execution, to {PAYEE} ")
    assert 2 == card.count(f" pays a fee 1 USD, converted on execution, to {OTHER} ")
    assert 1 == card.count(" takes up to 100 FAU-sepolia ")
    assert 1 == card.count(" takes up to 2 FAU-sepolia ")
    assert 1 == card.count(" takes any amount of FAU-sepolia ")
