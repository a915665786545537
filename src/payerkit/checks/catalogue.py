"""All findings that the checks know, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from payerkit.checks.inputs import match_names, unknown_names
from payerkit.checks.rulebook import load_rules
from payerkit.checks.schema import BANK_DETAILS, MASK, PAYER, PAYMENT_ORDER, Schema, check_field
from payerkit.checks.table_findings import TABLE_FINDING_CODES, all_order_findings, table_finding
from payerkit.findings import Finding
from payerkit.wire import MAX_ID, wire_name
from payerkit.wording import Wording

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("code", "about", "fields", "severity", "message", "hint", "basis")
_ABOUT = {PAYER.name: "payer", BANK_DETAILS.name: "bank details", PAYMENT_ORDER.name: "order"}
_WRONG_VALUES: tuple[Any, ...] = (None, "~~~~", "", "..", "\a", "x" * (MAX_ID + 1), MASK, "\ud800", 0.5)
"""Values that lead to the errors of a field: missing, not in the format, empty, not an id, and so on."""

_UNNAMED = "…"


def rules() -> pd.DataFrame:
    """Return all findings that the checks of payers, bank details, orders and tables know. Nothing is checked.

    Returns:
        One row per code and wording, errors first: `code`, which `ignore=` of the checks takes unless it is an error or
        about a table; `about`, "payer", "bank details", "order" or "table", which only a plan or a run finds;
        `fields`, the names of the fields that may have the finding, separated by commas, "" for the names of a record
        or for a row as a whole; `severity`, `message`, `hint` and `basis` as in a finding, with … for what depends on
        the record. All columns are `string`.

    Example:
        >>> table = rules()
        >>> table.loc[table["code"] == "iban_checksum", ["about", "fields", "severity"]].to_dict("records")
        [{'about': 'bank details', 'fields': 'iban', 'severity': 'warning'}]
    """
    import pandas as pd  # noqa: PLC0415 - pandas takes a second to import

    of_records = (row for schema in (PAYER, BANK_DETAILS, PAYMENT_ORDER) for row in _rows(schema))
    rows = sorted([*of_records, *_rows_of_orders(), *_rows_of_tables()], key=lambda row: row[3] != "error")
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="string")


def _rows(schema: Schema) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a schema: errors of one message together, rules of one message and hint."""
    grouped: dict[tuple[str, ...], list[Any]] = {}
    for error in _errors(schema):
        grouped.setdefault((error.code, error.message), []).append(error)
    for rule in load_rules(schema.name):
        grouped.setdefault((rule.code, rule.message, rule.hint), []).append(rule)
    for same in grouped.values():
        first = same[0]
        fields = ", ".join(dict.fromkeys(item.field for item in same))
        basis = "; ".join(dict.fromkeys(item.basis for item in same))
        message, hint = (str(Wording(text.replace("{}", _UNNAMED))) for text in (first.message, first.hint))
        yield first.code, _ABOUT[schema.name], fields, first.severity, message, hint, basis


def _rows_of_orders() -> Iterator[tuple[str, ...]]:
    """Yield the rows of what is found only in an order."""
    for fields, found in all_order_findings(_UNNAMED):
        about = _ABOUT[PAYMENT_ORDER.name]
        yield found.code, about, ", ".join(fields), found.severity, found.message, found.hint, found.basis


def _rows_of_tables() -> Iterator[tuple[str, ...]]:
    """Yield the rows of what is found only in a table."""
    for code in TABLE_FINDING_CODES:
        found = table_finding(code, None, _UNNAMED, _UNNAMED)
        yield code, "table", found.field, found.severity, found.message, found.hint, found.basis


def _errors(schema: Schema) -> Iterator[Finding]:
    """Yield the errors of a schema's fields and names, found in wrong ones."""
    for name in schema.fields:
        found = (check_field(schema, name, value) for value in _WRONG_VALUES)
        yield from (error for error in found if error is not None)
    yield from (_about_record(error) for error in unknown_names(schema, [_UNNAMED], is_headless=False))
    twice = next(name for name in schema.fields if wire_name(name) != name)
    _, given_twice, _ = match_names(schema, [twice, wire_name(twice)])
    yield from (_about_record(error, twice) for error in given_twice)


def _about_record(error: Finding, name: str = _UNNAMED) -> Finding:
    """Return the error of a name as that of a record with any such name."""
    message = error.message.replace(name, _UNNAMED).replace(wire_name(name), _UNNAMED)
    return replace(error, field="", wire_name="", message=message)
