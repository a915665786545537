"""Reconciling: the table in `reconcile.py` is walked row by row, against a service that a scenario scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import first_cases, why
from clocks import HandClock
from onboarding_tables import make_task, payer_row
from payerkit import PayerkitError, Refused, UnknownOutcome, reasons
from payerkit.client import Client
from payerkit.client.pace import Pace
from payerkit.errors import NotFound, NotSent, ServiceError
from payerkit.onboarding import reconcile
from payerkit.onboarding.journal import Entry, Journal
from payerkit.onboarding.limiter import RateLimiter, StopSignal
from payerkit.onboarding.options import Options
from payerkit.onboarding.rows import Step
from payerkit.onboarding.run import run_table
from payerkit.onboarding.sending import record_found
from payerkit.onboarding.tasks import Table
from payerkit.reasons import Outcome

Record = dict[str, Any]
DELAY = 10.0
SERVICE = "http://127.0.0.1:9"
ROW = payer_row(1)
LOST = UnknownOutcome("no response")
COMPLIANT = {"kycStatus": "approved", "agreementStatus": "completed", "isCompliant": True}
PENDING = {"kycStatus": "pending", "agreementStatus": "not_started", "isCompliant": False}


def refused(status: int, code: str = "", *, foreign: bool = False) -> Refused:
    """Return a refusal."""
    error = (NotFound if status == 404 else Refused)("refused", status_code=status)
    error.code, error.foreign = code, foreign
    return error


def record(number: int = 1, **changes: Any) -> Record:
    """Return the account of the row as a list shows it."""
    shown = {"currency": "usd", "accountNumber": ROW["account_number"], "routingNumber": ROW["routing_number"]}
    return {"id": f"pd-{number}", "status": "approved", **shown, **changes}


def other(number: int) -> Record:
    """Return another account of the payer as a list shows it."""
    return record(number, accountNumber=f"99{number:08}")


@dataclass
class Script:
    """What a service does: its next responses to each call, by operation, and then what is usual.

    An error is raised, a function is called for its response; anything else is the response. Lists are what `stored`
    has, unless they are scripted.
    """

    create_payer: list[Any] = field(default_factory=list)
    get_payer_status: list[Any] = field(default_factory=list)
    create_payment_detail: list[Any] = field(default_factory=list)
    list_payment_details: list[Any] = field(default_factory=list)
    usual_status: Any = field(default_factory=lambda: refused(404))
    stored: list[Record] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def respond(self, operation: str) -> Any:
        """Return the response to a call, or the error that it raises."""
        self.calls.append(operation)
        waiting = getattr(self, operation)
        if waiting:
            response = waiting.pop(0)
            return response() if callable(response) else response
        if operation == "create_payment_detail":
            return self.store(record(len(self.stored) + 1))
        usual = {"create_payer": {"userId": "u-1"}, "get_payer_status": self.usual_status}
        return usual.get(operation, list(self.stored))

    def store(self, account: Record) -> Record:
        """Store an account, and return it."""
        self.stored.append(account)
        return account


class ScriptedClient(Client):
    """A client whose calls end in a script."""

    def __init__(self, script: Script, clock: HandClock) -> None:
        super().__init__(SERVICE, "key-of-a-test")
        self.script, self.pace = script, Pace(None, clock=clock.now)

    def send(self, call: Any, **_: Any) -> Any:
        """Return the scripted response."""
        response = self.script.respond(call.operation)
        if isinstance(response, PayerkitError):
            raise response
        return response

    def service_name(self) -> str:
        """Return the address."""
        return SERVICE

    def without_retries(self, **_: Any) -> Client:
        """Return this client: it retries nothing."""
        return self


@cache
def _table(rows: str, steps: tuple[Step, ...]) -> Table:
    return Table(pd.DataFrame(json.loads(rows)), steps, holder_is_payer=True)


def make_table(rows: list[dict[str, str]], steps: tuple[Step, ...] = ("payer", "bank_details")) -> Table:
    """Return a table; the same one for the same rows, since checking takes longer than a run."""
    return _table(json.dumps(rows), steps)


@dataclass
class World:
    """A service, a clock and a journal for the runs of a scenario."""

    path: Path
    service: Script = field(default_factory=Script)
    clock: HandClock = field(default_factory=HandClock)
    report: payerkit.onboarding.Report | None = None

    def run(
        self,
        rows: list[dict[str, str]] | None = None,
        *,
        accounts_only: bool = True,
        progress: bool = False,
        **options: Any,
    ) -> None:
        """Run a table, of one account alone unless a scenario says otherwise."""
        steps: tuple[Step, ...] = ("bank_details",) if accounts_only else ("payer", "bank_details")
        table = make_table(rows or [ROW], steps)
        limiter = RateLimiter(Pace(None, clock=self.clock.now), StopSignal(), wait=self.clock.wait)
        chosen = Options(workers=1, reconcile_after=DELAY, progress=progress, **options)
        client = ScriptedClient(self.service, self.clock)
        self.report = run_table(client, table, self.path, chosen, limiter=limiter)

    def entry(self, step: Step, row: dict[str, str] | None = None) -> Entry:
        """Return the journal's record of a row's task."""
        with self.journal() as journal:
            entry = journal.entry(make_task(make_table([row or ROW]), journal.secret, step, 0).key)
        assert entry is not None
        return entry

    def journal(self) -> Journal:
        """Open the journal, as a run of this client does."""
        secret = ScriptedClient(self.service, self.clock).account_secret
        return Journal(self.path, secret, service=SERVICE, clock=self.clock.now)

    def kill(self, step: Step) -> None:
        """Leave the journal as a run does that is killed while it sends the row's task."""
        with self.journal() as journal:
            task = make_task(make_table([ROW]), journal.secret, step, 0)
            journal.add_to_baseline(task.payer_key, [])
            journal.sent(task.key, payer=task.payer_key, content=task.content)


