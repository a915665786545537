"""Calldata: every known function is decoded, every other byte is reported, and nothing
fails or takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from cases import table, table_rows
from example_payments import data, read
from payerkit import InvalidInput
from payerkit.payments import decode_calldata
from payerkit.payments.decode import CALLDATA_COLUMNS
from payerkit.payments.onchain.calldata import (
    MAX_BYTES,
    NOTES,
    AbiItem,
    Function,
    effects_of,
    functions,
    read_call,
)
from payerkit.payments.onchain.currencies import current_versions

PUBLISHED = {
    row["selector"]: row["signature"] for row in table_rows("published_functions")
}
"""The published selectors and canonical signatures, written down apart from the table
under test.
"""

FUNCTIONS = sorted(functions().values(), key=lambda function: function.selector)
ONE, TWO = "0x" + "11" * 20, "0x" + "22" * 20
FEE_PROXY = bytes.fromhex("c219a14d")
TYPES = ["address", "address", "uint256", "bytes", "uint256", "address"]
PAYMENT = [ONE, TWO, 5, b"12345678", 1, ONE]


def samples_of(items: Sequence[AbiItem], seed: int = 1) -> tuple[Any, ...]:
    """Return a value of each of several inputs."""
    return tuple(sample(item, seed * 7 + place) for place, item in enumerate(items))


def sample(item: AbiItem, seed: int = 1) -> Any:
    """Return a value of a type, with two items in every list, and no two values alike
    by chance.
    """
    kind = item["type"]
    if kind.endswith("[]"):
        part = {**item, "type": kind.removesuffix("[]")}
        return [sample(part, seed + 1), sample(part, seed + 2)]
    if kind == "tuple":
        return samples_of(item["components"], seed)
    if kind == "address":
        return f"0x{seed % 251 + 1:040x}"
    if kind == "bool":
        return seed % 2 == 0
    if kind == "bytes":
        return bytes([seed % 251]) * 8
    if kind.startswith("bytes"):
        return bytes([seed % 251]) * int(kind[5:])
    return 2 ** (int(kind[4:])) - 1 - seed % 100


def encoded(function: Function, values: tuple[Any, ...]) -> str:
    """Return the calldata of a function with these values."""
    return "0x" + (function.selector + encode(function.types, values)).hex()


def fee_proxy_call(tail: bytes = b"", arguments: bytes | None = None) -> str:
    """Return a call of the fee proxy, with other arguments or more behind them."""
    return (
        "0x"
        + (
            FEE_PROXY
            + (encode(TYPES, PAYMENT) if arguments is None else arguments)
            + tail
        ).hex()
    )


def test_functions_are_those_that_are_published() -> None:
    """Selectors and signatures are the published ones."""
    known = {f"0x{each.selector.hex()}": each.signature for each in FUNCTIONS}

    assert known == PUBLISHED


def test_contracts_of_functions_are_known() -> None:
    """A function names contracts that have deployments, or those that have none of
    their own.
    """
    undeployed = {
        "ERC20",
        "ERC20SingleRequestProxy",
        "EthereumSingleRequestProxy",
        "ERC20BatchPayments",
    }

    assert {contract for each in FUNCTIONS for contract in each.contracts} <= set(
        current_versions()
    ) | undeployed


def name_of(function: Function) -> str:
    """Return the name and the selector of a function."""
    return f"{function.name}-{function.selector.hex()}"


@pytest.mark.parametrize("function", FUNCTIONS, ids=name_of)
def test_every_function_is_read_back(function: Function) -> None:
    """Arguments of every function come back as they were encoded, by name; trailing
    bytes are reported.
    """
    values = samples_of(function.abi["inputs"])
    data = encoded(function, values)
    call, longer = read_call(data), read_call(data + "00")

    assert (function, "", True) == (call.function, call.code, call.canonical)
    assert values == plain(call.arguments)
    if values:
        assert ("not_canonical", False) == (longer.code, longer.canonical)


def plain(arguments: Any) -> Any:
    """Return named arguments as the tuples that they were encoded from."""
    if isinstance(arguments, dict):
        return tuple(plain(item) for item in arguments.values())
    return (
        [plain(item) for item in arguments]
        if isinstance(arguments, list)
        else arguments
    )


@pytest.mark.parametrize("function", FUNCTIONS, ids=name_of)
def test_a_truncated_call_is_never_canonical(function: Function) -> None:
    """Truncation at any byte is reported; no missing byte is assumed."""
    call = encoded(function, samples_of(function.abi["inputs"]))
    found = [read_call(call[:end]) for end in range(10, len(call), 2)]

    assert {each.code for each in found} <= {
        "cut",
        "unknown",
        "reference_only",
        "not_canonical",
    }
    assert True not in {each.canonical for each in found}


UNREADABLE = [
    (None, "missing"),
    (5, "not_hex"),
    ("0x12g4", "not_hex"),
    ("0xb868980b...00", "elided"),
    ("0xb868980b…", "elided"),
    ("0x095ea7b", "odd"),
    ("", "empty"),
    ("0x", "empty"),
    ("0x1234", "too_short"),
    ("0x0102030405060708", "reference_only"),
    ("0xdeadbeef" + "00" * 32, "unknown"),
    ("0x" + "00" * (MAX_BYTES + 1), "too_long"),
    ("0xc219a14d", "cut"),
]


HEAD = encode(TYPES, PAYMENT)
MALFORMED = [
    ("trailing bytes", fee_proxy_call(b"\x00"), "not_canonical"),
    ("a second call appended", fee_proxy_call(FEE_PROXY + HEAD), "not_canonical"),
    ("padding not zero", fee_proxy_call(arguments=HEAD[:-1] + b"\x01"), "cut"),
    ("padding missing", fee_proxy_call(arguments=HEAD[:-24]), "cut"),
    (
        "junk between head and tail",
        fee_proxy_call(
            arguments=encode(TYPES, PAYMENT)[:96]
            + (224).to_bytes(32)
            + HEAD[128:192]
            + b"\x07" * 32
            + HEAD[192:]
        ),
        "not_canonical",
    ),
    ("dirty address", fee_proxy_call(arguments=b"\x01" + HEAD[1:]), "cut"),
    (
        "place outside",
        fee_proxy_call(arguments=HEAD[:96] + (2**64).to_bytes(32) + HEAD[128:]),
        "cut",
    ),
    (
        "place of 2^256-1",
        fee_proxy_call(arguments=HEAD[:96] + b"\xff" * 32 + HEAD[128:]),
        "cut",
    ),
    (
        "length of 2^255",
        fee_proxy_call(arguments=HEAD[:192] + (2**255).to_bytes(32) + HEAD[224:]),
        "cut",
    ),
]


@pytest.mark.parametrize(
    ("data", "code"),
    [*UNREADABLE, *(row[1:] for row in MALFORMED)],
    ids=[*(f"{data}"[:20] for data, _ in UNREADABLE), *(row[0] for row in MALFORMED)],
)
def test_what_is_no_whole_call_has_a_code(data: Any, code: str) -> None:
    """Each reason has its own code and message. A call that has extra bytes or would
    revert is never canonical, and decoding it does not raise.
    """
    call = read_call(data)
    canonical = False if code == "not_canonical" else None

    assert (code, canonical) == (call.code, call.canonical)
    assert NOTES[code]


def test_a_small_bomb_is_not_decoded() -> None:
    """Lists that share their items decode to millions of values; they are refused
    before they are decoded.
    """
    inner = (400).to_bytes(32) + (0).to_bytes(32) * 400
    shared = (400).to_bytes(32) + (400 * 32).to_bytes(32) * 400 + inner
    head = (96).to_bytes(32) + (128).to_bytes(32) + (0).to_bytes(32)
    call = read_call("0x9af8a581" + (head + (0).to_bytes(32) + shared).hex())

    assert ("cut", None) == (call.code, call.arguments)


@given(
    st.binary(max_size=300),
    st.sampled_from([*(each.selector for each in FUNCTIONS), b"", b"\x00"]),
)
def test_random_bytes_never_fail(data: bytes, selector: bytes) -> None:
    """Any bytes are decoded or have a code."""
    call = read_call("0x" + (selector + data).hex())
    effects = effects_of(call, to=ONE, value=7)

    assert call.code in NOTES
    assert bool(effects) <= (
        call.arguments is not None or call.code in {"empty", "reference_only"}
    )


@table("effects", read)
def test_effects_tell_who_is_paid_what(call: Any, effects: list[list[Any]]) -> None:
    """Each payment of a call is an effect: a batch has as many as it pays, with their
    place.
    """
    to, data, value = call
    found = effects_of(read_call(data), to=to, value=value)

    assert effects == [
        [each.place, each.token, each.recipient, each.amount, each.fee, each.unit]
        for each in found
    ]


@table("odd_batches", read)
def test_what_a_batch_contract_rejects_or_keeps_is_told(
    call: Any, reverts: str, keeps: str
) -> None:
    """Every payment is shown, with the reason."""
    to, data, value = call

    for effect in effects_of(read_call(data), to=to, value=value):
        assert reverts in effect.revert_reason
        assert keeps in effect.kept_reason
        assert bool(reverts) == bool(effect.revert_reason)
        assert bool(keeps) == bool(effect.kept_reason)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 2**256 - 1), st.binary(min_size=0, max_size=40)),
        max_size=5,
    )
)
def test_amounts_and_references_of_any_size_are_exact(
    payments: list[tuple[int, bytes]],
) -> None:
    """No amount passes through a float, and a reference of another length than eight is
    read as well.
    """
    calls = [
        data("c219a14d", ONE, ONE, amount, reference, 0, ONE)
        for amount, reference in payments
    ]
    found = decode_calldata(pd.Series(calls, dtype="object"))

    assert [amount for amount, _ in payments] == list(found["amount_base"])
    assert ["0x" + reference.hex() for _, reference in payments] == list(
        found["reference"]
    )


def test_the_index_is_kept() -> None:
    """A batch repeats the label of its call; the others keep theirs, in their order."""
    batch = data("73535e55", [ONE, TWO], [5, 6], [b"1", b"2"], [1, 2], ONE)
    calls = pd.Series([fee_proxy_call(), batch, "0x"], index=["a", "b", "c"])
    found = decode_calldata(calls)

    assert ["a", "b", "b", "c"] == list(found.index)
    assert [0, 1] == found.loc[["b"], "place"].tolist()


@pytest.mark.parametrize(
    "empty", [pd.Series([], dtype="object"), pd.Series([], dtype="string")]
)
def test_without_calls_the_columns_are_there(empty: pd.Series[Any]) -> None:
    """An empty series gives an empty frame with all columns."""
    assert (list(CALLDATA_COLUMNS), 0) == (
        list(decode_calldata(empty).columns),
        len(decode_calldata(empty)),
    )


@pytest.mark.parametrize("wrong", [None, "0x", ["0x"], pd.DataFrame()])
def test_anything_but_a_series_is_refused(wrong: Any) -> None:
    """One call, or a list, is refused."""
    with pytest.raises(InvalidInput, match="Give a Series of calldata"):
        decode_calldata(wrong)
