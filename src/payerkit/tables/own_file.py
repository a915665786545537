"""A corrections file, read again: what its columns are, which row is which, and which cells are still damaged."""

from __future__ import annotations

import binascii
import json
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple, Self

import pandas as pd

from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.tables.columns import field_of
from payerkit.tables.damage import file_finding
from payerkit.tables.sheet import Sheet
from payerkit.tables.source_table import CellFinding
from payerkit.tables.spreadsheets import inert

TITLE = "payerkit: leave this column as it is"
"""How the header of the column begins."""

_MARK = "pk1."
"""How each token begins; the number is that of the format."""

_FINDING = ("field", "wire_name", "message", "code", "severity", "hint", "basis")
"""What is kept of a finding."""


@dataclass(frozen=True, slots=True)
class FileToken:
    """What a file says about itself.

    headers: the sender's columns, as the file has them. fields: of each, None for one that was left out. ours: the
    headers of payerkit's columns. settings: how the sender's file was read. last: the highest row number of the table,
    None if its rows have other labels. is_escaped: cells that a spreadsheet would compute have ' in front.
    """

    headers: Sequence[str]
    fields: Sequence[str | None]
    ours: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    last: int | None = None
    is_escaped: bool = False

    def write(self) -> str:
        """Return the header of the column of tokens."""
        return f"{TITLE} {_encode(asdict(self))}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what such a header says. Raises ValueError for any other text."""
        try:
            return cls(**_decode(text.removeprefix(TITLE).strip()))
        except TypeError as error:
            raise ValueError(str(error)) from None


@dataclass(frozen=True, slots=True)
class DamageMark:
    """A damaged cell: its column in the table, and the digest of its text; "" if the finding holds for any text."""

    column: str
    digest: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class RowToken:
    """What a row says about itself.

    label: in the table that the file was made of. id_digest: of its client user id, "" if that may be corrected.
    fragile: for each column with a text that a spreadsheet would rewrite, the digest of what it would make of that.
    damage: its damaged cells.
    """

    label: int | str
    id_digest: str = ""
    fragile: Mapping[str, str] = field(default_factory=dict)
    damage: Sequence[DamageMark] = ()

    @classmethod
    def of(cls, label: Hashable, sound: Mapping[str, str], damage: Sequence[DamageMark]) -> Self:
        """Return the token of a row. sound: its texts in which nothing is wrong, by column of the table."""
        id_text = sound.get(_ID, "")
        fragile = {name: text_digest(_plain(text)) for name, text in sound.items() if name != _ID and _is_fragile(text)}
        shown = label if isinstance(label, int | str) else str(label)
        return cls(shown, text_digest(id_text) if id_text else "", fragile, damage)

    def write(self) -> str:
        """Return the token."""
        marks = [
            [mark.column, mark.digest, *(getattr(mark.finding, name) for name in _FINDING)] for mark in self.damage
        ]
        return _encode([self.label, self.id_digest, self.fragile, *marks])

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what a token says. Raises ValueError for any other text."""
        label, id_digest, fragile, *marks = _decode(text)
        damage = [
            DamageMark(column, digest, Finding(**dict(zip(_FINDING, finding, strict=True))))
            for column, digest, *finding in marks
        ]
        return cls(label, id_digest, fragile, damage)

    def find(self, columns: Mapping[str, Sequence[str | None]], place: int) -> Iterator[tuple[str, Finding]]:
        """Yield what is wrong with the row's cells now, by column of the table: still, or since the file was made.

        columns: the cells of all rows. place: of this row.
        """
        named = {*(mark.column for mark in self.damage), _ID, *self.fragile} & columns.keys()
        cells = {name: columns[name][place] for name in named}
        for mark in self.damage:
            if mark.column in cells and mark.digest in {"", text_digest(cells[mark.column] or "")}:
                yield mark.column, mark.finding
        id_text = cells.get(_ID)
        if self.id_digest and id_text and text_digest(id_text) != self.id_digest:
            yield _ID, file_finding("id_changed", _ID)
        for column, digest in self.fragile.items():
            text = cells.get(column)
            if text and not _is_fragile(text) and text_digest(_plain(text)) == digest:
                yield column, file_finding("rewritten", field_of(column))


_ID = "client_user_id"

_is_number = re.compile("[+]?[0-9]+").fullmatch
_is_fragile = re.compile("(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}|[+0][0-9]+|[1-9][0-9]{14}(?!0+$)[0-9]+").fullmatch
"""Matches what a spreadsheet rewrites: an ISO date, a number with zeros or a plus in front, or with too many digits."""


def _plain(text: str) -> str:
    """Return the same text for a fragile one and for what spreadsheets make of it: 15 digits, or day and month swapped.

    A year counts by its last two digits.
    """
    parts = re.findall("[0-9]+", text)
    if len(parts) == 3:
        return " ".join(sorted(f"{int(part) % 100:02}" for part in parts))
    digits = text.strip().lstrip("+0")
    return digits[:15].ljust(len(digits), "0") if _is_number(text.strip()) else text


def text_digest(text: str) -> str:
    """Return a short hash of a cell, however its lines end."""
    lines = "\n".join(text.splitlines())
    return blake2b(lines.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _encode(content: Any) -> str:
    packed = zlib.compress(json.dumps(content, separators=(",", ":"), default=list).encode())
    return _MARK + urlsafe_b64encode(packed).decode().rstrip("=")


def _decode(text: str) -> Any:
    """Return what a token holds. Raises ValueError if it is none, or was cut."""
    packed = text.strip().removeprefix(_MARK)
    if packed == text.strip():
        raise ValueError("no token of this format")
    try:
        return json.loads(zlib.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4))))
    except (binascii.Error, zlib.error) as error:
        raise ValueError(str(error)) from None


_HEADER_ROWS = 20
"""Rows among which the header is looked for: a person may have added some above it."""

_ADVICE = "Take it from the file as it was saved, or save the plan once more."


class IdentifiedRows(NamedTuple):
    """Rows of a corrections file.

    numbers: the file's row of each label of the table that it was made of; new rows have new labels. findings: about
    cells that were damaged, and still have the text of then, or that were rewritten since.
    """

    numbers: dict[Hashable, int]
    findings: list[CellFinding]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """What a corrections file says about itself.

    columns: the field of each of the sender's columns, by its number in this file; None for one that is left out. A
    column that a person added is not among them. ours: the numbers of payerkit's columns. settings: how the sender's
    file was read.
    """

    columns: Mapping[int, str | None]
    ours: frozenset[int]
    settings: Mapping[str, Any]
    token_column: int
    last: int | None = field(repr=False)
    is_escaped: bool = field(repr=False)

    def restore(self, cells: pd.DataFrame) -> pd.DataFrame:
        """Return cells without the apostrophes that keep spreadsheets from computing them."""
        return cells.map(_unescaped, na_action="ignore") if self.is_escaped else cells

    def identify(self, rows: pd.DataFrame) -> IdentifiedRows:
        """Return which rows these are. rows: the cells, restored, by the numbers of the file's rows and columns.

        A row without a token is a new one, and so is the second row with one token. Raises InvalidInput for a token
        that was changed.
        """
        columns = {
            name: [None if pd.isna(cell) else str(cell) for cell in rows[number]]
            for number, name in self.columns.items()
            if name is not None
        }
        numbers: dict[Hashable, int] = {}
        findings: list[CellFinding] = []
        new_labels = self._new_labels()
        for place, (row, text) in enumerate(zip(rows.index.tolist(), rows[self.token_column].tolist(), strict=True)):
            token = None if pd.isna(text) or not str(text).strip() else _read_token(str(text), row)
            label = next(new_labels) if token is None or token.label in numbers else token.label
            numbers[label] = row
            if token is not None:
                found = token.find(columns, place)
                findings += (CellFinding(label, name, columns[name][place], each) for name, each in found)
        return IdentifiedRows(numbers, findings)

    def _new_labels(self) -> Iterator[int | str]:
        """Yield labels that no row of the table has."""
        return count(self.last + 1) if self.last is not None else (f"new row {number}" for number in count(1))


def own_header(sheet: Sheet) -> int | None:
    """Return the number of the header's row in a corrections file; None for any other sheet."""
    first = sheet.cells.head(_HEADER_ROWS)
    rows = zip(first.index.tolist(), first.to_numpy(object), strict=True)
    has_token = (row for row, texts in rows if any(isinstance(text, str) and text.startswith(TITLE) for text in texts))
    return next(has_token, None)


