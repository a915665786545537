"""The table of currencies: one row each, with what it can be used for."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import payerkit
from payerkit.onchain.currencies import token_list


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table by currency id."""
    return payerkit.reference.currencies().set_index("id", drop=False)


def present(table: pd.DataFrame, currency_id: str) -> dict[str, Any]:
    """Return the values of a row that are not missing."""
    return {str(name): value for name, value in table.loc[currency_id].dropna().items()}


def test_every_currency_has_one_row(table: pd.DataFrame) -> None:
    """The rows are those of the token list, in its order."""
    assert [currency.id for currency in token_list().values()] == list(table["id"])
    assert table.index.is_unique


def test_columns_have_their_types(table: pd.DataFrame) -> None:
    """Text is text, also where a value is missing, and nothing is an object."""
    types = {name: str(dtype) for name, dtype in table.dtypes.items()}
    others = {"decimals": "int64", "is_test": "bool", "payable": "bool"}

    assert types == dict.fromkeys(types, "string") | others


CURRENCIES = [
    ("USD", "US Dollar", "fiat", None, False, False),
    ("fUSDC-sepolia", "fUSDC on Sepolia", "erc20", "sepolia", True, True),
    ("USDCn-matic", "USDC on Polygon", "erc20", "matic", False, True),
    ("ETH-mainnet", "ETH on Ethereum", "native", "mainnet", False, True),
    ("USDT-tron", "USDT on Tron", "trc20", "tron", False, False),  # payerkit cannot check its transactions
    (
        "USDC-base-sepolia",
        "USDC on Base Sepolia",
        "erc20",
        "base-sepolia",
        True,
        False,
    ),  # no contract is deployed there
]


@pytest.mark.parametrize(("currency_id", "name", "kind", "network", "is_test", "payable"), CURRENCIES)
def test_a_row_says_what_a_currency_is(
    table: pd.DataFrame, currency_id: str, name: str, kind: str, network: str | None, is_test: bool, payable: bool
) -> None:
    """Name, kind, network, and whether it is for tests and can be paid in."""
    row = present(table, currency_id)

    assert (name, kind, is_test, payable) == (row["name"], row["kind"], row["is_test"], row["payable"])
    assert network == row.get("network")
    assert (kind in {"erc20", "trc20"}) == ("address" in row)


NEEDS = [
    ("USD", "local, swift, wire", "account_number, routing_number", "swift_bic, iban or account_number"),
    ("GBP", "local, swift", "sort_code or iban, account_number or iban", "iban, swift_bic"),
    ("INR", "swift", None, "account_number, swift_bic, ifsc"),
    ("KES", "local", None, None),  # listed, and what it needs is not published
    ("AFN", None, None, None),  # not listed by the operator
    ("fUSDC-sepolia", None, None, None),  # no currency of bank accounts
]


@pytest.mark.parametrize(("currency_id", "rails", "local", "swift"), NEEDS)
def test_a_row_says_what_an_account_needs(
    table: pd.DataFrame, currency_id: str, rails: str | None, local: str | None, swift: str | None
) -> None:
    """A fiat currency names the rails that the operator lists, and the fields of each."""
    row = present(table, currency_id)

    assert (rails, local, swift) == (row.get("rails"), row.get("needs_local"), row.get("needs_swift"))


def test_payable_currencies_are_those_of_the_sandbox(table: pd.DataFrame) -> None:
    """What the table calls payable is a network's coin or token, for which the sandbox has a contract."""
    payable = table[table["payable"]]

    assert {"erc20", "native"} == set(payable["kind"])
    assert not payable["network"].isna().any()
    assert 6 == payable["is_test"].sum()
