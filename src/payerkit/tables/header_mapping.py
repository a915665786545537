"""Which column of a file is which of ours: what its headers say, and what a person chose."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from payerkit.checks.inputs import mask_name
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.tables.columns import BANK_COLUMNS, OUR_NAMES, own_columns
from payerkit.tables.header_names import HOLDER_COLUMNS, NO_READING, HeaderReading, likely_column, read_header
from payerkit.tables.sheet import column_letters
from payerkit.wording import listed

_NO_FIELD = "not a field of a payer or of bank details"

_OWN_NAME = "bank_postal_code"
"""The one column with `bank_` whose field has another name for payers, so that `postal_code` is the same."""


_NONE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class MappedColumn:
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
    def shown_key(self) -> str:
        """The key, or the letter of the column if the header may be personal data."""
        return self.key if mask_name(self.key) == self.key else _letter(self.place)

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


@dataclass(frozen=True)
class HeaderMapping:
    """All columns of a file, in its order. problems: of what a person chose: a column that is not there or no field."""

    columns: tuple[MappedColumn, ...]
    problems: tuple[FieldProblem, ...] = ()

    @cached_property
    def fields(self) -> dict[int, str]:
        """The numbers of the file's columns that are read, from 0, with ours."""
        return {each.place: each.column for each in self.columns if each.column is not None}

    @cached_property
    def open(self) -> tuple[MappedColumn, ...]:
        """The columns of which a person must say what they are."""
        return tuple(each for each in self.columns if each.is_open)

    @cached_property
    def proposals(self) -> dict[str, str | None]:
        """What each open column would be, by key; None to leave it out. No two are the same."""
        taken = {_as_field(name) for name in self.fields.values()}
        proposed: dict[str, str | None] = {}
        for each in self.open:
            own = next((name for name in each.candidates if _as_field(name) not in taken), None)
            proposed[each.key] = own
            taken |= {_as_field(own)} if own else set()
        return proposed

    def named(self, key: str) -> list[MappedColumn]:
        """Return the columns that a key means: several only for a header that repeats."""
        return _meant(self.columns, key)

    def check(self) -> dict[int, str]:
        """Return the fields. Raises InvalidInput that names every open column and every problem, and what to pass."""
        is_foreign = not self.is_known and not any(each.candidates for each in self.open)
        if self.open and (self.looks_personal or is_foreign):
            raise InvalidInput("No column is a known field. Does the table have a header row?", advice=_advice(""))
        if not self.open and not self.problems:
            return self.fields
        told = tuple(_problem(each.shown_key, each.problem) for each in self.open)
        message = "The table has columns that cannot be used."
        raise InvalidInput(message, fields=(*told, *self.problems), advice=_advice(self.to_paste() if told else ""))

    @cached_property
    def is_known(self) -> bool:
        """True if any column is known, or was chosen."""
        return any(each.column is not None or each.how in {"chosen", "second"} for each in self.columns)

    @cached_property
    def looks_personal(self) -> bool:
        """True if the names may be a row of data: none is known, and one looks like personal data."""
        return not self.is_known and any(mask_name(each.header) != each.header for each in self.columns)

    def to_paste(self) -> str:
        """Return what is to be passed as `mapping`, in the file's order: what was chosen, and the proposals."""
        entries = []
        for each in self.columns:
            if each.how == "chosen" or each.is_open:
                name = self.proposals.get(each.key, each.column)
                remark = self._remark(each, name) if each.is_open else ""
                entries.append(f"    {_quoted(each.shown_key)}: {_quoted(name) if name else None},{remark}\n")
        return f"{{\n{''.join(entries)}}}"

    @staticmethod
    def _remark(each: MappedColumn, name: str | None) -> str:
        """Return what else an open column may be, as a comment."""
        if each.how == "second" and name is None:
            return f"  # {each.problem.rstrip('.')}"
        if each.candidates and name is None:
            joining = ": join them in the file, or leave this one out" if each.how == "ambiguous" else ""
            return f"  # {each.candidates[0]} has another column{joining}"
        others = [_quoted(other) for other in each.candidates if other != name]
        return f"  # or {listed(others, 'or')}" if others else ""


def map_headers(
    names: Sequence[str], chosen: Mapping[str, str | None] | None = None, *, unnamed: Mapping[int, int] = _NONE
) -> HeaderMapping:
    """Return which column of a file fills which of ours.

    names: the headers in the file's order, "" for none. chosen: what a person decided, by header, by header with the
    letter of its column, such as "Name (D)", or by the letter, "(D)"; None leaves a column out. unnamed: the first row
    with a cell of each column without a header, by its number; any other such column is blank.
    """
    columns = [
        MappedColumn(key, name, place) for place, (key, name) in enumerate(zip(_keys(names), names, strict=True))
    ]
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
    return HeaderMapping(tuple(_without_second(each, mapped, owners) for each in mapped), problems)


