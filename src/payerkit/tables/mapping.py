"""The mapping of a file's columns to those of payerkit, which the user sees and
decides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import pandas as pd

from payerkit._tsv import grouped
from payerkit.checks.places import one_alias
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.models.base import RequestModel
from payerkit.models.fields import fields_of
from payerkit.models.names import mask_unknown
from payerkit.models.requests import SHARED_FIELDS, BankDetails, Payer
from payerkit.tables import header
from payerkit.tables.columns import (
    LEAST,
    Values,
    column_doubt,
    fits,
    holds_house_numbers,
    holds_two_names,
)
from payerkit.tables.sheet import column_letters
from payerkit.tables.text_files import NAME_ROW
from payerkit.wording import listed, visible

_NO_FIELD = "not a field of a payer or of bank details"

_OWN_NAME = "bank_postal_code"
"""The one column with `bank_` whose field has another name for payers, so that
`postal_code` is the same.
"""


@dataclass(slots=True)
class FileColumn:
    """A column of a file. key: its header; with the letter of the column if that is not
    its own alone.

    header: as in the file, "" for none. place: number of the column, from 0. column:
    ours that it fills, None if it is left out or open. candidates: our columns that it
    may be, the likeliest first. how: as in `HeaderReading`; "chosen" for a choice of
    the user, "second" if another column fills its column, "blank" if there is nothing
    in it. first_row: of a column without a
    header, the first row with a cell; 0 if that is unknown. doubt: why its values can
    hardly be those of the field that its header names, as the end of a sentence.
    """

    key: str
    header: str
    place: int
    column: str | None = None
    candidates: tuple[str, ...] = ()
    how: str = "unknown"
    first_row: int = 0
    doubt: str = ""

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
        return self.key if mask_unknown(self.key) == self.key else f"({self.letters})"

    @property
    def shown_header(self) -> str:
        """The sender's name of the column as it may be shown, "" for none."""
        return visible(mask_unknown(self.header))

    @property
    def problem(self) -> str:
        """Why the column is open, as the end of a sentence."""
        if self.doubt:
            return self.doubt
        if not self.header and self.first_row:
            return f"a column without a name; row {self.first_row} has a cell in it."
        if not self.header:
            return "a column without a name."
        if self.how == "second":
            return f"a second column for {self.candidates[0]}."
        if self.how == "near" and self.candidates:
            return f"{_NO_FIELD}; did you mean {listed(self.candidates, 'or')}?"
        if self.candidates:
            return f"may be {listed(self.candidates, 'or')}."
        return f"{_NO_FIELD}."


Mapped = Mapping[str, str | None]
"""What is chosen: a column of ours for each header, None to leave it out."""

_NAMES = {"last_name", "account_name"}


