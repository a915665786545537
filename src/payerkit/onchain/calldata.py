"""Decode the calldata of a transaction: the function, its arguments, and who is paid or allowed how much."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from itertools import zip_longest
from typing import Any

from payerkit._tsv import rows
from payerkit.onchain.currencies import Currency, find_by_hash

WORD = 32
_TOKENS = re.compile(r"[(),]|\[\]| |[A-Za-z0-9_]+")


@dataclass(frozen=True)
class AbiType:
    """An argument or a part of one. parts: the components of a tuple, or the one item type of an array."""

    name: str
    kind: str
    parts: tuple[AbiType, ...] = ()

    @cached_property
    def canonical(self) -> str:
        """The type as written in a canonical signature."""
        if self.kind == "array":
            return f"{self.parts[0].canonical}[]"
        return f"({','.join(part.canonical for part in self.parts)})" if self.kind == "tuple" else self.kind

    @cached_property
    def is_dynamic(self) -> bool:
        """Whether the head holds an offset and the value follows in the tail."""
        return self.kind in {"bytes", "array"} or any(part.is_dynamic for part in self.parts)

    @cached_property
    def head_words(self) -> int:
        """Number of words in the head."""
        return 1 if self.is_dynamic or self.kind != "tuple" else sum(part.head_words for part in self.parts)


def parse_signature(signature: str) -> tuple[str, AbiType]:
    """Return the function name and its arguments as one tuple. Raises ValueError if the signature is malformed."""
    name, bracket, rest = signature.partition("(")
    tokens = [part for part in _TOKENS.findall(bracket + rest) if part != " "]
    parsed, left = _parse(tokens)
    if left or not name.isidentifier():
        raise ValueError(f"malformed signature: {signature}")
    return name, parsed


def _parse(left: list[str]) -> tuple[AbiType, list[str]]:
    """Return the first type with its name, and the tokens after it."""
    if left[0] == "(":
        components, left = [], left[1:]
        while left[0] != ")":
            component, left = _parse(left)
            components.append(component)
            left = left[1:] if left[0] == "," else left
        found = AbiType("", "tuple", tuple(components))
    else:
        found = AbiType("", left[0])
    left = left[1:]
    while left and left[0] == "[]":
        found, left = AbiType("", "array", (found,)), left[1:]
    if left and left[0].isidentifier():
        found, left = replace(found, name=left[0]), left[1:]
    return found, left


def _count_words(kind: AbiType, data: bytes, start: int, left: int) -> int:
    """Return how many of the words that are left a value leaves, if each part is written once.

    Raises ValueError if there are too few, and for data that ends too early. A few kilobytes whose arrays point at the
    same items decode to millions of values, so this follows offsets and lengths alone.
    """
    parts, first, words = kind.parts, start, 0
    if kind.kind == "bytes":
        words = 1 - (-_number_at(data, start) // WORD)
    elif kind.kind == "array":
        length = _number_at(data, start)
        if max(1, length * parts[0].head_words) > left:
            raise ValueError("the arguments overlap")
        parts, first, left = parts * length, start + WORD, left - 1
    head = first
    for part in parts:
        if part.is_dynamic:
            left = _count_words(part, data, first + _number_at(data, head), left)
        head += part.head_words * WORD
    words += (head - first) // WORD
    if words > left:
        raise ValueError("the arguments overlap")
    return left - words


def _number_at(data: bytes, start: int) -> int:
    word = data[start : start + WORD]
    if len(word) < WORD:
        raise ValueError("the data ends too early")
    return int.from_bytes(word)


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


MAX_BYTES = 131_072
"""Maximum length of calldata that is decoded; networks accept no longer transaction (geth, txMaxSize)."""

NOTES = {
    "": "",
    "missing": "The transaction has no calldata.",
    "not_hex": "The calldata is not valid hexadecimal.",
    "elided": "The calldata is abbreviated with dots, so it cannot be decoded.",
    "odd": "The calldata has an odd number of hex digits: it is truncated.",
    "too_long": f"The calldata is longer than {MAX_BYTES:,} bytes, more than networks accept.",
    "empty": "The transaction is a plain transfer without calldata.",
    "reference_only": "The transaction is a plain transfer with an eight-byte payment reference.",
    "too_short": "The calldata is too short for a function call.",
    "unknown": "payerkit does not know the function that the calldata calls.",
    "cut": "The arguments do not match the function: the calldata is truncated or malformed.",
    "not_canonical": "The calldata differs from the encoding of its arguments: it has additional or rearranged bytes.",
}
"""The message of each code; "" is the code of a call whose arguments account for every byte."""


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """Decoded calldata.

    code: a key of `NOTES`. function: None if there is no call, or of an unknown function. arguments: by payerkit's
    names; None if they cannot be decoded.
    """

    data: bytes
    code: str
    function: Function | None = None
    arguments: dict[str, Any] | None = None

    @property
    def selector(self) -> str:
        """The first four bytes as hex; "" if there are fewer."""
        return f"0x{self.data[:4].hex()}" if len(self.data) >= 4 and self.code != "reference_only" else ""

    @property
    def canonical(self) -> bool | None:
        """Whether the arguments account for every byte; None if there are no decoded arguments."""
        return None if self.arguments is None else self.code == ""


def read_call(data: object) -> DecodedCall:
    """Return the decoded calldata of a transaction; never raises."""
    if not isinstance(data, str):
        return DecodedCall(b"", "missing" if data is None else "not_hex")
    if len(data) > 2 * MAX_BYTES + 2:
        return DecodedCall(b"", "too_long")
    digits = data[2:] if data[:2] in {"0x", "0X"} else data
    if re.fullmatch("[0-9a-fA-F]*", digits) is None:
        return DecodedCall(b"", "elided" if re.search(r"\.\.|…", data) else "not_hex")
    if len(digits) % 2:
        return DecodedCall(bytes.fromhex(digits[:-1]), "odd")
    content = bytes.fromhex(digits)
    function = functions().get(content[:4])
    if function is None:
        codes = {0: "empty", 8: "reference_only"}
        return DecodedCall(content, codes.get(len(content), "too_short" if len(content) < 4 else "unknown"))
    return _decode(function, content)


def _decode(function: Function, data: bytes) -> DecodedCall:
    """Decode as contracts do, which ignore additional and rearranged bytes; encoding again shows these."""
    from eth_abi import decode, encode  # noqa: PLC0415 - takes ten times as long to import as payerkit
    from eth_abi.exceptions import DecodingError  # noqa: PLC0415

    types = [part.canonical for part in function.arguments.parts]
    try:
        _count_words(function.arguments, data[4:], 0, -(-len(data[4:]) // WORD))
        values = decode(types, data[4:])
    except (ValueError, DecodingError, OverflowError):
        return DecodedCall(data, "cut", function)
    code = "" if encode(types, values) == data[4:] else "not_canonical"
    return DecodedCall(data, code, function, _by_name(function.arguments, values))


def _by_name(kind: AbiType, value: Any) -> Any:
    """Return a decoded tuple as a dict by name, an array as a list, any other value as is."""
    if kind.kind == "tuple":
        return {part.name: _by_name(part, item) for part, item in zip(kind.parts, value, strict=True)}
    if kind.kind == "array":
        return [_by_name(kind.parts[0], item) for item in value]
    return value


At = tuple[int, int | None]
"""Where an effect stands: the number of its transaction, and its place in a batch; both counted from 0."""

NATIVE = "native"
"""Stands for the network's native currency in place of a token address."""

