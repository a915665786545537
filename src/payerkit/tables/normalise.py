"""Rewrite cells that have exactly one meaning, such as +12125551234 for (212) 555-1234
of the US, with consent.

Names, addresses and ids are never rewritten; nor is a text that may mean two things. A
`SourceTable` knows what was rewritten, what was found in its cells, and the file that
it was read from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.checks.placeholders import is_clearable, is_placeholder
from payerkit.checks.places import one_alias
from payerkit.checks.readings import reading
from payerkit.findings import Finding
from payerkit.masking import mask
from payerkit.models.base import RequestModel
from payerkit.models.fields import fields_of
from payerkit.models.requests import BankDetails, Payer
from payerkit.tables.header import (
    BANK_COLUMNS,
    HOLDER_IS_PAYER,
    field_of,
    own_columns,
    payer_columns,
)
from payerkit.tables.mapping import ColumnMapping, FileColumn
from payerkit.visible_frame import VisibleFrame
from payerkit.wire import our_name

Readings = Mapping[tuple[int, str], str | None]
"""What cells become, by the place of the row and the column."""

_PREFIX = "bank_"


_Texts = Mapping[str, Sequence[str | None]]
"""The texts of each column; None for a blank cell, and for one that is no text."""


def rewrite(frame: pd.DataFrame, readings: Readings) -> pd.DataFrame:
    """Return a table with some cells replaced, by the place of their row and their
    column; None and "" make blanks.

    A column of anything but texts, such as categories, which lack the new ones, becomes
    one of objects.
    """
    cells: dict[str, Any] = {}
    for (place, column), after in readings.items():
        if column not in cells:
            cells[column] = frame[column].to_numpy(object, copy=True)
        cells[column][place] = after or None
    for column, texts in cells.items():
        dtype = frame[column].dtype
        kept = dtype if isinstance(dtype, pd.StringDtype) else "object"
        cells[column] = pd.Series(texts, frame.index, kept)
    return frame.assign(**cells)


def readings_of(
    frame: pd.DataFrame, date_order: str | None = None
) -> dict[tuple[int, str], str | None]:
    """Return the new values of cells in a table, by the place of the row and the
    column; None for a blank cell.

    frame: its columns are named by field. date_order: which part comes first in dates
    such as 03/04/1985, "day_first" or "month_first"; with anything else, dates that may
    mean two days have no reading.
    """
    texts = {
        column: [
            cell if isinstance(cell, str) else None for cell in frame[column].tolist()
        ]
        for column in frame.columns
    }
    found: dict[tuple[int, str], str | None] = {}
    for column in texts:
        for row, after in _read_column(column, texts, date_order):
            found[row, column] = after or None
    for model in (Payer, BankDetails):
        found |= dict.fromkeys(_placeholders_alone(model, texts))
    order = {column: number for number, column in enumerate(frame.columns)}
    return dict(sorted(found.items(), key=lambda item: (item[0][0], order[item[0][1]])))


_READ_BY = {
    "phone": ("country",),
    "state": ("country",),
    "postcode": ("country", "state"),
}
"""The fields by which the text of a field is read, by its kind or its name."""


def _read_column(
    column: str, texts: _Texts, date_order: str | None
) -> Iterator[tuple[int, str]]:
    """Yield the rows of a column whose cell has a reading, each with it; "" for a cell
    that means a blank one.
    """
    if column == HOLDER_IS_PAYER:
        for row, text in enumerate(texts[column]):
            after = one_alias(column, text or "")
            if after is not None:
                yield row, after
        return
    place = _place_of(column, texts)
    if place is None:
        return
    model, name, prefix = place
    kind = fields_of(model)[name].kind
    around = {}
    for other in _READ_BY.get(kind, _READ_BY.get(name, ())):
        if f"{prefix}{other}" in texts:
            around[other] = texts[f"{prefix}{other}"]

    @cache
    def read(text: str, *others: str | None) -> str | None:
        record = dict(zip(around, others, strict=True))
        return _read_text(model, name, text, record, date_order)

    rows = zip(texts[column], *around.values(), strict=True)
    for row, (text, *others) in enumerate(rows):
        after = read(text, *others) if text is not None else None
        if after is not None:
            yield row, after


def _read_text(
    model: type[RequestModel],
    name: str,
    text: str,
    record: dict[str, str | None],
    date_order: str | None,
) -> str | None:
    """Return the only value that a text can have in a field, "" for a blank one; None
    if it stays as it is.

    record: the fields by which it is read.
    """
    after = None
    is_phone = fields_of(model)[name].kind == "phone"
    if not (is_phone and _is_international(text)):
        for other in ("country", "state"):
            if record.get(other):
                record[other] = (
                    reading(Payer, other, record[other], record) or record[other]
                )
        after = reading(model, name, text, record, date_order=date_order)
    if after or fields_of(model)[name].required:
        return after
    return "" if is_clearable(model, name, text) else after


def _place_of(
    column: str, columns: Collection[str]
) -> tuple[type[RequestModel], str, str] | None:
    """Return the model and field of a column, and the prefix of the names of the
    columns that go with it.
    """
    if column in BANK_COLUMNS:
        return BankDetails, field_of(column), _PREFIX
    has_payers = bool(payer_columns(columns))
    is_accounts = column in fields_of(BankDetails)
    if column in fields_of(Payer) and (has_payers or not is_accounts):
        return Payer, column, ""
    if is_accounts:
        return BankDetails, column, _PREFIX if has_payers else ""
    return None


_is_international = re.compile("[+][1-9][0-9]{6,14}", re.ASCII).fullmatch
"""Matches a phone number that is right already, by far the quickest."""


def _placeholders_alone(
    model: type[RequestModel], texts: _Texts
) -> Iterator[tuple[int, str]]:
    """Yield the placeholders of rows that have nothing else in the columns of this
    model alone.

    Such a row describes no payer, or no account: its placeholders mean blank cells, in
    required columns, too.
    """
    own = [column for column in texts if column in own_columns(model)]

    @cache
    def means_nothing(column: str, text: str) -> bool:
        return is_clearable(model, field_of(column), text)

    for row, cells in enumerate(zip(*(texts[column] for column in own), strict=True)):
        filled = {
            column: text
            for column, text in zip(own, cells, strict=True)
            if text is not None
        }
        if all(means_nothing(column, text) for column, text in filled.items()):
            for column in filled:
                yield row, column


def shown_change(column: str, before: str, after: str | None) -> tuple[str, str]:
    """Return a cell before and after a change, with personal values and numbers
    masked.
    """
    name = field_of(column)
    model = Payer if name in fields_of(Payer) else BankDetails
    if after is None:
        is_shown = name in fields_of(model) and is_placeholder(model, name, before)
        return (before if is_shown else mask(name, before)), ""
    return mask(name, before), mask(name, after)


def reading_in_words(column: str, after: str | None) -> str:
    """Return the new value of a cell as a sentence has it, unless it may be personal;
    "" for a cleared cell.
    """
    if after is None:
        return ""
    return after if mask(field_of(column), after) == after else "it in the right form"


# A table that knows where it comes from

FoundInCell = tuple[int, str, Finding]
"""What was found in a cell of a table: the place of its row, its column, and the
finding.
"""


@dataclass(frozen=True, slots=True)
class CellFinding:
    """A finding about a cell. label: of its row in the table. column: of the table.
    text: of the cell when it was read.

    It holds as long as the cell has this text: whoever corrects the cell is rid of it.
    """

    label: Hashable
    column: str
    text: str | None = field(repr=False)
    finding: Finding


@dataclass(frozen=True, slots=True)
class Change:
    """A cell that was rewritten with consent. label: of its row. column: of the table.
    after: None for blank.
    """

    label: Hashable
    column: str
    before: str = field(repr=False)
    after: str | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a table comes from.

    file: name of the file, "" for a DataFrame. path: of the file, None if it was an
    open file or a DataFrame. sheet: its name, "" for a text file. header_row: number of
    the header's last row in the file. columns: all of the file, in order, without
    payerkit's own in a corrections file. cells: the sender's own rows, all columns, by
    number; its index is that of the table. readings: by label and column, what a cell
    would become with normalise=True. settings: how the file was read. rows: the file's
    row of each label, if these differ, as in a corrections file. last_label: the
    highest number of a row in the table that a corrections file was made of, else 0.
    mapping: which column is which. notes: rows below the table that are left out, with
    what they are. kept: by label, placeholders that a person keeps in a corrections
    file.
    """

    file: str = ""
    path: Path | None = None
    sheet: str = ""
    header_row: int = 0
    columns: tuple[FileColumn, ...] = ()
    cells: pd.DataFrame | None = field(default=None, repr=False)
    findings: Sequence[CellFinding] = field(default=(), repr=False)
    changes: Sequence[Change] = field(default=(), repr=False)
    readings: Mapping[tuple[Hashable, str], str | None] = field(
        default_factory=dict, repr=False
    )
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[Hashable, int] = field(default_factory=dict, repr=False)
    last_label: int = 0
    mapping: ColumnMapping | None = field(default=None, repr=False)
    notes: Mapping[int, str] = field(default_factory=dict)
    kept: Mapping[Hashable, frozenset[str]] = field(default_factory=dict, repr=False)

    @property
    def by_name(self) -> dict[str, FileColumn]:
        """The columns of the file that are columns of the table, by our names."""
        return {each.column: each for each in self.columns if each.column is not None}

    def shown_header(self, column: str) -> str:
        """Return the sender's name of a column of the table as it may be shown, else
        the column's own.
        """
        own = self.by_name.get(column)
        return (own.shown_header if own else "") or column


