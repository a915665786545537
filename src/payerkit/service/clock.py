"""The clock of a service and the ids that it gives, which a manual clock and a seed make reproducible."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

ClockKind = Literal["wall", "manual"]
"""`wall` goes on by itself; `manual` moves only when it is advanced."""

START = 1_767_225_600.0
"""2026-01-01 00:00 UTC: where a manual clock starts."""

LATEST = 253_402_300_799.0
"""The last second of the year 9999: no clock can be advanced beyond it."""


def format_time(seconds: float) -> str:
    """Return a time in seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Identifiers:
    """Creates ids. With a seed, the same writes get the same ids.

    `subject` says what an id is for: its kind, its owner and, where there may be several, its ordinal. With one
    counter for all of them, the order in which calls arrive would change every id.
    """

    seed: int | str | None = None

    def uuid(self, *subject: object) -> str:
        """Return a UUID (version 4)."""
        return str(uuid.UUID(bytes=self.token_bytes(16, *subject), version=4))

    def token_bytes(self, size: int, *subject: object) -> bytes:
        """Return random bytes or, with a seed, bytes that depend on the seed and the subject alone."""
        if self.seed is None:
            return secrets.token_bytes(size)
        return hashlib.blake2b(repr((str(self.seed), *subject)).encode(), digest_size=size).digest()
