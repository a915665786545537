"""What whoever starts the service can choose."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import UnionType

from eth_utils import is_checksum_address

from payerkit.service.faults import parse_fault_plan

BURN = "0x000000000000000000000000000000000000dEaD"
"""Where a fee of nothing goes: the address of the one complete answer that was published."""


class SetupError(Exception):
    """The service cannot start; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The choices. Raises SetupError for one that makes no sense.

    seed: makes ids, references and times depend on what is stored, not on chance and the hour; for notebooks and
    tests. public_url: the address that people reach the pages at, where it differs from the one that calls go
    to. decide_after: seconds until bank details and identity checks are decided. kyc_required: whether bank
    details wait for an approved identity check. rate_limit: calls a minute, 0 for any number. fee_percent and
    fee_address: the fee on top of a payment, and who gets it. faults: the plan of faults that calls meet. max_body:
    bytes of a request.
    """

    seed: int | str | None = None
    public_url: str | None = None
    decide_after: float = 0.0
    kyc_required: bool = False
    rate_limit: int = 0
    fee_percent: str | int | Decimal = 0
    fee_address: str | None = None
    faults: str = ""
    max_body: int = 2**20

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,6})?", str(self.fee_percent)):
            raise SetupError('fee_percent: give a decimal from 0 to 99.999999, such as "0.5".')
        if not is_checksum_address(self.fee_recipient):
            raise SetupError("fee_address: give an address with its EIP-55 checksum.")
        if not _is_number(self.decide_after, int | float):
            raise SetupError("decide_after: give a number of seconds, 0 for at once.")
        if not _is_number(self.rate_limit, int):
            raise SetupError("rate_limit: give a whole number of calls a minute, 0 for any number.")
        _check_faults(self.faults)
        if self.public_url is not None and not re.fullmatch(r"https?://[!-~]+", str(self.public_url)):
            raise SetupError("public_url: give the whole address, such as https://sandbox.example.com.")

    @property
    def fee_rate(self) -> Fraction:
        """The fee as an exact part of the amount."""
        return Fraction(str(self.fee_percent)) / 100

    @property
    def fee_recipient(self) -> str:
        """The address that gets the fee."""
        return BURN if self.fee_address is None else self.fee_address


def _check_faults(plan: object) -> None:
    if not isinstance(plan, str):
        raise SetupError('faults: give a plan as text, such as "latency=0.02, reset_after=5%".')
    try:
        parse_fault_plan(plan)
    except ValueError as error:
        raise SetupError(f"faults: {error}.") from None


def _is_number(value: object, kinds: type | UnionType) -> bool:
    return isinstance(value, kinds) and 0 <= value < math.inf  # type: ignore[operator]  # the kinds are numbers
