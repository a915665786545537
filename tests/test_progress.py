"""The progress bar: the items of a step by state, drawn now and then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from onboarding_tables import payer_row, run_arguments
from payerkit.onboarding.progress import Progress


class Bar:
    """Keeps what a bar is told to show."""

    def __init__(self) -> None:
        self.n, self.total, self.unit = 0, 0, ""
        self.texts = list[tuple[str, int, int, str]]()
        self._note = ""

    def set_postfix_str(self, text: str, **_: object) -> None:
        """Keep the text."""
        self._note = text

    def refresh(self) -> None:
        """Keep what is drawn."""
        self.texts.append((self.unit.strip(), self.n, self.total, self._note))

    def reset(self, total: int) -> None:
        """Begin anew."""
        self.n, self.total = 0, total

    def close(self) -> None:
        """Draw nothing."""


@pytest.fixture
def bar() -> Bar:
    """Return a bar that is not drawn."""
    return Bar()


@pytest.fixture
def progress(bar: Bar) -> Progress:
    """Return the progress of a step with three payers."""
    made = Progress(shown=False)
    made._bar = bar
    made.begin("payer", 3)
    bar.texts.clear()
    return made


def test_items_are_counted_by_state(progress: Progress, bar: Bar) -> None:
    """In words, in the order in which the states occurred; a new step begins at 0."""
    for state in ("done", "not_sent", "done"):
        progress.count(state)
    progress.show(now=True)
    progress.begin("account", 2)
    progress.count("done")
    progress.show(now=True)

    last, *_, first = reversed(bar.texts)
    assert [("payer", 3, 3, "2 done, 1 not sent"), ("account", 1, 2, "1 done")] == [first, last]


def test_a_bar_is_drawn_twice_a_second_at_most(progress: Progress, bar: Bar) -> None:
    """Each drawing is a message to the browser; the last one is drawn in any case."""
    for _ in range(3):
        progress.count("done")
        progress.show()
    with progress:
        progress.count("refused")

    assert [("payer", 4, 3, "3 done, 1 refused")] == bar.texts


def test_what_is_drawn_stays(progress: Progress, bar: Bar) -> None:
    """A number and a note that are given are drawn again until the next step begins."""
    progress.draw(1, "waiting: 2 for payer")
    progress.show(now=True)

    assert [("payer", 1, 3, "waiting: 2 for payer")] * 2 == bar.texts


@pytest.mark.parametrize("options", [{}, {"accounts": "when_compliant"}])
def test_a_run_counts_each_task_of_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    """Every payer and every account once, in whatever state: the bar ends where the step ends, also when resumed."""
    ended: list[tuple[int, int]] = []
    begin = Progress.begin

    def note(self: Progress, unit: str, total: int) -> None:
        ended.append((len(self._states), total))
        begin(self, unit, total)

    monkeypatch.setattr(Progress, "begin", note)
    rows = [payer_row(place) for place in range(4)]
    rows[3]["email"] = "x"
    with payerkit.sandbox(seed=2) as client:
        for _ in range(2):
            arguments = run_arguments(holder_is_payer=True, workers=1, **options)
            payerkit.onboard(client, pd.DataFrame(rows), journal=tmp_path / "run.journal", **arguments)

    assert [(0, 3), (3, 3)] * 2 == ended
