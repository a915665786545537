"""Placeholders: what stands for nothing, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit import InvalidInput
from payerkit._tsv import rows
from payerkit.checks.placeholders import is_clearable, is_placeholder
from payerkit.checks.places import countries, fiat_currencies, states
from payerkit.client import Client
from payerkit.models.base import RequestModel
from payerkit.models.fields import fields_of, names_of
from payerkit.models.requests import BankDetails, Payer
from payerkit.runs import RunOptions
from payerkit.runs.rows import Placeholders
from payerkit.tables.damage import text_damage
from published import PUBLISHED, TYPED_ACCOUNT, TYPED_PAYER, as_columns


@pytest.mark.parametrize(
    "text",
    [
        "N/A",
        "n/a",
        "n. a.",
        "NA",
        "#N/A",
        "#REF!",
        "None",
        "NULL",
        "nan",
        "<NA>",
        "(none)",
        "[null]",
        "-",
        "--",
        "\u2014",
        ".",
        "...",
        "?",
        "??",
        "/",
        "_",
        "*",
        "\u2026",
        "=",
        "~",
        "not applicable",
        "Unknown",
        "k.A.",
        "K. A.",
        "s.o.",
        "unbekannt",
        "Desconocido",
        "néant",
        "xxx",
        "XX",
        "tbd",
        " N/A ",
        "n/a\u00a0",
        "\uff0d",
        "same as above",
        '"',
    ],
)
def test_placeholders(text: str) -> None:
    """What people and programs write for nothing is found, in any case and form."""
    assert is_placeholder(Payer, "address_line2", text)


@table("no_placeholders")
def test_no_placeholders(field: str, text: str) -> None:
    """What may be a value is none."""
    schema = Payer if field in fields_of(Payer) else BankDetails

    assert not is_placeholder(schema, field, text)


def test_no_code_is_a_placeholder() -> None:
    """No code of a country, state, currency or choice is taken for nothing."""
    codes = [("country", code) for code in countries()]
    codes += [("state", code) for names in states().values() for code in names]
    codes += [
        ("currency", code) for code in fiat_currencies() if code != "XXX"
    ]  # ISO 4217: no currency
    codes += [
        (name, option)
        for name, field in fields_of(BankDetails).items()
        for option in field.options
    ]

    assert [] == [
        (name, code) for name, code in codes if is_placeholder(BankDetails, name, code)
    ]


def test_published_values_are_no_placeholders() -> None:
    """The published examples have none."""
    bodies: list[tuple[type[RequestModel], dict[str, str]]]
    bodies = [(Payer, each) for each in PUBLISHED["payers"].values()]
    bodies += [(BankDetails, each) for each in PUBLISHED["bank_details"].values()]
    cells = [
        (model, names_of(model)[key], text)
        for model, body in bodies
        for key, text in body.items()
    ]

    assert [] == [
        (name, text)
        for schema, name, text in cells
        if is_placeholder(schema, name, text)
    ]


@table("clearable")
def test_what_may_be_cleared(field: str, text: str, expected: bool) -> None:
    """A name that means nothing elsewhere, and an error value, are never taken for a
    blank cell.
    """
    assert expected is is_clearable(Payer, field, text)


def found(plan: payerkit.runs.Plan) -> list[tuple[Any, ...]]:
    """Return row, field and code of the errors of a plan."""
    errors = plan.findings[plan.findings["severity"] == "error"]
    return list(errors[["row", "field", "code"]].itertuples(index=False, name=None))


ROW: dict[str, Any] = (
    TYPED_PAYER | as_columns(TYPED_ACCOUNT) | {"bank_name": "Typed Bank"}
)


@pytest.mark.parametrize(
    ("field", "text"),
    [("ssn", "XXX-XX-6789"), ("account_number", "••••6789"), ("iban", "****3000")],
)
def test_a_number_of_which_only_the_end_is_there_is_never_sent(
    field: str, text: str
) -> None:
    """A statement or a page shows it so; the number itself is not known."""
    plan = payerkit.plan_onboarding(pd.DataFrame([ROW | {field: text}], dtype="object"))

    assert ["not_sent"] == plan.frame["state"].tolist()


@table("placeholder_rows")
def test_a_placeholder_blocks_its_row(
    cells: dict[str, str], expected: list[str]
) -> None:
    """Each is one error, and the only finding about its cell; other rows are sent."""
    other = {
        "client_user_id": "typed-002",
        "email": "b@example.com",
        "ssn": "219-09-9874",
    }
    plan = payerkit.plan_onboarding(
        pd.DataFrame([ROW | cells, ROW | other], dtype="object")
    )

    assert [(0, field, "placeholder") for field in expected] == found(plan)
    assert ["not_sent" if expected else "to_send", "to_send"] == plan.frame[
        "state"
    ].tolist()
    assert [] == [
        code
        for field, code in zip(
            plan.findings["field"], plan.findings["code"], strict=True
        )
        if field in expected and code != "placeholder"
    ]


def test_a_row_without_payer_data_is_checked_too() -> None:
    """The id of a row that has only an account is found."""
    account = {name: value for name, value in ROW.items() if name not in TYPED_PAYER}
    plan = payerkit.plan_onboarding(
        pd.DataFrame([account | {"client_user_id": "N/A"}], dtype="object")
    )

    assert [(0, "client_user_id", "placeholder")] == found(plan)


@pytest.mark.parametrize(
    ("name", "placeholders", "codes"),
    [
        ("N/A", "error", ["placeholder"]),
        ("N/A", "keep", []),
        ("null", "error", ["placeholder"]),
        ("null", {"null"}, []),
        ("N/A", {"Null"}, ["placeholder"]),  # keeping one opens no other
        ("Null", "error", ["placeholder_name"]),  # may be a name
        ("Na", "error", ["placeholder_name"]),
        ("Null", {"Null", "None"}, []),
        ("-", "error", ["placeholder"]),
        ("-", {"-"}, []),  # of somebody with one name
    ],
)
def test_placeholders_are_kept_if_a_person_says_so(
    name: str, placeholders: Placeholders, codes: list[str]
) -> None:
    """All of them, or those that are named; a name that is written as one is warned
    of, and would be sent.
    """
    table = pd.DataFrame([TYPED_PAYER | {"last_name": name}])
    plan = payerkit.plan_onboarding(table, placeholders=placeholders)

    assert codes == plan.findings["code"].to_list()
    assert (codes == ["placeholder"]) == (plan.counts["to_send"] == 0)


def test_a_run_sends_a_placeholder_that_is_meant(shared: Client, tmp_path: Any) -> None:
    """With the words that are meant, as with a plan of them."""
    table = pd.DataFrame([TYPED_PAYER | {"client_user_id": "n-1", "last_name": "null"}])
    reports = [
        payerkit.onboard(
            shared,
            table,
            journal=tmp_path / "journal",
            options=RunOptions(progress=False),
            placeholders=words,
        )
        for words in ({"none"}, {"null"})
    ]

    assert [0, 1] == [report.counts["done"] for report in reports]


def test_add_bank_details_takes_the_argument(shared: Client, tmp_path: Any) -> None:
    """Accounts alone are checked in the same way."""
    table = pd.DataFrame(
        [TYPED_ACCOUNT | {"client_user_id": "acc-1", "address_line2": "n/a"}]
    )
    report = payerkit.add_bank_details(
        shared, table, journal=tmp_path / "journal", options=RunOptions(progress=False)
    )

    assert "placeholder" in report.frame["reason"].iloc[0]


def test_another_word_is_refused() -> None:
    """A word alone is an error, since it is no list of words."""
    with pytest.raises(InvalidInput, match='placeholders: expected "error", "keep"'):
        payerkit.plan_onboarding(pd.DataFrame([TYPED_PAYER]), placeholders="skip")


def test_the_exceptions_are_fields() -> None:
    """The table names no field that does not exist, and no reason to stay that is not
    known.
    """
    table = list(rows("payerkit.checks", "placeholders"))

    assert {name for row in table for name in row["not_in"].split()} <= set(
        fields_of(Payer)
    ) | set(fields_of(BankDetails))
    assert {"", "names", "always"} == {row["stays"] for row in table}
    assert len(table) == len({row["word"] for row in table})


@pytest.mark.parametrize(
    "text", ["#N/A", "#NA", "#BEZUG!", "#¡REF!", "#¿NOMBRE?", "#NOM?", "#GETTING_DATA"]
)
def test_an_error_of_a_spreadsheet_is_damage_and_a_placeholder(text: str) -> None:
    """It is found in a file and in any other table, and nothing clears it: its value is
    lost.
    """
    damage = text_damage(text)

    assert ("error_value", None) == (damage and damage.code, damage and damage.repaired)
    assert (True, False) == (
        is_placeholder(Payer, "city", text),
        is_clearable(Payer, "city", text),
    )


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
def test_a_name_that_programs_write_is_known_by_its_letters(
    field: str, text: str, *, expected: bool
) -> None:
    """People write a name with a capital; programs write nan and NaN."""
    assert expected == is_placeholder(Payer, field, text)