def _keys(names: Sequence[str]) -> list[str]:
    """Return a key for each header: the header itself, with the letter of its column if it repeats or is missing."""
    times = Counter(names)
    return [
        name if name and times[name] == 1 else f"{name} {_letter(place)}".strip() for place, name in enumerate(names)
    ]


def _letter(place: int) -> str:
    return f"({column_letters(place)})"


def _decide(
    columns: Sequence[MappedColumn], chosen: Mapping[str, str | None]
) -> tuple[dict[int, str | None], dict[int, tuple[str, ...]], tuple[FieldProblem, ...]]:
    """Return by number of the column what was chosen, and what was likely meant by no field, and other problems."""
    decided: dict[int, str | None] = {}
    mistaken: dict[int, tuple[str, ...]] = {}
    problems = []
    for key, wanted in chosen.items():
        meant = _meant(columns, key)
        if not meant and wanted is not None:
            problems.append(_problem(key, "not a column of the table."))
        for each in meant:
            name = OUR_NAMES.get(wanted)
            if wanted is not None and name is None:
                mistaken[each.place] = tuple(filter(None, [likely_column(wanted)]))
                continue
            if name is not None and name in decided.values():
                problems.append(_problem(each.shown_key, f"a second column for {name}."))
            decided[each.place] = name
    return decided, mistaken, tuple(problems)


def _meant(columns: Iterable[MappedColumn], key: str) -> list[MappedColumn]:
    """Return the columns that a key of a mapping means: several only for a header that repeats."""
    words = " ".join(key.split())
    return [
        each
        for each in columns
        if key in {each.header, each.key, _letter(each.place)} or (words and words == " ".join(each.header.split()))
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


def _read(each: MappedColumn, found: HeaderReading, owners: _Owners) -> MappedColumn:
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


def _without_needed(columns: Sequence[MappedColumn], readings: Sequence[HeaderReading]) -> list[MappedColumn]:
    """Return the columns; open those that are certain only beside one of the same owner that is missing."""
    present = {_as_field(each.column) for each in columns}
    found = []
    for each, reading in zip(columns, readings, strict=True):
        needed = _as_field(HOLDER_COLUMNS.get(reading.needs) if each.column in BANK_COLUMNS else reading.needs)
        is_unsure = each.how == "certain" and reading.needs and needed not in present
        found.append(replace(each, column=None, how="ambiguous") if is_unsure else each)
    return found


def _without_second(each: MappedColumn, columns: Iterable[MappedColumn], owners: _Owners) -> MappedColumn:
    """Return a column, open if another one fills its column: what was chosen comes first, then our own names."""
    name = _as_field(each.column)
    others = [other for other in columns if other is not each and name is not None and _as_field(other.column) == name]
    if not any(_precedes(other, each) for other in others) or each.how == "chosen":
        return each
    holders = HOLDER_COLUMNS.get(str(each.column)) if owners.has_payers and owners.has_accounts else None
    candidates = tuple(filter(None, dict.fromkeys((each.column, holders))))
    return replace(each, column=None, candidates=candidates, how="second")


def _precedes(other: MappedColumn, each: MappedColumn) -> bool:
    """Return True if another column may keep a name, or if neither may, since both are merely known names."""
    ranks = {"chosen": 0, "exact": 1}
    rank, own = ranks.get(other.how, 2), ranks.get(each.how, 2)
    return rank < own or (rank == own and (own == 2 or other.place < each.place))


def _as_field(name: str | None) -> str | None:
    """Return a column of ours, the same for both names of the account holder's postal code."""
    return BANK_COLUMNS[_OWN_NAME] if name == _OWN_NAME else name


def _problem(key: str, message: str) -> FieldProblem:
    name = mask_name(key)
    return FieldProblem(name, name, message, "unknown_column")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _advice(pasted: str) -> str:
    if not pasted:
        return (
            'Rename the columns, or map them: read_payers(source, mapping={"their name": "our name"}); None as our '
            "name leaves a column out. On the command line, use --mapping FILE."
        )
    return (
        "Say what they are: check each line of this proposal, and pass it as mapping=. None leaves a column out. On "
        f"the command line, use --mapping FILE.\nmapping = {pasted}"
    )


def name_columns(columns: Iterable[Hashable], mapping: Mapping[str, str | None] | None = None) -> dict[Hashable, str]:
    """Return the field name of each column of a DataFrame, without the columns that the mapping leaves out.

    Raises InvalidInput that names every open column, and what of the mapping cannot be used.
    """
    columns = list(columns)
    chosen = {str(name): field for name, field in dict(mapping or {}).items()}
    headers = [str(column) for column in columns]
    unnamed = {place: 0 for place, header in enumerate(headers) if not header}
    fields = map_headers(headers, chosen, unnamed=unnamed).check()
    return {columns[place]: field for place, field in fields.items()}
