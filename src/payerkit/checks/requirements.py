"""What a currency needs by its rails: one row of the table beside this module is one requirement."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import starmap

from payerkit._tables import rows
from payerkit.checks.banks import is_iban
from payerkit.checks.places import currencies
from payerkit.checks.rules import Rule
from payerkit.checks.texts import bare, capitals

_FORMAT = re.compile("([0-9]+)(?:-([0-9]+))? (digits|letters or digits)").fullmatch
_CLASSES = {"digits": "[0-9]", "letters or digits": "[0-9A-Za-z]"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one currency needs on one kind of rails.

    needs: groups of members, of each of which one is due; None if nothing is published. formats: in words, and what
    matches them.
    """

    rails: str
    needs: tuple[tuple[str, ...], ...] | None
    formats: Mapping[str, tuple[str, Callable[[str], object]]]
    basis: str


@cache
def requirements() -> Mapping[tuple[str, str], Requirement]:
    """Return the requirements by currency, in capitals, and rails."""
    return {(row["currency"], row["rails"]): _requirement(row) for row in rows(__package__, "requirements")}


def _requirement(row: dict[str, str]) -> Requirement:
    needs = None if row["needs"] == "?" else tuple(tuple(group.split("|")) for group in row["needs"].split())
    formats = dict(_read_format(item) for item in row["formats"].split("; ") if item)
    return Requirement(row["rails"], needs, formats, row["basis"])


def _read_format(item: str) -> tuple[str, tuple[str, Callable[[str], object]]]:
    name, _, words = item.partition(": ")
    found = _FORMAT(words)
    if found is None:
        raise ValueError(f"requirements.tsv: {words!r} is no format")
    least, most, kind = found.groups()
    pattern = f"{_CLASSES[kind]}{{{least},{most or least}}}"
    return name, (words, re.compile(pattern).fullmatch)


@cache
def rules() -> tuple[Rule, ...]:
    """Return a rule for each group of members that is needed and each member with a format, by whose word it is."""
    rows = requirements().values()
    needs = dict.fromkeys((group, row.basis) for row in rows for group in row.needs or ())
    formats = dict.fromkeys((name, row.basis) for row in rows for name in row.formats)
    return (*starmap(_need_rule, needs), *starmap(_format_rule, formats))


def _need_rule(group: tuple[str, ...], basis: str) -> Rule:
    return Rule(
        code="member_missing",
        field=group[0],
        reads=("currency", "rails", *(f"{name}?" for name in group)),
        checker=partial(_is_missing, group, basis),
        message="Not given, and {} usually needs it.",
        hint=f"Ask for {' or '.join(group)}.",
        basis=basis,
    )


def _format_rule(name: str, basis: str) -> Rule:
    return Rule(
        code="number_form",
        field=name,
        reads=(name, "currency", "rails"),
        checker=partial(_is_misformed, name, basis),
        message="Not in the usual form: {}.",
        hint="Compare with a letter of the bank; leading zeros count.",
        basis=basis,
    )


def _find(currency: str, rails: str | None) -> Requirement | None:
    """Return what is needed on the rails, or else on the only ones that are listed: another rule tells of the rails."""
    listed = _rails_of(currency.upper())
    is_other = len(listed) == 1 and (rails or "local") not in listed
    return requirements().get((currency.upper(), min(listed) if is_other else rails or "local"))


def _is_missing(
    group: tuple[str, ...], basis: str, currency: str, rails: str | None, *are_given: bool | None
) -> bool | str:
    if any(are_given):
        return False
    row = _find(currency, rails)
    if row is None or row.basis != basis or row.needs is None or group not in row.needs:
        return False
    return f"{currency.upper()} by {row.rails} rails"


def _is_misformed(name: str, basis: str, value: str, currency: str | None, rails: str | None) -> bool | str:
    row = _find(currency or "", rails)
    if row is None or row.basis != basis or name not in row.formats:
        return False
    words, matches = row.formats[name]
    is_told = name == "account_number" and is_iban(value)  # that it is in the wrong place
    return False if is_told or matches(bare(value).replace(".", "")) else f"{words} for {capitals(currency)}"


@cache
def _rails_of(currency: str) -> frozenset[str]:
    return frozenset(rails for code, rails in requirements() if code == currency)


def rails_unusual(currency: str, rails: str | None) -> bool | str:
    """Return the rails that the operator lists for a currency, if these are none of them; False if they are."""
    listed = _rails_of(currency.upper()) or {"local", "swift"}  # wire is for dollars
    return " or ".join(sorted(listed)) if (rails or "local") not in listed else False


def needed(currency: str, rails: str | None) -> tuple[tuple[str, ...], ...] | None:
    """Return the groups of members, of each of which a currency needs one on its rails; None if nobody published it."""
    row = _find(currency, rails)
    return None if row is None else row.needs


def currency_unlisted(currency: str) -> bool:
    """Tell whether the operator does not list a currency that there is, so that nothing is known of what it needs."""
    return currency.upper() in currencies() and not _rails_of(currency.upper())


def needs_unpublished(currency: str, rails: str | None) -> bool:
    """Tell whether the operator lists a currency on these rails, and not what it needs."""
    found = _find(currency, rails)
    return found is not None and found.needs is None
