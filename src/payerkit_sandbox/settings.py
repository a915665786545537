"""The options of a sandbox: arguments of `sandbox()` and of `payerkit sandbox`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    ValidationError,
)

from payerkit_sandbox.failures import SetupError
from payerkit_sandbox.faults import parse_fault_plan

API_KEY_VARIABLE = "PAYERKIT_SANDBOX_API_KEY"
"""The variable with the API key of `payerkit sandbox`, or several with the names of
their worlds: alice:KEY,bob:KEY.
"""

DEFAULT_WORLD = "default"
"""The world of a key without a name."""

_MIN_LENGTH = 16
"""The fewest characters of an API key in a sandbox that other machines can reach: a
shorter one could be guessed.
"""

NO_FEE_ADDRESS = "0x000000000000000000000000000000000000dEaD"
"""Recipient of a fee of zero: the address in the one complete published response."""

PROTOCOL_FEE_ADDRESS = "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5"
"""Recipient of the sandbox's protocol fee: an invented address, of which nobody has the
key.
"""

ClockKind = Literal["wall", "manual"]
"""`wall` goes on by itself; `manual` moves only when it is advanced."""


def _check_public_url(url: HttpUrl) -> HttpUrl:
    """Return a URL to which the sandbox's paths can be added. Raises ValueError for any
    other.
    """
    if url.username or url.password or url.query or url.fragment:
        raise ValueError(
            "expected a full URL, such as https://sandbox.example.com, with a path if"
            " you like, but without a user, a query or a fragment"
        )
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

    public_url: Annotated[HttpUrl, AfterValidator(_check_public_url)] | None = Field(
        None,
        description=(
            "URL of the sandbox in a browser, if it differs from the listening address;"
            " it may have a path, which a proxy removes from each call"
        ),
    )
    seed: int | str | None = Field(
        None, description="make ids reproducible, for notebooks and tests"
    )
    clock: ClockKind = Field(
        "wall",
        description=(
            "wall: real time; manual: a clock that stands still until POST"
            " /sandbox/clock/advance"
        ),
    )
    decide_after: Seconds = Field(
        5.0,
        description=(
            "seconds until a submitted identity check or new bank details are decided,"
            " and from a payment to the money at the bank; 0: at once"
        ),
    )
    accounts_after: Seconds | None = Field(
        None, description="the same for new bank details alone"
    )
    kyc_required: bool = Field(
        False, description="accept bank details only after an approved identity check"
    )
    live_like: bool = Field(
        False,
        description=(
            "limit calls as the live service does, to 5 a second, and require an"
            " approved identity check"
        ),
    )
    fee_percent: Annotated[str, BeforeValidator(_check_fee_percent)] = Field(
        "0.1", description="protocol fee on top of each payment, in percent; 0: none"
    )
    faults: Annotated[str, AfterValidator(_check_faults)] = Field(
        "",
        description=(
            'inject faults, to rehearse failures, such as "latency=0.02,'
            ' reset_after=5%"'
        ),
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
            sentences = [_sentence(problem) for problem in problems]
            raise SetupError("\n".join(sentences)) from None

    @property
    def account_seconds(self) -> float:
        """After how many seconds new bank details are decided."""
        if self.accounts_after is None:
            return self.decide_after
        return self.accounts_after

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
        if not self.fee_rate:
            return NO_FEE_ADDRESS
        return PROTOCOL_FEE_ADDRESS


class CommandSettings(Settings):
    """The options of `payerkit sandbox`."""

    port: int = Field(8765, description="port to listen on; 0: any free port")
    host: str = Field(
        "127.0.0.1",
        description=(
            "address to listen on; by default this machine only. The sandbox speaks"
            " plain http, so other machines should reach it through a proxy with TLS"
        ),
    )
    db: str | None = Field(
        None,
        description=(
            "keep the data in this SQLite file or SQLAlchemy URL; without it, the data"
            " is deleted at the end. Give a database password in PGPASSWORD"
        ),
    )


def _sentence(error: Mapping[str, Any]) -> str:
    """Return pydantic's error as a sentence that names the setting."""
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        sentence = f"{name}: there is no such setting."
        for close in difflib.get_close_matches(name, Settings.model_fields, n=1):
            sentence += f" Did you mean {close}?"
        return sentence
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{name}: {message}."


def read_api_keys(text: str) -> dict[str, str]:
    """Return the API keys in the text of the variable by the names of their worlds.

    Raises SetupError for two keys of one world.
    """
    keys: dict[str, str] = {}
    for part in text.split(","):
        name, _, key = part.strip().rpartition(":")
        name = name or DEFAULT_WORLD
        if name in keys:
            raise SetupError(
                f"{API_KEY_VARIABLE}: two keys for the world {name}; give each a name"
                " of its own, as in alice:KEY,bob:KEY."
            )
        keys[name] = key
    return keys


def check_api_keys(keys: Mapping[str, str], *, is_shared: bool) -> None:
    """Raise SetupError for a name or a key that cannot be used.

    is_shared: True for a sandbox that other machines can reach, whose keys must not be
    short.
    """
    for name, key in keys.items():
        if not re.fullmatch(r"[a-z0-9-]{1,40}", name):
            raise SetupError(
                "api_keys: expected 1 to 40 small letters, digits and hyphens as the"
                " name of a world, as in alice:KEY."
            )
        # A header can carry printable ASCII; a comma and a colon stand between keys.
        if not re.fullmatch(r"[!-+\-.-9;-~]+", key):
            raise SetupError(
                "api_keys: not a valid key; expected printable ASCII characters,"
                " without spaces, commas or colons."
            )
        if is_shared and len(key) < _MIN_LENGTH:
            raise SetupError(
                f"api_keys: the key of the world {name} is too short for a sandbox that"
                f" other machines can reach; it needs at least {_MIN_LENGTH}"
                " characters."
            )
    if len(set(keys.values())) < len(keys):
        raise SetupError("api_keys: two worlds have the same key; give each its own.")