_PARALLEL = ("token", "recipient", "amount", "reference", "fee")
"""Arguments that a batch can pass as lists of one length, with one item per payment."""

_UNITS_BY_KIND = {0: "request", 1: "token", 2: "token", 3: "native", 4: "request"}
"""Units of a group of BatchConversionPayments by its payment network id."""

_CONVERTS_TOKENS = 0
"""The payment network id of payments that convert to a token; 4, the other one with conversion, converts the value."""

_OF_ONE_TOKEN = 1
"""The payment network id of payments for which the contract takes the sum in the token of the first."""

_PAYS_VALUE, _CONVERTS_VALUE = 3, 4
"""The payment network ids of payments with the native value, without and with conversion."""

_MOST_GROUPS = 5
"""Groups in a batch (RequestNetwork, BatchConversionPayments)."""

UNLIMITED = 2**256 - 1
"""An amount without a limit: the largest that a contract can hold."""

_ZERO = f"0x{0:040x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A payment or an allowance that a call makes.

    step: the transaction that has the call, counted from 0. place: in its batch, counted from 0; None outside a batch.
    token: the address of the token, or `NATIVE`; None if
    the calldata does not tell. unit: of amount and fee: base units of the token, wei, or units of the request's
    currency, which are converted on execution. max_to_spend: None if the native value stands for it. All amounts are
    integers. revert_reason: why the contract would reject it; "" if it would not. kept_reason: why the contract may
    keep what it takes for it; "" if it pays all of it on.
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
        """Where it stands: its step and its place, which no other effect of a payment has."""
        return self.step, self.place

    @property
    def is_payment(self) -> bool:
        """Whether it moves money from the wallet towards a recipient."""
        return self.kind in {EffectKind.TRANSFER, EffectKind.SWAP, EffectKind.ESCROW}

    @property
    def is_native(self) -> bool:
        """Whether it is paid with the native value of the transaction."""
        return self.unit == "native" or (self.unit == "request" and self.max_to_spend is None)

    @property
    def most_taken(self) -> int:
        """The most of its token that it may take from the wallet, with its fee."""
        return (self.max_to_spend or 0) if self.unit == "request" else (self.amount or 0) + (self.fee or 0)

    @property
    def request_currency(self) -> Currency | None:
        """The currency of an amount that is converted on execution; None if it is not a listed fiat or native one."""
        return find_by_hash(self.path[0]) if self.path else None


