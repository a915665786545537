"""Excel workbooks: cells as texts that a person sees, how number formats show them, and
notes about what is no text.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.chart import BarChart
from openpyxl.workbook import Workbook

import payerkit
from cases import table, table_rows
from messy_tables import cells_of
from messy_workbooks import (
    add_shared_texts,
    read_sheet,
    replace_in_part,
    write_cell,
    write_parts,
    write_xlsx,
)
from payerkit import InvalidInput
from payerkit.tables.sheet import CellNote, shown_by
from payerkit.tables.workbooks import read_sheets


def read_cell(path: Path) -> tuple[str | None, str | None]:
    """Return the text of the cell A1, and the kind of its note."""
    sheet = read_sheet(path)
    notes = [note.kind for note in sheet.notes if (note.row, note.column) == (1, 0)]
    return cells_of(sheet.cells).get(1, [None])[0], next(iter(notes), None)


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (1.1 + 2.2, "General", ("3.3", "fraction")),  # as Excel shows it
        (dt.date(1985, 12, 31), "yyyy-mm-dd", ("1985-12-31", "date")),
        (dt.datetime(1985, 12, 31), "dd.mm.yyyy", ("1985-12-31", "date")),  # noqa: DTZ001 - Excel has no time zones
        (
            dt.datetime(1985, 12, 31, 9, 30),  # noqa: DTZ001 - Excel has no time zones
            "d/m/yy h:mm",
            ("1985-12-31 09:30:00", "date"),
        ),
        (dt.date(1900, 1, 1), "yyyy-mm-dd", ("1900-01-01", "date")),
        (dt.time(9, 30), "h:mm", ("09:30:00", "time")),
        (dt.timedelta(hours=26, minutes=5), "[h]:mm", ("1 day, 2:05:00", "time")),
        *(
            (row["value"][0], row["code"], (row["text"], row["kind"]))
            for row in table_rows("workbook_cells")
        ),
    ],
)
def test_cells_are_read_as_people_see_them(
    value: Any, code: str, expected: tuple[str | None, str | None], tmp_path: Path
) -> None:
    """A cell becomes the text that its format shows, or all of its digits, and what is
    no text has a note.
    """
    write_xlsx(tmp_path / "table.xlsx", [[value, "more"]], {"A1": code})

    assert expected == read_cell(tmp_path / "table.xlsx")


@table("workbook_xml")
def test_cells_of_other_programs_are_read(
    xml: str, shown: str | None, kind: str | None, tmp_path: Path
) -> None:
    """Cells as programs other than openpyxl write them are read, too."""
    write_cell(tmp_path / "table.xlsx", xml)

    assert (shown, kind) == read_cell(tmp_path / "table.xlsx")


def test_shared_texts_are_read(tmp_path: Path) -> None:
    """Excel keeps texts apart from the cells, which refer to them by number."""
    write_cell(
        tmp_path / "table.xlsx",
        '<c r="A1" t="s"><v>1</v></c><c r="B1" t="s"><v>0</v></c>',
    )
    add_shared_texts(tmp_path / "table.xlsx", "007", "one_x000D_two")

    assert {1: ["one\rtwo", "007"]} == cells_of(
        read_sheet(tmp_path / "table.xlsx").cells
    )


def test_days_of_the_1904_calendar_are_right(tmp_path: Path) -> None:
    """Workbooks of old Macs count days from 1904."""
    write_xlsx(tmp_path / "table.xlsx", [[29585]], {"A1": "yyyy-mm-dd"})
    replace_in_part(
        tmp_path / "table.xlsx",
        {"<workbookPr ": '<workbookPr date1904="1" '},
        "xl/workbook.xml",
    )

    assert ("1984-12-31", "date") == read_cell(tmp_path / "table.xlsx")


def test_rows_and_columns_keep_their_numbers(tmp_path: Path) -> None:
    """Rows without any cell are left out; the others have their numbers, and columns
    theirs.
    """
    write_xlsx(tmp_path / "table.xlsx", [[], [None, "a"], [], [None, None, None, "b"]])

    assert {2: [None, "a", None, None], 4: [None, None, None, "b"]} == cells_of(
        read_sheet(tmp_path / "table.xlsx").cells
    )


def test_hidden_rows_and_merged_cells_are_told(tmp_path: Path) -> None:
    """A hidden row has a note if it has cells; cells merged across columns are
    named.
    """
    book = write_xlsx(
        tmp_path / "table.xlsx",
        [["Payer", None, "Bank", None], ["a", "b", "c", "d"], ["e"], []],
    )
    sheet = book.worksheets[0]
    for row in (3, 4):
        sheet.row_dimensions[row].hidden = True
    for cells in ("A1:B1", "C1:D1", "D2:D3"):
        sheet.merge_cells(cells)
    book.save(tmp_path / "table.xlsx")
    read = read_sheet(tmp_path / "table.xlsx")

    assert [CellNote(3, -1, "hidden_row")] == [
        note for note in read.notes if note.kind == "hidden_row"
    ]
    assert ([(1, 0, 1), (1, 2, 3)], "Payers") == (list(read.merged), read.name)


def test_sheets_are_listed(tmp_path: Path) -> None:
    """Hidden sheets are named, and empty ones and charts are no tables."""
    book = write_xlsx(tmp_path / "table.xlsx", [["a"], [], ["b"]])
    book.create_sheet("Empty")["A5"].number_format = "@"
    for name, state in (("Lists", "hidden"), ("Secret", "veryHidden")):
        book.create_sheet(name).append(["x"])
        book[name].sheet_state = state
    book.create_chartsheet("Chart").add_chart(BarChart())
    book.save(tmp_path / "table.xlsx")

    sheets, hidden = read_sheets((tmp_path / "table.xlsx").read_bytes())

    assert (["Payers"], ["Lists", "Secret"]) == (
        [sheet.name for sheet in sheets],
        hidden,
    )


def test_hidden_rows_of_libreoffice_are_told(tmp_path: Path) -> None:
    """LibreOffice writes true and false for 1 and 0."""
    write_xlsx(tmp_path / "table.xlsx", [["a"], ["b"]])
    replace_in_part(
        tmp_path / "table.xlsx",
        {
            '<row r="1"': '<row r="1" hidden="false"',
            '<row r="2"': '<row r="2" hidden="true"',
        },
    )
    notes = read_sheet(tmp_path / "table.xlsx").notes

    assert [CellNote(2, -1, "hidden_row")] == list(notes)


@pytest.mark.parametrize(
    "dimension", ["", '<dimension ref="A1"/>', '<dimension ref="A1:A2"/>']
)
def test_what_a_sheet_says_of_its_size_may_be_wrong(
    dimension: str, tmp_path: Path
) -> None:
    """Some programs write no size, or a wrong one: all cells are read."""
    write_xlsx(tmp_path / "table.xlsx", [["a", "b"], [], ["c", "d"]])
    replace_in_part(tmp_path / "table.xlsx", {"<dimension[^>]*>": dimension})

    assert {1: ["a", "b"], 3: ["c", "d"]} == cells_of(
        read_sheet(tmp_path / "table.xlsx", None).cells
    )


def test_an_empty_sheet_is_read(tmp_path: Path) -> None:
    """A sheet without cells is an empty table, and no error here."""
    Workbook().save(tmp_path / "table.xlsx")

    assert {} == cells_of(read_sheet(tmp_path / "table.xlsx", "Sheet").cells)


def test_many_rows_stay_in_order(tmp_path: Path) -> None:
    """Later ones may be wider."""
    write_xlsx(
        tmp_path / "table.xlsx",
        [*([str(row)] for row in range(4200)), ["last", "wider"]],
    )
    cells = read_sheet(tmp_path / "table.xlsx").cells

    assert (list(range(1, 4202)), ["4199", "last"]) == (
        list(cells.index),
        cells[0].tolist()[-2:],
    )
    assert (4200, "wider") == (cells[1].isna().sum(), cells[1].iloc[-1])


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (None, "not a readable Excel file"),
        ("content.xml", "an OpenDocument file"),
        ("xl/workbook.bin", "a binary workbook"),
        ("Index/Document.iwa", "a Numbers file"),
        ("table.csv", "a zip archive"),
    ],
)
def test_archives_that_are_no_workbook_are_refused(
    part: str | None, words: str, tmp_path: Path
) -> None:
    """A broken or another archive is refused, with what to do, whatever it is
    called.
    """
    path = tmp_path / "table.xlsx"
    path.write_bytes(b"PK\x03\x04 cut off")
    if part:
        write_parts(path, {part: b""})
    with pytest.raises(InvalidInput, match=words) as caught:
        payerkit.read_payers(path)

    assert re.search("[Ss]ave|Export|Unpack", str(caught.value))


@pytest.mark.parametrize(
    ("part", "replacements"),
    [
        ("xl/worksheets/sheet1.xml", {"</sheetData>": ""}),  # no XML
        (
            "xl/worksheets/sheet1.xml",
            {'t="inlineStr"><is>.*</is>': 't="s"><v>99</v>'},
        ),  # a text that is not there
        ("xl/worksheets/sheet1.xml", {'r="A1"': 'r="1A"'}),
        (
            "[Content_Types].xml",
            {"spreadsheetml.sheet.main": "wordprocessingml.document.main"},
        ),
    ],
)
def test_broken_parts_are_refused_without_cells(
    part: str, replacements: dict[str, str], tmp_path: Path
) -> None:
    """A workbook with a broken part is refused; the error has nothing of the cells."""
    write_xlsx(tmp_path / "table.xlsx", [["zanzibar"]])
    replace_in_part(tmp_path / "table.xlsx", replacements, part)
    with pytest.raises(InvalidInput) as caught:
        read_sheet(tmp_path / "table.xlsx")

    assert (False, None) == ("zanzibar" in str(caught.value), caught.value.__context__)
    assert "Save" in caught.value.advice or "save" in caught.value.advice


@pytest.mark.parametrize(
    ("formula", "is_hidden", "expected"),
    [
        ("7", False, 1),
        ("=A2", False, 2),
        ("7", True, 1),
        ("=A2", True, 2),
    ],  # once more for what the cells do not say
)
def test_a_workbook_is_opened_at_most_twice(
    formula: str,
    is_hidden: bool,
    expected: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many sheets it has, and whatever it hides or computes."""
    book = write_xlsx(
        tmp_path / "table.xlsx",
        [["email", "phone"], ["a@example.com", formula], ["b@example.com", "8"]],
    )
    book.worksheets[0].row_dimensions[3].hidden = is_hidden
    for name in ("Notes", "Prices"):
        book.create_sheet(name).append(["Example"])
    book.save(tmp_path / "table.xlsx")
    opened: list[Any] = []
    load = openpyxl.load_workbook

    def counted(*args: Any, **how: Any) -> Any:
        opened.append(how)
        return load(*args, **how)

    monkeypatch.setattr(openpyxl, "load_workbook", counted)
    table = payerkit.read_payers(tmp_path / "table.xlsx")

    assert (2, expected) == (len(table), len(opened))