class SourceTable(VisibleFrame):
    """A table of payers or accounts that knows what it was read from, as `read_payers`
    returns it.

    It is a DataFrame. What it knows stays with its rows when they are selected or
    sorted.

    Example:
        >>> table = read_payers(
        ...     pd.DataFrame({"Customer ID": ["007"], "Country": ["Germany"]}),
        ...     normalise=True,
        ... )
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

    @property
    def origin(self) -> Origin:
        """Where the table comes from."""
        return getattr(self, "_origin", None) or Origin()

    @property
    def mapping(self) -> ColumnMapping | None:
        """Which column of the source is which of ours, for `read_payers(next_file,
        mapping=table.mapping)`.

        None for a table that pandas made of several.
        """
        return self.origin.mapping

    @property
    def changes(self) -> pd.DataFrame:
        """One row per cell that `normalise` rewrote, with the columns of
        `Plan.changes`.
        """
        return changes_frame(self.origin, self.index)

    def __finalize__(
        self, other: Any, method: str | None = None, **kwargs: Any
    ) -> SourceTable:
        """Take along the findings of all tables that pandas makes one of; called by
        pandas.
        """
        # The stubs of pandas lack this method.
        made: SourceTable = super().__finalize__(other, method=method, **kwargs)  # type: ignore[misc]
        parts = getattr(other, "objs", None) or [
            getattr(other, side, None) for side in ("left", "right")
        ]
        found = [finding for part in parts for finding in origin_of(part).findings]
        if found and not origin_of(made).findings:
            object.__setattr__(
                made, "_origin", Origin(findings=tuple(dict.fromkeys(found)))
            )
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


def kept_words(rows: pd.DataFrame) -> Sequence[frozenset[str]]:
    """Return for each row of a table the placeholders that a person keeps in it."""
    kept = origin_of(rows).kept if has_labels_of_file(rows.index) else {}
    return [kept.get(label, frozenset()) for label in rows.index]


def has_labels_of_file(labels: pd.Index[Any]) -> bool:
    """Return True if the labels of a table are still those of the rows in its file: no
    other tables have labels of this name, and pandas numbers rows anew without one.
    """
    return labels.name == "row" and labels.is_unique


def changes_frame(origin: Origin, labels: pd.Index[Any]) -> pd.DataFrame:
    """Return the changes in the rows with some labels, one a line, personal values
    masked.

    If the rows of a file were numbered anew, their labels do not tell which they are:
    then all changes are returned.
    """
    is_numbered_anew = bool(origin.file) and not has_labels_of_file(labels)
    columns = origin.by_name if origin.file else {}
    lines = []
    for each in origin.changes:
        if not is_numbered_anew and each.label not in labels:
            continue
        cell = ""
        if each.column in columns:
            number = origin.rows.get(each.label, each.label)
            cell = f"{columns[each.column].letters}{number}"
        header = origin.shown_header(each.column)
        before, after = shown_change(each.column, each.before, each.after)
        lines.append((each.label, cell, header, before, after))
    names = ["row", "cell", "column", "from", "to"]
    frame = VisibleFrame(lines, columns=names).astype(
        dict.fromkeys(names[1:], "string")
    )
    return frame if is_numbered_anew else frame.astype({"row": labels.dtype})


def findings_in(rows: pd.DataFrame) -> Iterator[FoundInCell]:
    """Yield what was found in the cells of a table when it was read: the place of the
    row, the column, the finding.

    A finding holds for the row that has its label, if the cell still has its text. If
    the rows were numbered anew, it holds for every row with this text in the column.
    """
    found = origin_of(rows).findings
    if not found:
        return
    is_numbered_anew = not has_labels_of_file(rows.index)
    labels = [None] * len(rows) if is_numbered_anew else rows.index.tolist()
    # Some columns may have got their wire names since.
    columns = {our_name(str(column)): column for column in rows.columns}
    places = defaultdict[tuple[Any, ...], list[int]](list)
    for column in {each.column for each in found} & columns.keys():
        cells = rows[columns[column]].tolist()
        for place, (label, cell) in enumerate(zip(labels, cells, strict=True)):
            text = cell if isinstance(cell, str) else None
            places[column, label, text].append(place)
    for each in found:
        label = None if is_numbered_anew else each.label
        for place in places.get((each.column, label, each.text), ()):
            yield place, each.column, each.finding
