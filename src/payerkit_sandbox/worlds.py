"""Worlds, each opened by one API key. A call is one transaction, which begins with the
changes that are due.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from payerkit_sandbox.database import Database, explained_start, take_turn
from payerkit_sandbox.failures import HttpError, SetupError
from payerkit_sandbox.faults import FaultInjector
from payerkit_sandbox.models import Base, ChangeRow, SandboxRow, WorldRow
from payerkit_sandbox.settings import DEFAULT_WORLD, Settings

START = 1_767_225_600.0
"""2026-01-01 00:00 UTC: where a manual clock starts."""

CHANGES: dict[
    str, tuple[type[Base], Callable[[WorldSession, Any, str, float], None]]
] = {}
"""The function that makes a due change, by its kind: it takes a row of the table, a
state and a time.
"""


@dataclass(frozen=True, slots=True)
class Identifiers:
    """Creates ids. With a seed, the same writes get the same ids.

    `subject` says what an id is for: its kind, its owner and, where there may be
    several, its ordinal. With one counter for all of them, the order in which calls
    arrive would change every id.
    """

    seed: int | str | None = None

    def uuid(self, *subject: object) -> str:
        """Return a UUID (version 4)."""
        return str(uuid.UUID(bytes=self.token_bytes(16, *subject), version=4))

    def token_bytes(self, size: int, *subject: object) -> bytes:
        """Return random bytes or, with a seed, bytes that depend on the seed and the
        subject alone.
        """
        if self.seed is None:
            return secrets.token_bytes(size)
        text = repr((str(self.seed), *subject))
        return hashlib.blake2b(text.encode(), digest_size=size).digest()


class WorldSession(Session):
    """The transaction of one call in a world.

    row: that of the world; one that writes locks it, so that no other call writes there
    until it ends. now: the time of the world's clock when the call began.
    """

    row: WorldRow
    now: float

    def __init__(self, world: World, *, write: bool) -> None:
        database = world.database
        super().__init__(database.writing if write else database.engine)
        self.world = world
        self.settings = world.settings
        self.identifiers = world.identifiers

    def start(self, *, write: bool) -> None:
        """Read the row of the world, and its clock."""
        self.row = self.get_one(WorldRow, self.world.id, with_for_update=write)
        start = START
        if self.settings.clock == "wall":
            start = time.time()
        self.now = start + self.row.advanced

    def has_due(self) -> bool:
        """Return True if the time of a change has come."""
        due = select(ChangeRow.id).where(self._is_due()).limit(1)
        return self.scalar(due) is not None

    def _is_due(self) -> ColumnElement[bool]:
        return (ChangeRow.world_id == self.world.id) & (ChangeRow.due <= self.now)

    def settle(self) -> None:
        """Make the changes whose time has come, in their order, each with its
        events.
        """
        due = select(ChangeRow).where(self._is_due())
        changes = self.scalars(due.order_by(ChangeRow.due, ChangeRow.id)).all()
        self.execute(delete(ChangeRow).where(self._is_due()))
        for change in changes:
            self._make(change.kind, change.subject_id, change.state, change.due)

    def change_later(self, kind: str, subject_id: int, state: str, due: float) -> None:
        """Change a row at a time, or now, if the time has come."""
        if due <= self.now:
            self._make(kind, subject_id, state, due)
            return
        self.add(
            ChangeRow(
                world_id=self.world.id,
                kind=kind,
                subject_id=subject_id,
                state=state,
                due=due,
            )
        )

    def _make(self, kind: str, subject_id: int, state: str, due: float) -> None:
        table, change = CHANGES[kind]
        change(self, self.get_one(table, subject_id), state, due)

    def drop_changes(self, kind: str, subject_id: int) -> None:
        """Forget the changes to come of a row, which was changed otherwise."""
        self.execute(
            delete(ChangeRow).where(
                ChangeRow.kind == kind, ChangeRow.subject_id == subject_id
            )
        )

    def ordinal(self, table: type[Base], **values: Any) -> int:
        """Return how many rows of this world have some values, if ids depend on it,
        else 0.
        """
        if self.settings.seed is None:
            return 0
        rows = select(func.count()).select_from(table)
        return self.scalar(rows.filter_by(world_id=self.world.id, **values)) or 0


@dataclass(frozen=True, slots=True)
class World:
    """The data, clock, faults and limits that one API key opens, and no other key
    sees.
    """

    id: int
    database: Database
    settings: Settings
    identifiers: Identifiers
    faults: FaultInjector
    limits: CallLimits

    @contextmanager
    def begin(self, *, write: bool) -> Iterator[WorldSession]:
        """Give a session in a transaction, and commit it at the end. What is due by the
        clock is done first, for which a call that only reads has to write.
        """
        if not write:
            with WorldSession(self, write=False) as session:
                session.start(write=False)
                write = session.has_due()
        with WorldSession(self, write=write) as session:
            session.start(write=write)
            if write:
                session.settle()
            yield session
            self.database.commit(session)


class Worlds:
    """The worlds of a database: by the API key that opens each, and by the id of the
    row.

    keys: the API keys by the names of their worlds; by default, the one in the
    database. A world whose key is not among them is not opened. Raises SetupError if
    the database was made with another clock.
    """

    def __init__(
        self, database: Database, settings: Settings, keys: Mapping[str, str]
    ) -> None:
        self.database = database
        self.settings = settings
        with explained_start(), Session(database.writing) as session, session.begin():
            # Services that start come one by one.
            stored = session.scalars(select(SandboxRow).with_for_update()).one()
            stored.clock = stored.clock or settings.clock
            # Decisions are due at times of one clock; on another they would be due at
            # once, or in months.
            if stored.clock != settings.clock:
                raise SetupError(
                    f'clock: this database was made with clock="{stored.clock}"; use'
                    " that, or another one."
                )
            self.identity = stored.identity
            self.keys = keys or {DEFAULT_WORLD: stored.api_key}
            known = {row.name: row for row in session.scalars(select(WorldRow))}
            rows = [known.get(name) or WorldRow(name=name) for name in self.keys]
            session.add_all(rows)
            session.flush()
            worlds = [self._world(row.id, row.name) for row in rows]
        self.by_id = {world.id: world for world in worlds}
        self.by_key = dict(zip(self.keys.values(), worlds, strict=True))

    def _world(self, world_id: int, name: str) -> World:
        seed = self.settings.seed
        # With a seed, the first world has the ids that a sandbox with one key has.
        if seed is not None and name != DEFAULT_WORLD:
            seed = f"{seed} {name}"
        identifiers = Identifiers(seed)
        return World(
            world_id,
            self.database,
            self.settings,
            identifiers,
            FaultInjector(self.settings.faults, identifiers.token_bytes(32, "faults")),
            CallLimits(self.settings),
        )


# Limits on how often the API may be called, as on the live service

LIVE_RATE = 5
"""Calls a second that the live service allows by default, by the operator's
documentation.
"""


class CallLimits:
    """Counts the calls of the API. Time is real, whatever the service's clock is, since
    calls take real time.
    """

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._live_like = settings.live_like
        self._clock = clock
        self._credit = float(LIVE_RATE)
        self._credited = -math.inf

    def count(self) -> None:
        """Count a call: five at once, then five a second. Raises HttpError (429)
        without the time to wait.
        """
        if not self._live_like:
            return
        now = self._clock()
        self._credit = min(LIVE_RATE, self._credit + (now - self._credited) * LIVE_RATE)
        self._credited = now
        if self._credit < 1:
            raise HttpError(429, "Too Many Requests")
        self._credit -= 1


# What routes depend on

Turn = Depends(take_turn, scope="function")


def get_session(
    request: Request, _turn: Annotated[None, Turn]
) -> Iterator[WorldSession]:
    """Give a session in the world of the API key; it is committed before the response
    is sent.
    """
    world: World = request.state.world
    with world.begin(write=request.method != "GET") as session:
        yield session


SessionDep = Annotated[WorldSession, Depends(get_session, scope="function")]
