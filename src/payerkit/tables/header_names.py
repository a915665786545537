"""Which columns of ours a header may name, from its words alone."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from payerkit import _tsv
from payerkit.checks.schema import BANK_DETAILS, PAYER, SHARED_FIELDS
from payerkit.checks.texts import fold
from payerkit.tables.columns import BANK_COLUMNS, OUR_NAMES

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
    if kind == "holder":
        columns = tuple(dict.fromkeys(HOLDER_COLUMNS.get(column, column) for column in found.columns))
        is_holders = all(column in BANK_COLUMNS or column in BANK_DETAILS.fields for column in columns)
        return HeaderReading(columns, found.how, found.needs) if is_holders else _doubted(found)
    if kind == "bank":
        columns = tuple(dict.fromkeys(HOLDER_COLUMNS.get(column, column) for column in found.columns))
        is_accounts = all(column in BANK_DETAILS.fields for column in columns)
        return HeaderReading(columns, found.how) if is_accounts else HeaderReading(columns, "ambiguous")
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
