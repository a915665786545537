"""The progress bar of a run."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, Self


class Progress:
    """A tqdm bar that counts how many tasks are done, failed or unknown; nothing if it is not shown."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._lock = threading.Lock()
        self._states: Counter[str] = Counter()
        self._bar: Any = None
        if shown:
            from tqdm.auto import tqdm  # noqa: PLC0415 - needed for the bar only

            self._bar = tqdm(total=total, unit="sent", dynamic_ncols=True)

    def count(self, state: str) -> None:
        """Count one more task in a state; from any thread."""
        with self._lock:
            self._states[state] += 1

    def refresh(self) -> None:
        """Draw the present counts; from one thread, since tqdm is not safe to share."""
        if self._bar is None:
            return
        with self._lock:
            states = self._states.copy()
        failed = states["refused"] + states["not_sent"]
        try:
            self._bar.update(states.total() - self._bar.n)
            self._bar.set_postfix(done=states["done"], failed=failed, unknown=states["unknown"], refresh=False)
        except OSError:  # the terminal or the pipe is gone, which is no reason to end a run
            self._bar = None

    def describe(self, text: str) -> None:
        """Show what the run does now."""
        if self._bar is not None:
            self._bar.set_description(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.refresh()
        if self._bar is not None:
            self._bar.close()
