"""What a corrections file says about itself: of the file in a cell of its header, and of each row in a cell of the row.

These texts are in a column of their own, the last one. Spreadsheet programs keep it, also when they save as CSV.
"""

from __future__ import annotations

import binascii
import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, Self

from payerkit.findings import Finding

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
    """What a row says about itself: its label in the table that the file was made of, and its damaged cells."""

    label: int | str
    damage: Sequence[DamageMark] = ()

    def write(self) -> str:
        """Return the token."""
        marks = [
            [mark.column, mark.digest, *(getattr(mark.finding, name) for name in _FINDING)] for mark in self.damage
        ]
        return _encode([self.label, *marks])

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what a token says. Raises ValueError for any other text."""
        label, *marks = _decode(text)
        damage = [
            DamageMark(column, digest, Finding(**dict(zip(_FINDING, finding, strict=True))))
            for column, digest, *finding in marks
        ]
        return cls(label, damage)


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
