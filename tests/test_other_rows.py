"""Rows against each other: accounts and people that several payers share, and payers without an account."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import payerkit
from onboarding_tables import run_arguments
from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns, own

Row = dict[str, Any]
ID = "client_user_id"
DE = {"account_number": None, "routing_number": None, "iban": "DE89370400440532013000", "currency": "EUR"}


def row(place: int, **changes: Any) -> Row:
    """Return a payer with an account; no two rows share what payers do not share."""
    account = as_columns(TYPED_ACCOUNT) | {"account_number": f"9812736455{place}"}
    return TYPED_PAYER | account | own(place) | {ID: f"user-{place}"} | changes


def plan(*rows: Row, **options: Any) -> payerkit.onboarding.Plan:
    """Return the plan of a table with these rows, numbered as in a file, from 2."""
    table = pd.DataFrame(rows, index=pd.RangeIndex(2, 2 + len(rows), name="row"), dtype="object")
    return payerkit.plan_onboarding(table, **run_arguments(**options))


def told(found: payerkit.onboarding.Plan) -> list[tuple[int, str, str]]:
    """Return the row, code and message of each finding about several rows."""
    chosen = found.findings[found.findings["code"].str.contains("shared|twice|near_duplicate|no_account")]
    return list(chosen[["row", "code", "message"]].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("one", "other", "codes"),
    [
        ({}, {}, set()),
        ({"account_number": "1234567890"}, {"account_number": "1234567890"}, {"account_shared"}),
        ({"account_number": "1234567890"}, {"account_number": "1234-567 890"}, {"account_shared"}),
        # A number is another account at another bank; over other rails, or in another currency, it is the same one.
        ({"account_number": "1234567890"}, {"account_number": "1234567890", "routing_number": "026009593"}, set()),
        ({"account_number": "1234567890"}, {"account_number": "1234567890", "rails": "wire"}, {"account_shared"}),
        (DE, DE, {"account_shared"}),
        (DE, DE | {"iban": "de89 3704 0044 0532 0130 00", "swift_bic": "COBADEFFXXX"}, {"account_shared"}),
        (DE, DE | {"iban": "DE02120300000000202051"}, set()),
        # An account that two banks without a code keep is told apart by the name of the bank.
        (
            {"account_number": "0123456789", "routing_number": None, "bank_name": "Example Bank"},
            {"account_number": "0123456789", "routing_number": None, "bank_name": "Other Bank"},
            set(),
        ),
        ({"email": "ann@example.com"}, {"email": "Ann@Example.com"}, {"email_shared"}),
        ({"email": "ann@example.com"}, {"email": "anne@example.com"}, set()),
        ({"ssn": "219-09-9999"}, {"ssn": "219099999"}, {"ssn_shared"}),
        ({"email": "x"}, {"email": "x"}, set()),  # an error, which is told as such
        ({"email": None}, {"email": None}, set()),
        # Under one id, it is one payer.
        ({ID: "one", "ssn": "219-09-9999", **own(7)}, {ID: "One", "ssn": "219-09-9999", **own(7)}, set()),
    ],
)
def test_what_two_payers_share_is_told(one: Row, other: Row, codes: set[str]) -> None:
    """However it is written, in both rows, each of which names the other; it may be right, so that it is a warning."""
    found = plan(row(0, **one), row(1), row(2, **other))
    shared = [(at, code, text) for at, code, text in told(found) if code.endswith("_shared")]

    assert codes == {code for _, code, _ in shared}
    assert ([(2, "row 4."), (4, "row 2.")] if codes else []) == [(at, text[-6:]) for at, _, text in shared]
    assert {"warning"} >= set(found.findings.loc[found.findings["code"].str.endswith("_shared"), "severity"])


def test_the_rows_are_named() -> None:
    """The first three of the other payers, and how many more there are; of a payer's rows, the first."""
    rows = [row(place, email="team@example.com") for place in range(6)]
    found = plan(rows[0], rows[0] | {"account_number": "55555555"}, *rows[1:])
    message = "A payer with another id has the same e-mail address: see rows"

    assert [
        (2, f"{message} 4, 5, 6 and 2 more."),
        (3, f"{message} 4, 5, 6 and 2 more."),
        (4, f"{message} 2, 5, 6 and 2 more."),
        (5, f"{message} 2, 4, 6 and 2 more."),
        *((place, f"{message} 2, 4, 5 and 2 more.") for place in (6, 7, 8)),
    ] == [(at, text) for at, _, text in told(found)]
    assert 1 == str(found).count("A payer with another id has the same e-mail address. If both")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(0), row(0, city="Utica")], [(2, "id_twice", "row 3"), (3, "id_twice", "row 2")]),
        (
            [row(0), row(0, account_name="Zoe Q"), row(1), row(1, account_name="Zoe Q")],
            [(at, "account_twice", f"row {other}") for at, other in ((2, 3), (3, 2), (4, 5), (5, 4))],
        ),
        ([row(0), row(0, currency="usd"), row(0)], [(3, "near_duplicate", "row 2")]),  # an account, written differently
        ([row(0), row(0), row(0, **{ID: "USER-0 "})], [(4, "near_duplicate", "row 2")]),  # an id
    ],
)
def test_what_is_twice_names_the_other_row(rows: list[Row], expected: list[tuple[int, str, str]]) -> None:
    """Contradictions in each of the rows; near duplicates in the row in place of which another one is sent."""
    found = told(plan(*rows))

    assert expected == [(at, code, text.rpartition(": see ")[2].removesuffix(".")) for at, code, text in found]


