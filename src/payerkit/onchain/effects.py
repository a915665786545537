"""The effects of a decoded call: who is paid or allowed how much; a batch has one effect per payment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from payerkit.onchain.calldata import DecodedCall
from payerkit.onchain.currencies import Currency, find_by_hash
from payerkit.onchain.functions import EffectKind, Function

NATIVE = "native"
"""Stands for the network's native currency in place of a token address."""

_PARALLEL = ("token", "recipient", "amount", "reference", "fee")
"""Arguments that a batch can pass as lists of one length, with one item per payment."""

_UNITS_BY_KIND = {0: "request", 1: "token", 2: "token", 3: "native", 4: "request"}
"""Units of a group of BatchConversionPayments by its payment network id."""

_CONVERTS_TOKENS = 0
"""The payment network id of payments that convert to a token; 4, the other one with conversion, converts the value."""

_OF_ONE_TOKEN = 1
"""The payment network id of payments that are all in one token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A payment or an allowance that a call makes.

    place: in its batch, counted from 0; None outside a batch. token: the address of the token, or `NATIVE`; None if
    the calldata does not tell. unit: of amount and fee: base units of the token, wei, or units of the request's
    currency, which are converted on execution. max_to_spend: None if the native value stands for it. All amounts are
    integers. revert_reason: why the contract would reject it; "" if it would not.
    """

    kind: EffectKind
    unit: str
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

    @property
    def is_payment(self) -> bool:
        """Whether it moves money from the wallet towards a recipient."""
        return self.kind in {EffectKind.TRANSFER, EffectKind.SWAP, EffectKind.ESCROW}

    @property
    def is_native(self) -> bool:
        """Whether it is paid with the native value of the transaction."""
        return self.unit == "native" or (self.unit == "request" and self.max_to_spend is None)

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
        return [_effect(call.function, _flat(call.arguments), to=to, value=value, place=None)]
    payments = enumerate(_batch_payments(call.arguments, of_one_token=call.function.name == "batchERC20Payments"))
    return [_effect(call.function, payment, to=to, value=value, place=place) for place, payment in payments]


def _flat(arguments: dict[str, Any]) -> Mapping[str, Any]:
    """Return the arguments with the components of tuples among them."""
    nested = [item for item in arguments.values() if type(item) is dict]
    return arguments if not nested else {name: item for each in (arguments, *nested) for name, item in each.items()}


def _batch_payments(arguments: Mapping[str, Any], *, of_one_token: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each payment of a batch, with those that all payments share.

    A batch of one token pays all in the first one's (RequestNetwork, BatchNoConversionPayments).
    """
    shared = {name: item for name, item in arguments.items() if not isinstance(item, list)}
    if "groups" in arguments:
        for group in arguments["groups"]:
            yield from _batch_payments(shared | group)
    elif "details" in arguments:
        details = arguments["details"]
        if details and details[0]["path"] and (of_one_token or shared.get("kind") == _OF_ONE_TOKEN):
            shared["token"] = details[0]["path"][0]
        yield from (shared | detail for detail in details)
    else:
        lists = {name: arguments[name] for name in _PARALLEL if isinstance(arguments.get(name), list)}
        if len({len(items) for items in lists.values()}) > 1:
            shared["revert_reason"] = "The lists of the batch have different lengths."
        yield from (shared | dict(zip(lists, items, strict=True)) for items in zip_longest(*lists.values()))


def _effect(
    function: Function, payment: Mapping[str, Any], *, to: str | None, value: int | None, place: int | None
) -> Effect:
    unit = _UNITS_BY_KIND.get(payment.get("kind", -1), "unknown") if function.unit == "by kind" else function.unit
    path = tuple(payment.get("path", ()))
    return Effect(
        kind=function.effect,
        unit=unit,
        place=place,
        token=_token(payment, unit, path, to=to if function.contracts == ("ERC20",) else None),
        recipient=payment.get("recipient"),
        amount=payment["amount"] if "amount" in payment else _value_without_fee(function, unit, payment, value),
        fee=payment.get("fee"),
        fee_recipient=payment.get("fee_recipient"),
        reference=payment.get("reference"),
        spender=payment.get("spender"),
        allowance=payment.get("allowance", payment.get("added")),
        path=path,
        max_to_spend=None if _converts_value(function, unit, payment) else payment.get("max_to_spend"),
        max_rate_age=payment.get("max_rate_age"),
        revert_reason=payment.get("revert_reason", "") or _revert_reason(function, payment, unit, path),
    )


def _converts_value(function: Function, unit: str, payment: Mapping[str, Any]) -> bool:
    """Return True for a payment that converts native value; a batch contract does not read its max_to_spend."""
    return unit == "request" and function.payable and payment.get("kind") != _CONVERTS_TOKENS


def _revert_reason(function: Function, payment: Mapping[str, Any], unit: str, path: tuple[str, ...]) -> str:
    if unit == "unknown":
        return "The contract does not support this kind of payment."
    if function.is_batch and "path" in payment and unit == "token" and len(path) != 1:
        return "A payment without conversion must have a path of one token."
    return ""


def _token(payment: Mapping[str, Any], unit: str, path: tuple[str, ...], *, to: str | None) -> str | None:
    if "token" in payment:
        return str(payment["token"])
    if unit == "native":
        return NATIVE
    if unit == "token" and path:
        return path[0]  # what the batch contract takes, whatever follows
    return path[-1] if path else to


def _value_without_fee(function: Function, unit: str, payment: Mapping[str, Any], value: int | None) -> int | None:
    """Return the native amount that reaches the payee; None if the fee exceeds the value or the call is not native."""
    fee = payment.get("fee") or 0
    is_native = function.payable and unit == "native"
    return None if not is_native or value is None or fee > value else value - fee
