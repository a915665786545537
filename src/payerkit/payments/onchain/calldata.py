"""Decode the calldata of a transaction: the function, its arguments, and who is paid or
allowed how much.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from importlib.resources import files
from itertools import zip_longest
from typing import Any

from payerkit.payments.onchain.addresses import keccak
from payerkit.payments.onchain.currencies import Currency, find_by_hash

AbiItem = Mapping[str, Any]
"""An input of a function or a component of a tuple, as in JSON ABI: its name, its type,
and the components of a tuple.
"""


def abi_type(item: AbiItem) -> str:
    """Return the type of an input as signatures have it, such as "(address,uint256)[]"
    for what JSON ABI calls "tuple[]".
    """
    kind: str = item["type"]
    if not kind.startswith("tuple"):
        return kind
    parts = ",".join(abi_type(part) for part in item["components"])
    return f"({parts}){kind.removeprefix('tuple')}"


class EffectKind(Enum):
    """The effect of a function, with the words for users; they follow "the call
    would".
    """

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


_BATCH_CONTRACTS = {"BatchPayments", "BatchConversionPayments"}


@dataclass(frozen=True)
class Function:
    """A contract function. contracts: names of those that have it. unit: of its
    amounts: token, native, request (the request's currency, converted on execution), or
    by the kind of each group. abi: its entry of JSON ABI, with payerkit's names of
    inputs, which the decoder relies on; single letters where no name is published.
    """

    contracts: tuple[str, ...]
    effect: EffectKind
    unit: str
    abi: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name, which several functions may have."""
        name: str = self.abi["name"]
        return name

    @property
    def is_batch(self) -> bool:
        """Whether a call makes several payments."""
        return not _BATCH_CONTRACTS.isdisjoint(self.contracts)

    @property
    def payable(self) -> bool:
        """Whether it accepts native value."""
        return bool(self.abi["stateMutability"] == "payable")

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of its inputs."""
        return tuple(abi_type(item) for item in self.abi["inputs"])

    @property
    def signature(self) -> str:
        """Its name and types, as published."""
        return f"{self.name}({','.join(self.types)})"

    @cached_property
    def selector(self) -> bytes:
        """The four bytes that calldata begins with."""
        return keccak(self.signature.encode())[:4]


@cache
def functions() -> Mapping[bytes, Function]:
    """Return all functions by selector. functions.json names their source."""
    text = files(__package__).joinpath("functions.json").read_text("utf-8")
    listed = [
        Function(
            contracts=tuple(entry["contracts"]),
            effect=EffectKind[entry["effect"]],
            unit=entry["unit"],
            abi=entry["abi"],
        )
        for entry in json.loads(text)["functions"]
    ]
    return {function.selector: function for function in listed}


MAX_BYTES = 131_072
"""Maximum length of calldata that is decoded; networks accept no longer transaction
(geth, txMaxSize).
"""

NOTES = {
    "": "",
    "missing": "The transaction has no calldata.",
    "not_hex": "The calldata is not valid hexadecimal.",
    "elided": "The calldata is abbreviated with dots, so it cannot be decoded.",
    "odd": "The calldata has an odd number of hex digits: it is truncated.",
    "too_long": (
        f"The calldata is longer than {MAX_BYTES:,} bytes, more than networks accept."
    ),
    "empty": "The transaction is a plain transfer without calldata.",
    "reference_only": (
        "The transaction is a plain transfer with an eight-byte payment reference."
    ),
    "too_short": "The calldata is too short for a function call.",
    "unknown": "payerkit does not know the function that the calldata calls.",
    "cut": (
        "The arguments do not match the function: the calldata is truncated or"
        " malformed."
    ),
    "not_canonical": (
        "The calldata differs from the encoding of its arguments: it has additional or"
        " rearranged bytes."
    ),
}
"""The message of each code; "" is the code of a call whose arguments account for every
byte.
"""


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """Decoded calldata.

    code: a key of `NOTES`. function: None if there is no call, or of an unknown
    function. arguments: by payerkit's names; None if they cannot be decoded.
    """

    data: bytes
    code: str
    function: Function | None = None
    arguments: dict[str, Any] | None = None

    @property
    def name(self) -> str | None:
        """The name of the function; None if there is none, or it is not known."""
        return None if self.function is None else self.function.name

    @property
    def selector(self) -> str:
        """The first four bytes as hex; "" if there are fewer."""
        if len(self.data) < 4 or self.code == "reference_only":
            return ""
        return f"0x{self.data[:4].hex()}"

    @property
    def canonical(self) -> bool | None:
        """Whether the arguments account for every byte; None if there are no decoded
        arguments.
        """
        return None if self.arguments is None else self.code == ""


def read_call(data: object) -> DecodedCall:
    """Return the decoded calldata of a transaction; never raises."""
    if data is None:
        return DecodedCall(b"", "missing")
    if not isinstance(data, str):
        return DecodedCall(b"", "not_hex")
    if len(data) > 2 * MAX_BYTES + 2:
        return DecodedCall(b"", "too_long")
    digits = data
    if data.startswith(("0x", "0X")):
        digits = data[2:]
    if re.fullmatch("[0-9a-fA-F]*", digits) is None:
        return DecodedCall(b"", "elided" if re.search(r"\.\.|…", data) else "not_hex")
    if len(digits) % 2:
        return DecodedCall(bytes.fromhex(digits[:-1]), "odd")
    content = bytes.fromhex(digits)
    function = functions().get(content[:4])
    if function is not None:
        return _decode(function, content)
    match len(content):
        case 0:
            code = "empty"
        case 1 | 2 | 3:
            code = "too_short"
        case 8:
            code = "reference_only"
        case _:
            code = "unknown"
    return DecodedCall(content, code)


def _decode(function: Function, data: bytes) -> DecodedCall:
    """Decode as contracts do, which ignore additional and rearranged bytes; encoding
    again shows these.
    """
    from payerkit.payments.onchain.abi import decode, encode  # noqa: PLC0415 - takes ten times as long to import as payerkit

    try:
        values = decode(function.types, data[4:])
    except ValueError:
        return DecodedCall(data, "cut", function)
    code = "not_canonical"
    if encode(function.types, values) == data[4:]:
        code = ""
    return DecodedCall(data, code, function, _by_name(function.abi["inputs"], values))


def _by_name(items: Sequence[AbiItem], values: Sequence[Any]) -> dict[str, Any]:
    """Return decoded values by name, those of a tuple as a dict, too."""
    return {
        item["name"]: _named(item, value)
        for item, value in zip(items, values, strict=True)
    }


def _named(item: AbiItem, value: Any) -> Any:
    kind: str = item["type"]
    if kind.endswith("[]"):
        part = {**item, "type": kind.removesuffix("[]")}
        return [_named(part, each) for each in value]
    if kind == "tuple":
        return _by_name(item["components"], value)
    return value


At = tuple[int, int | None]
"""Where an effect stands: the number of its transaction, and its place in a batch; both
counted from 0.
"""

NATIVE = "native"
"""Stands for the network's native currency in place of a token address."""

_PARALLEL = ("token", "recipient", "amount", "reference", "fee")
"""Arguments that a batch can pass as lists of one length, with one item per payment."""

_UNITS_BY_KIND = {0: "request", 1: "token", 2: "token", 3: "native", 4: "request"}
"""Units of a group of BatchConversionPayments by its payment network id."""

_CONVERTS_TOKENS = 0
"""The payment network id of payments that convert to a token; 4, the other one with
conversion, converts the value.
"""

_OF_ONE_TOKEN = 1
"""The payment network id of payments for which the contract takes the sum in the token
of the first.
"""

_PAYS_VALUE = 3
_CONVERTS_VALUE = 4
"""The payment network ids of payments with the native value, without and with
conversion.
"""

_MOST_GROUPS = 5
"""Groups in a batch (RequestNetwork, BatchConversionPayments)."""

UNLIMITED = 2**256 - 1
"""An amount without a limit: the largest that a contract can hold."""

_ZERO = f"0x{0:040x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A payment or an allowance that a call makes.

    step: the transaction that has the call, counted from 0. place: in its batch,
    counted from 0; None outside a batch. token: the address of the token, or `NATIVE`;
    None if the calldata does not tell. unit: of amount and fee: base units of the
    token, wei, or units of the request's currency, which are converted on execution.
    max_to_spend: None if the native value stands for it. All amounts are integers.
    revert_reason: why the contract would reject it; "" if it would not. kept_reason:
    why the contract may keep what it takes for it; "" if it pays all of it on.
    """

    kind: EffectKind
    unit: str
    step: int = 0
    place: int | None = None
    token: str | None = None
    recipient: str | None = None
    amount: int | None = None
    fee: int | None = None
    fee_recipient: str | None = None
    reference: bytes | None = None
    spender: str | None = None
    allowance: int | None = None
    path: tuple[str, ...] = ()
    max_to_spend: int | None = None
    max_rate_age: int | None = None
    revert_reason: str = ""
    kept_reason: str = ""

    @property
    def at(self) -> At:
        """Where it stands: its step and its place, which no other effect of a payment
        has.
        """
        return self.step, self.place

    @property
    def is_payment(self) -> bool:
        """Whether it moves money from the wallet towards a recipient."""
        return self.kind in {EffectKind.TRANSFER, EffectKind.SWAP, EffectKind.ESCROW}

    @property
    def is_native(self) -> bool:
        """Whether it is paid with the native value of the transaction."""
        return self.unit == "native" or (
            self.unit == "request" and self.max_to_spend is None
        )

    @property
    def most_taken(self) -> int:
        """The most of its token that it may take from the wallet, with its fee."""
        if self.unit == "request":
            return self.max_to_spend or 0
        return (self.amount or 0) + (self.fee or 0)

    @property
    def request_currency(self) -> Currency | None:
        """The currency of an amount that is converted on execution; None if it is not a
        listed fiat or native one.
        """
        return find_by_hash(self.path[0]) if self.path else None


def effects_of(call: DecodedCall, *, to: str | None, value: int | None) -> list[Effect]:
    """Return the effects of a call sent to an address with a value in wei; none if its
    arguments are not known.
    """
    if call.code in {"empty", "reference_only"}:
        transfer = Effect(
            kind=EffectKind.TRANSFER,
            unit="native",
            token=NATIVE,
            recipient=to,
            amount=value,
            reference=call.data or None,
        )
        return [transfer]
    function = call.function
    if function is None or call.arguments is None:
        return []
    if function.is_batch:
        payments = _batch_payments(
            call.arguments, of_one_token=function.name == "batchERC20Payments"
        )
        effects = [
            _effect(function, payment, to=to, value=value, place=place)
            for place, payment in enumerate(payments)
        ]
    else:
        arguments = dict(call.arguments)
        for argument in call.arguments.values():
            if isinstance(argument, dict):  # a tuple's components
                arguments |= argument
        effects = [_effect(function, arguments, to=to, value=value, place=None)]
    problem = _call_problem(call.arguments, effects)
    if problem:
        effects = [replace(effect, revert_reason=problem) for effect in effects]
    return effects


def _batch_payments(
    arguments: Mapping[str, Any], *, of_one_token: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each payment of a batch, with those that all payments
    share.

    A batch of one token collects all amounts in the token of the first payment, but
    pays each in its own token (RequestNetwork, BatchNoConversionPayments).
    """
    shared = {
        name: item for name, item in arguments.items() if not isinstance(item, list)
    }
    if "groups" in arguments:
        for group in arguments["groups"]:
            yield from _batch_payments(shared | group)
    elif "details" in arguments:
        details = arguments["details"]
        is_of_one = of_one_token or shared.get("kind") == _OF_ONE_TOKEN
        if is_of_one and details and details[0]["path"]:
            shared["taken"] = details[0]["path"][0]
        for detail in details:
            yield shared | detail
    else:
        lists = _parallel_lists(arguments)
        for items in zip_longest(*lists.values()):
            yield shared | dict(zip(lists, items, strict=True))


def _parallel_lists(arguments: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {
        name: arguments[name]
        for name in _PARALLEL
        if isinstance(arguments.get(name), list)
    }


def _call_problem(arguments: Mapping[str, Any], effects: Sequence[Effect]) -> str:
    """Return why the contract rejects a call as a whole; "" if it does not."""
    taken = Counter[str | None]()
    for effect in effects:
        taken[effect.token] += effect.most_taken
    if any(amount > UNLIMITED for amount in taken.values()):
        return "The amounts add up to more than there can be."
    lengths = {len(items) for items in _parallel_lists(arguments).values()}
    if len(lengths) > 1:
        return "The lists of the batch have different lengths."
    problem = _group_problem(arguments.get("groups", ()))
    if problem:
        return problem
    pays_tokens = any(not effect.is_native for effect in effects)
    if pays_tokens and [] in arguments.get("paths_to_usd", ()):
        return "A path to USD must not be empty."
    return ""


def _group_problem(groups: Sequence[dict[str, Any]]) -> str:
    """Return why the contract rejects groups of payments; "" if it does not.

    A group of native value returns the rest of it, unless the last group is to convert
    that.
    """
    if len(groups) > _MOST_GROUPS:
        return f"A batch can have at most {_MOST_GROUPS} groups."
    converts_last = bool(groups) and groups[-1]["kind"] == _CONVERTS_VALUE
    is_value_returned = False
    for group in groups:
        kind = group["kind"]
        if kind not in _UNITS_BY_KIND:
            return "The contract does not support this kind of payment."
        if kind == _OF_ONE_TOKEN and not group["details"]:
            return "A group of payments in one token must not be empty."
        if kind in {_PAYS_VALUE, _CONVERTS_VALUE}:
            if is_value_returned:
                return "An earlier group returns the rest of the native value."
            is_value_returned = kind == _CONVERTS_VALUE or not converts_last
    return ""


def _effect(
    function: Function,
    payment: Mapping[str, Any],
    *,
    to: str | None,
    value: int | None,
    place: int | None,
) -> Effect:
    unit = function.unit
    if unit == "by kind":
        unit = _UNITS_BY_KIND.get(payment.get("kind", -1), "unknown")
    path = tuple(payment.get("path", ()))
    token = _token(function, payment, unit, path, to=to)
    members = {name: payment[name] for name in _MEMBERS if name in payment}
    if "added" in payment:
        members["allowance"] = payment["added"]
    takes_value = unit == "native" and function.payable
    if takes_value and "amount" not in payment and value is not None:
        left = value - (payment.get("fee") or 0)  # what reaches the payee
        members["amount"] = left if left >= 0 else None
    converts = unit == "request" and payment.get("kind") != _CONVERTS_TOKENS
    converts_value = converts and function.payable
    if converts_value:  # a batch contract does not read it
        members["max_to_spend"] = None
    reason = ""
    if unit != "native" and "recipient" in payment:
        reason = _revert_reason(
            function, payment, path, token, converts_value=converts_value
        )
    kept = ""
    if function.is_batch and unit == "token":
        kept = _kept_reason(payment, token, path)
    return Effect(
        kind=function.effect,
        unit=unit,
        place=place,
        token=token,
        path=path,
        revert_reason=reason,
        kept_reason=kept,
        **members,
    )


_MEMBERS = (
    "recipient",
    "amount",
    "fee",
    "fee_recipient",
    "reference",
    "spender",
    "allowance",
    "max_to_spend",
    "max_rate_age",
)
"""Members of an effect that are arguments of the function."""


def _revert_reason(
    function: Function,
    payment: Mapping[str, Any],
    path: tuple[str, ...],
    token: str | None,
    *,
    converts_value: bool,
) -> str:
    if not path and "path" in payment:
        return "The path must not be empty."
    coin = None if token is None else find_by_hash(token)
    if converts_value:
        if coin is not None and coin.kind == "native":
            return ""
        return "The path does not end with the network's coin."
    if coin is not None:
        return "The contract pays tokens only, not the currency that is named."
    if function.is_batch and payment["fee_recipient"] == _ZERO:
        return "The fees are for the zero address, which most tokens refuse."
    return ""


def _kept_reason(
    payment: Mapping[str, Any], token: str | None, path: tuple[str, ...]
) -> str:
    """Return why a batch contract may keep tokens that it takes for a payment; "" if it
    pays on all of them.
    """
    if len(path) > 1:
        return (
            "Without conversion, the path must be one token: the contract may take its"
            " last one, and pay the first."
        )
    if payment.get("taken", token) != token:
        return (
            "It would take the token of the first payment for this one, too, but pay it"
            " in another."
        )
    return ""


def _token(
    function: Function,
    payment: Mapping[str, Any],
    unit: str,
    path: tuple[str, ...],
    *,
    to: str | None,
) -> str | None:
    if "token" in payment:
        return str(payment["token"])
    if unit == "native":
        return NATIVE
    if path and function.is_batch and unit == "token":
        return path[0]
    if path:
        return path[-1]
    return to if function.contracts == ("ERC20",) else None
