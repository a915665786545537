"""Where the money of one order is: every leg, ledgers that disagree, and its picture."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest

from cases import table
from example_payments import GOOD
from far_end import FarEnd, reply
from payerkit import InvalidInput, PaymentOrder, PayoutOrder, explain, html, read_events, reconcile, trace
from payerkit.cli import main as cli
from payerkit.client import Client
from payerkit.models import Payment, PaymentRequest
from payerkit.payouts import Trace, draw_invoices, draw_states
from payerkit.payouts.lists import payments_frame
from payerkit.reference import statuses, who_is_who
from payerkit.statuses import draw_moves
from payout_service import client_of
from published import ORDER as ORDER_OF_WALLET
from test_card import PAYEE_SWAPPED
from test_reconcile_orders import paid, told

IDS = {"requestId": "01ab", "paymentReference": "0x44d1", "reference": "invoice-1"}
LISTED = IDS | {"amount": "25.50", "invoiceCurrency": "USD", "paymentCurrency": "USDC-sepolia", "hasBeenPaid": False}
STATUS = IDS | {"requestAmount": "25.50", "hasBeenPaid": False, "status": "pending"}
ORDER = PayoutOrder(amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia", reference="invoice-1")
REQUEST = PaymentRequest.read(IDS, order=ORDER)
RAW = {"rawPayload": {"name": "Ada"}, "failureReason": "Returned for ada@example.com"}
LEGS = ["Order", "Request", "Transactions", "Paid on chain", "Off-ramp", "Bank"]

Ledgers = Callable[..., Client]


@pytest.fixture
def ledgers() -> Iterator[Ledgers]:
    """Start services with a list of requests, the state of one, and a list of payments; null is not known there."""
    with ExitStack() as stack:

        def start(listed: list[Any] | None, status: dict[str, Any] | None, payments: list[Any]) -> Client:
            records = [paid(number, **each) for number, each in enumerate(payments, 1)]
            bodies: dict[str, Any] = {
                "/v2/request": None if listed is None else page("requests", [LISTED | each for each in listed]),
                "/v2/request/01ab": None if status is None else STATUS | status,
                "/v2/payments": page("payments", records),
            }

            def behave(connection: Any, request: Any) -> bool | None:
                body = bodies.get(urlsplit(request.target).path)
                return reply(404 if body is None else 200, json.dumps(body or {}))(connection, request)

            return client_of(stack.enter_context(FarEnd([behave])))

        yield start


def page(name: str, records: list[Any]) -> dict[str, Any]:
    """Return the only page of a list."""
    return {name: records, "pagination": {"total": len(records)}}


def picture_of(shown: Any) -> tuple[str, str]:
    """Return the SVG of what a notebook shows, and its words."""
    source, alt = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)" alt="([^"]*)"', shown._repr_html_())[0]
    return b64decode(source).decode(), unescape(alt)


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
    """Every leg once, and each pair of ledgers that disagree: then it is your move, and no payer is told to pay."""
    named: dict[str, str | PaymentRequest] = {"reference": "invoice-1", "order": REQUEST}
    found = trace(ledgers(listed, status, payments), named.get(by, by), events=told(*events))

    assert (state, leg, progress, whose_move) == (
        found.state,
        found.current.leg,
        found.current.progress,
        found.whose_move,
    )
    assert what_to_do in found.what_to_do
    assert explain(state, of="order").basis
    assert LEGS == [each.leg for each in found.legs]
    check_picture(found)


def check_picture(found: Trace) -> None:
    """Check that the current leg alone is filled, and that words and table say the same."""
    svg, alt = picture_of(found)
    filled = re.findall(r'<g class="\w+ filled">.*?<text[^>]*>. ([^<]*)</text>', svg)
    shown, text = found._repr_html_().replace("<wbr>", ""), " ".join(str(found).split())

    assert [found.current.leg] == filled
    assert LEGS == [words.partition(":")[0] for words in alt.split(", ")]
    assert f"{found.current.leg}: {found.state.replace('_', ' ')}" in alt
    assert ("<svg" in shown, shown.count("<tr>")) == (False, 7)
    assert [] == [leg for leg in found.legs if leg.known not in text or html.escape(leg.known) not in shown]


def test_a_picture_has_both_themes() -> None:
    """Each colour of the palette, light or dark as the page is, on a ground of its own, without links."""
    svg, alt = picture_of(draw_states(reconcile([{"reference": "a", "amount": None}], payments_frame([]))))
    light, dark = svg.split("@media(prefers-color-scheme:dark)")
    colours = re.findall(r"light-dark\((#\w+), (#\w+)\)", html.palette())

    assert [] == [pair for pair in colours if pair[0] not in light or pair[1] not in dark]
    assert ('<g class="page"><rect' in svg, "1 not paid") == (True, alt)
    assert ["http://www.w3.org/2000/svg"] == re.findall(r"https?://[^\"]*", svg)


def test_many_are_a_bar_by_state() -> None:
    """In the words of `reconcile`; what is passed comes first, and one of a thousand can be seen."""
    orders = [{"reference": f"order-{number}", "amount": None} for number in range(3)]
    payments = [paid(1, requestId="01", reference="order-0"), paid(2, requestId="02", reference="order-9")]
    frame = reconcile(orders, payments_frame(payments), events=told({"sub_status": "fiat_sent", "request_id": "01"}))
    bar = draw_states(frame)
    svg, alt = picture_of(bar)

    assert "    1  ✓ at the bank\n    2  ! not paid\n    1  ✗ unmatched" == str(bar)
    assert "1 at the bank, 2 not paid, 1 unmatched" == alt
    assert 3 == svg.count(' filled">')
    with pytest.raises(InvalidInput, match="expected a result of reconcile"):
        draw_states(frame.drop(columns="state"))


def test_many_are_cells_of_books_chain_and_bank() -> None:
    """Each order has three cells; below them, and as text, are the references by state."""
    frame = pd.DataFrame({"state": ["at_the_bank"] * 29 + ["not_paid", "unmatched"], "reference": None})
    frame.loc[29, "reference"] = "invoice-7"
    picture = draw_invoices(frame)
    svg, alt = picture_of(picture)

    assert ["! not paid: invoice-7", "✗ unmatched: no reference"] == str(picture).splitlines()[1:]
    assert str(picture) == alt.replace("; ", "\n")
    assert (3 * 31, 4) == (svg.count('height="22"'), svg.count("dashed") - 1)  # one is in the style
    with pytest.raises(InvalidInput, match="expected a result of reconcile"):
        draw_invoices(frame.drop(columns="state"))


def test_every_state_has_its_cells() -> None:
    """And its line below them."""
    words = statuses().query("of == 'order'")["status"]
    found = str(draw_invoices(pd.DataFrame({"state": words, "reference": "a"})))

    assert {word.replace("_", " ") for word in words} == set(re.findall(r"^. (.*): a$", found, re.MULTILINE))


def test_many_are_a_bar_by_whose_move_it_is() -> None:
    """What is yours comes first; a row that was not read is nobody's."""
    bar = draw_moves(pd.DataFrame({"whose_move": ["nobody", "payer", "you", "payer", None]}))

    assert ["1 your move", "2 payer's move", "1 nothing to do"] == picture_of(bar)[1].split(", ")
    with pytest.raises(InvalidInput, match="expected a result of payer_statuses"):
        draw_moves(pd.DataFrame())


