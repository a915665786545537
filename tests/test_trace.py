"""Where the money of one order is: every leg, ledgers that disagree, and what is
shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest

from cases import table
from example_payments import GOOD
from far_end import FarEnd, reply
from payerkit import (
    PaymentOrder,
    PayoutOrder,
    explain,
    html,
    read_events,
    trace,
)
from payerkit.cli import main as cli
from payerkit.client import Client
from payerkit.errors import PaymentListWarning
from payerkit.models import Payment, PaymentRequest
from payerkit.money import Trace
from payout_service import client_of
from published import ORDER as ORDER_OF_WALLET
from test_card import PAYEE_SWAPPED
from test_reconcile_orders import paid, told

IDS = {"requestId": "01ab", "paymentReference": "0x44d1", "reference": "invoice-1"}
LISTED = IDS | {
    "amount": "25.50",
    "invoiceCurrency": "USD",
    "paymentCurrency": "USDC-sepolia",
    "hasBeenPaid": False,
}
STATUS = IDS | {"requestAmount": "25.50", "hasBeenPaid": False, "status": "pending"}
ORDER = PayoutOrder(
    amount="25.50",
    invoice_currency="USD",
    payment_currency="USDC-sepolia",
    reference="invoice-1",
)
REQUEST = PaymentRequest.read(IDS, order=ORDER)
RAW = {"rawPayload": {"name": "Ada"}, "failureReason": "Returned for ada@example.com"}
LEGS = ["Order", "Request", "Transactions", "Paid on chain", "Off-ramp", "Bank"]

Ledgers = Callable[..., Client]


@pytest.fixture
def ledgers() -> Iterator[Ledgers]:
    """Start services with a list of requests, the state of one, and a list of payments;
    null is not known there.
    """
    with ExitStack() as stack:

        def start(
            listed: list[Any] | None, status: dict[str, Any] | None, payments: list[Any]
        ) -> Client:
            records = [paid(number, **each) for number, each in enumerate(payments, 1)]
            is_paid = (status or {}).get("hasBeenPaid", False)
            usual = {"hasBeenPaid": is_paid, "status": "paid" if is_paid else "pending"}
            bodies: dict[str, Any] = {
                "/v2/request": (
                    None
                    if listed is None
                    else page("requests", [LISTED | usual | each for each in listed])
                ),
                "/v2/request/01ab": None if status is None else STATUS | usual | status,
                "/v2/payments": page("payments", records),
            }

            def behave(connection: Any, request: Any) -> bool | None:
                body = bodies.get(urlsplit(request.target).path)
                return reply(404 if body is None else 200, json.dumps(body or {}))(
                    connection, request
                )

            return client_of(stack.enter_context(FarEnd([behave])))

        yield start


def page(name: str, records: list[Any]) -> dict[str, Any]:
    """Return the only page of a list."""
    return {name: records, "pagination": {"total": len(records)}}


@table("traced_orders")
def test_where_the_money_is(
    by: str,
    listed: list[Any] | None,
    status: dict[str, Any] | None,
    payments: list[Any],
    events: list[Any],
    state: str,
    leg: str,
    progress: str,
    whose_move: str,
    what_to_do: str,
    ledgers: Ledgers,
) -> None:
    """Every leg once, and each pair of ledgers that disagree: then it is your move, and
    no payer is told to pay.
    """
    named: dict[str, str | PaymentRequest] = {
        "reference": "invoice-1",
        "order": REQUEST,
    }
    found = trace(
        ledgers(listed, status, payments), named.get(by, by), events=told(*events)
    )

    assert (state, leg, progress, whose_move) == (
        found.state,
        found.current.leg,
        found.current.progress,
        found.whose_move,
    )
    assert what_to_do in f"{found.explanation.meaning} {found.what_to_do}"
    assert explain(state, of="order").basis
    assert LEGS == [each.leg for each in found.legs]
    check_shown(found)


def check_shown(found: Trace) -> None:
    """Check that the current leg alone is bold, and that words and table say the
    same.
    """
    shown = found._repr_html_().replace("<wbr>", "")
    text = " ".join(str(found).split())
    table = shown[shown.index("<table") :]
    bold = re.findall(r"<b>.&nbsp;([^<]*)</b>", table)

    assert [found.current.leg.replace(" ", "&nbsp;")] == bold
    assert shown.count("<tr>") == 7
    assert [] == [
        leg
        for leg in found.legs
        if leg.known not in text or html.escape(leg.known) not in shown
    ]


@pytest.mark.parametrize(
    ("payment", "request_id", "whose_move", "what_to_do"),
    [
        (GOOD["token"], "01ab", "payer", "have the payer sign."),
        (PAYEE_SWAPPED, "01ab", "you", "Sign none of the transactions."),
        (GOOD["token"], "02ab", "you", "The transactions are those of another request"),
    ],
)
def test_transactions_have_their_verdict(
    payment: Payment,
    request_id: str,
    whose_move: str,
    what_to_do: str,
    ledgers: Ledgers,
) -> None:
    """By their calldata; nobody is told to sign what is stopped, or the transactions of
    another request.
    """
    response = payment.to_dict(reveal=True) | {"requestId": request_id}
    mine = Payment.read(
        response, order=payment.order, network=payment.network, order_source="sent"
    )
    found = trace(ledgers([{}], {}, []), "invoice-1", payment=mine)

    assert f"{payment.card().verdict.upper()}. " in found.legs[2].known
    assert ("calldata", whose_move) == (found.legs[2].source, found.whose_move)
    assert what_to_do in found.what_to_do


def test_a_wallet_has_no_bank(ledgers: Ledgers) -> None:
    """An order that pays a wallet ends on the chain."""
    payment = Payment.read(
        {"requestId": "01ab", "transactions": []}, order=PaymentOrder(**ORDER_OF_WALLET)
    )
    found = trace(
        ledgers([], {"hasBeenPaid": True, "requestAmount": "10"}, [{"amount": "10"}]),
        payment,
    )

    assert LEGS[:4] == [leg.leg for leg in found.legs]
    assert ("Paid on chain", "done", "nobody") == (
        found.current.leg,
        found.current.progress,
        found.whose_move,
    )
    refunded = trace(
        ledgers([], {}, [{"amount": "10"}]),
        payment,
        events=told({"event": "payment.refunded"}),
    )
    assert ("refunded", "Off-ramp", "you") == (
        refunded.state,
        refunded.current.leg,
        refunded.whose_move,
    )


def test_a_cut_list_does_not_show_that_a_request_is_missing() -> None:
    """Nobody is told to create one on the word of a list that may lack it."""
    cut = json.dumps({"requests": [], "pagination": {"total": 3}})
    payments = json.dumps(page("payments", []))
    answers = [reply(200, cut), reply(404, "{}"), reply(200, payments)]
    with (
        FarEnd(answers) as service,
        client_of(service) as client,
        pytest.warns(PaymentListWarning, match="counts 3 requests"),
    ):
        found = trace(client, "invoice-1")

    assert ("unclear", "Request", "you") == (
        found.state,
        found.current.leg,
        found.whose_move,
    )
    assert "counts 3 requests" in found.explanation.meaning
    assert "create" not in found.what_to_do


def test_nothing_personal_is_shown(ledgers: Ledgers) -> None:
    """A reference that is an e-mail address is masked; what is known of a customer is
    left out.
    """
    personal = {"reference": "ada@example.com", "customerInfo": {"firstName": "Ada"}}
    client = ledgers([personal], personal | {"hasBeenPaid": True}, [personal])
    events = read_events(
        [
            {"event": "payment.processing", "requestId": "01ab", "subStatus": "bounced"}
            | RAW
        ]
    )
    found = trace(client, "ada@example.com", events=events)

    assert ("••••", "bounced") == (found.reference, found.state)
    shown = [
        str(found),
        found._repr_html_(),
        pd.DataFrame(found.legs).to_csv(),
    ]
    assert [] == [text for text in shown if "ada" in text.lower()]


def test_trace_in_a_terminal(
    ledgers: Ledgers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command prints the same; its exit code says whether the money has arrived."""
    client = ledgers([{}], {"hasBeenPaid": True}, [{}])
    body = json.dumps(
        {"event": "payment.processing", "requestId": "01ab", "subStatus": "fiat_sent"}
    )
    (tmp_path / "events.jsonl").write_text(
        json.dumps({"received_at": "2026-11-09T00:00:00Z", "body": body})
    )
    for name, value in {
        "PAYERKIT_BASE_URL": client.base_url,
        "PAYERKIT_API_KEY": "key-of-a-test",
    }.items():
        monkeypatch.setenv(name, value)

    assert [3, 0] == [
        cli.main(["trace", "invoice-1", *options])
        for options in ([], ["--events", str(tmp_path / "events.jsonl")])
    ]
    assert f"{trace(client, 'invoice-1')}\n" in capsys.readouterr().out
