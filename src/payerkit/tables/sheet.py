"""The cells of a file as they were read: texts as number formats show them, and what is
odd about single ones.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from typing import Any, Literal

import pandas as pd

from payerkit.errors import InvalidInput

NoteKind = Literal[
    "boolean",
    "date",
    "digits_lost",
    "formula_without_value",
    "fraction",
    "hidden_row",
    "merged",
    "struck_row",
    "time",
    "unformatted",
]
"""What a cell of a workbook is, if it is no text, or what a spreadsheet did to it.

digits_lost: a number of more than 15 digits, of which a spreadsheet keeps 15.
formula_without_value: a formula that no program has computed yet. fraction: a number
that is not whole. hidden_row, struck_row: the row is hidden, or struck out, and the
column is -1. merged: one of merged cells, but the first. unformatted: a whole number
whose format does not say how many digits it has. A formula whose value is 0 is without
a value, too: it refers to an empty cell, or a program wrote 0 for what it did not
compute. Error values are text: #N/A, #REF! and the like are found as such.
"""


@dataclass(frozen=True, slots=True)
class CellNote:
    """What a cell is, if it is no text. row: as in the file, from 1. column: from 0."""

    row: int
    column: int
    kind: NoteKind


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook, or a text file, as it was read: nothing is interpreted.

    Rows of a workbook without any text are left out; their numbers are missing in the
    index.

    cells: texts, None where blank; its index `row` has the numbers of the file's rows,
    from 1, and its columns are the numbers of the file's columns, from 0. A number is
    written as its format shows it, a date as 1985-12-31, an error value as #REF!, a
    formula without a value as the formula. notes: about cells that are no text. merged:
    cells that are merged across columns, each by row, first and last column. name: of
    the sheet, "" for a text file.
    """

    cells: pd.DataFrame
    notes: Sequence[CellNote] = ()
    merged: Sequence[tuple[int, int, int]] = ()
    name: str = ""


def cells_like(
    matches: Callable[[str], object], cells: pd.Series[Any]
) -> pd.Series[Any]:
    """Return the texts of a column that match."""
    texts = cells.tolist()
    found = {
        text
        for text in {cell for cell in texts if isinstance(cell, str)}
        if matches(text)
    }
    return (
        cells[[isinstance(cell, str) and cell in found for cell in texts]]
        if found
        else cells[:0]
    )


def column_letters(column: int) -> str:
    """Return the letters of a column, from 0, as a spreadsheet shows them: A, B, ... Z,
    AA.
    """
    before, last = divmod(column, 26)
    letter = chr(ord("A") + last)
    return f"{column_letters(before - 1)}{letter}" if before else letter


CellText = tuple[str, NoteKind | None]
"""The text of a cell, and the kind of its value, or None for text."""


MAX_CELLS = 5_000_000
"""Cells of a table, with the blank ones that make its rows as long as the longest."""

MAX_MERGED = 200_000
"""Cells of a sheet that are merged with others."""


def too_many_cells() -> InvalidInput:
    """Return what is wrong with a table of more cells than are read, and what to do."""
    return InvalidInput(
        f"source: the table has more than {MAX_CELLS:,} cells, counting the blank ones"
        " to the left of others.",
        advice=(
            "Delete the cells far to the right of the table or below it, or split"
            " the table."
        ),
    )


def frame_of_cells(
    rows: Sequence[list[str | None]], index: pd.Index[int]
) -> pd.DataFrame:
    """Return rows of cells as a table of texts, in which shorter rows end with blank
    cells. Raises InvalidInput for too many cells.
    """
    width = max(map(len, rows), default=0)
    if width * len(rows) > MAX_CELLS:
        raise too_many_cells()
    filled = [[*row, *[None] * (width - len(row))] for row in rows]
    return pd.DataFrame(filled, index=index, dtype=str)


Merged = tuple[int, int, int, int]
"""First and last row of merged cells, from 1, then first and last column, from 0."""


