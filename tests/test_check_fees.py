"""The review of fees: what is taken on top of a payment is declared, agreed, or stops it."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from cases import table
from example_payments import (
    BATCHES,
    DEAD,
    ETH,
    ETH_FEE_PROXY,
    FAU,
    FEE_PROXY,
    HASHES,
    OTHER,
    PAYEE,
    REFERENCE,
    THIRD,
    TOKEN,
    TOKEN_PAYMENT,
    USDC,
    WEI,
    ZERO,
    codes,
    data,
    order,
    payment,
    read,
)
from example_payments import CONVERTED as CONVERSION
from payerkit import PaymentPolicy, check_payment
from payerkit.findings import PaymentFindings
from payerkit.models import Payment
from payerkit.payment.compare import Comparison
from payerkit.policy import AddressBook, AgreedFee

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


@table("fees_judged", read)
def test_a_fee_is_judged_by_declaration_and_policy(
    transaction: Any, declared: Any, policy: PaymentPolicy | None, verdict: str, words: str
) -> None:
    """What was agreed is ok, what is only declared is to be looked at, and what neither names stops the payment."""
    found = check(transaction, policy=policy, protocolFee=declared)

    assert (verdict, True) == (found.verdict, words in str(found))


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


def test_the_lines_for_a_policy_can_be_copied() -> None:
    """The lines stand below their finding, whose code and source end its first line."""
    (text,) = str(check(FEE, protocolFee=DECLARED).warnings).split("LOOK: 1 warning.\n")[1:]
    first, *lines = text.splitlines()

    assert first.endswith("if you agreed to it:  [fee: calldata; response]")
    assert {"fees": [{"address": OTHER, "max_percent": "0.1"}]} == tomllib.loads("\n".join(lines))


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


@pytest.mark.parametrize("percentage", ["1e-1", "+0.1", "0_1", "\u0660.1", ".1", "0.1 percent", "0.1%%", "-0", "NaN"])
def test_a_percentage_is_a_plain_decimal(percentage: str) -> None:
    """Python would read most of these, and a person would read some of them otherwise."""
    found = check(FEE, policy=POLICY, protocolFee={"percentage": percentage, "address": OTHER})

    assert ("look", {"type_unexpected"}) == (found.verdict, codes(found, "warning"))


def test_a_small_number_of_json_is_no_text_with_an_exponent() -> None:
    """JSON has numbers, which Python writes with an exponent if they are small."""
    assert "as its protocol fee of 0.00001 %." in str(check(fee(1), protocolFee={"percentage": 1e-5, "address": OTHER}))


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"percentage": "0.05", "address": OTHER}, f"declares a protocol fee of 0.05 % to {OTHER}."),
        ({"percentage": "0.09998", "address": OTHER}, "declares a protocol fee of 0.09998 % to"),  # hardly less
        ({"address": OTHER}, "declares a protocol fee of an unknown share to"),
        ({"percentage": 0, "address": OTHER}, "declares a protocol fee of 0 % to"),
    ],
)
def test_a_fee_that_differs_from_its_declaration_is_told(declared: Any, words: str) -> None:
    """The share is at most the one that the service declares, to one base unit."""
    found = check(FEE, protocolFee=declared)

    assert ("look", {"fee_differs"}) == (found.verdict, codes(found, "warning"))
    assert words in str(found.warnings)
    assert "rely on the transactions" in str(found.warnings)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"percentage": "0.1", "address": PAYEE}, f"declares a protocol fee of 0.1 % to {PAYEE}, but no"),
        ({"percentage": "0.1"}, "declares a protocol fee of 0.1 % to an unknown wallet, but no"),
        ({"percentage": [], "address": "<b>\x1b"}, "an unknown share to an unknown wallet, but no"),
    ],
)
def test_a_fee_to_another_wallet_than_the_declared_is_stopped(declared: Any, words: str) -> None:
    """A fee for a wallet that the service does not name is not the declared one, which is missing."""
    found = check(FEE, protocolFee=declared)

    assert ({"fee_unknown"}, {"fee_missing"}) == (codes(found, "error"), codes(found, "warning") - {"type_unexpected"})
    assert words in str(found.warnings)


@pytest.mark.parametrize("declared", [None, "0.1 %", [DECLARED]])
def test_what_is_no_declaration_declares_nothing(declared: Any) -> None:
    """A fee that is declared in no documented form is not declared."""
    assert {"fee_unknown"} == codes(check(FEE, protocolFee=declared), "error")


@pytest.mark.parametrize(
    ("transaction", "declared", "expected"),
    [
        (TOKEN_PAYMENT, {"protocolFee": DECLARED}, {"fee_missing"}),  # it may be taken in another way
        (FEE, {"protocolFee": DECLARED, "platformFee": PLATFORM}, {"fee", "fee_missing"}),  # one of two
        (FEE, {"protocolFee": DECLARED, "platformFee": {"percentage": 0, "address": THIRD}}, {"fee"}),  # it is nothing
        (TOKEN_PAYMENT, {"protocolFee": {"percentage": 0, "address": OTHER}}, set()),
        (TOKEN_PAYMENT, {"protocolFee": {"percentage": None, "address": None}, "platformFee": {}}, set()),
        (TOKEN_PAYMENT, {"protocolFee": {"percentage": None, "wallet": OTHER}}, {"fee_missing", "members_usable"}),
        (fee(10_000, ZERO), {"protocolFee": DECLARED}, {"fee", "fee_missing"}),  # it is not for the declared wallet
    ],
)
def test_a_declared_fee_that_is_missing_is_told(transaction: Any, declared: Any, expected: set[str]) -> None:
    """A declared fee that no transaction has is a warning, unless it is nothing."""
    found = check(transaction, **declared)

    assert expected == codes(found, "warning")
    assert ("look" if expected else "ok") == found.verdict


def test_two_declared_fees_of_one_wallet_are_one() -> None:
    """Protocol and platform may name the same wallet; what it receives is both together."""
    both: dict[str, Any] = {"protocolFee": DECLARED, "platformFee": {"percentage": "0.4", "address": OTHER}}

    assert "ok" == check(fee(50_000), policy=agreed((OTHER, "0.5")), **both).verdict
    assert "its protocol and platform fee of 0.5 %" in str(check(fee(50_000), **both))
    assert {"fee_differs"} == codes(check(fee(50_002), **both), "warning")


@pytest.mark.parametrize(
    ("amount", "found", "verdict"),
    [
        (999, 0, "ok"),  # 0.999, rounded down
        (999, 1, "ok"),  # rounded up: a base unit is 0.1 % of the amount
        (1001, 1, "ok"),
        (1001, 2, "ok"),
        (1001, 3, "look"),
        (99, 1, "look"),  # a base unit is more than 1 % of the amount
        (9, 1, "stop"),  # and here more than 10 %
    ],
)
def test_a_fee_may_be_rounded_where_that_is_little(amount: int, found: int, verdict: str) -> None:
    """A share that is no whole number of base units is rounded up or down, and is the agreed one all the same."""
    call = data("c219a14d", TOKEN, PAYEE, amount, REFERENCE, found, OTHER)
    asked = order("fUSDC-sepolia", amount=f"0.{amount:06}")
    paid = payment((FEE_PROXY, call, 0), asked=asked, metadata={"protocolFee": DECLARED})

    assert verdict == check_payment(paid, policy=POLICY).verdict


def test_a_huge_fee_is_compared_exactly() -> None:
    """No digit of a large amount is rounded away before the comparison."""
    amount = 10**72
    calls = [data("c219a14d", TOKEN, PAYEE, amount, REFERENCE, amount // 1000 + more, OTHER) for more in (0, 2)]
    found = [check((FEE_PROXY, call, 0), policy=POLICY, protocolFee=DECLARED) for call in calls]

    assert [False, True] == ["fee_differs" in codes(each, "warning") for each in found]


@pytest.mark.parametrize(
    ("recipient", "policy", "declared", "verdict"),
    [
        (THIRD, POLICY, None, "look"),  # a stranger, although nothing is taken
        (OTHER, POLICY, None, "ok"),
        (OTHER, None, {"percentage": "0", "address": OTHER}, "ok"),
        (DEAD, None, None, "ok"),  # as published responses have it
        (ZERO, None, None, "ok"),
    ],
)
def test_a_recipient_of_nothing_has_to_be_known(recipient: str, policy: Any, declared: Any, verdict: str) -> None:
    """The wallet of a fee of zero is told, unless it may receive fees or nobody owns it."""
    assert verdict == check(fee(0, recipient), policy=policy, protocolFee=declared).verdict


AMOUNTS = [
    ("as much as agreed", FEE, "0.01", "ok", "as agreed"),
    ("hardly more", fee(10_001), "0.01", "look", "at most 5 % and an amount of 0.01 was agreed"),
    ("in two parts that are more together", [fee(6_000), leg(6_000)], "0.01", "look", "A fee of 0.012 fUSDC-sepolia"),
    ("a share that is more, and an amount that is not", fee(600_000), "100", "look", "(6 %)"),
    ("no highest amount", FEE, None, "ok", "as agreed"),
    ("10 %, for which the amount is too high", fee(10**6), "0.99", "stop", "Fees of 10 % and more"),
]


@pytest.mark.parametrize(
    ("calls", "most", "verdict", "words"), [row[1:] for row in AMOUNTS], ids=[row[0] for row in AMOUNTS]
)
def test_an_agreed_fee_may_have_a_highest_amount(calls: Any, most: Any, verdict: str, words: str) -> None:
    """It is in whole units of the fee's currency, whatever the share; a fee is agreed only if both allow it."""
    share = "20" if verdict == "stop" else "5"
    policy = PaymentPolicy(fees=[AgreedFee(address=OTHER, max_percent=share, max_amount=most)])
    found = check(*(calls if isinstance(calls, list) else [calls]), policy=policy)

    assert (verdict, True) == (found.verdict, words in str(found))


