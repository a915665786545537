"""Read tables of payers and accounts as people have them: columns named by field, cells as text, nothing guessed."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from payerkit.checks.dates import (
    DateOrder,
    file_date_order,
    has_two_readings,
    is_impossible,
    is_year_day_month,
    swap_day,
)
from payerkit.checks.inputs import is_blank
from payerkit.checks.schema import MASK
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.masking import mask
from payerkit.tables.corrections import OwnFile, own_file, own_header
from payerkit.tables.damage import cell_findings, file_finding, find_text_damage
from payerkit.tables.header import OUR_NAMES, IsKnown, field_of, find_header, holds_days, is_known_header
from payerkit.tables.mapping import Mapped, hint_for
from payerkit.tables.mapping import Mapping as ColumnMapping
from payerkit.tables.normalise import (
    CellFinding,
    Change,
    FoundInCell,
    Origin,
    Readings,
    SourceTable,
    readings_of,
    rewrite,
)
from payerkit.tables.sheet import Sheet, column_letters
from payerkit.tables.text_files import EMPTY, read_delimited
from payerkit.tables.workbooks import read_sheets

_DATE_ORDER = "date_order"

Defaults = Mapping[str, str]


@without_internal_frames
def read_payers(
    source: Any,
    *,
    mapping: Mapped | None = None,
    sheet: str | None = None,
    normalise: bool = False,
    date_order: DateOrder | None = None,
    defaults: Defaults | None = None,
) -> SourceTable:
    """Read a table of payers, with or without columns of bank details, as it is; every cell stays text.

    A header is known by its field name (`first_name`), its wire name (`firstName`), its title in a form, and by what
    people and payout tools write, in English, German, Spanish and French. One that may mean several fields is never
    guessed: the error prints the mapping to paste. If the table has payers, columns such as `country` are the payer's,
    and the account holder's have `bank_` in front (`bank_country`).

    Titles above the header, blank rows and rows without any data are left out; leading zeros, and Namibia (NA), stay.
    What a spreadsheet or an encoding did to a cell is found: `plan_onboarding` shows it, and `onboard` does not send
    the row until it is corrected.

    Args:
        source: A path to an Excel (.xlsx, .xlsm) or text file (.csv, .tsv, .txt), or an open one, of which the content
            counts rather than its name; or a DataFrame.
        mapping: From `propose_mapping`, or a dict with the field of each column that has another name, such as
            `{"Name": "last_name"}`; None as field leaves the column out.
        sheet: Name of the sheet, if several have a table.
        normalise: Rewrite cells that have exactly one meaning, such as 31.12.1985 or Germany. `changes` of the table
            and of its plan list every change.
        date_order: "day_first" or "month_first", for dates such as 03/04/1985; None: as the other dates of the column
            show, if they do.
        defaults: Values of fields for all rows in which they are blank, such as `{"currency": "USD"}`; the file needs
            no column for them.

    Returns:
        A DataFrame with columns named by field, which also knows its `mapping` and its `changes`. From a CSV or Excel
        file: columns of dtype str, missing where blank, and an index `row` with the row numbers of the file. From a
        DataFrame: its cells and its index.

    Raises:
        InvalidInput: For columns that are not known or not certain, with the mapping to paste; for several sheets with
            a table; and for a file that cannot be read without guessing, such as one with a quote that is not closed.
        ImportError: If the library that Excel files need is not installed.

    Example:
        >>> table = pd.DataFrame({"Customer ID": ["007"], "ZIP": ["01234"], "Given name": ["Jane"]})
        >>> read_payers(table)
          client_user_id postcode first_name
        0            007    01234       Jane
    """
    kept = mapping if isinstance(mapping, ColumnMapping) else ColumnMapping(())
    chosen = kept.chosen if kept is mapping else {str(name): column for name, column in dict(mapping or {}).items()}
    normalise = normalise or kept.normalise
    if not isinstance(normalise, bool):
        raise InvalidInput(f"normalise: expected True or False, got {kind_of(normalise)}.")
    date_order = date_order if date_order is not None else kept.date_order
    if date_order is not None and date_order not in get_args(DateOrder):
        raise InvalidInput('date_order: expected "day_first", "month_first" or None.')
    sheet = sheet if sheet is not None else kept.sheet
    raw = open_table(source, lambda text: text in chosen or is_known_header(text), sheet=sheet)
    if raw.own:  # the settings of the original file hold, unless others are given
        normalise = normalise or raw.own.token.settings.get("normalise", False)
        date_order = date_order or raw.own.token.settings.get("date_order")
        defaults = raw.own.token.settings.get("defaults", {}) if defaults is None else defaults
    checked = _checked_defaults(defaults or {})
    return _read(raw, chosen, normalise=normalise, date_order=date_order, defaults=checked)


def _checked_defaults(defaults: Mapping[str, Any]) -> dict[str, str]:
    """Return the defaults by our columns. Raises InvalidInput for one that is no text, or for no field."""
    for name, value in defaults.items():
        if name not in OUR_NAMES:
            raise InvalidInput(f"defaults: {name} is not a field of a payer or of bank details.{hint_for(str(name))}")
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"defaults: {name}: expected a text that is not blank, got {kind_of(value)}.")
    return {OUR_NAMES[name]: value for name, value in defaults.items()}


@without_internal_frames
def read_bank_details(
    source: Any,
    *,
    mapping: Mapped | None = None,
    sheet: str | None = None,
    normalise: bool = False,
    date_order: DateOrder | None = None,
    defaults: Defaults | None = None,
) -> SourceTable:
    """Read a table of bank accounts, one a row, of payers who are on board; every cell stays text.

    Args:
        source: As for `read_payers`; a column `client_user_id` names the payer of each account.
        mapping: As for `read_payers`.
        sheet: As for `read_payers`.
        normalise: As for `read_payers`.
        date_order: As for `read_payers`.
        defaults: As for `read_payers`.

    Returns:
        The table, as `read_payers` returns it.

    Raises:
        InvalidInput: As `read_payers`, and if there is no column `client_user_id`.
        ImportError: If the library that Excel files need is not installed.

    Example:
        >>> read_bank_details(pd.DataFrame({"Customer ID": ["user-123"], "IBAN": ["DE89370400440532013000"]}))
          client_user_id                    iban
        0       user-123  DE89370400440532013000
    """
    table = read_payers(
        source, mapping=mapping, sheet=sheet, normalise=normalise, date_order=date_order, defaults=defaults
    )
    if "client_user_id" not in table.columns:
        raise InvalidInput("The table has no column client_user_id, which names the payer of each account.")
    return table


@without_internal_frames
def propose_mapping(source: Any, *, sheet: str | None = None) -> ColumnMapping:
    """Return which column of a file is which of ours: certain, or proposed for a person to decide.

    Args:
        source: As for `read_payers`.
        sheet: As for `read_payers`.

    Returns:
        A `Mapping`, to look at, to correct, and to pass to `read_payers(source, mapping=mapping)`.

    Raises:
        InvalidInput: For a file that cannot be read, or has no header.
        ImportError: If the library that such files need is not installed.

    Example:
        >>> table = pd.DataFrame({"Vorname": ["Example"], "Kto": ["0123456789"], "Bank code": ["001"]})
        >>> propose_mapping(table)
        Mapping of 3 columns, 0 open
          Vorname    first_name      certain  Xxxxxxx
          Kto        account_number  certain  ••••6789
          Bank code  bank_code       certain  001
    """
    raw = open_table(source, is_known_header, sheet=sheet)
    mapping = _map_columns(raw, {})
    if mapping.looks_personal:
        mapping.check()
    return mapping


def _read(
    raw: RawTable, chosen: Mapped, *, normalise: bool, date_order: DateOrder | None, defaults: Defaults
) -> SourceTable:
    """Return a table whose columns are named by field, and whose cells are rewritten where there is consent."""
    mapping = _map_columns(raw, chosen).check()
    rows, numbers, known = raw.rows, dict[Hashable, int](), list[FoundInCell]()
    if raw.own:
        numbers, known = raw.own.identify(rows)
        rows = rows.set_axis(pd.Index([*numbers], name="row"))
    frame = rows[list(mapping.fields)].set_axis(list(mapping.fields.values()), axis=1)
    blank = {
        (place, name): value
        for name, value in defaults.items()
        for place, cell in enumerate(frame.get(name, ()))
        if is_blank(cell) or (isinstance(cell, str) and not cell.strip())
    }
    frame = rewrite(frame, blank).assign(**{name: text for name, text in defaults.items() if name not in frame})
    found, readings = _read_cells(raw, mapping.fields, frame, known, date_order)
    rewritten, readings = (readings, {}) if normalise else ({}, readings)
    mapping.normalise, mapping.date_order = normalise, date_order
    labels, cells = frame.index.tolist(), {name: frame[name].tolist() for name in frame.columns}
    findings: dict[CellFinding, None] = {}  # each once
    for place, name, finding in found:
        text = cells[name][place]
        findings[CellFinding(labels[place], name, text if isinstance(text, str) else None, finding)] = None
    origin = Origin(
        file=raw.file,
        path=raw.path,
        sheet=raw.sheet.name,
        header_row=raw.header_row,
        columns=tuple(each for each in mapping.all_columns if each.place not in (raw.own.ours if raw.own else ())),
        cells=rows,
        findings=tuple(findings),
        changes=tuple(
            Change(labels[place], name, cells[name][place], after or None) for (place, name), after in rewritten.items()
        ),
        readings={(labels[place], name): after for (place, name), after in readings.items()},
        settings={"normalise": mapping.normalise, "date_order": mapping.date_order, "defaults": dict(defaults)},
        notes=raw.notes,
        rows=numbers,
        last_label=(raw.own.token.last or 0) if raw.own else 0,
        mapping=mapping,
    )
    return SourceTable.of(rewrite(frame, rewritten), origin)


_FIRST_ROWS = 100
_EXAMPLES = 3
_MAX_EXAMPLE = 24


def _map_columns(raw: RawTable, chosen: Mapped) -> ColumnMapping:
    """Return which column of a file is which of ours, with its first values; choices may be wrong, or missing.

    The columns of a corrections file are what they were at first. payerkit's own are blank.
    """
    names = raw.names
    if raw.own:
        theirs = {names[place] for place in raw.own.columns}
        added = {key: column for key, column in chosen.items() if key not in theirs}
        chosen = added | {f"({column_letters(place)})": column for place, column in raw.own.columns.items()}
        names = tuple("" if place in raw.own.ours else name for place, name in enumerate(names))
    two_names = [place for place in range(len(names)) if _holds_two_names(raw.rows[place])]
    mapping = ColumnMapping(names, chosen, unnamed=raw.unnamed, two_names=two_names)
    mapping.first_values = [_examples(each.column, raw.rows[each.place]) for each in mapping.all_columns]
    mapping.sheet = raw.sheet.name or None
    return mapping


_TWO_NAMES = re.compile(r"[^\W\d_][^,]*, [^\W\d_][^,.]*").fullmatch


def _holds_two_names(cells: pd.Series[Any]) -> bool:
    """Return True if most of the first cells of a column are like "Archer, Ada"."""
    texts = [text for text in cells.head(_FIRST_ROWS) if isinstance(text, str)]
    return bool(texts) and sum(map(bool, map(_TWO_NAMES, texts))) > len(texts) / 2


def _examples(column: str | None, cells: pd.Series[Any]) -> tuple[str, ...]:
    """Return the first different values of a column: their shape if they are, or may be, personal."""
    texts = (" ".join(str(value).split()) for value in cells.head(_FIRST_ROWS) if not pd.isna(value))
    shown = dict.fromkeys(_example(column, text) for text in texts if text)
    return tuple(islice(shown, _EXAMPLES))


def _example(column: str | None, text: str) -> str:
    masked = MASK if column is None else mask(field_of(column), text)
    shown = _shape_of(text) if masked == MASK else masked
    return shown if len(shown) <= _MAX_EXAMPLE else f"{shown[:_MAX_EXAMPLE]}…"


def _shape_of(text: str) -> str:
    """Return a text with X and x in place of letters, and 0 in place of digits."""
    return "".join(
        "0" if char.isdigit() else "X" if char.isupper() else "x" if char.isalpha() else char for char in text
    )


def _read_cells(
    raw: RawTable,
    fields: Mapping[int, str],
    frame: pd.DataFrame,
    known: Sequence[FoundInCell],
    date_order: DateOrder | None,
) -> tuple[list[FoundInCell], Readings]:
    """Return the findings about the cells of a table, and their new values: repaired, then read as one value.

    known: what a corrections file says of its cells. A cell whose original value is lost has no reading: its error
    holds only as long as the text stays. With a given date order, ambiguous dates count as corrected.
    """
    damage, repaired = _find_damage(raw, fields, frame)
    days = (text for name in filter(holds_days, frame.columns) for text in frame[name] if isinstance(text, str))
    readings = {**repaired, **readings_of(rewrite(frame, repaired), date_order or file_date_order(days))}
    swapped = {name for name in filter(holds_days, frame.columns) if is_year_day_month(frame[name].tolist())}
    lost = [*known, *(each for each in damage if each[:2] not in repaired)]
    for place, name, finding in lost:
        if finding.severity == "error" and finding.code != _DATE_ORDER:
            readings.pop((place, name), None)
    found = [*known, *damage]
    for name in filter(holds_days, frame.columns):
        for place, text in enumerate(frame[name]):
            if not isinstance(text, str):
                continue
            if name in swapped and (day := swap_day(text)):
                found.append((place, name, file_finding("day_month_swapped", field_of(name))))
                readings[place, name] = day
            elif (place, name) not in readings and has_two_readings(text):
                found.append((place, name, file_finding(_DATE_ORDER, field_of(name))))
            elif is_impossible(text):
                found.append((place, name, file_finding("no_such_day", field_of(name))))
    return found, readings


def _find_damage(
    raw: RawTable, fields: Mapping[int, str], frame: pd.DataFrame
) -> tuple[list[FoundInCell], dict[tuple[int, str], str]]:
    """Return the damage of a table's cells, and by place and column the only text that a damaged one can mean."""
    places = {row: place for place, row in enumerate(raw.rows.index)}
    in_file = cell_findings(raw.sheet, raw.header_row + 1, fields) if raw.file else []
    found = [(places[row], fields[column], finding) for row, column, finding in in_file if row in places]
    seen = {each[:2] for each in found}
    repaired = {}
    for place, name, (code, values, text) in find_text_damage(frame.set_axis(pd.RangeIndex(len(frame)))):
        if (place, name) not in seen:
            found.append((place, name, file_finding(code, field_of(name), *values)))
            if text is not None:
                repaired[place, name] = text
    return found, repaired


