"""What spreadsheets and other programs did to cells.

A sheet's cells are judged by the field that they are for: a date is right as a birth date, and no id. A text is damaged
in any field: by a wrong encoding, a mark around a number, or as the error value of a spreadsheet.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from html import unescape
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import unquote

import pandas as pd

from payerkit import _tsv
from payerkit.checks.readings import error_values
from payerkit.findings import Finding, finding_of_kind
from payerkit.tables.header import HOLDER_IS_PAYER, field_of, holds_days
from payerkit.tables.sheet import CellNote, NoteKind, Sheet, cells_like

BASIS = "file"
"""The basis of these findings."""

_KINDS = {row["code"]: row for row in _tsv.rows(__package__, "file_findings")}

FILE_FINDING_CODES = tuple(_KINDS)


@cache
def file_finding(code: str, field: str, *values: str) -> Finding:
    """Return the finding with a code about a field. values: the texts for {0} and {1}."""
    return finding_of_kind(_KINDS[code] | {"basis": BASIS}, code, field, *values)


# Cells of a field

_SHORT_MONTHS = "jan|feb|mar|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
"""Months as spreadsheets shorten them, as a pattern."""

CellFindings = list[tuple[int, int, Finding]]
"""The number of the row, the number of the column, and what was found."""

_RIGHT: dict[str, frozenset[NoteKind]] = {
    "day": frozenset({"date", "fraction"}),  # the checks of the field see a number that is no day
    HOLDER_IS_PAYER: frozenset({"boolean"}),
}
"""Kinds of cells that are right in some fields."""

_NUMBERED = frozenset(
    {"phone", "ssn", "postcode", "postal_code", "account_number", "routing_number", "iban", "swift_bic", "sort_code"}
    | {"bsb_number", "ncc", "ifsc", "rib_number", "bank_code", "branch_code", "document_number"}
)
"""Fields of numbers and codes, which never are a decimal number."""

_AS_TEXT = {
    "became_fraction": "[0-9]+[.,]00?",
    "like_date": (
        "(?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9](?:[T ]00:00(?::00)?)?"
        "|[0-3]?[0-9](?:/[0-3]?[0-9]/|[.][0-3]?[0-9][.])(?:19|20)[0-9]{2}"
        f"|[0-3]?[0-9][.]?[ -](?i:{_SHORT_MONTHS})[.]?[ -](?:19|20)?[0-9]{{2}}"
    ),
    "like_amount": r"[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}",
    "like_digits_lost": "[1-9][0-9]{14}0+|[1-9][0-9]{13}00",
    "like_boolean": "TRUE|FALSE|WAHR|FALSCH|VRAI|FAUX|VERDADERO|FALSO",
    "letter_in_number": "(?=(?:[^0-9]*[0-9]){5})[0-9 -]*[Oo][0-9Oo -]*",
    "text_mark": "'.*",
}
"""Values as spreadsheets write them into text files, by the code of the finding.

like_date: shorter days, such as 02-Jan, are no text of any field: `text_damage` finds them. like_amount: in groups of
three digits; account numbers with dots have others. like_digits_lost: as it stands if 15 digits were kept.
letter_in_number: the letter O in place of a zero. text_mark: in an id.
"""

_is_suspect = re.compile("|".join(f"(?P<{code}>{pattern})" for code, pattern in _AS_TEXT.items())).fullmatch
_is_long = re.compile("[0-9]{16,}").fullmatch
_is_rounded = re.compile("[1-9][0-9]{14}0+").fullmatch
_is_likely_rounded = re.compile("[1-9][0-9]{13}00|[1-9][0-9]{14}0{2,5}").fullmatch
"""Matches a rounded number of 16 to 20 digits. Longer account numbers, as in Hungary, end in zeros by nature."""

_BEYOND_MONTHS = "(?:1[3-9]|2[0-9]|3[01])"
_is_day_in_order = re.compile(
    f"{_BEYOND_MONTHS}[/.-][0-9]{{1,2}}[/.-](?:19|20)?[0-9]{{2}}"
    f"|[0-9]{{1,2}}[/.-]{_BEYOND_MONTHS}[/.-](?:19|20)?[0-9]{{2}}"
).fullmatch
"""Matches a date whose order shows: one of its first two numbers is no month."""

_DIGITS_ALONE = frozenset({"phone", "ssn", "account_number", "routing_number", "sort_code", "bsb_number", "ncc"})
"""Fields whose values have no letters."""

_ROUNDABLE = _NUMBERED | {"client_user_id"}
"""Fields whose values may be long numbers."""

_ZEROS = 3
"""So many zeros behind the fifteenth digits of a column's long numbers come by chance once in a thousand files."""

