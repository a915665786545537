"""Events: what a signature proves, what an event says, and each one once in a frame."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any

import nbformat
import pandas as pd
import pytest
import requests
import uvicorn

from cases import table
from payerkit import InvalidInput, read_events, reconcile
from payerkit.errors import InvalidSignature
from payerkit.frames import columns
from payerkit.money import Event, verify_event
from payerkit.money.lists import payments_frame
from payerkit.redaction import MASK
from payerkit.wire import our_name
from published_events import (
    COMPLIANCE,
    CONFIRMED,
    FAILED,
    PAYMENT_DETAIL,
    PROCESSING,
    PUBLISHED,
    REFUNDED,
    REQUEST_ID,
    SECRET,
    body_of,
    headers_of,
    line_of,
    sign,
)

VECTOR = "fcf6b345a92afc81c2ca60545b435cb43c4f5a07f8189ae456c9c58e16eebcaf"
"""The signature of `COMPLIANCE`, computed with another program."""

BODY = body_of(COMPLIANCE)
NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "08-where-is-my-money.ipynb"


def cells(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """Return some columns, row by row."""
    return list(frame[list(names)].itertuples(index=False, name=None))


def signatures(frame: pd.DataFrame) -> list[str]:
    """Return the column of signatures."""
    return list(frame["signature"])


@pytest.mark.parametrize(
    ("signature", "secret"),
    [
        (VECTOR, SECRET),
        (f"sha256={VECTOR}", SECRET),  # as one client accepts it
        (VECTOR.upper(), SECRET),
        (f" {VECTOR}\n", SECRET),  # from a file
        (VECTOR, ["the secret of before", SECRET]),  # after the secret was replaced
    ],
)
def test_a_signature_of_another_program_is_accepted(
    signature: str, secret: Any
) -> None:
    """Neither letters nor a prefix change what was signed, and one of several secrets
    is enough.
    """
    event = verify_event(BODY, signature, secret)

    assert ("user-123", True) == (event.client_user_id, event.is_compliant)


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
        (BODY, VECTOR, "\ud800"),  # as a variable of the environment may have it
        (json.dumps(COMPLIANCE).encode(), VECTOR, SECRET),  # parsed and written again
        (BODY + b"\n", VECTOR, SECRET),
    ],
)
def test_a_wrong_signature_is_refused(body: bytes, signature: Any, secret: str) -> None:
    """Nothing is returned, and the error says what may be wrong, but nothing of the
    body or the secret.
    """
    with pytest.raises(
        InvalidSignature, match="signature: missing, or not made of this body"
    ) as raised:
        verify_event(body, signature, secret)

    assert "Verify the raw bytes" in str(raised.value)
    assert [] == [
        each for each in ("user-123", SECRET, VECTOR) if each in str(raised.value)
    ]


@pytest.mark.parametrize(
    ("body", "secret", "words"),
    [
        (
            COMPLIANCE,
            SECRET,
            "body: expected the raw bytes as they arrived, got a dict",
        ),
        (
            BODY.decode(),
            SECRET,
            "body: expected the raw bytes as they arrived, got a str",
        ),
        (BODY, "", "secret: expected the secret"),  # anybody could sign with it
        (BODY, [], "secret: expected the secret"),
        (BODY, [SECRET, ""], "secret: expected the secret"),
        (BODY, SECRET.encode(), "secret: expected the secret"),
        (BODY, [SECRET, None], "secret: expected the secret"),
        (BODY, None, "secret: expected the secret"),
    ],
)
def test_arguments_of_another_kind_are_refused(
    body: Any, secret: Any, words: str
) -> None:
    """A body that was parsed cannot be verified, and no secret proves nothing."""
    with pytest.raises(InvalidInput, match=words):
        verify_event(body, VECTOR, secret)


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"not JSON", b"\xff", b"[" * 100_000]
)
def test_what_was_signed_may_be_no_event(body: bytes) -> None:
    """Then the signature is right, and there is no event."""
    with pytest.raises(InvalidInput, match="it is not a JSON object"):
        verify_event(body, sign(body), SECRET)


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda event: event["event"])
def test_published_events_are_read(published: dict[str, Any]) -> None:
    """Each is read completely, kept as received, and shown without what the operator
    adds.
    """
    event = Event.read(published)

    assert ((), published) == (event.odd, event.to_dict(reveal=True))
    assert "rawPayload" not in event._repr_html_() + repr(event)
    assert MASK == event.to_dict().get("rawPayload", MASK)


@table("odd_events")
def test_events_are_read_tolerantly(
    content: dict[str, Any], name: str, value: str
) -> None:
    """Every published spelling is read, and what is odd is missing."""
    assert value == str(getattr(Event.read(content), name))


def test_a_frame_has_every_published_event() -> None:
    """One row each, with its members, in the order in which they happened; what has no
    time, by its arrival.
    """
    lines = [line_of(event, str(place)) for place, event in enumerate(PUBLISHED)]
    frame = read_events(lines, secret=SECRET).set_index("event")

    names = [
        "compliance.updated",
        "payment.confirmed",
        "payment.processing",
        "payment_detail.updated",
    ]
    assert [*names, "payment.failed", "payment.refunded", "request.recurring"] == list(
        frame.index
    )
    assert {"valid"} == set(frame["signature"])
    assert Decimal("100.0") == frame["amount"]["payment.confirmed"]
    assert Decimal("50.0") == frame["refund_amount"]["payment.refunded"]
    assert (
        pd.Timestamp("2025-10-03T14:35:00")
        == frame["timestamp_utc"]["payment.processing"]
    )
    for event in PUBLISHED:
        members = {
            our_name(name): value
            for name, value in event.items()
            if value not in ("", "100.0", "50.0")
        }
        texts = {
            name: value
            for name, value in members.items()
            if name in frame.columns and name != "timestamp"
        }
        assert texts == {name: frame[name][event["event"]] for name in texts}
    assert ["Beneficiary name mismatch", "Returned by the bank"] == list(
        frame["reason"].dropna()
    )


COLUMNS = columns(
    "delivery event received_at_utc timestamp_utc client_user_id payment_details_id"
    " request_id payment_reference offramp_id kyc_status agreement_status is_compliant"
    " sub_status status amount refund_amount currency payment_currency tx_hash network"
    " reason is_test signature",
    time="received_at_utc timestamp_utc",
    boolean="is_compliant is_test",
    object="amount refund_amount",
)


@pytest.mark.parametrize(
    "source", [[], [COMPLIANCE], [b"not JSON"], [line_of(CONFIRMED)]]
)
def test_columns_always_stand(source: list[Any]) -> None:
    """Names, order and types of the columns are the same without events, and with what
    cannot be read.
    """
    assert COLUMNS == {
        name: str(dtype)
        for name, dtype in read_events(source, secret="x").dtypes.items()
    }


def test_an_event_is_there_once() -> None:
    """However often it was delivered; its time is that of the first delivery."""
    again = line_of(FAILED, "1", received_at="2025-10-03T14:40:06Z")
    frame = read_events([line_of(FAILED, "1"), again, line_of(FAILED, "2"), again])

    assert ["1", "2"] == list(frame["delivery"])
    assert pd.Timestamp("2025-10-03T14:40:00") == frame["received_at_utc"][0]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_another_body_under_one_id_is_another_event(is_reversed: bool) -> None:
    """Whoever sees a delivery can send its id again; the body is what is signed."""
    sent = [
        line_of({**PROCESSING, "subStatus": word, "timestamp": None}, "1")
        for word in ("fiat_sent", "bounced")
    ]
    order = {"request_id": REQUEST_ID, "amount": "100", "invoice_currency": "USD"}

    frame = read_events(
        [*(sent[::-1] if is_reversed else sent), sent[0]], secret=SECRET
    )
    assert [("1", "bounced"), ("1", "fiat_sent")] == sorted(
        cells(frame, "delivery", "sub_status")
    )
    assert ["bounced"] == list(
        reconcile([order], payments_frame([]), events=frame)["bank_status"]
    )


@pytest.mark.parametrize("place", [0, 1])
def test_a_forged_delivery_hides_no_event(place: int) -> None:
    """One under the id of another is invalid."""
    sent = [line_of(COMPLIANCE, "1")]
    sent.insert(place, line_of(FAILED, "1", signature=VECTOR))
    frame = read_events(sent, secret=SECRET)

    assert ["valid", "invalid"] == signatures(frame)
    assert "compliance.updated" == frame["event"][0]


def test_an_event_of_two_webhooks_is_there_once() -> None:
    """The same body with a time in it is the same event, whatever its delivery is
    called; without a time, it is not, unless no delivery has an id.
    """
    bodies = [CONFIRMED, CONFIRMED, FAILED, FAILED]
    frame = read_events(
        [line_of(body, str(place)) for place, body in enumerate(bodies)]
    )

    assert ["payment.confirmed", "payment.failed", "payment.failed"] == list(
        frame["event"]
    )
    assert 1 == len(read_events([line_of(FAILED, None)] * 2))


def variant(
    ending: str, event: dict[str, Any] = CONFIRMED, **more: str
) -> dict[str, Any]:
    """Return an event as the service sends it in addition: another name, a moment
    later, with more members.
    """
    return {
        **event,
        "event": event["event"] + ending,
        "timestamp": "2025-10-03T14:30:01Z",
        **more,
    }


SECOND = {**CONFIRMED, "txHash": "0x01"}


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("events", "hashes"),
    [
        (
            [
                CONFIRMED,
                variant(".client_id", clientId="cli_1", origin="https://example.com"),
                variant(".checkout"),
                SECOND,
                variant(".checkout", SECOND),
            ],
            [SECOND["txHash"], CONFIRMED["txHash"]],
        ),
        # The event itself was lost.
        ([variant(".checkout"), variant(".client_id")], [CONFIRMED["txHash"]]),
    ],
)
def test_variants_are_not_counted_twice(
    events: list[Any], hashes: list[str], is_reversed: bool
) -> None:
    """In whichever order they arrive."""
    lines = [line_of(event, str(place)) for place, event in enumerate(events)]
    frame = read_events(lines[::-1] if is_reversed else lines)

    assert {"payment.confirmed"} == set(frame["event"])
    assert hashes == sorted(frame["tx_hash"])


def test_nothing_of_an_invalid_delivery_is_believed() -> None:
    """It is listed last, with nothing that its body says; so is what has no signature,
    and what cannot be read.
    """
    unsigned = line_of(CONFIRMED, "2") | {
        "headers": {"x-request-network-delivery": "2"}
    }
    other = line_of(FAILED, "3", signature=sign(b"something else"))
    frame = read_events(
        [unsigned, other, b"{", COMPLIANCE, line_of(COMPLIANCE, "1")], secret=SECRET
    )

    assert ["valid", "invalid", "invalid", "unreadable", "invalid"] == signatures(frame)
    known = ["delivery", "received_at_utc", "is_test", "signature"]
    assert frame.drop(columns=known).iloc[1:].isna().all(axis=None)
    assert ["1", "2", "3"] == list(frame["delivery"].dropna())


PERSONAL = {
    **PAYMENT_DETAIL,
    "clientUserId": "zoe@example.com",
    "rejectionMessage": (
        "Account DE89 3704 0044 0532 0130 00 of zoe@example.com (Zoé) is not"
        " 253009233489,\nsee 12"
    ),
    "rawPayload": {"fullName": "Zoé Quartermaine", "iban": "DE89370400440532013000"},
    "customerInfo": {"street": "77 Typed Terrace"},
}


def test_nothing_personal_is_shown() -> None:
    """Neither in a frame nor in an event: ids that are e-mails, numbers and addresses
    in a reason, what was added. `reveal=True` shows ids and reasons as they arrived.
    """
    event = Event.read(PERSONAL)
    views = (
        read_events([PERSONAL]).to_string()
        + repr(event)
        + event._repr_html_()
        + json.dumps(event.to_dict())
    )
    views += str(event.model_dump()) + str(dict(event))

    private = ["zoe@example.com", "3704", "2530", "Quartermaine", "Terrace"]
    assert [] == [value for value in private if value in views]
    assert "Account •••• of •••• (Zoé) is not ••••, see 12" in views
    revealed = read_events([PERSONAL], reveal=True)
    assert [(PERSONAL["clientUserId"], PERSONAL["rejectionMessage"])] == cells(
        revealed, "client_user_id", "reason"
    )


def lines(*events: object) -> bytes:
    """Return a file of events, one line each."""
    return b"".join(
        json.dumps(line_of(event, str(place))).encode() + b"\n"
        for place, event in enumerate(events)
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lines(COMPLIANCE, FAILED), ["valid", "valid"]),
        # Edited in an editor.
        (
            b"\n" + lines(COMPLIANCE, FAILED).replace(b"\n", b"\r\n\n"),
            ["valid", "valid"],
        ),
        (lines(COMPLIANCE)[:-1], ["valid"]),  # whole, but for its end
        (
            lines(COMPLIANCE)[:-20] + b"\n" + lines(FAILED),
            ["valid", "unreadable"],
        ),  # damaged
        (BODY, ["invalid"]),  # a body alone has no signature
        (b"", []),
        (b'{"some": "settings"}', ["unreadable"]),
    ],
)
def test_files_are_read(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    """A delivery in each line."""
    file = tmp_path / "e.jsonl"
    file.write_bytes(content)

    assert expected == signatures(read_events(file, secret=SECRET))


def test_a_folder_is_read(tmp_path: Path) -> None:
    """All of its files with events, and no other; an event that is in two of them is
    there once.
    """
    for name in ("1.jsonl", "2.jsonl", "3.txt", "4.csv"):
        (tmp_path / name).write_bytes(lines(COMPLIANCE))

    assert ["valid"] == signatures(read_events(str(tmp_path), secret=SECRET))


def test_lists_have_items_of_every_kind() -> None:
    """Lines as text and bytes, dicts of lines, bodies, dicts of bodies."""
    line = line_of(COMPLIANCE)
    items: list[Any] = [line, json.dumps(line), json.dumps(line).encode()]
    items += [PROCESSING, body_of(FAILED), {"received": object()}]

    assert ["unchecked"] * 3 + ["unreadable"] == signatures(read_events(items))


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        (
            BODY,
            {},
            "source: expected a file, a folder or a list of events, got a bytes",
        ),
        (
            COMPLIANCE,
            {},
            "source: expected a file, a folder or a list of events, got a dict",
        ),
        (None, {}, "got None"),
        (
            [5],
            {},
            "source: expected a list of lines, bodies or dicts, got one of an int",
        ),
        ([], {"secret": ""}, "secret: expected"),
    ],
)
def test_other_sources_are_refused(
    source: Any, options: dict[str, Any], words: str
) -> None:
    """Anything but a source of events is named."""
    with pytest.raises(InvalidInput, match=words):
        read_events(source, **options)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application on this machine; give the address of its events."""
    config = uvicorn.Config(app, lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/events"
        finally:
            server.should_exit = True
            thread.join(timeout=20)


def test_the_receiver_of_the_notebook_stores_what_is_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """read_events() verifies its file once more; a forged delivery is not in it, nor a
    header of a proxy.
    """
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    text = next(cell.source for cell in cells if "FastAPI()" in cell.source)
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    monkeypatch.setenv("PAYERKIT_EVENTS_SECRET", SECRET)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    unsigned: dict[str, str] = {}
    # Annotations of this file are texts, which FastAPI would look for in `names`.
    exec(compile(code, "receiver.py", "exec", dont_inherit=True), names)  # noqa: S102 - our own notebook
    proxied = headers_of(BODY) | {"authorization": "Basic x"}
    forged = headers_of(BODY, secret="other")
    with served(names["app"]) as url:
        statuses = [
            requests.post(url, data=BODY, headers=headers, timeout=20).status_code
            for headers in (proxied, forged, unsigned)
        ]
    file = tmp_path / "events.jsonl"

    assert [200, 500, 500] == statuses
    assert ["valid"] == signatures(read_events(file, secret=SECRET))
    assert "Basic" not in file.read_text()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """It is not an empty one."""
    with pytest.raises(FileNotFoundError):
        read_events(tmp_path / "events.jsonl")


@pytest.mark.parametrize(
    ("word", "is_test"), [(None, False), ("true", True), ("True", True), (5, False)]
)
def test_a_header_says_whether_an_event_is_a_test(word: Any, is_test: bool) -> None:
    """Whatever the case of its letters; what is odd is missing."""
    line = line_of(COMPLIANCE)
    line["headers"]["X-Request-Network-Test"] = word

    assert [is_test] == list(read_events([line], secret=SECRET)["is_test"])


def test_times_that_pandas_does_not_have_are_missing() -> None:
    """A year beyond its range is no reason to fail."""
    frame = read_events(
        [
            {**FAILED, "timestamp": "9999-01-01T00:00:00Z"},
            {**REFUNDED, "timestamp": "0001-01-01"},
        ]
    )

    assert frame["timestamp_utc"].isna().all()
