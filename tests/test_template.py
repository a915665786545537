"""Templates: what each route needs, an example that has no finding, and a workbook that
keeps text as text.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit import InvalidInput
from payerkit.checks.requirements import REQUIREMENTS
from payerkit.client import Client
from payerkit.models.fields import fields_of
from payerkit.models.requests import BankDetails, Payer
from payerkit.runs import RunOptions
from payerkit.runs.tasks import Table
from payerkit.tables.spreadsheets import DEFAULT_ROUTES, _examples

ROUTES = tuple(_examples())
NEEDS = {
    f"{currency}-{rails}".lower(): row.needs
    for (currency, rails), row in REQUIREMENTS.items()
}


@cache
def read(text: str) -> pd.DataFrame:
    """Return a template as `read_payers` reads it; no test changes it."""
    return payerkit.read_payers(io.StringIO(text))


def test_every_route_whose_needs_are_published_has_a_template() -> None:
    """And no other: a template must not guess."""
    assert {route for route, needs in NEEDS.items() if needs is not None} == set(ROUTES)


ONE_OF_EACH = {
    payerkit.tables.template(route).partition("\n")[0]: route for route in ROUTES
}
"""One route of all whose templates have the same columns, by their header."""


@pytest.mark.parametrize(
    "routes",
    [
        ROUTES,
        DEFAULT_ROUTES,
        ROUTES[::-1],
        *((route,) for route in ONE_OF_EACH.values()),
    ],
)
def test_a_template_has_no_finding(routes: tuple[str, ...]) -> None:
    """Together with others, and with the columns of its own alone, a sandbox takes an
    example, without even an info.
    """
    table = Table(read(payerkit.tables.template(*routes)), takes_examples=True)

    assert [] == table.found
    assert {len(routes)} == {
        sum(step in row.data and row.may_be_sent for row in table.rows)
        for step in table.columns
    }


def test_the_example_rows_cannot_be_sent_by_accident() -> None:
    """They are errors, and nothing else; a row that somebody wrote over is none,
    whatever is left of the example.
    """
    rows = read(payerkit.tables.template()).copy()
    rows.loc[rows.index[1], "client_user_id"] = "mine"
    rows.loc[rows.index[2], "client_user_id"] = "EXAMPLE-payer-003"
    plan = payerkit.plan_onboarding(rows)

    assert ["not_sent", "to_send", "not_sent"] == plan.frame["state"].tolist()
    assert ["example_row"] * 2 == plan.findings["code"].tolist()


def test_a_live_service_gets_no_example(tmp_path: Path) -> None:
    """Nothing leaves this machine; a sandbox takes the rows, so that a first try takes
    one line.
    """
    rows = read(payerkit.tables.template())
    with payerkit.connect(
        "https://api.example.com", api_key="example-key", environment="live"
    ) as client:
        report = payerkit.onboard(
            client,
            rows,
            journal=tmp_path / "run.journal",
            options=RunOptions(progress=False),
        )

    assert (3, {0}) == (report.counts["not_sent"], set(report.frame["attempts"]))
    assert report.frame["reason"].str.contains("The example row of the template.").all()


@pytest.mark.parametrize("route", ROUTES)
def test_a_template_has_only_what_its_route_needs(route: str) -> None:
    """Required fields, those that the currency needs on its rails, the account number,
    and a state where it counts.
    """
    table = read(payerkit.tables.template(route))
    required = {
        name for name, field in fields_of(BankDetails).items() if field.required
    } | {"rails"}
    shared = {name for name in required if name in fields_of(Payer)} | {"postal_code"}
    account = {f"bank_{name}" if name in shared else name for name in required}
    payer = {name for name, field in fields_of(Payer).items() if field.required}
    needed = {name for group in NEEDS[route] or () for name in group}

    assert (
        payer | account
        <= set(table.columns)
        <= payer
        | account
        | needed
        | {"account_number", "bank_state"}
        | {"document_type"}
    )
    assert [] == [
        group for group in NEEDS[route] or () if set(group).isdisjoint(table.columns)
    ]
    assert ("bank_state" in table.columns) == (table.loc[2, "bank_country"] == "US")
    assert not table.isna().to_numpy().any()


@pytest.mark.parametrize("route", ROUTES)
def test_payer_and_payee_are_two(route: str) -> None:
    """The examples teach that the account is somebody else's, in the currency and on
    the rails of the route.
    """
    row = read(payerkit.tables.template(route)).loc[2]
    same = [
        name
        for name in fields_of(Payer)
        if f"bank_{name}" in row and row[name] == row[f"bank_{name}"]
    ]

    assert set(same) <= {"beneficiary_type", "country"}
    assert row["last_name"] not in row["account_name"]
    assert route == f"{row['currency']}-{row['rails']}".lower()


def test_people_and_banks_are_plainly_examples() -> None:
    """No real person is in them, and no two payers are one."""
    table = read(payerkit.tables.template(*ROUTES))

    assert {"Example Bank"} == set(table["bank_name"])
    assert table["email"].str.endswith("@example.com").all()
    assert table["client_user_id"].is_unique
    assert table["account_name"].str.contains("Example|Ejemplo|Exemplo|レイ").all()


def test_a_template_without_routes_is_for_the_usual_ones() -> None:
    """Dollars, euros and pounds with local rails, each route once."""
    assert payerkit.tables.template() == payerkit.tables.template(
        *DEFAULT_ROUTES, "USD-Local"
    )


@table("unknown_routes")
def test_an_unknown_route_is_told(route: str, words: str) -> None:
    """With what was probably meant, and with all routes."""
    with pytest.raises(InvalidInput) as caught:
        payerkit.tables.template("eur-local", route)

    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["accounts.csv", "accounts.xlsx", "ACCOUNTS.XLSX"])
def test_a_file_is_read_as_it_is_printed(name: str, tmp_path: Path) -> None:
    """CSV and Excel hold what the text says, and stay text: zeros, dates and letters of
    the world.
    """
    text = payerkit.tables.template(
        "usd-local", "jpy-swift", "eur-local", path=tmp_path / name
    )

    pd.testing.assert_frame_equal(read(text), payerkit.read_payers(tmp_path / name))


def test_the_examples_are_sent(shared: Client, tmp_path: Path) -> None:
    """The sandbox accepts the example of every route."""
    report = payerkit.onboard(
        shared,
        read(payerkit.tables.template(*ROUTES)),
        journal=tmp_path / "journal",
        options=RunOptions(progress=False),
    )

    assert len(ROUTES) == report.counts["done"]


# The workbook


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> openpyxl.Workbook:
    """Write a template as workbook, and open it."""
    path = tmp_path_factory.mktemp("template") / "accounts.xlsx"
    payerkit.tables.template("usd-local", "brl-local", path=path)
    return openpyxl.load_workbook(path)


def letters(book: openpyxl.Workbook) -> dict[str, str]:
    """Return the letter of each column of the sheet by its name."""
    return {cell.value: cell.column_letter for cell in book.worksheets[0][1]}


def test_cells_are_text(book: openpyxl.Workbook) -> None:
    """Also in the rows below the examples, where people type; the header stays in
    view.
    """
    sheet = book.worksheets[0]

    assert "A2" == sheet.freeze_panes
    assert {"@"} == {cell.number_format for row in sheet.iter_rows() for cell in row}
    assert {"@"} == {
        sheet.column_dimensions[letter].number_format
        for letter in letters(book).values()
    }
    assert "s" == sheet[f"{letters(book)['phone']}2"].data_type


def test_columns_have_notes(book: openpyxl.Workbook) -> None:
    """Each note says what the column is and whose; the holder's say what to do if the
    holder is the payer.
    """
    notes = {cell.value: cell.comment.text for cell in book.worksheets[0][1]}

    assert (
        "Social security number. In the US, nine digits; elsewhere, a tax or identity"
        " number. For a business: in the US, the EIN; elsewhere, its registration or"
        " tax number. Required. Of the payer." == notes["ssn"]
    )
    assert "If needed." in notes["routing_number"]
    about = [name for name, note in notes.items() if "holder_is_payer" in note]
    assert {name for name in notes if name.startswith("bank_")} - {
        "bank_name",
        "bank_code",
    } <= set(about)
    assert not {"city", "country", "iban", "bank_name"} & set(about)
