"""Rules about countries, currencies, states and postal codes, by the tables beside this
module.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tsv import grouped, rows
from payerkit.checks.rules import Words, rule
from payerkit.checks.texts import compact, fold, upper_code

_EXCLUDED = (
    "AF BA BI BY CD CF CU ET GN GT GW HT IQ IR KP LB LY ML MM NE NI RU SD SO SS SY TN"
    " VE YE ZW"
)
"""Countries whose residents the service does not accept, from its documentation
(RequestFinance).
"""


_PO_BOX = re.compile(r"\b(p\.? ?o\.? ?box|post office box|pmb)\b", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_FIVE_DIGITS = re.compile(r"(?<!\d)\d{5}(?!\d)")


@dataclass(frozen=True, slots=True)
class CountryFacts:
    """A country with the structure of its IBANs after the check digits (BBAN) and a
    matcher of its postal codes.

    alpha3: its three letters in ISO 3166-1, as passports have them; "" if it has none.
    has_postal_zeros: whether some of its postal codes begin with 0.
    """

    name: str
    alpha3: str
    bban: str
    postal: re.Pattern[str] | None
    postal_example: str
    has_postal_zeros: bool


@cache
def countries() -> Mapping[str, CountryFacts]:
    """Return the countries of ISO 3166-1, and Kosovo as XK, by code."""
    found = {}
    for row in rows(__package__, "countries"):
        pattern = f"(?:{row['postal']})"
        if row["postal_prefix"]:
            pattern = f"(?:{row['postal_prefix']}[ -]?)?{pattern}"
        postal = re.compile(pattern, re.ASCII) if row["postal"] else None
        found[row["code"]] = CountryFacts(
            row["name"],
            row["alpha3"],
            row["bban"],
            postal,
            row["postal_example"],
            row["postal_zero"] == "yes",
        )
    return found


@cache
def fiat_currencies() -> Mapping[str, str]:
    """Return the names of the active currencies of ISO 4217 by code."""
    return {row["code"]: row["name"] for row in rows(__package__, "currencies")}


@cache
def states() -> Mapping[str, Mapping[str, str]]:
    """Return the names of states by country, then by code, for the countries in the
    table.
    """
    names: dict[str, dict[str, str]] = {}
    for row in rows(__package__, "states"):
        names.setdefault(row["country"], {})[row["code"]] = row["name"]
    return names


@cache
def _state_codes_by_name(country: str) -> Mapping[str, str]:
    return {
        _normalize_state(name): code for code, name in states().get(country, {}).items()
    }


def _normalize_state(name: str) -> str:
    """Return a state's name or code in upper case, without accents, dots and
    surrounding whitespace.
    """
    letters = unicodedata.normalize("NFKD", name.strip().upper().replace(".", ""))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _zip_codes() -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of the first digits of ZIP codes, by state."""
    return {
        row["code"]: re.compile(row["zip"])
        for row in rows(__package__, "states")
        if row["zip"]
    }


def is_us(country: str | None) -> bool:
    """Return True if a country code is that of the US."""
    return upper_code(country) == "US"


@cache
def aliases(kind: str) -> Mapping[str, tuple[str, ...]]:
    """Return what people type in place of a code: the codes that each alias of a kind
    may mean, by the folded alias.
    """
    table = rows(__package__, "aliases")
    return grouped(
        (fold(row["alias"]), row["code"]) for row in table if row["kind"] == kind
    )


def one_alias(kind: str, value: str) -> str | None:
    """Return the code that an alias means; None if it is unknown or ambiguous."""
    codes = aliases(kind).get(fold(value), ())
    return codes[0] if len(codes) == 1 else None


def country_code(value: str) -> str | None:
    """Return the code of a country given by its name, an alias or three letters; None
    if it is unknown.
    """
    return one_alias("country", value) or _country_names().get(fold(value))


@cache
def _country_names() -> Mapping[str, str]:
    """Return the codes of the countries by their names, also in other languages, and by
    three letters, folded.
    """
    others = {
        fold(row["name"]): row["code"] for row in rows(__package__, "country_names")
    }
    alpha3 = {
        fold(country.alpha3): code
        for code, country in countries().items()
        if country.alpha3
    }
    return (
        others
        | alpha3
        | {fold(country.name): code for code, country in countries().items()}
    )


