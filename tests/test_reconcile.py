"""Reconciling: the table in `reconcile.py` is walked row by row, against a service that a scenario scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import first_cases, why
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


class Clock:
    """A clock that only waits turn."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        """Return the time in seconds."""
        return self.time

    def wait(self, seconds: float) -> bool:
        """Go forward, and stop no wait."""
        self.time += seconds
        return False


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
            self.stored.append(record(len(self.stored) + 1))
            return self.stored[-1]
        usual = {"create_payer": {"userId": "u-1"}, "get_payer_status": self.usual_status}
        return usual.get(operation, list(self.stored))


class ScriptedClient(Client):
    """A client whose calls end in a script."""

    def __init__(self, script: Script, clock: Clock) -> None:
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
    clock: Clock = field(default_factory=Clock)
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
        return Journal(self.path, ScriptedClient(self.service, self.clock).account_secret, clock=self.clock.now)

    def kill(self, step: Step) -> None:
        """Leave the journal as a run does that is killed while it sends the row's task."""
        with self.journal() as journal:
            journal.require_service(SERVICE)
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
Scenario = Callable[[World], int | None]
SCENARIOS: dict[tuple[str, str, str], Scenario] = {}


def scenario(task: str, state: str, evidence: str) -> Callable[[Scenario], Scenario]:
    """Make a function the scenario of a row: it brings the evidence about, and the row says what must be true then.

    It returns how often the task was sent until then if the row says that it is sent.
    """

    def add(function: Scenario) -> Scenario:
        assert (task, state, evidence) not in SCENARIOS
        SCENARIOS[task, state, evidence] = function
        return function

    return add


MASKED = record(9, accountNumber=f"••••{ROW['account_number'][-4:]}")
SILENT = [ServiceError("a read failed")] * 6
"""What ends one look, the one at once or the one after the delay."""


@scenario("any", "none", "accepted")
def accepted(world: World) -> None:
    """Send it."""
    world.run()


@scenario("account", "none", "accepted, as failed")
def accepted_as_failed(world: World) -> None:
    """Return the status that it would be listed with; it is no account that can be paid."""
    world.service.create_payment_detail = [{"id": "pd-1", "status": "Failed"}]
    world.run()

    assert Outcome("stored_failed", {"status": "Failed"}) == world.entry("bank_details").reason
    assert "pd-1" == world.entry("bank_details").facts["id"]


@scenario("any", "none", "refused by the API")
def refused_by_the_api(world: World) -> None:
    """Refuse it for what the row says."""
    world.service.create_payment_detail = [refused(400)]
    world.run()


@scenario("any", "none", "refused by a gateway, or redirected")
def refused_by_a_gateway(world: World) -> None:
    """Refuse it for nothing that is the row's."""
    world.service.create_payment_detail = [refused(403, foreign=True)]
    world.run()


@scenario("any", "none", "never left this machine, or refused as too frequent")
def never_left(world: World) -> None:
    """Let no attempt leave."""
    world.service.create_payment_detail = [NotSent("no route")] * 6
    world.run()


