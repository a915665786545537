"""A crash loses nothing and repeats nothing: a run is killed again and again, and its report held against the truth."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from onboarding_runner import LOOKUPS, PROGRESS, SAVING, Kill, is_killed, send_table
from onboarding_tables import Account, Row, account_of, payer_rows, rows_of, stored
from payerkit import connect
from payerkit.client import SandboxControls
from payerkit.wire import wire_name
from processes import running

FAULTS = (
    "slow_for=0.1, reset_before=2%, reset_after=2%, cut=1.8%, fail_before=1.7%, fail_after=1.7%, slow=1.6%, "
    "refuse=0.1%, refuse_date=0.1%"
)
"""Together 11 % of the calls."""
SETTLE = 0.3
EVENTS = 16
"""A payer with an account is at least so many: the payer sent and recorded, accounts listed, the account sent, ..."""
KILLS = 6
MAX_CALLS = 3
"""A person calls again as often as the report advises: a write that was lost twice in a run is left to the next one."""


@dataclass(frozen=True)
class Case:
    """A table of so many payers, how many are sent at a time, and how the runs over it are killed.

    latency: seconds that each call takes; then runs are killed after some time, else at a call of ours.
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
            return [Kill(seconds=chance.uniform(0.1, 1.6 * shortest / KILLS)) for _ in range(KILLS)]
        most = int(0.9 * EVENTS * self.payers / KILLS)
        sending = [Kill(PROGRESS, chance.randint(1, most)) for _ in range(KILLS)]
        # The sixth is after the third account was looked for and not found. Then a report is killed before it is saved.
        return [*sending, *(Kill(LOOKUPS, event) for event in (6, 1)), Kill(SAVING, 1)]


CASES = [
    Case(seed=1, payers=956, workers=16),
    Case(seed=2, payers=143, workers=8),
    Case(seed=3, payers=143, workers=3),
    Case(seed=4, payers=143, workers=3, latency=0.02),
]
"""956 payers are a table of 1,000 rows."""
pytestmark = pytest.mark.slow  # `test_onboarding_adversary` has single kills, each at its moment, in every run


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
        is_it = (self.report["state"] == state) & (self.report["step"].fillna("") == step)
        return rows_of(self.table[is_it.to_numpy()])


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"seed-{case.seed}-{case.payers}-payers")
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Send a table to a service full of faults, in a run that is killed again and again until its last."""
    case: Case = request.param
    folder = tmp_path_factory.mktemp("kills")
    db, journal, report = folder / "sandbox.db", folder / "run.journal", folder / "report.csv"
    table = payer_rows(case.payers)
    table.to_csv(folder / "table.csv", index=False)
    options: dict[str, Any] = {"journal": journal, "workers": case.workers, "reconcile_after": SETTLE}
    options["holder_is_payer"] = True
    # The same calls meet the same faults each time.
    faults = ["--seed", str(case.seed), "--faults", f"{FAULTS}, latency={case.latency}"]
    with running("sandbox", "--port", "0", "--db", str(db), *faults, folder=folder) as (text, _):
        url = next(word for word in text.split() if word.startswith("http://"))
        key = (folder / "sandbox.db.api-key").read_text(encoding="ascii").strip()
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


def test_every_run_but_the_last_was_killed(outcome: Outcome) -> None:
    """Otherwise the rest of this file would tell little."""
    assert [] == outcome.survived


def test_every_row_is_in_one_state(outcome: Outcome) -> None:
    """Nothing is left out, and nothing is left open."""
    states = Counter(outcome.report["state"])

    assert len(outcome.table) == len(outcome.report) == states.total()
    assert states.keys() <= {"done", "not_sent"}
    assert [] == outcome.report.loc[outcome.report["retryable"], ["step", "state", "reason"]].to_numpy().tolist()


def test_done_is_done_once(outcome: Outcome) -> None:
    """An account that is said to be done is stored once, and the ledger says so, too."""
    accounts = [account_of(row) for row in outcome.of("done", "bank_details")]
    written = outcome.ledger[outcome.ledger["what"] == "payment_detail"]

    assert len(accounts) > 0.9 * len(outcome.table)
    assert [] == [account for account in accounts if outcome.accounts[account] != 1]
    assert set(outcome.accounts.values()) == {1}
    assert outcome.accounts.total() == len(written) == written.groupby(["client_user_id", "fingerprint"]).ngroups


def test_payers_have_their_data(outcome: Outcome) -> None:
    """Each payer whose account is done is stored, from the table and never with other data."""
    wanted = {row["client_user_id"]: row for row in rows_of(outcome.table)}
    written = outcome.ledger[outcome.ledger["what"] == "payer"].groupby("client_user_id")["fingerprint"].nunique()
    wrong = [
        (client_user_id, name)
        for client_user_id, body in outcome.payers.items()
        for name, value in wanted[client_user_id].items()
        if body.get(wire_name(name), value) != value
    ]

    assert {row["client_user_id"] for row in outcome.of("done", "bank_details")} <= outcome.payers.keys()
    assert [] == wrong
    assert {1} == set(written)
    assert written.index.isin(wanted).all()


def test_what_was_not_sent_or_refused_is_not_there(outcome: Outcome) -> None:
    """Neither the accounts, nor the payers where they are what was not sent or refused."""
    rows = [
        row for state in ("not_sent", "refused") for step in ("", "bank_details") for row in outcome.of(state, step)
    ]
    payers = [row for state in ("not_sent", "refused") for row in outcome.of(state, "payer")]

    assert [] == [row for row in [*rows, *payers] if outcome.accounts[account_of(row)]]
    assert [] == [row for row in payers if row["client_user_id"] in outcome.payers]


def test_rows_with_errors_are_not_there(outcome: Outcome) -> None:
    """Nothing of them was sent."""
    wrong = outcome.table[~outcome.table["email"].str.contains("@")]
    said = outcome.report.loc[wrong.index]

    assert len(wrong) > 0
    assert {"not_sent"} == set(said["state"])
    assert said["reason"].str.startswith("email (").all()
    assert not wrong["client_user_id"].isin(outcome.ledger["client_user_id"]).any()


def test_nothing_is_given_up(outcome: Outcome) -> None:
    """All rows without errors are done: none is unknown, or stored twice. Before, 1 to 2 % were left to a person."""
    right = outcome.report[outcome.table["email"].str.contains("@").to_numpy()]

    assert [] == right.loc[right["state"] != "done", ["step", "state", "reason"]].to_numpy().tolist()


def test_the_journal_holds_no_personal_data(outcome: Outcome) -> None:
    """No id, e-mail, name, address or number of the table occurs in its bytes, after a kill and at the end."""
    size = 8
    there = {outcome.journal[place : place + size] for place in range(len(outcome.journal))}
    own = ["client_user_id", "email", "first_name", "last_name", "phone", "ssn", "account_number", "document_number"]
    private = {value for column in own for value in outcome.table[column]}

    assert len(outcome.journal) > 100 * len(outcome.table)
    assert [] == [value for value in private if value.encode()[:size] in there and value.encode() in outcome.journal]
