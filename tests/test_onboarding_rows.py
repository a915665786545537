"""Rows of a table: what is one payer or account, what rows share, whose accounts are,
and which rows are kept back.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import payerkit
from cases import joined
from cases import table as table_of
from onboarding_tables import run_arguments
from payerkit import InvalidInput
from payerkit.runs.rows import Step
from payerkit.runs.tasks import Table, Tasks
from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns, own
from published import typed_row as row

ID = "client_user_id"
EUR = {
    name: value
    for name, value in TYPED_ACCOUNT.items()
    if name not in {"account_number", "routing_number"}
}
EUR |= {
    ID: "typed-001",
    "currency": "EUR",
    "iban": "DE89370400440532013000",
    "country": "DE",
    "postal_code": "10117",
}
EUR |= {"state": "BE"}
USD = {**TYPED_ACCOUNT, ID: "typed-001"}


row_of = partial(joined, {"EUR": EUR, "USD": USD, "PAYER": TYPED_PAYER})


def table(*rows: dict[str, Any], **options: Any) -> Table:
    """Return a table with these rows."""
    return Table(pd.DataFrame(rows, dtype="object"), **options)


def codes(found: Table) -> list[list[str]]:
    """Return the codes of the errors and warnings of each row."""
    return [
        [each.finding.code for each in row.problems if each.finding.severity != "info"]
        for row in found.rows
    ]


@table_of("near_duplicates")
def test_near_duplicates_are_one_and_told(one: Any, other: Any) -> None:
    """Of rows that differ only in blanks, case or Unicode form the first is sent, and
    those that are written in another way are told.
    """
    one, other = row_of(one), row_of(other)
    for rows in ((one, other, one), (other, one, other), (other, one, one)):
        found = table(*rows)
        sent = {row.payer_row or row.account_row for row in found.rows}

        assert {found.rows[0]} == sent
        assert [row != rows[0] for row in rows] == [
            "near_duplicate" in row for row in codes(found)
        ]


@table_of("contradicting_rows")
def test_contradictions_are_errors(
    rows: list[list[Any]], expected: list[list[str]]
) -> None:
    """An account, or a payer, that a table describes in two ways is not sent: a person
    says which one is right.
    """
    found = table(*map(row_of, rows))

    assert expected == codes(found)
    assert [
        not {"account_twice", "id_twice", "id_respelled"}.isdisjoint(row)
        for row in expected
    ] == [row.is_blocked for row in found.rows]


WARNED = {"iban": "DE89370400440532013001"}
"""An IBAN whose check digits do not match."""


@pytest.mark.parametrize(
    ("hold", "expected"),
    [
        ((), [False] * 4),
        ("warnings", [False, True, True, False]),
        ("iban_checksum", [False, True, False, False]),
        (["near_duplicate"], [False, False, True, False]),
        ({"postal_form"}, [False] * 4),
    ],
)
def test_rows_with_warnings_are_kept_back(hold: Any, expected: list[bool]) -> None:
    """All of them, or those with a code; of near duplicates, the row that is sent is
    not kept back.
    """
    other = EUR | {ID: "typed-002", "iban": "DE02120300000000202051"}
    found = table(
        EUR,
        EUR | WARNED,
        EUR | {"bank_name": "TYPED BANK"},
        other | {"bank_name": None},
        EUR,
        hold=hold,
    )

    rows = found.rows[:4]

    assert expected == [row.is_held for row in rows]
    assert [True, not expected[1], not expected[2], False] == [
        row.may_be_sent for row in rows
    ]


def test_the_account_of_a_payer_who_is_kept_back_is_not_sent() -> None:
    """As that of a payer with an error: it would be refused."""
    payer = TYPED_PAYER | {"phone": "+1999"}
    held = table(
        payer,
        USD | {name: None for name in TYPED_PAYER if name not in USD},
        hold="warnings",
        holder_is_payer=True,
    )

    assert [True, False] == [row.is_held for row in held.rows]
    assert [False, True] == [row.waits_for_payer for row in held.rows]


def test_a_payer_is_sent_by_a_row_that_is_not_kept_back() -> None:
    """A warning about one of two accounts keeps back that row alone."""
    both = {
        f"bank_{name}" if name in TYPED_PAYER and name != ID else name: value
        for name, value in EUR.items()
    }
    rows = [TYPED_PAYER | both | WARNED, TYPED_PAYER | both]
    found = table(*rows, hold="iban_checksum")

    assert [True, False] == [row.is_held for row in found.rows]
    assert [found.rows[1]] * 2 == [row.payer_row for row in found.rows]


def test_what_is_sent_is_not_kept_back() -> None:
    """Of an account that is written in two ways, the row that is sent needs no
    warning.
    """
    rows = [USD | {"currency": "usd"}, USD | {"currency": "usd"}, USD]
    found = table(*rows, hold="near_duplicate")

    assert {found.rows[0]} == {row.account_row for row in found.rows}
    assert [False, False, True] == [row.is_held for row in found.rows]


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        ("trimmed", "not the code of a warning: 'trimmed'"),  # an info
        (
            ["iban_checksum", "email_form"],
            "'email_form'",
        ),  # an error, which is never sent
        (True, "got a bool"),
        ("", "''"),
    ],
)
def test_only_warnings_keep_rows_back(hold: Any, words: str) -> None:
    """A misspelled code would keep nothing back."""
    with pytest.raises(InvalidInput, match=words):
        table(USD, hold=hold)


# Cells


@pytest.mark.parametrize("value", ["user-1", "", "\ud800", "Zo\u00eb", "\U0001f600"])
def test_ids_are_kept_as_typed(value: str) -> None:
    """Also those that cannot be sent, which the report names."""
    found = table(
        TYPED_PAYER | {ID: "first"},
        TYPED_PAYER | {ID: value},
        TYPED_PAYER | {ID: "last"},
    )

    assert ["first", value or None, "last"] == [
        row.client_user_id for row in found.rows
    ]


# Rows against each other


Row = dict[str, Any]


def plan(*rows: Row, **options: Any) -> payerkit.runs.Plan:
    """Return the plan of a table with these rows, numbered as in a file, from 2."""
    table = pd.DataFrame(
        rows, index=pd.RangeIndex(2, 2 + len(rows), name="row"), dtype="object"
    )
    return payerkit.plan_onboarding(table, **run_arguments(**options))


def told(found: payerkit.runs.Plan) -> list[tuple[int, str, str]]:
    """Return the row, code and message of each finding about several rows."""
    chosen = found.findings[
        found.findings["code"].str.contains("shared|twice|near_duplicate|respelled")
    ]
    return list(chosen[["row", "code", "message"]].itertuples(index=False, name=None))


@table_of("shared_values")
def test_what_two_payers_share_is_told(one: Row, other: Row, codes: list[str]) -> None:
    """However it is written, in both rows, each of which names the other; it may be
    right, so that it is a warning.
    """
    found = plan(row(0, **one), row(1), row(2, **other))
    shared = [
        (at, code, text) for at, code, text in told(found) if code.endswith("_shared")
    ]

    assert codes == sorted({code for _, code, _ in shared})
    assert ([(2, "row 4."), (4, "row 2.")] if codes else []) == [
        (at, text[-6:]) for at, _, text in shared
    ]
    assert {"warning"} >= set(
        found.findings.loc[found.findings["code"].str.endswith("_shared"), "severity"]
    )


def test_the_rows_are_named() -> None:
    """The first row of another payer; those of a payer's own rows count as one."""
    rows = [row(place, email="team@example.com") for place in range(6)]
    found = plan(rows[0], rows[0] | {"account_number": "55555555"}, *rows[1:])
    message = "A payer with another id has the same e-mail address: see row"

    assert [(at, f"{message} {4 if at < 4 else 2}.") for at in range(2, 9)] == [
        (at, text) for at, _, text in told(found)
    ]
    assert 1 == str(found).count(
        "A payer with another id has the same e-mail address. [email_shared]"
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [row(0), row(0, city="Utica")],
            [(2, "id_twice", "row 3"), (3, "id_twice", "row 2")],
        ),
        (
            [
                row(0),
                row(0, account_name="Zoe Q"),
                row(1),
                row(1, account_name="Zoe Q"),
            ],
            [
                (at, "account_twice", f"row {other}")
                for at, other in ((2, 3), (3, 2), (4, 5), (5, 4))
            ],
        ),
        (
            [row(0), row(0, currency="usd"), row(0)],
            [(3, "near_duplicate", "row 2")],
        ),  # an account, written differently
        (
            [row(0), row(0, **{ID: "USER -0 "})],
            [(2, "id_respelled", "row 3"), (3, "id_respelled", "row 2")],
        ),
    ],
)
def test_what_is_twice_names_the_other_row(
    rows: list[Row], expected: list[tuple[int, str, str]]
) -> None:
    """Contradictions in each of the rows; near duplicates in the row in place of which
    another one is sent.
    """
    found = told(plan(*rows))

    assert expected == [
        (at, code, text.rpartition(": see ")[2].removesuffix("."))
        for at, code, text in found
    ]


