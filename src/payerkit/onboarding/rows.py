"""The rows of a table as they are sent: fields by name, no blanks around texts, holders filled in, each row checked."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import pandas as pd

from payerkit.checks.inputs import strip_blanks, unwrap_secret
from payerkit.checks.readings import is_placeholder
from payerkit.checks.records import check_records
from payerkit.checks.schema import BANK_DETAILS, PAYER, SHARED_FIELDS, Schema
from payerkit.errors import FieldProblem, InvalidInput, kind_of
from payerkit.findings import Finding, Severity, table_finding
from payerkit.masking import mask
from payerkit.tables.header import (
    HOLDER_IS_PAYER,
    account_columns,
    columns_by_field,
    field_of,
    own_columns,
    payer_columns,
)
from payerkit.tables.mapping import name_columns
from payerkit.tables.normalise import findings_in, origin_of, reading_in_words
from payerkit.tables.spreadsheets import is_example
from payerkit.wire import wire_name
from payerkit.wording import in_file, visible

ID = "client_user_id"

Step = Literal["payer", "bank_details"]

Placeholders = Literal["error", "keep"]
"""What texts such as N/A are: errors, or values as any other."""

SCHEMAS: dict[Step, Schema] = {"payer": PAYER, "bank_details": BANK_DETAILS}


class Problem(NamedTuple):
    """What was found in a row: in its data for a step, or, if the step is "", in the row as a whole.

    general: the finding without the other rows that it names, None if it names none.
    """

    row: int
    finding: Finding
    step: Step | Literal[""] = ""
    general: Finding | None = None

    def column(self, columns: Mapping[Step, Mapping[str, str]]) -> str:
        """Return the column that it is about, of those of each step by field; "" for the row as a whole."""
        name = self.finding.field
        return columns.get(self.step, {}).get(name, name) if self.step else name


def of_severity(found: Iterable[Problem], *severities: Severity) -> list[Problem]:
    """Return the problems of some severities, those of the first severity first."""
    return [each for severity in severities for each in found if each.finding.severity == severity]


_SHARED_BY_ROWS = {"account_type", "beneficiary_type", "country", "currency", "nationality", "rails", "state"}
"""Fields that often have one value in all rows of a table."""


@dataclass(slots=True, eq=False)
class Row:
    """A row of a table.

    number: 0 for the first. label: in the caller's index. written_id: the client user id as it is written, "" if the
    cell is blank. data: what is sent, by field, in each step for which the row has any; blank cells are left out.
    client_user_id: the id as it is sent, None without one. payer: the number of its payer, -1 without an id; ids that
    are near duplicates are one. is_blocked: it has an error, so that it is not sent. is_held: it has none, but a
    warning for which it is kept back. is_example: it is a row of a template that nobody wrote over. payer_row: the row
    that describes its payer, preferably one that may be sent; None if no row does. account_row: the row that is sent
    for all rows with the same account of the same payer; None for one that is not sent.
    """

    number: int
    label: Any
    written_id: str = ""
    data: dict[Step, dict[str, Any]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    client_user_id: str | None = None
    payer: int = -1
    is_blocked: bool = False
    is_held: bool = False
    is_example: bool = False
    payer_row: Row | None = None
    account_row: Row | None = None

    @property
    def may_be_sent(self) -> bool:
        """Whether the row is neither blocked nor held."""
        return not (self.is_blocked or self.is_held)

    @property
    def waits_for_payer(self) -> bool:
        """Whether the row may be sent, but the row of its payer may not."""
        return self.may_be_sent and self.payer_row is not None and not self.payer_row.may_be_sent

    @property
    def is_respelled(self) -> bool:
        """Whether the id is sent as other rows write it."""
        return self.client_user_id not in {None, self.written_id}

    def add(self, finding: Finding, step: Step | Literal[""] = "", general: Finding | None = None) -> None:
        """Add what was found. general: as of a `Problem`."""
        self.problems.append(Problem(self.number, finding, step, general))

    def has_error(self, about: str | None = None) -> bool:
        """Return True if there is an error, or one about a field."""
        errors = (each.finding for each in self.problems if each.finding.severity == "error")
        return any(about is None or error.field == about for error in errors)


def read_rows(
    rows: Any, steps: Sequence[Step], *, holder_is_payer: bool, placeholders: Placeholders, takes_examples: bool
) -> tuple[list[Row], Mapping[Step, Mapping[str, str]]]:
    """Return the rows of a table, checked, and the column of each field by step.

    takes_examples: the rows of a template are no error. Raises InvalidInput for anything but a table with something to
    send that says who holds the accounts.
    """
    cells = _cells_by_column(rows)
    holders_are_payers = _take_holder(cells, default=holder_is_payer)
    columns = _columns_of_steps(cells, steps, holder_is_payer=holder_is_payer)
    read = [Row(number, label) for number, label in enumerate(rows.index)]
    for name in cells:
        _clean(name, cells[name], read)
    if not holder_is_payer:
        _require_holder(columns.get("bank_details", {}), cells)
    # In columns that are for one step alone: the others do not say whether a row has data for it.
    own = {step: own_columns(SCHEMAS[step]).intersection(columns[step].values()) for step in columns}
    given = [
        {name: cell for name, cell in zip(cells, row, strict=True) if cell is not None}
        for row in zip(*cells.values(), strict=True)
    ]
    has_payers = bool(payer_columns(cells))
    for row, values, is_payer in zip(read, given, holders_are_payers, strict=True):
        row.written_id = str(values.get(ID, ""))
        filled = [step for step in columns if not own[step].isdisjoint(values)]
        if is_payer is None:
            row.add(table_finding("choice"), "bank_details")
        elif is_payer and has_payers and "bank_details" in filled:
            _fill_holder(row, values, columns["bank_details"])
        for step in filled:
            row.data[step] = {name: values[column] for name, column in columns[step].items() if column in values}
    for step in columns:
        _check_step(step, [row for row in read if step in row.data], placeholders)
    _check_rest(read, cells[ID], placeholders)
    for row, values in zip(read, given, strict=True):
        cell, email = values.get(ID), values.get("email")
        row.is_example = isinstance(cell, str) and is_example(cell, email if isinstance(email, str) else None)
        if row.is_example and not takes_examples:
            row.add(table_finding("example_row"))
    return read, columns


def _cells_by_column(rows: Any) -> dict[str, list[Any]]:
    """Return the cells of a table by our names of its columns. Raises InvalidInput without a table or ids."""
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected a DataFrame of pandas, such as from read_payers(), got {kind_of(rows)}.")
    names = name_columns(rows.columns)
    places = {names[column]: place for place, column in enumerate(rows.columns) if column in names}
    cells: dict[str, list[Any]] = {name: rows.iloc[:, place].tolist() for name, place in places.items()}
    if ID not in cells:
        raise InvalidInput(f"The table has no column {ID}.")
    return cells


def _columns_of_steps(
    columns: Collection[str], steps: Sequence[Step], *, holder_is_payer: bool
) -> dict[Step, dict[str, str]]:
    """Return the column of each field, for each step that the table has columns of. Raises InvalidInput without any."""
    by_step = {step: columns_by_field(SCHEMAS[step], columns, holder_is_payer=holder_is_payer) for step in steps}
    found = {step: columns for step, columns in by_step.items() if columns}
    if not found:
        missing = " or of ".join({"payer": "a payer", "bank_details": "bank details"}[step] for step in steps)
        raise InvalidInput(f"The table has nothing to send: no columns of {missing}.")
    return found


def _clean(name: str, cells: list[Any], rows: Sequence[Row]) -> None:
    """Make the cells of a column what is sent: no masking types, no blanks around texts, None for each blank cell.

    Add to its row what was stripped from a cell.
    """
    schema = PAYER if name in PAYER.fields else BANK_DETAILS
    for place, cell in enumerate(cells):
        value = unwrap_secret(cell)
        if isinstance(value, str) and (not value or value[0].isspace() or value[-1].isspace()):
            text, info = strip_blanks(schema, field_of(name), value)
            value = text or None
            if info is not None:
                rows[place].add(info)
        cells[place] = value


def _check_step(step: Step, rows: Sequence[Row], placeholders: Placeholders) -> None:
    """Add to rows what the checks of a step find; of a placeholder nothing but that it is one."""
    schema, is_hidden = SCHEMAS[step], cache(partial(is_placeholder, SCHEMAS[step]))
    for row, findings in zip(rows, check_records(schema, (row.data[step] for row in rows)), strict=True):
        texts = row.data[step].items() if placeholders == "error" else ()
        hidden = [name for name, text in texts if isinstance(text, str) and is_hidden(name, text)]
        for finding in findings:
            if finding.field not in hidden:
                row.add(finding, step)
        for name in hidden:
            row.add(table_finding("placeholder", name), step)


def _check_rest(rows: Sequence[Row], ids: Sequence[Any], placeholders: Placeholders) -> None:
    """Add to rows what the checks of payers and accounts do not see: the id of another row's payer, an empty row."""
    others = [row for row in rows if "payer" not in row.data]
    for row, findings in zip(others, check_records(PAYER, ({ID: ids[row.number]} for row in others)), strict=True):
        cell = ids[row.number]
        is_hidden = placeholders == "error" and isinstance(cell, str) and is_placeholder(PAYER, ID, cell)
        of_id = [finding for finding in findings if finding.field == ID and finding.severity != "info"]
        for finding in [table_finding("placeholder", ID)] if is_hidden else of_id:
            row.add(finding)
        if not row.data:
            row.add(table_finding("nothing_to_send"))


