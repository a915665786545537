"""Whose an account is: its holder has columns of their own, and is the payer only where somebody says so."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from payerkit.checks.inputs import is_blank, unwrap_secret
from payerkit.checks.schema import BANK_DETAILS, PAYER, SHARED_FIELDS
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.findings import Finding, table_finding
from payerkit.tables.header import HOLDER_IS_PAYER, account_columns, own_columns, payer_columns
from payerkit.wire import wire_name

_YES, _NO = ("yes", "true", "1", 1), ("no", "false", "0", 0)
_WORDS: dict[Hashable, bool] = dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)
"""What a cell of the column `holder_is_payer` may say; True and False are equal to 1 and 0."""

RowFindings = list[tuple[int, Finding]]
Cells = dict[str, list[Any]]
"""The cells of a table by column."""


def read_holder(cells: Cells, *, default: bool) -> tuple[list[bool], RowFindings]:
    """Take out the column `holder_is_payer`; return what it says for each row, and the cells that say nothing.

    In place of that column, the table gets those of the account holder that it lacks, unless it has accounts alone.
    default: what counts if there is no such column, and where it is blank.
    """
    count = len(next(iter(cells.values())))
    if HOLDER_IS_PAYER not in cells:
        return [default] * count, []
    said = [_read_cell(cell, default=default) for cell in cells.pop(HOLDER_IS_PAYER)]
    for names in map(account_columns, SHARED_FIELDS) if payer_columns(cells) else ():
        if cells.keys().isdisjoint(names):
            cells[names[0]] = [None] * count
    return [each is True for each in said], [
        (row, table_finding("choice")) for row, each in enumerate(said) if each is None
    ]


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


def fill_holder(cells: Cells, columns: Mapping[str, str], rows: Sequence[bool]) -> RowFindings:
    """Fill the holder's columns with the payer's in some rows; return the cells that contradict that.

    columns: of bank details, by field. A field without a column of its own needs none: the payer's column serves it.
    rows: for each row, whether it is one of these.
    """
    places = [row for row, is_own in enumerate(rows) if is_own]
    if not places or not payer_columns(cells):
        return []
    own = [cells[name] for name in cells if name in own_columns(PAYER)]
    findings = RowFindings()
    for name, column in columns.items():
        source = SHARED_FIELDS.get(name, column)
        if column == source:
            continue
        payers = cells.get(source) or [None] * len(rows)
        for row in places:
            cell, payer = cells[column][row], payers[row]
            if cell is None:
                cells[column][row] = payer
            elif str(cell) != str(payer) and (payer is not None or any(each[row] is not None for each in own)):
                findings.append((row, table_finding("holder_differs", name, column, source)))
    return findings
