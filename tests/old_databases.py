"""Databases of 0.1.0, as tests/remake_old_databases.py made them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine

FOLDER = Path(__file__).parent / "data" / "old_databases"


def backend(db: str | Path) -> str:
    """Return the name under which the databases of one kind are stored."""
    return "sqlite" if isinstance(db, Path) else "postgresql"


def load_old_database(db: str | Path, kind: str) -> None:
    """Fill an empty database with what 0.1.0 left: the "first" kind of its databases, or the "last"."""
    sql = (FOLDER / f"{kind}.{backend(db)}.sql").read_text("utf-8")
    if isinstance(db, Path):
        with closing(sqlite3.connect(db)) as connection:
            connection.executescript(sql)
        return
    engine = create_engine(db)
    with closing(engine.raw_connection()) as connection:
        connection.cursor().execute(sql)
        connection.commit()
    engine.dispose()


def recording_of(db: str | Path, kind: str) -> Any:
    """Return what 0.1.0 responded about a database: api_key, identity, links, and `read`, the responses by path."""
    return json.loads((FOLDER / f"{kind}.{backend(db)}.json").read_text("utf-8"))
