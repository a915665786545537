"""Events: what the service reports by itself (webhooks), verified and read, as a
DataFrame with each one once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field, Strict, StrictBool

from payerkit.client.client import Client
from payerkit.errors import (
    InvalidInput,
    InvalidSignature,
    kind_of,
    without_internal_frames,
)
from payerkit.frames import columns, frame_of, read_times, rows_of
from payerkit.masking import mask
from payerkit.models.responses import Amount, Response, read_by
from payerkit.money.deliveries import Delivery, EventSource, read_deliveries
from payerkit.wire import first, parse_json, read_time

_VARIANTS = (".client_id", ".checkout")
"""Endings of events that the service sends beside the event itself: they report the
same thing once more.
"""

_SPELLINGS = {
    "requestId": ("requestId", "requestID"),
    "paymentDetailsId": ("paymentDetailsId", "paymentAccountId"),
}
"""Members that the service spells in several ways."""


class Event(Response):
    """What the service reports by itself (a webhook); **beyond the specification**.
    Missing fields are None.

    Events with other members are read, too: those are attributes by their wire names.

    Attributes:
        event: What happened, such as "compliance.updated", "payment_detail.updated" or
            "payment.processing".
        timestamp: When, in UTC.
        client_user_id: Your id of the payer.
        kyc_status, agreement_status, is_compliant: The payer's statuses.
        payment_details_id: The service's id of a bank account.
        status: The status of that account.
        rejection_message: Why the account was rejected.
        request_id, payment_reference: The request that is paid.
        offramp_id: The operator's id of the payout.
        sub_status: The off-ramp status: how far the payout is. The bank has the money
            once it is "fiat_sent".
        failure_reason: Why a payment failed.
        amount, currency: What was paid, by the invoice.
        payment_currency, network, tx_hash: In which token, where, and in which
            transaction.
        refund_amount: How much was given back.
        raw_payload: What the operator reported, as received; it may have personal data
            and is masked.

    Example:
        >>> event = Event.read(
        ...     {
        ...         "event": "payment.processing",
        ...         "subStatus": "bounced",
        ...         "rawPayload": {"name": "A. B."},
        ...     }
        ... )
        >>> event.kind, event.sub_status
        ('payment.processing', 'bounced')
        >>> event.to_dict()["rawPayload"]
        '••••'
    """

    event: str | None = Field(None, title="Event")
    timestamp: Annotated[
        datetime | None, Strict(), read_by(partial(read_time, milliseconds=True))
    ] = Field(None, title="Time")
    client_user_id: str | None = Field(None, title="Payer id")
    kyc_status: str | None = Field(None, title="Identity check")
    agreement_status: str | None = Field(None, title="Agreement")
    is_compliant: StrictBool | None = Field(None, title="Compliant")
    payment_details_id: str | None = Field(None, title="Account id")
    status: str | None = Field(None, title="Status")
    rejection_message: str | None = Field(None, title="Rejected, since")
    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Payment reference")
    offramp_id: str | None = Field(None, title="Off-ramp id")
    sub_status: str | None = Field(None, title="Off-ramp status")
    failure_reason: str | None = Field(None, title="Failed, since")
    amount: Amount = Field(None, title="Amount")
    currency: str | None = Field(None, title="Currency")
    payment_currency: str | None = Field(None, title="Paid in")
    network: str | None = Field(None, title="Network")
    tx_hash: str | None = Field(None, title="Transaction")
    refund_amount: Amount = Field(None, title="Refunded")
    raw_payload: Any = Field(None, title="As the operator reports it", repr=False)

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, from any of their spellings; an empty text, as services
        send it, is left out.
        """
        members = dict(content)
        for name, names in _SPELLINGS.items():
            value = first(content, *names)
            if value is not None:
                members[name] = value
        return {name: value for name, value in members.items() if value != ""}

    @property
    def kind(self) -> str:
        """What happened, without the ending of a variant: "payment.confirmed" for
        "payment.confirmed.checkout".
        """
        return (self.event or "").removesuffix(self.variant)

    @property
    def variant(self) -> str:
        """The ending of an event that is sent beside the event itself, ".client_id" or
        ".checkout"; else "".
        """
        for variant in _VARIANTS:
            if (self.event or "").endswith(variant):
                return variant
        return ""

    @property
    def reason(self) -> str | None:
        """Why an account was rejected or a payment failed, in the service's words; None
        if it does not say.
        """
        return self.rejection_message or self.failure_reason


