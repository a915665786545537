"""Read any file of a table into a sheet, in which nothing is interpreted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from payerkit.errors import InvalidInput, kind_of
from payerkit.tables.delimited import read_delimited
from payerkit.tables.sheet import Sheet

EMPTY = "source: the file is empty. payerkit onboard --template prints a table to fill in."

_AS_TEXT: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False, "na_values": [""]}


def read_source(source: Any, *, sheet: str | None = None) -> Sheet:
    """Return the sheet of a file, or of an open file. Raises InvalidInput for anything else.

    sheet: the name of the sheet; None for the first one.
    """
    if isinstance(source, str | Path):
        return _read_path(Path(source), sheet)
    if hasattr(source, "read"):
        return read_delimited(source.read())
    raise InvalidInput(f"source: expected a file or a DataFrame, got {kind_of(source)}.")


def _sheet(cells: pd.DataFrame, name: str | None = None) -> Sheet:
    numbered = cells.set_axis(pd.RangeIndex(1, 1 + len(cells), name="row"))
    return Sheet(numbered.astype(object).where(numbered.notna(), None), name=name or "")


def _read_path(path: Path, sheet: str | None) -> Sheet:
    if not path.is_file():
        raise InvalidInput(f"source: file {path.name} not found.")
    kind = path.suffix.lower()
    if kind in {".xlsx", ".xlsm"}:
        return _sheet(_read_excel(path, sheet), sheet)
    if kind in {".parquet", ".pq"}:
        return _sheet(_read_parquet(path))
    if kind not in {".csv", ".tsv", ".txt"}:
        raise InvalidInput(f"source: {path.name} is not a .csv, .tsv, .xlsx or .parquet file.")
    return read_delimited(path.read_bytes())


def _read_excel(path: Path, sheet: str | None) -> pd.DataFrame:
    """Return a sheet as text; a cell that is a date, without the midnight that Excel adds."""
    name: Any = sheet if sheet is not None else 0
    cells = _read_with("Excel", "openpyxl", lambda: pd.read_excel(path, sheet_name=name, engine="openpyxl", **_AS_TEXT))
    return cells.replace(r"^(\d{4}-\d{2}-\d{2}) 00:00:00$", r"\1", regex=True)


def _read_parquet(path: Path) -> pd.DataFrame:
    frame = _read_with("Parquet", "pyarrow", lambda: pd.read_parquet(path))
    names = pd.DataFrame([list(map(str, frame.columns))])
    return pd.concat([names, frame.astype(object).set_axis(names.columns, axis=1)], ignore_index=True)


def _read_with(kind: str, library: str, read: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    try:
        return read()
    except ImportError:
        problem: Exception = ImportError(
            f"{kind} files need {library}: pip install {library}, or save the table as CSV."
        )
    except (ValueError, OSError, KeyError, BadZipFile) as error:
        problem = InvalidInput(f"source: not a readable {kind} file ({type(error).__name__}).")
    raise problem
