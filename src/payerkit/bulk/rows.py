"""The rows of a table as they are sent: fields by name, no blanks around texts, holders filled in, each row checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.holder import fill_holder, read_holder, require_holder
from payerkit.checks.check import check_records
from payerkit.checks.inputs import check_field, strip_blanks, unwrap_secret
from payerkit.checks.readings import is_placeholder
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import Finding, Severity, table_finding
from payerkit.tables.header import columns_by_field, field_of, own_columns
from payerkit.tables.mapping import name_columns
from payerkit.tables.templates import is_example

ID = "client_user_id"

Step = Literal["payer", "bank_details"]
Flags = npt.NDArray[np.bool_]
"""One a row."""
Rows = npt.NDArray[np.signedinteger[Any]]
"""Numbers of rows, or one number a row."""

Placeholders = Literal["error", "keep"]
"""What texts such as N/A are: errors, or values as any other."""

SCHEMAS: dict[Step, Schema] = {"payer": PAYER, "bank_details": BANK_DETAILS}


class Problem(NamedTuple):
    """What was found in a row: in its data for a step, or, if the step is "", in the row as a whole.

    general: the finding without the other rows that it names, None if it names none.
    """

    row: int
    finding: Finding
    step: Step | Literal[""] = ""
    general: Finding | None = None

    def column(self, columns: Mapping[Step, Mapping[str, str]]) -> str:
        """Return the column that it is about, of those of each step by field; "" for the row as a whole."""
        name = self.finding.field
        return columns.get(self.step, {}).get(name, name) if self.step else name


class Problems(list[Problem]):
    """Problems of a table's rows, in the order of the rows."""

    @property
    def rows(self) -> Rows:
        """The row of each problem."""
        return np.array([each.row for each in self], np.int32)

    def of_severity(self, *severities: Severity) -> Self:
        """Return the problems of some severities."""
        return type(self)(each for each in self if each.finding.severity in severities)

    def with_codes(self, *codes: str) -> Self:
        """Return the problems with some codes."""
        return type(self)(each for each in self if each.finding.code in codes)

    def in_rows(self, chosen: Flags) -> Self:
        """Return the problems of the rows that are chosen, given for each row of the table."""
        return type(self)(each for each in self if chosen[each.row])

    def in_order(self) -> Self:
        """Return the problems by row; those of one row stay in their order."""
        return type(self)(sorted(self, key=lambda each: each.row))


@dataclass(slots=True)
class Row:
    """A row of a table.

    number: 0 for the first. client_user_id: as it is written, "" if the cell is blank. data: what is sent, by field, in
    each step for which the row has any; blank cells are left out. payer: the number of its payer, -1 without an id.
    """

    number: int
    client_user_id: str
    data: dict[Step, dict[str, Any]]
    problems: list[Problem] = field(default_factory=list)
    payer: int = -1

    def tell(self, finding: Finding, step: Step | Literal[""] = "", general: Finding | None = None) -> None:
        """Add what was found. general: as of a `Problem`."""
        self.problems.append(Problem(self.number, finding, step, general))

    @property
    def is_blocked(self) -> bool:
        """Whether the row has an error, so that it is not sent."""
        return any(each.finding.severity == "error" for each in self.problems)

    def has_error_about(self, name: str) -> bool:
        """Return True if an error is about a field."""
        return any(each.finding.severity == "error" and each.finding.field == name for each in self.problems)


def read_rows(
    rows: Any, steps: Sequence[Step], *, holder_is_payer: bool, placeholders: Placeholders
) -> tuple[list[Row], Mapping[Step, Mapping[str, str]]]:
    """Return the rows of a table, checked, and the column of each field by step.

    Raises InvalidInput for anything but a table with something to send that says who holds the accounts.
    """
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected a DataFrame of pandas, such as from read_payers(), got {kind_of(rows)}.")
    names = name_columns(rows.columns)
    places = {names[column]: place for place, column in enumerate(rows.columns) if column in names}
    cells: dict[str, list[Any]] = {name: rows.iloc[:, place].tolist() for name, place in places.items()}
    if ID not in cells:
        raise InvalidInput(f"The table has no column {ID}.")
    is_payer, unclear = read_holder(cells, default=holder_is_payer)
    columns = _columns_of_steps(cells, steps, holder_is_payer=holder_is_payer)
    trimmed = [each for name in cells for each in _clean(name, cells[name])]
    filled = {step: _rows_with_data(cells, step, columns.get(step, {})) for step in SCHEMAS}
    accounts = columns.get("bank_details", {})
    if any(filled["bank_details"]) and not holder_is_payer:
        require_holder(accounts, cells)
    own = [has and is_own for has, is_own in zip(filled["bank_details"], is_payer, strict=True)]
    contradictions = fill_holder(cells, accounts, own)
    read = [
        Row(number, "" if cell is None else str(cell), _values(cells, columns, filled, number))
        for number, cell in enumerate(cells[ID])
    ]
    for number, finding in trimmed:
        read[number].tell(finding)
    for number, finding in [*unclear, *contradictions]:
        read[number].tell(finding, "bank_details")
    for step in columns:
        _check_step(step, [row for row in read if step in row.data], placeholders)
    for row, cell, email in zip(read, cells[ID], cells.get("email") or [None] * len(read), strict=True):
        _check_rest(row, cell, email, placeholders)
    return read, columns


