"""The rows of a table as they are sent: fields by name, no blanks around texts, holders
filled in, each row checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, NamedTuple

import pandas as pd

from payerkit.cells import unwrap_secret
from payerkit.checks.placeholders import is_placeholder, may_be_name
from payerkit.checks.readings import strip_blanks
from payerkit.checks.records import check_records, hint_for_column
from payerkit.errors import FieldProblem, InvalidInput, kind_of
from payerkit.findings import Finding, Severity, table_finding
from payerkit.masking import mask
from payerkit.models.base import RequestModel
from payerkit.models.fields import fields_of
from payerkit.models.requests import SHARED_FIELDS, BankDetails, Payer
from payerkit.tables.header import (
    HOLDER_IS_PAYER,
    account_columns,
    columns_by_field,
    field_of,
    own_columns,
    payer_columns,
)
from payerkit.tables.mapping import name_columns
from payerkit.tables.normalise import (
    findings_in,
    has_labels_of_file,
    kept_words,
    origin_of,
    reading_in_words,
)
from payerkit.tables.spreadsheets import is_example
from payerkit.wire import wire_name
from payerkit.wording import visible

ID = "client_user_id"

Step = Literal["payer", "bank_details"]

Placeholders = Literal["error", "keep"] | Collection[str]
"""What texts such as N/A are: errors, or values as any other; or those that are
values.
"""

MODELS: dict[Step, type[RequestModel]] = {"payer": Payer, "bank_details": BankDetails}
NOUNS: dict[Step, str] = {"payer": "payer", "bank_details": "account"}
"""What is sent in each step, as texts name it."""


class Problem(NamedTuple):
    """What was found in a row: in its data for a step, or, if the step is "", in the
    row as a whole.

    general: the finding without the other rows that it names, None if it names none.
    """

    row: int
    finding: Finding
    step: Step | Literal[""] = ""
    general: Finding | None = None

    def column(self, columns: Mapping[Step, Mapping[str, str]]) -> str:
        """Return the column that it is about, of those of each step by field; "" for
        the row as a whole.
        """
        name = self.finding.field
        if not self.step:
            return name
        return columns.get(self.step, {}).get(name, name)


def of_severity(found: Iterable[Problem], *severities: Severity) -> list[Problem]:
    """Return the problems of some severities, those of the first severity first."""
    chosen: list[Problem] = []
    for severity in severities:
        chosen += [each for each in found if each.finding.severity == severity]
    return chosen


_SHARED_BY_ROWS = {
    "account_type",
    "beneficiary_type",
    "country",
    "currency",
    "nationality",
    "rails",
    "state",
}
"""Fields that often have one value in all rows of a table."""


@dataclass(slots=True, eq=False)
class Row:
    """A row of a table.

    number: 0 for the first. label: in the caller's index. client_user_id: None if the
    cell is blank. data: what is sent, by field, in each step for which the row has any;
    blank cells are left out. payer: the number of its payer, -1 without an id.
    is_blocked: it has an error, so that it is not sent. is_held: it has none, but a
    warning for which it is kept back. is_example: it is a row of a template that nobody
    wrote over. payer_row: the row that describes its payer, preferably one that may be
    sent; None if no row does. account_row: the row that is sent for all rows with the
    same account of the same payer; None for one that is not sent.
    """

    number: int
    label: Any
    client_user_id: str | None = None
    data: dict[Step, dict[str, Any]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
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
        return (
            self.may_be_sent
            and self.payer_row is not None
            and not self.payer_row.may_be_sent
        )

    def add(
        self,
        finding: Finding,
        step: Step | Literal[""] = "",
        general: Finding | None = None,
    ) -> None:
        """Add what was found. general: as of a `Problem`."""
        self.problems.append(Problem(self.number, finding, step, general))

    def has_error(self, about: str | None = None) -> bool:
        """Return True if there is an error, or one about a field."""
        errors = (
            each.finding for each in self.problems if each.finding.severity == "error"
        )
        return any(about is None or error.field == about for error in errors)


def read_rows(
    rows: Any,
    steps: Sequence[Step],
    *,
    holder_is_payer: bool,
    placeholders: Placeholders,
    takes_examples: bool,
) -> tuple[list[Row], Mapping[Step, Mapping[str, str]]]:
    """Return the rows of a table, checked, and the column of each field by step.

    takes_examples: the rows of a template are no error. Raises InvalidInput for
    anything but a table with something to send that says who holds the accounts.
    """
    cells = _cells_by_column(rows)
    holders_are_payers = _take_holder(cells, default=holder_is_payer)
    columns = _columns_of_steps(cells, steps, holder_is_payer=holder_is_payer)
    read = [Row(number, label) for number, label in enumerate(rows.index)]
    for name in cells:
        _clean(name, cells[name], read)
    if not holder_is_payer:
        _require_holder(columns.get("bank_details", {}), cells)
    # In columns that are for one step alone: the others do not say whether a row has
    # data for it.
    own = {
        step: own_columns(MODELS[step]).intersection(columns[step].values())
        for step in columns
    }
    given = [
        {name: cell for name, cell in zip(cells, row, strict=True) if cell is not None}
        for row in zip(*cells.values(), strict=True)
    ]
    has_payers = bool(payer_columns(cells))
    for row, values, is_payer in zip(read, given, holders_are_payers, strict=True):
        if ID in values:
            row.client_user_id = str(values[ID])
        filled = [step for step in columns if not own[step].isdisjoint(values)]
        if is_payer is None:
            row.add(table_finding("choice"), "bank_details")
        elif is_payer and has_payers and "bank_details" in filled:
            _fill_holder(row, values, columns["bank_details"])
        for step in filled:
            row.data[step] = {
                name: values[column]
                for name, column in columns[step].items()
                if column in values
            }
    kept = kept_words(rows)
    for step in columns:
        filled_rows = [row for row in read if step in row.data]
        _check_step(step, filled_rows, placeholders, kept)
    _check_rest(read, cells[ID], placeholders, kept)
    for row, values in zip(read, given, strict=True):
        cell = values.get(ID)
        email = values.get("email")
        row.is_example = isinstance(cell, str) and is_example(
            cell, email if isinstance(email, str) else None
        )
        if row.is_example and not takes_examples:
            row.add(table_finding("example_row"))
    return read, columns


def _cells_by_column(rows: Any) -> dict[str, list[Any]]:
    """Return the cells of a table by our names of its columns. Raises InvalidInput
    without a table or ids.
    """
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(
            "rows: expected a DataFrame of pandas, such as from read_payers(), got"
            f" {kind_of(rows)}."
        )
    names = name_columns(rows.columns)
    places = {
        names[column]: place
        for place, column in enumerate(rows.columns)
        if column in names
    }
    cells: dict[str, list[Any]] = {
        name: rows.iloc[:, place].tolist() for name, place in places.items()
    }
    if ID not in cells:
        raise InvalidInput(f"The table has no column {ID}.")
    return cells


def _columns_of_steps(
    columns: Collection[str], steps: Sequence[Step], *, holder_is_payer: bool
) -> dict[Step, dict[str, str]]:
    """Return the column of each field, for each step that the table has columns of.
    Raises InvalidInput without any.
    """
    by_step = {
        step: columns_by_field(MODELS[step], columns, holder_is_payer=holder_is_payer)
        for step in steps
    }
    found = {step: columns for step, columns in by_step.items() if columns}
    if not found:
        missing = " or of ".join(
            {"payer": "a payer", "bank_details": "bank details"}[step] for step in steps
        )
        raise InvalidInput(f"The table has nothing to send: no columns of {missing}.")
    return found


def _clean(name: str, cells: list[Any], rows: Sequence[Row]) -> None:
    """Make the cells of a column what is sent: no masking types, no blanks around
    texts, None for each blank cell.

    Add to its row what was stripped from a cell.
    """
    model = Payer if name in fields_of(Payer) else BankDetails
    for place, cell in enumerate(cells):
        value = unwrap_secret(cell)
        if isinstance(value, str) and (
            not value or value[0].isspace() or value[-1].isspace()
        ):
            text, info = strip_blanks(model, field_of(name), value)
            value = text or None
            if info is not None:
                rows[place].add(info)
        cells[place] = value


def _check_step(
    step: Step,
    rows: Sequence[Row],
    placeholders: Placeholders,
    kept: Sequence[Collection[str]],
) -> None:
    """Add to rows what the checks of a step find; of a placeholder nothing but that it
    is one. kept: those that are values in a row, by its number.
    """
    model = MODELS[step]

    @cache
    def is_hidden(name: str, text: str) -> bool:
        return is_placeholder(model, name, text) and not _is_kept(text, placeholders)

    for row, findings in zip(
        rows, check_records(model, (row.data[step] for row in rows)), strict=True
    ):
        hidden = {
            name: text
            for name, text in row.data[step].items()
            if isinstance(text, str)
            and text.strip() not in kept[row.number]
            and is_hidden(name, text)
        }
        for finding in findings:
            if finding.field not in hidden:
                row.add(_in_run(finding), step)
        for name, text in hidden.items():
            code = "placeholder"
            if may_be_name(model, name, text):
                code = "placeholder_name"
            row.add(table_finding(code, name), step)


def _is_kept(text: str, placeholders: Placeholders) -> bool:
    """Return True for a placeholder that a person says is a value."""
    if isinstance(placeholders, str):
        return placeholders == "keep"
    return text.strip() in placeholders


def _in_run(finding: Finding) -> Finding:
    """Return a finding as a run takes it: a number of which only the last digits are
    there is never sent.
    """
    if finding.code != "crossed_out":
        return finding
    return replace(finding, severity="error")


def _check_rest(
    rows: Sequence[Row],
    ids: Sequence[Any],
    placeholders: Placeholders,
    kept: Sequence[Collection[str]],
) -> None:
    """Add to rows what the checks of payers and accounts do not see: the id of another
    row's payer, an empty row. kept: the placeholders that are values in a row, by its
    number.
    """
    others = [row for row in rows if "payer" not in row.data]
    for row, findings in zip(
        others,
        check_records(Payer, ({ID: ids[row.number]} for row in others)),
        strict=True,
    ):
        cell = ids[row.number]
        is_hidden = (
            isinstance(cell, str)
            and cell.strip() not in kept[row.number]
            and is_placeholder(Payer, ID, cell)
            and not _is_kept(cell, placeholders)
        )
        of_id = [
            finding
            for finding in findings
            if finding.field == ID and finding.severity != "info"
        ]
        if is_hidden:
            of_id = [table_finding("placeholder", ID)]
        for finding in of_id:
            row.add(finding)
        if not row.data:
            row.add(table_finding("nothing_to_send"))


def add_cell_findings(
    read: Sequence[Row], rows: Any, columns: Mapping[Step, Mapping[str, str]]
) -> None:
    """Put in front of what rows have what was found in their cells when the table was
    read.

    What checks found in a cell with an error of the file is removed: it is about a
    value that nobody wrote. columns: those that are sent in each step, by field; a
    finding about any other column is left out.
    """
    fields = {
        step: {column: field for field, column in named.items()}
        for step, named in columns.items()
    }
    in_file = list(findings_in(rows))
    names = name_columns(rows.columns) if in_file else {}
    found: dict[int, list[Problem]] = {}
    for number, column, finding in in_file:
        name = names.get(column, column)
        steps = [step for step in fields if name in fields[step]]
        step = next(
            (each for each in steps if each in read[number].data),
            steps[0] if steps else None,
        )
        if not finding.field or (
            step is None and name in {ID, HOLDER_IS_PAYER}
        ):  # or about the row as a whole
            found.setdefault(number, []).append(Problem(number, finding))
        elif step is not None:
            found.setdefault(number, []).append(
                Problem(number, _about(finding, fields[step][name]), step)
            )
    for number, of_file in found.items():
        damaged = {
            each.column(columns) for each in of_file if each.finding.severity == "error"
        } - {""}
        checked = [
            each
            for each in read[number].problems
            if each.column(columns) not in damaged
        ]
        read[number].problems = of_file + checked


@cache
def _about(finding: Finding, field: str) -> Finding:
    """Return a finding about a field, which it may have named by its column."""
    return replace(finding, field=field, wire_name=wire_name(field))


# Whose an account is: its holder has columns of their own, and is the payer only where
# somebody says so

_ANSWERS = dict.fromkeys(("yes", "true", "1", "1.0"), True)
_ANSWERS |= dict.fromkeys(("no", "false", "0", "0.0"), False)
"""What a cell of the column `holder_is_payer` may say."""


def _take_holder(cells: dict[str, list[Any]], *, default: bool) -> list[bool | None]:
    """Take out the column `holder_is_payer`; return what it says for each row, None for
    anything but yes and no.

    In place of that column, the table gets those of the account holder that it lacks,
    unless it has accounts alone. default: what counts if there is no such column, and
    where it is blank.
    """
    count = len(cells[ID])
    if HOLDER_IS_PAYER not in cells:
        return [default] * count
    answers = [_read_answer(cell, default) for cell in cells.pop(HOLDER_IS_PAYER)]
    if payer_columns(cells):
        for field in SHARED_FIELDS:
            names = account_columns(field)
            if cells.keys().isdisjoint(names):
                cells[names[0]] = [None] * count
    return answers


def _read_answer(cell: Any, default: bool) -> bool | None:  # noqa: FBT001
    """Return what a cell of the column `holder_is_payer` says."""
    value = unwrap_secret(cell)
    word = "" if value is None else str(value).strip().lower()
    return _ANSWERS.get(word) if word else default


def _require_holder(
    columns: Mapping[str, str], cells: Mapping[str, Sequence[Any]]
) -> None:
    """Raise InvalidInput that names the columns to add, if a table with payers lacks
    those of the account holder.

    A table without a cell in a column for bank details alone has no accounts. columns:
    of bank details, by field.
    """
    lacking = [
        name
        for name, field in fields_of(BankDetails).items()
        if field.required and name not in columns
    ]
    own = own_columns(BankDetails).intersection(columns.values())
    has_accounts = any(
        any(cell is not None for cell in cells[column]) for column in own
    )
    if (
        not has_accounts
        or not payer_columns(cells)
        or SHARED_FIELDS.keys().isdisjoint(lacking)
    ):
        return
    advice = (
        "Add these columns. If all account holders are payers themselves, pass"
        " holder_is_payer=True (--holder-is-payer); if some are, add a column"
        f" {HOLDER_IS_PAYER} with yes or no."
    )
    of_payers = [name for name in payer_columns(cells) if name in own_columns(Payer)]
    if of_payers:
        advice += (
            " If the table has no payers, leave out their columns:"
            f" {', '.join(of_payers)}."
        )
    advice += (
        " If it has no accounts, leave out"
        f" {', '.join(name for name in cells if name in own)}."
    )
    missing = [
        (account_columns(name)[0], f"Missing. {fields_of(BankDetails)[name].full_help}")
        for name in lacking
    ]
    raise InvalidInput(
        "The table has payers and accounts, but not all columns of the account holder,"
        " who is the payee; columns such as country are the payer's.",
        fields=tuple(
            FieldProblem(name, wire_name(name), words, "column_missing")
            for name, words in missing
        ),
        advice=advice,
    )


def _fill_holder(row: Row, values: dict[str, Any], columns: Mapping[str, str]) -> None:
    """Fill the holder's columns of a row with the payer's; add a finding for each cell
    that contradicts that.

    columns: of bank details, by field. A field without a column of its own needs none:
    the payer's column serves it.
    """
    is_described = not own_columns(Payer).isdisjoint(values)
    for name, column in columns.items():
        source = SHARED_FIELDS.get(name, column)
        cell = values.get(column)
        payer = values.get(source)
        if cell is None and payer is not None:
            values[column] = payer
        elif str(cell) != str(payer) and (payer is not None or is_described):
            differs = table_finding(
                "holder_differs", name, account_column=column, payer_column=source
            )
            row.add(differs, "bank_details")


# What rows, columns and cells are called in the file that they were read from

NORMALISE = "normalise=True (--normalise)"
"""How a person has cells rewritten."""

_ALL = 5
_FIRST = 3
"""Up to so many rows all are named; of more rows the first."""


class Naming:
    """The names of a table's columns, rows and cells in the file that it was read from.

    columns: the table's column of each field, by step. labels: those of the rows.
    origin: where the table comes from. letters: of each column that is in the file;
    empty if the rows do not have the file's numbers. readings: what normalise=True
    would write, by row and column, masked; "" for a cell that it would clear. found:
    the problems of the rows.
    """

    def __init__(
        self,
        rows: Any,
        columns: Mapping[Step, Mapping[str, str]],
        found: Iterable[Problem],
    ) -> None:
        self.columns = columns
        self.labels = rows.index
        self.origin = origin_of(rows)
        self.letters: dict[str, str] = {}
        self.readings: dict[tuple[int, str], str] = {}
        if not self.origin.file or not has_labels_of_file(self.labels):
            return
        self.letters = {
            name: each.letters
            for name, each in self.origin.by_name.items()
            if name in rows.columns
        }
        if not self.letters:
            return
        for each in found:
            column = each.column(columns)
            key = (self.labels[each.row], column)
            if each.finding.severity != "info" and key in self.origin.readings:
                self.readings[each.row, column] = reading_in_words(
                    column, self.origin.readings[key]
                )

    def numbers(self, rows: Sequence[int]) -> list[Any]:
        """Return the numbers of rows in the file, else their labels; those of a
        corrections file differ from labels.
        """
        labels: list[Any] = self.labels.take(rows).tolist()
        if not self.letters:
            return labels
        return [self.origin.rows.get(label, label) for label in labels]

    def hint(self, problem: Problem) -> str:
        """Return what to do about a problem, and if that is so, that the table has no
        column for it.
        """
        finding = problem.finding
        if not self.letters:
            return hint_for_column(finding, "Read the column with dtype=str.")
        hint = hint_for_column(finding, "Format the column as text.")
        if not problem.step or not finding.field:
            return hint
        if finding.field in self.columns.get(problem.step, {}):
            return hint
        if finding.code != "required":
            return f"{hint} There is no column for it.".lstrip()
        hint = "There is no column for it."
        if finding.field in _SHARED_BY_ROWS:
            hint += f" If all rows have one value, use {self._constant(problem)}."
        return hint

    def _constant(self, problem: Problem) -> str:
        """Return how a person gives all rows one value for the field of a problem."""
        name = problem.finding.field
        if problem.step == "bank_details" and "payer" in self.columns:
            name = account_columns(name)[0]
        return f'defaults={{"{name}":...}} (--set {name}=...)'

    def place(self, problem: Problem) -> tuple[str, str, str]:
        """Return the cell of a problem, "" if it has none, the sender's name of its
        column, and what to do.
        """
        column = problem.column(self.columns)
        hint = self.with_readings(self.hint(problem), column, [problem.row])
        cell = ""
        if column in self.letters:
            cell = f"{self.letters[column]}{self.numbers([problem.row])[0]}"
        return cell, self.origin.shown_header(column), hint

    def texts(self, found: Iterable[Problem]) -> list[str]:
        """Return the problems of each row as text, "" for none: errors in words, others
        with severity and code, too.
        """
        texts: list[list[str]] = [[] for _ in self.labels]
        for each in found:
            finding = each.finding
            cell, header, hint = self.place(each)
            if cell:
                header = f"{header} ({cell})"
            text = f"{header}: {finding.message} {hint}".removeprefix(": ").rstrip()
            if finding.severity != "error":
                text = f"{finding.severity} {text} [{finding.code}]"
            texts[each.row].append(text)
        return ["; ".join(of_row) for of_row in texts]

    def where(self, column: str, rows: Sequence[int]) -> str:
        """Return the cells of a column in some rows, else the labels of these rows: the
        first, and how many follow.
        """
        has_cells = column in self.letters
        if not has_cells and len(rows) == len(self.labels) > _ALL:
            return "all rows"
        shown = rows
        if len(rows) > _ALL:
            shown = rows[:_FIRST]
        numbers = self.numbers(shown)
        if has_cells:
            words = ", ".join(f"{self.letters[column]}{number}" for number in numbers)
        else:
            words = ", ".join(str(shown_id(number)) for number in numbers)
            words = f"row {words}" if len(rows) == 1 else f"rows {words}"
        if len(rows) > len(shown):
            words += f" and {len(rows) - len(shown):,} more"
        return words

    def with_readings(self, hint: str, column: str, rows: Sequence[int]) -> str:
        """Return what to do about the cells of a column in some rows, with what
        normalise=True would do about them.
        """
        keys = [(row, column) for row in rows]
        readings = [self.readings[key] for key in keys if key in self.readings]
        if not readings:
            return hint
        change = f"rewrite {len(readings):,} of them"
        if len(readings) == len(rows):
            change = "rewrite them all"
            if len(set(readings)) == 1:
                change = f"write {readings[0]}" if readings[0] else "clear the cell"
        return f"{hint} {NORMALISE} would {change}.".lstrip()


def shown_id(value: Any) -> Any:
    """Return a client user id, or a row's label, which may be one, as it may be
    shown.
    """
    if value is None or value is pd.NA:
        return value
    return visible(str(mask("clientUserId", value)))
