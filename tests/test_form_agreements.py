"""What a person can do about each point of a card that is to be decided on."""

from __future__ import annotations

import re
from typing import Any

import pytest

import payerkit
from filled_forms import ORDER
from payerkit import InvalidInput, PaymentForm, PaymentPolicy, check_payment, samples
from payerkit._tsv import rows

TO_DECIDE = [
    row for row in rows("payerkit.payments", "findings") if row["severity"] == "warning"
]
CODE = re.compile(r"\w+\(\)|\b\w+=|--\w|payerkit\.")
"""A call, an argument or a name, which nobody can type into a form."""


@pytest.mark.parametrize("row", TO_DECIDE, ids=lambda row: str(row["key"]))
def test_each_point_says_in_words_what_to_do(row: dict[str, str]) -> None:
    """The form shows `hint_form`, if there is one; lines to agree to have a button, or
    are shown with what only Python can do.
    """
    words = (row["hint_form"] or row["hint"]).partition("{lines}")[0]

    assert words
    assert None is CODE.search(words.replace("wallet=", ""))


def test_the_most_ordinary_order_can_be_agreed_to() -> None:
    """Ten dollars in a token of dollars: the fee and the peg are the two points, and
    with both agreed to the verdict is OK.
    """
    with payerkit.sandbox(seed=1) as client:
        form = PaymentForm(client)
        form.fill(ORDER | {"invoice_currency": "USD"})
        form.submit(anyway=True)
        points = [*form.findings.warnings]
        verdicts = [form.findings.verdict]
        for point in points:
            form.policy = form.policy.with_lines(point.policy_lines)
            verdicts.append(form.findings.verdict)

    assert ["amount_unchecked", "fee"] == [point.code for point in points]
    assert ["look", "look", "ok"] == verdicts


RATE = '[rates]\n"ETH-mainnet/USD" = "{}"'
FEE = (
    '[[fees]]\naddress = "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5"\nmax_percent ='
    ' "{}"'
)
ALLOWANCE = (
    '[[allowances]]\ntoken = "USDC-mainnet"\nspender ='
    ' "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"\nmost = "{}"'
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (['peg_tolerance = "1"', 'peg_tolerance = "0.5"'], 'peg_tolerance = "0.5"'),
        ([RATE.format(2500), RATE.format(2600)], RATE.format(2600)),
        ([FEE.format("0.1"), FEE.format("0.2")], FEE.format("0.2")),
        ([ALLOWANCE.format(5), ALLOWANCE.format(7)], ALLOWANCE.format(7)),
        (
            ['known_members = ["routeType"]', 'known_members = ["quote"]'],
            'known_members = ["routeType", "quote"]',
        ),
    ],
)
def test_lines_that_are_agreed_to_join_the_policy(
    lines: list[str], expected: str
) -> None:
    """An entry about the same takes the place of the one before."""
    policy = PaymentPolicy()
    for each in lines:
        policy = policy.with_lines(each)

    assert expected == str(policy)


@pytest.mark.parametrize("lines", ["batch_fee = ?", "nonsense", 'unknown = "1"'])
def test_what_is_no_line_is_refused(lines: str) -> None:
    """Such as one that a person has to complete."""
    with pytest.raises(InvalidInput):
        PaymentPolicy().with_lines(lines)


@pytest.mark.parametrize(
    "name",
    [name for name, each in samples.items() if check_payment(each).verdict == "look"],
)
def test_every_line_of_a_sample_can_be_agreed_to(name: str) -> None:
    """The finding that offers it is then no warning any more."""
    sample: Any = samples[name]
    for finding in check_payment(sample).warnings:
        if finding.policy_lines and "?" not in finding.policy_lines:
            policy = PaymentPolicy().with_lines(finding.policy_lines)
            left = check_payment(sample, policy=policy).warnings
            assert finding not in [*left]
