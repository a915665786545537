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

import payerkit
from cases import table_rows
from payerkit import InvalidInput
from payerkit.payments.decode import CALLDATA_COLUMNS
from payerkit.payments.onchain.calldata import (
    MAX_BYTES,
    NATIVE,
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


@pytest.mark.parametrize(
    "function", FUNCTIONS, ids=lambda each: f"{each.name}-{each.selector.hex()}"
)
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


@pytest.mark.parametrize(
    "function",
    FUNCTIONS,
    ids=lambda each: f"{each.name}-{each.selector.hex()}",
)
def test_a_truncated_call_is_never_canonical(function: Function) -> None:
    """Truncation at any byte is reported; no missing byte is assumed."""
    data = bytes.fromhex(encoded(function, samples_of(function.abi["inputs"]))[2:])
    codes = {
        read_call("0x" + data[:length].hex()).code for length in range(4, len(data))
    }

    assert codes <= {"cut", "unknown", "reference_only", "not_canonical"}
    assert all(
        read_call("0x" + data[:length].hex()).canonical is not True
        for length in range(4, len(data))
    )


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


@pytest.mark.parametrize(
    ("data", "code"), UNREADABLE, ids=lambda value: str(value)[:20]
)
def test_unreadable_calldata_has_a_code(data: Any, code: str) -> None:
    """Each reason why calldata is not a known call has its own code and message."""
    call = read_call(data)

    assert (code, None) == (call.code, call.canonical)
    assert NOTES[code]


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
    ("data", "code"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED]
)
def test_malformed_calls_are_never_canonical(data: str, code: str) -> None:
    """A call that has extra bytes or would revert is never canonical, and decoding it
    does not raise.
    """
    call = read_call(data)

    assert (code, True) == (call.code, call.canonical is not True)


def test_a_small_bomb_is_not_decoded() -> None:
    """Lists that share their items decode to millions of values; they are refused
    before they are decoded.
    """
    function = functions()[bytes.fromhex("9af8a581")]
    inner = (400).to_bytes(32) + (0).to_bytes(32) * 400
    shared = (400).to_bytes(32) + (400 * 32).to_bytes(32) * 400 + inner
    head = (96).to_bytes(32) + (128).to_bytes(32) + (0).to_bytes(32)
    call = read_call(
        "0x" + (function.selector + head + (0).to_bytes(32) + shared).hex()
    )

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


def effect_values(data: str, *, value: int = 0) -> list[tuple[Any, ...]]:
    """Return what each effect of a call pays, with what, to whom, with which fee."""
    effects = effects_of(read_call(data), to=TWO, value=value)
    return [
        (
            effect.place,
            effect.token,
            effect.recipient,
            effect.amount,
            effect.fee,
            effect.unit,
        )
        for effect in effects
    ]


def call_of(selector: str, *values: Any) -> str:
    """Return the calldata of a known function."""
    return encoded(functions()[bytes.fromhex(selector)], values)


