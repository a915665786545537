"""Worlds of a sandbox without a service around them."""

from __future__ import annotations

import base64
from pathlib import Path

from payerkit.service.database import Database, open_database
from payerkit.service.keys import DEFAULT_WORLD, Seal, load_seal
from payerkit.service.settings import Settings
from payerkit.service.world import World, Worlds

ENCRYPTION_KEY = base64.urlsafe_b64encode(b"a key for tests, of 32 bytes ...").decode()
API_KEY = "a key for tests of stores"


def open_worlds(db: str | Path | Database, settings: Settings | None = None, *names: str) -> Worlds:
    """Return the worlds of a database, each with its name before API_KEY as its key; by default, the default one."""
    database = db if isinstance(db, Database) else open_database(db, Seal(ENCRYPTION_KEY))
    keys = {name: f"{name} {API_KEY}" for name in names or (DEFAULT_WORLD,)}
    return Worlds(database, settings or Settings(), keys)


def open_world(db: str | Path | Database, settings: Settings | None = None, *, key_file: bool = False) -> World:
    """Return the default world of a database; `world.database.close()` closes it.

    key_file: True for the key that a sandbox finds beside the file, too.
    """
    if key_file:
        assert isinstance(db, Path)
        db = open_database(db, load_seal(db, {}))
    world = open_worlds(db, settings).of_key(f"{DEFAULT_WORLD} {API_KEY}")
    assert world is not None
    return world
