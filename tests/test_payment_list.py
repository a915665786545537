"""The list of payments: its filters, its pages, its columns, and what nobody may see in it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from socket import socket
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pandas as pd
import pytest

import payerkit
from far_end import Behaviour, FarEnd, Received, message, reply
from payerkit import InvalidInput
from payerkit.client import Client
from payerkit.errors import NotFound, PaymentListWarning, ServiceError, UnreadableAnswer
from payerkit.payouts.payments import payments_frame

HASH = "0x" + "ab" * 32
FEE = {
    "type": "protocol",
    "stage": "sending",
    "provider": "request-network",
    "amount": "0.0255",
    "amountInUSD": "0.03",
    "currency": "USDC-sepolia",
    "receiverAddress": "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5",
    "network": "sepolia",
}
PAYMENT: dict[str, Any] = {
    "id": "pay-1",
    "amount": "25.50",
    "sourceNetwork": "sepolia",
    "destinationNetwork": "sepolia",
    "sourceTxHash": HASH,
    "destinationTxHash": None,
    "timestamp": "2026-11-02T10:30:00.000Z",
    "type": "direct",
    "currency": "USD",
    "paymentCurrency": "USDC-sepolia",
    "fees": [FEE],
    "request": {
        "requestId": "01abc",
        "paymentReference": "0x44d119773d96f724",
        "hasBeenPaid": True,
        "customerInfo": {"firstName": "Ada", "email": "ada@example.com", "address": {"street": "1 Example Street"}},
        "reference": "invoice-001",
    },
}
"""A payment with the members of the operator's documentation (GET /v2/payments)."""


def page(payments: list[Any], *, total: Any = None, more: Any = False) -> dict[str, Any]:
    """Return a response with one page."""
    return {"payments": payments, "pagination": {"total": total, "limit": 100, "offset": 0, "hasMore": more}}


def answering(*bodies: object, status: int = 200) -> FarEnd:
    """Return a service that responds with these bodies, one after the other, and then with the last."""
    return FarEnd([reply(status, json.dumps(body)) for body in bodies])


def client_of(service: FarEnd, **options: Any) -> Client:
    """Return a client that tries each call once."""
    return Client(service.url, "key-of-a-test", retries=payerkit.client.Retries(attempts=1), **options)


def queries(service: FarEnd) -> list[dict[str, str]]:
    """Return the queries of all requests."""
    return [dict(parse_qsl(urlsplit(each.target).query)) for each in service.ledger]


def listed(*bodies: object, **filters: Any) -> pd.DataFrame:
    """Return the list of a service that responds so."""
    with answering(*bodies) as service, client_of(service) as client:
        return payerkit.list_payments(client, **({"reference": "invoice-001"} | filters))


def pages_of(payments: list[dict[str, Any]], *, cap: int = 1000) -> Behaviour:
    """Return a service that has these payments, and lists no more than some on a page."""

    def behave(connection: socket, request: Received) -> bool:
        query = dict(parse_qsl(urlsplit(request.target).query))
        start, length = int(query["offset"]), min(int(query["limit"]), cap)
        chunk = payments[start : start + length]
        body = page(chunk, total=len(payments), more=start + len(chunk) < len(payments))
        connection.sendall(message(200, json.dumps(body).encode()))
        return True

    return behave


def test_a_payment_is_a_row() -> None:
    """Amounts are exact, the time is in UTC, the ids of its request stand beside its own."""
    frame = listed(page([PAYMENT], total=1))

    row = frame.iloc[0]
    assert ("pay-1", "01abc", "invoice-001") == (row["payment_id"], row["request_id"], row["reference"])
    assert (Decimal("25.50"), Decimal("0.0255"), Decimal("0.03")) == (
        row["amount"],
        row["fee_protocol"],
        row["fees_usd"],
    )
    assert "protocol 0.0255 USDC-sepolia" == row["fees"]
    assert pd.Timestamp("2026-11-02T10:30:00Z") == row["timestamp"]
    assert ("datetime64[ns, UTC]", "boolean", "Int64") == tuple(
        str(frame.dtypes[name]) for name in ("timestamp", "has_been_paid", "duplicate_of")
    )


