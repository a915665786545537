"""Look at a whole table: the same findings as one by one, each rule asked once for each set of values that differs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.checks.inputs import given_twice, nothing_known, suggestion, unknown, unwrap_secret
from payerkit.checks.one import without
from payerkit.checks.rulebook import rules
from payerkit.checks.rules import Rule
from payerkit.checks.schema import BANK_DETAILS, PAYER, SCHEMAS, Schema, check_field
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.findings import COLUMNS, Finding

Codes = npt.NDArray[np.int64]
_NUMBER, _DAY, _OTHER = 0, dt.date.min, ()
"""What stands for values that are no text; only this much of them is told apart."""


@dataclass(frozen=True, slots=True)
class Column:
    """A member in all rows: its distinct values, and for each row the place of its value there, -1 for none."""

    distinct: Sequence[Any]
    codes: Codes


@dataclass(frozen=True, slots=True)
class Found:
    """One finding, and the rows that have it, counted from 0."""

    finding: Finding
    rows: Codes


@without_internal_frames
def check_payers(frame: pd.DataFrame, *, ignore: Iterable[str] = ()) -> pd.DataFrame:
    """Return what `check_payer` finds in each row: one row a finding, none if all is well; nothing is sent.

    frame: one payer a row, columns by our names or wire names; those of bank details are left alone. ignore: codes of
    warnings and infos to leave out. Columns: `row`, the label in the frame's index, then those of a finding, all
    text, in the order of the rows and of a payer's members. A Dask DataFrame is
    checked by `frame.map_partitions(check_payers, clear_divisions=True)`. Raises InvalidInput for anything
    other than a DataFrame, for a column that is no member's, and for a code that no rule has.
    """
    return _check(PAYER, frame, ignore)


@without_internal_frames
def check_all_bank_details(frame: pd.DataFrame, *, ignore: Iterable[str] = ()) -> pd.DataFrame:
    """Return what `check_bank_details` finds in each row: one row a finding, none if all is well; nothing is sent.

    frame: one bank account a row, columns by our names or wire names; those of payers are left alone. The rest is as
    for `check_payers`.
    """
    return _check(BANK_DETAILS, frame, ignore)


def _check(schema: Schema, frame: pd.DataFrame, ignore: Iterable[str]) -> pd.DataFrame:
    if hasattr(frame, "map_partitions"):
        raise InvalidInput("A Dask DataFrame is checked by frame.map_partitions(check_payers, clear_divisions=True).")
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(f"Give a DataFrame with one {schema.name} a row; got a {type(frame).__name__}.")
    wanted = without(rules(schema.name), ignore)
    given, found = _columns(schema, frame)
    wrong = list(_specified(schema, given))
    found += [*wrong, *_Rows(given, wrong).look(wanted)]
    return _findings_frame(schema, frame.index, found)


def _columns(schema: Schema, frame: pd.DataFrame) -> tuple[dict[str, Column], list[Found]]:
    """Return the members as the table has them, and what is wrong with the names of its columns."""
    columns: dict[str, Column] = {}
    found: list[Found] = []
    strangers = []
    for place, name in enumerate(frame.columns):
        ours = schema.names.get(name)
        if ours is None:
            strangers.append(name)
        elif ours in columns:
            found.append(Found(given_twice(schema, ours), np.arange(len(frame))))
        else:
            columns[ours] = _column(frame.iloc[:, place])
    odd = [name for name in strangers if not _is_of_another(schema, str(name), columns)]
    if odd:
        told = unknown(schema, odd) if columns else nothing_known(schema, odd)
        raise InvalidInput(
            f"{schema.name}: columns that are no fields. Rename them, or leave them out.", fields=tuple(told)
        )
    nothing = Column((), np.full(len(frame), -1))
    return {name: columns.get(name, nothing) for name in schema.fields}, found


def _is_of_another(schema: Schema, name: str, columns: Mapping[str, Column]) -> bool:
    """Tell whether a column is a member of another body, and not a misnamed one of this, which then lacks it."""
    is_known = any(name in other.names for other in SCHEMAS.values() if other is not schema)
    meant = suggestion(schema, name)
    return is_known and (meant is None or meant in columns)


def _column(series: pd.Series[Any]) -> Column:
    values: Any = series
    if pd.api.types.infer_dtype(series, skipna=True) not in {"string", "empty"}:
        values = pd.Series([_stand_in(value) for value in series], dtype="object")
    codes, distinct = pd.factorize(values.to_numpy(dtype="object"))
    return Column(distinct.tolist(), codes.astype(np.int64))


def _stand_in(value: Any) -> Hashable:
    """Return what stands for a value of a column that is not all text: text itself, None for a blank cell."""
    value = unwrap_secret(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Number) and not isinstance(value, bool):
        return _NUMBER
    return _DAY if hasattr(value, "strftime") else _OTHER


def _specified(schema: Schema, columns: Mapping[str, Column]) -> Iterator[Found]:
    """Yield what the specification has against the rows."""
    for name, column in columns.items():
        absent = check_field(schema, name, None)
        if absent is not None:
            yield Found(absent, np.flatnonzero(column.codes == -1))
        yield from _spread([check_field(schema, name, value) for value in column.distinct], column.codes)


def _spread(said: Sequence[Finding | None], codes: Codes) -> Iterator[Found]:
    """Yield what is said of distinct values as what it says of rows."""
    places: dict[Finding, int] = {}
    numbers = [-1 if finding is None else places.setdefault(finding, len(places)) for finding in said]
    if places:
        by_row = np.array([*numbers, -1])[codes]  # a row without a value has the code -1, and so the last
        for finding, number in places.items():
            yield Found(finding, np.flatnonzero(by_row == number))


class _Rows:
    """The rows as rules read them: what cannot be sent is not given, and neither is an empty text."""

    def __init__(self, columns: Mapping[str, Column], wrong: Iterable[Found]) -> None:
        self._given = columns
        codes = {name: column.codes.copy() for name, column in columns.items()}
        for found in wrong:
            codes[found.finding.field][found.rows] = -1
        for name, column in columns.items():
            if "" in column.distinct:
                codes[name][codes[name] == column.distinct.index("")] = -1
        self._sendable = {name: Column(column.distinct, codes[name]) for name, column in columns.items()}
        self._read: dict[tuple[str, ...], Column] = {}

    def look(self, rules: Iterable[Rule]) -> Iterator[Found]:
        """Yield what the rules have to say."""
        for rule in rules:
            column = self._values_of(rule.reads)
            faults = list(starmap(rule.checker, column.distinct))
            if faults.count(False) < len(faults):
                yield from _spread(list(map(rule.say, faults)), column.codes)

    def _values_of(self, reads: tuple[str, ...]) -> Column:
        """Return the sets of values that differ; rows without the first are not asked about."""
        if reads not in self._read:
            self._read[reads] = _combined([self._column(name) for name in reads])
        return self._read[reads]

    def _column(self, name: str) -> Column:
        return self._sendable[name] if name in self._sendable else _presence(self._given[name.removesuffix("?")])


def _presence(column: Column) -> Column:
    is_given = np.array([*(value != "" for value in column.distinct), False])[column.codes]
    return Column((True,), np.where(is_given, 0, -1))


def _combined(columns: Sequence[Column]) -> Column:
    """Return the sets of values that occur, each a tuple, None for what is not given."""
    first, *others = columns
    rows = np.flatnonzero(first.codes >= 0)
    mixed, _ = pd.factorize(first.codes[rows])
    for column in others:
        mixed, _ = pd.factorize(mixed * (len(column.distinct) + 1) + column.codes[rows] + 1)
    example = np.empty(mixed.max(initial=-1) + 1, np.int64)
    example[mixed] = rows
    codes = np.full(len(first.codes), -1)
    codes[rows] = mixed
    # A code of -1 takes the last.
    read = (map([*column.distinct, None].__getitem__, column.codes[example].tolist()) for column in columns)
    return Column(list(zip(*read, strict=True)), codes)


def _findings_frame(schema: Schema, index: pd.Index[Any], found: Sequence[Found]) -> pd.DataFrame:
    """Return the findings by rows, then by the order of the members, then as they were found."""
    places = {name: place for place, name in enumerate(schema.fields)}
    orders = [places.get(each.finding.field, len(places)) for each in found]
    sizes = [len(each.rows) for each in found]
    rows = np.concatenate([np.empty(0, np.int64), *(each.rows for each in found)])
    sequence = np.lexsort((np.repeat(orders, sizes), rows))
    numbers = np.repeat(np.arange(len(found)), sizes)[sequence]
    columns: dict[str, Any] = {"row": index.take(rows[sequence])}
    for name in COLUMNS:
        columns[name] = pd.array([getattr(each.finding, name) for each in found], dtype="string").take(numbers)
    return pd.DataFrame(columns)
