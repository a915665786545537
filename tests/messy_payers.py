"""A workbook of payers as an analyst gets it by e-mail: a title, headers in two languages, and most kinds of damage."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.styles import Font

US, DE = "United States", "Deutschland"

HEADERS = [
    "Kundennummer",
    "Vorname",
    "Nachname",
    "E-Mail",
    "Telefon",
    "Date of birth",
    "Individual or company",
    "SSN",
    "Street",
    "City",
    "State",
    "ZIP",
    "Land",
    "Nationality",
    "Kontoinhaber",
    "Name der Bank",
    "Account #",
    "ABA",
    "IBAN",
    "BIC",
    "Currency",
    "Bemerkung",
]


def person(number: str, first: str, last: str, **changes: Any) -> list[Any]:
    """Return the cells of a payer in New York with a dollar account, some of them changed, by header."""
    cells: dict[str, Any] = dict.fromkeys(HEADERS) | {
        "Kundennummer": f"0{number}",
        "Vorname": first,
        "Nachname": last,
        "E-Mail": f"{first.lower()}@example.com",
        "Telefon": f"+1212555{number:>04}",
        "Date of birth": f"31.12.19{number[-2:]}",
        "Individual or company": "Privatperson",
        "SSN": f"219-09-{number:>04}",
        "Street": f"{int(number)} Example Street",
        "City": "New York",
        "State": "NY",
        "ZIP": "10001",
        "Land": US,
        "Nationality": US,
        "Kontoinhaber": f"{first} {last}",
        "Name der Bank": "Example Bank",
        "Account #": f"25300923{number:>04}",
        "ABA": "026013356",
        "Currency": "USD",
    }
    return list((cells | changes).values())


def german(number: str, first: str, last: str, iban: str, **changes: Any) -> list[Any]:
    """Return the cells of a payer in Berlin with a euro account."""
    lives = {"City": "Berlin", "State": "BE", "ZIP": "10117", "Land": DE, "Nationality": DE, "SSN": None}
    account = {"Account #": None, "ABA": None, "IBAN": iban, "BIC": "COBADEFFXXX", "Currency": "EUR"}
    phone = {"Telefon": f"+4930555{number:>04}"}
    return person(number, first, last, **(lives | phone | account | changes))


ROWS: list[list[Any]] = [
    person("1181", "Anna", "Example"),
    person("1172", "Ben", "Sample", Telefon="(212) 555-1172"),
    person("1163", "Clara", "Muster", **{"Date of birth": "03/04/1963"}),
    person("1154", "David", "Specimen", City="Boston", State="MA", ZIP=2108),
    person("1185", "Emma", "Example", **{"Account #": 253009231185000999}),
    person("1166", "Finn", "Sample", State="N/A"),
    person("1177", "Gina", "Muster", ABA="=VLOOKUP(A10,Banks!A:B,2,FALSE)"),
    german("1188", "Hans", "Mustermann", "DE89 3704 0044 0532 0130 00"),
    german("1159", "Ines", "M\u00c3\u00bcller", "DE02120300000000202051", **{"E-Mail": "Ines <ines@example.com>"}),
    german("1150", "Jonas", "Beispiel", "DE89370400440532013001"),
    german("1161", "Karla", "Beispiel", "DE02120300000000202051", Telefon="030 5551161"),
    person("1192", "Liam", "Specimen", **{"E-Mail": "n/a", "Nationality": "UK"}),
    person("1173", "Mia", "Example", Bemerkung="left the company?"),
    person("1174", "Noah", "Sample", **{"Date of birth": dt.date(1974, 12, 31), "E-Mail": "noah@example"}),
    person("1175", "Olga", "Muster", Kundennummer="01181"),
]
"""The row of each: 4 and on."""


def write_messy_payers(path: Path) -> None:
    """Write the workbook."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Payers May"
    sheet.append(["Payers for May, as of 2 May 2026 - please onboard by Friday"])
    sheet.append([])
    for row in (HEADERS, *ROWS):
        sheet.append(row)
    sheet["A1"].font = Font(bold=True, size=14)
    for cell in sheet[3]:
        cell.font = Font(bold=True)
    sheet["L7"].number_format = "00000"
    sheet["R10"].value, sheet["R10"].data_type = "#N/A", "e"
    sheet.row_dimensions[16].hidden = True
    book.save(path)
