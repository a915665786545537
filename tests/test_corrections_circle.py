"""What is wrong comes back, is corrected by a person, and is sent in the same journal, and nothing else is."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import payerkit
from bulk_tables import run_arguments
from messy_workbooks import write_ods
from payerkit.client import Client
from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns

KINDS = ("xlsx", pytest.param("csv", marks=pytest.mark.slow))
HEADERS = {"client_user_id": "Kundennummer", "email": "E-Mail", "country": "Land", "account_number": "Account #"}
FIRST = 3
"""The row of the messy workbook below its header."""


@pytest.fixture
def client() -> Iterator[Client]:
    """Return a client of a sandbox of its own."""
    with payerkit.sandbox(seed=17, clock="manual") as client:
        yield client


def row(place: int, **changes: Any) -> dict[str, Any]:
    """Return a payer with an account, who shares nothing with others."""
    own = {"client_user_id": f"user-{place}", "email": f"p{place}@example.com", "ssn": f"219-09-{1000 + place}"}
    return TYPED_PAYER | as_columns(TYPED_ACCOUNT) | own | {"account_number": f"9812736455{place}"} | changes


def write_messy(path: Path, *rows: Mapping[str, Any]) -> None:
    """Write a workbook with a title, and headers as people have them."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Payers of March"])
    sheet.append([HEADERS.get(name, name) for name in rows[0]])
    for each in rows:
        sheet.append(list(each.values()))
    book.save(path)


