"""What spreadsheets and other programs did to cells.

A sheet's cells are judged by the field that they are for: a date is right as a birth
date, and no id. A text is damaged in any field: by a wrong encoding, a mark around a
number, or as the error value of a spreadsheet.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import unquote

import pandas as pd

from payerkit import _tsv
from payerkit.checks.placeholders import error_values
from payerkit.findings import Finding, finding_of_kind
from payerkit.models.formats import NUMBER_KINDS, FieldKind
from payerkit.tables.header import (
    HOLDER_IS_PAYER,
    field_of,
    holds,
    holds_days,
    traits_of,
)
from payerkit.tables.sheet import CellNote, NoteKind, Sheet, cells_like

BASIS = "file"
"""The basis of these findings."""

_KINDS = {row["code"]: row for row in _tsv.rows(__package__, "file_findings")}

FILE_FINDING_CODES = tuple(_KINDS)


@cache
def file_finding(code: str, field: str, one: str = "", other: str = "") -> Finding:
    """Return the finding with a code about a field. one, other: words of its texts."""
    kind = _KINDS[code] | {"basis": BASIS}
    return finding_of_kind(kind, code, field, one=one, other=other)


# Cells of a field

_SHORT_MONTHS = "jan|feb|mar|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
"""Months as spreadsheets shorten them, as a pattern."""

CellFindings = list[tuple[int, int, Finding]]
"""The number of the row, the number of the column, and what was found."""

_RIGHT: dict[str, frozenset[NoteKind]] = {
    # The checks of the field see a number that is no day.
    "day": frozenset({"date", "fraction"}),
    HOLDER_IS_PAYER: frozenset({"boolean"}),
}
"""Kinds of cells that are right in some fields."""

_NUMBERED: frozenset[FieldKind] = NUMBER_KINDS | {"phone"}
"""Kinds of fields that never are a decimal number."""

_AS_TEXT = {
    "became_fraction": "[0-9]+[.,]0+",
    "like_date": (
        "(?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9](?:[T ]00:00(?::00)?)?"
        "|[0-3]?[0-9](?:/[0-3]?[0-9]/|[.][0-3]?[0-9][.])(?:19|20)[0-9]{2}"
        f"|[0-3]?[0-9][.]?[ -](?i:{_SHORT_MONTHS})[.]?[ -](?:19|20)?[0-9]{{2}}"
    ),
    "like_amount": r"[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}",
    "like_digits_lost": "[1-9][0-9]{14}0+|[1-9][0-9]{13}00",
    "like_boolean": "TRUE|FALSE|WAHR|FALSCH|VRAI|FAUX|VERDADERO|FALSO",
    "letter_in_number": "(?=(?:[^0-9]*[0-9]){5})[0-9 -]*[Oo][0-9Oo -]*",
}
"""Values as spreadsheets write them into text files, by the code of the finding.

