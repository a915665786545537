"""Rewrite cells that have exactly one meaning, such as +12125551234 for (212) 555-1234 of the US, with consent.

Names, addresses and ids are never rewritten; nor is a text that may mean two things.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from payerkit.checks.places import one_alias
from payerkit.checks.readings import is_clearable, is_placeholder, reading
from payerkit.checks.schema import BANK_DETAILS, FORMATS, PAYER, Format, Schema
from payerkit.errors import InvalidInput, kind_of
from payerkit.masking import mask
from payerkit.tables.header import BANK_COLUMNS, HOLDER_IS_PAYER, field_of, own_columns, payer_columns

Readings = Mapping[tuple[int, str], str | None]
"""What cells become, by the place of the row and the column."""

_PREFIX = "bank_"


class _Texts:
    """The texts of a column, None for a blank cell and for one that is no text, and the rows of each text."""

    def __init__(self, column: pd.Series[Any]) -> None:
        self.cells: list[str | None] = []
        self.rows_of: dict[str | None, list[int]] = {}
        for row, cell in enumerate(column.tolist()):
            text = cell if isinstance(cell, str) else None
            self.cells.append(text)
            self.rows_of.setdefault(text, []).append(row)


def rewrite(frame: pd.DataFrame, readings: Readings) -> pd.DataFrame:
    """Return a table with some cells replaced, by the place of their row and their column; None and "" make blanks.

    A column that has categories, which lack the new texts, becomes one of objects.
    """
    cells: dict[str, Any] = {}
    for (place, column), after in readings.items():
        if column not in cells:
            cells[column] = frame[column].to_numpy(object, copy=True)
        cells[column][place] = after or None
    for column, texts in cells.items():
        dtype = frame[column].dtype
        kept = "object" if isinstance(dtype, pd.CategoricalDtype) else dtype
        cells[column] = pd.Series(texts, frame.index, kept)
    return frame.assign(**cells)


def chosen_columns(which: object, columns: Collection[str]) -> Collection[str]:
    """Return the columns in which values are rewritten. Raises InvalidInput for one that the table has not."""
    if isinstance(which, bool):
        return columns if which else ()
    if not isinstance(which, str | list | tuple | set | frozenset):
        raise InvalidInput(f"normalise: expected True, False or names of columns, got {kind_of(which)}.")
    chosen = [which] if isinstance(which, str) else list(which)
    if unknown := [name for name in chosen if name not in columns]:
        raise InvalidInput(f"normalise: not a column of the table: {', '.join(map(str, unknown))}.")
    return chosen


def readings_of(frame: pd.DataFrame, date_order: str | None = None) -> dict[tuple[int, str], str | None]:
    """Return what cells of a table would become, by the place of the row and the column; None for a blank cell.

    frame: its columns are named by field. date_order: what stands first in dates such as 03/04/1985, "day_first" or
    "month_first"; with anything else, dates that may mean two days have no reading.
    """
    texts = {column: _Texts(frame[column]) for column in frame.columns}
    found: dict[tuple[int, str], str | None] = {}
    for column in texts:
        for place, after in _read_column(column, texts, date_order):
            found[place, column] = after
    for schema in (PAYER, BANK_DETAILS):
        found |= dict.fromkeys(_placeholders_alone(schema, texts))
    order = {column: number for number, column in enumerate(frame.columns)}
    return dict(sorted(found.items(), key=lambda item: (item[0][0], order[item[0][1]])))


def _read_column(column: str, texts: Mapping[str, _Texts], date_order: str | None) -> Iterator[tuple[int, str | None]]:
    """Yield the rows of a column whose cell has a reading, each with it."""
    own, place = texts[column].rows_of, _place_of(column, texts)
    if column == HOLDER_IS_PAYER:
        for text, rows in own.items():
            if text is not None and (after := one_alias(HOLDER_IS_PAYER, text)):
                yield from ((row, after) for row in rows)
    if place is None:
        return
    schema, name, prefix = place
    field = schema.fields[name]
    is_right = _IS_RIGHT_BY_FORMAT.get(field.format) or _IS_RIGHT.get(name)
    has_readings = bool(is_right or field.lookup or field.options)  # there are few texts of the latter
    around = {other: texts[f"{prefix}{other}"].cells for other in _READ_BY.get(name, ()) if f"{prefix}{other}" in texts}
    for text, rows in own.items():
        if text is None:
            continue
        if not field.required and is_clearable(schema, name, text):
            yield from ((row, None) for row in rows)
        if not has_readings or (is_right and is_right(text)):
            continue
        yield from _read_rows(schema, name, text, around, rows, date_order)


def _read_rows(
    schema: Schema,
    name: str,
    text: str,
    around: Mapping[str, Sequence[str | None]],
    rows: Iterable[int],
    date_order: str | None,
) -> Iterator[tuple[int, str | None]]:
    """Yield rows in which a field has one text, each with its reading, if there is one. around: what it is read by."""
    known: dict[tuple[str | None, ...], str | None] = {}
    for row in rows:
        record = {other: cells[row] for other, cells in around.items()}
        key = tuple(record.values())
        if key not in known:
            known[key] = reading(schema, name, text, _as_written(record), date_order=date_order)
        if known[key] is not None:
            yield row, known[key]


_READ_BY = {
    "phone": ("country",),
    "state": ("country",),
    "postcode": ("country", "state"),
    "postal_code": ("country", "state"),
}
"""The fields by which the text of a field is read."""


def _as_written(record: dict[str, str | None]) -> dict[str, str | None]:
    """Return the values by which a field is read, as they would be written."""
    for other in ("country", "state"):
        if record.get(other):
            record[other] = reading(PAYER, other, record[other], record) or record[other]
    return record


def _place_of(column: str, columns: Collection[str]) -> tuple[Schema, str, str] | None:
    """Return the schema and field of a column, and what stands before the names of the columns that go with it."""
    if column in BANK_COLUMNS:
        return BANK_DETAILS, field_of(column), _PREFIX
    has_payers = bool(payer_columns(columns))
    if column in PAYER.fields and (has_payers or column not in BANK_DETAILS.fields):
        return PAYER, column, ""
    if column in BANK_DETAILS.fields:
        return BANK_DETAILS, column, _PREFIX if has_payers else ""
    return None


def _matcher(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


_POSTAL_CODE = _matcher("[0-9]{5,}|.*[^0-9].*")
"""Any but a few digits, of which a zero may be lost."""

_IS_RIGHT_BY_FORMAT: Mapping[Format, Callable[[str], object]] = {
    FORMATS["phone"]: _matcher("[+][1-9][0-9]{6,14}"),
    FORMATS["day"]: _matcher("[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"),
    FORMATS["email"]: _matcher(r"[^\s<>:;,]+@[^\s<>:;,]*[^\s<>:;,.]"),
}
_IS_RIGHT: Mapping[str, Callable[[str], object]] = {
    "iban": _matcher("(?!IBAN)[A-Za-z0-9]*"),
    "swift_bic": _matcher("[A-Za-z0-9]*"),
    "routing_number": _matcher("[0-9]{9}"),
    "ifsc": _matcher("[A-Z]{4}0[A-Z0-9]{6}"),
    "postcode": _POSTAL_CODE,
    "postal_code": _POSTAL_CODE,
    "state": _matcher("[A-Z]{2,3}"),
}
"""Matchers of texts that have no reading: that are right already, or are never rewritten."""


def _placeholders_alone(schema: Schema, texts: Mapping[str, _Texts]) -> Iterator[tuple[int, str]]:
    """Yield the placeholders of rows that have nothing else in the columns of this schema alone.

    Such a row describes no payer, or no account: its placeholders mean blank cells, in required columns, too.
    """
    names = [name for name in texts if name in own_columns(schema)]
    cleared: dict[str, list[int]] = {}
    alone: set[int] | None = None
    for column in sorted(names, key=lambda name: len(texts[name].rows_of)):
        rows_of = texts[column].rows_of
        cleared[column] = []
        for text, rows in rows_of.items():
            if text is not None and is_clearable(schema, field_of(column), text):
                cleared[column] += rows
        blank = {*cleared[column], *rows_of.get(None, ())}
        alone = blank if alone is None else alone & blank
        if not alone:
            return
    for column, rows in cleared.items():
        yield from ((row, column) for row in rows if row in (alone or ()))


def shown_change(column: str, before: str, after: str | None) -> tuple[str, str]:
    """Return what may be shown of a change: codes and placeholders; personal values and numbers are masked."""
    name = field_of(column)
    schema = PAYER if name in PAYER.fields else BANK_DETAILS
    if after is None:
        is_shown = name in schema.fields and is_placeholder(schema, name, before)
        return (before if is_shown else mask(name, before)), ""
    return mask(name, before), mask(name, after)


def reading_in_words(column: str, after: str | None) -> str:
    """Return what the reading of a cell would write, without a personal value; "" for one that would clear the cell."""
    if after is None:
        return ""
    name = field_of(column)
    return _IN_WORDS.get(name, after if mask(name, after) == after else "the text that was meant")


_IN_WORDS = {
    "date_of_birth": "it as YYYY-MM-DD",
    "email": "the address alone",
    "iban": "it without blanks and hyphens",
    "phone": "it with + and the country code",
    "postal_code": "it with its leading zero",
    "postcode": "it with its leading zero",
    "routing_number": "its nine digits",
}
"""What is said in place of a value that may be personal."""
