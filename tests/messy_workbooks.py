"""Small workbooks with what spreadsheets do to cells, each made by a function; openpyxl
writes none of some of them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl

from cases import DATA
from payerkit.tables.sheet import Sheet
from payerkit.tables.workbooks import read_sheets

Rows = Sequence[Sequence[Any]]


def write_xlsx(
    path: Path, rows: Rows, formats: Mapping[str, str] | None = None
) -> openpyxl.Workbook:
    """Write a workbook with a sheet "Payers" of these rows, and the number formats of
    cells; return it to change it.
    """
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Payers"
    for row in rows:
        sheet.append(row)
    for place, code in (formats or {}).items():
        sheet[place].number_format = code
    book.save(path)
    return book


def read_sheet(path: Path, name: str | None = "Payers") -> Sheet:
    """Return a sheet of a workbook; the first that is visible and has rows if it is not
    named.
    """
    return read_sheets(path.read_bytes(), name)[0][0]


def replace_in_part(
    path: Path, replacements: Mapping[str, str], part: str = "xl/worksheets/sheet1.xml"
) -> None:
    """Replace texts in a part of a workbook, by regular expressions, each of which must
    be there.
    """
    parts = read_parts(path)
    text = parts[part].decode()
    for pattern, replacement in replacements.items():
        text, times = re.subn(pattern, replacement, text)
        assert times, f"{part} has no {pattern}"
    write_parts(path, parts | {part: text.encode()})


def read_parts(path: Path) -> dict[str, bytes]:
    """Return the parts of a workbook by name."""
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(path: Path, parts: Mapping[str, bytes]) -> None:
    """Write a workbook of these parts."""
    with ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def write_cell(path: Path, xml: str) -> None:
    """Write a workbook whose cell A1 is this XML."""
    write_xlsx(path, [["here"]])
    replace_in_part(path, {"<c r=.*</c>": xml.replace("\\", r"\\")})


def add_shared_texts(path: Path, *texts: str) -> None:
    """Add the texts of a workbook that cells refer to by number."""
    kind = (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    )
    override = (
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    )
    replace_in_part(path, {"</Types>": override}, "[Content_Types].xml")
    items = "".join(f"<si><t>{text}</t></si>" for text in texts)
    part = (
        "<sst"
        f' xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{items}</sst>'
    )
    write_parts(path, read_parts(path) | {"xl/sharedStrings.xml": part.encode()})


def write_messy_payers(path: Path) -> None:
    """Write a workbook of payers as an analyst gets it by e-mail: a title, and most
    kinds of damage.
    """
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Payers May"
    sheet.append(["Payers for May, as of 2 May 2026 - please onboard by Friday"])
    sheet.append([])
    for line in (DATA / "messy_payers.tsv").read_text("utf-8").splitlines():
        sheet.append([text or None for text in line.split("\t")])
    sheet["L7"].value, sheet["L7"].number_format = 2108, "00000"
    sheet["Q8"].value = 253009231185000999
    sheet["R10"].value, sheet["R10"].data_type = "#N/A", "e"
    sheet["F17"].value = dt.date(1974, 12, 31)
    sheet.row_dimensions[16].hidden = True
    book.save(path)