def test_an_example_shares_nothing() -> None:
    """The rows of a template have one number, which is nobody's."""
    rows = payerkit.tables.template("usd-local", "usd-wire").splitlines()
    table = pd.DataFrame(
        [line.split(",") for line in rows[1:]], columns=rows[0].split(",")
    )

    assert {"example_row"} == set(payerkit.plan_onboarding(table).findings["code"])


def test_an_account_may_stand_in_another_row() -> None:
    """Tables of two kinds of rows, one below the other, lack nothing."""
    without = {name: None for name in row(0) if name not in TYPED_PAYER}
    alone = {name: None for name in TYPED_PAYER if name != ID}

    assert [] == told(plan(row(0), row(1), row(2, **without), row(2, **alone)))


def test_a_label_that_is_an_address_is_masked() -> None:
    """Labels may be ids."""
    rows = pd.DataFrame(
        [row(0, **own(9)), row(1, **own(9))],
        index=["ann@example.com", "bob@example.com"],
    )
    found = payerkit.plan_onboarding(rows)

    assert {"row ••••."} == {
        text.rpartition("see ")[2] for text in found.findings["message"]
    }


# Whose an account is: nothing about its holder is the payer's, unless somebody says
# that both are the same


ACCOUNT = {
    "bank_name": "Example Bank",
    "account_name": "Example Handels GmbH",
    "currency": "EUR",
}
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
OWN_ACCOUNT = {
    name: value
    for name, value in TYPED_ACCOUNT.items()
    if name not in {*TYPED_PAYER, "postal_code"}
}
"""The same of an account of the payer."""
SAME = {"holder_is_payer": "yes"}
ADDRESS = ("addressLine1", "city", "state", "postalCode", "country")


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a table of these rows."""
    return pd.DataFrame(rows, dtype="object")


def body(table: Table, row: int = 0) -> dict[str, str]:
    """Return the account that a row of a table sends."""
    sent: dict[str, str] = json.loads(
        Tasks(table, b"secret")["bank_details", table.rows[row]].body.content
    )
    return sent


def errors(found: payerkit.runs.Plan) -> list[tuple[int, str, str, str]]:
    """Return the errors of a plan: row, step, field, code."""
    wrong = found.findings[found.findings["severity"] == "error"]
    return list(
        wrong[["row", "step", "field", "code"]].itertuples(index=False, name=None)
    )


def test_the_holder_is_sent_as_the_table_says() -> None:
    """With the holder's columns the account is the payee's, and nothing of the payer is
    in it.
    """
    table = Table(frame(TYPED_PAYER | ACCOUNT | PAYEE))
    sent = body(table)

    assert {"business", "DE", "10117", "2012-05-21"} <= set(sent.values())
    assert set() == set(TYPED_PAYER.values()) & set(sent.values())
    assert (0, False) == (len(table.found), any(row.is_blocked for row in table.rows))


EVERY_REQUIRED = [
    "bank_name",
    "account_name",
    "bank_beneficiary_type",
    "currency",
    *list(PAYEE)[1:],
]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # A company abroad must not go out as the private person that its payer is.
        (TYPED_PAYER | ACCOUNT, list(PAYEE)),
        (
            TYPED_PAYER | ACCOUNT | {"bank_city": "Berlin"},
            [name for name in PAYEE if name != "bank_city"],
        ),
        (
            TYPED_PAYER | ACCOUNT | {"postal_code": "10117"},
            [name for name in PAYEE if name != "bank_postal_code"],
        ),
        (
            {"client_user_id": "a", "email": "x"} | TYPED_ACCOUNT,
            [name for name in PAYEE if "postal" not in name],
        ),
        (TYPED_PAYER | {"iban": "x"}, EVERY_REQUIRED),  # also those that no payer has
        # without payers, too, columns with bank_ say that the plain ones are somebody
        # else's
        (
            {
                "client_user_id": "a",
                "city": "Albany",
                "bank_country": "DE",
                "bank_city": "Berlin",
            }
            | ACCOUNT,
            [name for name in PAYEE if name not in {"bank_country", "bank_city"}],
        ),
    ],
)
@pytest.mark.parametrize("steps", [("payer", "bank_details"), ("bank_details",)])
def test_missing_required_columns_are_named(
    row: dict[str, Any], expected: list[str], steps: tuple[Step, ...]
) -> None:
    """Exactly those, whatever is sent of the table: optional ones, and ones that are
    there, are not.
    """
    with pytest.raises(InvalidInput) as caught:
        Table(frame(row), steps)

    assert expected == [problem.field for problem in caught.value.fields]
    assert "holder_is_payer=True (--holder-is-payer)" in str(caught.value)


def test_payers_without_accounts_need_no_holder() -> None:
    """Columns of accounts in which all cells are blank are no accounts."""
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | dict.fromkeys(ACCOUNT)))

    assert ("send", "") == tuple(found.frame.loc[0, ["payer", "bank_details"]])


def test_plain_columns_of_accounts_alone_are_the_account_holders() -> None:
    """Without payers in the table, `country` can be nobody else's; `postcode` is taken
    for `postal_code`.
    """
    row = {"client_user_id": "a"} | TYPED_ACCOUNT
    other = {
        ("postcode" if name == "postal_code" else name): value
        for name, value in row.items()
    }
    first, second = (
        body(Table(frame(each), ("bank_details",))) for each in (row, other)
    )

    assert first == second == {**first, "country": "US", "postalCode": "12207"}


def test_postal_code_is_the_accounts_beside_bank_columns() -> None:
    """A payer's is called `postcode`, so `postal_code` needs no `bank_` in front."""
    plain = {
        ("postal_code" if name == "bank_postal_code" else name): value
        for name, value in PAYEE.items()
    }

    assert body(Table(frame(TYPED_PAYER | ACCOUNT | PAYEE))) == body(
        Table(frame(TYPED_PAYER | ACCOUNT | plain))
    )


