"""The cells of a table, read block by block in the order in which rows are sent."""

from __future__ import annotations

import threading
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

from payerkit.bulk.findings_by_row import Rows
from payerkit.bulk.row_hashes import Hashes
from payerkit.bulk.sources import CALL_AGAIN, Source
from payerkit.errors import PayerkitError

_BLOCK = 1024
"""Rows that are Python objects at a time: what pandas gives cell by cell is slow."""

_BLOCKS = 8
"""Blocks that are kept. Threads that send rows one after the other need two at most."""

_SEGMENTS = 2
"""Segments that are kept. One is what the source reads at once: the rows between two of its `reading_starts`."""

Block = dict[str, list[Any]]
"""Cells by column, None for a blank one."""


class Cells:
    """The cells of rows; safe to share by threads.

    order: the numbers of the rows, as they are sent. first_rows: for each place in it, the first row of the same payer.
    content: the hashes of all rows as they were planned. A row that is not as it was planned is never read: that raises
    PayerkitError.

    One thread reads for all. Under one lock, hundreds of threads would wait for each other as well; but Arrow keeps
    memory for each thread that reads its columns, which took more than everything else.
    """

    def __init__(self, source: Source, order: Rows, first_rows: Rows, content: Hashes) -> None:
        self._source, self._order, self._content = source, order, content
        self._places = np.empty(len(order), np.int32)
        self._places[order] = np.arange(len(order), dtype=np.int32)
        self._segments = [*source.reading_starts(order, first_rows), len(order)]
        ends = zip(self._segments, self._segments[1:], strict=False)
        self._starts = [start for first, end in ends for start in range(first, end, _BLOCK)]
        self._lock, self._reader = threading.Lock(), ThreadPoolExecutor(1, "payerkit-read")
        self._blocks: dict[int, Block] = {}
        self._frames: dict[int, pd.DataFrame] = {}

    def locate(self, row: int) -> tuple[Block, int]:
        """Return the block that a row is in, and its place there."""
        place = int(self._places[row])
        start = self._starts[bisect_right(self._starts, place) - 1]
        block = self._blocks.get(start)
        if block is None:
            with self._lock:  # the first thread reads the block, and the others wait for it
                block = self._blocks.get(start) or self._reader.submit(self._read_block, start).result()
        return block, place - start

    def _read_block(self, start: int) -> Block:
        number = bisect_right(self._segments, start) - 1
        first, end = self._segments[number : number + 2]
        frame = self._frames.get(number)
        if frame is None:
            frame = self._read_segment(self._order[first:end])
            _keep(self._frames, number, frame, _SEGMENTS)
        rows = frame.iloc[start - first : start - first + _BLOCK]
        block = {name: _python_cells(rows[name]) for name in rows.columns}
        _keep(self._blocks, start, block, _BLOCKS)
        return block

    def _read_segment(self, rows: Rows) -> pd.DataFrame:
        frame, hashes = self._source.read(rows)
        if not np.array_equal(hashes, self._content[rows]):
            raise PayerkitError(
                "rows: they are not those that the run began with. The table was changed during the run, or Dask "
                "computed a partition again with a different result.",
                advice=f"{CALL_AGAIN} Use rows that do not change, such as those of a file.",
            )
        return frame


def _keep(kept: dict[int, Any], number: int, item: Any, size: int) -> None:
    """Keep an item, in place of the oldest if there are as many already."""
    while len(kept) >= size:
        del kept[next(iter(kept))]
    kept[number] = item


def _python_cells(column: pd.Series[Any]) -> list[Any]:
    """Return cells as Python objects, None for a blank one; pandas is slow at giving cells one by one."""
    cells = column.to_numpy(object, copy=True)
    cells[column.isna().to_numpy(bool)] = None
    return list(cells)
