"""The header of a sheet: titles above it, two rows, blank rows, columns without a name."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest

from cases import table
from payerkit import InvalidInput
from payerkit.tables.header import Header, find_header, is_known_header
from payerkit.tables.sheet import Sheet

NAMES = ["First name", "Surname", "E-mail"]
DATA = ["Example", "Payer", "payer@example.com"]


def sheet_of(*rows: list[str], merged: Sequence[tuple[int, int, int]] = ()) -> Sheet:
    """Return a sheet with these rows; "" for a blank cell."""
    width = max(map(len, rows), default=0)
    cells = pd.DataFrame([[cell or None for cell in row] + [None] * (width - len(row)) for row in rows], dtype=object)
    return Sheet(cells.set_axis(pd.RangeIndex(1, 1 + len(rows), name="row")), merged=merged)


def header_of(*rows: list[str], merged: Sequence[tuple[int, int, int]] = (), row: int | None = None) -> Header:
    """Return the header of a sheet with these rows."""
    return find_header(sheet_of(*rows, merged=merged), is_known_header, row=row)


@table("header_rows")
def test_the_row_of_names_is_found(rows: list[list[str]], row: str) -> None:
    """The header is the row with most known names, else the first that is as wide as the table."""
    assert int(row) == header_of(*rows).row


def test_a_person_may_name_the_row() -> None:
    """The row that a person names is the header, whatever stands in it."""
    assert ("Example", "Payer") == header_of(NAMES, DATA, row=2).names[:2]


@pytest.mark.parametrize("row", [2, 99])
def test_a_row_without_cells_is_no_header(row: int) -> None:
    """A row that is blank or not there is refused."""
    with pytest.raises(InvalidInput, match=f"header_row: row {row} is blank"):
        header_of(NAMES, [], DATA, row=row)


@pytest.mark.parametrize("rows", [(), ([],), (["", ""], [""])])
def test_an_empty_sheet_has_no_header(rows: tuple[list[str], ...]) -> None:
    """A sheet without cells is refused."""
    with pytest.raises(InvalidInput, match="the file is empty"):
        header_of(*rows)


@table("headers_of_two_rows")
def test_names_of_two_rows_are_joined(rows: list[list[str]], merged: list[list[int]], names: list[str]) -> None:
    """A group above names goes in front of them, and names that are broken are joined; blanks are cleaned."""
    assert names == [*header_of(*rows, merged=[(row, first, last) for row, first, last in merged]).names]


def test_columns_without_a_name_are_told_if_they_have_cells() -> None:
    """A column without a name is told with the first row that has a cell, unless it is blank."""
    header = header_of(["E-mail", "", "", "City"], ["a", "", "", "b"], ["a", "", "note", "b"])

    assert {2: 3} == header.unnamed