def test_an_example_shares_nothing() -> None:
    """The rows of a template have one number, which is nobody's."""
    rows = payerkit.tables.template("usd-local", "usd-wire").splitlines()
    table = pd.DataFrame([line.split(",") for line in rows[1:]], columns=rows[0].split(","))

    assert {"example_row"} == set(payerkit.plan_onboarding(table).findings["code"])


@pytest.mark.parametrize(
    ("accounts", "payers", "expected"),
    [
        (3, 1, [5]),
        (2, 2, []),  # not most of them
        (0, 4, []),
        (4, 0, []),
    ],
)
def test_a_payer_without_account_is_told(accounts: int, payers: int, expected: list[int]) -> None:
    """In a table in which most payers have one; somebody may have lost it."""
    without = {name: None for name in row(0) if name not in TYPED_PAYER}
    rows = [row(place, **({} if place < accounts else without)) for place in range(accounts + payers)]

    assert expected == [at for at, code, _ in told(plan(*rows)) if code == "no_account"]


def test_an_account_may_stand_in_another_row() -> None:
    """Tables of two kinds of rows, one below the other, lack nothing."""
    without = {name: None for name in row(0) if name not in TYPED_PAYER}
    alone = {name: None for name in TYPED_PAYER if name != ID}

    assert [] == told(plan(row(0), row(1), row(2, **without), row(2, **alone)))


@pytest.mark.parametrize("code", ["account_shared", "email_shared", "ssn_shared", "no_account", "near_duplicate"])
def test_rows_can_be_held_for_it(code: str) -> None:
    """As for any other warning."""
    shared: Row = {"account_number": "1234567890", **own(9)}
    without = {name: None for name in row(0) if name not in TYPED_PAYER}
    rows = [row(0, **shared), row(1, **shared), row(2), row(3, **without), row(2, currency="usd"), row(2)]
    found = plan(*rows, hold=code)
    expected = {"no_account": [5], "near_duplicate": [6]}.get(code, [2, 3])

    assert expected == found.frame.index[found.frame["state"] == "held"].tolist()


def test_a_label_that_is_an_address_is_masked() -> None:
    """Labels may be ids."""
    rows = pd.DataFrame([row(0, **own(9)), row(1, **own(9))], index=["ann@example.com", "bob@example.com"])
    found = payerkit.plan_onboarding(rows)

    assert {"row ••••."} == {text.rpartition("see ")[2] for text in found.findings["message"]}


def test_reasons_are_grouped_whatever_rows_they_name() -> None:
    """A plan shows one line a kind."""
    rows = [row(place // 2, city=f"City {place}") for place in range(12)]

    assert 1 == str(plan(*rows)).count("The table has two different payers with this id.")
