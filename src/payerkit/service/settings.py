"""The options of a sandbox: arguments of `sandbox()` and of `payerkit sandbox`, and variables of their names."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from payerkit.service.clock import ClockKind
from payerkit.service.failures import SetupError
from payerkit.service.faults import parse_fault_plan

PREFIX = "PAYERKIT_SANDBOX_"
"""Begins the names of the variables."""

NO_FEE_ADDRESS = "0x000000000000000000000000000000000000dEaD"
"""Recipient of a fee of zero: the address in the one complete published response."""

PROTOCOL_FEE_ADDRESS = "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5"
"""Recipient of the sandbox's protocol fee: an invented address, of which nobody has the key."""

RESERVED = frozenset({"agreement", "kyc", "sandbox", "v1", "v2"})
"""First segments of the sandbox's own paths."""

_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)*/?")
"""A host, perhaps a port, and the segments of a path (RFC 3986)."""


def _check_public_url(url: str) -> str:
    """Return a URL to which the sandbox's paths can be added. Raises ValueError for any other."""
    parts = urlsplit(url)
    is_whole = _PUBLIC_URL.fullmatch(url) and parts.hostname and parts.port != 0
    if not is_whole or {".", ".."} & set(parts.path.split("/")):
        raise ValueError(
            "expected a full URL, such as https://sandbox.example.com, with a path if you like, but without a user, a "
            "query or a fragment"
        )
    if (first := parts.path.rstrip("/").split("/")[1:2]) and first[0] in RESERVED:
        raise ValueError(f"the sandbox has its own pages under /{first[0]}; choose another path")
    return url


def _check_fee_percent(percent: object) -> str:
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,6})?", str(percent)):
        raise ValueError('expected a decimal from 0 to 99.999999, such as "0.5"')
    return str(percent)


def _check_faults(plan: str) -> str:
    parse_fault_plan(plan)
    return plan


Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Settings(BaseModel):
    """How a service behaves. Raises SetupError for an invalid setting."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    public_url: Annotated[str, AfterValidator(_check_public_url)] | None = Field(
        None,
        description="URL of the sandbox in a browser, if it differs from the listening address; it may have a path, "
        "below which a proxy serves the sandbox",
    )
    seed: int | str | None = Field(None, description="make ids reproducible, for notebooks and tests")
    clock: ClockKind = Field(
        "wall", description="wall: real time; manual: a clock that stands still until POST /sandbox/clock/advance"
    )
    kyc_after: Seconds = Field(5.0, description="seconds until a submitted identity check is decided")
    accounts_after: Seconds = Field(2.0, description="seconds until new bank details are decided")
    payouts_after: Seconds = Field(5.0, description="seconds from a payment to the money at the bank")
    decide_after: Seconds | None = Field(None, description="replaces these three; 0 decides at once")
    kyc_required: bool = Field(False, description="accept bank details only after an approved identity check")
    live_like: bool = Field(
        False, description="limit calls as the live service does, to 5 a second, and require an approved identity check"
    )
    fee_percent: Annotated[str, BeforeValidator(_check_fee_percent)] = Field(
        "0.1", description="protocol fee on top of each payment, in percent; 0: none"
    )
    faults: Annotated[str, AfterValidator(_check_faults)] = Field(
        "", description='inject faults, to rehearse failures, such as "latency=0.02, reset_after=5%"'
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            raise SetupError("\n".join(_sentence(each, values) for each in found)) from None

    @model_validator(mode="after")
    def _decide_all(self) -> Self:
        """Let `decide_after` replace the three times."""
        if self.decide_after is not None:
            times = dict.fromkeys(("kyc_after", "accounts_after", "payouts_after"), self.decide_after)
            self.__dict__.update(times)  # the model is frozen
        return self

    @property
    def needs_kyc(self) -> bool:
        """Whether bank details are refused until the identity check is approved."""
        return self.kyc_required or self.live_like

    @property
    def fee_rate(self) -> Fraction:
        """The fee as an exact fraction of the amount."""
        return Fraction(self.fee_percent) / 100

    @property
    def fee_recipient(self) -> str:
        """The address that receives the fee."""
        return PROTOCOL_FEE_ADDRESS if self.fee_rate else NO_FEE_ADDRESS

    @property
    def protocol_fee(self) -> dict[str, str] | None:
        """The fee as each payment declares it; None without a fee."""
        return {"percentage": self.fee_percent, "address": self.fee_recipient} if self.fee_rate else None


class CommandSettings(Settings, BaseSettings):
    """The options of `payerkit sandbox`, each of which has a variable, such as PAYERKIT_SANDBOX_PORT.

    A sandbox in a notebook reads no variable: it is what its arguments say.
    An empty variable counts as missing: so a compose file leaves an option out.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True)

    port: int = Field(8765, description="port to listen on; 0: any free port")
    host: str = Field(
        "127.0.0.1",
        description="address to listen on; by default this machine only. The sandbox speaks plain http, so other "
        "machines should reach it through a proxy with TLS",
    )
    db: str | None = Field(
        None,
        description="keep the data in this SQLite file or SQLAlchemy URL; without it, the data is deleted at the end. "
        "Give a database password in PGPASSWORD",
    )

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the options of a command line. Raises SetupError that names an invalid option or variable."""
        known = {f"{PREFIX}{name.upper()}" for name in (*cls.model_fields, "api_key", "encryption_key")}
        for name in os.environ:
            if name.upper().startswith(PREFIX) and name.upper() not in known:
                raise SetupError(_unknown(name, known))
        return cls(**{name: value for name, value in given.items() if name in cls.model_fields and value is not None})


def _sentence(error: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return pydantic's error as a sentence that begins with the name of the setting, or with that of its variable."""
    name, message = str(error["loc"][0]), str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        return _unknown(name, Settings.model_fields)
    return f"{name if name in given else f'{PREFIX}{name.upper()}'}: {message}."


def _unknown(name: str, known: Iterable[str]) -> str:
    """Return the error of a setting that does not exist, with the one that was probably meant."""
    close = difflib.get_close_matches(name, [*known], n=1)
    return f"{name}: there is no such setting." + (f" Did you mean {close[0]}?" if close else "")
