"""Read a record as it was given: match names to fields, unwrap values, and find all that the specification refuses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from numbers import Number, Real
from typing import Any

from payerkit.checks.places import country_code
from payerkit.checks.schema import COUNTRY, MASK, Schema
from payerkit.findings import Finding, table_finding
from payerkit.wire import id_problem, wire_name
from payerkit.wording import Wording

_SURROGATE = re.compile("[\ud800-\udfff]")


def is_blank(value: Any) -> bool:
    """Return True if a value is an empty cell of a table: None, NaN, NA or NaT."""
    if value is None or isinstance(value, str):
        return value is None
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, Real):
        return bool(value != value)  # noqa: PLR0124 - only NaN differs from itself; math.isnan overflows for large integers
    name = type(value).__name__
    return name in {"NAType", "NaTType"} or (name == "datetime64" and str(value) == "NaT")


def unwrap_secret(value: Any) -> Any:
    """Return a value without its masking type; None for an empty cell of a table."""
    if isinstance(value, str):
        return value  # the usual case, asked for every value several times
    reveal = getattr(value, "get_secret_value", None)
    if callable(reveal):
        value = reveal()
    return value if isinstance(value, str) or not is_blank(value) else None


def strip_blanks(schema: Schema, name: str, value: Any) -> tuple[Any, Finding | None]:
    """Return a value without surrounding whitespace, and an info if there was any; an id stays as typed."""
    if not isinstance(value, str) or schema.fields[name].is_id or value == value.strip():
        return value, None
    return value.strip(), table_finding("trimmed", name)


def by_field_name(schema: Schema, record: Mapping[Any, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Return the unwrapped values by field name, and the errors of names that are unknown or given twice."""
    places, findings, unknown = match_names(schema, record)
    given = list(record.values())
    values = {}
    for field, place in places.items():
        values[field] = unwrap_secret(given[place])
    return values, findings + (unknown_names(schema, unknown, is_headless=not values) if unknown else [])


def match_names(schema: Schema, names: Iterable[object]) -> tuple[dict[str, int], list[Finding], list[object]]:
    """Return the place of each field among some names, the errors of fields given twice, and the unknown names."""
    places: dict[str, int] = {}
    findings = []
    unknown = []
    for place, name in enumerate(names):
        field = schema.names.get(name)
        if field is None:
            unknown.append(name)
        elif field in places:
            findings.append(given_twice(schema, field, field, wire_name(field)))
        else:
            places[field] = place
    return places, findings, unknown


def given_twice(schema: Schema, field: str, one: str, other: str) -> Finding:
    """Return the error of a field that is given by two names."""
    return error_finding(schema, field, "given_twice", f"Given twice: as {one} and as {other}.")


def field_errors(schema: Schema, values: Mapping[str, Any]) -> list[Finding]:
    """Return the errors of unwrapped values by field name, in the order of the fields."""
    names = [name for name, field in schema.fields.items() if field.required or name in values]
    errors = (check_field(schema, name, values.get(name)) for name in names)
    return [error for error in errors if error is not None]


def check_field(schema: Schema, name: str, value: Any) -> Finding | None:
    """Return how a field's unmasked value breaks the schema; None if it does not."""
    field = schema.fields[name]
    if value is None:
        return error_finding(schema, name, "required", "Required.", field.format.if_missing) if field.required else None
    if not isinstance(value, str):
        return None if field.takes_numbers and _is_exact(value) else _not_text(schema, name, value)
    if value.isascii() and field.format.matches(value) and not field.is_id:
        return None  # the usual case; masks and surrogates are not ASCII
    if MASK in value:
        message, hint = "A masked value, copied from a display.", "Give the real value, as from to_dict(reveal=True)."
        return error_finding(schema, name, "masked", message, hint)
    if not value.isascii() and _SURROGATE.search(value):
        return error_finding(schema, name, "half_character", "Contains an unpaired surrogate (invalid Unicode).")
    if not field.format.matches(value):
        return _mismatch(schema, name, value)
    if field.is_id and (problem := id_problem(value)) is not None:
        return error_finding(schema, name, *problem)
    return None


def _mismatch(schema: Schema, name: str, value: str) -> Finding:
    field, expected = schema.fields[name], schema.fields[name].format
    if not value and field.required:
        return error_finding(schema, name, "empty", "Empty, but required.")
    message, hint = expected.message, expected.hint
    if not value:
        hint = f"Leave it out if it has no value. {hint}".rstrip()
    elif expected.matches(value.strip()):
        message, hint = "Begins or ends with whitespace.", "Remove it."
    elif expected is COUNTRY and (code := country_code(value)):
        hint = Wording.write(code)
    return error_finding(schema, name, expected.code, message, hint)


def _not_text(schema: Schema, name: str, value: Any) -> Finding:
    message, hint = "Expected text.", schema.fields[name].format.hint
    if isinstance(value, Number) and not isinstance(value, bool):
        message = "Expected text, got a number."
        hint = Wording(f"<In a table, read this column with dtype=str.||Format the column as text.> {hint}".rstrip())
    elif hasattr(value, "strftime"):
        message, hint = "Expected text, got a date.", 'In a table, use column.dt.strftime("%Y-%m-%d").'
    return error_finding(schema, name, "not_text", message, hint)


def _is_exact(value: Any) -> bool:
    """Return True for an integer or a finite Decimal; a float is not exact, and a boolean is not a number here."""
    is_finite = getattr(value, "is_finite", None)  # of Decimal
    return bool(is_finite()) if callable(is_finite) else isinstance(value, int) and not isinstance(value, bool)


def error_finding(schema: Schema, name: str, code: str, message: str, hint: str = "") -> Finding:
    """Return an error whose basis is the specification. A name that is not a field's stays as it is."""
    wire = wire_name(name) if name in schema.fields else name
    return Finding(
        field=name, wire_name=wire, message=message, code=code, severity="error", hint=hint, basis=schema.basis
    )


def unknown_names(schema: Schema, names: Collection[object], *, is_headless: bool) -> list[Finding]:
    """Return an error for each name that is not a field, with the field that was probably meant.

    is_headless: no name is a field, so the names may be the values of a table without a header. They get one error
    that does not repeat them.
    """
    if is_headless and not all(suggestion(schema, str(name)) for name in names):
        message = f"None of the names is a field of {schema.name}."
        hint = "Check that the table has a header row of field names."
        return [error_finding(schema, "", "unknown_member", message, hint)]
    found = []
    for name in map(str, names):
        field = suggestion(schema, name)
        hint = f"Did you mean {field}?" if field else "Remove it."
        found.append(error_finding(schema, mask_name(name), "unknown_member", f"Not a field of {schema.name}.", hint))
    return found


def mask_name(name: str) -> str:
    """Return an unknown name, masked if it may be personal data: it has an @ or more than three digits."""
    return MASK if "@" in name or sum(map(str.isdigit, name)) > 3 else name


def suggestion(schema: Schema, name: str) -> str | None:
    """Return the field that an unknown name most likely means; None if no field is likely."""
    normalized = _normalize_name(name)
    alias = next((name for name, field in schema.fields.items() if normalized in field.aliases), None)
    fields = {_normalize_name(field): field for field in schema.fields}
    close = difflib.get_close_matches(normalized, fields, n=1, cutoff=0.8)
    return alias or (fields[close[0]] if close else None)


def _normalize_name(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
