"""Ids, references and timestamps: random, or reproducible with a seed."""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from dataclasses import dataclass

_START = 1_767_225_600.0
"""2026-01-01 00:00 UTC: the time of a seeded service before its first write."""


@dataclass(frozen=True, slots=True)
class Identifiers:
    """Creates ids and timestamps. With a seed, the same writes in the same order get the same ids and times.

    `subject` says what an id is for: its kind, its owner and, where there may be several, its ordinal. With one
    counter for all of them, the order in which threads arrive would change every id.
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

    def now(self, writes: int) -> float:
        """Return the time in seconds; a seeded clock advances by one second per write."""
        return time.time() if self.seed is None else _START + writes
