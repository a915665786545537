"""The columns of a table: ours, what a header may name from its words alone, and where
the header of a sheet is.

A header may have titles or groups above it, or lack names.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

from payerkit import _tsv
from payerkit.checks.texts import fold
from payerkit.errors import InvalidInput
from payerkit.models.base import RequestModel
from payerkit.models.fields import RequestField, fields_of, names_of
from payerkit.models.formats import FieldKind
from payerkit.models.requests import SHARED_FIELDS, BankDetails, Payer
from payerkit.tables.sheet import Sheet
from payerkit.tables.text_files import EMPTY
from payerkit.wire import wire_name

_PREFIX = "bank_"

BANK_COLUMNS = {f"{_PREFIX}{name}": name for name in SHARED_FIELDS}
"""Columns of the account holder, in a table that has payers, too."""

HOLDER_IS_PAYER = "holder_is_payer"
"""The column that says for each row whether the account holder is the payer; it is not
sent.
"""

OUR_NAMES: dict[object, str] = {
    **{name: name for name in BANK_COLUMNS},
    **dict.fromkeys((HOLDER_IS_PAYER, wire_name(HOLDER_IS_PAYER)), HOLDER_IS_PAYER),
    **names_of(BankDetails),
    **names_of(Payer),
}
"""Names that a column may have, and the one that it gets."""


def columns_by_field(
    model: type[RequestModel], columns: Iterable[str], *, holder_is_payer: bool = False
) -> dict[str, str]:
    """Return the column that fills each field of a model; empty if no column is for
    this model alone.

    holder_is_payer: the payer's columns fill the fields of the account holder that have
    no column of their own.
    """
    present = set(columns)
    has_payers = bool(payer_columns(present))
    found = {}
    for name in fields_of(model):
        candidates = [name]
        if model is not Payer and name in SHARED_FIELDS:
            if has_payers:
                candidates = account_columns(name)
            if holder_is_payer or not has_payers:
                candidates.append(SHARED_FIELDS[name])
        for column in candidates:
            if column in present:
                found[name] = column
                break
    if own_columns(model).isdisjoint(found.values()):
        return {}
    return found


def account_columns(name: str) -> list[str]:
    """Return the columns of a field of bank details in a table that has payers, too,
    the usual one first.
    """
    columns = []
    if name in SHARED_FIELDS:
        columns.append(f"{_PREFIX}{name}")
    if name not in fields_of(Payer):
        columns.append(name)
    return columns


def payer_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that show that a table has payers, too, so that `country` is
    the payer's country.

    Those are columns that only payers have, and the columns with `bank_` in front,
    which tell both apart.
    """
    own = own_columns(Payer)
    return [name for name in columns if name in own or name in BANK_COLUMNS]


def own_columns(model: type[RequestModel]) -> set[str]:
    """Return the columns that are for this model alone: a row in which all of them are
    blank is not about it.
    """
    if model is Payer:
        ids = {field.name for field in fields_of(Payer).values() if field.is_id}
        return set(fields_of(Payer)) - set(SHARED_FIELDS.values()) - ids
    return set(fields_of(BankDetails)) - set(SHARED_FIELDS) | set(BANK_COLUMNS)


def field_of(column: str) -> str:
    """Return the field of a column: its name without the `bank_` of the account
    holder's.
    """
    return BANK_COLUMNS.get(column, column)


_FIELDS = {**fields_of(Payer), **fields_of(BankDetails)}


def traits_of(column: str) -> RequestField | None:
    """Return the field of a column with its traits; None for `HOLDER_IS_PAYER`, which
    is no field.
    """
    return _FIELDS.get(field_of(column))


def holds(column: str, kinds: Collection[FieldKind]) -> bool:
    """Return True if a column is for values of one of some kinds."""
    field = traits_of(column)
    return field is not None and field.kind in kinds


def holds_days(column: str) -> bool:
    """Return True if a column is for dates."""
    return holds(column, {"day"})


# What a header names

HOLDER_COLUMNS: dict[str, str] = {}
"""The holder's column of each field that a payer has, too, by both names of the
field.
"""
for _column, _name in BANK_COLUMNS.items():
    HOLDER_COLUMNS[_name] = _column
    HOLDER_COLUMNS[SHARED_FIELDS[_name]] = _column

