"""The review of approvals: the contract of the payment may take what the payment needs, or what a policy accepts."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from cases import table
from example_payments import (
    APPROVAL,
    BATCHES,
    DEAD,
    ERC20_PROXY,
    FAU,
    FEE_PROXY,
    HASHES,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
    TOKEN_PAYMENT,
    USDC,
    codes,
    data,
    order,
    payment,
    read,
)
from payerkit import PaymentPolicy, check_payment
from payerkit.onchain.currencies import find_deployment
from payerkit.policy import AcceptedAllowance, AgreedFee

CONVERSION = str(find_deployment("Erc20ConversionProxy", "sepolia").address)  # type: ignore[union-attr]


def approve(amount: int, spender: str = FEE_PROXY, token: str = TOKEN) -> tuple[str, str, int]:
    """Return an approval, of fUSDC for the proxy of the payment unless others are named."""
    return (token, data("095ea7b3", spender, amount), 0)


def accepting(most: str, spender: str = FEE_PROXY, currency: str = "fUSDC-sepolia") -> PaymentPolicy:
    """Return a policy that accepts an allowance."""
    return PaymentPolicy(allowances=(AcceptedAllowance(token=currency, spender=spender, most=most),))


AGREED = PaymentPolicy(fees=(AgreedFee(address=OTHER, max_percent="0.1"),))
LEG = (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10_000, REFERENCE, 0, DEAD), 0)
PLAIN_LEG = (TOKEN, data("a9059cbb", OTHER, 10_000), 0)


@table("unusual_allowances", read)
def test_another_allowance_than_needed_is_a_warning(transactions: Any, code: str) -> None:
    """Too much, too little or too late does no harm in this payment, and is told."""
    found = check_payment(payment(*transactions, asked=USDC), policy=AGREED)

    assert ("look", True) == (found.verdict, code in codes(found, "warning"))


SECOND = (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 2 * 10**7, bytes([9] * 8), 0, DEAD), 0)
TWO_ORDERS: list[Any] = [USDC, {**USDC.to_dict(reveal=True), "payee": OTHER, "amount": "20"}]


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (approve(2 * 10**7), "allowance_exact"),
        (approve(2 * 10**7 - 1), "allowance_small"),
        (approve(2 * 10**7 + 1), "allowance_large"),
    ],
)
def test_an_approval_is_for_the_payments_up_to_the_next_one(second: Any, code: str) -> None:
    """An approval replaces the one before, so two payments that each have their own are both exact."""
    paid = payment(APPROVAL, TOKEN_PAYMENT, second, SECOND, asked=None)
    found = [each for each in check_payment(paid, orders=TWO_ORDERS) if each.field == "allowance"]

    assert [(0, "allowance_exact"), (2, code)] == [(each.step, each.code) for each in found]


USUAL = [
    ("exactly what is needed", [APPROVAL, TOKEN_PAYMENT], "allowance_exact"),
    ("reset first", [approve(0), APPROVAL, TOKEN_PAYMENT], "allowance_reset"),
    ("taken back after paying", [TOKEN_PAYMENT, approve(0)], "allowance_taken_back"),
    ("one for the payment, one for its fee", [APPROVAL, TOKEN_PAYMENT, approve(10_000), LEG], "allowance_exact"),
    ("given, used and taken back", [APPROVAL, TOKEN_PAYMENT, approve(0)], "allowance_taken_back"),
]


@pytest.mark.parametrize(("transactions", "code"), [row[1:] for row in USUAL], ids=[row[0] for row in USUAL])
def test_an_allowance_that_ends_with_the_payment_is_ok(transactions: Any, code: str) -> None:
    """What the payment needs, taken back before or after it, leaves nothing behind."""
    found = check_payment(payment(*transactions, asked=USDC), policy=AGREED)

    assert ("ok", True) == (found.verdict, code in codes(found, "info"))


@pytest.mark.parametrize("transaction", [approve(0, OTHER), approve(10**7, OTHER), approve(0, OTHER, FAU)])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_allowance_of_another_contract_is_stopped(transaction: Any, *, is_first: bool) -> None:
    """Only the contract of the payment has a part in it, also where an allowance is taken back."""
    transactions = [transaction, TOKEN_PAYMENT] if is_first else [TOKEN_PAYMENT, transaction]
    found = check_payment(payment(*transactions, asked=USDC))

    assert "spender_differs" in codes(found, "error")
    assert [] == [each for each in found if "Add to the policy" in each.hint]  # no line of a policy would clear it


@pytest.mark.parametrize("amount", [10_000, MAX])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_plain_transfer_uses_no_allowance(amount: int, place: int) -> None:
    """The token that pays a fee by itself is no contract that may take tokens."""
    transactions = [APPROVAL, TOKEN_PAYMENT, PLAIN_LEG]
    transactions.insert(place, approve(amount, TOKEN))

    assert "ok" == check_payment(payment(APPROVAL, TOKEN_PAYMENT, PLAIN_LEG, asked=USDC), policy=AGREED).verdict
    assert "spender_differs" in codes(check_payment(payment(*transactions, asked=USDC), policy=AGREED), "error")


@table("accepted_allowances", read)
def test_a_policy_accepts_more_than_is_needed(transactions: Any, policy: PaymentPolicy, verdict: str) -> None:
    """An accepted allowance is ok up to its limit, of its token and for its contract, which has to be the payment's."""
    assert verdict == check_payment(payment(*transactions, asked=USDC), policy=policy).verdict