became_fraction: in ids, if most of a column are so; one alone may be a version.
like_date: shorter days, such as 02-Jan, are no text of any field: `text_damage` finds
them. like_amount: in groups of three digits; account numbers with dots have others.
like_digits_lost: as it stands if 15 digits were kept. letter_in_number: the letter O in
place of a zero.
"""

_is_suspect = re.compile(
    "|".join(f"(?P<{code}>{pattern})" for code, pattern in _AS_TEXT.items())
).fullmatch
_is_long = re.compile("[0-9]{16,}").fullmatch
_is_rounded = re.compile("[1-9][0-9]{14}0+").fullmatch
_is_likely_rounded = re.compile("[1-9][0-9]{13}00|[1-9][0-9]{14}0{2,5}").fullmatch
"""Matches a rounded number of 16 to 20 digits. Longer account numbers, as in Hungary,
end in zeros by nature.
"""

_BEYOND_MONTHS = "(?:1[3-9]|2[0-9]|3[01])"
_is_day_in_order = re.compile(
    f"{_BEYOND_MONTHS}[/.-][0-9]{{1,2}}[/.-](?:19|20)?[0-9]{{2}}"
    f"|[0-9]{{1,2}}[/.-]{_BEYOND_MONTHS}[/.-](?:19|20)?[0-9]{{2}}"
).fullmatch
"""Matches a date whose order shows: one of its first two numbers is no month."""

_DIGITS_ALONE: frozenset[FieldKind] = frozenset({"digits", "phone"})
"""Kinds of fields whose values have no letters."""

_ROUNDABLE: frozenset[FieldKind] = _NUMBERED | {"id"}
"""Kinds of fields whose values may be long numbers."""

_ZEROS = 3
"""So many zeros behind the fifteenth digits of a column's long numbers come by chance
once in a thousand files.
"""

_FEW = 0.2
"""If a greater part of the ids in a column look like dates, they are so by
intention.
"""


def cell_findings(
    sheet: Sheet, first_row: int, columns: Mapping[int, str]
) -> CellFindings:
    """Return the findings about the cells of a sheet, by row and column.

    A hidden row is found once, at the first of the columns, as a finding about no
    field.

    first_row: number of the first row below the header. columns: our name of each
    column that is used, such as `bank_city`, by its number in the file.
    """
    cells = sheet.cells.loc[sheet.cells.index >= first_row]
    notes = [note for note in sheet.notes if note.row >= first_row]
    columns = {column: name for column, name in columns.items() if column in cells}
    found = [
        *_noted(notes, columns),
        *_swapped_days(cells, notes, columns),
        *_shorter_numbers(cells, notes, columns, is_text=not sheet.name),
    ]
    seen = {(note.row, note.column) for note in notes if note.kind != "unformatted"}
    seen.update((row, column) for row, column, _ in found)
    for column, name in columns.items():
        for row, finding in _text_findings(cells[column], name):
            if (row, column) not in seen:
                found.append((row, column, finding))
    return sorted(found, key=itemgetter(0, 1))


def _noted(
    notes: Iterable[CellNote], columns: Mapping[int, str]
) -> Iterator[tuple[int, int, Finding]]:
    for note in notes:
        if columns and note.kind in {"hidden_row", "struck_row"}:
            yield note.row, min(columns), file_finding(note.kind, "")
        elif note.column in columns and note.kind != "unformatted":
            name = columns[note.column]
            if note.kind not in _RIGHT.get("day" if holds_days(name) else name, ()):
                code = note.kind if note.kind in _KINDS else f"became_{note.kind}"
                yield note.row, note.column, file_finding(code, field_of(name))


def _swapped_days(
    cells: pd.DataFrame, notes: Iterable[CellNote], columns: Mapping[int, str]
) -> Iterator[tuple[int, int, Finding]]:
    """Yield the dates of columns that also have, as text, dates that a spreadsheet of
    this date order cannot read.

    Such a column was text of one order, opened where another is usual: 12/31/1985 stays
    text, and 03/04/1985 becomes the wrong day without a word. No date of such a column
    has a day above 12.
    """
    for column, name in columns.items():
        if not holds_days(name):
            continue
        texts = cells[column].dropna()
        rows = [
            note.row
            for note in notes
            if note.column == column and note.kind == "date" and note.row in texts
        ]
        others = cells_like(_is_day_in_order, texts[~texts.index.isin(rows)])
        if others.empty:
            continue
        if all(int(texts.loc[row][8:10]) <= 12 for row in rows):
            for row in rows:
                yield row, column, file_finding("day_swapped", field_of(name))


_MOST = 0.8
_LEAST = 10
"""If so many cells of a column are of one length, a shorter number has lost zeros; so
many cells must show it.
"""


def _shorter_numbers(
    cells: pd.DataFrame,
    notes: Iterable[CellNote],
    columns: Mapping[int, str],
    *,
    is_text: bool,
) -> Iterator[tuple[int, int, Finding]]:
    """Yield the cells of columns of numbers that are shorter than nearly all others.

    What is stored as a number has lost zeros. So may have a number in a text file, in
    which no number of the column begins with a zero.
    """
    stored = {(note.row, note.column) for note in notes if note.kind == "unformatted"}
    for column, name in columns.items():
        if not holds(name, _DIGITS_ALONE | {"postcode"}):
            continue
        texts = cells[column].dropna().astype(str)
        lengths = Counter(map(len, texts))
        usual, times = lengths.most_common(1)[0] if lengths else (0, 0)
        if len(texts) < _LEAST or times < _MOST * len(texts):
            continue
        may_lack_zeros = is_text and not any(text.startswith("0") for text in texts)
        for row, text in zip(texts.index.tolist(), texts.tolist(), strict=True):
            if len(text) >= usual:
                continue
            if (row, column) in stored:
                yield row, column, file_finding("zeros_lost", field_of(name))
            elif may_lack_zeros and holds(name, {"digits"}) and text.isdecimal():
                yield row, column, file_finding("shorter_number", field_of(name))


_is_day_number = re.compile("[1-4][0-9]{4}(?:[.]0)?").fullmatch
"""Matches the number by which spreadsheets store a day from 1927 to 2036."""


def _text_findings(cells: pd.Series[Any], column: str) -> Iterator[tuple[int, Finding]]:
    """Yield the findings about texts of a column, each with its row: damage that was
    saved as text, as in CSV.
    """
    field = field_of(column)
    traits = traits_of(column)
    if traits is None:
        return
    if traits.kind == "day":
        for row in cells_like(_is_day_number, cells).index:
            yield row, file_finding("day_number", field)
        return
    suspects = cells_like(_is_suspect, cells)
    matches = [_is_suspect(text) for text in suspects]
    codes = [match.lastgroup or "" for match in matches if match]
    kind = traits.kind
    are_fractions = codes.count("became_fraction") > cells.notna().sum() / 2
    dates_are_few = codes.count("like_date") <= _FEW * cells.notna().sum()
    doubted = {
        "became_fraction": kind in _NUMBERED or (kind == "id" and are_fractions),
        "like_date": kind != "id" or dates_are_few,
        "like_amount": kind == "digits" and traits.identifies == "account",
        "like_digits_lost": kind in _ROUNDABLE and _are_rounded(cells),
        "like_boolean": True,
        "letter_in_number": kind in _DIGITS_ALONE,
    }
    for row, text, code in zip(suspects.index, suspects, codes, strict=True):
        is_rounded = code == "like_digits_lost" and _is_likely_rounded(text)
        if doubted[code] or (is_rounded and kind in _ROUNDABLE):
            yield row, file_finding(code, field)


def _are_rounded(cells: pd.Series[Any]) -> bool:
    """Return True if all numbers of more than 15 digits end in zeros, and too many of
    them to be so by chance.
    """
    long = cells_like(_is_long, cells)
    are_rounded = all(_is_rounded(text) for text in long)
    return are_rounded and sum(len(text) - 15 for text in long) >= _ZEROS


# Texts of any field


class TextDamage(NamedTuple):
    """What is wrong with a text.

    code, words: of the finding. repaired: the only text it can mean, "" for a blank
    cell; None if that is not certain.
    """

    code: str
    words: tuple[str, ...] = ()
    repaired: str | None = None


_may_be_damaged = re.compile(
    r"[^ -~]|[&?<>#%\\]|_x[0-9A-Fa-f]{4}_|=[0-9A-F]{2}|^ *['\"=`]"
    r"|^ *[mMtT][aAeE][iIlL][lL:]|[eE][+][0-9]"
    r"|^ *[0-9][0-9]?[-.] ?[A-Za-z][A-Za-z][A-Za-z] *$"
    r"|^ *[A-Za-z][A-Za-z][A-Za-z][- ][0-9][0-9] *$|[A-Za-z][{}|~^=[\]][a-z]"
).search
"""Matches every text that may be damaged."""


def text_damage(text: str, column: str = "") -> TextDamage | None:
    """Return the damage of a cell's text by a program; None for sound text.

    column: our name of it, for what is damage in some fields only.
    """
    for find in _FINDERS:
        damage = find(text)
        if damage:
            return damage
    if holds(column, _NUMBERED | {"id"}):
        return _in_marks(text)
    if holds(column, {"name"}) or field_of(column) == "city":
        return _lost_letter(text, _ODD_SIGN)
    return None


def find_text_damage(cells: pd.DataFrame) -> Iterator[tuple[int, str, TextDamage]]:
    """Yield the damaged texts of a table with our columns, column by column, each with
    the label of its row and its column.
    """
    known = cache(text_damage)
    for column, texts in cells.items():
        suspects = cells_like(_may_be_damaged, texts)
        for row, text in zip(suspects.index.tolist(), suspects.tolist(), strict=True):
            damage = known(text, str(column))
            if damage:
                yield row, str(column), damage


Finder = Callable[[str], TextDamage | None]


def _like(code: str, pattern: str) -> Finder:
    """Return a function that finds a kind of damage wherever a pattern matches."""
    compiled = re.compile(pattern, re.DOTALL)

    def find(text: str) -> TextDamage | None:
        return TextDamage(code) if compiled.search(text) else None

    return find


# Wrong encodings

_LATIN = [
    *range(0xC0, 0xD7),
    *range(0xD8, 0xF7),
    *range(0xF8, 0x180),
    *range(0x1EA0, 0x1EFA),
]
_LETTERS = "".join(chr(code) for code in _LATIN) + "ȘșȚțƠơƯư"
_SIGNS = (
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\u20ac\u2122\ufeff\xa0"
    "°ºª§«»¡¿®©·\u00b4"
)
_ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"
"""What names and addresses have beyond ASCII: letters, signs, and accents that stand
apart from their letter.
"""

_CODE_PAGES = ("cp1252", "cp1250", "mac_roman", "cp850")
"""The encodings in which programs read UTF-8 by mistake, the usual one first."""

_USUAL_SIGNS = frozenset("\u2019\u201d\u2013\u2014\u2026\u2122°ºª»®©·\u00b4")
"""Signs that follow a letter in sound text, too."""

_HALF_LOST = re.compile("(?<=[a-zß-öø-ÿ])[ÃÅ]")
"""A capital of wrongly decoded text behind a small letter, if the invisible character
behind it was lost.
"""


def _doubly_encoded(text: str) -> TextDamage | None:
    """Find UTF-8 that was read in another encoding, such as MÃ¼ller; it is repaired if
    all of the text agrees.
    """
    if text.isascii():
        return None
    readings = {page: _decode_again(text, page) for page in _CODE_PAGES}
    whole = [page for page in _CODE_PAGES if readings[page] is not None]
    others = [page for page in _CODE_PAGES if readings[page] is None]
    for page in [*whole, *others]:
        decoded = readings[page]
        for match in _wrong_letters(page).finditer(text):
            right = _decode_again(match.group(), page) or ""
            if not _is_natural(text, match, right, is_certain=decoded is not None):
                values = (match.group(), right)
                return TextDamage("doubly_encoded", values, _repaired(decoded))
    script = _OTHER_SCRIPTS.search(text)
    letters = _decode_again(script.group(), "cp1252") if script else None
    if script and letters:
        meant = _decode_again(text, "cp1252")
        return TextDamage("doubly_encoded", (script.group(), letters), meant)
    half = _HALF_LOST.search(text)
    if half:
        right = "í" if half.group() == "Ã" else "Š"
        return TextDamage("doubly_encoded", (half.group(), right))
    return None


def _repaired(decoded: str | None) -> str | None:
    """Return a text that was decoded again, once more if it is still damaged; None if
    it remains so.
    """
    damage = _doubly_encoded(decoded) if decoded is not None else None
    return damage.repaired if damage else decoded


def _is_natural(
    text: str, match: re.Match[str], right: str, *, is_certain: bool
) -> bool:
    """Return True if it may be meant so: two capitals, as in ORĂŞTIE, or the end of a
    quotation behind a letter.
    """
    sign = match.group()[1:]
    before = text[: match.start()]
    after = text[match.end() :]
    is_in_small_letters = before[-1:].islower() or after[:1].islower()
    if match.group().isalpha() and match.group().isupper() and not right.isupper():
        return not is_in_small_letters
    if sign == "\xa0":
        return not (is_in_small_letters or after[:1] == " ")
    if sign not in _USUAL_SIGNS:
        return False
    others = [char for char in before + after if char.isalpha()]
    is_lower = right.islower() and right not in "ßºª"
    return not is_certain or (
        is_lower and len(others) > 1 and all(char.isupper() for char in others)
    )


@cache
def _characters(page: str) -> Mapping[int, str]:
    """Return the character of each byte in an encoding; undefined bytes are control
    characters, as in browsers.
    """
    return {
        byte: bytes([byte]).decode(page, "ignore") or chr(byte) for byte in range(256)
    }


@cache
def _bytes(page: str) -> Mapping[str, int]:
    return {char: byte for byte, char in _characters(page).items()}


def _decode_again(text: str, page: str) -> str | None:
    """Return the text that was read in a wrong encoding; None if it is not such a text
    as a whole.
    """
    try:
        return bytes(_bytes(page)[char] for char in text).decode()
    except (KeyError, UnicodeDecodeError):
        return None


@cache
def _wrong_letters(page: str) -> re.Pattern[str]:
    """Return the pattern of letters and signs as they look when their UTF-8 is read in
    another encoding.
    """
    wrong = [
        re.escape("".join(_characters(page)[byte] for byte in char.encode()))
        for char in _LETTERS + _SIGNS + _ACCENTS
    ]
    return re.compile("|".join(sorted(wrong, key=len, reverse=True)))


def _bytes_between(first: int, last: int) -> str:
    characters = _characters("cp1252")
    letters = "".join(characters[byte] for byte in range(first, last + 1))
    return f"[{re.escape(letters)}]"


_TAIL = _bytes_between(0x80, 0xBF)
_OTHER_SCRIPTS = re.compile(
    f"(?:{_bytes_between(0xCE, 0xDB)}{_TAIL}"
    f"|{_bytes_between(0xE1, 0xEF)}{_TAIL}{_TAIL}){{2}}"
)
"""Two letters of Greek, Cyrillic, Hebrew, Arabic or East Asian text; one may be a
letter and a sign.
"""


_QUESTION_MARK = re.compile(r"[^\W\d_](\?)\?*[^\W\d_]")
_ODD_SIGN = re.compile(r"[^\W\d_]([{}|~^§<>=#\\[\]])[^\W\d_A-Z]")
"""Matches a sign inside a word, as seven-bit encodings have it for a letter."""


def _lost_letter(
    text: str, pattern: re.Pattern[str] = _QUESTION_MARK
) -> TextDamage | None:
    """Find a sign inside a word, where a letter was lost; in a link it is right."""
    sign = pattern.search(text)
    if sign is None or "://" in text or "@" in text or "www." in text:
        return None
    return TextDamage("letters_lost", (sign[1],))


_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#[0-9]{2,5}|#[xX][0-9a-fA-F]{2,5});")
_TAG = re.compile(r"</?(?i:br|p|b|i|div|span|strong|em) */?>")


def _html_codes(text: str) -> TextDamage | None:
    """Find codes of HTML, such as &amp; or &#39;, and its tags, such as <br>."""
    for match in _ENTITY.finditer(text):
        entity = match.group()
        meant = unescape(entity)
        if meant != entity:
            return TextDamage("html_codes", (entity, meant), unescape(text))
    tag = _TAG.search(text)
    return TextDamage("html_tag", (tag.group(),)) if tag else None


