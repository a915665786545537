"""What a world has to show afterwards: the ledger of the writes that were stored,
whatever response the caller got, and the events that a live service would have sent to
a webhook.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from fastapi import APIRouter
from sqlalchemy import select
from typing_extensions import TypedDict

from payerkit_sandbox.clock import format_time
from payerkit_sandbox.common_fields import After
from payerkit_sandbox.models import EntryRow, EventRow
from payerkit_sandbox.worlds import SessionDep, WorldSession

WriteKind = Literal[
    "payer", "agreement", "payment_detail", "payment", "request", "execution"
]
"""The kinds of writes that the ledger records."""

MOST = 1000
"""How many entries or events a response has at most."""

RowT = TypeVar("RowT", EntryRow, EventRow)

router = APIRouter()


class LedgerEntry(TypedDict):
    """A write. id: of what was stored, if it has one."""

    number: int
    what: str
    clientUserId: str | None
    id: str | None
    fingerprint: str


class Ledger(TypedDict):
    """Writes in their order."""

    ledger: list[LedgerEntry]


class EventBody(TypedDict):
    """An event that was fired, with the signature of its body."""

    number: int
    firedAt: str
    deliveryId: str
    signature: str
    body: str


class EventList(TypedDict):
    """Events in their order."""

    events: list[EventBody]


class SecretBody(TypedDict):
    """The secret that signs events."""

    secret: str


@router.get("/sandbox/ledger")
def get_ledger(session: SessionDep, after: After = 0) -> Ledger:
    """Return the writes that were stored, at most 1,000 per call."""
    entries: list[LedgerEntry] = [
        {
            "number": row.number,
            "what": row.what,
            "clientUserId": row.client_user_id,
            "id": row.about,
            "fingerprint": row.fingerprint,
        }
        for row in _rows_after(session, EntryRow, after)
    ]
    return {"ledger": entries}


@router.get("/sandbox/events")
def get_events(session: SessionDep, after: After = 0) -> EventList:
    """Return the events that were fired by the clock, at most 1,000 per call."""
    events: list[EventBody] = [
        {
            "number": row.number,
            "firedAt": format_time(row.fired_at),
            "deliveryId": row.delivery_id,
            "signature": _sign(session, row.body),
            "body": row.body,
        }
        for row in _rows_after(session, EventRow, after)
    ]
    return {"events": events}


def _rows_after(
    session: WorldSession, table: type[RowT], number: int
) -> Sequence[RowT]:
    query = select(table).where(
        table.world_id == session.world.id, table.number > number
    )
    return session.scalars(query.order_by(table.number).limit(MOST)).all()


@router.get("/sandbox/events/secret")
def get_events_secret(session: SessionDep) -> SecretBody:
    """Return the secret that signs the events of the world."""
    return {"secret": session.row.secret}


def record(
    session: WorldSession,
    what: WriteKind,
    client_user_id: str | None,
    body: Mapping[str, Any],
    about: str | None = None,
) -> None:
    """Add an entry. Its fingerprint is equal only for equal bodies in one world."""
    text = json.dumps(body, sort_keys=True)
    session.add(
        EntryRow(
            world_id=session.world.id,
            what=what,
            client_user_id=client_user_id,
            about=about,
            fingerprint=_sign(session, text)[:16],
        )
    )


def fire(
    session: WorldSession, name: str, time: float, body: Mapping[str, Any]
) -> None:
    """Store an event. Its body is written once, since its bytes are signed."""
    content = {"event": name, **body}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    ordinal = session.ordinal(EventRow)
    session.add(
        EventRow(
            world_id=session.world.id,
            delivery_id=session.identifiers.uuid("delivery", text, ordinal),
            fired_at=time,
            body=text,
        )
    )


def _sign(session: WorldSession, text: str) -> str:
    """Return the HMAC of a text with the secret of the world."""
    secret = session.row.secret.encode()
    return hmac.digest(secret, text.encode(), hashlib.sha256).hex()
