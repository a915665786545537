"""What of a plan or report goes into a corrections file: the rows that need something, and what that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from payerkit.bulk.rows import Flags, Problems, Rows, Step
from payerkit.errors import InvalidInput, kind_of
from payerkit.tables.corrections import RowProblem, write_corrections
from payerkit.tables.damage import BASIS
from payerkit.tables.source_table import findings_in

Which = Literal["problems", "all"]
"""Which rows are written: those that need something, or all."""

Reason = Callable[[int], tuple[str, str] | None]
"""Says of a row its state in words and the reason for it, or nothing, if its findings say it."""


def save_rows(
    path: str | Path,
    rows: Any,
    found: Problems,
    columns: Mapping[Step, Mapping[str, str]],
    *,
    chosen: Flags,
    reason: Reason,
) -> int:
    """Write the chosen rows of a table to a corrections file; return how many they are. There is no file without any.

    columns: the table's column of each field, by step.
    """
    require_cells(rows)
    places = np.flatnonzero(chosen)
    if len(places):
        problems = _problems(rows, found, columns, places, reason)
        write_corrections(Path(path), rows, problems, chosen=places.tolist())
    return len(places)


def require_cells(rows: Any) -> None:
    """Raise InvalidInput for a table whose cells are not here."""
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected a DataFrame of pandas, got {kind_of(rows)}.")


def require_which(name: str, which: object) -> None:
    """Raise InvalidInput for anything but "problems" and "all"."""
    if which not in {"problems", "all"}:
        raise InvalidInput(f'{name}: expected "problems" or "all", got {which!r}.')


def rows_with_warnings(found: Problems, count: int) -> Flags:
    """Return an array: for each row, whether it has a warning."""
    flags = np.zeros(count, bool)
    flags[found.of_severity("warning").rows] = True
    return flags


def _problems(
    rows: pd.DataFrame,
    found: Problems,
    columns: Mapping[Step, Mapping[str, str]],
    places: Rows,
    reason: Reason,
) -> Iterator[RowProblem]:
    """Yield the errors and warnings of some rows, errors first, and then why others are not sent."""
    in_file = [
        RowProblem(place, column, each.severity, each.message, each.hint, each.code)
        for place, column, each in findings_in(rows)
    ]
    checked = [
        RowProblem(problem.row, problem.column(columns), each.severity, each.message, each.hint, each.code)
        for problem in found
        if (each := problem.finding).basis != BASIS
    ]
    wanted = set(places.tolist())
    chosen = [each for each in (*in_file, *checked) if each.place in wanted and each.kind != "info"]
    yield from sorted(dict.fromkeys(chosen), key=lambda each: (each.place, each.kind != "error"))
    for place in places.tolist():
        if said := reason(place):
            state, text = said
            yield RowProblem(place, "", state, text)
