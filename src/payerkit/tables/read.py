"""Read tables of payers and accounts as people have them: columns named by field, cells
as text, nothing guessed.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from payerkit.cells import is_blank
from payerkit.checks.dates import (
    DateOrder,
    file_date_order,
    has_two_readings,
    is_impossible,
    is_year_day_month,
    swap_day,
)
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.frames import columns, frame_of
from payerkit.masking import mask
from payerkit.models.requests import BankDetails, Payer
from payerkit.redaction import MASK
from payerkit.tables.columns import FIRST_ROWS, stop_word
from payerkit.tables.corrections import OwnFile, own_file, own_header
from payerkit.tables.damage import cell_findings, file_finding, find_text_damage
from payerkit.tables.header import (
    OUR_NAMES,
    Header,
    IsKnown,
    field_of,
    find_header,
    holds_days,
    is_known_header,
    own_columns,
    payer_columns,
)
from payerkit.tables.mapping import ColumnMapping, Mapped, hint_for
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
    header_row: int | None = None,
    encoding: str | None = None,
    normalise: bool = False,
    date_order: DateOrder | None = None,
    defaults: Defaults | None = None,
) -> SourceTable:
    """Read a table of payers, with or without columns of bank details, as it is; every
    cell stays text.

    A header is known by its field name (`first_name`), its wire name (`firstName`), its
    title in a form, and by what people and payout tools write, in English, German,
    Spanish and French; in some twenty languages more by the most usual words. One that
    may mean several fields is never guessed: the error prints the mapping to paste. If
    the table has payers, columns such as `country` are the payer's, and the account
    holder's have `bank_` in front (`bank_country`).

    Titles above the header, blank rows and rows without any data are left out; leading
    zeros, and Namibia (NA), stay. What a spreadsheet or an encoding did to a cell is
    found: `plan_onboarding` shows it, and `onboard` does not send the row until it is
    corrected.

    Args:
        source: A path to an Excel (.xlsx, .xlsm) or text file (.csv, .tsv, .txt), or an
            open one, of which the content counts rather than its name; or a DataFrame.
        mapping: A dict with the field of each column that has another name, such as
            `{"Name": "last_name"}`; None as field leaves the column out. Or that of
            another table: `table.mapping`.
        sheet: Name of the sheet, if several have a table.
        header_row: Number of the row in the file with the names of the columns, from 1.
            Default: detected in the first 40 rows.
        encoding: Of a text file, such as "cp1250"; a workbook needs none. Default:
            detected by the words of the file.
        normalise: Rewrite cells that have exactly one meaning, such as 31.12.1985 or
            Germany. `changes` of the table and of its plan list every change.
        date_order: "day_first" or "month_first", for dates such as 03/04/1985; None: as
            the other dates of the column show, if they do.
        defaults: Values of fields for all rows in which they are blank, such as
            `{"currency": "USD"}`; the file needs no column for them.

    Returns:
        A DataFrame with columns named by field, which also knows its `mapping` and its
        `changes`. From a CSV or Excel
        file: columns of dtype str, missing where blank, and an index `row` with the row
            numbers of the file. From a
        DataFrame: its cells and its index.

    Raises:
        InvalidInput: For columns that are not known or not certain, with the mapping to
            paste; for several sheets with a table; and for a file that cannot be read
            without guessing, such as one with a quote that is not closed.
        ImportError: If the library that Excel files need is not installed.

    Example:
        >>> table = pd.DataFrame(
        ...     {"Customer ID": ["007"], "ZIP": ["01234"], "Given name": ["Jane"]}
        ... )
        >>> read_payers(table)
          client_user_id postcode first_name
        0            007    01234       Jane
    """
    if isinstance(mapping, ColumnMapping):
        chosen = mapping.chosen
    else:
        chosen = {str(name): column for name, column in dict(mapping or {}).items()}
    if not isinstance(normalise, bool):
        raise InvalidInput(
            f"normalise: expected True or False, got {kind_of(normalise)}."
        )
    if date_order is not None and date_order not in get_args(DateOrder):
        raise InvalidInput('date_order: expected "day_first", "month_first" or None.')
    raw = open_table(
        source,
        lambda text: text in chosen or is_known_header(text),
        sheet=sheet,
        header_row=header_row,
        encoding=encoding,
    )
    if raw.own:  # the settings of the original file hold, unless others are given
        settings = raw.own.token.settings
        normalise = normalise or settings.get("normalise", False)
        date_order = date_order or settings.get("date_order")
        if defaults is None:
            defaults = settings.get("defaults", {})
    checked = _checked_defaults(defaults or {})
    return _read(
        raw, chosen, normalise=normalise, date_order=date_order, defaults=checked
    )


def _checked_defaults(defaults: Mapping[str, Any]) -> dict[str, str]:
    """Return the defaults by our columns. Raises InvalidInput for one that is no text,
    or for no field.
    """
    for name, value in defaults.items():
        if name not in OUR_NAMES:
            raise InvalidInput(
                f"defaults: {name} is not a field of a payer or of bank"
                f" details.{hint_for(str(name))}"
            )
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(
                f"defaults: {name}: expected a text that is not blank, got"
                f" {kind_of(value)}."
            )
    return {OUR_NAMES[name]: value for name, value in defaults.items()}


@without_internal_frames
def read_bank_details(
    source: Any,
    *,
    mapping: Mapped | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    encoding: str | None = None,
    normalise: bool = False,
    date_order: DateOrder | None = None,
    defaults: Defaults | None = None,
) -> SourceTable:
    """Read a table of bank accounts, one a row, of payers who are on board; every cell
    stays text.

    Args:
        source: As for `read_payers`; a column `client_user_id` names the payer of each
            account.
        mapping: As for `read_payers`.
        sheet: As for `read_payers`.
        header_row: As for `read_payers`.
        encoding: As for `read_payers`.
        normalise: As for `read_payers`.
        date_order: As for `read_payers`.
        defaults: As for `read_payers`.

    Returns:
        The table, as `read_payers` returns it.

    Raises:
        InvalidInput: As `read_payers`, and if there is no column `client_user_id`.
        ImportError: If the library that Excel files need is not installed.

    Example:
        >>> read_bank_details(
        ...     pd.DataFrame(
        ...         {"Customer ID": ["user-123"], "IBAN": ["DE89370400440532013000"]}
        ...     )
        ... )
          client_user_id                    iban
        0       user-123  DE89370400440532013000
    """
    table = read_payers(
        source,
        mapping=mapping,
        sheet=sheet,
        header_row=header_row,
        encoding=encoding,
        normalise=normalise,
        date_order=date_order,
        defaults=defaults,
    )
    if "client_user_id" not in table.columns:
        raise InvalidInput(
            "The table has no column client_user_id, which names the payer of each"
            " account."
        )
    return table


@without_internal_frames
def propose_mapping(
    source: Any,
    *,
    sheet: str | None = None,
    header_row: int | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """Return which column of a file is which of ours: certain, or proposed for a person
    to decide.

    Args:
        source: As for `read_payers`.
        sheet: As for `read_payers`.
        header_row: As for `read_payers`.
        encoding: As for `read_payers`.

    Returns:
        A DataFrame with one row a column of the file, by its header: our `field`, the
        likeliest if the column `is_open`, and None for one to leave out; the `problem`
        of an open column; and its `first_values`, where they may be personal with X
        and x for letters and 0 for digits. What is open, you decide:
        `read_payers(source, mapping={"Konto": "iban", "Notes": None})`.

    Raises:
        InvalidInput: For a file that cannot be read, or has no header.
        ImportError: If the library that such files need is not installed.

    Example:
        >>> table = pd.DataFrame(
        ...     {"Vorname": ["Example"], "Kto": ["0123456789"], "Bank code": ["001"]}
        ... )
        >>> propose_mapping(table)[["field", "first_values"]]
                            field first_values
        header
        Vorname        first_name      Xxxxxxx
        Kto        account_number     ••••6789
        Bank code       bank_code          001
    """
    raw = open_table(
        source, is_known_header, sheet=sheet, header_row=header_row, encoding=encoding
    )
    mapping = _map_columns(raw, {})
    if mapping.looks_personal:
        mapping.check(is_in_file=bool(raw.file))
    proposals = mapping.proposals
    proposed = [
        {
            "field": proposals.get(each.key, each.column),
            "is_open": each.is_open,
            "problem": each.problem if each.is_open else "",
            "first_values": ", ".join(_examples(each.column, raw.rows[each.place])),
        }
        for each in mapping.columns
    ]
    headers = [each.shown_key for each in mapping.columns]
    return frame_of(proposed, _PROPOSED, index=pd.Index(headers, name="header"))


_PROPOSED = columns(
    "field is_open problem first_values", object="field", bool="is_open"
)


def _read(
    raw: RawTable,
    chosen: Mapped,
    *,
    normalise: bool,
    date_order: DateOrder | None,
    defaults: Defaults,
) -> SourceTable:
    """Return a table whose columns are named by field, and whose cells are rewritten
    where there is consent.
    """
    mapping = _map_columns(raw, chosen).check(is_in_file=bool(raw.file))
    rows = raw.rows
    numbers: dict[Hashable, int] = {}
    known: list[FoundInCell] = []
    kept: dict[Hashable, frozenset[str]] = {}
    if raw.own:
        numbers, known, kept = raw.own.identify(rows)
        rows = rows.set_axis(pd.Index([*numbers], name="row"))
    frame = rows[list(mapping.fields)].set_axis(list(mapping.fields.values()), axis=1)
    frame = _filled(frame, defaults)
    found, readings = _read_cells(raw, mapping.fields, frame, known, date_order)
    found += [*_stop_words(raw, mapping), *_without_payers(frame)]
    labels = frame.index.tolist()
    cells = {name: frame[name].tolist() for name in frame.columns}
    readings = {
        (place, name): after
        for (place, name), after in readings.items()
        if cells[name][place].strip() not in kept.get(labels[place], ())
    }
    rewritten: Readings = {}
    if normalise:
        rewritten = readings
        readings = {}
    findings: dict[CellFinding, None] = {}  # each once
    for place, name, finding in found:
        text = cells[name][place]
        findings[
            CellFinding(
                labels[place], name, text if isinstance(text, str) else None, finding
            )
        ] = None
    origin = Origin(
        file=raw.file,
        path=raw.path,
        sheet=raw.sheet.name,
        header_row=raw.header.row,
        columns=tuple(
            each
            for each in mapping.all_columns
            if each.place not in (raw.own.ours if raw.own else ())
        ),
        cells=rows,
        findings=tuple(findings),
        changes=tuple(
            Change(labels[place], name, cells[name][place], after or None)
            for (place, name), after in rewritten.items()
        ),
        readings={
            (labels[place], name): after for (place, name), after in readings.items()
        },
        settings={
            "normalise": normalise,
            "date_order": date_order,
            "defaults": dict(defaults),
        },
        notes=raw.notes,
        rows=numbers,
        last_label=(raw.own.token.last or 0) if raw.own else 0,
        mapping=mapping,
        kept=kept,
    )
    return SourceTable.of(rewrite(frame, rewritten), origin)


def _filled(frame: pd.DataFrame, defaults: Defaults) -> pd.DataFrame:
    """Return a table with the default of a field in each cell of it that is blank."""
    blank = {}
    for name, text in defaults.items():
        if name not in frame:
            frame = frame.assign(**{name: text})
            continue
        for place, cell in enumerate(frame[name]):
            if is_blank(cell) or (isinstance(cell, str) and not cell.strip()):
                blank[place, name] = text
    return rewrite(frame, blank)


def _stop_words(raw: RawTable, mapping: ColumnMapping) -> Iterator[FoundInCell]:
    """Yield the rows of which a column that is left out says that they are not to be
    paid.
    """
    first = next(iter(mapping.fields.values()), "")
    for column in mapping.columns:
        if column.column is not None:
            continue
        for place, text in enumerate(raw.rows[column.place].tolist()):
            word = stop_word(text)
            if word:
                name = column.shown_header or column.letters
                finding = file_finding("left_out_says_stop", "", name, word)
                yield place, first, finding


def _without_payers(frame: pd.DataFrame) -> Iterator[FoundInCell]:
    """Yield the rows with an account and no payer, below others with a payer."""
    if _ID not in frame or not payer_columns(frame.columns):
        return
    accounts = frame[[name for name in frame if name in own_columns(BankDetails)]]
    payers = frame[[name for name in frame if name in own_columns(Payer)]]
    has_account = accounts.notna().any(axis=1).tolist()
    has_payer = (frame[_ID].notna() | payers.notna().any(axis=1)).tolist()
    for place in range(1, len(frame)):
        if has_account[place] and not has_payer[place] and any(has_payer[:place]):
            yield place, _ID, file_finding("fill_down", _ID)


_ID = "client_user_id"
_EXAMPLES = 3
_MAX_EXAMPLE = 24


def _map_columns(raw: RawTable, chosen: Mapped) -> ColumnMapping:
    """Return which column of a file is which of ours; choices may be wrong, or missing.

    The columns of a corrections file are what they were at first. payerkit's own are
    blank.
    """
    names = raw.header.names
    if raw.own:
        theirs = {names[place] for place in raw.own.columns}
        added = {key: column for key, column in chosen.items() if key not in theirs}
        chosen = added | {
            f"({column_letters(place)})": column
            for place, column in raw.own.columns.items()
        }
        names = [
            "" if place in raw.own.ours else name for place, name in enumerate(names)
        ]
    first = raw.rows.head(FIRST_ROWS)
    values = {
        place: [None if is_blank(cell) else str(cell) for cell in first[place].tolist()]
        for place in range(len(names))
    }
    return ColumnMapping(names, chosen, unnamed=raw.header.unnamed, values=values)


def _examples(column: str | None, cells: pd.Series[Any]) -> tuple[str, ...]:
    """Return the first different values of a column: their shape if they are, or may
    be, personal.
    """
    texts = [" ".join(str(cell).split()) for cell in cells.head(FIRST_ROWS).dropna()]
    examples = dict.fromkeys(_example(column, text) for text in texts if text)
    return tuple(examples)[:_EXAMPLES]


def _example(column: str | None, text: str) -> str:
    masked = MASK
    if column is not None:
        masked = mask(field_of(column), text)
    if masked == MASK:
        # Its shape: X and x in place of letters, 0 in place of digits.
        masked = re.sub(r"\d", "0", text)
        masked = re.sub(r"[^\W\d_]", _letter, masked)
    return masked if len(masked) <= _MAX_EXAMPLE else f"{masked[:_MAX_EXAMPLE]}…"


def _letter(match: re.Match[str]) -> str:
    return "X" if match.group().isupper() else "x"


def _read_cells(
    raw: RawTable,
    fields: Mapping[int, str],
    frame: pd.DataFrame,
    known: Sequence[FoundInCell],
    date_order: DateOrder | None,
) -> tuple[list[FoundInCell], Readings]:
    """Return the findings about the cells of a table, and their new values: repaired,
    then read as one value.

    known: what a corrections file says of its cells. A cell whose original value is
    lost has no reading: its error holds only as long as the text stays. With a given
    date order, ambiguous dates count as corrected.
    """
    damage, repaired = _find_damage(raw, fields, frame)
    days = [name for name in frame.columns if holds_days(name)]
    cells = frame[days].to_numpy().ravel()
    texts = [cell for cell in cells if isinstance(cell, str)]
    readings = dict[tuple[int, str], str | None](repaired)
    readings |= readings_of(
        rewrite(frame, repaired), date_order or file_date_order(texts)
    )
    lost = [*known, *(each for each in damage if each[:2] not in repaired)]
    for place, name, finding in lost:
        if finding.severity == "error" and finding.code != _DATE_ORDER:
            readings.pop((place, name), None)
    found = [*known, *damage]
    for name in days:
        found += _judge_days(name, frame[name].tolist(), readings)
    return found, readings


def _judge_days(
    name: str, cells: Sequence[Any], readings: dict[tuple[int, str], str | None]
) -> Iterator[FoundInCell]:
    """Yield what is wrong with the days of a column, and add what swapped ones mean to
    the readings.
    """
    are_swapped = is_year_day_month(cells)
    for place, text in enumerate(cells):
        if not isinstance(text, str):
            continue
        code = ""
        day = swap_day(text) if are_swapped else None
        if day:
            code = "day_month_swapped"
            readings[place, name] = day
        elif (place, name) not in readings and has_two_readings(text):
            code = _DATE_ORDER
        elif is_impossible(text):
            code = "no_such_day"
        if code:
            yield place, name, file_finding(code, field_of(name))


def _find_damage(
    raw: RawTable, fields: Mapping[int, str], frame: pd.DataFrame
) -> tuple[list[FoundInCell], dict[tuple[int, str], str]]:
    """Return the damage of a table's cells, and by place and column the only text that
    a damaged one can mean.
    """
    first_row = 0
    rows: Iterable[int] = range(len(raw.rows))
    if raw.file:
        first_row = raw.header.row + 1
        rows = raw.rows.index
    places = {row: place for place, row in enumerate(rows)}
    found = [
        (places[row], fields[column], finding)
        for row, column, finding in cell_findings(raw.sheet, first_row, fields)
        if row in places
    ]
    seen = {each[:2] for each in found}
    repaired = {}
    for place, name, damage in find_text_damage(frame.reset_index(drop=True)):
        if (place, name) in seen:
            continue
        finding = file_finding(damage.code, field_of(name), *damage.words)
        found.append((place, name, finding))
        if damage.repaired is not None:
            repaired[place, name] = damage.repaired
    return found, repaired


# The table as it stands in its file, before anything is understood


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table before its columns are named.

    header: in row 0 for a DataFrame. rows: those below the header, all columns by
    number. sheet: the cells as they were read, with notes. file: its name, "" for a
    DataFrame. own: what the file says about itself, if payerkit wrote it. notes: the
    kind of each row below the table that is left out, by its number.
    """

    header: Header
    rows: pd.DataFrame = field(repr=False)
    sheet: Sheet = field(repr=False)
    file: str = ""
    path: Path | None = None
    own: OwnFile | None = None
    notes: Mapping[int, str] = field(default_factory=dict)


