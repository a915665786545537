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
        numbers = self._naming.numbers(rows) if self._naming.letters else rows
        return [
            self._joined(row, number, tuple(self._found.numbers[start:end].tolist())) if end > start else ""
            for row, number, start, end in zip(rows, numbers, starts, ends, strict=True)
        ]

    def _joined(self, row: int, number: object, kinds: Sequence[int]) -> str:
        if self._naming.letters:
            return "; ".join([self._text(kind, row, number) for kind in kinds])
        if kinds not in self._made:
            self._made[kinds] = "; ".join(self._text(kind, row, number) for kind in kinds)
        return self._made[kinds]

    def _text(self, kind: int, row: int, number: object) -> str:
        """Return an error by its column, cell, message and hint, and anything else with severity and code, too."""
        finding, column = self._found.kinds[kind][0], self._columns[kind]
        letters = self._naming.letters.get(column)
        start = f"{self._starts[kind]} ({letters}{number})" if letters else self._starts[kind]
        words = f"{finding.message} {join_hints(self._hints[kind], self._naming.row_hint(row, column))}".rstrip()
        text = f"{start}: {words}" if start else words
        return text if finding.severity == "error" else f"{finding.severity} {text} [{finding.code}]"


def findings_frame(found: FindingsByRow, naming: Naming) -> pd.DataFrame:
    """Return one row per finding, with the label of its row, its cell, and the sender's name of its column."""
    columns = [naming.column(finding, step) for finding, step in found.kinds]
    headers = pd.array([naming.header(column) for column in columns], dtype="string")
    frame = found.frame()
    named = {
        "row": naming.labels.take(found.rows),
        "cell": pd.array(_cells(found, columns, naming), dtype="string"),
        "column": headers.take(found.numbers),
    }
    others = {name: frame[name] for name in frame if name != "row"}
    return pd.DataFrame(named | others | {"hint": _hints(found, columns, naming)})


def _cells(found: FindingsByRow, columns: Sequence[str], naming: Naming) -> list[str]:
    """Return the name of the cell of each finding, "" if it has none."""
    if not naming.letters:
        return [""] * len(found.rows)
    letters = [naming.letters.get(column, "") for column in columns]
    places = zip(naming.numbers(found.rows.tolist()), found.numbers.tolist(), strict=True)
    return [f"{letters[kind]}{number}" if letters[kind] else "" for number, kind in places]


def _hints(found: FindingsByRow, columns: Sequence[str], naming: Naming) -> ExtensionArray:
    """Return what to do about each finding."""
    hints = [naming.hint(finding, step) for finding, step in found.kinds]
    if not naming.reading_hints:
        return pd.array(hints, dtype="string").take(found.numbers)
    places = zip(found.rows.tolist(), found.numbers.tolist(), strict=True)
    joined = [join_hints(hints[kind], naming.row_hint(row, columns[kind])) for row, kind in places]
    return pd.array(joined, dtype="string")
