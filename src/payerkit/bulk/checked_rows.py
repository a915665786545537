"""The rows of a table as they are sent, and what is found in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from payerkit.bulk.findings_by_row import FindingsByRow, Rows, Step
from payerkit.bulk.holder import Flags, fill_holder, read_holder, require_holder
from payerkit.bulk.row_hashes import ID, RowHashes, hash_rows
from payerkit.checks.inputs import is_blank, strip_blanks, unwrap_secret
from payerkit.checks.many import find_in_rows
from payerkit.checks.placeholders import is_placeholder
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema, check_field
from payerkit.checks.table_findings import table_finding
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import Finding
from payerkit.tables.columns import columns_by_field, field_of, own_columns
from payerkit.tables.mapping import name_columns
from payerkit.tables.templates import is_example

Placeholders = Literal["error", "keep"]
"""What texts such as N/A are: errors, or values as any other."""

SCHEMAS: dict[Step, Schema] = {"payer": PAYER, "bank_details": BANK_DETAILS}


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """Some rows as they are sent: columns named by field, no blanks around texts, holders filled in.

    columns: those of each step by field. filled: for each step, which rows have data for it. found: what preparing them
    found.
    """

    frame: pd.DataFrame
    columns: Mapping[Step, Mapping[str, str]]
    filled: Mapping[Step, Flags]
    found: FindingsByRow


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows of a table, checked: all that a plan needs of them, without their cells.

    labels: the caller's. columns, filled: as `PreparedRows`. found: what the checks found, by row.
    """

    labels: pd.Index[Any]
    ids: Sequence[str]
    columns: Mapping[Step, Mapping[str, str]]
    filled: Mapping[Step, Flags]
    hashes: RowHashes
    found: FindingsByRow

    def __len__(self) -> int:
        return len(self.labels)


def check_rows(rows: Any, steps: Sequence[Step], *, holder_is_payer: bool, placeholders: Placeholders) -> CheckedRows:
    """Return rows checked. Raises InvalidInput for anything but a table with something to send."""
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected a DataFrame of pandas, such as from read_payers(), got {kind_of(rows)}.")
    plain = pd.DataFrame(rows)  # pandas is slower with subclasses
    prepared = prepare_rows(plain, steps, holder_is_payer=holder_is_payer)
    frame, columns, filled = prepared.frame, prepared.columns, prepared.filled
    checked = [_check_step(frame, step, names, filled[step], placeholders) for step, names in columns.items()]
    found = FindingsByRow.join(
        [prepared.found, *checked, _check_rest(frame, filled, placeholders), _find_examples(frame)]
    )
    ids = ["" if is_blank(value) else str(value) for value in frame[ID].tolist()]
    return CheckedRows(rows.index, ids, columns, filled, hash_rows(frame, columns), found)


def prepare_rows(rows: pd.DataFrame, steps: Sequence[Step], *, holder_is_payer: bool) -> PreparedRows:
    """Return rows as they are sent. Raises InvalidInput if the table has nothing to send, or not who holds accounts."""
    frame = rows.rename(columns=dict(name_columns(rows.columns))).reset_index(drop=True)
    if ID not in frame.columns:
        raise InvalidInput(f"The table has no column {ID}.")
    frame, is_payer, unclear = read_holder(frame, default=holder_is_payer)
    by_step: dict[Step, dict[str, str]] = {
        step: columns_by_field(SCHEMAS[step], frame.columns, holder_is_payer=holder_is_payer) for step in steps
    }
    columns = {step: found for step, found in by_step.items() if found}
    if not columns:
        names = " or of ".join({"payer": "a payer", "bank_details": "bank details"}[step] for step in steps)
        raise InvalidInput(f"The table has nothing to send: no columns of {names}.")
    frame, infos = _clean(frame)
    filled = {step: _rows_with_data(frame, step, columns.get(step, {})) for step in SCHEMAS}
    accounts = columns.get("bank_details", {})
    if filled["bank_details"].any() and not holder_is_payer:
        require_holder(accounts, frame.columns)
    frame, contradictions = fill_holder(frame, accounts, is_payer & filled["bank_details"])
    found = [FindingsByRow.from_pairs(infos), FindingsByRow.from_pairs([*unclear, *contradictions], "bank_details")]
    return PreparedRows(frame, columns, filled, FindingsByRow.join(found))


