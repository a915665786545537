"""The transactions of POST /v1/pay: decoded here with eth-abi, against signatures and
addresses written out here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from eth_abi import decode, encode
from hypothesis import given, settings
from hypothesis import strategies as st

from payerkit.payments.onchain.currencies import (
    Currency,
    find_currency,
    find_deployment,
    token_list,
)
from payerkit_sandbox.failures import HttpError
from payerkit_sandbox.pay import big_number, payment_reference, post_payment
from payerkit_sandbox.settings import Settings
from payerkit_sandbox.wallet import Rates, convert, format_units, parse_amount
from payerkit_sandbox.worlds import Identifiers, World
from stores import open_world

PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
DEAD = "0x000000000000000000000000000000000000dead"
NO_FEE = Settings(fee_percent=0)
OWN_ADDRESS = (  # invented, as published on the start page
    "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5"
)

# Selector, then types: as published for these contracts.
APPROVE = ("095ea7b3", ["address", "uint256"])
PAY_TOKEN = (
    "c219a14d",
    ["address", "address", "uint256", "bytes", "uint256", "address"],
)
PAY_NATIVE = ("b868980b", ["address", "bytes", "uint256", "address"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Yield a world on an empty database."""
    opened = open_world(tmp_path / "sandbox.db")
    yield opened
    opened.database.close()


def pay(world: World, body: Any, settings: Settings) -> Any:
    """Create a payment in a world with other settings."""
    ids = Identifiers(settings.seed)
    there = replace(world, settings=settings, identifiers=ids)
    with there.begin(write=True) as session:
        return post_payment(body, session)


def order(
    amount: str, payment_currency: str, invoice_currency: str = "USD"
) -> dict[str, str]:
    """Return the body of an order."""
    return {
        "payee": PAYEE,
        "amount": amount,
        "invoiceCurrency": invoice_currency,
        "paymentCurrency": payment_currency,
    }


def decoded(
    transaction: dict[str, Any], function: tuple[str, list[str]]
) -> tuple[Any, ...]:
    """Return the arguments of a call; fail unless it calls this function and its
    encoding is canonical.
    """
    data = bytes.fromhex(transaction["data"][2:])
    assert function[0] == data[:4].hex()
    values = decode(function[1], data[4:])
    assert encode(function[1], values) == data[4:]
    return values


def known(currency_id: str) -> Currency:
    """Return a currency of the token list."""
    currency = find_currency(currency_id)
    assert currency is not None
    return currency


SEPOLIA = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
TOKENS = [
    # 10 USD: token, its address, the payment contract there, base units
    ("fUSDC-sepolia", "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", SEPOLIA, 10**7),
    (
        "USDCn-matic",
        "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9",
        10**7,
    ),
    ("FAU-sepolia", "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C", SEPOLIA, 10**19),
    (
        "USDT-bsc",
        "0x55d398326f99059fF775485246999027B3197955",
        "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9",
        10**19,
    ),
    (
        "USDT-mainnet",
        "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C",
        10**7,
    ),
]


@pytest.mark.parametrize(("currency", "token", "contract", "amount"), TOKENS)
def test_a_token_is_paid_by_approval_and_payment(
    world: World, currency: str, token: str, contract: str, amount: int
) -> None:
    """10 USD in a token: approve the contract for exactly that, then pay the payee with
    the reference.
    """
    response = pay(world, order("10", currency), NO_FEE)
    approval, payment = response["transactions"]
    reference = bytes.fromhex(response["paymentReference"][2:])

    assert (contract.lower(), amount) == decoded(approval, APPROVE)
    assert (token.lower(), PAYEE.lower(), amount, reference, 0, DEAD) == decoded(
        payment, PAY_TOKEN
    )
    assert [(token, 0), (contract, 0)] == [
        (step["to"], step["value"]) for step in (approval, payment)
    ]


COINS = [
    ("ETH-sepolia-sepolia", "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687", 4 * 10**15),
    ("MATIC-matic", "0xfCFBcfc4f5A421089e3Df45455F7f4985FE2D6a8", 20 * 10**18),
    (
        "eth-BASE-base",
        "0xd9C3889eB8DA6ce449bfFE3cd194d08A436e96f2",
        4 * 10**15,
    ),  # in any case
]