_FEW = 0.2
"""If a greater part of the ids in a column look like dates, they are so by intention."""


def cell_findings(sheet: Sheet, first_row: int, columns: Mapping[int, str]) -> CellFindings:
    """Return the findings about the cells of a sheet, by row and column.

    A hidden row is found once, at the first of the columns, as a finding about no field.

    Args:
        sheet: As it was read.
        first_row: Number of the first row below the header.
        columns: The field of each column that is used, by its number in the file, as columns of tables are named
            (`bank_city`).
    """
    cells = sheet.cells.loc[sheet.cells.index >= first_row]
    notes = [note for note in sheet.notes if note.row >= first_row]
    columns = {column: name for column, name in columns.items() if column in cells}
    found = [
        *_noted(notes, columns),
        *_swapped_days(cells, notes, columns),
        *_shorter_numbers(cells, notes, columns),
    ]
    seen = {(note.row, note.column) for note in notes if note.kind != "unformatted"}
    seen.update((row, column) for row, column, _ in found)
    for column, name in columns.items():
        for row, finding in _text_findings(cells[column], name):
            if (row, column) not in seen:
                found.append((row, column, finding))
    return sorted(found, key=itemgetter(0, 1))


def _noted(notes: Iterable[CellNote], columns: Mapping[int, str]) -> Iterator[tuple[int, int, Finding]]:
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
    """Yield the dates of columns that also have, as text, dates that a spreadsheet of this date order cannot read.

    Such a column was text of one order, opened where another is usual: 12/31/1985 stays text, and 03/04/1985 becomes
    the wrong day without a word. No date of such a column has a day above 12.
    """
    for column, name in columns.items():
        texts = cells[column].dropna() if holds_days(name) else cells[column][:0]
        rows = [note.row for note in notes if note.column == column and note.kind == "date" and note.row in texts]
        others = cells_like(_is_day_in_order, texts[~texts.index.isin(rows)])
        if rows and len(others) and all(int(texts.loc[row][8:10]) <= 12 for row in rows):
            yield from ((row, column, file_finding("day_swapped", field_of(name))) for row in rows)


_MOST = 0.8
"""If so many cells of a column are of one length, a shorter number has lost zeros; ten cells must show it."""


def _shorter_numbers(
    cells: pd.DataFrame, notes: Iterable[CellNote], columns: Mapping[int, str]
) -> Iterator[tuple[int, int, Finding]]:
    """Yield the cells of columns of numbers that are stored as a number and shorter than nearly all others."""
    stored = {(note.row, note.column) for note in notes if note.kind == "unformatted"}
    for column, name in columns.items():
        if not stored or field_of(name) not in _DIGITS_ALONE | {"postcode", "postal_code"}:
            continue
        texts = cells[column].dropna()
        lengths = Counter(map(len, texts))
        usual, times = lengths.most_common(1)[0] if lengths else (0, 0)
        if len(texts) >= 10 and times >= _MOST * len(texts):
            yield from (
                (row, column, file_finding("zeros_lost", field_of(name)))
                for row, text in zip(texts.index.tolist(), texts.tolist(), strict=True)
                if len(text) < usual and (row, column) in stored
            )


_is_day_number = re.compile("[1-4][0-9]{4}(?:[.]0)?").fullmatch
"""Matches the number by which spreadsheets store a day from 1927 to 2036."""