@rule(
    "country_habit",
    kinds={"country"},
    message="Not an ISO 3166-1 code.",
    hint="Write {code}.",
    basis="ISO 3166-1",
)
def country_alias(value: str) -> Words | None:
    """Return the ISO code for a common alias of a country; None if the value is not an
    alias.
    """
    code = one_alias("country", value)
    if code is None or value.upper() in countries():
        return None
    return {"code": code}


@rule(
    "country_unknown",
    kinds={"country"},
    message="No country has this code.",
    hint="Look up the two-letter code in ISO 3166-1.",
    basis="ISO 3166-1, and XK for Kosovo",
)
def country_unknown(value: str) -> bool:
    """Return True if no country has the code."""
    return value.upper() not in countries() and country_alias(value) is None


@rule(
    "country_excluded",
    "country",
    only="Payer",
    message="The service does not accept residents of this country.",
    hint="Ask the service before you continue.",
    basis="operator's documentation",
)
def country_excluded(country: str) -> bool:
    """Return True if the service does not accept residents of the country."""
    return country.upper() in _EXCLUDED.split()


@rule(
    "currency_habit",
    "currency",
    message="Not an active ISO 4217 code.",
    hint="Write {code}.",
    basis="ISO 4217",
)
def currency_alias(currency: str) -> Words | None:
    """Return the active ISO code for an alias or former code of a currency; None if the
    value is neither.
    """
    code = one_alias("currency", currency)
    if code is None or currency.upper() in fiat_currencies():
        return None
    return {"code": code}


@rule(
    "currency_unknown",
    "currency",
    message="No active currency has this code.",
    hint="Look up the three-letter code in ISO 4217.",
    basis="ISO 4217",
)
def currency_unknown(currency: str) -> bool:
    """Return True if no active currency has the code."""
    is_active = currency.upper() in fiat_currencies()
    return not is_active and currency_alias(currency) is None


@rule(
    "state_missing",
    "state",
    only="BankDetails",
    message="Missing, but usually needed for an account in the US.",
    hint="Write the two-letter code, such as NY.",
    basis="operator's documentation",
)
def state_missing(
    country: str, currency: str | None, rails: str | None, given: frozenset[str]
) -> bool:
    """Return True if the US address of a dollar account has no state, on rails that
    need it.
    """
    is_needed = is_us(country) and upper_code(currency) == "USD" and rails != "swift"
    return is_needed and "state" not in given


@rule(
    "state_written_out",
    "state",
    severity="info",
    message="The name of a state instead of its code.",
    hint="Write {code}.",
    basis="ISO 3166-2; specification: state or province code",
)
def state_written_out(state: str, country: str | None) -> Words | None:
    """Return the code of a state given by its name; None if the value is not such a
    name.
    """
    code = _state_codes_by_name(upper_code(country)).get(_normalize_state(state))
    return None if code is None else {"code": code}


def state_code(value: str, country: str | None) -> str | None:
    """Return the code of a state given by its name, an alias, or its letters with dots;
    None if it is unknown.
    """
    known = upper_code(country)
    letters = _normalize_state(value)
    if letters in states().get(known, {}):
        return letters
    alias = one_alias("state", f"{known} {value}") or ""
    return _state_codes_by_name(known).get(letters) or alias.partition("-")[2] or None


@rule(
    "state_unknown",
    "state",
    message="Not a US state, district or territory.",
    hint="Write the two-letter code, such as NY.",
    basis="libaddressinput; operator's documentation",
)
def state_unknown(state: str, country: str | None) -> bool:
    """Return True if the US has no such state, by the list of its postal service."""
    return is_us(country) and not _is_state(state, "US")


@rule(
    "state_unknown_abroad",
    "state",
    severity="info",
    message="Not a state or province of this country in ISO 3166-2.",
    hint="Compare it with the address.",
    basis="ISO 3166-2",
)
def state_unknown_abroad(state: str, country: str | None) -> bool:
    """Return True if a country other than the US whose states are in the table has no
    such state.
    """
    code = upper_code(country)
    return code != "US" and code in states() and not _is_state(state, code)


