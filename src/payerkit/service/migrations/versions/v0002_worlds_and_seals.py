"""From the tables of 0.1.0 to rows that belong to a world, and to records that are sealed for their row.

0.1.0 encrypted each record with the encryption key, and did not encrypt payments. Now a data key encrypts all records.
All rows go to the world "default". Both links of a payer had the same token in 0.1.0, and keep it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from alembic import op
from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    String,
    Table,
    func,
    insert,
    select,
    text,
)

from payerkit.service.encryption import EncryptionKeys, RecordCipher, new_encryption_key
from payerkit.service.settings import SetupError

revision = "0002"
down_revision = "0001"

_OLD_TABLES = ("payment_details", "payers", "payments", "ledger", "rates", "wallet", "meta")
"""The tables in the order in which they can be dropped: those that refer to payers come before it."""

_BATCH = 500
"""How many rows are read at a time."""

_WORLD = 1


def _id(name: str = "id") -> Column[int]:
    return Column(name, Integer, primary_key=True)


def _text(name: str, length: int, **options: Any) -> Column[str]:
    return Column(name, String(length), **{"nullable": False, **options})


def _sealed() -> Column[bytes]:
    return Column("sealed", LargeBinary, nullable=False)


def _world(**options: Any) -> Column[int]:
    return Column("world_id", Integer, ForeignKey("worlds.id"), **{"nullable": False, **options})


def _created() -> Column[datetime]:
    return Column("created_at", DateTime(timezone=True))


_TABLES = MetaData()
_META = Table("meta", _TABLES, _text("name", 40, primary_key=True), _text("value", 1000), _created())
_WORLDS = Table(
    "worlds",
    _TABLES,
    _id(),
    _text("name", 40, unique=True),
    Column("advanced", Double, nullable=False),
    _created(),
)
_PAYERS = Table(
    "payers",
    _TABLES,
    _id(),
    _world(index=True),
    _text("key", 64, unique=True),
    _text("user_id", 36, unique=True),
    _sealed(),
    _text("kyc", 40),
    _text("kyc_following", 40, nullable=True),
    Column("kyc_due", Double),
    _text("agreement", 40),
    _text("kyc_page", 64, unique=True),
    _text("agreement_page", 64, unique=True),
    _created(),
)
_DETAILS = Table(
    "payment_details",
    _TABLES,
    _id(),
    _world(index=True),
    _text("detail_id", 36, unique=True),
    Column("payer_id", Integer, ForeignKey("payers.id"), nullable=False, index=True),
    _sealed(),
    _text("state", 40),
    _text("following", 40, nullable=True),
    Column("due", Double),
    _created(),
)
_PAYMENTS = Table(
    "payments",
    _TABLES,
    _id(),
    _world(index=True),
    _text("request_id", 66, unique=True),
    _text("key", 64, index=True),
    _sealed(),
    _created(),
)
_LEDGER = Table(
    "ledger",
    _TABLES,
    _id("number"),
    _world(index=True),
    _text("entry", 36, unique=True),
    _sealed(),
    _created(),
)
_RATES = Table(
    "rates",
    _TABLES,
    _world(primary_key=True),
    _text("currency", 80, primary_key=True),
    _text("usd", 80),
    _created(),
)
_WALLET = Table(
    "wallet",
    _TABLES,
    _world(primary_key=True),
    _text("currency", 80, primary_key=True),
    _text("balance", 80),
    _text("allowance", 80),
    _created(),
)


def upgrade() -> None:
    """Put the old tables aside, create the new ones, and write each row anew."""
    connection, keys = op.get_bind(), op.get_context().config.attributes["keys"]  # type: ignore[union-attr]  # it has one
    if connection.dialect.name == "sqlite":  # payments were not encrypted: nothing of them may stay in the file
        connection.execute(text("PRAGMA secure_delete = ON"))
    for name in _OLD_TABLES:
        # Copies and no renaming: indexes, constraints and sequences would keep the names that the new ones need.
        connection.execute(text(f"CREATE TEMPORARY TABLE old_{name} AS SELECT * FROM {name}"))  # noqa: S608 - see above
        connection.execute(text(f"DROP TABLE {name}"))
    _TABLES.create_all(connection, checkfirst=False)
    _Rewriter(connection, keys).run()
    for name in _OLD_TABLES:
        connection.execute(text(f"DROP TABLE old_{name}"))


class _Rewriter:
    """Writes the rows of 0.1.0 anew: sealed with a new data key, and found by its lookup keys."""

    def __init__(self, connection: Connection, keys: EncryptionKeys) -> None:
        self._connection = connection
        self._keys = keys
        self._data_key = new_encryption_key()
        self._cipher = RecordCipher(self._data_key)
        self._fingerprints: dict[str, str] = {}
        for is_completed in (True, False):
            self._remember_fingerprints({"agreementCompleted": is_completed})

    def run(self) -> None:
        """Write all rows."""
        self._write_meta()
        steps: list[tuple[Table, Callable[[Row[Any]], dict[str, Any]]]] = [
            (_PAYERS, self._payer),
            (_DETAILS, self._detail),
            (_PAYMENTS, self._payment),
            (_LEDGER, self._entry),
            (_RATES, Row._asdict),
            (_WALLET, Row._asdict),
        ]
        for table, rewrite in steps:
            for rows in self._old_rows(table):
                new = [{"world_id": _WORLD, **rewrite(row)} for row in rows]
                self._connection.execute(insert(table), new)
            self._continue_numbers(table)

    def _old_rows(self, table: Table) -> Iterator[Any]:
        """Yield the old rows of a table in their order, some at a time."""
        query = text(f"SELECT * FROM old_{table.name} ORDER BY 1")  # noqa: S608 - the names stand above
        with self._connection.execute(query, execution_options={"yield_per": _BATCH}) as rows:
            yield from rows.partitions()

    def _continue_numbers(self, table: Table) -> None:
        """Let new rows be numbered after the old ones; SQLite does so by itself."""
        number, *others = table.primary_key
        if self._connection.dialect.name == "postgresql" and not others:
            sequence = func.pg_get_serial_sequence(table.name, number.name)
            self._connection.execute(select(func.setval(sequence, func.coalesce(func.max(number), 0) + 1, False)))

    def _write_meta(self) -> None:
        """Write the values about the database, and the world."""
        old = {row.name: row.value for row in self._connection.execute(text("SELECT * FROM old_meta"))}
        known = {
            name: self._open("meta", name, old[name])[name] for name in ("identity", "clock", "api_key") if name in old
        }
        if "api_key" in known:
            known["api_key"] = self._cipher.seal("meta api_key", {"api_key": known["api_key"]}).decode()
        known["data_key"] = self._keys.wrap(self._data_key)
        self._connection.execute(insert(_META), [{"name": name, "value": value} for name, value in known.items()])
        world = {"name": "default", "advanced": float(old.get("advanced", 0)), "created_at": datetime.now(UTC)}
        self._connection.execute(insert(_WORLDS), world)

    def _payer(self, row: Row[Any]) -> dict[str, Any]:
        body = self._open("payers", row.id, row.sealed)
        self._remember_fingerprints(body)
        key = self._cipher.lookup_key(_WORLD, body["clientUserId"])
        columns = row._asdict()
        page = columns.pop("page")
        sealed = self._cipher.seal(f"payer {key}", body)
        return {**columns, "key": key, "sealed": sealed, "kyc_page": page, "agreement_page": page}

    def _detail(self, row: Row[Any]) -> dict[str, Any]:
        body = self._open("payment_details", row.id, row.sealed)
        self._remember_fingerprints(body)
        return {**row._asdict(), "sealed": self._cipher.seal(f"payment_detail {row.detail_id}", body)}

    def _payment(self, row: Row[Any]) -> dict[str, Any]:
        columns = row._asdict()
        order = columns.pop("order")
        sealed = self._cipher.seal(f"payment {row.request_id}", {"order": order})
        return {**columns, "key": self._cipher.lookup_key(_WORLD, order), "sealed": sealed}

    def _entry(self, row: Row[Any]) -> dict[str, Any]:
        record = self._open("ledger", row.number, row.sealed)
        # If a payer was changed, only the last body is stored; the fingerprints of the earlier ones stay as they are.
        record["fingerprint"] = self._fingerprints.get(record["fingerprint"], record["fingerprint"])
        entry = str(uuid.uuid4())
        return {"number": row.number, "entry": entry, "sealed": self._cipher.seal(f"ledger {entry}", record)}

    def _remember_fingerprints(self, body: Mapping[str, Any]) -> None:
        """Map a body's old fingerprints to its new one, so that the ledger still tells which bodies are equal."""
        encoded = json.dumps(body, sort_keys=True)
        new = self._cipher.lookup_key("body", encoded)[:16]
        for key in self._keys.keys:  # one of them encrypted everything
            secret = hashlib.sha256(b"payerkit sandbox index" + key.encode()).digest()
            old = hmac.new(secret, f"body {encoded}".encode(), hashlib.sha256).hexdigest()[:16]
            self._fingerprints[old] = new

    def _open(self, table: str, row: object, sealed: str | bytes) -> dict[str, Any]:
        """Return a record of 0.1.0. Raises SetupError if it was encrypted with none of the keys, or is damaged."""
        try:
            opened = self._keys.unwrap(sealed if isinstance(sealed, str) else sealed.decode("latin-1"))
        except SetupError:
            if table == "meta":
                raise
            raise SetupError(
                f"db: this database cannot be upgraded, since row {row} of {table} is damaged; restore a backup, or "
                f"delete the row."
            ) from None
        return dict(json.loads(opened))