def _text_findings(cells: pd.Series[Any], column: str) -> Iterator[tuple[int, Finding]]:
    """Yield the findings about texts of a column, each with its row: damage that was saved as text, as in CSV."""
    field = field_of(column)
    if holds_days(column):
        yield from ((row, file_finding("day_number", field)) for row in cells_like(_is_day_number, cells).index)
    if holds_days(column) or column == HOLDER_IS_PAYER:
        return
    suspects = cells_like(_is_suspect, cells)
    codes = [match.lastgroup or "" for match in map(_is_suspect, suspects) if match]
    doubted = {
        "became_fraction": field in _NUMBERED,
        "like_date": field != "client_user_id" or codes.count("like_date") <= _FEW * cells.notna().sum(),
        "like_amount": field == "account_number",
        "like_digits_lost": field in _ROUNDABLE and _are_rounded(cells),
        "like_boolean": True,
        "letter_in_number": field in _DIGITS_ALONE,
        "text_mark": field == "client_user_id",
    }
    for row, text, code in zip(suspects.index, suspects, codes, strict=True):
        if doubted[code] or (code == "like_digits_lost" and field in _ROUNDABLE and _is_likely_rounded(text)):
            yield row, file_finding(code, field)


def _are_rounded(cells: pd.Series[Any]) -> bool:
    """Return True if all numbers of more than 15 digits end in zeros, and too many of them to be so by chance."""
    long = cells_like(_is_long, cells)
    return all(map(_is_rounded, long)) and sum(len(text) - 15 for text in long) >= _ZEROS


# Texts of any field


class TextDamage(NamedTuple):
    """What is wrong with a text.

    code, values: of the finding. repaired: the only text it can mean, "" for a blank cell; None if that is not certain.
    """

    code: str
    values: tuple[str, ...] = ()
    repaired: str | None = None


_may_be_damaged = re.compile(
    r"[^ -~]|[&?<>#%\\]|_x[0-9A-Fa-f]{4}_|^ *['\"=]|^ *[mMtT][aAeE][iIlL][lL:]|[eE][+][0-9]|"
    r"^ *[0-9][0-9]?[-.] ?[A-Za-z][A-Za-z][A-Za-z] *$|^ *[A-Za-z][A-Za-z][A-Za-z][- ][0-9][0-9] *$"
).search
"""Matches every text that may be damaged."""


def text_damage(text: str) -> TextDamage | None:
    """Return the damage of a cell's text by a program; None for sound text."""
    for code, find in _FINDERS.items():
        if found := find(text):
            return found if isinstance(found, TextDamage) else TextDamage(code)
    return None


def find_text_damage(cells: pd.DataFrame) -> Iterator[tuple[int, Any, TextDamage]]:
    """Yield the damaged texts of cells, column by column, with the label of their row and their column."""
    known = cache(text_damage)
    for column, texts in cells.items():
        suspects = cells_like(_may_be_damaged, texts)
        for row, text in zip(suspects.index.tolist(), suspects.tolist(), strict=True):
            if damage := known(text):
                yield row, column, damage


# Wrong encodings

_LETTERS = (
    "".join(map(chr, (*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x180), *range(0x1EA0, 0x1EFA))))
    + "ȘșȚțƠơƯư"
)
_SIGNS = "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\u20ac\u2122\ufeff\xa0°ºª§«»¡¿®©·\u00b4"
_ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"
"""What names and addresses have beyond ASCII: letters, signs, and accents that stand apart from their letter."""

_CODE_PAGES = ("cp1252", "cp1250", "mac_roman", "cp850")
"""The encodings in which programs read UTF-8 by mistake, the usual one first."""

_USUAL_SIGNS = frozenset("\u2019\u201d\u2013\u2014\u2026\u2122°ºª»®©·\u00b4")
"""Signs that follow a letter in sound text, too."""