@scenario("any", "none", "the response was lost")
def lost(world: World) -> None:
    """Lose the response, and every list."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[], *SILENT * 2]
    world.run()


@scenario("any", "sent", "the process ended")
def killed(world: World) -> None:
    """Kill the run, and lose every list of the next one."""
    world.kill("bank_details")
    world.service.list_payment_details = SILENT * 2
    world.run()


@scenario("any", "refused", "the row changed")
def changed_after_a_refusal(world: World) -> int:
    """Change a field that does not make it another account."""
    refused_by_the_api(world)
    world.run([ROW | {"bank_name": "Another Bank"}])
    return 2


@scenario("any", "refused", 'retry=["refused"]')
def refused_is_tried_again(world: World) -> int:
    """Send it again as a person wants it."""
    refused_by_the_api(world)
    world.run(retry=["refused"])
    return 2


@scenario("payer", "none", "refused as there already, and its status is known")
def payer_is_there(world: World) -> None:
    """Refuse a payer that is there."""
    world.service.create_payer, world.service.usual_status = [refused(409)], PENDING
    world.run(accounts_only=False)


@scenario("payer", "none", "refused as there already, and it has no status")
def payer_conflicts(world: World) -> None:
    """Refuse a payer for another conflict."""
    world.service.create_payer = [refused(409)]
    world.run(accounts_only=False)


@scenario("payer", "unknown", "its status is known")
def payer_is_found(world: World) -> None:
    """Lose the response; the payer is not sent again."""
    world.service.create_payer, world.service.usual_status = [LOST], PENDING
    world.run(accounts_only=False)

    assert 1 == world.service.calls.count("create_payer")


@scenario("payer", "unknown", "it has no status")
def payer_is_sent_again(world: World) -> int:
    """Lose the response of a service without statuses."""
    world.service.create_payer = [LOST]
    world.service.get_payer_status = [refused(405, foreign=True)]
    world.run(accounts_only=False)
    return 2


@scenario("payer", "unknown", "six looks, and neither a status nor a response")
def payer_stays_unknown(world: World) -> None:
    """Let some looks fail, and some find no status."""
    world.service.create_payer = [LOST] * 7
    world.service.get_payer_status = [refused(404), *SILENT, *[refused(404)] * 5]
    world.run(accounts_only=False)

    assert 6 == world.service.calls.count("create_payer")


@scenario("payer", "unknown", "it has no status, and is refused when it is sent again")
def payer_is_refused_late(world: World) -> None:
    """Refuse the second attempt, which says nothing about the first."""
    world.service.create_payer = [LOST, refused(400)]
    world.run(accounts_only=False)


@scenario("account", "none", "the list has it already")
def account_is_there(world: World) -> None:
    """Let somebody else store it first."""
    world.service.stored = [record()]
    world.run()


@scenario("account", "none", "the list has it already, twice")
def account_is_there_twice(world: World) -> None:
    """Store it twice; both are told."""
    world.service.stored = [record(1), record(2)]
    world.run()

    assert {"id": "pd-1", "status": "approved", "other_ids": ["pd-2"]} == world.entry("bank_details").facts


@scenario("account", "none", "the list has it already, as failed")
def account_there_failed(world: World) -> None:
    """Store it, and let it fail; a person decides whether it is stored again."""
    world.service.stored = [record(status="failed")]
    world.run()

    assert "there_failed" == code_of(world)


@scenario("account", "none", "the list may have it already")
def account_perhaps_there(world: World) -> None:
    """Show the end of a number, which confirms nothing."""
    world.service.stored = [MASKED]
    world.run()

    assert "perhaps_there" == code_of(world)


@scenario("account", "none", "the list may be cut, and shows accounts of others")
def first_list_may_be_cut(world: World) -> None:
    """Show ten accounts; the eleventh may be the one."""
    world.service.stored = [other(place) for place in range(10)]
    world.run()

    assert "perhaps_there" == code_of(world)


@scenario("account", "not_sent", 'the list may have it already; existing="send"')
def sent_all_the_same(world: World) -> int:
    """Send it after a person has compared them."""
    account_perhaps_there(world)
    world.run(existing="send")
    return 1


@scenario("account", "none", "refused until the payer is compliant")
def account_waits(world: World) -> None:
    """Refuse it for today."""
    world.service.create_payment_detail = [refused(422, "not_yet_passed_kyc_kyb")]
    world.run()


@scenario("account", "none", "its payer is stored, and not found")
def payer_is_not_found(world: World) -> None:
    """Store the payer, and do not find it for the account; the run waits for it."""
    world.service.create_payment_detail = [refused(404)] * 4
    started = world.clock.now()
    world.run(accounts_only=False)

    assert started + 7 == world.clock.now()
    assert "payer_lags" == code_of(world)


@scenario("account", "none", "refused as there already, and listed")
def account_conflicts(world: World) -> None:
    """Let somebody store it after the list was read."""
    world.service.create_payment_detail = [refused(409)]
    world.service.list_payment_details = [[], [record()]]
    world.run()


@scenario("account", "none", "refused as there already, and not listed")
def account_conflicts_with_another(world: World) -> None:
    """Refuse it for another conflict."""
    world.service.create_payment_detail = [refused(409)]
    world.run()


@scenario("account", "none", "refused as there already, and what is listed may be another's")
def account_conflicts_with_an_unknown_one(world: World) -> None:
    """Store one with this number, lose the response, and do not show by what the two differ."""
    world.service.create_payment_detail = [LOST, refused(409)]
    world.service.list_payment_details = [[], [record(routingNumber=None)], *SILENT * 2]
    world.run([ROW | {"routing_number": "021000021"}, ROW])


@scenario("account", "done", "another field of the row changed")
def changed_after_storing(world: World) -> None:
    """Change the name of the bank; it is never stored again for that."""
    accepted(world)
    world.run([ROW | {"bank_name": "Another Bank"}])

    assert 1 == world.service.calls.count("create_payment_detail")


@scenario("account", "unknown", "one new account is the same, or has the same number")
def account_is_found(world: World) -> None:
    """Show all but the routing number."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[], [record(routingNumber=None)]]
    world.run()


