"""Rules for identifiers that contradict the currency, the rails or the country of the bank."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

from payerkit._tsv import rows
from payerkit.checks.banks import country_of_bic, country_of_iban, share_banks
from payerkit.checks.places import countries
from payerkit.checks.requirements import Requirement, find_requirement
from payerkit.checks.rules import Rule
from payerkit.checks.texts import compact, upper_code


@cache
def _identifiers() -> Mapping[str, tuple[str, ...]]:
    """Return the countries whose banks have an identifier, by its field."""
    return {row["field"]: tuple(row["countries"].split()) for row in rows(__package__, "identifiers")}


@cache
def identifier_rules() -> tuple[Rule, ...]:
    """Return two rules for each identifier: by the currency and rails, and by the country of the bank."""
    bases = {row["field"]: row["basis"] for row in rows(__package__, "identifiers")}
    return (
        *(_unused_rule(field, basis) for field, basis in bases.items()),
        *(_country_rule(field, basis) for field, basis in bases.items() if _identifiers()[field]),
    )


def _unused_rule(field: str, basis: str) -> Rule:
    return Rule(
        code="identifier_unused",
        field=field,
        reads=(field, "currency", "rails", "swift_bic", "iban"),
        checker=partial(_check_use, field),
        message="Not used for {}.",
        hint="Remove it, or correct the currency or the rails.",
        basis=basis,
    )


def _country_rule(field: str, basis: str) -> Rule:
    return Rule(
        code="identifier_country",
        field=field,
        reads=(field, "currency", "rails", "swift_bic", "iban"),
        checker=partial(_check_country, field),
        message="Identifies a bank in {}.",
        hint="Remove it, or correct the one that is wrong.",
        basis=basis,
    )


def _check_use(
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


def _check_country(
    field: str, _value: str, currency: str | None, rails: str | None, bic: str | None, iban: str | None
) -> bool | str:
    """Return the country of an identifier and that of the bank if they differ; else False."""
    row = find_requirement(currency or "", rails)
    if row is None or row.needs is None or field in row.also:
        return False
    if row.rails != "swift" and field not in row.identifiers:
        return False  # reported by identifier_unused
    bank = _bank_country(row, bic, iban)
    homes = _identifiers()[field]
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
