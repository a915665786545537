"""Tables of many rows: what is one payer or account, which rows are kept back, and how cells are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import first_cases
from onboarding_tables import onboard
from payerkit import InvalidInput, PayerkitError
from payerkit.client import Client
from payerkit.onboarding.tasks import Table
from published import TYPED_ACCOUNT, TYPED_PAYER

ID = "client_user_id"
EUR = {name: value for name, value in TYPED_ACCOUNT.items() if name not in {"account_number", "routing_number"}}
EUR |= {ID: "typed-001", "currency": "EUR", "iban": "DE89370400440532013000", "country": "DE", "postal_code": "10117"}
EUR |= {"state": "BE"}
USD = {**TYPED_ACCOUNT, ID: "typed-001"}


def table(*rows: dict[str, Any], **options: Any) -> Table:
    """Return a table with these rows."""
    return Table(pd.DataFrame(rows, dtype="object"), **options)


def codes(found: Table) -> list[list[str]]:
    """Return the codes of the errors and warnings of each row."""
    return [[each.finding.code for each in row.problems if each.finding.severity != "info"] for row in found.rows]


@pytest.mark.parametrize(
    ("one", "other"),
    first_cases(
        [
            (EUR, EUR | {"iban": "de89 3704 0044 0532 0130 00"}),
            (USD, USD | {"rails": "local"}),  # what a missing one means
            (EUR | {"city": "M\u00fcnchen"}, EUR | {"city": "Mu\u0308nchen"}),  # composed, and with a combining mark
            (TYPED_PAYER, TYPED_PAYER | {ID: "TYPED-001"}),
            (USD, USD | {ID: " typed-001"}),  # ids are sent as typed, blanks included
            (USD, USD | {"currency": "usd"}),
            (USD, USD | {"account_number": "9812-7364-550"}),
            (USD, USD | {"account_name": "ZANZIBAR  Quartermaine"}),
            (USD, USD | {ID: "Typed-001"}),
            (TYPED_PAYER, TYPED_PAYER | {"first_name": "ZANZIBAR"}),
        ],
        5,
    ),
)
def test_near_duplicates_are_one_and_told(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two rows that differ only in blanks, case or Unicode form are sent as one; a third one decides which."""
    for rows, odd in (((one, other, one), 1), ((other, one, other), 1), ((other, one, one), 0)):
        found = table(*rows)
        sent = {row.payer_row.number if row.payer_row else row.account_row.number for row in found.rows}

        assert [row == odd for row in range(3)] == ["near_duplicate" in row for row in codes(found)]
        assert 1 == len({row.client_user_id for row in found.rows})
        assert (1, False) == (len(sent), odd in sent and ID not in {name for name in one if one[name] != other[name]})


def test_what_is_sent_of_near_duplicates_does_not_depend_on_the_order() -> None:
    """Otherwise a table that is sorted anew would look changed: of two ways to write it, always the same is chosen."""
    one, other = (TYPED_PAYER | {ID: name, "first_name": name} for name in ("Typed-001", "typed-001 "))
    tables = [table(one, other), table(other, one)]

    assert {"Typed-001"} == {row.client_user_id for found in tables for row in found.rows}
    assert 1 == len({str(found.values("payer", found.rows[0].payer_row or found.rows[0])) for found in tables})


def test_an_id_is_sent_as_it_was_sent_before() -> None:
    """Other rows of a longer table do not change it: under another id the payer would be stored again."""
    found = table(TYPED_PAYER, *[TYPED_PAYER | {ID: "TYPED-001"}] * 2, TYPED_PAYER | {ID: "typed-002"})
    before = found.rows[0].client_user_id
    found.prefer_ids(lambda text: text == "typed-001")

    assert ("TYPED-001", "typed-001", "typed-002") == (
        before,
        found.rows[1].client_user_id,
        found.rows[3].client_user_id,
    )


def test_a_longer_table_does_not_store_a_payer_again(shared: Client, tmp_path: Path) -> None:
    """The journal knows which of two spellings was sent."""
    one, other = (TYPED_PAYER | {ID: text} for text in ("longer-table-1", "Longer-table-1"))
    reports = [onboard(shared, pd.DataFrame(rows), tmp_path / "journal") for rows in ([one], [one, other, other])]
    ledger = shared.sandbox.ledger()

    assert [1, 3] == [report.counts["done"] for report in reports]
    assert ["longer-table-1"] == ledger.loc[
        ledger["client_user_id"].str.lower() == "longer-table-1", "client_user_id"
    ].tolist()


