"""The review of amounts and native values: exact, by a rate, or within what the peg of a token allows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from cases import table
from example_payments import (
    BATCHES,
    DEAD,
    ETH_FEE_PROXY,
    FAU,
    FEE_PROXY,
    GOOD,
    HASHES,
    MAIN_PROXY,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
    TOKEN_PAYMENT,
    WEI,
    codes,
    converted,
    data,
    order,
    payment,
    read,
)
from payerkit import InvalidInput, PaymentOrder, PaymentPolicy, check_payment
from payerkit._tsv import rows
from payerkit.models import Payment
from payerkit.onchain.amounts import simplest_percentage
from payerkit.onchain.currencies import find_currency, find_deployment, token_list

TOKENS_CONVERTED = str(find_deployment("Erc20ConversionProxy", "sepolia").address)  # type: ignore[union-attr]


def token_payment(amount: int, asked: PaymentOrder) -> Payment:
    """Return a payment of an amount of the order's token, in base units."""
    token = find_currency(asked.payment_currency)
    assert token is not None
    proxy = FEE_PROXY if token.network == "sepolia" else MAIN_PROXY
    return payment((proxy, data("c219a14d", token.address, PAYEE, amount, REFERENCE, 0, DEAD), 0), asked=asked)


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [("2500", "ok"), (2500, "ok"), (Decimal("2500.00"), "ok"), ("2510", "look"), ("2400", "stop"), (None, "look")],
)
def test_a_rate_decides_about_an_amount_in_another_currency(rate: Any, verdict: str) -> None:
    """An amount at the given rate is ok to the last unit, near it a warning, far from it an error."""
    call = data("b868980b", PAYEE, REFERENCE, 0, DEAD)
    paid = payment((ETH_FEE_PROXY, call, 4 * 10**15), asked=order("ETH-sepolia-sepolia", "USD"))

    assert verdict == check_payment(paid, rate=rate).verdict


@pytest.mark.parametrize(
    ("rate", "difference"), [("2510", "0.4 % too much"), ("2400", "4 % too little"), ("250", "90 % too little")]
)
def test_an_amount_off_its_rate_says_by_how_much(rate: str, difference: str) -> None:
    """A person decides about a share more easily than about two numbers of 18 digits."""
    call = data("b868980b", PAYEE, REFERENCE, 0, DEAD)
    paid = payment((ETH_FEE_PROXY, call, 4 * 10**15), asked=order("ETH-sepolia-sepolia", "USD"))

    found = check_payment(paid, rate=rate)
    assert f"That is {difference}." in (*found.errors, *found.warnings)[0].message


def test_a_rate_of_the_policy_decides_likewise() -> None:
    """A rate may be agreed to once; one that is given to the check wins."""
    paid = payment(
        (ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), 4 * 10**15),
        asked=order("ETH-sepolia-sepolia", "USD"),
    )
    policy = PaymentPolicy(rates={("ETH-sepolia-sepolia", "USD"): Decimal(2500)})

    assert "ok" == check_payment(paid, policy=policy).verdict
    assert "stop" == check_payment(paid, policy=policy, rate="2400").verdict


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


NO_DECIMALS, TWO_DECIMALS = "SLP-mainnet", "EURS-mainnet"
ROUNDED = [
    (TWO_DECIMALS, "10.004", 1000, "ok"),  # rounded down by less than a base unit, which is 0.1 % of the amount
    (TWO_DECIMALS, "10.004", 1001, "ok"),  # rounded up
    (TWO_DECIMALS, "10.004", 1002, "look"),  # more than a unit, but within 1 %
    (TWO_DECIMALS, "10.004", 1011, "stop"),  # more than 1 %
    (TWO_DECIMALS, "0.01", 2, "stop"),  # two units are not one
    (NO_DECIMALS, "1000.5", 1001, "ok"),  # half a unit, 0.05 %
    (NO_DECIMALS, "100.5", 101, "ok"),  # 0.5 %
    (NO_DECIMALS, "3.5", 4, "stop"),  # half a unit is 14 %
    (NO_DECIMALS, "3.5", 3, "stop"),  # the payee would lose as much
]


