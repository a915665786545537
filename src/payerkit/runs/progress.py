"""A progress bar that counts the items of a step by state."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Self

from payerkit.wording import in_words

_BAR = (
    "{desc}{percentage:3.0f}%|{bar}|{unit} {n_fmt} of {total_fmt}"
    " [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
)

_PERIOD = 0.5
"""Seconds between two drawings, at least: in a notebook, each is a message to the
browser.
"""


class Progress:
    """A tqdm bar that counts the items of a step by state; it does nothing unless it is
    shown.

    Threads count; one of them draws, since tqdm is not to be shared. where: shown
    before the bar, such as the environment that the calls go to.
    """

    def __init__(self, *, shown: bool, where: str) -> None:
        self._states: list[str] = []  # a thread adds to it at once
        self._drawn_at = 0.0
        self._bar: Any = None
        if shown:
            from tqdm.auto import tqdm  # noqa: PLC0415 - needed for the bar only

            # delay: it is drawn when the first step begins.
            self._bar = tqdm(
                total=0,
                bar_format=_BAR,
                dynamic_ncols=True,
                desc=f"{where}: ",
                delay=1e-6,
            )

    def begin(self, unit: str, total: int) -> None:
        """Begin a step of so many items; what was counted before is forgotten."""
        self._states = []
        if self._bar is not None:
            self._bar.unit = f" {unit}"
            self._bar.set_postfix_str("", refresh=False)
            self._bar.reset(total)

    def count(self, state: str) -> None:
        """Count an item, from any thread."""
        self._states.append(state)

    def show(self, *, now: bool = False) -> None:
        """Draw what was counted, unless the bar was drawn a moment ago. now: draw in
        any case.
        """
        if now or time.monotonic() >= self._drawn_at + _PERIOD:
            states = Counter(self._states)
            counted = ", ".join(
                f"{count:,} {in_words(state)}" for state, count in states.items()
            )
            self.draw(states.total(), counted)

    def draw(self, done: int, note: str = "") -> None:
        """Draw a number of items and a note, in place of what was counted."""
        self._drawn_at = time.monotonic()
        if self._bar is None:
            return
        try:
            self._bar.n = done
            self._bar.set_postfix_str(note)
        except OSError:
            # The terminal or the pipe is gone, which is no reason to end a run.
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._states:
            self.show(now=True)
        if self._bar is not None:
            self._bar.close()