@pytest.mark.parametrize(("currency", "contract", "wei"), COINS)
def test_a_coin_is_paid_by_value(
    world: World, currency: str, contract: str, wei: int
) -> None:
    """10 USD in a native coin: one call of the fee proxy, with the amount as its
    value.
    """
    response = pay(world, order("10", currency), NO_FEE)
    (payment,) = response["transactions"]
    reference = bytes.fromhex(response["paymentReference"][2:])

    assert (PAYEE.lower(), reference, 0, DEAD) == decoded(payment, PAY_NATIVE)
    assert (contract, big_number(wei)) == (payment["to"], payment["value"])


@pytest.mark.slow
def test_every_token_with_a_contract_can_be_paid(world: World) -> None:
    """Every coin and token of a network with the contract can be paid, in its own
    decimals.
    """
    contracts = {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}
    payable = [
        currency
        for currency in token_list().values()
        if currency.kind in contracts
        and find_deployment(contracts[currency.kind], currency.network)
    ]
    for currency in payable:
        response = pay(world, order("3", currency.id, currency.id), NO_FEE)
        step = response["transactions"][-1]
        paid = (
            decoded(step, PAY_TOKEN)[2]
            if currency.kind == "erc20"
            else int(step["value"]["hex"], 16)
        )
        assert (currency.id, 3 * 10**currency.decimals) == (currency.id, paid)

    assert len(payable) == 562  # 545 tokens but one without a contract, and 18 coins


def test_a_fee_is_on_top(world: World) -> None:
    """The value of a coin covers amount and fee, and the fee goes to its address; of a
    token, the approval does, as below.
    """
    choice = Settings(fee_percent=Decimal("1.5"))
    coin = pay(world, order("10", "ETH-sepolia-sepolia"), choice)

    assert (60 * 10**12, OWN_ADDRESS.lower()) == decoded(
        coin["transactions"][0], PAY_NATIVE
    )[2:]
    assert big_number(4_060 * 10**12) == coin["transactions"][0]["value"]


DECLARED = [
    # settings, what the metadata declares, base units of the fee on 10 USD, its
    # recipient
    ({}, {"percentage": "0.1", "address": OWN_ADDRESS}, 10_000, OWN_ADDRESS),
    (
        {"fee_percent": Decimal("2.50")},
        {"percentage": "2.50", "address": OWN_ADDRESS},
        250_000,
        OWN_ADDRESS,
    ),
    ({"fee_percent": 0}, None, 0, DEAD),  # as in the published responses
    ({"fee_percent": "0.00"}, None, 0, DEAD),
]


@pytest.mark.parametrize(("options", "declared", "fee", "recipient"), DECLARED)
def test_the_metadata_declares_the_fee(
    world: World,
    options: dict[str, Any],
    declared: dict[str, str] | None,
    fee: int,
    recipient: str,
) -> None:
    """The declared fee is the one in the calldata, and its address has a checksum;
    without a fee none is declared.
    """
    response = pay(world, order("10", "fUSDC-sepolia"), Settings(**options))
    arguments = decoded(response["transactions"][1], PAY_TOKEN)

    assert declared == response["metadata"].get("protocolFee")
    assert (fee, recipient.lower()) == arguments[4:]
    assert 10_000_000 + fee == decoded(response["transactions"][0], APPROVE)[1]


ALLOWANCES = [
    # currency, allowance before, approvals in the response
    ("fUSDC-sepolia", 0, [10**7]),
    ("fUSDC-sepolia", 10**7 - 1, [10**7]),  # too little: approved again
    ("fUSDC-sepolia", 10**7, []),  # enough: nothing to approve
    ("USDT-mainnet", 0, [10**7]),
    ("USDT-mainnet", 5, [0, 10**7]),  # its contract requires zero first
    ("USDT-mainnet", 10**7, []),
    ("USDT-matic", 5, [10**7]),  # elsewhere it does not
]