@pytest.mark.parametrize("amount", [MAX, 10**8, 10**7 + 1, 2**255])
def test_the_line_for_an_allowance_clears_it(amount: int) -> None:
    """What the finding tells to add to the policy is enough."""
    paid = payment(approve(amount), TOKEN_PAYMENT, asked=USDC)
    (found,) = check_payment(paid).warnings
    (line,) = tomllib.loads(found.hint.partition(":\n")[2])["allowances"]

    assert "ok" == check_payment(paid, policy=PaymentPolicy(allowances=(AcceptedAllowance(**line),))).verdict


def test_an_unlimited_allowance_is_never_exact() -> None:
    """An unlimited allowance is a warning even if the payment may spend any amount."""
    call = data("3af2c012", PAYEE, 10**9, [HASHES[0], TOKEN], REFERENCE, 0, DEAD, MAX, 0)
    paid = payment(approve(MAX, CONVERSION), (CONVERSION, call, 0), asked=order("fUSDC-sepolia", "USD"))
    unrated, rated = check_payment(paid), check_payment(paid, rate="1")

    assert ["allowance_unlimited" in codes(each, "warning") for each in (unrated, rated)] == [True, True]
    assert ["max_to_spend" in codes(unrated, "warning"), "max_to_spend" in codes(rated, "error")] == [True, True]
    assert "The payment may spend any amount, and no rate is known to compare that with." in str(unrated)


def leg(amount: int, proxy: str, call: str) -> tuple[str, str, int]:
    """Return a fee leg to the other wallet, through a proxy."""
    arguments = [TOKEN, OTHER, amount, REFERENCE, *([0, DEAD] if proxy == FEE_PROXY else [])]
    return (proxy, data(call, *arguments), 0)


WITH_LEGS = [
    ([approve(10_010_000), TOKEN_PAYMENT, leg(10_000, FEE_PROXY, "c219a14d")], "ok"),  # one allowance for both
    ([APPROVAL, TOKEN_PAYMENT, leg(10_000, FEE_PROXY, "c219a14d")], "look"),  # too little for the leg
    ([APPROVAL, TOKEN_PAYMENT, approve(10_000, ERC20_PROXY), leg(10_000, ERC20_PROXY, "0784bca3")], "ok"),
    ([APPROVAL, TOKEN_PAYMENT, approve(10_001, ERC20_PROXY), leg(10_000, ERC20_PROXY, "0784bca3")], "look"),
]


@pytest.mark.parametrize(("transactions", "verdict"), WITH_LEGS)
def test_a_fee_leg_needs_its_allowance(transactions: Any, verdict: str) -> None:
    """The contract of a fee leg is one of the payment, and needs the fee."""
    policy = PaymentPolicy(fees=(AgreedFee(address=OTHER, max_percent="0.1"),))

    assert verdict == check_payment(payment(*transactions, asked=USDC), policy=policy).verdict


@pytest.mark.parametrize(
    ("allowance", "verdict"),
    [
        (10_000_000, "ok"),
        (10_030_000, "ok"),  # with 0.3 % for the contract, as agreed
        (10_030_001, "look"),
        (9_999_999, "look"),
    ],
)
def test_the_fee_of_a_batch_contract_needs_its_allowance(allowance: int, verdict: str) -> None:
    """The contract may take the agreed fee in addition, so the allowance may be as much more."""
    call = data("92cddb91", [(2, [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, 0, 0)])], [], DEAD)
    paid = payment(approve(allowance, BATCHES), (BATCHES, call, 0), asked=USDC)

    assert verdict == check_payment(paid, policy=PaymentPolicy(batch_fee="0.3")).verdict
    assert "look" == check_payment(paid).verdict


def test_each_token_of_a_batch_needs_its_own_allowance() -> None:
    """A batch of several tokens needs of each what it pays in it."""
    details = [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, 0, 0), (PAYEE, 10**18, [FAU], REFERENCE, 0, 0, 0)]
    call = data("92cddb91", [(2, details)], [], DEAD)
    found = check_payment(
        payment(approve(10**7, BATCHES), approve(10**18, BATCHES, FAU), (BATCHES, call, 0), asked=USDC)
    )

    assert [0, 1] == [each.step for each in found if each.code == "allowance_exact"]
