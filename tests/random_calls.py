"""Random calls of the functions that payerkit decodes, to contracts of a local chain:
most are sane, some are odd.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from eth_abi import encode

from local_chain import EUR, LARGEST, PAYER, USD, Chain
from payerkit.payments.onchain.calldata import (
    AbiItem,
    DecodedCall,
    EffectKind,
    Function,
    functions,
    read_call,
)

PAYEES = [f"0x{'c1' * 20}", f"0x{'c2' * 20}", f"0x{'c3' * 20}"]
FEE_WALLETS = [f"0x{'f1' * 20}", f"0x{'f2' * 20}"]
ZERO, NOBODY = f"0x{0:040x}", f"0x{'ee' * 20}"
FAR = 2**128
"""A huge amount, of which many still fit into a number of the EVM."""


@dataclass(frozen=True)
class RandomCall:
    """A call to a contract with a value in wei."""

    function: Function
    to: str
    data: bytes
    value: int
    values: dict[str, Any]

    @property
    def decoded(self) -> DecodedCall:
        """The call as payerkit reads it."""
        return read_call(f"0x{self.data.hex()}")

    @classmethod
    def of(cls, selector: str, to: str, *values: Any) -> Self:
        """Return a call of a function with these arguments."""
        function = functions()[bytes.fromhex(selector)]
        data = function.selector + encode(function.types, values)
        return cls(function, to, data, 0, {})


@dataclass
class CallMaker:
    """Makes random calls.

    surplus: of native value, in thousandths. largest: an amount. addresses: of further
    contracts. oddity: how probable it is that an argument is odd; each call has its
    own.
    """

    chain: Chain
    chance: random.Random
    surplus: int = 0
    largest: int = LARGEST
    addresses: dict[str, str] = field(default_factory=dict)
    oddity: float = 0.0

    def make(self, function: Function) -> RandomCall:
        """Return a call of a function."""
        self.oddity = self.chance.choice([0.0, 0.0, 0.05, 0.2])
        at = self.chain.contracts | self.addresses
        known = [name for name in function.contracts if name in at]
        to = (
            self._token(function)
            if function.contracts == ("ERC20",)
            else at[self.chance.choice(known)]
        )
        values = self._tuple(function.abi["inputs"], function, {})
        data = function.selector + encode(function.types, _plain(values))
        return RandomCall(function, to, data, self._value(function, values), values)

    def _is_odd(self) -> bool:
        return self.chance.random() < self.oddity

    def _tuple(
        self, items: Sequence[AbiItem], function: Function, known: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the components of a tuple by name; later ones know the earlier
        ones.
        """
        values = {"count": self.chance.randint(1, 3)} | known
        for item in items:
            values[item["name"]] = self._argument(item, function, values)
        return {item["name"]: values[item["name"]] for item in items}

    def _argument(
        self, item: AbiItem, function: Function, known: dict[str, Any]
    ) -> Any:
        name, kind = item["name"], item["type"]
        if name in {"path", "swap_path"}:
            return self._path(name, function, known)
        if kind == "tuple":
            return self._tuple(item["components"], function, known)
        if name == "paths_to_usd":
            return self._paths_to_usd()
        if kind == "tuple[]":
            counts = [0, 6, 7] if self._is_odd() else [1, 1, 2, 3]
            items = [
                self._tuple(item["components"], function, known)
                for _ in range(self.chance.choice(counts))
            ]
            return self._in_order(items) if name == "groups" else items
        if kind.endswith("[]"):
            count = known["count"] + (
                self.chance.choice([-1, 1]) if self._is_odd() else 0
            )
            word = kind.removesuffix("[]")
            return [self._word(name, word, function, known) for _ in range(count)]
        return self._word(name, kind, function, known)

    def _word(
        self, name: str, kind: str, function: Function, known: dict[str, Any]
    ) -> Any:
        """Return a single value by its name."""
        made: Callable[[], Any] | None = {
            "token": lambda: self._token(function),
            "recipient": self._recipient,
            "amount": lambda: self._amount(function, known),
            "fee": lambda: self._fee(function, known),
            "fee_recipient": lambda: self._fee_wallet(function),
            "reference": lambda: self.chance.randbytes(
                self.chance.choice([0, 7, 9, 40]) if self._is_odd() else 8
            ),
            "kind": lambda: (
                self.chance.choice([5, LARGEST])
                if self._is_odd()
                else self.chance.randrange(5)
            ),
            "max_to_spend": lambda: self._maximum(function, known),
            "max_rate_age": lambda: (
                self.chance.choice([0, 10**6]) if _converts(function, known) else 0
            ),
            "spender": lambda: NOBODY,
            "sender": lambda: PAYER,
            "payment_proxy": lambda: self._proxy(function),
            "deadline": lambda: LARGEST,
            "receivable": lambda: 1,
        }.get(name)
        if kind == "bool":
            return self.chance.random() < 0.5
        size = int(kind.lstrip("abcdefghijklmnopqrstuvwxyz") or 1)
        if kind == "address":
            return made() if made else self._recipient()
        if kind.startswith("bytes"):
            return (
                self.chance.randbytes(size)
                if kind != "bytes" or made is None
                else made()
            )
        return (made() if made else self._amount(function, known)) % 2**size

    def _in_order(self, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return groups as the contract wants them, with at most one that converts
        native value, at the end.
        """
        return (
            groups
            if self._is_odd()
            else sorted(groups, key=lambda group: group["kind"])
        )

    def _proxy(self, function: Function) -> str:
        return self.chain.contracts[
            "ERC20FeeProxy" if function.unit == "token" else "Erc20ConversionProxy"
        ]

    @property
    def _standard(self) -> list[str]:
        return [token for token in self.chain.tokens if self.chain.is_standard(token)]

    def _token(self, function: Function) -> str:
        """Return a token; those like Tether have fewer functions, and return nothing,
        which one contract wants.
        """
        is_common = not {"ERC20Proxy", "ERC20"} & {*function.contracts}
        odd = self._is_odd() and self._is_odd()
        return (
            NOBODY
            if odd
            else self.chance.choice(
                [*self.chain.tokens] if is_common else self._standard
            )
        )

    def _recipient(self) -> str:
        odd = [ZERO, *self.chain.tokens]
        return self.chance.choice(odd if self._is_odd() and self._is_odd() else PAYEES)

    def _fee_wallet(self, function: Function) -> str:
        """Return who receives fees; of a swap, the zero address would leave the payer
        with another token.
        """
        odd = (
            [NOBODY, *PAYEES]
            if function.effect == EffectKind.SWAP
            else [ZERO, NOBODY, *PAYEES]
        )
        return self.chance.choice(odd if self._is_odd() else FEE_WALLETS)

    def _amount(self, function: Function, known: dict[str, Any]) -> int:
        if self._is_odd():
            return self.chance.choice(
                [0, 1, FAR]
                if _converts(function, known)
                else [0, 1, FAR, self.largest, self.largest - 1]
            )
        return self.chance.randrange(1, 10 ** self.chance.choice([3, 8, 14]))

    def _fee(self, function: Function, known: dict[str, Any]) -> int:
        if self._is_odd():
            return self.chance.choice(
                [1, FAR] if _converts(function, known) else [1, FAR, self.largest]
            )
        amount = known.get("amount", 10**6)
        return self.chance.choice(
            [
                0,
                (amount if isinstance(amount, int) else 10**6)
                // self.chance.choice([50, 1000]),
            ]
        )

    def _maximum(self, function: Function, known: dict[str, Any]) -> int:
        """Return a maximum near what a conversion costs; swaps of the local chain take
        two tokens for one.
        """
        if self._is_odd():
            return self.chance.choice([0, 1, FAR, self.largest])
        if function.effect == EffectKind.SWAP:
            return 2**120
        if not _converts(function, known):
            return 0
        cost = self._cost(known["amount"] + known["fee"], known["path"])
        return min(cost + cost * self.chance.randrange(10) // 100, LARGEST)

    def _path(self, name: str, function: Function, known: dict[str, Any]) -> list[str]:
        coins, tokens = [self.chain.coin], [*self.chain.tokens]
        if self._is_odd():
            ends = [USD, EUR, *coins, *tokens]
            return self.chance.choices(ends, k=self.chance.randrange(4))
        if function.effect == EffectKind.SWAP and (
            name == "swap_path" or function.unit == "token"
        ):
            return self.chance.sample(self._standard, 2)
        if not _converts(function, known):
            return [self.chance.choice(tokens)]
        starts = [[USD], [EUR, USD]]
        ends = tokens
        if known.get("swap_path"):
            ends = known["swap_path"][-1:]
        elif _is_native(function, known):
            ends = coins
        return [*self.chance.choice(starts), self.chance.choice(ends or tokens)]

    def _paths_to_usd(self) -> list[list[str]]:
        paths = [[token, USD] for token in self.chain.tokens]
        return self.chance.choice(
            [[[]], [[], *paths]] if self._is_odd() else [[], paths[:1], paths]
        )

    def _value(self, function: Function, values: dict[str, Any]) -> int:
        """Return a native value: what the payments need, and perhaps more."""
        if not function.payable:
            return int(self._is_odd() and self._is_odd())
        needed = sum(self._needed(function, each) for each in self._payments(values))
        others = [0, 1, max(needed - 1, 0), needed + 1, FAR]
        return min(
            (
                self.chance.choice(others)
                if self._is_odd()
                else needed + needed * self.surplus // 1000
            ),
            LARGEST,
        )

    def _payments(self, values: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the payments of a call that take native value."""
        if "groups" in values:
            groups = [group for group in values["groups"] if group["kind"] in {3, 4}]
            return [
                {**detail, "kind": group["kind"]}
                for group in groups
                for detail in group["details"]
            ]
        if isinstance(values.get("amount"), list):
            return [{"amount": sum(values["amount"]), "fee": sum(values["fee"])}]
        return list(values.get("details", [values]))

    def _needed(self, function: Function, payment: dict[str, Any]) -> int:
        amount = (
            payment["amount"]
            if "amount" in payment
            else self._amount(function, payment)
        )
        cost = int(amount + payment.get("fee", 0))
        return (
            self._cost(cost, payment["path"]) if _converts(function, payment) else cost
        )

    def _cost(self, amount: int, path: list[str]) -> int:
        """Return what an amount is in the last currency of a path, rounded up; 0 if
        there is no rate.
        """
        found = self.chain.converted(amount, path)
        return 0 if found is None else found + 1


def _converts(function: Function, known: dict[str, Any]) -> bool:
    return function.unit == "request" or (
        function.unit == "by kind" and known.get("kind") in {0, 4}
    )


def _is_native(function: Function, known: dict[str, Any]) -> bool:
    return function.payable and known.get("kind") != 0


def _plain(values: Any) -> Any:
    """Return named values as eth-abi wants them."""
    if isinstance(values, dict):
        return tuple(_plain(each) for each in values.values())
    return [_plain(each) for each in values] if isinstance(values, list) else values
