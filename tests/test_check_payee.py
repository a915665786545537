"""Who is paid, and in which token: what nobody should pay, the address book, look-alikes, tokens that are new."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from example_payments import (
    DEAD,
    FEE_PROXY,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
    codes,
    data,
    order,
    payment,
)
from payerkit import InvalidInput, PaymentOrder, PaymentPolicy, check_payment, decode_transactions
from payerkit.findings import Finding, PaymentFindings
from payerkit.models import Payment
from payerkit.payment.compare import OrderTerms, read_order
from payerkit.policy import AddressBook, AgreedFee, KnownAddress

MISTYPED = PAYEE.replace("ACf", "aCf")
LOOKALIKE = "0x6923" + "1" * 32 + "C7D7"


def pays(recipient: str, *, token: str = TOKEN, fee: int = 0) -> tuple[str, str, int]:
    """Return a transaction that pays 10 of a token on Sepolia to a recipient."""
    fee_recipient = OTHER if fee else DEAD
    return (FEE_PROXY, data("c219a14d", token, recipient, 10**7, REFERENCE, fee, fee_recipient), 0)


def check(recipient: str = PAYEE, payee: str | None = PAYEE, **options: Any) -> PaymentFindings:
    """Return the findings about 10 fUSDC for a recipient, with an order that names a payee, or none."""
    asked = {"amount": "10", "invoice_currency": "fUSDC-sepolia", "payment_currency": "fUSDC-sepolia"}
    asked |= {} if payee is None else {"payee": payee}
    return check_payment(payment(pays(recipient), asked=None), asked, **options)


def found(findings: PaymentFindings, code: str) -> Finding:
    """Return the one finding with a code."""
    (one,) = (each for each in findings if each.code == code)
    return one


def test_a_further_token_is_no_payee() -> None:
    """What the policy calls a token is a contract, too."""
    tokens = [{"id": "NEW-sepolia", "network": "sepolia", "address": OTHER, "decimals": 6}]
    findings = check(OTHER, OTHER, policy=PaymentPolicy(tokens=tokens))

    assert "the token NEW-sepolia" in found(findings, "recipient_contract").message


def test_a_mistyped_payee_of_the_order_is_stopped() -> None:
    """The checksum is there to be used: one wrong letter shows that the address was typed or changed."""
    findings = check(PAYEE, MISTYPED)

    assert ("stop", {"payee_checksum"}) == (findings.verdict, codes(findings, "error"))
    assert MISTYPED in found(findings, "payee_checksum").message


@pytest.mark.parametrize("payee", ["example.eth", "0x12", "\x1b[8mpayee", "T" + "x" * 500])
def test_a_payee_that_is_no_address_is_stopped(payee: str) -> None:
    """The order has to name a wallet of an EVM network; its text cannot steer a terminal."""
    findings = check(PAYEE, payee)

    assert {"payee_malformed", "payee_differs"} == codes(findings, "error")
    assert "\x1b" not in str(findings)
    assert len(found(findings, "payee_malformed").message) < 200


BOOK = PaymentPolicy(
    addresses=AddressBook(
        [
            KnownAddress(address=PAYEE, name="Example Payee"),
            KnownAddress(address=OTHER, name="Example Payee on Base", network="base"),
        ]
    )
)
STRANGER = "0x" + "12" * 20


def test_a_wallet_of_another_network_is_told_apart() -> None:
    """A contract wallet may belong to somebody else on another network."""
    new = found(check(OTHER, OTHER, policy=BOOK), "payee_new")

    assert new.message.startswith("The recipient is in the address book, but not for sepolia")


def test_a_wallet_is_not_known_everywhere_because_the_network_is_not() -> None:
    """Lines for an unknown network would let the address pass on every network, so there are none."""
    new = found(check_payment(payment(pays(OTHER), asked=None), policy=BOOK), "payee_new")

    assert "that of the payment is not known" in new.message
    assert "[[addresses]]" not in new.hint


def test_the_lines_of_a_finding_can_be_copied() -> None:
    """They are lines of their own in a terminal, where TOML ignores blanks in front, and in a notebook."""
    findings = check(STRANGER, STRANGER, policy=BOOK)
    copied = [each.strip() for each in str(findings).split("\n")]

    assert {"[[addresses]]", 'network = "sepolia"'} <= {*copied}
    assert '<pre class="pk-copied">[[addresses]]\n' in findings._repr_html_()


def test_a_lookalike_names_both_addresses_and_no_person() -> None:
    """Findings are saved with notebooks, so they have addresses, but no names."""
    findings = check(LOOKALIKE, LOOKALIKE, policy=BOOK)

    assert LOOKALIKE.lower() in found(findings, "payee_lookalike").message.lower()
    assert PAYEE in found(findings, "payee_lookalike").message
    assert "Example" not in str(findings)


def test_a_lookalike_of_the_order_is_told_as_such() -> None:
    """Who compares the ends of two addresses would overlook the difference."""
    told = found(check(LOOKALIKE, PAYEE), "payee_differs")

    assert "They look alike, but are different addresses." in told.message


def renamed(currency: str, token: str, proxy: str, **options: Any) -> PaymentFindings:
    """Return the findings about 10 of a token for an order in a payment currency."""
    call = data("c219a14d", token, PAYEE, 10**7, REFERENCE, 0, DEAD)
    approval = data("095ea7b3", proxy, 10**7)
    return check_payment(payment((token, approval, 0), (proxy, call, 0), asked=order(currency)), **options)


MATIC_PROXY = "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9"


def test_a_policy_cannot_clear_what_only_looks_like_an_id() -> None:
    """Neither can an entry name it, nor does an entry for another id stand for it."""
    tokens = [{"id": "TOK-sepolia", "network": "sepolia", "address": OTHER, "decimals": 6}]
    findings = check_payment(
        payment(pays(PAYEE, token=OTHER), asked=order("TO\u212a-sepolia")), policy=PaymentPolicy(tokens=tokens)
    )

    assert "currency_form" in codes(findings, "error")


def test_a_new_token_with_wrong_decimals_is_stopped() -> None:
    """The policy's decimals decide what the amount is: a wrong number makes it differ."""
    tokens = [{"id": "USDT0-matic", "network": "matic", "address": OTHER, "decimals": 18}]
    findings = renamed("USDT0-matic", OTHER, MATIC_PROXY, policy=PaymentPolicy(tokens=tokens))

    assert {"amount_differs"} == codes(findings, "error")


