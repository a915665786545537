"""What a bank account in a currency needs on its rails, by requirements.tsv, identifiers.tsv and least_amounts.tsv."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache

from payerkit._tsv import rows
from payerkit.checks.banks import country_of_bic, country_of_iban, like_iban, share_banks
from payerkit.checks.places import countries, fiat_currencies
from payerkit.checks.schema import BANK_DETAILS, RAILS
from payerkit.checks.texts import compact, upper_code
from payerkit.wording import listed

_FORMAT = re.compile("([0-9]+)(?:-([0-9]+))? (digits|letters or digits)").fullmatch
_CHARACTERS = {"digits": "[0-9]", "letters or digits": "[0-9A-Za-z]"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """The fields that one currency needs on one kind of rails.

    needs: groups of fields, at least one of each is needed; None if nothing is published. also: identifiers that may
    stand beside them. formats: by field, a description and its matcher. identifiers: all of these fields.
    """

    rails: str
    needs: tuple[tuple[str, ...], ...] | None
    also: frozenset[str]
    formats: Mapping[str, tuple[str, Callable[[str], object]]]
    basis: str
    identifiers: frozenset[str]


@cache
def requirements() -> Mapping[tuple[str, str], Requirement]:
    """Return the requirements by currency code and rails."""
    found = {}
    for row in rows(__package__, "requirements"):
        needs = None if row["needs"] == "?" else tuple(tuple(group.split("|")) for group in row["needs"].split())
        also = frozenset(row["also"].split())
        formats = {}
        for item in filter(None, row["formats"].split("; ")):
            name, _, words = item.partition(": ")
            formats[name] = words, _matcher(words)
        known = also.union(formats, *(needs or ()))
        found[row["currency"], row["rails"]] = Requirement(row["rails"], needs, also, formats, row["basis"], known)
    return found


def _matcher(words: str) -> Callable[[str], object]:
    """Return the matcher of a format in words, such as "8-11 digits"."""
    match = _FORMAT(words)
    if match is None:
        raise ValueError(f"requirements.tsv: {words!r} is not a format")
    least, most, kind = match.groups()
    return re.compile(f"{_CHARACTERS[kind]}{{{least},{most or least}}}").fullmatch


@lru_cache(1024)
def find_requirement(currency: str, rails: str | None) -> Requirement | None:
    """Return the requirement of the rails, or of the only listed ones: rails_unusual reports the difference."""
    listed = listed_rails(currency)
    is_other = len(listed) == 1 and (rails or "local") not in listed
    return requirements().get((currency.upper(), listed[0] if is_other else rails or "local"))


@lru_cache(1024)
def listed_rails(currency: str) -> tuple[str, ...]:
    """Return the rails that the service lists for a currency, the usual ones first; none if it is not listed."""
    return tuple(rails for rails in RAILS if (currency.upper(), rails) in requirements())


def least_amount(currency: str | None, rails: str | None) -> Decimal | None:
    """Return the least amount that reaches an account, in its currency; None if none is known."""
    row = _paid_out_row(currency, rails)
    return Decimal(row["least"]) if row else None


def unlocked_on_request(currency: str | None, rails: str | None) -> str:
    """Return what the operator unlocks on request only, such as "USD by ACH"; "" if nothing is known."""
    return _paid_out_row(currency, rails).get("on_request", "")


def _paid_out_row(currency: str | None, rails: str | None) -> Mapping[str, str]:
    """Return the row of `least_amounts.tsv`, or an empty one."""
    known, code = _least_amounts(), upper_code(currency)
    return known.get((code, (rails or "").lower()), known.get((code, ""), {}))


@cache
def _least_amounts() -> Mapping[tuple[str, str], Mapping[str, str]]:
    return {(row["currency"], row["rails"]): row for row in rows(__package__, "least_amounts")}


# Checkers


def rails_unusual(currency: str, rails: str | None) -> bool | str:
    """Return the rails that the service lists for a currency, if the given ones are not among them; else False."""
    listed = listed_rails(currency) or ("local", "swift")  # wire is for dollars
    return " or ".join(sorted(listed)) if (rails or "local") not in listed else False


def currency_unlisted(currency: str) -> bool:
    """Return True if a currency is active but not listed by the operator, so that its requirements are unknown."""
    return currency.upper() in fiat_currencies() and not listed_rails(currency)


def needs_unpublished(currency: str, rails: str | None) -> bool:
    """Return True if the service lists a currency on these rails without its requirements."""
    row = find_requirement(currency, rails)
    return row is not None and row.needs is None


def group_missing(
    group: tuple[str, ...], basis: str, currency: str, rails: str | None, *have_values: bool | None
) -> bool | str:
    """Return the currency and rails that need one of the fields; False if one has a value, or none is needed."""
    if any(have_values):
        return False
    row = find_requirement(currency, rails)
    if row is None or row.basis != basis or row.needs is None or group not in row.needs:
        return False
    return f"{currency.upper()} over {row.rails} rails"


def number_form(name: str, basis: str, value: str, currency: str | None, rails: str | None) -> bool | str:
    """Return the required format if a value does not match it; False if it does, or if no format is published."""
    row = find_requirement(currency or "", rails)
    if row is None or row.basis != basis or name not in row.formats:
        return False
    words, matches = row.formats[name]
    is_reported = name == "account_number" and like_iban(value)  # by the rule account_is_iban
    return False if is_reported or matches(compact(value).replace(".", "")) else f"{words} for {upper_code(currency)}"


@dataclass(frozen=True, slots=True)
class Identifier:
    """A row of `identifiers.tsv`: the countries whose banks have an identifier, and the source."""

    countries: tuple[str, ...]
    basis: str


@cache
def identifiers() -> Mapping[str, Identifier]:
    """Return the identifiers that belong to the banks of some countries, by field."""
    table = rows(__package__, "identifiers")
    return {row["field"]: Identifier(tuple(row["countries"].split()), row["basis"]) for row in table}


def identifier_unused(
    field: str, _value: str, currency: str | None, rails: str | None, bic: str | None, iban: str | None
) -> bool | str:
    """Return the currency and rails that do not use an identifier; False if they do, or nothing is published.

    A SWIFT transfer takes an account of any country, so there an identifier is measured against the country of the
    bank, if that is known.
    """
    row = find_requirement(currency or "", rails)
    if row is None or row.needs is None or field in row.identifiers:
        return False
    if row.rails == "swift" and (field == "iban" or _bank_country(row, bic, iban) is not None):
        return False
    return f"{upper_code(currency)} over {row.rails} rails"


def identifier_country(
    field: str, _value: str, currency: str | None, rails: str | None, bic: str | None, iban: str | None
) -> bool | str:
    """Return the country of an identifier and that of the bank if they differ; else False."""
    row = find_requirement(currency or "", rails)
    if row is None or row.needs is None or field in row.also:
        return False
    if row.rails != "swift" and field not in row.identifiers:
        return False  # reported by identifier_unused
    bank = _bank_country(row, bic, iban)
    homes = identifiers()[field].countries
    if bank is None or any(share_banks(country, bank[1]) for country in homes):
        return False
    return f"{homes[0]}, but the {bank[0]} is of {bank[1]}"


def _bank_country(row: Requirement, bic: str | None, iban: str | None) -> tuple[str, str] | None:
    """Return whether the BIC or the IBAN tells the country of the bank, and the country; None if neither does."""
    if country := country_of_bic(bic):
        return "BIC", country
    is_iban_used = row.rails == "swift" or "iban" in row.identifiers
    if is_iban_used and (country := country_of_iban(iban)):
        return "IBAN", country
    return None


def holder_abroad(country: str, iban: str | None, bic: str | None) -> bool | str:
    """Return the country of the account and that of its holder if they differ; False if they agree or share banks.

    Only an IBAN or a BIC tells the country: people abroad often hold dollars or pounds with a routing number or sort
    code.
    """
    holder = upper_code(country)
    if holder not in countries() or compact(iban or "")[:2] == holder:
        return False  # the usual case
    account = country_of_iban(iban) or country_of_bic(bic)
    return False if account is None or share_banks(account, holder) else f"{account}, its holder in {holder}"


# For forms: the fields by name and in words

USUAL_FIELDS = ("account_number", "iban", "swift_bic", "bank_code", "branch_code")
"""The fields that an account of a currency without published requirements may need: some of these, usually not all."""


@lru_cache(1024)
def asked_fields(currency: str, rails: str | None) -> tuple[str, ...]:
    """Return the optional fields that an account may need: the published ones, else `USUAL_FIELDS`.

    Empty for text that is no currency.
    """
    row = find_requirement(currency, rails)
    if row is None or row.needs is None:
        return USUAL_FIELDS if currency.upper() in fiat_currencies() or listed_rails(currency) else ()
    names = dict.fromkeys(name for group in row.needs for name in group)
    # Where only documents are published, the account has a number all the same.
    return tuple(names) if {"account_number", "iban"} & names.keys() else ("account_number", *names)


@lru_cache(1024)
def fields_without_alternative(currency: str, rails: str | None) -> tuple[str, ...]:
    """Return the published fields that an account usually needs, and that no other field can replace."""
    row = find_requirement(currency, rails)
    return tuple(group[0] for group in (row and row.needs) or () if len(group) == 1)


@lru_cache(1024)
def needs_text(currency: str, rails: str | None) -> str:
    """Return a sentence about what an account needs, such as "EUR over local rails usually needs IBAN."."""
    code = currency.upper()
    if not asked_fields(currency, rails):
        return "Choose a currency to see which fields it needs."
    row = find_requirement(currency, rails)
    if row is None or row.needs is None:
        route = f"{code} over {rails} rails" if rails else code
        return f"What {route} needs is not published. Ask the bank which of these fields it wants."
    needed = [title_in_text(group[0]) for group in row.needs if len(group) == 1]
    choices = [f"either {listed(map(title_in_text, group), 'or')}" for group in row.needs if len(group) > 1]
    words = [listed(needed), *choices] if needed else choices
    return f"{code} over {row.rails} rails usually needs {', and '.join(words)}."


def title_in_text(name: str) -> str:
    """Return the title of a field of bank details inside a sentence; an abbreviation keeps its capitals."""
    title = BANK_DETAILS.fields[name].title
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"
