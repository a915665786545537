"""The signature of an event: HMAC-SHA256 of the raw body, with the secret of the webhook."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterable
from typing import Any

from payerkit.errors import InvalidInput, InvalidSignature, kind_of, without_internal_frames
from payerkit.events.event import Event
from payerkit.wire import parse_json

Secret = str | bytes | Iterable[str | bytes]
"""The secret of a webhook, or the secrets of several, of which one has to match."""

_DIGITS = re.compile("(?:sha256=)?([0-9a-fA-F]{64})")
"""A signature in hexadecimal digits; some write what it is in front."""


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
        payerkit.errors.InvalidSignature: body: not what was signed: it was parsed and written again. ...
    """
    secrets = read_secrets(secret)
    if not isinstance(body, bytes | bytearray | memoryview):
        raise InvalidInput(
            f"body: expected the raw bytes as they arrived, got {kind_of(body)}. A body that was parsed and written "
            "again has another signature."
        )
    raw = bytes(body)
    if not is_signed(raw, signature, secrets):
        raise InvalidSignature(_explain(raw, signature, secrets))
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


def _explain(body: bytes, signature: object, secrets: tuple[bytes, ...]) -> str:
    """Return why a signature does not match, as far as it shows."""
    if signature is None or (isinstance(signature, str) and not signature.strip()):
        return "signature: missing. The service sends it in the header x-request-network-signature."
    if not isinstance(signature, str) or _DIGITS.fullmatch(signature.strip()) is None:
        return "signature: not 64 hexadecimal digits, as in the header x-request-network-signature."
    if is_signed(_compact(body), signature, secrets):
        return "body: not what was signed: it was parsed and written again."
    if any(secret != secret.strip() for secret in secrets):
        return "signature: does not match. The secret begins or ends with a blank or a line break: remove it."
    return "signature: does not match the body."


def _compact(body: bytes) -> bytes:
    """Return JSON as the service writes it, without blanks; b"" for what is not JSON."""
    try:
        return json.dumps(parse_json(body), ensure_ascii=False, separators=(",", ":")).encode()
    except ValueError:
        return b""
