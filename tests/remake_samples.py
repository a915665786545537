"""Write the sample workbooks again: `python tests/remake_samples.py`.

`quickbooks-employees.xlsx` is a list of 300 employees as QuickBooks exports it, with
thirteen damages, one a row; `payouts.xlsx` has 200 payers with an account each, and
eight mistakes; `ibans.xlsx` has 60 vendors, and six mistakes. All people and firms are
invented.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.worksheet.worksheet import Worksheet

import payerkit

FOLDER = Path(payerkit.__file__).parent / "example_files"

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
    *(
        "Employee ID",
        "First Name",
        "Last Name",
        "Street Address",
        "City",
        "State",
        "ZIP",
        "Phone",
        "Email",
    ),
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
    77: (
        "Account Number",
        4417208835001200,
    ),  # sixteen digits, of which a spreadsheet keeps fifteen
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
        *(
            f"E-{1000 + number}",
            first,
            last,
            f"{number} Example Street",
            city,
            state,
            postcode,
        ),
        *(
            f"({area}) 555-{100 + number % 100:04}",
            f"{first}.{last}.{number}@example.com".lower(),
        ),
        *(
            (date(1960, 1, 4) + timedelta(days=37 * number)).strftime("%m/%d/%Y"),
            f"987-65-{4000 + number}",
        ),
        *(
            bank,
            f"{first} {last}",
            "Checking",
            routing_number,
            f"{4417208000 + 7 * number:010}",
        ),
    ]
    return dict(zip(HEADER, values, strict=True))


def write_employees(sheet: Worksheet) -> None:
    """Write the sheet: a title, the header, the people, and the line that the program
    adds.
    """
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


PAYOUT = {
    "Customer no.": "example-{0:03}",
    "E-Mail": "payer{0:03}@example.com",
    "Surname": "Payer {0:03}",
    "Payer type": "Individual",
    "Given name": "Example",
    "Date of birth": "31.12.1985",
    "Nationality": "US",
    "Street": "1 Example Street",
    "City": "New York",
    "State": "NY",
    "ZIP": "10001",
    "Country": "USA",
    "Phone": "(212) 555-{0:04}",
    "SSN": "219-{1}-{2}",
    "Payee": "Example Payee {0:03}",
    "Payee type": "Individual",
    "Payee date of birth": "31.01.1990",
    "Payee street": "2 Example Street",
    "Payee city": "Paramount",
    "Payee state": "CA",
    "Payee ZIP": "90723",
    "Payee country": "USA",
    "Bank": "Example Bank",
    "Currency": "USD",
    "ABA": "026013356",
    "Account #": "{0:012}",
    "Notes": "",
}
"""A row of `payouts.xlsx`."""

MISTAKES = {
    4: ("E-Mail", "payer004 at example.com"),
    21: ("City", "#N/A"),
    26: ("Phone", "n/a"),
    31: ("Customer no.", "example-030"),  # twice
    41: ("ABA", "26013356"),
    42: ("ABA", "26013356"),
    61: ("ABA", "026013357"),
    62: ("Notes", "asked for a call"),
}
"""By the number of the payer, the column and what it holds."""


def write_payouts(sheet: Worksheet) -> None:
    """Write the sheet: a title above the header, and the payers, each with the account
    of a payee.
    """
    sheet.append(["Payouts of the autumn, with their payees"])
    sheet.append([])
    sheet.append([*PAYOUT])
    for number in range(1, 201):
        column, value = MISTAKES.get(number, ("Notes", ""))
        row = {
            name: text.format(number, number // 100 + 10, 1000 + number)
            for name, text in PAYOUT.items()
        }
        sheet.append([*(row | {column: value}).values()])


BAD_IBANS = {
    7: "DE89370400440532013001",  # a typo
    19: "DE8937040044053201300",  # a digit short
    23: "GB29 NWBK 6016 1331 9268 19",  # with spaces
    31: "FR1420041010050500013M02607",  # O and 0
    38: "to follow",
    52: "NL91ABNA0417164300 ",  # with a blank at its end
}
IBANS = [
    "DE89370400440532013000",
    "NL91ABNA0417164300",
    "AT611904300234573201",
    "BE68539007547034",
]
BICS = ["COBADEFF", "ABNANL2A", "BKAUATWW", "GKCCBEBB"]


def write_ibans(sheet: Worksheet) -> None:
    """Write the sheet: vendors with the IBAN of each, as published by the banks'
    associations for examples.
    """
    sheet.append(["Vendor", "IBAN", "BIC", "Terms"])
    for number in range(1, 61):
        iban = BAD_IBANS.get(number, IBANS[number % 4])
        bic = (
            "BARCGB22"
            if number == 45
            else None
            if number in BAD_IBANS
            else BICS[number % 4]
        )
        sheet.append([f"Example Vendor {number:03}", iban, bic, "30 days"])


def main() -> None:
    """Write the files."""
    for name, title, write in [
        ("quickbooks-employees.xlsx", "Sheet1", write_employees),
        ("payouts.xlsx", "Payouts", write_payouts),
        ("ibans.xlsx", "Vendors", write_ibans),
    ]:
        workbook = Workbook()
        workbook.properties.created = workbook.properties.modified = datetime(  # noqa: DTZ001 - openpyxl wants none
            2026, 11, 24, 9, 14, 5
        )
        sheet: Worksheet = workbook.worksheets[0]
        sheet.title = title
        write(sheet)
        workbook.save(FOLDER / name)


if __name__ == "__main__":
    main()
