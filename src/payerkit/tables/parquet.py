"""Read Parquet files: text stays text, and any other cell gets a note that says what it is."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.checks.inputs import is_blank
from payerkit.tables.cell_texts import Text, date_text, number_text
from payerkit.tables.file_kinds import unreadable
from payerkit.tables.sheet import CellNote, Sheet


def read_parquet(path: Path) -> tuple[list[str], Sheet]:
    """Return the names of the columns, and the rows by number, as if the header were row 1.

    A named index that pandas wrote comes first, as columns. Raises InvalidInput for a broken file, and ImportError
    without pyarrow.
    """
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        problem: Exception = ImportError("Parquet files need pyarrow: pip install pyarrow, or save the table as CSV.")
    except (ValueError, OSError, LookupError) as error:
        problem = unreadable("Parquet", error)
    else:
        named = [name for name in frame.index.names if name is not None and name not in frame.columns]
        frame = frame.reset_index(named) if named else frame
        names = [str(name) for name in frame.columns]
        numbered = frame.set_axis(pd.RangeIndex(frame.shape[1]), axis=1)
        return names, _read(numbered.set_axis(pd.RangeIndex(2, 2 + len(frame), name="row")))
    raise problem


def _read(frame: pd.DataFrame) -> Sheet:
    notes: list[CellNote] = []
    columns = {number: _texts(cells, number, notes) for number, cells in frame.items()}
    return Sheet(cells=pd.DataFrame(columns, index=frame.index), notes=tuple(notes))


def _texts(cells: pd.Series[Any], column: Any, notes: list[CellNote]) -> pd.Series[Any]:
    """Return a column as texts, missing where blank."""
    if isinstance(cells.dtype, pd.StringDtype):
        return cells.mask(cells == "") if (cells == "").any() else cells
    texts: list[str | None] = []
    for row, cell in zip(cells.index, cells.tolist(), strict=True):
        text, kind = _read_cell(cell)
        texts.append(text or None)
        if kind and text:
            notes.append(CellNote(row, column, kind))
    return pd.Series(texts, index=cells.index, dtype=str)


def _read_cell(cell: Any) -> Text:
    if isinstance(cell, str):
        return cell, None
    if is_blank(cell):
        return "", None
    if isinstance(cell, bool):
        return str(cell).upper(), "boolean"
    if isinstance(cell, int | float | Decimal):
        text, kind = number_text(str(cell))
        return text, kind or "number"
    if isinstance(cell, dt.date | dt.time | dt.timedelta):
        return date_text(cell)
    return str(cell), None
