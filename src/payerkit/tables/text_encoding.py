"""The text of a file: what is no text is refused, and an encoding other than Unicode is known by the file's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from payerkit import _tsv
from payerkit.errors import InvalidInput

_MARKS = {  # the longer mark first: that of UTF-16 begins that of UTF-32
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
"""The encodings of Unicode by the byte order mark in front."""

_OTHER_FILES = {
    b"%PDF": "a PDF. Ask for the table itself, as an Excel or CSV file.",
    b"PK\x03\x04": "a zip archive. Unpack it, and read the table in it.",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Give it the ending .xls.",
    b"\x1f\x8b": "compressed with gzip. Unpack it first.",
    b"PAR1": "a Parquet file. Read it with pandas.read_parquet(...), and pass the DataFrame.",
    b"{\\rtf": "a document (RTF). Ask for the table itself, as an Excel or CSV file.",
    b"<": "a web page or XML. Open it in a spreadsheet program and save it as CSV UTF-8.",
    b"[{": "JSON. Read it with pandas.read_json(..., dtype=False), and pass the DataFrame.",
    b'{"': "JSON. Read it with pandas.read_json(..., dtype=False), and pass the DataFrame.",
}
"""Files that are no tables of text, by how they begin: what they are, and what to do."""

_WORKBOOKS = {
    b"xl/workbook": "an Excel workbook. Give it the ending .xlsx.",
    b"opendocument.spreadsheet": "a spreadsheet of LibreOffice. Give it the ending .ods.",
    b".iwa": "a spreadsheet of Numbers. Export it there as Excel or CSV.",
}
"""Zip archives that are workbooks, by a name that is in them."""

_ENCODING_ADVICE = (
    "Save it as CSV UTF-8. If you know its encoding, open it with that: "
    'read_payers(open("table.csv", encoding="cp1250", newline="")).'
)

_NAMES = {"cp850": "MS-DOS 850", "mac_roman": "Mac Roman"}
"""Names of encodings that are not of Windows."""

_IS_BINARY = re.compile(rb"[\x01-\x08\x0e-\x19\x1c-\x1f]").search
_WORDS = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
_PARTS = re.compile(r"[^\W\d_]+")
_APOSTROPHE = "\u2019\u00b4"
_SYMBOLS = frozenset("\u2018\u201c\u201d\u2013\u2014\u2026\u2022\u20ac\u2122\xa0£§°ºª«»¡¿®©·" + _APOSTROPHE)
"""Characters other than letters that occur in names and addresses."""

_MISPLACED = re.compile("[^\\W\\d_][\u2018\u201c«§£¡¿€]").search
"""Matches a letter with a sign behind it that begins something."""

_NO_LETTERS = frozenset("ºª\u0307")
"""Characters of words that belong to no language; the dot is that of a small Turkish İ."""


class Language(NamedTuple):
    """The letters of a language beyond a to z.

    followed: a letter, and those that may follow it. only: its words have no letters from a to z beside them.
    """

    letters: frozenset[str]
    followed: str
    only: bool

    def has(self, word: str) -> bool:
        """Return True if a word, in lower case, has letters of this language only."""
        letters = {char for char in word if not char.isascii()} - _NO_LETTERS
        if not letters <= self.letters or (self.only and any(char.isascii() for char in word)):
            return False
        first = self.followed[:1]
        return first not in letters or all(
            other in self.followed[1:] for one, other in pairwise(f"{word} ") if one == first
        )


def to_utf8(content: bytes | str) -> tuple[bytes, str]:
    """Return the text of a file in UTF-8, and the name of the encoding that it was read in.

    Raises InvalidInput for a file that is no text, and for an encoding that is not certain.
    """
    if isinstance(content, str):
        return _checked(_encode(content.removeprefix("\ufeff"))), "UTF-8"
    mark = next((mark for mark in _MARKS if content.startswith(mark)), b"")
    encoding = _MARKS.get(mark) or _unmarked_utf16(content)
    if encoding and encoding != "utf-8":
        return _checked(_decode(content[len(mark) :], encoding).encode()), encoding[:6].upper()
    content = _checked(content[len(mark) :])
    if _is_utf8(content):
        return content, "UTF-8"
    if mark:
        raise InvalidInput("source: the file says that it is UTF-8, but it is damaged.", advice=_ENCODING_ADVICE)
    encoding = _find_encoding(content)
    return content.decode(encoding).encode(), _NAMES.get(encoding, encoding.replace("cp", "Windows-"))


def _checked(content: bytes) -> bytes:
    """Return a text's bytes. Raises InvalidInput for the bytes of anything else."""
    start = content[:200].lstrip()
    for beginning, kind in _OTHER_FILES.items():
        if start.startswith(beginning):
            workbook = next((_WORKBOOKS[name] for name in _WORKBOOKS if name in content), kind)
            raise InvalidInput(f"source: the file is {workbook if start.startswith(b'PK') else kind}")
    if (place := content.find(b"\0")) >= 0 or _IS_BINARY(content[:4096]):
        where = f" See line {_line(content, place)}." if place >= 4096 else ""
        raise InvalidInput(
            f"source: the file is damaged, or no text: it has control characters.{where}",
            advice="Save the table as CSV UTF-8 or as an Excel workbook again.",
        )
    return content.removesuffix(b"\x1a")  # the end of a file in MS-DOS


