"""The file in which a mapping is kept, as JSON that a person may edit: names of columns, no values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from payerkit.checks.dates import DateOrder
from payerkit.checks.inputs import mask_name
from payerkit.errors import InvalidInput
from payerkit.tables.columns import OUR_NAMES
from payerkit.tables.header_names import likely_column
from payerkit.wire import parse_json, repeated_names

SETTINGS = ("sheet", "header_row", "normalise", "date_order")
"""How a file is read, beside its columns."""

Columns = dict[str, str | list[str] | None]
"""Our column for each header; a list of what it may be while it is open."""

_FORMAT = "payerkit mapping 1"
_MAX_SIZE = 1_000_000


def write_mapping_file(path: Path, columns: Mapping[str, str | list[str] | None], settings: Mapping[str, Any]) -> None:
    """Write a mapping."""
    content = {"format": _FORMAT, **settings, "columns": columns}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def read_mapping_file(path: Path) -> tuple[Columns, dict[str, Any]]:
    """Return the columns and the settings of a mapping. Raises InvalidInput that says what is wrong with the file."""
    name = f"mapping: {path.name}"
    if not path.is_file():
        raise InvalidInput(f"{name}: file not found. propose_mapping(source).save({json.dumps(path.name)}) writes it.")
    with path.open("rb") as file:
        text = file.read(_MAX_SIZE)
    try:
        content = parse_json(text)
    except ValueError:
        problem = InvalidInput(f"{name}: not JSON. A comma, a quote or a bracket may be missing.")
    else:
        return _checked(content, name)
    raise problem


def _checked(content: Any, name: str) -> tuple[Columns, dict[str, Any]]:
    """Return the columns and settings in parsed JSON, names on the wire replaced by ours."""
    if (
        not isinstance(content, dict)
        or content.get("format") != _FORMAT
        or not isinstance(content.get("columns"), dict)
    ):
        raise InvalidInput(f"{name}: not a mapping of payerkit. propose_mapping(source).save(path) writes one.")
    if repeated := repeated_names(content):
        raise InvalidInput(f"{name}: {mask_name(repeated[0])} stands in it twice.")
    if unknown := content.keys() - {"format", "columns", *SETTINGS}:
        raise InvalidInput(
            f"{name}: {mask_name(min(unknown))} is not a setting. The settings are {', '.join(SETTINGS)}."
        )
    columns: Columns = {
        key: _our_column(value, f"{name}: {mask_name(key)}") for key, value in content["columns"].items()
    }
    settings = {key: content.get(key) for key in SETTINGS}
    settings["normalise"] = settings["normalise"] or False
    for key, problem in _setting_problems(settings).items():
        raise InvalidInput(f"{name}: {key}: {problem}")
    return columns, settings


def _our_column(value: Any, name: str) -> str | list[str] | None:
    """Return one of our columns, by our name or the name on the wire; a list of them, and None, as they are."""
    if value is None or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        return value
    if isinstance(value, str) and value in OUR_NAMES:
        return OUR_NAMES[value]
    likely = likely_column(value) if isinstance(value, str) else None
    hint = f" Did you mean {likely}?" if likely else ""
    raise InvalidInput(f"{name}: expected a field of a payer or of bank details, or null to leave it out.{hint}")


def _setting_problems(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with settings, by name."""
    sheet, row, normalise, order = (settings[key] for key in SETTINGS)
    are_columns = isinstance(normalise, list) and all(isinstance(each, str) and each in OUR_NAMES for each in normalise)
    problems = {
        "sheet": None if sheet is None or isinstance(sheet, str) else "expected the name of a sheet, or null.",
        "header_row": None if row is None or (type(row) is int and row > 0) else "expected a row's number, or null.",
        "normalise": None
        if isinstance(normalise, bool) or are_columns
        else "expected true, false or a list of fields.",
        "date_order": None if order in {None, *get_args(DateOrder)} else "expected day_first, month_first or null.",
    }
    return {key: problem for key, problem in problems.items() if problem}
