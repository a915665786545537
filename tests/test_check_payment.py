"""The review of a payment: what matches its order is ok, every mismatch stops it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
import payerkit.payments
from example_addresses import DEAD, FAU, FEE_PROXY, MAX, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import (
    APPROVAL,
    GOOD,
    HARMLESS,
    ONE_OF_EACH,
    PAYABLE,
    SWAPPED,
    TOKEN_PAYMENT,
    USDC,
    codes,
    data,
    order,
    payment,
)
from payerkit import InvalidInput, check_payment, decode_transactions
from payerkit._tsv import rows
from payerkit.client import SandboxClient
from payerkit.models import Payment
from payerkit.payments.decode import TRANSACTION_COLUMNS
from payerkit.payments.onchain.calldata import AbiItem, functions
from payerkit.payments.onchain.currencies import (
    Currency,
    find_deployment,
    token_behaviours,
)
from published import ANSWERS
from test_calldata import sample


@pytest.mark.parametrize(
    ("changed", "code"), [row[1:] for row in SWAPPED], ids=[row[0] for row in SWAPPED]
)
def test_what_contradicts_the_order_is_stopped(changed: Payment, code: str) -> None:
    """A mismatch of payee, amount, token, network, spender, contract or reference stops
    the payment and is named.
    """
    network = "matic" if code == "network_differs" else None
    found = check_payment(changed, network=network)

    assert ("stop", True) == (found.verdict, code in codes(found, "error"))


@pytest.mark.parametrize(
    ("unusual", "code"), [row[1:] for row in HARMLESS], ids=[row[0] for row in HARMLESS]
)
def test_what_is_only_unusual_is_a_warning(unusual: Payment, code: str) -> None:
    """A finding that does no harm, or cannot be checked offline, is a warning and no
    reason to stop.
    """
    found = check_payment(unusual)

    assert ("look", True) == (found.verdict, code in codes(found, "warning"))


@pytest.mark.filterwarnings(
    "ignore::payerkit.errors.RealMoneyWarning"
)  # most of these networks are no test networks
@pytest.mark.parametrize(
    "currencies",
    [list(ONE_OF_EACH.values()), pytest.param(PAYABLE, marks=pytest.mark.slow)],
    ids=["of each", "all"],
)
def test_all_payments_of_the_sandbox_are_ok(
    shared: SandboxClient, currencies: list[Currency]
) -> None:
    """A payment in the currency of the invoice itself has nothing to look at, but for
    what a few tokens do with amounts.
    """
    orders = [order(currency.id, amount="3") for currency in currencies]
    changing = [each.id for each in currencies if each.id in token_behaviours()]

    assert changing == [
        each.payment_currency
        for each in orders
        if check_payment(payerkit.initiate_payment(shared, each)).verdict != "ok"
    ]


COMPLETE = {
    "payee": "0x29eab540117632a112ea29ba8be686a1b66467a7",
    "amount": "0.2",
    "invoice_currency": "ETH-sepolia-sepolia",
    "payment_currency": "ETH-sepolia-sepolia",
}
"""The order that the one complete response fulfils: it pays 0.2 ETH without a fee."""


@pytest.mark.parametrize(
    ("change", "verdict", "code"),
    [
        ({}, "ok", "payee_matches"),
        ({"payee": OTHER}, "stop", "payee_differs"),
        ({"amount": "0.02"}, "stop", "amount_differs"),
        (
            {"invoice_currency": "USD", "amount": "500"},
            "look",
            "amount_unchecked",
        ),  # no rate
        (
            {"payment_currency": "FAU-sepolia", "invoice_currency": "FAU-sepolia"},
            "stop",
            "token_differs",
        ),
    ],
)
def test_the_complete_response_is_compared_with_its_order(
    change: dict[str, str], verdict: str, code: str
) -> None:
    """It pays 0.2 ETH through the fee proxy of Sepolia: ok for this order, and for no
    other.
    """
    found = check_payment(Payment.read(ANSWERS["pay_complete"]), COMPLETE | change)

    assert (verdict, True) == (
        found.verdict,
        code in {finding.code for finding in found},
    )


@pytest.mark.parametrize("name", ["pay_native", "pay_token"])
def test_responses_with_omissions_are_stopped(name: str) -> None:
    """The documentation prints most of the calldata as dots: nobody can sign that."""
    found = check_payment(Payment.read(ANSWERS[name]), COMPLETE)

    assert ("stop", True) == (
        found.verdict,
        {"unreadable_data", "no_payment"} <= codes(found, "error"),
    )


@pytest.mark.parametrize("wrong", [None, 5, {"transactions": []}, "0x"])
def test_anything_but_a_payment_is_refused(wrong: Any) -> None:
    """Only a payment has transactions to check."""
    with pytest.raises(InvalidInput, match="Give a Payment"):
        check_payment(wrong)


@pytest.mark.parametrize("look", [check_payment, decode_transactions])
def test_an_unknown_network_is_refused(look: Any) -> None:
    """A network must be one of networks.tsv, by its name there."""
    with pytest.raises(InvalidInput, match="network: 'polygon' is not known"):
        look(GOOD["coin"], network="polygon")


def test_decoded_transactions_have_exact_amounts() -> None:
    """Amounts are Decimal in units and int in base units; none passes through a float,
    and 2^256-1 survives.
    """
    call = data("c219a14d", TOKEN, PAYEE, MAX, REFERENCE, MAX - 1, OTHER)
    frame = decode_transactions(payment((FEE_PROXY, call, 0), asked=USDC))
    (row,) = frame.to_dict("records")

    assert list(TRANSACTION_COLUMNS) == list(frame.columns)
    exact = Decimal(f"{MAX // 10**6}.{MAX % 10**6:06}")
    assert (MAX, MAX - 1, exact) == (row["amount_base"], row["fee_base"], row["amount"])
    assert ("ERC20FeeProxy 0.2.0", "fUSDC-sepolia", "0x" + REFERENCE.hex()) == (
        row["contract"],
        row["token"],
        row["reference"],
    )


def test_batches_are_a_row_a_payment() -> None:
    """A batch is as many rows as it pays, with their place; the step stays the same."""
    call = data(
        "fa733142",
        [TOKEN, TOKEN],
        [PAYEE, OTHER],
        [1, 2],
        [REFERENCE, REFERENCE],
        [0, 0],
        DEAD,
    )
    frame = decode_transactions(payment((FEE_PROXY, call, 0), asked=USDC))

    assert [(0, 0), (0, 1)] == list(zip(frame["step"], frame["place"], strict=True))


def test_without_a_network_what_is_the_same_everywhere_is_said() -> None:
    """An address that is a proxy here and a token there is neither, until the network
    is known.
    """
    read = payment(
        (FAU, TOKEN_PAYMENT[1], 0), (FEE_PROXY, TOKEN_PAYMENT[1], 0), asked=None
    )
    on = {
        name: list(decode_transactions(read, network=name)["contract"])
        for name in ("sepolia", "mainnet")
    }

    assert pd.isna(decode_transactions(read)["contract"][0])
    assert "ERC20FeeProxy" == decode_transactions(read)["contract"][1]
    assert ("token FAU-sepolia", "ERC20FeeProxy 0.2.0") == (
        on["sepolia"][0],
        on["mainnet"][0],
    )


def test_findings_name_their_transaction() -> None:
    """The verdict comes first, then findings about the whole payment, then by
    transaction, counted from 1.
    """
    found = check_payment(GOOD["token"])

    assert [None, 0, 1] == list(dict.fromkeys(finding.step for finding in found))
    assert str(found).startswith("OK: ")
    assert "transaction 2" in str(found)
    assert ">OK</span> 10 infos" in found._repr_html_()


@pytest.mark.parametrize("to", ["\ud800", "0x1\nOK: all is well\x1b[8m", "\u202e0x"])
def test_addresses_that_steer_a_terminal_are_written_out(to: str) -> None:
    """Text from a response cannot forge a line or hide text."""
    read = Payment.read(
        {"transactions": [{"to": to, "data": "0x", "value": "0"}]}, order=USDC
    )
    shown = str(decode_transactions(read)["to"][0]) + str(check_payment(read))

    assert to not in shown
    assert "\x1b" not in shown


UNDERSTOOD = {"095ea7b3", "c219a14d", "0784bca3", "b868980b", "d7c95e98", "eb7d8df3"}
"""Functions that can be part of an ok payment; any other causes a warning or an
error.
"""


def filled(item: AbiItem) -> Any:
    """Return a value as an order would have it: its payee, its token, its amount, its
    reference.
    """
    name, kind = item["name"], item["type"]
    if kind.endswith("[]"):
        return [filled({**item, "type": kind.removesuffix("[]")})]
    if kind == "tuple":
        return tuple(filled(part) for part in item["components"])
    if kind == "address":
        return {"recipient": PAYEE, "fee_recipient": DEAD, "spender": FEE_PROXY}.get(
            name, TOKEN
        )
    if kind == "uint256":
        return {"amount": 10**7, "kind": 1}.get(name, 0)
    if kind == "bytes":
        return REFERENCE if name == "reference" else b""
    return sample(item)


@pytest.mark.parametrize("selector", sorted(each.hex() for each in functions()))
@pytest.mark.parametrize("value", [0, 10**7])
def test_no_other_function_is_ok(selector: str, value: int) -> None:
    """A call of another function is never ok, alone or beside a good payment."""
    function = functions()[bytes.fromhex(selector)]
    call = data(selector, *[filled(item) for item in function.abi["inputs"]])
    places = {find_deployment(name, "sepolia") for name in function.contracts} - {None}
    for to in {TOKEN, *(place.address for place in places if place)}:
        alone = payment((to, call, value), asked=USDC)
        beside = payment((to, call, value), APPROVAL, TOKEN_PAYMENT, asked=USDC)
        if selector not in UNDERSTOOD:
            assert "ok" not in {
                check_payment(alone).verdict,
                check_payment(beside).verdict,
            }
        elif selector != "095ea7b3":
            assert check_payment(beside).verdict == "stop"  # a second payment


MESSAGES = list(rows("payerkit.payments", "findings"))


def test_every_message_is_used_and_tells_what_to_do() -> None:
    """An error or a warning has a hint, and no message is left over."""
    files = Path(payerkit.__file__).parent.rglob("*.py")
    source = "".join(file.read_text("utf-8") for file in files)

    assert [] == [row["key"] for row in MESSAGES if f'"{row["key"]}"' not in source]
    warned = [row for row in MESSAGES if row["severity"] != "info"]
    assert [] == [row["key"] for row in warned if not row["hint"]]


def test_what_could_not_be_checked_is_never_an_error() -> None:
    """An error stops the payment; what could not be checked leaves that to a person."""
    unchecked = [row for row in MESSAGES if row["unchecked"] == "yes"]

    assert unchecked
    assert "error" not in {row["severity"] for row in unchecked}
    assert [True] == [
        each.unchecked
        for each in check_payment(payment(asked=None))
        if each.code == "no_order"
    ]
