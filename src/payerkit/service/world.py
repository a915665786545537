"""Worlds, each opened by one API key. A call is one transaction, which begins with the changes that are due."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from inspect import Parameter, signature
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update
from sqlalchemy.orm import Session

from payerkit.service.clock import START, Identifiers
from payerkit.service.database import Database
from payerkit.service.failures import NO_JSON, HttpError
from payerkit.service.faults import FaultInjector
from payerkit.service.keys import DEFAULT_WORLD
from payerkit.service.settings import Settings
from payerkit.service.tables import Base, ChangeRow, EntryRow, EventRow, PayerRow, WorldRow

T = TypeVar("T")
Row = TypeVar("Row", bound=Base)

WriteKind = Literal["payer", "agreement", "payment_detail", "payment", "request", "execution"]
"""The kinds of writes that the ledger records."""

Step = Literal["kyc", "agreement"]
"""The steps that a payer completes on a page."""

CHANGES: dict[str, tuple[type[Base], Callable[[WorldSession, Any, str, float], None]]] = {}
"""The function that makes a due change, by its kind: it takes a row of the table, a state and a time."""

SANDBOX_PATH = "/sandbox/"
"""Begins the paths of the calls that only a sandbox has, which no limit counts, and which meet no fault."""

_ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The digits of a ULID: Crockford's base 32."""

# Built once: to build a statement takes longer than to run it.
_IN_WORLD = WorldRow.id == bindparam("world")
_NEXT_DUE = select(func.min(ChangeRow.due)).where(ChangeRow.world_id == bindparam("world")).scalar_subquery()
_WORLD = select(WorldRow.advanced, WorldRow.rates, WorldRow.wallet, _NEXT_DUE).where(_IN_WORLD)
_LOCKED_WORLD = _WORLD.with_for_update(of=WorldRow)
_IS_DUE = (ChangeRow.world_id == bindparam("world")) & (ChangeRow.due <= bindparam("now"))
_CHANGE = (ChangeRow.due, ChangeRow.id, ChangeRow.kind, ChangeRow.subject_id, ChangeRow.state)
_TAKE_DUE = delete(ChangeRow).where(_IS_DUE).returning(*_CHANGE)
_DROP = delete(ChangeRow).where(ChangeRow.kind == bindparam("kind"), ChangeRow.subject_id == bindparam("subject"))


_insert = cache(insert)


@cache
def _count(table: type[Base], *columns: str) -> Select[int]:
    """Return the statement that counts the rows of a world with a value in each column."""
    given = (getattr(table, name) == bindparam(name) for name in ("world_id", *columns))
    return select(func.count()).select_from(table).where(*given)