Secret = str | list[str]
"""The secret of a webhook, or the secrets of several, of which one has to match."""

_DIGITS = re.compile("(?:sha256=)?([0-9a-fA-F]{64})")
"""A signature in hexadecimal digits, with or without the name of its algorithm in
front.
"""


@without_internal_frames
def verify_event(body: bytes, signature: str, secret: Secret) -> Event:
    """Return an event whose signature proves that the service sent it: **beyond the
    specification**.

    Signatures are compared in constant time. They cover the body alone, and no time: an
    event may come again, so keep the header `x-request-network-delivery`, which is the
    same each time.

    Args:
        body: The raw bytes of the body, as they arrived.
        signature: The header `x-request-network-signature`.
        secret: The secret of the webhook, or the secrets of several, of which one has
            to match.

    Returns:
        The event.

    Raises:
        InvalidSignature: The signature is missing, or does not match. Nothing in the
            body can be believed.
        InvalidInput: The body is not bytes, a secret is empty, or what was signed is
            not a JSON object.

    Example:
        >>> body = (
        ...     b'{"event":"payment_detail.updated","status":"failed",'
        ...     b'"rejectionMessage":"Name mismatch"}'
        ... )
        >>> signature = (
        ...     "8b6bd93bd36a683a68f213ddde6c13f87d45d831c961fa531967f7f326843c7f"
        ... )
        >>> verify_event(body, signature, "example-secret").reason
        'Name mismatch'
        >>> verify_event(body + b" ", signature, "example-secret")
        Traceback (most recent call last):
            ...
        payerkit.errors.InvalidSignature: signature: missing, or not made of this body
        with this secret. ...
    """
    secrets = _read_secrets(secret)
    if not isinstance(body, bytes):
        raise InvalidInput(
            f"body: expected the raw bytes as they arrived, got {kind_of(body)}. A body"
            " that was parsed and written again has another signature."
        )
    if not is_signed(body, signature, secrets):
        raise InvalidSignature(
            "signature: missing, or not made of this body with this secret."
        )
    try:
        return Event.read(parse_json(body))
    except ValueError:
        problem = InvalidInput(
            "body: the signature matches, but it is not a JSON object."
        )
    raise problem


def _read_secrets(secret: Secret) -> list[bytes]:
    """Return secrets as bytes. Raises InvalidInput if none is given, or an empty
    one.
    """
    secrets: Any = secret
    if isinstance(secret, str):
        secrets = [secret]
    is_list = isinstance(secrets, list) and bool(secrets)
    if not is_list or not all(isinstance(text, str) and text for text in secrets):
        raise InvalidInput(
            "secret: expected the secret of the webhook as text that is not empty, or a"
            " list of secrets."
        )
    return [text.encode(errors="surrogatepass") for text in secrets]


def is_signed(body: bytes, signature: object, secrets: Iterable[bytes]) -> bool:
    """Return True if a signature was made of exactly this body with one of the secrets;
    compared in constant time.
    """
    if not isinstance(signature, str):
        return False
    found = _DIGITS.fullmatch(signature.strip())
    if found is None:
        return False
    given = bytes.fromhex(found[1])
    return any(
        hmac.compare_digest(given, hmac.digest(secret, body, "sha256"))
        for secret in secrets
    )


EVENT_DTYPES = columns(
    "delivery event received_at_utc timestamp_utc client_user_id payment_details_id"
    " request_id payment_reference offramp_id kyc_status agreement_status is_compliant"
    " sub_status status amount refund_amount currency payment_currency tx_hash network"
    " reason is_test signature",
    time="received_at_utc timestamp_utc",
    boolean="is_compliant is_test",
    object="amount refund_amount",
)
"""Columns and their dtypes."""

