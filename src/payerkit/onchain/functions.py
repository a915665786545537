"""The functions that a payment can call, by selector and never by name: two have the same name and other arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tables import rows
from payerkit.onchain.abi import Type, parse_signature


@dataclass(frozen=True, slots=True)
class Function:
    """One function. selector: four bytes. contracts: that have it. does: what it is for. unit: of its amounts."""

    selector: bytes
    name: str
    arguments: Type
    contracts: tuple[str, ...]
    does: str
    unit: str
    payable: bool

    @property
    def signature(self) -> str:
        """The canonical signature, which the selector is computed from."""
        return f"{self.name}{self.arguments.canonical}"


@cache
def functions() -> Mapping[bytes, Function]:
    """Return all functions by selector."""
    return {function.selector: function for function in map(_function, rows(__package__, "functions"))}


def _function(row: dict[str, str]) -> Function:
    name, arguments = parse_signature(row["signature"])
    return Function(
        selector=bytes.fromhex(row["selector"][2:]),
        name=name,
        arguments=arguments,
        contracts=tuple(row["contract"].split()),
        does=row["does"],
        unit=row["unit"],
        payable=row["payable"] == "yes",
    )
