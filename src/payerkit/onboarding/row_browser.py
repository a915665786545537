"""A browser of many rows: filter by state, search, sort. The rows stay in the kernel, which sends them by the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit import html
from payerkit.onboarding.rows import shown_id
from payerkit.widgets import ReplyingWidget
from payerkit.wording import count_of, in_words, visible

_PAGE = 50
"""Rows of a page."""

_LINKS = ["agreement_url", "kyc_url"]
"""Columns that are neither shown nor searched: a link lets its reader act as the payer."""


class RowBrowser(ReplyingWidget):
    """Shows the rows of a frame by the page; `report.browse()` and `plan.browse()` make it.

    frame: has a column `state`. states: the colour of each, most urgent first. columns: those that are shown after the
    label and the state. A page asks with `state` and `text`, "" for any; with `sort`, a column, and `descending`; and
    with `start`, the place of a row.
    """

    _files = ("widgets/replies.js", "widgets/row_browser.js", "widgets/row_browser.css")

    def __init__(
        self, frame: pd.DataFrame, states: Mapping[str, html.Kind], columns: Sequence[str], *, title: str
    ) -> None:
        super().__init__()
        self._frame, self._states, self._columns = frame, [*states], [*columns]
        order = pd.CategoricalDtype(self._states, ordered=True)
        self._rows = frame[["state", *columns]].reset_index(drop=True).astype({"state": order})
        names = [(name, in_words(name)) for name in ("row", "state", *columns)]
        kinds = [(name, in_words(name), kind, html.MARKS[kind]) for name, kind in states.items()]
        self.set_trait("label", title)
        self.set_trait("spec", {"title": title, "columns": names, "states": kinds, "size": _PAGE})

    def _first(self) -> dict[str, Any]:
        return self._reply({"state": "", "text": "", "sort": "state", "descending": False, "start": 0})

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a page of rows, how many were found, and how many of them are in each state."""
        found = self._rows[self._has(" ".join(str(message["text"]).split()))]
        counts = [int((found["state"] == state).sum()) for state in self._states]
        if message["state"] in self._states:
            found = found[found["state"] == message["state"]]
        found = self._sorted(found, message["sort"], descending=message["descending"] is True)
        start = max(0, min(int(message["start"]), len(found) - 1)) // _PAGE * _PAGE
        page = found[start : start + _PAGE]
        labels = (str(shown_id(self._frame.index[place])) for place in page.index)
        cells = (["" if pd.isna(cell) else visible(str(cell)) for cell in page[name]] for name in self._columns)
        rows = [list(row) for row in zip(labels, page["state"].cat.codes.tolist(), *cells, strict=True)]
        return {"total": len(self._rows), "found": len(found), "start": start, "counts": counts, "rows": rows}

    def _has(self, text: str) -> npt.NDArray[np.bool_]:
        """Return an array: for each row, whether a text is part of one of its texts, or its label."""
        texts: pd.DataFrame = self._frame.drop(columns=_LINKS, errors="ignore").select_dtypes("string")
        labels = pd.Series(self._frame.index.map(str), dtype="string")
        columns = [labels, *(texts[name] for name in texts.columns)]
        found = [each.str.contains(text, case=False, regex=False) for each in columns]
        return np.logical_or.reduce([each.to_numpy(bool, na_value=False) for each in found])

    @staticmethod
    def _sorted(rows: pd.DataFrame, column: str, *, descending: bool) -> pd.DataFrame:
        """Return rows in the order of a column; those that are equal stay in the order of the table."""
        if column not in rows:
            return rows[::-1] if descending else rows
        cells = rows[column] if column == "state" else rows[column].str.lower()
        return rows.loc[cells.sort_values(ascending=not descending, kind="stable").index]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {count_of(len(self._frame), 'row')}>"
