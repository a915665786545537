"""Check a whole table: the findings of `one`, but each rule runs once for each distinct combination of values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.checks.inputs import match_names, suggestion, unknown_names, unwrap_secret
from payerkit.checks.rulebook import rules_except
from payerkit.checks.rules import Rule
from payerkit.checks.schema import BANK_DETAILS, PAYER, SCHEMAS, Schema, check_field
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import COLUMNS, Finding

Codes = npt.NDArray[np.int64]
_NUMBER, _DATE, _OTHER = 0, dt.date.min, ()
"""Placeholders for values that are not text: checks distinguish no more than these three."""

_LARGEST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a field, factorized: the distinct ones, and for each row the index of its value, -1 for none."""

    distinct: Sequence[Any]
    codes: Codes


@dataclass(frozen=True, slots=True)
class RowFindings:
    """A finding and the rows that have it, by position."""

    finding: Finding
    rows: Codes


@without_internal_frames
def check_payers(frame: pd.DataFrame, *, ignore: Iterable[str] = ()) -> pd.DataFrame:
    """Check each row of a table as `check_payer` does; nothing is sent.

    For a Dask DataFrame, use `frame.map_partitions(check_payers, clear_divisions=True)`.

    Args:
        frame: One payer per row, with column names as here (`last_name`) or on the wire (`lastName`). Columns of bank
            details are skipped.
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be ignored.

    Returns:
        One row per finding, in the order of the rows and of their fields: `row`, the label in the index of `frame`,
        with its dtype, and `field`, `wire_name`, `severity`, `code`, `message`, `hint` and `basis`, all `string`.

    Raises:
        InvalidInput: `frame` is not a DataFrame, has an unknown column, or `ignore` has a code that is not one of a
            payer's warnings and infos.

    Example:
        >>> table = pd.DataFrame([payer, {**payer, "country": "UK"}])
        >>> check_payers(table)[["row", "field", "severity", "hint"]]
           row    field severity       hint
        0    1  country  warning  Write GB.
    """
    return _check(PAYER, frame, ignore)


@without_internal_frames
def check_all_bank_details(frame: pd.DataFrame, *, ignore: Iterable[str] = ()) -> pd.DataFrame:
    """Check each row of a table as `check_bank_details` does; nothing is sent.

    For a Dask DataFrame, use `frame.map_partitions(check_all_bank_details, clear_divisions=True)`.

    Args:
        frame: One bank account per row, with column names as here (`bank_name`) or on the wire (`bankName`). Columns
            of payers are skipped.
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be ignored.

    Returns:
        One row per finding, in the order of the rows and of their fields: `row`, the label in the index of `frame`,
        with its dtype, and `field`, `wire_name`, `severity`, `code`, `message`, `hint` and `basis`, all `string`.

    Raises:
        InvalidInput: `frame` is not a DataFrame, has an unknown column, or `ignore` has a code that is not one of
            the warnings and infos of bank details.

    Example:
        >>> table = pd.DataFrame([details, {**details, "bankName": None}])
        >>> check_all_bank_details(table)[["row", "field", "severity", "message"]]
           row      field severity    message
        0    1  bank_name    error  Required.
    """
    return _check(BANK_DETAILS, frame, ignore)


def _check(schema: Schema, frame: pd.DataFrame, ignore: Iterable[str]) -> pd.DataFrame:
    if hasattr(frame, "map_partitions"):
        function = "check_payers" if schema is PAYER else "check_all_bank_details"
        raise InvalidInput(f"For a Dask DataFrame, use frame.map_partitions({function}, clear_divisions=True).")
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(f"Expected a DataFrame with one {schema.name} per row, got {kind_of(frame)}.")
    return _findings_frame(frame.index, find_in_rows(schema, frame, ignore))


def find_in_rows(schema: Schema, frame: pd.DataFrame, ignore: Iterable[str] = ()) -> list[RowFindings]:
    """Return the findings about the rows of a table, in the order of their fields. Raises InvalidInput."""
    rules = rules_except(schema, ignore)
    columns, findings = _read_columns(schema, frame)
    errors = list(_check_fields(schema, columns))
    findings += [*errors, *_apply_rules(rules, columns, errors)]
    order = {name: position for position, name in enumerate(schema.fields)}
    return sorted(findings, key=lambda each: order.get(each.finding.field, len(order)))


def _read_columns(schema: Schema, frame: pd.DataFrame) -> tuple[dict[str, Column], list[RowFindings]]:
    """Return a column for every field, and the errors of fields that are given twice."""
    places, findings, unknown = match_names(schema, frame.columns)
    unknown = [name for name in unknown if not _belongs_to_other_schema(schema, str(name), places)]
    if unknown:
        problems = unknown_names(schema, unknown, is_headless=not places)
        raise InvalidInput(f"{schema.name}: unknown columns. Rename or drop them.", fields=tuple(problems))
    empty = Column((), np.full(len(frame), -1))
    columns = {name: _read_column(frame.iloc[:, places[name]]) if name in places else empty for name in schema.fields}
    return columns, [RowFindings(finding, np.arange(len(frame))) for finding in findings]


