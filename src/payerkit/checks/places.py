"""Checkers of countries, currencies, states and postal codes, by the tables beside this module."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from payerkit.tables import rows

_COUNTRY_HABITS = {"UK": "GB", "EL": "GR"}
_CURRENCY_HABITS = {"RMB": "CNY", "CNH": "CNY", "UKP": "GBP", "NTD": "TWD", "BGN": "EUR"}
_EXCLUDED = re.compile(
    "AF|BA|BF|BI|BY|CD|CF|CU|ET|GN|GT|GW|HT|IQ|IR|KP|LB|LY|ML|MM|NE|NI|RU|SD|SO|SS|SY|TN|VE|YE|ZW"
).fullmatch


@dataclass(frozen=True, slots=True)
class Country:
    """A country: its name, the structure of its IBANs after the check digits, the form of its postal codes."""

    code: str
    name: str
    bban: str
    postal: Callable[[str], object] | None
    postal_example: str


@cache
def countries() -> Mapping[str, Country]:
    """Return the countries of ISO 3166-1, and Kosovo as XK, by their code."""
    return {row["code"]: _country(row) for row in rows(__package__, "countries")}


def _country(row: dict[str, str]) -> Country:
    postal = re.compile(row["postal"], re.ASCII).fullmatch if row["postal"] else None
    return Country(row["code"], row["name"], row["bban"], postal, row["postal_example"])


@cache
def currencies() -> Mapping[str, str]:
    """Return the names of the active currencies of ISO 4217 by their code."""
    return {row["code"]: row["name"] for row in rows(__package__, "currencies")}


@cache
def states() -> Mapping[str, Mapping[str, str]]:
    """Return the names of states by country and code, for the countries that have them in the table."""
    found: dict[str, dict[str, str]] = {}
    for row in rows(__package__, "states"):
        found.setdefault(row["country"], {})[row["code"]] = row["name"]
    return found


@cache
def _codes_by_name(country: str) -> Mapping[str, str]:
    return {name.upper(): code for code, name in states().get(country, {}).items()}


@cache
def _zip_begins() -> Mapping[str, Callable[[str], object]]:
    return {row["code"]: re.compile(row["zip"]).match for row in rows(__package__, "states") if row["zip"]}


def country_by_habit(value: str) -> bool | str:
    """Return the code of a country that is written as people say it; False if it is not."""
    return _COUNTRY_HABITS.get(value.upper(), False)


def country_unknown(value: str) -> bool:
    """Tell whether no country has the code."""
    return value.upper() not in countries() and value.upper() not in _COUNTRY_HABITS


def country_excluded(value: str) -> bool:
    """Tell whether the operator takes no residents of the country."""
    return _EXCLUDED(value.upper()) is not None


def currency_by_habit(value: str) -> bool | str:
    """Return the code of a currency that is written as people say it, or as it was before; False if it is not."""
    return _CURRENCY_HABITS.get(value.upper(), False)


def currency_unknown(value: str) -> bool:
    """Tell whether no active currency has the code."""
    return value.upper() not in currencies() and value.upper() not in _CURRENCY_HABITS


def state_missing(country: str, currency: str | None, is_given: bool | None) -> bool:  # noqa: FBT001 - as a rule passes it
    """Tell whether a US address of a dollar account lacks its state."""
    return country.upper() == "US" and (currency or "").upper() == "USD" and not is_given


def state_written_out(value: str, country: str | None) -> bool | str:
    """Return the code of a state whose name is written out; False if it is not."""
    return _codes_by_name((country or "").upper()).get(value.strip().upper(), False)


def state_unknown(value: str, country: str | None) -> bool:
    """Tell whether the post of the US does not know a state."""
    return (country or "").upper() == "US" and _is_no_state(value, "US")


def state_unknown_abroad(value: str, country: str | None) -> bool:
    """Tell whether another country that is known by its states does not have one."""
    country = (country or "").upper()
    return country != "US" and country in states() and _is_no_state(value, country)


def _is_no_state(value: str, country: str) -> bool:
    return value.upper() not in states()[country] and value.strip().upper() not in _codes_by_name(country)


def postal_zero_lost(value: str, country: str | None) -> bool:
    """Tell whether a ZIP code has four digits: most likely it began with a zero before a table took it away."""
    return (country or "").upper() == "US" and re.fullmatch("[0-9]{4}", value) is not None


def postal_form(value: str, country: str | None) -> bool | str:
    """Return an example of the country's postal codes if this one has another form; False if it has that form."""
    found = countries().get((country or "").upper())
    if found is None or found.postal is None or found.postal(value.strip().upper()):
        return False
    return False if postal_zero_lost(value, country) else found.postal_example or True


def postal_unchecked(_value: str, country: str | None) -> bool:
    """Tell whether a country's postal codes have no published form, or it has none at all."""
    found = countries().get((country or "").upper())
    return found is not None and found.postal is None


def postal_elsewhere(value: str, state: str | None, country: str | None) -> bool:
    """Tell whether a ZIP code lies in another state."""
    begins = _zip_begins().get((state or "").upper())
    is_american = (country or "").upper() == "US" and re.match("[0-9]{5}", value) is not None
    return is_american and begins is not None and not begins(value)
