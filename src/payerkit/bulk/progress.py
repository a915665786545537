"""How far a run is, for whoever waits."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Self


class Progress:
    """A bar of tqdm's with what was done, what failed and what is not known; nothing if nobody wants to see it."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._lock = threading.Lock()
        self._ended = 0
        self._states: dict[str, int] = {}
        self._bar: Any = None
        if shown:
            from tqdm.auto import tqdm  # noqa: PLC0415 - for who looks at it

            self._bar = tqdm(total=total, unit="sent", dynamic_ncols=True)

    def count(self, state: str) -> None:
        """Count what became of one more task; whichever thread it is in."""
        with self._lock:
            self._ended += 1
            self._states[state] = self._states.get(state, 0) + 1

    def beat(self) -> None:
        """Bring the bar up to date."""
        if self._bar is None:
            return
        with self._lock:
            ended, states = self._ended, dict(self._states)
        try:
            self._draw(ended, states)
        except OSError:  # where it was drawn is gone, and no reason to end a run
            self._bar = None

    def _draw(self, ended: int, states: dict[str, int]) -> None:
        self._bar.update(ended - self._bar.n)
        failed = states.get("refused", 0) + states.get("not_sent", 0)
        self._bar.set_postfix(
            done=states.get("done", 0), failed=failed, unknown=states.get("unknown", 0), refresh=False
        )

    def say(self, words: str) -> None:
        """Show what is going on."""
        if self._bar is not None:
            self._bar.set_description(words)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.beat()
        if self._bar is not None:
            self._bar.close()
