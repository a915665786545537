"""The demo wallet: its balance of each currency, and the payment contracts' allowances."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from payerkit.onchain.currencies import Currency, native_currency
from payerkit.service.database import HoldingRow

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


class Wallet:
    """The wallet within one database transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def holding(self, currency: Currency) -> Holding:
        """Return balance and allowance of a currency."""
        row = self._session.get(HoldingRow, currency.id)
        if row is None:
            return Holding(balance=_DEFAULT_BALANCE * 10**currency.decimals, allowance=0)
        return Holding(balance=int(row.balance), allowance=int(row.allowance))

    def set_holding(self, currency: Currency, holding: Holding) -> None:
        """Set balance and allowance of a currency."""
        row = HoldingRow(currency=currency.id, balance=str(holding.balance), allowance=str(holding.allowance))
        self._session.merge(row)

    def gas_balance(self, network: str) -> int:
        """Return the wei available for gas on a network; 0 if the currency list has no native coin for it."""
        coin = native_currency(network)
        return self.holding(coin).balance if coin else 0
