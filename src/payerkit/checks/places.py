"""Checkers of countries, currencies, states and postal codes, by the tables beside this module."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tables import rows
from payerkit.checks.texts import bare, capitals

_COUNTRY_HABITS = {
    "UK": "GB",
    "EL": "GR",
    "USA": "US",
    "ENGLAND": "GB",
    "GREAT BRITAIN": "GB",
    "DEUTSCHLAND": "DE",
    "ÖSTERREICH": "AT",
    "SCHWEIZ": "CH",
    "ESPAÑA": "ES",
    "BRASIL": "BR",
}
_CURRENCY_HABITS = {"RMB": "CNY", "CNH": "CNY", "UKP": "GBP", "NTD": "TWD", "BGN": "EUR"}
_EXCLUDED = (
    "AF BA BI BY CD CF CU ET GN GT GW HT IQ IR KP LB LY ML MM NE NI RU SD SO SS SY TN VE YE ZW"  # RequestFinance docs
)


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
    prefix = f"(?:{row['postal_prefix']}[ -]?)?" if row["postal_prefix"] else ""
    postal = re.compile(f"{prefix}(?:{row['postal']})", re.ASCII).fullmatch if row["postal"] else None
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
    return {_plain(name): code for code, name in states().get(country, {}).items()}


def _plain(name: str) -> str:
    """Return a name in capitals without accents, points and outer blanks, in which people and lists differ."""
    letters = unicodedata.normalize("NFKD", name.strip().upper().replace(".", ""))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _zip_begins() -> Mapping[str, Callable[[str], object]]:
    return {row["code"]: re.compile(row["zip"]).match for row in rows(__package__, "states") if row["zip"]}


def is_american(country: str | None) -> bool:
    """Tell whether a country is the US."""
    return capitals(country) == "US"


def country_code(value: str) -> str | None:
    """Return the code of a country that is written as people say it: its English name, or a usual form; or None."""
    text = value.strip().upper()
    return _COUNTRY_HABITS.get(text) or _country_names().get(text)


@cache
def _country_names() -> Mapping[str, str]:
    return {country.name.upper(): code for code, country in countries().items()}


def country_by_habit(value: str) -> bool | str:
    """Return the code of a country that is written as people say it; False if it is not."""
    return _COUNTRY_HABITS.get(value.upper(), False)


def country_unknown(value: str) -> bool:
    """Tell whether no country has the code."""
    return value.upper() not in countries() and value.upper() not in _COUNTRY_HABITS


def country_excluded(value: str) -> bool:
    """Tell whether the operator takes no residents of the country."""
    return value.upper() in _EXCLUDED.split()


def currency_by_habit(value: str) -> bool | str:
    """Return the code of a currency that is written as people say it, or as it was before; False if it is not."""
    return _CURRENCY_HABITS.get(value.upper(), False)


def currency_unknown(value: str) -> bool:
    """Tell whether no active currency has the code."""
    return value.upper() not in currencies() and value.upper() not in _CURRENCY_HABITS


def state_missing(country: str, currency: str | None, rails: str | None, is_given: bool | None) -> bool:  # noqa: FBT001 - as a rule passes it
    """Tell whether a US address of a dollar account lacks its state, by the rails that ask for it."""
    return is_american(country) and capitals(currency) == "USD" and rails != "swift" and not is_given


def state_written_out(value: str, country: str | None) -> bool | str:
    """Return the code of a state whose name is written out; False if it is not."""
    return _codes_by_name(capitals(country)).get(_plain(value), False)


def state_unknown(value: str, country: str | None) -> bool:
    """Tell whether the post of the US does not know a state."""
    return is_american(country) and _is_no_state(value, "US")


def state_unknown_abroad(value: str, country: str | None) -> bool:
    """Tell whether another country that is known by its states does not have one."""
    return not is_american(country) and capitals(country) in states() and _is_no_state(value, capitals(country))


def _is_no_state(value: str, country: str) -> bool:
    return _plain(value) not in states()[country] and _plain(value) not in _codes_by_name(country)


def postal_zero_lost(value: str, country: str | None) -> bool:
    """Tell whether a postal code is one with a zero in front: most likely a table took it away."""
    matches = _postal(country)
    is_number = value.isascii() and value.isdigit()
    return matches is not None and is_number and not matches(value) and matches(f"0{value}") is not None


def postal_form(value: str, country: str | None) -> bool | str:
    """Return an example of the country's postal codes if this one has another form; False if it has that form."""
    matches = _postal(country)
    if matches is None or matches(value.strip().upper()) or matches(bare(value)) or postal_zero_lost(value, country):
        return False
    return countries()[capitals(country)].postal_example


def _postal(country: str | None) -> Callable[[str], object] | None:
    found = countries().get(capitals(country))
    return None if found is None else found.postal


def postal_unchecked(_value: str, country: str | None) -> bool:
    """Tell whether a country's postal codes have no published form, or it has none at all."""
    found = countries().get(capitals(country))
    return found is not None and found.postal is None


def postal_elsewhere(value: str, state: str | None, country: str | None) -> bool:
    """Tell whether a ZIP code lies in another state."""
    begins = _zip_begins().get(capitals(state))
    is_zip = is_american(country) and re.match("[0-9]{5}", value) is not None
    return is_zip and begins is not None and not begins(value)