# Marks around numbers and addresses

_NUMBER = r"[+(]?[0-9][0-9\s./()+-]*|[A-Za-z]{2}[0-9]{2}[0-9A-Za-z ]{8,}"
_ADDRESS = r"[^\s<>@|?,;]+@[^\s<>@|?,;]+"
_QUOTES = "\"'`\u00b4\u2018-\u201f\u00ab\u00bb\u2039\u203a"


def _around(code: str, pattern: str) -> Finder:
    """Return a function that finds texts with something around their value, which is
    the only group of the pattern that matches.
    """
    compiled = re.compile(rf"\s*(?:{pattern})\s*", re.DOTALL)

    def find(text: str) -> TextDamage | None:
        match = compiled.fullmatch(text)
        if match is None:
            return None
        inside = "".join(group or "" for group in match.groups())
        return TextDamage(code, (), inside.replace('""', '"').strip())

    return find


_in_quotes = _around("quoted", f"[{_QUOTES}]+([^{_QUOTES}]+)[{_QUOTES}]+")
_behind_mark = _around("text_mark", "'(.+)")


def _in_marks(text: str) -> TextDamage | None:
    """Find an id or a number in quotes of any kind, or behind an apostrophe."""
    return _in_quotes(text) or _behind_mark(text)


# Codes of other programs