def open_table(
    source: Any,
    is_known: IsKnown,
    *,
    sheet: str | None = None,
    header_row: int | None = None,
    encoding: str | None = None,
) -> RawTable:
    """Return the table of a file, or of a DataFrame of pandas.

    is_known: whether a text is the name of a column. sheet: its name, None for the only
    one that has a table. Raises InvalidInput for anything else, and for a file that
    cannot be read without guessing.
    """
    is_row = type(header_row) is int and header_row > 0
    if header_row is not None and not is_row:
        raise InvalidInput("header_row: expected the number of a row of the file.")
    if isinstance(source, pd.DataFrame):
        rows = source.set_axis(range(source.shape[1]), axis=1)
        header = Header(0, [str(name) for name in source.columns], {})
        return RawTable(header, rows, Sheet(rows.reset_index(drop=True)))
    read = _read_source(source, sheet, header_row, encoding)
    path = Path(source) if isinstance(source, str | Path) else None
    file = Path(str(getattr(source, "name", path or ""))).name or "the file"
    own_row = own_header(read)
    if own_row is not None:
        return _open_own(read, own_row, file, path)
    header = find_header(read, is_known, header_row)
    _check_direction(read, header.names, is_known)
    rows = read.cells.loc[read.cells.index > header.row].dropna(how="all")
    notes = dict(_notes_below(rows))
    return RawTable(header, rows.drop([*notes]), read, file, path, notes=notes)