def read_effects(call: DecodedCall, *, to: str | None, value: int | None) -> list[Effect]:
    """Return the effects of a call sent to an address with a value in wei; none if its arguments are not known."""
    if call.code in {"empty", "reference_only"}:
        pay, reference = EffectKind.TRANSFER, call.data or None
        return [Effect(kind=pay, unit="native", token=NATIVE, recipient=to, amount=value, reference=reference)]
    if call.function is None or call.arguments is None:
        return []
    if not call.function.is_batch:
        nested = [item for item in call.arguments.values() if isinstance(item, dict)]  # a tuple's components
        arguments = {name: item for each in (call.arguments, *nested) for name, item in each.items()}
        effect = _effect(call.function, arguments, to=to, value=value, place=None)
        return [effect] if effect.most_taken <= UNLIMITED else _overflowing([effect])
    payments = enumerate(_batch_payments(call.arguments, of_one_token=call.function.name == "batchERC20Payments"))
    effects = [_effect(call.function, payment, to=to, value=value, place=place) for place, payment in payments]
    return effects if sum([effect.most_taken for effect in effects]) <= UNLIMITED else _overflowing(effects)


def _overflowing(effects: list[Effect]) -> list[Effect]:
    """Return effects with the reason why the contract rejects them, if those in one token add up to too much."""
    taken = Counter[str | None]()
    for effect in effects:
        taken[effect.token] += effect.most_taken
    reason = "The amounts add up to more than there can be."
    return effects if max(taken.values()) <= UNLIMITED else [replace(each, revert_reason=reason) for each in effects]


