"""The demo wallet: what it holds of each currency, and what the payment contracts may take from it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from payerkit.onchain.currencies import Currency, currencies
from payerkit.service.database import HoldingRow

_UNITS_HELD = 1_000_000
"""What the wallet holds of a currency unless somebody set it: this many whole units, so that payments work."""

GAS_PRICE = 20_000_000_000
"""Wei a unit of gas; invented."""

GAS = {"approve": 60_000, "token": 100_000, "native": 100_000}
"""Gas a step may need: a little above what the contracts used when they were executed."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Base units: what the wallet holds, and what it lets the payment contract take."""

    balance: int
    allowance: int


class Wallet:
    """The wallet as one transaction of the database sees it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def holding(self, currency: Currency) -> Holding:
        """Return what the wallet holds of a currency."""
        row = self._session.get(HoldingRow, currency.id)
        if row is None:
            return Holding(balance=_UNITS_HELD * 10**currency.decimals, allowance=0)
        return Holding(balance=int(row.balance), allowance=int(row.allowance))

    def set_holding(self, currency: Currency, holding: Holding) -> None:
        """Set what the wallet holds of a currency."""
        row = HoldingRow(currency=currency.id, balance=str(holding.balance), allowance=str(holding.allowance))
        self._session.merge(row)

    def gas_money(self, network: str) -> int:
        """Return the wei that are there for gas on a network; 0 where the list has no coin for it."""
        coin = coin_of(network)
        return self.holding(coin).balance if coin else 0


def coin_of(network: str) -> Currency | None:
    """Return the coin in which a network takes its gas."""
    return next((each for each in currencies().values() if each.network == network and each.kind == "native"), None)
