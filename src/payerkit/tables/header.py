"""The columns of a table: ours, what a header may name from its words alone, and where the header of a sheet is.

A header may have titles above it, stand in two rows, or lack names.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

from payerkit import _tsv
from payerkit.checks.schema import BANK_DETAILS, FORMATS, PAYER, SHARED_FIELDS, Schema
from payerkit.checks.texts import fold
from payerkit.errors import InvalidInput
from payerkit.tables.sheet import Sheet
from payerkit.tables.text_files import EMPTY
from payerkit.wire import wire_name

_PREFIX = "bank_"

BANK_COLUMNS = {f"{_PREFIX}{name}": name for name in SHARED_FIELDS}
"""Columns of the account holder, in a table that has payers, too."""

HOLDER_IS_PAYER = "holder_is_payer"
"""The column that says for each row whether the account holder is the payer; it is not sent."""

OUR_NAMES: dict[object, str] = {
    **{name: name for name in BANK_COLUMNS},
    **dict.fromkeys((HOLDER_IS_PAYER, wire_name(HOLDER_IS_PAYER)), HOLDER_IS_PAYER),
    **BANK_DETAILS.names,
    **PAYER.names,
}
"""Names that a column may have, and the one that it gets."""


def columns_by_field(schema: Schema, columns: Iterable[str], *, holder_is_payer: bool = False) -> dict[str, str]:
    """Return the column that fills each field of a schema; empty if no column is for this schema alone.

    holder_is_payer: the payer's columns fill the fields of the account holder that have no column of their own.
    """
    present = set(columns)
    has_payers = bool(payer_columns(present))
    found = {}
    for name in schema.fields:
        candidates = [name]
        if schema is not PAYER and name in SHARED_FIELDS:
            of_payer = [SHARED_FIELDS[name]] if holder_is_payer or not has_payers else []
            candidates = [*(account_columns(name) if has_payers else [name]), *of_payer]
        if column := next(filter(present.__contains__, candidates), None):
            found[name] = column
    return found if not own_columns(schema).isdisjoint(found.values()) else {}


def account_columns(name: str) -> list[str]:
    """Return the columns of a field of bank details in a table that has payers, too, the usual one first."""
    prefixed = [f"{_PREFIX}{name}"] if name in SHARED_FIELDS else []
    return prefixed if name in PAYER.fields else [*prefixed, name]


def payer_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that show that a table has payers, too, so that `country` is the payer's country.

    Those are columns that only payers have, and the columns with `bank_` in front, which tell both apart.
    """
    own = own_columns(PAYER)
    return [name for name in columns if name in own or name in BANK_COLUMNS]


def own_columns(schema: Schema) -> set[str]:
    """Return the columns that are for this schema alone: a row in which all of them are blank is not about it."""
    if schema is PAYER:
        return set(PAYER.fields) - set(SHARED_FIELDS) - {"client_user_id", "postcode"}
    return set(BANK_DETAILS.fields) - set(SHARED_FIELDS) | set(BANK_COLUMNS)


def field_of(column: str) -> str:
    """Return the field of a column: its name without the `bank_` of the account holder's."""
    return BANK_COLUMNS.get(column, column)


def holds_days(column: str) -> bool:
    """Return True if a column is for dates."""
    fields = {**PAYER.fields, **BANK_DETAILS.fields}
    return column != HOLDER_IS_PAYER and fields[field_of(column)].format is FORMATS["day"]


# What a header names

HOLDER_COLUMNS = {name: column for column, field in BANK_COLUMNS.items() for name in (field, SHARED_FIELDS[field])}
"""The holder's column of each field that a payer has, too, by both names of the field."""

How = Literal["exact", "certain", "either", "ambiguous", "near", "unknown"]
"""How well a header is understood.

exact: it is our name, or the name on the wire. certain: a known name of one field. either: a known name of a field that
payer and account holder both have. ambiguous: a known name of several fields, or of a field and something else. near:
almost a known name, or one with other words around it. unknown: anything else.
"""

_MAX_LENGTH = 100
"""Longer headers are notes, and are not searched for names that are near."""

_LEAST_NEAR = 0.85
"""How alike a header and a known name must be, as difflib counts."""


