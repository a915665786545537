"""Read a table of payers and bank accounts: text stays text, columns get our names, nothing is dropped in silence."""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import pandas as pd

from payerkit.checks.inputs import mask_name, suggestion
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema
from payerkit.errors import FieldProblem, InvalidInput, without_internal_frames

_BANK = "bank_"

_SHARED = {name: name for name in PAYER.fields if name in BANK_DETAILS.fields} | {"postal_code": "postcode"}
"""Members of bank details, and the column of the payer that feeds them unless the table has a column for the bank."""

_ADDRESS = frozenset({"address_line1", "address_line2", "city", "state", "postal_code", "country"})
"""Members that are one address: with a column of the bank's for one of them, none is the payer's."""

_OF_THE_BANK = {f"{_BANK}{name}": name for name in _SHARED}
"""Columns that are for bank details where both bodies have the member."""

_KNOWN: dict[object, str] = {name: name for name in _OF_THE_BANK} | dict(BANK_DETAILS.names) | dict(PAYER.names)
"""What a column may be called, and the name here."""


def our_names(columns: Iterable[Hashable], mapping: Mapping[str, str | None] | None = None) -> dict[Hashable, str]:
    """Return our name of each column, without those that the mapping leaves out.

    Raises InvalidInput, with every column at fault and what may have been meant, for columns that are no members, for
    two that are the same, and for a mapping that names no column or no member.
    """
    columns = list(columns)
    chosen: dict[Hashable, str | None] = dict((mapping or {}).items())
    problems = [_problem(name, "not a column of the table") for name in chosen if name not in columns]
    named: dict[Hashable, str] = {}
    strangers = []
    for column in columns:
        wanted = chosen.get(column, column)
        name = _KNOWN.get(wanted)
        if wanted is None and column in chosen:
            continue
        if name is None:
            strangers.append((column, str(wanted)))
        elif name in named.values():
            problems.append(_problem(column, f"a second column for {name}"))
        else:
            named[column] = name
    problems += _unknown(strangers, is_headless=not named)
    if problems:
        advice = (
            'Rename the columns, or say what they are: read_payers(rows, mapping={"their name": "our name"}), '
            "or --column THEIRS=OURS. None, or nothing, leaves one out."
        )
        raise InvalidInput("The table has columns that are not understood.", fields=tuple(problems), advice=advice)
    return named


def _problem(column: Hashable, words: str) -> FieldProblem:
    name = mask_name(str(column))
    return FieldProblem(name, name, f"{words}.", "unknown_column")


def _unknown(columns: Iterable[tuple[Hashable, str]], *, is_headless: bool) -> Iterator[FieldProblem]:
    """Yield what is wrong with columns of which each wants to be something that is not there."""
    others = []
    for column, wanted in columns:
        meant = _meant(wanted)
        if meant:
            words = f"no member of a payer or of bank details; did you mean {meant}"
            yield FieldProblem(mask_name(str(column)), mask_name(str(column)), f"{words}?", "unknown_column")
        else:
            others.append(column)
    if is_headless and others:  # they may well be values, so they are not repeated
        yield FieldProblem("", "", "No column is a member. Does the table have a row of names?", "unknown_column")
    else:
        yield from (_problem(column, "no member of a payer or of bank details") for column in others)


def _meant(name: str) -> str | None:
    """Return the column that was most likely meant by a name; None if none is likely."""
    bare = name.lower().removeprefix("bank").lstrip("_ -")
    ours = suggestion(BANK_DETAILS, bare) if bare != name.lower() else None
    if ours in _SHARED:
        return f"{_BANK}{ours}"
    return suggestion(PAYER, name) or suggestion(BANK_DETAILS, name)


def members_of(body: Schema, columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that feed the members of a body, by member; empty if none of them is the body's alone."""
    there = set(columns)
    if body is PAYER:
        found = {name: name for name in PAYER.fields if name in there}
    else:
        found = {name: f"{_BANK}{name}" if name in _SHARED else name for name in BANK_DETAILS.fields}
        apart = _ADDRESS if any(f"{_BANK}{name}" in there for name in _ADDRESS) else frozenset()
        found = {
            name: column if column in there or name in apart else _fallback(name, there)
            for name, column in found.items()
        }
        found = {name: column for name, column in found.items() if column in there}
    return found if any(column in own_columns(body) for column in found.values()) else {}


def _fallback(name: str, there: set[str]) -> str:
    return next((column for column in (name, _SHARED.get(name, "")) if column in there), "")


def own_columns(body: Schema) -> set[str]:
    """Return the columns that are for this body alone: a row without any of them is not about it."""
    if body is PAYER:
        return set(PAYER.fields) - set(_SHARED) - {"client_user_id", "postcode"}
    return set(BANK_DETAILS.fields) - set(_SHARED) | set(_OF_THE_BANK)


Mapped = Mapping[str, str | None]
_AS_TEXT: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False, "na_values": [""]}
_EMPTY = "source: the file is empty. payerkit onboard --template prints one to fill in."
_QUOTES = "A cell with the separator in it has to stand in quotes."