How = Literal["exact", "certain", "either", "ambiguous", "near", "unknown"]
"""How well a header is understood.

exact: it is our name, or the name on the wire. certain: a known name of one field.
either: a known name of a field that payer and account holder both have. ambiguous: a
known name of several fields, or of a field and something else. near: almost a known
name, or one with other words around it. unknown: anything else.
"""

_MAX_LENGTH = 100
"""Longer headers are notes, and name nothing."""

_LEAST_NEAR = 0.85
"""How alike a header and a known name must be, as difflib counts."""


@dataclass(frozen=True, slots=True)
class HeaderReading:
    """What a header may name.

    columns: ours, the likeliest first. needs: a column without which it is unsure.
    owner: the owner of the field, as the header names it: payer, holder, bank or
    somebody; "" if it names none.
    """

    columns: tuple[str, ...] = ()
    how: How = "unknown"
    needs: str = ""
    owner: str = ""

    @property
    def is_certain(self) -> bool:
        """Return True if the header is a known name of exactly one column."""
        return self.how in {"exact", "certain"}


NO_READING = HeaderReading()


@lru_cache(maxsize=1024)
def read_header(header: str) -> HeaderReading:
    """Return the columns that a header may name, and how well it is understood."""
    if header in OUR_NAMES:
        return HeaderReading((OUR_NAMES[header],), "exact")
    if len(header) > _MAX_LENGTH:
        return NO_READING
    return (
        _read_known(header) or _read_surrounded(header) or _near(header) or NO_READING
    )


def read_beside(
    header: str, others: Iterable[str], columns: Iterable[str]
) -> HeaderReading | None:
    """Return what a header means beside other columns of its table; None if they change
    nothing. columns: of ours that are certain.
    """
    rows = _beside().get(_joined(header))
    if rows is None:
        return None
    present = {_joined(other) for other in others}
    present.update(columns)
    for needs, column in rows:
        if present.isdisjoint(needs):
            continue
        if column == "-":
            return NO_READING
        return HeaderReading((column,), "ambiguous")
    return None


@cache
def _beside() -> Mapping[str, Sequence[tuple[set[str], str]]]:
    """Return for a joined header the joined names, or columns of ours, that change its
    meaning, and the column.
    """
    pairs = []
    for row in _rows("beside"):
        names = row["needs"].split("|")
        needs = {name if name in OUR_NAMES else _joined(name) for name in names}
        pairs.append((_joined(row["words"]), (needs, row["column"])))
    return _tsv.grouped(pairs)


def likely_column(name: str) -> str | None:
    """Return the column of payerkit that is likely meant by a name, or None."""
    columns = read_header(name).columns
    if columns:
        return columns[0]
    ours = [str(our) for our in OUR_NAMES]
    close = difflib.get_close_matches(name, ours, n=1, cutoff=0.75)
    return OUR_NAMES[close[0]] if close else None


def is_known_header(text: str) -> bool:
    """Return True if a text is a known name, be it certain or not; names that are
    merely near do not count.
    """
    if text in OUR_NAMES:
        return True
    # Without the guesses of read_header, which are slow, and near at best.
    reading = _read_known(text) if len(text) <= _MAX_LENGTH else None
    return reading is not None and reading.how not in {"near", "unknown"}


def _fold(header: str) -> str:
    """Return the words of a header as they are compared: # is the word number."""
    return fold(header.replace("#", " number "))


def _joined(header: str) -> str:
    """Return a header as the table of headers has it: its words without blanks."""
    return _fold(header).replace(" ", "")


def _look_up(words: str) -> HeaderReading | None:
    """Return the reading of folded words that are a known name."""
    return _headers().get(words.replace(" ", ""))


_IN_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*")


def _read_known(header: str) -> HeaderReading | None:
    """Return the reading of a header that is a known name, alone or with words that say
    whose or how.
    """
    words = _fold(header)
    return (
        _look_up(words)
        or _read_without_remark(header, words)
        or _read_with_owner(words)
        or _read_parts(header)
    )