def make_sheet(
    name: str,
    rows: Iterable[tuple[int, Iterable[tuple[int, CellText]]]],
    *,
    odd_rows: Mapping[int, NoteKind],
    merged: Iterable[Merged] = (),
) -> Sheet:
    """Return a sheet of the rows that have any text.

    rows: each with its number in the file, and with its cells by their numbers, in
    order. odd_rows: the rows that are hidden or struck out. Raises InvalidInput for too
    many cells, or too many merged ones.
    """
    notes: list[CellNote] = []
    filled: dict[int, list[str | None]] = {}
    number = 0
    for number, cells in rows:
        texts: list[str | None] = []
        for column, (text, kind) in cells:
            if text:
                texts += [None] * (column - len(texts))
                texts.append(text)
                if kind:
                    notes.append(CellNote(number, column, kind))
        if texts:
            filled[number] = texts
            if number in odd_rows:
                notes.append(CellNote(number, -1, odd_rows[number]))
    across = []
    merged_cells = 0
    for top, lowest, first, last in merged:
        bottom = min(lowest, number)  # merged cells below the table are not looked at
        merged_cells += max(0, bottom - top + 1) * max(0, last - first + 1)
        if merged_cells > MAX_MERGED:
            raise InvalidInput(
                f"source: the sheet has more than {MAX_MERGED:,} merged cells.",
                advice="Unmerge them in a spreadsheet program, and save the file.",
            )
        for row in range(top, bottom + 1):
            if last > first:
                across.append((row, first, last))
            if row not in filled:
                continue
            for column in range(first, last + 1):
                if (row, column) != (top, first):
                    notes.append(CellNote(row, column, "merged"))
    index = pd.Index([*filled], dtype="int64", name="row")
    return Sheet(
        frame_of_cells([*filled.values()], index), tuple(notes), sorted(across), name
    )


# Numbers and dates as texts

_TOKENS = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<width>[_*].)|\[(?P<bracket>[^\]]*)\]|(?P<bare>.)'
)
_SIGNS = frozenset("-+(): ")
"""Characters that a format shows as they are (ECMA-376, 18.8.31), without those for
decimals, percents and such.
"""

_DIGITS = frozenset("0#")

_Part = tuple[bool, str]
"""A part of a format: whether it is a placeholder of a digit, and its text."""


@cache
def shown_by(code: str) -> Callable[[int], str] | None:
    """Return how a number format shows a number of at least 0, if it has only digits
    and what separates them.

    Other formats, as for amounts, days or with conditions: None.
    """
    parts: list[_Part] = []
    positive = re.split(r""";(?=(?:[^"]*"[^"]*")*[^"]*$)""", code)[0]
    for match in _TOKENS.finditer(positive):
        bracket = match["bracket"]
        bare = match["bare"]
        if bracket is not None:
            # Neither a colour nor a language.
            if not bracket.isalpha() and not bracket.startswith("$-"):
                return None
        elif bare is None:
            parts.append((False, match["quoted"] or match["escaped"] or ""))
        elif bare in _DIGITS | _SIGNS:
            parts.append((bare in _DIGITS, bare))
        else:
            return None
    return partial(_fill, parts) if (True, "0") in parts else None


def _fill(parts: list[_Part], number: int) -> str:
    """Return the parts with the digits of a number in their places, from the right; the
    first takes the rest.
    """
    places = sum(is_digit for is_digit, _ in parts)
    padded = str(number).rjust(places)
    first = len(padded) - places + 1
    digits = iter([padded[:first], *padded[first:]])
    filled = []
    for is_digit, part in parts:
        if not is_digit:
            filled.append(part)
            continue
        blank = "0" if part == "0" else ""
        filled.append(next(digits).replace(" ", blank))
    return "".join(filled)


_DIGITS_KEPT = 15
"""How many digits of a number a spreadsheet keeps (ECMA-376 stores IEEE 754 doubles;
Excel shows 15 digits).
"""


def value_text(cell: Any) -> CellText:
    """Return the value of a cell of openpyxl as text, and its kind."""
    value = cell.value
    if isinstance(value, str):
        return value, None
    if isinstance(value, bool):
        return str(value).upper(), "boolean"
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        return _date_text(value)
    return _number_text(repr(value), shown_by(cell.number_format))


def _number_text(stored: str, shown: Callable[[int], str] | None) -> CellText:
    """Return a stored number in full, without an exponent, and its kind; a whole number
    as its format shows it.
    """
    number = Decimal(stored)
    if not number.is_finite():
        return "#NUM!", None  # as a spreadsheet shows it
    if number != number.to_integral_value():
        number = Decimal(f"{number:.{_DIGITS_KEPT}g}")  # 0.30000000000000004 is 0.3
    if number != number.to_integral_value():
        return f"{number.normalize():f}", "fraction"
    whole = int(number)
    if abs(whole) >= 10**_DIGITS_KEPT:
        return str(whole), "digits_lost"
    text = shown(whole) if shown and whole >= 0 else None
    return (text, None) if text else (str(whole), "unformatted")


def _date_text(value: dt.date | dt.time | dt.timedelta) -> CellText:
    """Return a date as 1985-12-31, with its time unless that is midnight, or a time,
    and its kind.
    """
    if isinstance(value, dt.datetime):
        text = value.isoformat(" ", "seconds")
        return text.removesuffix(" 00:00:00"), "date"
    if isinstance(value, dt.date):
        return value.isoformat(), "date"
    return str(value), "time"
