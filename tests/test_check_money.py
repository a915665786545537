"""Amounts, fees and approvals: exact, by a rate or a peg, declared or agreed, and no
more than is needed.
"""

from __future__ import annotations

from decimal import Decimal
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
    TOKEN_PAYMENT,
    codes,
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
from payerkit.payments.check import full_check
from payerkit.payments.onchain.amounts import simplest_percentage
from payerkit.payments.onchain.currencies import find_deployment, token_list


@table("amounts fees approvals payees", read)
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


def test_the_payee_of_an_order_receives_no_fee_legs() -> None:
    """A wallet may receive fees, and be the payee of an order: then it is paid."""
    leg = (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10_000, REFERENCE, 0, DEAD), 0)
    policy = PaymentPolicy(fees=[AgreedFee(address=OTHER, max_percent="0.1")])
    paid = payment(TOKEN_PAYMENT, leg, asked=None)
    asked = order("fUSDC-sepolia", amount="0.01", payee=OTHER)

    alone = full_check(paid, policy=policy)
    ordered = full_check(paid, order=asked, policy=policy)

    assert 1 == len(alone.effects.payments)
    assert 2 == len(ordered.effects.payments)


USD = HASHES[0]


def leg_of_fee(*path: str, most: int) -> tuple[str, str, int]:
    """Return a transaction that pays a fee of 1 USD to `OTHER`, converted by a path."""
    proxy = find_deployment("Erc20ConversionProxy", "sepolia")
    assert proxy is not None
    call = data("3af2c012", OTHER, 10**8, list(path), REFERENCE, 0, DEAD, most, 0)
    return (proxy.address, call, 0)


LEGS = [
    ("the path of the payment", (USD, FAU), 10**18, "ok", set()),
    ("another path to the same token", (USD, TOKEN, FAU), 10**18, "ok", set()),
    (
        "by way of a token that is not listed",
        (USD, OTHER, FAU),
        10**18,
        "look",
        {"fee_leg"},
    ),
    (
        "a rate that is wrong a million times, up to the maximum",
        (USD, TOKEN, FAU),
        10**24,
        "stop",
        {"max_to_spend"},
    ),
    ("without a limit", (USD, TOKEN, FAU), MAX, "stop", {"max_to_spend"}),
    (
        "of another currency",
        (HASHES[1], FAU),
        10**18,
        "stop",
        {"several_payments", "payee_differs", "amount_differs"},
    ),
    (
        "of another token, a million of it",
        (USD, TOKEN),
        10**12,
        "stop",
        {
            "several_payments",
            "payee_differs",
            "amount_differs",
            "token_differs",
            "max_to_spend",
        },
    ),
    (
        "of another token, whose maximum reads as one of the order's",
        (USD, TOKEN),
        10**18,
        "stop",
        {
            "several_payments",
            "payee_differs",
            "amount_differs",
            "token_differs",
            "max_to_spend",
        },
    ),
]
"""Fee legs of 1 USD beside a payment of 100 USD in FAU: their paths, and what may be
taken for them.
"""


@pytest.mark.parametrize(
    ("path", "most", "verdict", "expected"),
    [row[1:] for row in LEGS],
    ids=[row[0] for row in LEGS],
)
def test_a_converted_fee_leg_takes_the_token_of_its_payment(
    path: tuple[str, ...], most: int, verdict: str, expected: set[str]
) -> None:
    """By whatever path, and no more of it than it costs by the rate; a leg in another
    token is a payment that nobody ordered.
    """
    policy = PaymentPolicy(
        rate_tolerance="1", fees=[AgreedFee(address=OTHER, max_percent="1")]
    )
    leg = leg_of_fee(*path, most=most)
    call = data("3af2c012", PAYEE, 10**10, [USD, FAU], REFERENCE, 0, DEAD, 10**20, 0)
    paid = payment((leg[0], call, 0), leg, asked=order("FAU-sepolia", "USD", "100"))
    found = check_payment(paid, rate="1", policy=policy)

    assert verdict == found.verdict
    assert expected == codes(found, "error") | codes(found, "warning")


@pytest.mark.parametrize(
    ("rate", "paid", "verdict"),
    [
        ("0.5", 20, "look"),
        ("2", 5, "look"),
        ("0.97", "10.309278", "look"),
        ("1.03", "9.708737", "look"),
        ("0.98", "10.204081", "ok"),
        ("1.02", "9.803921", "ok"),
    ],
)
def test_a_rate_that_contradicts_a_peg_is_looked_at(
    rate: str, paid: Any, verdict: str
) -> None:
    """The amount is right by the rate, but it is another one in dollars."""
    units = int(Decimal(paid) * 10**6)
    call = data("c219a14d", TOKEN, PAYEE, units, REFERENCE, 0, DEAD)
    asked = order("fUSDC-sepolia", "USD", "10")
    found = check_payment(payment((FEE_PROXY, call, 0), asked=asked), rate=rate)

    assert verdict == found.verdict
    assert ("rate_off_peg" in codes(found, "warning")) == (verdict == "look")


def test_a_rate_within_the_agreed_tolerance_of_a_peg_is_ok() -> None:
    """Who agrees to 5 % off a peg agrees to a rate that is 4 % off."""
    call = data("c219a14d", TOKEN, PAYEE, 9_615_384, REFERENCE, 0, DEAD)
    asked = order("fUSDC-sepolia", "USD", "10")
    paid = payment((FEE_PROXY, call, 0), asked=asked)

    assert ["look", "ok"] == [
        check_payment(paid, rate="1.04", policy=policy).verdict
        for policy in (None, PaymentPolicy(peg_tolerance="5"))
    ]


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


def test_a_fee_leg_of_another_token_is_stopped_among_several_orders() -> None:
    """Several orders in one token, and a fee converted into another: it is a payment
    that nobody ordered.
    """
    policy = PaymentPolicy(
        rate_tolerance="1", fees=[AgreedFee(address=OTHER, max_percent="1")]
    )
    leg = leg_of_fee(USD, TOKEN, most=10**18)
    calls = [
        data("3af2c012", PAYEE, amount, [USD, FAU], REFERENCE, 0, DEAD, most, 0)
        for amount, most in ((10**10, 10**20), (2 * 10**10, 2 * 10**20))
    ]
    paying = [(leg[0], call, 0) for call in calls]
    orders = [order("FAU-sepolia", "USD", amount) for amount in ("100", "200")]
    honest = leg_of_fee(USD, FAU, most=10**18)

    errors = [
        codes(
            check_payment(
                payment(*paying, each, asked=None),
                orders=orders,
                rate="1",
                policy=policy,
            ),
            "error",
        )
        for each in (leg, honest)
    ]

    assert [{"payment_unordered"}, set()] == [
        each - {"reference_repeated"} for each in errors
    ]
