"""Events: what a signature proves, what an event says, and each one once in a frame."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cases import table
from payerkit import InvalidInput, explain, read_events, reconcile
from payerkit.checks.schema import MASK
from payerkit.errors import EventsWarning, InvalidSignature
from payerkit.events import Event, verify_event
from payerkit.events.file import Delivery
from payerkit.frames import columns
from payerkit.payouts.lists import payments_frame
from payerkit.wire import our_name
from published_events import (
    COMPLIANCE,
    CONFIRMED,
    DELIVERY_ID,
    FAILED,
    PAYMENT_DETAIL,
    PROCESSING,
    PUBLISHED,
    REFUNDED,
    REQUEST_ID,
    SECRET,
    body_of,
    line_of,
    sign,
)

VECTOR = "fcf6b345a92afc81c2ca60545b435cb43c4f5a07f8189ae456c9c58e16eebcaf"
"""The signature of `COMPLIANCE`, computed with another program."""

BODY = body_of(COMPLIANCE)


def cells(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """Return some columns, row by row."""
    return list(frame[list(names)].itertuples(index=False, name=None))


def signatures(frame: pd.DataFrame) -> list[str]:
    """Return the column of signatures."""
    return list(frame["signature"])


def test_the_vector_is_verified() -> None:
    """Body and signature of another program fit, byte by byte."""
    event = verify_event(BODY, VECTOR, SECRET)

    assert (228, "user-123", True) == (len(BODY), event.client_user_id, event.is_compliant)


@pytest.mark.parametrize(
    ("signature", "secret"),
    [
        (f"sha256={VECTOR}", SECRET),  # as one client accepts it
        (VECTOR.upper(), SECRET),
        (f" {VECTOR}\n", SECRET),  # from a file
        (VECTOR, SECRET.encode()),
        (VECTOR, ["the secret of before", SECRET]),  # after the secret was replaced
    ],
)
def test_spellings_of_a_signature_are_accepted(signature: str, secret: Any) -> None:
    """Neither letters nor a prefix change what was signed, and one of several secrets is enough."""
    assert "compliance.updated" == verify_event(BODY, signature, secret).event


@pytest.mark.parametrize(
    ("body", "signature", "secret"),
    [
        (BODY, sign(BODY, "other"), SECRET),
        (BODY.replace(b"approved", b"rejected"), VECTOR, SECRET),
        (BODY, VECTOR[:-1], SECRET),
        (BODY, "٣" * 64, SECRET),  # digits, but not of hexadecimal numbers
        (BODY, "", SECRET),
        (BODY, None, SECRET),
        (BODY, pd.Series([VECTOR]), SECRET),  # a column in place of a cell
        (BODY, VECTOR, f"{SECRET}\n"),
        (json.dumps(COMPLIANCE).encode(), VECTOR, SECRET),  # parsed and written again
        (BODY + b"\n", VECTOR, SECRET),
    ],
)
def test_a_wrong_signature_is_refused(body: bytes, signature: Any, secret: str) -> None:
    """Nothing is returned, and the error says what may be wrong, but nothing of the body or the secret."""
    with pytest.raises(InvalidSignature, match="signature: missing, or not made of this body") as raised:
        verify_event(body, signature, secret)

    assert "Verify the raw bytes" in str(raised.value)
    assert [] == [each for each in ("user-123", SECRET, VECTOR) if each in str(raised.value)]


@pytest.mark.parametrize(
    ("body", "secret", "words"),
    [
        (COMPLIANCE, SECRET, "body: expected the raw bytes as they arrived, got a dict"),
        (BODY.decode(), SECRET, "body: expected the raw bytes as they arrived, got a str"),
        (BODY, "", "secret: expected the secret"),  # anybody could sign with it
        (BODY, [], "secret: expected the secret"),
        (BODY, [SECRET, b""], "secret: expected the secret"),
        (BODY, None, "secret: expected the secret"),
        (BODY, "\ud800", "secret: expected the secret"),
    ],
)
def test_arguments_of_another_kind_are_refused(body: Any, secret: Any, words: str) -> None:
    """A body that was parsed cannot be verified, and no secret proves nothing."""
    with pytest.raises(InvalidInput, match=words):
        verify_event(body, VECTOR, secret)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"not JSON", b"\xff", b"[" * 100_000])
def test_what_was_signed_may_be_no_event(body: bytes) -> None:
    """Then the signature is right, and there is no event."""
    with pytest.raises(InvalidInput, match="it is not a JSON object"):
        verify_event(body, sign(body), SECRET)


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda event: event["event"])
def test_published_events_are_read(published: dict[str, Any]) -> None:
    """Each is read completely, kept as received, and shown without what the operator adds."""
    event = Event.read(published)

    assert ((), published) == (event.odd, event.to_dict(reveal=True))
    assert "rawPayload" not in event._repr_html_() + repr(event)
    assert MASK == event.to_dict().get("rawPayload", MASK)


@table("odd_events")
def test_events_are_read_tolerantly(content: dict[str, Any], name: str, value: str) -> None:
    """Every published spelling is read, and what is odd is missing."""
    assert value == str(getattr(Event.read(content), name))


@pytest.mark.parametrize(
    ("published", "move"),
    [(COMPLIANCE, "nobody"), (PAYMENT_DETAIL, "payee"), (PROCESSING, "service"), (FAILED, "payee")],
)
def test_events_are_explained(published: dict[str, Any], move: str) -> None:
    """The status is explained as what it is the status of."""
    assert move == explain(Event.read(published)).whose_move


def test_a_frame_has_every_published_event() -> None:
    """One row each, with its members, in the order in which they happened; what has no time, by its arrival."""
    lines = [line_of(event, str(place)) for place, event in enumerate(PUBLISHED)]
    frame = read_events(lines, secret=SECRET).set_index("event")

    names = ["compliance.updated", "payment.confirmed", "payment.processing", "payment_detail.updated"]
    assert [*names, "payment.failed", "payment.refunded", "request.recurring"] == list(frame.index)
    assert ({"valid"}, {1}) == (set(frame["signature"]), set(frame["deliveries"]))
    assert Decimal("100.0") == frame["amount"]["payment.confirmed"]
    assert Decimal("50.0") == frame["amount"]["payment.refunded"]
    assert pd.Timestamp("2025-10-03T14:35:00Z") == frame["timestamp"]["payment.processing"]
    for event in PUBLISHED:
        members = {our_name(name): value for name, value in event.items() if value not in ("", "100.0")}
        texts = {name: value for name, value in members.items() if name in frame.columns and name != "timestamp"}
        assert texts == {name: frame[name][event["event"]] for name in texts}
    assert ["Beneficiary name mismatch", "Returned by the bank"] == list(frame["reason"].dropna())


COLUMNS = columns(
    "delivery event received_at timestamp client_user_id payment_details_id request_id payment_reference kyc_status "
    "agreement_status is_compliant sub_status status amount currency payment_currency tx_hash network reason "
    "retry_count is_test signature deliveries variants",
    time="received_at timestamp",
    boolean="is_compliant is_test",
    object="amount",
    Int64="retry_count deliveries",
)


@pytest.mark.parametrize("source", [[], [COMPLIANCE], [b"not JSON"], [line_of(CONFIRMED)]])
def test_columns_always_stand(source: list[Any]) -> None:
    """Names, order and types of the columns are the same without events, and with what cannot be read."""
    assert COLUMNS == {name: str(dtype) for name, dtype in read_events(source, secret="x").dtypes.items()}


def test_an_event_is_counted_once() -> None:
    """However often it was delivered; the row counts how often, and how often it was retried."""
    again = line_of(FAILED, "1", retries=2, received_at="2025-10-03T14:40:06Z")
    frame = read_events([line_of(FAILED, "1"), again, line_of(FAILED, "2"), again])

    assert [("1", 3, 2), ("2", 1, 0)] == cells(frame, "delivery", "deliveries", "retry_count")
    assert pd.Timestamp("2025-10-03T14:40:00Z") == frame["received_at"][0]  # that of the first


@pytest.mark.parametrize("is_reversed", [False, True])
def test_another_body_under_one_id_is_another_event(is_reversed: bool) -> None:
    """Whoever sees a delivery can send its id again; the body is what is signed, and what both say is told."""
    sent = [line_of({**PROCESSING, "subStatus": word, "timestamp": None}, "1") for word in ("fiat_sent", "bounced")]
    order = {"request_id": REQUEST_ID, "amount": "100", "invoice_currency": "USD"}

    with pytest.warns(EventsWarning, match="1 delivery id came with different bodies") as caught:
        frame = read_events([*(sent[::-1] if is_reversed else sent), sent[0]], secret=SECRET)
    assert {("1", "fiat_sent", 2), ("1", "bounced", 1)} == set(cells(frame, "delivery", "sub_status", "deliveries"))
    assert [__file__] == [warning.filename for warning in caught]
    assert ["bounced"] == list(reconcile([order], payments_frame([]), events=frame)["bank_status"])


@pytest.mark.parametrize("place", [0, 1])
def test_a_forged_delivery_hides_no_event(place: int) -> None:
    """One under the id of another is invalid, is not counted as that one, and its id is not told."""
    sent = [line_of(COMPLIANCE, "1")]
    sent.insert(place, line_of(FAILED, "1", signature=VECTOR))
    frame = read_events(sent, secret=SECRET)

    assert [("valid", 1), ("invalid", 1)] == cells(frame, "signature", "deliveries")
    assert "compliance.updated" == frame["event"][0]


def test_an_event_of_two_webhooks_is_counted_once() -> None:
    """The same body with a time in it is the same event, whatever its delivery is called; without a time, it is not."""
    bodies = [CONFIRMED, CONFIRMED, FAILED, FAILED]
    frame = read_events([line_of(body, str(place)) for place, body in enumerate(bodies)])

    expected = [("payment.confirmed", 2), ("payment.failed", 1), ("payment.failed", 1)]
    assert expected == cells(frame, "event", "deliveries")
    assert [2] == list(read_events([line_of(FAILED, None)] * 2)["deliveries"])  # without an id, the body alone tells


def variant(ending: str, event: dict[str, Any] = CONFIRMED, **more: str) -> dict[str, Any]:
    """Return an event as the service sends it in addition: another name, a moment later, with more members."""
    return {**event, "event": event["event"] + ending, "timestamp": "2025-10-03T14:30:01Z", **more}


@pytest.mark.parametrize("is_reversed", [False, True])
def test_variants_are_not_counted_twice(is_reversed: bool) -> None:
    """They are named in the row of their event, in whichever order they arrive."""
    second = {**CONFIRMED, "txHash": "0x01"}
    events = [
        *(CONFIRMED, variant(".client_id", clientId="cli_1", origin="https://example.com"), variant(".checkout")),
        *(second, variant(".checkout", second)),
    ]
    lines = [line_of(event, str(place)) for place, event in enumerate(events)]
    frame = read_events(lines[::-1] if is_reversed else lines).set_index("tx_hash")

    assert {"payment.confirmed"} == set(frame["event"])
    assert {".client_id", ".checkout"} == set(frame["variants"][CONFIRMED["txHash"]].split())
    assert (2, ".checkout", {1}) == (len(frame), frame["variants"]["0x01"], set(frame["deliveries"]))


def test_a_variant_may_come_alone() -> None:
    """If the event itself was lost, its variants are its row."""
    frame = read_events([line_of(variant(".checkout"), "1"), line_of(variant(".client_id"), "2")])

    assert [("payment.confirmed", ".checkout .client_id")] == cells(frame, "event", "variants")


def test_nothing_of_an_invalid_delivery_is_believed() -> None:
    """It is listed last, with nothing that its body says; so is what has no signature, and what cannot be read."""
    unsigned = line_of(CONFIRMED, "2") | {"headers": {"x-request-network-delivery": "2"}}
    other = line_of(FAILED, "3", signature=sign(b"something else"))
    frame = read_events([unsigned, other, b"{", COMPLIANCE, line_of(COMPLIANCE, "1")], secret=SECRET)

    assert ["valid", "invalid", "invalid", "unreadable", "invalid"] == signatures(frame)
    known = ["delivery", "received_at", "retry_count", "is_test", "signature", "deliveries"]
    assert frame.drop(columns=known).iloc[1:].isna().all(axis=None)
    assert ["1", "2", "3"] == list(frame["delivery"].dropna())


PERSONAL = {
    **PAYMENT_DETAIL,
    "clientUserId": "zoe@example.com",
    "rejectionMessage": "Account DE89 3704 0044 0532 0130 00 of zoe@example.com (Zoé) is not 253009233489,\nsee 12",
    "rawPayload": {"fullName": "Zoé Quartermaine", "iban": "DE89370400440532013000"},
    "customerInfo": {"street": "77 Typed Terrace"},
}


def test_nothing_personal_is_shown() -> None:
    """Neither in a frame nor in an event: ids that are e-mails, numbers and addresses in a reason, what was added."""
    event = Event.read(PERSONAL)
    views = read_events([PERSONAL]).to_string() + repr(event) + event._repr_html_() + json.dumps(event.to_dict())
    views += str(event.model_dump()) + str(dict(event))

    private = ["zoe@example.com", "3704", "2530", "Quartermaine", "Terrace"]
    assert [] == [value for value in private if value in views]
    assert "Account •••• of •••• (Zoé) is not ••••, see 12" in views


def test_all_is_shown_on_demand() -> None:
    """`reveal=True` shows ids and reasons as they arrived."""
    frame = read_events([PERSONAL], reveal=True)

    assert [PERSONAL["clientUserId"], PERSONAL["rejectionMessage"]] == list(frame[["client_user_id", "reason"]].iloc[0])


def lines(*events: object) -> bytes:
    """Return a file of events, one line each."""
    return b"".join(json.dumps(line_of(event, str(place))).encode() + b"\n" for place, event in enumerate(events))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("e.jsonl", lines(COMPLIANCE, FAILED), ["valid", "valid"]),
        ("e.jsonl", b"\n" + lines(COMPLIANCE, FAILED).replace(b"\n", b"\r\n\n"), ["valid", "valid"]),  # edited
        ("e.jsonl", lines(COMPLIANCE) + lines(FAILED)[:-20], ["valid"]),  # a half line: nobody was told of it
        ("e.jsonl", lines(COMPLIANCE)[:-1], ["valid"]),  # whole, but for its end
        ("e.jsonl", lines(COMPLIANCE)[:-20] + b"\n" + lines(FAILED), ["valid", "unreadable"]),  # damaged
        ("e.txt", lines(COMPLIANCE), ["valid"]),
        ("e.json", lines(COMPLIANCE, FAILED), ["valid", "valid"]),  # lines, whatever its name says
        ("e.json", json.dumps(line_of(COMPLIANCE), indent=1).encode(), ["valid"]),
        ("e.json", json.dumps([line_of(COMPLIANCE), 5]).encode(), ["valid", "unreadable"]),
        ("e.json", BODY, ["invalid"]),  # a body alone has no signature
        ("e.jsonl", b"", []),
        ("e.JSON", b'{"some": "settings"}', ["unreadable"]),
    ],
)
def test_files_are_read(tmp_path: Path, name: str, content: bytes, expected: list[str]) -> None:
    """Lines, one delivery, or an array of them."""
    file = tmp_path / name
    file.write_bytes(content)

    assert expected == signatures(read_events(file, secret=SECRET))


def test_a_folder_is_read(tmp_path: Path) -> None:
    """All of its files with events, and no other; an event that is in two of them is counted once."""
    for name in ("1.jsonl", "2.JSON", "3.txt", "4.csv"):
        (tmp_path / name).write_bytes(lines(COMPLIANCE))
    (tmp_path / "5.jsonl").mkdir()

    assert [2] == list(read_events(str(tmp_path), secret=SECRET)["deliveries"])


def test_lists_have_items_of_every_kind() -> None:
    """Lines as text and bytes, dicts of lines, bodies, dicts of bodies."""
    line = line_of(COMPLIANCE)
    items: list[Any] = [line, json.dumps(line), json.dumps(line).encode()]
    items += [PROCESSING, body_of(FAILED), {"received": object()}]

    assert [3, 1, 1, 1] == list(read_events(items)["deliveries"])


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        (BODY, {}, "source: expected a file, a folder or a list of events, got a bytes"),
        (COMPLIANCE, {}, "source: expected a file, a folder or a list of events, got a dict"),
        (None, {}, "got None"),
        ([5], {}, "source: expected a list of lines, bodies or dicts, got one of an int"),
        ([], {"secret": ""}, "secret: expected"),
    ],
)
def test_other_sources_are_refused(source: Any, options: dict[str, Any], words: str) -> None:
    """Anything but a source of events is named."""
    with pytest.raises(InvalidInput, match=words):
        read_events(source, **options)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """It is not an empty one."""
    with pytest.raises(FileNotFoundError):
        read_events(tmp_path / "events.jsonl")


@pytest.mark.parametrize("body", [BODY, b"", b"\xff\x00\n", "Zoé\u2028\n".encode(), b'{"a":"\\ud800"}'])
def test_a_line_keeps_every_byte(body: bytes) -> None:
    """Any body comes back from its line as it was, in one line, with the headers that matter and no other."""
    headers = {"x-request-network-delivery": DELIVERY_ID}
    line = Delivery(body, headers).to_line()
    read = Delivery.of_line(json.loads(line) | {"headers": {"X-Request-Network-Delivery": DELIVERY_ID, "cookie": "x"}})

    assert (body, headers, 1) == (read.body, read.headers, line.count(b"\n"))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, (None, False)),
        ({"x-request-network-retry-count": "3", "x-request-network-test": "true"}, (3, True)),
        ({"x-request-network-retry-count": "-1", "x-request-network-test": "false"}, (None, False)),
        ({"x-request-network-retry-count": "٣"}, (None, False)),  # a digit, but not one of HTTP
        ({"x-request-network-retry-count": "9" * 5000}, (None, False)),  # longer than Python turns into a number
    ],
)
def test_headers_are_read_tolerantly(headers: dict[str, str], expected: tuple[Any, bool]) -> None:
    """What is odd is missing."""
    delivery = Delivery(b"", headers)

    assert expected == (delivery.retry_count, delivery.is_test)


def test_times_that_pandas_does_not_have_are_missing() -> None:
    """A year beyond its range is no reason to fail."""
    frame = read_events([{**FAILED, "timestamp": "9999-01-01T00:00:00Z"}, {**REFUNDED, "timestamp": "0001-01-01"}])

    assert frame["timestamp"].isna().all()
