"""The mapping of a file's columns to those of payerkit, which the user sees, corrects and passes on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, MutableMapping, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from payerkit._tsv import grouped
from payerkit.checks.dates import DateOrder
from payerkit.checks.inputs import mask_name
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.html import Kind, advice, chip, grid, picture, title
from payerkit.tables import header
from payerkit.tables.sheet import column_letters
from payerkit.wording import count_of, listed, visible

_NO_FIELD = "not a field of a payer or of bank details"

_OWN_NAME = "bank_postal_code"
"""The one column with `bank_` whose field has another name for payers, so that `postal_code` is the same."""


@dataclass(slots=True)
class FileColumn:
    """A column of a file. key: its header; with the letter of the column if that is not its own alone.

    header: as in the file, "" for none. place: number of the column, from 0. column: ours that it fills, None if it is
    left out or open. candidates: our columns that it may be, the likeliest first. how: as in `HeaderReading`; "chosen"
    for a choice of the user, "second" if another column fills its column, "two_names" for cells like "Archer, Ada",
    "blank" if there is nothing in it.
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
        """Return True if the user must say which field the column has."""
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
        if self.how == "two_names":
            return "last and first name in one cell: make two columns of it."
        if self.how == "near" and self.candidates:
            return f"{_NO_FIELD}; did you mean {listed(self.candidates, 'or')}?"
        if self.candidates:
            return f"may be {listed(self.candidates, 'or')}."
        return f"{_NO_FIELD}."


Mapped = AnyMapping[str, str | None]
"""What is chosen: a column of ours for each header, None to leave it out."""

_NAMES = {"last_name", "account_name"}