@without_internal_frames
def read_payers(source: Any, *, mapping: Mapped | None = None) -> pd.DataFrame:
    """Return a table of payers as text, one row a row of the source; it may have columns of bank details as well.

    source: a CSV, Excel or Parquet file, an open file with CSV, or a DataFrame (pandas or Dask). Columns are found
    by our names or wire names; mapping: what others are, such as `{"zip": "postcode"}`, None to leave one out. Leading
    zeros, and Namibia (NA), stay. A file's index is the number of the row as a spreadsheet shows it; rows
    without anything in them are left out. Raises InvalidInput for columns that are not understood, with what may have
    been meant, and for a file that cannot be read; ImportError without the library that Excel or Parquet files need.
    """
    return _read(source, mapping)


@without_internal_frames
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
    if isinstance(source, str | Path):
        return _by_ending(Path(source))
    if hasattr(source, "read"):
        return _csv(source)
    raise InvalidInput(f"source: give a file or a DataFrame; got a {type(source).__name__}.")


def _by_ending(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InvalidInput(f"source: there is no file {path.name}.")
    kind = path.suffix.lower()
    if kind in {".xlsx", ".xlsm"}:
        return _excel(path)
    if kind in {".parquet", ".pq"}:
        frame = _needing("Parquet", "pyarrow", lambda: pd.read_parquet(path))
        return frame.set_axis(pd.RangeIndex(2, 2 + len(frame), name="row"))
    if kind not in {".csv", ".tsv", ".txt"}:
        raise InvalidInput(f"source: {path.name} is no .csv, .tsv, .xlsx or .parquet file.")
    with path.open("rb") as file:
        return _csv(file)


def _csv(file: IO[Any]) -> pd.DataFrame:
    """Return the table of a CSV file, whatever separates its columns."""
    try:
        content = file.read()
        text = (content.decode() if isinstance(content, bytes) else content).removeprefix("\ufeff")
        lines = text.lstrip("\r\n")
        separator = max(",;\t|", key=lines.partition("\n")[0].count)
        width = len(next(csv.reader(StringIO(lines, newline=""), delimiter=separator), []))
        # One column more than there are names, for rows that are longer: pandas would cut them.
        cells = pd.read_csv(
            StringIO(text, newline=""), sep=separator, names=range(width + 1), skip_blank_lines=False, **_AS_TEXT
        )
    except UnicodeDecodeError:
        problem = InvalidInput("source: the file is not UTF-8. Save it as CSV UTF-8.")
    except pd.errors.EmptyDataError:
        problem = InvalidInput(_EMPTY)
    except (pd.errors.ParserError, csv.Error) as error:
        where = str(error).partition("line ")[2].partition(",")[0]
        problem = InvalidInput(f"source: the file is no table{f': look at row {where}' if where else ''}. {_QUOTES}")
    else:
        return _with_names(cells)
    raise problem


def _excel(path: Path) -> pd.DataFrame:
    """Return the first sheet as text. A cell that is a day is that day, without the midnight that Excel adds."""
    cells = _needing("Excel", "openpyxl", lambda: pd.read_excel(path, engine="openpyxl", **_AS_TEXT))
    midnight = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"
    return _with_names(cells.replace(midnight, r"\1", regex=True))


def _with_names(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a sheet's rows under the names in its first one; the index counts as spreadsheets do, the names being 1.

    Rows without anything are none. Raises InvalidInput for an empty sheet, and for cells in a column without a name.
    """
    numbered = cells.set_axis(pd.RangeIndex(1, 1 + len(cells), name="row")).dropna(how="all")
    if numbered.empty:
        raise InvalidInput(_EMPTY)
    names, rows = numbered.iloc[0], numbered.iloc[1:]
    astray = rows.loc[:, names.isna()].dropna(how="all").index
    if len(astray):
        raise InvalidInput(f"source: row {astray[0]} has a cell in a column without a name. {_QUOTES}")
    return rows.loc[:, names.notna()].set_axis(names.dropna().to_list(), axis=1)


def _needing(what: str, library: str, read: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    try:
        return read()
    except ImportError:
        problem: Exception = ImportError(
            f"{what} files need {library}: pip install {library}, or save the table as CSV."
        )
    except (ValueError, OSError, KeyError, BadZipFile) as error:
        problem = InvalidInput(f"source: this is no {what} file that can be read ({type(error).__name__}).")
    raise problem