def test_postal_code_may_not_be_given_twice() -> None:
    """With both names, one value would be lost."""
    with pytest.raises(
        InvalidInput, match="postal_code: a second column for postal_code"
    ):
        payerkit.plan_onboarding(
            frame(TYPED_PAYER | ACCOUNT | PAYEE | {"postal_code": "10117"})
        )


def test_a_blank_cell_of_the_holder_is_not_filled() -> None:
    """It is an error of its row, named as the table names it; an optional one stays
    blank.
    """
    found = payerkit.plan_onboarding(
        frame(
            TYPED_PAYER | ACCOUNT | PAYEE | {"bank_country": None, "bank_state": None}
        )
    )

    assert [(0, "bank_details", "country", "required")] == errors(found)
    assert "1 row  bank_country: Required." in str(found)
    assert str(found.frame.loc[0, "reason"]).startswith("bank_country: Required.")


def test_findings_name_the_step_and_the_column() -> None:
    """The same field of the payer and of the holder are told apart."""
    found = payerkit.plan_onboarding(
        frame(TYPED_PAYER | ACCOUNT | PAYEE | {"country": "USA", "bank_country": "D"})
    )

    assert [
        (0, "payer", "country", "country_length"),
        (0, "bank_details", "country", "country_length"),
    ] == errors(found)
    assert (
        "country: Not two letters. Write US.; "
        "bank_country: Not two letters. Write the ISO 3166-1 alpha-2 code, such as US."
        == found.frame.loc[0, "reason"]
    )


