"""A table as what it asks for: payers and accounts, each with the row it is from, and what stands in the way."""

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

from payerkit.bulk.partitions import ID, Flags, Part, Step, filled, frame_of, parts_of
from payerkit.checks.inputs import is_blank
from payerkit.checks.schema import PAYER, error_finding

_BLOCK = 1024
Places = npt.NDArray[np.int64]


class Table:
    """The rows by position, 0 for the first; `labels` are what the caller calls them.

    codes: a number for each payer by row, -1 without an id. order: the rows of one payer after the other, in the order
    in which payers first occur; reading is fast in this order. findings: one row a finding, with the position of its
    row and its step. blocked: rows that cannot be sent. waiting: rows that could be, if the payer whom they need could.
    Raises InvalidInput for what is no table of rows to send.
    """

    def __init__(self, rows: Any, steps: tuple[Step, ...] = ("payer", "bank_details")) -> None:
        parts = parts_of(rows, steps)
        self.labels: pd.Index[Any] = parts[0].labels.append([part.labels for part in parts[1:]])
        self._frame = pd.concat([part.frame for part in parts], ignore_index=True)
        self._members = parts[0].members
        self._block = lru_cache(maxsize=8)(self._read_block)
        self._has = {step: filled(self._frame, step, members) for step, members in self._members.items()}
        self._nowhere = np.zeros(len(self), bool)
        self.codes = _numbers(self._frame[ID])
        self.order = np.argsort(self.codes, kind="stable")
        self._place = np.argsort(self.order)
        self.findings = self._together(parts)
        self.blocked = np.zeros(len(self), bool)
        self.blocked[self.findings.loc[self.findings["severity"] == "error", "row"].to_numpy(np.int64)] = True
        self._payer_at = self._payers()
        self.waiting = self._without_payer()
        self._account_at = self._accounts()

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What the table asks for."""
        return tuple(self._members)

    def has(self, step: Step) -> Flags:
        """Tell of each row whether it asks for a step."""
        return self._has.get(step, self._nowhere)

    def id_at(self, row: int) -> str | None:
        """Return the client user id of a row."""
        block, place = self._block_of(row)
        value = block[ID][place]
        return None if value is None else str(value)

    def payer_row(self, row: int) -> int:
        """Return the row whose payer a row belongs to: the first with that payer's data, -1 if the table has none."""
        code = self.codes[row]
        return -1 if code < 0 else int(self._payer_at[code])

    def first_like(self, row: int) -> int:
        """Return the first row with the same account for the same payer, which is sent for all of them."""
        return int(self._account_at[row])

    def values(self, step: Step, row: int) -> dict[str, Any]:
        """Return what a row gives for a step, by our names."""
        block, place = self._block_of(row)
        cells = ((member, block[column][place]) for member, column in self._members[step].items())
        return {member: value for member, value in cells if value is not None}

    def _block_of(self, row: int) -> tuple[dict[str, list[Any]], int]:
        number, place = divmod(int(self._place[row]), _BLOCK)
        return self._block(number), place

    def _read_block(self, number: int) -> dict[str, list[Any]]:
        """Return some rows as Python's own values: one by one, pandas gives them slowly."""
        part = self._frame.iloc[self.order[number * _BLOCK : (number + 1) * _BLOCK]]
        return {column: _python(part[column]) for column in self._frame.columns}

    def fingerprint(self, secret: bytes) -> bytes:
        """Return what tells this table from another one: its rows, in their order, and what is asked for."""
        whole = hashlib.blake2b(json.dumps([self._members, len(self)]).encode(), key=secret)
        whole.update(self.order.tobytes())
        for number in range(-(-len(self) // _BLOCK)):
            block = sorted(self._block(number).items())  # by name: the order of columns means nothing
            columns = [[_told(cell) for cell in cells] for _, cells in block]
            whole.update(json.dumps(columns).encode())
        return whole.digest()

    def groups(self) -> Iterator[Places]:
        """Yield the rows of one payer after the other, in the order in which payers first occur."""
        order = self.order
        ends = np.flatnonzero(np.diff(self.codes[order], append=-2)) + 1
        start = 0
        for end in ends.tolist():
            if self.codes[order[start]] >= 0:
                yield order[start:end]
            start = end

    def _together(self, parts: Sequence[Part]) -> pd.DataFrame:
        """Return what was found in the parts, by positions in the whole, and what only the whole shows."""
        starts = np.cumsum([0, *(len(part.frame) for part in parts)])
        found = [part.findings.assign(row=part.findings["row"] + at) for part, at in zip(parts, starts, strict=False)]
        found.append(frame_of([(row, _TWICE) for row in self._contradicting().tolist()]))
        whole = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
        return whole.sort_values("row", kind="stable", ignore_index=True)

    def _contradicting(self) -> Places:
        """Return the rows of payers that the table describes in two ways."""
        rows = np.flatnonzero(self.has("payer") & (self.codes >= 0))
        if "payer" not in self._members or not len(rows):
            return rows[:0]
        bodies = self._alike(rows, self._members["payer"].values())
        codes = pd.Series(self.codes[rows])[~pd.Series(bodies).duplicated()]
        return rows[np.isin(self.codes[rows], codes[codes.duplicated()])]

    def _alike(self, rows: Places, columns: Iterable[str]) -> Places:
        """Return a number for each of some rows: the same where the payer and all of these columns are."""
        mixed = self.codes[rows]
        for column in columns:
            numbers = _numbers(self._frame[column].iloc[rows])
            mixed = pd.factorize(mixed * (numbers.max(initial=-1) + 2) + numbers + 1)[0].astype(np.int64)
        return mixed

    def _payers(self) -> Places:
        found = np.full(self.codes.max(initial=-1) + 1, -1, np.int64)
        rows = np.flatnonzero(self.has("payer") & (self.codes >= 0))
        for wanted in (rows, rows[~self.blocked[rows]]):  # one that can be sent, where there is one
            found[self.codes[wanted[::-1]]] = wanted[::-1]
        return found

    def _accounts(self) -> Places:
        found = np.arange(len(self))
        rows = np.flatnonzero(self.has("bank_details") & ~self.blocked)
        if len(rows):
            same = pd.Series(rows).groupby(self._alike(rows, self._members["bank_details"].values()))
            found[rows] = same.transform("first").to_numpy()
        return found

    def _without_payer(self) -> Flags:
        """Tell of rows whether they are fine, and their payer, whom other rows describe, cannot be sent."""
        found = np.zeros(len(self), bool)
        rows = np.flatnonzero(~self.blocked & (self.codes >= 0))
        payers = self._payer_at[self.codes[rows]]
        found[rows] = (payers >= 0) & self.blocked[payers]
        return found


_TWICE = error_finding(
    PAYER, ID, "id_twice", "The table has two payers under this id.", "Correct the rows with this id."
)


def _python(column: pd.Series[Any]) -> list[Any]:
    """Return cells as Python's own values, None for a blank one."""
    cells = column.to_numpy(object, copy=True)
    cells[column.isna().to_numpy(bool)] = None
    return list(cells)


def _told(cell: Any) -> str | None:
    """Return what stands for a cell; of what is never sent, the kind is enough where the value is none that lasts."""
    if cell is None or isinstance(cell, str):
        return cell
    lasts = isinstance(cell, Number) or hasattr(cell, "isoformat")
    return repr(cell) if lasts else type(cell).__name__


def _numbers(column: pd.Series[Any]) -> Places:
    """Return a number for each cell, the same for the same value, -1 for a blank one."""
    try:
        numbers, _ = pd.factorize(column)
    except TypeError:  # lists and the like, which are never sent
        numbers, _ = pd.factorize(column.map(lambda value: value if is_blank(value) else repr(value)))
    return numbers.astype(np.int64)
