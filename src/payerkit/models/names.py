"""The names of fields as people give them: ours, those on the wire, and misspelled
ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from payerkit.cells import unwrap_secret
from payerkit.findings import Finding
from payerkit.models.fields import error_finding, fields_of, names_of
from payerkit.redaction import MASK
from payerkit.wire import wire_name


def by_field_name(
    model: type[BaseModel], record: Mapping[Any, Any]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the unwrapped values by field name, and the errors of names that are
    unknown or given twice.
    """
    places, findings, unknown = match_names(model, record)
    given = list(record.values())
    values = {field: unwrap_secret(given[place]) for field, place in places.items()}
    if unknown:
        findings += unknown_names(model, unknown, is_headless=not values)
    return values, findings


def match_names(
    model: type[BaseModel], names: Iterable[object]
) -> tuple[dict[str, int], list[Finding], list[object]]:
    """Return the place of each field among some names, the errors of fields given
    twice, and the unknown names.
    """
    places: dict[str, int] = {}
    findings = []
    unknown = []
    known = names_of(model)
    for place, name in enumerate(names):
        field = known.get(name)
        if field is None:
            unknown.append(name)
        elif field in places:
            findings.append(given_twice(model, field, field, wire_name(field)))
        else:
            places[field] = place
    return places, findings, unknown


def given_twice(model: type[BaseModel], field: str, one: str, other: str) -> Finding:
    """Return the error of a field that is given by two names."""
    return error_finding(
        model, field, "given_twice", f"Given twice: as {one} and as {other}."
    )


def unknown_names(
    model: type[BaseModel], names: Collection[object], *, is_headless: bool
) -> list[Finding]:
    """Return an error for each name that is not a field, with the field that was
    probably meant.

    is_headless: no name is a field, so the names may be the values of a table without a
    header. They get one error that does not repeat them.
    """
    title = model.__name__
    if is_headless and not all(suggestion(model, str(name)) for name in names):
        message = f"None of the names is a field of {title}."
        hint = "Check that the table has a header row of field names."
        return [error_finding(model, "", "unknown_member", message, hint)]
    message = f"Not a field of {title}."
    findings = []
    for name in names:
        shown = mask_unknown(str(name))
        field = suggestion(model, str(name))
        hint = "Remove it."
        if field:
            hint = f"Did you mean {field}?"
        findings.append(error_finding(model, shown, "unknown_member", message, hint))
    return findings


def mask_unknown(name: str) -> str:
    """Return an unknown name, masked if it may be personal data: it has an @ or more
    than three digits.
    """
    digits = [character for character in name if character.isdigit()]
    if "@" in name or len(digits) > 3:
        return MASK
    return name


def suggestion(model: type[BaseModel], name: str) -> str | None:
    """Return the field that an unknown name most likely means; None if no field is
    likely.
    """
    normalized = _normalize_name(name)
    for field in fields_of(model).values():
        if normalized in field.aliases:
            return field.name
    names = {_normalize_name(field): field for field in fields_of(model)}
    for close in difflib.get_close_matches(normalized, names, n=1, cutoff=0.8):
        return names[close]
    return None


def _normalize_name(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
