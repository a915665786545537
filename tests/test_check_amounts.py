"""Amounts and native values: exact, by a rate, or within what the peg of a token allows."""

from __future__ import annotations

from typing import Any

import pytest

from cases import table
from example_payments import (
    BATCHES,
    DEAD,
    ETH_FEE_PROXY,
    FEE_PROXY,
    GOOD,
    HASHES,
    MAIN_PROXY,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
    converted,
    data,
    order,
    payment,
    read,
    told,
)
from payerkit import InvalidInput, PaymentOrder, PaymentPolicy, check_payment
from payerkit._tsv import rows
from payerkit.models import Payment
from payerkit.onchain.amounts import simplest_percentage
from payerkit.onchain.currencies import find_currency, token_list


def token_payment(amount: int, asked: PaymentOrder) -> Payment:
    """Return a payment of an amount of the order's token, in base units."""
    token = find_currency(asked.payment_currency)
    assert token is not None
    proxy = FEE_PROXY if token.network == "sepolia" else MAIN_PROXY
    return payment((proxy, data("c219a14d", token.address, PAYEE, amount, REFERENCE, 0, DEAD), 0), asked=asked)


@pytest.mark.parametrize(
    ("rate", "difference"), [("2510", "0.4 % too much"), ("2400", "4 % too little"), ("250", "90 % too little")]
)
def test_an_amount_off_its_rate_says_by_how_much(rate: str, difference: str) -> None:
    """A person decides about a share more easily than about two numbers of 18 digits."""
    call = data("b868980b", PAYEE, REFERENCE, 0, DEAD)
    paid = payment((ETH_FEE_PROXY, call, 4 * 10**15), asked=order("ETH-sepolia-sepolia", "USD"))

    found = check_payment(paid, rate=rate)
    assert f"That is {difference}." in (*found.errors, *found.warnings)[0].message


def test_an_unknown_rate_is_told_with_the_line_to_add() -> None:
    """Without a rate and a peg, a person compares; the policy is told as the place for rates."""
    paid = payment(
        (ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), 4 * 10**15),
        asked=order("ETH-sepolia-sepolia", "USD"),
    )
    (found,) = check_payment(paid).warnings

    assert ("amount_unchecked", True) == (found.code, found.unchecked)
    assert found.hint.endswith('[rates]\n"ETH-sepolia-sepolia/USD" = "2500"')


@pytest.mark.parametrize("rate", [0, -1, 2500.0, True, "x", "NaN", "Infinity", "1e999999", [1]])
def test_an_invalid_rate_is_refused(rate: Any) -> None:
    """A float is not exact, and the others are not positive numbers."""
    with pytest.raises(InvalidInput, match="rate: give a positive number"):
        check_payment(GOOD["coin"], rate=rate)


@pytest.mark.parametrize("paid", [10_000_000, 9_912_345, 10_100_000, 9_900_000])
def test_the_line_for_a_pegged_amount_clears_it(paid: int) -> None:
    """What the finding tells to add to the policy is enough."""
    asked = token_payment(paid, order("USDC-mainnet", "USD"))
    (found,) = check_payment(asked).warnings

    assert 'peg_tolerance = "1"' == found.hint.splitlines()[-1]
    assert "ok" == check_payment(asked, policy=PaymentPolicy(peg_tolerance="1")).verdict


@pytest.mark.parametrize("paid", [10_100_001, 9_800_000, 10_299_999, 10_300_000, 12_000_000, 100_000_000])
def test_more_than_a_percent_off_a_peg_has_no_line(paid: int) -> None:
    """Otherwise the amount that is checked would write its own permission."""
    found = check_payment(token_payment(paid, order("USDC-mainnet", "USD")))

    assert [] == [each.hint for each in found if "\n" in each.hint]


IN_MONEY = [
    ("USDC-mainnet", "USD", 11_000_000, "1.00 USD more than ordered"),
    ("USDC-mainnet", "USD", 9_850_000, "0.15 USD less than ordered"),
    ("USDC-mainnet", "USD", 10_000_001, "0.000001 USD more than ordered"),  # exactly, however little it is
    ("EURe-mainnet", "EUR", 10 * 10**18 + 123 * 10**15, "0.123 EUR more than ordered"),
    ("USDT-mainnet", "USDC-mainnet", 10_100_000, "0.10 USD more than ordered"),  # in the currency of the peg
    ("USDC-mainnet", "USD", MAX, f"{MAX // 10**6 - 10}.{MAX % 10**6} USD more than ordered"),  # no digit is lost
]


@pytest.mark.parametrize(("currency", "invoice", "paid", "words"), IN_MONEY)
def test_a_difference_from_a_peg_is_said_in_money_and_first(currency: str, invoice: str, paid: int, words: str) -> None:
    """A person decides about money more easily than about a rate, and sees it before all else."""
    found = check_payment(token_payment(paid, order(currency, invoice)))

    assert f": {words}, " in found[0].message
    assert [found[0]] == [each for each in found if "than ordered" in each.message]


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


def batch(*groups: tuple[int, list[Any]], value: int) -> tuple[str, str, int]:
    """Return a batch on sepolia, of groups of payments by their kind."""
    return (BATCHES, data("92cddb91", [*groups], [], DEAD), value)


CONVERTED = (PAYEE, 10**9, HASHES, REFERENCE, 0, 0, 0)
USD_ORDER = order("ETH-sepolia-sepolia", "USD")


SINGLE, BATCHED = converted(10**9, *HASHES)[:2], batch((4, [CONVERTED]), value=0)[:2]


UNRATED = [
    ("no rate", USD_ORDER, {}, "max_to_spend", "rate= or --rate). Or add it to the policy, below its only [rates], "),
    ("no rate", USD_ORDER, {}, "max_to_spend", '\n[rates]\n"ETH-sepolia-sepolia/USD" = "?"'),
    ("no order", None, {"network": "sepolia"}, "max_to_spend", "Compare this maximum with the amount."),
    ("an order in an unknown currency", order("ETH-sepolia-sepolia", "NONE"), {}, "max_to_spend",
     "Compare this maximum with the amount."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "options", "code", "words"), [row[1:] for row in UNRATED], ids=[row[0] for row in UNRATED]
)
def test_a_conversion_without_a_rate_says_how_to_give_one(asked: Any, options: Any, code: str, words: str) -> None:
    """A rate makes the maximum comparable; the line for it leaves the rate to the person who agrees to it."""
    found = check_payment(payment((*SINGLE, 4 * 10**15), asked=asked), **options)

    assert any(words in each.hint for each in found.warnings if each.code == code)


@table("written_percentages")
def test_percentages_are_those_that_a_person_would_write(fee: str, amount: str, words: str) -> None:
    """A share is the shortest number that explains a rounded fee."""
    share = simplest_percentage(int(fee), int(amount))

    assert words == (str(share) if share is None else f"{share.normalize():f}")


@table("amounts", read)
def test_amounts_are_judged(paid: Payment, options: dict[str, Any], verdict: str, codes: str, words: str) -> None:
    """Amounts are exact, right by a rate, or within a peg; the claims stand above their rows in the table."""
    found = check_payment(paid, **options)

    assert (verdict, codes) == (found.verdict, told(found, codes))
    assert words in str(found)