@pytest.mark.parametrize(("currency", "allowance", "approvals"), ALLOWANCES)
def test_approvals_depend_on_the_allowance(
    world: World, currency: str, allowance: int, approvals: list[int]
) -> None:
    """A payment has the approvals that the token needs, and the metadata gives their
    indexes.
    """
    holding = {currency: {"balance": 10**9, "allowance": allowance}}
    with world.begin(write=True) as session:
        session.row.wallet = holding
    response = pay(world, order("10", currency), NO_FEE)
    steps = response["transactions"]

    assert approvals == [decoded(step, APPROVE)[1] for step in steps[:-1]]
    assert {
        "stepsRequired": len(steps),
        "needsApproval": bool(approvals),
        "approvalTransactionIndex": len(approvals) - 1 if approvals else None,
        "paymentTransactionIndex": len(approvals),
        "hasEnoughBalance": True,
        "hasEnoughGas": True,
    } == response["metadata"]


def test_references_follow_the_public_formula() -> None:
    """A reference paid on Sepolia is computed from its parts."""
    request_id = "0108b3f7d7d7d3c1fd21d37ba996b21d019c59cbaaa75c5cb5801fc3d9a371c142"
    salt, address = "8682e8e726d1b4f1", "0xc43d766CB7c48B9B198db87441b97c09e81717A1"

    assert "050562a52ec69fa2" == payment_reference(request_id, salt, address).hex()


CONVERSIONS = [
    # amount, invoice, payment, base units: by the sandbox's own rates
    ("10", "EUR", "fUSDC-sepolia", 11_000_000),
    ("100", "JPY", "fUSDC-sepolia", 650_000),  # yen have no decimals
    (
        "0.01",
        "USD",
        "WBTC-mainnet",
        17,
    ),  # 16.67 of 10^-8: rounded up, the payee gets no less
    ("1", "fUSDC-sepolia", "ETH-sepolia-sepolia", 4 * 10**14),
    ("1", "USDC-mainnet", "USDCn-matic", 10**6),
    ("1.000000000000000001", "ETH-sepolia-sepolia", "ETH-sepolia-sepolia", 10**18 + 1),
]


@pytest.mark.parametrize(("amount", "invoice", "payment", "units"), CONVERSIONS)
def test_invoices_are_converted_exactly(
    amount: str, invoice: str, payment: str, units: int
) -> None:
    """An invoice in another currency is converted at the sandbox's rates, to the last
    base unit.
    """
    assert units == convert(
        parse_amount(amount, known(invoice)), known(invoice), known(payment), Rates({})
    )


def test_the_largest_amount_survives(world: World) -> None:
    """2^256-1 base units are paid exactly; more are refused."""
    largest = format_units(2**256 - 1, known("ETH-sepolia-sepolia"))
    body = order(largest, "ETH-sepolia-sepolia", "ETH-sepolia-sepolia")
    response = pay(world, body, NO_FEE)

    assert "0x" + "f" * 64 == response["transactions"][0]["value"]["hex"]
    with pytest.raises(HttpError, match="256 bits"):
        pay(world, body, Settings(fee_percent=Decimal(1)))


@given(
    st.integers(min_value=1, max_value=2**256 - 1),
    st.sampled_from(sorted(token_list())),
)
@settings(derandomize=True)
def test_formatted_amounts_parse_back(units: int, currency_id: str) -> None:
    """Base units formatted as a decimal parse back exactly, for every currency."""
    assert units == parse_amount(
        format_units(units, known(currency_id)), known(currency_id)
    )


RATE = st.decimals("0.000001", "1000000", places=6)


@given(st.integers(min_value=1, max_value=10**30), RATE, RATE)
@settings(derandomize=True)
def test_conversion_never_underpays(
    units: int, invoice_rate: Decimal, payment_rate: Decimal
) -> None:
    """The payment is worth the invoice, plus less than one base unit."""
    invoice, payment = known("EUR"), known("fUSDC-sepolia")
    rates = Rates({"EUR": str(invoice_rate), "fUSDC-sepolia": str(payment_rate)})
    exact = (
        Fraction(units, 100) * Fraction(invoice_rate) / Fraction(payment_rate) * 10**6
    )

    assert exact <= convert(units, invoice, payment, rates) < exact + 1


@pytest.mark.parametrize(
    ("value", "hexed"),
    [(0, "0x00"), (15, "0x0f"), (256, "0x0100"), (10**15, "0x038d7ea4c68000")],
)
def test_big_numbers_are_written_as_published(value: int, hexed: str) -> None:
    """A value is serialized as in the published responses."""
    assert {"type": "BigNumber", "hex": hexed} == big_number(value)
