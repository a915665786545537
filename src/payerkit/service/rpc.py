"""A node of the networks that the sandbox pays on, by JSON-RPC: what a check of a payment asks, and nothing else.

There is no blockchain. Contracts are the functions that `pay` makes transactions of, executed on the demo wallet; every
wallet that is asked about is the demo wallet. Whatever else is called is answered with -32601.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NotRequired

from eth_abi import encode
from typing_extensions import TypedDict

from payerkit.onchain.addresses import keccak
from payerkit.onchain.currencies import Currency, find_deployment, find_token, native_currency, networks
from payerkit.service.failures import HttpError
from payerkit.service.fields import AnyText, PathId
from payerkit.service.pay import APPROVE, GAS_PRICE, PAY_NATIVE, ContractCall, Paid, decode_call, read_holding
from payerkit.service.world import WorldRouter, WorldSession

BLOCK_SECONDS = 12
"""Seconds between two blocks, as on Ethereum: the sandbox counts them by its clock."""

_NO_METHOD, _REVERTED, _INVALID = -32601, 3, -32602

_READER_CODE = "0x6000353160005260206000f3"
"""The code, set by an override, of what returns the coins of the account that it is called with."""

_BALANCE_OF, _ALLOWANCE, _DECIMALS, _SYMBOL = (
    keccak(each.encode())[:4].hex()
    for each in ("balanceOf(address)", "allowance(address,address)", "decimals()", "symbol()")
)

router = WorldRouter()


class RpcRequest(TypedDict):
    """A question of JSON-RPC 2.0."""

    id: NotRequired[int | AnyText | None]
    method: AnyText
    params: NotRequired[list[Any]]


class RpcError(Exception):
    """The error that answers a question. data: what a reverted call returned."""

    def __init__(self, code: int, message: str, data: bytes = b"") -> None:
        super().__init__(message)
        self.code, self.data = code, data


@router.call("POST /sandbox/rpc/{network}")
def post_rpc(network: PathId, body: RpcRequest | list[RpcRequest], session: WorldSession) -> Any:
    """Answer a question of JSON-RPC 2.0, or a list of them."""
    if network not in networks() or native_currency(network) is None:
        raise HttpError(404, f"Network {network} is not one that the sandbox pays on")
    node = _Node(session, network)
    return [node.answer(each) for each in body] if isinstance(body, list) else node.answer(body)


class _Node:
    """A node of one network, at the present block."""

    def __init__(self, session: WorldSession, network: str) -> None:
        self.session, self.network = session, network
        self._methods: dict[str, Callable[..., Any]] = {
            "eth_chainId": lambda: hex(networks()[network].chain_id or 0),
            "eth_blockNumber": lambda: hex(self.block),
            "eth_gasPrice": lambda: hex(GAS_PRICE),
            "eth_getCode": self._code,
            "eth_getStorageAt": lambda *_: _hex(_encoded(0)),
            "eth_getBalance": lambda *_: hex(self.holding("")["balance"]),
            "eth_call": lambda call, *_: _hex(_Ledger(self, {}).call(call)),
            "eth_simulateV1": self._simulate,
        }

    @property
    def block(self) -> int:
        """The number of the block by the service's clock."""
        return int(self.session.now) // BLOCK_SECONDS

    def answer(self, question: RpcRequest) -> dict[str, Any]:
        """Return the answer to a question."""
        answer = {"jsonrpc": "2.0", "id": question.get("id")}
        try:
            method: Callable[..., Any] = self._methods.get(question["method"], _refuse)
            return answer | {"result": method(*question.get("params", ()))}
        except RpcError as error:
            return answer | {"error": {"code": error.code, "message": str(error), "data": _hex(error.data)}}
        except (TypeError, KeyError, ValueError, AttributeError, IndexError):
            return answer | {"error": {"code": _INVALID, "message": "the parameters cannot be read"}}

    def holding(self, token: str) -> dict[str, int]:
        """Return the demo wallet's holding of a token, or of the coin for "". Raises RpcError for an unknown token."""
        return read_holding(self.session, self.currency(token))

    def currency(self, token: str) -> Currency:
        """Return the currency at an address, or the coin for "". Raises RpcError for any other address."""
        found = find_token(self.network, token) if token else native_currency(self.network)
        if found is None:
            raise RpcError(_REVERTED, "execution reverted: there is no token at this address")
        return found

    def contract(self, kind: str) -> str:
        """Return the address of a kind of payment contract, in lower case; "" on a network without one."""
        found = find_deployment(kind, self.network)
        return "" if found is None else found.address.lower()

    def _code(self, address: str, *_: Any) -> str:
        contracts = {self.contract("ERC20FeeProxy"), self.contract("EthereumFeeProxy")}
        is_contract = address.lower() in contracts or find_token(self.network, address)
        return _hex(b"a contract of payerkit's sandbox") if is_contract else "0x"

    def _simulate(self, simulation: dict[str, Any], *_: Any) -> list[dict[str, Any]]:
        """Return one block with all calls, executed one after the other."""
        (block,) = simulation["blockStateCalls"]
        ledger = _Ledger(self, block.get("stateOverrides") or {})
        return [{"number": hex(self.block + 1), "calls": [ledger.outcome(each) for each in block["calls"]]}]