_PERCENT_CODES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_XML_CODE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MAIL_CODES = re.compile(r"(?:=[C-F][0-9A-F](?:=[89AB][0-9A-F])+)+")
_SOURCE_CODE = re.compile(
    r"\\[nrt](?![a-z])|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[23][0-7]{2}"
    r"|=\?[\w-]+\?[BbQq]\?[^?\s]*\?=|(?<=[A-Za-z])=[89A-F][0-9A-F](?=[a-z])"
)
"""Matches a code that is found, and not repaired: of source code, such as backslash n,
and of a mail whose encoding it does not tell.
"""


def _program_codes(text: str) -> TextDamage | None:
    """Find the codes of characters in links (%20), in Excel files (_x000D_), in mails
    (=C3=BC) and in source code (backslash n).
    """
    codes = _PERCENT_CODES.search(text)
    if codes and "://" not in text:
        meant = unquote(text, errors="replace")
        is_code = not meant.isascii() or "%20" in text or "%40" in text
        if "\ufffd" not in meant and is_code:
            return TextDamage("program_code", (codes.group(),), meant)
    codes = _XML_CODE.search(text)
    if codes:
        decoded = _XML_CODE.sub(lambda code: chr(int(code[1], 16)), text)
        return TextDamage("program_code", (codes.group(),), " ".join(decoded.split()))
    codes = _MAIL_CODES.search(text)
    if codes:
        meant = unquote(_MAIL_CODES.sub(_as_link_code, text), errors="replace")
        repaired = None if "\ufffd" in meant else meant
        return TextDamage("program_code", (codes.group(),), repaired)
    codes = _SOURCE_CODE.search(text)
    return TextDamage("program_code", (codes.group(),)) if codes else None