def test_a_payer_is_sent_under_one_id() -> None:
    """The values of a row have the id as it is sent, and rows that name only the payer go by it, too."""
    found = table(TYPED_PAYER, TYPED_PAYER, {ID: "TYPED-001"})

    respelled = table(TYPED_PAYER | {ID: "TYPED-001"}, TYPED_PAYER, TYPED_PAYER)

    assert ["typed-001"] * 3 == [row.client_user_id for row in found.rows]
    assert "typed-001" == respelled.values("payer", respelled.rows[0])[ID]
    assert [found.rows] == found.payers


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([USD, USD | {"account_name": "Zoe Quartermaine"}], [["account_twice"]] * 2),
        ([USD, USD | {"account_name": "Zoe Q", "currency": "usd"}], [["account_twice"]] * 2),  # however it is written
        ([USD, USD, USD | {"document_number": "1"}], [["account_twice"]] * 3),  # which one is right?
        ([USD, USD | {"bank_name": None}], [["account_twice"], ["required", "account_twice"]]),
        ([USD, USD | {"account_name": "Zoe", ID: "typed-002"}], [["account_shared"]] * 2),  # another payer
        ([USD, USD | {"account_name": "Zoe", "routing_number": "026009593"}], [[], []]),  # at another bank
        ([USD, USD | {"account_name": "Zoe", "rails": "wire"}], [[], []]),  # over other rails
        ([USD, USD], [[], []]),
        ([TYPED_PAYER, TYPED_PAYER | {"city": "Utica"}], [["id_twice"]] * 2),
        (
            [TYPED_PAYER, TYPED_PAYER | {"city": "Utica", ID: "TYPED-001"}],
            [["id_twice", "near_duplicate"], ["id_twice"]],
        ),
    ],
)
def test_contradictions_are_errors(rows: list[dict[str, Any]], expected: list[list[str]]) -> None:
    """An account, or a payer, that a table describes in two ways is not sent: a person says which one is right."""
    found = table(*rows)

    assert expected == codes(found)
    assert [bool({"account_twice", "id_twice"} & set(row)) for row in expected] == [
        row.is_blocked for row in found.rows
    ]


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
    """All of them, or those with a code; of near duplicates, the row that is sent is not kept back."""
    other = EUR | {ID: "typed-002", "iban": "DE02120300000000202051"}
    found = table(EUR, EUR | WARNED, EUR | {"bank_name": "TYPED BANK"}, other | {"bank_name": None}, EUR, hold=hold)

    rows = found.rows[:4]

    assert expected == [row.is_held for row in rows]
    assert [True, not expected[1], not expected[2], False] == [row.may_be_sent for row in rows]


def test_the_account_of_a_payer_who_is_kept_back_is_not_sent() -> None:
    """As that of a payer with an error: it would be refused."""
    payer = TYPED_PAYER | {"phone": "+1999"}
    held = table(
        payer, USD | {name: None for name in TYPED_PAYER if name not in USD}, hold="warnings", holder_is_payer=True
    )

    assert [True, False] == [row.is_held for row in held.rows]
    assert [False, True] == [row.waits_for_payer for row in held.rows]


def test_a_payer_is_sent_by_a_row_that_is_not_kept_back() -> None:
    """A warning about one of two accounts keeps back that row alone."""
    both = {f"bank_{name}" if name in TYPED_PAYER and name != ID else name: value for name, value in EUR.items()}
    rows = [TYPED_PAYER | both | WARNED, TYPED_PAYER | both]
    found = table(*rows, hold="iban_checksum")

    assert [True, False] == [row.is_held for row in found.rows]
    assert [found.rows[1]] * 2 == [row.payer_row for row in found.rows]


def test_what_is_sent_is_not_kept_back() -> None:
    """Of an account that is written in three ways, a row that needs no warning is sent."""
    rows = [USD | {ID: "TYPED-001"}, USD | {"currency": "usd"}, USD | {"currency": "usd"}, USD]
    found = table(*rows, hold="near_duplicate")

    assert {found.rows[1]} == {row.account_row for row in found.rows}
    assert [True, False, False, True] == [row.is_held for row in found.rows]


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        ("trimmed", "not the code of a warning: 'trimmed'"),  # an info
        (["iban_checksum", "email_form"], "'email_form'"),  # an error, which is never sent
        (True, "got a bool"),
        ("", "''"),
    ],
)
def test_only_warnings_keep_rows_back(hold: Any, words: str) -> None:
    """A misspelled code would keep nothing back."""
    with pytest.raises(InvalidInput, match=words):
        table(USD, hold=hold)


# Cells


def test_a_row_that_was_changed_is_not_read() -> None:
    """A run sends what was planned: rows that somebody changes meanwhile end it."""
    rows = pd.DataFrame([TYPED_PAYER | {ID: f"user-{place}"} for place in range(3)], dtype="object")
    found = Table(rows)
    rows.loc[1, "city"] = "Utica"

    with pytest.raises(PayerkitError, match="not those that the run began with") as caught:
        found.values("payer", found.rows[0])
    assert "call again with the same journal" in str(caught.value)


@pytest.mark.parametrize("value", ["user-1", "", "\ud800", "Zo\u00eb", "\U0001f600"])
def test_ids_are_kept_as_typed(value: str) -> None:
    """Also those that cannot be sent, which the report names."""
    found = table(TYPED_PAYER | {ID: "first"}, TYPED_PAYER | {ID: value}, TYPED_PAYER | {ID: "last"})

    assert ["first", value or None, "last"] == [row.client_user_id for row in found.rows]


def test_a_plan_tells_near_duplicates() -> None:
    """With the other warnings, and the row that is sent."""
    found = payerkit.plan_onboarding(pd.DataFrame([USD, USD | {"currency": "usd"}, USD], index=[2, 3, 4]))

    assert {"rows": 3, "to_send": 3, "payers": 0, "accounts": 1, "with_warnings": 1, "held": 0} == found.counts
    assert ["send", "as row 2", "as row 2"] == found.frame["bank_details"].tolist()
    assert "1 row  warning" in str(found)
