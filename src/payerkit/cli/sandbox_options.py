"""The options of `payerkit sandbox`: from the command line, or from environment variables of their names."""

from __future__ import annotations

import difflib
import os
from typing import Annotated, Any, Literal

from pydantic import ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from payerkit.errors import InvalidInput
from payerkit.service.api_keys import API_KEY_VARIABLE
from payerkit.service.encryption import ENCRYPTION_KEY_VARIABLE, OLD_ENCRYPTION_KEY_VARIABLE

PREFIX = "PAYERKIT_SANDBOX_"

_KEYS = {API_KEY_VARIABLE, ENCRYPTION_KEY_VARIABLE, OLD_ENCRYPTION_KEY_VARIABLE}
"""Variables with the prefix that are no options, since keys stand on no command line."""


class SandboxOptions(BaseSettings):
    """The options; an argument wins over its variable, such as PAYERKIT_SANDBOX_PORT.

    Those without a default of their own have that of the service's settings. An empty variable counts as missing: so a
    compose file leaves an option out.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True)

    host: str = "127.0.0.1"
    port: int = 8765
    db: str | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    seed: str | None = None
    clock: str | None = None
    public_url: str | None = None
    trusted_hosts: Annotated[tuple[str, ...] | None, NoDecode] = None
    kyc_after: float | None = None
    accounts_after: float | None = None
    payouts_after: float | None = None
    decide_after: float | None = None
    kyc_required: bool | None = None
    rate_limit: int | None = None
    live_like: bool | None = None
    fee_percent: str | None = None
    fee_address: str | None = None
    faults: str | None = None

    @field_validator("trusted_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [name.strip() for name in value.split(",")] if isinstance(value, str) else value

    @property
    def service_settings(self) -> dict[str, Any]:
        """The settings of the service that are given."""
        return self.model_dump(exclude={"host", "port", "db", "log_level"}, exclude_none=True)


def read_options(given: dict[str, Any]) -> SandboxOptions:
    """Return the options of the command line, and of the environment where they are not given (None).

    Raises InvalidInput that names the variable.
    """
    known = {PREFIX + name.upper() for name in SandboxOptions.model_fields} | _KEYS
    for name in os.environ:
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            close = difflib.get_close_matches(name.upper(), known, n=1)
            raise InvalidInput(f"{name}: there is no such setting{f'; did you mean {close[0]}?' if close else '.'}")
    names = SandboxOptions.model_fields.keys()
    try:
        return SandboxOptions(**{name: value for name in names if (value := given.get(name)) is not None})
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    problems = (f"{PREFIX}{str(each['loc'][0]).upper()}: {each['msg'].lower()}." for each in found)
    raise InvalidInput("\n".join(problems))