class ColumnMapping(Mapping[str, str | None]):
    """Which column of a file is which of ours.

    As a dict, it has the columns that are decided, by their header in the file, in its
    order: what is certain or was chosen, None for a column that is left out. The
    columns of `open` are not in it. A header that repeats, or is missing, has the
    letter of its column: "Name (D)".

    Args:
        headers: The names of the file's columns, in order; "" for none.
        chosen: What is decided, as a dict; what is wrong with it is in `problems`.
        unnamed: For each column without a name that has cells, by its number from 0,
            the first row with one.
        values: The first values of each column, by its number; a header whose values
            are none of its field is not certain.

    Attributes:
        all_columns: All columns of the file in its order, blank ones included.
        columns: Those with a header or with cells.
        problems: What is wrong with the choices: a column that is not there, no field,
            or a second column for a field.

    Example:
        >>> mapping = ColumnMapping(["Vorname", "Konto", "Notiz"], {"Notiz": None})
        >>> mapping.open
        {'Konto': ('account_number', 'iban', 'client_user_id')}
        >>> dict(mapping)
        {'Vorname': 'first_name', 'Notiz': None}
    """

    def __init__(
        self,
        headers: Sequence[str],
        chosen: Mapped | None = None,
        *,
        unnamed: Mapping[int, int] | None = None,
        values: Values | None = None,
    ) -> None:
        self.all_columns, self.problems = map_headers(
            headers, chosen or {}, unnamed or {}
        )
        _look_at_values(self.all_columns, values or {})
        self.columns = tuple(each for each in self.all_columns if each.how != "blank")
        self._open = [each for each in self.columns if each.is_open]
        self._decided = [each for each in self.columns if not each.is_open]

    @property
    def fields(self) -> dict[int, str]:
        """Our column for each column of the file that is read, by its number from 0."""
        return {
            each.place: each.column
            for each in self.all_columns
            if each.column is not None
        }

    @property
    def chosen(self) -> dict[str, str | None]:
        """What a person decided, by header."""
        return {
            each.key: each.column for each in self.all_columns if each.how == "chosen"
        }

    @property
    def open(self) -> dict[str, tuple[str, ...]]:
        """The columns that are not decided, each with those of ours that it may be, the
        likeliest first.
        """
        return {each.key: each.candidates for each in self._open}

    @property
    def proposals(self) -> dict[str, str | None]:
        """What each open column would be: the likeliest, unless another column is
        that; None to leave it out.

        Of two columns for one field, that with its exact name comes first, else that
        with the longer one. A second choice is never proposed, nor is one of two
        columns with the same header.
        """
        proposed = dict.fromkeys(each.key for each in self._open)
        taken = {as_field(name) for name in self.fields.values()}
        times = Counter(each.header for each in self.all_columns)
        for each in sorted(self._open, key=_strength):
            if not each.candidates or each.doubt or times[each.header] > 1:
                continue
            likeliest = as_field(each.candidates[0])
            if likeliest not in taken:
                proposed[each.key] = each.candidates[0]
                taken.add(likeliest)
        return proposed

    def check(self, *, is_in_file: bool = False) -> Self:
        """Return the mapping. Raises InvalidInput that names every open column and
        every problem, and what to pass.

        is_in_file: the table is that of a file, whose header may be further down.
        """
        missing = self._open
        if not missing and not self.problems:
            return self
        is_foreign = not self._is_known() and not any(
            each.candidates for each in missing
        )
        if missing and (self.looks_personal or is_foreign):
            raise InvalidInput(
                "No column is a known field. Does the table have a header row?",
                advice=f"{_RENAME} {NAME_ROW}" if is_in_file else _RENAME,
            )
        problems = tuple(
            column_problem(each.shown_key, each.problem) for each in missing
        )
        message = "The table has columns that cannot be used."
        raise InvalidInput(
            message,
            fields=(*problems, *self.problems),
            advice=self._advice() if problems else _RENAME,
        )

    def _is_known(self) -> bool:
        """Return True if any column is known, or was chosen."""
        return any(
            each.column is not None or each.how in {"chosen", "second"}
            for each in self.all_columns
        )

    @property
    def looks_personal(self) -> bool:
        """True if the names may be a row of data: none is known, and one looks like
        personal data.
        """
        return not self._is_known() and any(
            mask_unknown(each.header) != each.header for each in self.all_columns
        )

    def _advice(self) -> str:
        """Return what is to be passed as `mapping`, in the file's order: what was
        chosen, and the proposals.
        """
        proposals = self.proposals
        entries = []
        for each in self.all_columns:
            if each.how == "chosen" or each.is_open:
                name = proposals.get(each.key, each.column)
                entries.append(f"    {_quoted(each.shown_key)}: {_quoted(name)},\n")
        return (
            "Say what they are: check each line of this proposal, and pass it as"
            " mapping=. None leaves a column out. On the command line, rename the"
            " columns in the file, or write --column THEIRS=OURS for each; --column"
            f" THEIRS= leaves one out.\nmapping = {{\n{''.join(entries)}}}"
        )

    def __getitem__(self, key: str) -> str | None:
        meant = meant_by(key, self._decided)
        if len(meant) != 1:
            raise KeyError(key)
        return meant[0].column

    def __iter__(self) -> Iterator[str]:
        return (each.key for each in self._decided)

    def __len__(self) -> int:
        return len(self._decided)

    def __repr__(self) -> str:
        decided = {each.shown_key: each.column for each in self._decided}
        return f"{type(self).__name__}({decided})"


