"""Encryption of the stored records.

Each database has a data key of its own, which encrypts its records. The encryption keys, which a person keeps, encrypt
the data key: so an encryption key is replaced by encrypting one value anew, and not every record.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from payerkit.service.key_files import key_file, read_or_create_key
from payerkit.service.settings import SetupError

ENCRYPTION_KEY_VARIABLE = "PAYERKIT_SANDBOX_ENCRYPTION_KEY"
"""One encryption key, or several separated by commas: the first encrypts the data key, all of them decrypt it."""

OLD_ENCRYPTION_KEY_VARIABLE = "PAYERKIT_SANDBOX_KEY"
"""The name of that variable in 0.1.0."""


class EncryptionKeys:
    """The encryption keys of a database. source: where they are from, for the SetupError that an invalid key raises."""

    def __init__(self, *keys: str, source: str = ENCRYPTION_KEY_VARIABLE) -> None:
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError:
            raise SetupError(f"{source}: not a Fernet key; `payerkit sandbox --new-key` prints one.") from None
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
    """A stored record cannot be decrypted, or was encrypted for another row."""


class RecordCipher:
    """Encrypts records with the data key, by Fernet (AES-128-CBC and HMAC-SHA256), and derives their lookup keys."""

    def __init__(self, data_key: str) -> None:
        self._fernet = Fernet(data_key)
        # A key of its own: one secret must not serve two algorithms.
        self._lookup_secret = hashlib.sha256(b"payerkit sandbox index" + data_key.encode()).digest()

    def seal(self, row: str, record: Mapping[str, Any]) -> bytes:
        """Return a record, encrypted together with the name of its row, so that it is valid in no other row."""
        return self._fernet.encrypt(json.dumps([row, record]).encode())

    def unseal(self, row: str, sealed: bytes) -> dict[str, Any]:
        """Return the record of a row. Raises DamagedRecord if it was changed, or encrypted for another row."""
        try:
            name, record = json.loads(self._fernet.decrypt(sealed))
        except InvalidToken:
            raise DamagedRecord(row.partition(" ")[0]) from None
        if name != row:
            raise DamagedRecord(row.partition(" ")[0])
        return dict(record)

    def lookup_key(self, *parts: object) -> str:
        """Return a keyed hash by which a record is found, since its encryption differs each time.

        A plain hash of an e-mail address could be computed by anybody who guesses the address; this one needs the key.
        """
        return hmac.new(self._lookup_secret, json.dumps(parts).encode(), hashlib.sha256).hexdigest()


def new_encryption_key() -> str:
    """Return a new Fernet key."""
    return Fernet.generate_key().decode()


def load_encryption_keys(database: Path | None, environment: Mapping[str, str]) -> EncryptionKeys:
    """Return the keys from the environment, or from the file beside a SQLite database, created with a new database.

    database: None for any other database. Raises SetupError if there is no key and none may be created.
    """
    if given := environment.get(ENCRYPTION_KEY_VARIABLE):
        return EncryptionKeys(*(key.strip() for key in given.split(",")))
    if old := environment.get(OLD_ENCRYPTION_KEY_VARIABLE):
        message = f"{OLD_ENCRYPTION_KEY_VARIABLE} is now called {ENCRYPTION_KEY_VARIABLE}: rename the variable."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return EncryptionKeys(old, source=OLD_ENCRYPTION_KEY_VARIABLE)
    if database is None:
        raise SetupError(
            f"Set {ENCRYPTION_KEY_VARIABLE} for this database; `payerkit sandbox --new-key` prints a new key."
        )
    file = key_file(database, "key")
    if database.exists() and not file.exists():  # a new key could not decrypt what is in it
        raise SetupError(
            f"{file.name} is missing: put it back beside {database.name}, or set {ENCRYPTION_KEY_VARIABLE}."
        )
    return EncryptionKeys(read_or_create_key(file, new_encryption_key()), source=file.name)