def _columns_of_steps(
    columns: Iterable[str], steps: Sequence[Step], *, holder_is_payer: bool
) -> dict[Step, dict[str, str]]:
    """Return the column of each field, for each step that the table has columns of. Raises InvalidInput without any."""
    names = list(columns)
    by_step = {step: columns_by_field(SCHEMAS[step], names, holder_is_payer=holder_is_payer) for step in steps}
    found = {step: columns for step, columns in by_step.items() if columns}
    if not found:
        missing = " or of ".join({"payer": "a payer", "bank_details": "bank details"}[step] for step in steps)
        raise InvalidInput(f"The table has nothing to send: no columns of {missing}.")
    return found


def _clean(name: str, cells: list[Any]) -> Iterator[tuple[int, Finding]]:
    """Make the cells of a column what is sent: no masking types, no blanks around texts, None for each blank cell.

    Yield an info for each stripped cell.
    """
    schema = PAYER if name in PAYER.fields else BANK_DETAILS
    for row, cell in enumerate(cells):
        value = unwrap_secret(cell)
        if isinstance(value, str) and (not value or value[0].isspace() or value[-1].isspace()):
            text, info = strip_blanks(schema, field_of(name), value)
            value = text or None
            if info is not None:
                yield row, info
        cells[row] = value


def _rows_with_data(cells: Mapping[str, list[Any]], step: Step, columns: Mapping[str, str]) -> list[bool]:
    """Return for each row whether it has data for a step, in columns that are for this step alone."""
    own = own_columns(SCHEMAS[step])
    given = [cells[column] for column in columns.values() if column in own]
    return [any(cell is not None for cell in row) for row in zip(*given, strict=True)] or [False] * len(cells[ID])


def _values(
    cells: Mapping[str, list[Any]],
    columns: Mapping[Step, Mapping[str, str]],
    filled: Mapping[Step, Sequence[bool]],
    row: int,
) -> dict[Step, dict[str, Any]]:
    """Return what a row sends in each step."""
    return {
        step: {name: value for name, column in of_step.items() if (value := cells[column][row]) is not None}
        for step, of_step in columns.items()
        if filled[step][row]
    }


def _check_step(step: Step, rows: Sequence[Row], placeholders: Placeholders) -> None:
    """Tell rows what the checks of a step find; of a placeholder nothing but that it is one."""
    schema, known = SCHEMAS[step], dict[tuple[str, str], bool]()
    for row, findings in zip(rows, check_records(schema, (row.data[step] for row in rows)), strict=True):
        hidden = set[str]()
        for name, value in row.data[step].items() if placeholders == "error" else ():
            if isinstance(value, str):
                if (name, value) not in known:
                    known[name, value] = is_placeholder(schema, name, value)
                if known[name, value]:
                    hidden.add(name)
        for finding in findings:
            if finding.field not in hidden:
                row.tell(finding, step)
        for name in row.data[step]:
            if name in hidden:
                row.tell(table_finding("placeholder", name), step)


def _check_rest(row: Row, cell: Any, email: Any, placeholders: Placeholders) -> None:
    """Tell a row what the checks of payers and accounts do not see: the id of another row's payer, an empty row.

    A row of a template that nobody wrote over is an error, too.
    """
    if "payer" not in row.data:
        is_hidden = placeholders == "error" and isinstance(cell, str) and is_placeholder(PAYER, ID, cell)
        finding = table_finding("placeholder", ID) if is_hidden else check_field(PAYER, ID, cell)
        if finding is not None:
            row.tell(finding)
    if not row.data:
        row.tell(table_finding("nothing_to_send"))
    if isinstance(cell, str) and is_example(cell, email if isinstance(email, str) else None):
        row.tell(table_finding("example_row"))