def _strength(column: FileColumn) -> tuple[bool, int, int]:
    """Return what sorts the columns for one field, the best first."""
    names = {name for name, our in header.OUR_NAMES.items() if our in column.candidates}
    is_exact = column.header.casefold().replace(" ", "_") in names
    return not is_exact, -len(column.header), column.place


_RENAME = (
    'Rename the columns, or map them: read_payers(source, mapping={"their name": "our'
    ' name"}); None as our name leaves a column out. On the command line, use --column'
    " THEIRS=OURS."
)


def _quoted(text: str | None) -> str:
    return json.dumps(text, ensure_ascii=False) if text is not None else "None"


def name_columns(columns: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return the field name of each column of a DataFrame. Raises InvalidInput that
    names every open column.
    """
    columns = list(columns)
    headers = [str(name) for name in columns]
    unnamed = {place: 0 for place, header in enumerate(headers) if not header}
    fields = ColumnMapping(headers, unnamed=unnamed).check().fields
    return {columns[place]: field for place, field in fields.items()}


def account_fields(columns: Iterable[Hashable]) -> dict[int, str]:
    """Return the field of each column of a DataFrame that is certain to be one of bank
    details, by its number.
    """
    fields = ColumnMapping([str(name) for name in columns]).fields
    of_accounts = {}
    for place, name in fields.items():
        is_payers = name in fields_of(Payer) and name not in header.BANK_COLUMNS
        if header.field_of(name) not in fields_of(BankDetails):
            continue
        if not is_payers or not header.payer_columns(fields.values()):
            of_accounts[place] = header.field_of(name)
    return of_accounts


def own_rows(model: type[RequestModel], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows and columns of payers, or of accounts, in a table that has both,
    named by field; any other table as it is.

    Columns that are none of ours stay. Where the holder is the payer, the payer's cells
    stand for those that the holder lacks.
    """
    names = [header.OUR_NAMES.get(name) for name in frame.columns]
    both = {*header.BANK_COLUMNS, header.HOLDER_IS_PAYER}
    if both.isdisjoint(names):
        return frame
    fields = header.columns_by_field(model, [name for name in names if name])
    if not fields:
        return frame
    parts = {
        name: frame.iloc[:, names.index(column)] for name, column in fields.items()
    }
    if model is BankDetails and header.HOLDER_IS_PAYER in names:
        says = frame.iloc[:, names.index(header.HOLDER_IS_PAYER)]
        is_payer = says.map(_says_yes)
        for name, of_payer in SHARED_FIELDS.items():
            if of_payer in names:
                theirs = frame.iloc[:, names.index(of_payer)].where(is_payer)
                parts[name] = parts.get(name, theirs).fillna(theirs)
    own = [name in header.own_columns(model) for name in names]
    is_filled = frame.loc[:, own].notna().any(axis=1)
    for name, our in zip(frame.columns, names, strict=True):
        if our is None:
            parts[name] = frame[name]
    return pd.DataFrame(parts, index=frame.index)[is_filled.to_numpy()]


def _says_yes(cell: object) -> bool:
    text = str(cell).strip().lower()
    return text in {"yes", "true", "1"} or one_alias("holder_is_payer", text) == "yes"


def hint_for(name: str) -> str:
    """Return the sentence that proposes a column of payerkit."""
    likely = header.likely_column(name)
    return f" Did you mean {likely}?" if likely else ""


# What the headers of a table name, beside each other


def map_headers(
    names: Sequence[str], chosen: Mapped, unnamed: Mapping[int, int]
) -> tuple[tuple[FileColumn, ...], tuple[FieldProblem, ...]]:
    """Return all columns of a file with the columns of payerkit that they fill, and the
    problems of the user's choices.

    names: the headers in the file's order, "" for none. chosen: the choices of the
    user, by header, by header with the letter of its column, such as "Name (D)", or by
    the letter, "(D)"; None leaves a column out. unnamed: the first row with a cell of
    each column without a header, by its number; any other such column is blank.
    """
    times = Counter(names)
    columns = []
    for place, name in enumerate(names):
        key = name
        if not name or times[name] > 1:
            key = f"{name} ({column_letters(place)})".strip()
        columns.append(FileColumn(key, name, place))
    problems = _decide(columns, chosen)
    readings = _read_headers(columns)
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


def _read_headers(columns: Sequence[FileColumn]) -> list[header.HeaderReading]:
    """Return what each header names, beside the others; nothing for a column that is
    decided.
    """
    alone = [header.read_header(each.header) for each in columns]
    others = [each.header for each in columns]
    certain = [reading.columns[0] for reading in alone if reading.is_certain]
    readings = []
    for each, reading in zip(columns, alone, strict=True):
        if each.how == "unknown":
            beside = header.read_beside(each.header, others, certain)
            readings.append(beside or reading)
        else:
            readings.append(header.NO_READING)
    return readings


def _decide(columns: Sequence[FileColumn], chosen: Mapped) -> list[FieldProblem]:
    """Decide the columns that the user chose, and return the problems of the choices.

    A column for which no field was chosen is open, with the field that was likely
    meant.
    """
    problems = []
    for key, wanted in chosen.items():
        name = header.OUR_NAMES.get(str(wanted))
        meant = meant_by(key, columns)
        if not meant and wanted is not None:
            problems.append(column_problem(key, "not a column of the table."))
        for each in meant:
            if wanted is None or name is not None:
                taken = [other.column for other in columns]
                if name is not None and name in taken:
                    message = f"a second column for {name}."
                    problems.append(column_problem(each.shown_key, message))
                each.column = name
                each.candidates = ()
                each.how = "chosen"
            elif each.how != "chosen":
                likely = header.likely_column(str(wanted))
                each.candidates = (likely,) if likely else ()
                each.how = "near"
    return problems


def meant_by(key: str, columns: Iterable[FileColumn]) -> list[FileColumn]:
    """Return the columns that a key of a mapping means: several only for a header that
    repeats.
    """
    words = " ".join(key.split())
    return [
        each
        for each in columns
        if key in {each.header, each.key, f"({each.letters})"}
        or (words and words == " ".join(each.header.split()))
    ]


class _Owners(NamedTuple):
    """Whether a table has payers, and whether it has accounts.

    With payers, `country` is the payer's country, not the account holder's. names: what
    is chosen or certain.
    """

    has_payers: bool
    has_accounts: bool
    names: set[str]

    def fits(self, name: str) -> bool:
        """Return False for a column that does not suit the other columns of the
        table.
        """
        if name == "last_name":
            return "first_name" in self.names
        return (
            self.has_payers
            or not self.has_accounts
            or name not in header.own_columns(Payer)
        )


def _owners(
    columns: Iterable[FileColumn], readings: Iterable[header.HeaderReading]
) -> _Owners:
    """Return whether a table has payers and accounts, by the chosen columns and by the
    headers that are certain.
    """
    named = set()
    certain = set()
    for each, reading in zip(columns, readings, strict=True):
        if each.column is not None:
            named.add(each.column)
        elif reading.how == "exact":
            named.add(reading.columns[0])
        elif reading.how == "certain":
            certain.add(reading.columns[0])
    certain |= named
    has_payers = (
        not header.own_columns(Payer).isdisjoint(certain)
        or not named.isdisjoint(header.BANK_COLUMNS)
        or any(reading.owner == "payer" for reading in readings)
    )
    has_accounts = not header.own_columns(BankDetails).isdisjoint(certain)
    return _Owners(has_payers, has_accounts, certain)


def _read(each: FileColumn, found: header.HeaderReading, owners: _Owners) -> None:
    """Take what the header of a column says in this table."""
    names = found.columns
    is_payers = owners.has_payers and not owners.has_accounts
    if found.how != "exact":
        if not owners.has_payers:
            names = tuple(dict.fromkeys(header.field_of(name) for name in names))
    elif names == ("postal_code",) and is_payers and "postcode" not in owners.names:
        names = ("postcode",)
    each.how = found.how
    if found.how == "either" and len(names) == 1:
        each.how = "certain"
    if each.how in {"exact", "certain"}:
        each.column = names[0]
    each.candidates = tuple(sorted(names, key=owners.fits, reverse=True))


def _open_unsure(
    columns: Sequence[FileColumn], readings: Sequence[header.HeaderReading]
) -> None:
    """Open the columns that are certain only beside one of the same owner that is
    missing.
    """
    present = {as_field(each.column) for each in columns}
    for each, reading in zip(columns, readings, strict=True):
        needed: str | None = reading.needs
        if each.column in header.BANK_COLUMNS:
            needed = header.HOLDER_COLUMNS.get(reading.needs)
        if each.how == "certain" and reading.needs and as_field(needed) not in present:
            each.column = None
            each.how = "ambiguous"


def _open_second(columns: Sequence[FileColumn], owners: _Owners) -> None:
    """Open the columns where another one fills the same: what was chosen comes first,
    then our own names.

    Of two that are merely known names, neither may keep it.
    """
    ranks = {"chosen": 0, "exact": 1}
    by_field = grouped(
        (as_field(each.column), (ranks.get(each.how, 2), each.place))
        for each in columns
    )
    for each in columns:
        same = by_field[as_field(each.column)]
        best = min(same)
        is_first = each.place == best[1] and (best[0] < 2 or len(same) == 1)
        if each.column is None or each.how == "chosen" or is_first:
            continue
        candidates = {each.column: None}
        if owners.has_payers and owners.has_accounts:
            candidates[header.HOLDER_COLUMNS.get(each.column, each.column)] = None
        each.candidates = tuple(candidates)
        each.column = None
        each.how = "second"


def _look_at_values(columns: Sequence[FileColumn], values: Values) -> None:
    """Open the columns whose values can hardly be those of their field, and forget
    candidates that do not fit.
    """
    fields = {each.place: each.column for each in columns if each.column is not None}
    numbers = [
        each.shown_key
        for each in columns
        if each.is_open
        and each.candidates == ("address_line1",)
        and holds_house_numbers(values.get(each.place, ()))
    ]
    for each in columns:
        texts = [text for text in values.get(each.place, ()) if text is not None]
        if each.how == "certain":
            each.doubt = column_doubt(each.place, each.header, fields, values)
            if each.column == "address_line1" and numbers and not each.doubt:
                each.doubt = f"its number stands in {numbers[0]}: join the columns."
            if each.doubt:
                each.candidates = (fields[each.place],)
                each.column = None
        elif each.is_open and texts:
            if each.how == "near" and len(texts) >= LEAST:
                each.candidates = tuple(
                    name for name in each.candidates if fits(name, texts)
                )
            if holds_two_names(texts) and not _NAMES.isdisjoint(each.candidates):
                each.doubt = "last and first name in one cell: make two columns of it."


def as_field(name: str | None) -> str | None:
    """Return a column of ours, the same for both names of the account holder's postal
    code.
    """
    return header.BANK_COLUMNS[_OWN_NAME] if name == _OWN_NAME else name


def column_problem(key: str, message: str) -> FieldProblem:
    """Return what is wrong with a column, which is named by its key unless that may be
    personal data.
    """
    name = mask_unknown(key)
    return FieldProblem(name, name, message, "unknown_column")
