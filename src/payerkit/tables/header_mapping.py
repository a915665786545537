"""Which column of a file is which of ours: what its headers say, and what a person chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from payerkit.checks.inputs import mask_name
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.errors import FieldProblem
from payerkit.html import visible
from payerkit.tables.columns import BANK_COLUMNS, OUR_NAMES, own_columns
from payerkit.tables.header_names import HOLDER_COLUMNS, NO_READING, HeaderReading, likely_column, read_header
from payerkit.tables.sheet import column_letters
from payerkit.wording import listed

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