DETAIL = (ONE, 5, [TWO], b"12345678", 1, 0, 0)
CONVERTED = (TWO, 6, [ONE, TWO], b"87654321", 2, 9, 0)
COIN = "0xF5AF88e117747e87fc5929F2ff87221B1447652E"  # the hash of ETH on mainnet
TO_COIN = (TWO, 6, [ONE, COIN], b"87654321", 2, 9, 0)
EFFECTS = [
    (
        call_of("a9059cbb", ONE, 5),
        0,
        [(None, TWO, ONE, 5, None, "token")],
    ),  # the token is the contract
    (call_of("c219a14d", *PAYMENT), 0, [(None, ONE, TWO, 5, 1, "token")]),
    (
        call_of("b868980b", ONE, b"12345678", 3, TWO),
        10,
        [(None, NATIVE, ONE, 7, 3, "native")],
    ),  # value without fee
    (
        call_of("b868980b", ONE, b"12345678", 11, TWO),
        10,
        [(None, NATIVE, ONE, None, 11, "native")],
    ),  # would revert
    (
        call_of("eb7d8df3", ONE, b"12345678"),
        10,
        [(None, NATIVE, ONE, 10, None, "native")],
    ),
    (
        call_of("3af2c012", ONE, 5, [ONE, TWO], b"1", 1, TWO, 9, 0),
        0,
        [(None, TWO, ONE, 5, 1, "request")],
    ),
    (
        call_of("5f2993bf", ONE, ONE, 5, 9, [ONE, TWO], b"12345678", 1, ONE, 0),
        0,
        [(None, TWO, ONE, 5, 1, "token")],
    ),  # a swap takes the first token of its path, and pays the last
    (
        call_of("fa733142", [ONE, TWO], [TWO, ONE], [5, 6], [b"1", b"2"], [1, 2], ONE),
        0,
        [(0, ONE, TWO, 5, 1, "token"), (1, TWO, ONE, 6, 2, "token")],
    ),
    (
        call_of("73535e55", [ONE, TWO], [5, 6], [b"1", b"2"], [1, 2], ONE),
        14,
        [(0, NATIVE, ONE, 5, 1, "native"), (1, NATIVE, TWO, 6, 2, "native")],
    ),
    (
        call_of("92cddb91", [(2, [DETAIL]), (0, [CONVERTED]), (3, [DETAIL])], [], ONE),
        6,
        [
            (0, TWO, ONE, 5, 1, "token"),
            (1, TWO, TWO, 6, 2, "request"),
            (2, NATIVE, ONE, 5, 1, "native"),
        ],
    ),
    (
        call_of("9af8a581", [DETAIL, DETAIL], [], ONE),
        0,
        [(n, TWO, ONE, 5, 1, "token") for n in (0, 1)],
    ),
    (
        "0x0102030405060708",
        9,
        [(None, NATIVE, TWO, 9, None, "native")],
    ),  # the legacy form: a reference and no call
    ("0x", 9, [(None, NATIVE, TWO, 9, None, "native")]),
    ("0xdeadbeef", 0, []),
]


@pytest.mark.parametrize(
    ("data", "value", "effects"), EFFECTS, ids=lambda item: str(item)[:12]
)
def test_effects_tell_who_is_paid_what(
    data: str, value: int, effects: list[tuple[Any, ...]]
) -> None:
    """Each payment of a call is an effect: a batch has as many as it pays, with their
    place.
    """
    assert effects == effect_values(data, value=value)


def test_a_batch_whose_lists_differ_would_fail() -> None:
    """Lists of different lengths revert on chain; every payment is shown, with the
    reason.
    """
    effects = effects_of(
        read_call(call_of("73535e55", [ONE], [5, 6], [b"1"], [1], ONE)), to=ONE, value=7
    )

    assert [(ONE, 5, True), (None, 6, True)] == [
        (effect.recipient, effect.amount, bool(effect.revert_reason))
        for effect in effects
    ]


def test_a_batch_pays_the_first_of_a_path() -> None:
    """Whatever follows in the path, the batch contract pays its first entry; it may
    take another one.
    """
    (effect,) = effects_of(
        read_call(call_of("9af8a581", [(ONE, 5, [TWO, ONE], b"1", 1, 0, 0)], [], ONE)),
        to=ONE,
        value=0,
    )

    assert (TWO, True) == (effect.token, bool(effect.kept_reason))


