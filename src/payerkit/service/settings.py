"""What whoever starts the service can choose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from eth_utils import is_checksum_address

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
    fee_address: the fee on top of a payment. max_body: bytes of a request.
    """

    seed: int | str | None = None
    public_url: str | None = None
    decide_after: float = 0.0
    kyc_required: bool = False
    rate_limit: int = 0
    fee_percent: Decimal | int | str = 0
    fee_address: str = BURN
    max_body: int = 2**20

    def __post_init__(self) -> None:
        if not 0 <= self.fee_rate * 100 < 100:
            raise SetupError("fee_percent: give a number from 0 up to, not including, 100.")
        if not is_checksum_address(self.fee_address):
            raise SetupError("fee_address: give an address with its EIP-55 checksum.")
        if self.decide_after < 0 or self.rate_limit < 0 or self.max_body < 1:
            raise SetupError("decide_after, rate_limit and max_body: give no negative number.")
        if self.public_url is not None and not re.fullmatch(r"https?://[!-~]+", self.public_url):
            raise SetupError("public_url: give the whole address, such as https://sandbox.example.com.")

    @property
    def fee_rate(self) -> Fraction:
        """The fee as an exact part of the amount; -1 for what is no number."""
        try:
            return Fraction(str(self.fee_percent)) / 100
        except ValueError:
            return Fraction(-1)
