"""Text files with separators: read strictly, so that no quote swallows rows and no cell
moves to another column.

What is no text is refused. An encoding other than Unicode is known by the file's words.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, NoReturn

import pandas as pd

from payerkit import _tsv
from payerkit.errors import InvalidInput
from payerkit.tables.sheet import frame_of_cells

_SEPARATORS = ",;\t|"
"""The usual separators, the most usual first."""

_HEAD = 65536
"""Bytes by which the separator and the width of the table are known."""

EMPTY = (
    "source: the file is empty. payerkit onboard --template prints a table to fill in."
)
NAME_ROW = (
    "If the header is further down, name its row: header_row=61 (--header-row 61)."
)
_QUOTING = f"Put quotes around cells that contain the separator. {NAME_ROW}"
_CLOSING = (
    'Close the quote in this row, or write "" for a quote inside a cell in quotes; or'
    " save the table as CSV again."
)
_SEP_LINE = re.compile(rb'"?sep=([^\w\s"]|\t)"?[,;]*(?:\r\n|\n|\r|$)', re.IGNORECASE)


class _TextLayout(NamedTuple):
    """How a file is written.

    header_row, width: of the row of names. is_spaced: blanks stand behind its
    separators. skips_blanks: a quote may follow a blank.
    """

    separator: str
    header_row: int
    width: int
    is_spaced: bool
    skips_blanks: bool


def read_delimited(
    content: bytes | str, *, encoding: str | None = None, header_row: int | None = None
) -> pd.DataFrame:
    """Return the cells of a text file of any usual separator, by the numbers of rows
    and columns.

    encoding: of a file without a byte order mark, None for any usual one. header_row:
    the number of the header's row, None for the first one that is as wide as others.
    Rows are numbered as a spreadsheet numbers them; a line `sep=;` is not counted. The
    cells have dtype str (object before pandas 3), missing where blank. Raises
    InvalidInput for a file that is no text, is empty, or whose encoding is not certain;
    for a quote that is not closed or swallows rows, and for a row with more cells than
    the header.
    """
    content = _to_utf8(content, encoding)
    sep_line = _SEP_LINE.match(content)
    content = content[sep_line.end() :] if sep_line else content
    if not content or content.isspace():
        raise InvalidInput(EMPTY)
    layout = _find_layout(content, sep_line and sep_line[1].decode(), header_row or 1)
    if layout.width == 1:
        _check_one_column(content[:_HEAD].decode(errors="replace").splitlines())
    rows = _read_rows(content, layout)
    return frame_of_cells(rows, pd.RangeIndex(1, 1 + len(rows), name="row"))


def _lines(content: bytes) -> Iterator[str]:
    """Return the lines of a text, each with its end, of whatever kind that is."""
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", errors="replace", newline="")


def _find_layout(content: bytes, declared: str | None, first_row: int) -> _TextLayout:
    """Return the layout that most rows of the head agree with, from the first row on;
    the declared separator, if it separates anything.
    """
    head = content[:_HEAD]
    if len(head) < len(content):  # without the row that is cut off
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head
    layouts = []
    for separator in filter(None, (declared, *_SEPARATORS)):
        scored = _layout(head, separator, first_row)
        if separator == declared and scored[1].width > 1:
            return scored[1]
        layouts.append(scored)
    return max(layouts, key=itemgetter(0))[1]


def _layout(
    head: bytes, separator: str, first_row: int
) -> tuple[tuple[bool, float], _TextLayout]:
    """Return a layout with a score: whether the first row is a usual one, then how many
    cells and rows are usual.
    """
    rows = list(csv.reader(_lines(head), delimiter=separator))
    filled = [
        (row, cells)
        for row, cells in enumerate(rows, start=1)
        if row >= first_row and any(cells)
    ]
    widths = Counter(len(cells) for _, cells in filled)
    usual = max(widths, key=lambda width: (widths[width], width), default=1)
    header_row, header = next(
        (each for each in filled if len(each[1]) > usual / 2), (first_row, [""])
    )
    is_spaced = any(cell.startswith(" ") for cell in header[1:])
    has_quote = any(
        cell.startswith(" ") and cell.lstrip(" ").startswith('"')
        for cells in rows
        for cell in cells
    )
    may_skip = (  # unlike " ""x""", a quote of the cell itself
        rf'(?m)(?:^|{re.escape(separator)}) +"'
    )
    skips_blanks = (
        has_quote and re.search(may_skip, head.decode(errors="replace")) is not None
    )
    layout = _TextLayout(separator, header_row, len(header), is_spaced, skips_blanks)
    first = len(filled[0][1]) if filled else 1
    return (
        first == usual > 1,
        (usual - 1) * widths[usual] / max(widths.total(), 1),
    ), layout


