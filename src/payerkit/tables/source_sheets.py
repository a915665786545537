"""Read any file of a table into a sheet, in which nothing is interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from payerkit.errors import InvalidInput, kind_of
from payerkit.tables.delimited import EMPTY, read_delimited
from payerkit.tables.file_kinds import kind_of_file
from payerkit.tables.header import find_header
from payerkit.tables.header_names import is_known_header
from payerkit.tables.old_workbook import list_old_sheets, read_old_sheet
from payerkit.tables.own_file import own_header
from payerkit.tables.sheet import Sheet, SheetInfo
from payerkit.tables.workbook import list_sheets, read_sheet

ReadSheet = Callable[[Path, str], Sheet]


def read_source(source: Any, *, sheet: str | None = None) -> Sheet:
    """Return the sheet of a file, or of an open file.

    sheet: its name; None for the only one that has a table. Raises InvalidInput for a workbook with several tables, for
    a file that cannot be read, and for anything else.
    """
    if hasattr(source, "read"):
        return read_delimited(source.read())
    if not isinstance(source, str | Path):
        raise InvalidInput(f"source: expected a file or a DataFrame of pandas, got {kind_of(source)}.")
    path = Path(source)
    if not path.is_file():
        raise InvalidInput(f"source: file {path.name} not found.")
    kind = kind_of_file(path)
    if kind == "workbook":
        return _choose_sheet(path, list_sheets, read_sheet, sheet)
    if kind == "old_workbook":
        return _choose_sheet(path, list_old_sheets, read_old_sheet, sheet)
    return read_delimited(path.read_bytes())


def _choose_sheet(path: Path, listed: Callable[[Path], list[SheetInfo]], read: ReadSheet, wanted: str | None) -> Sheet:
    """Return the sheet that was asked for, or the only visible one that has a table."""
    if wanted is not None:
        return read(path, wanted)
    infos = listed(path)
    filled = [info for info in infos if info.rows]
    visible = [info for info in filled if not info.is_hidden]
    if not filled:
        raise InvalidInput(EMPTY)
    if not visible:
        raise InvalidInput(
            f"source: all sheets of {path.name} that have rows are hidden: {_names(filled)}.",
            advice='Show the sheet in the file, or name it: sheet="..." (--sheet).',
        )
    sheets = [read(path, info.name) for info in visible]
    own = [sheet for sheet in sheets if own_header(sheet) is not None]
    tables = own or [sheet for sheet in sheets if _has_names(sheet)] if len(sheets) > 1 else sheets
    if len(tables) != 1:
        raise InvalidInput(
            f"source: {path.name} has several sheets: {_names(visible)}.",
            advice=f'Say which one has the table, such as sheet="{visible[0].name}" (--sheet "{visible[0].name}").',
        )
    return tables[0]


def _has_names(sheet: Sheet) -> bool:
    """Return True if a sheet has a header with two known names or more."""
    return sum(map(is_known_header, find_header(sheet, is_known_header).names)) > 1


def _names(infos: Sequence[SheetInfo]) -> str:
    return ", ".join(f"{info.name} ({info.rows:,} rows)" for info in infos)