def _as_link_code(codes: re.Match[str]) -> str:
    return codes.group().replace("=", "%")


# Letters of another alphabet, and signs in place of letters

_WORD = re.compile(r"[^\W\d_]+")
_ALPHABETS = ("CYRILLIC", "GREEK", "ARMENIAN")
"""The alphabets with letters that look like Latin ones, as Unicode names them."""


@cache
def _lookalikes() -> Mapping[str, str]:
    """Return the letters of these alphabets that look like a Latin letter, each with
    its Latin letter.
    """
    found = {}
    for row in _tsv.rows("payerkit.payments.onchain", "confusables"):
        for char in row["characters"].split():
            if row["ascii"].isalpha() and _is_of(char, _ALPHABETS):
                found[char] = row["ascii"]
    return found


def _is_of(char: str, alphabets: str | tuple[str, ...]) -> bool:
    return unicodedata.name(char, "").startswith(alphabets)


def _two_alphabets(text: str) -> TextDamage | None:
    """Find a word of Latin letters and of those of another alphabet; it is certainly
    wrong if all letters of one look like letters of the other.
    """
    if text.isascii():
        return None
    lookalikes = _lookalikes()
    for word in _WORD.findall(text):
        foreign = {char for char in word if _is_of(char, _ALPHABETS)}
        latin = {char for char in word if _is_of(char, "LATIN")}
        if not foreign or not latin:
            continue
        if foreign <= lookalikes.keys():
            meant = text.translate({ord(char): lookalikes[char] for char in lookalikes})
            return _odd_letter("two_alphabets", foreign, meant)
        if latin <= {*lookalikes.values()}:
            return _odd_letter("two_alphabets", latin)
        return _odd_letter("mixed_alphabets", min(foreign, latin, key=len))
    return None


