"""Encryption of the stored records, and the keys of a database."""

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

ENCRYPTION_KEY_VARIABLE = "PAYERKIT_SANDBOX_KEY"
API_KEY_VARIABLE = "PAYERKIT_API_KEY"


class RecordCipher:
    """Encrypts records with Fernet (AES-128-CBC and HMAC-SHA256), and derives the keys that find them."""

    def __init__(self, key: str) -> None:
        try:
            self._fernet = Fernet(key)
        except ValueError:
            raise SetupError(
                f"{ENCRYPTION_KEY_VARIABLE}: not a Fernet key; `payerkit sandbox --new-key` prints one."
            ) from None
        # A key of its own: one secret must not serve two algorithms.
        self._lookup_secret = hashlib.sha256(b"payerkit sandbox index" + key.encode()).digest()

    def encrypt(self, record: Mapping[str, Any]) -> bytes:
        """Return the record, encrypted."""
        return self._fernet.encrypt(json.dumps(record).encode())

    def decrypt(self, encrypted: bytes) -> dict[str, Any]:
        """Return the record. Raises SetupError if it was encrypted with another key."""
        try:
            record: dict[str, Any] = json.loads(self._fernet.decrypt(encrypted))
        except InvalidToken:
            raise SetupError(
                f"The database was encrypted with another key; set {ENCRYPTION_KEY_VARIABLE} to that key."
            ) from None
        return record

    def lookup_key(self, text: str) -> str:
        """Return a keyed hash by which a text is found: its encryption differs each time.

        A plain hash of an e-mail could be computed by anybody who guesses the e-mail; this one takes the key.
        """
        return hmac.new(self._lookup_secret, text.encode(), hashlib.sha256).hexdigest()


def new_encryption_key() -> str:
    """Return a new Fernet key."""
    return Fernet.generate_key().decode()


def new_api_key() -> str:
    """Return a new API key, recognizable as a sandbox's."""
    return f"sandbox_{secrets.token_urlsafe(24)}"


def load_encryption_key(database: Path | None, environment: Mapping[str, str]) -> str:
    """Return the key from the environment, or from the file beside a SQLite database, created with a new database.

    `database` is None for any other database. Raises SetupError if there is no key and none may be created.
    """
    if key := environment.get(ENCRYPTION_KEY_VARIABLE):
        return key
    if database is None:
        raise SetupError(
            f"Set {ENCRYPTION_KEY_VARIABLE} for this database; `payerkit sandbox --new-key` prints a new key."
        )
    file = key_file(database, "key")
    if database.exists() and not file.exists():  # a new key could not decrypt what is in it
        raise SetupError(
            f"{file.name} is missing: put it back beside {database.name}, or set {ENCRYPTION_KEY_VARIABLE}."
        )
    return _read_or_create(file, new_encryption_key())


def load_api_key(database: Path | None, environment: Mapping[str, str]) -> str | None:
    """Return the API key from the environment, or from the file beside a SQLite database, or None."""
    if key := environment.get(API_KEY_VARIABLE):
        return _check_key(key, API_KEY_VARIABLE)
    return None if database is None else _read_or_create(key_file(database, "api-key"), new_api_key())


def key_file(database: Path, kind: str) -> Path:
    """Return the path of a key beside a SQLite database."""
    return database.with_name(f"{database.name}.{kind}")


def _check_key(key: str, source: str) -> str:
    """Return the key, unless no header could carry it, or it is empty and would let everybody in."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(f"{source}: not a valid key; expected printable ASCII characters without spaces.")
    return key


def _read_or_create(file: Path, new_key: str) -> str:
    """Return the key in a file; create the file first if it is missing, readable by its owner only.

    Several services may start at once, and all must use the same key. So the file is written under another name, then
    linked: the link fails if another service was faster, and nobody reads a file that is half written.
    """
    if not file.exists():
        temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as opened:
                opened.write(new_key)
                opened.flush()
                os.fsync(descriptor)
            os.link(temporary, file)
        except FileExistsError:
            pass  # another service was faster: its key counts
        except OSError as error:
            raise SetupError(f"db: cannot write the key beside the database ({error.strerror}).") from None
        finally:
            temporary.unlink(missing_ok=True)
    return _check_key(file.read_text(encoding="utf-8").strip(), file.name)