def test_an_empty_list_has_all_columns() -> None:
    """So that code for a list with payments works with it."""
    assert list(listed(page([PAYMENT])).columns) == list(listed(page([])).columns)
    assert listed(page([PAYMENT])).dtypes.equals(listed(page([])).dtypes)


def test_nothing_personal_is_shown_unless_revealed() -> None:
    """What is known of the customer, and a reference with an e-mail address."""
    request = PAYMENT["request"] | {"reference": "for ada@example.com"}
    content = page([PAYMENT | {"request": request, "customerInfo": PAYMENT["request"]["customerInfo"]}])
    masked, shown = listed(content), listed(content, reveal=True)

    assert not any(word in masked.to_csv() for word in ("Ada", "@", "Example Street"))
    assert ("••••", "••••") == tuple(masked.loc[0, ["customer", "reference"]])
    assert PAYMENT["request"]["customerInfo"] == json.loads(shown["customer"][0])
    assert "for ada@example.com" == shown["reference"][0]


def test_payments_are_told_apart_by_references_that_are_masked() -> None:
    """One transaction may pay several requests, and the list may have no ids of them."""
    batch = [{"sourceTxHash": HASH, "amount": "1", "request": {"reference": f"{name}@example.com"}} for name in "ab"]
    frame = payments_frame([*batch, batch[0]])

    assert [None, None, 0] == [None if pd.isna(each) else each for each in frame["duplicate_of"]]
    assert {"••••"} == set(frame["reference"])


@pytest.mark.parametrize("customer", ["Ada Example", ["Ada"], {"note": "Ada"}, 5])
def test_a_customer_in_any_shape_is_masked(customer: object) -> None:
    """What others put there is not known."""
    frame = listed(page([PAYMENT | {"request": PAYMENT["request"] | {"customerInfo": customer}}]))

    assert "••••" == frame["customer"][0]


FILTERS = {
    "reference": "reference",
    "request_id": "requestId",
    "payment_reference": "paymentReference",
    "tx_hash": "txHash",
    "wallet": "walletAddress",
    "invoice_currency": "invoiceCurrency",
    "payment_currency": "paymentCurrency",
}


@pytest.mark.parametrize(("name", "wire"), FILTERS.items())
def test_filters_are_sent_by_their_published_names(name: str, wire: str) -> None:
    """Each alone is enough."""
    with answering(page([])) as service, client_of(service) as client:
        filters: dict[str, Any] = {name: "value of & it"}
        payerkit.list_payments(client, **filters)

    assert [{wire: "value of & it", "limit": "100", "offset": "0"}] == queries(service)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (datetime(2026, 11, 1, 1, 30, tzinfo=timezone(timedelta(hours=2))), "2026-10-31T23:30:00Z"),
        (datetime(2026, 11, 1, 1, 30, 0, 250_999, UTC), "2026-11-01T01:30:00.250Z"),
        (pd.Timestamp("2026-11-01T01:30:00Z"), "2026-11-01T01:30:00Z"),
        (date(2026, 11, 1), "2026-11-01T00:00:00Z"),
        ("2026-11-01", "2026-11-01T00:00:00Z"),
        ("2026-11-01T00:00:00+01:00", "2026-10-31T23:00:00Z"),
    ],
)
def test_times_are_sent_in_utc(given: Any, sent: str) -> None:
    """As ISO 8601 with Z; a date begins in UTC."""
    with answering(page([])) as service, client_of(service) as client:
        payerkit.list_payments(client, payment_type="direct", from_date=given)

    assert sent == queries(service)[0]["fromDate"]


