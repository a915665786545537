"""A browser of many rows: filter by state, search, sort. The rows stay in the kernel, which sends them by the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import traitlets

from payerkit import html
from payerkit.onboarding.rows import shown_id
from payerkit.widgets import ReplyingWidget
from payerkit.wording import count_of, in_words, visible

Flags = npt.NDArray[np.bool_]
"""One a row."""
Rows = npt.NDArray[np.signedinteger[Any]]
"""Numbers of rows, or one number a row."""

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

    spec = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(
        self, frame: pd.DataFrame, states: Mapping[str, html.Kind], columns: Sequence[str], *, title: str
    ) -> None:
        super().__init__()
        self._frame, self._states, self._columns = frame, [*states], [*columns]
        self._texts: pd.DataFrame = frame.drop(columns=_LINKS, errors="ignore").select_dtypes("string")
        self._codes: Rows = np.asarray(pd.Categorical(frame["state"], categories=self._states).codes)
        names = [(name, in_words(name)) for name in ("row", "state", *columns)]
        kinds = [(name, in_words(name), kind, html.MARKS[kind]) for name, kind in states.items()]
        self.set_trait("label", title)
        self.set_trait("spec", {"title": title, "columns": names, "states": kinds, "size": _PAGE})

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a page of rows, how many were found, and how many of them are in each state."""
        with_text = self._with_text(" ".join(str(message["text"]).split()))
        state = message["state"]
        chosen = with_text & (self._codes == self._states.index(state)) if state in self._states else with_text
        order = self._order(message["sort"], descending=message["descending"] is True)
        found = order[chosen[order]]
        start = max(0, min(int(message["start"]), len(found) - 1)) // _PAGE * _PAGE
        return {
            "total": len(self._frame),
            "found": len(found),
            "start": start,
            "counts": np.bincount(self._codes[with_text], minlength=len(self._states)).tolist(),
            "rows": self._rows(found[start : start + _PAGE]),
        }

    def _with_text(self, text: str) -> Flags:
        """Return an array: for each row, whether a text is part of one of its texts, or its label."""
        labels = pd.Series(self._frame.index.map(str), dtype="string")
        is_number = pd.api.types.is_numeric_dtype(self._frame.index)
        flags = ((labels == text) | (text == "")) if is_number else _has(labels, text)
        for name in self._texts.columns:
            flags = flags | _has(self._texts[name], text)
        return np.asarray(flags, bool)

    def _order(self, column: str, *, descending: bool) -> Rows:
        """Return all rows in the order of a column; those that are equal stay in the order of the table."""
        if column == "state":
            return np.argsort(-self._codes if descending else self._codes, kind="stable").astype(np.int32)
        if column in self._columns:
            cells: Any = self._frame[column].str.lower().array
            return np.asarray(cells.argsort(ascending=not descending, kind="stable", na_position="last"), np.int32)
        order = np.arange(len(self._frame), dtype=np.int32)
        return order[::-1] if descending else order

    def _rows(self, places: Rows) -> list[list[Any]]:
        """Return rows as a page shows them: the label, the place of the state, and the cells."""
        frame = self._frame.iloc[places]
        labels = [str(shown_id(label)) for label in frame.index]
        cells = [["" if pd.isna(cell) else visible(str(cell)) for cell in frame[name]] for name in self._columns]
        return [list(row) for row in zip(labels, self._codes[places].tolist(), *cells, strict=True)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {count_of(len(self._frame), 'row')}>"


def _has(texts: pd.Series[Any], text: str) -> Flags:
    return np.asarray(texts.str.contains(text, case=False, regex=False).to_numpy(bool, na_value=False))
