"""Amounts and rates: text and whole numbers, never a float."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache

from payerkit._tables import rows
from payerkit.onchain.currencies import Currency
from payerkit.service.errors import Problem

_AMOUNT = re.compile(r"[0-9]{1,78}(?:\.[0-9]{1,78})?")
LARGEST = 2**256 - 1
"""Base units that the contracts can count."""

_RATE = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")


@cache
def usd_rates() -> Mapping[str, str]:
    """Return the sandbox's own rates, invented and round: US dollars for one unit, by symbol."""
    return {row["symbol"]: row["usd"] for row in rows(__package__, "rates")}


class Rates:
    """US dollars for one unit of each currency: set by a user, else of the table above, else one for a token.

    Fiat money without a rate has none: a guess would look like one.
    """

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self.chosen = chosen

    def usd(self, currency: Currency) -> str:
        """Return the rate as a decimal. Raises Problem for fiat money without one."""
        bare = currency.symbol.partition("-")[0] if currency.kind == "native" else currency.symbol
        rate = self.chosen.get(currency.id) or usd_rates().get(bare) or ("" if currency.kind == "fiat" else "1")
        if not rate:
            words = f"has no rate in the sandbox ({currency.id}); one can be set"
            raise Problem.of("invoiceCurrency", words, "no_rate")
        return rate

    def between(self, invoice: Currency, payment: Currency) -> Fraction:
        """Return the units of the payment currency for one unit of the invoice currency."""
        if invoice.id == payment.id:
            return Fraction(1)
        return Fraction(self.usd(invoice)) / Fraction(self.usd(payment))


def parse_rate(text: str) -> str:
    """Return a positive decimal rate. Raises Problem for anything else."""
    if not _RATE.fullmatch(text) or not Decimal(text):
        raise Problem.of("usd", "must be a positive decimal, such as 1.10, of at most 30 digits a side", "rate")
    return text


def parse_amount(text: str, currency: Currency) -> int:
    """Return a positive decimal in base units. Raises Problem for anything else."""
    if not (units := parse_units(text, currency, "amount")):
        raise Problem.of("amount", "must be more than zero", "amount_range")
    return units


def parse_units(text: str, currency: Currency, member: str) -> int:
    """Return a decimal in base units. Raises Problem for what is none, or has more digits than its currency."""
    if not _AMOUNT.fullmatch(text):
        raise Problem.of(member, "must be a decimal, such as 10.50", "amount_format")
    whole, _, digits = text.partition(".")
    if len(digits) > currency.decimals:
        words = f"has more than the {currency.decimals} digits after the point that {currency.id} has"
        raise Problem.of(member, words, "amount_digits")
    units = int(f"{whole}{digits:0<{currency.decimals}}")
    if units > LARGEST:
        raise Problem.of(member, "does not fit 256 bits", "amount_range")
    return units


def convert(units: int, invoice: Currency, payment: Currency, rates: Rates) -> int:
    """Return base units of the payment currency, rounded up, so that the payee gets no less than the invoice says."""
    exact: Fraction = Fraction(units, 10**invoice.decimals) * rates.between(invoice, payment) * 10**payment.decimals
    converted = -(-exact.numerator // exact.denominator)
    if converted > LARGEST:
        raise Problem.of("amount", "does not fit 256 bits in the payment currency", "amount_range")
    return converted


def to_decimal(units: int, currency: Currency) -> str:
    """Return base units as a decimal with all the currency's digits."""
    digits = str(units).rjust(currency.decimals + 1, "0")
    return f"{digits[: -currency.decimals]}.{digits[-currency.decimals :]}" if currency.decimals else digits
