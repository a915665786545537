"""The rows of a table, read and checked part by part; a Dask DataFrame's where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.read import members_of, our_names, own_columns
from payerkit.checks.inputs import is_blank, strip_blanks, unwrap_secret
from payerkit.checks.many import check_all_bank_details, check_payers
from payerkit.checks.schema import BANK_DETAILS, PAYER, check_field, error_finding
from payerkit.errors import InvalidInput
from payerkit.findings import COLUMNS, Finding

Step = Literal["payer", "bank_details"]
Flags = npt.NDArray[np.bool_]
ID = "client_user_id"

_ROWS = 2**14
"""Rows that are checked at a time: checking needs several times the memory of what is checked."""

_NOTHING = error_finding(PAYER, "", "nothing_to_send", "The row has nothing to send.")


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a table, checked: what the caller calls them, their cells, the columns of each step, findings."""

    labels: pd.Index[Any]
    frame: pd.DataFrame
    members: dict[Step, dict[str, str]]
    findings: pd.DataFrame


def parts_of(rows: Any, steps: tuple[Step, ...]) -> Sequence[Part]:
    """Return the parts of a table: a Dask DataFrame's are read and checked where they are, on its cluster."""
    if hasattr(rows, "map_partitions"):
        from dask.base import compute  # noqa: PLC0415 - whoever gives a Dask DataFrame has it
        from dask.delayed import delayed  # noqa: PLC0415

        part = delayed(check_part)
        return cast("Sequence[Part]", compute(*(part(each, steps) for each in rows.to_delayed())))
    return [check_part(rows, steps)]


def check_part(rows: Any, steps: tuple[Step, ...]) -> Part:
    """Return rows with our names, without blanks around their texts, and what is wrong with them."""
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"Give the rows as a DataFrame, from read_payers(); got a {type(rows).__name__}.")
    frame = rows.rename(columns=dict(our_names(rows.columns))).reset_index(drop=True)
    if ID not in frame.columns:
        raise InvalidInput(f"The table has no column {ID}, so nobody knows whose rows these are.")
    of_body = {"payer": members_of(PAYER, frame.columns), "bank_details": members_of(BANK_DETAILS, frame.columns)}
    members: dict[Step, dict[str, str]] = {step: of_body[step] for step in steps if of_body[step]}
    if not members:
        raise InvalidInput("The table has no columns of what is to be sent.")
    frame, infos = _clean(frame)
    found = [infos, *(_check(frame, step, columns) for step, columns in members.items()), _ids(frame, members)]
    findings = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
    return Part(rows.index, frame, members, findings)


def filled(frame: pd.DataFrame, step: Step, members: Mapping[str, str]) -> Flags:
    """Tell of each row whether it asks for a step: whether it has anything that is for this step alone."""
    own = own_columns(PAYER if step == "payer" else BANK_DETAILS)
    return frame[[column for column in members.values() if column in own]].notna().any(axis=1).to_numpy()


def _check(frame: pd.DataFrame, step: Step, members: Mapping[str, str]) -> pd.DataFrame:
    part = frame.loc[filled(frame, step, members), list(members.values())].set_axis(list(members), axis=1)
    check = check_payers if step == "payer" else check_all_bank_details
    starts = range(0, max(len(part), 1), _ROWS)
    found = pd.concat([check(part.iloc[start : start + _ROWS]) for start in starts], ignore_index=True)
    return found.assign(step=pd.Series(step, found.index, "string"))


def _ids(frame: pd.DataFrame, members: Mapping[Step, Mapping[str, str]]) -> pd.DataFrame:
    """Return what is wrong with ids that no payer's check has seen, and rows that ask for nothing."""
    asked = {step: filled(frame, step, columns) for step, columns in members.items()}
    unseen = np.flatnonzero(~asked.get("payer", np.zeros(len(frame), bool))).tolist()
    ids = frame[ID].array
    said = [(row, check_field(PAYER, ID, None if is_blank(ids[row]) else ids[row])) for row in unseen]
    said += [(row, _NOTHING) for row in np.flatnonzero(~np.logical_or.reduce(list(asked.values()))).tolist()]
    return frame_of([(row, each) for row, each in said if each is not None])


def _clean(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table without blanks around its texts, empty cells as missing, and an info for each cell changed."""
    said: list[tuple[int, Finding]] = []
    for column in frame.columns:
        cells = frame[column].tolist()
        is_changed = pd.api.types.infer_dtype(frame[column], skipna=True) not in {"string", "empty"}
        if is_changed:  # what is checked is what is sent: out of masking types, every kind of blank as none
            cells = [unwrap_secret(value) for value in cells]
        for row, value in enumerate(cells):
            if isinstance(value, str) and (not value or value[0].isspace() or value[-1].isspace()):
                body = PAYER if column in PAYER.fields else BANK_DETAILS
                name = column if column in body.fields else column.removeprefix("bank_")
                text, info = strip_blanks(body, name, value)
                cells[row] = text or None
                is_changed = True
                said += [(row, info)] if info is not None else []
        if is_changed:
            frame = frame.assign(**{column: pd.Series(cells, frame.index, "object")})
    return frame, frame_of(said)


def frame_of(said: Sequence[tuple[int, Finding]]) -> pd.DataFrame:
    """Return findings by rows as a frame, as the checks of tables give it, about no step."""
    numbers: dict[Finding, int] = {}
    places = np.array([numbers.setdefault(each, len(numbers)) for _, each in said], np.int64)
    columns = {
        name: pd.array([getattr(each, name) for each in numbers], dtype="string").take(places) for name in COLUMNS
    }
    step = pd.array([""], dtype="string").take(np.zeros(len(said), np.int64))
    return pd.DataFrame({"row": np.array([row for row, _ in said], np.int64), **columns, "step": step})