@pytest.mark.parametrize(
    "rows", [frame(TYPED_PAYER | ACCOUNT | {"address_line2": "Suite 2"})]
)
@pytest.mark.parametrize("said", ["argument", "column"])
def test_a_holder_who_is_the_payer_has_the_payers_data(
    rows: pd.DataFrame, said: str
) -> None:
    """Birth date, type and address come from the payer's columns, by argument or by
    column; never the name.
    """
    table = (
        Table(rows, holder_is_payer=True)
        if said == "argument"
        else Table(rows.assign(**SAME))
    )
    sent = body(table)

    assert ["77 Typed Terrace", "Albany", "NY", "12207", "US"] == [
        sent[name] for name in ADDRESS
    ]
    assert ["individual", "1979-03-27", "Suite 2"] == [
        sent[name] for name in ("beneficiaryType", "dateOfBirth", "addressLine2")
    ]
    assert "Example Handels GmbH" == sent["accountName"]
    assert "holderIsPayer" not in sent


def test_the_name_of_the_account_is_never_the_payers() -> None:
    """Even if the holder is the payer, the name on the account is a column of its
    own.
    """
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
    of_the_payer = [
        TYPED_PAYER | ACCOUNT | {"client_user_id": f"a{place}"}
        for place in range(len(cells))
    ]
    rows = frame(*of_the_payer, TYPED_PAYER | ACCOUNT | PAYEE | {"client_user_id": "b"})
    rows["holder_is_payer"] = pd.Series([*cells, "no"], dtype="object")
    found = payerkit.plan_onboarding(rows, holder_is_payer=default)
    wrong = {(row, code) for row, *_, code in errors(found)}

    assert ["send" if is_payer else ""] * len(cells) + ["send"] == found.frame[
        "bank_details"
    ].tolist()
    assert (
        set() if is_payer else {(row, "required") for row in range(len(cells))}
    ) == wrong


