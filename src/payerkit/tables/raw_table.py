"""A table as it stands in its file: the names of its columns, and the rows below them; nothing is understood yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.tables.header import IsKnown, find_header
from payerkit.tables.own_file import OwnFile, own_file, own_header
from payerkit.tables.sheet import Sheet
from payerkit.tables.source_sheets import read_source


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
    read = read_source(source, sheet=sheet)
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
    rows = read.cells.loc[read.cells.index >= header.first_row].dropna(how="all")
    return RawTable(header.names, rows, read, header.row, header.unnamed, file, path)
