"""Events as a DataFrame: each one once, however often it was delivered, and nothing that is not proven."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import pandas as pd

from payerkit.errors import EventsWarning, InvalidInput, without_internal_frames
from payerkit.events.event import Event, Secret, is_signed, read_secrets
from payerkit.events.file import SIGNATURE, Delivery, EventSource, read_deliveries
from payerkit.frames import columns, frame_of, read_times, rows_of
from payerkit.masking import mask
from payerkit.wire import pandas_time, parse_json, wire_name
from payerkit.wording import count_of

_DTYPES = columns(
    "delivery event received_at timestamp client_user_id payment_details_id request_id payment_reference "
    "kyc_status agreement_status is_compliant sub_status status amount currency payment_currency tx_hash "
    "network reason retry_count is_test signature deliveries variants",
    time="received_at timestamp",
    boolean="is_compliant is_test",
    object="amount",
    Int64="retry_count deliveries",
)
"""Columns and their dtypes."""

_OF_EVENT = [name for name in _DTYPES if name in Event.model_fields]
"""Columns that are members of the event."""

_SAME = (
    *("client_user_id", "payment_details_id", "request_id", "payment_reference", "kyc_status", "agreement_status"),
    *("sub_status", "status", "tx_hash", "amount"),
)
"""Members that an event shares with its variants; their times may differ by a moment."""

SignatureState = Literal["valid", "unchecked", "invalid", "unreadable"]


@without_internal_frames
def read_events(source: EventSource, *, secret: Secret | None = None, reveal: bool = False) -> pd.DataFrame:
    """Return the events in files, each one once: **beyond the specification**.

    An event may be delivered several times, and the service sends some in variants, too, such as
    "payment.confirmed.checkout". The row of the event counts its deliveries and names its variants. If it came through
    two webhooks, with the same body and a time in it, it is one row as well.

    Args:
        source: A file that `payerkit events` wrote; a folder, of which all .jsonl and .json files are read; or a list
            of lines, bodies or dicts, such as `client.sandbox.events()`.
        secret: The secret of the webhook, by which each signature is checked; of several webhooks, a list.
        reveal: Show ids that are e-mail addresses, and the whole text of reasons.

    Returns:
        One row per event, in the order in which they happened. Columns: `delivery`, the id of the first delivery;
        `event`; `received_at` and `timestamp` (UTC); `client_user_id`, `payment_details_id`, `request_id`,
        `payment_reference`, `kyc_status`, `agreement_status`, `is_compliant` (boolean), `sub_status`, `status`,
        `amount` (Decimal), `currency`, `payment_currency`, `tx_hash`, `network`; `reason`, why an account was rejected
        or a payment failed; `retry_count` (Int64); `is_test` (boolean), by a header, which is not signed; `signature`:
        valid, or unchecked without a secret; `deliveries` (Int64), how often it came; `variants`, such as ".checkout".
        Text has dtype `string`. Last come deliveries whose signature is "invalid", or missing although a secret is
        given, and lines that are "unreadable": of these, nothing is believed, so what they say is missing.

    Raises:
        InvalidInput: For anything but such a source, and for an empty secret.
        OSError: A file cannot be read.

    Warns:
        EventsWarning: If different events came under one delivery id. Each is a row.

    Example:
        >>> frame = read_events([{"event": "compliance.updated", "clientUserId": "user-123", "kycStatus": "approved"}])
        >>> frame[["event", "client_user_id", "kyc_status", "signature", "deliveries"]]
                        event client_user_id kyc_status  signature  deliveries
        0  compliance.updated       user-123   approved  unchecked           1
    """
    secrets = None if secret is None else read_secrets(secret)
    rows = _rows(read_deliveries(source), secrets)
    ids = Counter(row.first.delivery_id for row in rows if row.event is not None and row.first is not None)
    if reused := [each for each, count in ids.items() if each is not None and count > 1]:
        note = f"{count_of(len(reused), 'delivery id')} came with different bodies. Ids are not signed, so each is an "
        note += "event of its own: find out who changes deliveries on their way."
        warnings.warn(EventsWarning(note), stacklevel=3)  # the caller is above a decorator
    return frame_of([row.cells(reveal=reveal is True) for row in rows], _DTYPES)


def believed_events(events: Any, names: Iterable[str], *, tests: bool = False) -> list[dict[str, Any]]:
    """Return the believable rows of a frame of `read_events`, by time, with some of its columns; none for None.

    Cells are text, or None. `is_test` is a bool, `timestamp` a time, and `at` the same, or else when the event arrived.
    The frame may come from a file. tests: with those that a header calls tests, which is not signed. Raises
    InvalidInput for anything else, also if a column is missing.
    """
    if events is None:
        return []
    needed = [*names, "timestamp", "received_at", "signature", "is_test"]
    if not isinstance(events, pd.DataFrame) or not set(needed) <= set(events.columns):
        raise InvalidInput("events: expected a result of read_events(), with all its columns.")
    table = events[needed].astype("string")
    happened, is_test = read_times(table["timestamp"]), table["is_test"].str.lower().eq("true").fillna(value=False)
    at = happened.fillna(read_times(table["received_at"]))
    is_believed = table["signature"].str.lower().isin(["valid", "unchecked"]) & (tests | ~is_test)
    table = table.assign(is_test=is_test, timestamp=happened, at=at)[is_believed]
    return rows_of(table.sort_values("at", kind="stable"))


def rejection_reasons(events: Any) -> dict[tuple[str, str], str]:
    """Return the last reason why an account was rejected, by its id and the status that it had then.

    Raises InvalidInput for anything but a frame of `read_events` or None.
    """
    return {
        (row["payment_details_id"], str(row["status"])): row["reason"]
        for row in believed_events(events, ["event", "payment_details_id", "status", "reason"])  # by time
        if row["event"] == "payment_detail.updated" and row["reason"]
    }


class _EventRow:
    """One event, with what its deliveries have in common. event: None if nothing is believed."""

    def __init__(self, first: Delivery | None, event: Event | None, signature: SignatureState) -> None:
        self.first, self.event, self.signature, self.deliveries = first, event, signature, 1
        self.retry_count = None if first is None else first.retry_count
        self.variants: list[str] = []

    @property
    def time(self) -> datetime:
        """When it happened, or else arrived, for the order; what has no time comes last."""
        received_at = None if self.first is None else self.first.received_at
        return (self.event and self.event.timestamp) or received_at or datetime.max.replace(tzinfo=UTC)

    def count(self, delivery: Delivery) -> None:
        """Count a delivery of the same event."""
        self.deliveries += 1
        self.retry_count = max(filter(None, (self.retry_count, delivery.retry_count)), default=self.retry_count)

    def cells(self, *, reveal: bool) -> dict[str, Any]:
        """Return the columns that have a value, masked unless they are to be revealed."""
        cells: dict[str, Any] = {"signature": self.signature, "deliveries": self.deliveries, "amount": None}
        if self.first is not None:
            cells |= {"delivery": self.first.delivery_id, "received_at": pandas_time(self.first.received_at)}
            cells |= {"retry_count": self.retry_count, "is_test": self.first.is_test}
        if (event := self.event) is None:
            return cells
        members, reason = {name: getattr(event, name) for name in _OF_EVENT}, event.reason
        if not reveal:
            members = {name: mask(wire_name(name), value) for name, value in members.items()}
            reason = mask("rejectionMessage", reason)
        return cells | {
            **members,
            "reason": reason,
            "event": event.kind or None,
            "timestamp": pandas_time(event.timestamp),
            "amount": event.amount if event.amount is not None else event.refund_amount,
            "variants": " ".join(self.variants) or None,
        }


def _rows(deliveries: Iterable[Delivery | None], secrets: Sequence[bytes] | None) -> list[_EventRow]:
    """Return a row per event, in the order in which they happened, then those of which nothing is believed."""
    rows: list[_EventRow] = []
    others: list[_EventRow] = []
    known: dict[str, _EventRow] = {}
    for delivery in deliveries:
        state = _signature_state(delivery, secrets)
        if delivery is None or state == "invalid":
            others.append(_EventRow(delivery, None, state))
            continue
        event = _read_event(delivery.body)
        keys = _keys(delivery, event)
        row = next((known[key] for key in keys if key in known), None)
        if row is None:
            row = _EventRow(delivery, event, state)
            rows.append(row)
        else:
            row.count(delivery)
        known.update(dict.fromkeys(keys, row))
    return [*sorted(_merge_variants(rows), key=lambda row: row.time), *others]


def _signature_state(delivery: Delivery | None, secrets: Sequence[bytes] | None) -> SignatureState:
    if delivery is None:
        return "unreadable"
    if secrets is None:
        return "unchecked"
    return "valid" if is_signed(delivery.body, delivery.headers.get(SIGNATURE), secrets) else "invalid"


def _read_event(body: bytes) -> Event:
    """Return the event in a body; one without members if the body is not a JSON object."""
    try:
        return Event.read(parse_json(body))
    except ValueError:
        return Event.read({})


def _keys(delivery: Delivery, event: Event) -> list[str]:
    """Return the keys that identify an event: its body, with the id of its delivery unless it names a time.

    Without a time, two events may have the same body: an account that fails twice. An id alone is not signed.
    """
    content = f"body {hashlib.sha256(delivery.body).hexdigest()}"
    if delivery.delivery_id is None:
        return [content]
    return [f"delivery {delivery.delivery_id} {content}", *([content] if event.timestamp is not None else [])]


def _merge_variants(rows: Iterable[_EventRow]) -> list[_EventRow]:
    """Return the rows without those of variants, which are named in the row of their event, or in that of the first."""
    found: list[_EventRow] = []
    same: dict[tuple[Any, ...], _EventRow] = {}
    for row in sorted(rows, key=lambda row: bool(row.event and row.event.variant)):  # the events themselves first
        event = row.event or Event.read({})
        first = same.setdefault((event.kind, *(getattr(event, name) for name in _SAME)), row)
        if first is row or not event.variant:
            found.append(row)
        if event.variant and event.variant not in first.variants:
            first.variants.append(event.variant)
    return found
