"""Read tables of payers and bank accounts: text stays text, columns are named by field, unknown columns are refused."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import pandas as pd

from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.tables.columns import name_columns

Mapped = Mapping[str, str | None]
_AS_TEXT: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False, "na_values": [""]}
_EMPTY = "source: the file is empty. payerkit onboard --template prints a table to fill in."
_QUOTES = "Put quotes around cells that contain the separator."


@without_internal_frames
def read_payers(source: Any, *, mapping: Mapped | None = None) -> pd.DataFrame:
    """Read a table of payers, with or without columns of bank details; every cell stays text.

    Leading zeros, and Namibia (NA), stay. Rows without any data are left out of what is read from a file.

    Args:
        source: A path to a CSV (.csv, .tsv, .txt), Excel (.xlsx, .xlsm) or Parquet file; an open file with CSV; or a
            DataFrame, of pandas or Dask. Columns are known by their field name (`first_name`) or wire name
            (`firstName`). If the table has payers, fields that both have, such as `country`, are the payer's, and the
            account holder's have `bank_` in front (`bank_country`).
        mapping: The field of each column that has another name, such as `{"zip": "postcode"}`; None as field leaves
            the column out.

    Returns:
        The table with columns named by field. From a CSV or Excel file: columns of dtype str (Parquet: as stored),
        missing where blank, and an index `row` that counts as a spreadsheet does, with the header in row 1. From a
        DataFrame: its cells and its index; from a Dask DataFrame, a Dask DataFrame, not yet computed.

    Raises:
        InvalidInput: For unknown or duplicate columns, with suggestions, and for a file that cannot be read.
        ImportError: If the library that Excel or Parquet files need is not installed.

    Example:
        >>> table = pd.DataFrame({"clientUserId": ["007"], "zip": ["01234"]})
        >>> read_payers(table, mapping={"zip": "postcode"})
          client_user_id postcode
        0            007    01234
    """
    return _read(source, mapping)


@without_internal_frames
def read_bank_details(source: Any, *, mapping: Mapped | None = None) -> pd.DataFrame:
    """Read a table of bank accounts, one a row, of payers who are on board; every cell stays text.

    Args:
        source: As for `read_payers`; a column `client_user_id` names the payer of each account.
        mapping: As for `read_payers`.

    Returns:
        The table, as `read_payers` returns it.

    Raises:
        InvalidInput: As `read_payers`, and if there is no column `client_user_id`.
        ImportError: If the library that Excel or Parquet files need is not installed.

    Example:
        >>> read_bank_details(pd.DataFrame({"clientUserId": ["user-123"], "IBAN": ["DE89370400440532013000"]}),
        ...                   mapping={"IBAN": "iban"}).columns.tolist()
        ['client_user_id', 'iban']
    """
    frame = _read(source, mapping)
    if "client_user_id" not in frame.columns:
        raise InvalidInput("The table has no column client_user_id, which names the payer of each account.")
    return frame


def _read(source: Any, mapping: Mapped | None) -> pd.DataFrame:
    if hasattr(source, "columns"):
        frame: pd.DataFrame = source
    elif isinstance(source, str | Path):
        frame = _read_path(Path(source))
    elif hasattr(source, "read"):
        frame = _read_csv(source)
    else:
        raise InvalidInput(f"source: expected a file or a DataFrame, got {kind_of(source)}.")
    named = name_columns(frame.columns, mapping)
    return frame[list(named)].rename(columns=dict(named))


def _read_path(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InvalidInput(f"source: file {path.name} not found.")
    kind = path.suffix.lower()
    if kind in {".xlsx", ".xlsm"}:
        return _read_excel(path)
    if kind in {".parquet", ".pq"}:
        frame = _read_with("Parquet", "pyarrow", lambda: pd.read_parquet(path))
        return frame.set_axis(pd.RangeIndex(2, 2 + len(frame), name="row"))
    if kind not in {".csv", ".tsv", ".txt"}:
        raise InvalidInput(f"source: {path.name} is not a .csv, .tsv, .xlsx or .parquet file.")
    with path.open("rb") as file:
        return _read_csv(file)


def _read_csv(file: IO[Any]) -> pd.DataFrame:
    """Return the table of a CSV file, with any of the usual separators."""
    try:
        content = file.read()
        text = (content.decode() if isinstance(content, bytes) else content).removeprefix("\ufeff")
        lines = text.lstrip("\r\n")
        separator = max(",;\t|", key=lines.partition("\n")[0].count)
        width = len(next(csv.reader(StringIO(lines, newline=""), delimiter=separator), []))
        # One column more than the header has, so that rows that are too long are seen: pandas would cut them.
        cells = pd.read_csv(
            StringIO(text, newline=""), sep=separator, names=range(width + 1), skip_blank_lines=False, **_AS_TEXT
        )
    except UnicodeDecodeError:
        problem = InvalidInput("source: the file is not UTF-8. Save it as CSV UTF-8.")
    except pd.errors.EmptyDataError:
        problem = InvalidInput(_EMPTY)
    except (pd.errors.ParserError, csv.Error) as error:
        row = str(error).partition("line ")[2].partition(",")[0]
        problem = InvalidInput(f"source: the file is not a valid table{f'; see row {row}' if row else ''}. {_QUOTES}")
    else:
        return _take_header(cells)
    raise problem


def _read_excel(path: Path) -> pd.DataFrame:
    """Return the first sheet as text; a cell that is a date, without the midnight that Excel adds."""
    cells = _read_with("Excel", "openpyxl", lambda: pd.read_excel(path, engine="openpyxl", **_AS_TEXT))
    midnight = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"
    return _take_header(cells.replace(midnight, r"\1", regex=True))


def _take_header(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows below the header, which is the first row with any cell, without blank rows.

    The index counts as spreadsheets do, from 1. Raises InvalidInput for an empty sheet, and for a cell in a column
    without a name.
    """
    numbered = cells.set_axis(pd.RangeIndex(1, 1 + len(cells), name="row")).dropna(how="all")
    if numbered.empty:
        raise InvalidInput(_EMPTY)
    names, rows = numbered.iloc[0], numbered.iloc[1:]
    astray = rows.loc[:, names.isna()].dropna(how="all").index
    if len(astray):
        raise InvalidInput(f"source: row {astray[0]} has a cell in a column without a name. {_QUOTES}")
    return rows.loc[:, names.notna()].set_axis(names.dropna().to_list(), axis=1)


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
