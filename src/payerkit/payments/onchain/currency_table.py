"""The currencies of the token list as a DataFrame, with what each can be used for."""

from __future__ import annotations

from typing import Any

import pandas as pd

from payerkit.checks.places import fiat_currencies
from payerkit.checks.requirements import REQUIREMENTS
from payerkit.frames import columns, frame_of
from payerkit.models.formats import RAILS
from payerkit.payments.onchain.currencies import (
    Currency,
    currency_aliases,
    is_payable,
    networks,
    token_list,
)

_COLUMNS = columns(
    "id aliases symbol name kind network decimals address is_test payable rails"
    " needs_local needs_swift needs_wire",
    int64="decimals",
    bool="is_test payable",
)


def currencies() -> pd.DataFrame:
    """Return the currencies that an order can name, and what bank accounts in them
    need.

    Works offline, from tables of payerkit; a service may know other currencies.

    Returns:
        One row per currency of the token list, in its order: fiat currencies, tokens
        and coins.

        - id (string): what an order names, such as "USDC-matic"
        - aliases (string): other ids of newer documents, such as "USDC-sepolia";
          missing if there are none
        - symbol, name (string): a name is such as "US Dollar", or "USDC on Polygon"
        - kind (string): "fiat", "native" (the coin of its network), "erc20" or "trc20"
        - network (string): as in ids; missing for fiat currencies
        - decimals (int64): of this currency; one with the same symbol on another
          network can have others
        - address (string): of the token's contract; missing for fiat currencies and
          coins
        - is_test (bool): its network is a test network, where nothing has a value
        - payable (bool): it can be a payment currency, since a payment contract is
          known on its network
        - rails (string): for a bank account in a fiat currency, the rails that the
          service lists; missing if none
        - needs_local, needs_swift, needs_wire (string): the fields that such an account
          usually needs on these rails; missing if that is not published

    Example:
        >>> table = currencies()
        >>> table[table["is_test"] & table["payable"]]["id"].head(3).tolist()
        ['FAU-sepolia', 'fUSDT-sepolia', 'fUSDC-sepolia']
        >>> table.set_index("id").loc["GBP", ["name", "rails", "needs_local"]].tolist()
        ['Pound Sterling', 'local, swift', 'sort_code or iban, account_number or iban']
    """
    rows = [_row(currency) for currency in token_list().values()]
    return frame_of(rows, _COLUMNS)


def _row(currency: Currency) -> dict[str, Any]:
    aliases = [name for name, each in currency_aliases().items() if each == currency]
    row = {
        "id": currency.id,
        "aliases": ", ".join(aliases) or None,
        "symbol": currency.symbol,
        "kind": currency.kind,
        "decimals": currency.decimals,
        "address": currency.address or None,
        "is_test": False,
        "payable": is_payable(currency),
    }
    if currency.kind == "fiat":
        name = fiat_currencies().get(currency.symbol, currency.symbol)
        return row | {"name": name} | _account_columns(currency.symbol)
    network = networks()[currency.network]
    return row | {
        "name": f"{currency.symbol} on {network.title}",
        "network": network.name,
        "is_test": network.is_test,
    }


def _account_columns(code: str) -> dict[str, str | None]:
    """Return the rails of a fiat currency that the service lists, and what an account
    needs on each.
    """
    listed = [rails for rails in RAILS if (code, rails) in REQUIREMENTS]
    row: dict[str, str | None] = {"rails": ", ".join(listed) or None}
    for rails in listed:
        groups = REQUIREMENTS[code, rails].needs
        if groups is not None:
            row[f"needs_{rails}"] = ", ".join(" or ".join(group) for group in groups)
    return row