_OF_EVENT = [
    name for name in EVENT_DTYPES if name in Event.model_fields and name != "event"
]
"""Columns that are members of an event, but for its name."""

SignatureState = Literal["valid", "unchecked", "invalid", "unreadable"]


@without_internal_frames
def read_events(
    source: EventSource, *, secret: Secret | None = None, reveal: bool = False
) -> pd.DataFrame:
    """Return the events in files, each one once: **beyond the specification**.

    An event may be delivered several times, come through two webhooks, and be sent in
    variants, too, such as "payment.confirmed.checkout": all of that is one row.

    Args:
        source: A file of stored deliveries, a line of JSON each, with `body`, `headers`
            and `received_at`; a folder, of which all .jsonl files are read; or a list
            of lines, bodies or dicts, such as `client.sandbox.events()`.
        secret: The secret of the webhook, by which each signature is checked; of
            several webhooks, a list.
        reveal: Show ids that are e-mail addresses, and the whole text of reasons.

    Returns:
        One row per event, in the order in which they happened. Columns: `delivery`, the
        id of the first delivery; `event`; `received_at_utc` and `timestamp_utc`;
        `client_user_id`, `payment_details_id`, `request_id`, `payment_reference`,
        `offramp_id`, `kyc_status`, `agreement_status`, `is_compliant` (boolean),
        `sub_status`, `status`, `amount` and `refund_amount` (Decimal), `currency`,
        `payment_currency`, `tx_hash`, `network`; `reason`, why an account was rejected
        or a payment failed; `is_test` (boolean), by a header, which is not signed;
        `signature`: valid, or unchecked without a secret. Text has dtype `string`. Last
        come deliveries whose signature is "invalid", or missing although a secret is
        given, and lines that are "unreadable": of these, nothing is believed, so what
        they say is missing.

    Raises:
        InvalidInput: For anything but such a source, and for an empty secret.
        OSError: A file cannot be read.

    Example:
        >>> frame = read_events(
        ...     [
        ...         {
        ...             "event": "compliance.updated",
        ...             "clientUserId": "user-123",
        ...             "kycStatus": "approved",
        ...         }
        ...     ]
        ... )
        >>> frame[["event", "client_user_id", "kyc_status", "signature"]]
                        event client_user_id kyc_status  signature
        0  compliance.updated       user-123   approved  unchecked
    """
    secrets = None
    if secret is not None:
        secrets = _read_secrets(secret)
    rows = _rows(read_deliveries(source), secrets)
    return frame_of([_cells(row, reveal=reveal is True) for row in rows], EVENT_DTYPES)


def events_of_sandbox(client: Client) -> pd.DataFrame | None:
    """Return the events of a sandbox's client, verified; None for any other client."""
    if not hasattr(client, "sandbox"):
        return None
    secret = client.sandbox.reveal_events_secret()
    return read_events(client.sandbox.events(), secret=secret)


def believed_events(events: Any) -> list[dict[str, Any]]:
    """Return the believable rows of a frame of `read_events`, by time; none for None.

    Cells are text, or None. `is_test` is a bool, by a header, which is not signed. `at`
    is when the event happened, or else arrived: it is no later than it arrived,
    whatever the clock of its sender says; `has_time` says which of the two. The frame
    may come from a file. Raises InvalidInput for anything else, also if a column is
    missing.
    """
    if events is None:
        return []
    is_frame = isinstance(events, pd.DataFrame)
    if not is_frame or not EVENT_DTYPES.keys() <= set(events.columns):
        raise InvalidInput(
            "events: expected a result of read_events(), with all its columns."
        )
    table = events[list(EVENT_DTYPES)].astype("string")
    happened = read_times(table["timestamp_utc"])
    received = read_times(table["received_at_utc"])
    happened = happened.mask(happened > received)
    is_test = table["is_test"].str.lower().eq("true").fillna(value=False)
    is_believed = table["signature"].str.lower().isin(["valid", "unchecked"])
    table = table.assign(
        is_test=is_test,
        at=happened.fillna(received),
        has_time=happened.notna(),
    )
    return rows_of(table[is_believed].sort_values("at", kind="stable"))


