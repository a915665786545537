"""The input table: read and checked part by part, a Dask DataFrame where its partitions are; then indexed by payer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from numbers import Number
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.holder import Flags, fill_holder, read_holder, require_holder
from payerkit.bulk.read import columns_by_field, name_columns, own_columns
from payerkit.checks.inputs import is_blank, strip_blanks, unwrap_secret
from payerkit.checks.many import check_all_bank_details, check_payers
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema, check_field
from payerkit.checks.table_findings import table_finding
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import COLUMNS, Finding

Step = Literal["payer", "bank_details"]
Rows = npt.NDArray[np.int64]
"""Numbers of rows, or one number a row."""

ID = "client_user_id"

_SCHEMAS: dict[Step, Schema] = {"payer": PAYER, "bank_details": BANK_DETAILS}

_BLOCK = 1024
_ROWS = 2**14
"""Rows that are checked at a time: checking takes several times the memory of the rows."""

_EMPTY_ROW = table_finding("nothing_to_send")
_DUPLICATE_ID = table_finding("id_twice")


class Table:
    """The rows by number, 0 for the first; `labels` are the caller's index.

    payers: the number of each row's payer, -1 without an id. order: the rows sorted by payer, payers as they first
    occur; rows are read fast in this order. findings: one row per finding, with the number of its row, and its step.
    blocked: rows with errors, which are not sent. without_payer: rows without errors whose payer, in another row, is
    blocked. holder_is_payer: account holders without columns of their own are the payers. Raises InvalidInput for
    anything but a table of rows to send.
    """

    def __init__(
        self, rows: Any, steps: tuple[Step, ...] = ("payer", "bank_details"), *, holder_is_payer: bool = False
    ) -> None:
        if not isinstance(holder_is_payer, bool):
            raise InvalidInput("holder_is_payer: expected True or False.")
        parts = check_parts(rows, steps, holder_is_payer=holder_is_payer)
        self.labels: pd.Index[Any] = parts[0].labels.append([part.labels for part in parts[1:]])
        self._frame = pd.concat([part.frame for part in parts], ignore_index=True)
        self.columns: Mapping[Step, Mapping[str, str]] = parts[0].columns
        self._block = lru_cache(maxsize=8)(self._read_block)
        self._filled = {step: np.concatenate([part.filled[step] for part in parts]) for step in _SCHEMAS}
        self.payers = _number_values(self._frame[ID])
        self.order = np.argsort(self.payers, kind="stable")
        self._place_in_order = np.argsort(self.order)
        self.findings = self._collect_findings(parts)
        self.blocked = np.zeros(len(self), bool)
        self.blocked[self.findings.loc[self.findings["severity"] == "error", "row"].to_numpy(np.int64)] = True
        self._payer_rows = self._find_payers()
        self.without_payer = ~self.blocked & (self._payer_rows >= 0) & self.blocked[self._payer_rows]
        self._first_with_account = self._find_accounts()

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that the table has columns for, in the order in which they are sent."""
        return tuple(self.columns)

    def rows_with(self, step: Step) -> Flags:
        """Return an array: for each row, whether it has data for a step."""
        return self._filled[step]

    def rows_to_send(self, step: Step) -> Flags:
        """Return an array: for each row, whether it has data for a step and no errors."""
        return self.rows_with(step) & ~self.blocked

    def client_user_id(self, row: int) -> str | None:
        """Return the client user id of a row."""
        block, place = self._locate(row)
        value = block[ID][place]
        return None if value is None else str(value)

    def payer_row(self, row: int) -> int:
        """Return the row that describes the payer of a row, preferably one without errors; -1 if no row does."""
        return int(self._payer_rows[row])

    def account_row(self, row: int) -> int:
        """Return the first row with the same account of the same payer, which is sent for all of them."""
        return int(self._first_with_account[row])

    def values(self, step: Step, row: int) -> dict[str, Any]:
        """Return the data of a row for a step, by field name."""
        block, place = self._locate(row)
        cells = ((name, block[column][place]) for name, column in self.columns[step].items())
        return {name: value for name, value in cells if value is not None}

    def _locate(self, row: int) -> tuple[dict[str, list[Any]], int]:
        number, place = divmod(int(self._place_in_order[row]), _BLOCK)
        return self._block(number), place

    def _read_block(self, number: int) -> dict[str, list[Any]]:
        """Return some rows as Python objects; pandas is slow at giving cells one by one."""
        part = self._frame.iloc[self.order[number * _BLOCK : (number + 1) * _BLOCK]]
        return {column: _python_cells(part[column]) for column in self._frame.columns}

    def fingerprint(self, secret: bytes) -> bytes:
        """Return a keyed digest of the table: its rows, in their order, and the steps."""
        whole = hashlib.blake2b(json.dumps([self.columns, len(self)]).encode(), key=secret)
        whole.update(self.order.tobytes())
        for number in range(-(-len(self) // _BLOCK)):
            block = sorted(self._block(number).items())  # by name: the order of columns does not matter
            columns = [[_stable_form(cell) for cell in cells] for _, cells in block]
            whole.update(json.dumps(columns).encode())
        return whole.digest()

    def rows_by_payer(self) -> Iterator[Rows]:
        """Yield the rows of each payer, payers as they first occur; rows without an id are left out."""
        starts = np.searchsorted(self.payers[self.order], np.arange(self.payers.max(initial=-1) + 2))
        for start, end in pairwise(starts.tolist()):
            yield self.order[start:end]

    def _collect_findings(self, parts: Sequence[Part]) -> pd.DataFrame:
        """Return the findings of the parts, by row of the whole table, and those that need the whole table."""
        starts = np.cumsum([0, *(len(part.frame) for part in parts)])
        found = [part.findings.assign(row=part.findings["row"] + at) for part, at in zip(parts, starts, strict=False)]
        found.append(findings_frame([(row, _DUPLICATE_ID) for row in self._find_conflicting_payers().tolist()]))
        whole = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
        return whole.sort_values("row", kind="stable", ignore_index=True)

    def _find_conflicting_payers(self) -> Rows:
        """Return the rows of payers whom the table describes in two ways."""
        rows = np.flatnonzero(self.rows_with("payer") & (self.payers >= 0))
        if "payer" not in self.columns or not len(rows):
            return rows[:0]
        described = self._number_rows(rows, self.columns["payer"].values())
        payers = pd.Series(self.payers[rows])[~pd.Series(described).duplicated()]
        return rows[np.isin(self.payers[rows], payers[payers.duplicated()])]

    def _number_rows(self, rows: Rows, columns: Iterable[str]) -> Rows:
        """Return a number for each of some rows: equal where the payer and all of these columns are equal."""
        mixed = self.payers[rows]
        for column in columns:
            numbers = _number_values(self._frame[column].iloc[rows])
            mixed = pd.factorize(mixed * (numbers.max(initial=-1) + 2) + numbers + 1)[0].astype(np.int64)
        return mixed

    def _find_payers(self) -> Rows:
        """Return for each row the first row without errors that describes its payer, else the first row, else -1."""
        found = np.full(self.payers.max(initial=-1) + 1, -1, np.int64)
        rows = np.flatnonzero(self.rows_with("payer") & (self.payers >= 0))
        for chosen in (rows, rows[~self.blocked[rows]]):  # the second overwrites the first
            found[self.payers[chosen[::-1]]] = chosen[::-1]
        return np.append(found, -1)[self.payers]  # -1, a row without an id, takes the last item

    def _find_accounts(self) -> Rows:
        """Return for each row the first row with the same account of the same payer."""
        found = np.arange(len(self))
        rows = np.flatnonzero(self.rows_to_send("bank_details"))
        if len(rows):
            same = pd.Series(rows).groupby(self._number_rows(rows, self.columns["bank_details"].values()))
            found[rows] = same.transform("first").to_numpy()
        return found


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a table, checked: the caller's labels, the cells, the findings.

    columns: those of each step by field. filled: for each step, which rows have data for it.
    """

    labels: pd.Index[Any]
    frame: pd.DataFrame
    columns: dict[Step, dict[str, str]]
    filled: dict[Step, Flags]
    findings: pd.DataFrame


def check_parts(rows: Any, steps: tuple[Step, ...], *, holder_is_payer: bool) -> Sequence[Part]:
    """Return the checked parts of a table. A Dask DataFrame is read and checked on its cluster."""
    if hasattr(rows, "map_partitions"):
        from dask.base import compute  # noqa: PLC0415 - whoever gives a Dask DataFrame has it
        from dask.delayed import delayed  # noqa: PLC0415

        part = delayed(check_part)
        return cast("Sequence[Part]", compute(*(part(each, steps, holder_is_payer) for each in rows.to_delayed())))
    return [check_part(rows, steps, holder_is_payer)]


def check_part(rows: Any, steps: tuple[Step, ...], holder_is_payer: bool) -> Part:  # noqa: FBT001 - Dask passes it on
    """Return rows with columns named by field, without blanks around texts, and their findings."""
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected a DataFrame, such as from read_payers(), got {kind_of(rows)}.")
    frame = rows.rename(columns=dict(name_columns(rows.columns))).reset_index(drop=True)
    if ID not in frame.columns:
        raise InvalidInput(f"The table has no column {ID}.")
    frame, is_payer, unclear = read_holder(frame, default=holder_is_payer)
    by_step: dict[Step, dict[str, str]] = {
        step: columns_by_field(_SCHEMAS[step], frame.columns, holder_is_payer=holder_is_payer) for step in steps
    }
    columns = {step: found for step, found in by_step.items() if found}
    if not columns:
        names = " or of ".join({"payer": "a payer", "bank_details": "bank details"}[step] for step in steps)
        raise InvalidInput(f"The table has nothing to send: no columns of {names}.")
    frame, infos = _clean(frame)
    filled = {step: _rows_with_data(frame, step, columns.get(step, {})) for step in _SCHEMAS}
    accounts = columns.get("bank_details", {})
    if filled["bank_details"].any() and not holder_is_payer:
        require_holder(accounts, frame.columns)
    frame, contradictions = fill_holder(frame, accounts, is_payer & filled["bank_details"])
    checked = [_check(frame, step, names, filled[step]) for step, names in columns.items()]
    holders = findings_frame([*unclear, *contradictions], "bank_details")
    found = [infos, holders, *checked, _check_rest(frame, filled)]
    findings = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
    return Part(rows.index, frame, columns, filled, findings)


def _rows_with_data(frame: pd.DataFrame, step: Step, columns: Mapping[str, str]) -> Flags:
    """Return an array: for each row, whether it has data for a step, in columns that are for this step alone."""
    own = own_columns(_SCHEMAS[step])
    return frame[[column for column in columns.values() if column in own]].notna().any(axis=1).to_numpy(bool)


def _check(frame: pd.DataFrame, step: Step, columns: Mapping[str, str], filled: Flags) -> pd.DataFrame:
    part = frame.loc[filled, list(columns.values())].set_axis(list(columns), axis=1)
    check = check_payers if step == "payer" else check_all_bank_details
    starts = range(0, max(len(part), 1), _ROWS)
    found = pd.concat([check(part.iloc[start : start + _ROWS]) for start in starts], ignore_index=True)
    return found.assign(step=pd.Series(step, found.index, "string"))


def _check_rest(frame: pd.DataFrame, filled: Mapping[Step, Flags]) -> pd.DataFrame:
    """Return findings for what the checks of payers and accounts do not see: ids of other rows, and empty rows."""
    unchecked = np.flatnonzero(~filled["payer"]).tolist()
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


def findings_frame(findings: Sequence[tuple[int, Finding]], step: Step | Literal[""] = "") -> pd.DataFrame:
    """Return findings by row as a DataFrame, as `check_payers` does, with their `step`."""
    numbers: dict[Finding, int] = {}  # a text that thousands of rows share is made once
    places = np.array([numbers.setdefault(finding, len(numbers)) for _, finding in findings], np.int64)
    columns = {
        name: pd.array([getattr(each, name) for each in numbers], dtype="string").take(places) for name in COLUMNS
    }
    steps = pd.array([step], dtype="string").take(np.zeros(len(findings), np.int64))
    return pd.DataFrame({"row": np.array([row for row, _ in findings], np.int64), **columns, "step": steps})


def _python_cells(column: pd.Series[Any]) -> list[Any]:
    """Return cells as Python objects, None for a blank one."""
    cells = column.to_numpy(object, copy=True)
    cells[column.isna().to_numpy(bool)] = None
    return list(cells)


def _stable_form(cell: Any) -> str | None:
    """Return text that is the same for the same cell in every process.

    Cells that are neither text nor have such a repr are never sent, so their type is enough.
    """
    if cell is None or isinstance(cell, str):
        return cell
    is_stable = isinstance(cell, Number) or hasattr(cell, "isoformat")
    return repr(cell) if is_stable else type(cell).__name__


def _number_values(column: pd.Series[Any]) -> Rows:
    """Return a number for each cell, equal for equal values, -1 for a blank one."""
    try:
        numbers, _ = pd.factorize(column)
    except TypeError:  # lists and the like, which are never sent
        numbers, _ = pd.factorize(column.map(lambda value: value if is_blank(value) else repr(value)))
    return numbers.astype(np.int64)
