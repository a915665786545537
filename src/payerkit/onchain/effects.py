"""What a call does, line by line: who is paid or allowed what; a batch is as many lines as it has payments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from payerkit.onchain.calldata import DecodedCall
from payerkit.onchain.functions import Function

NATIVE = "native"
"""What stands for a network's own coin where else the address of a token does."""

_PARALLEL = ("token", "recipient", "amount", "reference", "fee")
"""Arguments that batches give as lists of one length, one item a payment."""

_UNITS_BY_KIND = {0: "request", 1: "token", 2: "token", 3: "native", 4: "request"}
"""Units of a group of BatchConversionPayments by its payment network id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that a call does.

    place: in its batch, counted from 0; None outside of one. does: what the function is for. token: the address of
    what is moved, or `NATIVE`; None if the data does not say. unit: of amount and fee: base units of the token, wei,
    or of the request's currency, which are converted when the call is executed. All amounts are integers. fault: why
    the contract would refuse it, "" if it would not.
    """

    does: str
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
    fault: str = ""


def read_lines(call: DecodedCall, *, to: str | None, value: int | None) -> list[Effect]:
    """Return what a call does when it is sent to an address with some wei; nothing if its arguments are not known."""
    if call.code in {"empty", "reference_only"}:
        reference = call.data if call.code == "reference_only" else None
        return [Effect(does="pay", unit="native", token=NATIVE, recipient=to, amount=value, reference=reference)]
    if call.function is None or call.arguments is None:
        return []
    function, is_batch = call.function, "batch" in call.function.name
    records = enumerate(_records(call.arguments))
    return [_line(function, record, to=to, value=value, place=at if is_batch else None) for at, record in records]


def _records(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each payment: one record, or one an item of the lists."""
    shared = {name: item for name, item in arguments.items() if not isinstance(item, dict | list) or name == "path"}
    for item in arguments.values():
        if isinstance(item, dict):
            shared |= item
    nested = [item for name, item in arguments.items() if name in {"groups", "details"}]
    lists = {name: arguments[name] for name in _PARALLEL if isinstance(arguments.get(name), list)}
    if nested:
        for each in nested[0]:
            yield from _records({**shared, **each})
    elif lists:
        fault = {"fault": "Lists of different lengths."} if len({len(items) for items in lists.values()}) > 1 else {}
        for items in zip_longest(*lists.values()):
            yield shared | dict(zip(lists, items, strict=True)) | fault
    else:
        yield shared


def _line(
    function: Function, record: Mapping[str, Any], *, to: str | None, value: int | None, place: int | None
) -> Effect:
    unit = _UNITS_BY_KIND.get(record.get("kind", -1), "unknown") if function.unit == "by kind" else function.unit
    path = tuple(record.get("path", ()))
    sent = _sent(record, value) if function.payable and unit == "native" else None
    return Effect(
        does=function.does,
        unit=unit,
        place=place,
        token=_token(record, unit, path, to=to if function.contracts == ("ERC20",) else None),
        recipient=record.get("recipient"),
        amount=record.get("amount", sent),
        fee=record.get("fee"),
        fee_recipient=record.get("fee_recipient"),
        reference=record.get("reference"),
        spender=record.get("spender"),
        allowance=record.get("allowance", record.get("added")),
        path=path,
        max_to_spend=record.get("max_to_spend"),
        max_rate_age=record.get("max_rate_age"),
        fault=record.get("fault", "") or _fault(record, unit, path),
    )


def _fault(record: Mapping[str, Any], unit: str, path: tuple[str, ...]) -> str:
    if unit == "unknown":
        return "A kind of payment that the contract does not know."
    is_listed = "max_to_spend" in record and "path" in record  # one of the details of a batch
    if is_listed and unit == "token" and len(path) != 1:
        return "One token is paid, and the path has not one."
    return ""


def _token(record: Mapping[str, Any], unit: str, path: tuple[str, ...], *, to: str | None) -> str | None:
    if "token" in record:
        return str(record["token"])
    if unit == "native":
        return NATIVE
    if unit == "token" and path:
        return path[0]  # what the batch contract takes, whatever follows
    return path[-1] if path else to


def _sent(record: Mapping[str, Any], value: int | None) -> int | None:
    """Return what reaches the payee of a native payment: the value without the fee; None if it is not that much."""
    fee = record.get("fee") or 0
    return None if value is None or fee > value else value - fee
