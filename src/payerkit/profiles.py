"""Profiles: services under names of the user's, in a TOML file; their keys from the environment or the keyring."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from payerkit.client.call import ApiVersion
from payerkit.client.client import Header
from payerkit.client.pace import Rate, is_non_negative
from payerkit.errors import InvalidInput

API_KEY = "PAYERKIT_API_KEY"
PROFILES = "PAYERKIT_PROFILES"


@dataclass(frozen=True, slots=True)
class Profile:
    """How to reach a service. name: "" for a service that was given by its address."""

    base_url: str
    name: str = ""
    header: Header = "x-api-key"
    rate: Rate = "default"
    api: ApiVersion = "v1"
    timeout: float | None = None

    @property
    def key_variable(self) -> str:
        """The environment variable with the key of this service, and of no other."""
        return f"{API_KEY}_{_in_capitals(self.name)}" if self.name else API_KEY

    def find_key(self) -> str | None:
        """Return the key from the environment, or for a profile from the keyring. Raises InvalidInput."""
        return os.environ.get(self.key_variable) or (self._find_in_keyring() if self.name else None)

    def _find_in_keyring(self) -> str | None:
        try:
            import keyring  # noqa: PLC0415 - an extra
            from keyring.errors import KeyringError, NoKeyringError  # noqa: PLC0415
        except ImportError:
            return None
        try:
            found: str | None = keyring.get_password("payerkit", self.name)
        except NoKeyringError:  # a server, say
            return None
        except KeyringError as error:
            problem = type(error).__name__
        else:
            return found
        raise InvalidInput(f"api_key: the keyring cannot be read ({problem}). Unlock it, or set {self.key_variable}.")


def is_profile(address: object) -> bool:
    """Return True for the name of a profile, False for an address."""
    return isinstance(address, str) and "://" not in address


def read_profile(name: str) -> Profile:
    """Return a profile of the user's file. Raises InvalidInput, which names the file and what is wrong in it."""
    file = profiles_file()
    shown = str(file).replace(str(Path.home()), "~")
    tables = _read(file, shown)
    if name not in tables:
        known = f"has {', '.join(sorted(tables))}." if tables else "has none."
        if not file.exists():
            known = 'does not exist. To make a profile, write two lines there: [name] and base_url = "https://...".'
        raise InvalidInput(  # without what was given: it may be a key in the wrong place
            f"base_url: neither an address, such as https://api.example.com, nor a profile: {shown} {known}"
        )
    for key, value in tables[name].items():
        _check_setting(f"[{name}] in {shown}", key, value)
    if "base_url" not in tables[name]:
        raise InvalidInput(f"base_url: missing for [{name}] in {shown}. Add it.")
    return Profile(name=name, **tables[name])


def profiles_file() -> Path:
    """Return where the profiles are: PAYERKIT_PROFILES, or profiles.toml in the user's folder for settings."""
    if chosen := os.environ.get(PROFILES):
        return Path(chosen).expanduser()
    if os.name == "nt":
        folder = os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
    else:
        folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "payerkit" / "profiles.toml"


_SETTINGS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "base_url": (lambda value: isinstance(value, str) and "://" in value, "an address that begins with https://"),
    "header": (lambda value: value in get_args(Header), " or ".join(f'"{each}"' for each in get_args(Header))),
    "rate": (lambda value: is_non_negative(value) and value > 0, "a positive number of calls per second"),
    "api": (lambda value: value in get_args(ApiVersion), " or ".join(f'"{each}"' for each in get_args(ApiVersion))),
    "timeout": (lambda value: is_non_negative(value) and value > 0, "a positive number of seconds"),
}
"""What a profile may set: when a value is right, and what to write."""

_SECRET = re.compile("key|token|secret|password", re.IGNORECASE)


def _read(file: Path, shown: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a file, none if it is missing. Raises InvalidInput."""
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
    for key, value in tables.items():
        if not isinstance(value, dict):
            raise InvalidInput(f"{key}: this line of {shown} belongs to no profile. Write [name] above it.")
    _check_names(tables, shown)
    return tables


def _secrets(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that look like secrets, in all tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _secrets(value)
        elif _SECRET.search(key):
            yield key


def _check_names(names: Mapping[str, Any], shown: str) -> None:
    """Raise InvalidInput if the keys of two profiles would be in one variable."""
    for capitals, count in Counter(map(_in_capitals, names)).items():
        if count > 1:
            raise InvalidInput(
                f"{PROFILES}: {shown} has two profiles whose key would be in {API_KEY}_{capitals}. Rename one."
            )


def _check_setting(where: str, key: str, value: object) -> None:
    if key not in _SETTINGS:
        raise InvalidInput(f"{key}: not a setting of a profile, for {where}. There are: {', '.join(_SETTINGS)}.")
    is_right, expected = _SETTINGS[key]
    if isinstance(value, list | dict) or not is_right(value):
        raise InvalidInput(f"{key}: expected {expected}, for {where}.")


def _in_capitals(name: str) -> str:
    return re.sub("[^A-Za-z0-9]", "_", name).upper()
