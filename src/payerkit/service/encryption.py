"""What is written to the database sealed, and the keys to it."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from payerkit.service.settings import SetupError

ENCRYPTION_KEY = "PAYERKIT_SANDBOX_KEY"
API_KEY = "PAYERKIT_API_KEY"


class RecordCipher:
    """Seals records with Fernet (AES-128-CBC and HMAC-SHA256), and makes keys to find them by."""

    def __init__(self, key: str) -> None:
        try:
            self._fernet = Fernet(key)
        except ValueError:
            raise SetupError(f"{ENCRYPTION_KEY}: not a Fernet key; `payerkit sandbox --new-key` prints one.") from None
        self._index_key = hashlib.sha256(b"payerkit sandbox index" + key.encode()).digest()

    def seal(self, record: Mapping[str, Any]) -> bytes:
        """Return the record so that only this key opens it."""
        return self._fernet.encrypt(json.dumps(record).encode())

    def open(self, sealed: bytes) -> dict[str, Any]:
        """Return a sealed record. Raises SetupError if it was sealed with another key."""
        try:
            record: dict[str, Any] = json.loads(self._fernet.decrypt(sealed))
        except InvalidToken:
            raise SetupError(f"The database was written with another key; set {ENCRYPTION_KEY} to that one.") from None
        return record

    def index(self, text: str) -> str:
        """Return a key under which a text can be found without being written."""
        return hmac.new(self._index_key, text.encode(), hashlib.sha256).hexdigest()


def new_encryption_key() -> str:
    """Return a fresh Fernet key."""
    return Fernet.generate_key().decode()


def new_api_key() -> str:
    """Return a fresh API key that says what it is for."""
    return f"sandbox_{secrets.token_urlsafe(24)}"


def encryption_key(database: Path | None, environment: Mapping[str, str]) -> str:
    """Return the key from the environment, else the one kept beside a SQLite file, made if the file is new.

    `database` is None for any other database. Raises SetupError where there is no key and none can be made.
    """
    if given := environment.get(ENCRYPTION_KEY):
        return given
    if database is None:
        raise SetupError(f"Set {ENCRYPTION_KEY} for this database; `payerkit sandbox --new-key` prints one.")
    kept = beside(database, "key")
    if database.exists() and not kept.exists():
        raise SetupError(f"{kept.name} is missing beside {database.name}; put it back, or set {ENCRYPTION_KEY}.")
    return _kept(kept, new_encryption_key())


def api_key(database: Path | None, environment: Mapping[str, str]) -> str | None:
    """Return the API key from the environment, else the one kept beside a SQLite file, else None."""
    if given := environment.get(API_KEY):
        return _checked(given, API_KEY)
    return None if database is None else _kept(beside(database, "api-key"), new_api_key())


def beside(database: Path, kind: str) -> Path:
    """Return the file that keeps a key beside a SQLite file."""
    return database.with_name(f"{database.name}.{kind}")


def _checked(key: str, place: str) -> str:
    """Return a key that can be used: an empty one would let everybody in."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(f"{place} holds no key.")
    return key


def _kept(file: Path, fresh: str) -> str:
    """Return the key that a file holds; make the file, for its owner only, if it is not there.

    It appears whole or not at all, since several may start at once.
    """
    if not file.exists():
        new = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
        try:
            _write(new, fresh)
            os.link(new, file)
        except FileExistsError:
            pass  # somebody else was faster; theirs counts
        except OSError as error:
            raise SetupError(f"db: cannot keep a key beside the database ({error.strerror}).") from None
        finally:
            new.unlink(missing_ok=True)
    return _checked(file.read_text(encoding="utf-8").strip(), file.name)


def _write(file: Path, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(descriptor)