def _belongs_to_other_schema(schema: Schema, name: str, given: Collection[str]) -> bool:
    """Return True for a field of another schema, unless it is probably a misnamed one that the table lacks."""
    is_known = any(name in other.names for other in SCHEMAS.values() if other is not schema)
    field = suggestion(schema, name)
    return is_known and (field is None or field in given)


def _read_column(series: pd.Series[Any]) -> Column:
    values: Any = series
    if pd.api.types.infer_dtype(series, skipna=True) not in {"string", "empty"}:
        values = pd.Series([_text_or_placeholder(value) for value in series], dtype="object")
    codes, distinct = pd.factorize(values.to_numpy(dtype="object"))
    return Column(distinct.tolist(), codes.astype(np.int64))


def _text_or_placeholder(value: Any) -> Hashable:
    """Return text as it is, None for a blank cell, and a placeholder for any other value."""
    value = unwrap_secret(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Number) and not isinstance(value, bool):
        return _NUMBER
    return _DATE if hasattr(value, "strftime") else _OTHER


def _check_fields(schema: Schema, columns: Mapping[str, Column]) -> Iterator[RowFindings]:
    """Yield the errors of each field: violations of the specification."""
    for name, column in columns.items():
        yield from _by_row([check_field(schema, name, value) for value in (*column.distinct, None)], column.codes)


def _by_row(findings: Iterable[Finding | None], codes: Codes) -> Iterator[RowFindings]:
    """Yield the findings of distinct values, and last of a missing one, each with the rows that have the value."""
    numbers: dict[Finding, int] = {}
    by_value = [-1 if finding is None else numbers.setdefault(finding, len(numbers)) for finding in findings]
    if numbers:
        by_row = np.array(by_value)[codes]  # the code -1, a row without a value, takes the last item
        for finding, number in numbers.items():
            yield RowFindings(finding, np.flatnonzero(by_row == number))


def _apply_rules(
    rules: Iterable[Rule], columns: Mapping[str, Column], errors: Iterable[RowFindings]
) -> Iterator[RowFindings]:
    """Yield the findings of the rules, in their order."""
    readable = _readable_columns(columns, errors)
    combined: dict[tuple[str, ...], Column] = {}
    for rule in rules:
        if rule.reads not in combined:
            combined[rule.reads] = _combine(
                [readable.get(name) or _presence(columns[name.removesuffix("?")]) for name in rule.reads]
            )
        column = combined[rule.reads]
        results = list(starmap(rule.checker, column.distinct))
        if results.count(False) < len(results):
            findings = [None if result is False else rule.finding(result) for result in results]
            yield from _by_row([*findings, None], column.codes)


def _readable_columns(columns: Mapping[str, Column], errors: Iterable[RowFindings]) -> dict[str, Column]:
    """Return the columns as rules read them: without the values that cannot be sent, and without empty text."""
    codes = {name: column.codes.copy() for name, column in columns.items()}
    for error in errors:
        codes[error.finding.field][error.rows] = -1
    for name, column in columns.items():
        if "" in column.distinct:
            codes[name][codes[name] == column.distinct.index("")] = -1
    return {name: Column(column.distinct, codes[name]) for name, column in columns.items()}


def _presence(column: Column) -> Column:
    """Return a column that is True in each row with a value, whether or not it can be sent."""
    has_value = np.array([*(value != "" for value in column.distinct), False])[column.codes]
    return Column((True,), np.where(has_value, 0, -1))


def _combine(columns: Sequence[Column]) -> Column:
    """Return the distinct combinations of values as tuples, None for a missing value; none where the first is missing.

    A combination is a number: the codes of its values as digits. They are factorized once, and before that only where
    the numbers would overflow.
    """
    first, *others = columns
    codes = np.full(len(first.codes), -1)
    rows = np.flatnonzero(first.codes >= 0)
    if not len(rows):
        return Column((), codes)
    numbers, count = first.codes[rows], len(first.distinct)
    for column in others:
        base = len(column.distinct) + 1
        if count * base > _LARGEST:
            numbers, distinct = pd.factorize(numbers)
            count = len(distinct)
        numbers, count = numbers * base + column.codes[rows] + 1, count * base
    codes_of_rows, _ = pd.factorize(numbers)
    example = np.empty(codes_of_rows.max(initial=-1) + 1, np.int64)
    example[codes_of_rows] = rows
    codes[rows] = codes_of_rows
    # The code -1 takes the last item, None.
    values = (map([*column.distinct, None].__getitem__, column.codes[example].tolist()) for column in columns)
    return Column(list(zip(*values, strict=True)), codes)


def _findings_frame(index: pd.Index[Any], findings: Sequence[RowFindings]) -> pd.DataFrame:
    """Return the findings sorted by row; those of one row stay in their order."""
    rows = np.concatenate([np.empty(0, np.int64), *(each.rows for each in findings)])
    sequence = np.argsort(rows, kind="stable")
    numbers = np.repeat(np.arange(len(findings)), [len(each.rows) for each in findings])[sequence]
    columns: dict[str, Any] = {"row": index.take(rows[sequence])}
    for name in COLUMNS:
        columns[name] = pd.array([getattr(each.finding, name) for each in findings], dtype="string").take(numbers)
    return pd.DataFrame(columns)