def own_file(names: Sequence[str | None]) -> OwnFile | None:
    """Return what a corrections file says about itself; None for any other file. names: the cells of its header.

    Raises InvalidInput if it cannot be understood.
    """
    cells = ["" if pd.isna(name) else str(name) for name in names]
    places = [number for number, name in enumerate(cells) if name.startswith(TITLE)]
    if not places:
        return None
    try:
        token = FileToken.read(cells[places[0]])
    except ValueError:
        pass
    else:
        texts = list(map(_unescaped, cells)) if token.is_escaped else cells
        ours = {places[0], *(texts.index(name) for name in token.ours if name in texts)}
        columns = _match(texts, token, ours)
        return OwnFile(columns, frozenset(ours), token.settings, places[0], token.last, token.is_escaped)
    message = "source: the last name in the header, which payerkit wrote, was changed, or is of a newer payerkit."
    raise InvalidInput(message, advice=_ADVICE)


def escaped(text: str) -> str:
    """Return a text with ' in front if a spreadsheet would compute it, or if it begins with ' already."""
    return f"'{text}" if text.startswith("'") else inert(text)


def _unescaped(text: str) -> str:
    """Return a text as it was before `escaped`."""
    return text[1:] if text.startswith("'") and escaped(text[1:]) == text else text


def _match(names: Sequence[str], token: FileToken, ours: Collection[int]) -> dict[int, str | None]:
    """Return the fields of the sender's columns, which may have been sorted, removed or joined by others.

    No two of them had one name; of columns with one name now, the first is the one that had it.
    """
    fields = dict(zip(token.headers, token.fields, strict=True))
    return {number: fields.pop(name) for number, name in enumerate(names) if number not in ours and name in fields}


def _read_token(text: str, row: Hashable) -> RowToken:
    try:
        return RowToken.read(text)
    except (ValueError, TypeError):
        pass
    raise InvalidInput(f"source: row {row}: its last cell, which payerkit wrote, was changed.", advice=_ADVICE)