@scenario("account", "unknown", "one new account is the same, and listed as failed")
def account_failed(world: World) -> None:
    """Show that it can never be paid."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[], [record(status="rejected")]]
    world.run()

    assert Outcome("listed_failed", {"status": "rejected"}) == world.entry("bank_details").reason


@scenario("account", "unknown", "sent twice, and two new accounts are the same")
def sent_twice_found_twice(world: World) -> None:
    """Store it twice, and lose both responses."""
    world.service.create_payment_detail = [LOST, LOST]
    world.service.list_payment_details = [[], [], [], [], [record(1), record(2)]]
    world.run()


@scenario("account", "unknown", "sent once, and two new accounts are the same")
def sent_once_found_twice(world: World) -> None:
    """Show two; one of them is somebody else's."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[], [record(1), record(2)]]
    world.run()


@scenario("account", "unknown", "a new account may be it")
def perhaps_found(world: World) -> None:
    """Show the end of the number, which confirms nothing; it is not sent again either."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[], [MASKED], [MASKED]]
    world.run()


@scenario("account", "unknown", "a new account may be it, or that of another task")
def found_for_two(world: World) -> None:
    """Send two with this number, and do not show by what they differ."""
    world.service.create_payment_detail = [LOST, LOST]
    world.service.list_payment_details = [[], *[[record(routingNumber=None)]] * 2]
    world.run([ROW, ROW | {"routing_number": "021000021"}])


@scenario("account", "unknown", "a new account differs, and no list shows accounts as sent")
def found_otherwise(world: World) -> None:
    """Show an account with another number, which may be the service's own way to number them."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[], [other(7)], [other(7)]]
    world.run()


@scenario("account", "unknown", "a new account differs, and lists show accounts as sent")
def found_of_others(world: World) -> int:
    """Show the account of another payer as it was sent; so the other number is another account."""
    world.service.create_payment_detail = [{"id": "pd-1"}, LOST]
    shown = record(accountNumber=payer_row(2)["account_number"])
    world.service.list_payment_details = [[], [], [other(7)], [other(7)], [shown], [other(7)]]
    world.run([payer_row(2), ROW])
    return 3


@scenario("account", "unknown", "missing in one whole list")
def missing_once(world: World) -> None:
    """Show it in no list; it may take effect yet."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[], [], [], *SILENT]
    world.run()

    assert 1 == world.entry("bank_details").lookups


@scenario("account", "unknown", "missing in two whole lists")
def missing_twice(world: World) -> int:
    """Show it in no list, and look twice, a delay apart."""
    world.service.create_payment_detail = [LOST]
    started = world.clock.now()
    world.run()

    assert world.clock.now() >= started + 2 * DELAY
    return 2


@scenario("account", "unknown", "missing again, after this run sent it again")
def missing_again(world: World) -> None:
    """Lose it again; the next run sends it."""
    world.service.create_payment_detail = [LOST, LOST]
    world.run()


@scenario("account", "unknown", "missing, after it was refused when sent again")
def refused_late(world: World) -> None:
    """Refuse the second attempt; the lists say that the first stored nothing."""
    world.service.create_payment_detail = [LOST, refused(400)]
    world.run()


@scenario("account", "unknown", "missing in a list that is not whole")
def list_is_not_whole(world: World) -> None:
    """Leave out an account that the payer had before."""
    world.service.create_payment_detail = [LOST]
    world.service.list_payment_details = [[other(7)], []]
    world.run()


@scenario("account", "unknown", "missing, and no list shows what is stored for certain")
def lists_show_nothing(world: World) -> None:
    """Show nothing, not even what is stored for another payer."""
    world.service.create_payment_detail = [{"id": "pd-7"}, LOST]
    world.run([payer_row(2), ROW])


@scenario("account", "unknown", "missing, and the payer is not compliant (when_compliant)")
def not_compliant(world: World) -> None:
    """Let the payer's check be pending, and send nothing again."""
    world.service.create_payment_detail = [LOST]
    world.service.get_payer_status, world.service.usual_status = [COMPLIANT], PENDING
    world.run(accounts="when_compliant")


