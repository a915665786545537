"""No single change of an honest payment stays ok: none of its bytes or values, of its
order, or of its members.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import table_rows
from example_addresses import FEE_PROXY, MAX, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import GOOD, data, read
from payerkit import PaymentPolicy, check_payment
from payerkit.models import Payment
from payerkit.payments.onchain.currencies import find_currency, networks, token_list
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

EVERY = [
    pytest.param(53, id="some"),
    pytest.param(1, marks=pytest.mark.slow, id="every"),
]
"""Tests go through their changes in such steps; CI leaves out none."""


@pytest.mark.parametrize("name", ALL)
def test_an_honest_payment_is_ok(name: str) -> None:
    """Else the tests below would prove nothing."""
    assert "ok" == ALL[name].verdict()


def digits(honest: Honest) -> Iterator[tuple[int, str, int]]:
    """Yield the place of each hexadecimal digit: transaction, member, position."""
    for number, transaction in enumerate(honest.answer["transactions"]):
        for member in ("to", "data"):
            yield from (
                (number, member, position)
                for position in range(2, len(transaction[member]))
            )


SAME = {("several orders", 1, "data", 393, 15)}
"""Of a batch of several tokens it makes a batch of one token; since all are one, it
pays the same.
"""


def with_other_digit(honest: Honest, place: tuple[int, str, int], more: int) -> Answer:
    """Return the response with another digit: the old one and so much more, modulo
    16.
    """
    number, member, position = place
    text = honest.answer["transactions"][number][member]
    digit = f"{(int(text[position], 16) + more) % 16:x}"
    return honest.with_text(
        number, member, text[:position] + digit + text[position + 1 :]
    )


@pytest.mark.parametrize("step", EVERY)
@pytest.mark.parametrize("name", ALL)
def test_no_changed_digit_is_ok(name: str, step: int) -> None:
    """Another digit anywhere in an address or in calldata is seen."""
    honest = ALL[name]
    changed = list(enumerate(digits(honest)))[::step]

    assert [] == [
        place
        for count, place in changed
        if (name, *place, more := 1 + count % 15) not in SAME
        and honest.verdict(with_other_digit(honest, place, more)) == "ok"
    ]


@pytest.mark.soak
@pytest.mark.parametrize("more", range(1, 16))
@pytest.mark.parametrize("name", ALL)
def test_no_changed_digit_is_ok_whatever_it_is(name: str, more: int) -> None:
    """All other digits in each place."""
    honest = ALL[name]

    assert [] == [
        place
        for place in digits(honest)
        if (name, *place, more) not in SAME
        and honest.verdict(with_other_digit(honest, place, more)) == "ok"
    ]


def rearranged(call: str) -> Iterator[str]:
    """Yield calldata with bytes or words left out, put in, exchanged or repeated at
    each word.
    """
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


@pytest.mark.parametrize("step", EVERY)
@pytest.mark.parametrize("name", ALL)
def test_no_rearranged_calldata_is_ok(name: str, step: int) -> None:
    """Bytes that are missing, repeated or in another place are seen, also where the
    calldata can still be read.
    """
    honest = ALL[name]
    calls = [
        (number, changed)
        for number, transaction in enumerate(honest.answer["transactions"])
        for changed in dict.fromkeys(rearranged(transaction["data"]))
        if changed != transaction["data"]
    ]

    assert [] == [
        each
        for each in calls[::step]
        if honest.verdict(honest.with_text(each[0], "data", each[1])) == "ok"
    ]


@pytest.mark.parametrize("name", ALL)
def test_no_other_value_is_ok(name: str) -> None:
    """More or less than the payments need, by one wei or by much, and what is no
    amount.
    """
    honest = ALL[name]
    for number, transaction in enumerate(honest.answer["transactions"]):
        value = int(transaction["value"])
        others = {
            0,
            1,
            value + 1,
            abs(value - 1),
            value * 10,
            value // 10,
            10**18,
            MAX,
            MAX + 1,
        } - {value}
        forms: list[Any] = [
            *map(str, others),
            *map(hex, others),
            *others,
            -1,
            None,
            "",
            "x",
            [],
            {},
            True,
            0.5,
            "1e3",
        ]

        assert [] == [
            form
            for form in forms
            if honest.verdict(honest.with_text(number, "value", form)) == "ok"
        ]


@pytest.mark.parametrize("name", ALL)
def test_no_missing_or_repeated_payment_is_ok(name: str) -> None:
    """The payment is the last transaction: without it nothing is paid, and with it
    twice it is paid twice.
    """
    honest = ALL[name]
    *approvals, pays = honest.answer["transactions"]
    changed = [
        *(approvals[:end] for end in range(len(approvals) + 1)),
        [*approvals, pays, pays],
    ]

    assert [] == [
        each
        for each in changed
        if honest.verdict({**honest.answer, "transactions": each}) == "ok"
    ]


AMOUNTS = [
    "0",
    "-10",
    "1",
    "5",
    "9.99999",
    "10.00001",
    "10.1",
    "11",
    "20",
    "100",
    "010.1",
    "10.0.0",
    "10,0",
    "0x0a",
]
AMOUNTS += [
    "",
    "x",
    "ten",
    "10 fUSDC",
    "1_0",
    "\N{FULLWIDTH DIGIT ONE}0",
    "NaN",
    "Infinity",
]
"""None of them means ten, which all orders here ask for."""
NEAR = ["9." + 40 * "9", "10." + 40 * "0" + "1"]
"""Likewise, but by a rate they are the same base units."""


def orders(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield orders that differ in one member, in what it means."""
    payee = asked["payee"]
    for place in range(2, len(payee)):
        yield asked | {
            "payee": (
                f"{payee[:place]}{(int(payee[place], 16) + 7) % 16:x}"
                f"{payee[place + 1 :]}"
            )
        }
    for other in (
        OTHER,
        TOKEN,
        FEE_PROXY,
        "0x" + "0" * 40,
        "",
        "0x",
        payee[2:],
        payee[:-1],
        payee + "0",
    ):
        yield asked | {"payee": other}
    is_exact = asked["invoiceCurrency"] == asked["paymentCurrency"]
    for amount in [*AMOUNTS, *NEAR] if is_exact else AMOUNTS:
        yield asked | {"amount": amount}
    fiat = [
        currency.id
        for currency in map(find_currency, ("USD", "EUR", "GBP", "JPY", "CHF"))
        if currency
    ]
    for currency in (*fiat, *token_list(), "", "NONE", "NONE-sepolia"):
        for member in ("invoiceCurrency", "paymentCurrency"):
            if currency.lower() != asked[member].lower():
                yield asked | {member: currency}


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
    own = find_currency(str((honest.order or {})["paymentCurrency"]))
    assert own is not None

    assert [] == [
        each
        for each in networks()
        if each != own.network and honest.verdict(network=each) == "ok"
    ]