_RARE_SEPARATORS = "^:~¦"
_COLUMN_GAP = re.compile(r"\S {2,}(?=\S)")
_QUOTED_ROW = re.compile(r'"[^"]+(?:,|;|\t)[^"]+"').fullmatch


def _check_one_column(lines: list[str]) -> None:
    """Raise InvalidInput if the rows of a file with one column are those of a table,
    separated in an unusual way.
    """
    first, *others = [line.strip() for line in lines if line.strip()][:100] or [""]
    if not others:
        return
    if all(_QUOTED_ROW(line) for line in (first, *others)):
        raise InvalidInput(
            "source: each row of the file is in quotes as a whole.",
            advice="Remove the quotes around the rows.",
        )
    for separator in _RARE_SEPARATORS:
        if first.count(separator) and all(
            line.count(separator) == first.count(separator) for line in others
        ):
            raise InvalidInput(
                f"source: the cells of the file are separated by {separator}",
                advice=f"Write a first line into it that says so: sep={separator}",
            )
    if all(_COLUMN_GAP.search(line) for line in (first, *others)):
        raise InvalidInput(
            "source: the columns of the file have a fixed width, with blanks between"
            " them.",
            advice=(
                "Read it with pandas.read_fwf(path, dtype=str), and pass the DataFrame."
            ),
        )


def _read_rows(content: bytes, layout: _TextLayout) -> list[list[str | None]]:
    """Return the cells of each row. Raises InvalidInput for a row with too many cells,
    or one that swallows others.
    """
    reader = csv.reader(
        _lines(content),
        delimiter=layout.separator,
        skipinitialspace=layout.skips_blanks,
        strict=True,
    )
    row = line = whole = first_padded = 0
    rows: list[list[str | None]] = []
    try:
        for cells in reader:
            row += 1
            width = len(cells)
            if reader.line_num - line > 1:
                _check_line_breaks(cells, row, layout)
            line = reader.line_num
            rows.append([cell or None for cell in cells])
            if width > layout.width and row >= layout.header_row and any(cells):
                if any(cells[layout.width :]):
                    _refuse_long_row(row, width, layout)
                first_padded = first_padded or row
            elif width == layout.width and row > layout.header_row and any(cells):
                whole = whole or row
    except csv.Error as error:
        if "field limit" in str(error):
            raise InvalidInput(
                f"source: row {row + 1} has a cell of more than"
                f" {csv.field_size_limit():,} characters.",
                advice="Shorten it, or close a quote that is missing before it.",
            ) from None
        _refuse_quote(row + 1, line + 1, reader.line_num)
    if first_padded and whole:
        # A cell with a separator moved the others to the right, over a last one that is
        # blank.
        _refuse_long_row(first_padded, layout.width + 1, layout)
    return rows


def _refuse_long_row(row: int, width: int, layout: _TextLayout) -> NoReturn:
    raise InvalidInput(
        f"source: row {row} has {width} cells, but the header in row"
        f" {layout.header_row} has {layout.width}, so its cells may be in wrong"
        " columns.",
        advice=_QUOTING,
    )


def _refuse_quote(row: int, line: int, last_line: int) -> NoReturn:
    """Raise the error for a quote in a row that begins in a line and was read as far as
    another.
    """
    where = f"row {row}"
    if row != line:
        where = f"row {row} (line {line})"
    swallowed = ""
    if last_line > line:
        swallowed = f", so that rows {row} to {row + last_line - line} become one"
    raise InvalidInput(
        f"source: {where} has a quote that is not closed, or is closed inside a"
        f" cell{swallowed}.",
        advice=_CLOSING,
    )


def _check_line_breaks(cells: list[str], row: int, layout: _TextLayout) -> None:
    """Raise InvalidInput if a cell with line breaks holds what looks like rows, as an
    unclosed quote makes them.

    An address on several lines, or a note, is left alone: its commas have blanks behind
    them.
    """
    for cell in cells:
        breaks = len(re.findall(r"\r\n|\n|\r", cell))
        separators = cell.count(layout.separator)
        tight = separators
        if not layout.is_spaced:
            tight -= cell.count(f"{layout.separator} ")
        holds_rows = breaks > 2
        if layout.width > 1:
            holds_rows = tight >= layout.width - 1
        if breaks and (holds_rows or (separators and len(cells) != layout.width)):
            raise InvalidInput(
                f"source: a cell in quotes in row {row} goes on to row {row + breaks}"
                " and holds what looks like rows, so that a quote may be missing or"
                " too many.",
                advice=(
                    f"{_CLOSING} If the cell is right, take the line breaks out of it."
                ),
            )