@pytest.mark.parametrize(("currency", "amount", "paid", "verdict"), ROUNDED)
def test_rounding_matches_only_where_it_is_small(currency: str, amount: str, paid: int, verdict: str) -> None:
    """Rounding to a base unit is no match where that changes the amount by more than 1 %."""
    assert verdict == check_payment(token_payment(paid, order(currency, "USD", amount)), rate="1").verdict


@pytest.mark.parametrize("amount", ["0", "-10", "x", "1e999999"])
def test_an_order_without_a_positive_amount_is_stopped(amount: str) -> None:
    """No payment can match such an order."""
    asked = {"payee": PAYEE, "amount": amount, "invoice_currency": "USD", "payment_currency": "fUSDC-sepolia"}

    assert "stop" == check_payment(GOOD["token"], asked, rate="1").verdict


SWAPPED_CURRENCIES = [
    (order("USD"), TOKEN_PAYMENT, None),  # no transaction pays dollars
    (order("USD", "fUSDC-sepolia"), TOKEN_PAYMENT, None),  # the currencies of the order are swapped
    (order("USD", "fUSDC-sepolia"), TOKEN_PAYMENT, "sepolia"),  # the same on a known network
]


@pytest.mark.parametrize(("asked", "transaction", "network"), SWAPPED_CURRENCIES)
def test_fiat_money_as_payment_currency_is_stopped(asked: PaymentOrder, transaction: Any, network: str | None) -> None:
    """An order that is to be paid in fiat money is wrong, whatever the transactions pay."""
    found = check_payment(payment(transaction, asked=asked), network=network, rate="1")

    assert ("stop", True) == (found.verdict, "currency_fiat" in codes(found, "error"))
    assert "Perhaps the two currencies are swapped." in str(found)


@pytest.mark.parametrize(
    ("asked", "transaction"),
    [
        (order("FAU-sepolia", "fUSDC-sepolia"), TOKEN_PAYMENT),  # paid in the currency of the invoice
        (order("ETH-sepolia-sepolia", "USD"), converted(10**9, *reversed(HASHES))),  # converted the wrong way round
    ],
)
def test_swapped_currencies_are_stopped(asked: PaymentOrder, transaction: Any) -> None:
    """A payment in the invoice currency, or that converts from the payment currency, is not the ordered one."""
    assert "stop" == check_payment(payment(transaction, asked=asked), rate="1").verdict


@table("pegged_amounts")
def test_a_peg_bounds_an_amount(currency: str, invoice: str, amount: str, paid: str, verdict: str, code: str) -> None:
    """Without a rate, an amount in a pegged token is an error if it is 3 % off, and else to be looked at."""
    found = check_payment(token_payment(int(paid), order(currency, invoice, amount)))

    assert (verdict, True) == (found.verdict, code in codes(found, "error") | codes(found, "warning"))


@pytest.mark.parametrize(
    ("paid", "verdict"),
    [
        (10_000_000, "ok"),  # one to one
        (9_900_000, "ok"),  # 1 %, the tolerance itself
        (10_100_000, "ok"),
        (10_100_001, "look"),  # hardly more
        (10_300_000, "stop"),
    ],
)
def test_a_policy_clears_what_is_near_a_peg(paid: int, verdict: str) -> None:
    """A pegged amount is ok within the tolerance of the policy, and only there."""
    asked = token_payment(paid, order("USDC-mainnet", "USD"))

    assert verdict == check_payment(asked, policy=PaymentPolicy(peg_tolerance=Decimal(1))).verdict
    assert "stop" == check_payment(asked, policy=PaymentPolicy(peg_tolerance=Decimal(1)), rate="2").verdict


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


BY_HAND = [
    ("12", 11_200_000, "ok"),  # as much as was agreed
    ("12", 11_200_001, "stop"),
    ("2", 10_250_000, "look"),  # beyond the tolerance, it is as without one
    ("20", 8_000_000, "ok"),  # the most that a policy can agree to
    ("20", 12_000_001, "stop"),
    ("0", 10_000_000, "ok"),
    ("0", 10_000_001, "look"),
]


