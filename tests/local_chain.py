"""The payment contracts of a network, at their published addresses, in a local EVM.

The bytecode is that of the npm package in tests/data/bytecode.json; whether the
deployed contracts have the same, only the networks tell.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from eth.constants import BLANK_ROOT_HASH, CREATE_CONTRACT_ADDRESS
from eth.db.atomic import AtomicDB
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague.state import PragueState
from eth.vm.message import Message
from eth_abi import decode, encode
from eth_typing import Address, BlockNumber, Hash32
from eth_utils import keccak, to_canonical_address

from payerkit.payments.onchain.calldata import NATIVE
from payerkit.payments.onchain.currencies import (
    currency_hash,
    deployments,
    find_currency,
    native_currency,
)

sys.setrecursionlimit(
    1000
)  # py-evm raises it, so that JSON that is nested too deeply would crash other tests

PAYER, OWNER = f"0x{'a1' * 20}", f"0x{'a2' * 20}"
ROUTER, LARGEST = f"0x{'a3' * 20}", 2**256 - 1
USD, EUR = (
    str(currency_hash(found))
    for name in ("USD", "EUR")
    if (found := find_currency(name))
)
PRICES = {"DAI": 1, "FAU": 1, "USDC": 1, "fUSDC": 1, "USDT": 1, "REQ": 1, "ETH": 2500}
"""What one unit costs in USD, by the ticker."""

_DATA = json.loads(
    (Path(__file__).parent / "data" / "bytecode.json").read_text("utf-8")
)

_CONSTRUCTORS = {
    "ERC20FeeProxy": "",
    "ERC20Proxy": "",
    "EthereumProxy": "",
    "EthereumFeeProxy": "",
    "ChainlinkConversionPath": "coin owner",
    "Erc20ConversionProxy": "ERC20FeeProxy ChainlinkConversionPath owner",
    "EthConversionProxy": "EthereumFeeProxy ChainlinkConversionPath coin owner",
    "BatchPayments": "ERC20FeeProxy EthereumFeeProxy owner",
    "BatchConversionPayments": (
        "ERC20FeeProxy EthereumFeeProxy Erc20ConversionProxy EthConversionProxy"
        " ChainlinkConversionPath owner"
    ),
    "SingleRequestProxyFactory": "EthereumFeeProxy ERC20FeeProxy owner",
    "ERC20EscrowToPay": "ERC20FeeProxy owner",
    "ERC20TransferableReceivable": "ERC20FeeProxy",
    "ERC20SwapToPay": "router owner",
    "Erc20SwapConversion": "owner",
}
"""The arguments of each contract's constructor, all addresses: of other contracts, or
what `Chain._named` has.
"""

_CALLED = {"Erc20SwapConversion": "ERC20SwapToConversion"}
"""What the package calls a contract that deployments call otherwise."""


class Outcome(NamedTuple):
    """What came of a call: whether it succeeded, and what it returned, or why it was
    reverted.
    """

    succeeded: bool
    output: bytes

    @property
    def reason(self) -> str:
        """The reason of a revert; "" if the contract gives none."""
        if self.output[:4] != bytes.fromhex("08c379a0"):
            return self.output.hex()
        return str(decode(["string"], self.output[4:])[0])


class _RecordingState(PragueState):
    """A state that knows where anything was ever stored."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.slots: set[tuple[Any, int]] = set()
        self.contracts: set[Any] = set()

    def set_storage(self, address: Any, slot: int, value: int) -> None:
        """Set a slot, and remember it."""
        self.slots.add((address, slot))
        super().set_storage(address, slot, value)

    def set_code(self, address: Any, code: bytes) -> None:
        """Set the code of a contract, and remember that there is one."""
        self.contracts.add(address)
        super().set_code(address, code)