class Mapping(MutableMapping[str, str | None]):
    """Which column of a file is which of ours, and how the file is read: `mapping["Konto"] = "iban"`.

    As a dict, it has the columns that are decided, by their header in the file, in its order: what is certain or was
    chosen, None for a column that is left out. The columns of `open` are not in it until somebody chooses. A header
    that repeats, or is missing, has the letter of its column: "Name (D)".

    Args:
        headers: The names of the file's columns, in order; "" for none.
        chosen: What is decided, as a dict; what is wrong with it is in `problems`.
        unnamed: For each column without a name that has cells, by its number from 0, the first row with one.
        two_names: Numbers of the columns whose cells are like "Archer, Ada".

    Attributes:
        all_columns: All columns of the file in its order, blank ones included.
        problems: What is wrong with the choices: a column that is not there, no field, or a second column for a field.
        first_values: The first values of each of all columns, masked.
        sheet: Name of the sheet; None for the only one.
        normalise: As for `read_payers`.
        date_order: As for `read_payers`.

    Example:
        >>> mapping = Mapping(["Vorname", "Konto", "Notiz"])
        >>> mapping.open
        {'Konto': ('account_number', 'iban', 'client_user_id'), 'Notiz': ()}
        >>> mapping["Konto"] = "iban"
        >>> mapping["Notiz"] = None
        >>> dict(mapping)
        {'Vorname': 'first_name', 'Konto': 'iban', 'Notiz': None}
    """

    def __init__(
        self,
        headers: Sequence[str],
        chosen: Mapped | None = None,
        *,
        unnamed: AnyMapping[int, int] | None = None,
        two_names: Collection[int] = (),
    ) -> None:
        self._headers = tuple(headers)
        self._unnamed = dict(unnamed or {})
        self._two_names = two_names
        self.first_values: Sequence[tuple[str, ...]] = ()
        self.sheet: str | None = None
        self.normalise = False
        self.date_order: DateOrder | None = None
        self._decide(chosen or {})

    def _decide(self, chosen: Mapped) -> None:
        """Read the headers beside what is chosen."""
        self.all_columns, self.problems = map_headers(self._headers, chosen, self._unnamed)
        for each in self.all_columns:
            if each.place in self._two_names and each.is_open and not {*each.candidates}.isdisjoint(_NAMES):
                each.candidates, each.how = (), "two_names"
        self._open = [each for each in self.all_columns if each.is_open]

    @property
    def columns(self) -> tuple[FileColumn, ...]:
        """All columns of the file with a header or with cells, in its order."""
        return tuple(each for each in self.all_columns if each.how != "blank")

    @property
    def fields(self) -> dict[int, str]:
        """Our column for each column of the file that is read, by its number from 0."""
        return {each.place: each.column for each in self.all_columns if each.column is not None}

    @property
    def chosen(self) -> dict[str, str | None]:
        """What a person decided, by header."""
        return {each.key: each.column for each in self.all_columns if each.how == "chosen"}

    @property
    def open(self) -> dict[str, tuple[str, ...]]:
        """The columns that are not decided, each with those of ours that it may be, the likeliest first."""
        return {each.key: each.candidates for each in self._open}

    @property
    def proposals(self) -> dict[str, str | None]:
        """What each open column would be: the likeliest that no other column is; None to leave it out."""
        taken = {as_field(name) for name in self.fields.values()}
        proposed: dict[str, str | None] = {}
        for each in self._open:
            proposed[each.key] = next((name for name in each.candidates if as_field(name) not in taken), None)
            taken.add(as_field(proposed[each.key]))
        return proposed

    def accept(self) -> Self:
        """Decide every open column as proposed, and return the mapping. Look at `proposals` first."""
        for key, name in self.proposals.items():
            self[key] = name
        return self

    def check(self) -> Self:
        """Return the mapping. Raises InvalidInput that names every open column and every problem, and what to pass."""
        missing = self._open
        if not missing and not self.problems:
            return self
        is_foreign = not self._is_known() and not any(each.candidates for each in missing)
        if missing and (self.looks_personal or is_foreign):
            raise InvalidInput("No column is a known field. Does the table have a header row?", advice=_RENAME)
        problems = tuple(column_problem(each.shown_key, each.problem) for each in missing)
        message = "The table has columns that cannot be used."
        raise InvalidInput(message, fields=(*problems, *self.problems), advice=self._advice() if problems else _RENAME)

    def _is_known(self) -> bool:
        """Return True if any column is known, or was chosen."""
        return any(each.column is not None or each.how in {"chosen", "second"} for each in self.all_columns)

    @property
    def looks_personal(self) -> bool:
        """True if the names may be a row of data: none is known, and one looks like personal data."""
        return not self._is_known() and any(mask_name(each.header) != each.header for each in self.all_columns)

    def _advice(self) -> str:
        """Return what is to be passed as `mapping`, in the file's order: what was chosen, and the proposals."""
        proposals = self.proposals
        entries = []
        for each in self.all_columns:
            if each.how == "chosen" or each.is_open:
                name = proposals.get(each.key, each.column)
                entries.append(f"    {_quoted(each.shown_key)}: {_quoted(name)},\n")
        return (
            "Say what they are: check each line of this proposal, and pass it as mapping=. None leaves a column out. "
            "On the command line, --accept takes it as it is, and --column THEIRS=OURS maps a column.\n"
            f"mapping = {{\n{''.join(entries)}}}"
        )

    def examples(self, key: str) -> tuple[str, ...]:
        """Return the first values of a column; where they may be personal, X and x stand for letters, 0 for digits."""
        place = self._column(key).place
        return self.first_values[place] if place < len(self.first_values) else ()

    def __getitem__(self, key: str) -> str | None:
        try:
            column = self._column(key)
        except InvalidInput:
            raise KeyError(key) from None
        if column.is_open or column.how == "blank":
            raise KeyError(f"{column.key}: not decided yet")
        return column.column

    def __setitem__(self, key: str, value: str | None) -> None:
        column = self._column(key)
        if value is not None and value not in header.OUR_NAMES:
            raise InvalidInput(f"mapping: {value} is not a field of a payer or of bank details.{hint_for(str(value))}")
        self._decide(self.chosen | {column.key: value})

    def __delitem__(self, key: str) -> None:
        column = self._column(key)
        self._decide({other: name for other, name in self.chosen.items() if other != column.key})

    def clear(self) -> None:
        """Take back every choice; what is certain stays."""
        self._decide({})

    def __iter__(self) -> Iterator[str]:
        return (each.key for each in self.columns if not each.is_open)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _column(self, key: str) -> FileColumn:
        """Return the column that a key means. Raises InvalidInput unless it means exactly one."""
        found = meant_by(key, self.all_columns)
        if len(found) == 1:
            return found[0]
        if found:
            keys = listed((_quoted(each.key) for each in found), "or")
            raise InvalidInput(f"mapping: several columns have this name. Write {keys}.")
        raise InvalidInput(f"mapping: {mask_name(key)} is not a column of the file. mapping.columns lists them all.")

    def __repr__(self) -> str:
        rows = self._shown()
        widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows
        ]
        return "\n".join([self._summary(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        kinds: Iterable[Kind] = (
            "warning" if each.is_open else "success" if each.column else "neutral" for each in self.columns
        )
        rows = [(*row[:2], chip(kind, row[2]), row[3]) for kind, row in zip(kinds, self._shown(), strict=True)]
        table = grid(["header", "column", "how", "first values"], rows, caption="")
        todo = ""
        if missing := self._open:
            key, name = missing[0].shown_key, self.proposals[missing[0].key]
            choice = f"mapping[{_quoted(key)}] = {_quoted(name)}"
            todo = advice(f"Decide what is open, such as {choice}, or take all proposals: mapping.accept()")
        return picture(title(self._summary()), table, todo)

    def _summary(self) -> str:
        return f"Mapping of {count_of(len(self.columns), 'column')}, {len(self._open)} open"

    def _shown(self) -> list[tuple[str, str, str, str]]:
        """Return for each column its header, our column, how it is known, and its first values."""
        proposals = self.proposals
        return [
            (
                each.shown_key,
                f"{proposals[each.key] or 'left out'}?" if each.is_open else each.column or "left out",
                f"open: {each.problem}" if each.is_open else "certain" if each.how == "exact" else each.how,
                ", ".join(self.examples(each.key)),
            )
            for each in self.columns
        ]


_RENAME = (
    'Rename the columns, or map them: read_payers(source, mapping={"their name": "our name"}); None as our '
    "name leaves a column out. On the command line, use --column THEIRS=OURS."
)


def _quoted(text: str | None) -> str:
    return json.dumps(text, ensure_ascii=False) if text is not None else "None"


def name_columns(columns: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return the field name of each column of a DataFrame. Raises InvalidInput that names every open column."""
    columns = list(columns)
    headers = list(map(str, columns))
    unnamed = {place: 0 for place, header in enumerate(headers) if not header}
    fields = Mapping(headers, unnamed=unnamed).check().fields
    return {columns[place]: field for place, field in fields.items()}


def account_fields(columns: Iterable[Hashable]) -> dict[int, str]:
    """Return the field of each column of a DataFrame that is certain to be one of bank details, by its number."""
    fields = Mapping([str(name) for name in columns]).fields
    has_payers = bool(header.payer_columns(fields.values()))
    return {
        place: header.field_of(name)
        for place, name in fields.items()
        if header.field_of(name) in BANK_DETAILS.fields
        and not (has_payers and name not in header.BANK_COLUMNS and name in PAYER.fields)
    }


def hint_for(name: str) -> str:
    """Return the sentence that proposes a column of payerkit."""
    likely = header.likely_column(name)
    return f" Did you mean {likely}?" if likely else ""


# What the headers of a table name, beside each other


def map_headers(
    names: Sequence[str], chosen: Mapped, unnamed: AnyMapping[int, int]
) -> tuple[tuple[FileColumn, ...], tuple[FieldProblem, ...]]:
    """Return all columns of a file with the columns of payerkit that they fill, and the problems of the user's choices.

    names: the headers in the file's order, "" for none. chosen: the choices of the user, by header, by header with the
    letter of its column, such as "Name (D)", or by the letter, "(D)"; None leaves a column out. unnamed: the first row
    with a cell of each column without a header, by its number; any other such column is blank.
    """
    times = Counter(names)
    columns = []
    for place, name in enumerate(names):
        key = name if name and times[name] == 1 else f"{name} ({column_letters(place)})".strip()
        columns.append(FileColumn(key, name, place))
    problems = _decide(columns, chosen)
    readings = [
        (header.read_beside(each.header, names) or header.read_header(each.header))
        if each.how == "unknown"
        else header.NO_READING
        for each in columns
    ]
    owners = _owners(columns, readings)
    for each, found in zip(columns, readings, strict=True):
        if each.how != "unknown":
            continue
        if each.header:
            _read(each, found, owners)
        elif each.place in unnamed:
            each.first_row = unnamed[each.place]
        else:
            each.how = "blank"
    _open_unsure(columns, readings)
    _open_second(columns, owners)
    return tuple(columns), tuple(problems)


def _decide(columns: Sequence[FileColumn], chosen: Mapped) -> list[FieldProblem]:
    """Decide the columns that the user chose, and return the problems of the choices.

    A column for which no field was chosen is open, with the field that was likely meant.
    """
    problems = []
    for key, wanted in chosen.items():
        meant, name = meant_by(key, columns), header.OUR_NAMES.get(str(wanted))
        if not meant and wanted is not None:
            problems.append(column_problem(key, "not a column of the table."))
        for each in meant:
            if wanted is not None and name is None:
                if each.how != "chosen":
                    likely = header.likely_column(str(wanted))
                    each.candidates, each.how = (likely,) if likely else (), "near"
                continue
            if name is not None and any(name == other.column for other in columns):
                problems.append(column_problem(each.shown_key, f"a second column for {name}."))
            each.column, each.candidates, each.how = name, (), "chosen"
    return problems


def meant_by(key: str, columns: Iterable[FileColumn]) -> list[FileColumn]:
    """Return the columns that a key of a mapping means: several only for a header that repeats."""
    words = " ".join(key.split())
    return [
        each
        for each in columns
        if key in {each.header, each.key, f"({each.letters})"} or (words and words == " ".join(each.header.split()))
    ]


class _Owners(NamedTuple):
    """Whether a table has payers, and whether it has accounts.

    With payers, `country` is the payer's country, not the account holder's. names: what is chosen or certain.
    """

    has_payers: bool
    has_accounts: bool
    names: set[str]

    def fits(self, name: str) -> bool:
        """Return False for a column that does not suit the other columns of the table."""
        if name == "last_name":
            return "first_name" in self.names
        return self.has_payers or not self.has_accounts or name not in header.own_columns(PAYER)


def _owners(columns: Iterable[FileColumn], readings: Iterable[header.HeaderReading]) -> _Owners:
    """Return whether a table has payers and accounts, by the chosen columns and by the headers that are certain."""
    named, certain = set[str](), set[str]()
    for each, found in zip(columns, readings, strict=True):
        if each.column is not None:
            named.add(each.column)
        elif found.is_certain:
            (named if found.how == "exact" else certain).add(found.columns[0])
    certain |= named
    has_payers = (
        not header.own_columns(PAYER).isdisjoint(certain)
        or not named.isdisjoint(header.BANK_COLUMNS)
        or any(found.owner == "payer" for found in readings)
    )
    return _Owners(has_payers, not header.own_columns(BANK_DETAILS).isdisjoint(certain), certain)


def _read(each: FileColumn, found: header.HeaderReading, owners: _Owners) -> None:
    """Take what the header of a column says in this table."""
    names = found.columns
    if found.how == "exact":
        is_payers = names == ("postal_code",) and owners.has_payers and not owners.has_accounts
        names = ("postcode",) if is_payers and "postcode" not in owners.names else names
    elif not owners.has_payers:
        names = tuple(dict.fromkeys(header.BANK_COLUMNS.get(name, name) for name in names))
    is_certain = found.is_certain or (found.how == "either" and len(names) == 1)
    each.column = names[0] if is_certain else None
    each.candidates = tuple(sorted(names, key=owners.fits, reverse=True))
    each.how = "certain" if found.how == "either" and is_certain else found.how


def _open_unsure(columns: Sequence[FileColumn], readings: Sequence[header.HeaderReading]) -> None:
    """Open the columns that are certain only beside one of the same owner that is missing."""
    present = {as_field(each.column) for each in columns}
    for each, reading in zip(columns, readings, strict=True):
        needed = as_field(
            header.HOLDER_COLUMNS.get(reading.needs) if each.column in header.BANK_COLUMNS else reading.needs
        )
        if each.how == "certain" and reading.needs and needed not in present:
            each.column, each.how = None, "ambiguous"


def _open_second(columns: Sequence[FileColumn], owners: _Owners) -> None:
    """Open the columns where another one fills the same: what was chosen comes first, then our own names.

    Of two that are merely known names, neither may keep it.
    """
    ranks = {"chosen": 0, "exact": 1}
    by_field = grouped((as_field(each.column), (ranks.get(each.how, 2), each.place)) for each in columns)
    for each in columns:
        same = by_field[as_field(each.column)]
        best = min(same)
        is_first = each.place == best[1] and (best[0] < 2 or len(same) == 1)
        if each.column is not None and each.how != "chosen" and not is_first:
            holders = header.HOLDER_COLUMNS.get(each.column) if owners.has_payers and owners.has_accounts else None
            each.candidates = tuple(filter(None, dict.fromkeys((each.column, holders))))
            each.column, each.how = None, "second"


def as_field(name: str | None) -> str | None:
    """Return a column of ours, the same for both names of the account holder's postal code."""
    return header.BANK_COLUMNS[_OWN_NAME] if name == _OWN_NAME else name


def column_problem(key: str, message: str) -> FieldProblem:
    """Return what is wrong with a column, which is named by its key unless that may be personal data."""
    name = mask_name(key)
    return FieldProblem(name, name, message, "unknown_column")
