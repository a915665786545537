"""What spreadsheets did to cells: found where the field says that it is wrong, and
nowhere else.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cases import table
from messy_workbooks import read_sheet, write_xlsx
from payerkit.tables.damage import cell_findings
from payerkit.tables.sheet import CellNote, NoteKind, Sheet
from published import TYPED_ACCOUNT, TYPED_PAYER


def sheet_of(*texts: str | None, notes: tuple[CellNote, ...] = ()) -> Sheet:
    """Return a sheet of one column with a header, and these texts from row 2 on."""
    index = pd.RangeIndex(1, 2 + len(texts), name="row")
    return Sheet(pd.DataFrame({0: ["header", *texts]}, index=index, dtype=str), notes)


def codes_of(sheet: Sheet, field: str) -> list[str]:
    """Return the codes that are found in the only column of a sheet, if it is for this
    field.
    """
    return [finding.code for _, _, finding in cell_findings(sheet, 2, {0: field})]


@table("cell_notes")
def test_notes_are_judged_by_field(
    kind: NoteKind, field: str, expected: list[str]
) -> None:
    """What a cell is, is damage in some fields and right in others."""
    assert expected == codes_of(sheet_of("x", notes=(CellNote(2, 0, kind),)), field)


@table("cell_texts")
def test_damage_that_is_text_is_found(
    text: str | None, field: str, expected: list[str]
) -> None:
    """A CSV file holds what a spreadsheet showed when it was saved; what is damage in a
    number is right in a name.
    """
    assert expected == codes_of(sheet_of(text, *["other"] * 9), field)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (
            ["4/17", "5/22/1", "17-1", "20-3"],
            ["like_date"],
        ),  # the other ids say that this one was another
        (
            ["2024-01-04", "2024-01-05", "2024-01-06", "2024-01-07"],
            [],
        ),  # ids that are days
    ],
)
def test_ids_like_dates_are_judged_by_the_other_ids(
    others: list[str], expected: list[str]
) -> None:
    """Only a few ids that look like dates were made so by a spreadsheet."""
    assert expected == codes_of(sheet_of("2024-01-03", *others), "client_user_id")


def test_what_is_above_the_table_or_left_out_is_not_judged() -> None:
    """A title, the header and columns that are left out may hold anything."""
    notes = (
        CellNote(1, 0, "date"),
        CellNote(1, -1, "hidden_row"),
        CellNote(2, 1, "time"),
    )

    assert [] == codes_of(sheet_of("x", notes=notes), "email")


def test_a_cell_is_told_once() -> None:
    """A date in an id has a note, and its text looks like a date, too."""
    sheet = sheet_of("2024-01-03", *["other"] * 9, notes=(CellNote(2, 0, "date"),))

    assert ["became_date"] == codes_of(sheet, "client_user_id")


def test_a_hidden_row_is_told_once() -> None:
    """A hidden row is told at the first column, as a finding about no field."""
    notes = (CellNote(3, -1, "hidden_row"),)
    (found,) = cell_findings(sheet_of("x", "y", notes=notes), 2, {0: "email"})

    assert (3, 0, "hidden_row", "") == (*found[:2], found[2].code, found[2].field)


def test_findings_have_the_field_and_are_of_the_file() -> None:
    """A column of the account holder tells its field, as the checks do; cells come in
    the order of the file.
    """
    cells = {0: ["TRUE", "TRUE"], 1: ["120.0", "x"]}
    sheet = Sheet(pd.DataFrame(cells, index=pd.Index([2, 3], name="row"), dtype=str))
    found = cell_findings(sheet, 2, {0: "bank_city", 1: "account_number"})

    assert [
        (2, 0, "city", "warning", "file"),
        (2, 1, "account_number", "error", "file"),
        (3, 0, "city", "warning", "file"),
    ] == [
        (row, column, each.field, each.severity, each.basis)
        for row, column, each in found
    ]


@pytest.mark.parametrize("record", [TYPED_PAYER, TYPED_ACCOUNT])
def test_published_examples_are_not_damaged(
    record: dict[str, str], tmp_path: Path
) -> None:
    """The published examples, written by a program as text, have no finding."""
    write_xlsx(tmp_path / "table.xlsx", [list(record), list(record.values())])
    sheet = read_sheet(tmp_path / "table.xlsx")

    assert [] == cell_findings(sheet, 2, dict(enumerate(record)))


def test_an_ordinary_workbook_with_numbers_is_not_damaged(tmp_path: Path) -> None:
    """Numbers that are shown as they are meant, and birth dates that are dates, are no
    damage.
    """
    row: list[Any] = [17, 12125551234, 1234, dt.date(1985, 12, 31), True]
    names = ["client_user_id", "phone", "postcode", "date_of_birth", "holder_is_payer"]
    write_xlsx(tmp_path / "table.xlsx", [names, row], {"C2": "00000"})
    sheet = read_sheet(tmp_path / "table.xlsx")

    assert [] == cell_findings(sheet, 2, dict(enumerate(names)))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (
            ["12/31/1985", dt.date(1985, 4, 3)],
            [3],
        ),  # an American file, opened in Germany
        (
            ["31.12.1985", dt.date(1985, 4, 3), dt.date(1990, 1, 2)],
            [3, 4],
        ),  # the other way round
        (
            ["12/31/1985", dt.date(1985, 4, 30)],
            [],
        ),  # a day above 12 was no month: the dates were typed as dates
        (
            ["1985-12-31", dt.date(1985, 4, 3)],
            [],
        ),  # text of which every program reads the order
        (["03/04/1985", dt.date(1985, 4, 3)], []),  # it tells no order
        ([dt.date(1985, 4, 3), dt.date(1985, 12, 31)], []),
    ],
)
def test_dates_that_were_read_in_another_order(
    cells: list[Any], expected: list[int], tmp_path: Path
) -> None:
    """Where some dates stayed text, those that became dates have day and month
    swapped.
    """
    write_xlsx(
        tmp_path / "table.xlsx", [["date_of_birth"], *([cell] for cell in cells)]
    )
    sheet = read_sheet(tmp_path / "table.xlsx")

    assert expected == [
        row
        for row, _, finding in cell_findings(sheet, 2, {0: "date_of_birth"})
        if finding.code == "day_swapped"
    ]


@pytest.mark.parametrize(
    ("field", "texts", "expected"),
    [
        ("client_user_id", ["123456789012345000"], ["like_digits_lost"]),
        (
            "account_number",
            ["4000123412341230", "4000123412341240", "4000123412341250"],
            ["like_digits_lost"] * 3,
        ),
        ("account_number", ["4000123412341230"], []),  # every tenth number ends so
        (
            "account_number",
            ["123456789012345000", "123456789012345678"],
            ["like_digits_lost"],
        ),  # not the other one
        ("account_number", ["123456789012000"], []),  # 15 digits are kept
        (
            "account_number",
            ["000000000000123000"],
            [],
        ),  # no number of a spreadsheet begins with zeros
        ("account_name", ["123456789012345000"], []),
    ],
)
def test_long_numbers_that_end_in_zeros_are_doubted(
    field: str, texts: list[str], expected: list[str]
) -> None:
    """Excel keeps 15 digits, and writes zeros for the others into a CSV file: two
    payers may become one.
    """
    assert expected == codes_of(sheet_of(*texts), field)


@pytest.mark.parametrize(
    ("first", "others", "field", "expected"),
    [
        ("12345678", ["123456789"] * 9, "account_number", ["shorter_number"]),
        ("12345678", ["023456789"] * 9, "account_number", []),  # zeros are kept here
        ("12345678", ["123456789"] * 8, "account_number", []),  # too few to tell
        ("1010", ["10115"] * 9, "postcode", []),  # of another country
        ("1001.0", ["1002.0"] * 9, "client_user_id", ["became_fraction"] * 10),
        ("1001.0", ["1002.5"] * 9, "client_user_id", []),  # numbers of versions
    ],
)
def test_a_number_is_judged_by_its_column(
    first: str, others: list[str], field: str, expected: list[str]
) -> None:
    """Of equally long numbers a shorter one may lack a zero; ids in which each has a
    zero behind a point were whole numbers.
    """
    assert expected == codes_of(sheet_of(first, *others), field)
