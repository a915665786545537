"""A model of the far end for runs: in this process, on a clock of its own, with a
ledger of what it really stored.

A run over it is a real one, with a real client and a real journal; only the transport
ends in the model, and waits take no time. A kill is a step from which on neither the
journal nor the far end is reached: the file stays as a crash leaves it. `breaches`
holds a report against the ledger.
"""

from __future__ import annotations

import itertools
import json
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal
from unittest import mock
from urllib.parse import unquote, urlsplit

import pandas as pd

from clocks import HandClock
from payerkit.client import Client
from payerkit.client.call import Attempt, BrokenOffError, HttpResponse, NotSentError
from payerkit.client.transport import Transport
from payerkit.runs import Report
from payerkit.runs.journal import Journal
from payerkit.runs.limiter import RateLimiter, StopSignal
from payerkit.runs.options import Options
from payerkit.runs.rows import Step
from payerkit.runs.run import LAST_LOOK_AFTER, run_table
from payerkit.runs.tasks import Table

SETTLE = LAST_LOOK_AFTER
"""Seconds until a run looks for the last time, as `late` writes are measured here."""

Kind = Literal["payer", "account", "list", "status"]
Record = dict[str, Any]
Identity = tuple[str, ...]
"""The id of a payer, and what makes an account of this payer another one if it
differs.
"""

IDENTIFYING = (
    "currency",
    "rails",
    "accountNumber",
    "iban",
    "ribNumber",
    "routingNumber",
    "sortCode",
    "swiftBic",
    "bsbNumber",
    "ncc",
    "branchCode",
    "bankCode",
    "ifsc",
)
"""Fields of an account as the API names them; written down here once more, so that the
model agrees with no mistake.
"""

SPECIFIED = (
    "id",
    "userId",
    "bankName",
    "accountName",
    "beneficiaryType",
    "accountNumber",
    "routingNumber",
    "currency",
    "status",
    "rails",
)
"""What the specification (2.3) says that a list shows of an account: no IBAN."""


class Killed(Exception):  # noqa: N818 - what happened to a process
    """Raised wherever a process that was killed would reach out."""


@dataclass(frozen=True)
class Fault:
    """What becomes of a request, instead of what it asks for.

    stored: seconds until a write takes effect; None for never. takes: seconds until the
    end is seen here. status: of the response; None if none comes. leaves: whether a
    byte leaves this machine. interrupts: the user presses Ctrl+C.
    """

    stored: float | None = None
    takes: float = 0.0
    status: int | None = None
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    leaves: bool = True
    interrupts: bool = False


def api_error(status: int, message: str = "Example", code: str = "") -> Fault:
    """Return a refusal of the API."""
    body = {"statusCode": status, "message": message, "error": "Example"}
    return Fault(status=status, body=body | ({"code": code} if code else {}))


def gateway(status: int) -> Fault:
    """Return a refusal of something in front of the API, which speaks HTML."""
    return Fault(status=status, body="<html><body>Example gateway</body></html>")


LOST_BEFORE = Fault()
LOST_AFTER = Fault(stored=0.0)
CUT = Fault(stored=0.0, status=201, body='{"payment_detail": {"id": "pd')
FAILS_BEFORE = Fault(status=502, body="<html>Bad gateway</html>")
FAILS_AFTER = Fault(stored=0.0, status=504, body="<html>Gateway timeout</html>")
NEVER_LEFT = Fault(leaves=False)
TOO_MANY = Fault(status=429, headers={"Retry-After": "1"})
TIMED_OUT = Fault(stored=0.0, takes=5.0)
FINE = Fault(stored=0.0, status=200)
"""No fault: what a request asks for happens."""


def late(seconds: float, *, takes: float = 0.0) -> Fault:
    """Return a write whose connection breaks, and which takes effect some seconds after
    it was sent.
    """
    return Fault(stored=seconds, takes=takes)


@dataclass
class Stored:
    """An account that is stored, or will be at a time. by: the journal of the run, or
    "" for another tool's.
    """

    id: str
    payer: str
    body: Record
    at: float
    by: str = ""
    status: str = "approved"

    @property
    def identity(self) -> Identity:
        """What makes it this account."""
        return identity_of(self.payer, self.body)


