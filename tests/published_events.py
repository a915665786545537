"""The published examples of events (API documentation, webhooks), and what tests make of them."""

from __future__ import annotations

import hmac
import json
from typing import Any

SECRET = "payerkit-test-secret"

REQUEST_ID = "0151b394e3c482c5aebaa04eb04508a8db70595470760293f1b258ed96d1fafa93"
DELIVERY_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

COMPLIANCE: dict[str, Any] = {
    "event": "compliance.updated",
    "clientUserId": "user-123",
    "kycStatus": "approved",
    "agreementStatus": "completed",
    "isCompliant": True,
    "timestamp": "2025-10-03T14:30:00Z",
    "rawPayload": {"verificationLevel": "full", "documents": "verified"},
}

PAYMENT_DETAIL: dict[str, Any] = {
    "event": "payment_detail.updated",
    "status": "failed",
    "paymentDetailsId": "fa898aec-519c-46be-9b4c-e76ef4ff99d9",
    "clientUserId": "user-123",
    "rejectionMessage": "Beneficiary name mismatch",
    "rawPayload": {"provider": "example"},
}

CONFIRMED: dict[str, Any] = {
    "event": "payment.confirmed",
    "requestId": REQUEST_ID,
    "requestID": REQUEST_ID,
    "paymentReference": "0x2c3366941274c34c",
    "explorer": f"https://scan.request.network/request/{REQUEST_ID}",
    "amount": "100.0",
    "totalAmountPaid": "100.0",
    "expectedAmount": "100.0",
    "timestamp": "2025-10-03T14:30:00Z",
    "txHash": "0xabcdef1234567890abcdef1234567890abcdef1234567890abcdef1234567890",
    "network": "ethereum",
    "currency": "USDC",
    "paymentCurrency": "USDC",
    "isCryptoToFiat": False,
    "subStatus": "",
    "paymentProcessor": "request-network",
    "fees": [{"type": "network", "amount": "0.02", "currency": "ETH"}],
}

PROCESSING: dict[str, Any] = {
    "event": "payment.processing",
    "requestId": REQUEST_ID,
    "requestID": REQUEST_ID,
    "paymentReference": "0x2c3366941274c34c",
    "offrampId": "offramp_test123456789",
    "timestamp": "2025-10-03T14:35:00Z",
    "subStatus": "ongoing_checks",
    "paymentProcessor": "request-tech",
    "rawPayload": {"status": "ongoing_checks", "providerId": "provider_test123"},
}

FAILED: dict[str, Any] = {
    "event": "payment.failed",
    "requestId": REQUEST_ID,
    "subStatus": "bounced",
    "failureReason": "Returned by the bank",
    "retryAfter": "2025-10-04T14:30:00Z",
}

REFUNDED: dict[str, Any] = {
    "event": "payment.refunded",
    "requestId": REQUEST_ID,
    "refundedTo": "0x92Fc3406Fc6BB7A76aC63b2E8b9d02b1B9C3e4d5",
    "refundAmount": "50.0",
    "currency": "USDC",
}

RECURRING: dict[str, Any] = {"event": "request.recurring", "requestId": REQUEST_ID, "originalRequestId": "01ab"}

PUBLISHED = [COMPLIANCE, PAYMENT_DETAIL, CONFIRMED, PROCESSING, FAILED, REFUNDED, RECURRING]


def body_of(event: object) -> bytes:
    """Return an event as the service writes it, without blanks."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def sign(body: bytes, secret: str = SECRET) -> str:
    """Return the signature of a body."""
    return hmac.digest(secret.encode(), body, "sha256").hex()


def headers_of(body: bytes, delivery: str | None = DELIVERY_ID, *, retries: int = 0, secret: str = SECRET) -> Any:
    """Return the headers with which the service delivers a body."""
    named = {} if delivery is None else {"x-request-network-delivery": delivery}
    signed = {"x-request-network-signature": sign(body, secret), "x-request-network-retry-count": str(retries)}
    return named | signed


def line_of(
    event: object,
    delivery: str | None = DELIVERY_ID,
    *,
    received_at: str = "2025-10-03T14:40:00.000Z",
    retries: int = 0,
    **headers: str,
) -> dict[str, Any]:
    """Return the delivery of an event as a line of a file has it."""
    body = body_of(event)
    named = {f"x-request-network-{name}": value for name, value in headers.items()}
    return {
        "received_at": received_at,
        "headers": headers_of(body, delivery, retries=retries) | named,
        "body": body.decode(),
    }
