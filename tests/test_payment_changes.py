"""No single change of an honest payment stays ok: none of its bytes or values, of its
order, or of its members.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import table, table_rows
from example_addresses import FEE_PROXY, MAX, OTHER, PAYEE, TOKEN, ZERO
from example_payments import GOOD, read
from payerkit import PaymentPolicy, check_payment
from payerkit.models import Payment
from payerkit.payments.onchain.currencies import (
    Currency,
    find_currency,
    networks,
    token_list,
)
from test_check_orders import ASKED, batch
from test_check_orders import orders as orders_of

Answer = dict[str, Any]


@dataclass(frozen=True)
class Honest:
    """A payment that is ok, as its response, with all that it is compared with."""

    answer: Answer
    order: dict[str, Any] | None
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, honest: Payment, **options: Any) -> Honest:
        """Take over a payment with its order, its addresses without the checksum, which
        would betray a change.
        """
        answer, asked = honest.to_dict(reveal=True), honest.order
        assert asked is not None
        assert asked.payee is not None
        for transaction in answer["transactions"]:
            transaction["to"] = transaction["to"].lower()
        return cls(
            answer,
            {**asked.to_dict(reveal=True), "payee": asked.payee.lower()},
            options,
        )

    def verdict(
        self,
        answer: Answer | None = None,
        order: dict[str, Any] | None = None,
        **options: Any,
    ) -> str:
        """Return the verdict with another response, another order or other options."""
        read = Payment.read(self.answer if answer is None else answer)
        return check_payment(
            read, self.order if order is None else order, **{**self.options, **options}
        ).verdict

    def with_text(self, number: int, member: str, text: str) -> Answer:
        """Return the response with another text in a member of a transaction."""
        answer = copy.deepcopy(self.answer)
        answer["transactions"][number][member] = text
        return answer


HONEST: dict[str, Honest] = {name: Honest.of(good) for name, good in GOOD.items()}
HONEST |= {
    row["why"]: Honest.of(row["paid"], policy=row["policy"])
    for row in table_rows("agreed_payments", read)
}
"""Honest payments. What a policy agrees to is a range, for fees that the service does
not declare, for the fee of a batch contract and for amounts by a peg; no payment here
is ok by such a range, and the rate fits without a rest."""

SEVERAL = Honest(
    batch(*ASKED).to_dict(reveal=True),
    None,
    {"orders": orders_of(*ASKED), "policy": PaymentPolicy(batch_fee=Decimal(0))},
)
ALL = HONEST | {"several orders": SEVERAL}
"""With a batch that fulfils several orders."""

Change = tuple[int, str, Any]
"""A transaction, its member, and another text or value for it."""

EVERY = [
    pytest.param(53, id="some"),
    pytest.param(1, marks=pytest.mark.slow, id="every"),
]
"""Tests go through their changes in such steps; CI leaves out none."""


@pytest.mark.parametrize("name", ALL)
def test_an_honest_payment_is_ok(name: str) -> None:
    """Else the tests below would prove nothing."""
    assert "ok" == ALL[name].verdict()


def other_digits(honest: Honest, more: int = 0) -> Iterator[Change]:
    """Yield another digit anywhere in an address or in calldata: the old one and so
    much more, modulo 16; by default, another number at each place.
    """
    count = 0
    for number, transaction in enumerate(honest.answer["transactions"]):
        for member in ("to", "data"):
            text = transaction[member]
            for place in range(2, len(text)):
                added = more or 1 + count % 15
                digit = f"{(int(text[place], 16) + added) % 16:x}"
                yield number, member, text[:place] + digit + text[place + 1 :]
                count += 1


def rearranged(honest: Honest) -> Iterator[Change]:
    """Yield calldata with bytes or words left out, put in, exchanged or repeated at
    each word, also where the calldata can still be read.
    """
    for number, transaction in enumerate(honest.answer["transactions"]):
        call = transaction["data"]
        for changed in dict.fromkeys(rearranged_calls(call)):
            if changed != call:
                yield number, "data", changed


def rearranged_calls(call: str) -> Iterator[str]:
    """Yield the calldata of one transaction, rearranged."""
    for place in range(2, len(call) + 1, 8):
        yield call[:place] + "00" + call[place:]
        yield call[:place] + call[place + 2 :]
        yield call[:place]
    words = [call[place : place + 64] for place in range(10, len(call), 64)]
    for place, word in enumerate(words):
        rest = words[:place] + words[place + 1 :]
        yield call[:10] + "".join([*words[:place], word, *words[place:]])
        yield call[:10] + "".join(rest)
        for other in range(len(rest) + 1):
            yield call[:10] + "".join([*rest[:other], word, *rest[other:]])
    yield call + call
    yield call + call[2:]
    yield call[:10] + call[2:]


def other_values(honest: Honest) -> Iterator[Change]:
    """Yield more or less than the payments need, by one wei or by much, and what is no
    amount.
    """
    for number, transaction in enumerate(honest.answer["transactions"]):
        value = int(transaction["value"])
        near = {value + 1, abs(value - 1), value * 10, value // 10}
        for other in ({0, 1, 10**18, MAX, MAX + 1} | near) - {value}:
            yield number, "value", other
            yield number, "value", str(other)
            yield number, "value", hex(other)
        forms: list[Any] = [-1, None, "", "x", [], {}, True, 0.5, "1e3"]
        for form in forms:
            yield number, "value", form


def passed(honest: Honest, changes: Iterable[Change]) -> list[Change]:
    """Return the changes after which a payment is still ok."""
    return [
        change
        for change in changes
        if honest.verdict(honest.with_text(*change)) == "ok" and change != SAME
    ]


SAME = (1, "data", SEVERAL.answer["transactions"][1]["data"])
SAME = (*SAME[:2], f"{SAME[2][:393]}1{SAME[2][394:]}")
"""Of a batch of several tokens it makes a batch of one token; since all are one, it
pays the same.
"""


@pytest.mark.parametrize(
    ("change", "step"),
    [
        pytest.param(other_digits, 53, id="some digits"),
        pytest.param(other_digits, 1, marks=pytest.mark.slow, id="digits"),
        pytest.param(rearranged, 53, id="some rearranged calls"),
        pytest.param(rearranged, 1, marks=pytest.mark.slow, id="rearranged calls"),
        pytest.param(other_values, 1, id="values"),
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_no_changed_transaction_is_ok(
    name: str, change: Callable[[Honest], Iterator[Change]], step: int
) -> None:
    """Digits, calldata and values are seen in each place."""
    assert [] == passed(ALL[name], [*change(ALL[name])][::step])


@pytest.mark.soak
@pytest.mark.parametrize("more", range(1, 16))
@pytest.mark.parametrize("name", ALL)
def test_no_changed_digit_is_ok_whatever_it_is(name: str, more: int) -> None:
    """All other digits in each place."""
    assert [] == passed(ALL[name], other_digits(ALL[name], more))


@pytest.mark.parametrize("name", ALL)
def test_no_missing_or_repeated_payment_is_ok(name: str) -> None:
    """The payment is the last transaction: without it nothing is paid, and with it
    twice it is paid twice.
    """
    honest = ALL[name]
    *approvals, pays = honest.answer["transactions"]
    changed = [approvals[:end] for end in range(len(approvals) + 1)]

    for transactions in [*changed, [*approvals, pays, pays]]:
        assert "ok" != honest.verdict({**honest.answer, "transactions": transactions})


AMOUNTS = """
0 -10 1 5 9.99999 10.00001 10.1 11 20 100 010.1 10.0.0 10,0 0x0a x ten 1_0
\N{FULLWIDTH DIGIT ONE}0 NaN Infinity
"""
NEAR = ["9." + 40 * "9", "10." + 40 * "0" + "1"]
"""Likewise, but by a rate they are the same base units."""


def orders(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield orders that differ in one member, in what it means."""
    payee = asked["payee"]
    payees = [OTHER, TOKEN, FEE_PROXY, ZERO, "", "0x", payee[2:], payee[:-1]]
    for place in range(2, len(payee)):
        digit = f"{(int(payee[place], 16) + 7) % 16:x}"
        payees.append(payee[:place] + digit + payee[place + 1 :])
    for other in (*payees, payee + "0"):
        yield asked | {"payee": other}
    is_exact = asked["invoiceCurrency"] == asked["paymentCurrency"]
    near = NEAR if is_exact else []
    for amount in [*AMOUNTS.split(), "", "10 fUSDC", *near]:
        yield asked | {"amount": amount}
    fiat = [currency("USD"), currency("EUR"), currency("GBP"), currency("JPY")]
    ids = [each.id for each in (*fiat, currency("CHF"))]
    for other in (*ids, *token_list(), "", "NONE", "NONE-sepolia"):
        for member in ("invoiceCurrency", "paymentCurrency"):
            if other.lower() != asked[member].lower():
                yield asked | {member: other}