def add_cell_findings(read: Sequence[Row], rows: Any, columns: Mapping[Step, Mapping[str, str]]) -> None:
    """Put in front of what rows have what was found in their cells when the table was read.

    What checks found in a cell with an error of the file is removed: it is about a value that nobody wrote. columns:
    those that are sent in each step, by field; a finding about any other column is left out.
    """
    fields = {step: {column: field for field, column in named.items()} for step, named in columns.items()}
    in_file = list(findings_in(rows))
    names = name_columns(rows.columns) if in_file else {}
    found: dict[int, list[Problem]] = {}
    for number, column, finding in in_file:
        name = names.get(column, column)
        steps = [step for step in fields if name in fields[step]]
        step = next((each for each in steps if each in read[number].data), steps[0] if steps else None)
        if not finding.field or (step is None and name in {ID, HOLDER_IS_PAYER}):  # or about the row as a whole
            found.setdefault(number, []).append(Problem(number, finding))
        elif step is not None:
            found.setdefault(number, []).append(Problem(number, _about(finding, fields[step][name]), step))
    for number, of_file in found.items():
        damaged = {each.column(columns) for each in of_file if each.finding.severity == "error"} - {""}
        checked = [each for each in read[number].problems if each.column(columns) not in damaged]
        read[number].problems = of_file + checked