def test_the_amount_of_a_fee_of_a_conversion_is_in_the_invoice_currency() -> None:
    """What is converted on execution has no exact amount in the token; its fee is a cent here."""
    call = data("ac473c8a", PAYEE, 10**9, HASHES, REFERENCE, 10**6, OTHER, 0)
    paid = payment((CONVERSION, call, 4004 * 10**12), asked=order("ETH-sepolia-sepolia", "USD"))
    fees = [[AgreedFee(address=OTHER, max_percent="0.1", max_amount=most)] for most in ("0.01", "0.009")]
    found = [check_payment(paid, policy=PaymentPolicy(fees=each)) for each in fees]

    assert [False, True] == ["fee" in codes(each, "warning") for each in found]


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


COIN_FEE = (ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, WEI // 1000, OTHER), WEI + WEI // 1000)


@pytest.mark.parametrize("call", ["0x", data("b868980b", OTHER, REFERENCE, 0, DEAD)])
def test_a_fee_leg_in_coins_is_a_fee(call: str) -> None:
    """A leg in coins goes through the proxy, or straight to the wallet of the fee."""
    paid = (ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), WEI)
    carried = (OTHER if call == "0x" else ETH_FEE_PROXY, call, WEI // 1000)

    assert "ok" == check_payment(payment(paid, carried, asked=ETH), policy=POLICY).verdict
    assert "stop" == check_payment(payment(paid, carried, asked=ETH)).verdict


def test_a_batch_keeps_a_fee_for_the_zero_address() -> None:
    """A batch contract takes the fees before it pays: what nobody receives is lost, if the token allows it at all."""
    found = check_payment(batched((PAYEE, 10**7, 10_000), recipient=ZERO))

    assert {"fee_unknown", "would_fail"} == codes(found, "error")


def test_a_fee_in_coins_is_judged_alike() -> None:
    """The fee of a native payment is a part of its value; at the zero address it would be lost, unlike a token's."""
    burned = (ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, WEI // 1000, ZERO), WEI + WEI // 1000)
    metadata = {"protocolFee": DECLARED}

    assert "ok" == check_payment(payment(COIN_FEE, asked=ETH, metadata=metadata), policy=POLICY).verdict
    assert "look" == check_payment(payment(COIN_FEE, asked=ETH, metadata=metadata)).verdict
    assert {"fee_unknown"} == codes(check_payment(payment(burned, asked=ETH)), "error")


BOTH: dict[str, Any] = {"protocolFee": DECLARED, "platformFee": PLATFORM}
BOTH_AGREED = agreed((OTHER, "0.1"), (THIRD, "0.5"))


@table("fee_legs", read)
def test_a_fee_leg_is_a_fee_and_no_second_payment(
    transactions: list[Any], declared: Any, policy: Any, verdict: str
) -> None:
    """A payment of its own to a recipient of fees, after the payment and in its token, is judged like a fee."""
    found = check(*transactions, policy=policy, **declared)

    assert verdict == found.verdict
    assert (verdict == "stop") == bool(found.errors)


def test_fees_of_a_wallet_are_told_once_in_all() -> None:
    """However many parts a fee has, one finding tells what its recipient takes."""
    found = check(FEE, leg(20_000), leg(50_000, THIRD), **BOTH)

    assert 2 == sum(each.field == "fee" for each in found)
    assert "A fee of 0.03 fUSDC-sepolia (0.3 %) goes to 0x1111" in str(found)


def test_a_second_payment_that_is_called_a_fee_is_stopped_as_what_it_is() -> None:
    """Declared or not, 10 % and more are another payment, to somebody whom the order does not name."""
    found = check(TOKEN_PAYMENT, leg(5 * 10**6), protocolFee={"percentage": 50, "address": OTHER})

    assert {"several_payments", "payee_differs"} <= codes(found, "error")


def test_fee_legs_are_apart_from_the_payments() -> None:
    """What reads the payments of a review finds the payment alone."""
    review = Comparison(payment(TOKEN_PAYMENT, leg(10_000), asked=USDC), policy=POLICY)

    assert ([0], [1]) == ([each.step for each in review.payments], [each.step for each in review.fee_legs.values()])


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


@table("fees_batched", read)
def test_fees_that_are_batched_with_the_payment_are_fees(paid: Payment, policy: PaymentPolicy, verdict: str) -> None:
    """With two fees the service batches them into one call, of which the contract may take another fee."""
    assert verdict == check_payment(paid, policy=policy).verdict


@pytest.mark.parametrize(("maximum", "age"), [(1, 0), (0, 1)])
def test_what_a_batch_does_not_read_is_told(maximum: int, age: int) -> None:
    """A payment without conversion has no maximum and no age of a rate: they are 0, as the SDK writes them."""
    call = data("92cddb91", [(2, [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, maximum, age)])], [], DEAD)
    found = check_payment(payment((BATCHES, call, 0), asked=USDC), policy=agreed(batch_fee="0"))

    assert ("look", {"maximum_unread"}) == (found.verdict, codes(found, "warning"))


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