@dataclass(frozen=True, slots=True)
class HeaderReading:
    """What a header may name.

    columns: ours, the likeliest first. needs: a column without which it is unsure. owner: the owner of the field, as
    the header names it: payer, holder, bank or somebody; "" if it names none.
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
    return _read_known(header) or _read_surrounded(header) or _near(_joined(header)) or NO_READING


def read_beside(header: str, others: Iterable[str]) -> HeaderReading | None:
    """Return what a header means beside other columns of its table; None if they change nothing."""
    rows = _beside().get(_joined(header), ())
    joined = [_joined(other) for other in others] if rows else []
    for names, column in rows:
        if any(other.startswith(name[:-1]) if name[-1] == "*" else other == name for other in joined for name in names):
            return NO_READING if column == "-" else HeaderReading((column,), "ambiguous")
    return None


@cache
def _beside() -> dict[str, list[tuple[list[str], str]]]:
    """Return for a joined header the names that change its meaning, joined or with * at the end, and the column."""
    found: defaultdict[str, list[tuple[list[str], str]]] = defaultdict(list)
    for row in _rows("beside"):
        names = [_joined(name) + "*" * name.endswith("*") for name in row["needs"].split("|")]
        found[_joined(row["words"])].append((names, row["column"]))
    return found


def likely_column(name: str) -> str | None:
    """Return the column of payerkit that is likely meant by a name, or None."""
    found = read_header(name).columns or difflib.get_close_matches(name, list(map(str, OUR_NAMES)), n=1, cutoff=0.75)
    return OUR_NAMES[found[0]] if found else None


def is_known_header(text: str) -> bool:
    """Return True if a text is a known name, be it certain or not; names that are merely near do not count."""
    return text in OUR_NAMES or _read_known(text) is not None


def _read_known(header: str) -> HeaderReading | None:
    """Return the reading of a header that is a known name, alone or with words that say whose or how."""
    if len(header) > _MAX_LENGTH:
        return None
    return _look_up(header) or _read_without_remark(header) or _read_with_owner(header) or _read_parts(header)


def _look_up(header: str) -> HeaderReading | None:
    return _headers().get(_joined(header))


_IN_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*")


def _read_without_remark(header: str) -> HeaderReading | None:
    """Return the reading of a header with words in brackets: the owner, a remark such as (required), or a doubt."""
    bare = _IN_BRACKETS.sub(" ", header).strip()
    remarks = _IN_BRACKETS.findall(header)
    if not remarks:
        bare = fold(header)
        remarks = [remark for remark in _words("remark") if remark and bare.endswith(f" {remark}")][:1]
        bare = bare.removesuffix(f" {''.join(remarks)}")
    if not bare or not remarks:
        return None
    owned = _read_with_owner(f"{remarks[0]} {bare}") if len(remarks) == 1 else None
    found = _look_up(bare)
    if owned or found is None:
        return owned
    return found if all(fold(remark) in _words("remark") for remark in remarks) else _doubted(found)


def _doubted(found: HeaderReading) -> HeaderReading:
    return HeaderReading(found.columns, "near" if found.columns else "unknown")


_OF = r"(?:of|of the|for|s|des|der|vom|von|de|del|de la|du|d|de l|da|do)"


def _read_with_owner(header: str) -> HeaderReading | None:
    """Return the reading of a header that says whose the field is, such as "Beneficiary country"."""
    folded = fold(header)
    for kind, pattern in _owners().items():
        match = pattern.fullmatch(folded)
        if match and (found := _look_up(match["behind"] or match["before"])):
            return _owned(kind, found)
    return None


def _owned(kind: str, found: HeaderReading) -> HeaderReading:
    """Return a reading for a field whose owner is known: payer, holder, bank, or somebody who may be either."""
    if kind == "payer":
        columns = tuple(column for column in found.columns if column in PAYER.fields)
        is_payers = len(columns) == len(found.columns)
        return replace(
            found, columns=columns, how=found.how if is_payers else "near" if columns else "unknown", owner=kind
        )
    columns = tuple(dict.fromkeys(HOLDER_COLUMNS.get(column, column) for column in found.columns))
    if kind == "bank":  # the country of a bank is not its customer's
        is_accounts = all(column in BANK_DETAILS.fields and column not in BANK_COLUMNS for column in columns)
        return HeaderReading(columns, found.how if is_accounts else "ambiguous")
    if kind == "holder":
        holders = tuple(column for column in columns if column in BANK_COLUMNS or column in BANK_DETAILS.fields)
        how = found.how if len(holders) == len(columns) else "near"
        return HeaderReading(holders, how if holders else "unknown", found.needs)
    both = tuple(each for column in found.columns for each in (column, HOLDER_COLUMNS.get(column, column)))
    return HeaderReading(tuple(dict.fromkeys(both)), "ambiguous" if both else "unknown")


def _read_parts(header: str) -> HeaderReading | None:
    """Return the reading of a header of several names, such as "Vorname / First name"."""
    parts = [part for part in re.split(r"[/|;\n]| - |: ", header) if part.strip()]
    if len(parts) < 2:
        return None
    found = [_look_up(part) or NO_READING for part in parts]
    columns = tuple(dict.fromkeys(column for each in found for column in each.columns))
    if not columns:
        return None
    is_one = len(columns) == 1 and all(each.is_certain for each in found)
    path = re.split(" - |: ", header)  # "Legal name - First name" is a first name
    last = (_read_known(path[-1]) or NO_READING).columns if len(path) > 1 else ()
    return HeaderReading(last or columns, "certain" if is_one else "ambiguous")


_NUMBERING = re.compile(r"q?[0-9]{1,2}").fullmatch


def _read_surrounded(header: str) -> HeaderReading | None:
    """Return the reading of a known name among words of forms and exports: "Please enter your IBAN", "usr_email"."""
    bare = _IN_BRACKETS.sub(" ", header).replace(".", " ")
    words = fold(bare).split() if len(header) <= _MAX_LENGTH else []
    are_around = [word in _words("around") or _NUMBERING(word) is not None for word in words]
    inner = [word for word, is_around in zip(words, are_around, strict=True) if not is_around]
    first = next((place for place, is_around in enumerate(are_around) if not is_around), 0)
    last = len(words) - next((place for place, is_around in enumerate(reversed(are_around)) if not is_around), 0)
    for name in (" ".join(words[first:last]), " ".join(inner)):
        if inner and (found := _look_up(name) or _read_with_owner(name)):
            return _doubted(found)
    return None


def _near(joined: str) -> HeaderReading | None:
    """Return the reading of a header that is almost a known name of one field."""
    if not 4 <= len(joined) <= _MAX_LENGTH:
        return None
    most = len(joined) * (2 / _LEAST_NEAR - 1)  # a name that is longer, or as much shorter, cannot be near
    sure = [name for name, found in _headers().items() if found.how in {"certain", "either"}]
    alike = [name for name in sure if len(joined) ** 2 / most <= len(name) <= most]
    close = difflib.get_close_matches(joined, alike, n=2, cutoff=_LEAST_NEAR)
    columns = tuple(dict.fromkeys(column for name in close for column in _headers()[name].columns))
    return HeaderReading(columns, "near") if columns else None


def _joined(header: str) -> str:
    """Return a header as the table has it: folded, without blanks, # as number."""
    return fold(header.replace("#", " number ")).replace(" ", "")


