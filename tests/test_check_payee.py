"""Who is paid, and in which token: what nobody should pay, the address book,
look-alikes, tokens that are new.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from cases import table_rows
from example_addresses import (
    DEAD,
    FEE_PROXY,
    MAIN_PROXY,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
)
from example_payments import USDC, codes, data, order, payment, read
from payerkit import (
    InvalidInput,
    PaymentOrder,
    PaymentPolicy,
    check_payment,
    decode_transactions,
)
from payerkit._tsv import rows
from payerkit.payments import AgreedFee, check_payment_order
from payerkit.payments.onchain.addresses import with_checksum
from payerkit.payments.onchain.currencies import find_currency, token_behaviours
from payerkit.payments.terms import OrderTerms, read_order

LOOKALIKE = "0x6923" + "1" * 32 + "C7D7"
STRANGER = "0x" + "12" * 20
BOOK = PaymentPolicy(addresses={PAYEE: "Example Payee"})

ORDER = {
    "payee": PAYEE,
    "amount": "10",
    "invoice_currency": "USD",
    "payment_currency": "fUSDC-sepolia",
}
WIRE = {
    "payee": PAYEE,
    "amount": "10",
    "invoiceCurrency": "USD",
    "paymentCurrency": "fUSDC-sepolia",
}

NO_PAYEE = {name: value for name, value in ORDER.items() if name != "payee"}


def pays(recipient: str, *, fee: int = 0) -> tuple[str, str, int]:
    """Return a transaction that pays 10 fUSDC to a recipient."""
    return (
        FEE_PROXY,
        data(
            "c219a14d", TOKEN, recipient, 10**7, REFERENCE, fee, OTHER if fee else DEAD
        ),
        0,
    )


def test_the_lines_of_a_finding_can_be_copied() -> None:
    """They are lines of their own in a terminal, where TOML ignores blanks in front,
    and in a notebook.
    """
    findings = check_payment(
        payment(pays(STRANGER), asked=USDC.replace(payee=STRANGER)), policy=BOOK
    )
    copied = [each.strip() for each in str(findings).split("\n")]

    assert {"[[addresses]]", 'network = "sepolia"'} <= {*copied}
    assert '<pre class="pk-copied">[[addresses]]\n' in findings._repr_html_()


def test_a_lookalike_names_both_addresses_and_no_person() -> None:
    """Findings are saved with notebooks, so they have addresses, but no names."""
    found = check_payment(
        payment(pays(LOOKALIKE), asked=USDC.replace(payee=LOOKALIKE)), policy=BOOK
    )
    (told,) = (each.message for each in found if each.code == "payee_lookalike")

    assert (
        LOOKALIKE.lower() in told.lower(),
        PAYEE in told,
        "Example" in str(found),
    ) == (True, True, False)


def test_the_network_of_an_unlisted_currency_is_known() -> None:
    """The id ends with the network, so contracts can be decoded."""
    assert ["sepolia"] == [
        *decode_transactions(payment(pays(PAYEE), asked=order("NEW-sepolia")))[
            "network"
        ]
    ]


def test_frames_name_who_is_paid() -> None:
    """The address book names payees, and a fee is named as it was agreed."""
    fees = [AgreedFee(address=OTHER, max_percent=Decimal(1), name="Protocol\x07 fee")]
    policy = PaymentPolicy(fees=fees, addresses=BOOK.addresses)
    read = payment(pays(PAYEE, fee=5), pays(STRANGER), asked=USDC)
    frame = decode_transactions(read, policy=policy)

    assert ["Example Payee", pd.NA] == [*frame["recipient_name"]]
    assert ["Protocol\\x07 fee", pd.NA] == [*frame["fee_recipient_name"]]
    assert decode_transactions(read)["recipient_name"].isna().all()


@pytest.mark.parametrize("look", [check_payment, decode_transactions])
def test_anything_but_a_policy_is_refused(look: Any) -> None:
    """A path is not read: that is what PaymentPolicy.read is for."""
    with pytest.raises(
        InvalidInput,
        match=(
            r"policy: give a PaymentPolicy, such as PaymentPolicy.read\(path\); got"
            r" a str"
        ),
    ):
        look(payment(pays(PAYEE), asked=None), policy="policy.toml")


FORMS: dict[str, tuple[Any, set[str]]] = {
    "an object": (PaymentOrder(**ORDER), set()),
    "a dict": (ORDER, set()),
    "a dict by the API's names": (WIRE, set()),
    "a row": (pd.Series(ORDER), set()),
    "a row of text": (pd.Series(WIRE, dtype="string"), set()),
    "a row with more columns": (pd.Series({**ORDER, "our_number": 17}), set()),
    "an int": (ORDER | {"amount": 10}, set()),
    "an int of numpy": (pd.Series({**ORDER, "amount": pd.Series([10])[0]}), set()),
    "a Decimal with an exponent": (ORDER | {"amount": Decimal("1E+1")}, set()),
    "an empty reference": (ORDER | {"payment_reference": None}, set()),
    "a reference": (ORDER | {"paymentReference": "0x12"}, {"reference_differs"}),
    "a reference in a row": (
        pd.Series({**ORDER, "payment_reference": "0x12"}),
        {"reference_differs"},
    ),
    "no payee": (NO_PAYEE, {"payee_unnamed"}),
    "None as payee": (ORDER | {"payee": None}, {"payee_unnamed"}),
    "no payee in a row": (pd.Series(NO_PAYEE), {"payee_unnamed"}),
    "an empty cell": (pd.Series({**ORDER, "payee": pd.NA}), {"payee_unnamed"}),
    "another empty cell": (
        pd.Series({**ORDER, "payee": float("nan")}),
        {"payee_unnamed"},
    ),
    "an object without a payee": (
        PaymentOrder(**ORDER).model_copy(update={"payee": None}),
        {"payee_unnamed"},
    ),
}
"""Forms of an order, with what is found: only the payee may be missing. That the
address book knows the recipient does not say that it is this one's.
"""


@pytest.mark.parametrize(("given", "found"), FORMS.values(), ids=[*FORMS])
def test_an_order_is_read_in_any_form(given: Any, found: set[str]) -> None:
    """An order may be an object, a dict or a row."""
    policy = PaymentPolicy(peg_tolerance="1", addresses=BOOK.addresses)
    findings = check_payment(payment(pays(PAYEE), asked=None), given, policy=policy)

    assert found == codes(findings, "error") | codes(findings, "warning")


def test_an_order_of_money_has_ids_and_may_lack_the_rest() -> None:
    """One reader serves payments and money, which is found by an id."""
    ids = "request_id", "payment_reference", "reference"
    given = {"reference": " invoice-1 ", "amount": "10", "invoiceCurrency": "USD"}
    terms = read_order(given, needs=["amount"], ids=ids)

    assert OrderTerms(None, "10", "USD", "", reference="invoice-1") == terms
    with pytest.raises(InvalidInput, match=r"reference: Not a field of PaymentOrder"):
        read_order(given)


NO_ORDERS: dict[str, tuple[Any, str]] = {
    "a row whose payee is misspelled": (
        pd.Series({**ORDER, "payee_": PAYEE}).drop("payee"),
        "payee_: Not a field",
    ),
    "two columns of one name": (
        pd.DataFrame([[OTHER, *ORDER.values()]], columns=["payee", *ORDER]).iloc[0],
        "payee: Given twice",
    ),
    "an amount that Python cannot write": (
        ORDER | {"amount": 10**5000},
        "order: amount: expected a number of fewer",
    ),
    "an amount that takes minutes to write": (
        ORDER | {"amount": Decimal("1e999999999")},
        "order: amount: expected",
    ),
    "an empty currency": (
        pd.Series({**ORDER, "payment_currency": None}),
        "order: payment_currency is missing",
    ),
    "a table": (
        pd.DataFrame([ORDER]),
        "order: a DataFrame may have several orders",
    ),
    "a text": (
        "fUSDC-sepolia",
        "order: give a PaymentOrder, or a dict or Series with its fields; got a str",
    ),
    "a number": (5, "order: give a PaymentOrder"),
    "a number as payee": (
        ORDER | {"payee": 10**5000},
        "order: payee: expected text, got an int",
    ),
}
NO_ORDERS |= {
    row["why"]: (row["given"], row["message"])
    for row in table_rows("orders_that_cannot_be_compared", read)
}


@pytest.mark.parametrize(
    ("given", "message"),
    NO_ORDERS.values(),
    ids=[*NO_ORDERS],
)
def test_what_cannot_be_compared_is_refused(given: Any, message: str) -> None:
    """An order that is read in part would be compared in part, and look as if it
    matched.
    """
    with pytest.raises(InvalidInput, match=message):
        check_payment(payment(pays(PAYEE), asked=None), given)


@pytest.mark.parametrize(
    "rate",
    [
        "1_0",
        "1e1",
        "\uff11",
        "",
        "0",
        1.5,
        True,
        [],
        Decimal("NaN"),
        Decimal("sNaN"),
        10**300,
    ],
)
def test_a_rate_is_a_plain_decimal_number(rate: Any) -> None:
    """A rate is read as strictly as an amount."""
    with pytest.raises(InvalidInput, match="rate: give a positive number"):
        check_payment(payment(pays(PAYEE), asked=None), ORDER, rate=rate)


@pytest.mark.parametrize("rate", ["1", "1.000", 1, Decimal(1), Decimal("1E0")])
def test_a_rate_may_be_text_or_an_exact_number(rate: Any) -> None:
    """Any exact number is a rate."""
    assert (
        "ok"
        == check_payment(payment(pays(PAYEE), asked=None), ORDER, rate=rate).verdict
    )


@pytest.mark.parametrize(
    "address",
    [row["address"] for row in rows("payerkit.payments", "well_known_contracts")],
)
def test_a_contract_of_everybody_is_no_payee(address: str) -> None:
    """Neither the order nor the address book makes it one."""
    policy = PaymentPolicy(addresses={address: "Example Payee"})
    asked = USDC.replace(payee=address)
    found = check_payment(payment(pays(address), asked=asked), policy=policy)

    assert ("stop", {"recipient_contract"}) == (found.verdict, codes(found, "error"))
    assert "payee_contract" in {each.code for each in check_payment_order(asked).errors}
    assert address == with_checksum(address)


@pytest.mark.parametrize("token_id", sorted(token_behaviours()))
def test_a_token_that_changes_amounts_is_looked_at(token_id: str) -> None:
    """What arrives is not what the transactions say, though they match the order."""
    token = find_currency(token_id)
    assert token is not None
    units = 10 * 10**token.decimals
    call = data("c219a14d", token.address, PAYEE, units, REFERENCE, 0, DEAD)
    found = check_payment(payment((MAIN_PROXY, call, 0), asked=order(token_id)))
    code = f"token_{token_behaviours()[token_id]}"

    assert ("look", {code}) == (found.verdict, codes(found, "warning"))
