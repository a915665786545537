"""The fields that a bank account in a currency needs on its rails, by name and in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from payerkit.checks.places import fiat_currencies
from payerkit.checks.requirements import find_requirement, listed_rails
from payerkit.checks.schema import BANK_DETAILS
from payerkit.wording import listed

USUAL_FIELDS = ("account_number", "iban", "swift_bic", "bank_code", "branch_code")
"""The fields that an account of a currency without published requirements may need: some of these, usually not all."""


@lru_cache(1024)
def asked_fields(currency: str, rails: str | None) -> tuple[str, ...]:
    """Return the optional fields that an account may need: the published ones, else `USUAL_FIELDS`.

    Empty for text that is no currency.
    """
    needs = _needs(currency, rails)
    if needs is None:
        return USUAL_FIELDS if currency.upper() in fiat_currencies() or listed_rails(currency) else ()
    names = dict.fromkeys(name for group in needs for name in group)
    # Where only documents are published, the account has a number all the same.
    return tuple(names) if {"account_number", "iban"} & names.keys() else ("account_number", *names)


@lru_cache(1024)
def fields_without_alternative(currency: str, rails: str | None) -> tuple[str, ...]:
    """Return the published fields that an account usually needs, and that no other field can replace."""
    return tuple(group[0] for group in _needs(currency, rails) or () if len(group) == 1)


@lru_cache(1024)
def needs_text(currency: str, rails: str | None) -> str:
    """Return a sentence about what an account needs, such as "EUR over local rails usually needs an IBAN."."""
    code = currency.upper()
    if not asked_fields(currency, rails):
        return "Choose a currency to see which fields it needs."
    needs, row = _needs(currency, rails), find_requirement(currency, rails)
    if needs is None:
        route = f"{code} over {rails} rails" if rails else code
        return f"What {route} needs is not published. Ask the bank which of these fields it wants."
    return f"{code} over {row.rails if row else rails} rails usually needs {_words(needs)}."


def _needs(currency: str, rails: str | None) -> tuple[tuple[str, ...], ...] | None:
    row = find_requirement(currency, rails)
    return None if row is None else row.needs


def _words(groups: Sequence[Sequence[str]]) -> str:
    """Return groups of fields in words: one field of each group is needed."""
    needed = [title_in_text(group[0]) for group in groups if len(group) == 1]
    choices = [group for group in groups if len(group) > 1]
    shared = [name for name in (choices[0] if len(choices) > 1 else ()) if all(name in group for group in choices)]
    if shared and all(len(group) == 2 for group in choices):
        others = [title_in_text(name) for group in choices for name in group if name not in shared]
        words = [f"either {listed(others)}, or {_with_article(shared[0])}"]
    else:
        words = [f"either {listed([title_in_text(name) for name in group], 'or')}" for group in choices]
    if not words:
        return _with_article(groups[0][0]) if len(groups) == 1 else listed(needed)
    return ", and ".join([*filter(None, [", ".join(needed)]), *words])


def title_in_text(name: str) -> str:
    """Return the title of a field of bank details inside a sentence; an abbreviation keeps its capitals."""
    title = BANK_DETAILS.fields[name].title
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def _with_article(name: str) -> str:
    title = title_in_text(name)
    return f"an {title}" if title[0] in "aeiouI" else f"a {title}"
