"""Files that are small, or cheap to make, and would cost a kernel its memory or hours:
each is refused at once, with a sentence that says what is wrong.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from messy_workbooks import read_parts, write_xlsx

# Each case starts a process, which may take so long until its limit ends it.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SHEET = "xl/worksheets/sheet1.xml"

READ = """
import resource, sys, payerkit
resource.setrlimit(resource.RLIMIT_AS, (3 * 1024**3, 3 * 1024**3))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
try:
    print("read", payerkit.read_payers(sys.argv[1]).shape)
except payerkit.InvalidInput as error:
    print("refused", error)
"""
"""A reader with so much memory and processor time; the system ends it if it takes
more."""


def outcome(path: Path) -> str:
    """Return what comes of a file, read in a process with bounds."""
    done = subprocess.run(
        [sys.executable, "-c", READ, path],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def workbook(path: Path, part: str, change: Callable[[str], str]) -> None:
    """Write a workbook of two payers, one part of which is changed."""
    write_xlsx(
        path,
        [["email", "first_name", "phone"], ["a@example.com", "Ada"], ["b@example.com"]],
    )
    parts = read_parts(path)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            text = content.decode()
            archive.writestr(name, change(text) if name == part else text)


def rows(xml: str) -> Callable[[str], str]:
    """Return a change that adds rows at the end of a sheet."""
    return lambda text: text.replace("</sheetData>", f"{xml}</sheetData>")


def behind(xml: str) -> Callable[[str], str]:
    """Return a change that adds what stands behind the rows of a sheet."""
    return lambda text: text.replace("</sheetData>", f"</sheetData>{xml}")


def in_front(xml: str) -> Callable[[str], str]:
    """Return a change that adds what stands before the rows of a sheet."""
    return lambda text: text.replace("<sheetData>", f"{xml}<sheetData>")


def cell(place: str) -> str:
    """Return a cell with a text."""
    return f'<c r="{place}" t="inlineStr"><is><t>x</t></is></c>'


MUCH = 210_000_000
"""Bytes, more than a workbook may have; zipped they are some 200 kB."""


def many_cells(text: str) -> str:
    """Add more cells than are counted."""
    return rows("<c/>" * 21_000_000)(text)


FAR = "".join(f'<row r="{row}">{cell(f"XFD{row}")}</row>' for row in range(4, 4000))
ENTITIES = "".join(
    f'<!ENTITY e{number} "{f"&e{number - 1};" * 10}">' for number in range(1, 12)
)
BOMB = f'<!DOCTYPE x [<!ENTITY e0 "0123456789">{ENTITIES}]>'

REFUSED = [
    # a row that no spreadsheet has
    (SHEET, rows(f'<row r="99999999999">{cell("A99999999999")}</row>'), "row below"),
    # the last column, in thousands of rows
    (SHEET, rows(FAR), "more than 5,000,000 cells"),
    # an empty cell in the last column of each
    (SHEET, rows(re.sub("<is>.*?</is>", "", FAR)), "more than 5,000,000 cells"),
    # one cell in the last column widens all rows
    (
        SHEET,
        rows(
            f'<row r="4">{cell("XFD4")}</row>'
            + "".join(
                f'<row r="{row}">{cell(f"A{row}")}</row>' for row in range(5, 900)
            )
        ),
        "more than 5,000,000 cells",
    ),
    # the same merges, again and again
    (
        SHEET,
        behind("<mergeCells>" + '<mergeCell ref="A1:XFD3"/>' * 100 + "</mergeCells>"),
        "merged cells",
    ),
    # a gigabyte of blanks
    (SHEET, lambda text: text + " " * MUCH, "MB of content"),
    ("xl/styles.xml", lambda text: text + " " * MUCH, "MB of content"),
    # millions of cells without anything
    (SHEET, many_cells, "cells, texts or formats"),
    # millions of formats
    (
        "xl/styles.xml",
        lambda text: text.replace("</cellXfs>", "<xf/>" * 1_100_000 + "</cellXfs>"),
        "cells, texts or formats",
    ),
    # thousands of sheets, all of them in one part
    (
        "xl/workbook.xml",
        lambda text: re.sub("(<sheet [^>]*>)", r"\1" * 5000, text),
        "255 sheets",
    ),
    # texts that contain each other ten times
    (SHEET, lambda text: re.sub("^(<[?].*?[?]>)?", rf"\g<0>{BOMB}", text), "entities"),
]


@pytest.mark.parametrize(("part", "change", "words"), REFUSED)
def test_a_hostile_workbook_is_refused(
    part: str, change: Callable[[str], str], words: str, tmp_path: Path
) -> None:
    """Within a minute and 3 GB, the sentence says what there is too much of."""
    path = tmp_path / "table.xlsx"
    workbook(path, part, change)

    told = outcome(path)

    assert told.startswith("refused source: ")
    assert words in told


READ_AS_USUAL = [
    # merged over the whole sheet: only where there are rows
    (SHEET, behind('<mergeCells><mergeCell ref="A5:XFD1048576"/></mergeCells>')),
    # sizes that are only said
    (SHEET, lambda text: re.sub('ref="A1[^"]*"', 'ref="A1:XFD1048576"', text, count=1)),
    (SHEET, in_front('<cols><col min="1" max="16384" width="9" hidden="1"/></cols>')),
    # formats and rules for all cells
    (
        SHEET,
        behind(
            '<conditionalFormatting sqref="A1:XFD1048576"><cfRule type="expression"'
            ' priority="1"><formula>TRUE</formula></cfRule></conditionalFormatting>'
        ),
    ),
    (
        SHEET,
        behind(
            '<dataValidations><dataValidation type="list" sqref="A1:XFD1048576">'
            "<formula1>A1:XFD1048576</formula1></dataValidation></dataValidations>"
        ),
    ),
    (SHEET, rows('<row r="1048576" hidden="1"/>')),  # the last row, hidden
    (
        "xl/workbook.xml",
        lambda text: text.replace(
            "</sheets>",
            '</sheets><definedNames><definedName name="all">Payers!$A$1:$XFD$1048576'
            "</definedName></definedNames>",
        ),
    ),
]


@pytest.mark.parametrize(("part", "change"), READ_AS_USUAL)
def test_what_only_names_many_cells_costs_nothing(
    part: str, change: Callable[[str], str], tmp_path: Path
) -> None:
    """Whole columns are formatted, hidden, named and merged in honest files."""
    path = tmp_path / "table.xlsx"
    workbook(path, part, change)

    assert outcome(path).startswith("read (2, ")


def test_an_archive_inside_a_workbook_is_not_unpacked(tmp_path: Path) -> None:
    """What lies beside the parts of a workbook counts as it is stored."""
    path, inner = tmp_path / "table.xlsx", tmp_path / "inner.zip"
    with ZipFile(inner, "w", ZIP_DEFLATED) as archive:
        archive.writestr("blanks", b" " * MUCH)
    workbook(path, SHEET, str)
    with ZipFile(path, "a") as archive:
        archive.write(inner, "xl/embeddings/inner.zip")

    assert outcome(path).startswith("read (2, ")


TEXTS = [
    # as large as a disk, without taking its room
    (lambda file: file.truncate(10**12), "MB are read"),
    # a header of 20,000 columns, over thousands of rows
    (
        lambda file: file.write(b"email" + b",x" * 20_000 + b"\na" * 5000),
        "more than 5,000,000 cells",
    ),
    (lambda file: file.write(b"email,phone\n" + b"a" * 10**8), "MB are read"),
    (lambda file: file.write(b"email,phone\n" + b"a" * 10**7), "131,072 characters"),
    (
        lambda file: file.write(b"email,phone\n" + b"a," * 10**7),
        "cells, but the header",
    ),
]


@pytest.mark.parametrize(("write", "words"), TEXTS)
def test_a_hostile_text_file_is_refused(
    write: Callable[..., object], words: str, tmp_path: Path
) -> None:
    """Size, lines and columns of a text file have bounds, too."""
    path = tmp_path / "table.csv"
    with path.open("wb") as file:
        write(file)

    told = outcome(path)

    assert told.startswith("refused source: ")
    assert words in told


def test_a_wrong_size_in_the_archive_changes_nothing(tmp_path: Path) -> None:
    """An archive that says that a part is small is not believed."""
    path = tmp_path / "table.xlsx"
    workbook(path, SHEET, lambda text: text + " " * MUCH)
    content = path.read_bytes()
    with ZipFile(path) as archive:
        size = archive.getinfo(SHEET).file_size
    path.write_bytes(
        content.replace(size.to_bytes(4, "little"), (5000).to_bytes(4, "little"))
    )

    assert outcome(path).startswith("refused source: ")


def test_a_cell_in_the_last_row_is_read(tmp_path: Path) -> None:
    """A stray note at the end of a sheet is no attack."""
    path = tmp_path / "table.xlsx"
    workbook(path, SHEET, rows(f'<row r="1048576">{cell("A1048576")}</row>'))

    assert outcome(path).startswith("read (")
