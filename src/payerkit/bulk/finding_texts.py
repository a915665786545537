"""The findings of rows as text, and as a DataFrame: each with its column and cell, and with what to do."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from pandas.api.extensions import ExtensionArray

from payerkit.bulk.findings_by_row import FindingsByRow
from payerkit.bulk.naming import Naming, join_hints


class FindingTexts:
    """The findings of rows as text; rows with the same findings share one text, unless it names their cells."""

    def __init__(self, found: FindingsByRow, naming: Naming) -> None:
        self._found, self._naming = found.in_order(), naming
        self._columns = [naming.column(finding, step) for finding, step in found.kinds]
        self._starts = [naming.header(column) for column in self._columns]
        self._hints = [naming.hint(finding, step) for finding, step in found.kinds]
        self._made: dict[Sequence[int], str] = {}

    def of(self, rows: Sequence[int]) -> list[str]:
        """Return the findings of each of some rows, "" for none."""
        starts, ends = (self._found.rows.searchsorted(rows, side).tolist() for side in ("left", "right"))
        labels = self._naming.labels.take(rows) if self._naming.letters else rows
        return [
            self._joined(row, label, tuple(self._found.numbers[start:end].tolist())) if end > start else ""
            for row, label, start, end in zip(rows, labels, starts, ends, strict=True)
        ]

    def _joined(self, row: int, label: object, numbers: Sequence[int]) -> str:
        if self._naming.letters:
            return "; ".join([self._text(number, row, label) for number in numbers])
        if numbers not in self._made:
            self._made[numbers] = "; ".join(self._text(number, row, label) for number in numbers)
        return self._made[numbers]

    def _text(self, number: int, row: int, label: object) -> str:
        """Return an error by its column, cell, message and hint, and anything else with severity and code, too."""
        finding, column = self._found.kinds[number][0], self._columns[number]
        letters = self._naming.letters.get(column)
        place = (
            f"{self._starts[number]} ({letters}{label}): " if letters else f"{self._starts[number]}: " if column else ""
        )
        hint = join_hints(self._hints[number], self._naming.row_hint(row, column))
        text = f"{place}{finding.message} {hint}" if hint else f"{place}{finding.message}"
        return text if finding.severity == "error" else f"{finding.severity} {text} [{finding.code}]"


def findings_frame(found: FindingsByRow, naming: Naming) -> pd.DataFrame:
    """Return one row per finding, with the label of its row, its cell, and the sender's name of its column."""
    columns = [naming.column(finding, step) for finding, step in found.kinds]
    headers = pd.array([naming.header(column) for column in columns], dtype="string")
    frame = found.frame()
    places = list(zip(found.rows.tolist(), found.numbers.tolist(), strict=True)) if naming.letters else []
    cells = [naming.cell(row, columns[number]) for row, number in places] or [""] * len(frame)
    named = {
        "row": naming.labels.take(found.rows),
        "cell": pd.array(cells, dtype="string"),
        "column": headers.take(found.numbers),
    }
    return pd.DataFrame(
        named | {name: frame[name] for name in frame if name != "row"} | {"hint": _hints(found, naming)}
    )


def _hints(found: FindingsByRow, naming: Naming) -> ExtensionArray:
    """Return what to do about each finding."""
    if naming.reading_hints:
        places = zip(found.rows.tolist(), found.numbers.tolist(), strict=True)
        kinds = ((*found.kinds[number], row) for row, number in places)
        return pd.array([naming.hint(finding, step, row) for finding, step, row in kinds], dtype="string")
    hints = pd.array([naming.hint(finding, step) for finding, step in found.kinds], dtype="string")
    return hints.take(found.numbers)
