"""A table that knows the file it was read from: what was found in its cells, and what was rewritten."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.findings import Finding
from payerkit.tables.mapping import FileColumn
from payerkit.tables.mapping import Mapping as ColumnMapping
from payerkit.tables.normalise import shown_change
from payerkit.wire import our_name

FoundInCell = tuple[int, str, Finding]
"""What was found in a cell of a table: the place of its row, its column, and the finding."""


@dataclass(frozen=True, slots=True)
class CellFinding:
    """A finding about a cell. label: of its row in the table. column: of the table. text: of the cell when it was read.

    It holds as long as the cell has this text: whoever corrects the cell is rid of it.
    """

    label: Hashable
    column: str
    text: str | None = field(repr=False)
    finding: Finding


@dataclass(frozen=True, slots=True)
class Change:
    """A cell that was rewritten with consent. label: of its row. column: of the table. after: None for blank."""

    label: Hashable
    column: str
    before: str = field(repr=False)
    after: str | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a table comes from.

    file: name of the file, "" for a DataFrame. path: of the file, None if it was an open file or a DataFrame. sheet:
    its name, "" for a text file. header_row: number of the header's last row in the file. columns: all of the file, in
    order, without payerkit's own in a corrections file. cells: the sender's own rows, all columns, by number; its index
    is that of the table. readings: by label and column, what a cell would become with normalise=True. settings: how the
    file was read. rows: the file's row of each label, if these differ, as in a corrections file. last_label: the
    highest number of a row in the table that a corrections file was made of, else 0. mapping: which column is which.
    """

    file: str = ""
    path: Path | None = None
    sheet: str = ""
    header_row: int = 0
    columns: tuple[FileColumn, ...] = ()
    cells: pd.DataFrame | None = field(default=None, repr=False)
    findings: Sequence[CellFinding] = field(default=(), repr=False)
    changes: Sequence[Change] = field(default=(), repr=False)
    readings: Mapping[tuple[Hashable, str], str | None] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[Hashable, int] = field(default_factory=dict, repr=False)
    last_label: int = 0
    mapping: ColumnMapping | None = field(default=None, repr=False)

    @property
    def by_name(self) -> dict[str, FileColumn]:
        """The columns of the file that are columns of the table, by our names."""
        return {each.column: each for each in self.columns if each.column is not None}

    def shown_header(self, column: str) -> str:
        """Return the sender's name of a column of the table as it may be shown, else the column's own."""
        own = self.by_name.get(column)
        return (own.shown_header if own else "") or column


class SourceTable(pd.DataFrame):
    """A table of payers or accounts that knows what it was read from, as `read_payers` returns it.

    It is a DataFrame. What it knows stays with its rows when they are selected or sorted.

    Example:
        >>> table = read_payers(pd.DataFrame({"Customer ID": ["007"], "Country": ["Germany"]}), normalise=True)
        >>> dict(table.mapping)
        {'Customer ID': 'client_user_id', 'Country': 'country'}
        >>> table.changes
           row cell   column     from  to
        0    0       Country  Germany  DE
    """

    _metadata = ["_origin"]  # noqa: RUF012 - pandas' own name: what goes along when a frame is made of another

    @property
    def _constructor(self) -> type[SourceTable]:
        return SourceTable

    def _repr_html_(self) -> str | None:
        """Return the picture of a plain DataFrame: itables replaces that one, and knows no subclasses."""
        plain: Any = pd.DataFrame(self)
        shown: str | None = plain._repr_html_()
        return shown

    @property
    def origin(self) -> Origin:
        """Where the table comes from."""
        return getattr(self, "_origin", None) or Origin()

    @property
    def mapping(self) -> ColumnMapping | None:
        """Which column of the source is which of ours, for `read_payers(next_file, mapping=table.mapping)`.

        None for a table that pandas made of several.
        """
        return self.origin.mapping

    @property
    def changes(self) -> pd.DataFrame:
        """One row per cell that `normalise` rewrote, with the columns of `Plan.changes`."""
        return changes_frame(self.origin, self.index)

    def __finalize__(self, other: Any, method: str | None = None, **kwargs: Any) -> SourceTable:
        """Take along the findings of all tables that pandas makes one of; called by pandas."""
        # The stubs of pandas lack this method.
        made: SourceTable = super().__finalize__(other, method=method, **kwargs)  # type: ignore[misc]
        parts = getattr(other, "objs", None) or [getattr(other, side, None) for side in ("left", "right")]
        found = [finding for part in parts for finding in origin_of(part).findings]
        if found and not origin_of(made).findings:
            object.__setattr__(made, "_origin", Origin(findings=tuple(dict.fromkeys(found))))
        return made

    @classmethod
    def of(cls, frame: pd.DataFrame, origin: Origin) -> SourceTable:
        """Return a frame with its origin."""
        table = cls(frame)
        object.__setattr__(table, "_origin", origin)
        return table


def origin_of(rows: Any) -> Origin:
    """Return where a table comes from; an empty origin for any other table."""
    return rows.origin if isinstance(rows, SourceTable) else Origin()


def changes_frame(origin: Origin, labels: pd.Index[Any]) -> pd.DataFrame:
    """Return the changes in the rows with some labels, one a line, personal values masked.

    If the rows of a file were numbered anew, their labels do not tell which they are: then all changes are returned.
    """
    is_numbered_anew = bool(origin.file) and labels.name != "row"
    columns, header = origin.by_name if origin.file else {}, cache(origin.shown_header)
    lines = []
    for each in origin.changes:
        if is_numbered_anew or each.label in labels:
            own = columns.get(each.column)
            cell = f"{own.letters}{origin.rows.get(each.label, each.label)}" if own else ""
            lines.append((each.label, cell, header(each.column), *shown_change(each.column, each.before, each.after)))
    names = ["row", "cell", "column", "from", "to"]
    frame = pd.DataFrame(lines, columns=names).astype(dict.fromkeys(names[1:], "string"))
    return frame if is_numbered_anew else frame.astype({"row": labels.dtype})


def findings_in(rows: pd.DataFrame) -> Iterator[FoundInCell]:
    """Yield what was found in the cells of a table when it was read: the place of the row, the column, the finding.

    A finding holds for the row that has its label, if the cell still has its text. If the rows were numbered anew, it
    holds for every row with this text in the column.
    """
    found = origin_of(rows).findings
    if not found:
        return
    is_numbered_anew = rows.index.name != "row" or not rows.index.is_unique
    columns = {our_name(str(column)): column for column in rows.columns}  # some may have got their wire names since
    places: dict[tuple[Any, ...], list[int]] = {}
    for column in {each.column for each in found} & columns.keys():
        for place, (label, cell) in enumerate(zip(rows.index, rows[columns[column]], strict=True)):
            text = cell if isinstance(cell, str) else None
            places.setdefault((column, None if is_numbered_anew else label, text), []).append(place)
    for each in found:
        key = each.column, None if is_numbered_anew else each.label, each.text
        yield from ((place, each.column, each.finding) for place in places.get(key, ()))
