"""Profiles: services under names of the user's, in a TOML file; their keys from the environment or the keyring."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from payerkit.client.call import ApiVersion
from payerkit.client.client import Header
from payerkit.errors import InvalidInput

API_KEY = "PAYERKIT_API_KEY"
PROFILES = "PAYERKIT_PROFILES"

_SECRET = re.compile("key|token|secret|password", re.IGNORECASE)

_Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]


class _Profile(BaseModel):
    """What a profile may set; the description of a setting says what to write."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    base_url: str = Field(pattern="://", description="an address that begins with https://")
    header: Header = Field("x-api-key", description='"x-api-key" or "x-client-id"')
    rate: _Positive = Field(0, description="a positive number of calls per second")
    api: ApiVersion = Field("v1", description='"v1" or "v2"')
    timeout: _Positive = Field(0, description="a positive number of seconds")


def is_profile(address: object) -> bool:
    """Return True for the name of a profile, False for an address."""
    return isinstance(address, str) and "://" not in address


def read_profile(name: str) -> dict[str, Any]:
    """Return the settings of a profile in the user's file, its address among them.

    Raises InvalidInput, which names the file, the profile and what is wrong in it; other profiles may be wrong, but for
    a key in the file.
    """
    file = profiles_file()
    shown = str(file).replace(str(Path.home()), "~")
    tables = _read(file, shown)
    names = sorted(each for each, table in tables.items() if isinstance(table, dict))
    if name not in names:
        known = f"has {', '.join(names)}." if names else "has none."
        if not file.exists():
            known = 'does not exist. To make a profile, write two lines there: [name] and base_url = "https://...".'
        for key in tables.keys() - names:
            raise InvalidInput(f"{key}: this line of {shown} belongs to no profile. Write [name] above it.")
        raise InvalidInput(  # without what was given: it may be a key in the wrong place
            f"base_url: neither an address, such as https://api.example.com, nor a profile: {shown} {known}"
        )
    if [key_variable(each) for each in names].count(key_variable(name)) > 1:
        raise InvalidInput(
            f"{PROFILES}: {shown} has two profiles whose key would be in {key_variable(name)}. Rename one."
        )
    try:
        return _Profile.model_validate(tables[name]).model_dump(exclude_unset=True)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
    setting, where = str(problem["loc"][0]), f"for [{name}] in {shown}"
    if problem["type"] == "missing":
        raise InvalidInput(f"{setting}: missing {where}. Add it.")
    if setting not in _Profile.model_fields:
        known = ", ".join(_Profile.model_fields)
        raise InvalidInput(f"{setting}: not a setting of a profile, {where}. There are: {known}.")
    raise InvalidInput(f"{setting}: expected {_Profile.model_fields[setting].description}, {where}.")


def profiles_file() -> Path:
    """Return where the profiles are: PAYERKIT_PROFILES, or profiles.toml in the user's folder for settings."""
    if chosen := os.environ.get(PROFILES):
        return Path(chosen).expanduser()
    if os.name == "nt":
        folder = os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
    else:
        folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "payerkit" / "profiles.toml"


def _read(file: Path, shown: str) -> dict[str, Any]:
    """Return what a file has, nothing if it is missing. Raises InvalidInput, also for a key in any of its tables."""
    problem = ""
    try:
        tables = tomllib.loads(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    except ValueError as error:  # of TOML, or of UTF-8
        problem = f"is not valid TOML ({error})" if isinstance(error, tomllib.TOMLDecodeError) else "is not UTF-8"
    if problem:  # out here: the error of the parser holds the text
        raise InvalidInput(f"{PROFILES}: {shown} {problem}.")
    for key in _secrets(tables):
        raise InvalidInput(
            f"{key}: keys are read from the environment or the keyring only. Remove this line from {shown}; set "
            f"{API_KEY}_ and the profile's name in capitals instead."
        )
    return tables


def _secrets(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that look like secrets, in all tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _secrets(value)
        elif _SECRET.search(key):
            yield key


def key_variable(name: str) -> str:
    """Return the environment variable with the key of a profile, and of no other; for "", with that of an address."""
    return f"{API_KEY}_{re.sub('[^A-Za-z0-9]', '_', name).upper()}" if name else API_KEY


def find_key(name: str) -> str | None:
    """Return the key from the environment, or for a profile from the keyring. Raises InvalidInput."""
    found = os.environ.get(key_variable(name))
    if found or not name:
        return found
    try:
        import keyring  # noqa: PLC0415 - an extra
        from keyring.errors import KeyringError, NoKeyringError  # noqa: PLC0415
    except ImportError:
        return None
    try:
        stored: str | None = keyring.get_password("payerkit", name)
    except NoKeyringError:  # a server, say
        return None
    except KeyringError as error:
        problem = type(error).__name__
    else:
        return stored
    raise InvalidInput(f"api_key: the keyring cannot be read ({problem}). Unlock it, or set {key_variable(name)}.")
