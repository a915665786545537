"""Amounts, fees and approvals: exact, by a rate or a peg, declared or agreed, and no more than is needed."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from cases import table
from example_payments import (
    APPROVAL,
    BATCHES,
    DEAD,
    ETH_FEE_PROXY,
    FAU,
    FEE_PROXY,
    HASHES,
    MAIN_PROXY,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    THIRD,
    TOKEN,
    TOKEN_PAYMENT,
    USDC,
    codes,
    converted,
    data,
    order,
    payment,
    read,
    told,
)
from payerkit import PaymentOrder, PaymentPolicy, check_payment
from payerkit._tsv import rows
from payerkit.findings import PaymentFindings
from payerkit.models import Payment
from payerkit.onchain.amounts import simplest_percentage
from payerkit.onchain.currencies import find_currency, token_list
from payerkit.payment.compare import Comparison
from payerkit.policy import AddressBook, AgreedFee


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


DECLARED = {"percentage": "0.1", "address": OTHER}
PLATFORM = {"percentage": "0.5", "address": THIRD}


def fee(amount: int, recipient: str = OTHER) -> tuple[str, str, int]:
    """Return a payment of 10 fUSDC with a fee in base units; 10,000 are 0.1 %."""
    return (FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7, REFERENCE, amount, recipient), 0)


def leg(amount: int, recipient: str = OTHER) -> tuple[str, str, int]:
    """Return a payment of its own to the recipient of a fee."""
    return (FEE_PROXY, data("c219a14d", TOKEN, recipient, amount, REFERENCE, 0, DEAD), 0)


def agreed(*fees: tuple[str, str], **others: Any) -> PaymentPolicy:
    """Return a policy with some fees: recipient and highest percentage."""
    return PaymentPolicy(fees=[AgreedFee(address=who, max_percent=most) for who, most in fees], **others)


def check(*transactions: Any, policy: PaymentPolicy | None = None, **declared: Any) -> PaymentFindings:
    """Return the findings about a payment whose service declares some fees."""
    return check_payment(payment(*transactions, asked=USDC, metadata=declared), policy=policy)


FEE = fee(10_000)
POLICY = agreed((OTHER, "0.1"))


FEE_WALLET = "0xABcdEFABcdEFabcdEfAbCdefabcdeFABcDEFabCD"
BOOK = AddressBook.read({FEE_WALLET: "Example Payee"})
LIKE_IT = [
    ("the same ends", "0xabcd" + "0" * 32 + "abcd", agreed((FEE_WALLET, "1")), "stop"),
    ("four digits changed", "0x11" + FEE_WALLET[4:-2] + "22", agreed((FEE_WALLET, "1")), "stop"),
    ("like an address of the address book", "0xabcd" + "0" * 32 + "abcd", agreed(addresses=BOOK), "stop"),
    ("the agreed wallet", FEE_WALLET, agreed((FEE_WALLET, "1")), "ok"),
    ("both are agreed", "0xabcd" + "0" * 32 + "abcd", agreed((FEE_WALLET, "1"), ("0xabcd" + "0" * 32 + "abcd", "1")),
     "ok"),
    ("another wallet", THIRD, agreed((FEE_WALLET, "1")), "look"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("recipient", "policy", "verdict"), [row[1:] for row in LIKE_IT], ids=[row[0] for row in LIKE_IT]
)
def test_a_fee_to_a_lookalike_stops(recipient: str, policy: PaymentPolicy, verdict: str) -> None:
    """Although the service declares it: whoever forged the wallet forged the declaration, and no line agrees to it."""
    found = check(fee(10_000, recipient), policy=policy, protocolFee={"percentage": "0.1", "address": recipient})
    told = [each for each in found if each.code == "fee_lookalike"]

    assert (verdict, verdict == "stop") == (found.verdict, bool(told))
    assert all(FEE_WALLET in each.message and "[[fees]]" not in each.hint for each in told)


def test_a_declared_fee_is_still_a_warning() -> None:
    """The service is the party that is checked: its declaration is told with the line to add, and clears nothing."""
    (found,) = check(FEE, protocolFee=DECLARED).warnings

    assert (
        f"A fee of 0.01 fUSDC-sepolia (0.1 %) goes to {OTHER}; the service declares it as its protocol fee of 0.1 %."
        == (found.message)
    )
    assert f'Add to the policy, if you agreed to it:\n[[fees]]\naddress = "{OTHER}"\nmax_percent = "0.1"' == found.hint


def test_a_fee_without_an_amount_has_no_line_to_copy() -> None:
    """No percentage can agree to a fee on nothing; what pays nothing is an error beside it."""
    on_nothing = (FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 0, REFERENCE, 10_000, OTHER), 0)
    found = check(on_nothing, protocolFee=DECLARED, policy=POLICY).errors

    assert {"fee_high", "amount_zero", "amount_differs"} == codes(found, "error")
    assert ["Ask the service what it is for."] == [each.hint for each in found if each.code == "fee_high"]


@pytest.mark.parametrize("percentage", ["0.1", "0.10", "0.1 %", "0.1%", 0.1])
@pytest.mark.parametrize("name", ["protocol", "platform"])
def test_a_declaration_is_read_in_each_of_its_forms(name: str, percentage: Any) -> None:
    """A percentage comes with and without its sign, as text and as a number, and an address in any case."""
    declaration: dict[str, Any] = {f"{name}Fee": {"percentage": percentage, "address": OTHER.lower()}}
    found = check(FEE, **declaration)

    assert ("look", {"fee"}) == (found.verdict, codes(found, "warning"))
    assert f"the service declares it as its {name} fee of 0.1 %." in str(found)
    assert "ok" == check(FEE, policy=POLICY, **declaration).verdict


def test_a_huge_fee_is_compared_exactly() -> None:
    """No digit of a large amount is rounded away before the comparison."""
    amount = 10**72
    calls = [data("c219a14d", TOKEN, PAYEE, amount, REFERENCE, amount // 1000 + more, OTHER) for more in (0, 2)]
    found = [check((FEE_PROXY, call, 0), policy=POLICY, protocolFee=DECLARED) for call in calls]

    assert [False, True] == ["fee_differs" in codes(each, "warning") for each in found]


def test_the_lines_for_more_than_agreed_keep_the_rest_of_the_entry() -> None:
    """Only what is not enough changes: not the name, nor the limit that still holds."""
    fees = [AgreedFee(address=OTHER, max_percent="5", max_amount="0.01", name="Platform")]
    (found,) = check(fee(20_000), policy=PaymentPolicy(fees=fees)).warnings

    assert {"address": OTHER, "max_percent": "5", "max_amount": "0.02", "name": "Platform"} == tomllib.loads(
        found.hint.partition(":\n")[2]
    )["fees"][0]


@pytest.mark.parametrize("amount", [1, 10_000, 123_457, 999_999])
def test_the_line_for_a_fee_clears_it(amount: int) -> None:
    """What the finding tells to add to the policy is enough for this fee."""
    (found,) = check(fee(amount), protocolFee={"percentage": 50, "address": OTHER}).warnings
    (line,) = tomllib.loads(found.hint.partition(":\n")[2])["fees"]

    assert "ok" == check(fee(amount), policy=PaymentPolicy(fees=(AgreedFee(**line),))).verdict
    assert "ok" != check(fee(2 * amount), policy=PaymentPolicy(fees=(AgreedFee(**line),))).verdict


BOTH: dict[str, Any] = {"protocolFee": DECLARED, "platformFee": PLATFORM}


def test_fees_of_a_wallet_are_told_once_in_all() -> None:
    """However many parts a fee has, one finding tells what its recipient takes."""
    found = check(FEE, leg(20_000), leg(50_000, THIRD), **BOTH)

    assert 2 == sum(each.field == "fee" for each in found)
    assert "A fee of 0.03 fUSDC-sepolia (0.3 %) goes to 0x1111" in str(found)


def test_fee_legs_are_apart_from_the_payments() -> None:
    """What reads the payments of a comparison finds the payment alone."""
    compared = Comparison(payment(TOKEN_PAYMENT, leg(10_000), asked=USDC), policy=POLICY)

    assert ([0], [1]) == ([each.step for each in compared.payments], [each.step for each in compared.fee_legs.values()])


def test_the_payee_of_an_order_receives_no_fee_legs() -> None:
    """A wallet may receive fees, and be the payee of an order: then it is paid."""
    paid = payment(TOKEN_PAYMENT, leg(10_000), asked=None)
    asked = {"payee": OTHER, "amount": "0.01", "invoice_currency": "fUSDC-sepolia", "payment_currency": "fUSDC-sepolia"}

    assert 1 == len(Comparison(paid, policy=POLICY).payments)
    assert 2 == len(Comparison(paid, order=asked, policy=POLICY).payments)


def batched(*payments: tuple[str, int, int], recipient: str = OTHER, declared: Any = "0.1") -> Payment:
    """Return a batch of payments in fUSDC: recipient, amount and fee of each; one wallet receives all fees."""
    details = [(who, amount, [TOKEN], REFERENCE, charged, 0, 0) for who, amount, charged in payments]
    call = data("92cddb91", [(2, details)], [], recipient)
    return payment((BATCHES, call, 0), asked=USDC, metadata={"protocolFee": DECLARED | {"percentage": declared}})


@pytest.mark.parametrize("call", ["92cddb91", "9af8a581"])
def test_a_batch_of_one_token_is_paid_in_one_token(call: str) -> None:
    """The contract takes the sum in the token of the first payment, and pays each in its own: the rest is lost."""
    other = FAU
    details = [(PAYEE, 10**7, [who], REFERENCE, 0, 0, 0) for who in (TOKEN, TOKEN, other)]
    arguments = [[(1, details)] if call == "92cddb91" else details, [], DEAD]
    found = check_payment(payment((BATCHES, data(call, *arguments), 0), asked=USDC))

    assert [2] == [each.place for each in found.errors if each.code == "kept_back"]
    assert [2] == [each.place for each in found.errors if each.code == "token_differs"]


def test_a_batch_is_told_once() -> None:
    """A batch of many payments has one finding about its fee, and one about each recipient of fees."""
    found = check_payment(batched(*[(PAYEE, 10**7, 10_000)] * 20))

    assert 1 == sum(each.code == "batch" for each in found)
    assert 1 == sum(each.code == "fee" for each in found)
    assert "A fee of 0.2 fUSDC-sepolia (0.1 %)" in str(found)


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


def test_each_token_of_a_batch_needs_its_own_allowance() -> None:
    """A batch of several tokens needs of each what it pays in it."""
    details = [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, 0, 0), (PAYEE, 10**18, [FAU], REFERENCE, 0, 0, 0)]
    call = data("92cddb91", [(2, details)], [], DEAD)
    found = check_payment(
        payment(approve(10**7, BATCHES), approve(10**18, BATCHES, FAU), (BATCHES, call, 0), asked=USDC)
    )

    assert [0, 1] == [each.step for each in found if each.code == "allowance_exact"]


@table("amounts fees approvals payees", read)
def test_payments_are_judged(paid: Payment, options: dict[str, Any], verdict: str, codes: str, words: str) -> None:
    """Amounts, fees, allowances and payees are right or told; the claims stand above their rows in the tables."""
    found = check_payment(paid, **options)

    assert (verdict, codes) == (found.verdict, told(found, codes))
    assert words in str(found)
