"""The list of requests: its columns, a filter that the service lacks, and what it settles."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from cases import table
from payerkit import InvalidInput, PayoutOrder, list_requests
from payerkit.errors import PaymentListWarning, UnreadableAnswer
from payerkit.payouts.lists import RequestSearch
from payerkit.wire import our_name
from payout_service import answering, client_of, query_of

REQUEST = {
    "requestId": "01ab",
    "paymentReference": "0x123456789abcdef0",
    "amount": "25.50",
    "invoiceCurrency": "USD",
    "paymentCurrency": "USDC-sepolia",
    "hasBeenPaid": False,
    "status": "pending",
    "reference": "invoice-001",
    "createdAt": "2026-11-02T10:30:00.250Z",
    "txHash": None,
    "payee": None,
    "payer": None,
}


def page(*requests: Any, total: int | None = None) -> dict[str, Any]:
    """Return a response with one page; its `pagination` has no word on what follows, as published."""
    return {"requests": [*requests], "pagination": {"total": total or len(requests), "limit": 100, "offset": 0}}


def ask(*pages: object, **options: Any) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    """Return the list of a service that answers so, and the queries that it was sent."""
    with answering(*pages) as service, client_of(service) as client:
        frame = list_requests(client, **options)
    return frame, [query_of(each) for each in service.ledger]


def test_a_request_becomes_a_row() -> None:
    """Amounts are exact, times in UTC, and what is missing is missing."""
    frame = ask(page(REQUEST))[0]
    expected = {
        "request_id": "01ab",
        "reference": "invoice-001",
        "created_at": pd.Timestamp("2026-11-02T10:30:00.250Z"),
        "status": "pending",
        "has_been_paid": False,
        "amount": Decimal("25.50"),
        "payment_currency": "USDC-sepolia",
    }

    assert expected == {name: frame[name][0] for name in expected}
    assert frame[["tx_hash", "payee", "payer"]].isna().all(axis=None)
    assert frame.dtypes.equals(ask({"requests": None})[0].dtypes)


def test_all_pages_are_searched_for_a_reference() -> None:
    """The service has no such filter; case and blanks tell nothing apart, and a request that moved is there once."""
    pages = [page(REQUEST, REQUEST | {"requestId": "02", "reference": None}, total=4)]
    pages += [page(REQUEST | {"requestId": "03", "reference": " Invoice-001"}, REQUEST, total=4)]
    with pytest.warns(PaymentListWarning, match="a request may be missing"):  # as many as counted, and one twice
        frame, queries = ask(*pages, reference="invoice-001")

    assert ["01ab", "03"] == frame["request_id"].tolist()
    assert [{"limit": "100", "offset": "0"}, {"limit": "100", "offset": "2"}] == queries


def test_a_wallet_is_sent_as_a_filter() -> None:
    """By its published name."""
    assert [{"walletAddress": "0x1", "limit": "100", "offset": "0"}] == ask(page(), wallet="0x1")[1]


def test_references_that_are_addresses_are_masked() -> None:
    """Unless revealed; they are found all the same."""
    given = "ada@example.com"
    content = page(REQUEST | {"reference": given})

    assert ["••••"] == ask(content, reference=given.title())[0]["reference"].tolist()
    assert [given] == ask(content, reveal=True)[0]["reference"].tolist()


@pytest.mark.parametrize("name", [*REQUEST])
def test_an_odd_member_is_missing(name: str) -> None:
    """The rest of the row is read."""
    usual, odd = (ask(page(REQUEST | change))[0] for change in ({}, {name: {"odd": [1]}}))

    assert pd.isna(odd[our_name(name)][0])
    assert usual.drop(columns=our_name(name)).equals(odd.drop(columns=our_name(name)))


def test_a_list_that_is_not_whole_is_told() -> None:
    """It does not show that a request is absent."""
    with pytest.warns(PaymentListWarning, match="counts 3 requests, and its pages have 1") as caught:
        ask(page(REQUEST, total=3), page(total=3))

    assert [__file__] == [warning.filename for warning in caught]


@pytest.mark.parametrize("options", [{"reference": 5}, {"reference": ""}, {"wallet": ".."}])
def test_what_cannot_be_asked_is_not_sent(options: dict[str, Any]) -> None:
    """The message names the argument."""
    (name,) = options
    with answering(page()) as service, client_of(service) as client, pytest.raises(InvalidInput, match=f"{name}: "):
        list_requests(client, **options)

    assert [] == service.ledger


def test_other_answers_are_no_empty_list() -> None:
    """It cannot be read, and shows nothing."""
    with pytest.raises(UnreadableAnswer, match="expected a list of requests"):
        ask({"payments": []})


ORDERED = PayoutOrder(amount="25.5", invoice_currency="usd", payment_currency="USDC-sepolia", reference="invoice-001")


@table("lost_requests")
def test_a_lost_request_is_found_only_for_certain(requests: list[Any], reference: str, state: str) -> None:
    """Exactly one that equals the order, and is not older than the call."""
    search = RequestSearch(ORDERED.replace(reference=reference))
    with answering(page(*(REQUEST | each for each in requests))) as service, client_of(service) as client:
        found = search.look(client)

    assert (state, state == "created") == (search.state, found is not None)
    assert found is None or ("01ab", reference) == (found.request_id, found.reference)


def test_absent_is_what_two_whole_lists_lack() -> None:
    """Each after a delay; a list that is not whole does not count."""
    now = [0.0]
    search = RequestSearch(ORDERED, clock=lambda: now[0])
    states = []
    cut = page(total=1)
    with answering(page(), page(), cut, page(), page()) as service, client_of(service) as client:
        for now[0] in (0, 10, 20, 20, 25):
            search.look(client)
            states.append(search.state)

    assert ["not_yet", "not_yet", "not_yet", "absent", "absent"] == states
