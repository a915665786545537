"""Events with the members that the service documents, and their signature: HMAC-SHA256 of the raw body."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import Field, Strict, StrictBool

from payerkit import html
from payerkit.errors import InvalidInput, InvalidSignature, kind_of, without_internal_frames
from payerkit.explanations import Explanation, explain_payer, explain_word
from payerkit.models.responses import Amount, Response, read_by
from payerkit.wire import first, parse_json, read_time

VARIANTS = (".client_id", ".checkout")
"""Endings of events that the service sends beside the event itself: they report the same thing once more."""

_SPELLINGS = {
    "requestId": ("requestId", "requestID", "request_id"),
    "paymentDetailsId": ("paymentDetailsId", "paymentAccountId", "payment_details_id"),
}
"""Members that the service spells in several ways."""


class Event(Response):
    """What the service reports by itself (a webhook); **beyond the specification**. Missing fields are None.

    Events with other members are read, too: those are attributes by their wire names.

    Attributes:
        event: What happened, such as "compliance.updated", "payment_detail.updated" or "payment.processing".
        timestamp: When, in UTC.
        client_user_id: Your id of the payer.
        kyc_status, agreement_status, is_compliant: The payer's statuses.
        payment_details_id: The service's id of a bank account.
        status: The status of that account.
        rejection_message: Why the account was rejected.
        request_id, payment_reference: The request that is paid.
        offramp_id: The operator's id of the payout.
        sub_status: The off-ramp status: how far the payout is. The bank has the money once it is "fiat_sent".
        failure_reason: Why a payment failed.
        amount, total_amount_paid, expected_amount: What was paid, in all so far, and what should be.
        currency, payment_currency, network, tx_hash, payer_address: In what, where and from which wallet.
        is_crypto_to_fiat: Whether the payment is paid out to a bank account.
        refunded_to, refund_amount: Who got how much back.
        raw_payload: What the operator reported, as received; it may have personal data and is masked.

    Example:
        >>> event = Event.read({"event": "payment.processing", "subStatus": "bounced", "rawPayload": {"name": "A. B."}})
        >>> event.kind, event.sub_status, event.explain().whose_move
        ('payment.processing', 'bounced', 'payee')
        >>> event.to_dict()["rawPayload"]
        '••••'
    """

    event: str | None = Field(None, title="Event")
    timestamp: Annotated[datetime | None, Strict(), read_by(partial(read_time, milliseconds=True))] = Field(
        None, title="Time"
    )
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
    total_amount_paid: Amount = Field(None, title="Paid so far")
    expected_amount: Amount = Field(None, title="Expected")
    currency: str | None = Field(None, title="Currency")
    payment_currency: str | None = Field(None, title="Paid in")
    network: str | None = Field(None, title="Network")
    tx_hash: str | None = Field(None, title="Transaction")
    payer_address: str | None = Field(None, title="Paid from")
    is_crypto_to_fiat: StrictBool | None = Field(None, title="Paid out to a bank")
    refunded_to: str | None = Field(None, title="Refunded to")
    refund_amount: Amount = Field(None, title="Refunded")
    raw_payload: Any = Field(None, title="As the operator reports it", repr=False)

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, from any of their spellings; an empty text, as services send it, is left out."""
        spelt = {name: found for name, names in _SPELLINGS.items() if (found := first(content, *names)) is not None}
        return {name: value for name, value in {**content, **spelt}.items() if value != ""}

    @property
    def kind(self) -> str:
        """What happened, without the ending of a variant: "payment.confirmed" for "payment.confirmed.checkout"."""
        return (self.event or "").removesuffix(self.variant)

    @property
    def variant(self) -> str:
        """The ending of an event that is sent beside the event itself, ".client_id" or ".checkout"; else ""."""
        return next((each for each in VARIANTS if (self.event or "").endswith(each)), "")

    @property
    def reason(self) -> str | None:
        """Why an account was rejected or a payment failed, in the service's words; None if it does not say."""
        return self.rejection_message or self.failure_reason

    def explain(self) -> Explanation:
        """Return what the event's status means, whose move it is, and what to do.

        Returns:
            The explanation of the payer's statuses, of the account's status, or of the off-ramp status.

        Example:
            >>> Event.read({"event": "payment_detail.updated", "status": "failed"}).explain().whose_move
            'payee'
        """
        if self.kyc_status or self.agreement_status:
            return explain_payer(self.kyc_status, self.agreement_status, stated=self.is_compliant)
        if self.kind.startswith("payment_detail."):
            return explain_word(self.status, "account")
        return explain_word(self.sub_status, "payment")

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table, with the next step first if there is a status."""
        has_status = self.kyc_status or self.agreement_status or self.status or self.sub_status
        return ([("Next", html.escape(self.explain().next_step))] if has_status else []) + super().rows()


Secret = str | bytes | Iterable[str | bytes]
"""The secret of a webhook, or the secrets of several, of which one has to match."""

_DIGITS = re.compile("(?:sha256=)?([0-9a-fA-F]{64})")
"""A signature in hexadecimal digits, with or without the name of its algorithm in front."""


@without_internal_frames
def verify_event(body: bytes, signature: str, secret: Secret) -> Event:
    """Return an event whose signature proves that the service sent it: **beyond the specification**.

    Signatures are compared in constant time. They cover the body alone, and no time: an event may come again, so keep
    the header `x-request-network-delivery`, which is the same each time.

    Args:
        body: The raw bytes of the body, as they arrived.
        signature: The header `x-request-network-signature`.
        secret: The secret of the webhook, or the secrets of several, of which one has to match.

    Returns:
        The event.

    Raises:
        InvalidSignature: The signature is missing, or does not match. Nothing in the body can be believed.
        InvalidInput: The body is not bytes, a secret is empty, or what was signed is not a JSON object.

    Example:
        >>> body = b'{"event":"payment_detail.updated","status":"failed","rejectionMessage":"Name mismatch"}'
        >>> signature = "8b6bd93bd36a683a68f213ddde6c13f87d45d831c961fa531967f7f326843c7f"
        >>> verify_event(body, signature, "example-secret").reason
        'Name mismatch'
        >>> verify_event(body + b" ", signature, "example-secret")
        Traceback (most recent call last):
            ...
        payerkit.errors.InvalidSignature: signature: missing, or not made of this body with this secret. ...
    """
    secrets = read_secrets(secret)
    if not isinstance(body, bytes | bytearray | memoryview):
        raise InvalidInput(
            f"body: expected the raw bytes as they arrived, got {kind_of(body)}. A body that was parsed and written "
            "again has another signature."
        )
    raw = bytes(body)
    if not is_signed(raw, signature, secrets):
        raise InvalidSignature("signature: missing, or not made of this body with this secret.")
    try:
        return Event.read(parse_json(raw))
    except ValueError:
        problem = InvalidInput("body: the signature matches, but it is not a JSON object.")
    raise problem


def read_secrets(secret: Secret) -> tuple[bytes, ...]:
    """Return secrets as bytes. Raises InvalidInput if none is given, or an empty one."""
    given: Any = [secret] if isinstance(secret, str | bytes) else secret
    try:
        secrets = tuple(each.encode() if isinstance(each, str) else bytes(memoryview(each)) for each in given)
    except (TypeError, UnicodeEncodeError):
        secrets = ()
    if not all(secrets) or not secrets:
        raise InvalidInput("secret: expected the secret of the webhook, as text or bytes that are not empty.")
    return secrets


def is_signed(body: bytes, signature: object, secrets: Iterable[bytes]) -> bool:
    """Return True if a signature was made of exactly this body with one of the secrets; compared in constant time."""
    found = _DIGITS.fullmatch(signature.strip()) if isinstance(signature, str) else None
    if found is None:
        return False
    given = bytes.fromhex(found[1])
    return any(hmac.compare_digest(given, hmac.digest(secret, body, "sha256")) for secret in secrets)
