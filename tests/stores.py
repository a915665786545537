"""Worlds of a sandbox without a service around them."""

from __future__ import annotations

from pathlib import Path

from payerkit_sandbox.database import Database, open_database
from payerkit_sandbox.settings import DEFAULT_WORLD, Settings
from payerkit_sandbox.worlds import World, Worlds

API_KEY = "a key for tests of stores"


def open_worlds(
    db: str | Path | Database, settings: Settings | None = None, *names: str
) -> Worlds:
    """Return the worlds of a database, each with its name before API_KEY as its key; by
    default, the default one.
    """
    database = db if isinstance(db, Database) else open_database(db)
    keys = {name: f"{name} {API_KEY}" for name in names or (DEFAULT_WORLD,)}
    return Worlds(database, settings or Settings(), keys)


def open_world(db: str | Path | Database, settings: Settings | None = None) -> World:
    """Return the default world of a database; `world.database.close()` closes it."""
    return open_worlds(db, settings).by_key[f"{DEFAULT_WORLD} {API_KEY}"]
