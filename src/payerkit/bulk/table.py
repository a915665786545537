"""The checked input table, indexed by payer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.partitions import ID, Flags, Part, Step, check_parts, findings_frame, rows_with
from payerkit.checks.inputs import is_blank
from payerkit.checks.schema import PAYER, error_finding

_BLOCK = 1024
Rows = npt.NDArray[np.int64]
"""Numbers of rows, or one number a row."""

_DUPLICATE_ID = error_finding(
    PAYER, ID, "id_twice", "The table has two different payers with this id.", "Correct the rows with this id."
)


class Table:
    """The rows by number, 0 for the first; `labels` are the caller's index.

    payers: the number of each row's payer, -1 without an id. order: the rows sorted by payer, payers as they first
    occur; rows are read fast in this order. findings: one row a finding, with the number of its row, and its step.
    blocked: rows with errors, which are not sent. without_payer: rows without errors whose payer, in another row, is
    blocked. Raises InvalidInput for anything but a table of rows to send.
    """

    def __init__(self, rows: Any, steps: tuple[Step, ...] = ("payer", "bank_details")) -> None:
        parts = check_parts(rows, steps)
        self.labels: pd.Index[Any] = parts[0].labels.append([part.labels for part in parts[1:]])
        self._frame = pd.concat([part.frame for part in parts], ignore_index=True)
        self._columns = parts[0].columns
        self._block = lru_cache(maxsize=8)(self._read_block)
        self._rows_with = {step: rows_with(self._frame, step, columns) for step, columns in self._columns.items()}
        self._no_rows = np.zeros(len(self), bool)
        self.payers = _number_values(self._frame[ID])
        self.order = np.argsort(self.payers, kind="stable")
        self._place_in_order = np.argsort(self.order)
        self.findings = self._collect_findings(parts)
        self.blocked = np.zeros(len(self), bool)
        self.blocked[self.findings.loc[self.findings["severity"] == "error", "row"].to_numpy(np.int64)] = True
        self._row_of_payer = self._find_payers()
        self.without_payer = self._find_rows_without_payer()
        self._first_with_account = self._find_accounts()

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that the table has columns for, in the order in which they are sent."""
        return tuple(self._columns)

    def rows_with(self, step: Step) -> Flags:
        """Return an array: for each row, whether it has data for a step."""
        return self._rows_with.get(step, self._no_rows)

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
        payer = self.payers[row]
        return -1 if payer < 0 else int(self._row_of_payer[payer])

    def account_row(self, row: int) -> int:
        """Return the first row with the same account of the same payer, which is sent for all of them."""
        return int(self._first_with_account[row])

    def values(self, step: Step, row: int) -> dict[str, Any]:
        """Return the data of a row for a step, by field name."""
        block, place = self._locate(row)
        cells = ((name, block[column][place]) for name, column in self._columns[step].items())
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
        whole = hashlib.blake2b(json.dumps([self._columns, len(self)]).encode(), key=secret)
        whole.update(self.order.tobytes())
        for number in range(-(-len(self) // _BLOCK)):
            block = sorted(self._block(number).items())  # by name: the order of columns does not matter
            columns = [[_stable_form(cell) for cell in cells] for _, cells in block]
            whole.update(json.dumps(columns).encode())
        return whole.digest()

    def rows_by_payer(self) -> Iterator[Rows]:
        """Yield the rows of each payer, payers as they first occur; rows without an id are left out."""
        ends = np.flatnonzero(np.diff(self.payers[self.order], append=-2)) + 1
        start = 0
        for end in ends.tolist():
            if self.payers[self.order[start]] >= 0:
                yield self.order[start:end]
            start = end

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
        if "payer" not in self._columns or not len(rows):
            return rows[:0]
        described = self._number_rows(rows, self._columns["payer"].values())
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
        """Return for each payer the first row without errors that describes it, else the first row, else -1."""
        found = np.full(self.payers.max(initial=-1) + 1, -1, np.int64)
        rows = np.flatnonzero(self.rows_with("payer") & (self.payers >= 0))
        for chosen in (rows, rows[~self.blocked[rows]]):  # the second overwrites the first
            found[self.payers[chosen[::-1]]] = chosen[::-1]
        return found

    def _find_accounts(self) -> Rows:
        """Return for each row the first row with the same account of the same payer."""
        found = np.arange(len(self))
        rows = np.flatnonzero(self.rows_to_send("bank_details"))
        if len(rows):
            same = pd.Series(rows).groupby(self._number_rows(rows, self._columns["bank_details"].values()))
            found[rows] = same.transform("first").to_numpy()
        return found

    def _find_rows_without_payer(self) -> Flags:
        found = np.zeros(len(self), bool)
        rows = np.flatnonzero(~self.blocked & (self.payers >= 0))
        payers = self._row_of_payer[self.payers[rows]]
        found[rows] = (payers >= 0) & self.blocked[payers]
        return found


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
