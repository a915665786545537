"""The demo wallet of a world: its balance of each currency, and the payment contracts' allowances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, insert, select, update

from payerkit.onchain.currencies import Currency
from payerkit.service.money import Rates
from payerkit.service.store import Store
from payerkit.service.stored_rows import HoldingRow, RateRow

_DEFAULT_BALANCE = 1_000_000
"""Whole units of every currency, until a user sets another balance: enough for payments to work."""

GAS_PRICE = 20_000_000_000
"""Wei per unit of gas; invented."""

GAS_LIMITS = {"approve": 60_000, "token": 100_000, "native": 100_000}
"""Gas that each kind of transaction may need: slightly more than the contracts used when executed."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The wallet's balance of a currency and the payment contract's allowance, in base units."""

    balance: int
    allowance: int


def read_holdings(store: Store, currencies: Iterable[Currency]) -> dict[str, Holding]:
    """Return balance and allowance of currencies, by their ids."""
    holdings = {each.id: _first_holding(each) for each in currencies}
    query = select(HoldingRow.currency, HoldingRow.balance, HoldingRow.allowance)
    with store.database.read() as connection:
        rows = connection.execute(
            query.where(HoldingRow.world_id == store.world_id, HoldingRow.currency.in_(list(holdings)))
        )
        return holdings | {row.currency: Holding(int(row.balance), int(row.allowance)) for row in rows}


def set_holding(store: Store, currency: Currency, units: Mapping[str, int]) -> Holding:
    """Set balance, allowance or both, in base units; return what the wallet holds then."""
    if units:
        first = _first_holding(currency)
        changes = {name: str(value) for name, value in units.items()}
        _save(store, HoldingRow, currency, changes, {"balance": str(first.balance), "allowance": str(first.allowance)})
    return read_holdings(store, [currency])[currency.id]


def change_holdings(
    connection: Connection,
    store: Store,
    currencies: Iterable[Currency],
    change: Callable[[dict[str, Holding]], Mapping[str, Holding]],
) -> None:
    """Change what the wallet holds of currencies, within a transaction; nobody else changes it meanwhile.

    change: takes and returns holdings by currency ids. Raises IntegrityError if somebody stored one for the first time.
    """
    first = {each.id: _first_holding(each) for each in currencies}
    there = (HoldingRow.world_id == store.world_id) & HoldingRow.currency.in_(list(first))
    query = select(HoldingRow.currency, HoldingRow.balance, HoldingRow.allowance).where(there).with_for_update()
    stored = {row.currency: Holding(int(row.balance), int(row.allowance)) for row in connection.execute(query)}
    for currency, holding in change(first | stored).items():
        columns = {"balance": str(holding.balance), "allowance": str(holding.allowance)}
        if currency in stored:
            this = (HoldingRow.world_id == store.world_id) & (HoldingRow.currency == currency)
            connection.execute(update(HoldingRow).where(this), columns)
        else:
            connection.execute(insert(HoldingRow), {"world_id": store.world_id, "currency": currency, **columns})


def _first_holding(currency: Currency) -> Holding:
    """Return what the wallet holds until a user sets something."""
    return Holding(balance=_DEFAULT_BALANCE * 10**currency.decimals, allowance=0)


def read_rates(store: Store) -> Rates:
    """Return the rates, with those set by a user."""
    with store.database.read() as connection:
        rows = connection.execute(select(RateRow.currency, RateRow.usd).where(RateRow.world_id == store.world_id))
        return Rates({row.currency: row.usd for row in rows})


def set_rate(store: Store, currency: Currency, usd: str) -> None:
    """Set the US dollars per unit of a currency."""
    _save(store, RateRow, currency, {"usd": usd})


def _save(
    store: Store,
    rows: type[HoldingRow | RateRow],
    currency: Currency,
    changes: Mapping[str, Any],
    first: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Change columns of a currency's row, and no others, which somebody else may be changing; or add the row."""
    there = (rows.world_id == store.world_id) & (rows.currency == currency.id)

    def attempt() -> None:
        with store.database.write() as connection:
            if not connection.execute(update(rows).where(there), changes).rowcount:
                new = {"world_id": store.world_id, "currency": currency.id, **first, **changes}
                connection.execute(insert(rows), new)

    store.database.retry_conflicts(attempt)