@scenario("account", "unknown", 'final; retry=["unknown"]')
def looked_for_again(world: World) -> None:
    """Look for it once more, and lose every list."""
    perhaps_found(world)
    world.service.list_payment_details = SILENT * 2
    world.run(retry=["unknown"])


@scenario("account", "unknown", 'retry=["unknown"] and existing="send"')
def unknown_is_sent(world: World) -> int:
    """Send it after a person has seen that it is not there."""
    perhaps_found(world)
    world.run(retry=["unknown"], existing="send")
    return 2


@scenario("account", "done", "sent twice; the last look shows one")
def last_look_finds_one(world: World) -> None:
    """Lose it before it is stored, once."""
    world.service.create_payment_detail = [LOST]
    world.run()

    assert 5 == world.service.calls.count("list_payment_details")


@scenario("account", "done", "sent twice; the last look shows two")
def last_look_finds_two(world: World) -> None:
    """Let the first take effect late."""
    world.service.create_payment_detail = [LOST, {"id": "pd-1"}]
    world.service.list_payment_details = [[], [], [], [], [record(1), record(2)]]
    world.run()

    assert ["pd-2"] == world.entry("bank_details").facts["other_ids"]


@scenario("account", "done", "sent twice; the last look shows one that may be a second one")
def last_look_finds_a_mask(world: World) -> None:
    """Show the account, and one that ends like it."""
    world.service.create_payment_detail = [LOST, {"id": "pd-1"}]
    world.service.list_payment_details = [[], [], [], [], [record(1), MASKED]]
    world.run()

    entry = world.entry("bank_details")
    assert "pd-1" == entry.facts["id"]
    assert Outcome("could_be_twice", {"id": "pd-1", "ids": ["pd-9"]}) == entry.reason


@scenario("account", "done", "sent twice; the last look shows a new one, none as sent")
def last_look_shows_others_otherwise(world: World) -> None:
    """Show both copies with numbers of the service's own."""
    world.service.create_payment_detail = [LOST, {"id": "pd-1"}]
    shown = [record(place, accountNumber=f"900000000{place}") for place in (1, 2)]
    world.service.list_payment_details = [[], [], [], [], shown]
    world.run()


@scenario("account", "done", "sent twice; the last look is at a list that is not whole")
def last_list_is_not_whole(world: World) -> None:
    """Leave out the account itself."""
    world.service.create_payment_detail = [LOST, {"id": "pd-1"}]
    world.run()


@scenario("account", "not_sent", "sent twice; the last look shows one")
def last_look_finds_what_was_missing(world: World) -> None:
    """Let it take effect after both were given up."""
    world.service.create_payment_detail = [LOST, LOST]
    world.service.list_payment_details = [[], [], [], [], [], [], [record()]]
    world.run()