def code_of(world: World) -> str:
    """Return the code of the reason why the account is as the journal has it."""
    reason = world.entry("bank_details").reason
    return reason.code if reason else ""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return a service and a journal for one scenario."""
    return World(tmp_path / "run.journal")


# The rows of the table


@dataclass(frozen=True)
class TableRow:
    """A row of the table: what becomes of a task, by which evidence."""

    task: str
    state: str
    evidence: str
    after: str
    proven_by: str


def read_table() -> Iterator[TableRow]:
    """Yield the rows of the table in the docstring of `reconcile.py`."""
    lines = (reconcile.__doc__ or "").splitlines()
    (head,) = (line for line in lines if line.split()[:3] == ["task", "state", "evidence"])
    starts = [head.index(name) for name in ("task", "state", "evidence", "next state", "proven by")]
    for line in lines[lines.index(head) + 1 :]:
        if not line.strip():
            return
        yield TableRow(*(line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)))


ROWS = list(read_table())
SILENT = [ServiceError("a read failed")] * 6
"""What ends one look, the one at once or the one after the delay."""


@dataclass(frozen=True)
class Scenario:
    """What a service does to bring the evidence of a row about, and what is true then, beside what the row says.

    accounts, payers, statuses and lists: the responses to the first calls of a kind. status: the usual one, unless it
    is None. stored: accounts that are there before. rows: of the table. after: a scenario that comes first. killed: a
    run is killed while it sends the account. entry: what the journal's record has. reason: its code. calls: how often
    an operation was called. waits: the seconds that the run took, at least. times: how often the task was sent.
    """

    accounts: Sequence[Any] = ()
    payers: Sequence[Any] = ()
    statuses: Sequence[Any] = ()
    lists: Sequence[Any] = ()
    status: Any = None
    stored: Sequence[Record] = ()
    rows: Sequence[dict[str, str]] = (ROW,)
    with_payer: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    after: Scenario | None = None
    killed: bool = False
    entry: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    calls: Mapping[str, int] = field(default_factory=dict)
    waits: float = 0.0
    times: int = 1

    def play(self, world: World) -> None:
        """Bring the evidence about."""
        service, started = world.service, world.clock.now()
        if self.after is not None:
            self.after.play(world)
        if self.killed:
            world.kill("bank_details")
        service.create_payment_detail, service.create_payer = [*self.accounts], [*self.payers]
        service.get_payer_status, service.list_payment_details = [*self.statuses], [*self.lists]
        service.usual_status = self.status or service.usual_status
        service.stored += self.stored
        world.run([*self.rows], accounts_only=not self.with_payer, **self.options)
        entry = world.entry("bank_details") if self.entry or self.reason else None

        assert self.entry == {name: getattr(entry, name) for name in self.entry}
        assert not self.reason or self.reason == code_of(world)
        assert self.calls == {name: service.calls.count(name) for name in self.calls}
        assert world.clock.now() - started >= self.waits


MASKED = record(9, accountNumber=f"••••{ROW['account_number'][-4:]}")
NO_CODE = record(routingNumber=None)
BOTH = [record(1), record(2)]
OWN_WAYS = [record(place, accountNumber=f"900000000{place}") for place in (1, 2)]  # the service's own numbers
AT_ANOTHER_BANK = ROW | {"routing_number": "021000021"}
DESCRIBED_OTHERWISE = ROW | {"bank_name": "Another Bank"}
NO_STATUS = refused(405, foreign=True)

ACCEPTED = Scenario()
REFUSED_BY_THE_API = Scenario([refused(400)])
UNKNOWN = Scenario([LOST], lists=[[], *SILENT * 2])
PERHAPS_THERE = Scenario(stored=[MASKED], reason="perhaps_there")
PERHAPS_FOUND = Scenario([LOST], lists=[[], [MASKED], [MASKED]])  # it is not sent again either
PERHAPS_TWICE = Scenario(
    [LOST, {"id": "pd-1"}],
    lists=[[], [], [], [], [record(1), MASKED]],
    entry={"facts": {"id": "pd-1"}, "reason": Outcome("could_be_twice", {"id": "pd-1", "ids": ["pd-9"]})},
)
LAST_LIST_NOT_WHOLE = Scenario([LOST, {"id": "pd-1"}])  # it leaves out the account itself

SCENARIOS: dict[tuple[str, str, str], Scenario] = {
    ("any", "none", "accepted"): ACCEPTED,
    ("account", "none", "accepted, as failed"): Scenario(
        [{"id": "pd-1", "status": "Failed"}],
        entry={"reason": Outcome("stored_failed", {"status": "Failed"}), "facts": {"id": "pd-1", "status": "Failed"}},
    ),
    ("any", "none", "refused by the API"): REFUSED_BY_THE_API,
    ("any", "none", "refused by a gateway, or redirected"): Scenario([refused(403, foreign=True)]),
    ("any", "none", "never left this machine, or refused as too frequent"): Scenario([NotSent("no route")] * 6),
    ("any", "none", "the response was lost"): UNKNOWN,
    ("any", "sent", "the process ended"): Scenario(killed=True, lists=SILENT * 2),
    ("any", "refused", "the row changed"): Scenario(after=REFUSED_BY_THE_API, rows=[DESCRIBED_OTHERWISE], times=2),
    ("any", "refused", 'retry=["refused"]'): Scenario(
        after=REFUSED_BY_THE_API, options={"retry": ["refused"]}, times=2
    ),
    ("payer", "none", "refused as there already, and its status is known"): Scenario(
        payers=[refused(409)], status=PENDING, with_payer=True
    ),
    ("payer", "none", "refused as there already, and it has no status"): Scenario(
        payers=[refused(409)], with_payer=True
    ),
    ("payer", "unknown", "its status is known"): Scenario(
        payers=[LOST], status=PENDING, with_payer=True, calls={"create_payer": 1}
    ),
    ("payer", "unknown", "it has no status"): Scenario(payers=[LOST], statuses=[NO_STATUS], with_payer=True, times=2),
    ("payer", "unknown", "six looks, and neither a status nor a response"): Scenario(
        payers=[LOST] * 7,
        statuses=[refused(404), *SILENT, *[refused(404)] * 5],
        with_payer=True,
        calls={"create_payer": 6},
    ),
    # That says nothing about the first attempt.
    ("payer", "unknown", "it has no status, and is refused when it is sent again"): Scenario(
        payers=[LOST, refused(400)], with_payer=True
    ),
    ("account", "none", "the list has it already"): Scenario(stored=[record()]),
    ("account", "none", "the list has it already, twice"): Scenario(
        stored=BOTH, entry={"facts": {"id": "pd-1", "status": "approved", "other_ids": ["pd-2"]}}
    ),
    ("account", "none", "the list has it already, as failed"): Scenario(
        stored=[record(status="failed")], reason="there_failed"
    ),
    ("account", "none", "the list may have it already"): PERHAPS_THERE,
    ("account", "none", "the list may be cut, and shows accounts of others"): Scenario(
        stored=[other(place) for place in range(10)], reason="perhaps_there"
    ),
    ("account", "not_sent", 'the list may have it already; existing="send"'): Scenario(
        after=PERHAPS_THERE, options={"existing": "send"}
    ),
    ("account", "none", "refused until the payer is compliant"): Scenario([refused(422, "not_yet_passed_kyc_kyb")]),
    ("account", "none", "its payer is stored, and not found"): Scenario(
        [refused(404)] * 4, with_payer=True, reason="payer_lags", waits=7
    ),
    ("account", "done", "another field of the row changed"): Scenario(
        after=ACCEPTED, rows=[DESCRIBED_OTHERWISE], calls={"create_payment_detail": 1}
    ),
    ("account", "unknown", "one new account is the same, or has the same number"): Scenario(
        [LOST], lists=[[], [NO_CODE]]
    ),
    ("account", "unknown", "one new account is the same, and listed as failed"): Scenario(
        [LOST],
        lists=[[], [record(status="rejected")]],
        entry={"reason": Outcome("listed_failed", {"status": "rejected"})},
    ),
    ("account", "unknown", "sent twice, and two new accounts are the same"): Scenario(
        [LOST, LOST], lists=[[], [], [], [], BOTH]
    ),
    ("account", "unknown", "sent once, and two new accounts are the same"): Scenario([LOST], lists=[[], BOTH]),
    ("account", "unknown", "a new account may be it"): PERHAPS_FOUND,
    ("account", "unknown", "a new account may be it, or that of another task"): Scenario(
        [LOST, LOST], lists=[[], [NO_CODE], [NO_CODE]], rows=[ROW, AT_ANOTHER_BANK]
    ),
    ("account", "unknown", "a new account differs, and no list shows accounts as sent"): Scenario(
        [LOST], lists=[[], [other(7)], [other(7)]]
    ),
    ("account", "unknown", "a new account differs, and lists show accounts as sent"): Scenario(
        [{"id": "pd-1"}, LOST],  # that of another payer is shown as it was sent
        lists=[
            *([], [], [other(7)], [other(7)]),
            *([record(accountNumber=payer_row(2)["account_number"])], [other(7)]),
        ],
        rows=[payer_row(2), ROW],
        times=3,
    ),
    ("account", "unknown", "missing in one whole list"): Scenario(
        [LOST], lists=[[], [], [], *SILENT], entry={"lookups": 1}
    ),
    ("account", "unknown", "missing in two whole lists"): Scenario([LOST], waits=2 * DELAY, times=2),
    ("account", "unknown", "missing again, after this run sent it again"): Scenario([LOST, LOST]),
    ("account", "unknown", "missing, after it was refused when sent again"): Scenario([LOST, refused(400)]),
    ("account", "unknown", "missing in a list that is not whole"): Scenario([LOST], lists=[[other(7)], []]),
    ("account", "unknown", "missing, and no list shows what is stored for certain"): Scenario(
        [{"id": "pd-7"}, LOST], rows=[payer_row(2), ROW]
    ),
    ("account", "unknown", 'final; retry=["unknown"]'): Scenario(
        after=PERHAPS_FOUND, lists=SILENT * 2, options={"retry": ["unknown"]}
    ),
    ("account", "unknown", 'retry=["unknown"] and existing="send"'): Scenario(
        after=PERHAPS_FOUND, options={"retry": ["unknown"], "existing": "send"}, times=2
    ),
    ("account", "done", "sent twice; the last look shows one"): Scenario([LOST], calls={"list_payment_details": 5}),
    ("account", "done", "sent twice; the last look shows two"): Scenario(
        [LOST, {"id": "pd-1"}],
        lists=[[], [], [], [], BOTH],
        entry={"facts": {"id": "pd-1", "other_ids": ["pd-2"]}},
    ),
    ("account", "done", "sent twice; the last look shows one that may be a second one"): PERHAPS_TWICE,
    ("account", "done", "sent twice; the last look shows a new one, none as sent"): Scenario(
        [LOST, {"id": "pd-1"}], lists=[[], [], [], [], OWN_WAYS]
    ),
    ("account", "done", "sent twice; the last look is at a list that is not whole"): LAST_LIST_NOT_WHOLE,
    # It takes effect after both were given up.
    ("account", "not_sent", "sent twice; the last look shows one"): Scenario(
        [LOST, LOST], lists=[[], [], [], [], [], [], [record()]]
    ),
}


def test_every_row_has_a_scenario() -> None:
    """And every scenario a row."""
    assert [(row.task, row.state, row.evidence) for row in ROWS] == list(SCENARIOS)
    assert len(ROWS) > 40
    assert {row.proven_by for row in ROWS} == {"service", "list", "status", "journal", "person"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", f"{row.task} {row.state} {row.evidence}"))
def test_a_row_of_the_table_is_true(world: World, row: TableRow) -> None:
    """Its scenario ends in the state that it says."""
    scenario = SCENARIOS[row.task, row.state, row.evidence]
    scenario.play(world)
    state, _, rest = row.after.partition(", ")
    if state == "sent":
        assert scenario.times == world.service.calls.count(
            "create_payer" if row.task == "payer" else "create_payment_detail"
        )
        return
    entry = world.entry("payer" if row.task == "payer" else "bank_details")

    assert state == entry.state
    assert (rest == "final" or state in {"done", "refused", "duplicate"}) == entry.final
    assert rest != "looked at again" or entry.needs_look


def decided(world: World) -> list[object]:
    """Return what a run decided: all of its report but for the texts, and the journal's record of the account."""
    assert world.report is not None
    report = world.report
    step: Step = "bank_details" if "bank_details" in set(report.frame["step"]) else "payer"
    texts = report.frame.drop(columns="reason").astype(object)
    frame = texts.where(texts.notna(), "").to_dict("records")
    entry = replace(world.entry(step), payer=b"", content=b"", since=0)  # waits are random
    return [frame, report.counts, report._count_situations(), entry]