def _line(content: bytes, place: int) -> int:
    return content.count(b"\n", 0, place) + 1


def _unmarked_utf16(content: bytes) -> str | None:
    """Return the encoding of a UTF-16 file without a mark: each second byte of a header in ASCII is 0."""
    head = content[:16]
    if len(head) < 4 or b"\0" not in head:
        return None
    return next((name for first, name in enumerate(("utf-16-be", "utf-16-le")) if not any(head[first::2])), None)


def _encode(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise InvalidInput("source: the file was opened in a wrong encoding.", advice=_ENCODING_ADVICE) from None


def _decode(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise InvalidInput(
            f"source: the file is damaged: not {encoding[:6].upper()}.", advice=_ENCODING_ADVICE
        ) from None


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _find_encoding(content: bytes) -> str:
    """Return the encoding of a file that is not Unicode, if its words are words in one encoding only.

    Windows-1252 has a Western and a Central European reading for many words; as the usual encoding of Excel it comes
    first. It does not before Turkish, all of which could be Icelandic.
    """
    words = set(_WORDS.findall(content))
    likely = [name for name in _languages() if _is_likely(words, name)]
    if "cp1252" in likely:
        likely = [name for name in likely if name in {"cp1252", "cp1254"}]
    readings = {tuple(word.decode(name) for word in words): name for name in reversed(likely)}
    if len(readings) == 1:
        return readings.popitem()[1]
    line = _line(content, min(content.find(word) for word in words))
    raise InvalidInput(
        f"source: the file is not UTF-8, and its encoding is not certain. See line {line}.", advice=_ENCODING_ADVICE
    )


@cache
def _languages() -> Mapping[str, tuple[Language, ...]]:
    """Return the languages that may be stored in each encoding, the usual encoding first."""
    found: dict[str, tuple[Language, ...]] = {}
    for row in _tsv.rows("payerkit.tables", "letters"):
        language = Language(frozenset(row["letters"]), row["followed"], row["only"] == "yes")
        for name in row["encodings"].split():
            found[name] = (*found.get(name, ()), language)
    return found


def _is_likely(words: set[bytes], encoding: str) -> bool:
    """Return True if all words with letters beyond ASCII are words in an encoding."""
    try:
        return all(_is_text(word.decode(encoding), _languages()[encoding]) for word in words)
    except UnicodeDecodeError:
        return False


def _is_text(text: str, languages: tuple[Language, ...]) -> bool:
    """Return True for words with usual symbols between them."""
    if _MISPLACED(text) or any(not (char.isalpha() or char.isascii() or char in _SYMBOLS) for char in text):
        return False
    parts = list(_PARTS.finditer(text))
    if not all(_is_word(part.group(), languages) for part in parts):
        return False
    return all(_may_follow(text, one, other) for one, other in pairwise(parts))


def _may_follow(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Return True if the symbol between two words joins them: an apostrophe, or a dash before a capital."""
    if text[one.end()] in _APOSTROPHE:
        return len(one.group()) <= 3 or len(other.group()) <= 2
    return not one.group()[-1].islower() or other.group()[0].isupper()


def _is_word(word: str, languages: tuple[Language, ...]) -> bool:
    """Return True if a word is written as in one language, with no capital behind a small letter beyond ASCII."""
    if any(one.islower() and other.isupper() and not other.isascii() for one, other in pairwise(word)):
        return False
    if any(one.isupper() and not one.isascii() and other.islower() for one, other in pairwise(word[1:])):
        return False
    return word.isascii() or any(language.has(word.lower()) for language in languages)
