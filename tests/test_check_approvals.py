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
    FAU,
    FEE_PROXY,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
    TOKEN_PAYMENT,
    USDC,
    codes,
    data,
    payment,
    read,
    told,
)
from payerkit import PaymentPolicy, check_payment
from payerkit.models import Payment
from payerkit.policy import AcceptedAllowance


def approve(amount: int, spender: str = FEE_PROXY, token: str = TOKEN) -> tuple[str, str, int]:
    """Return an approval, of fUSDC for the proxy of the payment unless others are named."""
    return (token, data("095ea7b3", spender, amount), 0)


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


@pytest.mark.parametrize("transaction", [approve(0, OTHER), approve(10**7, OTHER), approve(0, OTHER, FAU)])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_allowance_of_another_contract_is_stopped(transaction: Any, *, is_first: bool) -> None:
    """Only the contract of the payment has a part in it, also where an allowance is taken back."""
    transactions = [transaction, TOKEN_PAYMENT] if is_first else [TOKEN_PAYMENT, transaction]
    found = check_payment(payment(*transactions, asked=USDC))

    assert "spender_differs" in codes(found, "error")
    assert [] == [each for each in found if "Add to the policy" in each.hint]  # no line of a policy would clear it


@pytest.mark.parametrize("amount", [MAX, 10**8, 10**7 + 1, 2**255])
def test_the_line_for_an_allowance_clears_it(amount: int) -> None:
    """What the finding tells to add to the policy is enough."""
    paid = payment(approve(amount), TOKEN_PAYMENT, asked=USDC)
    (found,) = check_payment(paid).warnings
    (line,) = tomllib.loads(found.hint.partition(":\n")[2])["allowances"]

    assert "ok" == check_payment(paid, policy=PaymentPolicy(allowances=(AcceptedAllowance(**line),))).verdict


def leg(amount: int, proxy: str, call: str) -> tuple[str, str, int]:
    """Return a fee leg to the other wallet, through a proxy."""
    arguments = [TOKEN, OTHER, amount, REFERENCE, *([0, DEAD] if proxy == FEE_PROXY else [])]
    return (proxy, data(call, *arguments), 0)


def test_each_token_of_a_batch_needs_its_own_allowance() -> None:
    """A batch of several tokens needs of each what it pays in it."""
    details = [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, 0, 0), (PAYEE, 10**18, [FAU], REFERENCE, 0, 0, 0)]
    call = data("92cddb91", [(2, details)], [], DEAD)
    found = check_payment(
        payment(approve(10**7, BATCHES), approve(10**18, BATCHES, FAU), (BATCHES, call, 0), asked=USDC)
    )

    assert [0, 1] == [each.step for each in found if each.code == "allowance_exact"]


@table("approvals", read)
def test_approvals_are_judged(paid: Payment, options: dict[str, Any], verdict: str, codes: str, words: str) -> None:
    """An allowance is what the payment needs, or agreed; the claims stand above their rows in the table."""
    found = check_payment(paid, **options)

    assert (verdict, codes) == (found.verdict, told(found, codes))
    assert words in str(found)
