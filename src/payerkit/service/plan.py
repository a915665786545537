"""Which faults the calls of a service meet: a plan, read from text such as `latency=0.02, reset_after=5%`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

SHARES = (
    "refuse",
    "refuse_date",
    "reset_before",
    "reset_after",
    "cut",
    "fail_before",
    "fail_after",
    "slow",
)
"""Faults that a share of the calls meets; `faults.py` says what each does."""

_SECONDS = ("latency", "slow_for")
_NUMBER = r"[0-9]{1,4}(\.[0-9]{1,6})?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Seconds before every call, seconds until a slow write lands, and percents of the calls by fault."""

    latency: float = 0.0
    slow_for: float = 1.0
    shares: Mapping[str, Decimal] = field(default_factory=dict)

    def fault(self, draw: Decimal) -> str | None:
        """Return the fault of the call that drew this number from 0 to 100, None for no fault."""
        for name, percent in self.shares.items():
            if draw < percent:
                return name
            draw -= percent
        return None


def parse_plan(text: str) -> Plan:
    """Return the plan that a text describes; an empty one has no faults. Raises ValueError for what is no plan."""
    given: dict[str, str] = {}
    for item in text.split(",") if text.strip() else ():
        name, _, value = (part.strip() for part in item.partition("="))
        if name in given:
            raise ValueError(f"{name} is given twice")
        if name not in (*_SECONDS, *SHARES):
            raise ValueError(f"{name!r} is no fault; there are {', '.join((*_SECONDS, *SHARES))}")
        given[name] = value
    shares = {name: _percent(name, value) for name, value in given.items() if name in SHARES}
    if sum(shares.values()) > 100:
        raise ValueError("the shares are more than 100% together")
    seconds = {name: _seconds(name, value) for name, value in given.items() if name in _SECONDS}
    return Plan(**seconds, shares=shares)


def _seconds(name: str, value: str) -> float:
    if not re.fullmatch(_NUMBER, value):
        raise ValueError(f"{name}: give seconds, such as {name}=0.5")
    return float(value)


def _percent(name: str, value: str) -> Decimal:
    if not re.fullmatch(f"{_NUMBER}%", value):
        raise ValueError(f"{name}: give a share of the calls, such as {name}=5%")
    return Decimal(value.removesuffix("%"))