class Chain:
    """A network with its payment contracts. The wallet `PAYER` is rich, and allows
    every contract everything.
    """

    def __init__(self, network: str, *tokens: str) -> None:
        """Set up the contracts, with tokens by their ids. Each is a standard one, but
        for Tether.
        """
        context = ExecutionContext(
            Address(bytes(20)),
            2 * 10**9,
            BlockNumber(1),
            0,
            Hash32(bytes(32)),
            10**12,
            [],
            1,
            0,
            0,
        )
        self.state = _RecordingState(AtomicDB(), context, BLANK_ROOT_HASH)
        self.network = network
        self.coin = currency_hash(coin) if (coin := native_currency(network)) else ""
        self.tokens = {
            str(found.address).lower(): found
            for name in tokens
            if (found := find_currency(name))
        }
        self.contracts = self._deploy_contracts()
        self._slots: dict[str, int] = {}
        self._rates: dict[tuple[str, ...], tuple[int, ...] | None] = {}
        for token in self.tokens:
            self._deploy_token(token)
        self.give_coins(PAYER, LARGEST)
        self._set_rates()
        self._set_up_swaps()
        self.state.lock_changes()
        self.state.persist()

    @property
    def _named(self) -> dict[str, str]:
        return {"coin": self.coin, "owner": OWNER, "router": ROUTER}

    def _deploy_contracts(self) -> dict[str, str]:
        found: dict[str, str] = {}
        self.deploy("FakeSwapRouter", ROUTER)
        for name, arguments in _CONSTRUCTORS.items():
            values = [(self._named | found)[argument] for argument in arguments.split()]
            types = ["address"] * len(values)
            if name == "ERC20TransferableReceivable":
                types, values = ["string", "string", *types], ["", "", *values]
            for deployed in deployments().get((name, self.network), ()):
                if deployed.address.lower() not in {*found.values()}:
                    self.deploy(
                        _CALLED.get(name, name), deployed.address, encode(types, values)
                    )
                found.setdefault(name, deployed.address.lower())
        return found

    def _deploy_token(self, token: str) -> None:
        """Put a token at its address, and find the storage slot of its balances."""
        if self.is_standard(token):
            self.deploy("TestERC20", token, encode(["uint256"], [12345]), sender=PAYER)
            address = to_canonical_address(
                token
            )  # its code has 18 decimals, pushed once
            pushed = b"\x60" + bytes([self.tokens[token].decimals])
            self.state.set_code(
                address, self.state.get_code(address).replace(b"\x60\x12", pushed)
            )
        else:
            values = (12345, "Example", "EXAMPLE", self.tokens[token].decimals)
            self.deploy(
                "BadERC20",
                token,
                encode(["uint256", "string", "string", "uint256"], values),
                sender=PAYER,
            )
        self._slots[token] = next(
            slot for slot in range(20) if self._stored(token, PAYER, slot)
        )
        self.give(token, PAYER, LARGEST)
        self.give(token, ROUTER, 2**200)
        for contract in self.contracts.values():
            self.run(token, "approve(address,uint256)", contract, LARGEST, sender=PAYER)

    def is_standard(self, token: str) -> bool:
        """Return False for a token like Tether, which returns nothing, and refuses to
        replace an allowance.
        """
        return self.tokens[token].symbol != "USDT"

    def _set_rates(self) -> None:
        """Let every token and the coin have a rate to USD, and EUR be worth 1.25 of
        it.
        """
        prices = {EUR: 1.25, self.coin: PRICES["ETH"]}
        prices |= {
            address: PRICES[token.symbol] for address, token in self.tokens.items()
        }
        if "ChainlinkConversionPath" not in self.contracts:
            return
        for number, (currency, price) in enumerate(prices.items()):
            rate = f"0x{'b1' * 19}{number:02x}"
            self.deploy(
                "AggregatorMock",
                rate,
                encode(["int256", "uint8", "uint256"], [int(price * 10**8), 8, 60]),
            )
            update = "updateAggregator(address,address,address)"
            self.run(
                self.contracts["ChainlinkConversionPath"], update, currency, USD, rate
            )
        batch = self.contracts["BatchConversionPayments"]
        self.run(batch, "setNativeAndUSDAddress(address,address)", self.coin, USD)
        self.run(batch, "setBatchFeeAmountUSDLimit(uint64)", 2**64 - 1)

    def _set_up_swaps(self) -> None:
        to_pay, converted = (
            self.contracts[name] for name in ("ERC20SwapToPay", "Erc20SwapConversion")
        )
        self.run(converted, "setRouter(address)", ROUTER)
        self.run(
            converted,
            "updateConversionPathAddress(address)",
            self.contracts["ChainlinkConversionPath"],
        )
        for token in self.tokens:
            for swap, proxy in (
                (to_pay, "ERC20FeeProxy"),
                (converted, "Erc20ConversionProxy"),
            ):
                self.run(swap, "approveRouterToSpend(address)", token)
                self.run(
                    swap,
                    "approvePaymentProxyToSpend(address,address)",
                    token,
                    self.contracts[proxy],
                )

    def deploy(
        self, name: str, address: str, arguments: bytes = b"", *, sender: str = OWNER
    ) -> None:
        """Put a contract of the package at an address."""
        code = zlib.decompress(base64.b64decode(_DATA["deflated"][name]))
        message = Message(
            gas=10**9,
            to=CREATE_CONTRACT_ADDRESS,
            sender=to_canonical_address(sender),
            value=0,
            data=b"",
            code=code + arguments,
            create_address=to_canonical_address(address),
        )
        self.state.computation_class.apply_create_message(
            self.state, message, self._origin(sender)
        ).raise_if_error()

    def _origin(self, sender: str) -> Any:
        return self.state.get_transaction_context_class()(
            gas_price=0, origin=to_canonical_address(sender)
        )

    def call(
        self, to: str, data: bytes, value: int = 0, *, sender: str = PAYER
    ) -> Outcome:
        """Execute a call; what it changed is undone if it fails."""
        address = to_canonical_address(to)
        code = self.state.get_code(address)
        message = Message(
            10**7, address, to_canonical_address(sender), value, data, code
        )
        done = self.state.computation_class.apply_message(
            self.state, message, self._origin(sender)
        )
        return Outcome(done.is_success, bytes(done.output))

    def run(self, to: str, signature: str, *values: Any, sender: str = OWNER) -> bytes:
        """Call a function that has to succeed, and return its output."""
        types = signature.partition("(")[2][:-1].split(",")
        data = keccak(text=signature)[:4] + encode(types if values else [], values)
        done = self.call(to, data, sender=sender)
        assert done.succeeded, f"{signature}: {done.reason}"
        return done.output

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Undo whatever happens inside."""
        before = self.state.snapshot()
        yield
        self.state.revert(before)

    def give(self, token: str, account: str, amount: int) -> None:
        """Set what an account has of a token."""
        self.state.set_storage(
            to_canonical_address(token), _place(account, self._slots[token]), amount
        )

    def balance_slot(self, token: str, account: str) -> int:
        """Return where a token stores what an account has."""
        return _place(account, self._slots[token.lower()])

    def give_coins(self, account: str, amount: int) -> None:
        """Set what an account has of the network's coin."""
        self.state.set_balance(to_canonical_address(account), amount)

    def balances(self, accounts: frozenset[str]) -> Mapping[tuple[str, str], int]:
        """Return what accounts have, by token and account; of the coin, too."""
        held = {
            (token, account): self._stored(token, account, slot)
            for token, slot in self._slots.items()
            for account in accounts
        }
        return held | {
            (NATIVE, each): self.state.get_balance(to_canonical_address(each))
            for each in accounts
        }

    def _stored(self, token: str, account: str, slot: int) -> int:
        return self.state.get_storage(
            to_canonical_address(token), _place(account, slot)
        )

    def exported(self) -> Iterator[tuple[str, str, str] | tuple[str, str, str, str]]:
        """Yield the calls that put contracts, storage and the rich wallet's coins into
        anvil.
        """
        for address in self.state.contracts:
            yield (
                "anvil_setCode",
                f"0x{address.hex()}",
                f"0x{self.state.get_code(address).hex()}",
            )
        for address, slot in self.state.slots:
            value = self.state.get_storage(address, slot)
            yield (
                "anvil_setStorageAt",
                f"0x{address.hex()}",
                f"0x{slot:064x}",
                f"0x{value:064x}",
            )
        yield "anvil_setBalance", PAYER, hex(10**30)

    def allowance(self, token: str, owner: str, spender: str) -> int:
        """Return how much of a token somebody may take from an account."""
        return int.from_bytes(
            self.run(token, "allowance(address,address)", owner, spender)
        )

    def converted(self, amount: int, path: Sequence[str]) -> int | None:
        """Return what an amount in the first currency of a path is in its last; None if
        there is no rate.
        """
        key = tuple(path)
        if key not in self._rates:
            selector = keccak(text="getRate(address[])")[:4]
            found = self.call(
                self.contracts["ChainlinkConversionPath"],
                selector + encode(["address[]"], [key]),
            )
            self._rates[key] = (
                decode(["uint256"] * 3, found.output) if found.succeeded else None
            )
        rate = self._rates[key]
        return None if rate is None else int(amount * rate[0] // rate[2])


@cache
def _place(account: str, slot: int) -> int:
    """Return where a mapping of Solidity stores what belongs to an account."""
    return int.from_bytes(
        keccak(to_canonical_address(account).rjust(32, b"\0") + slot.to_bytes(32))
    )
