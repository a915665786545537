"""Whose an account is: nothing about its holder is the payer's, unless somebody says that both are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import payerkit
from onboarding_tables import run_arguments
from payerkit import InvalidInput
from payerkit.client import Client
from payerkit.onboarding.rows import Step
from payerkit.onboarding.tasks import Table, Tasks
from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns, own

ACCOUNT = {"bank_name": "Example Bank", "account_name": "Example Handels GmbH", "currency": "EUR"}
ACCOUNT |= {"iban": "DE89370400440532013000"}
"""Fields that only an account has."""
PAYEE = {
    "bank_beneficiary_type": "business",
    "bank_date_of_birth": "2012-05-21",
    "bank_address_line1": "5 Musterweg",
    "bank_city": "Berlin",
    "bank_postal_code": "10117",
    "bank_country": "DE",
}
"""The holder of that account, in a table with payers."""
OWN_ACCOUNT = {name: value for name, value in TYPED_ACCOUNT.items() if name not in {*TYPED_PAYER, "postal_code"}}
"""The same of an account of the payer."""
SAME = {"holder_is_payer": "yes"}
ADDRESS = ("addressLine1", "city", "state", "postalCode", "country")


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a table of these rows."""
    return pd.DataFrame(rows, dtype="object")


def body(table: Table, row: int = 0) -> dict[str, str]:
    """Return the account that a row of a table sends."""
    sent: dict[str, str] = json.loads(Tasks(table, b"secret")["bank_details", table.rows[row]].body.content)
    return sent


def lacking(rows: pd.DataFrame, **options: Any) -> list[str]:
    """Return the columns that a refused table is told to add."""
    with pytest.raises(InvalidInput) as caught:
        payerkit.plan_onboarding(rows, **options)
    assert [True, True] == [words in str(caught.value) for words in ("holder_is_payer=True", "--holder-is-payer")]
    return [problem.field for problem in caught.value.fields]


def errors(found: payerkit.onboarding.Plan) -> list[tuple[int, str, str, str]]:
    """Return the errors of a plan: row, step, field, code."""
    wrong = found.findings[found.findings["severity"] == "error"]
    return list(wrong[["row", "step", "field", "code"]].itertuples(index=False, name=None))


def test_a_company_abroad_is_not_sent_as_its_payer() -> None:
    """A payee GmbH with a German IBAN must not go out as a private person of New York: the table is refused."""
    rows = frame(TYPED_PAYER | ACCOUNT)

    assert list(PAYEE) == lacking(rows)


def test_the_holder_is_sent_as_the_table_says() -> None:
    """With the holder's columns the account is the payee's, and nothing of the payer is in it."""
    table = Table(frame(TYPED_PAYER | ACCOUNT | PAYEE))
    sent = body(table)

    assert {"business", "DE", "10117", "2012-05-21"} <= set(sent.values())
    assert set() == set(TYPED_PAYER.values()) & set(sent.values())
    assert (0, False) == (len(table.found), any(row.is_blocked for row in table.rows))


EVERY_REQUIRED = ["bank_name", "account_name", "bank_beneficiary_type", "currency", *list(PAYEE)[1:]]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (TYPED_PAYER | ACCOUNT | {"bank_city": "Berlin"}, [name for name in PAYEE if name != "bank_city"]),
        (TYPED_PAYER | ACCOUNT | {"postal_code": "10117"}, [name for name in PAYEE if name != "bank_postal_code"]),
        ({"client_user_id": "a", "email": "x"} | TYPED_ACCOUNT, [name for name in PAYEE if "postal" not in name]),
        (TYPED_PAYER | {"iban": "x"}, EVERY_REQUIRED),  # also those that no payer has
        # without payers, too, columns with bank_ say that the plain ones are somebody else's
        (
            {"client_user_id": "a", "city": "Albany", "bank_country": "DE", "bank_city": "Berlin"} | ACCOUNT,
            [name for name in PAYEE if name not in {"bank_country", "bank_city"}],
        ),
    ],
)
@pytest.mark.parametrize("steps", [("payer", "bank_details"), ("bank_details",)])
def test_missing_required_columns_are_named(row: dict[str, Any], expected: list[str], steps: tuple[Step, ...]) -> None:
    """Exactly those, whatever is sent of the table: optional ones, and ones that are there, are not."""
    with pytest.raises(InvalidInput) as caught:
        Table(frame(row), steps)

    assert expected == [problem.field for problem in caught.value.fields]


def test_payers_without_accounts_need_no_holder() -> None:
    """Columns of accounts in which all cells are blank are no accounts."""
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | dict.fromkeys(ACCOUNT)))

    assert ("send", "") == tuple(found.frame.loc[0, ["payer", "bank_details"]])


