"""Before the first payout: what to ask, and a policy that is drafted from what was seen and confirmed by a person."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import payerkit
from cases import table
from example_addresses import DEAD, FEE_PROXY, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import as_json, codes, data, read
from far_end import reply
from payerkit import PaymentPolicy, check_payment, create_request, explain, request_payment
from payerkit._tsv import rows
from payerkit.models import Payment
from payerkit.payouts import payout_checklist
from payerkit.policy import draft_policy
from payout_service import CHASE, COMPLIANT, ORDER, PayoutService, client_of
from published import BANK_DETAILS, PAYER
from test_check_payout import OF_ACCOUNT, paying
from test_check_payout import ORDER as OF_DOLLARS

USER = str(PAYER["clientUserId"])


def confirmed(draft: str) -> str:
    """Return a draft as an editor leaves it that removes one comment sign from each line."""
    return re.sub("^# ?", "", draft, flags=re.MULTILINE)


def payout(number: int, to: str = PAYEE, percent: int = 0, token: str = TOKEN, **response: Any) -> Payment:
    """Return the payment of a request, with a fee to `OTHER`, which the service declares."""
    call = data("c219a14d", token, to, 10**7, REFERENCE, percent * 10**5, OTHER if percent else DEAD)
    declared = {"metadata": {"protocolFee": {"percentage": str(percent), "address": OTHER}}} if percent else {}
    content = {"transactions": [as_json(FEE_PROXY, call, 0)], **declared, **response}
    order = OF_DOLLARS.replace(payment_currency="fUSDC-sepolia" if token == TOKEN else "NEW-sepolia")
    return paying(order, replace(OF_ACCOUNT, request_id=f"{number:064x}"), content)


@table("drafts", read)
def test_a_draft_proposes_what_honest_payments_share(
    payments: list[Any], options: dict[str, Any], proposed: str, words: str
) -> None:
    """Each entry has its evidence; what a stopped payment showed, and an address that changes, is not proposed."""
    draft = draft_policy([each if isinstance(each, Payment) else payout(**each) for each in payments], **options)
    entries = tomllib.loads(confirmed(draft))

    assert ({}, proposed) == (tomllib.loads(draft), " ".join(f"{name}:{len(each)}" for name, each in entries.items()))
    assert words in draft.replace("\n## ", " ")


@pytest.mark.parametrize("row", list(rows("payerkit.checks", "least_amounts")), ids=lambda row: "".join(row.values()))
def test_the_checklist_of_each_currency(row: dict[str, str]) -> None:
    """Its least amount, whether it is unlocked on request, and what no response has; nothing personal."""
    account = CHASE | {"currency": row["currency"].lower(), "rails": row["rails"] or "swift"}
    with PayoutService(account) as service, client_of(service) as client:
        points = payout_checklist(client, client_user_id=USER, payment_details_id=account["id"])
    asked = ["supporting_document", "wallet", "recipient", "rate"] + ["currency"] * bool(row["on_request"])
    needed = [f"at least {row['least']} {row['currency']}", row["on_request"]]

    assert {*asked} == {each.field for each in points.warnings} - {"rails"}
    assert needed == [words for words in needed if words in str(points)]
    assert [] == [words for words in (USER, "3489", "Chase", account["id"]) if words in str(points)]


@table("payout_points")
def test_the_checklist_says_what_stands_in_the_way(
    account: dict[str, Any], order: dict[str, str], payer: dict[str, str], verdict: str, severity: str, code: str
) -> None:
    """What the service would refuse is an error; what the operator has to say is a warning."""
    with PayoutService(CHASE | account) as service, client_of(service) as client:
        service.instead["payer status"] = reply(200, json.dumps(COMPLIANT | payer))
        points = payout_checklist(client, ORDER | order, client_user_id=USER, payment_details_id=CHASE["id"])

    assert verdict == points.verdict
    assert code in codes(points, severity)


def test_the_card_of_a_payout_says_what_to_have() -> None:
    """The amount beside that of the order, and what the operator wants before the first payout."""
    text = " ".join(str(payout(1).card()).split())

    assert "10 fUSDC for 10 USD; the operator's rate and fee are not published." in text
    assert "supporting document" in text
    assert "verifies the wallet that pays. Until then, it holds the money. USD by ACH is unlocked on request" in text
    assert "at least 1 USD" in text
    assert "operator's rate" not in str(payerkit.samples["honest"].card())


def test_ongoing_checks_name_what_is_usually_missing() -> None:
    """The supporting document, and the verification of the wallet."""
    step = explain("ongoing_checks").what_to_do

    assert ["document", "wallet"] == [word for word in ("document", "wallet") if word in step]


def test_a_payout_by_the_checklist_is_ok_under_a_drafted_policy_and_arrives(tmp_path: Path) -> None:
    """From the order to the bank: the lines of a draft that a person confirms make the next honest payout ok."""
    file = tmp_path / "policy.toml"
    with payerkit.sandbox(seed=1, clock="manual", accounts_after=0) as client:
        payerkit.create_payer(client, PAYER)
        payerkit.update_agreement(client, USER)
        client.sandbox.complete_kyc(USER)
        account = payerkit.create_payment_detail(client, USER, BANK_DETAILS)
        ids = {"client_user_id": USER, "payment_details_id": str(account.id)}
        order = {"amount": "25.50", "invoice_currency": "USD", "payment_currency": "USDC-sepolia"}
        earlier = [request_payment(client, create_request(client, order), **ids) for _ in range(2)]
        client.sandbox.pay(earlier[0])
        draft = draft_policy(earlier)
        file.write_text(confirmed(draft), "utf-8")
        policy = PaymentPolicy.read(file)

        points = payout_checklist(client, order, **ids)
        request = create_request(client, order)
        to_pay = request_payment(client, request, **ids)
        verdicts = [check_payment(to_pay, client=client, policy=each).verdict for each in (None, policy)]
        client.sandbox.pay(to_pay)
        client.sandbox.advance(days=3)
        found = payerkit.trace(client, request, payment=to_pay, policy=policy)

        events = payerkit.read_events(client.sandbox.events())
    steps = events.loc[events["request_id"] == request.request_id, "sub_status"].dropna()

    assert ("look", ["look", "ok"]) == (points.verdict, verdicts)
    assert ("at_the_bank", "fiat_sent") == (found.state, steps.iloc[-1])
