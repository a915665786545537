"""Read tables of payers and bank accounts: text stays text, columns are named by field, unknown columns are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.tables.header import find_header
from payerkit.tables.header_mapping import map_headers, name_columns
from payerkit.tables.header_names import is_known_header
from payerkit.tables.mapping import Mapping as ColumnMapping
from payerkit.tables.source_sheets import read_source

Mapped = Mapping[str, str | None]


@without_internal_frames
def read_payers(source: Any, *, mapping: Mapped | None = None) -> pd.DataFrame:
    """Read a table of payers, with or without columns of bank details; every cell stays text.

    Leading zeros, and Namibia (NA), stay. Rows without any data are left out of what is read from a file.

    Args:
        source: A path to a CSV (.csv, .tsv, .txt), Excel (.xlsx, .xlsm) or Parquet file; an open file with CSV; or a
            DataFrame, of pandas or Dask. Columns are known by their field name (`first_name`), wire name (`firstName`),
            and other names that mean one field, such as "Given name" or "PLZ". If the table has payers, fields that
            both have, such as `country`, are the payer's, and the account holder's have `bank_` in front
            (`bank_country`).
        mapping: The field of each column that is not known by its name, such as `{"zip": "postcode"}`; None as field
            leaves the column out. Or a `Mapping`, such as from `propose_mapping`.

    Returns:
        The table with columns named by field. From a CSV or Excel file: columns of dtype str (Parquet: as stored),
        missing where blank, and an index `row` that counts as a spreadsheet does, with the header in row 1. From a
        DataFrame: its cells and its index; from a Dask DataFrame, a Dask DataFrame, not yet computed.

    Raises:
        InvalidInput: For columns that are not known for certain, with a mapping to paste, and for a file that cannot
            be read.
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
        named = name_columns(frame.columns, mapping)
        return frame[list(named)].rename(columns=dict(named))
    own = mapping if isinstance(mapping, ColumnMapping) else None
    sheet = read_source(source, sheet=own.sheet if own is not None else None)
    header = find_header(sheet, is_known_header, row=own.header_row if own is not None else None)
    fields = map_headers(header.names, mapping, unnamed=header.unnamed).check()
    rows = sheet.cells.loc[sheet.cells.index >= header.first_row].dropna(how="all")
    return rows[list(fields)].set_axis(list(fields.values()), axis=1).astype("str")
