"""The state of each row while a run goes on, counted as its report counts: for the progress bar."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from payerkit.bulk.holder import Flags
from payerkit.bulk.table import Step, Table

_OPEN, _HALF = "", "payer stored"
"""States that no report has: the row was not tried yet; or its payer is stored, and its account is to come."""

_STATES = (_OPEN, _HALF, "done", "refused", "unknown", "not_sent", "waiting", "duplicate")
_CODES: Mapping[str, int] = {state: code for code, state in enumerate(_STATES)}


class RowStates:
    """Counts the rows of a table by state, from the states of its tasks; threads may share it.

    One task settles several rows: a payer that is refused, all rows of the payer; an account, all rows that ask for it.
    A row that no run sends, such as one with an error, is not sent from the beginning. A later state of a
    task replaces the earlier one.
    """

    def __init__(self, table: Table) -> None:
        self._table, self._lock = table, threading.Lock()
        payers = table.payers[table.order]
        self._starts = np.searchsorted(payers, np.arange(payers.max(initial=-1) + 2)).astype(np.int32)
        sent = ~table.blocked & ~table.held & ~table.without_payer & (table.payers >= 0)
        self._has_account = sent & ("bank_details" in table.steps and table.rows_with("bank_details"))
        self._is_open = sent & (self._has_account | self._has_payer(sent))
        self._states = np.where(self._is_open, _CODES[_OPEN], _CODES["not_sent"]).astype(np.int8)
        self._numbers = np.bincount(self._states, minlength=len(_STATES))

    def _has_payer(self, sent: Flags) -> Flags:
        """Return an array: for each row, whether the table has its payer, too, and sends payers."""
        table = self._table
        describes = sent & ("payer" in table.steps and table.rows_to_send("payer"))
        return np.isin(table.payers, table.payers[describes])

    def record(self, step: Step, row: int, state: str) -> None:
        """Record the state of a task. row: one that sends it."""
        payer = self._table.payers[row]
        rows = self._table.order[self._starts[payer] : self._starts[payer + 1]]
        rows = rows[self._is_open[rows]]
        codes = np.full(len(rows), _CODES["unknown" if state == "sent" else state], np.int8)
        if step == "bank_details":
            account = self._table.account_row(row)
            chosen = [self._table.account_row(each) == account for each in rows.tolist()]
            rows, codes = rows[chosen], codes[chosen]
        elif state == "done":
            codes[self._has_account[rows]] = _CODES[_HALF]
        with self._lock:
            self._numbers -= np.bincount(self._states[rows], minlength=len(_STATES))
            self._numbers += np.bincount(codes, minlength=len(_STATES))
            self._states[rows] = codes

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows in each state that a report has, without the rows that were not tried yet."""
        numbers = self._numbers.tolist()
        return dict(zip(_STATES[2:], numbers[2:], strict=True))

    @property
    def settled(self) -> float:
        """How many rows are settled. Half a row: its payer is stored, and its account is to come; or it is unknown."""
        numbers = self._numbers.tolist()
        return float(sum(numbers[2:]) + (numbers[_CODES[_HALF]] - numbers[_CODES["unknown"]]) / 2)