# Encodings

_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""The encodings of Unicode by the byte order mark in front."""

SAVE_AS = "Open it in a spreadsheet program, and save it as .xlsx or as CSV UTF-8."

_WITH_PANDAS = "Read it with pandas, as text, and pass the DataFrame."
_OTHER_FILES = {
    b"%PDF": "a PDF. Ask for the table itself, as an Excel or CSV file.",
    b"\xd0\xcf\x11\xe0": (
        f"an old workbook (.xls), or encrypted with a password. {SAVE_AS}"
    ),
    b"\x1f\x8b": "compressed with gzip. Unpack it first.",
    b"PAR1": f"a Parquet file. {_WITH_PANDAS}",
    b"{\\rtf": "a document (RTF). Ask for the table itself, as an Excel or CSV file.",
    b"<": f"a web page or XML. {SAVE_AS}",
    b"[{": f"JSON. {_WITH_PANDAS}",
    b'{"': f"JSON. {_WITH_PANDAS}",
    **dict.fromkeys((b"{\n", b"{\r\n", b"[\n", b"[\r\n"), f"JSON. {_WITH_PANDAS}"),
    b"BEGIN:VCARD": "of address cards (vCard). Export the contacts as CSV.",
    b"---\n": "YAML. Ask for the table itself, as an Excel or CSV file.",
    b":20:": "a bank statement (MT940). It has no accounts to register.",
}
"""Files that are no tables of text, by how they begin: what they are, and what to do.

A compound file (MS-CFB) is an old workbook, or any encrypted one (MS-OFFCRYPTO).
"""

_MARKDOWN = re.compile(
    rb"^ *\|?(?: *:?-{2,}:? *\|)+ *(?::?-{2,}:?)? *\r?$", re.MULTILINE
)
"""Matches the line of dashes below the header of a table in Markdown."""

_ENCODING_ADVICE = (
    "Save it as CSV UTF-8; or, if you know its encoding, name it, as in"
    ' encoding="cp1250" (--encoding cp1250).'
)

_IS_BINARY = re.compile(rb"[\x01-\x08\x0e-\x19\x1c-\x1f]").search
_WORDS = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
_PARTS = re.compile(r"[^\W\d_]+")
_APOSTROPHE = "\u2019\u00b4"
_SYMBOLS = frozenset(
    "\u2018\u201c\u201d\u2013\u2014\u2026\u2022\u20ac\u2122\xa0£§°ºª«»¡¿®©·"
    + _APOSTROPHE
)
"""Characters other than letters that occur in names and addresses."""

_MISPLACED = re.compile("[^\\W\\d_][\u2018\u201c«§£¡¿€]").search
"""Matches a letter with a sign behind it that begins something."""

_NO_LETTERS = frozenset("ºª\u0307")
"""Characters of words that belong to no language; the dot is that of a small Turkish
İ.
"""


class _Language(NamedTuple):
    """The letters of a language beyond a to z.

    followed: a letter, and those that may follow it. only: its words have no letters
    from a to z beside them.
    """

    letters: frozenset[str]
    followed: str
    only: bool

    def has(self, word: str) -> bool:
        """Return True if a word, in lower case, has letters of this language only."""
        letters = {char for char in word if not char.isascii()} - _NO_LETTERS
        if not letters <= self.letters or (
            self.only and any(char.isascii() for char in word)
        ):
            return False
        first = self.followed[:1]
        return first not in letters or all(
            other in self.followed[1:]
            for one, other in pairwise(f"{word} ")
            if one == first
        )


def _decode_as(content: bytes, encoding: str) -> str:
    """Return the text of a file in the encoding that a person names."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = _line(content, error.start)
        problem = InvalidInput(
            f"encoding: the file is not {encoding}. See line {line}.",
            advice=_ENCODING_ADVICE,
        )
    except (LookupError, TypeError, ValueError):
        raise InvalidInput(
            'encoding: expected the name of an encoding, such as "cp1250" or'
            ' "shift_jis".'
        ) from None
    else:
        return text
    raise problem  # without the cause, which has the whole file