def _odd_letter(code: str, letters: set[str], meant: str | None = None) -> TextDamage:
    letter = min(letters)
    alphabet = unicodedata.name(letter).split()[0].capitalize()
    return TextDamage(code, (letter, alphabet), meant)


_SIGN_IN_WORD = (
    "[^\\W\\d_][\u00a2-\u00a6\u00a8\u00ac\u00af\u00b1-\u00b3\u00b6\u00b8\u00b9"
    "\u00bc-\u00be\u0192\u2020\u2021\u2030\u2039\u203a\u2500-\u259f][^\\W\\d_]"
    "|[a-z][\u00d7\u00f7][a-z]"
    "|(?<![^\\s-])[\u00a3\u00a5\u00a6\u00b3\u00b8\u00bc-\u00be][a-z]"
)
"""Matches a sign where a letter of one byte was read in another encoding: M³ller,
£ukasz.
"""


# Values of spreadsheets, in text files

_ERROR_VALUE = re.compile(
    r"#\u00a1?[^\W\d_]{2,}(?:/0|[ ._]?[^\W\d_]+)*[!?]|#[^\W\d_]/[^\W\d_]"
)
"""Matches the error values of spreadsheets in any language, in capitals: #VALOR!,
#N/D.
"""


def _error_value(text: str) -> TextDamage | None:
    shown = text.strip().upper()
    is_too_narrow = len(shown) > 2 and not shown.strip("#")
    if shown in error_values() or is_too_narrow or _ERROR_VALUE.fullmatch(shown):
        return TextDamage("error_value")
    return None