def test_the_last_day_is_included() -> None:
    """A date means the whole day."""
    with answering(page([])) as service, client_of(service) as client:
        payerkit.list_payments(client, wallet="0x1", from_date="2026-11-01", to_date=date(2026, 11, 1))

    assert "2026-11-01T23:59:59.999Z" == queries(service)[0]["toDate"]


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({}, "Give one of reference"),
        ({"from_date": "2026-11-01"}, "a period alone is not enough"),
        ({"reference": ""}, "reference: "),
        ({"reference": 5}, "reference: "),
        ({"payment_type": "bank"}, "payment_type: expected 'direct'"),
        ({"wallet": "0x1", "from_date": datetime(2026, 11, 1)}, "from_date: give a time with its time zone"),  # noqa: DTZ001 - the point
        ({"wallet": "0x1", "to_date": "2026-11-01T10:00:00"}, "to_date: give a time with its time zone"),
        ({"wallet": "0x1", "to_date": "yesterday"}, "to_date: expected ISO 8601"),
        ({"wallet": "0x1", "to_date": "November 1st, 2026"}, "to_date: expected ISO 8601"),
        ({"wallet": "0x1", "to_date": 1_700_000_000}, "to_date: expected a datetime"),
        ({"wallet": "0x1", "to_date": pd.NaT}, "to_date: "),
        ({"wallet": "0x1", "from_date": "2026-11-02", "to_date": "2026-11-01"}, "ends before it begins"),
        ({"wallet": "0x1", "page_size": 0}, "page_size: "),
        ({"wallet": "0x1", "page_size": True}, "page_size: "),
    ],
)
def test_what_cannot_be_asked_is_not_sent(filters: dict[str, Any], words: str) -> None:
    """The message names the argument."""
    with answering(page([])) as service, client_of(service) as client, pytest.raises(InvalidInput, match=words):
        payerkit.list_payments(client, **filters)

    assert [] == service.ledger


def many(count: int) -> list[dict[str, Any]]:
    """Return payments with ids of their own."""
    return [PAYMENT | {"id": f"pay-{number}", "sourceTxHash": f"0x{number:064x}"} for number in range(count)]


@pytest.mark.slow
def test_ten_thousand_payments_in_pages() -> None:
    """Each once, in the service's order, with as many calls as pages."""
    with FarEnd([pages_of(many(10_000))]) as service, client_of(service) as client:
        frame = payerkit.list_payments(client, wallet="0x1", page_size=1000)

    assert [f"pay-{number}" for number in range(10_000)] == frame["payment_id"].tolist()
    assert [str(1000 * number) for number in range(10)] == [each["offset"] for each in queries(service)]
    assert frame["duplicate_of"].isna().all()


def test_a_service_with_shorter_pages_is_read_to_the_end() -> None:
    """The next page begins after what came, not after what was asked for."""
    with FarEnd([pages_of(many(7), cap=3)]) as service, client_of(service) as client:
        frame = payerkit.list_payments(client, wallet="0x1")

    assert (7, ["0", "3", "6"]) == (len(frame), [each["offset"] for each in queries(service)])


def test_each_page_waits_for_its_turn() -> None:
    """All calls of a client keep one pace."""
    waits: list[float] = []
    with (
        FarEnd([pages_of(many(6))]) as service,
        client_of(service, rate=2, clock=lambda: sum(waits), sleep=waits.append) as client,
    ):
        payerkit.list_payments(client, wallet="0x1", page_size=2)

    assert [0.5, 0.5] == pytest.approx([wait for wait in waits if wait])


@pytest.mark.parametrize(
    ("bodies", "calls"),
    [
        ([page([PAYMENT], more=True)], 2),  # the same page again, without end
        ([page([PAYMENT], more=True), page([], more=True)], 2),  # nothing, and more to follow
        ([page([PAYMENT], total=5, more=False)], 1),  # fewer than it counts
        ([page([PAYMENT], total=3, more=None), page([], total=3, more=None)], 2),
    ],
)
def test_a_list_that_may_lack_payments_is_told(bodies: list[object], calls: int) -> None:
    """At the caller's line, after as few calls as it takes."""
    with (
        answering(*bodies) as service,
        client_of(service) as client,
        pytest.warns(PaymentListWarning, match="may be missing") as caught,
    ):
        frame = payerkit.list_payments(client, wallet="0x1")

    assert (1, calls) == (len(frame), len(service.ledger))
    assert [__file__] == [warning.filename for warning in caught]


