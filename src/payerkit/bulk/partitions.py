"""Read and check the rows of a table part by part; those of a Dask DataFrame where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.read import columns_by_field, name_columns, own_columns
from payerkit.checks.inputs import is_blank, strip_blanks, unwrap_secret
from payerkit.checks.many import check_all_bank_details, check_payers
from payerkit.checks.schema import BANK_DETAILS, PAYER, check_field, error_finding
from payerkit.errors import InvalidInput
from payerkit.findings import COLUMNS, Finding

Step = Literal["payer", "bank_details"]
Flags = npt.NDArray[np.bool_]
ID = "client_user_id"

_SCHEMAS = {"payer": PAYER, "bank_details": BANK_DETAILS}

_ROWS = 2**14
"""Rows that are checked at a time: checking takes several times the memory of the rows."""

_EMPTY_ROW = error_finding(PAYER, "", "nothing_to_send", "The row has nothing to send.")


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a table, checked: the caller's labels, cells, the columns of each step by field, findings."""

    labels: pd.Index[Any]
    frame: pd.DataFrame
    columns: dict[Step, dict[str, str]]
    findings: pd.DataFrame


def check_parts(rows: Any, steps: tuple[Step, ...]) -> Sequence[Part]:
    """Return the checked parts of a table. A Dask DataFrame is read and checked on its cluster."""
    if hasattr(rows, "map_partitions"):
        from dask.base import compute  # noqa: PLC0415 - whoever gives a Dask DataFrame has it
        from dask.delayed import delayed  # noqa: PLC0415

        part = delayed(check_part)
        return cast("Sequence[Part]", compute(*(part(each, steps) for each in rows.to_delayed())))
    return [check_part(rows, steps)]


def check_part(rows: Any, steps: tuple[Step, ...]) -> Part:
    """Return rows with columns named by field, without blanks around texts, and their findings."""
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected a DataFrame, such as from read_payers(), got a {type(rows).__name__}.")
    frame = rows.rename(columns=dict(name_columns(rows.columns))).reset_index(drop=True)
    if ID not in frame.columns:
        raise InvalidInput(f"The table has no column {ID}.")
    by_step: dict[Step, dict[str, str]] = {step: columns_by_field(_SCHEMAS[step], frame.columns) for step in steps}
    columns = {step: found for step, found in by_step.items() if found}
    if not columns:
        names = " or of ".join({"payer": "a payer", "bank_details": "bank details"}[step] for step in steps)
        raise InvalidInput(f"The table has nothing to send: no columns of {names}.")
    frame, infos = _clean(frame)
    found = [infos, *(_check(frame, step, names) for step, names in columns.items()), _check_rest(frame, columns)]
    findings = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
    return Part(rows.index, frame, columns, findings)


def rows_with(frame: pd.DataFrame, step: Step, columns: Mapping[str, str]) -> Flags:
    """Return an array: for each row, whether it has data for a step, in columns that are for this step alone."""
    own = own_columns(_SCHEMAS[step])
    return frame[[column for column in columns.values() if column in own]].notna().any(axis=1).to_numpy()


def _check(frame: pd.DataFrame, step: Step, columns: Mapping[str, str]) -> pd.DataFrame:
    part = frame.loc[rows_with(frame, step, columns), list(columns.values())].set_axis(list(columns), axis=1)
    check = check_payers if step == "payer" else check_all_bank_details
    starts = range(0, max(len(part), 1), _ROWS)
    found = pd.concat([check(part.iloc[start : start + _ROWS]) for start in starts], ignore_index=True)
    return found.assign(step=pd.Series(step, found.index, "string"))


def _check_rest(frame: pd.DataFrame, columns: Mapping[Step, Mapping[str, str]]) -> pd.DataFrame:
    """Return findings for what the checks of payers and accounts do not see: ids of other rows, and empty rows."""
    filled = {step: rows_with(frame, step, names) for step, names in columns.items()}
    unchecked = np.flatnonzero(~filled.get("payer", np.zeros(len(frame), bool))).tolist()
    ids = frame[ID].array
    found = [(row, check_field(PAYER, ID, None if is_blank(ids[row]) else ids[row])) for row in unchecked]
    found += [(row, _EMPTY_ROW) for row in np.flatnonzero(~np.logical_or.reduce(list(filled.values()))).tolist()]
    return findings_frame([(row, finding) for row, finding in found if finding is not None])


def _clean(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
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
                name = column if column in schema.fields else column.removeprefix("bank_")
                text, info = strip_blanks(schema, name, value)
                cells[row] = text or None
                is_changed = True
                infos += [(row, info)] if info is not None else []
        if is_changed:
            frame = frame.assign(**{column: pd.Series(cells, frame.index, "object")})
    return frame, findings_frame(infos)


def findings_frame(findings: Sequence[tuple[int, Finding]]) -> pd.DataFrame:
    """Return findings by row as a DataFrame, as `check_payers` does, with an empty `step`."""
    numbers: dict[Finding, int] = {}  # a text that thousands of rows share is made once
    places = np.array([numbers.setdefault(finding, len(numbers)) for _, finding in findings], np.int64)
    columns = {
        name: pd.array([getattr(each, name) for each in numbers], dtype="string").take(places) for name in COLUMNS
    }
    step = pd.array([""], dtype="string").take(np.zeros(len(findings), np.int64))
    return pd.DataFrame({"row": np.array([row for row, _ in findings], np.int64), **columns, "step": step})