THEFT = data("c219a14d", TOKEN, OTHER, 10**7, REFERENCE, 0, OTHER)
ENDLESS = data("095ea7b3", OTHER, MAX)
MESSAGE = {
    "domain": {"chainId": 11155111},
    "types": {"Permit": []},
    "primaryType": "Permit",
    "message": {"to": OTHER},
}
SIGNED: list[Any] = [
    {"to": FEE_PROXY, "data": THEFT, "value": 0},
    {"to": TOKEN, "data": ENDLESS},
    {
        "to": FEE_PROXY.lower(),
        "data": THEFT,
        "value": "0",
        "chainId": 11155111,
        "gas": "0x1",
    },
    {"to": OTHER, "value": "1"},
    {"to": OTHER, "data": "0x"},
    {"to": TOKEN, "input": ENDLESS},
    {"to": TOKEN, "calldata": ENDLESS},
    {"from": PAYEE, "data": "0x6080604052"},
    MESSAGE,
    {**MESSAGE, "chainId": 11155111},
    {"domain": {}, "types": {}, "value": {}},
]
"""What a wallet could sign."""

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
    found = []
    inner = value
    if isinstance(value, dict):
        found.append(value)
        inner = value.values()
    elif not isinstance(value, list):
        return []
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


CLAIMS: list[tuple[str, Any]] = [
    (row["member"], row["value"][0]) for row in table_rows("false_claims", read)
]


@pytest.mark.parametrize("place", ["response", "metadata"])
@pytest.mark.parametrize("name", HONEST)
def test_no_added_contradiction_is_ok(name: str, place: str) -> None:
    """What response or metadata say about network, reference and order is compared with
    the order.
    """
    honest = HONEST[name]
    metadata = honest.answer.get("metadata") or {}
    added = [
        {
            **honest.answer,
            **(
                {member: value}
                if place == "response"
                else {"metadata": {**metadata, member: value}}
            ),
        }
        for member, value in CLAIMS
    ]

    assert [] == [
        claim
        for claim, answer in zip(CLAIMS, added, strict=True)
        if honest.verdict(answer) == "ok"
    ]


STATED: dict[str, list[Any]] = {
    "stepsRequired": [0, 1, 2, 3, 10**9, "2"],
    "needsApproval": [True, False, "no"],
    "approvalTransactionIndex": [0, 1, 2, -1, "0"],
    "paymentTransactionIndex": [0, 1, 2, -1, "0"],
    "hasEnoughBalance": [True, False, "false"],
    "hasEnoughGas": [True, False, 0],
}


@pytest.mark.parametrize("name", ALL)
def test_no_wrong_statement_about_the_transactions_is_ok(name: str) -> None:
    """What the metadata say about the transactions is counted; only what is right is
    ok.
    """
    honest = ALL[name]
    count = len(honest.answer["transactions"])
    right = [
        ("stepsRequired", count),
        ("needsApproval", count > 1),
        *(("approvalTransactionIndex", place) for place in range(count - 1)),
        ("paymentTransactionIndex", count - 1),
        ("hasEnoughBalance", True),
        ("hasEnoughGas", True),
    ]
    metadata = honest.answer.get("metadata") or {}
    stated = [(member, value) for member, values in STATED.items() for value in values]
    passed = [
        each
        for each in stated
        if honest.verdict({**honest.answer, "metadata": {**metadata, **dict([each])}})
        == "ok"
    ]

    assert [(member, repr(value)) for member, value in right] == [
        (member, repr(value)) for member, value in passed
    ]


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