def currency(name: str) -> Currency:
    """Return a currency that is there."""
    found = find_currency(name)
    assert found is not None
    return found


@pytest.mark.parametrize("step", EVERY)
@pytest.mark.parametrize("name", HONEST)
def test_no_other_order_is_ok(name: str, step: int) -> None:
    """Another payee, amount or currency than the transactions have."""
    honest = HONEST[name]
    assert honest.order is not None

    assert [] == [
        each
        for each in [*orders(honest.order)][::step]
        if honest.verdict(order=each) == "ok"
    ]


@pytest.mark.parametrize("name", HONEST)
def test_no_other_network_is_ok(name: str) -> None:
    """The same contracts are at other addresses elsewhere, or are others there."""
    honest = HONEST[name]
    own = currency(str((honest.order or {})["paymentCurrency"])).network

    for network in {*networks()} - {own}:
        assert "ok" != honest.verdict(network=network)


SIGNED: list[Any] = [row["signed"] for row in table_rows("things_to_sign", read)]

NAMES = st.sampled_from(
    [
        "batchPaymentTransaction",
        "ERC20ApprovalTransactions",
        "fallback",
        "steps",
        "permit",
        "_",
        "",
        "x.y",
        "0",
        "None",
    ]
) | st.text(max_size=12)
WRAPPERS: list[Callable[[Any], Any]] = [
    lambda value: [value],
    lambda value: [None, [], value],
    lambda value: {"inner": value},
    lambda value: {"": value, "domain": {}},
    lambda value: {"transactions": [value]},
    json.dumps,
]