def _rows_with_data(frame: pd.DataFrame, step: Step, columns: Mapping[str, str]) -> Flags:
    """Return an array: for each row, whether it has data for a step, in columns that are for this step alone."""
    own = own_columns(SCHEMAS[step])
    return frame[[column for column in columns.values() if column in own]].notna().any(axis=1).to_numpy(bool)


def _check_step(
    frame: pd.DataFrame, step: Step, columns: Mapping[str, str], filled: Flags, placeholders: Placeholders
) -> FindingsByRow:
    """Return what the checks of a step find; of a placeholder nothing but that it is one."""
    part = frame.loc[filled, list(columns.values())].set_axis(list(columns), axis=1)
    rows = np.flatnonzero(filled)
    found = [(each.finding, each.rows) for each in find_in_rows(SCHEMAS[step], part)]
    if placeholders == "error":
        for name, places in _find_placeholders(SCHEMAS[step], part).items():
            others = [(each, np.setdiff1d(own, places) if each.field == name else own) for each, own in found]
            found = [*others, (table_finding("placeholder", name), places)]
    return FindingsByRow.of([(finding, rows[own]) for finding, own in found], step)


def _find_placeholders(schema: Schema, frame: pd.DataFrame) -> dict[str, Rows]:
    """Return the rows with a placeholder, by field."""
    found = {}
    for name in frame.columns:
        cells = frame[name].tolist()
        texts = {cell for cell in cells if isinstance(cell, str)}  # each of them is tested once
        if placeholders := {text for text in texts if is_placeholder(schema, name, text)}:
            rows = [row for row, cell in enumerate(cells) if isinstance(cell, str) and cell in placeholders]
            found[name] = np.array(rows)
    return found


def _check_rest(frame: pd.DataFrame, filled: Mapping[Step, Flags], placeholders: Placeholders) -> FindingsByRow:
    """Return findings for what the checks of payers and accounts do not see: ids of other rows, and empty rows."""
    unchecked = np.flatnonzero(~filled["payer"]).tolist()
    ids = frame[ID].array
    found = [(row, check_field(PAYER, ID, None if is_blank(ids[row]) else ids[row])) for row in unchecked]
    if placeholders == "error":
        hidden = {row for row in unchecked if isinstance(ids[row], str) and is_placeholder(PAYER, ID, ids[row])}
        found = [(row, table_finding("placeholder", ID) if row in hidden else finding) for row, finding in found]
    empty = np.flatnonzero(~np.logical_or.reduce(list(filled.values()))).tolist()
    found += [(row, table_finding("nothing_to_send")) for row in empty]
    return FindingsByRow.from_pairs((row, finding) for row, finding in found if finding is not None)


def _find_examples(frame: pd.DataFrame) -> FindingsByRow:
    """Return errors for the rows of a template that nobody wrote over."""
    emails = frame["email"].tolist() if "email" in frame.columns else [None] * len(frame)
    pairs = enumerate(zip(frame[ID].tolist(), emails, strict=True))
    rows = [row for row, (text, email) in pairs if isinstance(text, str) and is_example(text, _text(email))]
    return FindingsByRow.of([(table_finding("example_row"), np.array(rows, np.int32))])


def _text(cell: Any) -> str | None:
    return cell if isinstance(cell, str) else None


def _clean(frame: pd.DataFrame) -> tuple[pd.DataFrame, Iterable[tuple[int, Finding]]]:
    """Return the table without blanks around texts, empty cells as missing, and an info for each stripped cell."""
    infos: list[tuple[int, Finding]] = []
    for column in frame.columns:
        cells = frame[column].tolist()
        is_changed = pd.api.types.infer_dtype(frame[column], skipna=True) not in {"string", "empty"}
        if is_changed:  # what is checked must be what is sent: values out of masking types, every blank as None
            cells = [unwrap_secret(value) for value in cells]
        for row, value in enumerate(cells):
            if isinstance(value, str) and (not value or value[0].isspace() or value[-1].isspace()):
                schema = PAYER if column in PAYER.fields else BANK_DETAILS
                text, info = strip_blanks(schema, field_of(column), value)
                cells[row] = text or None
                is_changed = True
                infos += [(row, info)] if info is not None else []
        if is_changed:
            frame = frame.assign(**{column: pd.Series(cells, frame.index, "object")})
    return frame, infos
