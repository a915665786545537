"""A crash loses nothing and repeats nothing: a run is killed again and again, and its
report held against the truth.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from onboarding_runner import LOOKS, PROGRESS, SAVING, Kill, is_killed, send_table
from onboarding_tables import Account, Row, account_of, payer_rows, rows_of, stored
from payerkit import connect
from payerkit.client import SandboxControls
from payerkit.wire import wire_name
from processes import running

FAULTS = {
    "reset_before": 2.0,
    "reset_after": 2.0,
    "cut": 1.8,
    "fail_before": 1.7,
    "fail_after": 1.7,
    "slow": 1.6,
    "refuse": 0.1,
    "refuse_date": 0.1,
}
"""The share of the calls that meet each fault, in percent: 11 % of all."""
EVENTS = 12
"""A payer with an account is at least so many: the payer sent and recorded, accounts
listed, the account sent, ...
"""
KILLS = 6
MAX_CALLS = 3
"""A person calls again as often as the report advises: what is late is found then."""

MOST_UNKNOWN = 0.1
"""The share of accounts that are left to a person: 3.7 % are lost before they are
stored, and up to as many as there are workers are being sent at each kill.
"""


@dataclass(frozen=True)
class Case:
    """A table of so many payers, how many are sent at a time, and how the runs over it
    are killed.

    latency: seconds that each call takes; then runs are killed after some time, else at
    a call of ours.
    """

    seed: int
    payers: int
    workers: int
    latency: float = 0.0

    @property
    def kills(self) -> list[Kill]:
        """All that can be reached: together they take less than one whole run does."""
        chance = random.Random(self.seed)  # noqa: S311 - chooses moments, keeps no secret
        if self.latency:
            shortest = 3 * self.payers * self.latency / self.workers
            return [
                Kill(seconds=chance.uniform(0.1, 1.6 * shortest / KILLS))
                for _ in range(KILLS)
            ]
        most = int(0.9 * EVENTS * self.payers / KILLS)
        sending = [Kill(PROGRESS, chance.randint(1, most)) for _ in range(KILLS)]
        # Then one is killed while accounts are looked for, and one before its report is
        # saved.
        return [*sending, Kill(LOOKS, 2), Kill(SAVING, 1)]


CASES = [
    Case(seed=1, payers=956, workers=16),
    Case(seed=4, payers=143, workers=3, latency=0.02),
]
"""956 payers are a table of 1,000 rows."""
# `test_onboarding_adversary` has single kills, each at its moment, in every run. A
# fixture sends a table in seven runs.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Outcome:
    """What a run over a table said when it came to its end, and what is true."""

    table: pd.DataFrame
    report: pd.DataFrame
    ledger: pd.DataFrame
    payers: dict[str, Row]
    accounts: Counter[Account]
    journal: bytes
    survived: list[Kill]

    def of(self, state: str, step: str) -> list[Row]:
        """Return the rows that a report has in a state of a step."""
        is_it = (self.report["state"] == state) & (
            self.report["step"].fillna("") == step
        )
        return rows_of(self.table[is_it.to_numpy()])


@pytest.fixture(
    scope="module",
    params=CASES,
    ids=lambda case: f"seed-{case.seed}-{case.payers}-payers",
)
def outcome(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Outcome:
    """Send a table to a service full of faults, in a run that is killed again and again
    until its last.
    """
    case: Case = request.param
    folder = tmp_path_factory.mktemp("kills")
    db, journal, report = (
        folder / "sandbox.db",
        folder / "run.journal",
        folder / "report.csv",
    )
    table = payer_rows(case.payers)
    table.to_csv(folder / "table.csv", index=False)
    options: dict[str, Any] = {
        "journal": journal,
        "workers": case.workers,
        "holder_is_payer": True,
    }
    # The same calls meet the same faults each time.
    plan = ", ".join(f"{name}={percent}%" for name, percent in FAULTS.items())
    plan += f", slow_for=0.1, latency={case.latency}"
    faults = ["--seed", str(case.seed), "--faults", plan]
    with running("sandbox", "--port", "0", "--db", str(db), *faults, folder=folder) as (
        text,
        _,
    ):
        url = next(word for word in text.split() if word.startswith("http://"))
        key = next(word for word in text.split() if word.startswith("sandbox_"))
        run = (send_table, url, key, folder / "table.csv", report, options)
        survived = [kill for kill in case.kills if not is_killed(*run, kill=kill)]
        held = b"".join(file.read_bytes() for file in folder.glob("run.journal*"))
        for _ in range(MAX_CALLS):
            assert not is_killed(*run)
            frame = pd.read_csv(report, dtype={"step": "string", "reason": "string"})
            if not frame["retryable"].any():
                break
        with connect(url, api_key=key) as client:
            ledger = SandboxControls(client).ledger()
    held += b"".join(file.read_bytes() for file in folder.glob("run.journal*"))
    return Outcome(table, frame, ledger, *stored(db), held, survived)


def test_no_account_is_stored_twice_or_told_as_what_it_is_not(
    outcome: Outcome,
) -> None:
    """Among 11 % of faults and after at least six kills no account is stored twice,
    none is done that is not stored, and each unknown row is told with its command.
    """
    report = outcome.report
    states = Counter(report["state"])
    done = [account_of(row) for row in outcome.of("done", "bank_details")]
    unknown = report[report["state"] == "unknown"]
    is_right = outcome.table["email"].str.contains("@").to_numpy()
    written = outcome.ledger[outcome.ledger["what"] == "payment_detail"]

    assert sum(FAULTS.values()) == pytest.approx(11)
    assert [] == outcome.survived
    assert len(outcome.table) == len(report)
    assert states.keys() <= {"done", "not_sent", "unknown"}
    assert {1} == set(outcome.accounts.values())
    assert (
        outcome.accounts.total()
        == len(written)
        == written.groupby(["client_user_id", "fingerprint"]).ngroups
    )
    assert [] == [account for account in done if outcome.accounts[account] != 1]
    assert len(done) > 0.85 * len(report)
    assert {"bank_details"} >= set(unknown["step"])
    assert unknown["reason"].str.contains("--retry unknown").all()
    assert len(unknown) <= MOST_UNKNOWN * len(report)
    assert {"done", "unknown"} >= set(report.loc[is_right, "state"])
    assert {"unknown"} >= set(report.loc[report["retryable"], "state"])


def test_payers_have_their_data(outcome: Outcome) -> None:
    """Each payer whose account is done is stored, from the table and never with other
    data.
    """
    wanted = {row["client_user_id"]: row for row in rows_of(outcome.table)}
    written = (
        outcome.ledger[outcome.ledger["what"] == "payer"]
        .groupby("client_user_id")["fingerprint"]
        .nunique()
    )
    wrong = [
        (client_user_id, name)
        for client_user_id, body in outcome.payers.items()
        for name, value in wanted[client_user_id].items()
        if body.get(wire_name(name), value) != value
    ]

    assert {
        row["client_user_id"] for row in outcome.of("done", "bank_details")
    } <= outcome.payers.keys()
    assert [] == wrong
    assert {1} == set(written)
    assert written.index.isin(wanted).all()


def test_rows_with_errors_are_not_there(outcome: Outcome) -> None:
    """Nothing of them was sent."""
    wrong = outcome.table[~outcome.table["email"].str.contains("@")]
    said = outcome.report.loc[wrong.index]

    assert len(wrong) > 0
    assert {"not_sent"} == set(said["state"])
    assert said["reason"].str.startswith("email (").all()
    assert not wrong["client_user_id"].isin(outcome.ledger["client_user_id"]).any()


def test_the_journal_holds_no_personal_data(outcome: Outcome) -> None:
    """No id, e-mail, name, address or number of the table occurs in its bytes, after a
    kill and at the end.
    """
    size = 8
    there = {
        outcome.journal[place : place + size] for place in range(len(outcome.journal))
    }
    own = [
        "client_user_id",
        "email",
        "first_name",
        "last_name",
        "phone",
        "ssn",
        "account_number",
        "document_number",
    ]
    private = {value for column in own for value in outcome.table[column]}

    assert len(outcome.journal) > 100 * len(outcome.table)
    assert [] == [
        value
        for value in private
        if value.encode()[:size] in there and value.encode() in outcome.journal
    ]