def objects(value: Any) -> list[dict[str, Any]]:
    """Return an object and all objects inside it."""
    found = [value] if isinstance(value, dict) else []
    inner = value.values() if found else value
    if isinstance(value, dict | list):
        for each in inner:
            found += objects(each)
    return found


@given(
    name=st.sampled_from(sorted(ALL)),
    member=NAMES,
    signed=st.sampled_from(SIGNED),
    wrappers=st.lists(st.sampled_from(WRAPPERS), max_size=3),
    place=st.integers(0, 9),
)
def test_no_added_thing_to_sign_is_ok(
    name: str,
    member: str,
    signed: Any,
    wrappers: list[Callable[[Any], Any]],
    place: int,
) -> None:
    """A transaction or a message, under any name, in any object of the response, as
    deep as it may be.
    """
    honest = ALL[name]
    answer = copy.deepcopy(honest.answer)
    holders = objects(answer)
    holder = holders[place % len(holders)]
    assume(member not in holder)
    for wrap in wrappers:
        signed = wrap(signed)
    holder[member] = signed

    assert honest.verdict(answer) != "ok"


@pytest.mark.parametrize("name", HONEST)
@table("false_claims", read)
def test_no_added_contradiction_is_ok(name: str, member: str, value: list[Any]) -> None:
    """What response or metadata say about network, reference and order is compared with
    the order.
    """
    honest = HONEST[name]
    metadata = honest.answer.get("metadata") or {}
    claim = {member: value[0]}

    assert "ok" != honest.verdict(honest.answer | claim)
    assert "ok" != honest.verdict({**honest.answer, "metadata": metadata | claim})


STATED: list[tuple[str, Any]] = [
    *(("stepsRequired", value) for value in (0, 1, 2, 3, 10**9, "2")),
    *(("needsApproval", value) for value in (True, False, "no")),
    *(("approvalTransactionIndex", value) for value in (0, 1, 2, -1, "0")),
    *(("paymentTransactionIndex", value) for value in (0, 1, 2, -1, "0")),
    *(("hasEnoughBalance", value) for value in (True, False, "false")),
    *(("hasEnoughGas", value) for value in (True, False, 0)),
]


@pytest.mark.parametrize("name", ALL)
def test_no_wrong_statement_about_the_transactions_is_ok(name: str) -> None:
    """What the metadata say about the transactions is counted; only what is right is
    ok.
    """
    honest = ALL[name]
    count = len(honest.answer["transactions"])
    right: list[tuple[str, Any]] = [
        ("stepsRequired", count),
        ("needsApproval", count > 1),
        *(("approvalTransactionIndex", place) for place in range(count - 1)),
        ("paymentTransactionIndex", count - 1),
        ("hasEnoughBalance", True),
        ("hasEnoughGas", True),
    ]
    metadata = honest.answer.get("metadata") or {}
    ok = [
        (member, value)
        for member, value in STATED
        if "ok"
        == honest.verdict({**honest.answer, "metadata": {**metadata, member: value}})
    ]

    assert repr(right) == repr(ok)


@pytest.mark.parametrize(
    "column",
    ["payee", "amount", "payment_reference", "invoice_currency", "payment_currency"],
)
@pytest.mark.parametrize("row", range(len(ASKED)))
def test_no_other_row_of_orders_is_ok(column: str, row: int) -> None:
    """A batch has to fulfil each of its orders."""
    asked = orders_of(*ASKED)
    others = {
        "payee": OTHER if asked["payee"][row] != OTHER else PAYEE,
        "amount": "10.000001",
        "payment_reference": "0x" + "77" * 8,
        "invoice_currency": "USDT-mainnet",
        "payment_currency": "USDT-mainnet",
    }
    asked.loc[row, column] = others[column]

    assert SEVERAL.verdict(orders=asked) != "ok"


@pytest.mark.parametrize("rows", [[0], [0, 1], [0, 1, 2, 2], [0, 1, 1], [0, 0, 0]])
def test_no_other_number_of_orders_is_ok(rows: list[int]) -> None:
    """An order too many or too few is told, also if the others match."""
    assert SEVERAL.verdict(orders=orders_of(*ASKED).iloc[rows]) != "ok"