def correct(path: Path, header: str, texts: Mapping[str, str]) -> None:
    """Type texts into a column of a corrections file, by client user id, as a person does."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.reader(file))
        own, place = table[0].index("Kundennummer"), table[0].index(header)
        for cells in table[1:]:
            cells[place] = texts.get(cells[own], cells[place])
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(table)
        return
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    names = [cell.value for cell in sheet[1]]
    own, place = names.index("Kundennummer"), names.index(header)
    for cells in sheet.iter_rows(min_row=2):
        cells[place].value = texts.get(str(cells[own].value), cells[place].value)
    book.save(path)


def accounts(client: Client) -> dict[str, int]:
    """Return how many accounts each payer has."""
    return {f"user-{n}": count_accounts(client, f"user-{n}") for n in range(4)}


def count_accounts(client: Client, payer: str) -> int:
    """Return how many accounts a payer has, -1 for a payer who is not on board."""
    try:
        return len(payerkit.list_payment_details(client, payer))
    except payerkit.errors.NotFound:
        return -1


@pytest.mark.parametrize("kind", KINDS)
def test_the_circle_closes(kind: str, client: Client, tmp_path: Path) -> None:
    """Only what was corrected is sent; a damaged cell that nobody corrected is still an error."""
    rows = row(0), row(1, email="bad"), row(2, account_number=981273645500000000), row(3, country="Germany")
    write_messy(tmp_path / "messy.xlsx", *rows)
    options = run_arguments(journal=tmp_path / "run.journal")
    table = payerkit.read_payers(tmp_path / "messy.xlsx")
    first = payerkit.onboard(client, table, **options)
    path = tmp_path / f"to-correct.{kind}"

    assert ["done", "not_sent", "not_sent", "not_sent"] == list(first.frame["state"])
    assert {"user-0": 1, "user-1": -1, "user-2": -1, "user-3": -1} == accounts(client)
    assert 3 == payerkit.plan_onboarding(table).save(path)

    correct(path, "E-Mail", {"user-1": "right@example.com"})
    correct(path, "Land", {"user-3": "US"})
    again = payerkit.read_payers(path)
    second = payerkit.onboard(client, again, **options)

    assert [FIRST + 1, FIRST + 2, FIRST + 3] == list(again.index)
    assert ["done", "not_sent", "done"] == list(second.frame["state"])
    assert "digits" in str(second.frame.loc[FIRST + 2, "reason"])
    assert {"user-0": 1, "user-1": 1, "user-2": -1, "user-3": 1} == accounts(client)

    correct(path, "Account #", {"user-2": "98127364552"})
    third = payerkit.onboard(client, payerkit.read_payers(path), **options)

    assert ["done"] * 3 == list(third.frame["state"])
    assert {"user-0": 1, "user-1": 1, "user-2": 1, "user-3": 1} == accounts(client)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_service_refused_comes_back(kind: str, client: Client, tmp_path: Path) -> None:
    """The corrections file of a report has the rows that the run did not send, and they are sent once corrected."""
    write_messy(tmp_path / "messy.xlsx", row(0), row(1, email="bad"))
    options = run_arguments(journal=tmp_path / "run.journal")
    table = payerkit.read_payers(tmp_path / "messy.xlsx")
    report = payerkit.onboard(client, table, **options)
    path = tmp_path / f"to-correct.{kind}"

    assert 1 == report.save_corrections(path, table)

    correct(path, "E-Mail", {"user-1": "right@example.com"})
    second = payerkit.onboard(client, payerkit.read_payers(path), **options)

    assert ["done"] == list(second.frame["state"])
    assert (1, 1) == (count_accounts(client, "user-0"), count_accounts(client, "user-1"))


@pytest.mark.parametrize("kind", KINDS)
def test_normalise_rewrites_no_damaged_cell_of_a_corrections_file(kind: str, tmp_path: Path) -> None:
    """A phone that was a number in the file is an error until a person has typed it, though it has a reading."""
    values = row(0, phone={"valuetype": "float", "value": "2125557391"})
    write_ods(tmp_path / "messy.ods", [[HEADERS.get(name, name) for name in values], list(values.values())])
    path = tmp_path / f"to-correct.{kind}"
    before = payerkit.plan_onboarding(payerkit.read_payers(tmp_path / "messy.ods", normalise=True))
    before.save(path)
    after = payerkit.plan_onboarding(payerkit.read_payers(path, normalise=True))

    assert ["became_number"] == list(before.findings.query("severity == 'error'")["code"])
    assert ["became_number"] == list(after.findings.query("severity == 'error'")["code"])
    assert (0, 0) == (len(before.changes), len(after.changes))


def test_a_date_of_a_corrections_file_is_asked_about_until_somebody_says_its_order(tmp_path: Path) -> None:
    """date_order says what the cell means, so it is a correction."""
    write_messy(tmp_path / "messy.xlsx", row(0, date_of_birth="03/04/1979", bank_date_of_birth="1979-04-03"))
    payerkit.plan_onboarding(payerkit.read_payers(tmp_path / "messy.xlsx")).save(tmp_path / "to-correct.xlsx")
    asked = payerkit.read_payers(tmp_path / "to-correct.xlsx", normalise=True)
    told = payerkit.read_payers(tmp_path / "to-correct.xlsx", normalise=True, date_order="day_first")

    assert ["date_order"] == list(payerkit.plan_onboarding(asked).findings.query("severity == 'error'")["code"])
    assert ["1979-04-03"] == told["date_of_birth"].tolist()
    assert 1 == payerkit.plan_onboarding(told).counts["to_send"]


def test_a_template_that_a_person_filled_in_is_sent(tmp_path: Path) -> None:
    """Below the examples, or over them: the examples that stay are not sent."""
    path = tmp_path / "payers.xlsx"
    payerkit.tables.template(path=path)
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    names = [
        str(cell.value) for cell in next(each for each in sheet.iter_rows() if "client_user_id" in str(each[0].value))
    ]
    sheet.append([(row(0) | {"bank_postal_code": "12207"}).get(name) for name in names])
    book.save(path)
    table = payerkit.read_payers(path)
    planned = payerkit.plan_onboarding(table)

    assert "user-0" in table["client_user_id"].tolist()
    assert pd.Series(planned.frame["state"]).tolist()[:-1] == ["not_sent"] * (len(table) - 1)
    assert planned.frame["state"].iloc[-1] == "to_send", planned.describe()