def test_pages_without_end_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service whose every page has something new, and says that more follow."""
    monkeypatch.setattr("payerkit.payouts.payments._MOST_PAGES", 3)
    pages = [page([each], more=True) for each in many(9)]
    with (
        answering(*pages) as service,
        client_of(service) as client,
        pytest.warns(PaymentListWarning, match="After 3 pages with 3 payments"),
    ):
        frame = payerkit.list_payments(client, wallet="0x1")

    assert (3, 3) == (len(frame), len(service.ledger))


def test_a_list_that_changes_while_it_is_read_is_told() -> None:
    """What moved from one page to the next is there twice, and marked."""
    first, second, third = many(3)
    moved = [page([third, second], total=3, more=True), page([second, first], total=4)]
    with pytest.warns(PaymentListWarning, match="its length changed from 3 to 4 payments"):
        frame = listed(*moved, page_size=2)

    assert [None, None, 1, None] == [None if pd.isna(each) else each for each in frame["duplicate_of"]]


def silent_pages(*lists: list[dict[str, Any]], cap: int = 1000, deaf: bool = False) -> Behaviour:
    """Return a service that does not say where its list ends, with the list of each call; then the last one.

    deaf: it returns the first page, whichever is asked for.
    """
    waiting = list(lists)

    def behave(connection: socket, request: Received) -> bool:
        payments = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        query = dict(parse_qsl(urlsplit(request.target).query))
        start, length = (0 if deaf else int(query["offset"])), min(int(query["limit"]), cap)
        connection.sendall(message(200, json.dumps({"payments": payments[start : start + length]}).encode()))
        return True

    return behave


def read_silent(behave: Behaviour, page_size: int) -> tuple[list[str], list[str], list[str]]:
    """Return the payments of a list, the offsets of its pages, and what was warned of."""
    with FarEnd([behave]) as service, client_of(service) as client, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = payerkit.list_payments(client, wallet="0x1", page_size=page_size)
    read = frame["payment_id"][frame["duplicate_of"].isna()].str.removeprefix("pay-").tolist()
    return read, [each["offset"] for each in queries(service)], [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("count", "page_size", "cap", "offsets"),
    [
        (0, 100, 100, ["0"]),
        (1, 100, 100, ["0", "1"]),  # a page of one cannot overlap
        (3, 100, 100, ["0", "2"]),
        (3, 2, 100, ["0", "1", "2"]),
        (4, 2, 100, ["0", "1", "2", "3"]),
        (5, 100, 2, ["0", "1", "2", "3", "4"]),  # short pages are no sign of the end
        (7, 100, 3, ["0", "2", "4", "6"]),
        (3, 1, 100, ["0", "1", "2", "3"]),
        (3, 100, 1, ["0", "1", "2", "3"]),
    ],
)
def test_a_list_that_does_not_say_its_end_is_read_to_an_empty_page(
    count: int, page_size: int, cap: int, offsets: list[str]
) -> None:
    """However short its pages are; each begins with the last payment of the one before, if that had several."""
    everything = [str(number) for number in range(count)]

    assert (everything, offsets, []) == read_silent(silent_pages(many(count), cap=cap), page_size)


A, B, C, D, E = many(5)
CHANGED = "While the list was read, it changed"


@pytest.mark.parametrize(
    ("behave", "read", "words"),
    [
        (silent_pages([B, C, D], [A, B, C, D, E]), ["1", "2", "3", "4"], CHANGED),  # a new one came first
        (silent_pages([B, C], [A, B, C]), ["1", "2"], "nothing new"),  # likewise, and the page is the same again
        (silent_pages([A, B, C, D], [B, C, D]), ["0", "1", "2", "3"], CHANGED),  # one went; the overlap has the next
        (silent_pages([A, B], []), ["0", "1"], CHANGED),
        (silent_pages([A, B, C], [A, B, C, D, E]), ["0", "1", "2", "3", "4"], ""),  # new ones came last
        (silent_pages([A, B, C], deaf=True), ["0", "1", "2"], "nothing new"),
        (silent_pages([A], deaf=True), ["0"], "nothing new"),
    ],
)
def test_a_list_without_end_that_changes_is_told(behave: Behaviour, read: list[str], words: str) -> None:
    """The overlap shows what no count does."""
    found, _, warned = read_silent(behave, page_size=3)

    assert (read, [True] if words else []) == (found, [words in each for each in warned])


@pytest.mark.parametrize(("word", "count"), [("hasMore", 2), ("has_more", 2)])
def test_either_spelling_says_that_more_follow(word: str, count: int) -> None:
    """A page may be empty, and another one follow; a full one may be the last."""
    pages = [{"payments": [A], "pagination": {word: True}}, {"payments": [B], "pagination": {word: False}}]
    with answering(*pages) as service, client_of(service) as client:
        frame = payerkit.list_payments(client, wallet="0x1", page_size=1)

    assert (count, count) == (len(frame), len(service.ledger))


def test_a_payment_that_comes_again_on_a_later_page_is_told() -> None:
    """If the service does not count its payments, that is the only sign that the list changed."""
    pages = [page([B, C], more=True), page([C, D])]
    with pytest.warns(PaymentListWarning, match=CHANGED):
        frame = listed(*pages, page_size=2)

    assert ["pay-1", "pay-2", "pay-3"] == frame["payment_id"][frame["duplicate_of"].isna()].tolist()


SECOND = PAYMENT | {"id": "pay-2"}


@pytest.mark.parametrize(
    ("payments", "duplicates"),
    [
        ([PAYMENT, PAYMENT], [None, 0]),  # the same id
        ([PAYMENT, PAYMENT | {"amount": "25.5"}], [None, 0]),
        ([PAYMENT, SECOND], [None, None]),  # a batch: one transaction, two payments
        ([PAYMENT, PAYMENT | {"id": None}], [None, 0]),  # one without an id
        ([PAYMENT | {"id": None}, PAYMENT], [None, 0]),
        ([PAYMENT | {"id": None}, PAYMENT | {"id": None, "amount": "25.5"}], [None, 0]),  # the same number
        ([PAYMENT | {"id": None}, PAYMENT | {"id": None, "amount": "25.51"}], [None, None]),
        ([PAYMENT | {"id": None}, PAYMENT | {"id": None, "request": {"requestId": "other"}}], [None, None]),
        ([PAYMENT | {"id": None, "sourceTxHash": None}] * 2, [None, None]),  # nothing tells that they are one
        ([PAYMENT, SECOND, SECOND, PAYMENT], [None, None, 1, 0]),
    ],
)
def test_duplicates_are_kept_and_marked(payments: list[Any], duplicates: list[int | None]) -> None:
    """With the row that has the same payment already."""
    found = listed(page(payments))["duplicate_of"]

    assert duplicates == [None if pd.isna(each) else each for each in found]


@pytest.mark.parametrize(
    ("fees", "protocol", "usd", "text"),
    [
        ([FEE, FEE], Decimal("0.0510"), Decimal("0.06"), "protocol 0.0255 USDC-sepolia; protocol 0.0255 USDC-sepolia"),
        ([FEE, FEE | {"amount": None}], None, Decimal("0.06"), "protocol 0.0255 USDC-sepolia; protocol unknown"),
        ([FEE, FEE | {"currency": "EUR"}], None, Decimal("0.06"), "protocol 0.0255 USDC-sepolia; protocol 0.0255 EUR"),
        ([FEE, FEE | {"amountInUSD": None}], Decimal("0.0510"), None, "protocol"),
        ([FEE | {"type": 5.5}], None, Decimal("0.03"), "unknown 0.0255 USDC-sepolia"),
        ([], None, Decimal(0), None),  # there are none
        (None, None, None, None),  # not known
        (["odd", 5], None, Decimal(0), None),
    ],
)
def test_fees_are_added_only_where_they_can_be(
    fees: Any, protocol: Decimal | None, usd: Decimal | None, text: str | None
) -> None:
    """An unknown amount, or another currency, makes the sum unknown; the text has each of them."""
    row = listed(page([PAYMENT | {"fees": fees}])).iloc[0]

    assert (protocol, usd) == (row["fee_protocol"], row["fees_usd"])
    assert (pd.isna(row["fees"]) if text is None else row["fees"].startswith(text)) is True


def test_each_type_of_fee_is_a_column() -> None:
    """Named by the type; a type that is no word is only in the text."""
    fees = [FEE, FEE | {"type": "gas", "amount": 0.001}, FEE | {"type": "=cmd|' /C calc'!A0", "amount": "1"}]
    frame = listed(page([PAYMENT | {"fees": fees}, SECOND]))

    assert ["fee_protocol", "fee_gas"] == [name for name in frame.columns if name.startswith("fee_")]
    assert [Decimal("0.001"), None] == frame["fee_gas"].tolist()


ODD: dict[str, Any] = {
    "amount": True,
    "timestamp": "soon",
    "request": [],
    "id": {},
    "fees": {},
    "currency": 5.5,
    "sourceTxHash": "",
}


@pytest.mark.parametrize(("name", "value"), ODD.items())
def test_an_odd_member_is_missing(name: str, value: object) -> None:
    """The rest of the row is read."""
    frame = listed(page([PAYMENT | {name: value}]))

    assert (1, "direct") == (len(frame), frame["type"][0])


@pytest.mark.parametrize("time", ["9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z", 10**15, "1763769600"])
def test_any_time_is_read_or_missing(time: object) -> None:
    """A time that pandas does not have is no error."""
    assert 1 == len(payments_frame([PAYMENT | {"timestamp": time}]))


@pytest.mark.parametrize("time", [1793701800, "1793701800", 1793701800000, "1793701800000", "2026-11-03T10:30:00"])
def test_times_are_read_as_services_write_them(time: object) -> None:
    """In seconds or milliseconds since 1970, or as ISO 8601."""
    assert pd.Timestamp("2026-11-03T10:30:00Z") == payments_frame([PAYMENT | {"timestamp": time}])["timestamp"][0]


@pytest.mark.parametrize("body", [[], {}, {"payments": {}}, {"payments": [5]}, {"data": []}, "text"])
def test_anything_but_a_list_of_payments_is_unreadable(body: object) -> None:
    """It is not taken for an empty list."""
    with pytest.raises(UnreadableAnswer, match="expected a list of payments"):
        listed(body)


def test_null_is_an_empty_list() -> None:
    """As for bank accounts."""
    assert listed({"payments": None, "pagination": None}).empty


def test_a_failure_on_a_later_page_fails_the_list() -> None:
    """Half a list would look like a whole one."""
    behaviours = [reply(200, json.dumps(page([PAYMENT], more=True))), reply(500)]
    with FarEnd(behaviours) as service, client_of(service) as client, pytest.raises(ServiceError):
        payerkit.list_payments(client, wallet="0x1")


def test_a_service_without_the_call_says_so() -> None:
    """It is beyond the specification."""
    with (
        answering({"message": "Cannot GET /v2/payments"}, status=404) as service,
        client_of(service) as client,
        pytest.raises(NotFound, match="does not offer this call"),
    ):
        payerkit.list_payments(client, wallet="0x1")


@pytest.mark.parametrize("bad", [lambda: payerkit.list_payments(None, wallet="0x1")])  # type: ignore[arg-type]  # the point
def test_the_first_argument_is_a_client(bad: Callable[[], object]) -> None:
    """As for every call."""
    with pytest.raises(InvalidInput, match="must be a client"):
        bad()
