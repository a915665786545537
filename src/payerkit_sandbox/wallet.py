"""Amounts, exchange rates and fees, and the demo wallet that makes payments.

Amounts are never floats: they are decimals as text, whole base units, or exact
fractions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, NotRequired

from fastapi import APIRouter, Depends
from typing_extensions import TypedDict

from payerkit._tsv import rows
from payerkit.payments.onchain.addresses import with_checksum
from payerkit.payments.onchain.currencies import Currency, find_currency
from payerkit_sandbox.common_fields import Amount, AnyText, PathId
from payerkit_sandbox.failures import HttpError
from payerkit_sandbox.settings import Settings
from payerkit_sandbox.worlds import SessionDep, WorldSession

MAX_UINT256 = 2**256 - 1
"""The largest number of base units that the contracts can hold."""

DEMO_WALLET = "0x" + "0de0" * 10
"""The address of the demo wallet, if a payment does not name another one; invented."""

OPERATOR_ADDRESS = with_checksum("0x" + "0ff0" * 10)
"""Who receives the crypto of all payouts: an invented address, of which nobody has the
key.
"""

_DEFAULT_BALANCE = 1_000_000
"""Whole units of every currency, until a user sets another balance: enough for payments
to work.
"""

router = APIRouter()


class RateRequest(TypedDict):
    """A new exchange rate: US dollars per unit."""

    usd: AnyText


class RateBody(TypedDict):
    """An exchange rate: US dollars per unit of a currency."""

    currency: str
    usd: str


class FeeBody(TypedDict):
    """A fee as each payment declares it."""

    percentage: str
    address: str


class Terms(TypedDict):
    """The fees on top of each payment, and who receives the crypto of all payouts."""

    fees: list[FeeBody]
    operator: str


class HoldingRequest(TypedDict):
    """A new balance, a new allowance of the payment contract, or both: decimals in
    units of the currency.
    """

    balance: NotRequired[Amount]
    allowance: NotRequired[Amount]


class Holding(TypedDict):
    """What the wallet holds of a currency: decimals in its units."""

    currency: str
    balance: str
    allowance: str


def _get_currency(currency: PathId) -> Currency:
    """Return the currency in the path. Raises HttpError (404) if the token list does
    not have it.
    """
    listed = find_currency(currency)
    if listed is None:
        raise HttpError(404, f"Currency {currency} is not in the token list")
    return listed


CurrencyDep = Annotated[Currency, Depends(_get_currency)]


@router.get("/sandbox/rates/{currency}")
def get_rate(currency: CurrencyDep, session: SessionDep) -> RateBody:
    """Return the US dollars per unit."""
    return {"currency": currency.id, "usd": Rates(session.row.rates).usd(currency)}


@router.put("/sandbox/rates/{currency}")
def put_rate(currency: CurrencyDep, body: RateRequest, session: SessionDep) -> RateBody:
    """Set the US dollars per unit."""
    usd = body["usd"]
    is_decimal = re.fullmatch(r"[0-9]{1,30}(?:\.[0-9]{1,30})?", usd)
    if not is_decimal or not Decimal(usd):
        message = (
            "must be a positive decimal, such as 1.10, with at most 30 digits before"
            " and after the point"
        )
        raise HttpError.of_field("usd", message, "rate")
    session.row.rates = session.row.rates | {currency.id: usd}
    return {"currency": currency.id, "usd": usd}


@router.get("/sandbox/terms")
def get_terms(session: SessionDep) -> Terms:
    """Return the fees and the operator's address, which a platform knows from its
    contract with the service.
    """
    fees: list[FeeBody] = []
    fee = protocol_fee(session.settings)
    if fee is not None:
        fees.append(fee)
    return {"fees": fees, "operator": OPERATOR_ADDRESS}


def protocol_fee(settings: Settings) -> FeeBody | None:
    """Return the protocol fee; None without one."""
    if not settings.fee_rate:
        return None
    return {"percentage": settings.fee_percent, "address": settings.fee_recipient}


@router.get("/sandbox/wallet/{currency}")
def get_holding(currency: CurrencyDep, session: SessionDep) -> Holding:
    """Return balance and allowance."""
    holding = read_holding(session, currency)
    return {
        "currency": currency.id,
        "balance": format_units(holding["balance"], currency),
        "allowance": format_units(holding["allowance"], currency),
    }


@router.put("/sandbox/wallet/{currency}")
def put_holding(
    currency: CurrencyDep, body: HoldingRequest, session: SessionDep
) -> Holding:
    """Set balance, allowance, or both."""
    units = {
        name: parse_units(str(amount), currency, name) for name, amount in body.items()
    }
    set_holding(session, currency, **units)
    return get_holding(currency, session)


def read_holding(session: WorldSession, currency: Currency) -> dict[str, int]:
    """Return the wallet's `balance` of a currency and the payment contract's
    `allowance`, in base units.
    """
    default = {"balance": _DEFAULT_BALANCE * 10**currency.decimals, "allowance": 0}
    return session.row.wallet.get(currency.id, default)


def set_holding(session: WorldSession, currency: Currency, **units: int) -> None:
    """Store a new balance of a currency, a new allowance, or both."""
    holding = read_holding(session, currency) | units
    session.row.wallet = session.row.wallet | {currency.id: holding}


def take(session: WorldSession, currency: Currency, units: int, purpose: str) -> None:
    """Take base units from the wallet. Raises HttpError (409) if it has too few."""
    balance = read_holding(session, currency)["balance"]
    if balance < units:
        raise HttpError(
            409,
            f"The transaction would fail: the wallet does not have enough {currency.id}"
            f" {purpose}",
        )
    set_holding(session, currency, balance=balance - units)


@cache
def _usd_rates() -> Mapping[str, str]:
    """Return the sandbox's own rates, which are invented: US dollars per unit, by
    symbol.
    """
    return {row["symbol"]: row["usd"] for row in rows(__package__, "rates")}


class Rates:
    """US dollars per unit of each currency: as set by a user, or by the table of rates;
    other tokens count as 1.

    A fiat currency without a rate is an error: a guess would look like a rate.
    """

    def __init__(self, overrides: Mapping[str, str]) -> None:
        self.overrides = overrides

    def usd(self, currency: Currency) -> str:
        """Return the rate as a decimal. Raises HttpError for a fiat currency without
        one.
        """
        if currency.id in self.overrides:
            return self.overrides[currency.id]
        if currency.ticker in _usd_rates():
            return _usd_rates()[currency.ticker]
        if currency.kind != "fiat":
            return "1"
        message = (
            "has no exchange rate in the sandbox; set one with PUT"
            f" /sandbox/rates/{currency.id}"
        )
        raise HttpError.of_field("invoiceCurrency", message, "no_rate")

    def exchange_rate(self, invoice: Currency, payment: Currency) -> Fraction:
        """Return the units of the payment currency per unit of the invoice currency."""
        if invoice.id == payment.id:
            return Fraction(1)
        return Fraction(self.usd(invoice)) / Fraction(self.usd(payment))


def parse_amount(text: str, currency: Currency) -> int:
    """Return a positive decimal in base units. Raises HttpError for anything else."""
    units = parse_units(text, currency, "amount")
    if units == 0:
        raise HttpError.of_field("amount", "must be greater than zero", "amount_range")
    return units


def parse_units(text: str, currency: Currency, field: str) -> int:
    """Return a decimal in base units. Raises HttpError if it is too precise for the
    currency, or too large.
    """
    whole, _, digits = text.partition(".")
    if len(digits) > currency.decimals:
        message = (
            f"must have at most {currency.decimals} digits after the decimal point for"
            f" {currency.id}"
        )
        raise HttpError.of_field(field, message, "amount_digits")
    units = int(f"{whole}{digits:0<{currency.decimals}}")
    if units > MAX_UINT256:
        raise HttpError.of_field(
            field, "is too large: it does not fit 256 bits", "amount_range"
        )
    return units


def convert(units: int, invoice: Currency, payment: Currency, rates: Rates) -> int:
    """Return base units of the payment currency, rounded up, so that the payee gets no
    less than the invoice says.
    """
    rate = rates.exchange_rate(invoice, payment)
    exact: Fraction = whole_units(units, invoice) * rate * 10**payment.decimals
    # Floor division of the negative rounds up, exactly.
    converted = -(-exact.numerator // exact.denominator)
    if converted > MAX_UINT256:
        raise HttpError.of_field(
            "amount",
            "is too large: converted, it does not fit 256 bits",
            "amount_range",
        )
    return converted


def format_units(units: int, currency: Currency) -> str:
    """Return base units as a decimal with all the currency's digits."""
    if currency.decimals == 0:
        return str(units)
    digits = str(units).rjust(currency.decimals + 1, "0")
    return f"{digits[: -currency.decimals]}.{digits[-currency.decimals :]}"


def whole_units(units: int, currency: Currency) -> Fraction:
    """Return base units as an exact number of whole units."""
    return Fraction(units, 10**currency.decimals)


def in_usd(amount: Fraction, currency: Currency, rates: Rates) -> str:
    """Return an amount in US dollars, rounded down to cents."""
    cents = int(amount * Fraction(rates.usd(currency)) * 100)
    return f"{cents // 100}.{cents % 100:02}"
