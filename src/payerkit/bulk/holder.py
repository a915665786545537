"""Whose an account is: its holder has columns of their own, and is the payer only where somebody says so."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.checks.inputs import is_blank, unwrap_secret
from payerkit.checks.schema import BANK_DETAILS, PAYER, SHARED_FIELDS
from payerkit.checks.table_findings import table_finding
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.findings import Finding
from payerkit.tables.columns import HOLDER_IS_PAYER, account_columns, own_columns, payer_columns
from payerkit.wire import wire_name

_YES, _NO = ("yes", "true", "1", 1), ("no", "false", "0", 0)
_WORDS: dict[Hashable, bool] = dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)
"""What a cell of the column `holder_is_payer` may say; True and False are equal to 1 and 0."""

Flags = npt.NDArray[np.bool_]
RowFindings = list[tuple[int, Finding]]


def read_holder(frame: pd.DataFrame, *, default: bool) -> tuple[pd.DataFrame, Flags, RowFindings]:
    """Return a table without its column `holder_is_payer`, what it says for each row, and cells that say nothing.

    In place of that column, the table gets those of the account holder that it lacks, unless it has accounts alone.
    default: what counts if there is no such column, and where it is blank.
    """
    flags, findings = np.full(len(frame), default), RowFindings()
    if HOLDER_IS_PAYER not in frame.columns:
        return frame, flags, findings
    for row, cell in enumerate(frame[HOLDER_IS_PAYER].tolist()):
        said = _read_cell(cell, default=default)
        flags[row] = said is True
        if said is None:
            findings.append((row, table_finding("choice")))
    return _with_holder_columns(frame.drop(columns=HOLDER_IS_PAYER)), flags, findings


def _with_holder_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with empty columns for those of the account holder that it lacks, unless it has accounts alone."""
    if not payer_columns(frame.columns):
        return frame
    wanted = map(account_columns, SHARED_FIELDS)
    lacking = [columns[0] for columns in wanted if frame.columns.intersection(columns).empty]
    return frame.assign(**dict.fromkeys(lacking))


def _read_cell(cell: Any, *, default: bool) -> bool | None:
    """Return what a cell says; None for anything but yes and no."""
    value = unwrap_secret(cell)
    word = value.strip().lower() if isinstance(value, str) else value
    if word == "" or is_blank(word):
        return default
    return _WORDS.get(word) if isinstance(word, Hashable) else None


def require_holder(columns: Mapping[str, str], given: Collection[str]) -> None:
    """Raise InvalidInput that names the columns to add, if a table with payers lacks those of the account holder.

    columns: of bank details, by field. given: all columns of the table.
    """
    lacking = [name for name, field in BANK_DETAILS.fields.items() if field.required and name not in columns]
    if not payer_columns(given) or SHARED_FIELDS.keys().isdisjoint(lacking):
        return
    advice = (
        "Add these columns. If all account holders are payers themselves, pass holder_is_payer=True "
        f"(--holder-is-payer); if some are, add a column {HOLDER_IS_PAYER} with yes or no."
    )
    of_payers = [name for name in payer_columns(given) if name in own_columns(PAYER)]
    if of_payers:
        advice += f" If the table has no payers, leave out their columns: {', '.join(of_payers)}."
    raise InvalidInput(
        "The table has payers and accounts, but not all columns of the account holder, who is the payee; columns such "
        "as country are the payer's.",
        fields=tuple(_missing(name) for name in lacking),
        advice=advice,
    )


def _missing(name: str) -> FieldProblem:
    column = account_columns(name)[0]
    return FieldProblem(column, wire_name(column), f"Missing. {BANK_DETAILS.fields[name].full_help}", "column_missing")


def fill_holder(frame: pd.DataFrame, columns: Mapping[str, str], rows: Flags) -> tuple[pd.DataFrame, RowFindings]:
    """Return a table whose holder columns are filled with the payer's in some rows, and the cells that contradict that.

    columns: of bank details, by field. A field without a column of its own needs none: the payer's column serves it.
    """
    findings = RowFindings()
    if not rows.any() or not payer_columns(frame.columns):
        return frame, findings
    places = np.flatnonzero(rows).tolist()
    has_payer = frame[frame.columns.intersection(list(own_columns(PAYER)))].notna().any(axis=1).to_numpy(bool)
    filled = {}
    for name, column in columns.items():
        source = SHARED_FIELDS.get(name, column)
        if column == source:
            continue
        cells = frame[column].tolist()
        payers = frame[source].tolist() if source in frame.columns else [None] * len(cells)
        for row in places:
            if is_blank(cells[row]):
                cells[row] = payers[row]
            elif str(cells[row]) != str(payers[row]) and (has_payer[row] or not is_blank(payers[row])):
                findings.append((row, table_finding("holder_differs", name, column, source)))
        filled[column] = pd.Series(cells, frame.index, "object")
    return frame.assign(**filled), findings
