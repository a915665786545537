"""Columns of many texts, in little memory: a million Python objects would take several times as much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.extensions import ExtensionArray

from payerkit.bulk.findings_by_row import Rows

_CHUNK = 2**14
"""Texts that are Python objects at a time."""


@dataclass(frozen=True, slots=True)
class IdColumn:
    """Texts by number, one after the other in `content`. bounds: where each begins, and the last one ends."""

    content: bytes = field(repr=False)
    bounds: npt.NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return some texts; a lone surrogate, which cannot be sent, is kept."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        return cls(b"".join(encoded), np.cumsum([0, *map(len, encoded)], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, number: int) -> str:
        return self.content[self.bounds[number] : self.bounds[number + 1]].decode("utf-8", "surrogatepass")


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
