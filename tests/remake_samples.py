"""Write the sample workbook again: `python tests/remake_samples.py`.

A list of 300 employees as QuickBooks exports it, with invented people and thirteen damages, one a row.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.worksheet.worksheet import Worksheet

import payerkit

FILE = Path(payerkit.__file__).parent / "example_files" / "quickbooks-employees.xlsx"

FIRST_NAMES = [
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eve",
    "Finn",
    "Gwen",
    "Hugo",
    "Iris",
    "Jack",
    "Kate",
    "Liam",
    "Mona",
    "Noel",
    "Olga",
    "Paul",
    "Quinn",
    "Rosa",
    "Sam",
    "Tara",
]
LAST_NAMES = [
    "Archer",
    "Baker",
    "Carter",
    "Draper",
    "Eastman",
    "Fletcher",
    "Gardner",
    "Harper",
    "Irving",
    "Joiner",
    "Keeper",
    "Lister",
    "Miller",
    "Napier",
    "Osborn",
]
TOWNS = [
    ("Boston", "MA", "02139", "617"),
    ("Newark", "NJ", "07102", "973"),
    ("Hartford", "CT", "06103", "860"),
    ("Chicago", "IL", "60601", "312"),
    ("Austin", "TX", "78701", "512"),
]
BANKS = [("Example Savings Bank", "026013356"), ("Example National Bank", "021000021")]

HEADER = [
    *("Employee ID", "First Name", "Last Name", "Street Address", "City", "State", "ZIP", "Phone", "Email"),
    *(
        "Birth Date",
        "Social Security No.",
        "Bank Name",
        "Name on Account",
        "Account Type",
        "Routing Number",
        "Account Number",
    ),
]
DAMAGES: dict[int, tuple[str, Any]] = {
    23: ("ZIP", 2139),  # a number, so that its zero is lost
    41: ("Birth Date", "02/30/1985"),
    58: ("Social Security No.", "987-65-43O5"),  # the letter O
    77: ("Account Number", 4417208835001200),  # sixteen digits, of which a spreadsheet keeps fifteen
    96: ("Account Number", 41720883),  # a number, so that its zeros are lost
    112: ("Routing Number", 26013356),
    134: ("First Name", "JÃ¼rgen"),  # UTF-8, read as Windows-1252
    151: ("Last Name", "M³ller"),  # Windows-1252, read as that of MS-DOS
    178: ("Email", "cleo.mill\u0435r@example.com"),  # with a Cyrillic letter
    203: ("Last Name", '"Archer"'),
    226: ("City", "#N/A"),
    249: ("Street Address", "12 Example Street\\nApt 4"),
}
"""By the number of the person, the column and what it holds."""

STRUCK_OUT = 277
"""The person whose row is struck out."""


def person(number: int) -> dict[str, Any]:
    """Return the row of an invented person, as the program would have written it."""
    first, last = FIRST_NAMES[number % 20], LAST_NAMES[number % 15]
    city, state, postcode, area = TOWNS[number % 5]
    bank, routing_number = BANKS[number % 2]
    values = [
        *(f"E-{1000 + number}", first, last, f"{number} Example Street", city, state, postcode),
        *(f"({area}) 555-{100 + number % 100:04}", f"{first}.{last}.{number}@example.com".lower()),
        *((date(1960, 1, 4) + timedelta(days=37 * number)).strftime("%m/%d/%Y"), f"987-65-{4000 + number}"),
        *(bank, f"{first} {last}", "Checking", routing_number, f"{4417208000 + 7 * number:010}"),
    ]
    return dict(zip(HEADER, values, strict=True))


def write(sheet: Worksheet) -> None:
    """Write the sheet: a title, the header, the people, and the line that the program adds."""
    for title in ("Example Bakery LLC", "Employee Contact List", "All Employees", None):
        sheet.append([title])
    sheet.append(HEADER)
    for number in range(1, 301):
        column, value = DAMAGES.get(number, ("Employee ID", f"E-{1000 + number}"))
        sheet.append([*(person(number) | {column: value}).values()])
        if number == STRUCK_OUT:
            for cell in sheet[sheet.max_row]:
                cell.font = Font(strike=True)
    sheet.append([])
    sheet.append(["Tuesday, Nov 24, 2026 09:14:05 AM GMT-5"])


def main() -> None:
    """Write the file."""
    workbook = Workbook()
    workbook.properties.created = workbook.properties.modified = datetime(2026, 11, 24, 9, 14, 5)  # noqa: DTZ001 - openpyxl wants none
    sheet: Worksheet = workbook.worksheets[0]
    sheet.title = "Sheet1"
    write(sheet)
    FILE.parent.mkdir(exist_ok=True)
    workbook.save(FILE)


if __name__ == "__main__":
    main()
