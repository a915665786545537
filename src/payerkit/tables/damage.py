"""What spreadsheets did to cells, judged by the field that they are for: a date is right as a birth date, and no id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from payerkit.findings import Finding
from payerkit.tables.columns import HOLDER_IS_PAYER, field_of, holds_days
from payerkit.tables.file_findings import file_finding
from payerkit.tables.sheet import NoteKind, Sheet, cells_with
from payerkit.tables.text_damage import SHORT_MONTHS

CellFindings = list[tuple[int, int, Finding]]
"""The number of the row, the number of the column, and what was found."""

_CODES: dict[NoteKind, str] = {
    "boolean": "became_boolean",
    "date": "became_date",
    "digits_lost": "digits_lost",
    "error_value": "error_value",
    "formula_without_value": "formula_without_value",
    "fraction": "became_fraction",
    "hidden_row": "hidden_row",
    "number": "became_number",
    "time": "became_time",
}
"""The code of each kind of note, where the cell is not right as it is."""

_RIGHT: dict[str, frozenset[NoteKind]] = {
    "day": frozenset({"date", "number", "fraction"}),  # the checks of the field see a number that is no day
    HOLDER_IS_PAYER: frozenset({"boolean", "number"}),
}
"""Kinds of cells that are right in some fields."""

_NUMBERED = frozenset(
    {"phone", "ssn", "postcode", "postal_code", "account_number", "routing_number", "iban", "swift_bic", "sort_code"}
    | {"bsb_number", "ncc", "ifsc", "rib_number", "bank_code", "branch_code", "document_number"}
)
"""Fields of numbers and codes, which never are a decimal number."""

_WHOLE = "[0-9]+[.,]00?"
_DATE = (
    "(?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9](?:[T ]00:00(?::00)?)?"
    "|[0-3]?[0-9](?:/[0-3]?[0-9]/|[.][0-3]?[0-9][.])(?:19|20)[0-9]{2}"
    f"|[0-3]?[0-9][.]?[ -](?i:{SHORT_MONTHS})[.]?[ -](?:19|20)?[0-9]{{2}}"
)
"""A day as spreadsheets write it. Shorter ones, such as 02-Jan, are no text of any field: `text_damage` finds them."""

_BOOLEAN = "TRUE|FALSE|WAHR|FALSCH|VRAI|FAUX|VERDADERO|FALSO"
_GROUPED = r"[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}"
"""A number in groups of three digits, as spreadsheets write large ones; account numbers with dots have others."""

_ROUNDED = "[1-9][0-9]{14}0+"
"""A number as it stands if a spreadsheet kept 15 digits of it."""

_is_whole, _is_date, _is_boolean = (re.compile(pattern).fullmatch for pattern in (_WHOLE, _DATE, _BOOLEAN))
_is_grouped, _is_rounded = re.compile(_GROUPED).fullmatch, re.compile(_ROUNDED).fullmatch
_SUSPECT = f"^(?:{_WHOLE}|{_GROUPED}|{_ROUNDED}|{_DATE}|{_BOOLEAN})$"

_BEYOND_MONTHS = "(?:1[3-9]|2[0-9]|3[01])"
_TEXT_DAY = (
    f"{_BEYOND_MONTHS}[/.-][0-9]{{1,2}}[/.-](?:19|20)?[0-9]{{2}}"
    f"|[0-9]{{1,2}}[/.-]{_BEYOND_MONTHS}[/.-](?:19|20)?[0-9]{{2}}"
)
"""A date whose order shows: one of its first two numbers is no month."""

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
    noted = [*_noted(sheet, first_row, columns), *_swapped_days(sheet, first_row, columns)]
    seen = {(row, column) for row, column, _ in noted}
    kinds = {(note.row, note.column) for note in sheet.notes}
    rows = sheet.cells.loc[sheet.cells.index >= first_row]
    told = [
        (row, column, finding)
        for column, name in columns.items()
        if column in rows.columns
        for row, finding in _text_findings(rows[column], name)
        if (row, column) not in seen and (row, column) not in kinds
    ]
    return sorted(noted + told, key=lambda found: found[:2])


def _noted(sheet: Sheet, first_row: int, columns: Mapping[int, str]) -> Iterator[tuple[int, int, Finding]]:
    for note in sheet.notes:
        if note.row < first_row:
            continue
        if note.kind == "hidden_row":
            if columns:
                yield note.row, min(columns), file_finding("hidden_row", "")
        elif note.column in columns and note.kind not in _right_kinds(columns[note.column]):
            yield note.row, note.column, file_finding(_CODES[note.kind], field_of(columns[note.column]))


def _swapped_days(sheet: Sheet, first_row: int, columns: Mapping[int, str]) -> Iterator[tuple[int, int, Finding]]:
    """Yield the dates of columns in which others are text that no spreadsheet of this order of dates can read.

    Such a column was text of one order, opened where another is usual: 12/31/1985 stays text, and 03/04/1985 becomes
    the wrong day without a word. No date of such a column has a day above 12.
    """
    for column, name in columns.items():
        if not holds_days(name) or column not in sheet.cells.columns:
            continue
        cells = sheet.cells.loc[sheet.cells.index >= first_row, column].dropna()
        rows = [note.row for note in sheet.notes if note.column == column and note.kind == "date" and note.row in cells]
        others = cells[~cells.index.isin(rows)]
        if (
            rows
            and len(cells_with(f"^(?:{_TEXT_DAY})$", others))
            and all(int(cells.loc[row][8:10]) <= 12 for row in rows)
        ):
            yield from ((row, column, file_finding("day_swapped", field_of(name))) for row in rows)


def _right_kinds(column: str) -> frozenset[NoteKind]:
    return _RIGHT.get("day" if holds_days(column) else column, frozenset())


def _text_findings(cells: pd.Series[Any], column: str) -> Iterator[tuple[int, Finding]]:
    """Yield the findings about texts of a column, each with its row: damage that was saved as text, as in CSV."""
    if holds_days(column) or column == HOLDER_IS_PAYER:
        return
    field = field_of(column)
    suspects = cells_with(_SUSPECT, cells)
    if suspects.empty:
        return
    are_few = sum(_is_date(text) is not None for text in suspects) <= _FEW * cells.notna().sum()
    are_rounded = any(map(_is_rounded, suspects)) and _are_rounded(cells)
    for row, text in zip(suspects.index.tolist(), suspects.tolist(), strict=True):
        code = _text_code(text, field, dates_are_few=are_few, are_rounded=are_rounded)
        if code:
            yield row, file_finding(code, field)


def _are_rounded(cells: pd.Series[Any]) -> bool:
    """Return True if all numbers of more than 15 digits end in zeros, and too many of them to be so by chance."""
    long = cells_with("^[0-9]{16,}$", cells)
    return all(map(_is_rounded, long)) and sum(len(text) - 15 for text in long) >= _ZEROS


def _text_code(text: str, field: str, *, dates_are_few: bool, are_rounded: bool) -> str | None:
    if _is_whole(text):
        return "became_fraction" if field in _NUMBERED else None
    if _is_date(text):
        return "like_date" if dates_are_few or field != "client_user_id" else None
    if _is_grouped(text):
        return "like_amount" if field == "account_number" else None
    if _is_rounded(text):
        return "like_digits_lost" if are_rounded and field in _ROUNDABLE else None
    return "like_boolean" if _is_boolean(text) else None
