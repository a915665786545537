"""Encryption of the stored records, and the keys of a database."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from payerkit.service.settings import SetupError

ENCRYPTION_KEY_VARIABLE = "PAYERKIT_SANDBOX_ENCRYPTION_KEY"
"""One Fernet key, or several with commas: the first encrypts, the others still decrypt, until they are left out."""

OLD_ENCRYPTION_KEY_VARIABLE = "PAYERKIT_SANDBOX_KEY"
"""The name of that variable in 0.1.0."""

API_KEY_VARIABLE = "PAYERKIT_SANDBOX_API_KEY"
"""The API key of a sandbox, or several with the names of their worlds: alice:KEY,bob:KEY."""

DEFAULT_WORLD = "default"
"""The world of a key without a name."""

_MIN_LENGTH = 16
"""The length from which an API key cannot be guessed by trying, which other machines could."""


class EncryptionKeys:
    """The keys that a person keeps. They encrypt nothing but the data key of each database, which is kept in it.

    So a key is replaced by encrypting one value anew, and not every record. Raises SetupError for an invalid key.
    """

    def __init__(self, *keys: str) -> None:
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError:
            raise SetupError(
                f"{ENCRYPTION_KEY_VARIABLE}: not a Fernet key; `payerkit sandbox --new-key` prints one."
            ) from None
        self.keys = keys

    def wrap(self, data_key: str) -> str:
        """Return a data key, encrypted with the first key."""
        return self._fernet.encrypt(data_key.encode()).decode()

    def unwrap(self, wrapped: str) -> str:
        """Return the data key. Raises SetupError if it was encrypted with none of the keys."""
        try:
            return self._fernet.decrypt(wrapped.encode()).decode()
        except InvalidToken:
            raise SetupError(
                f"The database was encrypted with another key; set {ENCRYPTION_KEY_VARIABLE} to that key."
            ) from None


class DamagedRecord(Exception):  # noqa: N818 - what it says of the record
    """A stored record cannot be decrypted, or belongs to another row."""


class RecordCipher:
    """Encrypts records with Fernet (AES-128-CBC and HMAC-SHA256), and derives the keys that find them."""

    def __init__(self, data_key: str) -> None:
        self._fernet = Fernet(data_key)
        # A key of its own: one secret must not serve two algorithms.
        self._lookup_secret = hashlib.sha256(b"payerkit sandbox index" + data_key.encode()).digest()

    def seal(self, row: str, record: Mapping[str, Any]) -> bytes:
        """Return a record, encrypted together with the name of its row: moved to another row, it is not accepted."""
        return self._fernet.encrypt(json.dumps([row, record]).encode())

    def unseal(self, row: str, sealed: bytes) -> dict[str, Any]:
        """Return the record of a row. Raises DamagedRecord if it was changed, or sealed for another row."""
        try:
            name, record = json.loads(self._fernet.decrypt(sealed))
        except InvalidToken:
            raise DamagedRecord(row.partition(" ")[0]) from None
        if name != row:
            raise DamagedRecord(row.partition(" ")[0])
        return dict(record)

    def lookup_key(self, *parts: object) -> str:
        """Return a keyed hash by which something is found: its encryption differs each time.

        A plain hash of an e-mail could be computed by anybody who guesses the e-mail; this one takes the key.
        """
        return hmac.new(self._lookup_secret, json.dumps(parts).encode(), hashlib.sha256).hexdigest()


def new_encryption_key() -> str:
    """Return a new Fernet key."""
    return Fernet.generate_key().decode()


def new_api_key() -> str:
    """Return a new API key, recognizable as a sandbox's."""
    return f"sandbox_{secrets.token_urlsafe(24)}"


def load_encryption_keys(database: Path | None, environment: Mapping[str, str]) -> EncryptionKeys:
    """Return the keys from the environment, or from the file beside a SQLite database, created with a new database.

    `database` is None for any other database. Raises SetupError if there is no key and none may be created.
    """
    if given := environment.get(ENCRYPTION_KEY_VARIABLE):
        return EncryptionKeys(*(key.strip() for key in given.split(",")))
    if old := environment.get(OLD_ENCRYPTION_KEY_VARIABLE):
        message = f"{OLD_ENCRYPTION_KEY_VARIABLE} is now called {ENCRYPTION_KEY_VARIABLE}: rename the variable."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return EncryptionKeys(old)
    if database is None:
        raise SetupError(
            f"Set {ENCRYPTION_KEY_VARIABLE} for this database; `payerkit sandbox --new-key` prints a new key."
        )
    file = key_file(database, "key")
    if database.exists() and not file.exists():  # a new key could not decrypt what is in it
        raise SetupError(
            f"{file.name} is missing: put it back beside {database.name}, or set {ENCRYPTION_KEY_VARIABLE}."
        )
    return EncryptionKeys(_read_or_create(file, new_encryption_key()))


def load_api_keys(database: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the API keys by the names of their worlds: from the environment, or the file beside a SQLite database.

    Without a key in the environment, there is none for any other database. Raises SetupError for an invalid key.
    """
    if given := environment.get(API_KEY_VARIABLE):
        return _parse_api_keys(given)
    return {} if database is None else {DEFAULT_WORLD: _read_or_create(key_file(database, "api-key"), new_api_key())}


def _parse_api_keys(text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for part in text.split(","):
        name, _, key = part.strip().rpartition(":")
        if (name or DEFAULT_WORLD) in keys:
            raise SetupError(f"{API_KEY_VARIABLE}: two keys for the world {name or DEFAULT_WORLD}; give each a name.")
        keys[name or DEFAULT_WORLD] = key
    return check_api_keys(keys, API_KEY_VARIABLE)


def check_api_keys(keys: Mapping[str, str], source: str) -> dict[str, str]:
    """Return API keys by the names of their worlds. Raises SetupError for a name or a key that cannot be one."""
    for name, key in keys.items():
        if not re.fullmatch(r"[a-z0-9-]{1,40}", name):
            raise SetupError(f"{source}: the name of a world has small letters, digits and hyphens, as in alice:KEY.")
        _check_key(key, source)
    if len(set(keys.values())) < len(keys):
        raise SetupError(f"{source}: two worlds have one key; give each its own.")
    return dict(keys)


def check_key_lengths(keys: Mapping[str, str]) -> None:
    """Raise SetupError for an API key that is too short for a sandbox that other machines reach."""
    for name, key in keys.items():
        if len(key) < _MIN_LENGTH:
            raise SetupError(
                f"{API_KEY_VARIABLE}: the key of the world {name} is too short for a sandbox that other machines can "
                f"reach; it needs at least {_MIN_LENGTH} characters."
            )


def key_file(database: Path, kind: str) -> Path:
    """Return the path of a key beside a SQLite database."""
    return database.with_name(f"{database.name}.{kind}")


def _check_key(key: str, source: str) -> str:
    """Return the key, unless no header could carry it, or it is empty and would let everybody in."""
    if not re.fullmatch(r"[!-+\-.-9;-~]+", key):  # printable ASCII but for the signs between keys
        message = "not a valid key; expected printable ASCII characters, without spaces, commas or colons"
        raise SetupError(f"{source}: {message}.")
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
