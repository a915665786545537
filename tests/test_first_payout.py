"""Before the first payout: what to ask, and a policy of the lines that findings show,
which a person confirmed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import payerkit
from cases import table
from example_payments import codes
from far_end import reply
from payerkit import (
    PaymentPolicy,
    check_payment,
    explain,
    request_payment,
)
from payerkit._tsv import rows
from payerkit.money import payout_checklist
from payout_service import CHASE, COMPLIANT, ORDER, PayoutService, client_of
from test_check_payout import paying
from test_service_payouts import (
    USER,
    account_of,
    new_payment,
    new_request,
    on_board,
)


@pytest.mark.parametrize(
    "row",
    list(rows("payerkit.checks", "least_amounts")),
    ids=lambda row: "".join(row.values()),
)
def test_the_checklist_of_each_currency(row: dict[str, str]) -> None:
    """Its least amount, whether it is unlocked on request, and what no response has;
    nothing personal.
    """
    account = CHASE | {
        "currency": row["currency"].lower(),
        "rails": row["rails"] or "swift",
    }
    with PayoutService(account) as service, client_of(service) as client:
        points = payout_checklist(
            client, client_user_id=USER, payment_details_id=account["id"]
        )
    asked = ["supporting_document", "wallet", "recipient", "rate"] + [
        "currency"
    ] * bool(row["on_request"])
    needed = [f"at least {row['least']} {row['currency']}", row["on_request"]]

    assert {*asked} == {each.field for each in points.warnings} - {"rails"}
    assert needed == [words for words in needed if words in str(points)]
    assert [] == [
        words
        for words in (USER, "3489", "Chase", account["id"])
        if words in str(points)
    ]


@table("payout_points")
def test_the_checklist_says_what_stands_in_the_way(
    account: dict[str, Any],
    order: dict[str, str],
    payer: dict[str, str],
    verdict: str,
    severity: str,
    code: str,
) -> None:
    """What the service would refuse is an error; what the operator has to say is a
    warning.
    """
    with PayoutService(CHASE | account) as service, client_of(service) as client:
        service.instead["payer status"] = reply(200, json.dumps(COMPLIANT | payer))
        points = payout_checklist(
            client, ORDER | order, client_user_id=USER, payment_details_id=CHASE["id"]
        )

    assert verdict == points.verdict
    assert code in codes(points, severity)


@pytest.mark.parametrize(
    ("account", "absent"),
    [
        ({"currency": "eur"}, {"payout_reference", "payout_days"}),
        ({"rails": "swift"}, {"payout_days"}),
        ({"rails": "wire"}, set()),
    ],
)
def test_the_operators_rules_are_those_of_the_route(
    account: dict[str, str], absent: set[str]
) -> None:
    """Where two of its documents differ, both are told, with their dates."""
    with PayoutService(CHASE | account) as service, client_of(service) as client:
        points = payout_checklist(
            client, client_user_id=USER, payment_details_id=CHASE["id"]
        )

    told = {point.code: point.message for point in points}
    assert absent == {"payout_reference", "payout_days"} - told.keys()
    document = told["payout_document"]
    words = ["2025-11", "mandatory", "2026-11", "15,000 EUR", "10,000 USD", "SWIFT"]
    assert words == [word for word in words if word in document]


def test_the_card_of_a_payout_says_what_to_have() -> None:
    """The amount beside that of the order, and what the operator wants before the first
    payout.
    """
    text = " ".join(str(paying().card()).split())

    rate = (
        "10 fUSDC are paid for 10 USD; the operator's rate and fee are not published."
    )
    assert rate in text
    assert "supporting document" in text
    assert (
        "verifies the wallet that pays. Until then, it holds the money. USD by ACH is"
        " unlocked on request" in text
    )
    assert "at least 1 USD" in text
    assert "operator's rate" not in str(payerkit.samples["honest"].card())


def test_ongoing_checks_name_what_is_usually_missing() -> None:
    """The supporting document, and the verification of the wallet."""
    step = explain("ongoing_checks").what_to_do

    assert ["document", "wallet"] == [
        word for word in ("document", "wallet") if word in step
    ]


def test_a_payout_by_the_checklist_is_ok_under_a_policy_and_arrives(
    tmp_path: Path,
) -> None:
    """From the order to the bank: the lines of findings that a person confirms make the
    next honest payout ok, until it is paid.
    """
    file = tmp_path / "policy.toml"
    with payerkit.sandbox(seed=1, clock="manual", accounts_after=0) as client:
        on_board(client)
        ids = {"client_user_id": USER, "payment_details_id": account_of(client)}
        earlier = new_payment(client)
        client.sandbox.pay(earlier)
        lines = [each.policy_lines for each in check_payment(earlier).warnings]
        tables_last = sorted(lines, key=lambda text: text.startswith("["))
        file.write_text("\n".join(tables_last), "utf-8")
        policy = PaymentPolicy.read(file)

        request = new_request(client)
        points = payout_checklist(client, request.order, **ids)
        to_pay = request_payment(client, request, **ids)
        verdicts = [
            check_payment(to_pay, client=client, policy=each).verdict
            for each in (None, policy)
        ]
        client.sandbox.pay(to_pay)
        after = check_payment(to_pay, client=client, policy=policy)
        client.sandbox.advance(days=3)
        found = payerkit.trace(client, request, payment=to_pay, policy=policy)

        events = payerkit.read_events(client.sandbox.events())
    steps = events.loc[
        events["request_id"] == request.request_id, "sub_status"
    ].dropna()

    assert ("look", ["look", "ok"]) == (points.verdict, verdicts)
    assert ("stop", {"paid_already"}) == (after.verdict, codes(after, "error"))
    assert ("at_the_bank", "fiat_sent") == (found.state, steps.iloc[-1])
