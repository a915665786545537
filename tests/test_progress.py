"""The progress bar of a run: rows as the report counts them, and a time left that does not jump."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from clocks import HandClock
from payerkit.bulk.progress import Progress, RowStates, RunDisplay, TimeLeft
from payerkit.bulk.table import Step, Table
from payerkit.onboarding import RunOptions
from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns

Told = list[tuple[Step, int, str]]


def rows(*ids: str, **changes: Any) -> pd.DataFrame:
    """Return a row for each id: a payer with an account, each with a number of its own."""
    made = [TYPED_PAYER | as_columns(TYPED_ACCOUNT) | {"client_user_id": name} for name in ids]
    return pd.DataFrame(made, dtype="object").assign(
        account_number=[f"1234567{place:03}" for place in range(len(ids))], **changes
    )


def counted(table: pd.DataFrame, told: Told) -> dict[str, int]:
    """Return the states that occur after the tasks of a table ended so."""
    states = RowStates(Table(table))
    for each in told:
        states.record(*each)
    return {state: count for state, count in states.counts.items() if count}


# Rows


@pytest.mark.parametrize(
    ("table", "told", "expected"),
    [
        (rows("a", "b"), [], {}),
        (rows("a", "b"), [("payer", 0, "done")], {}),  # its account is to come
        (rows("a", "b"), [("payer", 0, "done"), ("bank_details", 0, "done")], {"done": 1}),
        (rows("a", "b"), [("payer", 0, "refused")], {"refused": 1}),
        (rows("a", "a", "b"), [("payer", 0, "refused")], {"refused": 2}),  # both accounts of the payer
        (rows("a", "a"), [("payer", 0, "done"), ("bank_details", 1, "unknown")], {"unknown": 1}),
        (rows("a", "a").assign(account_number="12345678"), [("bank_details", 0, "done")], {"done": 2}),  # one account
        (rows("a", "b", email=["x", "a@example.com"]), [], {"not_sent": 1}),  # an error: nothing is sent
        (pd.DataFrame([TYPED_PAYER]), [("payer", 0, "done")], {"done": 1}),  # without accounts
        (rows("a"), [("payer", 0, "sent")], {"unknown": 1}),
        # Taken back: what was found out counts, and not what was said before.
        (rows("a"), [("payer", 0, "unknown"), ("payer", 0, "done")], {}),
        (rows("a"), [("payer", 0, "done"), ("bank_details", 0, "unknown"), ("bank_details", 0, "done")], {"done": 1}),
        (
            rows("a"),
            [("payer", 0, "done"), ("bank_details", 0, "done"), ("bank_details", 0, "duplicate")],
            {"duplicate": 1},
        ),
    ],
)
def test_a_task_settles_its_rows(table: pd.DataFrame, told: Told, expected: dict[str, int]) -> None:
    """Rows are counted as the report counts them, whatever the number of calls."""
    assert expected == counted(table, told)


def test_a_row_whose_payer_is_stored_counts_half() -> None:
    """The bar moves while payers are sent, although no row is done yet."""
    states = RowStates(Table(rows("a", "b")))
    settled = [states.settled]
    for task in (("payer", 0, "done"), ("payer", 1, "done"), ("bank_details", 0, "done"), ("bank_details", 1, "done")):
        states.record(*task)
        settled.append(states.settled)

    assert [0, 0.5, 1, 1.5, 2] == settled


FAULTS = "reset_after=20%, fail_after=20%, exists=10%"


@pytest.mark.slow
def test_a_run_counts_as_its_report_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the bar takes over the numbers of the report, it has them already: errors and lost responses, too."""
    seen: list[dict[str, int]] = []
    monkeypatch.setattr(RunDisplay, "end", lambda self, counts, **_: seen.extend([self._rows.counts, dict(counts)]))
    table = rows(*(f"user-{place // 2}" for place in range(30)))
    table.loc[3, "email"] = "x"
    with payerkit.sandbox(seed=2) as client:
        client.sandbox.set_faults(FAULTS)
        payerkit.onboard(
            client,
            table,
            journal=tmp_path / "run.journal",
            holder_is_payer=True,
            options=RunOptions(reconcile_after=0.1, stop_after=None),
        )

    assert seen[0] == seen[1]
    assert sum(seen[0].values()) == len(table)