@pytest.mark.parametrize(
    ("name",),  # noqa: PT006 - a name is a tuple
    first_cases([(name,) for name in SCENARIOS], 15),
    ids=lambda name: re.sub(r"\W+", "-", " ".join(name)),
)
def test_no_text_decides(name: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a code in place of every text, the same states, codes and next steps come out: no code reads a sentence."""
    worlds = [World(tmp_path / "with-texts.journal"), World(tmp_path / "with-codes.journal")]
    SCENARIOS[name].play(worlds[0])
    monkeypatch.setattr(reasons, "rendered", lambda outcome: outcome.code)
    SCENARIOS[name].play(worlds[1])

    assert decided(worlds[0]) == decided(worlds[1])


# Around the table


def test_a_plain_run_makes_three_calls(world: World) -> None:
    """A payer, the list, the account; and the next run makes none."""
    for _ in range(2):
        world.run(accounts_only=False)

    assert ["create_payer", "list_payment_details", "create_payment_detail"] == world.service.calls


def test_a_resumed_run_reads_the_list_again(world: World) -> None:
    """Before it sends what is new; accounts of somebody else that have come since are of the baseline from then on."""
    second = ROW | {"account_number": "7700000001009"}
    world.run()
    world.service.stored.append(other(7))
    world.service.create_payment_detail = [LOST]
    world.run([ROW, second])

    with world.journal() as journal:
        baseline = journal.baseline(make_task(make_table([ROW]), journal.secret, "payer", 0).key)
    assert ["pd-7"] == baseline
    assert "done" == world.entry("bank_details", second).state


def test_what_came_while_an_outcome_was_unknown_is_not_of_the_baseline(world: World) -> None:
    """It may be the account whose outcome is unknown."""
    second = ROW | {"account_number": "7700000001009"}
    UNKNOWN.play(world)
    world.service.stored, world.service.list_payment_details = [record()], []
    world.run([ROW, second])

    with world.journal() as journal:
        baseline = journal.baseline(make_task(make_table([ROW]), journal.secret, "payer", 0).key)
    assert [] == baseline
    assert ["done", "done"] == [world.entry("bank_details", row).state for row in (ROW, second)]
    assert 2 == world.service.calls.count("create_payment_detail")


@pytest.mark.parametrize("length", [9, 10, 12, 15])
def test_a_list_may_be_cut_if_it_is_as_long_as_a_page(world: World, length: int) -> None:
    """Nothing counts as absent in such a list: ten accounts or more, in steps of five."""
    world.service.create_payment_detail = [partial(world.service.store, other(place)) for place in range(length)]
    world.run([ROW | {"account_number": f"99{place:08}"} for place in range(length)])
    world.service.create_payment_detail = [LOST]
    world.run()

    assert ("unknown" if length % 5 == 0 else "done") == world.entry("bank_details").state


def test_an_account_listed_under_another_name_is_told(world: World) -> None:
    """Neither bank nor holder makes it another account."""
    world.service.stored = [record(bankName="Another Bank", accountName="Example Holder")]
    world.run()

    reason = "Was there already. The payer's list shows a different bank_name and a different account_name."
    assert reason == why(world.entry("bank_details"))


def test_one_account_in_the_list_is_done_for_one_row(world: World) -> None:
    """Two rows differ in rails, which the list does not show: which of them is there, a person decides."""
    rows = [ROW, ROW | {"rails": "wire"}]
    world.service.stored = [record()]
    world.run(rows)

    assert ["not_sent", "not_sent"] == [world.entry("bank_details", row).state for row in rows]


def test_the_wait_for_the_last_look_is_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Of how many payers, how long it is, and why."""
    world.service.create_payment_detail = [LOST]
    world.run(progress=True)

    shown = capsys.readouterr().err
    assert re.search(r"checked payer 0 of 1 .*waits 10 s, until a write would have taken effect", shown)


def test_what_the_last_look_left_open_is_closed_by_the_next_run(world: World) -> None:
    """The list is not masked any more: the account is done, and nothing was sent for that."""
    PERHAPS_TWICE.play(world)
    world.service.stored = [record(1), other(9)]
    world.run()

    entry = world.entry("bank_details")
    assert ("done", False, "pd-1") == (entry.state, entry.needs_look, entry.facts["id"])
    assert 2 == world.service.calls.count("create_payment_detail")


def test_a_list_that_was_not_whole_is_looked_at_by_the_next_run(world: World) -> None:
    """It is whole now: nothing is left to be said."""
    LAST_LIST_NOT_WHOLE.play(world)
    world.service.stored = [record(1)]
    world.run()

    entry = world.entry("bank_details")
    assert ("done", False, "") == (entry.state, entry.needs_look, why(entry))


def test_a_payer_may_be_called_as_a_status_is(tmp_path: Path) -> None:
    """A status that is also the payer's id is not kept, and the reason says it all the same."""
    table = Table(pd.DataFrame([ROW | {"client_user_id": "failed"}]), holder_is_payer=True)
    with Journal(tmp_path / "run.journal", b"secret") as journal:
        task = make_task(table, journal.secret, "bank_details", 0)
        journal.sent(task.key, payer=task.payer_key, content=task.content)
        state = record_found(journal, task, [record(status="failed")], reason="found_in_list")
        entry = journal.entry(task.key)

    assert entry is not None
    assert ("refused", {"id": "pd-1"}) == (state, entry.facts)
    assert "shows it as failed" in why(entry)