def _read_without_remark(header: str, words: str) -> HeaderReading | None:
    """Return the reading of a header with words in brackets: the owner, a remark such
    as (required), or a doubt. A remark may stand at its end without brackets, too.
    """
    remarks = [_fold(remark) for remark in _IN_BRACKETS.findall(header)]
    bare = _fold(_IN_BRACKETS.sub(" ", header))
    if not remarks:
        for remark in _words("remark"):
            if words.endswith(f" {remark}"):
                return _look_up(words.removesuffix(remark))
        return None
    if len(remarks) == 1:
        owned = _read_with_owner(f"{remarks[0]} {bare}")
        if owned:
            return owned
    reading = _look_up(bare)
    if reading is None or all(remark in _words("remark") for remark in remarks):
        return reading
    return _doubted(reading)


def _doubted(reading: HeaderReading) -> HeaderReading:
    return HeaderReading(reading.columns, "near") if reading.columns else NO_READING


_OF = r"(?:of|of the|for|s|des|der|vom|von|de|del|de la|du|d|de l|da|do)"


def _read_with_owner(words: str) -> HeaderReading | None:
    """Return the reading of a header that says whose the field is, such as "Beneficiary
    country".
    """
    for kind, pattern in _owners().items():
        match = pattern.fullmatch(words)
        reading = _look_up(match["behind"] or match["before"]) if match else None
        if reading:
            return _owned(kind, reading)
    return None


def _owned(kind: str, reading: HeaderReading) -> HeaderReading:
    """Return a reading for a field whose owner is known: payer, holder, bank, or
    somebody who may be either.
    """
    if kind == "payer":
        payers = [column for column in reading.columns if column in fields_of(Payer)]
        return replace(_only(payers, reading), owner=kind)
    both = []
    holders = []
    for column in reading.columns:
        holder = HOLDER_COLUMNS.get(column, column)
        both += [column, holder]
        if holder in BANK_COLUMNS or holder in fields_of(BankDetails):
            holders.append(holder)
    if kind == "holder":
        return _only(list(dict.fromkeys(holders)), reading)
    if kind == "bank":
        # The country of a bank is not its customer's.
        columns = tuple(dict.fromkeys(both[1::2]))
        is_accounts = columns == tuple(holders) and not any(
            column in BANK_COLUMNS for column in columns
        )
        return HeaderReading(columns, reading.how if is_accounts else "ambiguous")
    return HeaderReading(tuple(dict.fromkeys(both)), "ambiguous")


def _only(columns: Sequence[str], reading: HeaderReading) -> HeaderReading:
    """Return a reading of some of its columns alone; it is near if others are left."""
    how = reading.how
    if not columns:
        how = "unknown"
    elif len(columns) < len(reading.columns):
        how = "near"
    return HeaderReading(tuple(columns), how, reading.needs)


def _read_parts(header: str) -> HeaderReading | None:
    """Return the reading of a header of several names, such as "Vorname / First
    name".
    """
    parts = [part for part in re.split(r"[/|;\n]| - |: ", header) if part.strip()]
    if len(parts) < 2:
        return None
    readings = [_look_up(_fold(part)) or NO_READING for part in parts]
    columns: dict[str, None] = {}
    for reading in readings:
        columns |= dict.fromkeys(reading.columns)
    if not columns:
        return None
    path = re.split(" - |: ", header)  # "Legal name - First name" is a first name
    last = _read_known(path[-1]) if len(path) > 1 else None
    is_one = len(columns) == 1 and all(reading.is_certain for reading in readings)
    names = last.columns if last else ()
    return HeaderReading(names or tuple(columns), "certain" if is_one else "ambiguous")


_NUMBERING = re.compile(r"q?[0-9]{1,2}")


def _read_surrounded(header: str) -> HeaderReading | None:
    """Return the reading of a known name among words of forms and exports: "Please
    enter your IBAN", "usr_email".
    """
    words = fold(_IN_BRACKETS.sub(" ", header).replace(".", " ")).split()
    inner = [
        place
        for place, word in enumerate(words)
        if word not in _words("around") and not _NUMBERING.fullmatch(word)
    ]
    if not inner:
        return None
    between = words[inner[0] : inner[-1] + 1]
    for name in (" ".join(between), " ".join(words[place] for place in inner)):
        reading = _look_up(name) or _read_with_owner(name)
        if reading:
            return _doubted(reading)
    return None