@cache
def _about(finding: Finding, field: str) -> Finding:
    """Return a finding about a field, which it may have named by its column."""
    return replace(finding, field=field, wire_name=wire_name(field))


# Whose an account is: its holder has columns of their own, and is the payer only where somebody says so

_YES, _NO = ("yes", "true", "1", 1), ("no", "false", "0", 0)
_WORDS: dict[Hashable, bool] = dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)
"""What a cell of the column `holder_is_payer` may say; True and False are equal to 1 and 0."""


def _take_holder(cells: dict[str, list[Any]], *, default: bool) -> list[bool | None]:
    """Take out the column `holder_is_payer`; return what it says for each row, None for anything but yes and no.

    In place of that column, the table gets those of the account holder that it lacks, unless it has accounts alone.
    default: what counts if there is no such column, and where it is blank.
    """
    count = len(cells[ID])
    if HOLDER_IS_PAYER not in cells:
        return [default] * count
    found = []
    for cell in cells.pop(HOLDER_IS_PAYER):
        value = unwrap_secret(cell)
        word = value.strip().lower() if isinstance(value, str) else value
        is_blank = word is None or word == ""
        found.append(default if is_blank else _WORDS.get(word) if isinstance(word, Hashable) else None)
    for names in map(account_columns, SHARED_FIELDS) if payer_columns(cells) else ():
        if cells.keys().isdisjoint(names):
            cells[names[0]] = [None] * count
    return found


