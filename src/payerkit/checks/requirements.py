"""The fields that a currency needs on its rails, one row of `requirements.tsv` for each currency and rails."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache, partial
from itertools import starmap

from payerkit._tsv import rows
from payerkit.checks.banks import is_iban
from payerkit.checks.places import fiat_currencies
from payerkit.checks.rules import Rule
from payerkit.checks.schema import RAILS
from payerkit.checks.texts import compact, upper_code


def least_amount(currency: str | None, rails: str | None) -> Decimal | None:
    """Return the least amount that reaches an account, in its currency; None if none is known."""
    known = _table()
    code = (currency or "").upper()
    return known.get((code, (rails or "").lower()), known.get((code, "")))


@cache
def _table() -> Mapping[tuple[str, str], Decimal]:
    return {(row["currency"], row["rails"]): Decimal(row["least"]) for row in rows(__package__, "least_amounts")}


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
    return {(row["currency"], row["rails"]): _requirement(row) for row in rows(__package__, "requirements")}


def _requirement(row: dict[str, str]) -> Requirement:
    needs = None if row["needs"] == "?" else tuple(tuple(group.split("|")) for group in row["needs"].split())
    also = frozenset(row["also"].split())
    formats = dict(_parse_format(item) for item in row["formats"].split("; ") if item)
    identifiers = also.union(formats, *(needs or ()))
    return Requirement(row["rails"], needs, also, formats, row["basis"], identifiers)


def _parse_format(item: str) -> tuple[str, tuple[str, Callable[[str], object]]]:
    name, _, words = item.partition(": ")
    match = _FORMAT(words)
    if match is None:
        raise ValueError(f"requirements.tsv: {words!r} is not a format")
    minimum, maximum, kind = match.groups()
    pattern = f"{_CHARACTERS[kind]}{{{minimum},{maximum or minimum}}}"
    return name, (words, re.compile(pattern).fullmatch)


@cache
def requirement_rules() -> tuple[Rule, ...]:
    """Return a rule for each group of needed fields and each field with a format, one for each source."""
    rows = requirements().values()
    needs = dict.fromkeys((group, row.basis) for row in rows for group in row.needs or ())
    formats = dict.fromkeys((name, row.basis) for row in rows for name in row.formats)
    return (*starmap(_need_rule, needs), *starmap(_format_rule, formats))


def _need_rule(group: tuple[str, ...], basis: str) -> Rule:
    return Rule(
        code="member_missing",
        field=group[0],
        reads=("currency", "rails", *(f"{name}?" for name in group)),
        checker=partial(_check_group, group, basis),
        message="Missing, but usually needed for {}.",
        hint=f"Provide {' or '.join(f'<{name}>' for name in group)}.",
        basis=basis,
    )


def _format_rule(name: str, basis: str) -> Rule:
    return Rule(
        code="number_form",
        field=name,
        reads=(name, "currency", "rails"),
        checker=partial(_check_format, name, basis),
        message="Not in the usual format: {}.",
        hint="Check it for typos; keep leading zeros.",
        basis=basis,
    )


@lru_cache(1024)
def find_requirement(currency: str, rails: str | None) -> Requirement | None:
    """Return the requirement of the rails, or of the only listed ones: rails_unusual reports the difference."""
    listed = listed_rails(currency)
    is_other = len(listed) == 1 and (rails or "local") not in listed
    return requirements().get((currency.upper(), listed[0] if is_other else rails or "local"))


def _check_group(
    group: tuple[str, ...], basis: str, currency: str, rails: str | None, *have_values: bool | None
) -> bool | str:
    """Return the currency and rails that need one of the fields; False if one has a value, or none is needed."""
    if any(have_values):
        return False
    row = find_requirement(currency, rails)
    if row is None or row.basis != basis or row.needs is None or group not in row.needs:
        return False
    return f"{currency.upper()} over {row.rails} rails"


def _check_format(name: str, basis: str, value: str, currency: str | None, rails: str | None) -> bool | str:
    """Return the format that a value does not match; False if it does, or has none."""
    row = find_requirement(currency or "", rails)
    if row is None or row.basis != basis or name not in row.formats:
        return False
    words, matches = row.formats[name]
    is_reported = name == "account_number" and is_iban(value)  # by the rule account_is_iban
    return False if is_reported or matches(compact(value).replace(".", "")) else f"{words} for {upper_code(currency)}"


@lru_cache(1024)
def listed_rails(currency: str) -> tuple[str, ...]:
    """Return the rails that the operator lists for a currency, the usual ones first; none if it is not listed."""
    return tuple(rails for rails in RAILS if (currency.upper(), rails) in requirements())


def rails_unusual(currency: str, rails: str | None) -> bool | str:
    """Return the rails that the operator lists for a currency, if the given ones are not among them; else False."""
    listed = listed_rails(currency) or ("local", "swift")  # wire is for dollars
    return " or ".join(sorted(listed)) if (rails or "local") not in listed else False


def currency_unlisted(currency: str) -> bool:
    """Return True if a currency is active but not listed by the operator, so that its requirements are unknown."""
    return currency.upper() in fiat_currencies() and not listed_rails(currency)


def needs_unpublished(currency: str, rails: str | None) -> bool:
    """Return True if the operator lists a currency on these rails without its requirements."""
    row = find_requirement(currency, rails)
    return row is not None and row.needs is None
