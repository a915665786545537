"""The demo wallet of a world, the exchange rates, and the fee on top of each payment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from fastapi import Depends, Path
from pydantic import Field
from sqlalchemy import bindparam, select
from typing_extensions import TypedDict

from payerkit.onchain.currencies import Currency, find_currency
from payerkit.service.errors import Problem
from payerkit.service.fields import Address, Amount, AnyText, PathId
from payerkit.service.money import Rates, format_units, parse_rate, parse_units, usd_rates
from payerkit.service.tables import HoldingRow, RateRow
from payerkit.service.world import WorldSession, of_sandbox

_DEFAULT_BALANCE = 1_000_000
"""Whole units of every currency, until a user sets another balance: enough for payments to work."""

GAS_PRICE = 20_000_000_000
"""Wei per unit of gas; invented."""

GAS_LIMITS = {"approve": 60_000, "token": 100_000, "native": 100_000}
"""Gas that each kind of transaction may need: slightly more than the contracts used when executed."""


_RATES = select(RateRow.currency, RateRow.usd).where(RateRow.world_id == bindparam("world"))
_HOLDINGS = select(HoldingRow.currency, HoldingRow.balance, HoldingRow.allowance).where(
    HoldingRow.world_id == bindparam("world"), HoldingRow.currency.in_(bindparam("currencies", expanding=True))
)


class RatesResponse(TypedDict):
    """US dollars per unit: by symbol, and those set by a user, by currency id. Other tokens count as 1."""

    bySymbol: dict[str, str]
    byCurrency: dict[str, str]


Rate = Annotated[AnyText, Field(json_schema_extra={"pattern": r"^[0-9]{1,30}(\.[0-9]{1,30})?$"})]


class RateRequest(TypedDict):
    """A new exchange rate: US dollars per unit."""

    usd: Annotated[Rate, Field(examples=["1.10"])]


class RateResponse(TypedDict):
    """US dollars per unit of a currency, as a decimal."""

    currency: str
    usd: str


class HoldingRequest(TypedDict):
    """A new balance, a new allowance of the payment contract, or both: decimals in units of the currency."""

    balance: NotRequired[Annotated[Amount, Field(examples=["250.00"])]]
    allowance: NotRequired[Annotated[Amount, Field(examples=["0"])]]


class HoldingResponse(TypedDict):
    """The wallet's balance of a currency and the payment contract's allowance. The gas price is in wei."""

    currency: str
    balance: str
    allowance: str
    gasPrice: int


class ProtocolFee(TypedDict):
    """The fee on top of each payment: percent of the amount, and who receives it."""

    percentage: str
    address: Address


class FeesResponse(TypedDict):
    """The fees on top of each payment; none if they are switched off."""

    fees: list[ProtocolFee]


async def get_currency(
    currency: Annotated[PathId, Path(examples=["fUSDC-sepolia"], description="Currency id.")],
) -> Currency:
    """Return the currency in the path. Raises Problem (404) if the token list does not have it."""
    found = find_currency(currency)
    if found is None:
        raise Problem(404, f"Currency {currency} is not in the token list")
    return found


CurrencyDep = Annotated[Currency, Depends(get_currency)]

controls = of_sandbox()


@controls.call("GET /sandbox/rates", "sandbox_get_rates", "Read all exchange rates")
def get_rates(session: WorldSession) -> RatesResponse:
    """Return the sandbox's exchange rates, which are invented."""
    return {"bySymbol": dict(usd_rates()), "byCurrency": dict(read_rates(session).overrides)}


@controls.call("GET /sandbox/rates/{currency}", "sandbox_get_rate", "Read an exchange rate", 404)
def get_rate(currency: CurrencyDep, session: WorldSession) -> RateResponse:
    """Return the US dollars per unit."""
    return {"currency": currency.id, "usd": read_rates(session).usd(currency)}


@controls.call("PUT /sandbox/rates/{currency}", "sandbox_set_rate", "Set an exchange rate", 404)
def put_rate(currency: CurrencyDep, body: RateRequest, session: WorldSession) -> RateResponse:
    """Set the US dollars per unit."""
    usd = parse_rate(body["usd"])
    session.merge(RateRow(world_id=session.world.id, currency=currency.id, usd=usd))
    return {"currency": currency.id, "usd": usd}


@controls.call("GET /sandbox/fees", "sandbox_get_fees", "Read the fees")
def get_fees(session: WorldSession) -> FeesResponse:
    """Return what each payment carries on top of its amount, as a platform would have agreed to it."""
    fee: Any = session.settings.protocol_fee
    return {"fees": [] if fee is None else [fee]}


@controls.call("GET /sandbox/wallet/{currency}", "sandbox_get_holding", "Read the demo wallet", 404)
def get_holding(currency: CurrencyDep, session: WorldSession) -> HoldingResponse:
    """Return balance and allowance."""
    return _holding_response(currency, read_holdings(session, [currency])[currency.id])


@controls.call("PUT /sandbox/wallet/{currency}", "sandbox_set_holding", "Set the demo wallet", 404)
def put_holding(currency: CurrencyDep, body: HoldingRequest, session: WorldSession) -> HoldingResponse:
    """Set balance, allowance, or both."""
    before = read_holdings(session, [currency])[currency.id]
    new = {name: parse_units(str(decimal), currency, name) for name, decimal in body.items()}
    holding = Holding(new.get("balance", before.balance), new.get("allowance", before.allowance))
    save_holding(session, currency.id, holding)
    return _holding_response(currency, holding)


@dataclass(frozen=True, slots=True)
class Holding:
    """The wallet's balance of a currency and the payment contract's allowance, in base units."""

    balance: int
    allowance: int


def read_holdings(session: WorldSession, currencies: Iterable[Currency]) -> dict[str, Holding]:
    """Return balance and allowance of currencies, by their ids."""
    first = {each.id: Holding(_DEFAULT_BALANCE * 10**each.decimals, 0) for each in currencies}
    rows = session.execute(_HOLDINGS, {"world": session.world.id, "currencies": list(first)})
    return first | {currency: Holding(int(balance), int(allowance)) for currency, balance, allowance in rows}


def save_holding(session: WorldSession, currency: str, holding: Holding) -> None:
    """Store what the wallet holds of a currency."""
    amounts = {"balance": str(holding.balance), "allowance": str(holding.allowance)}
    session.merge(HoldingRow(world_id=session.world.id, currency=currency, **amounts))


def read_rates(session: WorldSession) -> Rates:
    """Return the rates, with those set by a user."""
    return Rates({currency: usd for currency, usd in session.execute(_RATES, {"world": session.world.id})})  # noqa: C416 - rows are no pairs for mypy


def _holding_response(currency: Currency, holding: Holding) -> HoldingResponse:
    return {
        "currency": currency.id,
        "balance": format_units(holding.balance, currency),
        "allowance": format_units(holding.allowance, currency),
        "gasPrice": GAS_PRICE,
    }
