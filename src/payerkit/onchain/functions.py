"""The contract functions that a payment can call, by selector: a name is not enough, as two share one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from payerkit._tsv import rows
from payerkit.onchain.abi import AbiType, parse_signature


class EffectKind(Enum):
    """The effect of a function, with the words for users; they follow "the call would"."""

    TRANSFER = "pay"
    TRANSFER_FROM = "transfer another account's tokens"
    APPROVE = "approve"
    INCREASE_ALLOWANCE = "increase an allowance"
    DECREASE_ALLOWANCE = "decrease an allowance"
    PERMIT = "approve by signature"
    SWAP = "swap tokens to pay"
    ESCROW = "use an escrow"
    PAY_RECEIVABLE = "pay the owner of a receivable"
    CREATE_PROXY = "create a contract for one payment"
    TRIGGER_PROXY = "trigger the payment of a contract"
    RESCUE = "withdraw the funds of a contract"
    RECURRING = "collect a recurring payment"


@dataclass(frozen=True, slots=True)
class Function:
    """A contract function. contracts: names of those that have it. unit: of its amounts, see functions.tsv."""

    selector: bytes
    name: str
    arguments: AbiType
    contracts: tuple[str, ...]
    effect: EffectKind
    is_batch: bool
    unit: str
    payable: bool

    @property
    def signature(self) -> str:
        """The canonical signature, whose hash begins with the selector."""
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
        effect=EffectKind[row["effect"]],
        is_batch=row["batch"] == "yes",
        unit=row["unit"],
        payable=row["payable"] == "yes",
    )
