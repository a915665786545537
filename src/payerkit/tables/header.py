"""The header of a table: where it is, with titles above it, in two rows, or with names missing; and what it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

import pandas as pd

from payerkit.checks.inputs import mask_name
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.html import visible
from payerkit.tables.columns import (
    BANK_COLUMNS,
    HOLDER_COLUMNS,
    NO_READING,
    OUR_NAMES,
    HeaderReading,
    likely_column,
    own_columns,
    read_header,
)
from payerkit.tables.sheet import Sheet, column_letters
from payerkit.tables.text_files import EMPTY
from payerkit.wording import listed

IsKnown = Callable[[str], bool]

_FIRST_ROWS = 1000
_MOST_ROWS = 40
"""Among the first so many rows that are not blank, the header is looked for."""


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a sheet's columns.

    row: the last row of the header, as in the file, from 1. names: of each column, "" for none; from a header of two
    rows as "Bank account: Country". unnamed: for each column without a name
    that has cells below the header, by its number from 0, the first row with one.
    """

    row: int
    names: tuple[str, ...]
    unnamed: Mapping[int, int]


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
    return Header(numbers[last], names, _unnamed(sheet, numbers[last], names))


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


# What the header names

_NO_FIELD = "not a field of a payer or of bank details"

_OWN_NAME = "bank_postal_code"
"""The one column with `bank_` whose field has another name for payers, so that `postal_code` is the same."""


_NONE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file. key: its header; with the letter of the column if that is not its own alone.

    header: as in the file, "" for none. place: number of the column, from 0. column: ours that it fills, None if it is
    left out or open. candidates: our columns that it may be, the likeliest first. how: as in `HeaderReading`; "chosen"
    for what a person decided, "second" if another column fills its column, "blank" if there is nothing in it.
    first_row: of a column without a header, the first row with a cell; 0 if that is unknown.
    """

    key: str
    header: str
    place: int
    column: str | None = None
    candidates: tuple[str, ...] = ()
    how: str = "unknown"
    first_row: int = 0

    @property
    def is_open(self) -> bool:
        """Return True if a person must say what the column is."""
        return self.column is None and self.how not in {"chosen", "blank"}

    @property
    def letters(self) -> str:
        """The letters of the column, as a spreadsheet shows them."""
        return column_letters(self.place)

    @property
    def shown_key(self) -> str:
        """The key, or the letters of the column if the header may be personal data."""
        return self.key if mask_name(self.key) == self.key else f"({self.letters})"

    @property
    def shown_header(self) -> str:
        """The sender's name of the column as it may be shown, "" for none."""
        return visible(mask_name(self.header))

    @property
    def problem(self) -> str:
        """Why the column is open, as the end of a sentence."""
        if not self.header:
            return "a column without a name" + (f"; row {self.first_row} has a cell in it." if self.first_row else ".")
        if self.how == "second":
            return f"a second column for {self.candidates[0]}."
        if self.how == "near" and self.candidates:
            return f"{_NO_FIELD}; did you mean {listed(self.candidates, 'or')}?"
        if self.candidates:
            return f"may be {listed(self.candidates, 'or')}."
        return f"{_NO_FIELD}."


def map_headers(
    names: Sequence[str], chosen: Mapping[str, str | None] | None = None, *, unnamed: Mapping[int, int] = _NONE
) -> tuple[tuple[FileColumn, ...], tuple[FieldProblem, ...]]:
    """Return all columns of a file with those of ours that they fill, and problems of what a person chose.

    names: the headers in the file's order, "" for none. chosen: what a person decided, by header, by header with the
    letter of its column, such as "Name (D)", or by the letter, "(D)"; None leaves a column out. unnamed: the first row
    with a cell of each column without a header, by its number; any other such column is blank.
    """
    columns = [FileColumn(key, name, place) for place, (key, name) in enumerate(zip(_keys(names), names, strict=True))]
    decided, mistaken, problems = _decide(columns, chosen or {})
    is_read = [each.place not in decided and each.place not in mistaken for each in columns]
    readings = [read_header(each.header) if own else NO_READING for each, own in zip(columns, is_read, strict=True)]
    owners = _Owners.of(decided.values(), readings)
    mapped = []
    for each, found in zip(columns, readings, strict=True):
        if each.place in decided:
            mapped.append(replace(each, column=decided[each.place], how="chosen"))
        elif each.place in mistaken:
            mapped.append(replace(each, candidates=mistaken[each.place], how="near"))
        elif each.header:
            mapped.append(_read(each, found, owners))
        else:
            is_blank = each.place not in unnamed
            mapped.append(replace(each, how="blank" if is_blank else "unknown", first_row=unnamed.get(each.place, 0)))
    mapped = _without_needed(mapped, readings)
    return tuple(_without_second(each, mapped, owners) for each in mapped), problems


def _keys(names: Sequence[str]) -> list[str]:
    """Return a key for each header: the header itself, with the letter of its column if it repeats or is missing."""
    times = Counter(names)
    return [
        name if name and times[name] == 1 else f"{name} ({column_letters(place)})".strip()
        for place, name in enumerate(names)
    ]


