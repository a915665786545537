"""Upgrades of a database that an earlier version of payerkit made, with Alembic.

`versions` has a module for each change of the tables; `service.stored_rows` has the tables as they are today. A new
database is created from those and stamped with their version, so that Alembic is imported only for an upgrade.
"""

from __future__ import annotations

import threading

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, inspect

from payerkit.service.encryption import EncryptionKeys
from payerkit.service.settings import SetupError
from payerkit.service.stored_rows import VersionRow

_DIALECTS = {"sqlite", "postgresql"}
"""Databases that undo a change of their tables with its transaction: elsewhere, an interrupted one could lose data."""

_FIRST_TABLES = {"meta", "payers", "payment_details", "payments", "rates", "wallet"}
"""The tables that every database of 0.1.0 has."""

_ALEMBIC = threading.Lock()
"""Alembic hands its connection on in a module: two threads would take each other's."""


def upgrade_tables(connection: Connection, version: str | None, keys: EncryptionKeys) -> None:
    """Upgrade a database's tables and rows to those of today, in the transaction of the connection.

    version: the one it has; None for that of 0.1.0. Raises SetupError if it cannot be upgraded.
    """
    config = Config(attributes={"connection": connection, "keys": keys})
    config.set_main_option("script_location", f"{__name__.rpartition('.')[0]}:migrations")
    _check_version(connection, version, config)
    VersionRow.metadata.tables[VersionRow.__tablename__].create(connection, checkfirst=True)
    with _ALEMBIC:
        command.upgrade(config, "head")


def _check_version(connection: Connection, version: str | None, config: Config) -> None:
    """Raise SetupError unless there is a way from this version to today's."""
    if version is None and not set(inspect(connection).get_table_names()) >= _FIRST_TABLES:
        raise SetupError("db: this database has tables of another program; use an empty one.")
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
