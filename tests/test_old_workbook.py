""".xls and .ods files, whose number formats cannot be read: each number has a note."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from messy_workbooks import write_ods, write_xls
from payerkit import InvalidInput
from payerkit.tables.sheet import Sheet, SheetInfo
from payerkit.tables.workbooks import kind_of_file, read_sheets
from test_workbook import texts_of

Read = tuple[str | None, str | None]


def first_cell(sheet: Sheet, row: int = 1) -> Read:
    """Return the text of the first cell of a row, and the kind of its note."""
    kinds = {(note.row, note.column): note.kind for note in sheet.notes}
    return texts_of(sheet)[row][0], kinds.get((row, 0))


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        ("007", "General", ("007", None)),
        (7, "000", ("7", "number")),  # shown as 007, which is not seen here
        (1.1, "General", ("1.1", "fraction")),
        (1234567890123456.0, "0", ("1234567890123456", "digits_lost")),
        (dt.date(1985, 12, 31), "DD.MM.YYYY", ("1985-12-31", "date")),
        (True, "General", ("TRUE", "boolean")),
    ],
)
def test_cells_of_xls_files_are_read(value: Any, code: str, expected: Read, tmp_path: Path) -> None:
    """Text stays text; anything else has a note, whole numbers too."""
    write_xls(tmp_path / "table.xls", [[value, "more"]], {(0, 0): code})

    assert expected == first_cell(read_sheets(tmp_path / "table.xls", "Payers")[1][0])


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("007", ("007", None)),
        ({"valuetype": "float", "value": "7"}, ("7", "number")),
        ({"valuetype": "float", "value": "1.1"}, ("1.1", "fraction")),
        ({"valuetype": "date", "datevalue": "1985-12-31"}, ("1985-12-31", "date")),
        ({"valuetype": "boolean", "booleanvalue": "true"}, ("TRUE", "boolean")),
        ({"valuetype": "time", "timevalue": "PT09H30M00S"}, ("09:30:00", "time")),
    ],
)
def test_cells_of_ods_files_are_read(cell: Any, expected: Read, tmp_path: Path) -> None:
    """The same holds for files of LibreOffice."""
    write_ods(tmp_path / "table.ods", [[cell, "more"]])

    assert expected == first_cell(read_sheets(tmp_path / "table.ods", "Payers")[1][0])


def test_rows_of_old_workbooks_keep_their_numbers(tmp_path: Path) -> None:
    """Blank rows above and within the table count, as do blank columns in front."""
    rows = [[], [], [None, "a"], [], [None, None, "b"]]
    write_xls(tmp_path / "table.xls", rows)
    write_ods(tmp_path / "table.ods", rows)
    read = [texts_of(read_sheets(tmp_path / name, "Payers")[1][0]) for name in ("table.xls", "table.ods")]

    assert [{3: [None, "a", None], 5: [None, None, "b"]}] * 2 == read


def test_sheets_of_old_workbooks_are_listed(tmp_path: Path) -> None:
    """Each sheet has its name and the number of its last row; an unknown one is refused."""
    write_xls(tmp_path / "table.xls", [["a"], [], ["b"]])
    with pytest.raises(InvalidInput, match="no sheet 'Other'"):
        read_sheets(tmp_path / "table.xls", "Other")[1][0]

    assert [SheetInfo("Payers", is_hidden=False, rows=3)] == read_sheets(tmp_path / "table.xls")[0]


@pytest.mark.parametrize("name", ["table.xls", "table.ods"])
def test_broken_old_workbooks_are_refused(name: str, tmp_path: Path) -> None:
    """A broken file is refused with what to do, without the error of the library."""
    (tmp_path / name).write_bytes(b"\x00nonsense")
    with pytest.raises(InvalidInput, match="not a readable spreadsheet file") as caught:
        read_sheets(tmp_path / name)[0]

    assert (True, None) == (bool(caught.value.advice), caught.value.__context__)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("table.csv", b"a,b\n", "text"),
        ("table.TSV", b"a\tb\n", "text"),
        ("table.xls", b"client\temail\n", "text"),  # as web sites export tables
        ("table.xls", bytes.fromhex("d0cf11e0a1b11ae1"), "old_workbook"),
        ("table.csv", b"", "text"),
    ],
)
def test_files_are_known_by_their_content(name: str, content: bytes, expected: str, tmp_path: Path) -> None:
    """What a file is, is told by its first bytes; its name counts only where these say nothing."""
    (tmp_path / name).write_bytes(content)

    assert expected == kind_of_file(tmp_path / name)


@pytest.mark.parametrize("name", ["table.ods", "table.csv", "table.xlsx"])
def test_a_workbook_of_another_name_is_known(name: str, tmp_path: Path) -> None:
    """A LibreOffice file is one under any name."""
    write_ods(tmp_path / name, [["a"]])

    assert "old_workbook" == kind_of_file(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("table.numbers", b"", "Export To"),
        ("table.gsheet", b"{}", "Download"),
        ("table.parquet", b"PAR1", "read_parquet"),
        ("table.docx", b"PK\x03\x04", "is not a .csv"),
        ("table.pdf", b"%PDF", "is not a .csv"),
        ("table.xls", b"\xef\xbb\xbf<html>", "web page"),
        ("table.xls", b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>', "web page or XML"),
    ],
)
def test_files_that_are_no_tables_are_refused(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    """A file that cannot be read as a table is refused, with what to do."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        kind_of_file(tmp_path / name)

    assert words in str(caught.value)
