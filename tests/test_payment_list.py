"""The list of payments: its filters, its pages, its columns, and what nobody may see in
it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from socket import socket
from typing import Any

import pandas as pd
import pytest

import payerkit
from far_end import Behaviour, FarEnd, Received, reply
from payerkit import InvalidInput, list_payments
from payerkit.errors import NotFound, PaymentListWarning, ServiceError, UnreadableAnswer
from payerkit.money.lists import payments_frame
from payout_service import PUBLISHED, answering, client_of, query_of

PAYMENT = PUBLISHED["payment"]
FEE = PAYMENT["fees"][0]
HASH = PAYMENT["sourceTxHash"]
CHANGED = "While the list was read, it changed"


def page(
    payments: list[Any], *, total: Any = None, more: Any = False
) -> dict[str, Any]:
    """Return a response with one page."""
    return {
        "payments": payments,
        "pagination": {"total": total, "limit": 100, "offset": 0, "hasMore": more},
    }


def listed(*payments: dict[str, Any]) -> dict[str, Any]:
    """Return a response that does not say where the list ends."""
    return {"payments": [*payments]}


def many(count: int) -> list[dict[str, Any]]:
    """Return payments with ids of their own."""
    return [
        PAYMENT | {"id": f"pay-{number}", "sourceTxHash": f"0x{number:064x}"}
        for number in range(count)
    ]


A, B, C, D, E = many(5)


def whole(payments: list[dict[str, Any]], cap: int, *, says_end: bool) -> Behaviour:
    """Return a service that has these payments, and lists only some on a page.

    says_end: whether it says that more follow, or none; it does not count them.
    """

    def behave(connection: socket, request: Received) -> bool | None:
        query = query_of(request)
        start = int(query["offset"])
        end = start + min(int(query["limit"]), cap)
        content: dict[str, Any] = {"payments": payments[start:end]}
        if says_end:
            content = page(payments[start:end], more=end < len(payments))
        return reply(200, json.dumps(content))(connection, request)

    return behave


def ask(
    answers: Sequence[Any], options: dict[str, Any] | None = None, **filters: Any
) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    """Return the list of a service that answers so, with bodies or behaviours, and the
    queries that it was sent.
    """
    service = FarEnd(
        [each if callable(each) else reply(200, json.dumps(each)) for each in answers]
    )
    with service, client_of(service, **(options or {})) as client:
        frame = list_payments(client, **{"wallet": "0x1"} | filters)
    return frame, [query_of(each) for each in service.ledger]


def duplicates(frame: pd.DataFrame) -> list[int | None]:
    """Return the column of duplicates."""
    return [None if pd.isna(each) else int(each) for each in frame["duplicate_of"]]


def test_a_payment_is_a_row() -> None:
    """Amounts are exact, the time is in UTC, the ids of its request stand beside its
    own; empty lists are alike.
    """
    frame = ask([page([PAYMENT], total=1)])[0]
    expected = {
        "payment_id": "pay-1",
        "request_id": "01abc",
        "reference": "invoice-001",
        "amount": Decimal("25.50"),
        "fee_protocol": Decimal("0.0255"),
        "fees_usd": Decimal("0.03"),
        "fees": "protocol 0.0255 USDC-sepolia",
        "timestamp_utc": pd.Timestamp("2026-11-02T10:30:00"),
    }

    assert expected == {name: frame[name][0] for name in expected}
    types = frame.dtypes[["timestamp_utc", "has_been_paid", "duplicate_of"]]
    assert ["datetime64[ns]", "boolean", "Int64"] == types.astype(str).tolist()
    assert frame.dtypes.equals(ask([page([])])[0].dtypes)
    assert frame.dtypes.equals(ask([{"payments": None, "pagination": None}])[0].dtypes)


def test_nothing_personal_is_shown() -> None:
    """What is known of the customer is left out, and a reference with an e-mail address
    is masked unless it is revealed.
    """
    request = PAYMENT["request"] | {"reference": "for ada@example.com"}
    content = page([PAYMENT | {"request": request}])
    masked, shown = ask([content])[0], ask([content], reveal=True)[0]

    assert "Ada" in json.dumps(content)
    assert not any(word in masked.to_csv() for word in ("Ada", "@", "Example Street"))
    assert ["••••"] == masked["reference"].tolist()
    assert ["for ada@example.com"] == shown["reference"].tolist()


def test_payments_are_told_apart_by_references_that_are_masked() -> None:
    """One transaction may pay several requests, and the list may have no ids of
    them.
    """
    batch = [
        {
            "sourceTxHash": HASH,
            "amount": "1",
            "request": {"reference": f"{name}@example.com"},
        }
        for name in "ab"
    ]
    frame = payments_frame([*batch, batch[0]])

    assert [None, None, 0] == duplicates(frame)
    assert {"••••"} == set(frame["reference"])


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("reference", "reference"),
        ("request_id", "requestId"),
        ("payment_reference", "paymentReference"),
        ("tx_hash", "txHash"),
        ("wallet", "walletAddress"),
        ("invoice_currency", "invoiceCurrency"),
        ("payment_currency", "paymentCurrency"),
    ],
)
def test_filters_are_sent_by_their_published_names(name: str, wire: str) -> None:
    """Each alone is enough."""
    filters: dict[str, Any] = {"wallet": None, name: "value of & it"}

    assert [{wire: "value of & it", "limit": "100", "offset": "0"}] == ask(
        [page([])], **filters
    )[1]


@pytest.mark.parametrize("day", ["2026-11-01", date(2026, 11, 1)])
def test_days_are_sent_in_utc(day: Any) -> None:
    """As ISO 8601 with Z, from their first moment to their last one."""
    query = ask([page([])], from_date=day, to_date=day)[1][0]

    assert ("2026-11-01T00:00:00.000Z", "2026-11-01T23:59:59.999Z") == (
        query["fromDate"],
        query["toDate"],
    )


WALLET = {"wallet": "0x1"}


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({}, "Give one of reference"),
        ({"from_date": "2026-11-01"}, "a period alone is not enough"),
        ({"reference": ""}, "reference: "),
        (
            WALLET | {"from_date": datetime(2026, 11, 1, tzinfo=UTC)},
            "from_date: expected a day",
        ),
        (WALLET | {"to_date": "yesterday"}, "to_date: expected a day"),
        (WALLET | {"to_date": 1_700_000_000}, "to_date: expected a day"),
        (WALLET | {"to_date": pd.NaT}, "to_date: "),
        (
            WALLET | {"from_date": "2026-11-02", "to_date": "2026-11-01"},
            "ends before it begins",
        ),
    ],
)
def test_what_cannot_be_asked_is_not_sent(filters: dict[str, Any], words: str) -> None:
    """The message names the argument."""
    with (
        answering(page([])) as service,
        client_of(service) as client,
        pytest.raises(InvalidInput, match=words),
    ):
        list_payments(client, **filters)

    assert [] == service.ledger


@pytest.mark.parametrize(
    ("bodies", "count", "calls"),
    [
        # The same page again, without end.
        ([page([PAYMENT], more=True)], 1, 2),
        # Nothing, and more to follow.
        ([page([PAYMENT], more=True), page([], more=True)], 1, 2),
        # Fewer than it counts.
        ([page([PAYMENT], total=5, more=False)], 1, 1),
        ([page([PAYMENT], total=3, more=None)], 1, 2),
        # No row to say it in.
        ([page([], total=3)], 0, 1),
    ],
)
def test_a_list_that_may_lack_payments_is_told(
    bodies: list[object], count: int, calls: int
) -> None:
    """At the caller's line, after as few calls as it takes; the frame keeps it."""
    with pytest.warns(PaymentListWarning, match="may be missing") as caught:
        frame, queries = ask(bodies)

    assert (count, calls) == (len(frame), len(queries))
    assert "may be missing" in frame.attrs["list_doubt"]
    assert [__file__] == [warning.filename for warning in caught]