REJECTED: list[tuple[str, str, list[Any]]] = [
    ("six groups", "at most 5 groups", [[(2, [DETAIL])] * 6, [], ONE]),
    (
        "an empty group of one token",
        "must not be empty",
        [[(2, [DETAIL]), (1, [])], [], ONE],
    ),
    (
        "an empty group of no kind",
        "does not support",
        [[(2, [DETAIL]), (5, [])], [], ONE],
    ),
    (
        "two native groups",
        "returns the rest",
        [[(3, [DETAIL]), (3, [DETAIL])], [], ONE],
    ),
    (
        "a native group after a conversion",
        "returns the rest",
        [[(4, [TO_COIN]), (3, [DETAIL])], [], ONE],
    ),
    (
        "two conversions of the value",
        "returns the rest",
        [[(4, [TO_COIN]), (4, [TO_COIN])], [], ONE],
    ),
    (
        "an empty path",
        "must not be empty",
        [[(2, [(*DETAIL[:2], [], *DETAIL[3:])])], [], ONE],
    ),
    ("an empty path to USD", "path to USD", [[(2, [DETAIL])], [[]], ONE]),
    (
        "a coin in place of a token",
        "tokens only",
        [[(2, [(*DETAIL[:2], [COIN], *DETAIL[3:])])], [], ONE],
    ),
    ("a conversion to a coin by tokens", "tokens only", [[(0, [TO_COIN])], [], ONE]),
    ("a conversion of the value to a token", "coin", [[(4, [CONVERTED])], [], ONE]),
    ("nobody for the fees", "zero address", [[(2, [DETAIL])], [], "0x" + "0" * 40]),
    (
        "more than there can be",
        "add up",
        [[(2, [DETAIL, (ONE, 2**256 - 1, *DETAIL[2:])])], [], ONE],
    ),
]


@pytest.mark.parametrize(
    ("why", "arguments"),
    [row[1:] for row in REJECTED],
    ids=[row[0] for row in REJECTED],
)
def test_what_a_batch_contract_rejects_is_told(why: str, arguments: list[Any]) -> None:
    """As executed on its bytecode, in test_execution.py."""
    effects = effects_of(
        read_call(call_of("92cddb91", *arguments)), to=ONE, value=10**18
    )

    assert why in effects[-1].revert_reason


def test_a_batch_may_convert_what_native_payments_leave() -> None:
    """Native payments return nothing if the last group converts the value."""
    groups = [(3, [DETAIL]), (3, [DETAIL]), (4, [TO_COIN])]
    effects = effects_of(
        read_call(call_of("92cddb91", groups, [[]], ONE)), to=ONE, value=10**18
    )

    assert [("", "")] * 3 == [
        (effect.revert_reason, effect.kept_reason) for effect in effects
    ]


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
    address = "0x" + "11" * 20
    calls = [
        "0xc219a14d"
        + encode(TYPES, [address, address, amount, reference, 0, address]).hex()
        for amount, reference in payments
    ]
    found = payerkit.payments.decode_calldata(pd.Series(calls, dtype="object"))

    assert [amount for amount, _ in payments] == list(found["amount_base"])
    assert ["0x" + reference.hex() for _, reference in payments] == list(
        found["reference"]
    )


def test_the_index_is_kept() -> None:
    """A batch repeats the label of its call; the others keep theirs, in their order."""
    batch = next(call for call, *_ in EFFECTS if call.startswith("0xfa733142"))
    calls = pd.Series([fee_proxy_call(), batch, "0x"], index=["a", "b", "c"])
    found = payerkit.payments.decode_calldata(calls)

    assert ["a", "b", "b", "c"] == list(found.index)
    assert [0, 1] == found.loc[["b"], "place"].tolist()


@pytest.mark.parametrize(
    "empty", [pd.Series([], dtype="object"), pd.Series([], dtype="string")]
)
def test_without_calls_the_columns_are_there(empty: pd.Series[Any]) -> None:
    """An empty series gives an empty frame with all columns."""
    assert (list(CALLDATA_COLUMNS), 0) == (
        list(payerkit.payments.decode_calldata(empty).columns),
        len(payerkit.payments.decode_calldata(empty)),
    )


@pytest.mark.parametrize("wrong", [None, "0x", ["0x"], pd.DataFrame()])
def test_anything_but_a_series_is_refused(wrong: Any) -> None:
    """One call, or a list, is refused."""
    with pytest.raises(InvalidInput, match="Give a Series of calldata"):
        payerkit.payments.decode_calldata(wrong)