class WorldSession(Session):
    """The transaction of one call in a world.

    sql: its connection, for statements that need no objects: the session takes longer, to track what it reads.
    rates, wallet: those of the world's row. now: the time of the world's clock when the call began. is_due: whether a
    change is due by then.
    """

    def __init__(self, world: World, connection: Connection, *, write: bool) -> None:
        super().__init__(connection)
        self.sql = connection
        self.world = world
        self.settings = world.settings
        self.identifiers = world.identifiers
        # One that writes locks the row of its world, so that no other call writes there until it ends.
        row = connection.execute(_LOCKED_WORLD if write else _WORLD, {"world": world.id})
        advanced, self.rates, self.wallet, next_due = row.one()
        self.now: float = advanced + (time.time() if self.settings.clock == "wall" else START)
        self.is_due = next_due is not None and next_due <= self.now

    def settle(self) -> None:
        """Make the changes whose time has come, in their order, each with its events."""
        changes = self.sql.execute(_TAKE_DUE, {"world": self.world.id, "now": self.now}).all()
        for due, _, kind, subject_id, state in sorted(changes):
            self._change(kind, subject_id, state, due)
        self.flush()  # since most calls read with `sql`

    def change_later(self, kind: str, subject_id: int, state: str, due: float) -> None:
        """Change a row at a time, or now, if the time has come."""
        if due <= self.now:
            self._change(kind, subject_id, state, due)
        else:
            self.insert(ChangeRow, kind=kind, subject_id=subject_id, state=state, due=due)

    def _change(self, kind: str, subject_id: int, state: str, due: float) -> None:
        table, change = CHANGES[kind]
        change(self, self.get_one(table, subject_id), state, due)

    def update_world(self, **values: Any) -> None:
        """Store the world's clock, rates or wallet."""
        self.sql.execute(update(WorldRow).where(WorldRow.id == self.world.id).values(values))

    def drop_changes(self, kind: str, subject_id: int) -> None:
        """Forget the changes to come of a row, which was changed otherwise."""
        self.sql.execute(_DROP, {"kind": kind, "subject": subject_id})

    def fire(self, name: str, time: float, body: Mapping[str, Any]) -> None:
        """Store an event. Its body is written once, since its bytes are signed."""
        text = json.dumps({"event": name, **body}, ensure_ascii=False, separators=(",", ":"))
        random = self.identifiers.token_bytes(10, "delivery", text, self.count(EventRow))
        number = int(time * 1000) << 80 | int.from_bytes(random)
        delivery = "".join(_ULID[number >> shift & 31] for shift in range(125, -1, -5))
        self.insert(EventRow, delivery_id=delivery, name=name, fired_at=time, body=text)

    def record(
        self, what: WriteKind, client_user_id: str | None, body: Mapping[str, Any], about: str | None = None
    ) -> None:
        """Add an entry to the ledger. Its fingerprint is equal only for equal bodies, and reveals nothing."""
        fingerprint = self.lookup_key("body", json.dumps(body, sort_keys=True))[:16]
        entry = {"clientUserId": client_user_id, "id": about, "fingerprint": fingerprint}
        self.insert(EntryRow, what=what, body=entry)

    def insert(self, table: type[Row], **values: Any) -> Row:
        """Store a new row, and return a copy of it: at once, since the session takes longer to track it."""
        values["world_id"] = self.world.id
        stored: Any = self.sql.execute(_insert(table), values)
        return table(**values, **stored.inserted_primary_key._asdict())

    def count(self, table: type[Base], **values: Any) -> int:
        """Return how many rows of this world have some values, if ids depend on it, else 0."""
        if self.settings.seed is None:
            return 0
        return self.sql.scalar(_count(table, *values), {"world_id": self.world.id, **values}) or 0

    def lookup_key(self, *parts: str) -> str:
        """Return a keyed hash in this world, by which a row is found, since its encryption differs each time.

        A plain hash of an e-mail address could be computed by anybody who guesses the address; this one needs the key.
        """
        text = json.dumps((self.world.id, *parts))
        return hmac.digest(self.world.database.seal.lookup_secret, text.encode(), hashlib.sha256).hex()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class World:
    """The data, clock, faults and limits that one API key opens, and no other key sees."""

    name: str
    id: int
    database: Database
    settings: Settings
    identifiers: Identifiers
    faults: FaultInjector
    limits: CallLimits

    def call(self, work: Callable[..., T], *, write: bool, wait: bool = True, **arguments: Any) -> T:
        """Return the result of work, which is given a `session`; what is due by the clock is settled before.

        wait: as of `Database.transaction`. Without it, raises OperationalError, and does nothing, if there is a lock.
        """
        with self.database.transaction(write=write, wait=wait) as connection:
            session = WorldSession(self, connection, write=write)
            if write or not session.is_due:
                if session.is_due:
                    session.settle()
                result = work(session=session, **arguments)
                session.flush()
                return result
        return self.call(work, write=True, wait=wait, **arguments)  # it reads, but what is due has to be written first


