"""A column of many texts, built chunk by chunk, in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray

from payerkit.bulk.found import Rows

_CHUNK = 2**14


def chunks(rows: Rows) -> Iterator[list[int]]:
    """Yield some rows at a time, as a list."""
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK].tolist()


class TextColumn:
    """A column of dtype string that grows by chunks.

    With pyarrow, it takes the bytes of its texts and eight a row; a chunk that equals the one before it, such as one of
    empty texts alone, takes nothing.
    """

    def __init__(self) -> None:
        self._chunks: list[ExtensionArray] = []
        self._last: Sequence[str | None] = ()

    def add(self, cells: Sequence[str | None]) -> None:
        """Add cells at the end."""
        is_new = not self._chunks or cells != self._last
        self._chunks.append(_texts(cells) if is_new else self._chunks[-1])
        self._last = cells

    def array(self, order: Rows) -> ExtensionArray:
        """Return the column; order: the place of each added cell in it."""
        if not self._chunks:
            return _texts([])
        if (order[:-1] > order[1:]).any():
            return self._sorted(order)
        return cast("ExtensionArray", pd.concat([pd.Series(chunk) for chunk in self._chunks], ignore_index=True).array)

    def _sorted(self, order: Rows) -> ExtensionArray:
        cells = np.concatenate([np.array(chunk.tolist(), object) for chunk in self._chunks])
        cells[pd.isna(cells)] = None
        places = np.argsort(order)
        column = TextColumn()
        for rows in chunks(places):
            column.add(cells[rows].tolist())
        return column.array(np.sort(order))


def text_column(texts: Callable[[list[int]], Iterable[str | None]], rows: Rows) -> ExtensionArray:
    """Return a column of dtype string from a function that gives the texts of some rows.

    rows: the numbers of all rows, in the order in which the function is asked for them.
    """
    column = TextColumn()
    for chunk in chunks(rows):
        column.add(list(texts(chunk)))
    return column.array(rows)


def _texts(cells: Sequence[str | None]) -> ExtensionArray:
    """Return an array of dtype string, of pyarrow if that is what pandas uses."""
    dtype = pd.StringDtype()
    if dtype.storage == "python":
        return pd.array(cells, dtype=dtype)
    import pyarrow as pa  # noqa: PLC0415 - not everybody has it

    # Arrow's own allocator would take a third more for chunks of this size.
    array = pa.array(cells, pa.large_string(), from_pandas=True, memory_pool=pa.system_memory_pool())
    return cast("ExtensionArray", pd.array(array, dtype=dtype))
