"""The worlds of a sandbox: what each API key sees, and nobody else."""

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
    """What one API key sees: its own data and clock, its own faults, its own limits of calls."""

    name: str
    store: Store
    faults: FaultInjector
    limits: CallLimits

    @property
    def state(self) -> dict[str, object]:
        """What the routes of a request find in its state."""
        return {"world": self, "store": self.store, "faults": self.faults, "limits": self.limits}


class Worlds:
    """The worlds of a database, by the API key that opens each.

    keys: the API keys by the names of their worlds. Raises SetupError if the database was made with another clock.
    """

    def __init__(self, database: Database, settings: Settings, keys: Mapping[str, str]) -> None:
        self._database = database
        # Random even with a seed: it tells databases apart.
        kept = database.keep(identity=Identifiers().uuid("service"), clock=settings.clock)
        self.identity = kept["identity"]
        # Decisions are due at times of one clock; on another they would be due at once, or in months.
        if (clock := kept["clock"]) != settings.clock:
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

    def ask_database(self) -> None:
        """Read something. Raises SQLAlchemyError if the database does not answer."""
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
        """Return the payer whose link of a step has this token, and the payer's world; None for any other token."""
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

    return database.retry_taken(attempt)
