"""The rows of a report or plan for a row browser: searched, filtered, sorted, and read by the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from payerkit import html
from payerkit.bulk.findings_by_row import Rows
from payerkit.bulk.holder import Flags
from payerkit.bulk.naming import shown_id
from payerkit.bulk.reasons import Reasons
from payerkit.errors import InvalidInput
from payerkit.html import visible
from payerkit.tables.spreadsheets import inert, open_for_owner, write_rows
from payerkit.wording import count_of, in_words

_PAGE = 50
"""Rows of a page."""

_MOST_COPIED = 10_000
"""Rows that are copied at once; more have to be saved."""

_MOST_REASONS = 100
"""Reasons that are listed; a search finds the others."""

_LINKS = ["agreement_url", "kyc_url"]
"""Columns that are in no page and no copied text: a link lets its reader act as the payer."""

_ROW = "row"

_NAMES = {"step"}
"""Columns of names with underscores, which a page shows as words."""


@dataclass(frozen=True, slots=True)
class Query:
    """Which rows are wanted, in which order. state, text: "" for any. reason: a number, -1 for any."""

    state: str = ""
    reason: int = -1
    text: str = ""
    sort: str = "state"
    descending: bool = False

    @classmethod
    def of(cls, wanted: Mapping[str, Any]) -> Self:
        """Return a query as a page sends it."""
        return cls(
            state=str(wanted.get("state", "")),
            reason=int(wanted.get("reason", -1)),
            text=" ".join(str(wanted.get("text", "")).split()),
            sort=str(wanted.get("sort", "state")),
            descending=wanted.get("descending") is True,
        )


class RowPages:
    """The rows of a frame, which has the columns `state` and `reason`; nothing is computed before it is asked for.

    kinds: the colour of each state and of each other kind of reason, most urgent first. columns: those of a page
    after row, state and reason. find_reasons: returns the reasons of all rows. note: returns a line of small
    print for each of some rows, "" for none.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        kinds: Mapping[str, html.Kind],
        columns: Sequence[str],
        find_reasons: Callable[[], Reasons],
        note: Callable[[list[int]], Sequence[str]],
    ) -> None:
        self._frame, self._kinds, self._columns, self._note = frame, kinds, columns, note
        self._find_reasons = find_reasons
        self._searched: tuple[str, Flags] | None = None
        self._found: tuple[Query, Rows] | None = None
        self._orders: dict[str, Rows] = {}

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def columns(self) -> list[str]:
        """The columns of a page, by which it can be sorted."""
        return [_ROW, "state", "reason", *self._columns]

    def page(self, wanted: Mapping[str, Any], start: int = 0) -> dict[str, Any]:
        """Return the page of the wanted rows that has the one at a place, and the filters with their counts."""
        query = Query.of(wanted)
        found = self.find(query)
        start = max(0, min(start, len(found) - 1)) // _PAGE * _PAGE
        return {
            "total": len(self),
            "found": len(found),
            "start": start,
            "rows": self._rows(found[start : start + _PAGE]),
            "states": self._count_states(query),
            **self._count_reasons(query),
        }

    def find(self, query: Query) -> Rows:
        """Return the rows that a query finds, in its order."""
        if self._found is None or self._found[0] != query:
            order = self._order(query.sort, descending=query.descending)
            chosen = self._with_text(query.text) & self._with_state(query.state) & self._with_reason(query.reason)
            self._found = query, order[chosen[order]]
        return self._found[1]

    def copy(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return the wanted rows as `text` for a spreadsheet, with a header, and a `notice` about it.

        Ids are masked as in a page; links are left out.
        """
        found = self.find(Query.of(wanted))
        rows = found[:_MOST_COPIED]
        frame = self._frame.drop(columns=_LINKS, errors="ignore").iloc[rows]
        cells = [map(_cell, frame[name]) for name in frame.columns]
        lines = zip(map(str, map(shown_id, frame.index)), *cells, strict=True)
        head = "\t".join([_ROW, *map(str, frame.columns)])
        more = f" of {len(found):,}; save the rest as CSV" if len(found) > len(rows) else ""
        notice = f"Copied {count_of(len(rows), 'row')}{more}."
        return {"text": "\n".join([head, *("\t".join(map(inert, line)) for line in lines)]), "notice": notice}

    def save(self, wanted: Mapping[str, Any], path: str, *, replace: bool = False) -> dict[str, Any]:
        """Write the wanted rows as CSV, for their owner alone, and return a `notice` about it.

        Return the name of the file as `exists`, and write nothing, if there is one that is not to be replaced. Raises
        InvalidInput for a path that cannot be one, and OSError if the file cannot be written.
        """
        file = _file_at(path)
        if file.exists() and not replace:
            return {"exists": visible(file.name)}
        rows = self.find(Query.of(wanted))
        with open_for_owner(file) as opened:
            write_rows(self._frame.iloc[rows], opened)
        return {"notice": f"Saved {count_of(len(rows), 'row')} in {visible(str(file))}. Only you may read it."}

    # Filters

    @cached_property
    def _states(self) -> Rows:
        """The place of each row's state in `_kinds`."""
        return np.asarray(pd.Categorical(self._frame["state"], categories=list(self._kinds)).codes)

    @cached_property
    def _reasons(self) -> Reasons:
        return self._find_reasons().sorted(list(self._kinds))

    def _with_state(self, state: str) -> Flags:
        return self._states == list(self._kinds).index(state) if state in self._kinds else self._all()

    def _with_reason(self, number: int) -> Flags:
        if not 0 <= number < len(self._reasons.kinds):
            return self._all()
        flags = np.zeros(len(self), bool)
        flags[self._reasons.rows_with(number)] = True
        return flags

    def _with_text(self, text: str) -> Flags:
        """Return an array: for each row, whether a text is part of its label, its id or another of its texts."""
        if not text:
            return self._all()
        if self._searched is None or self._searched[0] != text:
            flags = self._with_label(text)
            texts: pd.DataFrame = self._frame.drop(columns=_LINKS, errors="ignore").select_dtypes("string")
            for name in texts.columns:
                flags = flags | texts[name].str.contains(text, case=False, regex=False).to_numpy(bool, na_value=False)
            self._searched = text, flags
        return self._searched[1]

    def _with_label(self, text: str) -> Flags:
        labels = self._frame.index
        if pd.api.types.is_numeric_dtype(labels):
            number = pd.to_numeric(text, errors="coerce")
            return np.asarray(pd.Series(labels == number).fillna(value=False), bool)
        return np.asarray(self._label_texts.str.contains(text, case=False, regex=False), bool)

    @cached_property
    def _label_texts(self) -> pd.Series[Any]:
        return pd.Series(self._frame.index.map(str), dtype="string")

    def _all(self) -> Flags:
        return np.ones(len(self), bool)

    def _count_states(self, query: Query) -> list[tuple[str, str, str, str, int]]:
        """Return each state that occurs: its name, words, colour and mark, and how many rows have it."""
        chosen = self._with_text(query.text) & self._with_reason(query.reason)
        occurs = np.bincount(self._states, minlength=len(self._kinds))
        numbers = np.bincount(self._states[chosen], minlength=len(self._kinds)).tolist()
        return [
            (*self._state(state), number)
            for state, times, number in zip(self._kinds, occurs.tolist(), numbers, strict=True)
            if times
        ]

    def _state(self, state: str) -> tuple[str, str, str, str]:
        """Return a state, or another kind of reason, with its words, its colour and its mark."""
        kind = self._kinds[state]
        return state, in_words(state), kind, html.MARKS[kind]

    def _count_reasons(self, query: Query) -> dict[str, Any]:
        """Return the reasons of the rows with the text and state of a query: those with the most rows, and the rest."""
        chosen = self._with_text(query.text) & self._with_state(query.state)
        times = self._reasons.count(chosen)
        found = np.flatnonzero(times).tolist()
        listed = found[:_MOST_REASONS]
        if 0 <= query.reason < len(times) and query.reason not in listed:
            listed.insert(0, query.reason)
        reasons = [(number, *self._reason(number), int(times[number])) for number in listed]
        return {"reasons": reasons, "more_reasons": max(0, len(found) - len(listed))}

    def _reason(self, number: int) -> tuple[str, str, str, str, str]:
        kind = self._reasons.kinds[number]
        return (*self._state(kind.kind), visible(kind.text))

    # Order

    def _order(self, column: str, *, descending: bool) -> Rows:
        """Return all rows in the order of a column; those that are equal stay in the order of the table."""
        if column not in self.columns or column == _ROW:
            order = np.arange(len(self), dtype=np.int32)
            return order[::-1] if descending else order
        name = f"{column} {'down' if descending else 'up'}"
        if name not in self._orders:
            self._orders = {name: self._sorted(column, descending=descending)}  # the last one: it takes memory
        return self._orders[name]

    def _sorted(self, column: str, *, descending: bool) -> Rows:
        if column == "state":
            ranks = -self._states if descending else self._states
            return np.argsort(ranks, kind="stable").astype(np.int32)
        cells: Any = self._frame[column].str.lower().array
        return np.asarray(cells.argsort(ascending=not descending, kind="stable", na_position="last"), np.int32)

    # Rows

    def _rows(self, rows: Rows) -> list[list[Any]]:
        """Return rows as a page shows them: label, state, reason, note, and the cells of the other columns."""
        frame = self._frame.iloc[rows]
        columns = [
            [in_words(_cell(value)) if name in _NAMES else _cell(value) for value in frame[name]]
            for name in self._columns
        ]
        return [
            [str(shown_id(label)), self._state(state), _cell(reason), visible(note), cells]
            for label, state, reason, note, *cells in zip(
                frame.index, frame["state"], frame["reason"], self._note(rows.tolist()), *columns, strict=True
            )
        ]


def _file_at(path: str) -> Path:
    """Return where to write. Raises InvalidInput for a path that cannot be a file."""
    if not path.strip() or "\0" in path:
        raise InvalidInput("File: enter the name of a file, such as report.csv. Nothing was written.")
    try:
        file = Path(path.strip()).expanduser().absolute()
    except RuntimeError:  # "~somebody"
        raise InvalidInput("File: there is no such user. Give a path without ~. Nothing was written.") from None
    if file.exists() and not file.is_file():
        raise InvalidInput(f"File: {visible(file.name)} is a folder, or a device. Enter another name.")
    return file


def _cell(value: Any) -> str:
    """Return a cell as text, "" for a missing one."""
    return "" if value is pd.NA or value is None else visible(str(value))