def _batch_payments(arguments: Mapping[str, Any], *, of_one_token: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each payment of a batch, with those that all payments share.

    A batch of one token collects all amounts in the token of the first payment, but pays each in its own token
    (RequestNetwork, BatchNoConversionPayments).
    """
    shared = {name: item for name, item in arguments.items() if not isinstance(item, list)}
    if [] in arguments.get("paths_to_usd", ()):
        shared["is_limit_broken"] = True
    if "groups" in arguments:
        yield from _grouped_payments(shared, arguments["groups"])
    elif "details" in arguments:
        details = arguments["details"]
        if details and details[0]["path"] and (of_one_token or shared.get("kind") == _OF_ONE_TOKEN):
            shared["taken"] = details[0]["path"][0]
        yield from (shared | detail for detail in details)
    else:
        lists = {name: arguments[name] for name in _PARALLEL if isinstance(arguments.get(name), list)}
        if len({len(items) for items in lists.values()}) > 1:
            shared["revert_reason"] = "The lists of the batch have different lengths."
        yield from (shared | dict(zip(lists, items, strict=True)) for items in zip_longest(*lists.values()))


def _grouped_payments(shared: Mapping[str, Any], groups: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the payments of groups; one of native value returns the rest, unless the last group is to convert it."""
    kinds = [group["kind"] for group in groups]
    rejected, is_value_returned = _rejected_groups(groups), False
    for kind, group in zip(kinds, groups, strict=True):
        is_native = kind in {_PAYS_VALUE, _CONVERTS_VALUE}
        reason = "An earlier group returns the rest of the native value." if is_native and is_value_returned else ""
        yield from _batch_payments({**shared, **group, "revert_reason": rejected or reason})
        is_value_returned |= is_native and (kind == _CONVERTS_VALUE or kinds[-1] != _CONVERTS_VALUE)


def _rejected_groups(groups: Sequence[dict[str, Any]]) -> str:
    if len(groups) > _MOST_GROUPS:
        return f"A batch can have at most {_MOST_GROUPS} groups."
    if any(group["kind"] == _OF_ONE_TOKEN and not group["details"] for group in groups):
        return "A group of payments in one token must not be empty."
    is_supported = all(group["kind"] in _UNITS_BY_KIND for group in groups)
    return "" if is_supported else "The contract does not support this kind of payment."


def _effect(
    function: Function, payment: Mapping[str, Any], *, to: str | None, value: int | None, place: int | None
) -> Effect:
    unit = _UNITS_BY_KIND.get(payment.get("kind", -1), "unknown") if function.unit == "by kind" else function.unit
    path = tuple(payment.get("path", ()))
    token = _token(function, payment, unit, path, to=to)
    members: dict[str, Any] = {name: payment[name] for name in _MEMBERS if name in payment}
    members |= {"allowance": payment["added"]} if "added" in payment else {}
    if "amount" not in payment and unit == "native" and function.payable and value is not None:
        left = value - (payment.get("fee") or 0)  # what reaches the payee
        members["amount"] = left if left >= 0 else None
    converts_value = unit == "request" and function.payable and payment.get("kind") != _CONVERTS_TOKENS
    if converts_value:  # a batch contract does not read it
        members["max_to_spend"] = None
    if not members.get("revert_reason") and unit != "native" and "recipient" in payment:
        members["revert_reason"] = _revert_reason(function, payment, path, token, converts_value=converts_value)
    kept = _kept_reason(payment, token, path) if function.is_batch and unit == "token" else ""
    return Effect(kind=function.effect, unit=unit, place=place, token=token, path=path, kept_reason=kept, **members)


_MEMBERS = (
    *("recipient", "amount", "fee", "fee_recipient", "reference", "spender", "allowance", "max_to_spend"),
    *("max_rate_age", "revert_reason"),
)
"""Members of an effect that are arguments of the function."""


def _revert_reason(
    function: Function, payment: Mapping[str, Any], path: tuple[str, ...], token: str | None, *, converts_value: bool
) -> str:
    if not path and "path" in payment:
        return "The path must not be empty."
    coin = None if token is None else find_by_hash(token)
    if converts_value:
        return "" if coin and coin.kind == "native" else "The path does not end with the network's coin."
    if coin:
        return "The contract pays tokens only, not the currency that is named."
    if function.is_batch and payment["fee_recipient"] == _ZERO:
        return "The fees are for the zero address, which most tokens refuse."
    return "A path to USD must not be empty." if "is_limit_broken" in payment else ""


def _kept_reason(payment: Mapping[str, Any], token: str | None, path: tuple[str, ...]) -> str:
    """Return why a batch contract may keep tokens that it takes for a payment; "" if it pays on all of them."""
    if len(path) > 1:
        return "Without conversion, the path must be one token: the contract may take its last one, and pay the first."
    if payment.get("taken", token) != token:
        return "It would take the token of the first payment for this one, too, but pay it in another."
    return ""


def _token(
    function: Function, payment: Mapping[str, Any], unit: str, path: tuple[str, ...], *, to: str | None
) -> str | None:
    if "token" in payment:
        return str(payment["token"])
    if unit == "native":
        return NATIVE
    if path:
        return path[0] if function.is_batch and unit == "token" else path[-1]
    return to if function.contracts == ("ERC20",) else None
