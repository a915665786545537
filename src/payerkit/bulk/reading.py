"""Read a table of payers and bank accounts: text stays text, columns get our names, nothing is dropped in silence."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO, cast

import pandas as pd

from payerkit.bulk.columns import our_names
from payerkit.errors import InvalidInput
from payerkit.tracebacks import trimmed

Mapped = Mapping[str, str | None]
_AS_TEXT: dict[str, Any] = {"dtype": str, "keep_default_na": False, "na_values": [""]}


@trimmed
def read_payers(source: Any, *, mapping: Mapped | None = None) -> pd.DataFrame:
    """Return a table of payers as text, one row a row of the source; it may have columns of bank details as well.

    source: a CSV, Excel or Parquet file, an open text file with CSV, or a DataFrame (pandas or Dask). Columns are found
    by our names or wire names; mapping: what others are, such as `{"zip": "postcode"}`, None to leave one out. Leading
    zeros, and Namibia (NA), stay. A file's index is the number of the row as a spreadsheet shows it. Raises
    InvalidInput for columns that are not understood, with what may have been meant, and for a file that cannot be
    read; ImportError without the library that Excel or Parquet files need.
    """
    return _read(source, mapping)


@trimmed
def read_bank_details(source: Any, *, mapping: Mapped | None = None) -> pd.DataFrame:
    """Return a table of bank details as text, one account a row; a column `client_user_id` says whose they are.

    Everything else as for `read_payers`.
    """
    frame = _read(source, mapping)
    if "client_user_id" not in frame.columns:
        raise InvalidInput("The table has no column client_user_id, so nobody knows whose accounts these are.")
    return frame


def _read(source: Any, mapping: Mapped | None) -> pd.DataFrame:
    frame: pd.DataFrame = source if hasattr(source, "columns") else _file(source)
    named = our_names(frame.columns, mapping)
    return frame[list(named)].rename(columns=dict(named))


def _file(source: Any) -> pd.DataFrame:
    """Return a file's table as text, its index counted as spreadsheets count: the first row of data is 2."""
    if isinstance(source, str | Path):
        frame = _by_ending(Path(source))
    elif hasattr(source, "read"):
        frame = _csv(source)
    else:
        raise InvalidInput(f"source: give a file or a DataFrame; got a {type(source).__name__}.")
    frame.index = pd.RangeIndex(2, 2 + len(frame), name="row")
    return frame


def _by_ending(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InvalidInput(f"source: there is no file {path.name}.")
    kind = path.suffix.lower()
    if kind in {".xlsx", ".xlsm"}:
        return _excel(path)
    if kind in {".parquet", ".pq"}:
        return _needing("Parquet", "pyarrow", lambda: pd.read_parquet(path))
    if kind not in {".csv", ".tsv", ".txt"}:
        raise InvalidInput(f"source: {path.name} is no .csv, .tsv, .xlsx or .parquet file.")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return _csv(file)


def _csv(file: TextIO) -> pd.DataFrame:
    """Return the table of a CSV file, whatever separates its columns."""
    try:
        head = file.readline().removeprefix("\ufeff")
        separator = max(",;\t|", key=head.count)
        names = next(csv.reader([head], delimiter=separator), [])
        _refuse_twice(names)
        return cast(
            "pd.DataFrame", pd.read_csv(file, sep=separator, names=names, header=None, index_col=False, **_AS_TEXT)
        )
    except UnicodeDecodeError:
        problem = InvalidInput("source: the file is not UTF-8. Save it as CSV UTF-8.")
    except (pd.errors.ParserError, csv.Error) as error:
        where = str(error).partition("line ")[2].partition(",")[0]
        problem = InvalidInput(
            f"source: the file is no table{f': look at line {where} after the names' if where else ''}. "
            "A cell with the separator in it has to stand in quotes."
        )
    raise problem


def _refuse_twice(names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"source: columns stand twice: {', '.join(twice)}.")


def _excel(path: Path) -> pd.DataFrame:
    """Return the first sheet as text. A cell that is a day is that day, without the midnight that Excel adds."""
    frame: pd.DataFrame = _needing("Excel", "openpyxl", lambda: pd.read_excel(path, engine="openpyxl", **_AS_TEXT))
    midnight = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"
    return frame.replace(midnight, r"\1", regex=True)


def _needing(what: str, library: str, read: Any) -> pd.DataFrame:
    try:
        return cast("pd.DataFrame", read())
    except ImportError:
        problem: Exception = ImportError(
            f"{what} files need {library}: pip install {library}, or save the table as CSV."
        )
    except (ValueError, OSError, KeyError) as error:
        problem = InvalidInput(f"source: this is no {what} file that can be read ({type(error).__name__}).")
    raise problem
