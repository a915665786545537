"""A crash loses nothing and repeats nothing: a run is killed again and again, and its report held against the truth."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from bulk_tables import Account, Row, account_of, payer_rows, rows_of, stored
from payerkit.connection import connect
from payerkit.sandbox_controls import SandboxControls
from payerkit.wire import wire_name
from processes import running

RUNNER = Path(__file__).with_name("bulk_runner.py")
LATENCY, SLOW_FOR, SETTLE = 0.04, 0.4, 0.8
FAULTS = (
    f"latency={LATENCY}, slow_for={SLOW_FOR}, reset_before=2%, reset_after=2%, cut=1.5%, fail_before=1.5%, "
    "fail_after=1.5%, slow=1.5%, refuse=0.2%, refuse_date=0.1%"
)
KILLS = 8


@dataclass(frozen=True)
class Case:
    """How many payers one table has, and how the run over it goes; latency and workers bound how soon it can end."""

    seed: int
    payers: int
    workers: int

    @property
    def moments(self) -> list[float]:
        """Seconds after which each run is killed: most while it sends, some while it looks into what is unknown."""
        shortest = 3 * self.payers * LATENCY / self.workers
        chance = random.Random(self.seed)  # noqa: S311 - chooses moments, keeps no secret
        return [chance.uniform(0.2, 1.6 * shortest / KILLS) for _ in range(KILLS)]


CASES = [
    Case(seed=1, payers=1913, workers=16),
    Case(seed=2, payers=286, workers=3),
    Case(seed=3, payers=286, workers=3),
]


@dataclass(frozen=True)
class Outcome:
    """What a run over a table said when it came to its end, and what is true."""

    table: pd.DataFrame
    report: pd.DataFrame
    ledger: pd.DataFrame
    payers: dict[str, Row]
    accounts: Counter[Account]
    journal: bytes
    kills: int

    def of(self, state: str, step: str) -> list[Row]:
        """Return the rows that a report has in a state of a step."""
        is_it = (self.report["state"] == state) & (self.report["step"].fillna("") == step)
        return rows_of(self.table[is_it.to_numpy()])


def planned(case: Case) -> list[str]:
    """Return the options of a service that meets the same calls with the same faults each time."""
    return ["--seed", str(case.seed), "--faults", FAULTS]


def run(options: dict[str, object], key: str, until: float | None) -> bool:
    """Run in a process of its own, and kill it so many seconds after it began to send; return whether it was killed."""
    command = [sys.executable, str(RUNNER), json.dumps(options)]
    environment = {**os.environ, "PAYERKIT_API_KEY": key}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "sending\n" == process.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            process.wait(until)
        killed = process.poll() is None
        process.kill()
    assert killed or process.returncode == 0
    return killed


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"seed-{case.seed}-{case.payers}-payers")
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Send a table to a service full of faults, in a run that is killed again and again until its last."""
    case: Case = request.param
    folder = tmp_path_factory.mktemp("kills")
    db, journal = folder / "sandbox.db", folder / "run.journal"
    table = payer_rows(case.payers)
    table.to_csv(folder / "table.csv", index=False)
    with running("sandbox", "--port", "0", "--db", str(db), *planned(case), folder=folder) as (text, _):
        url = next(word for word in text.split() if word.startswith("http://"))
        key = (folder / "sandbox.db.api-key").read_text(encoding="ascii").strip()
        files = {"table": str(folder / "table.csv"), "report": str(folder / "report.csv"), "journal": str(journal)}
        options: dict[str, object] = {"url": url, **files, "workers": case.workers, "reconcile_after": SETTLE}
        kills = sum(run(options, key, moment) for moment in case.moments)
        held = b"".join(file.read_bytes() for file in folder.glob("run.journal*"))
        run(options, key, None)
        with connect(url, api_key=key) as client:
            ledger = SandboxControls(client).ledger()
    held += b"".join(file.read_bytes() for file in folder.glob("run.journal*"))
    report = pd.read_csv(folder / "report.csv", dtype={"step": "string", "reason": "string"})
    return Outcome(table, report, ledger, *stored(db), held, kills)


def test_every_run_but_the_last_was_killed(outcome: Outcome) -> None:
    """Otherwise the rest of this file would tell little."""
    assert KILLS == outcome.kills


def test_every_row_is_in_one_state(outcome: Outcome) -> None:
    """Nothing is left out, and nothing is left open."""
    states = Counter(outcome.report["state"])

    assert len(outcome.table) == len(outcome.report) == states.total()
    assert states.keys() <= {"done", "refused", "unknown", "not_sent"}
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
    assert said["reason"].str.startswith("email: ").all()
    assert not wrong["client_user_id"].isin(outcome.ledger["client_user_id"]).any()


def test_what_is_unknown_is_little_and_has_a_reason(outcome: Outcome) -> None:
    """Rows that are left to a person say why; what is stored of them is stored once."""
    unknown = outcome.report[outcome.report["state"] == "unknown"]

    assert len(unknown) <= 0.06 * len(outcome.table)
    assert unknown["reason"].str.len().gt(20).all()


def test_the_journal_holds_no_personal_data(outcome: Outcome) -> None:
    """No id, e-mail, name, address or number of the table occurs in its bytes, after a kill and at the end."""
    size = 8
    there = {outcome.journal[place : place + size] for place in range(len(outcome.journal))}
    own = ["client_user_id", "email", "first_name", "last_name", "phone", "ssn", "account_number", "document_number"]
    private = {value for column in own for value in outcome.table[column]}

    assert len(outcome.journal) > 100 * len(outcome.table)
    assert [] == [value for value in private if value.encode()[:size] in there and value.encode() in outcome.journal]