@pytest.mark.parametrize(("tolerance", "paid", "verdict"), BY_HAND)
def test_a_tolerance_written_by_hand_clears_up_to_its_value(tolerance: str, paid: int, verdict: str) -> None:
    """A person may know that a token is off its peg, and agree to that."""
    policy = PaymentPolicy(peg_tolerance=tolerance)

    assert verdict == check_payment(token_payment(paid, order("USDC-mainnet", "USD")), policy=policy).verdict


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


NATIVE = (PAYEE, WEI, [HASHES[1]], REFERENCE, 0, 0, 0)
CONVERTED = (PAYEE, 10**9, HASHES, REFERENCE, 0, 0, 0)
USD_ORDER = order("ETH-sepolia-sepolia", "USD")


@table("native_values", read)
def test_the_value_is_what_the_payments_need(asked: PaymentOrder, transaction: Any, expected: list[str]) -> None:
    """The native value pays the native payments exactly; a conversion on execution may spend what is left."""
    found = check_payment(payment(transaction, asked=asked))

    assert {*expected} == {code for code in codes(found, "error") | codes(found, "warning") if code.startswith("value")}


AT_2500 = {("ETH-sepolia-sepolia", "USD"): "2500"}  # ten dollars cost 4 * 10**15 wei
SINGLE, BATCHED = converted(10**9, *HASHES)[:2], batch((4, [CONVERTED]), value=0)[:2]
WITHIN_1 = {"rates": AT_2500, "rate_tolerance": 1}


@table("bounded_conversions", read)
def test_a_conversion_is_ok_within_what_was_agreed(paid: Payment, policy: PaymentPolicy, verdict: str) -> None:
    """What is converted on execution may cost what a rate says, and no more than the tolerance above it."""
    assert verdict == check_payment(paid, policy=policy).verdict


UNLIMITED = (TOKENS_CONVERTED, data("3af2c012", PAYEE, 10**9, [HASHES[0], FAU], REFERENCE, 0, DEAD, MAX, 86_400), 0)


def test_an_unlimited_maximum_is_stopped_where_a_rate_is_known() -> None:
    """It is more than 20 % above whatever the payment costs; without a rate, nothing can be said of it."""
    paid = payment(UNLIMITED, asked=order("FAU-sepolia", "USD"))

    assert ["look", "stop"] == [check_payment(paid, rate=rate).verdict for rate in (None, "1")]


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


def test_a_tolerance_accepts_an_amount_near_its_rate() -> None:
    """The live service pays at a rate of its own; how far it may be from the user's is agreed once."""
    paid = payment((ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), 4 * 10**15), asked=USD_ORDER)
    verdicts = {
        rate: check_payment(paid, rate=rate, policy=PaymentPolicy(rate_tolerance="2")).verdict
        for rate in ("2500", "2510", "2549", "2560", "2440")
    }

    assert {"2500": "ok", "2510": "ok", "2549": "ok", "2560": "stop", "2440": "stop"} == verdicts


@pytest.mark.parametrize("value", [10**16, 5])
def test_a_batch_that_converts_native_value_is_no_alarm(value: int) -> None:
    """The contract passes the value on and returns the rest, so the value is the most that it may spend."""
    found = check_payment(payment(batch((4, [CONVERTED]), value=value), asked=USD_ORDER))

    assert ("look", {"amount_converted", "max_to_spend", "batch"}) == (found.verdict, codes(found, "warning"))
    assert f"may spend up to {Decimal(value).scaleb(-18):f}".rstrip("0") in str(found)


@table("written_percentages")
def test_percentages_are_those_that_a_person_would_write(fee: str, amount: str, words: str) -> None:
    """A share is the shortest number that explains a rounded fee."""
    share = simplest_percentage(int(fee), int(amount))

    assert words == (str(share) if share is None else f"{share.normalize():f}")
