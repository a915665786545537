"""The API keys of a sandbox: each opens the world of its name."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from payerkit.service.key_files import key_file, read_or_create_key
from payerkit.service.settings import SetupError

API_KEY_VARIABLE = "PAYERKIT_SANDBOX_API_KEY"
"""The API key of a sandbox, or several with the names of their worlds: alice:KEY,bob:KEY."""

DEFAULT_WORLD = "default"
"""The world of a key without a name."""

_MIN_LENGTH = 16
"""The fewest characters of an API key in a sandbox that other machines can reach: a shorter one could be guessed."""


def new_api_key() -> str:
    """Return a new API key, recognizable as a sandbox's."""
    return f"sandbox_{secrets.token_urlsafe(24)}"


def load_api_keys(database: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the API keys by the names of their worlds: from the environment, or the file beside a SQLite database.

    database: None for any other database, which has no key but those in the environment. Raises SetupError for an
    invalid key.
    """
    if given := environment.get(API_KEY_VARIABLE):
        return _parse_api_keys(given)
    if database is None:
        return {}
    file = key_file(database, "api-key")
    return check_api_keys({DEFAULT_WORLD: read_or_create_key(file, new_api_key())}, file.name)


def _parse_api_keys(text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for part in text.split(","):
        name, _, key = part.strip().rpartition(":")
        name = name or DEFAULT_WORLD
        if name in keys:
            raise SetupError(
                f"{API_KEY_VARIABLE}: two keys for the world {name}; give each a name of its own, as in "
                f"alice:KEY,bob:KEY."
            )
        keys[name] = key
    return check_api_keys(keys, API_KEY_VARIABLE)


def check_api_keys(keys: Mapping[str, str], source: str) -> dict[str, str]:
    """Return the API keys by the names of their worlds.

    source: where they are from, for the SetupError that an invalid name or key raises.
    """
    given: Any = keys
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for pair in given.items() for text in pair):
        raise SetupError(f'{source}: expected API keys by the names of their worlds, such as {{"alice": KEY}}.')
    if not keys:
        raise SetupError(f"{source}: expected at least one API key.")
    for name, key in keys.items():
        if not re.fullmatch(r"[a-z0-9-]{1,40}", name):
            raise SetupError(
                f"{source}: expected 1 to 40 small letters, digits and hyphens as the name of a world, as in alice:KEY."
            )
        # Printable ASCII, which a header can carry, but for the comma and the colon between keys.
        if not re.fullmatch(r"[!-+\-.-9;-~]+", key):
            raise SetupError(
                f"{source}: not a valid key; expected printable ASCII characters, without spaces, commas or colons."
            )
    if len(set(keys.values())) < len(keys):
        raise SetupError(f"{source}: two worlds have the same key; give each its own.")
    return dict(keys)


def check_key_lengths(keys: Mapping[str, str], source: str) -> None:
    """Raise SetupError for an API key that is too short for a sandbox that other machines can reach."""
    for name, key in keys.items():
        if len(key) < _MIN_LENGTH:
            raise SetupError(
                f"{source}: the key of the world {name} is too short for a sandbox that other machines can "
                f"reach; it needs at least {_MIN_LENGTH} characters."
            )