def test_plain_columns_of_accounts_alone_are_the_account_holders() -> None:
    """Without payers in the table, `country` can be nobody else's; `postcode` is taken for `postal_code`."""
    row = {"client_user_id": "a"} | TYPED_ACCOUNT
    other = {("postcode" if name == "postal_code" else name): value for name, value in row.items()}
    first, second = (body(Table(frame(each), ("bank_details",))) for each in (row, other))

    assert first == second == {**first, "country": "US", "postalCode": "12207"}


def test_postal_code_is_the_accounts_beside_bank_columns() -> None:
    """A payer's is called `postcode`, so `postal_code` needs no `bank_` in front."""
    plain = {("postal_code" if name == "bank_postal_code" else name): value for name, value in PAYEE.items()}

    assert body(Table(frame(TYPED_PAYER | ACCOUNT | PAYEE))) == body(Table(frame(TYPED_PAYER | ACCOUNT | plain)))


def test_postal_code_may_not_be_given_twice() -> None:
    """With both names, one value would be lost."""
    with pytest.raises(InvalidInput, match="postal_code: a second column for postal_code"):
        payerkit.plan_onboarding(frame(TYPED_PAYER | ACCOUNT | PAYEE | {"postal_code": "10117"}))


def test_a_blank_cell_of_the_holder_is_not_filled() -> None:
    """It is an error of its row, named as the table names it; an optional one stays blank."""
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | ACCOUNT | PAYEE | {"bank_country": None, "bank_state": None}))

    assert [(0, "bank_details", "country", "required")] == errors(found)
    assert "1 row  error    bank_country: Required." in str(found)
    assert str(found.frame.loc[0, "reason"]).startswith("bank_country: Required.")


def test_findings_name_the_step_and_the_column() -> None:
    """The same field of the payer and of the holder are told apart."""
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | ACCOUNT | PAYEE | {"country": "USA", "bank_country": "D"}))

    assert [(0, "payer", "country", "country_length"), (0, "bank_details", "country", "country_length")] == errors(
        found
    )
    assert (
        "country: Not two letters. Write US.; "
        "bank_country: Not two letters. Write the ISO 3166-1 alpha-2 code, such as US." == found.frame.loc[0, "reason"]
    )


@pytest.mark.parametrize("rows", [frame(TYPED_PAYER | ACCOUNT | {"address_line2": "Suite 2"})])
@pytest.mark.parametrize("said", ["argument", "column"])
def test_a_holder_who_is_the_payer_has_the_payers_data(rows: pd.DataFrame, said: str) -> None:
    """Birth date, type and address come from the payer's columns, by argument or by column; never the name."""
    table = Table(rows, holder_is_payer=True) if said == "argument" else Table(rows.assign(**SAME))
    sent = body(table)

    assert ["77 Typed Terrace", "Albany", "NY", "12207", "US"] == [sent[name] for name in ADDRESS]
    assert ["individual", "1979-03-27", "Suite 2"] == [
        sent[name] for name in ("beneficiaryType", "dateOfBirth", "addressLine2")
    ]
    assert "Example Handels GmbH" == sent["accountName"]
    assert "holderIsPayer" not in sent


def test_the_name_of_the_account_is_never_the_payers() -> None:
    """Even if the holder is the payer, the name on the account is a column of its own."""
    rows = frame(TYPED_PAYER | ACCOUNT).drop(columns="account_name")
    found = payerkit.plan_onboarding(rows, holder_is_payer=True)

    assert [(0, "bank_details", "account_name", "required")] == errors(found)


CELLS: dict[bool | None, list[Any]] = {
    True: ["yes", "YES", " Yes ", "true", "1", True, np.bool_(True), 1, 1.0],
    False: ["no", "No", "false", "FALSE", "0", False, 0, 0.0],
    None: [None, "", " ", float("nan"), pd.NA],
}


@pytest.mark.parametrize("said", CELLS)
@pytest.mark.parametrize("default", [True, False])
def test_the_column_says_it_by_row(said: bool | None, default: bool) -> None:
    """Yes, no, and blank, which leaves it to the argument."""
    cells, is_payer = CELLS[said], default if said is None else said
    of_the_payer = [TYPED_PAYER | ACCOUNT | {"client_user_id": f"a{place}"} for place in range(len(cells))]
    rows = frame(*of_the_payer, TYPED_PAYER | ACCOUNT | PAYEE | {"client_user_id": "b"})
    rows["holder_is_payer"] = pd.Series([*cells, "no"], dtype="object")
    found = payerkit.plan_onboarding(rows, holder_is_payer=default)
    wrong = {(row, code) for row, *_, code in errors(found)}

    assert ["send" if is_payer else ""] * len(cells) + ["send"] == found.frame["bank_details"].tolist()
    assert (set() if is_payer else {(row, "required") for row in range(len(cells))}) == wrong