def _to_utf8(content: bytes | str, encoding: str | None) -> bytes:
    """Return the text of a file in UTF-8.

    Raises InvalidInput for a file that is no text, and for an encoding that is not
    certain.
    """
    if isinstance(content, str):
        try:
            return _checked(content.removeprefix("\ufeff").encode())
        except UnicodeEncodeError:
            raise InvalidInput(
                "source: the file was opened in a wrong encoding.",
                advice=_ENCODING_ADVICE,
            ) from None
    mark = next((mark for mark in _MARKS if content.startswith(mark)), b"")
    if mark:
        text = _decode(content[len(mark) :], _MARKS[mark])
        if text is None:
            name = _MARKS[mark][:6].removesuffix("-").upper()
            raise InvalidInput(
                f"source: the file says that it is {name}, but it is damaged.",
                advice=_ENCODING_ADVICE,
            )
        return _checked(text.encode())
    if encoding is not None:
        return _checked(_decode_as(content, encoding).encode())
    content = _checked(content)
    if _decode(content, "utf-8") is not None:
        return content
    return content.decode(_find_encoding(content)).encode()


def _checked(content: bytes) -> bytes:
    """Return a text's bytes. Raises InvalidInput for the bytes of anything else."""
    start = content[:200].lstrip()
    for beginning, kind in _OTHER_FILES.items():
        if start.startswith(beginning):
            raise InvalidInput(f"source: the file is {kind}")
    if _MARKDOWN.search(content[:_HEAD]):
        raise InvalidInput(
            "source: the file is a table in Markdown.",
            advice="Copy it as it is shown into a spreadsheet program, and save that.",
        )
    place = content.find(b"\0")
    if place >= 0 or _IS_BINARY(content[:4096]):
        where = f" See line {_line(content, place)}." if place >= 4096 else ""
        raise InvalidInput(
            "source: the file is damaged, or no text: it has control"
            f" characters.{where}",
            advice="Save the table as CSV UTF-8 or as an Excel workbook again.",
        )
    return content.removesuffix(b"\x1a")  # the end of a file in MS-DOS


def _line(content: bytes, place: int) -> int:
    return content.count(b"\n", 0, place) + 1


def _decode(content: bytes, encoding: str) -> str | None:
    """Return a text, None if it is not of this encoding."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _find_encoding(content: bytes) -> str:
    """Return the encoding of a file that is not Unicode, if its words are words in one
    encoding only.

    Windows-1252 has a Western and a Central European reading for many words; as the
    usual encoding of Excel it comes first. It does not before Turkish, all of which
    could be Icelandic.
    """
    words = set(_WORDS.findall(content))
    likely = [name for name in _languages() if _is_likely(words, name)]
    if "cp1252" in likely:
        likely = [name for name in likely if name in {"cp1252", "cp1254"}]
    readings = {
        tuple(word.decode(name) for word in words): name for name in reversed(likely)
    }
    if len(readings) == 1:
        return readings.popitem()[1]
    line = _line(content, min(content.find(word) for word in words))
    raise InvalidInput(
        "source: the file is not UTF-8, and its encoding is not certain. See line"
        f" {line}.",
        advice=_ENCODING_ADVICE,
    )


@cache
def _languages() -> Mapping[str, tuple[_Language, ...]]:
    """Return the languages that may be stored in each encoding, the usual encoding
    first.
    """
    return _tsv.grouped(
        (
            encoding,
            _Language(frozenset(row["letters"]), row["followed"], row["only"] == "yes"),
        )
        for row in _tsv.rows(__package__, "letters")
        for encoding in row["encodings"].split()
    )


def _is_likely(words: set[bytes], encoding: str) -> bool:
    """Return True if all words with letters beyond ASCII are words in an encoding."""
    texts = [_decode(word, encoding) for word in words]
    return all(
        text is not None and _is_text(text, _languages()[encoding]) for text in texts
    )


def _is_text(text: str, languages: tuple[_Language, ...]) -> bool:
    """Return True for words with usual symbols between them."""
    if _MISPLACED(text) or any(
        not (char.isalpha() or char.isascii() or char in _SYMBOLS) for char in text
    ):
        return False
    parts = list(_PARTS.finditer(text))
    if not all(_is_word(part.group(), languages) for part in parts):
        return False
    return all(_may_follow(text, one, other) for one, other in pairwise(parts))


def _may_follow(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Return True if the symbol between two words joins them: an apostrophe, or a dash
    before a capital.
    """
    if text[one.end()] in _APOSTROPHE:
        return len(one.group()) <= 3 or len(other.group()) <= 2
    return not one.group()[-1].islower() or other.group()[0].isupper()


def _is_word(word: str, languages: tuple[_Language, ...]) -> bool:
    """Return True if a word is written as in one language, with no capital behind a
    small letter beyond ASCII.
    """
    if any(
        one.islower() and other.isupper() and not other.isascii()
        for one, other in pairwise(word)
    ):
        return False
    if any(
        one.isupper() and not one.isascii() and other.islower()
        for one, other in pairwise(word[1:])
    ):
        return False
    return word.isascii() or any(language.has(word.lower()) for language in languages)
