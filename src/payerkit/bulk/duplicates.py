"""Rows that describe one payer or one account: which contradict each other, and which one is sent for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.findings_by_row import Rows
from payerkit.bulk.holder import Flags
from payerkit.bulk.row_hashes import Hashes


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Rows, those that describe the same side by side, and the number of what each describes.

    written: equal for rows that are equal. alike: equal for near duplicates, too.
    """

    rows: Rows
    groups: Rows
    written: Hashes
    alike: Hashes

    @classmethod
    def of(cls, rows: Rows, keys: Sequence[npt.NDArray[Any]], written: Hashes, alike: Hashes) -> Self:
        """Return groups of rows in which all keys are equal; keys and hashes are given for all rows of the table."""
        rows = rows[np.lexsort([key[rows] for key in reversed(keys)])]
        is_new = np.zeros(len(rows), bool)
        for key in keys:
            is_new[1:] |= np.diff(key[rows]) != 0
        return cls(rows, np.cumsum(is_new), written[rows], alike[rows])

    def only(self, chosen: Flags) -> Self:
        """Return the groups without some rows. chosen: given for all rows of the table."""
        return self._take(chosen[self.rows])

    def _take(self, places: Flags) -> Self:
        return type(self)(self.rows[places], self.groups[places], self.written[places], self.alike[places])

    def contradicting(self) -> Self:
        """Return the groups in which not all rows are near duplicates."""
        differs = (np.diff(self.groups) == 0) & (np.diff(self.alike) != 0)
        return self._take(np.isin(self.groups, self.groups[1:][differs]))

    def choose(self, spare: npt.NDArray[np.int64]) -> Rows:
        """Return for each row the one of its group that is sent, whatever order the table has.

        That is one that as few reasons as possible speak against, written as most of these are. spare: the weight of
        the reasons, for all rows of the table.
        """
        chosen = self.rows.copy()
        several = np.bincount(self.groups)[self.groups] > 1 if len(self.groups) else np.zeros(0, bool)
        if not several.any():
            return chosen
        columns = {"group": self.groups, "spare": spare[self.rows], "written": self.written, "row": self.rows}
        found = pd.DataFrame({name: column[several] for name, column in columns.items()})
        found["times"] = -found.groupby(["group", "spare", "written"])["row"].transform("size")
        ranked = found.sort_values(["group", "spare", "times", "written", "row"])
        first = ranked.drop_duplicates("group").set_index("group")["row"]
        chosen[several] = first.loc[found["group"]].to_numpy()
        return chosen
