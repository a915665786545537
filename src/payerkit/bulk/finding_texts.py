"""The findings of rows for readers: as text in one cell a row, and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from payerkit.bulk.found import Found, Step
from payerkit.findings import Finding


class FindingTexts:
    """Gives the findings of rows as text; rows with the same findings share it.

    columns: the table's column of each field, by step.
    """

    def __init__(self, found: Found, columns: Mapping[Step, Mapping[str, str]]) -> None:
        self._found = found.in_order()
        self._words = [_text(finding, columns.get(step, {}) if step else {}) for finding, step in found.kinds]
        self._made: dict[Sequence[int], str] = {}

    def of(self, rows: Sequence[int]) -> list[str]:
        """Return the findings of each of some rows, "" for none."""
        starts, ends = (np.searchsorted(self._found.rows, rows, side).tolist() for side in ("left", "right"))
        return [self._joined(start, end) if end > start else "" for start, end in zip(starts, ends, strict=True)]

    def _joined(self, start: int, end: int) -> str:
        numbers = tuple(self._found.numbers[start:end].tolist())
        if numbers not in self._made:
            self._made[numbers] = "; ".join(self._words[number] for number in numbers)
        return self._made[numbers]


def _text(finding: Finding, columns: Mapping[str, str]) -> str:
    """Return an error by its column and message, and anything else with its severity and code, too."""
    column = columns.get(finding.field, finding.field)
    text = f"{column}: {finding.message}" if column else finding.message
    return text if finding.severity == "error" else f"{finding.severity} {text} [{finding.code}]"


def by_label(found: Found, labels: pd.Index[Any]) -> pd.DataFrame:
    """Return one row per finding, with the labels of the rows in place of their numbers."""
    return found.frame().assign(row=labels.take(found.rows))