def _open_own(sheet: Sheet, header_row: int, file: str, path: Path | None) -> RawTable:
    """Return the table of a corrections file."""
    own = own_file([*sheet.cells.loc[header_row]])
    cells = own.restore(sheet.cells)
    names = ["" if is_blank(name) else str(name) for name in cells.loc[header_row]]
    theirs = [place for place in cells if place not in own.ours]
    rows = cells.loc[cells.index > header_row].dropna(how="all", subset=theirs)
    restored = Sheet(cells, sheet.notes, name=sheet.name)
    return RawTable(Header(header_row, names, {}), rows, restored, file, path, own)


_TOTAL = re.compile(
    r"(?:(?:grand |sub)?total[es]?|sum|summe|gesamt(?:summe)?|suma)(?:[\s:]|$)",
    re.IGNORECASE,
).match
_is_figure = re.compile(
    r"(?:[A-Z]{3})?[^\w@]*[0-9][^A-Za-z@]*(?:[A-Z]{3})?|=(?:SUM|SUBTOTAL)\(.*"
).fullmatch


def _notes_below(rows: pd.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield the rows at the end of a table that are no rows of it, with what they are:
    a row of totals, or a note.

    A row of totals has figures alone behind its name, unlike one of a payer called
    Suma. A note is a sentence alone in its row, behind a blank row.
    """
    numbers = rows.index.tolist()
    width = rows.shape[1]
    for place in range(len(numbers) - 1, 0, -1):
        first, *others = [
            text for text in rows.iloc[place].tolist() if isinstance(text, str)
        ]
        are_figures = all(_is_figure(text) for text in others)
        is_apart = numbers[place] - numbers[place - 1] > 1
        is_sentence = len(first.split()) > 2
        if _TOTAL(first) and are_figures and 1 + len(others) <= width / 2:
            yield numbers[place], "a row of totals"
        elif not others and is_apart and is_sentence and width > 2:
            yield numbers[place], "a note"
        else:
            return


_LEAST_TURNED = 3
"""So many known names in the first column, and more than in the header, show that a
table is turned.
"""


def _check_direction(sheet: Sheet, names: Iterable[str], is_known: IsKnown) -> None:
    """Raise InvalidInput for a table whose names stand in its first column, one a
    row.
    """
    first = sheet.cells.iloc[:, 0].head(FIRST_ROWS).dropna()
    down = sum(is_known(text) for text in first)
    across = sum(is_known(name) for name in names)
    if down >= _LEAST_TURNED and down > across + 1:
        raise InvalidInput(
            "source: the table is turned: the names of the fields stand in its first"
            " column.",
            advice=(
                "In a spreadsheet program, copy it, and paste it with Paste Special >"
                " Transpose."
            ),
        )


def _read_source(
    source: Any, sheet: str | None, header_row: int | None, encoding: str | None
) -> Sheet:
    """Return the sheet of a file, or of an open file, whatever its name says of its
    kind.

    sheet: its name; None for the only one that has a table. Raises InvalidInput for a
    workbook with several tables, for a file that cannot be read, and for anything else.
    """
    content = source.read() if hasattr(source, "read") else _content_of(source)
    _check_length(len(content))
    if isinstance(content, str) or not content.startswith(b"PK\x03\x04"):
        return Sheet(read_delimited(content, encoding=encoding, header_row=header_row))
    sheets, hidden = read_sheets(content, sheet)
    return sheets[0] if sheet is not None else _choose_sheet(sheets, hidden)


def _content_of(source: Any) -> bytes:
    if not isinstance(source, str | Path):
        raise InvalidInput(
            f"source: expected a file or a DataFrame of pandas, got {kind_of(source)}."
        )
    path = Path(source)
    if not path.is_file():
        raise InvalidInput(f"source: file {path.name} not found.")
    _check_length(path.stat().st_size)
    return path.read_bytes()


MAX_LENGTH = 100_000_000
"""Bytes or characters of a file. One with 20,000 rows has some 10 million."""


def _check_length(length: int) -> None:
    """Raise InvalidInput for a file that is too large to be read into memory."""
    if length > MAX_LENGTH:
        raise InvalidInput(
            f"source: the file has {length / 10**6:,.0f} MB; at most"
            f" {MAX_LENGTH // 10**6} MB are read.",
            advice="Split the table, or read it with pandas and pass the DataFrame.",
        )


def _choose_sheet(sheets: Sequence[Sheet], hidden: Sequence[str]) -> Sheet:
    """Return the only sheet that has a table. sheets: all that are visible and have
    rows. hidden: names of others.
    """
    if not sheets and hidden:
        raise InvalidInput(
            "source: the workbook has no visible sheet with rows; hidden are:"
            f" {', '.join(hidden)}.",
            advice='Show the sheet in the file, or name it: sheet="..." (--sheet).',
        )
    if not sheets:
        raise InvalidInput(EMPTY)
    tables = sheets
    if len(sheets) > 1:
        tables = [sheet for sheet in sheets if own_header(sheet) is not None]
        tables = tables or [sheet for sheet in sheets if _has_names(sheet)]
    if len(tables) != 1:
        names = ", ".join(
            f"{sheet.name} ({len(sheet.cells):,} rows)" for sheet in sheets
        )
        raise InvalidInput(
            f"source: the workbook has several sheets: {names}.",
            advice=(
                f'Say which one has the table, such as sheet="{sheets[0].name}"'
                f' (--sheet "{sheets[0].name}").'
            ),
        )
    return tables[0]


def _has_names(sheet: Sheet) -> bool:
    """Return True if a sheet has a header with two known names or more."""
    names = find_header(sheet, is_known_header).names
    return sum(is_known_header(name) for name in names) > 1