def _near(header: str) -> HeaderReading | None:
    """Return the reading of a header that is almost a known name of one field."""
    joined = _joined(header)
    if len(joined) < 4:
        return None
    names = []
    for name, reading in _headers().items():
        # Names of other lengths cannot be as alike.
        likeness = 2 * min(len(name), len(joined)) / (len(name) + len(joined))
        if reading.how in {"certain", "either"} and likeness >= _LEAST_NEAR:
            names.append(name)
    close = difflib.get_close_matches(joined, names, n=2, cutoff=_LEAST_NEAR)
    columns: dict[str, None] = {}
    for name in close:
        columns |= dict.fromkeys(_headers()[name].columns)
    return HeaderReading(tuple(columns), "near") if columns else None


@cache
def _headers() -> dict[str, HeaderReading]:
    """Return what each joined header names: by headers.tsv, else by the titles of
    forms, our names and the aliases of fields.
    """
    found = {}
    rows = _tsv.grouped((_joined(row["words"]), row) for row in _rows("header"))
    for joined, same in rows.items():
        found[joined] = _reading_of(same)
    for words, column in (*_titles(), *OUR_NAMES.items()):
        joined = _joined(str(words))
        if not _is_among(column, found.get(joined, NO_READING).columns):
            # "Bank country" may be the bank's own; only the name itself is the account
            # holder's.
            how: How = "ambiguous" if column in BANK_COLUMNS else "certain"
            found[joined] = HeaderReading((column,), how)
    for alias, column in _aliases():
        joined = _joined(alias)
        columns = found.get(joined, NO_READING).columns
        if not _is_among(column, columns):
            how = "ambiguous" if columns else "certain"
            found[joined] = HeaderReading((*columns, column), how)
    return found


def _reading_of(rows: Sequence[Mapping[str, str]]) -> HeaderReading:
    """Return what a header names by its rows of the table."""
    columns = dict.fromkeys(row["column"] for row in rows if row["column"] != "-")
    how: How = "either"
    if not columns:
        how = "unknown"
    elif any(row["sure"] != "*" for row in rows):
        how = "ambiguous"
    elif len(columns) == 1:
        how = "certain"
    needs = [row["needs"] for row in rows if row["needs"]]
    return HeaderReading(tuple(columns), how, needs[0] if needs else "")


def _titles() -> Iterator[tuple[str, str]]:
    """Yield the titles of the forms' fields with their columns; a title of both forms
    is the payer's.
    """
    for model in (Payer, BankDetails):
        for name, field in fields_of(model).items():
            for title in (field.title, field.business_title):
                if title:
                    yield title, name


def _aliases() -> Iterator[tuple[str, str]]:
    """Yield the aliases of the fields with their columns."""
    for model in (Payer, BankDetails):
        for name, field in fields_of(model).items():
            for alias in field.aliases:
                yield alias, name


def _is_among(column: str, columns: Iterable[str]) -> bool:
    """Return True if a column is one of some, or the holder's or payer's one beside
    it.
    """
    return _of_payer(column) in {_of_payer(name) for name in columns}


def _of_payer(column: str) -> str:
    """Return the payer's column of a field that the account holder has, too."""
    name = field_of(column)
    return SHARED_FIELDS.get(name, name)


def _rows(kind: str) -> list[dict[str, str]]:
    return [row for row in _tsv.rows(__package__, "headers") if row["kind"] == kind]


@cache
def _words(kind: str) -> tuple[str, ...]:
    """Return the folded words of a kind, the longest first."""
    words = [fold(row["words"]) for row in _rows(kind)]
    return tuple(sorted(words, key=len, reverse=True))


@cache
def _owners() -> dict[str, re.Pattern[str]]:
    """Return for each kind of owner the pattern of a folded header that names one,
    before or behind the field.
    """
    patterns = {}
    for kind in ("holder", "payer", "bank", "somebody"):
        names = "|".join(re.escape(words) for words in _words(kind))
        patterns[kind] = re.compile(
            rf"(?:{names})s? (?P<behind>.+)|(?P<before>.+?) (?:{_OF} )?(?:{names})"
        )
    return patterns


