"""The lines that findings tell a user to add: put into a policy as the finding says,
they end it.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import table, table_rows
from example_addresses import (
    DEAD,
    ETH_FEE_PROXY,
    FEE_PROXY,
    HASHES,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
)
from example_payments import (
    GOOD,
    SWAPPED,
    TOKEN_PAYMENT,
    codes,
    converted,
    data,
    payment,
    read,
)
from payerkit import PaymentPolicy, check_payment, samples
from payerkit._tsv import rows
from payerkit.models import Payment

FULL = f"""\
batch_fee = "0.3"

[[fees]]
address = "{DEAD}"
max_percent = "1"

[rates]
"FAU-sepolia/USD" = "1"
"""
ORDER = {
    "payee": PAYEE,
    "amount": "10",
    "invoice_currency": "fUSDC-sepolia",
    "payment_currency": "fUSDC-sepolia",
}


def added(text: str, hint: str) -> str:
    """Return the text of a policy with the lines of a hint, where the hint wants
    them.
    """
    where, _, lines = hint.partition(":\n")
    lines = lines.replace('decimals = "?"', "decimals = 6").replace(
        'batch_fee = "?"', 'batch_fee = "0.3"'
    )
    lines = lines.replace('/USD" = "?"', '/USD" = "2500"')
    if "at the top" in where:
        others = (
            line
            for line in text.splitlines()
            if line.partition(" = ")[0] != lines.partition(" = ")[0]
        )
        return "\n".join([lines, *others])
    if "under its one [rates] heading" in where and "[rates]" in text:
        return text.replace("[rates]", lines)
    if "change this entry" in where:
        address = lines.splitlines()[1]
        text = "\n\n".join(
            entry for entry in text.split("\n\n") if address not in entry
        )
    return f"{text}\n\n{lines}\n"


def advised(paid: Any, order: Any, text: str, folder: Path) -> list[str]:
    """Return the verdicts of a payment without the advice of its findings, with it, and
    with that of what is left.
    """
    file = folder / "policy.toml"
    verdicts: list[str] = []
    for _ in range(3):
        file.write_text(text, "utf-8")
        found = check_payment(paid, order, policy=PaymentPolicy.read(file))
        verdicts.append(found.verdict)
        for hint in dict.fromkeys(each.hint for each in found if ":\n" in each.hint):
            text = added(text, hint)
    return verdicts


def pay(fee: int) -> tuple[str, str, int]:
    """Return a payment of 10 fUSDC with a fee."""
    return (FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7, REFERENCE, fee, OTHER), 0)


def ether(wei: int) -> tuple[str, str, int]:
    """Return a payment in ETH."""
    return (ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), wei)


CHARGED = {"percentage": "9.99999", "address": OTHER}
"""The declaration of a fee; payments here take at most as much."""

IN_ETH = ORDER | {"invoice_currency": "USD", "payment_currency": "ETH-sepolia-sepolia"}


@pytest.mark.parametrize("text", ["", FULL], ids=["an empty policy", "a policy"])
@table("payments_to_agree_to", read)
def test_the_lines_of_findings_make_a_payment_ok(
    paid: Payment, order: Any, text: str, tmp_path: Path
) -> None:
    """Whoever agrees to what a finding says copies its lines, and the payment is ok
    from then on.

    Only a token, and the rate of a conversion, have to be known before an amount can be
    compared.
    """
    text = text.replace('batch_fee = "0.3"\n', "") if order == ORDER else text
    first, second, last = advised(paid, order, text, tmp_path)

    assert ("look", "ok") == (first, last)
    assert second == "ok" or order["payment_currency"] in {
        "USDCn-sepolia",
        "ETH-sepolia-sepolia",
    }


@pytest.mark.parametrize(
    "call",
    [ether(401 * 10**13), (*converted(10**9, *HASHES)[:2], 41 * 10**14)],
    ids=["an amount", "a maximum"],
)
def test_the_tolerance_of_a_finding_is_wide_enough(call: Any, tmp_path: Path) -> None:
    """What is near a rate of the policy, but not at it, is ok once the difference is
    agreed to.
    """
    rates = '[rates]\n"ETH-sepolia-sepolia/USD" = "2500"\n'

    assert ["look", "ok", "ok"] == advised(
        payment(call, asked=None), IN_ETH, rates, tmp_path
    )


@given(st.integers(10**9, 10**24), st.decimals("0.01", "999999", places=2))
def test_the_rate_of_a_finding_is_right_to_the_base_unit(
    wei: int, amount: Decimal
) -> None:
    """However odd the service's rate is, the policy that is told for it makes the
    payment ok.
    """
    paid, order = payment(ether(wei), asked=None), IN_ETH | {"amount": f"{amount:f}"}
    (hint,) = (
        each.hint
        for each in check_payment(paid, order)
        if each.code == "amount_unchecked"
    )
    (rate,) = re.findall(r'USD" = "(.*)"', hint)

    assert "ok" == check_payment(paid, order, rate=rate).verdict


def test_what_the_lines_clear_is_this_payment_only(tmp_path: Path) -> None:
    """The lines for one payment do not clear one that takes more."""
    file = tmp_path / "policy.toml"
    declared = {"protocolFee": CHARGED}
    found = check_payment(
        payment(
            (TOKEN, data("095ea7b3", FEE_PROXY, 10_010_000), 0),
            pay(10_000),
            asked=None,
            metadata=declared,
        ),
        ORDER,
    )
    file.write_text(
        "".join(added("", each.hint) for each in found if ":\n" in each.hint), "utf-8"
    )
    policy = PaymentPolicy.read(file)

    assert (
        "ok"
        == check_payment(payment(pay(10_000), asked=None), ORDER, policy=policy).verdict
    )
    assert "fee" in codes(
        check_payment(payment(pay(10_002), asked=None), ORDER, policy=policy), "warning"
    )
    assert (
        "ok"
        == check_payment(
            payment(TOKEN_PAYMENT, asked=None), ORDER, policy=policy
        ).verdict
    )


STOPPED = [
    *(
        (row["why"], row["paid"], row["text"])
        for row in table_rows("payments_with_lines", read)
    ),
    *(
        (f"review: {name}", paid, "")
        for name, paid, _ in SWAPPED
        if paid != GOOD["coin"]
    ),
    *(
        (f"fee: {row['why']}", row["paid"], str(row["options"].get("policy", "")))
        for row in table_rows("fees", read)
        if row["verdict"] == "stop"
    ),
    *(
        (f"sample: {name}", paid, "")
        for name, paid in samples.items()
        if check_payment(paid).verdict == "stop"
    ),
]
"""Payments that are stopped, with what is agreed to already; many have other findings,
which do have lines.
"""


@pytest.mark.parametrize(
    ("paid", "text"), [row[1:] for row in STOPPED], ids=[row[0] for row in STOPPED]
)
def test_no_lines_make_a_stop_less(paid: Payment, text: str, tmp_path: Path) -> None:
    """Whoever copies all lines that the findings of a stopped payment offer still has a
    stopped payment.
    """
    assert ["stop"] * 3 == advised(paid, None, text, tmp_path)


def test_stopped_payments_offer_lines_apart() -> None:
    """A finding has the lines that its hint shows, so that nobody takes the hint apart;
    many of these have some.
    """
    found = [each for _, paid, _ in STOPPED for each in check_payment(paid)]

    assert [] == [
        each for each in found if each.policy_lines != each.hint.partition(":\n")[2]
    ]
    assert 15 <= len([each for each in found if each.policy_lines])


@pytest.mark.parametrize(
    "row", list(rows("payerkit.payments", "findings")), ids=lambda row: str(row["key"])
)
def test_no_error_has_lines(row: dict[str, str]) -> None:
    """What stops a payment is corrected, or written into the policy by hand."""
    assert row["severity"] != "error" or "{lines}" not in row["hint"]
