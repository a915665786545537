"""The published examples of events (API documentation, webhooks), and what tests make
of them.
"""

from __future__ import annotations

import hmac
import json
from typing import Any

from cases import DATA

SECRET = "payerkit-test-secret"

REQUEST_ID = "0151b394e3c482c5aebaa04eb04508a8db70595470760293f1b258ed96d1fafa93"
DELIVERY_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

PUBLISHED: list[dict[str, Any]] = json.loads(
    DATA.joinpath("published_events.json").read_text("utf-8")
)
COMPLIANCE, PAYMENT_DETAIL, CONFIRMED, PROCESSING, FAILED, REFUNDED, _ = PUBLISHED


def body_of(event: object) -> bytes:
    """Return an event as the service writes it, without blanks."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def sign(body: bytes, secret: str = SECRET) -> str:
    """Return the signature of a body."""
    return hmac.digest(secret.encode(), body, "sha256").hex()


def headers_of(
    body: bytes,
    delivery: str | None = DELIVERY_ID,
    *,
    secret: str = SECRET,
) -> Any:
    """Return the headers with which the service delivers a body."""
    named = {} if delivery is None else {"x-request-network-delivery": delivery}
    signed = {
        "x-request-network-signature": sign(body, secret),
    }
    return named | signed


def line_of(
    event: object,
    delivery: str | None = DELIVERY_ID,
    *,
    received_at: str = "2025-10-03T14:40:00.000Z",
    **headers: str,
) -> dict[str, Any]:
    """Return the delivery of an event as a line of a file has it."""
    body = body_of(event)
    named = {f"x-request-network-{name}": value for name, value in headers.items()}
    return {
        "received_at": received_at,
        "headers": headers_of(body, delivery) | named,
        "body": body.decode(),
    }
