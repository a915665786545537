"""A column of calldata: the values of each call, whatever the others are."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

import payerkit
from payerkit import InvalidInput
from payerkit.onchain.calldata import read_call
from payerkit.payment.decode import CALLDATA_COLUMNS, _calldata_rows
from test_calldata import FUNCTIONS, MALFORMED, UNREADABLE, encoded, sample

CALLS = [
    *(encoded(function, sample(function.arguments, seed)) for function in FUNCTIONS for seed in (1, 2)),
    *(row[1] for row in MALFORMED),
    *(row[0] for row in UNREADABLE),
]
PLAIN = "0xc219a14d"
TYPES = ["address", "address", "uint256", "bytes", "uint256", "address"]


def values(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a frame, with None for what is missing."""
    return [tuple(None if item is pd.NA else item for item in row) for row in frame.itertuples(index=False, name=None)]


def one_by_one(calls: list[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of each call."""
    return [tuple(row.values()) for call in calls for row in _calldata_rows(read_call(call))]


def test_all_samples_are_read_alike() -> None:
    """Every function, every malformed call and every unreadable one."""
    assert one_by_one(CALLS) == values(payerkit.payment.decode_calldata(pd.Series(CALLS, dtype="object")))


words = st.one_of(
    st.integers(0, 2**256 - 1).map(lambda number: number.to_bytes(32)),
    st.sampled_from([(8).to_bytes(32), (192).to_bytes(32), b"\0" * 12 + b"\x11" * 20, b"12345678" + b"\0" * 24]),
)


@pytest.mark.slow
@given(st.lists(st.one_of(st.sampled_from(CALLS), st.lists(words, min_size=8, max_size=8).map(b"".join)), max_size=8))
def test_mixed_calls_are_read_alike(calls: list[Any]) -> None:
    """A call that is not canonical changes nothing about the others."""
    calls = [PLAIN + call.hex() if isinstance(call, bytes) else call for call in calls]
    found = payerkit.payment.decode_calldata(pd.Series(calls, dtype="object"))

    assert one_by_one(calls) == values(found)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 2**256 - 1), st.binary(min_size=0, max_size=40)), max_size=5))
def test_amounts_and_references_of_any_size_are_exact(payments: list[tuple[int, bytes]]) -> None:
    """No amount passes through a float, and a reference of another length than eight is read as well."""
    address = "0x" + "11" * 20
    calls = [
        PLAIN + encode(TYPES, [address, address, amount, reference, 0, address]).hex() for amount, reference in payments
    ]
    found = payerkit.payment.decode_calldata(pd.Series(calls, dtype="object"))

    assert [amount for amount, _ in payments] == list(found["amount_base"])
    assert ["0x" + reference.hex() for _, reference in payments] == list(found["reference"])


def test_the_index_is_kept() -> None:
    """A batch repeats the label of its call; the others keep theirs, in their order."""
    batch = next(call for call in CALLS if str(call).startswith("0xfa733142"))
    found = payerkit.payment.decode_calldata(pd.Series([CALLS[0], batch, "0x"], index=["a", "b", "c"]))

    assert ["a", "b", "b", "c"] == list(found.index)
    assert [0, 1] == found.loc[["b"], "place"].tolist()


@pytest.mark.parametrize("empty", [pd.Series([], dtype="object"), pd.Series([], dtype="string")])
def test_without_calls_the_columns_are_there(empty: pd.Series[Any]) -> None:
    """An empty series gives an empty frame with all columns."""
    assert (list(CALLDATA_COLUMNS), 0) == (
        list(payerkit.payment.decode_calldata(empty).columns),
        len(payerkit.payment.decode_calldata(empty)),
    )


@pytest.mark.parametrize("wrong", [None, "0x", ["0x"], pd.DataFrame()])
def test_anything_but_a_series_is_refused(wrong: Any) -> None:
    """One call, or a list, is refused."""
    with pytest.raises(InvalidInput, match="Give a Series of calldata"):
        payerkit.payment.decode_calldata(wrong)
