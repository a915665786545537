"""What the columns of a table mean: members of a payer, of bank details, or of both."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from payerkit.checks.reading import suggestion
from payerkit.checks.specification import BANK_DETAILS, PAYER, Body
from payerkit.errors import FieldProblem, InvalidInput

_BANK = "bank_"

_SHARED = {name: name for name in PAYER.members if name in BANK_DETAILS.members} | {"postal_code": "postcode"}
"""Members of bank details, and the column of the payer that feeds them unless the table has a column for the bank."""

_OF_THE_BANK = {f"{_BANK}{name}": name for name in _SHARED}
"""Columns that are for bank details where both bodies have the member."""

_KNOWN: dict[object, str] = {name: name for name in _OF_THE_BANK} | dict(BANK_DETAILS.names) | dict(PAYER.names)
"""What a column may be called, and the name here."""


def our_names(columns: Iterable[Hashable], mapping: Mapping[str, str | None] | None = None) -> dict[Hashable, str]:
    """Return our name of each column, without those that the mapping leaves out.

    Raises InvalidInput, with every column at fault and what may have been meant, for columns that are no members, for
    two that are the same, and for a mapping that names no column or no member.
    """
    columns = list(columns)
    chosen = dict(mapping or {})
    there = f"not a column of the table, which has {', '.join(map(str, columns))}"
    problems = [_problem(name, there) for name in chosen if name not in columns]
    named: dict[Hashable, str] = {}
    for column in columns:
        if column in chosen and chosen[str(column)] is None:
            continue
        wanted = chosen.get(str(column), column)
        name = _KNOWN.get(wanted)
        if name is None:
            problems.append(_problem(column, _unknown(str(wanted))))
        elif name in named.values():
            problems.append(_problem(column, f"a second column for {name}"))
        else:
            named[column] = name
    if problems:
        advice = 'Rename the columns, or say what they are: mapping={"their name": "our name"}; None leaves one out.'
        raise InvalidInput("The table has columns that are not understood.", fields=tuple(problems), advice=advice)
    return named


def _problem(column: Hashable, words: str) -> FieldProblem:
    return FieldProblem(str(column), str(column), f"{words}.", "unknown_column")


def _unknown(column: str) -> str:
    meant = suggestion(PAYER, column) or suggestion(BANK_DETAILS, column)
    return "no member of a payer or of bank details" + (f"; did you mean {meant}?" if meant else "")


def members_of(body: Body, columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that feed the members of a body, by member; empty if none of them is the body's alone."""
    there = set(columns)
    if body is PAYER:
        found = {name: name for name in PAYER.members if name in there}
    else:
        found = {name: f"{_BANK}{name}" if name in _SHARED else name for name in BANK_DETAILS.members}
        found = {name: column if column in there else _fallback(name, there) for name, column in found.items()}
        found = {name: column for name, column in found.items() if column}
    return found if any(column in own_columns(body) for column in found.values()) else {}


def _fallback(name: str, there: set[str]) -> str:
    return next((column for column in (name, _SHARED.get(name, "")) if column in there), "")


def own_columns(body: Body) -> set[str]:
    """Return the columns that are for this body alone: a row without any of them is not about it."""
    if body is PAYER:
        return set(PAYER.members) - set(_SHARED) - {"client_user_id", "postcode"}
    return set(BANK_DETAILS.members) - set(_SHARED) | set(_OF_THE_BANK)
