"""A payment that is ok pays exactly its order, executed in a local EVM: also after one
change of anything in it.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from cases import table_rows
from example_addresses import (
    DEAD,
    FAU,
    HASHES,
    MAIN_USDC,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
)
from example_payments import read
from local_chain import PAYER, Chain
from payerkit import PaymentPolicy
from payerkit.payments.onchain.calldata import NATIVE
from payerkit.payments.onchain.currencies import Currency, find_currency
from test_payment_changes import ALL, Answer, Honest

FRESH = f"0x{'a4' * 20}"
"""A wallet that allows nobody anything: for payments that approve what they need."""

TOKENS = {
    "sepolia": ("fUSDC-sepolia", "FAU-sepolia"),
    "mainnet": ("USDC-mainnet", "DAI-mainnet"),
}
EXACT = PaymentPolicy(batch_fee=Decimal(0))
KINDS: dict[str, Honest] = ALL | {
    row["why"]: Honest.of(row["paid"], policy=row["policy"])
    for row in table_rows("executed_payments", read)
}
"""Honest payments of each kind that can be ok, which escrows, swaps, receivables and
contracts for one cannot be.
"""


@cache
def chain_of(network: str) -> Chain:
    """Return a network, whose state the tests restore."""
    chain = Chain(network, *TOKENS[network])
    for token in chain.tokens:
        chain.give(token, FRESH, 2**128)
    chain.give_coins(FRESH, 2**128)
    return chain


@dataclass(frozen=True)
class Due:
    """What an order asks for: of a token, or the coin, so many base units for its
    payee.
    """

    network: str
    token: str
    payee: str
    amount: int


def dues(honest: Honest) -> list[Due]:
    """Return what the orders of a payment ask for."""
    asked = (
        [honest.order]
        if honest.order is not None
        else honest.options["orders"].to_dict("records")
    )
    return [
        _due(
            {key.replace("_", "").lower(): value for key, value in each.items()}, honest
        )
        for each in asked
    ]


def _due(asked: dict[str, Any], honest: Honest) -> Due:
    paid, invoice = (
        _currency(asked[name]) for name in ("paymentcurrency", "invoicecurrency")
    )
    rate = (
        Decimal(1)
        if paid == invoice
        else honest.options["policy"].rate(paid.id, invoice.id)
    )
    amount = Decimal(asked["amount"]) / rate * Decimal(10) ** paid.decimals
    return Due(
        paid.network,
        paid.address.lower() or NATIVE,
        asked["payee"].lower(),
        int(amount),
    )


def _currency(name: str) -> Currency:
    found = find_currency(name)
    assert found is not None
    return found


def executed(honest: Honest, answer: Answer) -> tuple[Counter[tuple[str, str]], int]:
    """Return what the transactions of a response move, and how much they leave allowed
    to contracts.
    """
    due = dues(honest)
    chain, payees = chain_of(due[0].network), {each.payee for each in due}
    approvals = [
        each
        for each in answer["transactions"]
        if str(each["data"])[:10].lower() == "0x095ea7b3"
    ]
    grants = [each for each in approvals if int(each["data"][74:138] or "0", 16)]
    wallet = (
        FRESH if grants else PAYER
    )  # where nothing is granted, the wallet has granted enough before
    fees = {fee.address.lower() for fee in honest.options.get("policy", EXACT).fees}
    with chain.undone():
        before = chain.balances(frozenset({wallet, *payees, *fees}))
        for each in answer["transactions"]:
            call = bytes.fromhex(each["data"].removeprefix("0x"))
            chain.call(each["to"], call, int(str(each["value"]), 0), sender=wallet)
        after = chain.balances(frozenset({wallet, *payees, *fees}))
        left = sum(
            chain.allowance(each["to"], wallet, f"0x{each['data'][34:74]}")
            for each in approvals
        )
    return Counter({place: now - before[place] for place, now in after.items()}), left


def contradiction(honest: Honest, answer: Answer) -> str:
    """Return how the executed balances differ from the orders beyond what was agreed;
    "" if they do not.

    What leaves the wallet is what arrives at the payees and at the wallets for agreed
    fees: nothing goes elsewhere.
    """
    moved, left = executed(honest, answer)
    policy, due = honest.options.get("policy", EXACT), dues(honest)
    if policy.rate_tolerance and not any(moved.values()):
        # within the agreed tolerance of a rate, the maximum may be too little: then
        # nothing is paid
        return ""
    paid: Counter[tuple[str, str]] = Counter()
    for each in due:
        paid[each.token, each.payee] += each.amount
    for fee in policy.fees:
        for token in {each.token for each in due}:
            place = token, fee.address.lower()
            most = (
                sum(each.amount for each in due if each.token == token)
                * fee.max_percent
                / 100
            )
            paid[place] += (
                moved[place] if 0 <= moved[place] - paid[place] <= most else 0
            )
    wallet = PAYER if (NATIVE, PAYER) in moved else FRESH
    for (token, _), amount in [*paid.items()]:
        paid[token, wallet] -= amount
    moved.subtract(paid)
    wrong = {place: amount for place, amount in moved.items() if amount}
    return f"{wrong}, {left} left" if wrong or left else ""


@pytest.mark.parametrize("name", KINDS)
def test_an_honest_payment_pays_its_order(name: str) -> None:
    """It is ok, and pays exactly what is asked for; no contract may take more
    afterwards.
    """
    honest = KINDS[name]

    assert ("ok", "") == (honest.verdict(), contradiction(honest, honest.answer))


Change = Callable[[random.Random, Answer], None]

WORDS = [
    *(
        f"{int(address, 16):064x}"
        for address in (OTHER, PAYEE, TOKEN, FAU, MAIN_USDC, DEAD, "0x0", *HASHES)
    )
]
WORDS += [
    f"{number:064x}" for number in (1, 2, 3, 4, 5, 6, 32, 64, 96, 10**7, 10**19, MAX)
]
"""What may stand in place of a word of calldata, and mean something."""


def _transaction(chance: random.Random, answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = chance.choice(answer["transactions"])
    return found


def change_byte(chance: random.Random, answer: Answer) -> None:
    """Change a byte of calldata, or of an address that is called."""
    changed = _transaction(chance, answer)
    member = chance.choice(["data", "data", "data", "to"])
    place = 2 * chance.randrange(1, len(changed[member]) // 2)
    changed[member] = (
        f"{changed[member][:place]}{chance.randrange(256):02x}"
        f"{changed[member][place + 2 :]}"
    )


def change_word(chance: random.Random, answer: Answer) -> None:
    """Put another word in place of one of calldata, or in between, or leave one out, or
    exchange two.
    """
    changed = _transaction(chance, answer)
    call = changed["data"]
    words = [call[place : place + 64] for place in range(10, len(call), 64)]
    place, other = chance.randrange(len(words)), chance.randrange(len(words))
    kind = chance.randrange(5)
    if kind < 2:
        words[place] = chance.choice([*WORDS, *words])
    elif kind == 2:
        words.insert(place, chance.choice([*WORDS, *words]))
    elif kind == 3:
        words.pop(place)
    else:
        words[place], words[other] = words[other], words[place]
    changed["data"] = call[:10] + "".join(words)


def change_value(chance: random.Random, answer: Answer) -> None:
    """Change the native value of a transaction."""
    changed = _transaction(chance, answer)
    value = int(changed["value"])
    changed["value"] = str(
        chance.choice([0, 1, value + 1, max(value - 1, 0), 2 * value, 10**18, MAX])
    )


def change_transactions(chance: random.Random, answer: Answer) -> None:
    """Leave a transaction out, repeat or move it, or add one of another payment."""
    transactions, place = (
        answer["transactions"],
        chance.randrange(len(answer["transactions"])),
    )
    others = [
        each for honest in KINDS.values() for each in honest.answer["transactions"]
    ]
    kind = chance.randrange(4)
    taken = (
        transactions.pop(place)
        if kind != 1 or len(transactions) == 1
        else transactions[place]
    )
    if kind in {1, 2}:
        transactions.insert(
            chance.randrange(len(transactions) + 1), copy.deepcopy(taken)
        )
    elif kind == 3:
        transactions.insert(
            chance.randrange(len(transactions) + 1),
            copy.deepcopy(chance.choice(others)),
        )


def change_member(chance: random.Random, answer: Answer) -> None:
    """Change, leave out or add a member anywhere in the response."""
    holders = [answer, *answer["transactions"], *filter(None, [answer.get("metadata")])]
    holder = chance.choice(holders)
    others = "note network chainId requestId amount payee to data value"
    name = chance.choice([*holder, *others.split()])
    texts = ["", "10", "0x0", "sepolia", OTHER, PAYEE, f"0x{REFERENCE.hex()}"]
    value: Any = chance.choice([None, 0, 1, True, [], {}, *texts])
    if chance.random() < 0.3:
        holder.pop(name, None)
    elif name != "transactions":
        holder[name] = value


CHANGES: list[Change] = [
    change_byte,
    change_byte,
    change_word,
    change_word,
    change_value,
    change_transactions,
]
CHANGES.append(change_member)


def changes(honest: Honest, name: str, count: int) -> Iterator[tuple[str, Answer]]:
    """Yield the response with one change, the same ones each time."""
    for number in range(count):
        chance = random.Random(f"{name} {number}")  # noqa: S311 - no secret
        answer, change = copy.deepcopy(honest.answer), chance.choice(CHANGES)
        change(chance, answer)
        if answer != honest.answer:
            yield f"{change.__name__} {number}", answer


COUNTS = [
    pytest.param(40, id="some"),
    pytest.param(400, marks=pytest.mark.slow, id="many"),
    pytest.param(10_000, marks=pytest.mark.soak, id="very many"),
]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", KINDS)
def test_what_stays_ok_after_a_change_pays_the_order(name: str, count: int) -> None:
    """Either the change is seen, or it changes nothing that matters."""
    honest = KINDS[name]
    passed = [
        (what, answer)
        for what, answer in changes(honest, name, count)
        if honest.verdict(answer) == "ok"
    ]

    assert [] == [
        (what, problem)
        for what, answer in passed
        if (problem := contradiction(honest, answer))
    ]
