"""The currencies of the token list as a DataFrame, with what each can be used for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from payerkit.checks.places import fiat_currencies
from payerkit.checks.requirements import requirements
from payerkit.checks.schema import RAILS
from payerkit.frames import columns, frame_of
from payerkit.onchain.currencies import Currency, currency_aliases, is_payable, networks, token_list

_COLUMNS = columns(
    "id aliases symbol name kind network decimals address is_test payable rails needs_local needs_swift needs_wire",
    int64="decimals",
    bool="is_test payable",
)


def currencies() -> pd.DataFrame:
    """Return the currencies that an order can name, and what bank accounts in them need.

    Works offline, from tables of payerkit; a service may know other currencies.

    Returns:
        One row per currency of the token list, in its order: fiat currencies, tokens and coins.

        - id (string): what an order names, such as "USDC-matic"
        - aliases (string): other ids of newer documents, such as "USDC-sepolia"; missing if there are none
        - symbol, name (string): a name is such as "US Dollar", or "USDC on Polygon"
        - kind (string): "fiat", "native" (the coin of its network), "erc20" or "trc20"
        - network (string): as in ids; missing for fiat currencies
        - decimals (int64): of this currency; one with the same symbol on another network can have others
        - address (string): of the token's contract; missing for fiat currencies and coins
        - is_test (bool): its network is a test network, where nothing has a value
        - payable (bool): it can be a payment currency, since a payment contract is known on its network
        - rails (string): for a bank account in a fiat currency, the rails that the service lists; missing if none
        - needs_local, needs_swift, needs_wire (string): the fields that such an account usually needs on these rails;
          missing if that is not published

    Example:
        >>> table = currencies()
        >>> table[table["is_test"] & table["payable"]]["id"].head(3).tolist()
        ['FAU-sepolia', 'fUSDT-sepolia', 'fUSDC-sepolia']
        >>> table.set_index("id").loc["GBP", ["name", "rails", "needs_local"]].tolist()
        ['Pound Sterling', 'local, swift', 'sort_code or iban, account_number or iban']
    """
    return frame_of(map(_row, token_list().values()), _COLUMNS)


def _row(currency: Currency) -> dict[str, Any]:
    network = networks().get(currency.network)
    fiat_name = fiat_currencies().get(currency.symbol, currency.symbol)
    return {
        "id": currency.id,
        "aliases": ", ".join(alias for alias, each in currency_aliases().items() if each == currency) or None,
        "symbol": currency.symbol,
        "name": fiat_name if network is None else f"{currency.symbol} on {network.title}",
        "kind": currency.kind,
        "network": None if network is None else network.name,
        "decimals": currency.decimals,
        "address": currency.address or None,
        "is_test": network is not None and network.is_test,
        "payable": is_payable(currency),
        **(_account_columns(currency.symbol) if currency.kind == "fiat" else {}),
    }


def _account_columns(code: str) -> Mapping[str, str | None]:
    """Return the rails of a fiat currency that the service lists, and what an account needs on each."""
    listed = {rails: requirements()[code, rails] for rails in RAILS if (code, rails) in requirements()}
    needs = {f"needs_{rails}": each.needs for rails, each in listed.items() if each.needs is not None}
    words = {name: ", ".join(" or ".join(group) for group in groups) for name, groups in needs.items()}
    return {"rails": ", ".join(listed) or None, **words}
