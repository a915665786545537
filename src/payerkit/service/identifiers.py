"""Where ids and times come from: chance and the clock, or a seed and what is stored."""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from dataclasses import dataclass

_START = 1_767_225_600.0
"""2026-01-01 00:00 UTC, where the clock of a seeded service stands before the first write."""


@dataclass(frozen=True, slots=True)
class Identifiers:
    """Makes ids and times. With a seed, the same things stored in the same order get the same ids and times."""

    seed: int | str | None = None

    def uuid(self, *about: object) -> str:
        """Return an id; `about` says of what it is, and the how-manieth."""
        return str(uuid.UUID(bytes=self.digits(16, *about), version=4))

    def digits(self, size: int, *about: object) -> bytes:
        """Return this many bytes nobody can guess, or with a seed, that depend on it and on `about` alone."""
        if self.seed is None:
            return secrets.token_bytes(size)
        return hashlib.blake2b(repr((str(self.seed), *about)).encode(), digest_size=size).digest()

    def now(self, writes: int) -> float:
        """Return the time in seconds; a seeded clock moves on by one second a write."""
        return time.time() if self.seed is None else _START + writes
