"""The time of a service: the wall clock, or a clock that stands still until somebody advances it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Literal

ClockKind = Literal["wall", "manual"]
"""`wall` goes on by itself; `manual` moves only when it is advanced."""

START = 1_767_225_600.0
"""2026-01-01 00:00 UTC: where a manual clock starts."""

LATEST = 253_402_300_799.0
"""The last second of the year 9999: no clock can be advanced beyond it."""


def current_time(clock: ClockKind, advanced: float) -> float:
    """Return the time in seconds of a clock that was advanced by so many seconds in all."""
    return (time.time() if clock == "wall" else START) + advanced


def format_time(seconds: float) -> str:
    """Return a time in seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
