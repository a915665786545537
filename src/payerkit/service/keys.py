"""The keys of a sandbox: API keys, each of which opens a world, and the key that encrypts what is stored."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import LargeBinary
from sqlalchemy.types import TypeDecorator

from payerkit.service.failures import SetupError

API_KEY_VARIABLE = "PAYERKIT_SANDBOX_API_KEY"
"""The API key of a sandbox, or several with the names of their worlds: alice:KEY,bob:KEY."""

ENCRYPTION_KEY_VARIABLE = "PAYERKIT_SANDBOX_ENCRYPTION_KEY"
"""The key that encrypts what is stored."""

DEFAULT_WORLD = "default"
"""The world of a key without a name."""

_MIN_LENGTH = 16
"""The fewest characters of an API key in a sandbox that other machines can reach: a shorter one could be guessed."""


class Seal:
    """The key of a database: it encrypts what is stored, by Fernet (AES-128-CBC and HMAC-SHA256).

    source: where the key is from, for the SetupError that an invalid one raises. lookup_secret: for the keyed hashes by
    which rows are found; another secret, since one must not serve two algorithms.
    """

    def __init__(self, key: str, *, source: str = ENCRYPTION_KEY_VARIABLE) -> None:
        try:
            self.fernet = Fernet(key)
        except ValueError:
            raise SetupError(f"{source}: not a Fernet key; `payerkit sandbox --new-key` prints one.") from None
        self.lookup_secret = hashlib.sha256(b"payerkit sandbox index" + key.encode()).digest()


class Encrypted(TypeDecorator[Any]):
    """A column whose values are encrypted, with the seal that the engine's dialect has.

    The seal is there and not in the type, since sandboxes of one process share the tables and not the key.
    """

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> bytes:
        """Return a value as JSON, encrypted."""
        return bytes(dialect.seal.fernet.encrypt(json.dumps(value).encode()))

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """Return the value that was stored. Raises SetupError if it was encrypted with another key, or changed."""
        try:
            return json.loads(dialect.seal.fernet.decrypt(value))
        except InvalidToken:
            message = f"The database was encrypted with another key; set {ENCRYPTION_KEY_VARIABLE} to that key."
            raise SetupError(message) from None


def new_api_key() -> str:
    """Return a new API key, recognizable as a sandbox's."""
    return f"sandbox_{secrets.token_urlsafe(24)}"


def new_encryption_key() -> str:
    """Return a new Fernet key."""
    return Fernet.generate_key().decode()


def load_seal(database: Path | None, environment: Mapping[str, str]) -> Seal:
    """Return the seal of the key in the environment, or in the file beside a SQLite database, created with a new one.

    database: None for any other database. Raises SetupError if there is no key and none may be created.
    """
    if given := environment.get(ENCRYPTION_KEY_VARIABLE):
        return Seal(given.strip())
    if database is None:
        advice = "`payerkit sandbox --new-key` prints a new key"
        raise SetupError(f"Set {ENCRYPTION_KEY_VARIABLE} for this database; {advice}.")
    file = key_file(database, "key")
    if database.exists() and not file.exists():  # a new key could not decrypt what is in it
        advice = f"put it back beside {database.name}, or set {ENCRYPTION_KEY_VARIABLE}"
        raise SetupError(f"{file.name} is missing: {advice}.")
    return Seal(_read_or_create_key(file, new_encryption_key()), source=file.name)


def load_api_keys(
    database: Path | None, environment: Mapping[str, str], *, is_shared: bool = False
) -> Mapping[str, str]:
    """Return the API keys by the names of their worlds: from the environment, or the file beside a SQLite database.

    database: None for any other database, which has no key but those in the environment. Raises SetupError for an
    invalid key.
    """
    if given := environment.get(API_KEY_VARIABLE):
        keys: dict[str, str] = {}
        for part in given.split(","):
            name, _, key = part.strip().rpartition(":")
            name = name or DEFAULT_WORLD
            if name in keys:
                advice = "give each a name of its own, as in alice:KEY,bob:KEY"
                raise SetupError(f"{API_KEY_VARIABLE}: two keys for the world {name}; {advice}.")
            keys[name] = key
        return check_api_keys(keys, API_KEY_VARIABLE, is_shared=is_shared)
    if database is None:
        return {}
    file = key_file(database, "api-key")
    return check_api_keys({DEFAULT_WORLD: _read_or_create_key(file, new_api_key())}, file.name, is_shared=is_shared)


def check_api_keys(keys: Mapping[str, str], source: str, *, is_shared: bool) -> Mapping[str, str]:
    """Return the API keys by the names of their worlds.

    source: where they are from, for the SetupError that an invalid name or key raises. is_shared: True for a sandbox
    that other machines can reach, whose keys must not be short.
    """
    for name, key in keys.items():
        problem = ""
        if not re.fullmatch(r"[a-z0-9-]{1,40}", name):
            problem = "expected 1 to 40 small letters, digits and hyphens as the name of a world, as in alice:KEY"
        # Printable ASCII, which a header can carry, except the comma and the colon between keys.
        elif not re.fullmatch(r"[!-+\-.-9;-~]+", key):
            problem = "not a valid key; expected printable ASCII characters, without spaces, commas or colons"
        elif is_shared and len(key) < _MIN_LENGTH:
            who = "a sandbox that other machines can reach"
            problem = f"the key of the world {name} is too short for {who}; it needs at least {_MIN_LENGTH} characters"
        if problem:
            raise SetupError(f"{source}: {problem}.")
    if len(set(keys.values())) < len(keys):
        raise SetupError(f"{source}: two worlds have the same key; give each its own.")
    return keys


def key_file(database: Path, kind: str) -> Path:
    """Return the path of a key beside a SQLite database."""
    return database.with_name(f"{database.name}.{kind}")


def _read_or_create_key(file: Path, new_key: str) -> str:
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
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SetupError(f"db: cannot read {file.name} beside the database ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise SetupError(f"{file.name}: expected a key, got what is not text.") from None
