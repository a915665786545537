"""Find the header of a sheet: the row of names, with a title above it, in two rows, or with names that are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from payerkit.errors import InvalidInput
from payerkit.tables.delimited import EMPTY
from payerkit.tables.sheet import Sheet

IsKnown = Callable[[str], bool]

_FIRST_ROWS = 1000
_MOST_ROWS = 40
"""Among the first so many rows that are not blank, the header is looked for."""


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a sheet's columns.

    row: the last row of the header, as in the file, from 1. names: of each column, "" for none; from a header of two
    rows as "Bank account: Country". first_row: of the data, as in the file. unnamed: for each column without a name
    that has cells below the header, by its number from 0, the first row with one. first_header_row: the first row of
    the header. above: rows above the header that are not blank.
    """

    row: int
    names: tuple[str, ...]
    first_row: int
    unnamed: Mapping[int, int]
    first_header_row: int
    above: tuple[int, ...] = ()


def find_header(sheet: Sheet, is_known: IsKnown, *, row: int | None = None) -> Header:
    """Return the header of a sheet: the row with most known names, else the first that is as wide as the table.

    is_known: whether a text is a known name. row: the last row of the header, if a person says so. Raises InvalidInput
    for an empty sheet, and for a row that it does not have.
    """
    filled, is_known = _first_rows(sheet, row), cache(is_known)  # each cell is asked about more than once
    numbers = list(filled)
    at = numbers.index(row) if row is not None else _place(filled, is_known)
    first, names = _names(sheet, filled, at, is_known, is_given=row is not None)
    last = _last(filled, at, is_known) if row is None and first == at else at
    if first != at and numbers[first] > numbers[at]:  # the names go on in the row below
        first, last = at, first
    number = numbers[last]
    unnamed = _unnamed(sheet, number, names)
    return Header(number, names, number + 1, unnamed, numbers[first], tuple(numbers[:first]))


def _first_rows(sheet: Sheet, row: int | None) -> dict[int, list[str]]:
    """Return the first rows that are not blank, by number: a text for each column, "" where blank."""
    top = sheet.cells.head(_FIRST_ROWS)
    part = top.dropna(how="all").head(_MOST_ROWS)
    if part.empty:
        part = sheet.cells.dropna(how="all").head(_MOST_ROWS)
    if row is not None and row not in part.index:
        part = pd.concat([part, sheet.cells.loc[sheet.cells.index == row].dropna(how="all")])
        if row not in part.index:
            raise InvalidInput(f"header_row: row {row} is blank, or not a row of the table.")
    if part.empty:
        raise InvalidInput(EMPTY)
    return {
        int(number): [" ".join(cell.split()) if isinstance(cell, str) else "" for cell in cells]
        for number, cells in zip(part.index, part.to_numpy(dtype=object), strict=True)
    }


def _place(rows: Mapping[int, Sequence[str]], is_known: IsKnown) -> int:
    """Return which of the rows has the names; of two rows that have them together, the first."""
    cells = list(rows.values())
    known = [_known(each, is_known) for each in cells]
    joined = [_known(_join(one, other), is_known) for one, other in zip(cells, [*cells[1:], []], strict=True)]
    best = max(range(len(cells)), key=lambda at: (max(known[at], joined[at]), known[at], -at))
    most = max(known[best], joined[best])
    width = sum(map(bool, cells[best]))
    if most and (most >= 3 or 2 * most >= width):
        return best
    widest = max(sum(map(bool, each)) for each in cells)
    return next(at for at, each in enumerate(cells) if 2 * sum(map(bool, each)) >= widest)


def _known(cells: Sequence[str], is_known: IsKnown) -> int:
    return sum(1 for cell in cells if cell and is_known(cell))


def _join(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return [" ".join(filter(None, pair)) for pair in zip(one, other, strict=False)]


def _names(
    sheet: Sheet, rows: Mapping[int, Sequence[str]], at: int, is_known: IsKnown, *, is_given: bool
) -> tuple[int, tuple[str, ...]]:
    """Return the names, and which of the rows has the other part of them: the row itself if they stand in one row."""
    cells = list(rows.values())
    own = cells[at]
    following = at + 1
    if not is_given and following < len(cells):
        joined = _join(own, cells[following])
        known = _known(joined, is_known)
        if known > max(_known(own, is_known), _known(cells[following], is_known)):
            grouped = _grouped(sheet, rows, following)
            return following, grouped if grouped and _known(grouped, is_known) >= known else tuple(joined)
    grouped = _grouped(sheet, rows, at)
    return (at - 1, grouped) if grouped else (at, tuple(own))


def _grouped(sheet: Sheet, rows: Mapping[int, Sequence[str]], at: int) -> tuple[str, ...] | None:
    """Return the names of a row with their groups from the row above; None if that row has no groups."""
    numbers, cells = list(rows), list(rows.values())
    if at == 0 or numbers[at - 1] != numbers[at] - 1:
        return None
    groups = _groups(sheet, numbers[at - 1], cells[at - 1], cells[at])
    if groups is None:
        return None
    pairs = zip(groups, cells[at], strict=True)
    return tuple(f"{group}: {name}" if group and name else name or group for group, name in pairs)


def _groups(sheet: Sheet, number: int, above: Sequence[str], own: Sequence[str]) -> list[str] | None:
    """Return the word above each name that says whose it is; None if the row above is a title or a note."""
    places = [place for place, cell in enumerate(above) if cell]
    merged = {first: last for row, first, last in sheet.merged if row == number}
    is_title = len(places) == 1 and (places[0] == 0 or merged.get(places[0], 0) - places[0] + 1 >= len(own))
    has_figures = any(char.isdigit() for cell in above for char in cell)
    beside = [place for place in places if own[place]]  # the others are names, merged with the cell below
    if is_title or has_figures or len(beside) >= sum(map(bool, own)):
        return None
    groups = [""] * len(own)
    for place, following in zip(places, [*places[1:], len(own)], strict=True):
        last = merged.get(place, place if merged else following - 1)
        if not own[place]:  # a name of its own, merged with the cell below it
            last = place
        for each in range(place, min(last + 1, following, len(own))):
            groups[each] = above[place]
    return groups


def _last(rows: Mapping[int, Sequence[str]], at: int, is_known: IsKnown) -> int:
    """Return which of the rows is the last of the header: names may be repeated below in another language."""
    cells = list(rows.values())
    following = cells[at + 1] if at + 1 < len(cells) else []
    known = _known(following, is_known)
    return at + 1 if known >= 2 and 2 * known > sum(map(bool, following)) else at


def _unnamed(sheet: Sheet, row: int, names: Sequence[str]) -> dict[int, int]:
    """Return the columns without a name that have cells below the header, with the first row of each."""
    is_below = sheet.cells.index > row
    found = {}
    for place in (place for place, name in enumerate(names) if not name):
        rows = sheet.cells.index[is_below & sheet.cells.iloc[:, place].notna().to_numpy()]
        if len(rows):
            found[place] = int(rows[0])
    return found
