"""The columns of a table by our names, and which column fills which field."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from payerkit.checks.schema import BANK_DETAILS, FORMATS, PAYER, SHARED_FIELDS, Schema
from payerkit.wire import wire_name

_PREFIX = "bank_"

BANK_COLUMNS = {f"{_PREFIX}{name}": name for name in SHARED_FIELDS}
"""Columns of the account holder, in a table that has payers, too."""

HOLDER_IS_PAYER = "holder_is_payer"
"""The column that says for each row whether the account holder is the payer; it is not sent."""

OUR_NAMES: dict[object, str] = {
    **{name: name for name in BANK_COLUMNS},
    **dict.fromkeys((HOLDER_IS_PAYER, wire_name(HOLDER_IS_PAYER)), HOLDER_IS_PAYER),
    **BANK_DETAILS.names,
    **PAYER.names,
}
"""Names that a column may have, and the one that it gets."""


def columns_by_field(schema: Schema, columns: Iterable[str], *, holder_is_payer: bool = False) -> dict[str, str]:
    """Return the column that fills each field of a schema; empty if no column is for this schema alone.

    holder_is_payer: the payer's columns fill the fields of the account holder that have no column of their own.
    """
    present = set(columns)
    found = {}
    for name in schema.fields:
        candidates = [name] if schema is PAYER else _candidates(name, present, holder_is_payer=holder_is_payer)
        column = next((each for each in candidates if each in present), None)
        if column is not None:
            found[name] = column
    return found if not own_columns(schema).isdisjoint(found.values()) else {}


def _candidates(name: str, present: Collection[str], *, holder_is_payer: bool) -> list[str]:
    """Return the columns that may fill a field of bank details, the first choice first."""
    if name not in SHARED_FIELDS:
        return [name]
    of_payer = SHARED_FIELDS[name]
    if not payer_columns(present):
        return [name, of_payer]
    return [*account_columns(name), *([of_payer] if holder_is_payer else [])]


def account_columns(name: str) -> list[str]:
    """Return the columns of a field of bank details in a table that has payers, too, the usual one first."""
    prefixed = [f"{_PREFIX}{name}"] if name in SHARED_FIELDS else []
    return prefixed if name in PAYER.fields else [*prefixed, name]


def payer_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that show that a table has payers, too, so that `country` is the payer's country.

    Those are columns that only payers have, and the columns with `bank_` in front, which tell both apart.
    """
    return [name for name in columns if name in own_columns(PAYER) or name in BANK_COLUMNS]


def own_columns(schema: Schema) -> set[str]:
    """Return the columns that are for this schema alone: a row in which all of them are blank is not about it."""
    if schema is PAYER:
        return set(PAYER.fields) - set(SHARED_FIELDS) - {"client_user_id", "postcode"}
    return set(BANK_DETAILS.fields) - set(SHARED_FIELDS) | set(BANK_COLUMNS)


def field_of(column: str) -> str:
    """Return the field of a column: its name without the `bank_` of the account holder's."""
    return BANK_COLUMNS.get(column, column)


def holds_days(column: str) -> bool:
    """Return True if a column is for dates."""
    fields = {**PAYER.fields, **BANK_DETAILS.fields}
    return column != HOLDER_IS_PAYER and fields[field_of(column)].format is FORMATS["day"]