# The table as it stands in its file, before anything is understood


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table before its columns are named.

    names: of all columns, in order, "" for none. rows: those below the header, all columns by number. sheet: the cells
    as they were read, with notes. header_row: number of the header's last row, 0 for a DataFrame. unnamed: for each
    column without a name that has cells, by its number, the first row with one. file: its name, "" for a DataFrame.
    own: what the file says about itself, if payerkit wrote it. notes: the kind of each row below the table that is left
    out, by its number.
    """

    names: tuple[str, ...]
    rows: pd.DataFrame = field(repr=False)
    sheet: Sheet = field(repr=False)
    header_row: int = 0
    unnamed: Mapping[int, int] = field(default_factory=dict)
    file: str = ""
    path: Path | None = None
    own: OwnFile | None = None
    notes: Mapping[int, str] = field(default_factory=dict)


def open_table(source: Any, is_known: IsKnown, *, sheet: str | None = None) -> RawTable:
    """Return the table of a file, or of a DataFrame of pandas.

    is_known: whether a text is the name of a column. sheet: its name, None for the only one that has a table. Raises
    InvalidInput for anything else, and for a file that cannot be read without guessing.
    """
    if isinstance(source, pd.DataFrame):
        rows = source.set_axis(range(source.shape[1]), axis=1)
        return RawTable(tuple(map(str, source.columns)), rows, Sheet(rows))
    read = _read_source(source, sheet=sheet)
    path = Path(source) if isinstance(source, str | Path) else None
    file = path.name if path else Path(str(getattr(source, "name", ""))).name or "the file"
    own_row = own_header(read)
    if own_row is not None:
        own = own_file([*read.cells.loc[own_row]])
        cells = own.restore(read.cells)
        names = tuple(name if isinstance(name, str) else "" for name in [*cells.loc[own_row]])
        theirs = [place for place in cells if place not in own.ours]
        rows = cells.loc[cells.index > own_row].dropna(how="all", subset=theirs)
        return RawTable(names, rows, Sheet(cells, read.notes, name=read.name), own_row, {}, file, path, own)
    header = find_header(read, is_known)
    _check_direction(read, header.names, is_known)
    rows = read.cells.loc[read.cells.index > header.row].dropna(how="all")
    notes = dict(_notes_below(rows))
    return RawTable(header.names, rows.drop([*notes]), read, header.row, header.unnamed, file, path, notes=notes)


_TOTAL = re.compile(r"(?:(?:grand |sub)?total[es]?|sum|summe|gesamt(?:summe)?|suma)(?:[\s:]|$)", re.IGNORECASE).match
_is_figure = re.compile(r"(?:[A-Z]{3})?[^\w@]*[0-9][^A-Za-z@]*(?:[A-Z]{3})?|=(?:SUM|SUBTOTAL)\(.*").fullmatch


def _notes_below(rows: pd.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield the rows at the end of a table that are no rows of it, with what they are: a row of totals, or a note.

    A row of totals has figures alone behind its name, unlike one of a payer called Suma. A note is a sentence alone in
    its row, behind a blank row.
    """
    numbers = rows.index.tolist()
    for place in range(len(numbers) - 1, 0, -1):
        texts = [text for text in rows.iloc[place].tolist() if isinstance(text, str)]
        is_apart = numbers[place] - numbers[place - 1] > 1
        if _TOTAL(texts[0]) and len(texts) <= rows.shape[1] / 2 and all(map(_is_figure, texts[1:])):
            yield numbers[place], "a row of totals"
        elif len(texts) == 1 and rows.shape[1] > 2 and is_apart and len(texts[0].split()) > 2:
            yield numbers[place], "a note"
        else:
            return


