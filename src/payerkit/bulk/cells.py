"""The cells of a table, read block by block in the order in which rows are sent."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd

from payerkit.bulk.checked_rows import prepare_rows
from payerkit.bulk.findings_by_row import Rows, Step
from payerkit.bulk.row_hashes import Hashes, hash_content
from payerkit.errors import PayerkitError

_BLOCK = 1024
"""Rows that are Python objects at a time: what pandas gives cell by cell is slow."""

_BLOCKS = 8
"""Blocks that are kept. Threads that send rows one after the other need two at most."""

Block = dict[str, list[Any]]
"""Cells by column, None for a blank one."""


class Cells:
    """The cells of rows; safe to share by threads.

    steps, holder_is_payer: how rows are prepared. order: the numbers of the rows, as they are sent. content: the hashes
    of all rows as they were planned. A row that is not as it was planned is never read: that raises PayerkitError.
    """

    def __init__(
        self, rows: pd.DataFrame, steps: tuple[Step, ...], order: Rows, content: Hashes, *, holder_is_payer: bool
    ) -> None:
        self._rows, self._steps, self._holder_is_payer = rows, steps, holder_is_payer
        self._order, self._content = order, content
        self._places = np.empty(len(order), np.int32)
        self._places[order] = np.arange(len(order), dtype=np.int32)
        self._lock = threading.Lock()
        self._blocks: dict[int, Block] = {}

    def locate(self, row: int) -> tuple[Block, int]:
        """Return the block that a row is in, and its place there."""
        number, place = divmod(int(self._places[row]), _BLOCK)
        block = self._blocks.get(number)
        if block is None:
            with self._lock:  # the first thread reads the block, and the others wait for it
                block = self._blocks.get(number) or self._read_block(number)
        return block, place

    def _read_block(self, number: int) -> Block:
        rows = self._order[number * _BLOCK : (number + 1) * _BLOCK]
        prepared = prepare_rows(self._rows.iloc[rows], self._steps, holder_is_payer=self._holder_is_payer)
        if not np.array_equal(hash_content(prepared.frame, prepared.columns), self._content[rows]):
            raise PayerkitError(
                "rows: they are not those that the run began with. The table was changed during the run.",
                advice="Nothing is lost: call again with the same journal.",
            )
        while len(self._blocks) >= _BLOCKS:
            del self._blocks[next(iter(self._blocks))]
        block = self._blocks[number] = {name: _python_cells(prepared.frame[name]) for name in prepared.frame.columns}
        return block


def _python_cells(column: pd.Series[Any]) -> list[Any]:
    """Return cells as Python objects, None for a blank one; pandas is slow at giving cells one by one."""
    cells = column.to_numpy(object, copy=True)
    cells[column.isna().to_numpy(bool)] = None
    return list(cells)
