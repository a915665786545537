"""The findings of a table by row, in little memory: each distinct one is kept once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.findings import COLUMNS, Finding, Severity

Step = Literal["payer", "bank_details"]
Rows = npt.NDArray[np.signedinteger[Any]]
"""Numbers of rows, or one number a row."""


@dataclass(frozen=True, slots=True)
class FindingsByRow:
    """Findings about rows. `rows` has the row of each, `numbers` its place in `kinds`: a finding and its step."""

    rows: Rows
    numbers: Rows
    kinds: Sequence[tuple[Finding, Step | Literal[""]]]

    @classmethod
    def of(cls, findings: Iterable[tuple[Finding, Rows]], step: Step | Literal[""] = "") -> Self:
        """Return findings of one step, each with the rows that have it."""
        found = [(finding, rows) for finding, rows in findings if len(rows)]
        kinds = list(dict.fromkeys((finding, step) for finding, _ in found))
        places = {kind: number for number, kind in enumerate(kinds)}
        numbers = [places[finding, step] for finding, _ in found]
        rows = np.concatenate([np.empty(0, np.int32), *(rows for _, rows in found)]).astype(np.int32)
        return cls(rows, np.repeat(np.array(numbers, np.int32), [len(rows) for _, rows in found]), kinds)

    @classmethod
    def from_pairs(cls, findings: Iterable[tuple[int, Finding]], step: Step | Literal[""] = "") -> Self:
        """Return findings of one step that are given row by row."""
        rows: dict[Finding, list[int]] = {}
        for row, finding in findings:
            rows.setdefault(finding, []).append(row)
        return cls.of([(finding, np.array(places)) for finding, places in rows.items()], step)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the findings of some parts together."""
        places: dict[Any, int] = {}
        numbers = [np.empty(0, np.int32)]
        for part in parts:
            own = [places.setdefault(kind, len(places)) for kind in part.kinds]
            numbers.append(np.array(own, np.int32)[part.numbers])
        joined = np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)]).astype(np.int32)
        return cls(joined, np.concatenate(numbers), list(places))

    def in_order(self) -> Self:
        """Return the findings sorted by row; those of one row stay in their order."""
        sequence = np.argsort(self.rows, kind="stable")
        return type(self)(self.rows[sequence], self.numbers[sequence], self.kinds)

    def of_severity(self, severity: Severity) -> Self:
        """Return the findings of a severity."""
        return self._where([finding.severity == severity for finding, _ in self.kinds])

    def with_codes(self, codes: Iterable[str]) -> Self:
        """Return the findings that have one of some codes."""
        wanted = frozenset(codes)
        return self._where([finding.code in wanted for finding, _ in self.kinds])

    def without_codes(self, codes: Iterable[str]) -> Self:
        """Return the findings that have none of some codes."""
        unwanted = frozenset(codes)
        return self._where([finding.code not in unwanted for finding, _ in self.kinds])

    def about(self, fields: Iterable[str]) -> Self:
        """Return the findings that are about one of some fields."""
        wanted = frozenset(fields)
        return self._where([finding.field in wanted for finding, _ in self.kinds])

    def in_rows(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Return the findings of the rows that are chosen, given for each row of the table."""
        return self._at(chosen[self.rows])

    def elsewhere(self, own: Rows, cells: Rows) -> Self:
        """Return the findings about other cells than some. own: the cell of each finding, -1 for none."""
        return self._at((own < 0) | ~np.isin(own, cells))

    def _where(self, chosen: Sequence[bool]) -> Self:
        return self._at(np.array(chosen, bool)[self.numbers])

    def _at(self, places: npt.NDArray[np.bool_]) -> Self:
        return type(self)(self.rows[places], self.numbers[places], self.kinds)

    def frame(self) -> pd.DataFrame:
        """Return a DataFrame as of `check_payers`, with the numbers of the rows, and each finding's `step`."""
        columns = {name: [getattr(finding, name) for finding, _ in self.kinds] for name in COLUMNS}
        columns["step"] = [step for _, step in self.kinds]
        texts = {name: pd.array(column, dtype="string").take(self.numbers) for name, column in columns.items()}
        return pd.DataFrame({"row": self.rows.astype(np.int64), **texts})