class Worlds:
    """The worlds of a database, by the API key that opens each.

    keys: the API keys by the names of their worlds; by default, the one in the database. Raises SetupError if the
    database was made with another clock.
    """

    def __init__(self, database: Database, settings: Settings, keys: Mapping[str, str]) -> None:
        self.database = database
        stored, ids = database.enter(settings.clock, keys or [DEFAULT_WORLD])
        self.identity = stored.identity  # random even with a seed: it tells databases apart
        self.keys = keys or {DEFAULT_WORLD: stored.api_key}
        self._by_id: dict[int, World] = {}
        self._by_key: dict[bytes, World] = {}  # by its hash, so that no time tells how much of a key is right
        for name, key in self.keys.items():
            # With a seed, the first world has the ids that a sandbox with one key has.
            seed = settings.seed if settings.seed is None or name == DEFAULT_WORLD else f"{settings.seed} {name}"
            faults, limits = FaultInjector(settings.faults, seed), CallLimits(settings)
            world = World(name, ids[name], database, settings, Identifiers(seed), faults, limits)
            self._by_id[world.id] = self._by_key[hashlib.sha256(key.encode()).digest()] = world

    def of_key(self, api_key: str) -> World | None:
        """Return the world that an API key opens, or None."""
        return self._by_key.get(hashlib.sha256(api_key.encode()).digest())

    async def visit(
        self, step: Step, token: str, work: Callable[[WorldSession, PayerRow], T], *, write: bool = False
    ) -> T | None:
        """Return the result of work for the payer whose link of a step has this token; None for an unknown link."""
        is_link = (PayerRow.kyc_page if step == "kyc" else PayerRow.agreement_page) == token

        def start(*, wait: bool) -> T | None:
            with self.database.transaction(write=False, wait=wait) as connection:
                found = connection.execute(select(PayerRow.world_id, PayerRow.id).where(is_link)).one_or_none()
            if found is None or (world := self._by_id.get(found.world_id)) is None:
                return None
            return world.call(
                lambda session: work(session, session.get_one(PayerRow, found.id)), write=write, wait=wait
            )

        return await self.database.run(start, write=write)


class WorldRouter(APIRouter):
    """Routes whose functions run in a transaction of the caller's world, if they take a `session`."""

    def call(
        self, path: str, *, status: int = 200, both: bool = False
    ) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Add a route, such as "GET /v2/payer"; one for GET only reads.

        both: under /v1, as specified, and under /v2, as in newer public documents.
        """
        method, _, path = path.partition(" ")

        def add(function: Callable[..., T]) -> Callable[..., T]:
            takes_session = "session" in signature(function).parameters
            endpoint = _in_transaction(function, write=method != "GET", status=status) if takes_session else function
            for version in ("/v1", "/v2") if both else ("",):
                self.add_api_route(version + path, endpoint, methods=[method], response_model=None)
            return function

        return add


def _in_transaction(endpoint: Callable[..., Any], *, write: bool, status: int) -> Callable[..., Any]:
    """Return a function for FastAPI, which takes a request in place of the session.

    So nothing depends on anything else: FastAPI takes as long to solve a dependency as SQLite to read a row.
    """
    given = signature(endpoint, eval_str=True)
    has_request = "request" in given.parameters

    async def run(request: Request, **arguments: Any) -> JSONResponse:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if write and content_type != "application/json":
            raise HttpError(415, NO_JSON)
        if has_request:
            arguments["request"] = request
        world: World = request.scope["state"]["world"]
        content = await world.database.run(partial(world.call, endpoint, write=write, **arguments), write=write)
        return JSONResponse(content, status)

    parameters = [each for name, each in given.parameters.items() if name not in {"session", "request"}]
    first = Parameter("request", Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
    # Where FastAPI looks for the arguments of a query and a body; its description is on the start page.
    run.__signature__ = given.replace(parameters=[first, *parameters])  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = endpoint.__name__, endpoint.__doc__
    return run


# Limits on how often the API may be called, as on the live service

LIVE_RATE = 5
"""Calls a second that the live service allows by default, by the operator's documentation."""


class CallLimits:
    """Counts the calls of the API. Time is real, whatever the service's clock is, since calls take real time."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._live_like = settings.live_like
        self._clock = clock
        self._credit, self._credited = float(LIVE_RATE), -math.inf

    def count(self) -> None:
        """Count a call: five at once, then five a second. Raises HttpError (429) without the time to wait."""
        if not self._live_like:
            return
        now = self._clock()
        self._credit = min(LIVE_RATE, self._credit + (now - self._credited) * LIVE_RATE)
        self._credited = now
        if self._credit < 1:
            raise HttpError(429, "Too Many Requests")
        self._credit -= 1
