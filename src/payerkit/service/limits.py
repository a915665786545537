"""Limits on how often the API may be called: per minute, or as on the live service."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

from payerkit.service.errors import Problem
from payerkit.service.settings import Settings

LIVE_RATE = 5
"""Calls a second that the live service allows by default, by the operator's documentation."""

BLOCK_SECONDS = 300.0
"""For how long the live service refuses every call after a sustained breach, by the same documentation."""

BREACH = 50
"""Refusals within BREACH_SECONDS that count as a sustained breach; invented, since the documentation has no number."""

BREACH_SECONDS = 10.0

_WINDOW_SECONDS = 60.0


class CallLimits:
    """Counts the calls of the API.

    Time is real, whatever the service's clock is, since calls take real time; only what the clock is advanced by is
    added, so that a block need not be waited for.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = settings.rate_limit
        self._live_like = settings.live_like
        self._clock = clock
        self._ahead = 0.0
        self._lock = threading.Lock()
        self._recent: deque[float] = deque()
        self._refused: deque[float] = deque(maxlen=BREACH)
        self._blocked_until = -math.inf
        self._credit, self._credited = float(LIVE_RATE), -math.inf

    def advance(self, seconds: float) -> None:
        """Let time leap forward."""
        with self._lock:
            self._ahead += seconds

    def count(self) -> None:
        """Count a call. Raises Problem (429) if a limit is reached."""
        now = self._clock() + self._ahead
        if self._live_like:
            self._count_live(now)
        if self._per_minute:
            self._count_minute(now)

    def _count_live(self, now: float) -> None:
        """Count a call: five at once, then five a second. A refusal does not say how long to wait."""
        if now < self._blocked_until:
            raise Problem(429, "Too Many Requests")
        self._credit = min(LIVE_RATE, self._credit + (now - self._credited) * LIVE_RATE)
        self._credited = now
        if self._credit < 1:
            self._refused.append(now)
            if len(self._refused) == BREACH and now - self._refused[0] <= BREACH_SECONDS:
                self._blocked_until = now + BLOCK_SECONDS
                self._refused.clear()
            raise Problem(429, "Too Many Requests")
        self._credit -= 1

    def _count_minute(self, now: float) -> None:
        """Count a call. A refusal says when the oldest call of the last minute no longer counts."""
        while self._recent and now - self._recent[0] >= _WINDOW_SECONDS:
            self._recent.popleft()
        if len(self._recent) >= self._per_minute:
            wait = max(1, math.ceil(_WINDOW_SECONDS - (now - self._recent[0])))
            raise Problem(429, "Too Many Requests", headers={"Retry-After": str(wait)})
        self._recent.append(now)
