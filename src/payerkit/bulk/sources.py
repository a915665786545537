"""Where the rows of a table are: in a DataFrame of this process, or in the partitions of a Dask DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd

from payerkit.bulk.checked_rows import CheckedRows, Placeholders, check_rows, prepare_rows
from payerkit.bulk.findings_by_row import Rows, Step
from payerkit.bulk.row_hashes import Hashes, hash_content
from payerkit.errors import PayerkitError

_BLOCK = 1024
"""Rows of a DataFrame that are read at a time."""

_SLICE = 2**14
"""Rows from which some are taken at a time: from a column of many chunks, pandas takes by copying all of it."""

CALL_AGAIN = "Nothing is lost: call again with the same journal."


class Source(Protocol):
    """The rows of a table, by number, 0 for the first."""

    def check(self) -> CheckedRows:
        """Return what a plan needs of all rows."""

    def read(self, rows: Rows) -> tuple[pd.DataFrame, Hashes]:
        """Return some rows as they are sent, in this order, and the hashes of what is sent of them."""

    def reading_starts(self, order: Rows, first_rows: Rows) -> list[int]:
        """Return the places in an order of rows at which reading should begin anew.

        first_rows: for each place, the first row of the same payer. Rows that this row's place is near are read fast.
        """


def open_source(rows: Any, steps: Sequence[Step], *, holder_is_payer: bool, placeholders: Placeholders) -> Source:
    """Return the rows of a DataFrame, of pandas or Dask."""
    kind = PartitionSource if hasattr(rows, "map_partitions") else FrameSource
    return kind(rows, placeholders, tuple(steps), holder_is_payer)


class FrameSource:
    """The rows of a DataFrame. They are prepared again as they are read: there is no second copy of the table."""

    def __init__(self, rows: Any, placeholders: Placeholders, *how: Any) -> None:
        self._rows, self._how, self._checked_how = rows, how, (*how, placeholders)

    def check(self) -> CheckedRows:
        """Return what a plan needs of all rows."""
        return check_rows(self._rows, *self._checked_how).with_labels(self._rows.index)

    def read(self, rows: Rows) -> tuple[pd.DataFrame, Hashes]:
        """Return some rows as they are sent, and their hashes."""
        return _prepare_with_hashes(_take(self._rows, rows), self._how)

    def reading_starts(self, order: Rows, first_rows: Rows) -> list[int]:  # noqa: ARG002 - any rows are read as fast
        """Return the places of blocks of one size."""
        return list(range(0, len(order), _BLOCK))


def _prepare_with_hashes(rows: pd.DataFrame, how: Sequence[Any]) -> tuple[pd.DataFrame, Hashes]:
    prepared = prepare_rows(rows, *how)
    return prepared.frame, hash_content(prepared.frame, prepared.columns)


def _take(frame: pd.DataFrame, rows: Rows) -> pd.DataFrame:
    """Return some rows, in this order."""
    if (np.diff(rows) == 1).all():
        return frame.iloc[rows[0] : rows[-1] + 1]
    slices = rows // _SLICE
    places = [np.flatnonzero(slices == number) for number in np.unique(slices)]
    starts = [int(slices[own[0]]) * _SLICE for own in places]
    taken = [
        frame.iloc[start : start + _SLICE].iloc[rows[own] - start] for own, start in zip(places, starts, strict=True)
    ]
    return pd.concat(taken).iloc[np.argsort(np.concatenate(places))]


class PartitionSource:
    """The rows of a Dask DataFrame. They are checked on its cluster, and come from there when they are sent.

    All rows of the payers whose first row is in a partition are read at once: a partition is computed once for each
    step, and once more for each other partition that has rows of the same payers.
    """

    def __init__(self, rows: Any, placeholders: Placeholders, *how: Any) -> None:
        self._partitions, self._how, self._checked_how = rows.to_delayed(), how, (*how, placeholders)
        self._starts = np.zeros(1, np.int64)

    def check(self) -> CheckedRows:
        """Return what a plan needs of all rows; labels that repeat are replaced by numbers."""
        parts = self._compute(check_rows, [(partition, *self._checked_how) for partition in self._partitions])
        self._starts = np.cumsum([0, *map(len, parts)])
        joined = CheckedRows.join(parts)
        return joined if joined.labels.is_unique else joined.with_labels(pd.RangeIndex(len(joined), name="row"))

    def read(self, rows: Rows) -> tuple[pd.DataFrame, Hashes]:
        """Return some rows as they are sent, and their hashes. Raises PayerkitError if they cannot be computed."""
        partitions = np.searchsorted(self._starts, rows, side="right") - 1
        places = {number: np.flatnonzero(partitions == number) for number in np.unique(partitions).tolist()}
        calls = [
            (self._partitions[number], rows[own] - self._starts[number], *self._how) for number, own in places.items()
        ]
        try:
            read = self._compute(read_partition, calls)
        except Exception as error:  # noqa: BLE001 - of whatever makes the partitions
            problem = type(error).__name__
        else:
            back = np.argsort(np.concatenate(list(places.values())))
            frames, hashes = zip(*read, strict=True)
            return _concat(frames).iloc[back], np.concatenate(hashes)[back]
        raise PayerkitError(f"rows: a partition could not be computed again ({problem}).", advice=CALL_AGAIN)

    def reading_starts(self, order: Rows, first_rows: Rows) -> list[int]:  # noqa: ARG002 - the places are enough
        """Return the places at which payers begin whose first row is in another partition."""
        homes = np.searchsorted(self._starts, first_rows, side="right")
        return [0, *(np.flatnonzero(np.diff(homes)) + 1).tolist()]

    def _compute(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Return the results of calls with a partition each, which the cluster makes."""
        from dask.base import compute  # noqa: PLC0415 - whoever gives a Dask DataFrame has it
        from dask.delayed import delayed  # noqa: PLC0415

        task = delayed(function)
        results: Sequence[Any] = compute(*(task(*call) for call in calls))
        return results


def read_partition(partition: pd.DataFrame, places: Rows, *how: Any) -> tuple[pd.DataFrame, Hashes]:
    """Return some rows of a partition, and their hashes; fewer if the partition has become shorter."""
    return _prepare_with_hashes(partition.iloc[places[places < len(partition)]], how)


def _concat(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return frames as one; a column whose dtype differs between them becomes one of objects."""
    first = frames[0].dtypes
    mixed = [name for name in first.index if any(frame.dtypes[name] != first[name] for frame in frames)]
    return pd.concat([frame.astype(dict.fromkeys(mixed, object)) for frame in frames], ignore_index=True)