def test_pages_without_end_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service whose every page has something new, and says that more follow."""
    monkeypatch.setattr("payerkit.money.lists._MOST_PAGES", 3)
    with pytest.warns(PaymentListWarning, match="After 4 payments the service says"):
        frame, queries = ask(
            [page([first, last], more=True) for first, last in pairwise(many(9))]
        )

    assert (4, 3) == (len(frame), len(queries))


@pytest.mark.parametrize(
    ("pages", "words", "read"),
    [
        # One came while it was read, by what the service counts.
        (
            [page([C, B], total=3, more=True), page([B, A], total=4)],
            CHANGED,
            "210",
        ),
        # Each page begins with another one than the last before it: one came, or one
        # went away, whose place another took, which then stands on no page.
        ([page([B, C], more=True), page([B, C, D])], CHANGED, "123"),
        ([page([A, B], more=True), page([D])], CHANGED, "013"),
        ([page([A, B], total=3, more=True), page([D], total=3)], CHANGED, "013"),
        ([page([A, B], more=True), page([])], CHANGED, "01"),
        ([page([A], more=True), page([B])], CHANGED, "01"),
        # The service does not say where the list ends.
        ([listed(B, C, D), listed(C, D, E), listed(D, E)], CHANGED, "1234"),
        # It returns the first page, whichever is asked for.
        ([listed(A, B, C)], CHANGED, "012"),
    ],
)
def test_a_list_that_changes_while_it_is_read_is_told(
    pages: list[Any], words: str, read: str
) -> None:
    """In a warning, and in each row, which a file keeps."""
    with pytest.warns(PaymentListWarning, match=words):
        frame, _ = ask(pages)

    assert [f"pay-{number}" for number in read] == frame["payment_id"].tolist()
    assert {frame.attrs["list_doubt"]} == set(frame["list_doubt"])
    assert words in frame["list_doubt"][0]


def test_payments_without_an_id_are_not_those_of_one_request() -> None:
    """A record without an id of its own is known by all of it."""
    anonymous = [
        {"requestId": "01ab", "amount": amount, "timestamp": PAYMENT["timestamp"]}
        for amount in ("1", "2", "3")
    ]
    pages = [page(anonymous[:2], more=True), page(anonymous[1:], more=False)]
    frame, _ = ask(pages)

    assert [1, 2, 3] == frame["amount"].tolist()
    assert frame["list_doubt"].isna().all()


@pytest.mark.parametrize(
    ("count", "cap", "offsets", "says_end"),
    [
        # The next page begins with the last of what came.
        (7, 3, "0 2 4", True),
        (3, 2, "0 1", True),  # a full page may be the last
        (0, 100, "0", False),
        (1, 100, "0 0", False),
        (4, 2, "0 1 2 3", False),
        (5, 3, "0 2 4", False),  # short pages are no sign of the end
    ],
)
def test_a_list_is_read_to_its_end(
    count: int, cap: int, offsets: str, says_end: bool
) -> None:
    """And is not doubted, however short its pages are; to a page with nothing new, if
    the service does not say where it ends.
    """
    frame, queries = ask([whole(many(count), cap, says_end=says_end)])

    assert [f"pay-{number}" for number in range(count)] == frame["payment_id"].tolist()
    assert offsets.split() == [each["offset"] for each in queries]
    assert frame["list_doubt"].isna().all()


SECOND, NO_ID = PAYMENT | {"id": "pay-2"}, PAYMENT | {"id": None}


@pytest.mark.parametrize(
    ("payments", "expected"),
    [
        ([PAYMENT, PAYMENT], [None, 0]),  # the same id
        ([PAYMENT, PAYMENT | {"amount": "25.5"}], [None, 0]),
        ([PAYMENT, SECOND], [None, None]),  # a batch: one transaction, two payments
        ([NO_ID, NO_ID | {"amount": "25.5"}], [None, 0]),  # the same number
        ([NO_ID, NO_ID | {"amount": "25.51"}], [None, None]),
        ([NO_ID, NO_ID | {"request": {"requestId": "other"}}], [None, None]),
        (
            [NO_ID | {"sourceTxHash": None}] * 2,
            [None, None],
        ),  # nothing tells that they are one
        ([PAYMENT, SECOND, SECOND, PAYMENT], [None, None, 1, 0]),
    ],
)
def test_duplicates_are_kept_and_marked(
    payments: list[Any], expected: list[int | None]
) -> None:
    """With the row that has the same payment already."""
    assert expected == duplicates(payments_frame(payments))


@pytest.mark.parametrize(
    ("fees", "protocol", "usd", "text"),
    [
        (
            [FEE, FEE],
            Decimal("0.0510"),
            Decimal("0.06"),
            "protocol 0.0255 USDC-sepolia; protocol 0.0255 USDC-sepolia",
        ),
        (
            [FEE, FEE | {"amount": None}],
            None,
            Decimal("0.06"),
            "protocol 0.0255 USDC-sepolia; protocol unknown",
        ),
        (
            [FEE, FEE | {"currency": "EUR"}],
            None,
            Decimal("0.06"),
            "protocol 0.0255 USDC-sepolia; protocol 0.0255 EUR",
        ),
        ([FEE, FEE | {"amountInUSD": None}], Decimal("0.0510"), None, "protocol"),
        ([FEE | {"type": 5.5}], None, Decimal("0.03"), "unknown 0.0255 USDC-sepolia"),
        ([], None, Decimal(0), ""),  # there are none
        (None, None, None, ""),  # not known
        (["odd", 5], None, Decimal(0), ""),
    ],
)
def test_fees_are_added_only_where_they_can_be(
    fees: Any, protocol: Decimal | None, usd: Decimal | None, text: str
) -> None:
    """An unknown amount, or another currency, makes the sum unknown; the text has each
    of them.
    """
    row = payments_frame([PAYMENT | {"fees": fees}]).iloc[0]

    assert (protocol, usd) == (row["fee_protocol"], row["fees_usd"])
    assert row["fees"].startswith(text) if text else pd.isna(row["fees"])


def test_each_type_of_fee_is_a_column() -> None:
    """Named by the type; a type that is no word is only in the text."""
    fees = [
        FEE,
        FEE | {"type": "gas", "amount": 0.001},
        FEE | {"type": "crypto-to-fiat"},
        FEE | {"type": "=cmd|' /C calc'!A0", "amount": "1"},
    ]
    frame = payments_frame([PAYMENT | {"fees": fees}, SECOND])

    assert ["fee_protocol", "fee_crypto_to_fiat", "fee_gas"] == [
        name for name in frame.columns if name.startswith("fee_")
    ]
    assert [Decimal("0.001"), None] == frame["fee_gas"].tolist()


ODD = {
    "amount": True,
    "timestamp": "soon",
    "request": [],
    "id": {},
    "fees": {},
    "currency": 5.5,
    "sourceTxHash": "",
}
FAR = [
    "9999-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    10**15,
]  # times that pandas does not have


@pytest.mark.parametrize(
    ("name", "value"), [*ODD.items(), *(("timestamp", time) for time in FAR)]
)
def test_an_odd_member_is_missing(name: str, value: object) -> None:
    """The rest of the row is read."""
    assert "direct" == payments_frame([PAYMENT | {name: value}])["type"][0]


@pytest.mark.parametrize(
    "time",
    [1793701800, "1793701800", 1793701800000, "1793701800000", "2026-11-03T10:30:00"],
)
def test_times_are_read_as_services_write_them(time: object) -> None:
    """In seconds or milliseconds since 1970, or as ISO 8601."""
    assert (
        pd.Timestamp("2026-11-03T10:30:00")
        == payments_frame([PAYMENT | {"timestamp": time}])["timestamp_utc"][0]
    )


@pytest.mark.parametrize(
    "body", [[], {}, {"payments": {}}, {"payments": [5]}, {"data": []}, "text"]
)
def test_anything_but_a_list_of_payments_is_unreadable(body: object) -> None:
    """It is not taken for an empty list."""
    with pytest.raises(UnreadableAnswer, match="expected a list of payments"):
        ask([body])


@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        # Half a list would look like a whole one.
        (
            [reply(200, json.dumps(page([PAYMENT], more=True))), reply(500)],
            ServiceError,
            "responded with 500",
        ),
        (
            [reply(404, '{"message": "Cannot GET /v2/payments"}')],
            NotFound,
            "does not offer this call",
        ),
    ],
)
def test_a_page_that_fails_fails_the_list(
    answers: list[Behaviour], error: type[payerkit.PayerkitError], words: str
) -> None:
    """The call is beyond the specification, so a service may lack it."""
    with pytest.raises(error, match=words):
        ask(answers)
