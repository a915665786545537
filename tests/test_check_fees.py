"""Fees: what is taken on top of a payment is declared, agreed, or stops it."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from cases import table
from example_payments import (
    BATCHES,
    DEAD,
    FAU,
    FEE_PROXY,
    OTHER,
    PAYEE,
    REFERENCE,
    THIRD,
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


@table("fees", read)
def test_fees_are_judged(paid: Payment, options: dict[str, Any], verdict: str, codes: str, words: str) -> None:
    """A fee is declared, agreed, or stops the payment; the claims stand above their rows in the table."""
    found = check_payment(paid, **options)

    assert (verdict, codes) == (found.verdict, told(found, codes))
    assert words in str(found)