def _is_state(value: str, country: str) -> bool:
    state = _normalize_state(value)
    return state in states()[country] or state in _state_codes_by_name(country)


@rule(
    "city_with_code",
    "city",
    message="Has a number of five digits: it may be the postal code.",
    hint="Enter the city alone.",
    basis="plausibility",
)
def city_with_code(city: str) -> bool:
    """Return True if a city has letters and a number of five digits."""
    return _LETTER.search(city) is not None and _FIVE_DIGITS.search(city) is not None


@rule(
    "city_without_letters",
    "city",
    message="Has digits, but no letters: it may be the postal code.",
    hint="Enter the city.",
    basis="plausibility",
)
def city_without_letters(city: str) -> bool:
    """Return True if a city has digits, and no letters."""
    has_digit = re.search(r"\d", city) is not None
    return has_digit and _LETTER.search(city) is None


@rule(
    "po_box",
    "address_line1",
    "address_line2",
    only="BankDetails",
    severity="info",
    message=(
        "A PO box, which some providers refuse: for accounts in the US and China, and"
        " over SWIFT."
    ),
    hint="Write the street, if the account holder has one.",
    basis="payout providers' documentation: Bridge, iBanFirst, Stripe",
)
def po_box(value: str) -> bool:
    """Return True if a line of an address names a PO box."""
    return _PO_BOX.search(value) is not None


@rule(
    "postal_zero_lost",
    kinds={"postcode"},
    message="A leading zero is missing.",
    hint="Restore the zero.",
    basis="libaddressinput",
)
def postal_zero_lost(value: str, country: str | None) -> bool:
    """Return True if a postal code becomes valid with a leading zero, which a table has
    probably dropped. Where no code begins with 0, another digit is missing.
    """
    known = countries().get(upper_code(country))
    is_number = value.isascii() and value.isdigit()
    if known is None or not known.has_postal_zeros or not is_number:
        return False
    return not _is_postal_code(value, country) and _is_postal_code(f"0{value}", country)


@rule(
    "postal_form",
    kinds={"postcode"},
    message="Not in the postal code format of this country.",
    hint="Write it as in {example}.",
    basis="libaddressinput",
)
def postal_form(value: str, country: str | None) -> Words | None:
    """Return an example of a country's postal codes if the value does not match their
    format; None if it does.
    """
    if (
        not _has_postal_codes(country)
        or _is_postal_code(value.strip().upper(), country)
        or _is_postal_code(compact(value), country)
        or postal_zero_lost(value, country)
    ):
        return None
    return {"example": countries()[upper_code(country)].postal_example}


def _has_postal_codes(country: str | None) -> bool:
    """Return True if the format of a country's postal codes is known."""
    known = countries().get(upper_code(country))
    return known is not None and known.postal is not None


def _is_postal_code(value: str, country: str | None) -> bool:
    """Return True if a value has the format of a country whose postal codes are
    known.
    """
    postal = countries()[upper_code(country)].postal
    return postal is not None and postal.fullmatch(value) is not None


@rule(
    "postal_unchecked",
    kinds={"postcode"},
    severity="info",
    message="Not checked: this country has no published postal code format.",
    hint=(
        "If the country has no postal codes, ask the service what to write; 00000 is"
        " common."
    ),
    basis="libaddressinput",
)
def postal_unchecked(value: str, country: str | None) -> bool:  # noqa: ARG001 - a rule about given codes
    """Return True if a country has no postal codes, or no published format for them."""
    return upper_code(country) in countries() and not _has_postal_codes(country)


@rule(
    "postal_elsewhere",
    kinds={"postcode"},
    severity="info",
    message="This ZIP code usually belongs to another state.",
    hint="Compare the state and the ZIP code with the address.",
    basis="libaddressinput",
)
def postal_elsewhere(value: str, state: str | None, country: str | None) -> bool:
    """Return True if a ZIP code belongs to another state."""
    of_state = _zip_codes().get(upper_code(state))
    is_zip = is_us(country) and re.match("[0-9]{5}", value) is not None
    return is_zip and of_state is not None and of_state.match(value) is None
