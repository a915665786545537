"""Every finding about a payment stands in the reference, and has an example: a row of
the tables of payments, or a test of what else finds it.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import payerkit
from cases import DATA, table_rows
from example_addresses import BATCHES, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import USDC, data, payment, read
from payerkit import check_payment
from payerkit.findings import Finding, PaymentFindings, payment_findings
from payerkit.money import payout_checklist
from payout_service import CHASE, PayoutService, client_of
from published import PAYER
from test_check_payout import judged_payout
from test_check_response import HONEST, judged

OPTIONS = "amounts fees fee_legs approvals payees findings_of_payments"
"""Tables of payments, and what they are compared with."""

ALONE = "good_payments", "payments_to_look_at", "payments_to_stop"
"""Tables of payments that are compared with their own order."""

ELSEWHERE = {
    "perhaps_paid": "test_check_payments.py",
    "payee_lookalike.table": "test_check_payments.py",
    "payment_unreadable": "test_check_payments.py",
    "response_too_large": "test_check_response.py",
    "member_repeated": "test_check_response.py",
    "paid_": "test_check_payout.py",
    "account_repeated": "test_check_payout.py",
    "node_": "test_execute.py",
    "not_executed": "test_execute.py",
    "executed": "test_execute.py",
}
"""Findings by how their keys begin that need more than a payment and an order: several
payments, a service, an account or a node. Where they are tried."""


def examples() -> Iterator[Finding]:
    """Yield the findings about all payments of the tables."""
    for name in OPTIONS.split():
        for row in table_rows(name, read):
            yield from check_payment(row["paid"], **row["options"])
    for row in table_rows("agreed_payments", read):
        yield from check_payment(row["paid"], policy=row["policy"])
    for name in ALONE:
        for row in table_rows(name, read):
            yield from check_payment(row["paid"])
    for row in table_rows("payouts", read):
        yield from judged_payout(
            row["account"], row["order"], row["content"], row["options"]
        )
    for name in ("responses", "unknown_members"):
        for row in table_rows(name, read):
            yield from judged(HONEST | row["members"])
    for row in table_rows("transaction_members", read):
        answer: dict[str, Any] = copy.deepcopy(HONEST)
        answer["transactions"][0] |= row["members"]
        yield from judged(answer, wallet=row["wallet"] or None)
    for row in table_rows("payout_points"):
        with PayoutService(CHASE | row["account"]) as service:
            yield from checklist_of(service)
    details = [[PAYEE, 1, [TOKEN], REFERENCE, 0, 0, 0]] * 260
    call = data("92cddb91", [[2, details]], [], OTHER)
    yield from check_payment(payment(*[(BATCHES, call, 0)] * 4, asked=USDC))


def checklist_of(service: PayoutService) -> PaymentFindings:
    """Return what to know before the first payout to the account of a service."""
    with client_of(service) as client:
        return payout_checklist(
            client,
            client_user_id=str(PAYER["clientUserId"]),
            payment_details_id=CHASE["id"],
        )


@cache
def messages() -> dict[str, set[str]]:
    """Return the messages of all examples by their codes."""
    found = defaultdict(set)
    for finding in examples():
        found[finding.code].add(finding.message)
    return found


def parts_of(key: str) -> list[str]:
    """Return what a message says around its values."""
    return re.split(r"\{\w+\}", payment_findings()[key]["message"])


def has_example(key: str) -> bool:
    """Return True if the tables have a payment with the finding of a key."""
    pattern = "(?s:.*)".join(re.escape(part) for part in parts_of(key))
    code = key.partition(".")[0]
    return any(re.fullmatch(pattern, message) for message in messages()[code])


@pytest.mark.parametrize("key", payment_findings())
def test_every_finding_has_an_example(key: str) -> None:
    """A new one is green only with a row; `findings_of_payments.tsv` is for those that
    fit nowhere else.
    """
    places = [place for begin, place in ELSEWHERE.items() if key.startswith(begin)]
    if not places or has_example(key):
        assert has_example(key)
        return
    source = Path(__file__).with_name(places[0]).read_text("utf-8")
    tables = [DATA / f"{name}.tsv" for name in re.findall(r'"(\w+)"', source)]
    texts = [source, *(each.read_text("utf-8") for each in tables if each.exists())]
    words = [part.strip(" ,.:") for part in parts_of(key)]
    names = [key.partition(".")[0], *(each for each in words if len(each) > 8)]

    assert any(name in text for name in names for text in texts)


def test_the_reference_has_every_finding() -> None:
    """By code, severity and message, from the rows that the check uses."""
    reference = payerkit.reference.findings()
    rows = payment_findings()

    assert [key.partition(".")[0] for key in rows] == reference["code"].tolist()
    assert [row["severity"] for row in rows.values()] == reference["severity"].tolist()
    assert not reference["message"].str.contains("[{}]").any()
