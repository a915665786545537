"""Our columns of a table, which of them fills which field, and which a header may name, from its words alone."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from payerkit import _tsv
from payerkit.checks.schema import BANK_DETAILS, FORMATS, PAYER, SHARED_FIELDS, Schema
from payerkit.checks.texts import fold
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
    found = {}
    for name in schema.fields:
        candidates = [name] if schema is PAYER else _candidates(name, present, holder_is_payer=holder_is_payer)
        column = next((each for each in candidates if each in present), None)
        if column is not None:
            found[name] = column
    return found if not own_columns(schema).isdisjoint(found.values()) else {}


def _candidates(name: str, present: Collection[str], *, holder_is_payer: bool) -> list[str]:
    """Return the columns that may fill a field of bank details, the first choice first."""
    if name not in SHARED_FIELDS:
        return [name]
    of_payer = SHARED_FIELDS[name]
    if not payer_columns(present):
        return [name, of_payer]
    return [*account_columns(name), *([of_payer] if holder_is_payer else [])]


def account_columns(name: str) -> list[str]:
    """Return the columns of a field of bank details in a table that has payers, too, the usual one first."""
    prefixed = [f"{_PREFIX}{name}"] if name in SHARED_FIELDS else []
    return prefixed if name in PAYER.fields else [*prefixed, name]


def payer_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that show that a table has payers, too, so that `country` is the payer's country.

    Those are columns that only payers have, and the columns with `bank_` in front, which tell both apart.
    """
    return [name for name in columns if name in own_columns(PAYER) or name in BANK_COLUMNS]


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


# Headers

HOLDER_COLUMNS = {name: column for column, field in BANK_COLUMNS.items() for name in (field, SHARED_FIELDS[field])}
"""The holder's column of each field that a payer has, too, by both names of the field."""

How = Literal["exact", "certain", "either", "ambiguous", "near", "unknown"]
"""How well a header is understood.

exact: it is our name, or the name on the wire. certain: a known name of one field. either: of one that a payer and the
account holder have. ambiguous: of several fields, or of one among other things. near: almost a known name, or one with
other words around it. unknown: anything else.
"""

_MAX_LENGTH = 100
"""Longer headers are notes, and are not searched for names that are near."""

_LEAST_NEAR = 0.85
"""How alike a header and a known name must be, as difflib counts."""


@dataclass(frozen=True, slots=True)
class HeaderReading:
    """What a header may name. columns: ours, the likeliest first. needs: a column without which it is unsure."""

    columns: tuple[str, ...] = ()
    how: How = "unknown"
    needs: str = ""

    @property
    def is_certain(self) -> bool:
        """Return True if the header is a known name of exactly one column."""
        return self.how in {"exact", "certain"}


NO_READING = HeaderReading()


@dataclass(frozen=True, slots=True)
class _Word:
    """A row of headers.tsv: a column that a header may name."""

    column: str
    is_sure: bool
    needs: str = ""


@lru_cache(maxsize=1024)
def read_header(header: str) -> HeaderReading:
    """Return the columns that a header may name, and how well it is understood."""
    if header in OUR_NAMES:
        return HeaderReading((OUR_NAMES[header],), "exact")
    found = _read_known(header)
    return found or _near(_joined(header)) or NO_READING


def likely_column(name: str) -> str | None:
    """Return the column of ours that a person may have meant by a name; None if none is likely."""
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
    words = _headers().get(_joined(header))
    return _reading(words) if words else None


def _reading(words: Iterable[_Word]) -> HeaderReading:
    words = tuple(words)
    columns = tuple(dict.fromkeys(word.column for word in words if word.column))
    is_sure = bool(columns) and all(word.is_sure for word in words)
    needs = next((word.needs for word in words if word.needs), "")
    known: How = "certain" if len(columns) == 1 else "either"
    return HeaderReading(columns, known if is_sure else "ambiguous" if columns else "unknown", needs)


_IN_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*")


def _read_without_remark(header: str) -> HeaderReading | None:
    """Return the reading of a header with words in brackets: whose it is, a remark such as (required), or a doubt."""
    bare = _IN_BRACKETS.sub(" ", header).strip()
    remarks = _IN_BRACKETS.findall(header)
    if not remarks:
        bare, remarks = _cut_remark(fold(header))
    if not bare or not remarks:
        return None
    owned = _read_with_owner(f"{remarks[0]} {bare}") if len(remarks) == 1 else None
    found = _look_up(bare)
    if owned or found is None:
        return owned
    return found if all(fold(remark) in _words("remark") for remark in remarks) else _doubted(found)


