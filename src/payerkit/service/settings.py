"""Settings of the sandbox service."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import UnionType
from typing import Any, get_args
from urllib.parse import urlsplit

from eth_utils import is_checksum_address

from payerkit.service.clock import ClockKind
from payerkit.service.faults import parse_fault_plan

NO_FEE_ADDRESS = "0x000000000000000000000000000000000000dEaD"
"""Recipient of a fee of zero: the address in the one complete published response."""

PROTOCOL_FEE_ADDRESS = "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5"
"""Recipient of the sandbox's protocol fee: an invented address, of which nobody has the key."""


RESERVED = frozenset(
    {"agreement", "docs", "healthz", "kyc", "openapi.json", "sandbox", "static-offline-docs", "v1", "v2"}
)
"""First segments of the sandbox's own paths."""


_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)*/?")
"""A host, perhaps a port, and the segments of a path (RFC 3986)."""


class SetupError(Exception):
    """The service cannot start; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings. Raises SetupError for an invalid one.

    seed: ids and references depend only on it and on what is stored; None for random ones. clock: "wall" for real
    time, "manual" for a clock that stands still until it is advanced. public_url: the URL at which a browser
    reaches the pages, if it differs from the one of the API. kyc_after, accounts_after, payouts_after: seconds
    until an identity check, bank details, a payout are decided; decide_after sets all three. kyc_required: refuse
    bank details until the identity check is approved. rate_limit: calls of the API per minute; 0 for no limit.
    live_like: the limits of the live service, and kyc_required. fee_percent, fee_address: the protocol fee on top
    of each payment, 0 for none, and its recipient. faults: the fault plan of every world at the start. max_body:
    the largest request body, in bytes. trusted_hosts: host names that the sandbox serves, besides localhost and
    that in public_url.
    """

    seed: int | str | None = None
    clock: ClockKind = "wall"
    public_url: str | None = None
    kyc_after: float = 5.0
    accounts_after: float = 2.0
    payouts_after: float = 5.0
    decide_after: float | None = None
    kyc_required: bool = False
    rate_limit: int = 0
    live_like: bool = False
    fee_percent: str | int | Decimal = "0.1"
    fee_address: str | None = None
    faults: str = ""
    max_body: int = 2**20
    trusted_hosts: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,6})?", str(self.fee_percent)):
            raise SetupError('fee_percent: expected a decimal from 0 to 99.999999, such as "0.5".')
        if not is_checksum_address(self.fee_recipient):
            raise SetupError("fee_address: expected an address with a valid EIP-55 checksum.")
        if self.clock not in get_args(ClockKind):
            raise SetupError('clock: expected "wall" or "manual".')
        self._check_behaviour()
        if not _is_amount(self.rate_limit, int):
            raise SetupError("rate_limit: expected a whole number of calls per minute; 0 for no limit.")
        if not isinstance(self.faults, str):
            raise SetupError('faults: expected a plan as text, such as "latency=0.02, reset_after=5%".')
        try:
            parse_fault_plan(self.faults)
        except ValueError as error:
            raise SetupError(f"faults: {error}.") from None
        self._check_addresses()

    def _check_behaviour(self) -> None:
        for name in ("kyc_after", "accounts_after", "payouts_after", "decide_after"):
            value = getattr(self, name)
            if not _is_amount(value, int | float) and not (name == "decide_after" and value is None):
                raise SetupError(f"{name}: expected a number of seconds; 0 decides at once.")
        for name in ("kyc_required", "live_like"):
            if not isinstance(getattr(self, name), bool):
                raise SetupError(f"{name}: expected True or False.")

    def _check_addresses(self) -> None:
        if self.public_url is not None and not _is_public_url(self.public_url):
            raise SetupError(
                "public_url: expected a full URL, such as https://sandbox.example.com, with a path if you like, but "
                "without a user, a query or a fragment."
            )
        if (first := self.root_path.split("/")[1:2]) and first[0] in RESERVED:
            raise SetupError(f"public_url: the sandbox has its own pages under /{first[0]}; choose another path.")
        hosts: Any = self.trusted_hosts
        # A text is a sequence, too: of its letters.
        is_list = isinstance(hosts, Sequence) and not isinstance(hosts, str)
        if not is_list or not all(isinstance(host, str) and re.fullmatch(r"[A-Za-z0-9.:-]+", host) for host in hosts):
            raise SetupError('trusted_hosts: expected host names without a port, such as ["sandbox.example.com"].')

    @property
    def root_path(self) -> str:
        """The path in public_url, below which a proxy serves the sandbox; "" if there is none."""
        return urlsplit(self.public_url or "").path.rstrip("/")

    @property
    def hosts(self) -> frozenset[str]:
        """The host names that the sandbox serves."""
        public = urlsplit(self.public_url or "").hostname
        return frozenset({"localhost", public or "localhost", *(host.lower() for host in self.trusted_hosts)})

    @property
    def needs_kyc(self) -> bool:
        """Whether bank details are refused until the identity check is approved."""
        return self.kyc_required or self.live_like

    @property
    def kyc_delay(self) -> float:
        """Seconds until a submitted identity check is decided."""
        return self.kyc_after if self.decide_after is None else self.decide_after

    @property
    def account_delay(self) -> float:
        """Seconds until new bank details are decided."""
        return self.accounts_after if self.decide_after is None else self.decide_after

    @property
    def payout_delay(self) -> float:
        """Seconds until the bank has the money of a payment, or not."""
        return self.payouts_after if self.decide_after is None else self.decide_after

    @property
    def fee_rate(self) -> Fraction:
        """The fee as an exact fraction of the amount."""
        return Fraction(str(self.fee_percent)) / 100

    @property
    def fee_recipient(self) -> str:
        """The address that receives the fee."""
        if self.fee_address is not None:
            return self.fee_address
        return PROTOCOL_FEE_ADDRESS if self.fee_rate else NO_FEE_ADDRESS

    @property
    def protocol_fee(self) -> dict[str, str] | None:
        """The fee as each payment declares it; None without a fee."""
        return {"percentage": str(self.fee_percent), "address": self.fee_recipient} if self.fee_rate else None


def _is_public_url(url: object) -> bool:
    """Return True for a URL to which the sandbox's paths can be added."""
    if not isinstance(url, str) or not _PUBLIC_URL.fullmatch(url):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0 and not {".", ".."} & set(parts.path.split("/"))
    except ValueError:  # of the port, or of an address in brackets
        return False


def _is_amount(value: object, kinds: type | UnionType) -> bool:
    """Return True for a number of these types that is neither negative nor too large to be added to a time."""
    return isinstance(value, kinds) and 0 <= value <= sys.float_info.max  # type: ignore[operator]  # the kinds are numbers
