"""What one API key opens, and a call in it: one transaction, which begins with what the clock has made due."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Request, Security
from fastapi.security import APIKeyHeader
from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select
from sqlalchemy.orm import Session

from payerkit.service.clock import Identifiers, current_time
from payerkit.service.database import Database
from payerkit.service.errors import Problem, SetupError
from payerkit.service.faults import WRITE_METHODS, FaultInjector
from payerkit.service.keys import DEFAULT_WORLD
from payerkit.service.limits import CallLimits
from payerkit.service.settings import Settings
from payerkit.service.tables import ChangeRow, EntryRow, EventRow, PayerRow, WorldRow

T = TypeVar("T")

WriteKind = Literal["payer", "agreement", "payment_detail", "payment", "request", "execution"]
"""What a row of the ledger records: one write that was stored."""

Step = Literal["kyc", "agreement"]
"""What a payer completes on a page."""

CHANGES: dict[str, Callable[[WorldSession, int, str, float], None]] = {}
"""What makes a change whose time has come, by its kind: of the row with this id, to a state, at a time."""

_ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The digits of a ULID: Crockford's base 32."""

# Built once: to build a statement takes longer than to run it.
_IN_WORLD = WorldRow.id == bindparam("world")
_NEXT_DUE = select(func.min(ChangeRow.due)).where(ChangeRow.world_id == bindparam("world")).scalar_subquery()
_TIMES = select(WorldRow.advanced, _NEXT_DUE).where(_IN_WORLD)
_LOCKED_TIMES = _TIMES.with_for_update(of=WorldRow)
_DUE = select(ChangeRow).where(ChangeRow.world_id == bindparam("world"), ChangeRow.due <= bindparam("now"))
_DUE = _DUE.order_by(ChangeRow.due, ChangeRow.id)
_DROP = delete(ChangeRow).where(ChangeRow.kind == bindparam("kind"), ChangeRow.subject_id == bindparam("subject"))
_EVENTS = select(func.count(EventRow.number)).where(EventRow.world_id == bindparam("world"))
_ADD_EVENT, _ADD_ENTRY = insert(EventRow), insert(EntryRow)


class WorldSession(Session):
    """The transaction of one call in a world. now: the time of the world's clock when the call began."""

    def __init__(self, world: World, connection: Connection) -> None:
        super().__init__(connection)
        self._connection = connection
        self.world = world
        self.settings = world.settings
        self.identifiers = world.identifiers
        self.now = 0.0
        self._fired: int | None = None

    def read_clock(self, *, locked: bool) -> bool:
        """Set `now`; return True if a change is due. locked: no other call writes in the world from here on."""
        query = _LOCKED_TIMES if locked else _TIMES
        advanced, next_due = self._connection.execute(query, {"world": self.world.id}).one()
        self.now = current_time(self.settings.clock, advanced)
        return next_due is not None and next_due <= self.now

    def settle(self) -> None:
        """Make the changes whose time has come, in their order, each with its events."""
        for change in self.scalars(_DUE, {"world": self.world.id, "now": self.now}).all():
            self.delete(change)
            CHANGES[change.kind](self, change.subject_id, change.state, change.due)

    def change_later(self, kind: str, subject_id: int, state: str, due: float) -> None:
        """Change a row at a time, or now, if the time has come."""
        if due <= self.now:
            CHANGES[kind](self, subject_id, state, due)
        else:
            self.add(ChangeRow(world_id=self.world.id, kind=kind, subject_id=subject_id, state=state, due=due))

    def drop_changes(self, kind: str, subject_id: int) -> None:
        """Forget the changes to come of a row, which was changed otherwise."""
        self.flush()
        self._connection.execute(_DROP, {"kind": kind, "subject": subject_id})

    def fire(self, name: str, time: float, body: Mapping[str, Any]) -> None:
        """Store an event. Its body is written once, since its bytes are signed."""
        text = json.dumps({"event": name, **body}, ensure_ascii=False, separators=(",", ":"))
        if self._fired is None:
            self._fired = self.count(_EVENTS)
        number = int(time * 1000) << 80 | int.from_bytes(
            self.identifiers.token_bytes(10, "delivery", text, self._fired)
        )
        self._fired += 1
        delivery = "".join(_ULID[number >> shift & 31] for shift in range(125, -1, -5))
        row = {"world_id": self.world.id, "delivery_id": delivery, "name": name, "fired_at": time, "body": text}
        self._connection.execute(_ADD_EVENT, row)

    def record(
        self, what: WriteKind, client_user_id: str | None, body: Mapping[str, Any], about: str | None = None
    ) -> None:
        """Add an entry to the ledger. Its fingerprint is equal only for equal bodies, and reveals nothing."""
        fingerprint = self.world.database.seal.lookup_key("body", json.dumps(body, sort_keys=True))[:16]
        entry = {"clientUserId": client_user_id, "id": about, "fingerprint": fingerprint}
        self._connection.execute(_ADD_ENTRY, {"world_id": self.world.id, "what": what, "body": entry})

    def count(self, query: Select[int], **values: Any) -> int:
        """Return how many rows of this world there are, if ids depend on it, else 0."""
        if self.settings.seed is None:
            return 0
        return self._connection.scalar(query, {"world": self.world.id, **values}) or 0

    def lookup_key(self, text: str) -> str:
        """Return the keyed hash of a client user id, an order, a reference or a wallet in this world."""
        return self.world.database.seal.lookup_key(self.world.id, text)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class World:
    """What one API key opens: data, clock, faults and limits of calls that no other key sees."""

    name: str
    id: int
    database: Database
    settings: Settings
    identifiers: Identifiers
    faults: FaultInjector
    limits: CallLimits

    def call(self, work: Callable[[WorldSession], T], *, write: bool, wait: float | None = None) -> T:
        """Return the result of work in one transaction; what is due by the clock is settled before.

        wait: as of `Database.transaction`. Raises OperationalError, and does nothing, if it was not enough.
        """
        with self.database.transaction(write=write, wait=wait) as connection:
            session = WorldSession(self, connection)
            is_due = session.read_clock(locked=write)
            if write or not is_due:
                if is_due:
                    session.settle()
                result = work(session)
                session.flush()
                return result
        return self.call(work, write=True, wait=wait)  # it reads, but what is due has to be written first