def _require_holder(columns: Mapping[str, str], cells: Mapping[str, Sequence[Any]]) -> None:
    """Raise InvalidInput that names the columns to add, if a table with payers lacks those of the account holder.

    A table without a cell in a column for bank details alone has no accounts. columns: of bank details, by field.
    """
    lacking = [name for name, field in BANK_DETAILS.fields.items() if field.required and name not in columns]
    own = own_columns(BANK_DETAILS).intersection(columns.values())
    has_accounts = any(cell is not None for column in own for cell in cells[column])
    if not has_accounts or not payer_columns(cells) or SHARED_FIELDS.keys().isdisjoint(lacking):
        return
    advice = (
        "Add these columns. If all account holders are payers themselves, pass holder_is_payer=True "
        f"(--holder-is-payer); if some are, add a column {HOLDER_IS_PAYER} with yes or no."
    )
    if of_payers := [name for name in payer_columns(cells) if name in own_columns(PAYER)]:
        advice += f" If the table has no payers, leave out their columns: {', '.join(of_payers)}."
    advice += f" If it has no accounts, leave out {', '.join(name for name in cells if name in own)}."
    missing = [(account_columns(name)[0], f"Missing. {BANK_DETAILS.fields[name].full_help}") for name in lacking]
    raise InvalidInput(
        "The table has payers and accounts, but not all columns of the account holder, who is the payee; columns such "
        "as country are the payer's.",
        fields=tuple(FieldProblem(name, wire_name(name), words, "column_missing") for name, words in missing),
        advice=advice,
    )


def _fill_holder(row: Row, values: dict[str, Any], columns: Mapping[str, str]) -> None:
    """Fill the holder's columns of a row with the payer's; add a finding for each cell that contradicts that.

    columns: of bank details, by field. A field without a column of its own needs none: the payer's column serves it.
    """
    is_described = not own_columns(PAYER).isdisjoint(values)
    for name, column in columns.items():
        source = SHARED_FIELDS.get(name, column)
        cell, payer = values.get(column), values.get(source)
        if cell is None and payer is not None:
            values[column] = payer
        elif str(cell) != str(payer) and (payer is not None or is_described):
            row.add(table_finding("holder_differs", name, column, source), "bank_details")


# What rows, columns and cells are called in the file that they were read from

_ALL, _FIRST = 5, 3
"""Up to so many rows all are named; of more rows the first."""


