"""What the columns of a table mean: members of a payer, of bank details, or of both."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from payerkit.checks.reading import shown, suggestion
from payerkit.checks.specification import BANK_DETAILS, PAYER, Body
from payerkit.errors import FieldProblem, InvalidInput

_BANK = "bank_"

_SHARED = {name: name for name in PAYER.members if name in BANK_DETAILS.members} | {"postal_code": "postcode"}
"""Members of bank details, and the column of the payer that feeds them unless the table has a column for the bank."""

_ADDRESS = frozenset({"address_line1", "address_line2", "city", "state", "postal_code", "country"})
"""Members that are one address: with a column of the bank's for one of them, none is the payer's."""

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
    chosen: dict[Hashable, str | None] = dict((mapping or {}).items())
    problems = [_problem(name, "not a column of the table") for name in chosen if name not in columns]
    named: dict[Hashable, str] = {}
    strangers = []
    for column in columns:
        wanted = chosen.get(column, column)
        name = _KNOWN.get(wanted)
        if wanted is None and column in chosen:
            continue
        if name is None:
            strangers.append((column, str(wanted)))
        elif name in named.values():
            problems.append(_problem(column, f"a second column for {name}"))
        else:
            named[column] = name
    problems += _unknown(strangers, is_headless=not named)
    if problems:
        advice = (
            'Rename the columns, or say what they are: read_payers(rows, mapping={"their name": "our name"}), '
            "or --column THEIRS=OURS. None, or nothing, leaves one out."
        )
        raise InvalidInput("The table has columns that are not understood.", fields=tuple(problems), advice=advice)
    return named


def _problem(column: Hashable, words: str) -> FieldProblem:
    name = shown(str(column))
    return FieldProblem(name, name, f"{words}.", "unknown_column")


def _unknown(columns: Iterable[tuple[Hashable, str]], *, is_headless: bool) -> Iterator[FieldProblem]:
    """Yield what is wrong with columns of which each wants to be something that is not there."""
    others = []
    for column, wanted in columns:
        meant = _meant(wanted)
        if meant:
            words = f"no member of a payer or of bank details; did you mean {meant}"
            yield FieldProblem(shown(str(column)), shown(str(column)), f"{words}?", "unknown_column")
        else:
            others.append(column)
    if is_headless and others:  # they may well be values, so they are not repeated
        yield FieldProblem("", "", "No column is a member. Does the table have a row of names?", "unknown_column")
    else:
        yield from (_problem(column, "no member of a payer or of bank details") for column in others)


def _meant(name: str) -> str | None:
    """Return the column that was most likely meant by a name; None if none is likely."""
    bare = name.lower().removeprefix("bank").lstrip("_ -")
    ours = suggestion(BANK_DETAILS, bare) if bare != name.lower() else None
    if ours in _SHARED:
        return f"{_BANK}{ours}"
    return suggestion(PAYER, name) or suggestion(BANK_DETAILS, name)


def members_of(body: Body, columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that feed the members of a body, by member; empty if none of them is the body's alone."""
    there = set(columns)
    if body is PAYER:
        found = {name: name for name in PAYER.members if name in there}
    else:
        found = {name: f"{_BANK}{name}" if name in _SHARED else name for name in BANK_DETAILS.members}
        apart = _ADDRESS if any(f"{_BANK}{name}" in there for name in _ADDRESS) else frozenset()
        found = {
            name: column if column in there or name in apart else _fallback(name, there)
            for name, column in found.items()
        }
        found = {name: column for name, column in found.items() if column in there}
    return found if any(column in own_columns(body) for column in found.values()) else {}


def _fallback(name: str, there: set[str]) -> str:
    return next((column for column in (name, _SHARED.get(name, "")) if column in there), "")


def own_columns(body: Body) -> set[str]:
    """Return the columns that are for this body alone: a row without any of them is not about it."""
    if body is PAYER:
        return set(PAYER.members) - set(_SHARED) - {"client_user_id", "postcode"}
    return set(BANK_DETAILS.members) - set(_SHARED) | set(_OF_THE_BANK)
