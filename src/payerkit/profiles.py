"""Profiles: services under names of the user's, in a TOML file; their keys are in the environment."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from payerkit.client.call import ApiVersion, Header
from payerkit.errors import InvalidInput
from payerkit.wording import did_you_mean

API_KEY = "PAYERKIT_API_KEY"
PROFILES = "PAYERKIT_PROFILES"

_Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]


class _Profile(BaseModel):
    """What a profile may set; the description of a setting says what to write."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    base_url: str = Field(pattern="://", description="an address that begins with https://")
    header: Header = Field("x-api-key", description='"x-api-key" or "x-client-id"')
    rate: _Positive = Field(0, description="a positive number of calls per second")
    api: ApiVersion = Field("v1", description='"v1" or "v2"')
    timeout: _Positive = Field(0, description="a positive number of seconds")


def read_profile(name: str) -> dict[str, Any]:
    """Return the settings of a profile in the user's file, its address among them.

    Raises InvalidInput, which names the file, the profile and what is wrong in it; other profiles may be wrong.
    """
    file = profiles_file()
    shown = str(file).replace(str(Path.home()), "~")
    profiles = {each: table for each, table in _read(file, shown).items() if isinstance(table, dict)}
    if name not in profiles:
        known = f"has {', '.join(sorted(profiles))}.{did_you_mean(name, profiles)}" if profiles else "has none."
        if not file.exists():
            known = 'does not exist. To make a profile, write two lines there: [name] and base_url = "https://...".'
        if "." in name:
            known += " To an address, add https:// in front."
        raise InvalidInput(  # without what was given: it may be a key in the wrong place
            f"base_url: neither an address, such as https://api.example.com, nor a profile: {shown} {known}"
        )
    if [key_variable(each) for each in profiles].count(key_variable(name)) > 1:
        raise InvalidInput(
            f"{PROFILES}: {shown} has two profiles whose key would be in {key_variable(name)}. Rename one."
        )
    try:
        return _Profile.model_validate(profiles[name]).model_dump(exclude_unset=True)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
    setting, where = str(problem["loc"][0]), f"for [{name}] in {shown}"
    if problem["type"] == "missing":
        raise InvalidInput(f"{setting}: missing {where}. Add it.")
    if setting not in _Profile.model_fields:
        known = ", ".join(_Profile.model_fields)
        raise InvalidInput(
            f"{setting}: not a setting of a profile, {where}. There are: {known}. "
            f"The key goes into {key_variable(name)}."
        )
    raise InvalidInput(f"{setting}: expected {_Profile.model_fields[setting].description}, {where}.")


def profiles_file() -> Path:
    """Return where the profiles are: PAYERKIT_PROFILES, or ~/.config/payerkit/profiles.toml."""
    return Path(os.environ.get(PROFILES) or "~/.config/payerkit/profiles.toml").expanduser()


def _read(file: Path, shown: str) -> dict[str, Any]:
    """Return what a file has, nothing if it is missing. Raises InvalidInput if it cannot be read."""
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # of TOML, or of UTF-8
        problem = getattr(error, "strerror", None) or error
    raise InvalidInput(f"{PROFILES}: {shown} cannot be read: {problem}.")  # out here: the parser's error holds the text


def key_variable(name: str) -> str:
    """Return the environment variable with the key of a profile, and of no other; for "", with that of an address."""
    return f"{API_KEY}_{re.sub('[^A-Za-z0-9]', '_', name).upper()}" if name else API_KEY
