"""The columns of a table: their names, and which column fills which field."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

from payerkit.checks.inputs import mask_name, suggestion
from payerkit.checks.schema import BANK_DETAILS, PAYER, SHARED_FIELDS, Schema
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.wire import wire_name

_PREFIX = "bank_"

_BANK_COLUMNS = {f"{_PREFIX}{name}": name for name in SHARED_FIELDS}
"""Columns of the account holder, in a table that has payers, too."""

HOLDER_IS_PAYER = "holder_is_payer"
"""The column that says for each row whether the account holder is the payer; it is not sent."""

_NAMES: dict[object, str] = {
    **{name: name for name in _BANK_COLUMNS},
    **dict.fromkeys((HOLDER_IS_PAYER, wire_name(HOLDER_IS_PAYER)), HOLDER_IS_PAYER),
    **BANK_DETAILS.names,
    **PAYER.names,
}
"""Names that a column may have, and the one that it gets."""

_SAME_FIELD = {"postal_code", f"{_PREFIX}postal_code"}
"""Two names of one field: the payer's name of it is another one, so that the account's needs no `bank_`."""

_MAPPING_ADVICE = (
    'Rename the columns, or map them: read_payers(rows, mapping={"their name": "our name"}), or --column THEIRS=OURS. '
    "Map a column to None (--column THEIRS=) to leave it out."
)


def name_columns(columns: Iterable[Hashable], mapping: Mapping[str, str | None] | None = None) -> dict[Hashable, str]:
    """Return the field name of each column, without the columns that the mapping leaves out.

    Raises InvalidInput that names every unknown or duplicate column, and every mapped column that does not exist.
    """
    columns = list(columns)
    chosen: dict[Hashable, str | None] = dict((mapping or {}).items())
    problems = [_problem(name, "not a column of the table.") for name in chosen if name not in columns]
    named: dict[Hashable, str] = {}
    unknown = []
    for column in columns:
        wanted = chosen.get(column, column)
        name = _NAMES.get(wanted)
        if wanted is None and column in chosen:
            continue
        if name is None:
            unknown.append((column, str(wanted)))
        elif name in named.values() or (name in _SAME_FIELD and not _SAME_FIELD.isdisjoint(named.values())):
            problems.append(_problem(column, f"a second column for {name}."))
        else:
            named[column] = name
    problems += _explain_unknown(unknown, has_names=bool(named))
    if problems:
        raise InvalidInput("The table has columns that cannot be used.", fields=tuple(problems), advice=_MAPPING_ADVICE)
    return named


def _problem(column: Hashable, message: str) -> FieldProblem:
    name = mask_name(str(column))
    return FieldProblem(name, name, message, "unknown_column")


def _explain_unknown(columns: Iterable[tuple[Hashable, str]], *, has_names: bool) -> Iterator[FieldProblem]:
    """Yield a problem for each unknown column, given with the field that it was to be, with the likely field."""
    message = "not a field of a payer or of bank details"
    others = []
    for column, wanted in columns:
        likely = _suggest(wanted)
        if likely:
            yield _problem(column, f"{message}; did you mean {likely}?")
        else:
            others.append(column)
    if others and not has_names:  # a file without a header: they may be a person's data, so they are not shown
        yield _problem("", "No column is a known field. Does the table have a header row?")
    else:
        yield from (_problem(column, f"{message}.") for column in others)


def _suggest(name: str) -> str | None:
    """Return the column that an unknown name most likely means; None if none is likely."""
    bare = name.lower().removeprefix("bank").lstrip("_ -")
    field = suggestion(BANK_DETAILS, bare) if bare != name.lower() else None
    if field in SHARED_FIELDS:
        return f"{_PREFIX}{field}"
    if bare.replace(" ", "_") == HOLDER_IS_PAYER:
        return HOLDER_IS_PAYER
    return suggestion(PAYER, name) or suggestion(BANK_DETAILS, name)


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
    return [name for name in columns if name in own_columns(PAYER) or name in _BANK_COLUMNS]


def own_columns(schema: Schema) -> set[str]:
    """Return the columns that are for this schema alone: a row in which all of them are blank is not about it."""
    if schema is PAYER:
        return set(PAYER.fields) - set(SHARED_FIELDS) - {"client_user_id", "postcode"}
    return set(BANK_DETAILS.fields) - set(SHARED_FIELDS) | set(_BANK_COLUMNS)