class Naming:
    """The names of a table's columns, rows and cells in the file that it was read from.

    columns: the table's column of each field, by step. labels: those of the rows. origin: where the table comes from.
    letters: of each column that is in the file; empty if the rows do not have the file's numbers. readings: what
    normalise=True would write, by row and column, masked; "" for a cell that it would clear. normalise: how the reader
    says that. found: the problems of the rows.
    """

    def __init__(self, rows: Any, columns: Mapping[Step, Mapping[str, str]], found: Iterable[Problem]) -> None:
        self.columns, self.labels, self.origin = columns, rows.index, origin_of(rows)
        self.normalise = "normalise=True"
        self.letters: dict[str, str] = {}
        self.readings: dict[tuple[int, str], str] = {}
        if not self.origin.file or self.labels.name != "row" or not self.labels.is_unique:
            return
        self.letters = {name: each.letters for name, each in self.origin.by_name.items() if name in rows.columns}
        for each in found if self.letters else ():
            key = (self.labels[each.row], column := each.column(columns))
            if each.finding.severity != "info" and key in self.origin.readings:
                self.readings[each.row, column] = reading_in_words(column, self.origin.readings[key])

    def numbers(self, rows: Sequence[int]) -> list[Any]:
        """Return the numbers of rows in the file, else their labels; those of a corrections file differ from labels."""
        labels = self.labels.take(rows).tolist()
        return [self.origin.rows.get(label, label) for label in labels] if self.letters and self.origin.rows else labels

    def hint(self, problem: Problem) -> str:
        """Return what to do about a problem, and if that is so, that the table has no column for it."""
        finding, hint = problem.finding, problem.finding.hint
        if self.letters:
            hint = in_file(hint)
            if problem.step and finding.field and finding.field not in self.columns.get(problem.step, {}):
                hint = f"{'' if finding.code == 'required' else hint} There is no column for it.".lstrip()
                if finding.code == "required" and finding.field in _SHARED_BY_ROWS:
                    hint += f" If all rows have one value, use {self.constant(problem)}."
        return hint

    def constant(self, problem: Problem) -> str:
        """Return how a person gives all rows one value for the field of a problem, as an option or an argument."""
        name = problem.finding.field
        if problem.step == "bank_details" and "payer" in self.columns:
            name = account_columns(name)[0]
        return f"--set {name}=..." if self.normalise.startswith("-") else f'defaults={{"{name}": ...}}'

    def place(self, problem: Problem) -> tuple[str, str, str]:
        """Return the cell of a problem, "" if it has none, the sender's name of its column, and what to do."""
        column = problem.column(self.columns)
        hint = self.with_readings(self.hint(problem), column, [problem.row])
        letters = self.letters.get(column, "")
        cell = f"{letters}{self.numbers([problem.row])[0]}" if letters else ""
        return cell, self.origin.shown_header(column), hint

    def texts(self, found: Iterable[Problem]) -> list[str]:
        """Return the problems of each row as text, "" for none: errors in words, others with severity and code, too."""
        texts: list[list[str]] = [[] for _ in self.labels]
        for each in found:
            finding, (cell, header, hint) = each.finding, self.place(each)
            start = f"{header} ({cell})" if cell else header
            text = f"{start}: {finding.message} {hint}".removeprefix(": ").rstrip()
            texts[each.row].append(
                text if finding.severity == "error" else f"{finding.severity} {text} [{finding.code}]"
            )
        return list(map("; ".join, texts))

    def where(self, column: str, rows: Sequence[int]) -> str:
        """Return the cells of a column in some rows, else the labels of these rows: the first, and how many follow."""
        has_cells = column in self.letters
        if not has_cells and len(rows) == len(self.labels) > _ALL:
            return "all rows"
        shown = rows[: _ALL if len(rows) <= _ALL else _FIRST]
        numbers = self.numbers(shown)
        names = [f"{self.letters[column]}{number}" if has_cells else str(shown_id(number)) for number in numbers]
        more = f" and {len(rows) - len(shown):,} more" if len(rows) > len(shown) else ""
        noun = "" if has_cells else "row " if len(rows) == 1 else "rows "
        return f"{noun}{', '.join(names)}{more}"

    def with_readings(self, hint: str, column: str, rows: Sequence[int]) -> str:
        """Return what to do about the cells of a column in some rows, with what normalise=True would do about them."""
        found = [self.readings[row, column] for row in rows if (row, column) in self.readings] if self.readings else []
        if not found:
            return hint
        several = "them all" if len(found) == len(rows) else f"{len(found):,} of them"
        own = f"{self.normalise} would write {several} in the right form."
        if len(found) == len(rows) and len(set(found)) == 1:
            own = f"{self.normalise} would {f'write {found[0]}' if found[0] else 'clear the cell'}."
        return f"{hint} {own}".lstrip()


def shown_id(value: Any) -> Any:
    """Return a client user id, or a row's label, which may be one, as it may be shown."""
    if value is None or value is pd.NA:
        return value
    return visible(str(mask("clientUserId", value)))