def _cut_remark(folded: str) -> tuple[str, list[str]]:
    """Return a folded header without the remark at its end, and that remark."""
    for remark in _words("remark"):
        if remark and folded.endswith(f" {remark}"):
            return folded.removesuffix(f" {remark}"), [remark]
    return folded, []


def _doubted(found: HeaderReading) -> HeaderReading:
    return HeaderReading(found.columns, "near" if found.columns else "unknown")


_OF = r"(?:of|of the|for|s|des|der|vom|von|de|del|de la|du|d|de l|da|do)"


def _read_with_owner(header: str) -> HeaderReading | None:
    """Return the reading of a header that says whose the field is, such as "Beneficiary country"."""
    folded = fold(header)
    for kind, pattern in _owners().items():
        match = pattern.fullmatch(folded)
        found = _look_up(match["behind"] or match["before"]) if match else None
        if found:
            return _owned(kind, found)
    return None


def _owned(kind: str, found: HeaderReading) -> HeaderReading:
    """Return a reading for a field whose owner is known: payer, holder, bank, or somebody who may be either."""
    if kind == "payer":
        is_payers = all(column in PAYER.fields for column in found.columns)
        return found if is_payers else _doubted(found)
    columns = tuple(dict.fromkeys(HOLDER_COLUMNS.get(column, column) for column in found.columns))
    if kind == "bank":
        is_accounts = all(column in BANK_DETAILS.fields for column in columns)
        return HeaderReading(columns, found.how if is_accounts else "ambiguous")
    if kind == "holder":
        is_holders = all(column in BANK_COLUMNS or column in BANK_DETAILS.fields for column in columns)
        return HeaderReading(columns, found.how, found.needs) if is_holders else _doubted(found)
    both = tuple(each for column in found.columns for each in (column, HOLDER_COLUMNS.get(column, column)))
    return HeaderReading(tuple(dict.fromkeys(both)), "ambiguous" if both else "unknown")


def _read_parts(header: str) -> HeaderReading | None:
    """Return the reading of a header of several names, such as "Vorname / First name"."""
    parts = [part for part in re.split(r"[/|;\n]| - |: ", header) if part.strip()]
    found = [_look_up(part) or NO_READING for part in parts]
    if len(parts) < 2 or not any(each.columns for each in found):
        return None
    columns = tuple(dict.fromkeys(column for each in found for column in each.columns))
    is_one = len(columns) == 1 and all(each.is_certain for each in found)
    return HeaderReading(columns, "certain" if is_one else "ambiguous")


def _near(joined: str) -> HeaderReading | None:
    """Return the reading of a header that is almost a known name of one field."""
    if not 4 <= len(joined) <= _MAX_LENGTH:
        return None
    most = len(joined) * (2 / _LEAST_NEAR - 1)  # a name that is longer, or as much shorter, cannot be near
    alike = [name for name in _sure_headers() if len(joined) ** 2 / most <= len(name) <= most]
    close = difflib.get_close_matches(joined, alike, n=2, cutoff=_LEAST_NEAR)
    words = (word.column for name in close for word in _headers()[name] if word.column)
    columns = tuple(dict.fromkeys(words))
    return HeaderReading(columns, "near") if columns else None


def _joined(header: str) -> str:
    """Return a header as the table has it: folded, without blanks, # as number."""
    return fold(header.replace("#", " number ")).replace(" ", "")


@cache
def _headers() -> dict[str, tuple[_Word, ...]]:
    """Return the columns by joined header: of headers.tsv, then the titles of forms and our names, if it lacks them."""
    found: defaultdict[str, list[_Word]] = defaultdict(list)
    for row in _rows("header"):
        column = "" if row["column"] == "-" else row["column"]
        found[_joined(row["words"])].append(_Word(column, row["sure"] == "*", row["needs"]))
    for words, column in (*_titles(), *((str(name), column) for name, column in OUR_NAMES.items())):
        found.setdefault(_joined(words), [_Word(column, is_sure=True)])
    return {words: tuple(columns) for words, columns in found.items()}


@cache
def _sure_headers() -> tuple[str, ...]:
    return tuple(name for name, words in _headers().items() if _reading(words).how in {"certain", "either"})


def _titles() -> Iterable[tuple[str, str]]:
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