class _Ledger:
    """The balances and allowances of accounts while calls are executed.

    balances: by token, "" for the coin, and account. allowances: by token and spender, of the wallet that pays.
    """

    def __init__(self, node: _Node, overrides: Mapping[str, Mapping[str, str]]) -> None:
        self.node = node
        self.readers = {address.lower() for address, each in overrides.items() if each.get("code") == _READER_CODE}
        given = {address.lower(): int(each["balance"], 16) for address, each in overrides.items() if "balance" in each}
        self.wallet = next(iter(given), "")
        self.balances: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.balances |= {("", address): balance for address, balance in given.items()}
        self.allowances: dict[tuple[str, str], int] = {}

    def outcome(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return how a call ends, as `eth_simulateV1` says it."""
        before = self.balances.copy(), self.allowances.copy()
        try:
            output = self.call(call)
        except RpcError as error:
            if error.code == _NO_METHOD:
                raise
            self.balances, self.allowances = before
            failed = {"code": -32000, "message": str(error)}
            return {"status": "0x0", "returnData": _hex(error.data), "gasUsed": "0x0", "logs": [], "error": failed}
        return {"status": "0x1", "returnData": _hex(output), "gasUsed": hex(_gas_of(call)), "logs": []}

    def call(self, call: Mapping[str, Any]) -> bytes:
        """Execute a call, and return its output. Raises RpcError if it is reverted, or cannot be executed here."""
        to, data = call["to"].lower(), str(call.get("data", "0x"))
        selector, words = data[2:10], [data[place : place + 64] for place in range(10, len(data), 64)]
        if to in self.readers:
            return _encoded(self.balance("", f"0x{data[-40:]}".lower()))
        if (step := decode_call(data)) is not None:
            return self._step(ContractCall(*step, to, int(str(call.get("value", "0x0")), 16)), call["from"].lower())
        currency = self.node.currency(to)
        reads: dict[str, Callable[[], bytes]] = {
            _BALANCE_OF: lambda: _encoded(self.balance(to, f"0x{words[0][-40:]}".lower())),
            _ALLOWANCE: lambda: _encoded(self.allowance(to, f"0x{words[1][-40:]}".lower())),
            _DECIMALS: lambda: _encoded(currency.decimals),
            _SYMBOL: lambda: bytes(encode(["string"], [currency.symbol])),
        }
        if selector not in reads:
            raise RpcError(_NO_METHOD, f"the sandbox's node cannot execute the function {data[:10]!a}")
        return reads[selector]()

    def balance(self, token: str, account: str) -> int:
        """Return an account's balance. At first, the wallet that pays has that of the demo wallet, any other zero."""
        if account == self.wallet or not self.wallet:
            self.balances.setdefault((token, account), self.node.holding(token)["balance"])
        return self.balances[token, account]

    def allowance(self, token: str, spender: str) -> int:
        """Return how much of a token a spender may take from the wallet that pays."""
        held = self.node.holding(token)["allowance"] if spender == self.node.contract("ERC20FeeProxy") else 0
        return self.allowances.get((token, spender), held)

    def _step(self, step: ContractCall, sender: str) -> bytes:
        """Execute an approval or a payment."""
        if step.function == APPROVE:
            self.node.currency(step.to)
            self.allowances[step.to, step.arguments[0].lower()] = step.arguments[1]
            return _encoded(1)
        pay = Paid.of(step)
        is_coin, token, total = step.function == PAY_NATIVE, pay.token.lower(), pay.amount + pay.fee
        if step.to != self.node.contract("EthereumFeeProxy" if is_coin else "ERC20FeeProxy"):
            raise RpcError(_NO_METHOD, "the sandbox's node has no such contract at this address")
        allowed = step.wei if is_coin else self.allowance(token, step.to)
        if min(allowed, self.balance(token, sender)) < total:
            reason = "payment transferFrom() failed"
            data = keccak(b"Error(string)")[:4] + encode(["string"], [reason])
            raise RpcError(_REVERTED, f"execution reverted: {reason}", data)
        if not is_coin:
            self.allowances[token, step.to] = allowed - total
        for account, moved in ((sender, -total), (pay.recipient, pay.amount), (pay.fee_address, pay.fee)):
            self.balances[token, account.lower()] = self.balance(token, account.lower()) + moved
        return b""


def _refuse(*_: Any) -> None:
    raise RpcError(_NO_METHOD, "the sandbox's node does not offer this method")


def _gas_of(call: Mapping[str, Any]) -> int:
    step = decode_call(str(call.get("data", "0x")))
    return 0 if step is None else ContractCall(*step, "").gas_cost // GAS_PRICE


def _encoded(number: int) -> bytes:
    return number.to_bytes(32)


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"