_FINDERS: Sequence[Finder] = (
    _like("replacement_character", "\ufffd"),
    _doubly_encoded,
    # The ' by which spreadsheets mark a number as text, and which keeps them from
    # computing a formula; names such as 's-Hertogenbosch have it, too.
    _around("text_mark", f"'({_NUMBER}|[=+@\uff1d\uff0b\uff0d\uff20-].*?)'?"),
    # As ="007", which exports write so that spreadsheets keep zeros.
    _around("text_formula", '="((?:[^"]|"")*)"'),
    _around("link", rf"(?i:mailto:({_ADDRESS})(?:\?\S*)?|tel:([+0-9().\s-]+))"),
    # Around an e-mail address, with or without a name in front.
    _around(
        "angle_brackets", rf"[^<>@]*<\s*(?i:mailto:)?({_ADDRESS})(?:[|?][^<>]*)?\s*>"
    ),
    _error_value,
    # A number as spreadsheets shorten it, such as 2.53E+11.
    _like("shortened_number", r"^\s*[+-]?[0-9](?:[.,][0-9]+)?[eE]\+[0-9]{2,3}\s*$"),
    _like(
        "like_date",
        rf"^\s*(?i:[0-9]{{1,2}}(?:-|\. ?)(?:{_SHORT_MONTHS})|(?:{_SHORT_MONTHS})[- ]"
        r"[0-9]{2})\s*$",
    ),
    _like(
        "formula_without_value",
        r"^\s*=\s*(?:[A-Za-z.]+\(|'?[\w ]*'?!?\$?[A-Za-z]{1,3}\$?[0-9]+\b)",
    ),
    _html_codes,
    _program_codes,
    _lost_letter,
    _two_alphabets,
    _like("sign_in_word", _SIGN_IN_WORD),
    # Around the whole text, kept from a text file; a part of it in quotes is sound.
    _around("quoted", """"([^"]+)"|'([^']+)'"""),
)
"""What finds each kind of damage, the worst first."""