# The time left


def shown(left: TimeLeft, clock: HandClock, seconds: int, calls: float, **waits: float) -> list[float]:
    """Return what is told each second, while some calls are made in each."""
    told = []
    for _ in range(seconds):
        clock.time += 1
        left.count_made(calls)
        told.append(left.look(**waits) or 0.0)
    return told


def test_the_time_left_counts_down() -> None:
    """At the promised pace, what is told is right from the beginning, and ends at 0."""
    clock = HandClock()
    told = shown(TimeLeft(100, 5, clock.now), clock, 20, 5)

    assert [pytest.approx(20 - second) for second in range(1, 21)] == told


def test_the_time_left_does_not_jump() -> None:
    """A service that becomes four times as slow is told of by and by: in no second by more than a tenth."""
    clock = HandClock()
    left = TimeLeft(1000, 5, clock.now)
    before = shown(left, clock, 20, 5)
    after = shown(left, clock, 60, 1.25)

    assert max(abs(one - other) / one for one, other in zip(before + after, (before + after)[1:], strict=False)) < 0.1
    assert after[-1] > 1.5 * before[-1]


def test_without_a_limit_the_pace_is_measured() -> None:
    """Nothing is told until some calls were made."""
    clock = HandClock()
    left = TimeLeft(100, None, clock.now)

    assert [0.0, 0.0, pytest.approx(47)] == shown(left, clock, 3, 2)


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ({"paused": 30.0}, 50.0),  # Retry-After: then as long as before
        ({"due_in": 60.0}, 60.0),  # calls are made meanwhile
        ({"due_in": 5.0}, 20.0),
        ({"paused": 30.0, "due_in": 60.0}, 60.0),
    ],
)
def test_known_waits_are_part_of_the_time_left(waits: dict[str, float], expected: float) -> None:
    """A pause of the service, and the wait until what is unknown can be looked up."""
    left = TimeLeft(100, 5, HandClock().now)

    assert expected == left.look(**waits)


def test_a_pause_does_not_count_against_the_pace() -> None:
    """After a minute in which nothing was to be sent, as much is left as before."""
    clock = HandClock()
    left = TimeLeft(100, 5, clock.now)
    shown(left, clock, 60, 0, paused=10.0)
    clock.time += 1
    left.count_made(5)

    assert 19 == pytest.approx(left.look() or 0)


# What is drawn


class Bar:
    """Keeps what a bar is told to show."""

    def __init__(self) -> None:
        self.n, self.texts = 0.0, list[str]()

    def set_postfix_str(self, text: str, **_: object) -> None:
        """Keep the text."""
        self.texts.append(text)

    def refresh(self) -> None:
        """Draw nothing."""

    def set_description(self, *_: object, **__: object) -> None:
        """Draw nothing."""

    def close(self) -> None:
        """Draw nothing."""


def test_states_are_words() -> None:
    """With blanks, in the order of the report; those that do not occur are left out."""
    progress, bar = Progress(1500, shown=False), Bar()
    progress._bar = bar
    progress.show({"done": 1000, "refused": 0, "not_sent": 2}, 1002.5, 200)

    assert (["1,002 of 1,500 rows: 1,000 done, 2 not sent, about 3 minutes left"], 1002.5) == (bar.texts, bar.n)


def test_a_bar_is_drawn_twice_a_second_at_most() -> None:
    """Each drawing is a message to the browser; the last one is drawn in any case."""
    progress, bar = Progress(3, shown=False), Bar()
    progress._bar = bar
    for place in range(3):
        progress.show({"done": place})
    progress.show({"done": 3}, now=True)

    assert ["0 of 3 rows", "3 of 3 rows: 3 done"] == bar.texts