_LEAST_TURNED = 3
"""So many known names in the first column, and more than in the header, show that a table is turned."""


def _check_direction(sheet: Sheet, names: Iterable[str], is_known: IsKnown) -> None:
    """Raise InvalidInput for a table whose names stand in its first column, one a row."""
    down = sum(map(is_known, sheet.cells[0].head(_FIRST_ROWS).dropna())) if 0 in sheet.cells else 0
    if down >= _LEAST_TURNED and down > sum(map(is_known, names)) + 1:
        raise InvalidInput(
            "source: the table is turned: the names of the fields stand in its first column.",
            advice="In a spreadsheet program, copy it, and paste it with Paste Special > Transpose.",
        )


def _read_source(source: Any, *, sheet: str | None) -> Sheet:
    """Return the sheet of a file, or of an open file, whatever its name says of its kind.

    sheet: its name; None for the only one that has a table. Raises InvalidInput for a workbook with several tables, for
    a file that cannot be read, and for anything else.
    """
    content = source.read() if hasattr(source, "read") else _content_of(source)
    if isinstance(content, str) or not content.startswith(b"PK\x03\x04"):
        return Sheet(read_delimited(content))
    sheets, hidden = read_sheets(content, sheet)
    return sheets[0] if sheet is not None else _choose_sheet(sheets, hidden)


