"""The problems of rows as text, and as a DataFrame: each with its column and cell, and with what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from payerkit.bulk.naming import Naming
from payerkit.bulk.rows import Problem
from payerkit.findings import COLUMNS, Finding


class FindingTexts:
    """The problems of rows as text, and where they stand in the sender's file."""

    def __init__(self, found: Iterable[Problem], naming: Naming) -> None:
        self._naming, self._found = naming, dict[int, list[Problem]]()
        self._words: dict[tuple[Finding, str], tuple[str, str, str]] = {}
        for each in found:
            self._found.setdefault(each.row, []).append(each)

    def of(self, rows: Sequence[int]) -> list[str]:
        """Return the problems of each of some rows, "" for none."""
        return ["; ".join(map(self._text, self._found.get(row, ()))) for row in rows]

    def place(self, problem: Problem) -> tuple[str, str, str]:
        """Return the cell of a problem, "" if it has none, the sender's name of its column, and what to do."""
        key = problem.finding, problem.step
        if key not in self._words:
            column = self._naming.column(problem.finding, problem.step)
            hint = self._naming.hint(problem.finding, problem.step)
            self._words[key] = column, self._naming.header(column), hint
        column, header, hint = self._words[key]
        return self._naming.cell(problem.row, column), header, self._naming.with_readings(hint, column, [problem.row])

    def _text(self, problem: Problem) -> str:
        """Return an error by its column, cell, message and hint, and anything else with severity and code, too."""
        finding, (cell, header, hint) = problem.finding, self.place(problem)
        start = f"{header} ({cell})" if cell else header
        words = f"{finding.message} {hint}".rstrip()
        text = f"{start}: {words}" if start else words
        return text if finding.severity == "error" else f"{finding.severity} {text} [{finding.code}]"


def findings_frame(found: Sequence[Problem], naming: Naming) -> pd.DataFrame:
    """Return one row per problem, with the label of its row, its cell, and the sender's name of its column."""
    texts = FindingTexts((), naming)
    cells, headers, hints = list(zip(*map(texts.place, found), strict=True)) or [(), (), ()]
    columns = {name: [getattr(each.finding, name) for each in found] for name in COLUMNS}
    named = {"cell": cells, "column": headers} | columns | {"hint": hints, "step": [each.step for each in found]}
    strings = {name: pd.array(list(column), dtype="string") for name, column in named.items()}
    return pd.DataFrame({"row": naming.labels.take([each.row for each in found]), **strings})