def test_every_row_has_a_scenario() -> None:
    """And every scenario a row."""
    assert [(row.task, row.state, row.evidence) for row in ROWS] == list(SCENARIOS)
    assert len(ROWS) > 40
    assert {row.proven_by for row in ROWS} == {"service", "list", "status", "journal", "person"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", f"{row.task} {row.state} {row.evidence}"))
def test_a_row_of_the_table_is_true(world: World, row: TableRow) -> None:
    """Its scenario ends in the state that it says."""
    times = SCENARIOS[row.task, row.state, row.evidence](world)
    state, _, rest = row.after.partition(", ")
    if state == "sent":
        assert times == world.service.calls.count("create_payer" if row.task == "payer" else "create_payment_detail")
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
    frame = report.frame.drop(columns="reason").astype(object).fillna("").to_dict("records")
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
    SCENARIOS[name](worlds[0])
    monkeypatch.setattr(reasons, "rendered", lambda outcome: outcome.code)
    SCENARIOS[name](worlds[1])

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
    lost(world)
    world.service.stored, world.service.list_payment_details = [record()], []
    world.run([ROW, second])

    with world.journal() as journal:
        baseline = journal.baseline(make_task(make_table([ROW]), journal.secret, "payer", 0).key)
    assert [] == baseline
    assert ["done", "done"] == [world.entry("bank_details", row).state for row in (ROW, second)]
    assert 2 == world.service.calls.count("create_payment_detail")


def test_a_kill_is_no_try(world: World) -> None:
    """However often a run is killed while it sends a payer, the next one asks for it, and sends it again."""
    for _ in range(4):
        world.kill("payer")
    world.run(accounts_only=False)

    assert "done" == world.entry("payer").state
    assert ["get_payer_status", "get_payer_status", "create_payer"] == world.service.calls[:3]


@pytest.mark.parametrize("length", [9, 10, 12, 15])
def test_a_list_may_be_cut_if_it_is_as_long_as_a_page(world: World, length: int) -> None:
    """Nothing counts as absent in such a list: ten accounts or more, in steps of five."""
    world.run([ROW | {"account_number": f"99{place:08}"} for place in range(length)])
    world.service.create_payment_detail = [LOST]
    world.run()

    assert ("unknown" if length % 5 == 0 else "done") == world.entry("bank_details").state


@pytest.mark.slow
def test_every_account_of_a_long_table_is_sent(world: World) -> None:
    """Ten accounts that are those of this journal say nothing about the eleventh."""
    rows = [ROW | {"account_number": f"99{place:08}"} for place in range(12)]
    world.run(rows[:10])
    world.run(rows)

    assert {"done"} == {world.entry("bank_details", row).state for row in rows}


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


def test_the_last_look_is_announced(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """With the number of accounts and the seconds that it takes."""
    world.service.create_payment_detail = [LOST]
    world.run(progress=True)

    assert "1 account sent more than once: the check for duplicates begins in 10 s." in capsys.readouterr().err


def test_a_timed_out_call_makes_the_waits_longer(world: World) -> None:
    """In this run, and in the next ones: its write may take effect as late."""

    def time_out() -> UnknownOutcome:
        world.clock.wait(30)
        return LOST

    world.service.create_payment_detail = [time_out, LOST]
    started = world.clock.now()
    world.run()
    with world.journal() as journal:
        slowest = journal.slowest

    assert 30 == slowest
    assert world.clock.now() >= started + 30 + 4 * 60  # two looks for each of two sends


def test_a_lost_journal_stops_the_run(world: World) -> None:
    """The report is made all the same."""

    def lose() -> Record:
        world.path.unlink()
        return record()

    world.service.create_payment_detail = [lose]
    world.run([ROW, payer_row(2)])

    assert world.report is not None
    assert ["done", "not_sent"] == world.report.frame["state"].tolist()
    assert "run.journal was deleted" in world.report.stopped


def test_what_the_last_look_left_open_is_closed_by_the_next_run(world: World) -> None:
    """The list is not masked any more: the account is done, and nothing was sent for that."""
    last_look_finds_a_mask(world)
    world.service.stored = [record(1), other(9)]
    world.run()

    entry = world.entry("bank_details")
    assert ("done", False, "pd-1") == (entry.state, entry.needs_look, entry.facts["id"])
    assert 2 == world.service.calls.count("create_payment_detail")


def test_a_list_that_was_not_whole_is_looked_at_by_the_next_run(world: World) -> None:
    """It is whole now: nothing is left to be said."""
    last_list_is_not_whole(world)
    reason = why(world.entry("bank_details"))
    world.service.stored = [record(1)]
    world.run()

    entry = world.entry("bank_details")
    assert "The next run looks again." in reason
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