def _content_of(source: Any) -> bytes:
    if not isinstance(source, str | Path):
        raise InvalidInput(f"source: expected a file or a DataFrame of pandas, got {kind_of(source)}.")
    path = Path(source)
    if not path.is_file():
        raise InvalidInput(f"source: file {path.name} not found.")
    return path.read_bytes()


def _choose_sheet(sheets: Sequence[Sheet], hidden: Sequence[str]) -> Sheet:
    """Return the only sheet that has a table. sheets: all that are visible and have rows. hidden: names of others."""
    if not sheets and hidden:
        raise InvalidInput(
            f"source: the workbook has no visible sheet with rows; hidden are: {', '.join(hidden)}.",
            advice='Show the sheet in the file, or name it: sheet="..." (--sheet).',
        )
    if not sheets:
        raise InvalidInput(EMPTY)
    own = [sheet for sheet in sheets if own_header(sheet) is not None]
    tables = own or [sheet for sheet in sheets if _has_names(sheet)] if len(sheets) > 1 else sheets
    if len(tables) != 1:
        names = ", ".join(f"{sheet.name} ({len(sheet.cells):,} rows)" for sheet in sheets)
        raise InvalidInput(
            f"source: the workbook has several sheets: {names}.",
            advice=f'Say which one has the table, such as sheet="{sheets[0].name}" (--sheet "{sheets[0].name}").',
        )
    return tables[0]


def _has_names(sheet: Sheet) -> bool:
    """Return True if a sheet has a header with two known names or more."""
    return sum(map(is_known_header, find_header(sheet, is_known_header).names)) > 1
