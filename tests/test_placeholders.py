"""Placeholders: what stands for nothing, and what only looks like it."""

from __future__ import annotations

from typing import Any, get_args

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit import InvalidInput
from payerkit._tsv import rows
from payerkit.checks.places import countries, fiat_currencies, states
from payerkit.checks.readings import is_clearable, is_placeholder
from payerkit.checks.schema import BANK_DETAILS, PAYER, SCHEMAS
from payerkit.client import Client
from payerkit.onboarding import RunOptions
from payerkit.onboarding.rows import Placeholders
from payerkit.tables.damage import text_damage
from published import PUBLISHED, TYPED_ACCOUNT, TYPED_PAYER, as_columns


@pytest.mark.parametrize(
    "text",
    [
        "N/A", "n/a", "n. a.", "NA", "#N/A", "#REF!", "None", "NULL", "nan", "<NA>", "(none)", "[null]", "-", "--",
        "\u2014", ".", "...", "?", "??", "/", "_", "*", "\u2026", "=", "~", "not applicable", "Unknown", "k.A.",
        "K. A.", "s.o.", "unbekannt", "Desconocido", "néant", "xxx", "XX", "tbd", " N/A ", "n/a\u00a0", "\uff0d",
        "same as above", '"',
    ],
)  # fmt: skip
def test_placeholders(text: str) -> None:
    """What people and programs write for nothing is found, in any case and form."""
    assert is_placeholder(PAYER, "address_line2", text)


@table("no_placeholders")
def test_no_placeholders(field: str, text: str) -> None:
    """What may be a value is none."""
    schema = PAYER if field in PAYER.fields else BANK_DETAILS

    assert not is_placeholder(schema, field, text)


def test_no_code_is_a_placeholder() -> None:
    """No code of a country, state, currency or choice is taken for nothing."""
    codes = [("country", code) for code in countries()]
    codes += [("state", code) for names in states().values() for code in names]
    codes += [("currency", code) for code in fiat_currencies() if code != "XXX"]  # ISO 4217: no currency
    codes += [(name, option) for name, field in BANK_DETAILS.fields.items() for option in field.options]

    assert [] == [(name, code) for name, code in codes if is_placeholder(BANK_DETAILS, name, code)]


def test_published_values_are_no_placeholders() -> None:
    """The published examples have none."""
    bodies = [("Payer", each) for each in PUBLISHED["payers"].values()]
    bodies += [("BankDetails", each) for each in PUBLISHED["bank_details"].values()]
    cells = [(SCHEMAS[name], SCHEMAS[name].names[key], text) for name, body in bodies for key, text in body.items()]

    assert [] == [(name, text) for schema, name, text in cells if is_placeholder(schema, name, text)]


@table("clearable")
def test_what_may_be_cleared(field: str, text: str, expected: bool) -> None:
    """A name that means nothing elsewhere, and an error value, are never taken for a blank cell."""
    assert expected is is_clearable(PAYER, field, text)


def found(plan: payerkit.onboarding.Plan) -> list[tuple[Any, ...]]:
    """Return row, field and code of the errors of a plan."""
    errors = plan.findings[plan.findings["severity"] == "error"]
    return list(errors[["row", "field", "code"]].itertuples(index=False, name=None))


ROW: dict[str, Any] = TYPED_PAYER | as_columns(TYPED_ACCOUNT) | {"bank_name": "Typed Bank"}


@table("placeholder_rows")
def test_a_placeholder_blocks_its_row(cells: dict[str, str], expected: list[str]) -> None:
    """Each is one error, and the only finding about its cell; other rows are sent."""
    other = {"client_user_id": "typed-002", "email": "b@example.com", "ssn": "219-09-9874"}
    plan = payerkit.plan_onboarding(pd.DataFrame([ROW | cells, ROW | other], dtype="object"))

    assert [(0, field, "placeholder") for field in expected] == found(plan)
    assert ["not_sent" if expected else "to_send", "to_send"] == plan.frame["state"].tolist()
    assert [] == [code for field, code in zip(plan.findings["field"], plan.findings["code"], strict=True)
                  if field in expected and code != "placeholder"]  # fmt: skip


def test_a_row_without_payer_data_is_checked_too() -> None:
    """The id of a row that has only an account is found."""
    account = {name: value for name, value in ROW.items() if name not in TYPED_PAYER}
    plan = payerkit.plan_onboarding(pd.DataFrame([account | {"client_user_id": "N/A"}], dtype="object"))

    assert [(0, "client_user_id", "placeholder")] == found(plan)


def test_placeholders_are_kept_if_a_person_says_so(shared: Client, tmp_path: Any) -> None:
    """With placeholders="keep", a surname Null is sent; without, its row is not."""
    table = pd.DataFrame([TYPED_PAYER | {"client_user_id": "null-1", "last_name": "Null"}])
    reports = [
        payerkit.onboard(
            shared, table, journal=tmp_path / "journal", options=RunOptions(progress=False), placeholders=each
        )
        for each in get_args(Placeholders)
    ]

    assert [0, 1] == [report.counts["done"] for report in reports]
    assert [] == found(payerkit.plan_onboarding(table, placeholders="keep"))


def test_add_bank_details_takes_the_argument(shared: Client, tmp_path: Any) -> None:
    """Accounts alone are checked in the same way."""
    table = pd.DataFrame([TYPED_ACCOUNT | {"client_user_id": "acc-1", "address_line2": "n/a"}])
    report = payerkit.add_bank_details(shared, table, journal=tmp_path / "journal", options=RunOptions(progress=False))

    assert "placeholder" in report.frame["reason"].iloc[0]


def test_another_word_is_refused() -> None:
    """Anything but "error" and "keep" is an error."""
    with pytest.raises(InvalidInput, match='placeholders: expected "error" or "keep"'):
        payerkit.plan_onboarding(pd.DataFrame([TYPED_PAYER]), placeholders="skip")  # type: ignore[arg-type]


def test_the_exceptions_are_fields() -> None:
    """The table names no field that does not exist, and no reason to stay that is not known."""
    table = list(rows("payerkit.checks", "placeholders"))

    assert {name for row in table for name in row["not_in"].split()} <= set(PAYER.fields) | set(BANK_DETAILS.fields)
    assert {"", "names", "always"} == {row["stays"] for row in table}
    assert len(table) == len({row["word"] for row in table})


@pytest.mark.parametrize("text", ["#N/A", "#NA", "#BEZUG!", "#¡REF!", "#¿NOMBRE?", "#NOM?", "#GETTING_DATA"])
def test_an_error_of_a_spreadsheet_is_damage_and_a_placeholder(text: str) -> None:
    """It is found in a file and in any other table, and nothing clears it: its value is lost."""
    damage = text_damage(text)

    assert ("error_value", None) == (damage and damage.code, damage and damage.repaired)
    assert (True, False) == (is_placeholder(PAYER, "city", text), is_clearable(PAYER, "city", text))


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ("city", "Nan", False),  # a city in Thailand
        ("city", "NAN", False),
        ("city", "nan", True),  # of a program
        ("city", "NaN", True),
        ("first_name", "Nil", False),
        ("first_name", "nil", True),
    ],
)
def test_a_name_that_programs_write_is_known_by_its_letters(field: str, text: str, *, expected: bool) -> None:
    """People write a name with a capital; programs write nan and NaN."""
    assert expected == is_placeholder(PAYER, field, text)
