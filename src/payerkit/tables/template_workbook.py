"""The template as an Excel workbook: drop-downs, a note for each column, and cells that hold text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from payerkit.checks.places import countries
from payerkit.checks.requirements import requirements
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema, SchemaField
from payerkit.tables.columns import HOLDER_IS_PAYER, columns_by_field

_LAST_ROW = 1048576
"""The last row of an Excel sheet: drop-downs are for all rows."""

_AS_TEXT = "@"
"""Excel's number format of text: leading zeros stay, and a date stays as it is typed."""


def write_workbook(path: Path, columns: Sequence[str], records: Sequence[Mapping[str, str]]) -> None:
    """Write a table of payers with accounts to a new .xlsx file."""
    try:
        from openpyxl import Workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or write a .csv file.") from None
    book = Workbook()
    sheet = book.active
    sheet.title = "payers and accounts"
    lists = _Lists(book.create_sheet("lists"))
    fields = {
        column: (schema, schema.fields[name])
        for schema in (PAYER, BANK_DETAILS)
        for name, column in columns_by_field(schema, columns).items()
    }
    for number, column in enumerate(columns, start=1):
        schema, field = fields[column]
        _write_column(sheet, number, [column, *(record.get(column) for record in records)])
        _add_note(sheet.cell(1, number), schema, field)
        _add_choices(sheet, sheet.cell(1, number).column_letter, field, lists)
    sheet.freeze_panes = "B2"  # the header and the ids stay in view
    book.save(path)


def _write_column(sheet: Any, number: int, cells: Sequence[str | None]) -> None:
    from openpyxl.styles import Font  # noqa: PLC0415

    for row, value in enumerate(cells, start=1):
        cell = sheet.cell(row, number, value)
        cell.number_format = _AS_TEXT
    sheet.cell(1, number).font = Font(bold=True)
    dimension = sheet.column_dimensions[sheet.cell(1, number).column_letter]
    dimension.number_format = _AS_TEXT  # for the rows below the examples
    dimension.width = max(len(value or "") for value in cells) + 3


def _add_note(cell: Any, schema: Schema, field: SchemaField) -> None:
    from openpyxl.comments import Comment  # noqa: PLC0415

    owner = "Of the payer." if schema is PAYER else "Of the account and its holder, the payee."
    if schema is BANK_DETAILS and field.section == "Beneficiary":
        owner += f" Is the holder the payer? Add a column {HOLDER_IS_PAYER} with yes or no."
    needed = "Required." if field.required else "If needed."
    note = Comment(f"{field.title}. {field.full_help} {needed} {owner}", "payerkit")
    note.width, note.height = 300, 120
    cell.comment = note


class _Lists:
    """The sheet with the values of long drop-downs, one list in each column."""

    def __init__(self, sheet: Any) -> None:
        sheet.sheet_state = "hidden"
        self._sheet = sheet
        self._ranges: dict[tuple[str, ...], str] = {}

    def range(self, values: tuple[str, ...]) -> str:
        """Return the range of cells with these values, which are written if they are not there yet."""
        if values not in self._ranges:
            number = len(self._ranges) + 1
            for row, value in enumerate(values, start=1):
                self._sheet.cell(row, number, value)
            letter = self._sheet.cell(1, number).column_letter
            self._ranges[values] = f"{self._sheet.title}!${letter}$1:${letter}${len(values)}"
        return self._ranges[values]


def _add_choices(sheet: Any, letter: str, field: SchemaField, lists: _Lists) -> None:
    """Add a drop-down to a column, if its field has few values, or a table of them that need not be complete."""
    from openpyxl.worksheet.datavalidation import DataValidation  # noqa: PLC0415

    values = field.options or _looked_up(field)
    if not values:
        return
    choices = DataValidation("list", formula1=lists.range(values), allow_blank=True, showErrorMessage=True)
    choices.errorStyle = "stop" if field.options else "warning"
    choices.errorTitle, choices.error = field.title, field.format.message or "Not in the list."
    sheet.add_data_validation(choices)
    choices.add(f"{letter}2:{letter}{_LAST_ROW}")


def _looked_up(field: SchemaField) -> tuple[str, ...]:
    """Return the values of a field that has a table of them: countries, and the currencies that the operator lists."""
    if field.lookup == "countries":
        return tuple(sorted(countries()))
    return tuple(sorted({currency for currency, _ in requirements()})) if field.lookup == "fiat" else ()