@pytest.mark.parametrize("cell", ["maybe", "y", "2", 2, ["yes"], "same"])
def test_other_words_are_errors(cell: Any) -> None:
    """They are not guessed; the error names the column."""
    found = payerkit.plan_onboarding(
        frame(TYPED_PAYER | ACCOUNT | PAYEE | {"holder_is_payer": cell})
    )

    assert [(0, "bank_details", "holder_is_payer", "choice")] == errors(found)
    assert (
        "holder_is_payer: Expected yes or no. Or leave it blank."
        == found.frame.loc[0, "reason"]
    )


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (SAME | {"bank_city": "Berlin"}, "city"),
        (SAME | {"bank_country": "DE"}, "country"),
        (SAME | {"postal_code": "10117"}, "postal_code"),
        (SAME | {"bank_postal_code": "10117"}, "postal_code"),
        (SAME | {"bank_beneficiary_type": "business"}, "beneficiary_type"),
        (
            SAME | {"bank_address_line2": "Suite 2"},
            "address_line2",
        ),  # which the payer lacks
        ({"bank_city": "Berlin"}, "city"),  # the argument says it
    ],
)
def test_two_addresses_are_never_mixed(row: dict[str, str], field: str) -> None:
    """A holder who is the payer, but lives elsewhere, is a contradiction: the row is
    not sent.
    """
    found = payerkit.plan_onboarding(
        frame(TYPED_PAYER | ACCOUNT | row), holder_is_payer="holder_is_payer" not in row
    )

    assert [(0, "bank_details", field, "holder_differs")] == errors(found)
    assert ("", "") == tuple(found.frame.loc[0, ["payer", "bank_details"]])


def test_equal_values_are_no_contradiction() -> None:
    """The holder's columns may repeat what the payer's say; surrounding blanks do not
    matter.
    """
    same = as_columns(TYPED_ACCOUNT) | {"bank_city": " Albany "}
    found = payerkit.plan_onboarding(frame(TYPED_PAYER | same | SAME))

    assert ({"trimmed"}, "send") == (
        set(found.findings["code"]),
        found.frame.loc[0, "bank_details"],
    )


def test_rows_differ_in_whose_account_it_is() -> None:
    """Some holders are their payers, some are not; a row without an account needs
    neither.
    """
    rows = frame(
        TYPED_PAYER | ACCOUNT | PAYEE,
        TYPED_PAYER
        | OWN_ACCOUNT
        | own(1)
        | {"client_user_id": "b", "account_number": "11112222333"}
        | SAME,
        TYPED_PAYER | own(2) | {"client_user_id": "c"} | SAME,
    )
    table = Table(rows)

    assert ["DE", "US"] == [body(table, row)["country"] for row in (0, 1)]
    assert [True, True, False] == [
        "bank_details" in row.data and row.may_be_sent for row in table.rows
    ]
    assert [] == table.found


def test_the_column_does_nothing_for_accounts_alone() -> None:
    """Their plain columns are the holder's anyway; a word that says nothing is still an
    error.
    """
    rows = frame(
        *(
            {"client_user_id": "a"} | TYPED_ACCOUNT | {"holder_is_payer": cell}
            for cell in ("yes", "no", "x")
        )
    )
    table = Table(rows, ("bank_details",))

    assert body(table, 0) == body(table, 1)
    assert [False, False, True] == [row.is_blocked for row in table.rows]


@pytest.mark.parametrize("said", ["yes", 1, None])
def test_the_argument_is_true_or_false(said: Any) -> None:
    """Words are for the column."""
    with pytest.raises(InvalidInput, match="holder_is_payer: expected True or False"):
        payerkit.plan_onboarding(frame(TYPED_PAYER), holder_is_payer=said)
