"""Amounts and exchange rates: decimals as text, whole base units, exact fractions; never a float."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache

from payerkit._tsv import rows
from payerkit.onchain.currencies import Currency
from payerkit.service.errors import Problem

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


def parse_rate(text: str) -> str:
    """Return a positive decimal rate as written. Raises Problem for anything else."""
    if not _RATE.fullmatch(text) or not Decimal(text):
        message = "must be a positive decimal, such as 1.10, with at most 30 digits before and after the point"
        raise Problem.of_field("usd", message, "rate")
    return text


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
    exact: Fraction = Fraction(units, 10**invoice.decimals) * rates.exchange_rate(invoice, payment)
    exact *= 10**payment.decimals
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
