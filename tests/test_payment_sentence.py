"""The sentence that says what a payment does."""

from __future__ import annotations

from decimal import Decimal

import pytest

from example_payments import (
    APPROVAL,
    DEAD,
    ETH,
    FEE_PROXY,
    GOOD,
    HASHES,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
    TOKEN_PAYMENT,
    USDC,
    data,
    order,
    payment,
)
from payerkit import PaymentPolicy
from payerkit.models import Payment
from payerkit.onchain.currencies import find_deployment
from test_card import DECLARED, UNLIMITED, WITH_FEE


def in_batch(*amounts: int, to: tuple[str, ...]) -> Payment:
    """Return a batch of payments without fees."""
    details = [(payee, amount, [TOKEN], REFERENCE, 0, 0, 0) for payee, amount in zip(to, amounts, strict=True)]
    call = data("92cddb91", [(2, details)], [], DEAD)
    return payment((BATCH_PROXY, call, 0), asked=USDC)


def converted(most: int) -> Payment:
    """Return a payment of 10 USD that is converted on execution."""
    proxy = str(find_deployment("Erc20ConversionProxy", "sepolia").address)  # type: ignore[union-attr]
    call = data("3af2c012", PAYEE, 10**9, [HASHES[0], TOKEN], REFERENCE, 0, DEAD, most, 0)
    return payment((proxy, call, 0), asked=order("fUSDC-sepolia", "USD"))


TO = f"{PAYEE[:6]}...{PAYEE[-4:]}"
OTHER_KIND = (TOKEN, data("39509351", FEE_PROXY, 5), 0)
UNREADABLE = (TOKEN, "0x12345678", 0)
BATCH_PROXY = "0x67818703c92580c0e106e401F253E8A410A66f8B"  # BatchConversionPayments on sepolia
MATIC_PROXY = find_deployment("ERC20FeeProxy", "matic").address  # type: ignore[union-attr]
ON_SEPOLIA = f"on Sepolia to {TO}, no fee, one signature."
FEE_LEG = (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10**4, REFERENCE, 0, DEAD), 0)
MESSAGE: dict[str, dict[str, str]] = {"domain": {}, "types": {}, "message": {}}
BESIDE = f"Would pay 10 fUSDC on Sepolia to {TO}, no fee, two signatures"
SENTENCES: list[tuple[str, Payment, str]] = [
    ("a token", GOOD["token"], f"Pays 10 fUSDC on Sepolia to {TO}, no fee, two signatures."),
    ("a fee", WITH_FEE, f"Pays 10 fUSDC on Sepolia to {TO}, fee 0.1 %, two signatures."),
    ("a coin without its network", GOOD["coin"], f"Pays 10 ETH on Sepolia to {TO}, no fee, one signature."),
    ("a function that has no fee", GOOD["coin without fee"], f"Pays 10 ETH on Sepolia to {TO}, one signature."),
    ("nothing vouches for the payee", payment(TOKEN_PAYMENT, asked=None),
     f"Pays 10000000 base units of an unknown token to {PAYEE}, no fee, one signature."),
    ("an unlimited allowance", UNLIMITED,
     f"Pays 10 fUSDC on Sepolia to {TO}, no fee, an unlimited allowance, two signatures."),
    ("several payments", in_batch(10**7, 2 * 10**7, to=(PAYEE, OTHER)),
     "Would make two payments on Sepolia to two wallets, 30 fUSDC in all, no fee, one signature."),
    ("several payments to one", in_batch(1, 2, 3, to=(PAYEE,) * 3),
     "Would make three payments on Sepolia to one wallet, 0.000006 fUSDC in all, no fee, one signature."),
    ("converted", converted(11 * 10**6),
     f"Pays 10 USD in fUSDC, at the rate on execution and at most 11 fUSDC, {ON_SEPOLIA}"),
    ("converted without a limit", converted(MAX),
     f"Pays 10 USD in fUSDC, at the rate on execution, {ON_SEPOLIA}"),
    ("the contract of another network", payment((str(MATIC_PROXY), TOKEN_PAYMENT[1], 0), asked=USDC),
     f"Would ask an unknown contract to pay 10 fUSDC {ON_SEPOLIA}"),
    ("only an approval", payment(APPROVAL, asked=USDC), "Would pay nobody on Sepolia, one signature."),
    ("another call beside it", payment(OTHER_KIND, TOKEN_PAYMENT, asked=USDC),
     f"{BESIDE}, one of them for a call of another kind."),
    ("something unreadable", payment(TOKEN_PAYMENT, UNREADABLE, asked=USDC),
     f"{BESIDE}, one of them for something that payerkit cannot read."),
    ("nothing but that", payment(UNREADABLE, asked=USDC),
     "Would do something that payerkit cannot read on Sepolia, one signature."),
    ("a message beside it", Payment.read({**GOOD["token"].to_dict(reveal=True), "intent": MESSAGE}, order=USDC),
     f"{BESIDE}, a message to sign beside them."),
    ("a fee as a payment of its own", payment(TOKEN_PAYMENT, FEE_LEG, asked=USDC, metadata=DECLARED),
     f"Pays 10 fUSDC on Sepolia to {TO}, fee 0.1 %, two signatures."),
    ("no transaction", payment(asked=USDC), "There is nothing to sign."),
    ("eleven transactions", payment(*[APPROVAL] * 10, TOKEN_PAYMENT, asked=USDC),
     f"Pays 10 fUSDC on Sepolia to {TO}, no fee, 11 signatures."),
]  # fmt: skip


