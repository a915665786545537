"""The table of currencies: one row each, with what it can be used for."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit.payments.onchain.currencies import token_list


@pytest.fixture(scope="module")
def currencies() -> pd.DataFrame:
    """Return the table by currency id."""
    return payerkit.reference.currencies().set_index("id", drop=False)


def test_every_currency_has_one_row(currencies: pd.DataFrame) -> None:
    """The rows are those of the token list, in its order."""
    assert [currency.id for currency in token_list().values()] == list(currencies["id"])
    assert currencies.index.is_unique


def test_columns_have_their_types(currencies: pd.DataFrame) -> None:
    """Text is text, also where a value is missing, and nothing is an object."""
    types = {name: str(dtype) for name, dtype in currencies.dtypes.items()}
    others = {"decimals": "int64", "is_test": "bool", "payable": "bool"}

    assert types == dict.fromkeys(types, "string") | others


@table("currency_rows")
def test_a_row_says_what_a_currency_is(
    currencies: pd.DataFrame, currency_id: str, columns: dict[str, Any]
) -> None:
    """Name, kind, network, whether it is for tests and can be paid in, and what an
    account in it needs on each rail.
    """
    row: Any = currencies.loc[currency_id].dropna().to_dict()

    assert columns == {name: row.get(name) for name in columns}
    assert (row["kind"] in {"erc20", "trc20"}) == ("address" in row)


def test_payable_currencies_are_those_of_the_sandbox(currencies: pd.DataFrame) -> None:
    """What the table calls payable is a network's coin or token, for which the sandbox
    has a contract.
    """
    payable = currencies[currencies["payable"]]

    assert {"erc20", "native"} == set(payable["kind"])
    assert not payable["network"].isna().any()
    assert 6 == payable["is_test"].sum()