class Worlds:
    """The worlds of a database, by the API key that opens each.

    keys: the API keys by the names of their worlds. Raises SetupError if the database was made with another clock.
    """

    def __init__(self, database: Database, settings: Settings, keys: Mapping[str, str]) -> None:
        self.database = database
        stored = database.sandbox_row(settings.clock)
        self.identity = stored.identity  # random even with a seed: it tells databases apart
        # Decisions are due at times of one clock; on another they would be due at once, or in months.
        if stored.clock != settings.clock:
            raise SetupError(f'clock: this database was made with clock="{stored.clock}"; use that, or another one.')
        self._by_id: dict[int, World] = {}
        self._by_key: dict[bytes, World] = {}
        for name, key in keys.items():
            # With a seed, the first world has the ids that a sandbox with one key has.
            seed = settings.seed if settings.seed is None or name == DEFAULT_WORLD else f"{settings.seed} {name}"
            faults, limits = FaultInjector(settings.faults, seed), CallLimits(settings)
            world_id = database.find_or_add_world(name)
            world = World(name, world_id, database, settings, Identifiers(seed), faults, limits)
            self._by_id[world_id] = self._by_key[key.encode()] = world

    def of_key(self, api_key: str) -> World | None:
        """Return the world that an API key opens, or None."""
        found = None
        given = api_key.encode()
        # Every key is compared, and whole: the time taken tells neither which key is nearest nor how much is right.
        for key, world in self._by_key.items():
            if secrets.compare_digest(given, key):
                found = world
        return found

    async def visit(
        self, step: Step, token: str, work: Callable[[WorldSession, PayerRow], T], *, write: bool
    ) -> T | None:
        """Return the result of work for the payer whose link of a step has this token; None if it is nobody's."""
        is_link = (PayerRow.kyc_page if step == "kyc" else PayerRow.agreement_page) == token

        def start(wait: float) -> T | None:
            with self.database.transaction(write=False, wait=wait) as connection:
                world = self._by_id.get(connection.scalar(select(PayerRow.world_id).where(is_link)) or 0)

            def call(session: WorldSession) -> T:
                return work(session, session.scalars(select(PayerRow).where(is_link)).one())

            return None if world is None else world.call(call, write=write, wait=wait)

        return await self.database.run(start, write=write)


async def get_world(request: Request) -> World:
    """Return the world of a call. Raises Problem (415) for a write that is not JSON."""
    if request.method in WRITE_METHODS:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != "application/json":
            raise Problem(415, "Content-Type must be application/json")
    world: World = request.state.world
    return world


WorldDep = Annotated[World, Depends(get_world)]
SessionDep = Annotated[WorldSession, Depends(get_world)]

# Documentation only, for the Authorize button of /docs: the middleware has checked the key already.
api_key_header = Security(APIKeyHeader(name="x-api-key", auto_error=False))


class WorldRouter(APIRouter):
    """Routes whose functions run in a transaction of the caller's world, if they take a `session`."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route; one for GET only reads."""
        if "session" in signature(endpoint).parameters:
            endpoint = _in_transaction(endpoint, write=list(options["methods"]) != ["GET"])
        super().add_api_route(path, endpoint, **options)

    def in_both_versions(self, method: str, path: str, *, operation_id: str, **options: Any) -> Callable[[T], T]:
        """Add a route under /v1, as specified, and under /v2, where newer public documents show it."""

        def add(function: T) -> T:
            for version, suffix in (("/v1", ""), ("/v2", "_v2")):
                operation = {"methods": [method], "operation_id": operation_id + suffix, **options}
                self.add_api_route(version + path, function, **operation)  # type: ignore[arg-type]  # any function
            return function

        return add


def _in_transaction(endpoint: Callable[..., T], *, write: bool) -> Callable[..., Any]:
    """Return a function for FastAPI, which gives it a world in place of the session."""

    @wraps(endpoint)
    async def run(session: World, **arguments: Any) -> T:
        def work(opened: WorldSession) -> T:
            return endpoint(session=opened, **arguments)

        return await session.database.run(lambda wait: session.call(work, write=write, wait=wait), write=write)

    run.__signature__ = signature(endpoint, eval_str=True)  # type: ignore[attr-defined]  # where FastAPI looks
    return run
