"""Many calls at once: calls of one function and one length have their values at the same places."""

from __future__ import annotations

from binascii import hexlify, unhexlify
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.onchain.abi import WORD, Type
from payerkit.onchain.calldata import DecodedCall, read_call
from payerkit.onchain.effects import NATIVE, Effect, read_lines
from payerkit.onchain.functions import Function, functions

COLUMNS = (
    "place",
    "function",
    "selector",
    "does",
    "unit",
    "token",
    "recipient",
    "amount_base",
    "fee_base",
    "fee_recipient",
    "reference",
    "spender",
    "allowance",
    "max_to_spend",
    "canonical",
    "code",
)
"""The columns of decoded call data: what can be said without a network, an address and a value."""

_TEXTS = ("function", "selector", "does", "unit", "token", "recipient", "fee_recipient", "reference", "spender", "code")
_OTHERS = {"place": "Int64", "canonical": "boolean"}
_LONGEST = 2_000
"""Characters of a call that is read together with others; those of plain functions have a few hundred."""

_CHUNK = 4_096
"""Calls that are read together: few enough to stay in the processor's cache."""

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Piece = tuple[Places, Mapping[str, Any]]
"""Some rows: the places of their calls, and their columns: a list of values, or the one value that all have."""


@without_internal_frames
def decode_calldata(calls: pd.Series[Any]) -> pd.DataFrame:
    """Return what call data says, one row a call, and one a payment of a batch; the index of the series is kept.

    calls: hex as text. amount_base, fee_base, allowance, max_to_spend: int in base units, object columns, None where
    the function has none. code: why a call was not read to its last byte, "" if it was
    (`payerkit.onchain.calldata.NOTES` has the words). Nothing is dropped, and the values are those of one by one. A
    Dask series is decoded by `series.map_partitions(decode_calldata, clear_divisions=True)`. Raises InvalidInput for
    what is no Series.
    """
    if not isinstance(calls, pd.Series):
        raise InvalidInput(f"Give a Series of call data; got a {type(calls).__name__}.")
    values = calls.tolist()
    pieces = [
        _at_once(selector, places[start : start + _CHUNK], values)
        for (selector, _), places in _grouped(values).items()
        for start in range(0, len(places), _CHUNK)
    ]
    is_read = np.zeros(len(values), np.bool_)
    for places, _ in pieces:
        is_read[places] = True
    pieces.append(_one_by_one(np.flatnonzero(~is_read).tolist(), values))
    of_call = np.concatenate([places for places, _ in pieces])
    order = np.argsort(of_call, kind="stable")
    frame = pd.DataFrame({name: _column(name, pieces, order) for name in COLUMNS})
    return frame.set_axis(calls.index.take(of_call[order]))


def _column(name: str, pieces: Sequence[Piece], order: Places) -> pd.Series[Any]:
    """Return a column of all pieces, in the order of the calls."""
    dtype = "string" if name in _TEXTS else _OTHERS.get(name, "object")
    found = [columns.get(name) for places, columns in pieces if len(places)]
    if found and not isinstance(found[0], list) and all(each is found[0] for each in found):
        return pd.Series(pd.Series([found[0]], dtype=dtype).array.take(np.zeros(len(order), np.int64)))
    column = np.full(len(order), None, dtype="object")
    start = 0
    for places, columns in pieces:
        column[start : start + len(places)] = columns.get(name)
        start += len(places)
    return pd.Series(column[order], dtype=dtype)


def _one_by_one(places: Sequence[int], values: Sequence[Any]) -> Piece:
    rows = [(place, row) for place in places for row in _rows(read_call(values[place]))]
    columns = {name: [row[at] for _, row in rows] for at, name in enumerate(COLUMNS)}
    return np.array([place for place, _ in rows], np.int64), columns


def _rows(call: DecodedCall) -> list[tuple[Any, ...]]:
    lines = [] if call.function is None else read_lines(call, to=None, value=None)
    return [_row(call, line) for line in lines] or [_row(call, None)]


def _row(call: DecodedCall, line: Effect | None) -> tuple[Any, ...]:
    named = (call.function.name if call.function else None, call.selector or None)
    if line is None:
        return (None, *named, *[None] * 11, call.canonical, call.code)
    reference = None if line.reference is None else f"0x{line.reference.hex()}"
    shown = (line.token, line.recipient, line.amount, line.fee, line.fee_recipient, reference)
    more = (line.spender, line.allowance, line.max_to_spend)
    return (line.place, *named, line.does, line.unit, *shown, *more, call.canonical, call.code)


