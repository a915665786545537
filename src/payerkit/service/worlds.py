"""The worlds of a sandbox: each API key opens one, and sees no other."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import insert, select

from payerkit.service.api_keys import DEFAULT_WORLD
from payerkit.service.call_limits import CallLimits
from payerkit.service.database import Database
from payerkit.service.faults import FaultInjector
from payerkit.service.identifiers import Identifiers
from payerkit.service.settings import Settings, SetupError
from payerkit.service.store import Step, Store, StoredPayer, find_world_of_page
from payerkit.service.stored_rows import WorldRow


@dataclass(frozen=True, slots=True)
class World:
    """What one API key opens: data, clock, faults and limits of calls that no other key sees."""

    name: str
    store: Store
    faults: FaultInjector
    limits: CallLimits

    @property
    def state(self) -> dict[str, object]:
        """The state of a request in this world, from which the routes read."""
        return {"world": self, "store": self.store, "faults": self.faults, "limits": self.limits}


class Worlds:
    """The worlds of a database, by the API key that opens each.

    keys: the API keys by the names of their worlds. Raises SetupError if the database was made with another clock.
    """

    def __init__(self, database: Database, settings: Settings, keys: Mapping[str, str]) -> None:
        self._database = database
        # Random even with a seed: it tells databases apart.
        stored = database.get_or_add(identity=Identifiers().uuid("service"), clock=settings.clock)
        self.identity = stored["identity"]
        # Decisions are due at times of one clock; on another they would be due at once, or in months.
        if (clock := stored["clock"]) != settings.clock:
            raise SetupError(f'clock: this database was made with clock="{clock}"; use that, or another database.')
        self._by_id = {}
        self._by_key = {}
        for name, key in keys.items():
            world_id = _find_or_add(database, name)
            # With a seed, the first world has the ids that a sandbox with one key has.
            seed = settings.seed if settings.seed is None or name == DEFAULT_WORLD else f"{settings.seed} {name}"
            store = Store(database, world_id, settings, Identifiers(seed))
            world = World(name, store, FaultInjector(settings.faults, seed), CallLimits(settings))
            self._by_id[world_id] = self._by_key[key.encode()] = world

    def ping(self) -> None:
        """Read a row. Raises SQLAlchemyError if the database does not respond."""
        with self._database.read() as connection:
            connection.execute(select(WorldRow.id).limit(1)).all()

    def of_key(self, api_key: str) -> World | None:
        """Return the world that an API key opens, or None."""
        found = None
        # Every key is compared, and whole: the time taken tells neither which key is nearest nor how much is right.
        for key, world in self._by_key.items():
            if secrets.compare_digest(api_key.encode(), key):
                found = world
        return found

    def of_page(self, step: Step, token: str) -> tuple[World, StoredPayer] | None:
        """Return the world and the payer to whom a step's link with this token belongs, or None."""
        world_id = find_world_of_page(self._database, step, token)
        world = self._by_id.get(world_id) if world_id is not None else None
        payer = world.store.find_page(step, token) if world else None
        return (world, payer) if world and payer else None


def _find_or_add(database: Database, name: str) -> int:
    """Return the id of a world; add the world if it is new."""

    def attempt() -> int:
        with database.read() as connection:
            found = connection.scalar(select(WorldRow.id).where(WorldRow.name == name))
        if found is None:
            with database.write() as connection:
                found = connection.scalar(insert(WorldRow).values(name=name).returning(WorldRow.id))
        return int(found or 0)

    return database.retry_conflicts(attempt)