@pytest.mark.parametrize("cell", ["maybe", "y", "2", 2, ["yes"], "same"])
def test_other_words_are_errors(cell: Any) -> None:
    """They are not guessed; the error names the column."""
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | ACCOUNT | PAYEE | {"holder_is_payer": cell}))

    assert [(0, "bank_details", "holder_is_payer", "choice")] == errors(found)
    assert "holder_is_payer: Expected yes or no. Or leave it blank." == found.frame.loc[0, "reason"]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (SAME | {"bank_city": "Berlin"}, "city"),
        (SAME | {"bank_country": "DE"}, "country"),
        (SAME | {"postal_code": "10117"}, "postal_code"),
        (SAME | {"bank_postal_code": "10117"}, "postal_code"),
        (SAME | {"bank_beneficiary_type": "business"}, "beneficiary_type"),
        (SAME | {"bank_address_line2": "Suite 2"}, "address_line2"),  # which the payer lacks
        ({"bank_city": "Berlin"}, "city"),  # the argument says it
    ],
)
def test_two_addresses_are_never_mixed(row: dict[str, str], field: str) -> None:
    """A holder who is the payer, but lives elsewhere, is a contradiction: the row is not sent."""
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | ACCOUNT | row), holder_is_payer="holder_is_payer" not in row)

    assert [(0, "bank_details", field, "holder_differs")] == errors(found)
    assert ("", "") == tuple(found.frame.loc[0, ["payer", "bank_details"]])


def test_equal_values_are_no_contradiction() -> None:
    """The holder's columns may repeat what the payer's say; surrounding blanks do not matter."""
    same = as_columns(TYPED_ACCOUNT) | {"bank_city": " Albany "}
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | same | SAME))

    assert ({"trimmed"}, "send") == (set(found.findings["code"]), found.frame.loc[0, "bank_details"])


def test_rows_differ_in_whose_account_it_is() -> None:
    """Some holders are their payers, some are not; a row without an account needs neither."""
    rows = frame(
        TYPED_PAYER | ACCOUNT | PAYEE,
        TYPED_PAYER | OWN_ACCOUNT | own(1) | {"client_user_id": "b", "account_number": "11112222333"} | SAME,
        TYPED_PAYER | own(2) | {"client_user_id": "c"} | SAME,
    )
    table = Table(rows)

    assert ["DE", "US"] == [body(table, row)["country"] for row in (0, 1)]
    assert [True, True, False] == ["bank_details" in row.data and row.may_be_sent for row in table.rows]
    assert ["no_account"] == [each.finding.code for each in table.found]


def test_the_column_does_nothing_for_accounts_alone() -> None:
    """Their plain columns are the holder's anyway; a word that says nothing is still an error."""
    rows = frame(*({"client_user_id": "a"} | TYPED_ACCOUNT | {"holder_is_payer": cell} for cell in ("yes", "no", "x")))
    table = Table(rows, ("bank_details",))

    assert body(table, 0) == body(table, 1)
    assert [False, False, True] == [row.is_blocked for row in table.rows]


@pytest.mark.parametrize("said", ["yes", 1, None])
def test_the_argument_is_true_or_false(said: Any) -> None:
    """Words are for the column."""
    with pytest.raises(InvalidInput, match="holder_is_payer: expected True or False"):
        payerkit.plan_onboarding(frame(TYPED_PAYER), holder_is_payer=said)


def test_the_callers_table_is_not_changed() -> None:
    """Columns are filled in a table of our own."""
    rows = frame(TYPED_PAYER | ACCOUNT | SAME, TYPED_PAYER | ACCOUNT | PAYEE | {"client_user_id": "b"})
    before = rows.copy(deep=True)
    payerkit.plan_onboarding(rows)

    pd.testing.assert_frame_equal(before, rows)


def test_accounts_of_payers_on_board_keep_their_meaning(shared: Client, tmp_path: Path) -> None:
    """`add_bank_details` reads the same table as `onboard` does, and sends the same account."""
    rows = frame(TYPED_PAYER | ACCOUNT | {"client_user_id": "again"})
    options = run_arguments(holder_is_payer=True)
    first = payerkit.onboard(shared, rows, journal=tmp_path / "first", **options)
    second = payerkit.add_bank_details(shared, rows, journal=tmp_path / "second", existing="send", **options)
    listed = payerkit.statuses.list_many(shared, ["again"], progress=False)

    assert ["done", "done"] == [report.frame.loc[0, "state"] for report in (first, second)]
    assert 2 == len(listed)
    assert 1 == listed["account_name"].nunique()