_HALF_LOST = re.compile("(?<=[a-zß-öø-ÿ])[ÃÅ]")
"""A capital of wrongly decoded text behind a small letter, if the invisible character behind it was lost."""


def _doubly_encoded(text: str) -> TextDamage | None:
    """Find UTF-8 that was read in another encoding, such as MÃ¼ller; it is repaired if all of the text agrees."""
    if text.isascii():
        return None
    readings = {page: _decode_again(text, page) for page in _CODE_PAGES}
    for page, decoded in sorted(readings.items(), key=lambda reading: reading[1] is None):
        for match in _wrong_letters(page).finditer(text):
            right = _decode_again(match.group(), page) or ""
            if not _is_natural(text, match, right, is_certain=decoded is not None):
                return TextDamage("doubly_encoded", (match.group(), right), _repaired(decoded))
    if (script := _OTHER_SCRIPTS.search(text)) and (letters := _decode_again(script.group(), "cp1252")):
        return TextDamage("doubly_encoded", (script.group(), letters), _decode_again(text, "cp1252"))
    if half := _HALF_LOST.search(text):
        return TextDamage("doubly_encoded", (half.group(), "í" if half.group() == "Ã" else "Š"))
    return None


def _repaired(decoded: str | None) -> str | None:
    """Return a text that was decoded again, once more if it is still damaged; None if it remains so."""
    damage = _doubly_encoded(decoded) if decoded is not None else None
    return damage.repaired if damage else decoded


def _is_natural(text: str, match: re.Match[str], right: str, *, is_certain: bool) -> bool:
    """Return True if it may be meant so: two capitals, as in ORĂŞTIE, or the end of a quotation behind a letter."""
    sign, before, after = match.group()[1:], text[: match.start()], text[match.end() :]
    if match.group().isalpha() and match.group().isupper() and not right.isupper():
        return not (before[-1:].islower() or after[:1].islower())
    if sign == "\xa0":
        return not (before[-1:].islower() or after[:1].islower() or after[:1] == " ")
    if sign not in _USUAL_SIGNS:
        return False
    others = [char for char in before + after if char.isalpha()]
    is_lower = right.islower() and right not in "ßºª"
    return not is_certain or (is_lower and len(others) > 1 and all(char.isupper() for char in others))


@cache
def _characters(page: str) -> Mapping[int, str]:
    """Return the character of each byte in an encoding; undefined bytes are control characters, as in browsers."""
    return {byte: bytes([byte]).decode(page, "ignore") or chr(byte) for byte in range(256)}


@cache
def _bytes(page: str) -> Mapping[str, int]:
    return {char: byte for byte, char in _characters(page).items()}


def _decode_again(text: str, page: str) -> str | None:
    """Return the text that was read in a wrong encoding; None if it is not such a text as a whole."""
    try:
        return bytes(_bytes(page)[char] for char in text).decode()
    except (KeyError, UnicodeDecodeError):
        return None


@cache
def _wrong_letters(page: str) -> re.Pattern[str]:
    """Return the pattern of letters and signs as they look when their UTF-8 is read in another encoding."""
    wrong = ("".join(_characters(page)[byte] for byte in char.encode()) for char in _LETTERS + _SIGNS + _ACCENTS)
    return re.compile("|".join(map(re.escape, sorted(wrong, key=len, reverse=True))))


def _bytes_between(first: int, last: int) -> str:
    return f"[{re.escape(''.join(_characters('cp1252')[byte] for byte in range(first, last + 1)))}]"


_TAIL = _bytes_between(0x80, 0xBF)
_OTHER_SCRIPTS = re.compile(f"(?:{_bytes_between(0xCE, 0xDB)}{_TAIL}|{_bytes_between(0xE1, 0xEF)}{_TAIL}{_TAIL}){{2}}")
"""Two letters of Greek, Cyrillic, Hebrew, Arabic or East Asian text; one may be a letter and a sign."""


_INNER_QUESTION_MARK = re.compile(r"[^\W\d_]\?+[^\W\d_]").search


