"""What was found in the cells of a table's file, as findings about its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from payerkit.bulk.findings_by_row import FindingsByRow, Rows, Step
from payerkit.bulk.holder import Flags
from payerkit.bulk.row_hashes import ID
from payerkit.findings import Finding
from payerkit.tables.columns import HOLDER_IS_PAYER
from payerkit.tables.mapping import name_columns
from payerkit.tables.source_table import findings_in
from payerkit.wire import wire_name

_MOST_COLUMNS = 2**10


def find_in_cells(
    rows: Any, columns: Mapping[Step, Mapping[str, str]], filled: Mapping[Step, Flags]
) -> list[FindingsByRow]:
    """Return what was found in the cells of a table when it was read, about the fields that they fill.

    columns: the columns that are sent in each step, by field; a finding about any other column is left out. filled: for
    each step, which rows have data for it. Only tables of pandas come from a file.
    """
    if not isinstance(rows, pd.DataFrame):
        return []
    fields = {step: {column: field for field, column in named.items()} for step, named in columns.items()}
    names: Mapping[Any, str] | None = None
    found: dict[Step | None, list[tuple[int, Finding]]] = {}
    for row, column, finding in findings_in(rows):
        names = names or name_columns(rows.columns)
        name = names.get(column, column)
        steps = [step for step in fields if name in fields[step]]
        step = next((each for each in steps if filled[each][row]), steps[0] if steps else None)
        if not finding.field:  # about the row as a whole
            found.setdefault(None, []).append((row, finding))
        elif step is not None:
            found.setdefault(step, []).append((row, _about(finding, fields[step][name])))
        elif name in {ID, HOLDER_IS_PAYER}:
            found.setdefault(None, []).append((row, finding))
    return [FindingsByRow.from_pairs(pairs, step or "") for step, pairs in found.items()]


def leave_out_damaged(
    found: FindingsByRow, of_cells: FindingsByRow, columns: Mapping[Step, Mapping[str, str]]
) -> FindingsByRow:
    """Return what checks found, but nothing about cells with an error of the file: they judge what nobody wrote.

    of_cells: what was found in the cells of the file. columns: as in `find_in_cells`.
    """
    errors = of_cells.of_severity("error")
    if not len(errors.rows):
        return found
    numbers: dict[str, int] = {}
    return found.elsewhere(_cells(found, columns, numbers), _cells(errors, columns, numbers))


def _cells(found: FindingsByRow, columns: Mapping[Step, Mapping[str, str]], numbers: dict[str, int]) -> Rows:
    """Return for each finding a number of its cell; those about a row as a whole are about no cell."""
    names = [columns[step].get(each.field, each.field) if step else each.field for each, step in found.kinds]
    of_kinds = np.array([numbers.setdefault(name, len(numbers)) if name else -1 for name in names], np.int64)
    of_findings = of_kinds[found.numbers]
    return np.where(of_findings < 0, -1, found.rows.astype(np.int64) * _MOST_COLUMNS + of_findings)


@cache
def _about(finding: Finding, field: str) -> Finding:
    """Return a finding about a field, which it may have named by its column."""
    return replace(finding, field=field, wire_name=wire_name(field))
