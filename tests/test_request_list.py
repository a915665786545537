"""The list of requests: its columns, a filter that the service lacks, and what it
settles.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from payerkit import InvalidInput, list_requests
from payerkit.errors import PaymentListWarning, UnreadableAnswer
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
    """Return a response with one page; its `pagination` has no word on what follows, as
    published.
    """
    return {
        "requests": [*requests],
        "pagination": {"total": total or len(requests), "limit": 100, "offset": 0},
    }


def ask(*pages: object, **options: Any) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    """Return the list of a service that answers so, and the queries that it was
    sent.
    """
    with answering(*pages) as service, client_of(service) as client:
        frame = list_requests(client, **options)
    return frame, [query_of(each) for each in service.ledger]


def test_a_request_becomes_a_row() -> None:
    """Amounts are exact, times in UTC, and what is missing is missing."""
    frame = ask(page(REQUEST))[0]
    expected = {
        "request_id": "01ab",
        "reference": "invoice-001",
        "created_at_utc": pd.Timestamp("2026-11-02T10:30:00.250"),
        "status": "pending",
        "has_been_paid": False,
        "amount": Decimal("25.50"),
        "payment_currency": "USDC-sepolia",
    }

    assert expected == {name: frame[name][0] for name in expected}
    assert frame[["tx_hash", "payee", "payer"]].isna().all(axis=None)
    assert frame.dtypes.equals(ask({"requests": None})[0].dtypes)


def test_all_pages_are_searched_for_a_reference() -> None:
    """The service has no such filter; case and blanks and the kind of dash tell nothing
    apart.
    """
    other = REQUEST | {"requestId": "02", "reference": None}
    third = REQUEST | {"requestId": "03", "reference": " Invoice\u2010001\u200b"}
    pages = [page(REQUEST, other, total=3), page(other, third, total=3)]
    frame, queries = ask(*pages, reference="invoice-001")

    assert ["01ab", "03"] == frame["request_id"].tolist()
    assert ["0", "1"] == [query["offset"] for query in queries]


def test_a_request_that_moved_is_there_once() -> None:
    """With the doubt that another one may be on no page, told at the caller's line."""
    other = REQUEST | {"requestId": "02"}
    with pytest.warns(PaymentListWarning, match="a request may be missing") as caught:
        frame, _ = ask(page(REQUEST, other, total=4), page(REQUEST, total=4))

    assert [__file__] == [warning.filename for warning in caught]
    assert ["01ab", "02"] == frame["request_id"].tolist()
    assert frame["list_doubt"].str.contains("it changed").all()


def test_a_wallet_is_sent_as_a_filter() -> None:
    """By its published name."""
    assert [{"walletAddress": "0x1", "limit": "100", "offset": "0"}] == ask(
        page(), wallet="0x1"
    )[1]


def test_references_that_are_addresses_are_masked() -> None:
    """Unless revealed; they are found all the same."""
    given = "ada@example.com"
    content = page(REQUEST | {"reference": given})

    assert ["••••"] == ask(content, reference=given.title())[0]["reference"].tolist()
    assert [given] == ask(content, reveal=True)[0]["reference"].tolist()


@pytest.mark.parametrize("name", [*REQUEST])
def test_an_odd_member_is_missing(name: str) -> None:
    """The rest of the row is read."""
    usual, odd = (
        ask(page(REQUEST | change))[0] for change in ({}, {name: {"odd": [1]}})
    )

    column = {"createdAt": "created_at_utc"}.get(name, our_name(name))
    assert pd.isna(odd[column][0])
    assert usual.drop(columns=column).equals(odd.drop(columns=column))


@pytest.mark.parametrize(
    "options", [{"reference": 5}, {"reference": ""}, {"wallet": ".."}]
)
def test_what_cannot_be_asked_is_not_sent(options: dict[str, Any]) -> None:
    """The message names the argument."""
    (name,) = options
    with (
        answering(page()) as service,
        client_of(service) as client,
        pytest.raises(InvalidInput, match=f"{name}: "),
    ):
        list_requests(client, **options)

    assert [] == service.ledger


def test_other_answers_are_no_empty_list() -> None:
    """It cannot be read, and shows nothing."""
    with pytest.raises(UnreadableAnswer, match="expected a list of requests"):
        ask({"payments": []})