@cache
def _headers() -> dict[str, HeaderReading]:
    """Return what each joined header names: by headers.tsv, else by the titles of forms and our names."""
    found = {}
    for joined, same in _tsv.grouped((_joined(row["words"]), row) for row in _rows("header")).items():
        columns = tuple(dict.fromkeys(row["column"] for row in same if row["column"] != "-"))
        how: How = "unknown" if not columns else "certain" if len(columns) == 1 else "either"
        if columns and any(row["sure"] != "*" for row in same):
            how = "ambiguous"
        found[joined] = HeaderReading(columns, how, next((row["needs"] for row in same if row["needs"]), ""))
    for words, column in (*_titles(), *OUR_NAMES.items()):
        # "Bank country" may be the bank's own; only the name itself is the account holder's
        found.setdefault(
            _joined(str(words)), HeaderReading((column,), "ambiguous" if column in BANK_COLUMNS else "certain")
        )
    return found


def _titles() -> Iterator[tuple[str, str]]:
    """Yield the titles of the forms' fields with their columns; a title of both forms is the payer's."""
    for schema in (PAYER, BANK_DETAILS):
        for name, field in schema.fields.items():
            yield from ((title, name) for title in (field.title, field.business_title) if title)


def _rows(kind: str) -> list[dict[str, str]]:
    return [row for row in _tsv.rows(__package__, "headers") if row["kind"] == kind]


@cache
def _words(kind: str) -> tuple[str, ...]:
    """Return the folded words of a kind, the longest first."""
    return tuple(sorted((fold(row["words"]) for row in _rows(kind)), key=len, reverse=True))


@cache
def _owners() -> dict[str, re.Pattern[str]]:
    """Return for each kind of owner the pattern of a folded header that names one, before or behind the field."""
    patterns = {}
    for kind in ("holder", "payer", "bank", "somebody"):
        names = "|".join(map(re.escape, _words(kind)))
        patterns[kind] = re.compile(rf"(?:{names})s? (?P<behind>.+)|(?P<before>.+?) (?:{_OF} )?(?:{names})")
    return patterns


# Where the header is

IsKnown = Callable[[str], bool]

