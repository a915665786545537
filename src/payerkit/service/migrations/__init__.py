"""Upgrades of a database that an earlier version of payerkit made, with Alembic.

`versions` has a module for each change of the tables; `service.stored_rows` has the tables as they are today. A new
database is created from those and stamped with their version, so that Alembic is imported only for an upgrade.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from contextlib import ExitStack, closing
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, inspect, text

from payerkit.service.call_log import LOGGER
from payerkit.service.database_opening import BEFORE
from payerkit.service.encryption import EncryptionKeys
from payerkit.service.settings import SetupError
from payerkit.service.stored_rows import VERSION, VersionRow

_DIALECTS = {"sqlite", "postgresql"}
"""Databases that undo a change of their tables with its transaction: elsewhere, an interrupted one could lose data."""

_FIRST_TABLES = {"meta", "payers", "payment_details", "payments", "rates", "wallet"}
"""The tables that every database of 0.1.0 has."""

_SECOND_TABLE = "worlds"
"""A table that 0.1.0 did not have."""

_ALEMBIC = threading.Lock()
"""Alembic keeps its context in a module, so that two upgrades in one process would mix."""


def upgrade_tables(connection: Connection, version: str | None, keys: EncryptionKeys) -> None:
    """Upgrade a database's tables and rows to the current version, in the transaction of the connection.

    version: the one that it has; None for that of 0.1.0. Raises SetupError if it cannot be upgraded.
    """
    config = Config(attributes={"connection": connection, "keys": keys})
    config.set_main_option("script_location", f"{__name__.rpartition('.')[0]}:migrations")
    _check_version(connection, version, config)
    with ExitStack() as undoing:
        if connection.dialect.name == "sqlite":
            copy = _back_up(connection)
            undoing.callback(copy.unlink)
            LOGGER.warning("Upgrading the database; %s keeps a copy of it as it was.", copy.name)
        VersionRow.metadata.tables[VersionRow.__tablename__].create(connection, checkfirst=True)
        with _ALEMBIC:
            command.upgrade(config, "head")
        undoing.pop_all()


def _check_version(connection: Connection, version: str | None, config: Config) -> None:
    """Raise SetupError unless this version can be upgraded to the current one."""
    names = set(inspect(connection).get_table_names())
    if version is None and (not names >= _FIRST_TABLES or _SECOND_TABLE in names):
        raise SetupError("db: this database has tables that are not payerkit's; use an empty one.")
    if version is not None:
        try:
            ScriptDirectory.from_config(config).get_revisions(version)
        except CommandError:
            raise SetupError(
                f'db: the tables of this database have version "{version}", which this payerkit does not know; '
                f"update payerkit, or use another database."
            ) from None
    if connection.dialect.name not in _DIALECTS:
        raise SetupError(
            "db: this database was made by an earlier version of payerkit, and only SQLite and PostgreSQL can be "
            "upgraded; use an empty one."
        )


def _back_up(connection: Connection) -> Path:
    """Copy a SQLite database to a file beside it, readable by its owner only; return the file.

    The file is complete, or not there at all. Nothing is written meanwhile, since the connection has the lock.
    """
    file = Path(connection.execute(text("PRAGMA database_list")).one().file)
    copy = file.with_name(f"{file.name}{BEFORE}{VERSION}")
    unfinished = file.with_name(f"{copy.name}.{secrets.token_hex(4)}")
    try:
        unfinished.touch(mode=0o600, exist_ok=False)
        # Not through the connection: SQLite does not copy what it is about to change.
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(unfinished)) as target:
            source.backup(target)
        unfinished.replace(copy)
    except (OSError, sqlite3.Error) as error:
        unfinished.unlink(missing_ok=True)
        raise SetupError(f"db: cannot copy the database before its upgrade ({error}); nothing was changed.") from None
    return copy
