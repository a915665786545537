"""Ids and references: random, or reproducible with a seed."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identifiers:
    """Creates ids. With a seed, the same writes get the same ids.

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