def identity_of(payer: str, body: Mapping[str, Any]) -> Identity:
    """Return what makes an account the one that it is; names and values as the API has
    them.
    """
    texts = {
        name: (
            "".join(
                char for char in str(body.get(name) or "") if char.isalnum()
            ).upper()
        )
        for name in IDENTIFYING
    }
    texts["rails"] = texts["rails"] or "LOCAL"
    counting = ("currency", "rails", "iban") if texts["iban"] else IDENTIFYING
    return (payer, *(texts[name] if name in counting else "" for name in IDENTIFYING))


def row_identity(row: Mapping[str, Any]) -> Identity:
    """Return what makes the account of a row the one that it is."""
    names = {
        name: "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
        for name in IDENTIFYING
    }
    return identity_of(
        str(row["client_user_id"]),
        {name: row.get(ours) for name, ours in names.items()},
    )


class ModelService:
    """The far end. Its faults are chosen by kind of request, in the order of the
    requests; `faults` for any kind.

    listed: what a list shows of an account, None for nothing. cut: how many accounts it
    shows at most. lag: seconds by which a payer's list is behind. has_status: whether
    the service has `GET` for the status of a payer. conflicts: whether it refuses a
    payer who is there already.
    """

    def __init__(self) -> None:
        self.clock = HandClock()
        self.clock.time = 1_000_000.0
        self.payers: dict[str, float] = {}
        self.accounts: list[Stored] = []
        self.next: dict[Kind, deque[Fault]] = {
            "payer": deque(),
            "account": deque(),
            "list": deque(),
            "status": deque(),
        }
        self.faults: deque[Fault] = deque()
        self.listed: Callable[[Record], Record | None] = dict
        self.cut: int | None = None
        self.lag: dict[str, float] = {}
        self.has_status = True
        self.conflicts = False
        self.requests: list[tuple[Kind, str]] = []
        self.before: Callable[[Kind, str], None] = lambda _kind, _payer: None
        """Called before each request is handled."""
        self.steps_left: int | None = None
        """How many steps a process has until it is killed; None for no kill."""
        self.stop: StopSignal = StopSignal()
        self.tool = ""
        """Whose requests arrive: the name of a journal."""
        self.read_until: dict[tuple[str, str], float] = {}
        """By payer and name of a journal: up to when the list that its runs read last
        could show accounts.
        """
        self._ids = itertools.count(1)

    def step(self) -> None:
        """Count a step. Raises Killed from the one on at which the process is
        killed.
        """
        if self.steps_left is not None:
            if self.steps_left <= 0:
                raise Killed
            self.steps_left -= 1

    def count(self, kind: Kind, payer: str | None = None) -> int:
        """Return how many requests of a kind arrived, or of a payer."""
        return sum(
            each == kind and payer in {None, whose} for each, whose in self.requests
        )

    def there(self, identity: Identity) -> list[Stored]:
        """Return the copies of an account that are stored by now and have not
        failed.
        """
        return [
            each
            for each in self.accounts
            if each.identity == identity and self.is_there(each)
        ]

    def is_there(self, account: Stored) -> bool:
        """Return True if an account is stored by now and has not failed."""
        return account.at <= self.clock.now() and account.status not in {
            "failed",
            "rejected",
            "deactivated",
        }

    def was_seen(self, account: Stored, tool: str = "") -> bool:
        """Return True if the payer's list could show an account when it was read, or
        shows it now and was never read.

        tool: the name of the journal whose runs read it; "" for anyone's. No run knows
        what another one read.
        """
        read = [
            until
            for (payer, by), until in self.read_until.items()
            if payer == account.payer and by == (tool or by)
        ]
        return account.at <= max(read) if read else self._is_shown(account)

    def _is_shown(self, account: Stored) -> bool:
        """Return True if a list that leaves out nothing shows an account by now."""
        return account.at <= self.clock.now() - self.lag.get(account.payer, 0.0)

    def store(self, row: Mapping[str, Any], *, status: str = "approved") -> Stored:
        """Store the account of a row, as another tool does."""
        body = {
            _wire(name): value for name, value in row.items() if isinstance(value, str)
        }
        payer, now = str(row["client_user_id"]), self.clock.now()
        self.payers[payer] = min(self.payers.get(payer, now), now)
        return self._keep(Stored(self._new_id(), payer, body, now, status=status))

    def _new_id(self) -> str:
        return f"pd-{next(self._ids)}"

    def _keep(self, account: Stored) -> Stored:
        self.accounts.append(account)
        return account

    def settle(self) -> None:
        """Go on until every write has taken effect and every list shows it."""
        last = max(
            [0.0, *(account.at for account in self.accounts), *self.payers.values()]
        )
        self.clock.time = (
            max(self.clock.time, last) + max([0.0, *self.lag.values()]) + 1
        )

    def handle(self, attempt: Attempt[Any]) -> HttpResponse:
        """Return the response to a request. Raises NotSentError, BrokenOffError or
        Killed.
        """
        self.step()
        parts = [unquote(part) for part in urlsplit(attempt.url).path.split("/")]
        body: Record = json.loads(attempt.content) if attempt.content else {}
        kind, payer = self._kind(attempt.call.method, parts, body)
        self.before(kind, payer)
        waiting = self.next[kind] or self.faults
        fault = waiting.popleft() if waiting else FINE
        if fault.interrupts:
            self._interrupt()
        if not fault.leaves:
            raise NotSentError("Example")
        attempt.left = True
        self.requests.append((kind, payer))
        response = self._effect(kind, payer, body, fault)
        self.clock.wait(fault.takes)
        self.step()
        if fault is FINE:
            if kind == "list" and response.status == HTTPStatus.OK:
                # One that was answered by something else, or not at all, was read by
                # nobody.
                self.read_until[payer, self.tool] = self.clock.now() - self.lag.get(
                    payer, 0.0
                )
            return response
        if fault.status is None:
            raise BrokenOffError("Example", None, {})
        content = (
            fault.body if isinstance(fault.body, str) else json.dumps(fault.body or {})
        )
        return HttpResponse(fault.status, fault.headers, content.encode())

    def _kind(self, method: str, parts: list[str], body: Record) -> tuple[Kind, str]:
        if method == "POST" and parts[-1] == "payer":
            return "payer", str(body["clientUserId"])
        if parts[-1] == "payment-details":
            return ("account" if method == "POST" else "list"), parts[-2]
        return "status", parts[-1]

    def _interrupt(self) -> None:
        """Press Ctrl+C, and wait until the run knows."""
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while not self.stop:
            time.sleep(0.001)

    def _effect(
        self, kind: Kind, payer: str, body: Record, fault: Fault
    ) -> HttpResponse:
        """Do what a request asks for, if and when it is to be done, and return the
        response of a service in order.
        """
        now = self.clock.now()
        is_known = self.payers.get(payer, now + 1) <= now
        if kind == "payer":
            return self._register(payer, is_known=is_known, stored=fault.stored)
        if kind == "status" and not self.has_status:
            return _respond(
                404,
                {
                    "statusCode": 404,
                    "message": "Cannot GET /v2/payer",
                    "error": "Not Found",
                },
            )
        if not is_known:
            message = f"Payer with client user ID {payer} not found"
            return _respond(
                404, {"statusCode": 404, "message": message, "error": "Not Found"}
            )
        if kind == "status":
            return _respond(
                200,
                {
                    "kycStatus": "approved",
                    "agreementStatus": "completed",
                    "isCompliant": True,
                },
            )
        if kind == "list":
            return _respond(200, {"paymentDetails": self.shown(payer)})
        if fault.stored is None:
            return _respond(201, {})
        stored = self._keep(
            Stored(self._new_id(), payer, body, now + fault.stored, self.tool)
        )
        named = ("bankName", "accountName", "currency", "beneficiaryType")
        fields = {name: body[name] for name in named} | {
            "id": stored.id,
            "clientUserId": payer,
        }
        return _respond(201, {"payment_detail": fields})

    def _register(
        self, payer: str, *, is_known: bool, stored: float | None
    ) -> HttpResponse:
        if is_known and self.conflicts:
            return _respond(
                409,
                {
                    "statusCode": 409,
                    "message": "Payer exists already",
                    "error": "Conflict",
                },
            )
        if stored is not None:
            at = self.clock.now() + stored
            self.payers[payer] = min(self.payers.get(payer, at), at)
        status = {"agreementStatus": "not_started", "kycStatus": "not_started"}
        return _respond(201, {"status": status, "userId": f"u-{len(self.payers)}"})

    def shown(self, payer: str) -> list[Record]:
        """Return what a payer's list shows now."""
        there = [
            each
            for each in self.accounts
            if each.payer == payer and self._is_shown(each)
        ]
        records = [
            self.listed(each.body | {"id": each.id, "status": each.status})
            for each in there
        ]
        return [record for record in records if record is not None][: self.cut]