_MOST_ROWS = 40
"""Among the first so many rows that are not blank, the header is looked for."""


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a sheet's columns.

    row: the last row of the header, as in the file, from 1. names: of each column, "" for none; from a header of two
    rows as "Bank account: Country". unnamed: for each column without a name that has cells below the header, by its
    number from 0, the first row with one.
    """

    row: int
    names: tuple[str, ...]
    unnamed: Mapping[int, int]


def find_header(sheet: Sheet, is_known: IsKnown) -> Header:
    """Return the header of a sheet: the row with most known names, else the first that is as wide as the table.

    is_known: whether a text is a known name. Raises InvalidInput for an empty sheet.
    """
    top = _Top(sheet, is_known)
    at = top.best()
    names = top.grouped(at) or top.cells[at]
    if at + 1 < len(top.cells):
        own, below, joined = top.known(top.cells[at]), top.known(top.cells[at + 1]), top.known(top.joined(at))
        if joined > max(own, below):  # the names go on in the row below
            at += 1
            grouped = top.grouped(at)
            names = grouped if grouped and top.known(grouped) >= joined else top.joined(at - 1)
        elif names is top.cells[at] and below >= 2 and 2 * below > top.filled(at + 1):
            at += 1  # the names are repeated there, in another language
    number = top.numbers[at]
    unnamed = {}
    for place, name in enumerate(names):
        if not name:
            rows = sheet.cells.index[(sheet.cells.index > number) & sheet.cells.iloc[:, place].notna().to_numpy()]
            if len(rows):
                unnamed[place] = int(rows[0])
    return Header(number, tuple(names), unnamed)


class _Top:
    """The first rows of a sheet that are not blank: their numbers, and a text for each column, "" where blank."""

    def __init__(self, sheet: Sheet, is_known: IsKnown) -> None:
        self._sheet = sheet
        self._is_known = cache(is_known)  # each cell is asked about more than once
        part = sheet.cells.dropna(how="all").head(_MOST_ROWS)
        if part.empty:
            raise InvalidInput(EMPTY)
        self.numbers: list[int] = part.index.tolist()
        self.cells = [
            [" ".join(text.split()) if isinstance(text, str) else "" for text in texts]
            for texts in part.to_numpy(dtype=object)
        ]

    def known(self, names: Iterable[str]) -> int:
        """Return how many of some names are known."""
        return sum(map(self._is_known, filter(None, names)))

    def filled(self, at: int) -> int:
        """Return how many cells of a row are not blank."""
        return sum(map(bool, self.cells[at]))

    def joined(self, at: int) -> list[str]:
        """Return the names that stand in a row and the one below it."""
        pairs = zip(self.cells[at], self.cells[at + 1], strict=True) if at + 1 < len(self.cells) else ()
        return [f"{one} {other}".strip() for one, other in pairs]

    def best(self) -> int:
        """Return which of the rows has the names; of two rows that have them together, the first."""
        best, most = 0, (-1, -1)
        for at, cells in enumerate(self.cells):
            known = self.known(cells)
            rank = (max(known, self.known(self.joined(at))), known)
            if rank > most:
                best, most = at, rank
        if most[0] and (most[0] >= 3 or 2 * most[0] >= self.filled(best)):
            return best
        widths = list(map(self.filled, range(len(self.cells))))
        return next(at for at, width in enumerate(widths) if 2 * width >= max(widths))

    def grouped(self, at: int) -> list[str] | None:
        """Return the names of a row, each with the owner that the row above it names.

        None if the row above is missing, a title or a note.
        """
        if at == 0 or self.numbers[at - 1] != self.numbers[at] - 1:
            return None
        above, own = self.cells[at - 1], self.cells[at]
        places = [place for place, cell in enumerate(above) if cell]
        merged = {first: last for row, first, last in self._sheet.merged if row == self.numbers[at - 1]}
        is_title = len(places) == 1 and (places[0] == 0 or merged.get(places[0], 0) - places[0] + 1 >= len(own))
        has_figures = any(char.isdigit() for cell in above for char in cell)
        has_labels = any(cell.endswith(":") and value for cell, value in pairwise(above))
        beside = [place for place in places if own[place]]  # the others are names, merged with the cell below
        if is_title or has_figures or has_labels or len(beside) >= self.filled(at):
            return None
        names = own.copy()
        for place, following in zip(places, [*places[1:], len(own)], strict=True):
            last = merged.get(place, place if merged else following - 1)
            if not own[place]:  # a name of its own, merged with the cell below it
                names[place] = above[place]
                continue
            for each in range(place, min(last + 1, following, len(own))):
                names[each] = f"{above[place]}: {own[each]}" if own[each] else above[place]
        return names