# Where the header is

IsKnown = Callable[[str], bool]

_MOST_ROWS = 40
"""Among the first so many rows that are not blank, the header is looked for."""


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a sheet's columns.

    row: of the header, as in the file, from 1. names: of each column, "" for none;
    below a row of groups as "Bank account: Country". unnamed: for each column without a
    name that has cells below the header, by its number from 0, the first row with one.
    """

    row: int
    names: Sequence[str]
    unnamed: Mapping[int, int]


def find_header(sheet: Sheet, is_known: IsKnown, row: int | None = None) -> Header:
    """Return the header of a sheet: the row with most known names, else the first that
    is as wide as the table.

    is_known: whether a text is a known name. row: the only row of the header, if a
    person says so. Raises InvalidInput for an empty sheet or row.
    """
    if row is not None:
        return _header_in(sheet, row)
    part = sheet.cells.dropna(how="all").head(_MOST_ROWS)
    if part.empty:
        raise InvalidInput(EMPTY)
    numbers = part.index.tolist()
    rows = [_cleaned(texts) for texts in part.to_numpy(dtype=object)]
    place = _place_of_names(rows, cache(is_known))
    names = rows[place]
    number = numbers[place]
    if place and numbers[place - 1] == number - 1:
        merged = {first: last for at, first, last in sheet.merged if at == number - 1}
        names = _grouped(rows[place - 1], names, merged)
    return _header(sheet, number, names)


def _header_in(sheet: Sheet, row: int) -> Header:
    """Return the header in the row that a person names."""
    if row not in sheet.cells.index or sheet.cells.loc[row].isna().all():
        raise InvalidInput(f"header_row: there is nothing in row {row} of the file.")
    return _header(sheet, row, _cleaned(sheet.cells.loc[row]))


def _header(sheet: Sheet, row: int, names: Sequence[str]) -> Header:
    below = sheet.cells.loc[sheet.cells.index > row]
    unnamed = {}
    for place, name in enumerate(names):
        if name:
            continue
        rows = below.index[below.iloc[:, place].notna()].tolist()
        if rows:
            unnamed[place] = rows[0]
    return Header(row, names, unnamed)


def _cleaned(texts: Iterable[object]) -> list[str]:
    """Return the names in a row: texts with single blanks, "" for a blank cell."""
    return [" ".join(text.split()) if isinstance(text, str) else "" for text in texts]


def _filled(row: Sequence[str]) -> int:
    """Return how many cells of a row are not blank."""
    return sum(bool(cell) for cell in row)


def _place_of_names(rows: Sequence[Sequence[str]], is_known: IsKnown) -> int:
    """Return which of some rows has the names."""
    known = [sum(is_known(cell) for cell in row if cell) for row in rows]
    most = max(known)
    best = known.index(most)
    if most >= 3 or 0 < _filled(rows[best]) <= 2 * most:
        return best
    widths = [_filled(row) for row in rows]
    return next(at for at, width in enumerate(widths) if 2 * width >= max(widths))


def _grouped(
    above: Sequence[str], names: list[str], merged: Mapping[int, int]
) -> list[str]:
    """Return the names of a row, each with the owner that the row above it names, if
    that is no title and no note.

    merged: the last of the merged cells in the row above, by the first.
    """
    places = [place for place, cell in enumerate(above) if cell]
    width = len(names)
    if places and merged.get(places[0], 0) - places[0] + 1 >= width:
        return names  # a title over the whole table
    has_figures = any(char.isdigit() for cell in above for char in cell)
    has_labels = any(cell.endswith(":") and value for cell, value in pairwise(above))
    # Those above a blank cell are names themselves, merged with it.
    beside = [place for place in places if names[place]]
    is_title = places == [0]
    if is_title or has_figures or has_labels or len(beside) >= _filled(names):
        return names
    found = names.copy()
    for place, following in pairwise([*places, width]):
        last = merged.get(place, place if merged else following - 1)
        if not names[place]:
            found[place] = above[place]
            continue
        for at in range(place, min(last + 1, following)):
            found[at] = above[place]
            if names[at]:
                found[at] = f"{above[place]}: {names[at]}"
    return found