@pytest.mark.parametrize("fill", ["<fill/>", "<fill></fill>", "<fill />"])
def test_a_fill_without_a_pattern_is_no_reason_to_refuse(
    fill: str, tmp_path: Path
) -> None:
    """Some programs write it, and openpyxl does not read it."""
    path = tmp_path / "table.xlsx"
    write_xlsx(path, [["id"], [7]], {"A2": "000"})
    replace_in_part(path, {"<fill><patternFill /></fill>": fill}, "xl/styles.xml")

    assert {1: ["id"], 2: ["007"]} == cells_of(read_sheet(path).cells)


def test_an_unknown_sheet_is_refused(tmp_path: Path) -> None:
    """The error names the sheets that there are."""
    write_xlsx(tmp_path / "table.xlsx", [["a"]])
    with pytest.raises(InvalidInput, match="no sheet 'Payer'") as caught:
        read_sheet(tmp_path / "table.xlsx", "Payer")

    assert "Sheets: Payers." == caught.value.advice


@table("number_formats")
def test_zeros_and_signs_of_a_format_are_shown(
    code: str, number: str, expected: str
) -> None:
    """A format of digits and signs is shown as a spreadsheet shows it."""
    shown = shown_by(code)

    assert shown is not None
    assert expected == shown(int(number))


@table("number_formats_not_followed")
def test_other_formats_are_not_followed(code: str) -> None:
    """Numbers of formats without zeros, with thousands, decimals, percents, currencies
    or conditions stay in full.
    """
    assert shown_by(code) is None
