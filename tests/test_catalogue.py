"""The table of all findings, compared with what the checks find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import payerkit
from cases import table
from examples import EXAMPLES
from payerkit import check_bank_details, check_payer
from payerkit.findings import Finding, Findings, order_findings
from payerkit.payments import check_payment_order
from payerkit.wire import our_name
from published import BANK_DETAILS, ORDER, PAYER

TABLE = payerkit.reference.rules()
ABOUT: dict[str, tuple[str, Callable[..., Findings], dict[str, Any]]] = {
    "Payer": ("payer", check_payer, PAYER),
    "BankDetails": ("bank details", check_bank_details, BANK_DETAILS),
    "PaymentOrder": ("order", check_payment_order, ORDER),
}
WRONG: tuple[Any, ...] = (
    None,
    "",
    "x",
    "x" * 300,
    ".",
    "\n",
    "\ud800",
    "••••",
    5,
    [],
    "example ",
)


def found(body: str) -> Iterator[Finding]:
    """Yield the findings of all examples, and of records that are wrong in each way."""
    _, check, record = ABOUT[body]
    for example in EXAMPLES:
        if example.body == body:
            yield from check(example.record(example.bad))
    for name in record:
        for value in WRONG:
            yield from check({**record, name: value})
    name = next(name for name in record if our_name(name) != name)
    twice = {name: record[name], our_name(name): record[name]}
    yield from check({**record, "shoeSize": "9", **twice})


@pytest.mark.parametrize("body", ABOUT)
def test_every_finding_is_in_the_table(body: str) -> None:
    """Each finding but the errors of single fields has a row with its code, severity,
    field and source.
    """
    rows: list[dict[Any, str]] = TABLE[TABLE["about"] == ABOUT[body][0]].to_dict(
        "records"
    )
    of_orders = {
        kind["code"] for kind in order_findings().values() if body == "PaymentOrder"
    }
    told = [
        item
        for item in found(body)
        if item.severity != "error" or item.code in of_orders
    ]
    seen = {(item.code, item.field, item.severity, item.basis) for item in told}
    missing = {
        (code, field, severity, basis)
        for code, field, severity, basis in seen
        if not any(
            (code, severity) == (row["code"], row["severity"])
            and field in row["fields"].split(", ")
            and basis in row["basis"]
            for row in rows
        )
    }

    assert set() == missing
    assert ("payee_form" if body == "PaymentOrder" else "legal_form") in {
        code for code, *_ in seen
    }


@pytest.mark.parametrize("body", ["Payer", "BankDetails"])
def test_warnings_and_infos_of_the_table_can_be_ignored(body: str) -> None:
    """`ignore=` takes each code about a payer or bank details that is not an error."""
    about, check, record = ABOUT[body]
    codes = TABLE[(TABLE["about"] == about) & (TABLE["severity"] != "error")][
        "code"
    ].unique()

    assert () == check(record, ignore=list(codes))


@table("table_only_findings")
def test_what_is_found_only_in_a_table_is_in_the_table(
    code: str, severity: str
) -> None:
    """Each has one row, which is about tables, with … for what depends on the row."""
    (row,) = TABLE[TABLE["code"] == code].to_dict("records")

    assert ("table", severity) == (row["about"], row["severity"])
    assert "{" not in f"{row['message']} {row['hint']}"


def test_the_table_is_text_and_complete() -> None:
    """All columns are text, each row says what is wrong and by which source, and no row
    stands twice.
    """
    assert {"string"} == {str(dtype) for dtype in TABLE.dtypes}
    assert ["code", "about", "fields", "severity", "message", "hint", "basis"] == list(
        TABLE.columns
    )
    assert (TABLE[["code", "message", "basis"]] != "").all(axis=None)
    assert not TABLE.duplicated(["code", "about", "message", "hint"]).any()
    assert not TABLE["message"].str.contains("{}", regex=False).any()
    assert list(TABLE["severity"] == "error") == sorted(
        TABLE["severity"] == "error", reverse=True
    )
