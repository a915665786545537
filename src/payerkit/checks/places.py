"""Checkers of countries, currencies, states and postal codes, from the tables beside this module."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tsv import grouped, rows
from payerkit.checks.texts import compact, fold, upper_code

_EXCLUDED = "AF BA BI BY CD CF CU ET GN GT GW HT IQ IR KP LB LY ML MM NE NI RU SD SO SS SY TN VE YE ZW"
"""Countries whose residents the service does not accept, from its documentation (RequestFinance)."""


@dataclass(frozen=True, slots=True)
class Country:
    """A country with the structure of its IBANs after the check digits (BBAN) and a matcher of its postal codes.

    alpha3: its three letters in ISO 3166-1, as passports have them; "" if it has none.
    """

    name: str
    alpha3: str
    bban: str
    postal_matcher: Callable[[str], object] | None
    postal_example: str


@cache
def countries() -> Mapping[str, Country]:
    """Return the countries of ISO 3166-1, and Kosovo as XK, by code."""
    found = {}
    for row in rows(__package__, "countries"):
        prefix = f"(?:{row['postal_prefix']}[ -]?)?" if row["postal_prefix"] else ""
        matcher = re.compile(f"{prefix}(?:{row['postal']})", re.ASCII).fullmatch if row["postal"] else None
        found[row["code"]] = Country(row["name"], row["alpha3"], row["bban"], matcher, row["postal_example"])
    return found


@cache
def fiat_currencies() -> Mapping[str, str]:
    """Return the names of the active currencies of ISO 4217 by code."""
    return {row["code"]: row["name"] for row in rows(__package__, "currencies")}


@cache
def states() -> Mapping[str, Mapping[str, str]]:
    """Return the names of states by country, then by code, for the countries in the table."""
    names: dict[str, dict[str, str]] = {}
    for row in rows(__package__, "states"):
        names.setdefault(row["country"], {})[row["code"]] = row["name"]
    return names


@cache
def _state_codes_by_name(country: str) -> Mapping[str, str]:
    return {_normalize_state(name): code for code, name in states().get(country, {}).items()}


def _normalize_state(name: str) -> str:
    """Return a state's name or code in upper case, without accents, dots and surrounding whitespace."""
    letters = unicodedata.normalize("NFKD", name.strip().upper().replace(".", ""))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _zip_matchers() -> Mapping[str, Callable[[str], object]]:
    return {row["code"]: re.compile(row["zip"]).match for row in rows(__package__, "states") if row["zip"]}


def is_us(country: str | None) -> bool:
    """Return True if a country code is that of the US."""
    return upper_code(country) == "US"


@cache
def aliases(kind: str) -> Mapping[str, tuple[str, ...]]:
    """Return what people type in place of a code: the codes that each alias of a kind may mean, by the folded alias."""
    table = rows(__package__, "aliases")
    return grouped((fold(row["alias"]), row["code"]) for row in table if row["kind"] == kind)


def one_alias(kind: str, value: str) -> str | None:
    """Return the code that an alias means; None if it is unknown or ambiguous."""
    codes = aliases(kind).get(fold(value), ())
    return codes[0] if len(codes) == 1 else None


def country_code(value: str) -> str | None:
    """Return the code of a country given by its name, an alias or three letters; None if it is unknown."""
    return one_alias("country", value) or _country_names().get(fold(value))


@cache
def _country_names() -> Mapping[str, str]:
    """Return the codes of the countries by their names, also in other languages, and by three letters, folded."""
    others = {fold(row["name"]): row["code"] for row in rows(__package__, "country_names")}
    alpha3 = {fold(country.alpha3): code for code, country in countries().items() if country.alpha3}
    return others | alpha3 | {fold(country.name): code for code, country in countries().items()}


def country_alias(value: str) -> bool | str:
    """Return the ISO code for a common alias of a country; False if the value is not an alias."""
    return False if value.upper() in countries() else one_alias("country", value) or False


def country_unknown(value: str) -> bool:
    """Return True if no country has the code."""
    return value.upper() not in countries() and not country_alias(value)


def country_excluded(value: str) -> bool:
    """Return True if the service does not accept residents of the country."""
    return value.upper() in _EXCLUDED.split()


def currency_alias(value: str) -> bool | str:
    """Return the active ISO code for an alias or former code of a currency; False if the value is neither."""
    return False if value.upper() in fiat_currencies() else one_alias("currency", value) or False


def currency_unknown(value: str) -> bool:
    """Return True if no active currency has the code."""
    return value.upper() not in fiat_currencies() and not currency_alias(value)


def state_missing(country: str, currency: str | None, rails: str | None, has_value: bool | None) -> bool:  # noqa: FBT001 - rules pass it by position
    """Return True if the US address of a dollar account has no state, on rails that need it."""
    return is_us(country) and upper_code(currency) == "USD" and rails != "swift" and not has_value


def state_written_out(value: str, country: str | None) -> bool | str:
    """Return the code of a state given by its name; False if the value is not such a name."""
    return _state_codes_by_name(upper_code(country)).get(_normalize_state(value), False)


def state_code(value: str, country: str | None) -> str | None:
    """Return the code of a state given by its name, an alias, or its letters with dots; None if it is unknown."""
    known, letters = upper_code(country), _normalize_state(value)
    if letters in states().get(known, {}):
        return letters
    alias = one_alias("state", f"{known} {value}") or ""
    return _state_codes_by_name(known).get(letters) or alias.partition("-")[2] or None


def state_unknown(value: str, country: str | None) -> bool:
    """Return True if the US has no such state, by the list of its postal service."""
    return is_us(country) and not _is_state(value, "US")


def state_unknown_abroad(value: str, country: str | None) -> bool:
    """Return True if a country other than the US whose states are in the table has no such state."""
    return not is_us(country) and upper_code(country) in states() and not _is_state(value, upper_code(country))


def _is_state(value: str, country: str) -> bool:
    state = _normalize_state(value)
    return state in states()[country] or state in _state_codes_by_name(country)


def postal_zero_lost(value: str, country: str | None) -> bool:
    """Return True if a postal code becomes valid with a leading zero, which a table has probably dropped."""
    matches = _postal_matcher(country)
    is_number = value.isascii() and value.isdigit()
    return matches is not None and is_number and not matches(value) and matches(f"0{value}") is not None


def postal_form(value: str, country: str | None) -> bool | str:
    """Return an example of a country's postal codes if the value does not match their format; False if it does."""
    matches = _postal_matcher(country)
    if matches is None or matches(value.strip().upper()) or matches(compact(value)) or postal_zero_lost(value, country):
        return False
    return countries()[upper_code(country)].postal_example


def _postal_matcher(country: str | None) -> Callable[[str], object] | None:
    known = countries().get(upper_code(country))
    return None if known is None else known.postal_matcher


def postal_unchecked(_value: str, country: str | None) -> bool:
    """Return True if a country has no postal codes, or no published format for them."""
    known = countries().get(upper_code(country))
    return known is not None and known.postal_matcher is None


def postal_elsewhere(value: str, state: str | None, country: str | None) -> bool:
    """Return True if a ZIP code belongs to another state."""
    matches_zip = _zip_matchers().get(upper_code(state))
    is_zip = is_us(country) and re.match("[0-9]{5}", value) is not None
    return is_zip and matches_zip is not None and not matches_zip(value)
