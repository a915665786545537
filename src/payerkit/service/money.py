"""Amounts and exchange rates, never as floats: decimals as text, whole base units, exact fractions. The demo wallet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, NotRequired

from fastapi import Depends, Path
from pydantic import Field
from sqlalchemy import bindparam, select
from typing_extensions import TypedDict

from payerkit._tsv import rows
from payerkit.onchain.currencies import Currency, find_currency
from payerkit.service.errors import Problem
from payerkit.service.fields import Address, Amount, AnyText, PathId
from payerkit.service.tables import HoldingRow, RateRow
from payerkit.service.world import WorldSession, of_sandbox

MAX_UINT256 = 2**256 - 1
"""The largest number of base units that the contracts can hold."""

# [0-9] and not \d, which also matches the digits of other scripts. 78 digits hold MAX_UINT256.
_AMOUNT = re.compile(r"[0-9]{1,78}(?:\.[0-9]{1,78})?")
_RATE = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")


@cache
def usd_rates() -> Mapping[str, str]:
    """Return the sandbox's own rates, which are invented: US dollars per unit, by symbol."""
    return {row["symbol"]: row["usd"] for row in rows(__package__, "rates")}


class Rates:
    """US dollars per unit of each currency: as set by a user, or by the table of rates; other tokens count as 1.

    A fiat currency without a rate is an error: a guess would look like a rate.
    """

    def __init__(self, overrides: Mapping[str, str]) -> None:
        self.overrides = overrides

    def usd(self, currency: Currency) -> str:
        """Return the rate as a decimal. Raises Problem for a fiat currency without one."""
        symbol = currency.symbol.partition("-")[0] if currency.kind == "native" else currency.symbol
        rate = self.overrides.get(currency.id) or usd_rates().get(symbol) or ("" if currency.kind == "fiat" else "1")
        if not rate:
            message = f"has no exchange rate in the sandbox; set one with PUT /sandbox/rates/{currency.id}"
            raise Problem.of_field("invoiceCurrency", message, "no_rate")
        return rate

    def exchange_rate(self, invoice: Currency, payment: Currency) -> Fraction:
        """Return the units of the payment currency per unit of the invoice currency."""
        if invoice.id == payment.id:
            return Fraction(1)
        return Fraction(self.usd(invoice)) / Fraction(self.usd(payment))


def parse_amount(text: str, currency: Currency) -> int:
    """Return a positive decimal in base units. Raises Problem for anything else."""
    if not (units := parse_units(text, currency, "amount")):
        raise Problem.of_field("amount", "must be greater than zero", "amount_range")
    return units


def parse_units(text: str, currency: Currency, field: str) -> int:
    """Return a decimal in base units. Raises Problem if it is malformed, too precise for its currency, or too large."""
    if not _AMOUNT.fullmatch(text):
        raise Problem.of_field(field, "must be a decimal, such as 10.50", "amount_format")
    whole, _, digits = text.partition(".")
    if len(digits) > currency.decimals:
        message = f"must have at most {currency.decimals} digits after the decimal point for {currency.id}"
        raise Problem.of_field(field, message, "amount_digits")
    units = int(f"{whole}{digits:0<{currency.decimals}}")
    if units > MAX_UINT256:
        raise Problem.of_field(field, "is too large: it does not fit 256 bits", "amount_range")
    return units


def convert(units: int, invoice: Currency, payment: Currency, rates: Rates) -> int:
    """Return base units of the payment currency, rounded up, so that the payee gets no less than the invoice says."""
    exact: Fraction = whole_units(units, invoice) * rates.exchange_rate(invoice, payment) * 10**payment.decimals
    converted = -(-exact.numerator // exact.denominator)  # floor division of the negative rounds up, exactly
    if converted > MAX_UINT256:
        raise Problem.of_field("amount", "is too large: converted, it does not fit 256 bits", "amount_range")
    return converted


def format_units(units: int, currency: Currency) -> str:
    """Return base units as a decimal with all the currency's digits."""
    digits = str(units).rjust(currency.decimals + 1, "0")
    return f"{digits[: -currency.decimals]}.{digits[-currency.decimals :]}" if currency.decimals else digits


def whole_units(units: int, currency: Currency) -> Fraction:
    """Return base units as an exact number of whole units."""
    return Fraction(units, 10**currency.decimals)


def in_usd(amount: Fraction, currency: Currency, rates: Rates) -> str:
    """Return an amount in US dollars, rounded down to cents."""
    cents = int(amount * Fraction(rates.usd(currency)) * 100)
    return f"{cents // 100}.{cents % 100:02}"


# The demo wallet

_DEFAULT_BALANCE = 1_000_000
"""Whole units of every currency, until a user sets another balance: enough for payments to work."""

GAS_PRICE = 20_000_000_000
"""Wei per unit of gas; invented."""

_RATES = select(RateRow.currency, RateRow.usd).where(RateRow.world_id == bindparam("world"))
_HOLDING = select(HoldingRow.balance, HoldingRow.allowance).where(
    HoldingRow.world_id == bindparam("world_id"), HoldingRow.currency == bindparam("currency")
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
    usd = body["usd"]
    if not _RATE.fullmatch(usd) or not Decimal(usd):
        message = "must be a positive decimal, such as 1.10, with at most 30 digits before and after the point"
        raise Problem.of_field("usd", message, "rate")
    session.merge(RateRow(world_id=session.world.id, currency=currency.id, usd=usd))
    return {"currency": currency.id, "usd": usd}


@controls.call("GET /sandbox/fees", "sandbox_get_fees", "Read the fees")
def get_fees(session: WorldSession) -> FeesResponse:
    """Return what each payment carries on top of its amount, as a platform would have agreed to it."""
    fee: Any = session.settings.protocol_fee
    return {"fees": [fee] if fee else []}


@controls.call("GET /sandbox/wallet/{currency}", "sandbox_get_holding", "Read the demo wallet", 404)
def get_holding(currency: CurrencyDep, session: WorldSession) -> HoldingResponse:
    """Return balance and allowance."""
    holding = read_holding(session, currency)
    return {
        "currency": currency.id,
        "balance": format_units(holding.balance, currency),
        "allowance": format_units(holding.allowance, currency),
        "gasPrice": GAS_PRICE,
    }


@controls.call("PUT /sandbox/wallet/{currency}", "sandbox_set_holding", "Set the demo wallet", 404)
def put_holding(currency: CurrencyDep, body: HoldingRequest, session: WorldSession) -> HoldingResponse:
    """Set balance, allowance, or both."""
    holding = read_holding(session, currency)
    for name, decimal in body.items():
        setattr(holding, name, parse_units(str(decimal), currency, name))
    session.merge(holding)
    session.flush()
    return get_holding(currency, session)


def read_holding(session: WorldSession, currency: Currency) -> HoldingRow:
    """Return what the wallet holds of a currency; to store a change of it, merge it into the session."""
    key = {"world_id": session.world.id, "currency": currency.id}
    stored = session.sql.execute(_HOLDING, key).one_or_none()
    balance, allowance = stored or (_DEFAULT_BALANCE * 10**currency.decimals, 0)
    return HoldingRow(**key, balance=balance, allowance=allowance)


def read_rates(session: WorldSession) -> Rates:
    """Return the rates, with those set by a user."""
    return Rates({currency: usd for currency, usd in session.sql.execute(_RATES, {"world": session.world.id})})  # noqa: C416 - rows are no pairs for mypy
