"""Open a table as it stands in its file: the names of its columns, and the rows below. Nothing is understood yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.errors import InvalidInput, kind_of
from payerkit.tables.columns import is_known_header
from payerkit.tables.header import IsKnown, find_header
from payerkit.tables.own_file import OwnFile, own_file, own_header
from payerkit.tables.sheet import Sheet, SheetInfo
from payerkit.tables.text_files import EMPTY, read_delimited
from payerkit.tables.workbooks import kind_of_file, read_sheets


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table before its columns are named.

    names: of all columns, in order, "" for none. rows: those below the header, all columns by number. sheet: the cells
    as they were read, with notes. header_row: number of the header's last row, 0 for a DataFrame. unnamed: for each
    column without a name that has cells, by its number, the first row with one. file: its name, "" for a DataFrame.
    own: what the file says about itself, if payerkit wrote it.
    """

    names: tuple[str, ...]
    rows: pd.DataFrame = field(repr=False)
    sheet: Sheet = field(repr=False)
    header_row: int = 0
    unnamed: Mapping[int, int] = field(default_factory=dict)
    file: str = ""
    path: Path | None = None
    own: OwnFile | None = None


def open_table(source: Any, is_known: IsKnown, *, sheet: str | None = None, header_row: int | None = None) -> RawTable:
    """Return the table of a file, or of a DataFrame of pandas.

    is_known: whether a text is the name of a column. sheet, header_row: where the table is, if a person says so. Raises
    InvalidInput for anything else, and for a file that cannot be read without guessing.
    """
    if isinstance(source, pd.DataFrame):
        rows = source.set_axis(range(source.shape[1]), axis=1)
        return RawTable(tuple(map(str, source.columns)), rows, Sheet(rows))
    read = _read_source(source, sheet=sheet)
    path = Path(source) if isinstance(source, str | Path) else None
    file = path.name if path else Path(str(getattr(source, "name", ""))).name or "the file"
    own_row = own_header(read)
    if own_row is not None and (own := own_file([*read.cells.loc[own_row]])):
        cells = own.restore(read.cells)
        names = tuple(name if isinstance(name, str) else "" for name in [*cells.loc[own_row]])
        theirs = [place for place in cells if place not in own.ours]
        rows = cells.loc[cells.index > own_row].dropna(how="all", subset=theirs)
        return RawTable(names, rows, Sheet(cells, read.notes, name=read.name), own_row, {}, file, path, own)
    header = find_header(read, is_known, row=header_row)
    rows = read.cells.loc[read.cells.index > header.row].dropna(how="all")
    return RawTable(header.names, rows, read, header.row, header.unnamed, file, path)


def _read_source(source: Any, *, sheet: str | None) -> Sheet:
    """Return the sheet of a file, or of an open file.

    sheet: its name; None for the only one that has a table. Raises InvalidInput for a workbook with several tables, for
    a file that cannot be read, and for anything else.
    """
    if hasattr(source, "read"):
        return Sheet(read_delimited(source.read()))
    if not isinstance(source, str | Path):
        raise InvalidInput(f"source: expected a file or a DataFrame of pandas, got {kind_of(source)}.")
    path = Path(source)
    if not path.is_file():
        raise InvalidInput(f"source: file {path.name} not found.")
    if kind_of_file(path) == "text":
        return Sheet(read_delimited(path.read_bytes()))
    infos, sheets = read_sheets(path, sheet)
    return sheets[0] if sheet is not None else _choose_sheet(path, infos, sheets)


def _choose_sheet(path: Path, infos: Sequence[SheetInfo], sheets: Sequence[Sheet]) -> Sheet:
    """Return the only visible sheet that has a table. sheets: all that are visible and have rows."""
    filled = [info for info in infos if info.rows]
    if not filled:
        raise InvalidInput(EMPTY)
    if not sheets:
        raise InvalidInput(
            f"source: all sheets of {path.name} that have rows are hidden: {_names(filled)}.",
            advice='Show the sheet in the file, or name it: sheet="..." (--sheet).',
        )
    own = [sheet for sheet in sheets if own_header(sheet) is not None]
    tables = own or [sheet for sheet in sheets if _has_names(sheet)] if len(sheets) > 1 else sheets
    if len(tables) != 1:
        raise InvalidInput(
            f"source: {path.name} has several sheets: {_names(info for info in filled if not info.is_hidden)}.",
            advice=f'Say which one has the table, such as sheet="{sheets[0].name}" (--sheet "{sheets[0].name}").',
        )
    return tables[0]


def _has_names(sheet: Sheet) -> bool:
    """Return True if a sheet has a header with two known names or more."""
    return sum(map(is_known_header, find_header(sheet, is_known_header).names)) > 1


def _names(infos: Iterable[SheetInfo]) -> str:
    return ", ".join(f"{info.name} ({info.rows:,} rows)" for info in infos)
