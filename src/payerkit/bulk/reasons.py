"""The reasons of rows, grouped: each distinct one is kept once, with the rows that have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from payerkit.bulk.findings_by_row import FindingsByRow, Rows, Step, shown_id
from payerkit.bulk.holder import Flags
from payerkit.checks.table_findings import general

_FIRST = 5
"""Rows that are named for a reason."""


class Reason(NamedTuple):
    """A reason with its number of rows, and the first of them. kind: a state of rows, or the severity of a finding."""

    kind: str
    text: str
    times: int
    rows: Rows


@dataclass(frozen=True, slots=True)
class Reasons:
    """Reasons by row. `rows` has the row of each, `numbers` its place in `kinds`: its kind and its text.

    They are sorted by kind, and then by their number of rows. A row may have several.
    """

    rows: Rows
    numbers: Rows
    kinds: Sequence[tuple[str, str]]

    @classmethod
    def of_states(cls, states: pd.Series[Any], reasons: pd.Series[Any]) -> Self:
        """Return the reasons of rows from the columns of a frame; rows without a reason have none."""
        state_codes, state_names = pd.factorize(states)
        codes, texts = pd.factorize(reasons)
        rows = np.flatnonzero((codes >= 0) & (state_codes >= 0) & (reasons != "").to_numpy(bool, na_value=False))
        numbers, pairs = pd.factorize(codes[rows].astype(np.int64) * len(state_names) + state_codes[rows])
        places = (divmod(pair, len(state_names)) for pair in pairs.tolist())
        kinds = [(str(state_names[state]), str(texts[text])) for text, state in places]
        return cls(rows.astype(np.int32), numbers.astype(np.int32), kinds)

    @classmethod
    def of_findings(cls, found: FindingsByRow, columns: Mapping[Step, Mapping[str, str]]) -> Self:
        """Return errors and warnings, each by its column and message; a warning ends with its code, as for `hold`.

        Findings that differ only in the rows that they name are one.
        """
        places: dict[tuple[str, str], int] = {}
        numbers = np.full(len(found.kinds), -1, np.int32)
        for number in np.unique(found.numbers).tolist():
            finding, step = found.kinds[number]
            if finding.severity != "info":
                column = columns.get(step, {}).get(finding.field, finding.field) if step else finding.field
                code = f" [{finding.code}]" if finding.severity == "warning" else ""
                text = f"{f'{column}: ' if column else ''}{general(finding).message}{code}"
                numbers[number] = places.setdefault((finding.severity, text), len(places))
        chosen = numbers[found.numbers] >= 0
        pairs = found.rows[chosen].astype(np.int64) * len(places) + numbers[found.numbers][chosen]
        pairs = np.unique(pairs)  # a row may have the same text twice
        size = max(1, len(places))
        return cls((pairs // size).astype(np.int32), (pairs % size).astype(np.int32), list(places))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the reasons of some parts together."""
        starts = np.cumsum([0, *(len(part.kinds) for part in parts)])
        numbers = [part.numbers + start for part, start in zip(parts, starts, strict=False)]
        kinds = [kind for part in parts for kind in part.kinds]
        return cls(np.concatenate([part.rows for part in parts]), np.concatenate(numbers).astype(np.int32), kinds)

    def sorted(self, order: Sequence[str]) -> Self:
        """Return the reasons with the kinds in an order, and the most frequent reasons of each kind first."""
        ranks = {kind: rank for rank, kind in enumerate(order)}
        times = self.count().tolist()
        places = sorted(range(len(times)), key=lambda place: (ranks[self.kinds[place][0]], -times[place]))
        numbers = np.empty(len(places), np.int32)
        numbers[places] = np.arange(len(places))
        return type(self)(self.rows, numbers[self.numbers], [self.kinds[place] for place in places])

    def count(self, chosen: Flags | None = None) -> Rows:
        """Return how many rows have each reason. chosen: for each row, whether it counts; by default, all do."""
        numbers = self.numbers if chosen is None else self.numbers[chosen[self.rows]]
        return np.bincount(numbers, minlength=len(self.kinds))

    def rows_with(self, number: int) -> Rows:
        """Return the rows that have a reason, in their order."""
        return np.sort(self.rows[self.numbers == number])

    def first(self, count: int, kinds: Sequence[str]) -> Iterator[Reason]:
        """Yield the first reasons, so many, that are of some kinds."""
        times = self.count().tolist()
        chosen = [number for number, (kind, _) in enumerate(self.kinds) if kind in kinds][:count]
        for number in chosen:
            yield Reason(*self.kinds[number], times[number], self.rows_with(number))


def first_labels(labels: pd.Index[Any], rows: Rows) -> str:
    """Return the labels of the first of some rows, masked, with … for the others."""
    shown = [str(shown_id(label)) for label in labels.take(rows[:_FIRST])]
    return ", ".join([*shown, *["…"] * (len(rows) > _FIRST)])
