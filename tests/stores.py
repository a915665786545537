"""Stores of a sandbox without a service around them."""

from __future__ import annotations

import base64
from pathlib import Path

from payerkit.service.api_keys import DEFAULT_WORLD
from payerkit.service.database import Database
from payerkit.service.database_opening import open_database
from payerkit.service.encryption import EncryptionKeys
from payerkit.service.settings import Settings
from payerkit.service.store import Store
from payerkit.service.worlds import Worlds

ENCRYPTION_KEY = base64.urlsafe_b64encode(b"a key for tests, of 32 bytes ...").decode()
API_KEY = "a key for tests of stores"


def open_worlds(db: str | Path | Database, settings: Settings | None = None, *names: str) -> Worlds:
    """Return the worlds of a database, each with its name before API_KEY as its key; by default, the default one."""
    database = db if isinstance(db, Database) else open_database(db, EncryptionKeys(ENCRYPTION_KEY))
    keys = {name: f"{name} {API_KEY}" for name in names or (DEFAULT_WORLD,)}
    return Worlds(database, settings or Settings(), keys)


def open_store(db: str | Path | Database, settings: Settings | None = None) -> Store:
    """Return the store of the default world of a database; `store.database.close()` closes it."""
    world = open_worlds(db, settings).of_key(f"{DEFAULT_WORLD} {API_KEY}")
    assert world is not None
    return world.store
