"""Say what a field is, and what is wrong with a value in words that tell what to do; never with the value."""

from __future__ import annotations

import difflib
from numbers import Number
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails


def find_field(model: type[BaseModel], location: str) -> tuple[str, FieldInfo] | None:
    """Return the field that goes by this name, here or on the wire; None if the model has no such field."""
    for name, field in model.model_fields.items():
        if location in (name, field.alias):
            return name, field
    return None


def describe(model: type[BaseModel]) -> str:
    """Return a line a field: name, * if it is required, what it is, an example."""
    fields = model.model_fields.items()
    width = max((len(name) for name, _ in fields), default=0) + 1
    lines = []
    for name, field in fields:
        marked = f"{name}{'*' * field.is_required()}"
        example = f" Example: {field.examples[0]}" if field.examples else ""
        lines.append(f"    {marked:<{width}}  {field.title}. {field.description or ''}{example}")
    return "\n".join(lines)


def is_blank(value: Any) -> bool:
    """Tell whether a value is what tables put into an empty cell: None, NaN, NA, NaT."""
    is_nan = isinstance(value, float) and value != value  # noqa: PLR0124 - only NaN differs from itself
    return value is None or is_nan or type(value).__name__ in {"NAType", "NaTType"}


def explain(model: type[BaseModel], detail: ErrorDetails) -> str:
    """Return what is wrong with one member and what to do about it."""
    location = str(detail["loc"][0]) if detail["loc"] else ""
    found = find_field(model, location)
    if detail["type"] == "extra_forbidden":
        return _twice(*found) if found else _unknown(model, location)
    hint = _hint(found[1]) if found else ""
    return _about_value(detail["type"], detail.get("input"), hint) or detail["msg"]


def _hint(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return str(extra.get("hint", "")) if isinstance(extra, dict) else ""


def _about_value(kind: str, value: Any, hint: str) -> str:
    if kind == "missing" or is_blank(value):
        return "Required."
    if isinstance(value, str) and not value:
        return "Empty, but required."
    if kind == "string_unicode":
        return "Holds half a character (a lone surrogate), which cannot be sent."
    if kind == "string_type" and isinstance(value, Number):
        return f"A number where text is due. In a table, read this column with dtype=str. {hint}".rstrip()
    if kind == "string_type":
        return f"Must be text. {hint}".rstrip()
    return hint


def _twice(name: str, field: FieldInfo) -> str:
    return f"Given twice, as {name} and as {field.alias}."


def _unknown(model: type[BaseModel], location: str) -> str:
    names = {_bare(name): name for name in model.model_fields}
    close = difflib.get_close_matches(_bare(location), names, n=1)
    suggestion = f" Did you mean {names[close[0]]}?" if close else ""
    return f"Not a field of {model.__name__}.{suggestion}"


def _bare(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