def _grouped(values: Sequence[Any]) -> dict[tuple[bytes, int], list[int]]:
    """Return the places of the calls that may be read together: of one plain function, and of one length."""
    alike: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for place, value in enumerate(values):
        if isinstance(value, str):
            alike[value[:10], len(value)].append(place)
    heads = {f"0x{selector.hex()}": selector for selector, function in functions().items() if _is_plain(function)}
    return {
        (heads[head], length): places
        for (head, length), places in alike.items()
        if head in heads and length % 2 == 0 and length <= _LONGEST
    }


def _is_plain(function: Function) -> bool:
    """Tell whether all arguments are addresses and numbers but for one reference, so that places are fixed."""
    kinds = [part.kind for part in function.arguments.parts]
    plain = sum(kind in {"address", "uint256"} for kind in kinds)
    names = {part.name for part in function.arguments.parts}
    has_own_token = "token" in names or function.unit == "native" or function.does == "approve"
    return function.does in {"pay", "approve"} and has_own_token and len(kinds) - plain == kinds.count("bytes") <= 1


def _at_once(selector: bytes, places: Sequence[int], values: Sequence[Any]) -> Piece:
    """Return the calls of one function and length that are as expected; the others are left to be read one by one."""
    function = functions()[selector]
    parts = function.arguments.parts
    size = len(values[places[0]]) // 2 - 1
    if not _fits(parts, size - 4):
        return np.empty(0, np.int64), {}
    try:
        texts = "".join([values[place] for place in places]).encode("ascii")
        digits = np.frombuffer(texts, np.uint8).reshape(len(places), -1)[:, 2:]
        data = np.frombuffer(unhexlify(digits.tobytes()), np.uint8).reshape(-1, size)
    except ValueError:  # one of them is no hex
        return np.empty(0, np.int64), {}
    is_fine = _is_canonical(parts, data[:, 4:])
    arguments = (data if is_fine.all() else data[is_fine])[:, 4:]
    columns = {part.name: _values(part, arguments, at, len(parts)) for at, part in enumerate(parts)}
    return np.asarray(places, np.int64)[is_fine], _named(function, columns)


def _fits(parts: Sequence[Type], size: int) -> bool:
    """Tell whether arguments of this size have room for a reference of eight bytes, or none where there is none."""
    has_reference = any(part.kind == "bytes" for part in parts)
    return size == WORD * (len(parts) + 2 * has_reference)


def _is_canonical(parts: Sequence[Type], arguments: Bytes) -> npt.NDArray[np.bool_]:
    """Tell for each call whether its arguments explain every byte: no dirty address, a reference of eight bytes."""
    fine = np.ones(len(arguments), np.bool_)
    head = len(parts) * WORD
    for at, part in enumerate(parts):
        word = arguments[:, at * WORD : (at + 1) * WORD]
        if part.kind == "address":
            fine &= ~word[:, :12].any(axis=1)
        elif part.kind == "bytes":
            fine &= (word == _word(head)).all(axis=1) & (arguments[:, head : head + WORD] == _word(8)).all(axis=1)
            fine &= ~arguments[:, head + WORD + 8 :].any(axis=1)
    return fine


def _word(number: int) -> Bytes:
    return np.frombuffer(number.to_bytes(WORD), np.uint8)


def _values(part: Type, arguments: Bytes, at: int, words: int) -> list[Any]:
    """Return a column of values, each as reading one by one gives it."""
    word = arguments[:, at * WORD : (at + 1) * WORD]
    if part.kind == "address":
        return _hex(word[:, 12:])
    if part.kind == "bytes":
        return _hex(arguments[:, (words + 1) * WORD : (words + 1) * WORD + 8])
    numbers: list[Any] = word[:, 24:].copy().view(">u8").ravel().tolist()
    for row in np.flatnonzero(word[:, :24].any(axis=1)).tolist():
        numbers[row] = int.from_bytes(word[row].tobytes())
    return numbers


def _hex(columns: Bytes) -> list[str]:
    """Return each row of bytes as hex."""
    digits = np.frombuffer(hexlify(columns.tobytes()), np.uint8).reshape(len(columns), 2 * columns.shape[1])
    prefix = np.broadcast_to(np.frombuffer(b"0x", np.uint8), (len(columns), 2))
    texts = np.concatenate([prefix, digits], axis=1)
    return list(texts.view(f"S{texts.shape[1]}").ravel().astype(str).tolist())


@cache
def _selector(function: Function) -> str:
    return f"0x{function.selector.hex()}"


def _named(function: Function, columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the columns of calls of one function."""
    ours = {"amount": "amount_base", "fee": "fee_base"}
    same = {"token": NATIVE} if function.unit == "native" else {}
    return {
        **same,
        **{ours.get(name, name): values for name, values in columns.items()},
        "function": function.name,
        "selector": _selector(function),
        "does": function.does,
        "unit": function.unit,
        "canonical": True,
        "code": "",
    }
