"""What was found in the cells of a table's file, as problems of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from payerkit.bulk.rows import ID, Problem, Row, Step
from payerkit.findings import Finding
from payerkit.tables.header import HOLDER_IS_PAYER
from payerkit.tables.mapping import name_columns
from payerkit.tables.source_table import findings_in
from payerkit.wire import wire_name


def tell_cells(read: Sequence[Row], rows: Any, columns: Mapping[Step, Mapping[str, str]]) -> None:
    """Tell rows first what was found in their cells when the table was read, about the fields that they fill.

    What checks found about a cell with an error of the file goes: it judges what nobody wrote. columns: those that are
    sent in each step, by field; a finding about any other column is left out.
    """
    fields = {step: {column: field for field, column in named.items()} for step, named in columns.items()}
    in_file = list(findings_in(rows))
    names = name_columns(rows.columns) if in_file else {}
    found: dict[int, list[Problem]] = {}
    for number, column, finding in in_file:
        name = names.get(column, column)
        steps = [step for step in fields if name in fields[step]]
        step = next((each for each in steps if each in read[number].data), steps[0] if steps else None)
        if not finding.field or (step is None and name in {ID, HOLDER_IS_PAYER}):  # or about the row as a whole
            found.setdefault(number, []).append(Problem(number, finding))
        elif step is not None:
            found.setdefault(number, []).append(Problem(number, _about(finding, fields[step][name]), step))
    for number, told in found.items():
        damaged = {each.column(columns) for each in told if each.finding.severity == "error"} - {""}
        checked = [each for each in read[number].problems if each.column(columns) not in damaged]
        read[number].problems = told + checked


@cache
def _about(finding: Finding, field: str) -> Finding:
    """Return a finding about a field, which it may have named by its column."""
    return replace(finding, field=field, wire_name=wire_name(field))