def _decide(
    columns: Sequence[FileColumn], chosen: Mapping[str, str | None]
) -> tuple[dict[int, str | None], dict[int, tuple[str, ...]], tuple[FieldProblem, ...]]:
    """Return by number of the column what was chosen, and what was likely meant by no field, and other problems."""
    decided: dict[int, str | None] = {}
    mistaken: dict[int, tuple[str, ...]] = {}
    problems = []
    for key, wanted in chosen.items():
        meant = meant_by(key, columns)
        if not meant and wanted is not None:
            problems.append(column_problem(key, "not a column of the table."))
        for each in meant:
            name = OUR_NAMES.get(wanted)
            if wanted is not None and name is None:
                mistaken[each.place] = tuple(filter(None, [likely_column(wanted)]))
                continue
            if name is not None and name in decided.values():
                problems.append(column_problem(each.shown_key, f"a second column for {name}."))
            decided[each.place] = name
    return decided, mistaken, tuple(problems)


def meant_by(key: str, columns: Iterable[FileColumn]) -> list[FileColumn]:
    """Return the columns that a key of a mapping means: several only for a header that repeats."""
    words = " ".join(key.split())
    return [
        each
        for each in columns
        if key in {each.header, each.key, f"({each.letters})"} or (words and words == " ".join(each.header.split()))
    ]


@dataclass(frozen=True, slots=True)
class _Owners:
    """What the columns of a table tell apart: whether it has payers, too, and whether it has accounts.

    With payers, `country` is the payer's country, not the account holder's. names: what is chosen or certain.
    """

    has_payers: bool
    has_accounts: bool
    names: frozenset[str]

    @classmethod
    def of(cls, decided: Iterable[str | None], readings: Iterable[HeaderReading]) -> _Owners:
        """Return what is told apart by what was chosen, and by the headers that are certain."""
        readings = list(readings)
        chosen = {name for name in decided if name is not None}
        named = chosen | {each.columns[0] for each in readings if each.how == "exact"}
        certain = named | {each.columns[0] for each in readings if each.is_certain}
        has_payers = not own_columns(PAYER).isdisjoint(certain) or not named.isdisjoint(BANK_COLUMNS)
        return cls(has_payers, not own_columns(BANK_DETAILS).isdisjoint(certain), frozenset(certain))

    def fits(self, name: str) -> bool:
        """Return False for a column that the table would rather not have."""
        if name == "last_name":
            return "first_name" in self.names
        return self.has_payers or not self.has_accounts or name not in own_columns(PAYER)


def _read(each: FileColumn, found: HeaderReading, owners: _Owners) -> FileColumn:
    """Return a column with what its header says in this table."""
    names = found.columns
    if found.how == "exact":
        is_payers = names == ("postal_code",) and owners.has_payers and not owners.has_accounts
        names = ("postcode",) if is_payers and "postcode" not in owners.names else names
    elif not owners.has_payers:
        names = tuple(dict.fromkeys(BANK_COLUMNS.get(name, name) for name in names))
    is_certain = found.is_certain or (found.how == "either" and len(names) == 1)
    how = "certain" if found.how == "either" and is_certain else found.how
    candidates = tuple(sorted(names, key=lambda name: not owners.fits(name)))
    return replace(each, column=names[0] if is_certain else None, candidates=candidates, how=how)


def _without_needed(columns: Sequence[FileColumn], readings: Sequence[HeaderReading]) -> list[FileColumn]:
    """Return the columns; open those that are certain only beside one of the same owner that is missing."""
    present = {as_field(each.column) for each in columns}
    found = []
    for each, reading in zip(columns, readings, strict=True):
        needed = as_field(HOLDER_COLUMNS.get(reading.needs) if each.column in BANK_COLUMNS else reading.needs)
        is_unsure = each.how == "certain" and reading.needs and needed not in present
        found.append(replace(each, column=None, how="ambiguous") if is_unsure else each)
    return found


def _without_second(each: FileColumn, columns: Iterable[FileColumn], owners: _Owners) -> FileColumn:
    """Return a column, open if another one fills its column: what was chosen comes first, then our own names."""
    name = as_field(each.column)
    others = [other for other in columns if other is not each and name is not None and as_field(other.column) == name]
    if not any(_precedes(other, each) for other in others) or each.how == "chosen":
        return each
    holders = HOLDER_COLUMNS.get(str(each.column)) if owners.has_payers and owners.has_accounts else None
    candidates = tuple(filter(None, dict.fromkeys((each.column, holders))))
    return replace(each, column=None, candidates=candidates, how="second")


def _precedes(other: FileColumn, each: FileColumn) -> bool:
    """Return True if another column may keep a name, or if neither may, since both are merely known names."""
    ranks = {"chosen": 0, "exact": 1}
    rank, own = ranks.get(other.how, 2), ranks.get(each.how, 2)
    return rank < own or (rank == own and (own == 2 or other.place < each.place))


def as_field(name: str | None) -> str | None:
    """Return a column of ours, the same for both names of the account holder's postal code."""
    return BANK_COLUMNS[_OWN_NAME] if name == _OWN_NAME else name


def column_problem(key: str, message: str) -> FieldProblem:
    """Return what is wrong with a column, which is named by its key unless that may be personal data."""
    name = mask_name(key)
    return FieldProblem(name, name, message, "unknown_column")