@pytest.mark.parametrize(("paid", "sentence"), [row[1:] for row in SENTENCES], ids=[row[0] for row in SENTENCES])
def test_the_sentence_says_what_happens(paid: Payment, sentence: str) -> None:
    """Who is paid what, where, with which fee, and how often somebody has to sign."""
    assert sentence == paid.card().sentence


@pytest.mark.parametrize(("name", "shown"), [("Example Payee", f"{TO} (Example Payee)"), ("", TO)])
def test_a_known_payee_has_its_name(name: str, shown: str) -> None:
    """It stands beside the address, which it cannot replace; no empty brackets stand in for a name."""
    policy = PaymentPolicy(addresses={PAYEE: name})

    assert f"Pays 10 fUSDC on Sepolia to {shown}, fee 0.1 %, two signatures." == WITH_FEE.card(policy=policy).sentence


def test_a_lookalike_is_not_shortened() -> None:
    """What it shares with the known address are just the digits that a short form shows."""
    alike = f"{PAYEE[:6]}{'1' * 32}{PAYEE[-4:]}"
    call = data("c219a14d", TOKEN, alike, 10**7, REFERENCE, 0, DEAD)
    paid = payment((FEE_PROXY, call, 0), asked=USDC.replace(payee=alike))

    assert f" to {TO}, " in paid.card().sentence
    assert f" to {alike}, " in paid.card(policy=PaymentPolicy(addresses={PAYEE: "Example Payee"})).sentence


@pytest.mark.parametrize(
    ("fee", "share"), [(10**4, "0.1 %"), (10**5 - 1, "1 %"), (333, "0.0033 %"), (2 * 10**6, "20 %"), (10**7, "100 %")]
)
def test_the_fee_is_a_share_that_a_person_remembers(fee: int, share: str) -> None:
    """Two digits are enough in a sentence; the finding has the exact amount."""
    call = data("c219a14d", TOKEN, PAYEE, 10**7, REFERENCE, fee, OTHER)

    assert f", fee {share}, " in payment((FEE_PROXY, call, 0), asked=USDC).card().sentence
    assert Decimal(fee) / 10**7 == pytest.approx(Decimal(share.removesuffix(" %")) / 100, rel=Decimal("0.02"))


def test_a_fee_of_nothing_is_an_amount() -> None:
    """There is no share of an amount of zero."""
    call = data("c219a14d", TOKEN, PAYEE, 0, REFERENCE, 5000, OTHER)

    assert ", fee 0.005 fUSDC, " in payment((FEE_PROXY, call, 0), asked=USDC).card().sentence


def test_an_amount_of_a_coin_is_exact() -> None:
    """No digit is rounded away."""
    call = data("b868980b", PAYEE, REFERENCE, 0, DEAD)
    sentence = payment((str(GOOD["coin"].transactions[0].to), call, 10**18 + 1), asked=ETH).card().sentence

    assert "1.000000000000000001 ETH" in sentence