def _has_lost_letters(text: str) -> bool:
    """Return True for a question mark inside a word; in a link it is right."""
    is_link = "://" in text or "@" in text or "www." in text
    return not is_link and _INNER_QUESTION_MARK(text) is not None


_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#[0-9]{2,5}|#[xX][0-9a-fA-F]{2,5});")


_TAG = re.compile(r"</?(?i:br|p|b|i|div|span|strong|em) */?>").search


def _html_codes(text: str) -> TextDamage | None:
    """Find codes of HTML, such as &amp; or &#39;, and its tags, such as <br>."""
    for match in _ENTITY.finditer(text):
        entity, meant = match.group(), unescape(match.group())
        if meant != entity:
            return TextDamage("html_codes", (entity, meant), unescape(text))
    return TextDamage("html_tag", (tag.group(),)) if (tag := _TAG(text)) else None


# Marks around numbers and addresses

_NUMBER = r"[+(]?[0-9][0-9\s./()+-]*|[A-Za-z]{2}[0-9]{2}[0-9A-Za-z ]{8,}"
_ADDRESS = r"[^\s<>@|?,;]+@[^\s<>@|?,;]+"
_WRAPPED = {
    "text_mark": re.compile(rf"\s*'({_NUMBER}|[=+@-].*?)'?\s*", re.DOTALL),
    "text_formula": re.compile(r'\s*="((?:[^"]|"")*)"\s*'),
    "link": re.compile(rf"\s*(?i:mailto:({_ADDRESS})(?:\?\S*)?|tel:([+0-9().\s-]+))\s*"),
    "angle_brackets": re.compile(rf"[^<>@]*<\s*(?i:mailto:)?({_ADDRESS})(?:[|?][^<>]*)?\s*>\s*"),
    "quoted": re.compile(r"""\s*(?:"([^"]+)"|'([^']+)')\s*"""),
}
"""Texts with something around their value, which is the only group that matches, by the code of the finding.

text_mark: the ' by which spreadsheets mark a number as text; names such as 's-Hertogenbosch have it, too. text_formula:
as ="007", which exports write so that spreadsheets keep zeros. angle_brackets: around an e-mail address, with or
without a name in front. quoted: around the whole text, kept from a text file; a part of it in quotes is sound.
"""


def _wrapped(code: str) -> Callable[[str], object]:
    """Return a function that finds a kind of wrapped texts, and the value in them."""

    def find(text: str) -> TextDamage | None:
        match = _WRAPPED[code].fullmatch(text)
        inside = next(filter(None, match.groups()), "") if match else ""
        return TextDamage(code, (), inside.replace('""', '"').strip()) if match else None

    return find


# Codes of other programs


_PERCENT_CODES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_XML_CODE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BACKSLASH_CODE = re.compile(r"\\[nrt](?![a-z])|\\u[0-9a-fA-F]{4}").search


def _program_codes(text: str) -> TextDamage | None:
    """Find the codes of characters in links (%20), in Excel files (_x000D_) and in source code (backslash n)."""
    if "://" not in text and (match := _PERCENT_CODES.search(text)):
        meant = unquote(text, errors="replace")
        if "\ufffd" not in meant and (not meant.isascii() or "%20" in text or "%40" in text):
            return TextDamage("program_code", (match.group(),), meant)
    if match := _XML_CODE.search(text):
        meant = " ".join(_XML_CODE.sub(lambda code: chr(int(code[1], 16)), text).split())
        return TextDamage("program_code", (match.group(),), meant)
    return TextDamage("program_code", (match.group(),)) if (match := _BACKSLASH_CODE(text)) else None


# Letters of another alphabet, and signs in place of letters