def _respond(status: int, body: Record) -> HttpResponse:
    return HttpResponse(
        status, {"content-type": "application/json"}, json.dumps(body).encode()
    )


def _wire(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def specified(record: Record) -> Record:
    """List an account as the specification says, without IBAN."""
    return {name: value for name, value in record.items() if name in SPECIFIED}


def masked(record: Record) -> Record:
    """List an account with the ends of its numbers."""
    numbers = [
        name for name in ("accountNumber", "iban", "routingNumber") if name in record
    ]
    return specified(record) | {name: f"••••{record[name][-4:]}" for name in numbers}


def without_numbers(record: Record) -> Record:
    """List an account by the holder's name alone."""
    return {name: record[name] for name in ("id", "accountName", "currency", "status")}


class _ModelTransport(Transport):
    """Hands requests to the model."""

    def __init__(self, service: ModelService) -> None:
        self._service = service

    def send(self, attempt: Attempt[Any]) -> HttpResponse:
        """Return the model's response."""
        return self._service.handle(attempt)

    def close(self) -> None:
        """Do nothing: there is no connection."""


class ModelClient(Client):
    """A client whose requests end in a model."""

    def __init__(
        self,
        service: ModelService,
        key: str = "example-key",
        *,
        address: str = "https://api.example.com",
        **options: Any,
    ) -> None:
        options |= {
            "environment": "live",
            "clock": service.clock.now,
            "sleep": service.clock.wait,
            "transport": _ModelTransport(service),
        }
        super().__init__(address, key, rate=None, **options)


BOTH: tuple[Step, ...] = ("payer", "bank_details")


def run(
    service: ModelService,
    rows: pd.DataFrame | Iterable[Mapping[str, Any]],
    journal: Path,
    *,
    key: str = "example-key",
    steps: tuple[Step, ...] = BOTH,
    hold: Any = (),
    workers: int = 1,
    kill_after: int | None = None,
    **options: Any,
) -> Report:
    """Run a table over a model. Raises Killed if the run does not end within kill_after
    steps.

    A step is a write of the journal, a request that reaches the far end, or a response
    that reaches this machine.
    """
    table = make_table(rows, steps, hold)
    stop = StopSignal()
    with (
        ModelClient(service, key) as client,
        _is_running(service, stop, journal.name, kill_after),
    ):
        limiter = RateLimiter(
            client.pace,
            stop,
            wait=lambda seconds: service.clock.wait(seconds) or bool(stop),
        )
        chosen = Options(workers=workers, progress=False, **options)
        return run_table(client, table, journal, chosen, limiter=limiter)


def make_table(
    rows: pd.DataFrame | Iterable[Mapping[str, Any]], steps: tuple[Step, ...], hold: Any
) -> Table:
    """Return a table; the same one for the same rows, since checking takes longer than
    a run over a model.
    """
    frame = (
        rows
        if isinstance(rows, pd.DataFrame)
        else pd.DataFrame(list(rows), dtype=object)
    )
    key = (
        json.dumps(frame.astype(object).to_dict("split"), default=str),
        steps,
        str(hold),
    )
    if key not in _TABLES:
        if len(_TABLES) > 100:
            _TABLES.clear()
        _TABLES[key] = Table(
            frame, steps, holder_is_payer=True, **({"hold": hold} if hold else {})
        )
    return _TABLES[key]


_TABLES: dict[Any, Table] = {}


@contextmanager
def _is_running(
    service: ModelService, stop: StopSignal, tool: str, kill_after: int | None
) -> Iterator[None]:
    """Let a run have the model, and give it back to the one in whose request this one
    takes place, if any.
    """
    outer = service.stop, service.tool, service.steps_left
    service.stop, service.tool, service.steps_left = stop, tool, kill_after
    known = dict(service.read_until)
    try:
        with _counted_writes(service):
            yield
    except Killed:
        # It may have been killed before it could write down what it read; nobody knows
        # that but the model.
        for (payer, by), until in list(service.read_until.items()):
            if by == tool and known.get((payer, by)) != until:
                service.read_until[payer, f"{tool}, killed"] = until
        service.read_until = {
            each: until for each, until in service.read_until.items() if each[1] != tool
        } | {each: until for each, until in known.items() if each[1] == tool}
        raise
    finally:
        service.stop, service.tool, service.steps_left = outer


@contextmanager
def _counted_writes(service: ModelService) -> Iterator[None]:
    """Count each write of a journal as a step, before it and after it."""
    write = Journal._write

    def counted(journal: Journal, *arguments: Any, **options: Any) -> Any:
        service.step()
        result = write(journal, *arguments, **options)
        service.step()
        return result

    with mock.patch.object(Journal, "_write", counted):
        yield


# What is true of a report


def states_after(
    service: ModelService,
    rows: Iterable[Mapping[str, Any]],
    journal: Path,
    **options: Any,
) -> list[str]:
    """Run a table, and return the states of its rows, which must be true."""
    rows = [*rows]
    report = run(service, rows, journal, **options)

    assert [] == breaches(service, rows, report)
    return row_states(report)


def row_states(report: Report) -> list[str]:
    """Return the state of each row."""
    return [str(state) for state in report.frame["state"]]


def reasons(report: Report) -> list[str]:
    """Return the reason of each row."""
    return [str(reason) for reason in report.frame["reason"]]


STATES = {"done", "refused", "unknown", "not_sent", "waiting", "duplicate"}
PERHAPS = ("perhaps_there", "there_failed")
"""Reasons of accounts that were not sent since they may be there."""


def breaches(
    service: ModelService,
    rows: Iterable[Mapping[str, Any]],
    report: Report,
    *,
    tool: str = "",
    told: Collection[Identity] = (),
) -> list[str]:
    """Return what is wrong with a report, by the ledger: wrong `done`, silent
    duplicates, rows without a state.

    tool: the name of the journal; its run cannot know what others stored. told:
    accounts that are there more than once, as was told before.
    """
    rows = list(rows)
    found = (
        []
        if len(rows) == len(report.frame)
        else [f"{len(rows)} rows, {len(report.frame)} in the report"]
    )
    for row, said in zip(rows, report.frame.to_dict("records"), strict=False):
        name = (
            f"{row['client_user_id']} {row.get('account_number') or row.get('iban')}:"
            f" {said['state']}"
        )
        name += f" at {said['step']} ({said['reason']})"
        identity = row_identity(row)
        there = service.there(identity)
        found += [
            f"{name}, but {what}"
            for what in _contradictions(service, said, there, tool)
        ]
        is_left = said["state"] == "unknown" or str(said["reason"]).startswith(
            PERHAPS
        )  # to a person, with the ids
        is_told = said["state"] == "duplicate" or is_left or identity in told
        if said["step"] == "bank_details" and not is_told:
            found += (
                [f"{name}, but it was stored twice"] if is_twice(service, there) else []
            )
    return found


def is_twice(service: ModelService, there: Sequence[Stored]) -> bool:
    """Return True if runs stored an account twice, and the payer's list could tell."""
    return sum(bool(each.by) for each in there) > 1 and all(
        map(service.was_seen, there)
    )


def _contradictions(
    service: ModelService, said: Mapping[Any, Any], there: list[Stored], tool: str
) -> Iterator[str]:
    state, details_id = said["state"], said["payment_details_id"]
    if state not in STATES:
        yield "that is no state"
    if said["step"] != "bank_details":
        return
    if state == "done" and not there:
        yield "it is not there"
    if (
        state in {"done", "duplicate"}
        and isinstance(details_id, str)
        and details_id not in {each.id for each in there}
    ):
        yield f"{details_id} is another account"
    if state == "duplicate" and len(there) < 2:
        yield f"it is there {len(there)} times"
    own = [
        each
        for each in there
        if each.by in {tool, tool or each.by}
        and each.by
        and service.was_seen(each, tool)
    ]
    if (
        state in {"not_sent", "refused", "waiting"}
        and own
        and not str(said["reason"]).startswith(PERHAPS)
    ):
        yield "it is there"


def stored_twice(service: ModelService) -> set[Identity]:
    """Return the accounts of which runs stored two that are there."""
    there = [
        each.identity for each in service.accounts if each.by and service.is_there(each)
    ]
    return {identity for identity, times in Counter(there).items() if times > 1}