def test_another_token_than_the_further_one_is_stopped() -> None:
    """Who has named the token in the policy is told of any other."""
    tokens = [{"id": "USDT0-matic", "network": "matic", "address": OTHER, "decimals": 6}]
    findings = renamed("USDT0-matic", STRANGER, MATIC_PROXY, policy=PaymentPolicy(tokens=tokens))

    assert "token_unknown" in codes(findings, "error")


def test_the_network_of_an_unlisted_currency_is_known() -> None:
    """The id ends with the network, so contracts can be checked and decoded."""
    read = payment(pays(PAYEE), asked=order("NEW-sepolia"))

    assert "currency_unlisted" in codes(check_payment(read), "info")
    assert ["sepolia"] == [*decode_transactions(read)["network"]]


def test_frames_name_who_is_paid() -> None:
    """The address book names payees, and a fee is named as it was agreed."""
    fees = [AgreedFee(address=OTHER, max_percent=Decimal(1), name="Protocol\x07 fee")]
    policy = PaymentPolicy(fees=fees, addresses=BOOK.addresses)
    read = payment(pays(PAYEE, fee=5), pays(STRANGER), asked=order("fUSDC-sepolia"))
    frame = decode_transactions(read, policy=policy)

    assert ["Example Payee", pd.NA] == [*frame["recipient_name"]]
    assert ["Protocol\\x07 fee", pd.NA] == [*frame["fee_recipient_name"]]
    assert decode_transactions(read)["recipient_name"].isna().all()


@pytest.mark.parametrize("look", [check_payment, decode_transactions])
def test_anything_but_a_policy_is_refused(look: Any) -> None:
    """A path is not read: that is what PaymentPolicy.read is for."""
    with pytest.raises(
        InvalidInput, match=r"policy: give a PaymentPolicy, such as PaymentPolicy.read\(path\); got a str"
    ):
        look(payment(pays(PAYEE), asked=None), policy="policy.toml")


ORDER = {"payee": PAYEE, "amount": "10", "invoice_currency": "USD", "payment_currency": "fUSDC-sepolia"}
EXPECTED = OrderTerms(PAYEE, "10", "USD", "fUSDC-sepolia")
WIRE = {"payee": PAYEE, "amount": "10", "invoiceCurrency": "USD", "paymentCurrency": "fUSDC-sepolia"}

NO_PAYEE_GIVEN = {name: value for name, value in ORDER.items() if name != "payee"}
NO_PAYEE = OrderTerms(None, "10", "USD", "fUSDC-sepolia")

