"""The sandbox is honest: with its fee on, all that it asks people to sign is ok under
the policy that it publishes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import payerkit
from example_payments import ONE_OF_EACH, PAYABLE, codes, order
from payerkit import check_payment
from payerkit.client import SandboxClient
from payerkit.payments.onchain.currencies import Currency, token_behaviours

pytestmark = pytest.mark.filterwarnings(
    "ignore::payerkit.errors.RealMoneyWarning"
)  # of real networks


@pytest.fixture(scope="module")
def charging() -> Iterator[SandboxClient]:
    """Run a sandbox with its fee, which is not the default one."""
    with payerkit.sandbox(seed="fees", decide_after=0, fee_percent="0.37") as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize(
    "currencies",
    [list(ONE_OF_EACH.values()), pytest.param(PAYABLE, marks=pytest.mark.slow)],
    ids=["of each", "all"],
)
def test_payments_with_a_fee_are_ok_under_the_published_policy(
    charging: SandboxClient, currencies: list[Currency]
) -> None:
    """In every currency that can be paid; without the policy a person has to look at
    the fee, and at nothing else.
    """
    policy = charging.sandbox.policy()
    behaviours = token_behaviours()
    # What a token that takes a part, or rebases, does is to be looked at in any case.
    currencies = [each for each in currencies if each.id not in behaviours]
    payments = [
        payerkit.initiate_payment(charging, order(each.id, amount="1234"))
        for each in currencies
    ]
    alone = [check_payment(each) for each in payments]

    assert [] == [
        each.order
        for each in payments
        if check_payment(each, policy=policy).verdict != "ok"
    ]
    assert {("look", "fee")} == {
        (each.verdict, *codes(each, "warning")) for each in alone
    }


FIAT = {"USD": "1234.5", "EUR": "1234.5", "JPY": "1234"}
CURRENCIES = [
    "fUSDC-sepolia",
    "ETH-sepolia-sepolia",
    "USDCn-matic",
    "MATIC-matic",
    "FAU-sepolia",
]


@pytest.mark.parametrize(
    ("currency", "invoice", "amount"),
    [
        # Of a token without digits, a small fee is rounded to nothing.
        *(
            (each, None, amount)
            for each in ("SLP-mainnet", *CURRENCIES[:2])
            for amount in ("1", "3", "99")
        ),
        *(
            (each, invoice, amount)
            for each in CURRENCIES
            for invoice, amount in FIAT.items()
        ),
    ],
)
def test_rates_and_rounded_fees_are_part_of_the_policy(
    charging: SandboxClient, currency: str, invoice: str | None, amount: str
) -> None:
    """An invoice in its token or in fiat money, its conversion and the fee are right to
    the last unit.
    """
    paid = payerkit.initiate_payment(charging, order(currency, invoice, amount))

    assert "ok" == check_payment(paid, policy=charging.sandbox.policy()).verdict


def test_a_policy_of_another_sandbox_does_not_cover_a_higher_fee(
    charging: SandboxClient,
) -> None:
    """What was agreed is the highest share, so a fee of 0.37 % is not covered by a
    policy for 0.1 %.
    """
    paid = payerkit.initiate_payment(charging, order("fUSDC-sepolia"))
    with payerkit.sandbox(seed="fees", decide_after=0, fee_percent="0.1") as cheaper:
        policy = cheaper.sandbox.policy()

    assert "look" == check_payment(paid, policy=policy).verdict