def test_who_is_who_has_the_same_in_words() -> None:
    """The five, in the order in which the money passes them."""
    who = [line.partition(":")[0] for line in str(who_is_who()).splitlines()]

    assert ["Payer", "Wallet", "Contract", "Operator", "Bank"] == who
    assert str(who_is_who()) == picture_of(who_is_who())[1].replace("; ", "\n")


@pytest.mark.parametrize(
    ("payment", "request_id", "whose_move", "what_to_do"),
    [
        (GOOD["token"], "01ab", "payer", "have the payer sign."),
        (PAYEE_SWAPPED, "01ab", "you", "Sign none of the transactions."),
        (GOOD["token"], "02ab", "you", "The transactions are those of another request"),
    ],
)
def test_transactions_have_their_verdict(
    payment: Payment, request_id: str, whose_move: str, what_to_do: str, ledgers: Ledgers
) -> None:
    """By their calldata; nobody is told to sign what is stopped, or the transactions of another request."""
    mine = payment.model_copy(update={"request_id": request_id})
    found = trace(ledgers([{}], {}, []), "invoice-1", payment=mine)

    assert f"{payment.card().verdict.upper()}. " in found.legs[2].known
    assert ("calldata", whose_move) == (found.legs[2].source, found.whose_move)
    assert what_to_do in found.what_to_do


def test_a_wallet_has_no_bank(ledgers: Ledgers) -> None:
    """An order that pays a wallet ends on the chain."""
    payment = Payment.read({"requestId": "01ab", "transactions": []}, order=PaymentOrder(**ORDER_OF_WALLET))
    found = trace(ledgers([], {"hasBeenPaid": True, "requestAmount": "10"}, [{"amount": "10"}]), payment)

    assert LEGS[:4] == [leg.leg for leg in found.legs]
    assert ("Paid on chain", "done", "nobody") == (found.current.leg, found.current.progress, found.whose_move)
    refunded = trace(ledgers([], {}, [{"amount": "10"}]), payment, events=told({"event": "payment.refunded"}))
    assert ("refunded", "Off-ramp", "you") == (refunded.state, refunded.current.leg, refunded.whose_move)


def test_nothing_personal_is_shown(ledgers: Ledgers) -> None:
    """A reference that is an e-mail address is masked; what is known of a customer is left out."""
    personal = {"reference": "ada@example.com", "customerInfo": {"firstName": "Ada"}}
    client = ledgers([personal], personal | {"hasBeenPaid": True}, [personal])
    events = read_events([{"event": "payment.processing", "requestId": "01ab", "subStatus": "bounced"} | RAW])
    found = trace(client, "ada@example.com", events=events)

    assert ("••••", "bounced") == (found.reference, found.state)
    shown = [str(found), found._repr_html_(), pd.DataFrame(found.legs).to_csv(), *picture_of(found)]
    assert [] == [text for text in shown if "ada" in text.lower()]


def test_trace_in_a_terminal(
    ledgers: Ledgers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints the same; its exit code says whether the money has arrived."""
    client = ledgers([{}], {"hasBeenPaid": True}, [{}])
    body = json.dumps({"event": "payment.processing", "requestId": "01ab", "subStatus": "fiat_sent"})
    (tmp_path / "events.jsonl").write_text(json.dumps({"received_at": "2026-11-09T00:00:00Z", "body": body}))
    for name, value in {"PAYERKIT_BASE_URL": client.base_url, "PAYERKIT_API_KEY": "key-of-a-test"}.items():
        monkeypatch.setenv(name, value)

    assert [3, 0] == [
        cli.main(["trace", "invoice-1", *options]) for options in ([], ["--events", str(tmp_path / "events.jsonl")])
    ]
    assert f"{trace(client, 'invoice-1')}\n" in capsys.readouterr().out