ORDERS = [
    ("an object", PaymentOrder(**ORDER), EXPECTED),
    ("a dict", ORDER, EXPECTED),
    ("a dict by the API's names", WIRE, EXPECTED),
    ("a row", pd.Series(ORDER), EXPECTED),
    ("a row of text", pd.Series(WIRE, dtype="string"), EXPECTED),
    ("a row with more columns", pd.Series({**ORDER, "our_number": 17}), EXPECTED),
    ("an int", ORDER | {"amount": 10}, EXPECTED),
    ("an int of numpy", pd.Series({**ORDER, "amount": pd.Series([10])[0]}), EXPECTED),
    ("a Decimal with an exponent", ORDER | {"amount": Decimal("1E+1")}, EXPECTED),
    ("no payee", NO_PAYEE_GIVEN, NO_PAYEE),
    ("None as payee", ORDER | {"payee": None}, NO_PAYEE),
    ("an empty cell as payee", pd.Series({**ORDER, "payee": pd.NA}), NO_PAYEE),
    ("a reference", ORDER | {"paymentReference": "0x12"}, replace(EXPECTED, payment_reference="0x12")),
    ("a reference in a row", pd.Series({**ORDER, "payment_reference": "0x12"}),
     replace(EXPECTED, payment_reference="0x12")),
    ("an empty reference", ORDER | {"payment_reference": None}, EXPECTED),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_an_order_is_read_in_any_form(given: Any, expected: OrderTerms) -> None:
    """An order may be an object, a dict or a row; only the payee may be missing."""
    assert expected == read_order(given)


NO_ORDERS = [
    ("a misspelled payee", {**ORDER, "paye": PAYEE}, r"paye: Not a field of PaymentOrder. Did you mean payee\?"),
    ("a row whose payee is misspelled", pd.Series({**ORDER, "payee_": PAYEE}).drop("payee"), "payee_: Not a field"),
    ("what would not be compared", {**ORDER, "feePercentage": "1"}, "feePercentage: Not a field"),
    ("a field given twice", {**ORDER, "invoiceCurrency": "USD"}, "Given twice"),
    ("two columns of one name", pd.DataFrame([[OTHER, *ORDER.values()]], columns=["payee", *ORDER]).iloc[0],
     "payee: Given twice"),
    ("two references", {**ORDER, "paymentReference": "0x1", "payment_reference": "0x1"}, "is given twice"),
    ("no amount", {"payee": PAYEE}, "order: amount is missing"),
    ("an amount that Python cannot write", {**ORDER, "amount": 10**5000}, "order: amount: expected a number of fewer"),
    ("an amount that takes minutes to write", {**ORDER, "amount": Decimal("1e999999999")}, "order: amount: expected"),
    ("an empty currency", pd.Series({**ORDER, "payment_currency": None}), "order: payment_currency is missing"),
    ("a float", {**ORDER, "amount": 10.0}, "order: amount: give text, an int or a Decimal; got a float"),
    ("a bool", {**ORDER, "amount": True}, "order: amount: give text, an int or a Decimal; got a bool"),
    ("a table", pd.DataFrame([ORDER]), "order: a DataFrame may have several orders"),
    ("a text", "fUSDC-sepolia", "order: give a PaymentOrder, or a dict or Series with its fields; got a str"),
    ("a number", 5, "order: give a PaymentOrder"),
    ("a number as payee", {**ORDER, "payee": 10**5000}, "order: payee: expected text, got an int"),
    ("a number as reference", {**ORDER, "payment_reference": 5}, "order: payment_reference: expected text, got an int"),
    ("other names", {"a": 1}, "None of the names is a field of PaymentOrder"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), [row[1:] for row in NO_ORDERS], ids=[row[0] for row in NO_ORDERS])
def test_what_cannot_be_compared_is_refused(given: Any, message: str) -> None:
    """An order that is read in part would be compared in part, and look as if it matched."""
    with pytest.raises(InvalidInput, match=message):
        check_payment(payment(pays(PAYEE), asked=None), given)


SAME = ORDER | {"invoice_currency": "fUSDC-sepolia"}
NO_AMOUNTS = ["1_0", "1e1", "\uff11\uff10", "\u0661\u0660", " 10", "10 ", "+10", "10.", ".5", "0x0a", "10,0", ""]


@pytest.mark.parametrize("amount", NO_AMOUNTS)
def test_an_amount_is_a_plain_decimal_number(amount: str) -> None:
    """What Python reads as a number, the service or a person may read as another one."""
    findings = check_payment(payment(pays(PAYEE), asked=None), SAME | {"amount": amount})

    assert "order_amount" in codes(findings, "error")


@pytest.mark.parametrize("amount", ["10", "10.0", "10.000000", "010"])
def test_an_amount_may_have_idle_zeros(amount: str) -> None:
    """The number counts, not how many zeros it has."""
    assert "ok" == check_payment(payment(pays(PAYEE), asked=None), SAME | {"amount": amount}).verdict


@pytest.mark.parametrize(
    "rate", ["1_0", "1e1", "\uff11", "", "0", 1.5, True, [], Decimal("NaN"), Decimal("sNaN"), 10**300]
)
def test_a_rate_is_a_plain_decimal_number(rate: Any) -> None:
    """A rate is read as strictly as an amount."""
    with pytest.raises(InvalidInput, match="rate: give a positive number"):
        check_payment(payment(pays(PAYEE), asked=None), ORDER, rate=rate)


@pytest.mark.parametrize("rate", ["1", "1.000", 1, Decimal(1), Decimal("1E0")])
def test_a_rate_may_be_text_or_an_exact_number(rate: Any) -> None:
    """Any exact number is a rate."""
    assert "ok" == check_payment(payment(pays(PAYEE), asked=None), ORDER, rate=rate).verdict


def test_an_unlimited_allowance_for_an_unlisted_token_is_still_told() -> None:
    """That the token is unlisted is told once, at the payment; what is approved is judged all the same."""
    read = payment((OTHER, data("095ea7b3", FEE_PROXY, MAX), 0), pays(PAYEE, token=OTHER), asked=order("NEW-sepolia"))
    findings = check_payment(read)

    assert {"token_unlisted", "allowance_unlimited"} <= codes(findings, "warning")
    assert "token" in codes(findings, "info")
    assert isinstance(read, Payment)