_WORD = re.compile(r"[^\W\d_]+")
_SIGN_IN_WORD = re.compile(
    "[^\\W\\d_][\u00a2-\u00a6\u00a8\u00ac\u00af\u00b1-\u00b3\u00b6\u00b8\u00b9\u00bc-\u00be\u0192\u2020\u2021\u2030\u2039\u203a\u2500-\u259f]"
    "[^\\W\\d_]|[a-z][\u00d7\u00f7][a-z]|(?<![^\\s-])[\u00a3\u00a5\u00a6\u00b3\u00b8\u00bc-\u00be][a-z]"
).search
"""Matches a sign where a letter of one byte was read in another encoding: M³ller, £ukasz."""


_ALPHABETS = ("CYRILLIC", "GREEK", "ARMENIAN")
"""The alphabets with letters that look like Latin ones, as Unicode names them."""


@cache
def _lookalikes() -> Mapping[str, str]:
    """Return the letters of these alphabets that look like a Latin letter, each with its Latin letter."""
    return {
        char: row["ascii"]
        for row in _tsv.rows("payerkit.onchain", "confusables")
        for char in row["characters"].split()
        if row["ascii"].isalpha() and unicodedata.name(char, "").startswith(_ALPHABETS)
    }


def _two_alphabets(text: str) -> TextDamage | None:
    """Find a word of two alphabets in which all letters of one look like letters of the other."""
    if text.isascii():
        return None
    for word in _WORD.findall(text):
        foreign = {char for char in word if unicodedata.name(char, "").startswith(_ALPHABETS)}
        latin = {char for char in word if unicodedata.name(char, "").startswith("LATIN")}
        if latin and foreign and foreign <= _lookalikes().keys():
            odd, meant = min(foreign), text.translate({ord(letter): latin for letter, latin in _lookalikes().items()})
        elif foreign and latin and latin <= {*_lookalikes().values()}:
            odd, meant = min(latin), None
        else:
            continue
        return TextDamage("two_alphabets", (odd, unicodedata.name(odd).split()[0].capitalize()), meant)
    return None


# Values of spreadsheets, in text files

_EXPONENT = re.compile(r"\s*[+-]?[0-9](?:[.,][0-9]+)?[eE]\+[0-9]{2,3}\s*").fullmatch
"""Matches a number as spreadsheets shorten it, such as 2.53E+11."""


_SHORT_DATE = re.compile(
    rf"\s*(?i:[0-9]{{1,2}}(?:-|\. ?)(?:{_SHORT_MONTHS})|(?:{_SHORT_MONTHS})[- ][0-9]{{2}})\s*"
).fullmatch
_FORMULA = re.compile(r"\s*=\s*(?:[A-Za-z.]+\(|'?[\w ]*'?!?\$?[A-Za-z]{1,3}\$?[0-9]+\b).*", re.DOTALL).fullmatch


_ERROR_VALUE = re.compile(r"#\u00a1?[^\W\d_]{2,}(?:/0|[ ._]?[^\W\d_]+)*[!?]|#[^\W\d_]/[^\W\d_]").fullmatch
"""Matches the error values of spreadsheets in any language, in capitals: #VALOR!, #N/D."""


def _is_error_value(text: str) -> bool:
    shown = text.strip().upper()
    is_too_narrow = len(shown) > 2 and not shown.strip("#")
    return shown in error_values() or is_too_narrow or _ERROR_VALUE(shown) is not None


_FINDERS: Mapping[str, Callable[[str], object]] = {
    "replacement_character": re.compile("\ufffd").search,
    "doubly_encoded": _doubly_encoded,
    "text_mark": _wrapped("text_mark"),
    "text_formula": _wrapped("text_formula"),
    "link": _wrapped("link"),
    "angle_brackets": _wrapped("angle_brackets"),
    "error_value": _is_error_value,
    "shortened_number": _EXPONENT,
    "like_date": _SHORT_DATE,
    "formula_without_value": _FORMULA,
    "html_codes": _html_codes,
    "letters_lost": _has_lost_letters,
    "program_code": _program_codes,
    "two_alphabets": _two_alphabets,
    "sign_in_word": _SIGN_IN_WORD,
    "quoted": _wrapped("quoted"),
}
"""A function for each kind of damage, the worst first; it returns the damage, or anything true if there is some."""