def rejection_reasons(events: Any) -> dict[tuple[str, str], str]:
    """Return why accounts were rejected, by an account's id and the status of its last
    event: in another status, it is for another reason.

    Raises InvalidInput for anything but a frame of `read_events` or None.
    """
    last = {
        row["payment_details_id"]: row
        for row in believed_events(events)  # by time
        if row["event"] == "payment_detail.updated" and not row["is_test"]
    }
    return {
        (account_id, str(row["status"])): row["reason"]
        for account_id, row in last.items()
        if row["reason"]
    }


@dataclass(frozen=True, slots=True)
class _Row:
    """One event, without members if nothing of it is believed. delivery: None if it
    cannot be read.
    """

    delivery: Delivery | None
    signature: SignatureState
    event: Event


def _rows(
    deliveries: Iterable[Delivery | None], secrets: Sequence[bytes] | None
) -> list[_Row]:
    """Return a row per event, in the order in which they happened, then those of which
    nothing is believed.
    """
    believed: list[_Row] = []
    others: list[_Row] = []
    known: set[tuple[str | None, str]] = set()
    for delivery in deliveries:
        state = _signature_state(delivery, secrets)
        if delivery is None or state == "invalid":
            others.append(_Row(delivery, state, Event.read({})))
            continue
        event = _read_event(delivery.body)
        keys = _keys(delivery, event)
        if known.isdisjoint(keys):
            believed.append(_Row(delivery, state, event))
        known.update(keys)
    return [*sorted(_without_variants(believed), key=_time_of), *others]


def _signature_state(
    delivery: Delivery | None, secrets: Sequence[bytes] | None
) -> SignatureState:
    if delivery is None:
        return "unreadable"
    if secrets is None:
        return "unchecked"
    if is_signed(delivery.body, delivery.signature, secrets):
        return "valid"
    return "invalid"


def _read_event(body: bytes) -> Event:
    """Return the event in a body; one without members if the body is not a JSON
    object.
    """
    try:
        return Event.read(parse_json(body))
    except ValueError:
        return Event.read({})


def _keys(delivery: Delivery, event: Event) -> set[tuple[str | None, str]]:
    """Return the keys that identify an event: its body, with the id of its delivery
    unless it names a time.

    Without a time, two events may have the same body: an account that fails twice. An
    id alone is not signed.
    """
    content = hashlib.sha256(delivery.body).hexdigest()
    keys = {(delivery.id, content)}
    if event.timestamp is not None:
        keys.add((None, content))
    return keys


def _without_variants(rows: Iterable[_Row]) -> list[_Row]:
    """Return the rows without variants of an event that is there, or of which another
    variant is.
    """
    kept: list[_Row] = []
    contents = set()
    # The events themselves come first.
    for row in sorted(rows, key=lambda row: bool(row.event.variant)):
        event = row.event
        # Their times may differ by a moment.
        content = (event.kind, *(getattr(event, name) for name in _OF_EVENT))
        if not event.variant or content not in contents:
            kept.append(row)
        contents.add(content)
    return kept


def _time_of(row: _Row) -> datetime:
    """Return when an event happened, which is no later than it arrived; what has no
    time comes last.
    """
    received = None if row.delivery is None else row.delivery.received_at
    known = [time for time in (row.event.timestamp, received) if time is not None]
    return min(known, default=datetime.max.replace(tzinfo=UTC))


def _cells(row: _Row, *, reveal: bool) -> dict[str, Any]:
    """Return the columns of an event, masked unless they are to be revealed."""
    event = row.event
    members = {name: getattr(event, name) for name in _OF_EVENT}
    reason = event.reason
    if not reveal:
        members = mask("", members)
        reason = mask("rejectionMessage", reason)
    cells = members | {
        "event": event.kind or None,
        "timestamp_utc": event.timestamp,
        "reason": reason,
        "signature": row.signature,
    }
    if row.delivery is not None:
        cells["delivery"] = row.delivery.id
        cells["received_at_utc"] = row.delivery.received_at
        cells["is_test"] = row.delivery.is_test
    return cells
