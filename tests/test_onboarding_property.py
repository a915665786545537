"""Runs keep their promises, whatever happens: random faults, kills, lists, journals,
tables and other tools.

A run stores nothing twice unless it tells, calls nothing done that is not there, and
forgets nothing.

What no run can know is left out: a write that takes effect after the last look at a
list, and an account that another run with another journal is about to store. So whoever
changes journals here waits until every write has landed.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, currently_in_test_context, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from onboarding_model import (
    CUT,
    FAILS_AFTER,
    FAILS_BEFORE,
    FINE,
    LOST_AFTER,
    LOST_BEFORE,
    NEVER_LEFT,
    PERHAPS,
    TIMED_OUT,
    TOO_MANY,
    Fault,
    Identity,
    Killed,
    Kind,
    ModelService,
    Record,
    api_error,
    breaches,
    gateway,
    late,
    masked,
    row_identity,
    run,
    specified,
    stored_twice,
    without_numbers,
)
from onboarding_tables import payer_row
from payerkit.runs import Report

FAULTS: dict[str, Fault] = {
    "fine": FINE,
    "lost before": LOST_BEFORE,
    "lost after": LOST_AFTER,
    "late": late(0.5),
    "very late": late(2.5),  # after it was sent again, and before the last look
    "timed out": TIMED_OUT,
    "timed out, late": late(8.0, takes=5.0),
    "cut": CUT,
    "fails before": FAILS_BEFORE,
    "fails after": FAILS_AFTER,
    "never left": NEVER_LEFT,
    "too many": TOO_MANY,
    "a gateway's 403": gateway(403),
    "a gateway's 404": gateway(404),
    "refused": api_error(400, "Unknown bank"),
    "conflict": api_error(409, "Exists already"),
}
LISTS: dict[str, Callable[[Record], Record | None]] = {
    "whole": dict,
    "specified": specified,
    "masked": masked,
    "without numbers": without_numbers,
}
PAYERS, ACCOUNTS = 3, 4
Row = dict[str, str]

faults = st.lists(st.sampled_from(sorted(FAULTS)), max_size=8)
payers, numbers = st.integers(0, PAYERS - 1), st.integers(0, ACCOUNTS - 1)


def account_row(payer: int, number: int) -> Row:
    """Return an account of a payer."""
    return payer_row(payer) | {
        "account_number": f"77{payer:04}{number:04}",
        "bank_name": f"Bank {number}",
    }


class Runs(RuleBasedStateMachine):
    """Runs over a model of the far end, with tables and journals that change."""

    steps = 0
    """Steps that all machines took together."""

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")  # noqa: S108 - a folder of random name in it
        self.folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.service = ModelService()
        self.rows = [account_row(0, 0), account_row(0, 1), account_row(1, 0)]
        self.asked: dict[Identity, Row] = {}
        """The latest row for each account that any table had."""
        self.told: set[Identity] = set()
        """Accounts that a report told as stored twice, or that no run could know to
        be.
        """
        self.journals = ["0.journal", "other.journal"]
        self.lost = 0
        self.keys = ["", "key-1"]
        """All keys in turn; before the first one there was none."""
        self.begun = 0
        """How many requests had arrived when the run began."""
        self.is_plain = True
        """No list was ever behind, cut, or without numbers: nothing may be left
        unknown.
        """

    @initialize(
        listed=st.sampled_from(sorted(LISTS)),
        has_status=st.booleans(),
        conflicts=st.booleans(),
    )
    def begin(self, listed: str, has_status: bool, conflicts: bool) -> None:
        """Choose the manners of the far end. One that refuses payers who are there has
        a call for their status.
        """
        self.service.listed = LISTS[listed]
        self.service.has_status, self.service.conflicts = (
            has_status,
            conflicts and has_status,
        )
        self.is_plain = listed in {"whole", "specified"}

    def teardown(self) -> None:
        """Heal the far end, and settle everything that any table ever asked for."""
        try:
            self.end()
        finally:
            shutil.rmtree(self.folder)

    # Runs

    @rule(
        of_accounts=faults,
        of_others=faults,
        kill_after=st.none() | st.integers(0, 80),
        copy_at=st.none() | st.integers(1, 10),
        beside_at=st.none() | st.integers(1, 10),
    )
    def run_faulty(
        self,
        of_accounts: list[str],
        of_others: list[str],
        kill_after: int | None,
        copy_at: int | None,
        beside_at: int | None,
    ) -> None:
        """Run among faults; perhaps until a kill; perhaps copy the journal meanwhile;
        perhaps beside another run.
        """
        self.service.next["account"].extend(FAULTS[name] for name in of_accounts)
        self.service.faults.extend(FAULTS[name] for name in of_others)
        self.service.before = self.watch(copy_at, beside_at)
        try:
            self.run_and_judge(self.rows, kill_after=kill_after)
        finally:
            self.service.before = lambda _kind, _payer: None
            self.service.faults.clear()
            self.service.next["account"].clear()

    @rule(
        retry=st.sampled_from([(), ("refused",), ("unknown",), ("refused", "unknown")])
    )
    def run_in_peace(self, retry: tuple[str, ...]) -> None:
        """Run without faults, perhaps for what a person wants tried again."""
        report = self.run_and_judge(self.rows, retry=retry)
        if self.is_plain and report is not None:
            states = set(report.frame["state"])
            # Where nothing is stored for certain, a new account of another tool may be
            # the one of any row.
            if not {"done", "duplicate"} & states:
                return
            assert "unknown" not in states, report.frame[
                ["client_user_id", "state", "reason"]
            ].to_string()
            open_rows = report.frame[report.frame["retryable"]]
            assert open_rows.empty, open_rows[
                ["client_user_id", "state", "reason"]
            ].to_string()

    def watch(
        self, copy_at: int | None, beside_at: int | None
    ) -> Callable[[Kind, str], None]:
        """Return what happens beside a run: at the n-th of its requests."""
        requests = 0

        def act(kind: Kind, _: str) -> None:
            nonlocal requests
            requests += 1
            if requests == copy_at and (self.folder / self.journals[0]).exists():
                shutil.copy(self.folder / self.journals[0], self.folder / "copy")
            if (
                beside_at is not None
                and requests >= beside_at
                and self.may_run_beside(kind)
            ):
                self.service.before = lambda _kind, _payer: None
                self.run_and_judge(self.rows, self.journals[1])
                self.service.settle()

        return act

    def may_run_beside(self, kind: Kind) -> bool:
        """Return True if the run can see what another one stores now: no list was read,
        no write is on its way.
        """
        is_read = any(each == "list" for each, _ in self.service.requests[self.begun :])
        lag = max([0.0, *self.service.lag.values()])
        is_late = any(
            account.at + lag > self.service.clock.now()
            for account in self.service.accounts
        )
        return kind in {"payer", "list"} and not is_read and not is_late

    def run_and_judge(
        self,
        rows: list[Row],
        journal: str = "",
        *,
        kill_after: int | None = None,
        **options: Any,
    ) -> Report | None:
        """Run, and hold the report against the ledger; None if the run was killed."""
        name = journal or self.journals[0]
        self.asked |= {row_identity(row): row for row in rows}
        outer, self.begun = self.begun, len(self.service.requests)
        options |= {"key": self.keys[-1], "kill_after": kill_after}
        try:
            report = run(self.service, rows, self.folder / name, **options)
        except Killed:
            self.tell("killed")
            self.excuse()
            return None
        finally:
            self.begun = outer
        self.tell(*(state for state, number in report.counts.items() if number))
        said = zip(rows, report.frame["state"], strict=True)
        self.told |= {row_identity(row) for row, state in said if state == "duplicate"}
        self.excuse()
        wrong = breaches(self.service, rows, report, tool=name, told=self.told)
        assert not wrong, "\n".join(wrong)
        return report

    def tell(self, *events: str) -> None:
        """Tell hypothesis what happened, for its statistics; a run beside another one
        is in a thread of that one.
        """
        is_asked = (
            threading.current_thread() is threading.main_thread()
            and currently_in_test_context()
        )
        for each in events if is_asked else ():
            event(each)

    def excuse(self) -> None:
        """Leave out accounts with a copy that came after the last look at the list."""
        for identity in stored_twice(self.service):
            copies = [
                each for each in self.service.accounts if each.identity == identity
            ]
            if not all(self.service.was_seen(each) for each in copies):
                self.told.add(identity)

    # Tables

    @rule(payer=payers, number=numbers)
    def add_row(self, payer: int, number: int) -> None:
        """Make the table longer."""
        row = account_row(payer, number)
        if row_identity(row) not in {row_identity(each) for each in self.rows}:
            self.rows = [*self.rows, row]

    @rule(place=st.integers(0, 20), number=numbers)
    def correct_row(self, place: int, number: int) -> None:
        """Correct the account of a row."""
        place %= len(self.rows)
        row = self.rows[place] | {
            "account_number": self.rows[place]["account_number"][:6] + f"{number:04}"
        }
        if row_identity(row) not in {row_identity(each) for each in self.rows}:
            self.rows = [*self.rows[:place], row, *self.rows[place + 1 :]]

    @precondition(lambda self: len(self.rows) > 1)
    @rule(place=st.integers(0, 20))
    def drop_row(self, place: int) -> None:
        """Make the table shorter."""
        place %= len(self.rows)
        self.rows = [*self.rows[:place], *self.rows[place + 1 :]]

    @rule(chance=st.randoms(use_true_random=False))
    def sort_rows(self, chance: Any) -> None:
        """Save the rows in another order."""
        self.rows = chance.sample(self.rows, len(self.rows))

    @rule(place=st.integers(0, 20), change=st.sampled_from(["blanks", "case", "bank"]))
    def save_again(self, place: int, change: str) -> None:
        """Write or describe a row in another way; its account stays the same."""
        place %= len(self.rows)
        row = self.rows[place]
        number = row["account_number"].replace(" ", "")
        changes = {
            "blanks": {"account_number": f"{number[:4]} {number[4:]}"},
            "case": {"currency": row["currency"].swapcase()},
            "bank": {"bank_name": row["bank_name"] + " AG"},
        }
        self.rows = [*self.rows[:place], row | changes[change], *self.rows[place + 1 :]]

    # The world

    @rule(payer=payers, number=numbers, status=st.sampled_from(["approved", "failed"]))
    def store_elsewhere(self, payer: int, number: int, status: str) -> None:
        """Let another tool store an account."""
        self.service.store(account_row(payer, number), status=status)

    @rule(payer=payers, seconds=st.sampled_from([0.0, 1.5, 4.0, 100.0]))
    def let_list_lag(self, payer: int, seconds: float) -> None:
        """Let the list of one payer be behind from now on; what it has shown, it goes
        on showing.
        """
        self.service.clock.wait(seconds)
        self.service.lag[payer_row(payer)["client_user_id"]] = seconds
        self.is_plain = self.is_plain and not seconds

    @rule()
    def let_time_pass(self) -> None:
        """Let everything take effect."""
        self.service.settle()

    # Journals

    @rule()
    def lose_journal(self) -> None:
        """Begin with a new journal."""
        self.change_journal()

    @precondition(lambda self: (self.folder / "copy").exists())
    @rule()
    def restore_copy(self) -> None:
        """Go on with a copy of an older state, without the write-ahead log."""
        self.change_journal()
        shutil.copy(self.folder / "copy", self.folder / self.journals[0])

    @rule()
    def swap_journals(self) -> None:
        """Go on with the journal of the other tool."""
        self.service.settle()
        self.journals.reverse()

    @precondition(lambda self: len(self.keys) == 2)
    @rule()
    def replace_key(self) -> None:
        """Replace the API key; both journals go on."""
        self.keys.append("key-2")
        for name in self.journals:
            self.service.settle()
            self.run_and_judge(self.rows, name)

    def change_journal(self) -> None:
        """Forget a journal, once every write has taken effect."""
        self.service.settle()
        for file in self.folder.glob(f"{self.journals[0]}*"):
            file.unlink()
        self.lost += 1
        self.journals[0] = f"{self.lost}.journal"

    @invariant()
    def count(self) -> None:
        """Count a step."""
        Runs.steps += 1

    def end(self) -> None:
        """Settle everything, and hold the last report against the ledger."""
        service = self.service
        service.settle()
        service.lag, service.cut, service.listed = {}, None, dict
        rows = [*({row_identity(row): row for row in self.rows} | self.asked).values()]
        reports = []
        for _ in range(3):
            reports.append(self.run_and_judge(rows, retry=("refused", "unknown")))
            service.settle()
        assert reports[-1] is not None
        said = [
            (row["account_number"], *each)
            for row, each in zip(rows, outcomes(reports[-1]), strict=True)
        ]
        left = [
            each
            for each in said
            if each[1] not in {"done", "duplicate"} and not each[2].startswith(PERHAPS)
        ]
        assert not left, left
        assert set() == stored_twice(service) - self.told


def outcomes(report: Report) -> list[tuple[str, str]]:
    """Return the state and the reason of each row."""
    return [
        (str(state), str(reason))
        for state, reason in zip(
            report.frame["state"], report.frame["reason"], strict=True
        )
    ]


# What a run has to know


def test_a_run_has_to_know_a_list_that_it_read() -> None:
    """What the list showed to the run is held against its report, however far behind
    the list is later.
    """
    service, row = ModelService(), account_row(0, 0)
    service.next["account"].append(FAULTS["lost after"])
    with tempfile.TemporaryDirectory() as folder:
        report = run(service, [row], Path(folder) / "one")
    service.lag[row["client_user_id"]] = 100.0
    report.frame["state"], report.frame["payment_details_id"] = "refused", None

    wrong = breaches(service, [row], report, tool="one")

    assert len(wrong) == 1
    assert wrong[0].endswith("but it is there")


CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def test_runs_keep_their_promises() -> None:
    """A few examples in every run of the tests, the same ones each time."""
    options = settings(
        max_examples=12,
        stateful_step_count=8,
        deadline=None,
        suppress_health_check=CHECKS,
    )

    run_state_machine_as_test(Runs, settings=options)


@pytest.mark.soak
def test_runs_keep_their_promises_for_long() -> None:
    """10,000 steps, others each time."""
    options = settings(
        max_examples=600,
        stateful_step_count=30,
        deadline=None,
        derandomize=False,
        suppress_health_check=CHECKS,
    )
    Runs.steps = 0
    run_state_machine_as_test(Runs, settings=options)

    assert Runs.steps >= 10_000
