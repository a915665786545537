"""One small file a kind of damage: a table with two valid payers, and one cell that is not as it should be."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
from openpyxl.utils import get_column_letter

from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns

Row = dict[str, Any]


def row(place: int, **changes: Any) -> Row:
    """Return a payer with a dollar account, who shares nothing with others."""
    own = {"client_user_id": f"0{place}", "email": f"p{place}@example.com", "ssn": f"219-09-{1000 + place}"}
    return (
        TYPED_PAYER
        | as_columns(TYPED_ACCOUNT)
        | own
        | {"account_number": f"0812736455{place}"}
        | {"swift_bic": None}
        | changes
    )


COLUMNS = list(row(0))


def cell(field: str, number: int = 2) -> str:
    """Return the name of a field's cell in a row of the file."""
    return f"{get_column_letter(COLUMNS.index(field) + 1)}{number}"


def texts(*changes: Mapping[str, Any]) -> list[list[Any]]:
    """Return the header and a row for each of the changes, two at least."""
    rows = [row(place, **(changes[place] if place < len(changes) else {})) for place in range(max(2, len(changes)))]
    return [COLUMNS, *(list(each.values()) for each in rows)]


def write_csv(path: Path, table: Sequence[Sequence[Any]], *, separator: str = ",", encoding: str = "utf-8") -> None:
    """Write a text file."""
    lines = io.StringIO()
    csv.writer(lines, delimiter=separator).writerows(table)
    path.write_bytes(lines.getvalue().encode(encoding))


class Case(NamedTuple):
    """A file. found: field, code and severity of what must be found in the first row, and nothing else but infos."""

    reason: str
    field: str
    code: str
    severity: str
    value: Any
    kind: str = "csv"
    others: Mapping[str, Any] = {}


def write(case: Case, folder: Path) -> Path:
    """Write the file of a case; return its path."""
    path = folder / f"messy.{case.kind}"
    table = texts({**case.others, case.field: case.value})
    if case.kind == "csv":
        write_csv(path, table)
    else:
        write_xlsx(path, table, case)
    return path


def write_xlsx(path: Path, table: Sequence[Sequence[Any]], case: Case) -> None:
    """Write a workbook; a function as value changes the sheet."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for each in table:
        sheet.append([None if callable(value) else value for value in each])
    if callable(case.value):
        case.value(sheet, cell(case.field) if case.field else "")
    book.save(path)


def error_value(sheet: Any, place: str) -> None:
    """Write what a spreadsheet shows for a look-up that found nothing."""
    sheet[place].value, sheet[place].data_type = "#N/A", "e"


def formula(sheet: Any, place: str) -> None:
    """Write a formula without the value that a spreadsheet program stores with it."""
    sheet[place].value = "=A1"


DAMAGED = [
    Case("more than 15 digits", "account_number", "digits_lost", "error", 981273645500000000, "xlsx"),
    Case("a power of ten", "account_number", "shortened_number", "error", "9.81274E+16"),
    Case("a decimal point", "routing_number", "became_fraction", "error", "21000021.0"),
    Case("an id that became a date", "client_user_id", "became_date", "error", dt.date(2026, 3, 4), "xlsx"),
    Case("a street that became a date", "address_line1", "became_date", "error", dt.date(2026, 3, 4), "xlsx"),
    Case("a name that became a logical value", "last_name", "became_boolean", "error", True, "xlsx"),
    Case("an error value", "city", "error_value", "error", error_value, "xlsx"),
    Case("an error value in text", "city", "error_value", "error", "#REF!"),
    Case("#N/A in text, told once", "routing_number", "error_value", "error", "#N/A"),
    Case("a formula that was not computed", "city", "formula_without_value", "error", formula, "xlsx"),
    Case("encoded twice", "last_name", "doubly_encoded", "error", "M\u00c3\u00bcller"),
    Case("a lost letter", "last_name", "replacement_character", "error", "M\ufffdller"),
    Case("a question mark for a letter", "last_name", "letters_lost", "warning", "M?ller"),
    Case("a code of a web page", "bank_name", "html_codes", "error", "A &amp; B"),
    Case("an apostrophe", "account_number", "text_mark", "error", "'00812736455"),
    Case("a formula for text", "account_number", "text_formula", "error", '="00812736455"'),
    Case("a link", "email", "link", "error", "mailto:jane@example.com"),
    Case("angle brackets", "email", "angle_brackets", "error", "Jane <jane@example.com>"),
    *(
        Case(f"the placeholder {text}", "city", "placeholder", "error", text)
        for text in ("N/A", "n/a", "NULL", "None", "-", "?", ".")
    ),
    Case("the placeholder nan, which is a city, too", "bank_name", "placeholder", "error", "nan"),
    Case("a placeholder in an optional cell", "swift_bic", "placeholder", "error", "N/A"),
    Case("a date that can be two days", "date_of_birth", "date_order", "error", "03/04/1979"),
]
"""The first row is blocked, or warned, for this and nothing else."""

STAYS = [
    ("a surname Null, if a person says so", {"last_name": "Null"}),
    ("the country Namibia", {"country": "NA", "nationality": "NA", "state": "KH", "phone": "+264612345678"}),
    ("leading zeros", {"account_number": "00012345678", "client_user_id": "007"}),
    ("an apostrophe in a name", {"last_name": "O'Neill"}),
    ("a name with a mark that is right in French", {"last_name": "Ch\u00e2teau"}),
    ("an address on two lines", {"address_line1": "5 Example Street\nBack house"}),
    ("a street whose number looks like a date", {"address_line1": "3/4 Example Street"}),
    ("an id like the number of a year", {"client_user_id": "2026-0304"}),
    ("letters in small in a name", {"first_name": "jane", "last_name": "van der Berg"}),
    ("blanks inside a name", {"account_name": "Jane  Example"}),
]
"""What normalise=True must leave as it is, with the cells of a row."""

UNCERTAIN = [
    ("a date that can be two days", {"date_of_birth": "03/04/1979"}),
    ("a year of two digits", {"date_of_birth": "31.12.79"}),
    ("a day that is none", {"date_of_birth": "31.02.1979"}),
    ("a phone that is too short", {"phone": "555-7391"}),
    ("a phone of a country that is not known", {"phone": "(212) 555-7391", "country": "Atlantis"}),
    ("two countries of one name", {"country": "Congo"}),
    ("a country and a state of one name", {"state": "Georgia", "country": "Atlantis"}),
    ("a type that is neither", {"beneficiary_type": "Verein"}),
    ("dollars of several countries", {"currency": "dollar"}),
    ("two addresses", {"email": "a@example.com; b@example.com"}),
    ("a required cell with a placeholder", {"city": "N/A"}),
    ("a number that lost its end", {"account_number": "9.81274E+16"}),
]
"""What normalise=True must not rewrite, since nobody knows what it means; the row is blocked."""
